//! Subjects: where word of a slot's events is published.
//!
//! Owns the names, so that a bus over a network and one inside a process use the same.

use sillok_core::slot::Slot;

/// Partitions that the slots' subjects are spread over.
pub const PARTITIONS: u16 = 64;

/// The subjects of the events of all slots.
pub const EVENTS_OF_ALL: &str = "sillok.evt.*.*";

/// The subject on which nodes tell one another where something was committed.
pub const NEWS: &str = "sillok.news";

/// The subject on which a node is handed commands: `sillok.node.<name>`. A name is one token of a
/// subject: none when it is not of `A-Za-z0-9_-`.
#[must_use]
pub fn commands_to(node: &str) -> Option<String> {
    let is_clean = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_token = !node.is_empty() && node.bytes().all(is_clean);
    is_token.then(|| format!("sillok.node.{node}"))
}

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

    #[test]
    fn a_node_has_a_subject_if_its_name_is_a_token() {
        assert_eq!(
            commands_to("sillok-0").as_deref(),
            Some("sillok.node.sillok-0")
        );
        for name in ["", "a.b", "*", ">", "a b", "ä"] {
            assert_eq!(commands_to(name), None, "{name}");
        }
    }
}
