//! Recorded runs of agents: three that solve one issue must agree on its facts, and a search for
//! the issue must find it first. Skipped, saying so, where the recordings are not at hand.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sillok_core::entry::{Status, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, IndexDoc, SearchRequest, VectorIndex};
use sillok_core::promotion::Fact;
use sillok_core::recall::fuse;
use sillok_core::retention::Age;
use sillok_core::stamp::Stamp;
use sillok_pairs::{Outcome, outcome};

use super::*;
use crate::{ExactIndex, HashEmbedder};

const ONE_ISSUE: [&str; 3] = [
    "marshmallow-1867-default",
    "marshmallow-1867-function-calling-replace",
    "marshmallow-1867-xml",
];

const ALL: [&str; 5] = [
    "ctf-crypto-baby-time-capsule",
    ONE_ISSUE[0],
    ONE_ISSUE[1],
    ONE_ISSUE[2],
    "swe-agent-test-repo-i1",
];

fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
        .join("../../../shared/data/trajectories");
    let folder = std::env::var_os("SILLOK_TRAJECTORIES").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!(
            "SKIPPED: no recorded runs in {}; set SILLOK_TRAJECTORIES",
            folder.display()
        );
        return None;
    }
    Some(folder)
}

/// A recorded run in the form in which an importer hands it over.
fn run(folder: &std::path::Path, name: &str) -> CognifyInput {
    let text = std::fs::read_to_string(folder.join(name).with_extension("traj")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    let users = run["history"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user");
    let statement = users
        .filter_map(|message| message["content"].as_str())
        .find(|text| !text.contains("--- DEMONSTRATION ---"));
    let mut log: Vec<(LogLevel, String, String)> = Vec::new();
    for (number, step) in run["trajectory"].as_array().unwrap().iter().enumerate() {
        let part = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
        let metadata = format!("{{\"step\":{number}}}");
        let level = if part("observation").contains("ERRORS:") {
            LogLevel::Error
        } else {
            LogLevel::Info
        };
        for (level, text) in [
            (LogLevel::Thought, part("thought")),
            (LogLevel::Tool, part("action")),
            (level, part("observation")),
        ] {
            if !text.trim().is_empty() {
                log.push((level, text, metadata.clone()));
            }
        }
    }
    let borrowed: Vec<(LogLevel, &str)> = log
        .iter()
        .map(|(level, text, _)| (*level, text.as_str()))
        .collect();
    let mut input = input(name, statement.unwrap_or_default(), &borrowed);
    for (record, (_, _, metadata)) in input.records.iter_mut().zip(&log) {
        record.metadata = Metadata::parse(metadata).unwrap();
    }
    input
}

/// Words that the rules say themselves.
const FRAME: [&str; 28] = [
    "0", "a", "added", "after", "again", "an", "and", "before", "by", "changed", "decided", "edit",
    "edited", "ended", "error", "file", "gave", "in", "line", "of", "printed", "removed",
    "replaced", "running", "seen", "the", "was", "with",
];

/// Words by which the rules say how something ended: those are held against what shows it, see [`untrue`].
const OUTCOMES: [&str; 3] = ["failed", "passed", "succeeded"];

/// What a text holds that tells of something which went wrong.
const BAD: [&str; 15] = [
    "Traceback",
    "Error:",
    "error:",
    "error[",
    "Exception",
    "FAILED",
    "FATAL",
    "fatal:",
    "ERR!",
    "ERROR",
    "panicked at",
    "command not found",
    "No such file or directory",
    "TIMED OUT",
    ": *** [",
];

fn sequence(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn words(text: &str) -> BTreeSet<String> {
    sequence(text).into_iter().collect()
}

/// Whether words hold others next to one another.
fn hold(words: &[String], others: &[&str]) -> bool {
    words.windows(others.len()).any(|some| some == others)
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

/// Whether something is counted as failed, or anything tells of an error.
fn is_bad(said: &str) -> bool {
    let words = sequence(said);
    let mut counted = words.windows(2).map(|pair| (&pair[0], pair[1].as_str()));
    BAD.iter().any(|bad| said.contains(bad))
        || counted.any(|(count, of)| {
            let is_count = is_number(count) && !count.trim_start_matches('0').is_empty();
            is_count && matches!(of, "failed" | "error" | "errors")
        })
}

/// The words that say how something ended and are not borne out by `said`, the stretches that a fact names.
fn untrue(content: &str, said: &str) -> Vec<String> {
    let (told, shown) = (sequence(content), sequence(said));
    let counts = |number: &str, of: &str| {
        hold(&shown, &[number, of])
            || shown.windows(4).any(|some| {
                // `1 of 3 failed`
                some[0] == number && some[1] == "of" && is_number(&some[2]) && some[3] == of
            })
    };
    let mut untrue = Vec::new();
    for (place, word) in told.iter().enumerate() {
        let number = place.checked_sub(1).map(|before| told[before].as_str());
        let number = number.filter(|number| is_number(number));
        let holds = match (word.as_str(), number) {
            ("failed", Some(number)) => counts(number, "failed"),
            ("passed", Some(number)) => counts(number, "passed") || counts(number, "succeeded"),
            ("failed", None) => is_bad(said),
            ("succeeded", _) => !said.trim().is_empty() && !is_bad(said),
            ("passed", None) => shown.contains(word),
            _ => true,
        };
        if !holds {
            untrue.push(word.clone());
        }
    }
    untrue
}

#[test]
fn an_outcome_that_is_told_the_other_way_round_is_noticed() {
    let green = "=== 3 passed, 1 skipped in 0.02s ===";
    let red = "=== 1 failed, 3 passed in 0.02s ===";
    let cases: [(&str, &str, &[&str]); 13] = [
        ("Running `pytest` gave 3 passed.", green, &[]),
        ("Running `pytest` gave 3 failed.", green, &["failed"]),
        ("Running `pytest` gave 4 passed.", green, &["passed"]),
        ("Running `pytest` failed.", green, &["failed"]),
        ("Running `pytest` succeeded.", green, &[]),
        ("Running `pytest` gave 1 failed, 3 passed.", red, &[]),
        (
            "Running `pytest` gave 3 failed, 1 passed.",
            red,
            &["failed", "passed"],
        ),
        ("Running `pytest` succeeded.", red, &["succeeded"]),
        ("Running `pytest` failed.", red, &[]),
        ("Running `make` succeeded.", "", &["succeeded"]),
        (
            "Running `make` succeeded.",
            "make: *** [check] Error 2",
            &["succeeded"],
        ),
        ("`x` failed with ValueError: bad.", "ValueError: bad", &[]),
        ("`x` failed with 0 errors.", "0 errors", &["failed"]),
    ];
    for (content, said, wrong) in cases {
        assert_eq!(untrue(content, said), wrong, "{content}: {said}");
    }
}

/// The numbers of the lines of a file that the beginning of a hunk changes.
fn changed_lines(hunk: &str) -> Option<Vec<String>> {
    let (_, rest) = hunk.split_once("@@ -")?;
    let mut line: u32 = rest.split([',', ' ']).next()?.parse().ok()?;
    let mut changed = Vec::new();
    for row in hunk.lines().skip(1) {
        if row.starts_with(['-', '+']) {
            changed.push(line.to_string());
        }
        line += u32::from(!row.starts_with('+'));
    }
    Some(changed)
}

/// The words of a fact that nothing says which it was drawn from.
fn unsaid(fact: &Fact, input: &CognifyInput) -> Vec<String> {
    let (mut said, mut stretches, mut given) = (BTreeSet::new(), String::new(), String::new());
    for excerpt in &fact.sources {
        let stretch = input.said(excerpt).unwrap();
        stretches.push_str(&stretch);
        stretches.push('\n');
        // What names the file of an edit is no output of the command either.
        if !is_command(&excerpt.record, input) && !stretch.starts_with("[File: ") {
            given.push_str(&stretch);
            given.push('\n');
        }
        said.extend(changed_lines(&stretch).into_iter().flatten());
        said.extend(words(&stretch.replace("here: http", "at http")));
    }
    let whole = fact.content.replace('\u{2026}', " \u{2026}");
    let is_said = |word: &str| {
        FRAME.contains(&word) || OUTCOMES.contains(&word) || said.contains(word) || {
            // The last word before a cut.
            let is_cut = whole.to_lowercase().contains(&format!("{word} \u{2026}"));
            is_cut && said.iter().any(|known| known.starts_with(word))
        }
    };
    let mut unsaid: Vec<String> = words(&whole).into_iter().collect();
    unsaid.retain(|word| !is_said(word));
    // Each outcome names its command as well, whose words show nothing of how it ended.
    let is_outcome = fact.content.starts_with("Running `");
    let shows = if is_outcome { &given } else { &stretches };
    unsaid.extend(untrue(&fact.content, shows));
    unsaid
}

fn is_command(id: &RecordId, input: &CognifyInput) -> bool {
    let level = LogLevel::Tool;
    let mut records = input.records.iter();
    records.any(|record| record.id == *id && record.kind == RecordKind::Log { level })
}

#[test]
fn a_commands_own_words_show_no_outcome_of_it() {
    let log = [
        (LogLevel::Tool, "make check"),
        (LogLevel::Info, "checked"),
        (LogLevel::Tool, "make Error: x"),
        (LogLevel::Info, "[File: /testbed/x.py (1 lines total)]"),
    ];
    let input = input("", "", &log);
    let whole = |index: &usize| {
        let record = &input.records[*index];
        Excerpt {
            record: record.id.clone(),
            from: 0,
            to: u32::try_from(record.content.len()).unwrap(),
        }
    };
    let cases: [(&str, &[usize], &[&str]); 4] = [
        ("Running `make check` succeeded.", &[0, 1], &[]),
        ("Running `make check` succeeded.", &[0], &["succeeded"]),
        ("Running `make check` succeeded.", &[0, 3], &["succeeded"]),
        ("Running `make Error: x` failed.", &[2], &["failed"]),
    ];
    for (content, sources, wrong) in cases {
        let fact = Fact {
            content: content.to_owned(),
            sources: sources.iter().map(whole).collect(),
            claim: None,
        };
        assert_eq!(unsaid(&fact, &input), wrong, "{content}: {sources:?}");
    }
}

#[test]
fn every_fact_is_said_by_the_stretches_it_was_drawn_from() {
    let Some(folder) = folder() else { return };
    let (mut facts, mut wrong) = (0, Vec::new());
    for name in ALL {
        let input = run(&folder, name);
        let cognition = RuleCognifier::draw(&input);
        assert_eq!(cognition.check(&input), Ok(()));
        for fact in &cognition.facts {
            println!("{name}: {}", fact.content);
            for excerpt in &fact.sources {
                let Excerpt { record, from, to } = excerpt;
                println!("    #{} {from}..{to} {:?}", record.seq, input.said(excerpt));
            }
            wrong.extend(
                unsaid(fact, &input)
                    .into_iter()
                    .map(|word| (word, fact.content.clone())),
            );
            facts += 1;
        }
    }
    println!("{facts} facts");
    assert_eq!(wrong, []);
    assert!(facts >= 35, "only {facts} facts");
}

#[test]
fn no_run_publishes_what_it_only_supposed_or_has_changed() {
    let Some(folder) = folder() else { return };
    for name in ALL {
        let cognition = RuleCognifier::draw(&run(&folder, name));
        let whole = printed(&cognition);
        for untrue in [
            "integer division",
            "weakness",
            "likely contains",
            "1. python reproduce.py",
        ] {
            assert!(!whole.contains(untrue), "{name}: {untrue}\n{whole}");
        }
        let contents = || cognition.facts.iter().map(|fact| fact.content.as_str());
        for dated in ["There is a syntax error", "The syntax error is on line 4"] {
            let mut found = contents().filter(|fact| fact.contains(dated));
            assert!(found.all(|fact| fact.starts_with("Before ")), "{name}");
        }
        for decided in ["Ensure that the division", "Add the missing colon"] {
            let mut found = contents().filter(|fact| fact.contains(decided));
            assert!(found.all(|fact| fact.starts_with("Decided in ")), "{name}");
        }
        let mut causes = cognition.causal_edges.iter().map(|edge| &edge.cause);
        assert!(
            causes.all(|cause| !cause.contains("IndentationError")),
            "{name}"
        );
    }
    let timed_out = RuleCognifier::draw(&run(&folder, ALL[0]));
    assert!(timed_out.result.contains("; 1 of "), "{}", timed_out.result);
}

fn cosine(a: &str, b: &str) -> f32 {
    HashEmbedder::vector(a)
        .iter()
        .zip(&HashEmbedder::vector(b))
        .map(|(a, b)| a * b)
        .sum()
}

fn merges(a: &str, b: &str) -> bool {
    outcome(a, b, cosine(a, b), HashEmbedder.thresholds()) == Outcome::Merged
}

#[test]
fn three_runs_of_one_issue_agree_on_its_facts() {
    let Some(folder) = folder() else { return };
    let drawn: Vec<Cognition> = ONE_ISSUE
        .iter()
        .map(|name| RuleCognifier::draw(&run(&folder, name)))
        .collect();
    for (name, cognition) in ONE_ISSUE.iter().zip(&drawn) {
        println!("== {name}\n{}\n", printed(cognition));
    }
    let held = |cognition: &Cognition, fact: &str| {
        cognition
            .facts
            .iter()
            .any(|other| merges(fact, &other.content))
    };
    let common: Vec<&str> = drawn[0]
        .facts
        .iter()
        .map(|fact| fact.content.as_str())
        .filter(|fact| drawn[1..].iter().all(|cognition| held(cognition, fact)))
        .collect();
    println!("common: {common:#?}");
    assert!(common.len() >= 3, "only {} facts in common", common.len());
    assert!(
        common
            .iter()
            .any(|fact| fact.contains("TimeDelta serialization")
                && fact.contains("344")
                && fact.contains("345"))
    );
    assert!(
        common
            .iter()
            .any(|fact| fact.contains("src/marshmallow/fields.py") && fact.contains("round("))
    );
    assert!(
        common
            .iter()
            .any(|fact| fact.contains("Line 1475 of src/marshmallow/fields.py"))
    );
}

#[test]
fn other_runs_give_facts_of_their_own() {
    let Some(folder) = folder() else { return };
    for (name, told) in [
        (
            "swe-agent-test-repo-i1",
            "`def division(a: float, b: float) -> float` was replaced by",
        ),
        ("ctf-crypto-baby-time-capsule", "`e = 5`"),
    ] {
        let cognition = RuleCognifier::draw(&run(&folder, name));
        println!("== {name}\n{}\n", printed(&cognition));
        assert!(
            cognition
                .facts
                .iter()
                .any(|fact| fact.content.contains(told)),
            "{name}"
        );
    }
}

#[test]
fn three_runs_of_one_issue_give_similar_episodes() {
    let Some(folder) = folder() else { return };
    let episodes: Vec<String> = ONE_ISSUE
        .iter()
        .map(|name| {
            format!(
                "TimeDelta serialization precision\n{}",
                RuleCognifier::draw(&run(&folder, name)).critique
            )
        })
        .collect();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let cosine = cosine(&episodes[a], &episodes[b]);
        println!("{a} {b} {cosine:.3}");
        assert!(cosine >= HashEmbedder.thresholds().similar);
    }
}

#[test]
fn a_search_for_the_issue_finds_its_fact_first() {
    let Some(folder) = folder() else { return };
    let waker = core::task::Waker::noop();
    let mut context = core::task::Context::from_waker(waker);
    let index = ExactIndex::new();
    let scope = Scope::parse("org/a/project/p").unwrap();
    let contents: Vec<(String, usize)> = ALL
        .iter()
        .flat_map(|name| RuleCognifier::draw(&run(&folder, name)).facts)
        .map(|fact| (fact.content, fact.sources.len()))
        .collect();
    let embedding = |text: &str| sillok_core::entry::Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(text),
    };
    let doc = |(number, (content, _)): (usize, &(String, usize))| IndexDoc {
        scope: scope.clone(),
        entry: EntryId::from_bytes((number as u128).to_be_bytes()),
        version: 1,
        table: Table::Observations,
        status: Status::Verified,
        failure: false,
        confidence: 0.7,
        content_hash: ContentHash::of(content),
        content: content.clone(),
        claim: None,
        embedding: Some(embedding(content)),
        created_at: Timestamp::EPOCH,
        age: Age::default(),
        stamp: Stamp::ZERO,
    };
    index.offer(contents.iter().enumerate().map(doc).collect());
    let query = "TimeDelta serialization loses precision";
    let request = SearchRequest {
        scopes: vec![scope.clone()],
        tables: vec![],
        statuses: vec![Status::Verified],
        failures: false,
        confidence_min: 0.0,
        text: query.to_owned(),
        embedding: Some(embedding(query)),
        limit: 50,
    };
    let core::task::Poll::Ready(Ok(lists)) = index.search(&request).as_mut().poll(&mut context)
    else {
        panic!("it waits for nothing")
    };
    let fused = fuse(&lists, 60.0);
    for one in fused.iter().take(5) {
        let number = usize::try_from(u128::from_be_bytes(*one.entry.as_bytes())).unwrap();
        println!(
            "{:.3} {:?} {:?} {}",
            one.similarity, one.vector_rank, one.text_rank, contents[number].0
        );
    }
    let number = usize::try_from(u128::from_be_bytes(*fused[0].entry.as_bytes())).unwrap();
    assert!(
        contents[number]
            .0
            .starts_with("TimeDelta serialization precision")
    );
    assert!(contents[number].1 > 0, "it names records");
}
