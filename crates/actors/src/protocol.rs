//! The commit and lease protocols' safeguards, as a type parameter.
//!
//! Production is compiled with [`Correct`] alone. Tests and simulations plant a bug by naming a
//! protocol that leaves one safeguard out, and must then see their checks fail.

/// What is made of a commit whose outcome nobody heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The commands' records are looked at, and written as aborted where they are missing.
    IsFoundOut,
    /// It is decided and committed again, as if nothing had happened.
    CountsAsFailure,
    /// It is acknowledged, as if it had committed.
    CountsAsSuccess,
}

/// Which safeguards apply. Each is on unless a planted bug leaves it out.
pub trait Protocol: Copy + Send + Sync + 'static {
    /// The commit conflicts with any other write to the scope since its tip was read.
    const CONFLICTS_ON_TIP: bool = true;
    /// The commit conflicts with any other write to a head that it changes.
    const CONFLICTS_ON_HEADS: bool = true;
    /// A command that is repeated within a batch is applied once.
    const DEDUPLICATES_BATCH: bool = true;
    /// A command that was answered before is not applied again.
    const REMEMBERS_COMMANDS: bool = true;
    /// The commit reads, in conflict, who owns the slot.
    const READS_OWNER: bool = true;
    /// What an unknown outcome leads to.
    const UNKNOWN: Unknown = Unknown::IsFoundOut;
    /// Nobody is answered before the commit.
    const ANSWERS_AFTER_COMMIT: bool = true;
    /// The outbox row is written by the transaction that writes the events.
    const TELLS_WITH_EVENTS: bool = true;
    /// Every command of a batch is written.
    const WRITES_WHOLE_BATCH: bool = true;
    /// Equal facts of one batch count as neighbours of one another.
    const KNOWS_OWN_BATCH: bool = true;
    /// A slot is taken only from an owner whose run is over.
    const RESPECTS_LIVING_OWNERS: bool = true;
    /// Silence counts only while the watcher's own beats commit.
    const COUNTS_OWN_BEATS: bool = true;
    /// Slots of a dead owner are taken by whoever they belong to, not only by who fenced it.
    const ADOPTS_ORPHANS: bool = true;
    /// The row of a fenced run is kept.
    const KEEPS_FENCES: bool = true;
    /// Whoever takes a slot resumes its promotions.
    const RESUMES_JOBS: bool = true;
}

/// The protocol as it is meant.
#[derive(Clone, Copy, Debug)]
pub struct Correct;

impl Protocol for Correct {}

macro_rules! planted {
    ($($(#[$doc:meta])* $name:ident leaves out $safeguard:ident: $kind:ty = $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Protocol for $name {
            const $safeguard: $kind = $value;
        }
    )*};
}

planted! {
    /// Planted bug: two writers of a scope do not notice one another.
    IgnoresTip leaves out CONFLICTS_ON_TIP: bool = false;
    /// Planted bug: a retry that meets its first attempt in the same batch is applied again.
    RepeatsInBatch leaves out DEDUPLICATES_BATCH: bool = false;
    /// Planted bug: a command that was answered before is applied again.
    ForgetsCommands leaves out REMEMBERS_COMMANDS: bool = false;
    /// Planted bug: a commit does not look who owns the slot.
    ForgetsOwner leaves out READS_OWNER: bool = false;
    /// Planted bug: a commit that nobody heard of is made again.
    TakesUnknownAsFailure leaves out UNKNOWN: Unknown = Unknown::CountsAsFailure;
    /// Planted bug: a commit that nobody heard of is acknowledged.
    TakesUnknownAsSuccess leaves out UNKNOWN: Unknown = Unknown::CountsAsSuccess;
    /// Planted bug: whoever waits is answered before the commit.
    AnswersBeforeCommit leaves out ANSWERS_AFTER_COMMIT: bool = false;
    /// Planted bug: the outbox row is written by a transaction of its own.
    TellsApart leaves out TELLS_WITH_EVENTS: bool = false;
    /// Planted bug: the last command of a batch is answered and not written.
    DropsLastOfBatch leaves out WRITES_WHOLE_BATCH: bool = false;
    /// Planted bug: equal facts of one batch are published twice.
    ForgetsOwnBatch leaves out KNOWS_OWN_BATCH: bool = false;
    /// Planted bug: a slot is taken from a living owner.
    TakesFromTheLiving leaves out RESPECTS_LIVING_OWNERS: bool = false;
    /// Planted bug: silence counts while the watcher's own beats do not commit.
    FencesDuringOutage leaves out COUNTS_OWN_BEATS: bool = false;
    /// Planted bug: only who fenced a node takes its slots.
    LeavesOrphans leaves out ADOPTS_ORPHANS: bool = false;
    /// Planted bug: the row of a fenced run is collected as garbage.
    CollectsFences leaves out KEEPS_FENCES: bool = false;
    /// Planted bug: whoever takes a slot does not resume its promotions.
    LosesJobs leaves out RESUMES_JOBS: bool = false;
}
