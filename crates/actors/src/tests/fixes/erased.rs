//! Erasing what verifications say: nothing of it is left in any row, and audit, rebuild and restore find the rest as it is.

use sillok_core::ErrorCode;
use sillok_core::circular::{ErrorHash, ErrorJudged, ErrorReason, ErrorSeen, Verdict};
use sillok_core::command::{AnswerBody, Command, CommandRecord, Digest};
use sillok_core::erasure::EraseVerifications;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::principal::PrincipalKind;
use sillok_store::MemoryConfig;
use sillok_store::keys::{self, Family, ScopeKey};

use super::stage::{Stage, approach, approaches, erase, failure, failures, next};
use crate::audit;
use crate::jobs::PromotionState;
use crate::rebuild::rebuild;
use crate::restore::{Error, Until};
use crate::tests::decisions::{NOTHING, holding, sound};
use crate::tests::harness::{
    TASK, TestStore, append, command_id, node, open_task, principal, scope, store, submission,
};
use crate::tests::restore::{fill, restored, whole};
use crate::tests::world::{ORG, Pairs, pairs_of, store_of, without_idle_slots};

/// Stands in every text and name of what is to go.
const WORD: &str = "xyzzy";
const ERROR: &str = "KeyError: 'xyzzy'";
const HUMAN: PrincipalKind = PrincipalKind::Human;
const ORCHESTRATOR: PrincipalKind = PrincipalKind::Orchestrator;

fn erased(events: u32, known: u32) -> AnswerBody {
    AnswerBody::Erased {
        events,
        entries: Vec::new(),
        known,
    }
}

/// A stage on which a fix failed that says the word wherever it can, and one that does not; and their verifications.
async fn failed_twice() -> (Stage, [VerificationId; 2]) {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let mut tried = approach("catch xyzzy", &["src/xyzzy.py"]);
    tried.symbols = vec!["Xyzzy::xyzzy".to_owned()];
    let first = stage.fail_for_nothing(TASK, Some(ERROR), Some(&tried));
    let first = first.await;
    let plain = approach("sort the rows", &["src/rows.py"]);
    let second = stage.fail_for_nothing(TASK, Some("KeyError: 'plain'"), Some(&plain));
    let second = second.await;
    (stage, [first, second])
}

/// The audit passes, and a rebuild finds nothing to do.
async fn check(stage: &Stage) {
    assert_eq!(sound(&stage.store).await, None);
    let index = &stage.node.ports().index;
    let rebuilt = rebuild(&stage.store, index.as_ref(), &|_| {}).await;
    let rebuilt = rebuilt.unwrap();
    assert_eq!((rebuilt.rows_written, rebuilt.rows_removed), (0, 0));
}

#[tokio::test]
async fn no_row_holds_anything_of_what_was_erased_and_the_audit_passes() {
    let (mut stage, [id, _]) = failed_twice().await;
    let before = pairs_of(&stage.store).await;
    let families = holding(&before, WORD.as_bytes());
    for family in [Family::Event, Family::Verification, Family::FailedApproach] {
        assert!(families.contains(&family), "{family:?}");
    }
    let hash = ErrorHash::of(ERROR);
    for family in [Family::Event, Family::Task, Family::Command] {
        let families = holding(&before, hash.as_bytes());
        assert!(families.contains(&family), "{family:?}");
    }
    let answer = stage.give(HUMAN, TASK, erase(&[id])).await.unwrap();
    assert_eq!(answer.result, erased(2, 0));
    let after = pairs_of(&stage.store).await;
    assert_eq!(holding(&after, WORD.as_bytes()), NOTHING);
    assert_eq!(holding(&after, b"Xyzzy"), NOTHING);
    assert_eq!(holding(&after, hash.as_bytes()), NOTHING);
    let left = approaches(&after);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].approach.text, "sort the rows");
    // Its error counts on, and is known no more.
    let known = failures(&stage.store, TASK).await;
    let unnamed = ErrorSeen {
        error: ErrorHash::ERASED,
        first: id,
    };
    assert_eq!(known.judge(unnamed).count, 2);
    assert_eq!(next(&known, hash).reason, ErrorReason::New);
    check(&stage).await;
    let proposed = approach("catch xyzzy", &["src/xyzzy.py"]);
    let reader = stage.node.reader();
    let found = reader.check_fix(&scope(TASK), &proposed).await.unwrap();
    assert_eq!(found.judged.verdict, Verdict::Allow);
    let recorded = reader.verification(&scope(TASK), id).await;
    let said = recorded.unwrap().unwrap().said;
    let nothing = Some(String::new());
    assert_eq!((said.error, said.approach), (nothing.clone(), nothing));
    stage.node.shutdown().await;
}

#[tokio::test]
async fn who_gives_an_erased_failure_again_is_told_its_verdict_without_the_error() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let given = submission(100, ORCHESTRATOR, TASK, failure(Some(ERROR), None));
    let first = stage.node.submit(given.clone()).await.unwrap();
    let AnswerBody::Failed {
        id,
        from,
        through,
        target,
        judged: Some(judged),
    } = first.result
    else {
        panic!("a failure is judged")
    };
    stage.drop_promotion(TASK, id).await;
    let order = submission(101, HUMAN, TASK, erase(&[id]));
    let done = stage.node.submit(order.clone()).await.unwrap();
    let pairs = pairs_of(&stage.store).await;
    let record = pairs.iter().find_map(|(key, value)| {
        let parsed = keys::command::parse(key).ok()?;
        let record = keys::command::decode(key, value).unwrap();
        (parsed.command == command_id(100)).then_some(record)
    });
    let Some(CommandRecord::Applied { digest, answer }) = record else {
        panic!("{record:?}")
    };
    assert_eq!(digest, Digest::ERASED);
    let left = AnswerBody::Failed {
        id,
        from,
        through,
        target,
        judged: Some(ErrorJudged {
            error: ErrorHash::ERASED,
            ..judged
        }),
    };
    assert_eq!((answer.seq, &answer.result), (first.seq, &left));
    assert_eq!(stage.node.submit(given).await.unwrap(), answer);
    assert_eq!(stage.node.submit(order).await.unwrap(), done);
    let again = stage.give(HUMAN, TASK, erase(&[id])).await.unwrap();
    assert_eq!(again.result, erased(0, 1));
    check(&stage).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn what_a_batch_recorded_is_erased_in_the_same_batch() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let actor = principal(ORCHESTRATOR, ORG).actor.to_string();
    let of = |number| VerificationId::derived(&scope(TASK), &actor, command_id(number));
    let drop = |number| Command::DropPromotion {
        verification: of(number),
        reason: "nobody is to learn of it".to_owned(),
    };
    let give = |number, kind, command| {
        let given = submission(number, kind, TASK, command);
        let node = stage.node.clone();
        async move { node.submit(given).await.unwrap().result }
    };
    let tried = approach("catch xyzzy", &["src/xyzzy.py"]);
    let fails = || failure(Some(ERROR), Some(&tried));
    // The first holds the scope up, so that the others wait together.
    let (_, _, _, _, _, done) = tokio::join!(
        give(101, PrincipalKind::Agent, append("before")),
        give(102, ORCHESTRATOR, fails()),
        give(103, ORCHESTRATOR, fails()),
        give(104, ORCHESTRATOR, drop(102)),
        give(105, ORCHESTRATOR, drop(103)),
        give(106, HUMAN, erase(&[of(102), of(103)])),
    );
    assert_eq!(done, erased(4, 0));
    let after = pairs_of(&stage.store).await;
    assert_eq!(holding(&after, WORD.as_bytes()), NOTHING);
    assert_eq!(approaches(&after), []);
    check(&stage).await;
    stage.node.shutdown().await;
}

/// What the receipt of the last order says that tells the same errors.
async fn same_error(stage: &Stage, ended: Seq) -> Vec<VerificationId> {
    let (principal, order) = (principal(HUMAN, ORG), EraseVerifications::default());
    let (reader, ended) = (stage.node.reader(), (ended, command_id(stage.given)));
    let remains = reader.remains_of_verifications(&principal, &scope(TASK), &order, ended);
    remains.await.unwrap().same_error
}

#[tokio::test]
async fn of_one_error_some_are_erased_and_a_promotion_under_way_holds_it_up() {
    let (mut stage, [first, _]) = failed_twice().await;
    let (second, judged) = stage.fail(TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().reason, ErrorReason::CameBack);
    let before = pairs_of(&stage.store).await;
    let refused = stage.give(HUMAN, TASK, erase(&[first, second])).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    assert!(refused.message.contains(&second.to_string()), "{refused}");
    let nobody = VerificationId::from_bytes([9; 16]);
    let missing = stage.give(HUMAN, TASK, erase(&[first, nobody])).await;
    assert_eq!(missing.unwrap_err().code, ErrorCode::NotFound);
    let of_agent = stage
        .give(PrincipalKind::Agent, TASK, erase(&[first]))
        .await;
    assert_eq!(of_agent.unwrap_err().code, ErrorCode::Forbidden);
    let after = pairs_of(&stage.store).await;
    let rows = |pairs: &Pairs| holding(pairs, WORD.as_bytes());
    assert_eq!(rows(&after), rows(&before));
    // The first goes by an order of its own. The second tells the error, which counts on.
    let one = stage.give(HUMAN, TASK, erase(&[first])).await.unwrap();
    assert_eq!(one.result, erased(2, 0));
    assert_eq!(same_error(&stage, one.seq).await, [second]);
    check(&stage).await;
    let again = stage.give(HUMAN, TASK, erase(&[first])).await.unwrap();
    assert_eq!(same_error(&stage, again.seq).await, [], "it erased nothing");
    let (third, judged) = stage.fail(TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().reason, ErrorReason::TooOften);
    for id in [second, third] {
        stage.drop_promotion(TASK, id).await;
    }
    let others = stage.give(HUMAN, TASK, erase(&[third, second])).await;
    let others = others.unwrap();
    assert_eq!(others.result, erased(4, 0));
    assert_eq!(same_error(&stage, others.seq).await, []);
    let after = pairs_of(&stage.store).await;
    assert_eq!(rows(&after), NOTHING);
    assert_eq!(holding(&after, ErrorHash::of(ERROR).as_bytes()), NOTHING);
    check(&stage).await;
    let (_, judged) = stage.fail(TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().reason, ErrorReason::New);
    check(&stage).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_backup_is_restored_whole_and_not_to_a_moment_that_was_erased_since() {
    let (mut stage, [id, _]) = failed_twice().await;
    let reader = stage.node.reader();
    let recorded = reader.verification(&scope(TASK), id).await;
    let through = recorded.unwrap().unwrap().through;
    stage.give(HUMAN, TASK, erase(&[id])).await.unwrap();
    stage.node.shutdown().await;
    let pairs = without_idle_slots(&pairs_of(&stage.store).await);
    let store = TestStore::sound(MemoryConfig {
        counter: 10_000,
        ..MemoryConfig::default()
    });
    fill(&store, &pairs).await;
    let backup = whole(&store).await;
    let (anew, report) = restored(&backup, &Until::End).await.unwrap();
    assert!(report.audit.is_ok());
    let anew = pairs_of(&anew).await;
    assert_eq!(holding(&anew, WORD.as_bytes()), NOTHING);
    assert_eq!(approaches(&anew), approaches(&pairs));
    let then = Until::Event(scope(TASK), through.next());
    let error = restored(&backup, &then).await.unwrap_err();
    assert!(matches!(error, Error::ErasedSince { .. }), "{error}");
}

#[tokio::test]
async fn what_is_put_back_of_it_or_left_of_it_is_found() {
    let (mut stage, [id, _]) = failed_twice().await;
    let before = without_idle_slots(&pairs_of(&stage.store).await);
    stage.give(HUMAN, TASK, erase(&[id])).await.unwrap();
    stage.node.shutdown().await;
    let after = without_idle_slots(&pairs_of(&stage.store).await);
    let here = ScopeKey::of(&scope(TASK));
    let mut found = Vec::new();
    for (key, value) in &before {
        let family = Family::of(key).unwrap();
        let is_ours = match family {
            Family::Verification | Family::Task | Family::Command => true,
            Family::FailedApproach => !after.contains_key(key),
            Family::Event => keys::event::parse(key).unwrap().scope == here,
            _ => false,
        };
        if !is_ours || after.get(key) == Some(value) {
            continue;
        }
        let mut pairs = after.clone();
        pairs.insert(key.clone(), value.clone());
        let store = store_of(&pairs).await;
        let report = audit::verify(&store, &|_| {}).await.unwrap();
        // A record of a command may say what it wrote: it is told nobody.
        let is_told = family != Family::Command;
        let what = format!("{family} {}", hex::encode(key));
        assert!(!is_told || report.first.is_some(), "{what}");
        found.extend(report.first.map(|first| first.family));
    }
    for family in [
        Family::Verification,
        Family::FailedApproach,
        Family::Task,
        Family::Event,
    ] {
        let count = found.iter().filter(|name| **name == family.as_str());
        let expected = if family == Family::Event { 2 } else { 1 };
        assert_eq!(count.count(), expected, "{family}");
    }
}

#[tokio::test]
async fn the_receipt_names_what_its_promotion_published_as_far_as_it_is_seen() {
    let store = store();
    let node = node(&store).await;
    let give = |number, kind, command| node.submit(submission(number, kind, TASK, command));
    give(0, PrincipalKind::Agent, open_task()).await.unwrap();
    let line = append("root cause: an early stop");
    give(1, PrincipalKind::Agent, line).await.unwrap();
    let answer = give(2, ORCHESTRATOR, failure(Some(ERROR), None)).await;
    let AnswerBody::Failed { id, .. } = answer.unwrap().result else {
        panic!("a failure is answered as one")
    };
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("it is promoted: {state:?}")
    };
    let done = give(3, HUMAN, erase(&[id])).await.unwrap();
    let ended = (done.seq, command_id(3));
    let order = EraseVerifications {
        verifications: vec![id],
        reason: "nobody is to read it".to_owned(),
    };
    for (prefix, is_seen) in [(ORG, true), ("org/acme/project/web", false)] {
        let principal = principal(HUMAN, prefix);
        let reader = node.reader();
        let remains = reader.remains_of_verifications(&principal, &scope(TASK), &order, ended);
        let remains = remains.await.unwrap();
        let names = remains.resting.contains(&finished.report.episode);
        assert_eq!(names, is_seen, "{prefix}");
        assert_eq!(remains.resting.is_empty(), !is_seen);
        assert!(remains.offers.is_empty() && remains.decisions.is_empty());
        assert_eq!(remains.same_error, []);
    }
    assert_eq!(sound(&store).await, None);
    node.shutdown().await;
}
