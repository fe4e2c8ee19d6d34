//! Chances and delays that faults switch on for a while.
//!
//! Owns the numbers in force now. Each is 0 when no fault wants it.

/// What is in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise {
    /// Parcels that are lost, in a thousandth.
    pub(crate) drop_permille: u32,
    /// Parcels that arrive twice, in a thousandth.
    pub(crate) duplicate_permille: u32,
    /// The longest further delay of a parcel, in µs.
    pub(crate) delay_us_max: u64,
    /// Parcels between nodes that are held back until later ones have overtaken them, in a
    /// thousandth.
    pub(crate) reorder_permille: u32,
    /// Commits that meet a conflict though nobody wrote, in a thousandth.
    pub(crate) conflict_permille: u32,
    /// Commits that happen and nobody hears of, in a thousandth.
    pub(crate) committed_unheard_permille: u32,
    /// Commits that do not happen and nobody hears of, in a thousandth.
    pub(crate) lost_unheard_permille: u32,
    /// Commits that happen only after their owner was told that the outcome is unknown, in a
    /// thousandth.
    pub(crate) commits_late_permille: u32,
    /// How many times longer a commit takes.
    pub(crate) commit_slowness: u64,
    /// Whether the store answers nobody.
    pub(crate) store_is_out: bool,
    /// Cognifier calls that fail, in a thousandth.
    pub(crate) cognifier_permille: u32,
}
