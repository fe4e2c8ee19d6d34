//! What comes into an answer, and what is reported, on files and repositories that change.

use std::fs;

use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_gate::WorkTree;

use super::*;
use crate::api::Score;

const TEXT: &str = "pub fn first() -> u32 {\n    let one_of_many = 1;\n}\n";

fn cite(root: &Path, path: &str) -> Citation {
    let tree = WorkTree::at(root).unwrap();
    let print = sillok_gate::fingerprint(&tree, path, Some((1, 3))).unwrap();
    Citation::File {
        path: path.into(),
        lines: Some([1, 3]),
        fingerprint: Some(print.to_string()),
    }
}

fn result(number: u8, citations: Vec<Citation>) -> RecallResult {
    RecallResult {
        entry: EntryId::from_bytes([number; 16]),
        scope: "org/a/project/p".parse().unwrap(),
        table: Table::Observations,
        kind: Table::Observations.kind(),
        status: Status::Verified,
        content: "It is so.".into(),
        data_marked_text: String::new(),
        tokens: 5,
        version: 1,
        citations,
        score: Score {
            total: 0.5,
            similarity: 1.0,
            confidence: 0.5,
            relevance: 1.0,
            recency: 1.0,
            vector_rank: Some(1),
            text_rank: Some(1),
        },
        binding: Binding::NoRepository,
        gate: Verdict::Unverifiable,
        checks: Vec::new(),
        validity: None,
        valid_from_commit: None,
        valid_to_commit: None,
    }
}

fn answer(results: Vec<RecallResult>) -> RecallAnswer {
    RecallAnswer {
        tokens: results.iter().map(|result| result.tokens).sum(),
        results,
        left_out: 0,
        stale: 0,
        unchecked: false,
        by_meaning: true,
        whole: true,
        at: None,
    }
}

/// Entries whose code lies in files `a.rs`, `b.rs` and `c.rs`, and one that cites none.
fn found(root: &Path) -> RecallAnswer {
    for (path, text) in [
        ("a.rs", TEXT.to_owned()),
        ("b.rs", TEXT.replace('1', "2")),
        ("c.rs", TEXT.replace('1', "3")),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    let human = Citation::Human { user: "kim".into() };
    let cited = ["a.rs", "b.rs", "c.rs"].map(|path| cite(root, path));
    let [a, b, c] = cited;
    answer(vec![
        result(1, vec![human.clone(), a]),
        result(2, vec![human.clone(), b]),
        result(3, vec![c]),
        result(4, vec![human]),
    ])
}

fn held(found: &RecallAnswer, root: &Path) -> (RecallAnswer, Displaced) {
    let mut held = found.clone();
    let gate = Gate::of(&WorkTree::at(root).unwrap());
    let displaced = hold(&mut held, &gate, Budget::WHOLE);
    (held, displaced)
}

fn entries(results: &[RecallResult]) -> Vec<EntryId> {
    results.iter().map(|result| result.entry).collect()
}

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

#[test]
fn what_is_gone_is_left_out_and_counted_and_what_moved_names_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let found = found(root);
    fs::rename(root.join("b.rs"), root.join("moved.rs")).unwrap();
    fs::remove_file(root.join("c.rs")).unwrap();
    let (told, displaced) = held(&found, root);
    let verdicts: Vec<Verdict> = told.results.iter().map(|result| result.gate).collect();
    assert_eq!(verdicts, [Verdict::Valid, Verdict::Moved, Verdict::Valid]);
    assert_eq!((told.stale, told.tokens), (1, 15));
    assert_eq!(told.results[1].citations[1], cite(root, "moved.rs"));
    let check = &told.results[1].checks[0];
    let before = &found.results[1].citations;
    assert_eq!(
        (check.citation, check.moved_from.as_ref()),
        (1, before.get(1))
    );
    assert!(
        told.results[2].checks.is_empty(),
        "it rests on nothing here"
    );
    assert_eq!(entries(&displaced.gone), [entry(3)]);
    assert_eq!(entries(&displaced.moved), [entry(2)]);
    assert_eq!(&displaced.moved[0].citations, before);
}

#[test]
fn without_a_work_tree_all_is_given_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let found = found(folder.path());
    let mut told = found.clone();
    let displaced = hold(&mut told, &Gate::without_tree(), Budget::WHOLE);
    assert_eq!((told.results.len(), told.stale), (4, 0));
    let marks = told.results.iter().map(|result| result.gate);
    assert!(marks.eq([Verdict::Unverifiable; 4]));
    assert!(displaced.gone.is_empty() && displaced.moved.is_empty());
    // Nor where it was deleted since.
    let gate = Gate::of(&WorkTree::at(folder.path()).unwrap());
    drop(folder);
    let mut told = found.clone();
    hold(&mut told, &gate, Budget::WHOLE);
    assert_eq!((told.results.len(), told.stale), (4, 0));
}

#[test]
fn what_was_not_looked_for_everywhere_is_looked_for_on_and_known_by_the_next_answer() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let found = found(root);
    fs::remove_file(root.join("c.rs")).unwrap();
    let nothing = Budget {
        files_min: 0,
        bytes_min: 0,
        files_max: 0,
        ..Budget::ANSWER
    };
    let gate = Gate::of(&WorkTree::at(root).unwrap());
    let mut told = found.clone();
    let displaced = hold(&mut told, &gate, nothing);
    assert_eq!((told.stale, told.results.len()), (0, 4));
    assert_eq!(told.results[2].gate, Verdict::Unverifiable);
    assert_eq!(entries(&displaced.unsearched), [entry(3)]);
    let displaced = look_on(displaced, &gate, Budget::WHOLE);
    assert_eq!(entries(&displaced.gone), [entry(3)]);
    assert!(displaced.unsearched.is_empty());
    let mut told = found;
    hold(&mut told, &gate, nothing);
    assert_eq!((told.stale, told.results.len()), (1, 3));
}

fn git(root: &Path, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    let ended = command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(root)
        .args(identity)
        .args(args)
        .output();
    assert!(ended.unwrap().status.success(), "git {args:?}");
}

#[test]
fn what_is_so_at_the_main_branch_as_well_is_reported_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let found = found(root);
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "one"]);
    let found = bound(found, root);
    git(root, &["checkout", "--quiet", "-b", "topic"]);
    git(root, &["mv", "b.rs", "moved.rs"]);
    git(root, &["rm", "--quiet", "c.rs"]);
    git(root, &["commit", "--quiet", "-m", "two"]);
    let (_, displaced) = held(&found, root);
    let task = Scope::parse("org/a/project/p/worktree/w/task/t").unwrap();
    let told = || reports(root, &displaced, &task, Budget::WHOLE).unwrap();
    // On the branch alone.
    assert!(told().is_empty());
    git(root, &["checkout", "--quiet", "main"]);
    git(root, &["merge", "--quiet", "topic"]);
    let all = told();
    let [gone, moved] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(
        (&gone.entry, &gone.found),
        (&entry(3).to_string(), &GateFound::Stale {})
    );
    let citations = vec![
        found.results[1].citations[0].clone(),
        cite(root, "moved.rs"),
    ];
    assert_eq!(moved.found, GateFound::Moved { citations });
    assert_eq!((moved.commit.len(), moved.repository.as_str()), (40, "r"));
    let mut unbound = displaced.clone();
    for result in unbound.gone.iter_mut().chain(&mut unbound.moved) {
        result.binding = Binding::NoRepository;
    }
    let of_unbound = reports(root, &unbound, &task, Budget::WHOLE).unwrap();
    assert!(
        of_unbound.is_empty(),
        "nobody knows whether it was ever there"
    );
}

/// The same results, bound to the commit that a work tree stands at.
fn bound(mut found: RecallAnswer, root: &Path) -> RecallAnswer {
    let named = fs::read_to_string(root.join(".git/refs/heads/main")).unwrap();
    for result in &mut found.results {
        result.binding = Binding::Commit {
            hash: named.trim().to_owned(),
            repository: "r".into(),
        };
    }
    found
}

#[test]
fn what_comes_from_another_repository_is_given_and_marked_and_nothing_is_reported_of_it() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut found = found(other.path());
    for root in [one.path(), other.path()] {
        fs::write(root.join("own"), root.to_string_lossy().as_bytes()).unwrap();
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        git(root, &["add", "."]);
        git(root, &["commit", "--quiet", "-m", "one"]);
    }
    found = bound(found, other.path());
    // What the organisation knows of no repository.
    found.results[1].binding = Binding::NoRepository;
    for result in &mut found.results {
        result.scope = "org/a".parse().unwrap();
    }
    let (told, displaced) = held(&found, one.path());
    assert_eq!((told.results.len(), told.stale), (4, 0));
    let marks: Vec<Verdict> = told.results.iter().map(|result| result.gate).collect();
    use Verdict::{Unverifiable, Valid};
    assert_eq!(marks, [Unverifiable, Unverifiable, Unverifiable, Valid]);
    assert_eq!(told.results[0].checks[0].reason, OF_ELSEWHERE);
    assert!(displaced.is_empty());
    let (told, _) = held(&found, other.path());
    assert_eq!(told.results[0].gate, Valid);
}
