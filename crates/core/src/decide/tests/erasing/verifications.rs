//! Erasing what verifications say: nothing of it is left, the view follows from what is, and errors count on as they did.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::world::*;
use super::{bodies, folded_with_rows};
use crate::circular::{ErrorHash, ErrorJudged, ErrorReason, ErrorSeen, FailedApproach};
use crate::command::{AnswerBody, Command};
use crate::erasure::EraseVerifications;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::facts::{Facts, Need, needs};
use crate::id::{Seq, VerificationId};
use crate::limits::ERASED_MAX;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{self, Human, Orchestrator};
use crate::state::Change;
use crate::task::Task;
use crate::verification::{Outcome, Verification, VerificationSource};

/// Stands in every text and name of what is to go.
const WORD: &str = "xyzzy";

fn order(verifications: &[VerificationId]) -> Command {
    Command::EraseVerifications(Box::new(EraseVerifications {
        verifications: verifications.to_vec(),
        reason: "it is nobody's business".into(),
    }))
}

fn erased(events: u32, known: u32) -> AnswerBody {
    AnswerBody::Erased {
        events,
        entries: Vec::new(),
        known,
    }
}

fn refused(world: &mut World, kind: PrincipalKind, command: Command) -> Error {
    let before = world.events.len();
    let refused = world.give(kind, command).unwrap_err();
    assert_eq!(world.events.len(), before);
    refused
}

/// Gives the promotion of a verification up.
fn drop_promotion(world: &mut World, id: VerificationId) {
    let drop = Command::DropPromotion {
        verification: id,
        reason: "nobody is to learn of it".into(),
    };
    world.give(Orchestrator, drop).unwrap();
}

/// Records a failure whose promotion is given up: its verification, and what followed from its error.
fn fail(
    world: &mut World,
    error: Option<&str>,
    approach: Option<&str>,
) -> (VerificationId, Option<ErrorJudged>) {
    let file = approach.map(|approach| format!("src/{}.rs", approach.replace(' ', "_")));
    let files: Vec<&str> = file.iter().map(String::as_str).collect();
    let answer = world.give(Orchestrator, failure(error, approach, &files));
    let AnswerBody::Failed { id, judged, .. } = answer.unwrap() else {
        panic!("a failure is answered as one")
    };
    drop_promotion(world, id);
    (id, judged)
}

fn pass(world: &mut World) -> VerificationId {
    let passed = verification(Outcome::Passed, VerificationSource::TestsPassed, None);
    match world.give(Orchestrator, passed).unwrap() {
        AnswerBody::Verification { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

/// The rows of the view that say something of failures.
#[derive(Debug, Default, PartialEq)]
struct Rows {
    task: Option<Task>,
    verifications: BTreeMap<VerificationId, Verification>,
    approaches: BTreeMap<Seq, FailedApproach>,
}

impl Rows {
    fn of(changes: &[Change]) -> Self {
        let mut rows = Self::default();
        for change in changes {
            match change {
                Change::Task(task) => rows.task = Some((**task).clone()),
                Change::Verification(recorded) => {
                    rows.verifications.insert(recorded.id, (**recorded).clone());
                }
                Change::ApproachFailed(failed) => {
                    rows.approaches.insert(failed.seq, (**failed).clone());
                }
                Change::ApproachErased(seq) => {
                    let gone = rows.approaches.remove(seq);
                    assert!(gone.is_some(), "a row is erased that is there");
                }
                _ => {}
            }
        }
        rows
    }
}

/// Whether a word, or the fingerprint of an error, stands anywhere.
fn holds(world: &World, word: &str) -> bool {
    let rows = Rows::of(&world.changes);
    format!("{:?} {rows:?}", bodies(world)).contains(word)
}

fn check_folds(world: &World) {
    let (folded, changes) = folded_with_rows(world);
    assert_eq!(folded.task(), world.state.task());
    assert_eq!(Rows::of(&changes), Rows::of(&world.changes));
}

#[test]
fn nothing_is_left_of_what_it_said_and_all_else_stays() {
    let mut world = World::task();
    let error = format!("KeyError: '{WORD}'");
    let (id, _) = fail(&mut world, Some(&error), Some("catch the xyzzy error"));
    let (other, _) = fail(&mut world, Some("KeyError: 'plain'"), Some("plain"));
    let hash = ErrorHash::of(&error).to_string();
    assert!(holds(&world, WORD) && holds(&world, &hash));
    let before = Rows::of(&world.changes);
    assert_eq!(world.give(Human, order(&[id])), Ok(erased(2, 0)));
    assert!(!holds(&world, WORD) && !holds(&world, &hash));
    let after = Rows::of(&world.changes);
    assert_eq!(after.approaches.len(), 1, "that of the other");
    assert_eq!(after.verifications[&other], before.verifications[&other]);
    let (was, left) = (&before.verifications[&id], &after.verifications[&id]);
    let text = Some(String::new());
    assert_eq!((&left.said.error, &left.said.approach), (&text, &text));
    let bare = |one: &Verification| {
        let mut one = one.clone();
        (one.said.error, one.said.approach) = (None, None);
        one
    };
    assert_eq!(bare(left), bare(was));
    let task = |rows: &Rows| rows.task.clone().unwrap();
    assert_eq!(task(&after).updated_at, task(&before).updated_at);
    assert_eq!(task(&after).status, task(&before).status);
    check_folds(&world);
    let again = world.give(Human, order(&[id, id]));
    assert_eq!(again, Ok(erased(0, 1)), "and nothing follows from it");
    check_folds(&world);
}

#[test]
fn what_says_only_an_error_or_an_approach_or_neither_is_erased_as_well() {
    for (error, approach, events) in [
        (Some("KeyError: 'xyzzy'"), None, 2),
        (None, Some("catch the xyzzy error"), 2),
        (None, None, 1),
        (Some(" "), None, 1),
    ] {
        let mut world = World::task();
        let (id, _) = fail(&mut world, error, approach);
        assert_eq!(world.give(Human, order(&[id])), Ok(erased(events, 0)));
        assert!(!holds(&world, WORD));
        check_folds(&world);
    }
}

#[test]
fn what_older_nodes_recorded_and_what_passed_is_erased_as_well() {
    let mut world = World::task();
    world.spoken = WireVersion::WITH_EVIDENCE;
    let command = failure(Some("KeyError: 'xyzzy'"), Some("catch xyzzy"), &[]);
    let AnswerBody::Verification { id, .. } = world.give(Orchestrator, command).unwrap() else {
        panic!("it is recorded as a verification")
    };
    drop_promotion(&mut world, id);
    let early = refused(&mut world, Human, order(&[id]));
    assert_eq!(early.code, ErrorCode::Unavailable);
    world.spoken = WireVersion::NEWEST;
    // What stands behind it is of another.
    let (other, _) = fail(&mut world, Some("KeyError: 'plain'"), None);
    let passed = pass(&mut world);
    drop_promotion(&mut world, passed);
    assert_eq!(world.give(Human, order(&[passed, id])), Ok(erased(2, 0)));
    assert!(!holds(&world, WORD) && holds(&world, "plain"));
    check_folds(&world);
    assert_eq!(world.give(Human, order(&[id, other])), Ok(erased(2, 1)));
    assert!(!holds(&world, "plain"));
    check_folds(&world);
}

/// What is left of the errors of all fixes whose verifications were erased, in the order of the orders.
fn errors_left(world: &World) -> Vec<ErrorSeen> {
    let rests = bodies(world)
        .into_iter()
        .flatten()
        .filter_map(|body| match body {
            Body::ContentErased(erased) => Some(erased.events),
            _ => None,
        });
    let errors = rests.flatten().filter_map(|rest| match rest.rest {
        Body::FixFailed(fix) => fix.error,
        _ => None,
    });
    errors.collect()
}

#[test]
fn of_one_error_some_verifications_go_and_the_others_say_what_they_said() {
    let mut world = World::task();
    let error = "KeyError: 'xyzzy'";
    let hash = ErrorHash::of(error).to_string();
    let (first, _) = fail(&mut world, Some(error), Some("approach-one"));
    let (second, _) = fail(&mut world, Some(error), Some("approach-two"));
    fail(
        &mut world,
        Some("KeyError: 'plain'"),
        Some("approach-three"),
    );
    assert_eq!(world.give(Human, order(&[first])), Ok(erased(2, 0)));
    assert!(!holds(&world, "approach-one") && holds(&world, "approach-two"));
    check_folds(&world);
    // It is told by the second, and counts as it did: however it is written.
    assert!(holds(&world, &hash));
    let (third, judged) = fail(&mut world, Some(&format!("\u{1b}[31m{error}")), None);
    let judged = judged.unwrap();
    assert_eq!((judged.count, judged.reason), (3, ErrorReason::TooOften));
    // The last one that tells it: from then on it is another one.
    assert_eq!(world.give(Human, order(&[third])), Ok(erased(2, 0)));
    check_folds(&world);
    let (fourth, judged) = fail(&mut world, Some(error), None);
    assert_eq!(judged.unwrap().reason, ErrorReason::New);
    let answer = world.give(Human, order(&[fourth, first, second]));
    assert_eq!(answer, Ok(erased(4, 1)));
    assert!(!holds(&world, WORD) && !holds(&world, &hash) && holds(&world, "plain"));
    check_folds(&world);
    let left = |first| ErrorSeen {
        error: ErrorHash::ERASED,
        first,
    };
    let expected = [left(first), left(first), left(first), left(fourth)];
    assert_eq!(errors_left(&world), expected);
}

#[test]
fn an_error_that_came_up_more_often_than_an_order_names_goes_by_several_orders() {
    let mut world = World::task();
    let error = "KeyError: 'xyzzy'";
    let hash = ErrorHash::of(error).to_string();
    let mut ids: Vec<VerificationId> = Vec::new();
    for _ in 0..ERASED_MAX + 4 {
        ids.push(fail(&mut world, Some(error), None).0);
    }
    let all = refused(&mut world, Human, order(&ids));
    assert_eq!(all.code, ErrorCode::TooLarge);
    let events = u32::try_from(2 * ERASED_MAX).unwrap();
    let answer = world.give(Human, order(&ids[..ERASED_MAX]));
    assert_eq!(answer, Ok(erased(events, 0)));
    check_folds(&world);
    // Between two orders those that are left tell it, and it counts on.
    assert!(holds(&world, &hash));
    let (last, judged) = fail(&mut world, Some(error), None);
    let count = usize::try_from(judged.unwrap().count).unwrap();
    assert_eq!(count, ids.len() + 1);
    ids.push(last);
    let again = world.give(Human, order(&ids[..ERASED_MAX]));
    assert_eq!(again, Ok(erased(0, u32::try_from(ERASED_MAX).unwrap())));
    let answer = world.give(Human, order(&ids[ERASED_MAX..]));
    assert_eq!(answer, Ok(erased(10, 0)));
    assert!(!holds(&world, WORD) && !holds(&world, &hash));
    check_folds(&world);
    let left = errors_left(&world);
    assert_eq!(left.len(), ids.len());
    assert!(left.iter().all(|seen| seen.first == ids[0]));
    let (_, judged) = fail(&mut world, Some(error), None);
    assert_eq!(judged.unwrap().reason, ErrorReason::New);
    check_folds(&world);
}

#[test]
fn errors_count_on_without_their_fingerprints() {
    let mut world = World::task();
    let (a, b) = ("KeyError: 'a'", "KeyError: 'b'");
    let (first, _) = fail(&mut world, Some(a), None);
    let (other, _) = fail(&mut world, Some(b), None);
    let (second, _) = fail(&mut world, Some(a), None);
    world.give(Human, order(&[first, second])).unwrap();
    let failures = world.state.task().unwrap().failures.clone();
    let judged = |error, first| {
        let judged = failures.judge(ErrorSeen { error, first });
        (judged.count, judged.reason)
    };
    assert_eq!(judged(ErrorHash::ERASED, first), (3, ErrorReason::TooOften));
    let plain = ErrorHash::of(b);
    assert_eq!(judged(plain, other), (2, ErrorReason::TakesTurns));
    let nobody = VerificationId::from_bytes([7; 16]);
    let anew = ErrorSeen {
        error: ErrorHash::of(a),
        first: nobody,
    };
    assert_eq!(failures.seen(anew.error, nobody), anew);
    world.give(Human, order(&[other])).unwrap();
    let task = world.state.task().unwrap();
    let seen = task.failures.seen(plain, nobody);
    assert_eq!(seen.first, nobody, "it is not known by it any more");
    check_folds(&world);
}

#[test]
fn a_verification_whose_promotion_is_under_way_stays_until_that_is_finished() {
    let mut world = World::task();
    let command = failure(Some("KeyError: 'xyzzy'"), None, &[]);
    let AnswerBody::Failed { id, .. } = world.give(Orchestrator, command).unwrap() else {
        panic!("a failure is answered as one")
    };
    let why = refused(&mut world, Human, order(&[id]));
    assert_eq!(why.code, ErrorCode::InvalidState);
    assert!(why.message.contains("under way"), "{why}");
    // Of the same batch as well.
    world.in_batch = true;
    drop_promotion(&mut world, id);
    world.give(Human, order(&[id])).unwrap();
    assert!(!holds(&world, WORD));
    check_folds(&world);
}

#[test]
fn what_is_not_there_or_not_said_why_is_refused_and_nothing_is_erased() {
    let mut world = World::task();
    let (id, _) = fail(&mut world, Some("KeyError: 'xyzzy'"), None);
    let nobody = VerificationId::from_bytes([7; 16]);
    let silent = Command::EraseVerifications(Box::new(EraseVerifications {
        verifications: vec![id],
        reason: " ".into(),
    }));
    for (command, code) in [
        (order(&[id, nobody]), ErrorCode::NotFound),
        (order(&[]), ErrorCode::InvalidArgument),
        (order(&vec![id; ERASED_MAX + 1]), ErrorCode::TooLarge),
        (silent, ErrorCode::InvalidArgument),
    ] {
        assert_eq!(refused(&mut world, Human, command).code, code);
    }
    assert!(holds(&world, WORD));
    let mut project = World::new(PROJECT);
    let elsewhere = refused(&mut project, Human, order(&[id]));
    assert_eq!(elsewhere.code, ErrorCode::NotFound);
}

#[test]
fn only_people_erase_what_verifications_say() {
    for kind in PrincipalKind::ALL {
        let mut world = World::task();
        let (id, _) = fail(&mut world, Some("KeyError: 'xyzzy'"), None);
        match world.give(kind, order(&[id])) {
            Ok(answer) => assert_eq!((kind, answer), (Human, erased(2, 0))),
            Err(refused) => {
                assert_ne!(kind, Human);
                assert_eq!(refused.rule(), Some("control/erase"));
            }
        }
    }
}

#[test]
fn only_the_events_of_what_is_named_are_asked_for() {
    let mut world = World::task();
    let (first, _) = fail(&mut world, Some("KeyError: 'a'"), None);
    fail(&mut world, Some("KeyError: 'a'"), Some("plain"));
    pass(&mut world);
    let submission = world.submission(Human, order(&[first]));
    let asked = needs(&world.state, &submission, &Facts::default());
    assert_eq!(asked, [Need::Promotions]);
    let facts = world.facts(&submission);
    let positions: Vec<u64> = facts.events.keys().map(|seq| seq.get()).collect();
    assert_eq!(positions, [2, 3]);
}

#[test]
fn what_was_not_read_is_a_defect_and_erases_nothing() {
    let mut world = World::task();
    let (first, _) = fail(&mut world, Some("KeyError: 'a'"), None);
    fail(&mut world, Some("KeyError: 'b'"), None);
    let submission = world.submission(Human, order(&[first]));
    let sound = world.facts(&submission);
    let decided = |facts: &Facts| {
        let config = crate::config::RulesConfig::default();
        crate::decide::decide(&world.state, &submission, facts, &config, world.now)
    };
    assert!(decided(&sound).is_ok());
    let mut unread = sound.clone();
    unread.events.remove(&Seq::new(3));
    let mut stray = sound;
    stray.events.insert(Seq::new(2), world.event(Seq::new(5)));
    for facts in [unread, stray] {
        assert_eq!(decided(&facts).unwrap_err().code, ErrorCode::Internal);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Fail(u8, Option<u8>),
    Pass,
    /// Erases the ones that are picked.
    Erase(Vec<usize>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let picks = proptest::collection::vec(any::<usize>(), 1..4);
    let step = prop_oneof![
        6 => (0_u8..4, proptest::option::of(0_u8..3)).prop_map(|(error, approach)| Step::Fail(error, approach)),
        1 => Just(Step::Pass),
        2 => picks.prop_map(Step::Erase),
    ];
    proptest::collection::vec(step, 1..24)
}

/// A failure, as it was recorded.
struct Made {
    id: VerificationId,
    error: u8,
    judged: ErrorJudged,
    gone: bool,
}

/// What followed from each error as the events tell that are left, by its verification.
fn judged_by_what_is_left(world: &World) -> BTreeMap<VerificationId, ErrorJudged> {
    let rests = bodies(world)
        .into_iter()
        .flatten()
        .filter_map(|body| match body {
            Body::ContentErased(erased) => Some(erased.events),
            _ => None,
        });
    let rests: Vec<_> = rests.flatten().collect();
    let mut known = crate::circular::Failures::default();
    let mut judged = BTreeMap::new();
    for (seq, body) in (1..).map(Seq::new).zip(bodies(world)) {
        let rest = rests.iter().find(|rest| rest.at.seq == seq);
        match body.or_else(|| rest.map(|rest| rest.rest.clone())).unwrap() {
            Body::VerificationRecorded(recorded) if recorded.said.outcome == Outcome::Passed => {
                known.clear(seq);
            }
            Body::FixFailed(fix) => {
                let seen = fix.error.unwrap();
                judged.insert(fix.verification, known.judge(seen));
                known.came_up(seen, seq);
            }
            _ => {}
        }
    }
    judged
}

proptest! {
    #[test]
    fn the_view_and_the_verdicts_follow_from_what_is_left(steps in steps()) {
        let mut world = World::task();
        let mut made: Vec<Made> = Vec::new();
        for step in steps {
            match step {
                Step::Fail(error, approach) => {
                    let text = format!("KeyError: 'key{error}'");
                    let tried = approach.map(|number| format!("approach{number}x"));
                    let (id, judged) = fail(&mut world, Some(&text), tried.as_deref());
                    made.push(Made { id, error, judged: judged.unwrap(), gone: false });
                }
                Step::Pass => drop(pass(&mut world)),
                Step::Erase(picks) if !made.is_empty() => {
                    let named = picks.iter().map(|at| made[at % made.len()].id);
                    let named: Vec<VerificationId> = named.collect();
                    let answer = world.give(Human, order(&named)).unwrap();
                    let is_erased = matches!(answer, AnswerBody::Erased { .. });
                    prop_assert!(is_erased, "{answer:?}");
                    for one in &mut made {
                        one.gone |= named.contains(&one.id);
                    }
                }
                Step::Erase(_) => {}
            }
        }
        check_folds(&world);
        let left = judged_by_what_is_left(&world);
        for one in &made {
            let now = &left[&one.id];
            let told = |judged: &ErrorJudged| (judged.verdict, judged.reason, judged.count);
            prop_assert_eq!(told(now), told(&one.judged), "{} {}", one.id, one.error);
            prop_assert_eq!(now.error == one.judged.error, !one.gone);
            // Others may tell of the same error.
            let mut same = made.iter().filter(|other| other.error == one.error);
            let is_left = same.any(|other| !other.gone);
            prop_assert_eq!(holds(&world, &one.judged.error.to_string()), is_left);
        }
    }
}
