//! What failed in tasks and is not what the events lead to, and answers that judge an error otherwise.

use std::sync::LazyLock;

use sillok_core::chain::{Origin, Tip, seal};
use sillok_core::circular::{ErrorHash, ErrorReason, ErrorSeen, Verdict};
use sillok_core::command::{Answer, AnswerBody, CommandRecord};
use sillok_core::event::{Body, FixFailed};
use sillok_core::id::{Seq, VerificationId};
use sillok_core::invariants::Invariant;
use sillok_store::keys::related::ScopePath;
use sillok_store::keys::{self, Family, ScopeKey, failed_approach};

use super::{RUNTIME, WORLD, audit_of, changed, difference_of, keys_of, rebuilt};
use crate::audit::Difference;
use crate::tests::fixes::Stage;
use crate::tests::harness::{TASK, scope};
use crate::tests::world::{OTHER_TASK, Pairs, pairs_of, without_idle_slots};

/// A store in which two tasks went in circles: one of them between two errors.
static CIRCLES: LazyLock<Pairs> = LazyLock::new(|| {
    RUNTIME.block_on(async {
        let mut stage = Stage::set().await;
        for path in [TASK, OTHER_TASK] {
            stage.open(path).await;
        }
        let tried = |text: &str| sillok_core::circular::Approach {
            text: text.to_owned(),
            files: vec!["src/a.py".to_owned()],
            symbols: Vec::new(),
        };
        for (error, approach) in [
            (Some("KeyError: 'a'"), Some("one")),
            (Some("KeyError: 'b'"), None),
            (Some("KeyError: 'a'"), Some("two")),
            (None, Some("three")),
            (Some("KeyError: 'b'"), None),
            (None, None),
        ] {
            let approach = approach.map(tried);
            stage.fail(TASK, error, approach.as_ref()).await;
        }
        let approach = tried("four");
        stage
            .fail(OTHER_TASK, Some("KeyError: 'a'"), Some(&approach))
            .await;
        stage.node.shutdown().await;
        without_idle_slots(&pairs_of(&stage.store).await)
    })
});

fn of(pairs: &Pairs, family: Family) -> Vec<Vec<u8>> {
    let keys = pairs.keys().filter(|key| Family::of(key) == Some(family));
    keys.cloned().collect()
}

/// The store with another value at a key, or with none.
fn with(key: &[u8], value: Option<Vec<u8>>) -> Pairs {
    let mut pairs = CIRCLES.clone();
    match value {
        Some(value) => drop(pairs.insert(key.to_vec(), value)),
        None => drop(pairs.remove(key)),
    }
    pairs
}

fn assert_names(found: &Difference, family: Family, key: &[u8]) {
    assert_eq!(found.family, family.as_str(), "{found}");
    assert_eq!(found.key, Some(hex::encode(key)), "{found}");
}

/// A row of an approach that failed to which no event leads: one of the world, as if another event had told of it.
pub(super) fn additions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let key = keys_of(Family::FailedApproach).remove(0);
    let mut failed = failed_approach::decode(&key, &WORLD[&key]).unwrap();
    failed.seq = Seq::new(1);
    let own = failed_approach::key(&failed_approach::Key::of(&failed));
    let mut place = failed_approach::parse(&key).unwrap();
    place.task = ScopePath::of(&scope("org/nowhere"));
    vec![
        (own, failed_approach::encode(&failed)),
        (failed_approach::key(&place), WORLD[&key].clone()),
    ]
}

#[test]
fn what_went_in_circles_holds() {
    let report = audit_of(&CIRCLES);
    assert_eq!(report.first, None);
    assert_eq!(of(&CIRCLES, Family::FailedApproach).len(), 4);
    let (after, report) = rebuilt(&CIRCLES).unwrap();
    assert!(after == *CIRCLES);
    assert_eq!((report.rows_written, report.rows_removed), (0, 0));
}

#[test]
fn a_row_of_what_failed_that_is_changed_missing_or_one_too_many_is_named() {
    for key in of(&CIRCLES, Family::FailedApproach) {
        let failed = failed_approach::decode(&key, &CIRCLES[&key]).unwrap();
        let mut text = failed.clone();
        text.approach.text.push('!');
        let mut file = failed.clone();
        file.approach.files.clear();
        let mut reason = failed.clone();
        reason.reason.push('!');
        let mut verification = failed.clone();
        verification.verification = VerificationId::from_bytes([7; 16]);
        for wrong in [text, file, reason, verification] {
            let value = failed_approach::encode(&wrong);
            let found = difference_of(&with(&key, Some(value)));
            assert_names(&found, Family::FailedApproach, &key);
            assert_eq!(found.seq, Some(failed.seq));
            assert_eq!(found.scope.as_ref(), Some(&failed.task));
        }
        let found = difference_of(&with(&key, None));
        assert_names(&found, Family::FailedApproach, &key);
        assert_eq!(found.seq, Some(failed.seq));
        let mut further = failed;
        further.seq = Seq::new(1_000);
        let key = failed_approach::key(&failed_approach::Key::of(&further));
        let value = failed_approach::encode(&further);
        let found = difference_of(&with(&key, Some(value)));
        assert_names(&found, Family::FailedApproach, &key);
        assert_eq!(found.invariant, Invariant::ViewIsFold);
    }
    for (key, value) in additions() {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        assert_names(&found, Family::FailedApproach, &key);
    }
}

#[test]
fn a_rebuild_brings_back_what_failed_and_removes_what_did_not() {
    let rows = of(&CIRCLES, Family::FailedApproach);
    let mut bare = CIRCLES.clone();
    bare.retain(|key, _| !rows.contains(key));
    let (after, report) = rebuilt(&bare).unwrap();
    assert!(after == *CIRCLES);
    assert_eq!((report.rows_written, report.rows_removed), (4, 0));
    let wrong = [CIRCLES[&rows[1]].clone(), b"garbage".to_vec()];
    for value in wrong {
        let (after, report) = rebuilt(&with(&rows[0], Some(value))).unwrap();
        assert!(after == *CIRCLES);
        assert_eq!((report.rows_written, report.rows_removed), (1, 0));
    }
    let mut further = failed_approach::decode(&rows[0], &CIRCLES[&rows[0]]).unwrap();
    further.seq = Seq::new(1_000);
    let key = failed_approach::key(&failed_approach::Key::of(&further));
    let value = failed_approach::encode(&further);
    let (after, report) = rebuilt(&with(&key, Some(value))).unwrap();
    assert!(after == *CIRCLES);
    assert_eq!((report.rows_written, report.rows_removed), (0, 1));
}

#[test]
fn a_task_that_remembers_other_failures_than_its_events_tell_is_named() {
    for key in of(&CIRCLES, Family::Task) {
        let task = keys::task::decode(&key, &CIRCLES[&key]).unwrap();
        let mut more = task.clone();
        let nobody = VerificationId::from_bytes([7; 16]);
        let seen = task.failures.seen(ErrorHash::of("KeyError: 'a'"), nobody);
        more.failures.came_up(seen, Seq::new(2));
        let mut tried = task.clone();
        tried.failures.approach_failed();
        let mut forgotten = task.clone();
        forgotten.failures = sillok_core::circular::Failures::default();
        let mut cleared = task.clone();
        cleared.failures.cleared_through = Seq::new(3);
        let mut unnamed = task;
        let last = told_at(&unnamed.failures);
        unnamed.failures.fingerprint_erased(last);
        for wrong in [more, tried, forgotten, cleared, unnamed] {
            let value = keys::task::encode(&wrong);
            let found = difference_of(&with(&key, Some(value)));
            assert_names(&found, Family::Task, &key);
        }
    }
}

/// The event by which some error came up last.
fn told_at(failures: &sillok_core::circular::Failures) -> Seq {
    let all = (1..1_000).map(Seq::new);
    let mut told = all.filter(|seq| {
        let mut other = failures.clone();
        other.fingerprint_erased(*seq);
        other != *failures
    });
    told.next().expect("an error came up")
}

/// What else an answer to a failure may not say.
fn others(result: &AnswerBody) -> Vec<AnswerBody> {
    let AnswerBody::Failed {
        id,
        from,
        through,
        target,
        judged,
    } = result
    else {
        return Vec::new();
    };
    let told = |id, judged| AnswerBody::Failed {
        id,
        from: *from,
        through: *through,
        target: target.clone(),
        judged,
    };
    let nobody = VerificationId::from_bytes([7; 16]);
    let mut others = vec![told(nobody, *judged)];
    let Some(judged) = *judged else {
        let of_another = CIRCLES.iter().find_map(|(key, value)| {
            let record = keys::command::decode(key, value).ok()?;
            match record {
                CommandRecord::Applied { answer, .. } => match answer.result {
                    AnswerBody::Failed { judged, .. } => judged,
                    _ => None,
                },
                CommandRecord::Aborted { .. } => None,
            }
        });
        others.push(told(*id, Some(of_another.expect("others are judged"))));
        return others;
    };
    let mut verdict = judged;
    verdict.verdict = match judged.verdict {
        Verdict::Allow => Verdict::Block,
        _ => Verdict::Allow,
    };
    let mut reason = judged;
    reason.reason = match judged.reason {
        ErrorReason::New => ErrorReason::Repeated,
        _ => ErrorReason::New,
    };
    let mut count = judged;
    count.count += 1;
    let mut error = judged;
    error.error = ErrorHash::ERASED;
    let wrong = [verdict, reason, count, error];
    others.extend(wrong.map(|judged| told(*id, Some(judged))));
    others.push(told(*id, None));
    others
}

#[test]
fn an_answer_that_judges_an_error_otherwise_than_the_events_do_is_named() {
    let mut answers = 0;
    for key in of(&CIRCLES, Family::Command) {
        let record = keys::command::decode(&key, &CIRCLES[&key]).unwrap();
        let CommandRecord::Applied { digest, answer } = record else {
            continue;
        };
        for result in others(&answer.result) {
            let wrong = CommandRecord::Applied {
                digest,
                answer: Answer {
                    result: result.clone(),
                    ..answer.clone()
                },
            };
            let value = keys::command::encode(&wrong);
            let found = difference_of(&with(&key, Some(value)));
            assert_names(&found, Family::Command, &key);
            assert_eq!(found.invariant, Invariant::AppliedOnce, "{result:?}");
            answers += 1;
        }
    }
    // Five are judged, each of which may be told otherwise in six ways, and two are not.
    assert_eq!(answers, 5 * 6 + 2 * 2);
}

/// What else the event may not say, and which invariant that breaks.
fn wrongs(told: &FixFailed) -> [(FixFailed, Invariant); 6] {
    let nobody = VerificationId::from_bytes([7; 16]);
    let of_nobody = told.error.map(|seen| ErrorSeen {
        first: nobody,
        ..seen
    });
    let [mut other, mut approach, mut error] = [(); 3].map(|()| told.clone());
    let [mut reason, mut wording, mut counted] = [(); 3].map(|()| told.clone());
    (other.verification, other.error) = (nobody, of_nobody);
    approach.approach = None;
    error.error = None;
    reason.reason = "KeyError: 'b'".to_owned();
    wording.wording.said.clear();
    counted.error = of_nobody;
    [
        (other, Invariant::Backed),
        (approach, Invariant::Backed),
        (error, Invariant::Backed),
        (reason, Invariant::Backed),
        (wording, Invariant::Backed),
        (counted, Invariant::Chained),
    ]
}

#[test]
fn a_fix_that_failed_otherwise_than_its_verification_says_is_named() {
    let here = ScopeKey::of(&scope(OTHER_TASK));
    // The last event of the task, sealed again behind the one before it.
    let keys_here = of(&CIRCLES, Family::Event);
    let keys_here = keys_here
        .iter()
        .filter(|key| keys::event::parse(key).unwrap().scope == here);
    let keys_here: Vec<&Vec<u8>> = keys_here.collect();
    let key = keys_here[2];
    let event = keys::event::decode(key, &CIRCLES[key]).unwrap();
    let header = event.decode_header().unwrap();
    let Some(Body::FixFailed(told)) = event.decode_body().unwrap() else {
        panic!("it is told what failed")
    };
    let mut tip = Tip::genesis(&scope(OTHER_TASK));
    for key in &keys_here[..2] {
        let event = keys::event::decode(key, &CIRCLES[*key]).unwrap();
        sillok_core::chain::verify(&mut tip, &event).unwrap();
    }
    for (wrong, invariant) in wrongs(&told) {
        let origin = Origin {
            actor: header.actor.clone(),
            command: header.command,
            epoch: header.epoch,
        };
        let mut end = tip;
        let body = Body::FixFailed(Box::new(wrong));
        let forged = seal(&mut end, &body, &origin, header.time, [1; 16]);
        let mut pairs = with(key, Some(keys::event::encode(&forged)));
        let row_key = keys::scope::key(&here);
        let mut row = keys::scope::decode(&row_key, &pairs[&row_key]).unwrap();
        row.tip = end;
        pairs.insert(row_key, keys::scope::encode(&row));
        let found = difference_of(&pairs);
        assert_eq!(found.invariant, invariant, "{found}");
        assert_eq!(found.scope, Some(scope(OTHER_TASK)));
    }
}
