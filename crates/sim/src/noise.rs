//! Chances and delays that faults switch on for a while.
//!
//! Owns the numbers in force now. Each is 0 when no fault wants it.

use crate::fault::FaultKind;

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

impl Noise {
    /// Puts a fault into force, beside those that are.
    pub(crate) fn add(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::StoreOutage => self.store_is_out = true,
            FaultKind::Drop { permille } => self.drop_permille = permille,
            FaultKind::Duplicate { permille } => self.duplicate_permille = permille,
            FaultKind::Delay { ms } => self.delay_us_max = ms * 1_000,
            FaultKind::Reorder { permille } => self.reorder_permille = permille,
            FaultKind::ConflictStorm { permille } => self.conflict_permille = permille,
            FaultKind::CommittedUnheard { permille } => self.committed_unheard_permille = permille,
            FaultKind::LostUnheard { permille } => self.lost_unheard_permille = permille,
            FaultKind::CommitsLate { permille } => self.commits_late_permille = permille,
            FaultKind::SlowDisk { times } => self.commit_slowness = times,
            FaultKind::CognifierFails { permille } => self.cognifier_permille = permille,
            _ => {}
        }
    }
}
