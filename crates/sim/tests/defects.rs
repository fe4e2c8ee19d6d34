//! Defects that no invariant of the protocol speaks of: what panics, and what never comes to rest.
//! Each has to fail the world that it is in, and no other one.

use sillok_sim::agent::Agent;
use sillok_sim::batch::{self, Report, Worlds};
use sillok_sim::replay::Replay;
use sillok_sim::shrink::shrink;
use sillok_sim::workload::{Check, Draw, End, Workload};
use sillok_sim::{Plan, Suite, Violation, run};

/// The number that some agents of some seeds draw.
const UNLUCKY: u64 = 3;

/// What becomes of an agent that drew it.
#[derive(Clone, Copy)]
enum Defect {
    /// The agent panics.
    Panics,
    /// A task panics, of which nobody wants to know how it ended.
    PanicsUnseen,
    /// The agent goes on and on without waiting for anything.
    NeverWaits,
    /// The agent waits again and again, and time does not pass.
    WaitsForNothing,
}

impl Workload for Defect {
    type Action = u64;

    fn name(&self) -> &'static str {
        "defect"
    }

    fn share(&self) -> u32 {
        30
    }

    fn draw(&self, draw: &mut Draw<'_>) -> u64 {
        draw.stream.between(0, 60)
    }

    async fn act(&self, agent: &mut Agent, number: u64) {
        if number != UNLUCKY {
            return;
        }
        match self {
            Self::Panics => panic!("drew {number}"),
            Self::PanicsUnseen => drop(tokio::spawn(async { panic!("seen by nobody") })),
            Self::NeverWaits => loop {
                tokio::task::yield_now().await;
            },
            Self::WaitsForNothing => loop {
                agent.client().sleep(0).await;
            },
        }
    }
}

/// Whether a seed has an unlucky agent.
fn is_unlucky(plan: &Plan) -> bool {
    let mut operations = plan.operations.iter();
    operations.any(|one| one.workload == "defect" && one.action == UNLUCKY)
}

/// A small world, so that what happens is seen soon.
fn small(suite: &Suite, seed: u64) -> Plan {
    let mut plan = Plan::draw_from(suite, seed);
    plan.operations.retain(|operation| operation.agent < 2);
    plan.profile.faults.truncate(3);
    plan.profile.faults_ms = plan.profile.faults_ms.max(1);
    plan
}

/// Runs one unlucky world between two that are not.
fn batch_of(defect: Defect, jobs: usize) -> (u64, Report) {
    let suite = Suite::built_in().workload(defect);
    let of_luck = |unlucky| {
        let plans = (0..).map(|seed| small(&suite, seed));
        plans.filter(move |plan| is_unlucky(plan) == unlucky)
    };
    let mut plans: Vec<Plan> = of_luck(false).take(2).collect();
    let unlucky = of_luck(true).next().expect("some seeds are");
    let seed = unlucky.seed;
    plans.insert(1, unlucky);
    let report = batch::run(&Worlds::Plans(plans), &suite, jobs, || true, |_, _| ());
    (seed, report)
}

/// What the only failure of a batch is, which is that of the unlucky seed.
fn only_failure(defect: Defect, jobs: usize) -> (Replay, Violation) {
    let (seed, report) = batch_of(defect, jobs);
    let [failure] = &report.failures[..] else {
        panic!("{:?}", report.failures);
    };
    assert_eq!((report.seeds, failure.seed), (3, seed));
    let violation = failure.replay.violation.clone();
    (failure.replay.clone(), violation.expect("it failed"))
}

#[test]
fn a_panic_of_a_task_fails_its_world_with_its_message_and_place() {
    for (defect, message) in [
        (Defect::Panics, "\"drew 3\""),
        (Defect::PanicsUnseen, "\"seen by nobody\""),
    ] {
        let (_, violation) = only_failure(defect, 2);
        assert_eq!(violation.invariant, "nothing panics");
        let place = " at crates/sim/tests/defects.rs:";
        let start = format!("{message}{place}");
        assert!(violation.what.starts_with(&start), "{violation}");
    }
}

#[test]
fn tasks_that_never_wait_fail_their_world() {
    let (_, violation) = only_failure(Defect::NeverWaits, 2);
    assert_eq!(violation.invariant, "everything comes to rest");
    assert!(
        violation.what.starts_with("the clients go on and on, at "),
        "{violation}"
    );
}

#[test]
fn events_that_do_not_move_time_fail_their_world() {
    let (_, violation) = only_failure(Defect::WaitsForNothing, 1);
    assert_eq!(violation.invariant, "everything comes to rest");
    assert!(violation.what.contains("did not move time"), "{violation}");
}

/// A check that panics in worlds of an odd seed.
struct PanicsAtOddSeeds;

impl Check for PanicsAtOddSeeds {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let seed = end.plan.seed;
        assert!(seed.is_multiple_of(2), "{seed} is odd");
        Ok(())
    }
}

#[test]
fn a_panic_of_the_world_itself_is_a_failure_that_can_be_saved_and_made_smaller() {
    let suite = Suite::built_in().check(PanicsAtOddSeeds);
    let worlds = Worlds::Plans((10..14).map(|seed| small(&suite, seed)).collect());
    let report = batch::run(&worlds, &suite, 2, || true, |_, _| ());
    let failed: Vec<u64> = report.failures.iter().map(|failure| failure.seed).collect();
    assert_eq!((report.seeds, failed), (4, vec![11, 13]));
    let failure = &report.failures[0];
    assert_eq!(failure.invariant, "nothing panics");
    assert!(
        failure.what.starts_with("\"11 is odd\" at "),
        "{}",
        failure.what
    );
    let saved = Replay::read(&failure.replay.write(), &suite).unwrap();
    let again = run(&saved.plan, &suite);
    assert_eq!(again.violation, saved.violation);
    assert_eq!(Some(again.digest), saved.digest);
    let shrunk = shrink(&saved.plan, &suite, 12, |plan| run(plan, &suite)).unwrap();
    assert!(shrunk.after.operations * 2 < shrunk.before.operations);
    // Its thread goes on with worlds in which nothing panics.
    assert_eq!(run(&small(&suite, 12), &suite).violation, None);
}
