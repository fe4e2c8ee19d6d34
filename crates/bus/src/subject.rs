//! Subjects: where word of a slot's events is published, and the names of the streams that hold it.
//!
//! Owns the names, so that a bus over a network and one inside a process use the same.

use sillok_core::channel::Channel;
use sillok_core::slot::Slot;

/// Partitions that the slots' subjects are spread over.
pub const PARTITIONS: u16 = 64;

/// The name of a channel's stream, under which relays keep their cursors too.
#[must_use]
pub const fn stream_of(channel: Channel) -> &'static str {
    match channel {
        Channel::Events => "EVT",
        Channel::Log => "LOG",
    }
}

/// The subjects of a channel's messages of all slots.
#[must_use]
pub const fn of_all(channel: Channel) -> &'static str {
    match channel {
        Channel::Events => "sillok.evt.*.*",
        Channel::Log => "sillok.log.*.*",
    }
}

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

/// The subject of a channel's messages of a slot: `sillok.evt.<partition>.<slot>`, or `sillok.log.…`.
#[must_use]
pub fn of_slot(channel: Channel, slot: Slot) -> String {
    let name = match channel {
        Channel::Events => "evt",
        Channel::Log => "log",
    };
    let (slot, partition) = (slot.number(), slot.number() % PARTITIONS);
    format!("sillok.{name}.{partition}.{slot}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_subject_in_one_partition_of_each_channel() {
        let of = |channel, slot| of_slot(channel, Slot::new(slot).unwrap());
        assert_eq!(of(Channel::Events, 65), "sillok.evt.1.65");
        assert_eq!(of(Channel::Events, 0), "sillok.evt.0.0");
        assert_eq!(of(Channel::Log, 4_095), "sillok.log.63.4095");
    }

    #[test]
    fn a_channels_subjects_are_its_own() {
        for channel in Channel::ALL {
            let start = of_all(channel).strip_suffix("*.*").unwrap();
            for other in Channel::ALL {
                let subject = of_slot(other, Slot::new(7).unwrap());
                assert_eq!(subject.starts_with(start), channel == other);
            }
        }
        assert_ne!(stream_of(Channel::Events), stream_of(Channel::Log));
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
