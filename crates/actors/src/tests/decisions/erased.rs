//! Erasing decisions, evidence, anchors and what kinds of relations mean: nothing of what they said is left in any row, what led to them leads to what is
//! gone, and an audit, a rebuild and a restore find all of it as it is.

use sillok_core::ErrorCode;
use sillok_core::anchor::{Lead, Standing};
use sillok_core::command::{AnswerBody, Command, CommandRecord, Digest};
use sillok_core::decision::{NewDecision, Rank, RelationKind, RelationName};
use sillok_core::erasure::EraseMemory;
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};
use sillok_core::impact::ImpactLimits;
use sillok_core::limits::{DECISION_VERSIONS_MAX, PRINCIPAL_ID_CHARS_MAX};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_store::MemoryConfig;
use sillok_store::keys::{self, Family};

use super::kept::{keep, kept, let_go, original, point, points_to, rows_kept};
use super::stage::{
    Stage, at, claims, file, of_domain, relates, restore, save, says, sound, viewer, withdraw,
};
use crate::reads::FollowedItem;
use crate::rebuild::rebuild;
use crate::restore::{Error, Until};
use crate::tests::harness::{
    PROJECT, TASK, TestStore, command_id, principal, scope, store, submission,
};
use crate::tests::restore::{fill, restored, whole};
use crate::tests::world::{ORG, Pairs, pairs_of, without_idle_slots};

/// Stands in every text and name of what is to go.
const WORD: &str = "xyzzy";
/// Why a decision was withdrawn and an anchor dropped.
const REASONS: [&str; 2] = ["it does not hold any more", "it leads nowhere new"];
/// Where a word stands that is gone.
pub(in crate::tests) const NOTHING: [Family; 0] = [];
const HUMAN: PrincipalKind = PrincipalKind::Human;

/// The order to erase these things.
pub(super) fn erase(
    decisions: &[DecisionId],
    evidence: &[EvidenceId],
    anchors: &[AnchorId],
) -> Command {
    erase_with((decisions, evidence, anchors), &[])
}

/// The order to erase these things, and what these kinds of relations mean.
pub(super) fn erase_with(
    (decisions, evidence, anchors): (&[DecisionId], &[EvidenceId], &[AnchorId]),
    kinds: &[RelationName],
) -> Command {
    Command::EraseMemory(Box::new(EraseMemory {
        decisions: decisions.to_vec(),
        evidence: evidence.to_vec(),
        anchors: anchors.to_vec(),
        kinds: kinds.to_vec(),
        reason: "nobody is to read it".to_owned(),
    }))
}

/// The families of the rows in whose key or value bytes stand.
pub(in crate::tests) fn holding(pairs: &Pairs, bytes: &[u8]) -> Vec<Family> {
    let holds = |part: &Vec<u8>| part.windows(bytes.len()).any(|at| at == bytes);
    let found = pairs
        .iter()
        .filter(|(key, value)| holds(key) || holds(value));
    let mut found: Vec<Family> = found.map(|(key, _)| Family::of(key).unwrap()).collect();
    found.dedup();
    found
}

fn long() -> String {
    format!("{WORD}, and again\n").repeat(10_000)
}

/// What is to go, and what leads to it from a task.
struct Told {
    /// A decision of the project that was changed and withdrawn.
    root: DecisionId,
    small: EvidenceId,
    large: EvidenceId,
    /// An anchor of the project that was dropped.
    anchor: AnchorId,
    /// A decision of the task that rests on the small evidence.
    rests: DecisionId,
    /// An anchor of the task that leads to all of them.
    leads: AnchorId,
}

impl Told {
    async fn of(stage: &mut Stage) -> Self {
        let text = of_domain(WORD, says(Rank::Lock, WORD));
        let text = relates(
            RelationKind::AppliesTo,
            file("src/xyzzy.rs"),
            claims(WORD, WORD, text),
        );
        let root = stage.begin(PROJECT, text.clone()).await;
        let again = NewDecision {
            title: format!("{WORD} again"),
            ..text
        };
        stage.change(PROJECT, (root, 1), again).await;
        let small = stage.keep(PROJECT, WORD, "xyzzy took 12 ms").await;
        let large = stage.keep(PROJECT, "xyzzy at length", &long()).await;
        let text = says(Rank::Normal, "it is fast");
        let text = relates(RelationKind::RestsOn, kept(PROJECT, small), text);
        let rests = stage.begin(TASK, text).await;
        let to = vec![
            kept(PROJECT, small),
            at(PROJECT, root),
            kept(PROJECT, large),
        ];
        let leads = stage.point_to(TASK, "where to look", to.clone()).await;
        let anchor = stage.point_to(PROJECT, "xyzzy lies here", to).await;
        stage.person(PROJECT, withdraw(root, 2)).await.unwrap();
        stage.let_go(PROJECT, anchor).await.unwrap();
        Self {
            root,
            small,
            large,
            anchor,
            rests,
            leads,
        }
    }

    fn order(&self) -> Command {
        erase(&[self.root], &[self.small, self.large], &[self.anchor])
    }

    /// Has a person erase it.
    async fn erase(&self, stage: &mut Stage) {
        let answer = stage.give(HUMAN, PROJECT, self.order()).await.unwrap();
        // Three versions, two originals, and an anchor with why it was dropped.
        assert_eq!(answer, erased(7, 0));
    }
}

pub(super) fn erased(events: u32, known: u32) -> AnswerBody {
    AnswerBody::Erased {
        events,
        entries: Vec::new(),
        known,
    }
}

/// The audit passes, and a rebuild finds nothing to do.
pub(super) async fn check(stage: &Stage, store: &TestStore) {
    assert_eq!(sound(store).await, None);
    let index = &stage.node.ports().index;
    let rebuilt = rebuild(store, index.as_ref(), &|_| {}).await.unwrap();
    assert_eq!((rebuilt.rows_written, rebuilt.rows_removed), (0, 0));
}

#[tokio::test]
async fn no_row_holds_anything_of_what_was_erased_and_the_audit_passes() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let told = Told::of(&mut stage).await;
    let before = pairs_of(&store).await;
    let families = holding(&before, WORD.as_bytes());
    for family in [
        Family::Event,
        Family::Chunk,
        Family::Decision,
        Family::DecisionVersion,
        Family::Evidence,
        Family::Anchor,
    ] {
        assert!(families.contains(&family), "{family:?}");
    }
    let mut hashes = Vec::new();
    for (key, value) in &before {
        if Family::of(key) == Some(Family::Evidence) {
            hashes.push(keys::evidence::decode(key, value).unwrap().hash);
        }
    }
    assert_eq!(hashes.len(), 2);
    told.erase(&mut stage).await;
    let after = pairs_of(&store).await;
    for word in [WORD].iter().chain(&REASONS) {
        assert!(!holding(&before, word.as_bytes()).is_empty(), "{word}");
        assert_eq!(holding(&after, word.as_bytes()), NOTHING, "{word}");
    }
    for hash in hashes {
        assert!(!holding(&before, &hash).is_empty());
        assert_eq!(holding(&after, &hash), NOTHING, "a hash of a text is left");
    }
    let is_chunk = |key: &&Vec<u8>| Family::of(key) == Some(Family::Chunk);
    assert!(before.keys().any(|key| is_chunk(&key)));
    assert_eq!(after.keys().filter(is_chunk).count(), 0);
    check(&stage, &store).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn what_led_to_it_leads_to_what_is_gone_and_nothing_new_does() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let told = Told::of(&mut stage).await;
    let (here, task) = (scope(PROJECT), scope(TASK));
    let node = stage.node.clone();
    let reader = node.reader();
    let viewer = viewer(TASK);
    let found = reader.anchor(&task, told.leads).await.unwrap().unwrap();
    assert!(found.leads.iter().all(|one| one.standing != Standing::Gone));
    told.erase(&mut stage).await;
    let found = reader.anchor(&task, told.leads).await.unwrap().unwrap();
    let gone =
        |lead: &Lead| (lead.standing, lead.title.as_str(), lead.rank) == (Standing::Gone, "", None);
    assert!(
        found.leads.len() == 3 && found.leads.iter().all(gone),
        "{:?}",
        found.leads
    );
    let followed = reader.follow(&viewer, &task, told.leads).await;
    let items = followed.unwrap().expect("it is there").items;
    let is_gone = |item: &FollowedItem| matches!(item, FollowedItem::Gone { .. });
    assert!(items.len() == 3 && items.iter().all(is_gone), "{items:?}");
    for evidence in [told.small, told.large] {
        let text = reader.evidence_text(&here, evidence, None).await.unwrap();
        assert_eq!(text, None);
        let head = reader.evidence(&here, evidence).await.unwrap().unwrap();
        assert!(head.is_erased());
        assert_eq!((head.bytes, head.hash, head.masked), (0, [0; 32], 0));
        let (start, limits) = (vec![kept(PROJECT, evidence)], ImpactLimits::default());
        let impact = node.impact_of_standing(&viewer, start, limits, None).await;
        assert_eq!(impact.unwrap_err().code, ErrorCode::NotFound);
    }
    let decision = reader.decision(&here, told.root).await.unwrap().unwrap();
    assert!(decision.head.is_erased() && !decision.head.active);
    let anchor = reader.anchor(&here, told.anchor).await.unwrap().unwrap();
    assert!(anchor.anchor.is_erased() && anchor.leads.is_empty());

    for path in [PROJECT, TASK] {
        let text = says(Rank::Normal, "it is slow");
        let rests = relates(RelationKind::RestsOn, kept(PROJECT, told.small), text);
        let refused = stage.person(path, save(None, rests)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound, "{path}");
        let to = vec![at(PROJECT, told.root)];
        let points = stage.point(path, vec![points_to("again", to)]).await;
        assert_eq!(points.unwrap_err().code, ErrorCode::NotFound, "{path}");
    }
    let text = says(Rank::Lock, "another");
    for command in [restore(told.root, 3, 1), save(Some((told.root, 3)), text)] {
        let refused = stage.person(PROJECT, command).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
    }
    check(&stage, &store).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn the_decisions_are_named_that_rest_on_evidence_which_is_gone_as_far_as_they_are_seen() {
    let mut stage = Stage::set().await;
    let told = Told::of(&mut stage).await;
    told.erase(&mut stage).await;
    let Command::EraseMemory(order) = told.order() else {
        panic!("it is an order to erase");
    };
    let reader = stage.node.reader();
    for (prefix, expected) in [
        (ORG, vec![at(TASK, told.rests)]),
        ("org/acme/project/web", vec![]),
    ] {
        let principal = principal(HUMAN, prefix);
        let here = scope(PROJECT);
        let remains = reader.remains_of_memory(&principal, &here, &order).await;
        let remains = remains.unwrap();
        assert_eq!(remains.decisions, expected, "{prefix}");
        assert!(remains.resting.is_empty() && remains.offers.is_empty());
    }
}

#[tokio::test]
async fn what_holds_or_is_listed_or_is_not_there_is_not_erased_nor_anything_beside_it() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let told = Told::of(&mut stage).await;
    let holds = stage.begin(PROJECT, says(Rank::Normal, "it holds")).await;
    let to = vec![kept(PROJECT, told.small)];
    let listed = stage.point_to(PROJECT, "it is listed", to).await;
    let before = rows_kept(&store).await;
    let evidence = [told.small];
    let elsewhere = EvidenceId::from_bytes([9; 16]);
    let (conflict, not_found) = (ErrorCode::Conflict, ErrorCode::NotFound);
    for (order, code) in [
        (erase(&[told.root, holds], &evidence, &[]), conflict),
        (erase(&[], &evidence, &[told.anchor, listed]), conflict),
        (erase(&[told.rests], &evidence, &[]), not_found),
        (erase(&[], &[told.small, elsewhere], &[]), not_found),
        (erase(&[], &evidence, &[told.leads]), not_found),
        (erase(&[], &[], &[]), ErrorCode::InvalidArgument),
    ] {
        let refused = stage.give(HUMAN, PROJECT, order).await.unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
    }
    for kind in PrincipalKind::ALL {
        if kind != HUMAN {
            let denied = stage.give(kind, PROJECT, told.order()).await.unwrap_err();
            assert_eq!(denied.code, ErrorCode::Forbidden);
        }
    }
    assert!(rows_kept(&store).await == before);
    let reader = stage.node.reader();
    let text = reader
        .evidence_text(&scope(PROJECT), told.small, None)
        .await;
    assert_eq!(text.unwrap().unwrap().text, "xyzzy took 12 ms");
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn who_gives_an_erased_command_again_is_told_its_answer_without_the_hash_and_writes_nothing()
{
    let store = store();
    let stage = Stage::over(&store).await;
    let kept = submission(1, HUMAN, PROJECT, keep(original(WORD, "xyzzy took 12 ms")));
    let first = stage.node.submit(kept.clone()).await.unwrap();
    let AnswerBody::EvidenceSaved { id, .. } = first.result else {
        panic!("{first:?}");
    };
    let order = submission(2, HUMAN, PROJECT, erase(&[], &[id], &[]));
    let done = stage.node.submit(order.clone()).await.unwrap();
    assert_eq!(done.result, erased(1, 0));
    let pairs = pairs_of(&store).await;
    let record = pairs.iter().find_map(|(key, value)| {
        let parsed = keys::command::parse(key).ok()?;
        let record = keys::command::decode(key, value).unwrap();
        (parsed.command == command_id(1)).then_some(record)
    });
    let Some(CommandRecord::Applied { digest, answer }) = record else {
        panic!("{record:?}");
    };
    assert_eq!(digest, Digest::ERASED);
    let left = AnswerBody::EvidenceSaved {
        id,
        hash: [0; 32],
        masked: 0,
    };
    assert_eq!((answer.seq, &answer.result), (first.seq, &left));
    assert_eq!(stage.node.submit(kept).await.unwrap(), answer);
    assert_eq!(stage.node.submit(order).await.unwrap(), done);
    let again = submission(3, HUMAN, PROJECT, erase(&[], &[id], &[]));
    let again = stage.node.submit(again).await.unwrap();
    assert_eq!(again.result, erased(0, 1));
    assert_eq!(holding(&pairs_of(&store).await, WORD.as_bytes()), NOTHING);
    check(&stage, &store).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn what_a_batch_wrote_is_erased_in_the_same_batch() {
    let store = store();
    let stage = Stage::over(&store).await;
    let give = |number, command| {
        let given = submission(number, HUMAN, PROJECT, command);
        let node = stage.node.clone();
        async move { node.submit(given).await }
    };
    let (here, human) = (scope(PROJECT), principal(HUMAN, ORG).actor.to_string());
    let root = DecisionId::derived(&here, &human, command_id(2));
    let large = EvidenceId::derived(&here, &human, command_id(4));
    let anchor = AnchorId::derived(&here, &human, command_id(5), 0);
    let points = point(vec![points_to(WORD, vec![kept(PROJECT, large)])]);
    // The first holds the scope up, so that the others wait together.
    let answers = tokio::join!(
        give(1, keep(original("before", "it was slow"))),
        give(2, save(None, says(Rank::Normal, WORD))),
        give(3, withdraw(root, 1)),
        give(4, keep(original(WORD, &long()))),
        give(5, points),
        give(6, let_go(anchor)),
        give(7, erase(&[root], &[large], &[anchor])),
    );
    let (first, saved, withdrawn, kept, added, dropped, done) = answers;
    for answer in [first, saved, withdrawn, kept, added, dropped] {
        answer.unwrap();
    }
    assert_eq!(done.unwrap().result, erased(5, 0));
    let after = pairs_of(&store).await;
    assert_eq!(holding(&after, WORD.as_bytes()), NOTHING);
    let is_chunk = |key: &&Vec<u8>| Family::of(key) == Some(Family::Chunk);
    assert_eq!(after.keys().filter(is_chunk).count(), 0);
    check(&stage, &store).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_decision_is_erased_with_all_of_many_versions() {
    /// More than are read at once.
    const VERSIONS: u64 = 300;
    let store = store();
    let mut stage = Stage::over(&store).await;
    let root = stage.begin(PROJECT, says(Rank::Normal, WORD)).await;
    for version in 1..VERSIONS {
        let title = format!("{WORD} {version}");
        stage
            .change(PROJECT, (root, version), says(Rank::Normal, &title))
            .await;
    }
    let last = withdraw(root, VERSIONS);
    stage.person(PROJECT, last).await.unwrap();
    let answer = stage.give(HUMAN, PROJECT, erase(&[root], &[], &[])).await;
    assert_eq!(answer.unwrap(), erased(301, 0));
    assert_eq!(holding(&pairs_of(&store).await, WORD.as_bytes()), NOTHING);
    check(&stage, &store).await;
    stage.node.shutdown().await;
}

#[tokio::test]
async fn the_longest_chain_that_there_may_be_is_erased_in_one_transaction() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let id = PrincipalId::parse(&"p".repeat(PRINCIPAL_ID_CHARS_MAX)).unwrap();
    let actor = Actor { kind: HUMAN, id };
    let root = DecisionId::derived(&scope(PROJECT), &actor.to_string(), command_id(1));
    for version in 0..DECISION_VERSIONS_MAX {
        let text = says(Rank::Normal, WORD);
        let command = match version {
            0 => save(None, text),
            last if last + 1 == DECISION_VERSIONS_MAX => withdraw(root, last),
            before => save(Some((root, before)), text),
        };
        stage.given += 1;
        let mut given = submission(stage.given, HUMAN, PROJECT, command);
        given.principal.actor = actor.clone();
        stage.node.submit(given).await.unwrap();
    }
    let answer = stage.give(HUMAN, PROJECT, erase(&[root], &[], &[])).await;
    let events = u32::try_from(DECISION_VERSIONS_MAX).unwrap();
    assert_eq!(answer.unwrap(), erased(events, 0));
    assert_eq!(holding(&pairs_of(&store).await, WORD.as_bytes()), NOTHING);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_backup_is_restored_whole_and_not_to_a_moment_that_was_erased_since() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let told = Told::of(&mut stage).await;
    let reader = stage.node.reader();
    let evidence = reader.evidence(&scope(PROJECT), told.small).await;
    let saved = evidence.unwrap().unwrap().seq;
    told.erase(&mut stage).await;
    stage.node.shutdown().await;
    let pairs = without_idle_slots(&pairs_of(&store).await);
    let store = TestStore::sound(MemoryConfig {
        counter: 10_000,
        ..MemoryConfig::default()
    });
    fill(&store, &pairs).await;
    let backup = whole(&store).await;
    let (anew, report) = restored(&backup, &Until::End).await.unwrap();
    assert!(report.audit.is_ok());
    assert_eq!(holding(&pairs_of(&anew).await, WORD.as_bytes()), NOTHING);
    let then = Until::Event(scope(PROJECT), saved);
    let error = restored(&backup, &then).await.unwrap_err();
    assert!(matches!(error, Error::ErasedSince { .. }), "{error}");
}
