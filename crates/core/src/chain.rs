//! The hash chain of a scope's events, with salted commitments to their content.
//!
//! Owns the stored form of an event and how it is sealed and checked. Hashes are taken over the
//! bytes as they are stored, so a later format never changes what was sealed. Erasing an event's
//! content (salt and body) leaves its header, and with it the chain, intact.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::event::{Body, EventKind};
use crate::id::{CommandId, Epoch, Seq};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Hash of one event's header, and so of everything before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventHash([u8; 32]);

impl EventHash {
    /// What the first event of `scope` follows: the scope's name, hashed.
    #[must_use]
    pub fn genesis(scope: &Scope) -> Self {
        Self(blake3::derive_key(
            "sillok 2026 chain genesis",
            scope.as_str().as_bytes(),
        ))
    }

    /// The hash with these bytes, as somebody else says it.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for EventHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A random value that keeps a commitment from being guessed.
pub type Salt = [u8; 16];

/// What stays of an event for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Its position.
    pub seq: Seq,
    /// When it was decided; never before the event in front of it.
    pub time: Timestamp,
    /// What sort of event.
    pub kind: EventKind,
    /// Who acted.
    pub actor: Actor,
    /// The command that it belongs to.
    pub command: CommandId,
    /// The epoch of the slot's owner that decided it.
    pub epoch: Epoch,
    /// The hash of the event in front of it.
    pub prev: EventHash,
    /// BLAKE3 of salt and body.
    pub commitment: [u8; 32],
}

/// What erasing destroys.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The salt of the commitment.
    pub salt: Salt,
    /// The encoded [`Body`].
    #[serde(with = "bytes_form")]
    pub body: Vec<u8>,
}

/// An event in its stored form: the bytes that were sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// The encoded [`Header`].
    #[serde(with = "bytes_form")]
    pub header: Vec<u8>,
    /// Salt and body; none once erased.
    pub sealed: Option<Sealed>,
}

/// Writes byte strings as one piece rather than element by element.
mod bytes_form {
    use serde::de::{self, Deserializer, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a byte string")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl fmt::Debug for StoredEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decode_header() {
            Ok(header) => write!(f, "{} {:?}", header.seq, header.kind),
            Err(broken) => write!(f, "{broken}"),
        }
    }
}

/// Why an event does not follow from the one before it, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The stored bytes are not those of an event.
    #[error("the event cannot be decoded")]
    Undecodable,
    /// The event carries another number than its place.
    #[error("the event at {expected} says that it is {found}")]
    Misplaced {
        /// The place it was read from.
        expected: Seq,
        /// The place it claims.
        found: Seq,
    },
    /// The event names another predecessor.
    #[error("the event does not follow the one before it")]
    Unchained,
    /// The content is not what the header committed to.
    #[error("the content is not what was sealed")]
    Uncommitted,
    /// The time is before that of the event in front.
    #[error("the event's time goes back")]
    TimeGoesBack,
}

impl StoredEvent {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Broken::Undecodable`].
    pub fn decode_header(&self) -> Result<Header, Broken> {
        postcard::from_bytes(&self.header).map_err(|_| Broken::Undecodable)
    }

    /// Reads the body; none once erased.
    ///
    /// # Errors
    /// [`Broken::Undecodable`].
    pub fn decode_body(&self) -> Result<Option<Body>, Broken> {
        let decoded = self
            .sealed
            .as_ref()
            .map(|sealed| postcard::from_bytes(&sealed.body));
        decoded.transpose().map_err(|_| Broken::Undecodable)
    }

    /// The hash that the next event must name.
    #[must_use]
    pub fn hash(&self) -> EventHash {
        EventHash(*blake3::hash(&self.header).as_bytes())
    }
}

/// Where the chain of a scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The position of the last event.
    pub seq: Seq,
    /// Its hash.
    pub hash: EventHash,
    /// Its time.
    pub time: Timestamp,
}

impl Tip {
    /// Before the first event of `scope`.
    #[must_use]
    pub fn genesis(scope: &Scope) -> Self {
        Self {
            seq: Seq::ZERO,
            hash: EventHash::genesis(scope),
            time: Timestamp::EPOCH,
        }
    }
}

/// Who and what an event stems from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who acted.
    pub actor: Actor,
    /// The command.
    pub command: CommandId,
    /// The epoch of the slot's owner.
    pub epoch: Epoch,
}

/// Seals `body` as the event after `tip`, and moves the tip onto it.
#[must_use]
pub fn seal(
    tip: &mut Tip,
    body: &Body,
    origin: &Origin,
    now: Timestamp,
    salt: Salt,
) -> StoredEvent {
    let body_bytes = encode(body);
    let header = Header {
        seq: tip.seq.next(),
        time: now.max(tip.time),
        kind: body.kind(),
        actor: origin.actor.clone(),
        command: origin.command,
        epoch: origin.epoch,
        prev: tip.hash,
        commitment: commitment(&salt, &body_bytes),
    };
    let event = StoredEvent {
        header: encode(&header),
        sealed: Some(Sealed {
            salt,
            body: body_bytes,
        }),
    };
    *tip = Tip {
        seq: header.seq,
        hash: event.hash(),
        time: header.time,
    };
    event
}

/// Checks that `event` follows `tip` and holds what it committed to, and moves the tip onto it.
///
/// # Errors
/// What is [`Broken`]; the tip then stays.
pub fn verify(tip: &mut Tip, event: &StoredEvent) -> Result<Header, Broken> {
    let header = event.decode_header()?;
    let expected = tip.seq.next();
    if header.seq != expected {
        return Err(Broken::Misplaced {
            expected,
            found: header.seq,
        });
    }
    if header.prev != tip.hash {
        return Err(Broken::Unchained);
    }
    if header.time < tip.time {
        return Err(Broken::TimeGoesBack);
    }
    if let Some(sealed) = &event.sealed
        && commitment(&sealed.salt, &sealed.body) != header.commitment
    {
        return Err(Broken::Uncommitted);
    }
    *tip = Tip {
        seq: header.seq,
        hash: event.hash(),
        time: header.time,
    };
    Ok(header)
}

fn commitment(salt: &Salt, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 event commitment");
    hasher.update(salt);
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("plain data structures always encode")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope() -> Scope {
        Scope::parse("org/a/project/b/worktree/c/task/d").unwrap()
    }

    fn chain(texts: &[String]) -> (Tip, Vec<StoredEvent>) {
        let mut tip = Tip::genesis(&scope());
        let origin = Origin {
            actor: Actor::system(),
            command: CommandId::from_parts(Timestamp::from_ms(1), [0; 10]),
            epoch: Epoch(1),
        };
        let events = texts
            .iter()
            .enumerate()
            .map(|(at, text)| {
                let body = Body::StuckMarked {
                    reason: text.clone(),
                };
                seal(
                    &mut tip,
                    &body,
                    &origin,
                    Timestamp::from_ms(at as u64),
                    [u8::try_from(at % 256).unwrap(); 16],
                )
            })
            .collect();
        (tip, events)
    }

    fn check(events: &[StoredEvent]) -> Result<Tip, Broken> {
        let mut tip = Tip::genesis(&scope());
        for event in events {
            verify(&mut tip, event)?;
        }
        Ok(tip)
    }

    proptest! {
        #[test]
        fn a_sealed_chain_verifies_to_its_tip(texts in proptest::collection::vec(".{0,20}", 0..20)) {
            let (tip, events) = chain(&texts);
            prop_assert_eq!(check(&events).unwrap(), tip);
        }

        #[test]
        fn any_flipped_bit_or_swap_is_found(
            texts in proptest::collection::vec("[a-z]{1,10}", 2..10), pick: (usize, usize, u8), swap: bool
        ) {
            let (tip, mut events) = chain(&texts);
            let at = pick.0 % events.len();
            if swap {
                let other = (at + 1) % events.len();
                events.swap(at, other);
            } else {
                let event = &mut events[at];
                let sealed = event.sealed.as_mut().unwrap();
                let header_len = event.header.len();
                let bytes = &mut event.header;
                let place = pick.1 % (header_len + 16 + sealed.body.len());
                let bit = 1 << (pick.2 % 8);
                if place < header_len {
                    bytes[place] ^= bit;
                } else if place < header_len + 16 {
                    sealed.salt[place - header_len] ^= bit;
                } else {
                    sealed.body[place - header_len - 16] ^= bit;
                }
            }
            // A header that still decodes may chain on only as the last event, and then its tip differs.
            prop_assert!(check(&events) != Ok(tip));
        }

        #[test]
        fn erasing_content_keeps_the_chain(texts in proptest::collection::vec("[a-z]{1,10}", 1..10), pick: usize) {
            let (tip, mut events) = chain(&texts);
            let at = pick % events.len();
            events[at].sealed = None;
            prop_assert_eq!(check(&events), Ok(tip));
        }
    }
}
