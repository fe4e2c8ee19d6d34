//! A spool whatever is cut off, flipped, appended at once or asked again: its commands reach the server once and in order.

mod files;
mod model;

use proptest::prelude::*;
use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

use super::journal::Journal;
use super::note::{Begun, Note, Outcome, Route, Spooled, frame, scan};
use super::replay::{Heard, Replay, Step};
use crate::limits::{BUNDLE_COMMANDS, BUNDLE_MS, DEFECTS_MAX, NOTE_BYTES_MAX, WAIT_MS_MAX};

/// A time at which nothing is old.
const NOW: Timestamp = Timestamp::from_ms(2_000_000_000_000);

fn id(number: u8) -> CommandId {
    CommandId::from_parts(NOW.minus_ms(1_000 - u64::from(number)), [number; 10])
}

fn command(number: u8) -> Note {
    Note::Command(Spooled {
        id: id(number),
        route: Route::AppendLogs,
        body: format!("{{\"n\":{number},\"text\":\"ä\"}}"),
    })
}

fn opening() -> Note {
    Note::Command(Spooled {
        id: id(0),
        route: Route::OpenTask,
        body: "{}".to_owned(),
    })
}

fn begun() -> Note {
    Note::Begun(Begun {
        client: "codex".to_owned(),
        session: "s".to_owned(),
        target: None,
        opened: false,
        held: Vec::new(),
    })
}

fn settled(number: u8, outcome: Outcome) -> Note {
    let id = id(number);
    Note::Settled { id, outcome }
}

fn framed(notes: &[Note]) -> Vec<u8> {
    notes.iter().flat_map(|note| frame(note).unwrap()).collect()
}

fn journal(notes: &[Note]) -> Journal {
    Journal::of(scan(&framed(notes)))
}

fn waiting(journal: &Journal) -> Vec<CommandId> {
    journal
        .waiting()
        .map(|waiting| waiting.spooled.id)
        .collect()
}

#[test]
fn after_a_cut_at_any_byte_all_whole_notes_are_read_and_so_are_those_behind_it() {
    let notes = [
        begun(),
        opening(),
        command(1),
        command(2),
        settled(1, Outcome::Accepted),
    ];
    let bytes = framed(&notes);
    let ends: Vec<usize> = (0..=notes.len())
        .map(|count| framed(&notes[..count]).len())
        .collect();
    for cut in 0..=bytes.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let scanned = scan(&bytes[..cut]);
        assert_eq!(scanned.notes, notes[..whole]);
        assert_eq!(
            scanned.unfinished_bytes,
            u64::try_from(cut - ends[whole]).unwrap()
        );
        // Whoever comes after the crash appends behind what it left.
        let mut after = bytes[..cut].to_vec();
        after.extend(framed(&[command(9)]));
        let scanned = scan(&after);
        assert_eq!(scanned.notes[..whole], notes[..whole]);
        assert_eq!(scanned.notes[whole..], [command(9)]);
        assert_eq!(scanned.damaged, u64::from(cut != ends[whole]), "{cut}");
    }
}

#[test]
fn a_flip_of_any_bit_costs_one_note_at_most() {
    let notes = [command(1), command(2), command(3)];
    let bytes = framed(&notes);
    let ends: Vec<usize> = (1..=notes.len())
        .map(|count| framed(&notes[..count]).len())
        .collect();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let hit = ends.iter().filter(|end| **end <= at).count();
            let mut expected = notes.to_vec();
            expected.remove(hit);
            let scanned = scan(&bad);
            assert_eq!(scanned.notes, expected, "byte {at}, bit {bit}");
            assert!(scanned.damaged + scanned.unfinished_bytes > 0);
        }
    }
}

#[test]
fn a_note_of_another_version_is_counted_and_keeps_its_file() {
    let mut bytes = framed(&[begun()]);
    let known = frame(&Note::Ended).unwrap();
    // The same frame around a text that this version does not know.
    let text = b"\"future\"";
    let length = u32::try_from(text.len()).unwrap();
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 hook spool");
    hasher.update(&length.to_le_bytes());
    hasher.update(text);
    bytes.extend(&known[..4]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(&hasher.finalize().as_bytes()[..8]);
    bytes.extend(text);
    let journal = Journal::of(scan(&bytes));
    assert_eq!((journal.foreign, journal.is_settled()), (1, false));
}

#[test]
fn a_note_that_is_too_long_is_not_framed() {
    let mut long = command(1);
    if let Note::Command(spooled) = &mut long {
        spooled.body = "x".repeat(NOTE_BYTES_MAX);
    }
    assert_eq!(frame(&long), None);
}

#[test]
fn a_conversation_opens_its_task_once() {
    assert!(!journal(&[begun(), command(1)]).opens());
    let opening_waits = journal(&[begun(), opening()]);
    assert!(opening_waits.opens() && !opening_waits.is_opened());
    let opened = journal(&[begun(), opening(), settled(0, Outcome::Accepted)]);
    assert!(opened.opens() && opened.is_opened());
    let refused = Outcome::Refused("invalid_argument".to_owned());
    assert!(!journal(&[begun(), opening(), settled(0, refused)]).opens());
}

#[test]
fn what_is_lost_is_counted_by_why() {
    let refused = || Outcome::Refused("not_found".to_owned());
    let journal = journal(&[
        command(1),
        command(2),
        command(3),
        settled(1, refused()),
        settled(2, refused()),
        settled(3, Outcome::Expired),
        // What was settled stays settled.
        settled(1, Outcome::Accepted),
        Note::Left(4),
    ]);
    assert_eq!(journal.lost["not_found"], 2);
    assert_eq!(journal.lost["waited too long"], 1);
    assert_eq!((journal.left, journal.accepted()), (4, 0));
}

#[test]
fn commands_are_due_when_the_first_one_is_old_or_many_wait() {
    let made = id(1).time().unwrap();
    let one = journal(&[command(1)]);
    assert!(!one.is_due(made.plus_ms(BUNDLE_MS - 1)));
    assert!(one.is_due(made.plus_ms(BUNDLE_MS)));
    let all: Vec<Note> = (1..=u8::try_from(BUNDLE_COMMANDS).unwrap())
        .map(command)
        .collect();
    assert!(journal(&all).is_due(made));
    assert!(!journal(&all[1..]).is_due(made));
    assert!(!journal(&[]).is_due(NOW));
}

/// The steps of a run until it gives a command or ends.
fn until_given(replay: &mut Replay) -> (Vec<Note>, Step) {
    let mut notes = Vec::new();
    loop {
        match replay.step() {
            Step::Note(note) => notes.push(note),
            step => return (notes, step),
        }
    }
}

#[test]
fn a_command_is_noted_before_it_is_given_and_given_in_its_turn() {
    let journal = journal(&[begun(), command(1), command(2)]);
    let mut replay = Replay::of(&journal, "token", NOW);
    for number in [1, 2] {
        let (notes, step) = until_given(&mut replay);
        let by = "token".to_owned();
        assert_eq!(notes, [Note::Tried { id: id(number), by }]);
        assert!(matches!(step, Step::Give(given) if given.id == id(number)));
        assert_eq!(
            replay.heard(Heard::Taken),
            Some(settled(number, Outcome::Accepted))
        );
    }
    assert_eq!(replay.step(), Step::Done);
}

#[test]
fn after_no_answer_only_the_same_token_gives_it_again() {
    let notes = [
        command(1),
        Note::Tried {
            id: id(1),
            by: "one".to_owned(),
        },
    ];
    let (noted, step) = until_given(&mut Replay::of(&journal(&notes), "one", NOW));
    assert!(noted.is_empty() && matches!(step, Step::Give(_)));
    let (noted, step) = until_given(&mut Replay::of(&journal(&notes), "other", NOW));
    assert_eq!(
        (noted, step),
        (vec![settled(1, Outcome::Doubtful)], Step::Done)
    );
    // A server that has not taken the only attempt ends the doubt; of an attempt before that one it says nothing.
    let untaken = |doubted: bool| Note::Untaken {
        id: id(1),
        code: "unauthenticated".to_owned(),
        doubted,
    };
    let after = |note: Note| {
        let mended = [&notes[..], &[note]].concat();
        until_given(&mut Replay::of(&journal(&mended), "other", NOW)).1
    };
    assert!(matches!(after(untaken(false)), Step::Give(_)));
    assert_eq!(after(untaken(true)), Step::Done);
}

#[test]
fn what_is_not_taken_now_stops_the_run_and_keeps_the_order() {
    let all = journal(&[command(1), command(2)]);
    for (heard, noted) in [
        (Heard::Nothing, false),
        (Heard::Untaken("busy".to_owned()), true),
    ] {
        let mut replay = Replay::of(&all, "t", NOW);
        until_given(&mut replay);
        assert_eq!(replay.heard(heard).is_some(), noted);
        assert_eq!(replay.step(), Step::Stop);
    }
}

#[test]
fn no_room_says_nothing_of_an_attempt_before_it() {
    let tried = Note::Tried {
        id: id(1),
        by: "t".to_owned(),
    };
    for (notes, before) in [
        (vec![command(1)], false),
        (vec![command(1), tried.clone()], true),
    ] {
        let mut replay = Replay::of(&journal(&notes), "t", NOW);
        until_given(&mut replay);
        let heard = replay.heard(Heard::Untaken("busy".to_owned()));
        assert!(
            matches!(heard, Some(Note::Untaken { doubted, .. }) if doubted == before),
            "{heard:?}"
        );
    }
}

#[test]
fn a_refusal_for_good_lets_the_next_one_pass_and_an_open_task_is_open() {
    let mut replay = Replay::of(&journal(&[opening(), command(1), command(2)]), "t", NOW);
    until_given(&mut replay);
    let conflict = Heard::Refused("conflict".to_owned());
    assert_eq!(
        replay.heard(conflict.clone()),
        Some(settled(0, Outcome::Accepted))
    );
    until_given(&mut replay);
    let refused = Outcome::Refused("conflict".to_owned());
    assert_eq!(replay.heard(conflict), Some(settled(1, refused)));
    assert!(matches!(until_given(&mut replay).1, Step::Give(given) if given.id == id(2)));
}

#[test]
fn what_waited_too_long_or_met_too_many_defects_is_given_up() {
    let late = NOW.plus_ms(WAIT_MS_MAX);
    let (noted, _) = until_given(&mut Replay::of(&journal(&[command(1)]), "t", late));
    assert_eq!(noted, [settled(1, Outcome::Expired)]);
    let mut notes = vec![command(1)];
    for number in 1..=DEFECTS_MAX {
        let (noted, _) = until_given(&mut Replay::of(&journal(&notes), "t", NOW));
        assert!(
            matches!(noted.as_slice(), [Note::Tried { .. }]),
            "defect {number}"
        );
        let code = "internal".to_owned();
        notes.push(Note::Untaken {
            id: id(1),
            code,
            doubted: false,
        });
    }
    let (noted, _) = until_given(&mut Replay::of(&journal(&notes), "t", NOW));
    assert_eq!(noted, [settled(1, Outcome::Refused("internal".to_owned()))]);
}

proptest! {
    #[test]
    fn no_bytes_make_a_scan_panic_and_notes_between_them_are_found(
        before in proptest::collection::vec(any::<u8>(), 0..64),
        after in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = before;
        bytes.extend(framed(&[command(7)]));
        bytes.extend(after);
        prop_assert!(scan(&bytes).notes.contains(&command(7)));
    }
}
