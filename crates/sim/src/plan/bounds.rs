//! What a plan may say: the bounds of every field, so that one that was written by hand or made
//! smaller is a world, or is refused with the field that makes it none.

use std::fmt::Display;
use std::ops::RangeInclusive;

use sillok_core::limits::CLOCK_BEHIND_MS_MAX;

use crate::fault::{FaultKind, Profile, StoreShape};
use crate::plan::Plan;
use crate::suite::Suite;

/// Nodes of a world.
const NODES: RangeInclusive<u16> = 2..=64;
/// How long faults may go on, in ms.
const FAULTS_MS: RangeInclusive<u64> = 1..=600_000;
/// Faults of a world, at most.
const FAULTS_MAX: usize = 1_000;
/// Agents of a world, at most.
const AGENTS_MAX: u16 = 64;
/// Operations of a world, at most.
const OPERATIONS_MAX: usize = 100_000;
/// How far a clock may jump, in ms, and how much longer a parcel may take.
const SKEW_MS_MAX: u64 = 60_000;
/// How far a clock may be off for a while, in ms: beyond what the rules let pass, but not for longer
/// than a world takes to drain.
const OFFSET_MS_MAX: u64 = CLOCK_BEHIND_MS_MAX + 30_000;
/// How fast a clock may drift, in millionths.
const DRIFT_PPM_MAX: u64 = 200_000;
/// Commands of a burst.
const BURST: RangeInclusive<u16> = 1..=1_000;
/// Messages that a stream may lose at once.
const SUFFIX_MAX: u64 = 10_000;
/// How many times longer a commit may take.
const SLOWNESS: RangeInclusive<u64> = 1..=1_000;

/// A field that says what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct Refused {
    /// The field, with its path from the top of the file.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

impl Refused {
    pub(crate) fn new(field: impl Into<String>, why: impl Display) -> Self {
        Self {
            field: field.into(),
            why: why.to_string(),
        }
    }

    /// The same, seen from outside of `field`.
    pub(crate) fn within(mut self, field: &str) -> Self {
        self.field = format!("{field}.{}", self.field);
        self
    }
}

fn within<T: PartialOrd + Display + Copy>(
    field: &str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<(), Refused> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(Refused::new(
        field,
        format!("{value} is not from {low} to {high}"),
    ))
}

impl Profile {
    /// Whether a world can be made from the profile.
    ///
    /// # Errors
    /// The first field that says what no world has.
    pub fn validate(&self) -> Result<(), Refused> {
        let fields = || -> Result<(), Refused> {
            match self.store {
                StoreShape::Shared => within("nodes", self.nodes, &NODES)?,
                StoreShape::Disk => within("nodes", self.nodes, &(1..=1))?,
            }
            within("faults_ms", self.faults_ms, &FAULTS_MS)?;
            within("faults", self.faults.len(), &(0..=FAULTS_MAX))?;
            for (number, fault) in self.faults.iter().enumerate() {
                within("at_ms", fault.at_ms, &(0..=self.faults_ms))
                    .and_then(|()| within("for_ms", fault.for_ms, &(1..=self.faults_ms)))
                    .and_then(|()| occurs(fault.kind, self.store))
                    .and_then(|()| kind(fault.kind, self.nodes))
                    .map_err(|refused| refused.within(&format!("faults[{number}]")))?;
            }
            Ok(())
        };
        fields().map_err(|refused| refused.within("profile"))
    }
}

impl FaultKind {
    /// Whether it can befall a world of `nodes` nodes.
    pub(crate) fn is_within(self, nodes: u16) -> bool {
        kind(self, nodes).is_ok()
    }
}

/// Whether a fault can happen where the rows are stored so.
fn occurs(kind: FaultKind, store: StoreShape) -> Result<(), Refused> {
    let why = match (store, kind) {
        (StoreShape::Shared, FaultKind::DiskFails) => "a shared store has no disk of its own",
        (StoreShape::Disk, FaultKind::WatcherDies | FaultKind::OneWay { .. }) => {
            "a node with a disk of its own is alone"
        }
        (
            StoreShape::Disk,
            FaultKind::StoreCut { .. }
            | FaultKind::StoreOutage
            | FaultKind::ConflictStorm { .. }
            | FaultKind::CommittedUnheard { .. }
            | FaultKind::LostUnheard { .. }
            | FaultKind::CommitsLate { .. },
        ) => "a disk is always in reach, and says what became of a commit",
        (
            StoreShape::Disk,
            FaultKind::StreamDown
            | FaultKind::StreamOneWay { .. }
            | FaultKind::LosesSuffix { .. }
            | FaultKind::StreamRecreated,
        ) => "a node with a disk of its own has no stream",
        _ => return Ok(()),
    };
    Err(Refused::new("kind", why))
}

fn kind(kind: FaultKind, nodes: u16) -> Result<(), Refused> {
    let known = |field, node| within(field, node, &(0..=nodes - 1));
    let chance = |permille| within("permille", permille, &(1..=1_000));
    let skew = |ms: i64| within("ms", ms.unsigned_abs(), &(0..=SKEW_MS_MAX));
    match kind {
        FaultKind::Crash { node }
        | FaultKind::Pause { node }
        | FaultKind::Partition { node }
        | FaultKind::Swizzle { node }
        | FaultKind::StoreCut { node }
        | FaultKind::Panic { node }
        | FaultKind::KillActors { node } => known("node", node),
        FaultKind::OneWay { from, to } if from == to => {
            Err(Refused::new("to", "a node always hears itself"))
        }
        FaultKind::OneWay { from, to } => known("from", from).and_then(|()| known("to", to)),
        FaultKind::WatcherDies
        | FaultKind::DiskFails
        | FaultKind::StoreOutage
        | FaultKind::StreamDown
        | FaultKind::StreamRecreated => Ok(()),
        // One behind the last means the listeners.
        FaultKind::StreamOneWay { node, .. } => within("node", node, &(0..=nodes)),
        FaultKind::LosesSuffix { messages } => within("messages", messages, &(1..=SUFFIX_MAX)),
        FaultKind::FullMailbox { commands } => within("commands", commands, &BURST),
        FaultKind::Drop { permille }
        | FaultKind::Reorder { permille }
        | FaultKind::Duplicate { permille }
        | FaultKind::ConflictStorm { permille }
        | FaultKind::CommittedUnheard { permille }
        | FaultKind::LostUnheard { permille }
        | FaultKind::CommitsLate { permille }
        | FaultKind::CognifierFails { permille } => chance(permille),
        FaultKind::Delay { ms } => within("ms", ms, &(0..=SKEW_MS_MAX)),
        FaultKind::SlowDisk { times } => within("times", times, &SLOWNESS),
        FaultKind::ClockOffset { node, ms } => {
            known("node", node).and_then(|()| within("ms", ms.unsigned_abs(), &(0..=OFFSET_MS_MAX)))
        }
        FaultKind::ClockJump { node, ms } => known("node", node).and_then(|()| skew(ms)),
        FaultKind::ClockDrift { node, ppm } => known("node", node)
            .and_then(|()| within("ppm", ppm.unsigned_abs(), &(0..=DRIFT_PPM_MAX))),
    }
}

/// Whether agents can carry out the operations of a plan.
pub(super) fn operations(plan: &Plan, suite: &Suite) -> Result<(), Refused> {
    if plan.operations.is_empty() {
        return Err(Refused::new("operations", "nobody does anything"));
    }
    within("operations", plan.operations.len(), &(1..=OPERATIONS_MAX))?;
    for (number, operation) in plan.operations.iter().enumerate() {
        within("agent", operation.agent, &(0..=AGENTS_MAX - 1))
            .map_err(|refused| refused.within(&format!("operations[{number}]")))?;
        suite
            .check_operation(operation, plan.profile.nodes)
            .map_err(|why| Refused::new(format!("operations[{number}]"), why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn refused(spoil: impl FnOnce(&mut Plan)) -> String {
        let suite = Suite::built_in();
        let mut plan = Plan::draw(3);
        plan.validate(&suite).expect("what is drawn is a world");
        spoil(&mut plan);
        plan.validate(&suite).unwrap_err().to_string()
    }

    fn with_fault(kind: FaultKind) -> String {
        refused(|plan| plan.profile.faults[1].kind = kind)
    }

    #[test]
    fn all_that_seeds_draw_is_a_world() {
        let suite = Suite::built_in();
        for seed in 0..200 {
            Plan::draw(seed).validate(&suite).unwrap();
        }
    }

    #[test]
    fn nodes_out_of_range_are_refused() {
        let with_disk = refused(|plan| {
            plan.profile.nodes = 3;
            plan.profile.store = StoreShape::Disk;
        });
        assert_eq!(with_disk, "profile.nodes: 3 is not from 1 to 1");
        let few = refused(|plan| plan.profile.nodes = 1);
        assert_eq!(few, "profile.nodes: 1 is not from 2 to 64");
        let many = refused(|plan| plan.profile.nodes = 99);
        assert_eq!(many, "profile.nodes: 99 is not from 2 to 64");
    }

    #[test]
    fn a_span_that_no_world_has_is_refused() {
        let never = refused(|plan| plan.profile.faults_ms = 0);
        assert!(never.starts_with("profile.faults_ms: 0 "), "{never}");
        let late = refused(|plan| plan.profile.faults[0].at_ms = 1_000_000);
        assert!(late.starts_with("profile.faults[0].at_ms: 1000000 "));
        let short = refused(|plan| plan.profile.faults[2].for_ms = 0);
        assert!(short.starts_with("profile.faults[2].for_ms: 0 "));
        let many = refused(|plan| {
            let fault: Fault = plan.profile.faults[0];
            plan.profile.faults = vec![fault; FAULTS_MAX + 1];
        });
        assert!(many.starts_with("profile.faults: 1001 "), "{many}");
    }

    #[test]
    fn a_fault_at_a_node_that_is_not_there_is_refused() {
        let node = 12;
        for kind in [
            FaultKind::Crash { node },
            FaultKind::Pause { node },
            FaultKind::Partition { node },
            FaultKind::Swizzle { node },
            FaultKind::StoreCut { node },
            FaultKind::Panic { node },
            FaultKind::KillActors { node },
            FaultKind::ClockOffset { node, ms: 1 },
            FaultKind::ClockJump { node, ms: 1 },
            FaultKind::ClockDrift { node, ppm: 1 },
        ] {
            let why = with_fault(kind);
            assert!(
                why.starts_with("profile.faults[1].node: 12 is not"),
                "{why}"
            );
        }
        let why = with_fault(FaultKind::OneWay { from: 0, to: 12 });
        assert!(why.starts_with("profile.faults[1].to: 12 "), "{why}");
        let why = with_fault(FaultKind::OneWay { from: 12, to: 0 });
        assert!(why.starts_with("profile.faults[1].from: 12 "), "{why}");
        let why = with_fault(FaultKind::OneWay { from: 1, to: 1 });
        assert_eq!(why, "profile.faults[1].to: a node always hears itself");
    }

    #[test]
    fn a_fault_beyond_all_measure_is_refused() {
        let why = with_fault(FaultKind::Drop { permille: 1_001 });
        assert!(why.starts_with("profile.faults[1].permille: 1001 "));
        let why = with_fault(FaultKind::Delay { ms: 60_001 });
        assert!(why.starts_with("profile.faults[1].ms: 60001 "), "{why}");
        let why = with_fault(FaultKind::SlowDisk { times: 0 });
        assert!(why.starts_with("profile.faults[1].times: 0 "), "{why}");
        let why = with_fault(FaultKind::ClockJump {
            node: 0,
            ms: i64::MIN,
        });
        assert!(why.starts_with("profile.faults[1].ms: "), "{why}");
        let why = with_fault(FaultKind::ClockDrift {
            node: 0,
            ppm: -250_001,
        });
        assert!(why.starts_with("profile.faults[1].ppm: 250001 "), "{why}");
        let why = with_fault(FaultKind::ClockOffset {
            node: 0,
            ms: 86_430_001,
        });
        assert!(why.starts_with("profile.faults[1].ms: 86430001 "), "{why}");
        let why = with_fault(FaultKind::FullMailbox { commands: 0 });
        assert!(why.starts_with("profile.faults[1].commands: 0 "), "{why}");
    }

    #[test]
    fn a_fault_that_cannot_happen_where_the_rows_are_stored_so_is_refused() {
        let disk = (0..).map(Plan::draw).find(|plan| plan.profile.nodes == 1);
        let disk = disk.expect("some seeds draw a disk");
        let permille = 1;
        for kind in [
            FaultKind::WatcherDies,
            FaultKind::OneWay { from: 0, to: 0 },
            FaultKind::StoreCut { node: 0 },
            FaultKind::StoreOutage,
            FaultKind::ConflictStorm { permille },
            FaultKind::CommittedUnheard { permille },
            FaultKind::LostUnheard { permille },
            FaultKind::CommitsLate { permille },
            FaultKind::StreamDown,
            FaultKind::StreamOneWay {
                node: 0,
                replies: true,
            },
            FaultKind::LosesSuffix { messages: 1 },
            FaultKind::StreamRecreated,
        ] {
            let mut plan = disk.clone();
            plan.profile.faults[1].kind = kind;
            let why = plan.profile.validate().unwrap_err().to_string();
            assert!(why.starts_with("profile.faults[1].kind: a "), "{why}");
        }
        let why = with_fault(FaultKind::DiskFails);
        assert!(
            why.starts_with("profile.faults[1].kind: a shared "),
            "{why}"
        );
    }

    #[test]
    fn operations_that_nobody_can_do_are_refused() {
        let none = refused(|plan| plan.operations.clear());
        assert_eq!(none, "operations: nobody does anything");
        let agent = refused(|plan| plan.operations[5].agent = 64);
        assert_eq!(agent, "operations[5].agent: 64 is not from 0 to 63");
        let scope = refused(|plan| {
            plan.operations[7].workload = "reads".into();
            plan.operations[7].action = serde_json::json!({"tip": {"project": 64}});
        });
        assert_eq!(scope, "operations[7]: action: project: 64 is not below 64");
        let unknown = refused(|plan| plan.operations[2].workload = "juggling".into());
        assert!(
            unknown.starts_with("operations[2]: workload: "),
            "{unknown}"
        );
        let many = refused(|plan| {
            let operation = plan.operations[0].clone();
            plan.operations = vec![operation; OPERATIONS_MAX + 1];
        });
        assert!(many.starts_with("operations: 100001 "), "{many}");
    }
}
