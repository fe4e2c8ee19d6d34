//! Erasing what kinds of relations mean: no row says it any more, a kind is used as before, and an audit, a rebuild and a
//! restore find all of it as it is.

use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::{
    DeclaredKind, DeclaredRelation, Rank, Reach, RelationKind, RelationName,
};
use sillok_core::principal::PrincipalKind;
use sillok_store::MemoryConfig;
use sillok_store::keys::Family;

use super::declared::kind;
use super::erased::{NOTHING, check, erase_with, erased, holding};
use super::kept::{keep, original};
use super::stage::{Stage, affected, at, relates, save, says};
use crate::restore::{Error, Until};
use crate::tests::harness::{PROJECT, TASK, TestStore, scope, store, submission};
use crate::tests::restore::{fill, restored, whole};
use crate::tests::world::{ORG, pairs_of, without_idle_slots};

const HUMAN: PrincipalKind = PrincipalKind::Human;
/// Stands in every meaning that is to go.
const WORD: &str = "xyzzy";

fn says_word(kind: DeclaredKind) -> Command {
    Command::DeclareRelation {
        name: kind.name,
        reach: kind.reach,
        meaning: format!("what {WORD} brings about"),
    }
}

fn kinds(names: &[RelationName]) -> Command {
    erase_with((&[], &[], &[]), names)
}

/// What counts in a scope, as it was declared.
async fn counting(stage: &Stage, path: &str) -> Vec<DeclaredRelation> {
    let reader = stage.node.reader();
    let page = reader.declared_relations(&scope(path), None, 100).await;
    let items = page.unwrap().items.into_iter();
    items.map(|one| one.declared).collect()
}

#[tokio::test]
async fn what_a_kind_means_is_in_no_row_any_more_and_all_that_is_of_it_stays() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let (used, kept) = (kind("EXPLAINS", Reach::Backward), kind("KEPT", Reach::Both));
    stage.give(HUMAN, ORG, says_word(used)).await.unwrap();
    let other = Command::DeclareRelation {
        name: kept.name,
        reach: kept.reach,
        meaning: "what is left alone".to_owned(),
    };
    stage.give(HUMAN, ORG, other).await.unwrap();
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let joins = |title: &str| {
        let text = says(Rank::Normal, title);
        relates(RelationKind::Declared(used), at(ORG, target), text)
    };
    stage.begin(PROJECT, joins("before")).await;
    let before = pairs_of(&memory).await;
    let families = holding(&before, WORD.as_bytes());
    assert_eq!(families, [Family::DeclaredRelation, Family::Event]);
    let declared = counting(&stage, TASK).await;

    let answer = stage.give(HUMAN, ORG, kinds(&[used.name, used.name])).await;
    assert_eq!(answer.unwrap(), erased(1, 0));
    let after = pairs_of(&memory).await;
    assert_eq!(holding(&after, WORD.as_bytes()), NOTHING);
    let mut expected = declared;
    expected[0].meaning.clear();
    assert_eq!(counting(&stage, TASK).await, expected);
    assert!(expected[0].is_erased() && !expected[1].is_erased());
    // It is used as before, and its name is taken as before.
    stage.begin(PROJECT, joins("after")).await;
    let mut reached = affected(&stage.impact(TASK, at(ORG, target)).await);
    reached.sort_unstable();
    assert_eq!(reached, ["after", "before"]);
    for path in [ORG, PROJECT] {
        let again = stage.give(HUMAN, path, says_word(used)).await;
        assert_eq!(again.unwrap_err().code, ErrorCode::Conflict, "{path}");
    }
    let again = stage.give(HUMAN, ORG, kinds(&[used.name])).await;
    assert_eq!(again.unwrap(), erased(0, 1));
    check(&stage, &memory).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn only_its_own_scope_has_a_kind_erased_and_only_a_person_there() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let (own, above) = (kind("OWN", Reach::Both), kind("ABOVE", Reach::Both));
    stage.give(HUMAN, PROJECT, says_word(own)).await.unwrap();
    stage.give(HUMAN, ORG, says_word(above)).await.unwrap();
    for names in [
        [own.name, above.name],
        [own.name, kind("NONE", Reach::Both).name],
    ] {
        let refused = stage.give(HUMAN, PROJECT, kinds(&names)).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound, "{names:?}");
    }
    for who in PrincipalKind::ALL {
        if who != HUMAN {
            let denied = stage.give(who, PROJECT, kinds(&[own.name])).await;
            assert_eq!(denied.unwrap_err().code, ErrorCode::Forbidden, "{who}");
        }
    }
    let declared = counting(&stage, TASK).await;
    assert!(
        declared.iter().all(|one| one.meaning.contains(WORD)),
        "{declared:?}"
    );
    check(&stage, &memory).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_declaration_that_is_given_again_is_answered_as_before_and_brings_nothing_back() {
    let memory = store();
    let stage = Stage::over(&memory).await;
    let kind = kind("EXPLAINS", Reach::Backward);
    let given = submission(1, HUMAN, PROJECT, says_word(kind));
    let first = stage.node.submit(given.clone()).await.unwrap();
    assert_eq!(first.result, AnswerBody::Done);
    let order = submission(2, HUMAN, PROJECT, kinds(&[kind.name]));
    let done = stage.node.submit(order.clone()).await.unwrap();
    assert_eq!(done.result, erased(1, 0));
    assert_eq!(stage.node.submit(given).await.unwrap(), first);
    assert_eq!(stage.node.submit(order).await.unwrap(), done);
    assert_eq!(holding(&pairs_of(&memory).await, WORD.as_bytes()), NOTHING);
    check(&stage, &memory).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn what_a_batch_declared_is_erased_in_the_same_batch() {
    let memory = store();
    let stage = Stage::over(&memory).await;
    let kind = kind("EXPLAINS", Reach::Backward);
    let give = |number, command| {
        let given = submission(number, HUMAN, PROJECT, command);
        let node = stage.node.clone();
        async move { node.submit(given).await }
    };
    // The first holds the scope up, so that the others wait together.
    let (first, declared, done) = tokio::join!(
        give(1, keep(original("before", "it was slow"))),
        give(2, says_word(kind)),
        give(3, kinds(&[kind.name])),
    );
    first.unwrap();
    assert_eq!(declared.unwrap().result, AnswerBody::Done);
    assert_eq!(done.unwrap().result, erased(1, 0));
    assert_eq!(holding(&pairs_of(&memory).await, WORD.as_bytes()), NOTHING);
    check(&stage, &memory).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn who_uses_a_kind_while_what_it_means_is_erased_is_not_refused() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let kind = kind("EXPLAINS", Reach::Backward);
    stage.give(HUMAN, ORG, says_word(kind)).await.unwrap();
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let text = says(Rank::Normal, "meanwhile");
    let text = relates(RelationKind::Declared(kind), at(ORG, target), text);
    let give = |number, path, command| {
        let given = submission(number, HUMAN, path, command);
        let node = stage.node.clone();
        async move { node.submit(given).await }
    };
    let (saved, done) = tokio::join!(
        give(101, PROJECT, save(None, text)),
        give(102, ORG, kinds(&[kind.name])),
    );
    saved.unwrap();
    assert_eq!(done.unwrap().result, erased(1, 0));
    let reached = stage.impact(PROJECT, at(ORG, target)).await;
    assert_eq!(affected(&reached), ["meanwhile"]);
    check(&stage, &memory).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_backup_holds_nothing_of_it_and_is_not_restored_to_a_moment_before() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let kind = kind("EXPLAINS", Reach::Backward);
    stage.give(HUMAN, PROJECT, says_word(kind)).await.unwrap();
    let declared = counting(&stage, PROJECT).await;
    let answer = stage.give(HUMAN, PROJECT, kinds(&[kind.name])).await;
    assert_eq!(answer.unwrap(), erased(1, 0));
    stage.node.shutdown().await;
    let pairs = without_idle_slots(&pairs_of(&memory).await);
    let memory = TestStore::sound(MemoryConfig {
        counter: 10_000,
        ..MemoryConfig::default()
    });
    fill(&memory, &pairs).await;
    let backup = whole(&memory).await;
    let (anew, report) = restored(&backup, &Until::End).await.unwrap();
    assert!(report.audit.is_ok());
    let restored_pairs = pairs_of(&anew).await;
    assert_eq!(holding(&restored_pairs, WORD.as_bytes()), NOTHING);
    let is_kind = |key: &&Vec<u8>| Family::of(key) == Some(Family::DeclaredRelation);
    let rows = |pairs: &crate::tests::world::Pairs| {
        let rows = pairs.iter().filter(|(key, _)| is_kind(key));
        rows.map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&restored_pairs).len(), 1);
    assert_eq!(rows(&restored_pairs), rows(&pairs));
    let then = Until::Event(scope(PROJECT), declared[0].seq);
    let error = restored(&backup, &then).await.unwrap_err();
    assert!(matches!(error, Error::ErasedSince { .. }), "{error}");
}
