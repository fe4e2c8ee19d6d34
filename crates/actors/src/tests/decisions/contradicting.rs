//! What contradicts a claim among many that do not, or that do: what is read for it, and that what is cut off is told.

use sillok_core::decision::{Contradictions, Rank};
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::limits::{CONTRADICTIONS_MAX, CONTRADICTIONS_READ_MAX, PAGE_SCAN_ROWS_MAX};
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Store, Txn};

use super::stage::{Stage, claims, says};
use crate::tests::harness::{PROJECT, TASK, TestStore, scope, store};
use crate::tests::world::{ORG, WORKTREE};

const KEY: &str = "port";
const NOT_CUT: bool = false;
const CUT: bool = true;

/// A decision that claims this port.
async fn claim(stage: &mut Stage, path: &str, value: &str) -> DecisionId {
    let text = says(Rank::Normal, &format!("the port is {value}"));
    stage.begin(path, claims(KEY, value, text)).await
}

/// Writes these rows of a claim, behind the back of the node.
async fn write(store: &TestStore, path: &str, rows: impl Iterator<Item = (DecisionId, Declared)>) {
    let here = ScopeKey::of(&scope(path));
    let rows: Vec<(DecisionId, Declared)> = rows.collect();
    for rows in rows.chunks(1_000) {
        let mut txn = store.begin().await.unwrap();
        for (root, declared) in rows {
            let key = decision_claim::key(&here, ClaimKey::of(KEY), *root);
            txn.set(key, decision_claim::encode(declared));
        }
        txn.commit().await.unwrap();
    }
}

/// Has decisions with these roots hold that say all that one of the scope does, each of them, that one too, with such a row of
/// its claim, behind the back of the node.
async fn repeat(
    store: &TestStore,
    path: &str,
    (one, declared): (DecisionId, Declared),
    roots: &[DecisionId],
) {
    let here = ScopeKey::of(&scope(path));
    let mut txn = store.begin().await.unwrap();
    let key = keys::decision::key(&here, one);
    let value = txn.get(&key, Read::Snapshot).await.unwrap();
    let mut head = keys::decision::decode(&key, &value.unwrap()).unwrap();
    for root in roots {
        head.root = *root;
        let key = keys::decision::key(&here, *root);
        txn.set(key, keys::decision::encode(&head));
    }
    txn.commit().await.unwrap();
    let all = core::iter::once(one).chain(roots.iter().copied());
    write(store, path, all.map(|root| (root, declared))).await;
}

/// Spoils what is known of a decision, so that whoever reads it is refused.
async fn spoil(store: &TestStore, path: &str, root: DecisionId) {
    let mut txn = store.begin().await.unwrap();
    let key = keys::decision::key(&ScopeKey::of(&scope(path)), root);
    txn.set(key, vec![255]);
    txn.commit().await.unwrap();
}

/// So many roots that nobody made, behind all that somebody did.
fn roots(count: usize) -> impl Iterator<Item = DecisionId> {
    (0..count).map(|number| {
        let mut bytes = [255; 16];
        bytes[8..].copy_from_slice(&u64::try_from(number).unwrap().to_be_bytes());
        DecisionId::from_bytes(bytes)
    })
}

/// What contradicts it in the task that the port is this one: by root, and whether there may be more.
async fn against(stage: &Stage, value: &str) -> (Vec<DecisionId>, bool) {
    let claim = Claim {
        key: KEY.to_owned(),
        value: value.to_owned(),
    };
    let reader = stage.node.reader();
    let found = reader.contradictions(&scope(TASK), &claim, None).await;
    let Contradictions { told, cut } = found.unwrap();
    (told.into_iter().map(|one| one.root).collect(), cut)
}

#[tokio::test]
async fn nothing_is_read_of_what_claims_the_same_value() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    for path in [PROJECT, WORKTREE, TASK] {
        let same = claim(&mut stage, path, "80").await;
        spoil(&store, path, same).await;
    }
    let other = claim(&mut stage, WORKTREE, "81").await;
    assert_eq!(against(&stage, "80").await, (vec![other], NOT_CUT));
}

#[tokio::test]
async fn many_that_say_the_same_hide_no_near_one_that_contradicts_and_a_cut_is_told() {
    for (many, cut) in [(PAGE_SCAN_ROWS_MAX, NOT_CUT), (PAGE_SCAN_ROWS_MAX + 1, CUT)] {
        let store = store();
        let mut stage = Stage::over(&store).await;
        let near = claim(&mut stage, TASK, "81").await;
        let same = roots(many).map(|root| (root, Declared::of(1, "80")));
        write(&store, WORKTREE, same).await;
        assert_eq!(against(&stage, "80").await, (vec![near], cut), "{many}");
    }
}

#[tokio::test]
async fn as_many_of_a_scope_are_told_as_there_is_room_for_and_that_there_are_more() {
    let mut stage = Stage::set().await;
    let mut all = Vec::new();
    for _ in 0..CONTRADICTIONS_MAX {
        all.push(claim(&mut stage, WORKTREE, "81").await);
    }
    all.sort_unstable();
    assert_eq!(against(&stage, "80").await, (all.clone(), NOT_CUT));
    claim(&mut stage, WORKTREE, "80").await;
    assert_eq!(against(&stage, "80").await, (all.clone(), NOT_CUT));
    // There is room for those of another scope, behind those of the wider one.
    let near = claim(&mut stage, TASK, "82").await;
    let both = [&all[..], &[near]].concat();
    assert_eq!(against(&stage, "80").await, (both, NOT_CUT));
    all.push(claim(&mut stage, WORKTREE, "82").await);
    all.sort_unstable();
    let both = [&all[..CONTRADICTIONS_MAX], &[near]].concat();
    assert_eq!(against(&stage, "80").await, (both, CUT));
}

/// A claim as it was saved before rows told its value.
const FORMER: Declared = Declared {
    version: 1,
    value: None,
};

#[tokio::test]
async fn however_many_declare_it_further_out_each_nearer_scope_is_looked_into() {
    for value in ["80", "81"] {
        for declared in [FORMER, Declared::of(1, value)] {
            let store = store();
            let mut stage = Stage::over(&store).await;
            let one = claim(&mut stage, ORG, value).await;
            let more: Vec<DecisionId> = roots(CONTRADICTIONS_READ_MAX).collect();
            repeat(&store, ORG, (one, declared), &more).await;
            let mut near = Vec::new();
            for (path, value) in [(PROJECT, "82"), (WORKTREE, "83"), (TASK, "84")] {
                near.push(claim(&mut stage, path, value).await);
            }
            // Those of the organisation stand first, by their roots; that it has more is told, unless rows say the same.
            let is_same = value == "80";
            let far = if is_same { 0 } else { CONTRADICTIONS_MAX };
            let far = [&[one][..], &more[..]].concat().into_iter().take(far);
            let expected: Vec<DecisionId> = far.chain(near).collect();
            let is_cut = !is_same || declared == FORMER;
            let found = against(&stage, "80").await;
            assert_eq!(found, (expected, is_cut), "{value} {declared:?}");
        }
    }
}

#[tokio::test]
async fn however_many_contradict_it_near_by_each_wider_scope_is_told() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let mut wider = Vec::new();
    for (path, value) in [(ORG, "81"), (PROJECT, "82"), (WORKTREE, "83")] {
        wider.push(claim(&mut stage, path, value).await);
    }
    let one = claim(&mut stage, TASK, "84").await;
    let more: Vec<DecisionId> = roots(CONTRADICTIONS_READ_MAX).collect();
    repeat(&store, TASK, (one, FORMER), &more).await;
    let near = [&[one][..], &more[..CONTRADICTIONS_MAX - 1]].concat();
    let expected = [wider, near].concat();
    assert_eq!(against(&stage, "80").await, (expected, CUT));
}

#[tokio::test]
async fn a_claim_that_was_saved_before_rows_told_its_value_is_read_as_before() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let same = claim(&mut stage, WORKTREE, "80").await;
    let other = claim(&mut stage, WORKTREE, "81").await;
    let both = [(same, FORMER), (other, FORMER)];
    write(&store, WORKTREE, both.into_iter()).await;
    assert_eq!(against(&stage, "80").await, (vec![other], NOT_CUT));
    assert_eq!(against(&stage, "81").await, (vec![same], NOT_CUT));
    // A change of it tells the value from then on.
    let text = claims(KEY, "80", says(Rank::Normal, "the port is 80 indeed"));
    stage.change(WORKTREE, (same, 1), text).await;
    spoil(&store, WORKTREE, same).await;
    assert_eq!(against(&stage, "80").await, (vec![other], NOT_CUT));
    // Of more of them than are read, some are left out, and that is told.
    let more = roots(CONTRADICTIONS_READ_MAX).map(|root| (root, FORMER));
    write(&store, WORKTREE, more).await;
    assert_eq!(against(&stage, "80").await, (vec![other], CUT));
}
