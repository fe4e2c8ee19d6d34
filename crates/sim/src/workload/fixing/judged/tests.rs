//! Each spoiled answer and each spoiled row is found.

use sillok_core::chain::Header;
use sillok_core::circular::{ErrorJudged, ErrorReason, Verdict};
use sillok_core::event::FixFailed;
use sillok_core::id::{CommandId, Epoch, Seq};
use sillok_core::time::Timestamp;

use super::super::Fix;
use super::super::written::Said;
use super::super::written::tests::{actor, commit, event, failed, hash, task, verification};
use super::*;

/// A task in which two errors take turns, then something passes, and then one fails without an approach, and one without an
/// error.
struct World {
    commits: Vec<Commit>,
    recorded: Vec<Recorded>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            commits: Vec::new(),
            recorded: Vec::new(),
        };
        world.write(Said::Opened);
        for (id, error) in (1..).zip([0, 2, 1, 3]) {
            world.fail(id, (Some(error), Some(error)));
        }
        world.write(Said::Passed);
        world.fail(5, (Some(0), None));
        world.fail(6, (None, Some(0)));
        world
    }

    /// Writes what follows an event of the task.
    fn write(&mut self, said: Said) {
        let seq = 1 + self.commits.len() as u64;
        let event = event(&task(0, 0), seq, said);
        self.commits.push(commit(event, 10 * seq, 10 * seq + 5));
    }

    /// Records a failed fix, and tells whoever did what the fold says of it.
    fn fail(&mut self, id: u8, (error, approach): (Option<u8>, Option<u8>)) {
        self.write(Said::NotPassed(verification(id)));
        let seen = error.map(|error| self.tries().seen(hash(error), verification(id)));
        let Said::Failed(fix) = failed(id, error, approach) else {
            panic!("it is a fix")
        };
        self.write(Said::Failed(FixFailed { error: seen, ..fix }));
        let seq = Seq::new(self.commits.len() as u64);
        let judged = Folded::of(&self.commits).judgements[&verification(id)].judged;
        self.recorded.push(Recorded {
            task: task(0, 0),
            id: verification(id),
            fix: Fix { error, approach },
            word: None,
            seq,
            judged,
        });
    }

    /// What failed in the task since something passed.
    fn tries(&self) -> Tries {
        let folded = Folded::of(&self.commits);
        folded.tries.get(&task(0, 0)).cloned().unwrap_or_default()
    }

    /// The header of an event, by its place.
    fn header(&mut self, place: usize) -> &mut Header {
        &mut self.commits[place].events[0].header
    }

    fn wrong(&self) -> Option<String> {
        let folded = Folded::of(&self.commits);
        let mut answers = self.recorded.iter();
        answers.find_map(|told| wrong_answer(&folded.judgements, told))
    }
}

fn is_wrong(spoil: impl Fn(&mut World)) -> bool {
    let mut world = World::new();
    spoil(&mut world);
    world.wrong().is_some()
}

/// What somebody was told of an error.
fn judged(world: &mut World, place: usize) -> &mut ErrorJudged {
    world.recorded[place].judged.as_mut().unwrap()
}

#[test]
fn errors_are_judged_by_those_before_them_until_something_passes() {
    let world = World::new();
    let judged = world.recorded.iter().map(|told| told.judged);
    let reasons: Vec<Option<(ErrorReason, u32)>> = judged
        .map(|judged| judged.map(|judged| (judged.reason, judged.count)))
        .collect();
    let expected = [
        Some((ErrorReason::New, 1)),
        Some((ErrorReason::New, 1)),
        Some((ErrorReason::CameBack, 2)),
        Some((ErrorReason::TakesTurns, 2)),
        Some((ErrorReason::New, 1)),
        None,
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn whatever_comes_up_in_a_stuck_task_is_blocked_until_it_is_free_or_something_passes() {
    for freed in [Said::Free, Said::Passed] {
        let is_cleared = matches!(freed, Said::Passed);
        let mut world = World::new();
        world.write(Said::Stuck("round and round".into()));
        world.fail(7, (Some(0), None));
        world.write(freed);
        world.fail(8, (Some(0), None));
        assert_eq!(world.wrong(), None);
        let told = |world: &mut World, place| {
            let judged = judged(world, place);
            (judged.verdict, judged.reason, judged.count)
        };
        let blocked = (Verdict::Block, ErrorReason::Stuck, 2);
        assert_eq!(told(&mut world, 6), blocked);
        let expected = if is_cleared {
            (Verdict::Allow, ErrorReason::New, 1)
        } else {
            (Verdict::Block, ErrorReason::TooOften, 3)
        };
        assert_eq!(told(&mut world, 7), expected);
        judged(&mut world, 6).reason = ErrorReason::Repeated;
        assert!(world.wrong().is_some());
    }
}

#[test]
fn an_answer_that_the_events_do_not_lead_to_is_found() {
    assert!(!is_wrong(|_| ()));
    // One that forgets what failed before, or what another agent or another process saw.
    assert!(is_wrong(|world| judged(world, 2).count = 1));
    assert!(is_wrong(|world| judged(world, 2).reason = ErrorReason::New));
    assert!(is_wrong(|world| judged(world, 2).verdict = Verdict::Allow));
    assert!(is_wrong(
        |world| judged(world, 3).reason = ErrorReason::CameBack
    ));
    // One that counts what a pass cleared.
    assert!(is_wrong(|world| judged(world, 4).count = 3));
    assert!(is_wrong(|world| judged(world, 4).verdict = Verdict::Block));
    // One of another error, of none, or of an error that was not told.
    assert!(is_wrong(|world| judged(world, 0).error = hash(2)));
    assert!(is_wrong(|world| world.recorded[0].judged = None));
    assert!(is_wrong(|world| {
        world.recorded[5].judged = world.recorded[4].judged;
    }));
}

#[test]
fn an_error_that_counts_under_another_verification_is_found() {
    let is_miscounted = |spoil: fn(&mut FixFailed)| {
        let mut world = World::new();
        let Said::Failed(fix) = &mut world.commits[6].events[0].said else {
            panic!("it is the third fix")
        };
        spoil(fix);
        Folded::of(&world.commits).miscounted.is_some()
    };
    assert!(!is_miscounted(|_| ()));
    // Under that of the other error, and under its own, though it came up before.
    assert!(is_miscounted(|fix| {
        fix.error.as_mut().unwrap().first = verification(2);
    }));
    assert!(is_miscounted(|fix| {
        fix.error.as_mut().unwrap().first = verification(3);
    }));
}

#[test]
fn what_was_erased_counts_on_has_no_row_and_is_another_error_once_nothing_tells_it() {
    let mut world = World::new();
    world.commits.truncate(7);
    world.recorded.truncate(3);
    // The first error came up with the third event and with the seventh.
    world.write(Said::Erased(vec![Seq::new(3)]));
    world.fail(7, (Some(0), None));
    let last = |world: &World| world.recorded.last().unwrap().judged.unwrap();
    assert_eq!(last(&world).count, 3);
    world.write(Said::Erased(vec![Seq::new(7), Seq::new(10)]));
    world.fail(8, (Some(1), Some(1)));
    assert_eq!(last(&world).reason, ErrorReason::New);
    assert_eq!(world.wrong(), None);
    let folded = Folded::of(&world.commits);
    assert_eq!(folded.miscounted, None);
    let counted = "error of an erased verification counted";
    let shown = folded.shown.iter().filter(|shown| **shown == counted);
    assert_eq!(shown.count(), 1);
    let rows = expected(&world.commits);
    let left: Vec<u64> = rows.values().map(|failed| failed.seq.get()).collect();
    assert_eq!(left, [5, 13]);
}

#[test]
fn an_answer_without_its_event_and_one_of_another_event_are_found() {
    assert!(is_wrong(|world| world.recorded[0].seq = Seq::new(4)));
    assert!(is_wrong(|world| world.recorded[0].task = task(0, 1)));
    assert!(is_wrong(|world| world.recorded[0].id = verification(9)));
    assert!(is_wrong(|world| world.recorded[0].fix.approach = Some(2)));
    assert!(is_wrong(|world| world.recorded[0].fix.approach = None));
    assert!(is_wrong(|world| world.recorded[0].fix.error = None));
    let silent = Fix {
        error: None,
        approach: None,
    };
    assert!(is_wrong(|world| world.recorded[0].fix = silent));
    // Of what says nothing there is no event, and nothing follows.
    let told = |world: &mut World| {
        world.recorded.truncate(1);
        world.recorded[0].id = verification(9);
        world.recorded[0].fix = silent;
    };
    assert!(is_wrong(told));
    assert!(!is_wrong(|world| {
        told(world);
        world.recorded[0].judged = None;
    }));
}

#[test]
fn what_fails_without_its_verification_is_found() {
    let is_stray = |spoil: fn(&mut World)| {
        let mut world = World::new();
        spoil(&mut world);
        Folded::of(&world.commits).stray.is_some()
    };
    assert!(!is_stray(|_| ()));
    assert!(is_stray(|world| drop(world.commits.remove(1))));
    assert!(is_stray(|world| {
        world.commits[1].events[0].said = Said::NotPassed(verification(9));
    }));
    assert!(is_stray(
        |world| world.commits[1].events[0].said = Said::Passed
    ));
    assert!(is_stray(|world| world.header(2).seq = Seq::new(4)));
    assert!(is_stray(|world| {
        world.header(2).command = CommandId::from_parts(Timestamp::EPOCH, [2; 10]);
    }));
}

#[test]
fn what_the_order_of_the_events_shows_is_counted() {
    let shown = |spoil: fn(&mut World)| {
        let mut world = World::new();
        spoil(&mut world);
        Folded::of(&world.commits).shown
    };
    assert_eq!(shown(|_| ()), ["failures cleared by a pass"]);
    // The first error comes up again with the sixth event behind the opening.
    let others = shown(|world| world.header(6).actor = actor(2));
    assert_eq!(others[0], "error of another agent counted");
    let former = shown(|world| world.header(6).epoch = Epoch(2));
    assert_eq!(former[0], "error under a former epoch counted");
    let batch = shown(|world| {
        let events = world.commits.drain(1..5).flat_map(|commit| commit.events);
        let events = events.collect();
        let commit = Commit {
            events,
            ..Commit::default()
        };
        world.commits.insert(1, commit);
    });
    assert_eq!(batch[0], "errors judged in one batch");
}

#[test]
fn a_task_that_forgets_or_does_not_clear_what_failed_is_found() {
    let world = World::new();
    let folded = Folded::of(&world.commits);
    let key = ScopeKey::of(&task(0, 0));
    let kept = folded.tries[&task(0, 0)].kept();
    let before = Folded::of(&world.commits[..9]).tries[&task(0, 0)].kept();
    let is_wrong = |tasks: &[(ScopeKey, &Kept)]| {
        let tasks = tasks.iter().map(|(key, kept)| (*key, (*kept).clone()));
        forgotten(&folded.tries, &tasks.collect()).is_some()
    };
    let nothing = Kept::default();
    assert!(!is_wrong(&[(key, &kept)]));
    assert!(is_wrong(&[(key, &nothing)]));
    assert!(is_wrong(&[(key, &before)]));
    assert!(is_wrong(&[]));
    let other = ScopeKey::of(&task(0, 1));
    assert!(!is_wrong(&[(key, &kept), (other, &nothing)]));
    assert!(is_wrong(&[(key, &kept), (other, &kept)]));
}

#[test]
fn a_row_that_follows_from_no_event_and_one_that_is_missing_or_says_something_else_are_found() {
    let expected = expected(&World::new().commits);
    assert_eq!(expected.len(), 5);
    let is_wrong = |spoil: fn(&mut Rows)| {
        let mut rows = expected.clone();
        spoil(&mut rows);
        misfit(&rows, &expected).is_some()
    };
    assert!(!is_wrong(|_| ()));
    assert!(is_wrong(|rows| drop(rows.pop_first())));
    assert!(is_wrong(|rows| {
        let (_, failed) = rows.pop_first().unwrap();
        let failed = FailedApproach {
            seq: Seq::new(70),
            ..failed
        };
        rows.insert(failed_approach::Key::of(&failed), failed);
    }));
    assert!(is_wrong(|rows| {
        let mut place = rows.values_mut();
        place.next().unwrap().reason = "another".into();
    }));
    assert!(is_wrong(|rows| {
        let mut place = rows.values_mut();
        place.next().unwrap().approach = said::approach(4);
    }));
    assert!(is_wrong(|rows| {
        let (place, failed) = rows.first_key_value().unwrap();
        let place = failed_approach::Key {
            seq: Seq::new(70),
            ..*place
        };
        let failed = failed.clone();
        rows.insert(place, failed);
    }));
}

#[test]
fn an_error_that_is_told_as_two_and_two_that_are_told_as_one_are_found() {
    let is_confused = |spoil: fn(&mut World)| {
        let mut world = World::new();
        spoil(&mut world);
        confused(&world.recorded).is_some()
    };
    // The third fix fails with the error of the first, in other words.
    assert!(!is_confused(|_| ()));
    assert!(is_confused(|world| judged(world, 2).error = hash(4)));
    assert!(is_confused(|world| judged(world, 1).error = hash(0)));
}
