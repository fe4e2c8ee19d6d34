//! The key families: what lies in the store under which key, in which form.
//!
//! Every key begins with the letter of its family, every value with the version of that family's
//! format, followed by the fields in postcard and a checksum of four bytes. Both are fixed for ever
//! by golden files: a changed form is a new format version, and the old one stays readable. Of events and of answers to
//! commands, one of each kind is fixed, and of each enum in them one of every variant (`event_bodies.txt`,
//! `command_answers.txt`). Owns forms alone: must not know
//! who writes a row, nor when.

pub mod anchor;
pub mod anchor_listed;
pub mod attempt;
pub mod by_hash;
pub mod chunk;
pub mod command;
pub mod decision;
pub mod decision_claim;
pub mod decision_listed;
pub mod decision_version;
pub mod declared_relation;
pub mod event;
pub mod evidence;
pub mod failed_approach;
pub mod fence;
pub mod head;
pub mod job;
pub mod lease;
pub mod location;
pub mod mark;
pub mod node;
pub mod outbox;
pub mod owner;
pub mod quarantine;
pub mod related;
pub mod relay;
pub mod report;
pub mod review;
pub mod run;
pub mod scope;
pub mod space;
pub mod task;
pub mod token;
pub mod trajectory;
pub mod vector;
pub mod verification;
pub mod version;

mod codec;

use std::fmt;

use sillok_core::scope::Scope;

use crate::{Error, KeyRange};

macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident = $letter:literal, $module:ident, $name:literal;)*) => {
        /// Every family of keys, by its letter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Family { $($(#[$doc])* $variant = $letter,)* }

        impl Family {
            /// All families, in the order of their names here.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The family that `key` says it belongs to.
            #[must_use]
            pub fn of(key: &[u8]) -> Option<Self> {
                match key.first()? {
                    $($letter => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The family's name, as errors and audits print it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether `key` and `value` have the family's form.
            ///
            /// # Errors
            /// `Corrupt`, naming the family and the key.
            pub fn check(self, key: &[u8], value: &[u8]) -> Result<(), Error> {
                match self {
                    $(Self::$variant => {
                        $module::parse(key)?;
                        $module::decode(key, value)?;
                    })*
                }
                Ok(())
            }
        }
    };
}

families! {
    /// Who runs, and whether it lives.
    Node = b'n', node, "node";
    /// Which node owns a slot.
    Owner = b'o', owner, "owner";
    /// Operators' orders that a run of a node ends.
    Fence = b'f', fence, "fence";
    /// Operators' orders that nothing is written to a scope.
    Quarantine = b'z', quarantine, "quarantine";
    /// Where the chain of a scope ends.
    Scope = b'q', scope, "scope";
    /// The events of a scope.
    Event = b'e', event, "event";
    /// Heads of entries.
    Head = b'h', head, "head";
    /// Versions of entries.
    Version = b'v', version, "version";
    /// Answers of commands.
    Command = b'c', command, "command";
    /// Marks of what was promoted.
    Mark = b'm', mark, "mark";
    /// Promotions under way.
    Job = b'j', job, "job";
    /// How the attempts at promotions went.
    Attempt = b'a', attempt, "attempt";
    /// Pieces of large content.
    Chunk = b'b', chunk, "chunk";
    /// What is to be told to others.
    Outbox = b'x', outbox, "outbox";
    /// How far it was told.
    Relay = b'r', relay, "relay";
    /// Tokens.
    Token = b't', token, "token";
    /// Tasks.
    Task = b'k', task, "task";
    /// Entries by their text.
    ByHash = b'd', by_hash, "by hash";
    /// Where entries live.
    Location = b'i', location, "location";
    /// Recorded verifications.
    Verification = b'y', verification, "verification";
    /// What tasks say of entries.
    Report = b'u', report, "report";
    /// What only a person can decide.
    Review = b'w', review, "review";
    /// What one run of a node does for all.
    Lease = b'l', lease, "lease";
    /// How what is done again and again went.
    Run = b's', run, "run";
    /// Vectors of entries in other spaces than those of their events.
    Vector = b'g', vector, "vector";
    /// In which space every entry has a vector.
    Space = b'p', space, "space";
    /// Heads of decisions.
    Decision = b'D', decision, "decision";
    /// Versions of decisions.
    DecisionVersion = b'V', decision_version, "decision version";
    /// Active decisions in the order in which they load.
    DecisionListed = b'L', decision_listed, "decision listed";
    /// Active decisions by the key that they declare.
    DecisionClaim = b'C', decision_claim, "decision claim";
    /// Relations of active decisions, by what they point to.
    Related = b'R', related, "related";
    /// Originals that were kept.
    Evidence = b'E', evidence, "evidence";
    /// Hints that point to decisions and evidence.
    Anchor = b'A', anchor, "anchor";
    /// Anchors that were not dropped, in the order in which they load.
    AnchorListed = b'N', anchor_listed, "anchor listed";
    /// Kinds of relations that were declared.
    DeclaredRelation = b'K', declared_relation, "declared relation";
    /// Approaches to tasks that failed.
    FailedApproach = b'F', failed_approach, "failed approach";
    /// How agents went about tasks.
    Trajectory = b'T', trajectory, "trajectory";
}

/// What a backup does with the rows of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InBackup {
    /// It holds them: they are the truth, or say what a retry or an old run may do, or nobody may be there any
    /// more who could make them anew.
    Held,
    /// It leaves them out: they follow from the events, and a restore folds them anew. What no event
    /// made, the operator's tokens, is made anew by the next start.
    Folded,
    /// It leaves them out: they speak of something outside the store, which knows nothing of a restore, or
    /// of what is begun anew by it.
    LeftOut,
}

impl Family {
    /// What a backup does with the family's rows.
    #[must_use]
    pub const fn in_backup(self) -> InBackup {
        match self {
            Self::Event
            | Self::Command
            | Self::Chunk
            | Self::Scope
            | Self::Outbox
            | Self::Owner
            | Self::Node
            | Self::Fence
            | Self::Quarantine
            | Self::Vector
            | Self::Space => InBackup::Held,
            Self::Head
            | Self::Version
            | Self::Mark
            | Self::Job
            | Self::Token
            | Self::Task
            | Self::ByHash
            | Self::Location
            | Self::Verification
            | Self::Report
            | Self::Review
            | Self::Decision
            | Self::DecisionVersion
            | Self::DecisionListed
            | Self::DecisionClaim
            | Self::Related
            | Self::Evidence
            | Self::Anchor
            | Self::AnchorListed
            | Self::DeclaredRelation
            | Self::FailedApproach
            | Self::Trajectory => InBackup::Folded,
            Self::Relay | Self::Attempt | Self::Lease | Self::Run => InBackup::LeftOut,
        }
    }

    /// The first byte of the family's keys.
    #[must_use]
    pub const fn letter(self) -> u8 {
        self as u8
    }

    /// Every key of the family.
    #[must_use]
    pub fn range(self) -> KeyRange {
        KeyRange::prefix(&[self.letter()])
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A scope inside a key: the first 16 bytes of the BLAKE3 hash of its path, so that keys stay
/// short. The path itself stands in the scope's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeKey([u8; Self::LEN]);

impl ScopeKey {
    /// Bytes of a scope inside a key.
    pub const LEN: usize = 16;

    /// The key of `scope`.
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        Self(codec::short_hash(scope.as_str()))
    }

    /// The key with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
