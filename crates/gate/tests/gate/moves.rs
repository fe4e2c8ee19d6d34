//! What is where it was, what moved, and what is gone.

use std::fs;

use sillok_core::citation::{Citation, TestOutcome};
use sillok_core::gate::{Reason, Verdict};
use sillok_gate::{Budget, Gate};

use super::folder::{Folder, file, function, judged, symbol, told};

fn sample() -> (Folder, Citation) {
    let folder = Folder::new();
    folder.put(
        "src/a.rs",
        &[function(1), function(2), function(3)].concat(),
    );
    folder.put("src/b.rs", &function(4));
    folder.put("README.md", "A sample of some functions.\n");
    let cited = folder.cite("src/a.rs", Some((4, 6)));
    (folder, cited)
}

#[test]
fn what_did_not_change_is_valid() {
    let (folder, cited) = sample();
    let gate = folder.gate();
    for cited in [&cited, &folder.cite("README.md", None)] {
        assert_eq!(told(&gate, cited), (Verdict::Valid, Reason::Matches));
    }
    assert_eq!(
        told(&gate, &file("src/b.rs", None, None)),
        (Verdict::Valid, Reason::Exists)
    );
    assert_eq!(
        told(&gate, &file("src/b.rs", Some((1, 2)), None)),
        (Verdict::Unverifiable, Reason::NothingToCompare)
    );
}

#[test]
fn what_was_edited_is_stale() {
    let (folder, cited) = sample();
    folder.put(
        "src/a.rs",
        &[function(1), function(7), function(3)].concat(),
    );
    assert_eq!(
        told(&folder.gate(), &cited),
        (Verdict::Stale, Reason::Changed)
    );
}

#[test]
fn a_change_beside_the_cited_lines_does_not_matter() {
    let (folder, cited) = sample();
    folder.put(
        "src/a.rs",
        &[function(1), function(2), function(9), function(8)].concat(),
    );
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Valid);
}

#[test]
fn what_has_lines_above_it_now_moved_down() {
    let (folder, cited) = sample();
    let text = ["// One more line.\n\n".to_owned(), function(1), function(2)].concat();
    folder.put("src/a.rs", &text);
    let judgement = judged(&folder.gate(), &cited);
    assert_eq!(judgement.verdict, Verdict::Moved);
    assert_eq!(
        judgement.refreshed,
        Some(folder.cite("src/a.rs", Some((6, 8))))
    );
}

#[test]
fn what_is_in_a_file_of_another_name_moved_there() {
    let (folder, cited) = sample();
    let whole = folder.cite("src/b.rs", None);
    fs::create_dir(folder.path("lib")).unwrap();
    fs::rename(folder.path("src/a.rs"), folder.path("lib/other.rs")).unwrap();
    fs::rename(folder.path("src/b.rs"), folder.path("c.rs")).unwrap();
    let gate = folder.gate();
    let moved = judged(&gate, &cited).refreshed;
    assert_eq!(moved, Some(folder.cite("lib/other.rs", Some((4, 6)))));
    assert_eq!(
        judged(&gate, &whole).refreshed,
        Some(folder.cite("c.rs", None))
    );
}

#[test]
fn what_was_deleted_is_stale() {
    let (folder, cited) = sample();
    fs::remove_file(folder.path("src/a.rs")).unwrap();
    assert_eq!(told(&folder.gate(), &cited), (Verdict::Stale, Reason::Gone));
}

#[test]
fn a_path_alone_that_leads_nowhere_any_more_may_have_been_renamed() {
    let (folder, _) = sample();
    let bare = [None, Some((4, 6))].map(|lines| file("src/a.rs", lines, None));
    fs::rename(folder.path("src/a.rs"), folder.path("src/c.rs")).unwrap();
    for cited in &bare {
        let unknown = (Verdict::Unverifiable, Reason::NothingToFind);
        assert_eq!(told(&folder.gate(), cited), unknown);
    }
}

#[test]
fn the_ends_of_lines_are_no_change() {
    let (folder, cited) = sample();
    let text = fs::read_to_string(folder.path("src/a.rs")).unwrap();
    folder.put("src/a.rs", &text.replace('\n', "\r\n"));
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Valid);
}

#[test]
fn what_git_ignores_is_no_place_to_move_to() {
    let (folder, cited) = sample();
    folder.put(".gitignore", "build/\n*.tmp\n!kept.tmp\n");
    folder.put("build/a.rs", &function(2));
    folder.put("src/x.tmp", &function(2));
    fs::remove_file(folder.path("src/a.rs")).unwrap();
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Stale);
    folder.put("docs/.gitignore", "/own.rs\n");
    folder.put("docs/own.rs", &function(2));
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Stale);
    folder.put("lib/kept.tmp", &function(2));
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Moved);
}

#[test]
fn a_symbol_is_where_its_signature_is() {
    let folder = Folder::new();
    folder.put("src/a.rs", &[function(1), function(2)].concat());
    let cited = symbol(
        "src/a.rs",
        "number_2",
        "pub fn number_2(rows: &[Row]) -> u64",
    );
    let gate = folder.gate();
    assert_eq!(told(&gate, &cited), (Verdict::Valid, Reason::Matches));
    // What a formatter makes of it is the same.
    folder.put(
        "src/a.rs",
        "pub fn number_2(\n    rows: &[Row],\n) -> u64 {\n    1\n}\n",
    );
    assert_eq!(told(&gate, &cited), (Verdict::Valid, Reason::Matches));
    // Its body is not what was cited.
    folder.put(
        "src/a.rs",
        "pub fn number_2(rows: &[Row]) -> u64 {\n    0\n}\n",
    );
    assert_eq!(told(&gate, &cited).0, Verdict::Valid);
    folder.put(
        "src/a.rs",
        "pub fn number_2(rows: &[Row]) -> u32 {\n    0\n}\n",
    );
    assert_eq!(told(&gate, &cited), (Verdict::Stale, Reason::Changed));
}

#[test]
fn a_symbol_is_found_in_another_file() {
    let folder = Folder::new();
    folder.put("src/a.rs", &function(1));
    folder.put("lib/b.rs", &[function(3), function(2)].concat());
    let cited = symbol(
        "src/a.rs",
        "number_2",
        "pub fn number_2(rows: &[Row]) -> u64",
    );
    let judgement = judged(&folder.gate(), &cited);
    assert_eq!(judgement.verdict, Verdict::Moved, "{judgement:?}");
    let Some(Citation::Symbol { file, .. }) = judgement.refreshed else {
        panic!("a symbol is refreshed to a symbol");
    };
    assert_eq!(file, "lib/b.rs");
    // What cannot be parsed may hold it.
    folder.put("lib/b.rs", "pub fn number_2(rows: &[Row] -> {{{ u64 ((\n");
    assert_ne!(told(&folder.gate(), &cited).0, Verdict::Stale);
    folder.put("lib/b.rs", &function(3));
    assert_eq!(told(&folder.gate(), &cited).0, Verdict::Stale);
}

#[test]
fn a_symbol_in_a_language_that_nobody_knows_is_unverifiable() {
    let folder = Folder::new();
    folder.put("a.zzz", "sub open\n");
    assert_eq!(
        told(&folder.gate(), &symbol("a.zzz", "open", "sub open")).0,
        Verdict::Unverifiable
    );
}

#[test]
fn an_entry_is_as_good_as_the_worst_it_rests_on() {
    let (folder, cited) = sample();
    let test = Citation::Test {
        name: "t".into(),
        outcome: TestOutcome::Pass,
        run: "1".into(),
    };
    let fine = [test.clone(), cited.clone()];
    let moved = [cited.clone(), folder.cite("src/b.rs", None)];
    let gone = [folder.cite("README.md", None), cited];
    let nothing = [test];
    fs::rename(folder.path("src/b.rs"), folder.path("src/c.rs")).unwrap();
    fs::remove_file(folder.path("README.md")).unwrap();
    let entries: [&[Citation]; 5] = [&fine, &moved, &gone, &nothing, &[]];
    let answer = folder.gate().check(&entries, Budget::WHOLE);
    let verdicts: Vec<Verdict> = answer.entries.iter().map(|one| one.verdict).collect();
    use Verdict::{Moved, Stale, Valid};
    assert_eq!(verdicts, [Valid, Moved, Stale, Valid, Valid]);
    let refreshed = answer.entries[1].refreshed(&moved);
    assert_eq!(refreshed, [moved[0].clone(), folder.cite("src/c.rs", None)]);
    let answer = Gate::without_tree().check(&entries, Budget::WHOLE);
    assert!(
        answer
            .entries
            .iter()
            .all(|one| one.verdict == Verdict::Unverifiable)
    );
}

#[test]
fn what_was_not_looked_for_everywhere_is_not_stale_and_that_is_said() {
    let (folder, cited) = sample();
    fs::remove_file(folder.path("src/a.rs")).unwrap();
    for number in 100..130 {
        folder.put(&format!("lib/{number}.rs"), &function(number));
    }
    let small = Budget {
        files_min: 5,
        files_max: 5,
        ..Budget::WHOLE
    };
    let citations = [cited];
    let gate = folder.gate();
    let answer = gate.check(&[&citations], small);
    assert!(answer.is_cut);
    let judgement = answer.entries[0].judgements[0].clone().unwrap();
    assert_eq!(
        (judgement.verdict, judgement.reason),
        (Verdict::Unverifiable, Reason::NotSearched)
    );
    let answer = gate.check(&[&citations], Budget::WHOLE);
    assert!(!answer.is_cut);
    assert_eq!(answer.entries[0].verdict, Verdict::Stale);
}
