//! The documented example of a workload and an invariant of one's own does what it says.

#[path = "../examples/own_workload.rs"]
mod own_workload;

use own_workload::{Diary, run};
use sillok_sim::Suite;
use sillok_sim::replay::Replay;

#[test]
fn the_example_runs_and_its_invariant_holds() {
    own_workload::main().unwrap();
}

#[test]
fn an_invariant_of_ones_own_is_seen_to_be_broken_and_the_plan_is_saved_with_the_operations() {
    let report = run(Diary { is_careless: true }, 2);
    let failure = report.failures.first().expect("a careless agent is seen");
    assert_eq!(failure.invariant, "pages in order");
    let saved = failure.replay.write();
    assert!(saved.contains(r#""workload":"diary","action":{"write":{"lines":"#));
    let careful = Suite::built_in().workload(Diary { is_careless: false });
    assert_eq!(Replay::read(&saved, &careful).unwrap(), failure.replay);
    // Who does not have the workload is told so.
    let refused = Replay::read(&saved, &Suite::built_in()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("there is none that is called \"diary\"")
    );
}
