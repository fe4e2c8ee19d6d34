//! The tours of the documents: every line of their shell blocks runs, in order, on a machine that knows nothing
//! yet.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::{Invocation, binary};

/// The longest that the tour may take: it says five minutes, for a person.
const PATIENCE: Duration = Duration::from_mins(3);
/// Lines of a tour that run the binary, at least.
const LINES_MIN: usize = 8;
/// The heading of the section that has the tour of a cluster.
const CLUSTER_TOUR: &str = "A cluster on one machine\n";
/// The heading of the section that has the tour of decisions.
const DECISIONS_TOUR: &str = "Decisions\n";
/// The heading of the section that has the tour of evidence and anchors.
const EVIDENCE_TOUR: &str = "Evidence and anchors\n";
/// The heading of the section that has the tour of what is kept of a conversation.
const COMPACTED_TOUR: &str = "When a conversation is compacted\n";
/// The heading of the section that has the tour of fixes that failed.
const CIRCLES_TOUR: &str = "When agents go in circles\n";
/// The heading of the section that has the tour of trajectories and patterns.
const BANK_TOUR: &str = "What agents leave behind\n";
/// The line of the tour of a conversation which runs its hook.
const HOOK: &str = "before_compaction \"$SILLOK_DATA/conversation.jsonl\"";
/// What fails before the hook of the tour runs: saving, which says half of an id, and then, twice, the anchor.
const FAILING: &str = r#"
sillok() { echo -n 0198; return 75; }
if before_compaction "$SILLOK_DATA/conversation.jsonl"; then exit 1; fi
kept() { command sillok evidence list | grep -c 'before it was compacted' || true; }
receipts() { ls "$SILLOK_DATA" | grep -c '^kept-' || true; }
test "$(kept)" = 0
sillok() { test "$1 $2" != "anchor add" && command sillok "$@"; }
if before_compaction "$SILLOK_DATA/conversation.jsonl"; then exit 1; fi
if before_compaction "$SILLOK_DATA/conversation.jsonl"; then exit 1; fi
test "$(kept)" = 1
test "$(receipts)" = 1
unset -f sillok
"#;
/// What holds while the anchor is missing: in another scope the same conversation is kept as well, and what failed stays as
/// it is.
const ELSEWHERE: &str = r#"
task="$SILLOK_SCOPE/task/rounding"
SILLOK_SCOPE="$task" before_compaction "$SILLOK_DATA/conversation.jsonl"
test "$(SILLOK_SCOPE="$task" kept)" = 1
test "$(SILLOK_SCOPE="$task" sillok anchor list | grep -c 'The whole conversation')" = 1
test "$(kept)" = 1
test "$(receipts)" = 1
"#;
/// What holds behind the hook: one is kept, with its anchor, and a conversation that has gone on, or is another one, is kept as
/// well.
const MENDED: &str = r#"
test "$(kept)" = 1
test "$(receipts)" = 0
test "$(sillok anchor list | grep -c 'The whole conversation')" = 1
echo '{"role": "user", "text": "Which carts?"}' >> "$SILLOK_DATA/conversation.jsonl"
before_compaction "$SILLOK_DATA/conversation.jsonl"
test "$(kept)" = 2
echo '{"role": "user", "text": "What of taxes?"}' > "$SILLOK_DATA/another.jsonl"
before_compaction "$SILLOK_DATA/another.jsonl"
test "$(kept)" = 3
test "$(receipts)" = 0
test "$(sillok anchor list | grep -c 'The whole conversation')" = 3
"#;

/// The lines of the blocks of a document that are marked as shell.
fn shell_lines(document: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}

fn document(name: &str) -> String {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .join("..")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Those of one section.
fn shell_lines_below(name: &str, heading: &str) -> Vec<String> {
    let document = document(name);
    let mut sections = document.split("\n## ");
    let section = sections.find(|section| section.starts_with(heading));
    shell_lines(section.expect("it is there"))
}

/// Runs the lines of a tour with this binary: what they said, each behind the line itself.
fn run(lines: &[String], binary: &Path) -> String {
    let commands = lines.iter().filter(|line| line.contains("sillok ")).count();
    assert!(
        commands >= LINES_MIN,
        "there is no tour: {commands} lines run sillok"
    );
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let log = folder.path().join("tour.log");
    // What the tour leaves running ends with it; a line that fails ends it.
    let preamble = "set -eEuo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
    let script = format!(
        "{preamble}exec > {log} 2>&1\nset -x\n{}\n",
        lines.join("\n"),
        log = log.display()
    );
    // Under its own name, whatever that of the file is.
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(binary, bin.join("sillok")).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(&script);
    let ran = Invocation::of(bash, &home)
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .dir(folder.path())
        .within(PATIENCE)
        .run();
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(
        ran.status,
        Some(0),
        "a line of the tour failed:\n{said}\n{}",
        ran.stderr
    );
    said
}

/// On a FoundationDB and a NATS that it starts by itself, at the ports that it names.
#[test]
fn every_line_of_the_clusters_tour_runs() {
    let Some(binary) = sillok_test_cluster::binary::with_foundationdb() else {
        println!("skipped: SILLOK_FDB_BIN names no binary with FoundationDB");
        return;
    };
    let lines = shell_lines_below("docs/operate.md", CLUSTER_TOUR);
    let said = run(&lines, &binary);
    let verdict = said_by(&said, "sillok audit verify").unwrap_or_default();
    assert!(verdict.contains("no difference"), "{verdict}\n{said}");
    let is_over = |line: &str| line.starts_with("node-3") && line.contains(" over ");
    assert!(
        said.lines().any(is_over),
        "nobody saw that the node was gone:\n{said}"
    );
}

#[test]
fn every_line_of_the_readmes_tour_runs() {
    let lines = shell_lines(&document("README.md"));
    let said = run(&lines, &binary::path());
    check_that_each_ran(&lines, 2, &said);
    // These two end well whatever they say, so what they say is looked at.
    let refused = said_by(&said, "sillok entry put").unwrap_or_default();
    assert!(
        refused.contains("The rule is entries/project."),
        "the rule did not refuse it: {refused}\n{said}"
    );
    let recalled = said_by(&said, "sillok recall").unwrap_or_default();
    assert!(
        recalled.contains("score ") && recalled.contains("rests on "),
        "nothing was recalled: {recalled}\n{said}"
    );
}

#[test]
fn every_line_of_the_tour_of_decisions_runs() {
    let lines = shell_lines_below("docs/guide.md", DECISIONS_TOUR);
    let said = run(&lines, &binary::path());
    check_that_each_ran(&lines, 3, &said);
    let brief = said_by(&said, "sillok brief").unwrap_or_default();
    let is_heading =
        |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) && line.get(1..2) == Some(" ");
    // Behind the line that says how much there is.
    let layers: Vec<&str> = brief.lines().skip(1).filter(is_heading).collect();
    assert_eq!(
        layers,
        ["1 policy", "2 structural", "5 lock", "6 normal"],
        "{brief}\n{said}"
    );
    let lock = "\"Money is whole cents\"";
    for (command, words) in [
        (
            "sillok decision propose",
            format!("it touches the lock {lock}: it CONSTRAINS {lock}"),
        ),
        (
            "sillok decision propose",
            format!("it contradicts the lock {lock}: money.unit is cent there"),
        ),
        (
            "sillok decision impact",
            "└─ APPLIES_TO ← lock: Money is whole cents".to_owned(),
        ),
        (
            "sillok decision list",
            "withdrawn  Money is whole cents".to_owned(),
        ),
        (
            "sillok decision history",
            "restored from version 2".to_owned(),
        ),
        ("sillok graph query", "normal  Round once".to_owned()),
        (
            "sillok decision kinds",
            "EXPLAINS  backward  org/acme/project/api".to_owned(),
        ),
        ("sillok audit verify", "no difference".to_owned()),
    ] {
        let told = said_by(&said, command).unwrap_or_default();
        assert!(told.contains(&words), "{words}: {told}\n{said}");
    }
    for words in [
        "flowchart LR",
        "org/acme/project/api/worktree/main  1",
        "The rule is control/save_lock_up_to_project.",
        "Its version is 2.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn every_line_of_the_tour_of_evidence_and_anchors_runs() {
    let lines = shell_lines_below("docs/guide.md", EVIDENCE_TOUR);
    let said = run(&lines, &binary::path());
    check_that_each_ran(&lines, 3, &said);
    let original = "3 carts of 1000 lost a cent";
    for (command, words) in [
        ("sillok brief", "7 anchor"),
        ("sillok brief", "→ normal: Round once"),
        ("sillok anchor follow", original),
        ("sillok anchor follow", "Only the total is rounded"),
        ("sillok decision impact", "└─ RESTS_ON ← normal: Round once"),
        ("sillok evidence show", "from logs/cart.txt"),
        ("sillok evidence text", "3 carts"),
        ("sillok anchor list", "dropped"),
        ("sillok audit verify", "no difference"),
    ] {
        let told = said_by(&said, command).unwrap_or_default();
        assert!(told.contains(words), "{words}: {told}\n{said}");
    }
    let brief = said_by(&said, "sillok brief").unwrap_or_default();
    assert!(!brief.contains(original), "it only points: {brief}");
    let part = said_by(&said, "sillok evidence text").unwrap_or_default();
    assert!(!part.contains("1000"), "it is a part alone: {part}");
}

#[test]
fn every_line_of_the_tour_of_a_conversation_that_is_compacted_runs() {
    let lines = shell_lines_below("docs/guide.md", COMPACTED_TOUR);
    let said = run(&lines, &binary::path());
    check_that_each_ran(&lines, 3, &said);
    let original = "A cart of three lines shows it.";
    for (command, words) in [
        ("sillok brief", "7 anchor"),
        ("sillok brief", "Why carts are rounded once"),
        ("sillok brief", "→ normal: Round once"),
        ("sillok anchor follow", "Only the total is rounded"),
        ("sillok anchor follow", original),
        ("sillok anchor search", original),
        ("sillok evidence text", original),
        ("sillok anchor list", "The whole conversation"),
        ("sillok audit verify", "no difference"),
    ] {
        let told = said_by(&said, command).unwrap_or_default();
        assert!(told.contains(words), "{words}: {told}\n{said}");
    }
    let brief = said_by(&said, "sillok brief").unwrap_or_default();
    assert!(!brief.contains(original), "it only points: {brief}");
    let refused = "line 1 of standard input: missing field `to`";
    assert!(said.contains(refused), "{said}");
}

#[test]
fn every_line_of_the_tour_of_trajectories_runs() {
    let lines = shell_lines_below("docs/guide.md", BANK_TOUR);
    let said = run(&lines, &binary::path());
    let task = "org/acme/project/api/worktree/main/task/42";
    for (command, words) in [
        ("sillok trajectory store", task),
        ("sillok pattern search", "0 of 1 succeeded"),
        (
            "sillok brief",
            "The server takes no second part without a token.",
        ),
        ("sillok audit verify", "no difference"),
    ] {
        let told = said_by(&said, command).unwrap_or_default();
        assert!(told.contains(words), "{words}: {told}\n{said}");
    }
}

#[test]
fn every_line_of_the_tour_of_fixes_that_failed_runs() {
    let lines = shell_lines_below("docs/guide.md", CIRCLES_TOUR);
    let said = run(&lines, &binary::path());
    check_that_each_ran(&lines, 3, &said);
    let task = "org/acme/project/api/worktree/main/task/42";
    for (command, words) in [
        ("sillok fix check", "allow"),
        ("sillok fix failed", "Increase the read timeout"),
        ("sillok fix failed", "Stream the body in chunks"),
        ("sillok audit verify", "no difference"),
    ] {
        let told = said_by(&said, command).unwrap_or_default();
        assert!(told.contains(words), "{words}: {told}\n{said}");
    }
    // What was asked and recorded came to this, one after the other.
    let tried = format!("tried once in {task}, last ");
    let mut rest = said.as_str();
    for words in [
        "failed: sh -c",
        "reject\nStop! The same way will not solve it.",
        &tried,
        "TimeoutError: the read timed out after",
        "rejected, as it should be",
        "warn: the error came up 2 times since a verification passed (came_back).",
        "block: the error came up 2 times since a verification passed (takes_turns). Stop!",
        "the task is stuck: Nobody knows why the server is slow.",
        "stuck, as it should be",
        &format!("erased in {task}: 2 events lost their content"),
        "rests on what was erased, and may say it",
        "warn\n주의:",
        &tried,
        "warn\nCareful: this failed before.",
        "no difference",
    ] {
        let Some((_, behind)) = rest.split_once(words) else {
            panic!("{words}: {rest}\n{said}")
        };
        rest = behind;
    }
}

#[test]
fn a_hook_that_failed_and_runs_again_keeps_the_conversation_once() {
    let mut lines = Vec::new();
    for line in shell_lines_below("docs/guide.md", COMPACTED_TOUR) {
        let is_hook = line == HOOK;
        let behind = if is_hook { MENDED } else { "" };
        let before: &[&str] = if is_hook { &[FAILING, ELSEWHERE] } else { &[] };
        let before = before.iter().flat_map(|part| part.lines());
        lines.extend(before.map(str::to_owned));
        lines.push(line);
        lines.extend(behind.lines().map(str::to_owned));
    }
    let said = run(&lines, &binary::path());
    // Each of these was asked once: the hook ran where it stands, and what holds behind it was looked at.
    assert_eq!(said.matches("+ test 3 = 3").count(), 2, "{said}");
}

/// Checks that every line ran that begins with the binary's name, by its first words.
fn check_that_each_ran(lines: &[String], words: usize, said: &str) {
    for line in lines.iter().filter(|line| line.starts_with("sillok ")) {
        let command: Vec<&str> = line.split_whitespace().take(words).collect();
        let command = command.join(" ");
        assert!(
            said_by(said, &command).is_some(),
            "{line} did not run:\n{said}"
        );
    }
}

/// What a command said first, out of a log in which the shell traces what it runs; none when it
/// did not run.
fn said_by<'a>(log: &'a str, command: &str) -> Option<&'a str> {
    let (_, after) = log.split_once(&format!("+ {command}"))?;
    let (_, said) = after.split_once('\n').unwrap_or_default();
    Some(said.split("\n+").next().unwrap_or_default())
}
