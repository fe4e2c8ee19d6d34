//! Measures how long the gate takes for the entries of one answer: `gate_speed [FILES] [ROUNDS]`.
//!
//! Makes a work tree of so many files, and entries with two citations each. Each round is a gate of its own, which
//! remembers nothing, as in a hook. Owns nothing but the load. It ends with an error where the 99th of a hundred rounds
//! of what is usual takes over 5 ms.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sillok_core::citation::Citation;
use sillok_core::gate::Verdict;
use sillok_gate::{Budget, Gate, WorkTree, fingerprint};

const ENTRIES: usize = 20;
const FILES_A_FOLDER: usize = 50;
/// What specification and issue ask for.
const P99_MAX: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let files: usize = arguments.next().unwrap_or(50_000);
    let rounds: usize = arguments.next().unwrap_or(1_000);
    let folder = tempfile::TempDir::new_in(".").expect("the folder is writable");
    make(folder.path(), files.max(ENTRIES * 4));
    let tree = || WorkTree::at(folder.path()).expect("it was made");
    let entries: Vec<[Citation; 2]> = (0..ENTRIES)
        .map(|entry| {
            let one = |number: usize| {
                let (path, lines) = (name(number), Some((20, 40)));
                let print = fingerprint(&tree(), &path, lines).expect("it was made");
                Citation::File {
                    path,
                    lines,
                    fingerprint: Some(print.to_string()),
                }
            };
            let step = files / ENTRIES;
            [one(entry * step), one(entry * step + step / 2)]
        })
        .collect();
    let entries: Vec<&[Citation]> = entries.iter().map(<[Citation; 2]>::as_slice).collect();
    let ask = |budget: Budget| {
        let begun = Instant::now();
        let answer = Gate::of(tree()).check(&entries, budget);
        (begun.elapsed(), answer)
    };
    let all = |verdict: Verdict| {
        let answer = ask(Budget::ANSWER).1;
        answer
            .entries
            .iter()
            .filter(|one| one.verdict == verdict)
            .count()
    };
    assert_eq!(all(Verdict::Valid), ENTRIES);
    let usual = measure("all valid", rounds, || ask(Budget::ANSWER).0);
    let path = folder.path().join(name(0));
    let text = fs::read_to_string(&path).expect("it was made");
    fs::write(&path, format!("// One line more.\n{text}")).expect("it is writable");
    assert_eq!(all(Verdict::Moved), 1);
    let within = measure("one moved within its file", rounds, || {
        ask(Budget::ANSWER).0
    });
    fs::rename(&path, path.with_extension("other.rs")).expect("it is writable");
    assert_eq!(all(Verdict::Moved), 1);
    let beside = measure("one renamed beside", rounds, || ask(Budget::ANSWER).0);
    fs::remove_file(path.with_extension("other.rs")).expect("it is writable");
    assert_eq!(all(Verdict::Unverifiable), 1);
    measure("one deleted, cut", rounds, || ask(Budget::ANSWER).0);
    let (took, answer) = ask(Budget::WHOLE);
    assert_eq!(answer.entries[0].verdict, Verdict::Stale);
    say(&format!("one deleted, all of the work tree: {took:.1?}"));
    if usual.max(within).max(beside) > P99_MAX {
        say(&format!("over {P99_MAX:?}"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "the figures are the product")]
fn say(text: &str) {
    println!("{text}");
}

fn measure(what: &str, rounds: usize, mut round: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..rounds.max(100)).map(|_| round()).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    say(&format!("{what}: p50 {:.2?}, p99 {:.2?}", at(50), at(99)));
    at(99)
}

fn name(number: usize) -> String {
    let folder = number / FILES_A_FOLDER;
    format!(
        "crates/part_{}/src/folder_{folder}/file_{number}.rs",
        folder % 40
    )
}

fn make(root: &Path, files: usize) {
    for number in 0..files {
        let path = root.join(name(number));
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it is writable");
        let lines = (0..120).map(|line| format!("    let row_{line} = read({number}, {line})?;\n"));
        fs::write(path, lines.collect::<String>()).expect("it is writable");
    }
}
