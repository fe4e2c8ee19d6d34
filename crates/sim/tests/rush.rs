//! Fifty clients change one decision at once, each in the version that all of them have seen, again and again and under faults:
//! each time one of them has changed it, and the versions have no gap.

use std::collections::BTreeSet;

use serde_json::json;
use sillok_core::ErrorCode;
use sillok_sim::fault::Profile;
use sillok_sim::history::Ending;
use sillok_sim::workload::{Check, End, Operation};
use sillok_sim::{Plan, Suite, Violation, quiet_planted_panics, run};
use sillok_store::keys::{self, Family};

/// Clients that change it at once.
const CLIENTS: usize = 50;
/// How often they do.
const ROUNDS: usize = 12;
/// The rest before each time, in ms, so that they are at it as long as faults come.
const REST_MS: u16 = 3_000;
/// Worlds, each with faults of its own.
const SEEDS: u64 = 12;

/// That one decision is there, with a version for each round and one that is active, and that each client was told so.
struct OneRoot;

impl Check for OneRoot {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        judged(end).map_err(|what| Violation::new("one of fifty changes a decision", what))
    }
}

fn judged(end: &End<'_>) -> Result<(), String> {
    let heads = end.rows(Family::Decision);
    let [(key, value)] = heads.as_slice() else {
        return Err(format!("there are {} decisions", heads.len()));
    };
    let head = keys::decision::decode(key, value).expect("a row that was written");
    let last = 1 + ROUNDS as u64;
    if (head.version, head.active) != (last, true) {
        return Err(format!("after {ROUNDS} rounds, it is {head:?}"));
    }
    let versions = end.rows(Family::DecisionVersion);
    let numbers = versions.iter().map(|(key, value)| {
        let version = keys::decision_version::decode(key, value).expect("a row that was written");
        (version.root, version.number)
    });
    let expected = (1..=last).map(|number| (head.root, number));
    if !numbers.eq(expected) {
        return Err(format!("there are {} versions with gaps", versions.len()));
    }
    let listed = end.rows(Family::DecisionListed);
    let active = listed.iter().map(|(key, value)| {
        keys::decision_listed::decode(key, value).expect("a row that was written");
        let at = keys::decision_listed::parse(key).expect("a row that was written");
        at.root
    });
    if !active.eq([head.root]) {
        return Err(format!("{} decisions are listed as active", listed.len()));
    }
    let (mut told, mut refused) = (BTreeSet::new(), 0);
    // What the world itself does beside them is no matter here.
    let saves = end.history.calls.iter();
    let saves = saves.filter(|call| call.name == "save_decision");
    for call in saves {
        match call.ended {
            Some((_, Ending::Acknowledged(seq))) => drop(told.insert(seq)),
            Some((_, Ending::Refused(ErrorCode::Conflict))) => refused += 1,
            ended => return Err(format!("{} ended as {ended:?}", call.command)),
        }
    }
    let expected = (1 + ROUNDS, (CLIENTS - 1) * ROUNDS);
    if (told.len(), refused) != expected {
        let told = told.len();
        return Err(format!(
            "{told} were told of a version of their own, and {refused} refused"
        ));
    }
    Ok(())
}

fn operation(rest_ms: u16, action: serde_json::Value) -> Operation {
    Operation {
        agent: 0,
        rest_ms,
        workload: "deciding".into(),
        action,
    }
}

/// One agent begins a decision of a project, and has it changed by all clients at once each time.
fn plan(seed: u64) -> Plan {
    let begin = json!({ "begin": {
        "home": { "project": 0, "level": 1 },
        "says": { "rank": 2, "domain": 0, "claim": null, "relations": [] },
        "asks": null,
    } });
    let rush = json!({ "rush": { "which": 0, "writers": CLIENTS } });
    let rushes = (0..ROUNDS).map(|_| operation(REST_MS, rush.clone()));
    Plan {
        seed,
        profile: Profile::draw(seed),
        operations: std::iter::once(operation(0, begin)).chain(rushes).collect(),
    }
}

#[test]
fn of_fifty_clients_that_change_one_decision_one_does_and_its_versions_have_no_gap() {
    quiet_planted_panics();
    let suite = Suite::built_in().check(OneRoot);
    let (mut commits, mut takeovers) = (0, 0);
    for seed in 0..SEEDS {
        let plan = plan(seed);
        plan.validate(&suite).unwrap();
        let outcome = run(&plan, &suite);
        assert_eq!(outcome.violation, None, "seed {seed}");
        commits += outcome.commits;
        takeovers += outcome.takeovers;
    }
    assert!(commits >= SEEDS * (1 + ROUNDS as u64), "{commits}");
    assert!(takeovers > 0, "no fault has had any effect");
}
