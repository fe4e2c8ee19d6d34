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
}
