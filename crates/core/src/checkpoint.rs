//! Checkpoints: the ends of all chains of events at one time, signed, to be kept where the store is not.
//!
//! Owns their form and what one proves. A chain binds each event to those before it, so whoever finds the event of a
//! checkpoint in its place knows that nothing before it was changed or cut off. Whoever owns the disk can write
//! another chain, and with the key another checkpoint, but not the one that somebody else has. It must not know
//! how chains are read, nor where the key lies.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::chain::EventHash;
use crate::error::{Error, ErrorCode};
use crate::id::Seq;
use crate::scope::Scope;
use crate::time::Timestamp;

/// The only form so far.
const FORMAT: u32 = 1;

/// The end of one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainEnd {
    /// The scope.
    pub scope: Scope,
    /// Its last event.
    pub seq: Seq,
    /// The hash of that event.
    pub hash: EventHash,
}

/// A checkpoint with its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// When it was made, by the clock of the node.
    pub made_at: Timestamp,
    /// The generation of the store: raised by a restore.
    pub generation: u32,
    /// The ends of all chains. Each was the end at some moment while the checkpoint was made.
    pub ends: Vec<ChainEnd>,
    /// Whose signature it is.
    pub key: [u8; 32],
    signature: [u8; 64],
}

/// The first line of a checkpoint's text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstLine {
    sillok_checkpoint: u32,
    made_at_ms: u64,
    generation: u32,
    scopes: u64,
    key: String,
}

/// A line for one chain.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    scope: Scope,
    seq: u64,
    hash: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    signature: String,
}

impl Checkpoint {
    /// Signs the ends of all chains.
    #[must_use]
    pub fn sign(
        made_at: Timestamp,
        generation: u32,
        ends: Vec<ChainEnd>,
        key: &SigningKey,
    ) -> Self {
        let digest = digest(made_at, generation, &ends);
        Self {
            made_at,
            generation,
            ends,
            key: key.verifying_key().to_bytes(),
            signature: key.sign(&digest).to_bytes(),
        }
    }

    /// Whether what it says was signed by its key, and whether that is `key`, where one is given.
    ///
    /// # Errors
    /// `invalid_argument` when it is not.
    pub fn check(&self, key: Option<&[u8; 32]>) -> Result<(), Error> {
        if key.is_some_and(|key| *key != self.key) {
            let why = format!(
                "the checkpoint is signed by another key: {}",
                hex::encode(self.key)
            );
            return Err(invalid(&why));
        }
        let digest = digest(self.made_at, self.generation, &self.ends);
        let signature = Signature::from_bytes(&self.signature);
        let is_signed = VerifyingKey::from_bytes(&self.key)
            .is_ok_and(|key| key.verify_strict(&digest, &signature).is_ok());
        match is_signed {
            true => Ok(()),
            false => Err(invalid("the checkpoint was changed since it was signed")),
        }
    }

    /// Its text: a line of JSON for what it is, one for each chain, one for the signature.
    #[must_use]
    pub fn to_text(&self) -> String {
        let first = FirstLine {
            sillok_checkpoint: FORMAT,
            made_at_ms: self.made_at.ms(),
            generation: self.generation,
            scopes: self.ends.len() as u64,
            key: hex::encode(self.key),
        };
        let last = LastLine {
            signature: hex::encode(self.signature),
        };
        let end = |end: &ChainEnd| {
            line(&EndLine {
                scope: end.scope.clone(),
                seq: end.seq.get(),
                hash: end.hash.to_string(),
            })
        };
        let ends = self.ends.iter().map(end);
        core::iter::once(line(&first))
            .chain(ends)
            .chain([line(&last)])
            .collect()
    }

    /// Reads a text that [`to_text`](Self::to_text) wrote. The signature is not looked at: see
    /// [`check`](Self::check).
    ///
    /// # Errors
    /// `invalid_argument` for anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = text.lines();
        let first: FirstLine = read(lines.next())?;
        if first.sillok_checkpoint != FORMAT {
            let form = first.sillok_checkpoint;
            return Err(invalid(&format!(
                "a checkpoint of form {form} is not known here"
            )));
        }
        let mut lines: Vec<&str> = lines.collect();
        let last: LastLine = read(lines.pop())?;
        if lines.len() as u64 != first.scopes {
            return Err(invalid("the checkpoint was cut, or lines were added to it"));
        }
        let end = |line: &&str| -> Result<ChainEnd, Error> {
            let end: EndLine = read(Some(line))?;
            Ok(ChainEnd {
                scope: end.scope,
                seq: Seq::new(end.seq),
                hash: EventHash::from_bytes(parse_hash(&end.hash)?),
            })
        };
        Ok(Self {
            made_at: Timestamp::from_ms(first.made_at_ms),
            generation: first.generation,
            ends: lines.iter().map(end).collect::<Result<_, _>>()?,
            key: bytes(&first.key)?,
            signature: bytes(&last.signature)?,
        })
    }
}

/// Reads a hash of an event, or the key that checkpoints are signed by: 64 hexadecimal digits.
///
/// # Errors
/// `invalid_argument` for anything else.
pub fn parse_hash(text: &str) -> Result<[u8; 32], Error> {
    bytes(text.trim())
}

/// What is signed. Each part has its length before it, so that no two checkpoints share one.
fn digest(made_at: Timestamp, generation: u32, ends: &[ChainEnd]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 checkpoint");
    hasher.update(&FORMAT.to_be_bytes());
    hasher.update(&made_at.ms().to_be_bytes());
    hasher.update(&generation.to_be_bytes());
    hasher.update(&(ends.len() as u64).to_be_bytes());
    for end in ends {
        let scope = end.scope.as_str().as_bytes();
        hasher.update(&(scope.len() as u64).to_be_bytes());
        hasher.update(scope);
        hasher.update(&end.seq.get().to_be_bytes());
        hasher.update(end.hash.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("plain data is JSON");
    line.push('\n');
    line
}

fn read<T: for<'de> Deserialize<'de>>(line: Option<&str>) -> Result<T, Error> {
    let read = line.and_then(|line| serde_json::from_str(line).ok());
    read.ok_or_else(|| invalid("this is no checkpoint"))
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], Error> {
    let bytes = hex::decode(text).ok();
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| {
        invalid(&format!(
            "a hash, key or signature has {} hexadecimal digits",
            2 * N
        ))
    })
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32])
    }

    fn ends(count: u8) -> Vec<ChainEnd> {
        (0..count)
            .map(|number| ChainEnd {
                scope: Scope::parse(&format!("org/a/project/p{number}")).unwrap(),
                seq: Seq::new(u64::from(number) + 1),
                hash: EventHash::from_bytes([number; 32]),
            })
            .collect()
    }

    fn checkpoint(count: u8) -> Checkpoint {
        Checkpoint::sign(
            Timestamp::from_ms(1_790_000_000_000),
            1,
            ends(count),
            &key(7),
        )
    }

    #[test]
    fn the_text_never_changes() {
        insta::assert_snapshot!(checkpoint(2).to_text());
    }

    #[test]
    fn what_is_signed_is_read_back_and_holds_for_its_own_key_alone() {
        for count in [0, 1, 9] {
            let read = Checkpoint::parse(&checkpoint(count).to_text()).unwrap();
            assert_eq!(read, checkpoint(count));
            assert_eq!(read.check(None), Ok(()));
            assert_eq!(read.check(Some(&key(7).verifying_key().to_bytes())), Ok(()));
            let other = read.check(Some(&key(8).verifying_key().to_bytes()));
            assert_eq!(other.unwrap_err().code, ErrorCode::InvalidArgument);
        }
        let shown = hex::encode(checkpoint(0).key);
        assert_eq!(parse_hash(&format!("{shown}\n")), Ok(checkpoint(0).key));
        assert!(parse_hash("7f").is_err());
    }

    #[test]
    fn a_checkpoint_that_is_signed_anew_is_seen_by_its_key() {
        let forged = Checkpoint::sign(Timestamp::EPOCH, 1, ends(1), &key(8));
        assert_eq!(forged.check(None), Ok(()));
        assert!(
            forged
                .check(Some(&key(7).verifying_key().to_bytes()))
                .is_err()
        );
    }

    #[test]
    fn lines_that_are_missing_added_or_foreign_are_refused() {
        let text = checkpoint(3).to_text();
        let lines: Vec<&str> = text.lines().collect();
        let without = |number: usize| {
            let mut lines = lines.clone();
            lines.remove(number);
            lines.join("\n")
        };
        for number in 0..lines.len() {
            assert!(
                Checkpoint::parse(&without(number)).is_err(),
                "line {number}"
            );
        }
        let newer = text.replace("\"sillok_checkpoint\":1", "\"sillok_checkpoint\":2");
        for wrong in [
            "",
            "{}",
            "no JSON",
            &newer,
            &text.replace("\"seq\"", "\"at\""),
        ] {
            let refused = Checkpoint::parse(wrong).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{wrong}");
        }
    }

    proptest! {
        /// Whatever one byte becomes, the checkpoint is no checkpoint, not signed, or still says the same.
        #[test]
        fn no_changed_byte_passes(at in 0usize..2_000, by in 1u8..255) {
            let signed = checkpoint(3);
            let mut text = signed.to_text().into_bytes();
            let at = at % text.len();
            text[at] ^= by;
            if let Ok(changed) = String::from_utf8(text)
                && let Ok(read) = Checkpoint::parse(&changed)
            {
                prop_assert!(read == signed || read.check(Some(&signed.key)).is_err());
            }
        }
    }
}
