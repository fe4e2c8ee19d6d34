//! What the gate remembers, and that it believes none of it for longer than it holds.

use std::fs;

use sillok_core::gate::{Reason, Verdict};
use sillok_gate::Budget;

use super::folder::{Folder, function, judged, symbol, told};

/// No search: what is said is known.
const NOTHING: Budget = Budget {
    files_min: 0,
    bytes_min: 0,
    files_max: 0,
    ..Budget::ANSWER
};

#[test]
fn what_was_found_once_is_found_by_the_next_process_without_a_search() {
    let (folder, home) = (Folder::new(), Folder::new());
    folder.put("src/a.rs", &function(1));
    let moved = folder.cite("src/a.rs", Some((1, 3)));
    folder.put("src/b.rs", &function(2));
    let gone = folder.cite("src/b.rs", Some((1, 3)));
    fs::create_dir(folder.path("lib")).unwrap();
    fs::rename(folder.path("src/a.rs"), folder.path("lib/c.rs")).unwrap();
    fs::remove_file(folder.path("src/b.rs")).unwrap();
    let gate = || folder.gate().remembering(home.path("gate.json"));
    let citations = [moved, gone];
    let ask = |budget| {
        let gate = gate();
        let answer = gate.check(&[&citations], budget);
        gate.write().unwrap();
        let judgements = answer.entries[0].judgements.iter().flatten();
        judgements.map(|one| one.verdict).collect::<Vec<_>>()
    };
    use Verdict::{Moved, Stale, Unverifiable};
    assert_eq!(ask(NOTHING), [Unverifiable, Unverifiable]);
    assert_eq!(ask(Budget::WHOLE), [Moved, Stale]);
    assert_eq!(ask(NOTHING), [Moved, Stale]);
    // What is remembered is looked at: it is there no more.
    fs::remove_file(folder.path("lib/c.rs")).unwrap();
    assert_eq!(ask(NOTHING), [Unverifiable, Stale]);
    // What is back in its place is seen there.
    folder.put("src/b.rs", &function(2));
    assert_eq!(ask(NOTHING)[1], Verdict::Valid);
    fs::write(home.path("gate.json"), b"{\"format\":").unwrap();
    assert_eq!(ask(NOTHING)[0], Unverifiable);
}

#[test]
fn what_another_work_tree_remembers_is_not_believed() {
    let (one, other, home) = (Folder::new(), Folder::new(), Folder::new());
    for folder in [&one, &other] {
        folder.put("b.rs", &function(2));
    }
    one.put("a.rs", &function(1));
    let cited = one.cite("a.rs", None);
    fs::remove_file(one.path("a.rs")).unwrap();
    let gate = one.gate().remembering(home.path("gate.json"));
    assert_eq!(told(&gate, &cited).0, Verdict::Stale);
    gate.write().unwrap();
    let gate = other.gate().remembering(home.path("gate.json"));
    let citations = [cited];
    let answer = gate.check(&[&citations], NOTHING);
    assert_eq!(answer.entries[0].verdict, Verdict::Unverifiable);
}

#[test]
fn a_change_of_the_same_length_is_seen_at_once() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let gate = folder.gate();
    let cited = folder.cite("a.rs", None);
    for _ in 0..20 {
        folder.put("a.rs", &function(1));
        assert_eq!(judged(&gate, &cited).reason, Reason::Matches);
        folder.put("a.rs", &function(2));
        assert_eq!(judged(&gate, &cited).reason, Reason::Changed);
    }
}

#[test]
fn a_file_that_did_not_change_for_long_is_not_read_again_and_its_change_is_seen() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let cited = folder.cite("a.rs", None);
    // Longer than clocks of file systems are coarse.
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    let gate = folder.gate();
    assert_eq!(told(&gate, &cited).0, Verdict::Valid);
    assert_eq!(told(&gate, &cited).0, Verdict::Valid);
    folder.put("a.rs", &function(2));
    assert_eq!(told(&gate, &cited).0, Verdict::Stale);
}

#[test]
fn what_was_nowhere_is_found_once_it_is_somewhere() {
    let folder = Folder::new();
    folder.put("src/a.rs", &function(1));
    let cited = folder.cite("src/a.rs", Some((1, 3)));
    std::fs::remove_file(folder.path("src/a.rs")).unwrap();
    let gate = folder.gate();
    assert_eq!(told(&gate, &cited).0, Verdict::Stale);
    folder.put("lib/a.rs", &function(1));
    let citations = [cited];
    let answer = gate.check(&[&citations], Budget::ANSWER);
    assert_eq!(answer.entries[0].verdict, Verdict::Moved);
}

#[test]
fn a_symbol_that_there_is_no_room_to_parse_is_looked_at_later() {
    let folder = Folder::new();
    folder.put("a.rs", &function(1));
    let citations = [symbol("a.rs", "number_9", "fn number_9()")];
    let gate = folder.gate();
    let nothing = Budget {
        bytes_max: 0,
        ..NOTHING
    };
    let answer = gate.check(&[&citations], nothing);
    assert!(answer.is_cut);
    assert_eq!(answer.entries[0].verdict, Verdict::Unverifiable);
    let answer = gate.check(&[&citations], Budget::WHOLE);
    assert_eq!(answer.entries[0].verdict, Verdict::Stale);
}
