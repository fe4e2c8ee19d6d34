//! A few worlds, in seconds: what `make sim` asks of a thousand, for whoever changes the protocol, and
//! for `make mutants`.

use std::sync::atomic::{AtomicBool, Ordering};

use sillok_sim::batch::{self, Worlds};
use sillok_sim::effects::EXPECTED;
use sillok_sim::{Suite, quiet_planted_panics};

/// Seeds that are run.
const SEEDS: u64 = 48;
/// What so many worlds bring about some dozen times, and no world does under a protocol that does less
/// than it should.
const SEEN: [&str; 19] = [
    "attempt barred whose outcome was unknown",
    "batch decided again",
    "commit with an unknown outcome",
    "gap of the stream read from the store",
    "index failed",
    "loss of the stream noticed",
    "message recognised by the stream",
    "node drained",
    "node fenced",
    "promotion failed and tried again",
    "record stored in chunks",
    "repeat answered from its record",
    "run begun before the former one was fenced",
    "run found itself fenced",
    "silence beyond the fencing time outlived",
    "slot handed over",
    "slot taken back by the next run of its owner",
    "slot taken from an owner whose run was over",
    "stream read anew",
];

#[test]
fn a_few_worlds_keep_every_invariant_and_see_what_the_protocol_is_for() {
    quiet_planted_panics();
    let all_hold = AtomicBool::new(true);
    let report = batch::run(
        &Worlds::Seeds(0, SEEDS),
        &Suite::built_in(),
        2,
        || all_hold.load(Ordering::Relaxed),
        |_, outcome| {
            if outcome.violation.is_some() {
                all_hold.store(false, Ordering::Relaxed);
            }
        },
    );
    assert_eq!(report.failures, []);
    let seen: Vec<&str> = report.effects.iter().map(|(effect, _)| effect).collect();
    let unseen: Vec<&&str> = SEEN.iter().filter(|known| !seen.contains(known)).collect();
    assert_eq!(unseen, [&""; 0], "never in {SEEDS} worlds");
    let untold: Vec<&&str> = seen
        .iter()
        .filter(|seen| !EXPECTED.contains(seen))
        .collect();
    assert_eq!(untold, [&""; 0], "seen, and asked of no batch");
    assert!(
        report.default_worlds > SEEDS / 2,
        "the worlds are too small"
    );
}
