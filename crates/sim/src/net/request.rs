//! What is asked of a node, and what it answers.
//!
//! Owns the two forms. It must not know how they travel, nor how a node comes to its answer.

use std::sync::Arc;

use sillok_core::Error;
use sillok_core::command::{Answer, Submission};
use sillok_core::id::{EntryId, Seq, VerificationId};
use sillok_core::ports::Forwarded;
use sillok_core::principal::Actor;
use sillok_core::promotion::PublishReport;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::validity::AsOf;

use crate::workload::banking;
use crate::workload::branches::Seen;
use crate::workload::deciding::{Asked, Told};
use crate::workload::fixing;

/// What is asked of a node.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// A client's command.
    Submit(Arc<Submission>),
    /// A command that another node hands over.
    Serve(Arc<Submission>),
    /// Where a scope's chain ends, of which so much was seen.
    Tip(Scope, Seq),
    /// What a promotion published, once it is finished.
    Promotion(Scope, VerificationId),
    /// Whether a promotion has halted.
    Halted(Scope, VerificationId),
    /// That a halted promotion is tried anew.
    Retry(Scope, VerificationId),
    /// An entry's active version, and the entry that heads its line.
    Head(EntryId),
    /// What holds in a scope, and those above it, at a commit.
    Recall(Scope, AsOf),
    /// Something about decisions.
    Decisions(Asked),
    /// Something about fixes that failed.
    Fixes(fixing::Asked),
    /// Something about how agents went about tasks.
    Bank(banking::Asked),
    /// A run of maintenance, or only what it would do.
    Maintain {
        /// Whether it only says what it would do.
        dry_run: bool,
        /// This scope and those below it, or all.
        within: Option<Scope>,
    },
    /// That the node hands over what it has and ends, if it is still in this run. It stands for the signal to a
    /// process, which never comes to a later one, however slow or doubled the way to the node is.
    Drain(u32),
    /// That the run ends that a node of this name is in, as this person wants.
    Fence(String, Actor),
    /// That nothing is written to a scope, for a reason, or anything again, as this person wants.
    Quarantine(Scope, Option<String>, Actor),
    /// Word of commits in these slots, which nobody answers.
    News(Arc<[Slot]>),
}

/// What a node answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Submitted(Result<Answer, Error>),
    Served(Forwarded),
    Tip(Result<Seq, Error>),
    Promotion(Result<Option<PublishReport>, Error>),
    /// Whether the promotion had halted.
    Job(Result<bool, Error>),
    Head(Result<Option<(u64, EntryId)>, Error>),
    /// What was recalled, and how many entries had ended there.
    Recalled(Result<(Vec<Seen>, u64), Error>),
    Decisions(Result<Told, Error>),
    Fixes(Result<fixing::Told, Error>),
    Bank(Result<banking::Told, Error>),
    /// How many entries a run of maintenance took out, or would take out.
    Maintained(Result<u64, Error>),
    Drained,
    /// The run ends, or that was refused.
    Fenced,
    Quarantined(Result<(), Error>),
    /// Nobody listens there.
    NoResponders,
}

impl Reply {
    /// Whether it says that a command was carried out, now or before.
    pub(super) const fn says_done(&self) -> bool {
        matches!(
            self,
            Self::Submitted(Ok(_)) | Self::Served(Forwarded::Answered(_))
        )
    }
}
