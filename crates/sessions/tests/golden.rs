//! Sample sessions, written by hand in the shapes that the clients write, and what they become.
//!
//! Beside each sample lies the text of what is expected. It must not know how a line is read.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::fmt::Write;
use std::path::PathBuf;

use sillok_sessions::{Entry, Format, Head, PassedOver, Record, Source};

fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    PathBuf::from(folder).join(name)
}

fn told(record: &Record) -> String {
    let place = &record.place;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let agent = place.agent.as_ref().map(|agent| format!(" agent={agent}"));
    assert_eq!(agent.is_some(), place.sidechain);
    format!(
        "{} {} step={} tool={} code={}{} | {}",
        record.level,
        place.kind.expect("every record of a session has its sort"),
        or_none(place.step.map(|step| step.to_string())),
        or_none(place.tool.clone()),
        or_none(place.exit_code.map(|code| code.to_string())),
        agent.unwrap_or_default(),
        record.content.replace('\n', "\\n"),
    )
}

fn page(entries: &[Entry], passed: &PassedOver) -> String {
    let mut page = String::new();
    let records = || entries.iter().flat_map(|entry| &entry.records);
    for record in records() {
        writeln!(page, "{}", told(record)).unwrap();
    }
    for (reason, count) in passed.iter() {
        writeln!(page, "passed over: {reason} {count}").unwrap();
    }
    let first = records().next().expect("a sample says something");
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    writeln!(
        page,
        "first time {}, in {} on {}",
        or_none(first.time.map(|time| time.ms().to_string())),
        or_none(first.place.cwd.clone()),
        or_none(first.place.branch.clone()),
    )
    .unwrap();
    page
}

fn read(name: &str, format: Format) -> Head {
    let file = path(&format!("{name}.jsonl"));
    assert_eq!(Format::of(&file).unwrap(), Some(format));
    let mut source = Source::open(&file, format).unwrap();
    let mut entries = Vec::new();
    while let Some(entry) = source.entry().unwrap() {
        for record in &entry.records {
            assert_eq!(record.place.at, Some(entry.at));
            assert_eq!(record.place.session.as_ref(), Some(&source.head().name));
        }
        entries.push(entry);
    }
    assert!(entries.is_sorted_by(|one, other| one.at < other.at));
    assert!(!source.unfinished() && source.mended() == 0);
    assert_eq!(source.offset(), source.bytes());
    let expected = std::fs::read_to_string(path(&format!("{name}.txt"))).unwrap();
    let found = page(&entries, source.passed());
    assert!(found == expected, "{name} became otherwise:\n{found}");
    source.head().clone()
}

#[test]
fn a_session_of_claude_code_is_read() {
    let head = read("claude-code", Format::ClaudeCode);
    assert_eq!(head.name, "7d1c3f0e-52a4-4c1b-9a57-2f6f1f1b0a01");
    assert_eq!(head.title, "345 ms is serialized as 344. Mend it.");
}

#[test]
fn a_session_of_codex_is_read() {
    let head = read("codex", Format::Codex);
    assert_eq!(head.name, "019cad10-5b1e-7c30-8a41-3d1f6e0c77aa");
    assert_eq!(head.title, "The build is red. Mend it.");
}

#[test]
fn a_session_of_an_earlier_codex_is_read() {
    let head = read("codex-former", Format::Codex);
    assert_eq!(head.name, "5973b6c0-94b8-487b-a530-2aeb6098ae0e");
    assert_eq!(head.title, "List the files.");
}
