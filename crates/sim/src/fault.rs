//! Faults as data: what goes wrong, where, when and for how long.
//!
//! Owns the kinds, the profile that a seed draws, and the list that follows from it. A list can be
//! saved, replayed and made smaller; it must not know how a fault is brought about.

use serde::{Deserialize, Serialize};
use sillok_core::limits::CLOCK_BEHIND_MS_MAX;

use crate::rng::Stream;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// A node crashes, and is started again when the fault ends.
    Crash {
        /// Which.
        node: u16,
    },
    /// A node does nothing, as one that is suspended; its clocks run on.
    Pause {
        /// Which.
        node: u16,
    },
    /// Whoever fences another node while this lasts crashes right after it.
    WatcherDies,
    /// A node is cut off from all others and from all clients, in both directions.
    Partition {
        /// Which.
        node: u16,
    },
    /// What one node sends reaches another one no more; the other direction works.
    OneWay {
        /// Whose words are lost.
        from: u16,
        /// Who does not hear them.
        to: u16,
    },
    /// The ways of a node are cut one after the other, and mended in another order.
    Swizzle {
        /// Which.
        node: u16,
    },
    /// A node does not reach the store.
    StoreCut {
        /// Which.
        node: u16,
    },
    /// Nobody reaches the store.
    StoreOutage,
    /// Requests and replies are lost.
    Drop {
        /// In a thousandth.
        permille: u32,
    },
    /// Requests arrive twice.
    Duplicate {
        /// In a thousandth.
        permille: u32,
    },
    /// Parcels take longer, each by another span.
    Delay {
        /// The longest, in ms.
        ms: u64,
    },
    /// Parcels between two nodes are held back, so that later ones overtake them.
    Reorder {
        /// In a thousandth.
        permille: u32,
    },
    /// Many clients give commands in one scope at the same moment.
    FullMailbox {
        /// How many.
        commands: u16,
    },
    /// Commits meet conflicts that nobody caused.
    ConflictStorm {
        /// In a thousandth.
        permille: u32,
    },
    /// Commits happen and nobody hears of it.
    CommittedUnheard {
        /// In a thousandth.
        permille: u32,
    },
    /// Commits do not happen and nobody hears of it.
    LostUnheard {
        /// In a thousandth.
        permille: u32,
    },
    /// Commits happen after their outcome was said to be unknown.
    CommitsLate {
        /// In a thousandth.
        permille: u32,
    },
    /// Commits take longer.
    SlowDisk {
        /// How many times.
        times: u64,
    },
    /// A node's wall clock is wrong by this much.
    ClockOffset {
        /// Which.
        node: u16,
        /// By how much.
        ms: i64,
    },
    /// A node's clocks run at another speed.
    ClockDrift {
        /// Which.
        node: u16,
        /// By how much, in millionths.
        ppm: i64,
    },
    /// A node's wall clock jumps, and does not come back.
    ClockJump {
        /// Which.
        node: u16,
        /// By how much.
        ms: i64,
    },
    /// The cognifier fails.
    CognifierFails {
        /// In a thousandth.
        permille: u32,
    },
    /// The next command that a node seals panics.
    Panic {
        /// Which.
        node: u16,
    },
    /// Nobody serves the stream.
    StreamDown,
    /// What a place says to the stream is lost, or what the stream says to it.
    StreamOneWay {
        /// Which node; one behind the last means the listeners.
        node: u16,
        /// Whether it is the stream's words that are lost.
        replies: bool,
    },
    /// The stream loses the last messages that it acknowledged.
    LosesSuffix {
        /// How many.
        messages: u64,
    },
    /// The stream is created anew, empty.
    StreamRecreated,
    /// The next write to the disk of the only node fails, and with it the process.
    DiskFails,
    /// All scope actors of a node are killed, again and again, each time while a commit is on its way.
    KillActors {
        /// Which.
        node: u16,
    },
}

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When it begins, in ms of the world.
    pub at_ms: u64,
    /// How long it lasts, in ms.
    pub for_ms: u64,
    /// What it is.
    #[serde(flatten)]
    pub kind: FaultKind,
}

/// What a world's rows are stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreShape {
    /// One store that all nodes reach, as FoundationDB.
    #[default]
    Shared,
    /// The disk of the only node, with the committer in its process, as fjall.
    Disk,
}

/// What a seed draws before anything else: how many nodes there are and what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Nodes of the cluster.
    pub nodes: u16,
    /// What the rows are stored in.
    #[serde(default)]
    pub store: StoreShape,
    /// How long faults go on, in ms.
    pub faults_ms: u64,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// How long a fault lasts that is to be noticed by all others, in ms, at least and at most.
const LONG_MS: (u64, u64) = (4_500, 12_000);
/// The kind of a node that is down for that long.
const LONG_CRASH_KIND: usize = 0;
/// Kinds of faults that a seed may draw.
const KINDS: usize = 29;
/// The kind that only a node with a disk of its own meets.
const DISK_KIND: usize = 25;
/// The kinds that a node with a disk of its own may meet.
const ON_DISK: [usize; 17] = [
    0, 1, 2, 3, 5, 7, 10, 11, 12, 17, 18, 19, 20, 24, DISK_KIND, 26, 27,
];
/// Worlds of one node with a disk of its own, in a thousandth.
const DISK_PERMILLE: u32 = 80;
/// Worlds of several nodes, one of which is sure to be down for longer than its slots stay its own,
/// in a thousandth.
const LONG_CRASH_PERMILLE: u32 = 950;
/// How much further than the bound a clock is off that is far off, in ms, at least and at most.
const FAR_MS: (u64, u64) = (1_000, 8_000);
/// The first fault comes no earlier, so that there is something to disturb, in ms.
const CALM_MS: u64 = 1_000;

impl Profile {
    /// The profile of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "profile", 0);
        let store = if stream.permille(DISK_PERMILLE) {
            StoreShape::Disk
        } else {
            StoreShape::Shared
        };
        let nodes = match (store, stream.between(0, 19)) {
            (StoreShape::Disk, _) => 1,
            (_, 0) => 2,
            (_, 1 | 2) => stream.between(6, 7),
            _ => stream.between(3, 5),
        };
        let nodes = u16::try_from(nodes).expect("a few nodes");
        let faults_ms = 45_000;
        // Some kinds are left out of each seed: what is always there hides what it goes with.
        let enabled: Vec<bool> = (0..KINDS).map(|_| stream.permille(600)).collect();
        let mut faults = Vec::new();
        let count = stream.between(8, 24);
        if store == StoreShape::Shared && stream.permille(LONG_CRASH_PERMILLE) {
            let at_ms = stream.between(CALM_MS, faults_ms - LONG_MS.1);
            let (kind, for_ms) = draw_kind(LONG_CRASH_KIND, nodes, &mut stream);
            faults.push(Fault {
                at_ms,
                for_ms,
                kind,
            });
        }
        while (faults.len() as u64) < count {
            let number = stream.index(KINDS);
            let at_ms = stream.between(CALM_MS, faults_ms);
            let applies = match store {
                StoreShape::Shared => number != DISK_KIND,
                StoreShape::Disk => ON_DISK.contains(&number),
            };
            if !applies || (!enabled[number] && stream.permille(950)) {
                continue;
            }
            let (kind, for_ms) = draw_kind(number, nodes, &mut stream);
            // Two of them would add up to more than a world has time to wait for.
            if is_far_off(kind) && faults.iter().any(|fault: &Fault| is_far_off(fault.kind)) {
                continue;
            }
            let for_ms = for_ms.min(faults_ms.saturating_sub(at_ms)).max(1);
            faults.push(Fault {
                at_ms,
                for_ms,
                kind,
            });
        }
        faults.sort_by_key(|fault| (fault.at_ms, fault.for_ms));
        Self {
            nodes,
            store,
            faults_ms,
            faults,
        }
    }
}

fn draw_kind(number: usize, nodes: u16, stream: &mut Stream) -> (FaultKind, u64) {
    let node = u16::try_from(stream.index(usize::from(nodes))).expect("a few nodes");
    let further = stream.between(1, u64::from(nodes).max(2) - 1);
    let to = (node + u16::try_from(further).expect("few")) % nodes;
    let short = stream.between(50, 3_000);
    let long = stream.between(LONG_MS.0, LONG_MS.1);
    let permille = u32::try_from(stream.between(20, 300)).expect("a small number");
    let ms = i64::try_from(stream.between(0, 4_000)).expect("a small number") - 2_000;
    match number {
        LONG_CRASH_KIND => (FaultKind::Crash { node }, long),
        1 => (FaultKind::Crash { node }, short),
        2 => (FaultKind::Pause { node }, short),
        3 => (FaultKind::Pause { node }, long),
        4 => (FaultKind::WatcherDies, 15_000),
        5 => (FaultKind::Partition { node }, long),
        6 => (FaultKind::OneWay { from: node, to }, long),
        7 => (FaultKind::Swizzle { node }, long),
        8 => (FaultKind::StoreCut { node }, long),
        9 => (FaultKind::StoreOutage, long),
        10 => (FaultKind::Drop { permille }, long),
        11 => (FaultKind::Duplicate { permille }, long),
        12 => (FaultKind::Delay { ms: short }, long),
        13 => {
            let permille = draw_storm(permille, stream);
            (FaultKind::ConflictStorm { permille }, long)
        }
        14 => (FaultKind::CommittedUnheard { permille }, long),
        15 => (FaultKind::LostUnheard { permille }, long),
        16 => (FaultKind::CommitsLate { permille }, long),
        17 => (
            FaultKind::SlowDisk {
                times: stream.between(5, 200),
            },
            long,
        ),
        18 => (
            FaultKind::ClockOffset {
                node,
                ms: draw_offset(ms, stream),
            },
            long,
        ),
        19 => (
            FaultKind::ClockDrift {
                node,
                ppm: draw_drift(ms, stream),
            },
            long,
        ),
        20 => (FaultKind::CognifierFails { permille }, long),
        26 => (FaultKind::KillActors { node }, short),
        27 => {
            let commands = u16::try_from(stream.between(24, 64)).expect("a small number");
            (FaultKind::FullMailbox { commands }, 1)
        }
        28 => (FaultKind::Reorder { permille }, long),
        DISK_KIND => (FaultKind::DiskFails, 1),
        24 => match stream.between(0, 1) {
            0 => (FaultKind::Panic { node }, 1),
            _ => (FaultKind::ClockJump { node, ms }, 1),
        },
        _ => draw_stream_kind(number, nodes, long, stream),
    }
}

/// A kind that befalls the stream.
fn draw_stream_kind(number: usize, nodes: u16, long: u64, stream: &mut Stream) -> (FaultKind, u64) {
    match number {
        21 => (FaultKind::StreamDown, long),
        22 => {
            let node = u16::try_from(stream.between(0, u64::from(nodes))).expect("a few nodes");
            let replies = stream.permille(500);
            (FaultKind::StreamOneWay { node, replies }, long)
        }
        _ => match stream.between(0, 3) {
            0 => (FaultKind::StreamRecreated, 1),
            _ => (
                FaultKind::LosesSuffix {
                    messages: stream.between(1, 60),
                },
                1,
            ),
        },
    }
}

/// How many commits meet a conflict, in a thousandth: some; or nearly all, so that writers give up.
fn draw_storm(permille: u32, stream: &mut Stream) -> u32 {
    if stream.permille(700) {
        return permille;
    }
    u32::try_from(stream.between(700, 950)).expect("a small number")
}

/// By how much a wall clock is wrong, in ms: a little; or a day, so far ahead that whoever comes later lies
/// too far behind the events that were written meanwhile, and has to refuse for some seconds.
fn draw_offset(ms: i64, stream: &mut Stream) -> i64 {
    if stream.permille(700) {
        return ms;
    }
    let further = stream.between(FAR_MS.0, FAR_MS.1);
    i64::try_from(CLOCK_BEHIND_MS_MAX + further).expect("a day")
}

/// By how much clocks run too fast or too slowly, in millionths: up to 2 %, which is more than any
/// clock that works; or up to 20 %, as where a host takes time from a guest. No write rests on a
/// clock. A read from memory does, by the lease, which allows for two clocks of which one runs half as
/// fast again as the other: 20 % too fast and 20 % too slowly.
fn draw_drift(ms: i64, stream: &mut Stream) -> i64 {
    if stream.permille(600) {
        ms * 10
    } else {
        ms * 100
    }
}

/// Whether a fault puts a clock so far off that writes are refused.
const fn is_far_off(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::ClockOffset { ms, .. } if ms.unsigned_abs() > CLOCK_BEHIND_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_profile_and_another_seed_another_one() {
        assert_eq!(Profile::draw(7), Profile::draw(7));
        assert_ne!(Profile::draw(7), Profile::draw(8));
    }

    #[test]
    fn a_profile_survives_its_written_form() {
        for seed in 0..50 {
            let profile = Profile::draw(seed);
            let text = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
        }
    }
}
