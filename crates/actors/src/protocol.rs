//! The commit protocol's safeguards, as a type parameter.
//!
//! Production is compiled with [`Correct`] alone. Tests and simulations plant a bug by naming a
//! protocol that leaves one safeguard out, and must then see their checks fail.

/// Which safeguards the commit path applies.
pub trait Protocol: Copy + Send + Sync + 'static {
    /// The commit conflicts with any other write to the scope since its tip was read.
    const CONFLICTS_ON_TIP: bool;
    /// A command that is repeated within a batch is applied once.
    const DEDUPLICATES_BATCH: bool;
}

/// The protocol as it is meant.
#[derive(Clone, Copy, Debug)]
pub struct Correct;

impl Protocol for Correct {
    const CONFLICTS_ON_TIP: bool = true;
    const DEDUPLICATES_BATCH: bool = true;
}

/// Planted bug: two writers of a scope do not notice one another.
#[derive(Clone, Copy, Debug)]
pub struct IgnoresTip;

impl Protocol for IgnoresTip {
    const CONFLICTS_ON_TIP: bool = false;
    const DEDUPLICATES_BATCH: bool = true;
}

/// Planted bug: a retry that meets its first attempt in the same batch is applied again.
#[derive(Clone, Copy, Debug)]
pub struct RepeatsInBatch;

impl Protocol for RepeatsInBatch {
    const CONFLICTS_ON_TIP: bool = true;
    const DEDUPLICATES_BATCH: bool = false;
}
