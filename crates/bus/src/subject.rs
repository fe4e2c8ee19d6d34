//! Subjects: where word of a slot's events is published.
//!
//! Owns the names, so that a bus over a network and one inside a process use the same.

use sillok_core::slot::Slot;

/// Partitions that the slots' subjects are spread over.
pub const PARTITIONS: u16 = 64;

/// The subject of a slot's events: `sillok.evt.<partition>.<slot>`.
#[must_use]
pub fn events_of(slot: Slot) -> String {
    format!(
        "sillok.evt.{}.{}",
        slot.number() % PARTITIONS,
        slot.number()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_subject_in_one_partition() {
        assert_eq!(events_of(Slot::new(65).unwrap()), "sillok.evt.1.65");
        assert_eq!(events_of(Slot::new(0).unwrap()), "sillok.evt.0.0");
    }
}
