//! The meta test: a simulation proves nothing unless the same seed gives the same world, in every
//! process, alone and among others; and the test proves nothing unless it sees one that does not.

use std::collections::BTreeMap;
use std::process::Command;

use sillok_sim::agent::Agent;
use sillok_sim::batch::{self, Worlds};
use sillok_sim::workload::{Draw, Workload};
use sillok_sim::{Plan, Suite, quiet_planted_panics, run};

/// Lines that the trace of a world has at least.
const LINES_MIN: u64 = 10_000;
/// Seeds that are compared.
const SEEDS: u64 = 100;
/// Names the seed whose digest another process of this test is to print.
const SEED: &str = "SILLOK_META_SEED";

/// The seeds whose trace is another one elsewhere.
fn differing(here: &BTreeMap<u64, String>, elsewhere: impl Fn(u64) -> String) -> Vec<u64> {
    let differs = |(seed, digest): (&u64, &String)| (elsewhere(*seed) != *digest).then_some(*seed);
    here.iter().filter_map(differs).collect()
}

/// The last word that a process says.
fn last_word(command: &mut Command) -> String {
    let output = command.output().expect("the process was built");
    let said = String::from_utf8(output.stdout).expect("a digest is text");
    let words = said.split_whitespace();
    let mut words = words.map(|word| word.trim_matches(['"', ',']));
    let word = words.rfind(|word| word.len() == 64);
    word.unwrap_or_else(|| panic!("no digest in {said:?}"))
        .to_owned()
}

#[test]
fn a_seed_gives_the_same_trace_in_every_process_alone_and_within_a_batch() {
    quiet_planted_panics();
    let mut within = BTreeMap::new();
    let worlds = Worlds::Seeds(0, SEEDS);
    let report = batch::run(
        &worlds,
        &Suite::built_in(),
        2,
        || true,
        |plan, outcome| {
            let (seed, lines) = (plan.seed, outcome.lines);
            assert!(lines >= LINES_MIN, "seed {seed}: {lines} lines");
            within.insert(seed, outcome.digest.clone());
        },
    );
    assert_eq!(report.failures, []);
    let alone = differing(&within, |seed| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sillok-sim"));
        last_word(command.args(["replay", "--json", "--seed", &seed.to_string()]))
    });
    assert_eq!(alone, [0; 0], "these seeds give another world elsewhere");
    let distinct: std::collections::BTreeSet<&String> = within.values().collect();
    assert_eq!(distinct.len() as u64, SEEDS, "two seeds give one world");
}

/// A workload that walks over a map whose order is that of chance, which nothing may do.
struct WalksOverHashMap;

impl Workload for WalksOverHashMap {
    type Action = ();

    fn name(&self) -> &'static str {
        "walks over a hash map"
    }

    fn share(&self) -> u32 {
        100
    }

    fn draw(&self, _draw: &mut Draw<'_>) {}

    #[expect(
        clippy::disallowed_types,
        reason = "what the list forbids is planted here, to be found"
    )]
    async fn act(&self, agent: &mut Agent, (): ()) {
        let rests: std::collections::HashMap<u64, ()> = (0..64).map(|ms| (ms, ())).collect();
        let first = rests.keys().next().copied().unwrap_or_default();
        agent.client().sleep(first).await;
    }
}

fn astray(seed: u64) -> String {
    let suite = Suite::built_in().workload(WalksOverHashMap);
    let mut plan = Plan::draw_from(&suite, seed);
    plan.operations.retain(|operation| operation.agent < 2);
    run(&plan, &suite).digest
}

#[test]
fn a_walk_over_a_hash_map_is_seen() {
    quiet_planted_panics();
    if let Ok(seed) = std::env::var(SEED) {
        println!("\n{}", astray(seed.parse().expect("a seed is a number")));
        return;
    }
    let here: BTreeMap<u64, String> = (0..3).map(|seed| (seed, astray(seed))).collect();
    let elsewhere = |seed: u64| {
        let itself = std::env::current_exe().expect("a test has a file");
        let test = ["--exact", "a_walk_over_a_hash_map_is_seen", "--nocapture"];
        last_word(Command::new(itself).args(test).env(SEED, seed.to_string()))
    };
    assert_eq!(differing(&here, elsewhere), [0, 1, 2]);
}
