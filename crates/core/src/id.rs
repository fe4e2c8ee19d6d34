//! The registry of typed identifiers.
//!
//! Every id of the system is a newtype made here, so that one cannot stand where another is meant.
//! Ids are parsed at the edge or derived from a command, never drawn from a hidden source.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::error::{Error, ErrorCode};
use crate::scope::Scope;
use crate::time::Timestamp;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// The id with these sixteen bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes of the id, in the order in which ids sort.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Uuid::try_parse(text).map(Self).map_err(|_| {
                    Error::new(ErrorCode::InvalidId, concat!("not a ", $what, " id: a UUID is expected"))
                })
            }
        }
    };
}

uuid_id! {
    /// Names one command of one principal. Time-ordered (UUIDv7), made by the caller, and used
    /// again by every retry of the same command.
    CommandId, "command"
}
uuid_id! {
    /// Names one entry of the published store, through all its versions.
    EntryId, "entry"
}
uuid_id! {
    /// Names one recorded verification, and the promotion that it starts.
    VerificationId, "verification"
}
uuid_id! {
    /// Names one token without revealing its secret.
    TokenId, "token"
}
uuid_id! {
    /// Names one question that waits for a person's answer, or had one.
    ReviewId, "review"
}

uuid_id! {
    /// Names one decision, through all its versions: the root of their chain.
    DecisionId, "decision"
}
uuid_id! {
    /// Names one piece of evidence.
    EvidenceId, "evidence"
}
uuid_id! {
    /// Names one anchor.
    AnchorId, "anchor"
}

impl CommandId {
    /// The time a UUIDv7 carries.
    ///
    /// # Errors
    /// `invalid_id` when the id is not of version 7.
    pub fn time(&self) -> Result<Timestamp, Error> {
        if self.0.get_version_num() != 7 {
            return Err(Error::new(
                ErrorCode::InvalidId,
                "a command id is a UUID of version 7 (time-ordered)",
            ));
        }
        let mut ms = [0; 8];
        ms[2..].copy_from_slice(&self.0.as_bytes()[..6]);
        Ok(Timestamp::from_ms(u64::from_be_bytes(ms)))
    }

    /// A UUIDv7 of `time` and ten random bytes.
    #[must_use]
    pub fn from_parts(time: Timestamp, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(time.ms(), &random).into_uuid())
    }
}

impl CommandId {
    /// The name under which the chunks of a command's large texts are stored: no other principal
    /// can give a command that writes to it.
    #[must_use]
    pub fn of_chunks(principal: &str, command: Self) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 chunks",
            &[principal.as_bytes(), command.as_bytes()],
        ))
    }
}

/// Derives sixteen bytes from a namespace and parts: the same command yields the same ids on
/// every attempt, so a retry can never make a second object.
fn derive(namespace: &str, parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key(namespace);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .into_bytes()
}

impl EntryId {
    /// The id of the `ordinal`-th entry that a command makes in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId, ordinal: u32) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 entry id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
                &ordinal.to_le_bytes(),
            ],
        ))
    }
}

impl VerificationId {
    /// The id of the verification that a command records in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 verification id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
            ],
        ))
    }
}

impl ReviewId {
    /// The id of the `ordinal`-th question that a command raises in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId, ordinal: u32) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 review id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
                &ordinal.to_le_bytes(),
            ],
        ))
    }

    /// The id of the question whether `org` takes a version of an entry of one of its projects over: the
    /// same one is offered once.
    #[must_use]
    pub fn of_offer(org: &Scope, from: &Scope, entry: EntryId, version: u64) -> Self {
        let number = version.to_le_bytes();
        let parts = [
            org.as_str().as_bytes(),
            from.as_str().as_bytes(),
            entry.as_bytes(),
            &number,
        ];
        // Of a first version, the id tells no version: that of offers from before they did.
        let told = if version == 1 { 3 } else { 4 };
        Self::from_bytes(derive("sillok 2026 offer id", &parts[..told]))
    }
}

impl DecisionId {
    /// The root of the chain that a command begins in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 decision id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
            ],
        ))
    }
}

impl EvidenceId {
    /// The id of the evidence that a command saves in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 evidence id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
            ],
        ))
    }
}

impl AnchorId {
    /// The id of the `ordinal`-th anchor that a command adds in `scope`.
    #[must_use]
    pub fn derived(scope: &Scope, principal: &str, command: CommandId, ordinal: u32) -> Self {
        Self::from_bytes(derive(
            "sillok 2026 anchor id",
            &[
                scope.as_str().as_bytes(),
                principal.as_bytes(),
                command.as_bytes(),
                &ordinal.to_le_bytes(),
            ],
        ))
    }
}

impl TokenId {
    /// The public id of the token whose secret has this hash.
    #[must_use]
    pub fn of_hash(hash: &[u8; 32]) -> Self {
        Self::from_bytes(derive("sillok 2026 token id", &[hash]))
    }
}

/// Position of an event in its scope: 1 for the first, without gaps. 0 stands before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// The position before the first event.
    pub const ZERO: Self = Self(0);

    /// The position with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the position.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next position.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one staged record by where it stands: `SCOPE#SEQ`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct RecordId {
    /// The scope whose log holds the record.
    pub scope: Scope,
    /// The position of the record's event in that scope.
    pub seq: Seq,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.scope, self.seq)
    }
}

impl FromStr for RecordId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::new(
                ErrorCode::InvalidId,
                "not a record id: SCOPE#NUMBER is expected",
            )
        };
        let (scope, seq) = text.rsplit_once('#').ok_or_else(bad)?;
        let seq = seq.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(bad)?;
        Ok(Self {
            scope: Scope::parse(scope)?,
            seq: Seq(seq),
        })
    }
}

impl TryFrom<String> for RecordId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

macro_rules! counter_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter_id! {
    /// Fences the owners of a slot: every change of owner raises it.
    Epoch
}
counter_id! {
    /// Names one run of one node: a new one at each start.
    Incarnation
}

/// Which attempt of a command this is. A retry after an unknown outcome carries a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self(1);
    /// No attempt comes after this one.
    pub const MAX: Self = Self(u32::MAX);

    /// The attempt after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_command_id_carries_its_time(ms in 0u64..(1 << 47), random: [u8; 10]) {
            let id = CommandId::from_parts(Timestamp::from_ms(ms), random);
            prop_assert_eq!(id.time().unwrap().ms(), ms);
            prop_assert_eq!(id.to_string().parse::<CommandId>().unwrap(), id);
        }

        #[test]
        fn derived_ids_depend_on_every_part(a in 0u32..1_000, b in 0u32..1_000) {
            let scope = Scope::parse("org/a").unwrap();
            let command = CommandId::from_parts(Timestamp::from_ms(7), [1; 10]);
            let ids = (EntryId::derived(&scope, "p", command, a), EntryId::derived(&scope, "p", command, b));
            prop_assert_eq!(ids.0 == ids.1, a == b);
        }

        #[test]
        fn the_root_of_a_chain_depends_on_scope_principal_and_command(a in 0u8..4, b in 0u8..4) {
            let root = |bits: u8| {
                let scope = Scope::parse(if bits & 1 == 0 { "org/a" } else { "org/b" }).unwrap();
                let command = CommandId::from_parts(Timestamp::from_ms(7), [bits >> 1; 10]);
                [DecisionId::derived(&scope, "p", command), DecisionId::derived(&scope, "q", command)]
            };
            let (a_roots, b_roots) = (root(a), root(b));
            prop_assert_eq!(a_roots == b_roots, a == b);
            prop_assert!(a_roots[0] != b_roots[1]);
        }
    }

    #[test]
    fn evidence_and_anchors_have_ids_of_their_own_and_each_anchor_of_a_command_one() {
        let scope = Scope::parse("org/a").unwrap();
        let other = Scope::parse("org/b").unwrap();
        let commands = [1, 2].map(|n| CommandId::from_parts(Timestamp::from_ms(7), [n; 10]));
        let mut ids = std::collections::BTreeSet::new();
        for (scope, principal) in [(&scope, "p"), (&scope, "q"), (&other, "p")] {
            for command in commands {
                let root = DecisionId::derived(scope, principal, command);
                let evidence = EvidenceId::derived(scope, principal, command);
                let anchors = [0, 1].map(|n| AnchorId::derived(scope, principal, command, n));
                ids.extend([*root.as_bytes(), *evidence.as_bytes()]);
                ids.extend(anchors.map(|id| *id.as_bytes()));
                assert_eq!(EvidenceId::derived(scope, principal, command), evidence);
            }
        }
        assert_eq!(ids.len(), 3 * 2 * 4);
    }

    #[test]
    fn a_random_uuid_is_no_command_id() {
        let id: CommandId = "f47ac10b-58cc-4372-a567-0e02b2c3d479".parse().unwrap();
        assert_eq!(id.time().unwrap_err().code, ErrorCode::InvalidId);
    }

    #[test]
    fn record_ids_round_trip_and_refuse_zero() {
        let id: RecordId = "org/a/project/b/worktree/c/task/d#17".parse().unwrap();
        assert_eq!(id.to_string(), "org/a/project/b/worktree/c/task/d#17");
        assert!("org/a#0".parse::<RecordId>().is_err());
        assert!("org/a#-1".parse::<RecordId>().is_err());
    }
}
