//! The files: several processes at once, modes, bounds, and making a spool short.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use super::*;
use crate::client::Client;
use crate::clock::now;
use crate::limits::AWAY_MS;
use crate::spool::directory::Spools;
use crate::spool::file::{Appended, SpoolFile};

fn spool() -> (tempfile::TempDir, SpoolFile) {
    let folder = tempfile::tempdir().unwrap();
    let spool = SpoolFile::at(folder.path().join("a.spool"));
    (folder, spool)
}

#[test]
fn a_spool_is_its_owners_alone_and_holds_what_was_appended() {
    let folder = tempfile::tempdir().unwrap();
    let spools = Spools::of(&folder.path().join("data"));
    spools.make().unwrap();
    let spool = spools.of_session(Client::Codex, "../../s p");
    assert_eq!(spool.path().parent(), Some(spools.path()));
    assert_eq!(
        spool.append(&[begun(), opening()]).unwrap(),
        Appended::Whole
    );
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(spool.path()), mode(spools.path())), (0o600, 0o700));
    assert!(spool.head().unwrap().opens());
    assert_eq!(waiting(&spool.read().unwrap()), [id(0)]);
    assert_eq!(spools.all().unwrap(), [spool]);
}

#[test]
fn appends_of_many_at_once_are_all_whole() {
    let (_folder, spool) = spool();
    std::thread::scope(|threads| {
        for worker in 0..8 {
            let spool = &spool;
            threads.spawn(move || {
                for number in 0..16 {
                    spool.append(&[command(worker * 16 + number)]).unwrap();
                }
            });
        }
    });
    let journal = spool.read().unwrap();
    assert_eq!((journal.waiting().count(), journal.damaged), (128, 0));
}

#[test]
fn nothing_is_lost_between_appending_and_making_short() {
    let (_folder, spool) = spool();
    std::thread::scope(|threads| {
        let appending = threads.spawn(|| {
            for number in 0..200 {
                spool.append(&[command(number)]).unwrap();
            }
        });
        let mut taken = Vec::new();
        // Hands over, as fast as it can, what another thread writes.
        while !appending.is_finished() || spool.read().unwrap().waiting().next().is_some() {
            let turn = spool.take_turn().unwrap().unwrap();
            let mut replay = Replay::of(&spool.read().unwrap(), "t", NOW);
            loop {
                match replay.step() {
                    Step::Note(note) => spool.note(&note).unwrap(),
                    Step::Give(given) => {
                        taken.push(given.id);
                        spool.note(&replay.heard(Heard::Taken).unwrap()).unwrap();
                    }
                    Step::Stop | Step::Done => break,
                }
            }
            spool.note(&begun()).unwrap();
            spool.tidy(&turn, NOW).unwrap();
        }
        assert_eq!(taken, (0..200).map(id).collect::<Vec<_>>());
    });
}

#[test]
fn only_one_hands_over_at_a_time() {
    let (_folder, spool) = spool();
    let turn = spool.take_turn().unwrap();
    assert!(turn.is_some());
    assert!(spool.take_turn().unwrap().is_none());
    drop(turn);
    assert!(spool.take_turn().unwrap().is_some());
}

#[test]
fn a_full_spool_counts_what_it_leaves_out_and_still_takes_notes() {
    let (_folder, spool) = spool();
    let one = u64::try_from(framed(&[command(1)]).len()).unwrap();
    let spool = spool.bounded(one * 2);
    assert_eq!(
        spool.append(&[command(1), command(2)]).unwrap(),
        Appended::Whole
    );
    assert_eq!(
        spool.append(&[command(3), command(4)]).unwrap(),
        Appended::Full
    );
    spool.note(&settled(1, Outcome::Accepted)).unwrap();
    let journal = spool.read().unwrap();
    assert_eq!((waiting(&journal), journal.left), (vec![id(2)], 2));
}

#[test]
fn a_settled_spool_is_made_short_and_one_that_is_over_goes() {
    let (folder, spool) = spool();
    spool.append(&[begun(), opening(), command(1)]).unwrap();
    let turn = spool.take_turn().unwrap().unwrap();
    spool.note(&settled(0, Outcome::Accepted)).unwrap();
    let before = fs::read(spool.path()).unwrap();
    spool.tidy(&turn, now()).unwrap();
    assert_eq!(
        fs::read(spool.path()).unwrap(),
        before,
        "something waits in it"
    );
    spool.note(&settled(1, Outcome::Accepted)).unwrap();
    spool.tidy(&turn, now()).unwrap();
    let short = spool.read().unwrap();
    assert!(short.opens() && short.is_settled());
    assert!(fs::metadata(spool.path()).unwrap().len() < u64::try_from(before.len()).unwrap());
    spool.append(&[Note::Ended]).unwrap();
    spool.tidy(&turn, now()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_settled_spool_that_nobody_ended_goes_after_a_month() {
    let (_folder, spool) = spool();
    spool.append(&[begun()]).unwrap();
    let old = SystemTime::now() - Duration::from_millis(WAIT_MS_MAX + 60_000);
    fs::File::options()
        .append(true)
        .open(spool.path())
        .unwrap()
        .set_modified(old)
        .unwrap();
    let turn = spool.take_turn().unwrap().unwrap();
    spool.tidy(&turn, now()).unwrap();
    assert!(!spool.path().exists());
}

#[test]
fn that_a_server_was_away_counts_for_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let spools = Spools::of(folder.path());
    spools.make().unwrap();
    assert!(!spools.is_away(NOW));
    spools.note_away(NOW);
    assert!(spools.is_away(NOW.plus_ms(AWAY_MS - 1)));
    assert!(!spools.is_away(NOW.plus_ms(AWAY_MS)));
    assert!(!spools.is_away(NOW.minus_ms(1)), "the clock was put back");
    spools.note_back();
    assert!(!spools.is_away(NOW));
}

#[test]
fn what_is_held_is_nothing_that_waits_and_outlives_that_the_file_is_made_short() {
    let (_folder, spool) = spool();
    let held = |number| {
        let Note::Command(spooled) = command(number) else {
            unreachable!()
        };
        Note::Begun(Begun {
            client: "codex".to_owned(),
            session: "s".to_owned(),
            target: None,
            opened: false,
            held: vec![spooled],
        })
    };
    // Two that begin at once.
    spool.append(&[held(1), held(2), held(2)]).unwrap();
    let turn = spool.take_turn().unwrap().unwrap();
    spool.tidy(&turn, now()).unwrap();
    let journal = spool.read().unwrap();
    assert!(journal.is_settled() && !journal.opens());
    let ids = |journal: &Journal| -> Vec<CommandId> {
        let begun = journal.begun.as_ref().unwrap();
        begun.held.iter().map(|spooled| spooled.id).collect()
    };
    assert_eq!(ids(&journal), [id(1), id(2)]);
    spool.append(&[opening(), command(1), command(2)]).unwrap();
    for number in 0..3 {
        spool.note(&settled(number, Outcome::Accepted)).unwrap();
    }
    spool.tidy(&turn, now()).unwrap();
    let journal = spool.read().unwrap();
    assert!(journal.is_opened() && ids(&journal).is_empty());
}

#[test]
fn what_is_lost_is_known_after_the_file_was_made_short_and_after_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let spools = Spools::of(folder.path());
    spools.make().unwrap();
    for session in ["one", "two"] {
        let spool = spools.of_session(Client::Codex, session);
        spool.append(&[begun(), command(1), Note::Left(2)]).unwrap();
        let refused = Outcome::Refused("not_found".to_owned());
        spool.note(&settled(1, refused)).unwrap();
        let turn = spool.take_turn().unwrap().unwrap();
        for _ in 0..2 {
            spool.tidy(&turn, now()).unwrap();
            let journal = spool.read().unwrap();
            assert!(journal.lost().is_nothing(), "it was told");
            let lost = journal.lost_in_all();
            assert_eq!((lost.commands["not_found"], lost.left), (1, 2));
        }
        spool.append(&[Note::Ended]).unwrap();
        spool.tidy(&turn, now()).unwrap();
        assert!(!spool.path().exists());
    }
    let lost = spools.lost().read().unwrap().lost_in_all();
    assert_eq!((lost.commands["not_found"], lost.left), (2, 4));
    assert!(spools.all().unwrap().is_empty());
}
