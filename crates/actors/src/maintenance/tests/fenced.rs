//! A run whose lease went to another one meanwhile: it ends, and does and writes nothing more.

use sillok_core::schedule::{Outcome, Run};
use sillok_store::{Error as StoreError, Read};

use super::parts::{prepare, signing_over};
use super::*;
use crate::protocol::Correct;

/// Takes the lease as a run of this node does: the row by which it is held.
async fn taken(stage: &Stage) -> OwnerRow {
    let ownership = &stage.node.shared().ownership;
    let (node, run) = (ownership.node(), ownership.incarnation());
    let taken = lease::take(&stage.store, LEASE, node, run).await;
    taken.unwrap().unwrap()
}

/// A run that holds the lease by this row.
fn held<'a>(stage: &'a Stage, taken: &OwnerRow) -> Held<'a, MemoryStore, Correct> {
    Held::new(stage.node.shared(), taken.clone())
}

/// Another node's run has the lease from now on.
async fn taken_over(stage: &Stage) {
    let row = OwnerRow {
        node: "other".into(),
        incarnation: Incarnation(1),
        epoch: Epoch(1),
    };
    let mut txn = stage.store.begin().await.unwrap();
    txn.set(keys::lease::key(LEASE), keys::lease::encode(&row));
    txn.commit().await.unwrap();
}

fn only(part: Part) -> Maintain {
    Maintain {
        parts: [part].into(),
        ..Maintain::whole()
    }
}

#[tokio::test]
async fn a_run_whose_lease_was_taken_ends_and_does_no_part_of_its_own() {
    let index = HookedIndex::new(|_| {});
    let ports = Ports {
        index: index.clone(),
        ..ports()
    };
    let (mut stage, kept) = signing_over(ports).await;
    prepare(&mut stage).await;
    let planned = stage.maintain(true, false).await.unwrap();
    assert!(planned.scopes.len() == 1 && planned.offered > 0 && planned.forgotten > 0);
    let taken = taken(&stage).await;
    taken_over(&stage).await;
    let before = pairs_of(&stage.store).await;
    let turn = stage.node.shared().maintenance.begin().unwrap();
    for part in Part::ALL {
        let held = held(&stage, &taken);
        let ended = carry_out(&held, stage.node.router(), &only(part), &turn).await;
        assert_eq!(ended.unwrap_err().code, ErrorCode::Fenced, "{part:?}");
        let after = pairs_of(&stage.store).await;
        assert!(after == before, "{part:?} writes nothing");
    }
    // Whoever waited for the index all the while optimises nothing either.
    let ended = optimise(&held(&stage, &taken), &only(Part::Optimise)).await;
    assert_eq!(ended.unwrap_err().code, ErrorCode::Fenced);
    assert_eq!(index.optimised(), 0);
    assert!(kept.all.lock().unwrap().is_empty());
    // Nor does it give back what another one has.
    give_back(stage.node.shared(), taken.incarnation).await;
    assert!(pairs_of(&stage.store).await == before);
}

#[tokio::test]
async fn no_command_is_given_and_no_answer_forgotten_by_a_run_whose_lease_was_taken() {
    let (mut stage, _) = signing_over(ports()).await;
    prepare(&mut stage).await;
    let (asked, taken) = (Maintain::whole(), taken(&stage).await);
    taken_over(&stage).await;
    let before = pairs_of(&stage.store).await;
    let planned = plan::of(stage.node.shared(), &asked, &|_| ()).await;
    let mut planned = planned.unwrap();
    let turn = stage.node.shared().maintenance.begin().unwrap();
    let run = held(&stage, &taken);
    retiring::take_out_all(&run, stage.node.router(), &mut planned.scopes, &turn).await;
    assert_eq!(planned.scopes[0].retired, 0);
    let run = held(&stage, &taken);
    let offered = offering::put_questions(&run, stage.node.router(), planned.offers).await;
    assert_eq!(offered, (0, 1));
    let run = held(&stage, &taken);
    let forgotten = forget::answers(stage.node.shared(), &asked, Some(&run)).await;
    assert_eq!(forgotten.unwrap_err().code, ErrorCode::Fenced);
    assert!(pairs_of(&stage.store).await == before);
}

#[tokio::test]
async fn a_run_whose_node_begins_again_meanwhile_signs_nothing_and_is_not_noted() {
    let index = HookedIndex::new(|_| {});
    let ports = Ports {
        index: index.clone(),
        ..ports()
    };
    let (stage, kept) = signing_over(ports).await;
    let shared = Arc::clone(stage.node.shared());
    index.before_optimised(move || shared.ownership.begin_run(Incarnation(9)));
    let ended = stage.maintain(false, false).await;
    assert_eq!(ended.unwrap_err().code, ErrorCode::Fenced);
    assert_eq!(index.optimised(), 1, "it was the node's own until then");
    assert!(kept.all.lock().unwrap().is_empty());
    assert_eq!(nightly::known(&stage.store).await.unwrap(), None);
    let mut txn = stage.store.begin().await.unwrap();
    let row = txn.get(&keys::lease::key(LEASE), Read::Snapshot).await;
    assert_eq!(row.unwrap(), None, "what nobody took is given back");
}

#[tokio::test]
async fn how_a_run_went_is_written_down_only_while_the_lease_is_its_own() {
    let stage = Stage::set().await;
    let taken = taken(&stage).await;
    let now = stage.node.ports().clock.now();
    let run = Run {
        node: taken.node.clone(),
        began: now,
        ended: now,
        did: Outcome::default(),
        checkpoint: None,
    };
    let noting = held(&stage, &taken);
    assert!(nightly::note(&noting, &run, None).await.unwrap());
    let noted = nightly::known(&stage.store).await.unwrap();
    assert_eq!(noted.clone().unwrap().last, Some(run.clone()));
    // It is taken between the look and the commit.
    let mut txn = stage.store.begin().await.unwrap();
    assert!(noting.is_held(&mut txn, Read::Conflict).await.unwrap());
    txn.clear(keys::run::key(LEASE));
    taken_over(&stage).await;
    assert!(matches!(txn.commit().await, Err(StoreError::Conflict)));
    assert!(!nightly::note(&noting, &run, Some(now)).await.unwrap());
    assert_eq!(nightly::known(&stage.store).await.unwrap(), noted);
}

#[tokio::test]
async fn a_lease_that_was_taken_again_is_no_more_that_of_the_run_before() {
    let stage = Stage::set().await;
    let first = taken(&stage).await;
    held(&stage, &first).check().await.unwrap();
    // By the same run of the node, whose giving back did not come through.
    let second = taken(&stage).await;
    assert!(second.epoch > first.epoch);
    let ended = held(&stage, &first).check().await.unwrap_err();
    assert_eq!(ended.code, ErrorCode::Fenced);
    held(&stage, &second).check().await.unwrap();
}
