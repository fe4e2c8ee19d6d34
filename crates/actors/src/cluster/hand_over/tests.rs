//! Tests of handing slots over: which, how many at a time, and what waits for what.

use sillok_core::id::Incarnation;
use sillok_core::ports::Forwarded;
use sillok_core::principal::PrincipalKind;
use sillok_store::Txn as _;

use super::*;
use crate::cluster::tests::{Here, registered, slots_at};
use crate::protocol::Without;
use crate::tests::harness::{TASK, TestStore, open_task, scope, store, submission};
use crate::tests::line::{Fate, Line};

/// This node among others, as it last saw them, with slots of its own.
async fn holding(slots: &[Slot], others: &[&str]) -> (Here, Router<TestStore, Without>) {
    holding_on(&store(), slots, others).await
}

/// As [`holding`], on a store.
async fn holding_on(
    store: &TestStore,
    slots: &[Slot],
    others: &[&str],
) -> (Here, Router<TestStore, Without>) {
    let here = registered(store, "ada").await;
    for other in others {
        registered(store, other).await;
    }
    let nodes = claims::owners(store).await.unwrap().nodes;
    here.members.saw(nodes, Vec::new());
    let claimed = claims::claim(store, &here.ownership, slots, here.protocol).await;
    let claims::Claim::Taken { slots, .. } = claimed.unwrap() else {
        panic!("the run is not over");
    };
    for (slot, epoch) in slots {
        assert!(
            here.ownership
                .take(slot, epoch, here.ownership.incarnation())
        );
    }
    let router = Router::new(Arc::clone(&here));
    (here, router)
}

fn to_bob(slot: Slot, epoch: Epoch) -> [Leaving; 1] {
    let to = "bob".to_owned();
    [Leaving { slot, epoch, to }]
}

/// Hands one slot over to bob. Whether it is gone.
async fn one(here: &Here, router: &Router<TestStore, Without>, slot: Slot) -> Result<bool, Error> {
    together(here, router, vec![(slot, "bob".to_owned())]).await
}

async fn owner(here: &Here, slot: Slot) -> String {
    let owners = claims::owners(&here.store).await.unwrap();
    owners.slots[&slot].node.clone()
}

#[tokio::test]
async fn what_belongs_elsewhere_is_handed_over_some_at_a_time_and_in_turn() {
    let names = ["ada", "bob"];
    let slots: Vec<Slot> = slots_at("bob", &names).take(HANDED_OVER_MAX + 3).collect();
    let own = slots_at("ada", &names).next().unwrap();
    let (here, router) = holding(&[slots.as_slice(), &[own]].concat(), &["bob"]).await;
    let looks_again =
        || futures::FutureExt::now_or_never(here.members.changed.notified()).is_some();
    assert!(looks_again(), "bob came");
    let mut last = Some(slots[1]);
    some(&here, &router, &mut last).await.unwrap();
    // It went on behind the last one, and left the first ones for the next round.
    assert_eq!(
        here.ownership.held().len(),
        slots.len() + 1 - HANDED_OVER_MAX
    );
    assert!(here.ownership.epoch(slots[1]).is_some() && here.ownership.epoch(slots[2]).is_none());
    assert!(looks_again(), "some are left");
    some(&here, &router, &mut last).await.unwrap();
    assert_eq!(here.ownership.held(), [own]);
    assert!(!looks_again(), "none is left");
    assert_eq!(owner(&here, slots[0]).await, "bob");
    assert_eq!(owner(&here, own).await, "ada");
    assert_eq!(here.counters.slots_handed_over.get(), slots.len() as u64);
}

#[tokio::test]
async fn a_node_that_is_cut_off_from_the_bus_gives_its_slots_to_those_that_reach_it() {
    let slot = slots_at("ada", &["ada", "bob"]).next().unwrap();
    let (here, router) = holding(&[slot], &["bob"]).await;
    let mut nodes = here.members.nodes.lock().clone();
    nodes.get_mut("ada").unwrap().reaches_bus = false;
    here.members.saw(nodes, Vec::new());
    some(&here, &router, &mut None).await.unwrap();
    assert_eq!(
        owner(&here, slot).await,
        "ada",
        "the bus may be gone for all"
    );
    assert!(here.members.note_cut_off(true) && !here.members.note_cut_off(true));
    some(&here, &router, &mut None).await.unwrap();
    assert_eq!(owner(&here, slot).await, "bob");
    assert!(!here.members.note_cut_off(false));
}

#[tokio::test]
async fn while_nobody_reaches_the_bus_only_a_node_that_ends_hands_slots_over() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let (here, router) = holding(&[slot], &["bob"]).await;
    for name in ["ada", "bob"] {
        let key = sillok_store::keys::node::key(name);
        let mut txn = here.store.begin().await.unwrap();
        let row = txn.get(&key, sillok_store::Read::Conflict).await.unwrap();
        let mut row = sillok_store::keys::node::decode(&key, &row.unwrap()).unwrap();
        row.reaches_bus = false;
        txn.set(key, sillok_store::keys::node::encode(&row));
        txn.commit().await.unwrap();
    }
    let nodes = claims::owners(&here.store).await.unwrap().nodes;
    here.members.saw(nodes, Vec::new());
    some(&here, &router, &mut None).await.unwrap();
    assert_eq!(owner(&here, slot).await, "ada", "bob may be ending");
    drain(&here, &router).await;
    assert_eq!(owner(&here, slot).await, "bob");
}

#[tokio::test]
async fn nothing_is_handed_over_by_a_run_that_is_over_or_before_the_others_are_known() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let (here, router) = holding(&[slot], &["bob"]).await;
    let mut nodes = here.members.nodes.lock().clone();
    nodes.get_mut("ada").unwrap().fenced = true;
    let none = sillok_core::membership::Nodes::new();
    for known in [nodes, none] {
        here.members.saw(known, Vec::new());
        some(&here, &router, &mut None).await.unwrap();
        assert_eq!(owner(&here, slot).await, "ada");
    }
}

#[tokio::test]
async fn a_slot_that_was_taken_meanwhile_is_let_go() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let (here, router) = holding(&[slot], &["bob"]).await;
    // Handed over before, and nobody heard of it.
    let epoch = here.ownership.epoch(slot).unwrap();
    let handed = claims::hand_over(&here.store, &here.ownership, &to_bob(slot, epoch)).await;
    assert!(matches!(handed.as_deref(), Ok([HandOver::Done])));
    assert!(one(&here, &router, slot).await.unwrap());
    assert_eq!(here.ownership.epoch(slot), None);
    assert_eq!(here.counters.slots_handed_over.get(), 0);
    // What is not held any more is gone, and stays as it is.
    assert!(one(&here, &router, slot).await.unwrap());
}

#[tokio::test]
async fn a_slot_stays_whose_receiver_is_gone() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let (here, router) = holding(&[slot], &[]).await;
    let epoch = here.ownership.epoch(slot).unwrap();
    assert!(!one(&here, &router, slot).await.unwrap());
    assert_eq!(here.ownership.epoch(slot), Some(epoch));
    assert!(!here.ownership.is_leaving(slot));
    assert!(
        !here.holds_for_certain(slot, epoch),
        "an earlier try may be on its way"
    );
}

#[tokio::test]
async fn of_slots_that_leave_together_each_goes_as_far_as_it_can() {
    let busy = Slot::of(&scope(TASK));
    let mut calm = slots_at("bob", &["bob"]).filter(|slot| *slot != busy);
    let [gone, taken, lost] = [(); 3].map(|()| calm.next().unwrap());
    let (here, router) = holding(&[busy, gone, taken, lost], &["bob", "eve"]).await;
    let epoch = here.ownership.epoch(taken).unwrap();
    let handed = claims::hand_over(&here.store, &here.ownership, &to_bob(taken, epoch)).await;
    assert!(matches!(handed.as_deref(), Ok([HandOver::Done])));
    let under_way = router.submit(submission(0, PrincipalKind::Agent, TASK, open_task()), None);
    futures::pin_mut!(under_way);
    assert!(futures::poll!(under_way.as_mut()).is_pending());
    let to = |slot, name: &str| (slot, name.to_owned());
    let slots = vec![
        to(busy, "bob"),
        to(gone, "eve"),
        to(taken, "bob"),
        to(lost, "nobody"),
    ];
    assert!(
        !together(&here, &router, slots).await.unwrap(),
        "one has no receiver"
    );
    under_way.await.unwrap();
    assert_eq!(here.ownership.held(), [lost]);
    assert!(!here.ownership.is_leaving(lost));
    for (slot, name) in [(busy, "bob"), (gone, "eve"), (taken, "bob"), (lost, "ada")] {
        assert_eq!(owner(&here, slot).await, name);
    }
    assert_eq!(here.counters.slots_handed_over.get(), 2);
}

#[tokio::test]
async fn slots_that_are_not_quiet_stay_if_those_that_are_cannot_be_written_over() {
    let busy = Slot::of(&scope(TASK));
    let calm = slots_at("bob", &["bob"])
        .find(|slot| *slot != busy)
        .unwrap();
    let line = Line::new(&store(), Fate::Arrives);
    let (here, router) = holding_on(&line, &[busy, calm], &["bob"]).await;
    let under_way = router.submit(submission(0, PrincipalKind::Agent, TASK, open_task()), None);
    futures::pin_mut!(under_way);
    assert!(futures::poll!(under_way.as_mut()).is_pending());
    line.hold_next();
    let slots = [busy, calm].map(|slot| (slot, "bob".to_owned()));
    together(&here, &router, slots.to_vec()).await.unwrap_err();
    for slot in [busy, calm] {
        assert!(here.ownership.epoch(slot).is_some() && !here.ownership.is_leaving(slot));
    }
    let of = |slot: Slot| here.ownership.epoch(slot).unwrap();
    assert!(here.holds_for_certain(busy, of(busy)), "nobody tried");
    assert!(!here.holds_for_certain(calm, of(calm)), "it may be bob's");
}

#[tokio::test]
async fn a_slot_is_in_doubt_once_nobody_heard_whether_it_was_handed_over() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let line = Line::new(&store(), Fate::Arrives);
    let (here, router) = holding_on(&line, &[slot], &["bob"]).await;
    let epoch = here.ownership.epoch(slot).unwrap();
    assert!(here.holds_for_certain(slot, epoch));
    line.hold_next();
    one(&here, &router, slot).await.unwrap_err();
    assert_eq!(here.ownership.epoch(slot), Some(epoch), "it takes commands");
    assert!(!here.ownership.is_leaving(slot));
    assert!(!here.holds_for_certain(slot, epoch), "it may be bob's");
    line.land().await.unwrap();
    line.mend();
    assert!(one(&here, &router, slot).await.unwrap());
    assert_eq!(here.ownership.epoch(slot), None);
}

#[tokio::test]
async fn what_was_taken_anew_meanwhile_is_not_handed_over_unmarked() {
    let slot = slots_at("bob", &["ada", "bob"]).next().unwrap();
    let (here, _router) = holding(&[slot], &["bob"]).await;
    let held = here.ownership.epoch(slot).unwrap();
    let marked = Epoch(held.0 + 1);
    let handed = claims::hand_over(&here.store, &here.ownership, &to_bob(slot, marked)).await;
    assert!(matches!(handed.as_deref(), Ok([HandOver::NotHeld])));
    assert_eq!(owner(&here, slot).await, "ada");
}

#[tokio::test]
async fn a_node_that_leaves_hands_all_over_and_ends_its_run() {
    let slots: Vec<Slot> = slots_at("bob", &["bob"]).take(3).collect();
    let (here, router) = holding(&slots, &["bob"]).await;
    drain(&here, &router).await;
    for slot in slots {
        assert_eq!(owner(&here, slot).await, "bob");
    }
    assert!(here.members.ends());
    leave(&here).await;
    let nodes = claims::owners(&here.store).await.unwrap().nodes;
    assert!(nodes["ada"].fenced && !nodes["bob"].fenced);
    assert_eq!(nodes["ada"].incarnation, Incarnation(1));
}

#[tokio::test]
async fn a_slot_waits_for_what_is_under_way() {
    let slot = Slot::of(&scope(TASK));
    let (here, router) = holding(&[slot], &["bob"]).await;
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    let under_way = router.submit(open, None);
    futures::pin_mut!(under_way);
    assert!(futures::poll!(under_way.as_mut()).is_pending());
    assert_eq!(router.in_flight(slot), 1);
    assert!(one(&here, &router, slot).await.unwrap());
    assert_eq!(owner(&here, slot).await, "bob");
    // Had it gone before, the command would have found it gone.
    assert_eq!(here.counters.commands.get(), 1);
    under_way.await.unwrap();
}

#[tokio::test]
async fn while_a_node_ends_a_scope_waits_for_no_slot_but_its_own() {
    let (busy, calm) = (Slot::of(&scope(TASK)), slots_at("bob", &["bob"]).next());
    let calm = calm.filter(|calm| *calm != busy).unwrap();
    let (here, router) = holding(&[busy, calm], &["bob"]).await;
    let under_way = router.submit(submission(0, PrincipalKind::Agent, TASK, open_task()), None);
    futures::pin_mut!(under_way);
    assert!(futures::poll!(under_way.as_mut()).is_pending());
    let draining = drain(&here, &router);
    futures::pin_mut!(draining);
    assert!(futures::poll!(draining.as_mut()).is_pending());
    // The calm one is gone or on its way although the busy one is not; whoever comes now is told to look
    // for the new owner, and is not turned away.
    assert!(here.ownership.is_leaving(busy));
    assert!(here.ownership.is_leaving(calm) || here.ownership.epoch(calm).is_none());
    let late = Arc::new(submission(1, PrincipalKind::Agent, TASK, open_task()));
    assert_eq!(router.serve(late, None).await, Forwarded::NotOwner);
    assert_eq!(here.counters.handover_waits.get(), 1);
    draining.await;
    under_way.await.unwrap();
    assert_eq!(owner(&here, busy).await, "bob");
    assert_eq!(owner(&here, calm).await, "bob");
}

#[tokio::test]
async fn a_node_that_ends_takes_no_slot() {
    let store = store();
    let slot = Slot::of(&scope(TASK));
    // The run that had the slot is over.
    let eve = registered(&store, "eve").await;
    let claimed = claims::claim(&store, &eve.ownership, &[slot], eve.protocol).await;
    assert!(matches!(claimed, Ok(claims::Claim::Taken { slots, .. }) if slots.len() == 1));
    claims::leave(&store, &eve.ownership).await.unwrap();
    let (here, router) = holding_on(&store, &[], &[]).await;
    drain(&here, &router).await;
    let given = Arc::new(submission(0, PrincipalKind::Agent, TASK, open_task()));
    assert_eq!(router.serve(given, None).await, Forwarded::NotOwner);
    super::super::round(&here, &router, &mut None)
        .await
        .unwrap();
    assert!(here.ownership.held().is_empty());
    assert_eq!(owner(&here, slot).await, "eve");
}

#[tokio::test]
async fn nobody_hands_a_slot_to_a_node_that_ends() {
    let store = store();
    let slot = slots_at("ada", &["ada", "bob"]).next().unwrap();
    let bob = registered(&store, "bob").await;
    let (ada, router) = holding_on(&store, &[slot], &[]).await;
    // As bob saw it last, the slot belongs on ada.
    let seen = claims::owners(&store).await.unwrap().nodes;
    bob.members.saw(seen, Vec::new());
    drain(&ada, &router).await;
    let claimed = claims::claim(&store, &bob.ownership, &[slot], bob.protocol).await;
    let Ok(claims::Claim::Taken { slots, .. }) = claimed else {
        panic!("the run is not over");
    };
    let run = bob.ownership.incarnation();
    assert!(bob.ownership.take(slot, slots[0].1, run));
    let of_bob = Router::new(Arc::clone(&bob));
    some(&bob, &of_bob, &mut None).await.unwrap();
    assert_eq!(owner(&bob, slot).await, "bob");
    assert!(!claims::owners(&store).await.unwrap().nodes["ada"].reaches_bus);
}
