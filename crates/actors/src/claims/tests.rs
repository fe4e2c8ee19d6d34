//! Tests of each claim transaction on its own, two nodes over one store.

use sillok_core::ErrorCode;
use sillok_core::membership::{FenceOrder, WireVersion};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::time::Timestamp;

use super::*;
use crate::tests::harness::{AS_MEANT, TestStore, store};

/// What a node says of itself with which nothing is wrong.
const WELL: Saying = Saying {
    reaches_bus: true,
    is_behind: false,
};

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

/// A node that has begun a run.
async fn started(store: &TestStore, name: &str) -> Ownership {
    let ownership = Ownership::new(name);
    let begun = register(store, name, WireVersion::NEWEST).await.unwrap();
    let (run, _) = begun.expect("there is room for its name");
    ownership.begin_run(run);
    ownership
}

/// What a claim of these slots gave.
async fn taken(store: &TestStore, by: &Ownership, numbers: &[u16]) -> Vec<(u16, u64)> {
    claimed(store, by, numbers).await.0
}

/// The same, with how many were taken from another run.
async fn claimed(store: &TestStore, by: &Ownership, numbers: &[u16]) -> (Vec<(u16, u64)>, u64) {
    let slots: Vec<Slot> = numbers.iter().map(|number| slot(*number)).collect();
    let claim = claim(store, by, &slots, AS_MEANT).await.unwrap();
    let Claim::Taken { slots, takeovers } = claim else {
        panic!("the run is over");
    };
    for (slot, epoch) in &slots {
        by.take(*slot, *epoch, by.incarnation());
    }
    let numbers = slots.iter().map(|(slot, epoch)| (slot.number(), epoch.0));
    (numbers.collect(), takeovers)
}

async fn nodes(store: &TestStore) -> Nodes {
    owners(store).await.unwrap().nodes
}

async fn suspect(store: &TestStore, name: &str) -> Suspect {
    let row = nodes(store).await.remove(name).unwrap();
    Suspect {
        node: name.into(),
        incarnation: row.incarnation,
        beat: row.beat,
    }
}

#[tokio::test]
async fn each_start_begins_another_run_that_nobody_has_fenced() {
    let store = store();
    for run in 1..=3 {
        let begun = register(&store, "a", WireVersion::NEWEST).await.unwrap();
        assert_eq!(begun.unwrap().0, Incarnation(run));
        let fenced = fence(&store, &suspect(&store, "a").await).await.unwrap();
        assert!(fenced);
    }
    register(&store, "a", WireVersion::NEWEST).await.unwrap();
    let row = &nodes(&store).await["a"];
    assert_eq!((row.incarnation.0, row.beat, row.fenced), (4, 0, false));
    assert!(row.reaches_bus);
}

#[tokio::test]
async fn one_name_of_a_node_too_many_is_refused_and_one_that_is_known_is_not() {
    let store = store();
    let names: Vec<String> = (0..NODES_MAX).map(|number| format!("n{number}")).collect();
    let _first = started(&store, &names[0]).await;
    let row = nodes(&store).await[&names[0]].clone();
    let mut txn = store.begin().await.unwrap();
    for name in &names[2..] {
        txn.set(keys::node::key(name), keys::node::encode(&row));
    }
    txn.commit().await.unwrap();
    // There is room for one more.
    for (name, is_let_in) in [(&*names[1], true), ("late", false), (&*names[0], true)] {
        let begun = register(&store, name, WireVersion::NEWEST).await.unwrap();
        assert_eq!(begun.is_some(), is_let_in, "{name}");
    }
    assert_eq!(nodes(&store).await.len(), NODES_MAX);
    assert!(!nodes(&store).await.contains_key("late"));
}

#[tokio::test]
async fn a_beat_raises_its_number_and_sees_the_others() {
    let store = store();
    let (a, _b) = (started(&store, "a").await, started(&store, "b").await);
    for number in 0..3 {
        let Beat::Committed(seen) = beat(&store, &a, WELL, AS_MEANT).await.unwrap() else {
            panic!("the run counts");
        };
        assert_eq!(seen["a"].beat, number, "as it was before");
        assert_eq!(seen["b"].beat, 0);
    }
    assert_eq!(nodes(&store).await["a"].beat, 3);
}

#[tokio::test]
async fn a_beat_learns_that_its_run_is_over() {
    let store = store();
    let a = started(&store, "a").await;
    assert!(fence(&store, &suspect(&store, "a").await).await.unwrap());
    assert_eq!(
        beat(&store, &a, WELL, AS_MEANT).await.unwrap(),
        Beat::Fenced
    );
    let _again = started(&store, "a").await;
    assert_eq!(
        beat(&store, &a, WELL, AS_MEANT).await.unwrap(),
        Beat::Replaced
    );
    assert_eq!(nodes(&store).await["a"].beat, 0, "nothing was written");
}

#[tokio::test]
async fn only_the_run_that_is_silent_is_fenced() {
    let store = store();
    let a = started(&store, "a").await;
    let before = suspect(&store, "a").await;
    beat(&store, &a, WELL, AS_MEANT).await.unwrap();
    assert!(!fence(&store, &before).await.unwrap(), "it has beaten");
    let other_run = Suspect {
        incarnation: Incarnation(7),
        ..suspect(&store, "a").await
    };
    assert!(!fence(&store, &other_run).await.unwrap());
    assert!(!nodes(&store).await["a"].fenced);
    let silent = suspect(&store, "a").await;
    assert!(fence(&store, &silent).await.unwrap());
    assert!(!fence(&store, &silent).await.unwrap(), "it is fenced");
    let row = &nodes(&store).await["a"];
    assert_eq!((row.fenced, row.beat), (true, 1));
}

#[tokio::test]
async fn a_fence_meets_the_beat_that_comes_at_the_same_time() {
    let store = store();
    let a = started(&store, "a").await;
    let silent = suspect(&store, "a").await;
    let mut txn = store.begin().await.unwrap();
    let row = node_row(&mut txn, "a", Read::Conflict).await.unwrap();
    beat(&store, &a, WELL, AS_MEANT).await.unwrap();
    let fenced = NodeRow {
        fenced: true,
        ..row.unwrap()
    };
    txn.set(keys::node::key("a"), keys::node::encode(&fenced));
    assert!(matches!(txn.commit().await, Err(StoreError::Conflict)));
    assert!(!fence(&store, &silent).await.unwrap());
}

#[tokio::test]
async fn a_slot_is_taken_from_nobody_living() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    assert_eq!(taken(&store, &a, &[1, 2]).await, [(1, 1), (2, 1)]);
    assert_eq!(taken(&store, &b, &[1, 2, 3]).await, [(3, 1)]);
    // A claim of unknown outcome is made again.
    assert_eq!(taken(&store, &a, &[1, 2]).await, [(1, 1), (2, 1)]);
    fence(&store, &suspect(&store, "a").await).await.unwrap();
    assert_eq!(taken(&store, &b, &[1]).await, [(1, 2)]);
    // Started anew, it finds what nobody took since.
    let a = started(&store, "a").await;
    assert_eq!(taken(&store, &a, &[1, 2]).await, [(2, 2)]);
}

#[tokio::test]
async fn what_another_run_had_is_a_takeover_and_what_nobody_had_is_none() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    assert_eq!(claimed(&store, &a, &[1, 2]).await.1, 0, "nobody had them");
    assert_eq!(claimed(&store, &a, &[1, 2]).await.1, 0, "they are its own");
    assert_eq!(claimed(&store, &b, &[1, 3]).await.1, 0, "their owner lives");
    assert!(fence(&store, &suspect(&store, "a").await).await.unwrap());
    let of_a = claimed(&store, &b, &[1, 3, 4]).await;
    assert_eq!(of_a, (vec![(1, 2), (3, 1), (4, 1)], 1));
    let again = started(&store, "b").await;
    let of_former_run = claimed(&store, &again, &[1, 3, 4, 5]).await;
    assert_eq!(of_former_run.1, 3, "the run that had them is over");
    let c = started(&store, "c").await;
    let given = handed(&store, &again, Epoch(3), "c").await;
    assert_eq!(given, HandOver::Done);
    assert_eq!(claimed(&store, &c, &[1]).await, (vec![(1, 4)], 0));
}

#[tokio::test]
async fn a_run_that_is_over_takes_nothing() {
    let store = store();
    let a = started(&store, "a").await;
    fence(&store, &suspect(&store, "a").await).await.unwrap();
    let fenced = claim(&store, &a, &[slot(1)], AS_MEANT).await.unwrap();
    assert_eq!(fenced, Claim::RunOver);
    let again = started(&store, "a").await;
    let replaced = claim(&store, &a, &[slot(1)], AS_MEANT).await.unwrap();
    assert_eq!(replaced, Claim::RunOver);
    assert_eq!(taken(&store, &again, &[1]).await, [(1, 1)]);
}

/// Hands the first slot over. What became of it.
async fn handed(store: &TestStore, by: &Ownership, epoch: Epoch, to: &str) -> HandOver {
    let to = to.to_owned();
    let slot = slot(1);
    let leaving = [Leaving { slot, epoch, to }];
    let became = hand_over(store, by, &leaving).await.unwrap();
    assert_eq!(became.len(), 1);
    became[0]
}

#[tokio::test]
async fn a_slot_is_handed_to_a_living_node_by_its_owner_alone() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    taken(&store, &a, &[1]).await;
    let held = |by: &Ownership| by.epoch(slot(1)).unwrap_or(Epoch(1));
    let to = |by, to| handed(&store, by, held(by), to);
    assert_eq!(to(&b, "b").await, HandOver::NotHeld);
    assert_eq!(to(&a, "nobody").await, HandOver::NoReceiver);
    assert_eq!(to(&a, "b").await, HandOver::Done);
    // Nobody heard of it, and it is tried again.
    assert_eq!(to(&a, "b").await, HandOver::NotHeld);
    let owner = owner_of(&store, slot(1)).await.unwrap().0.unwrap();
    assert_eq!((owner.node.as_str(), owner.epoch), ("b", Epoch(2)));
    assert_eq!(owner.incarnation, b.incarnation());
    assert_eq!(taken(&store, &b, &[1]).await, [(1, 2)]);
    fence(&store, &suspect(&store, "a").await).await.unwrap();
    assert_eq!(to(&b, "a").await, HandOver::NoReceiver);
}

#[tokio::test]
async fn a_slot_is_handed_to_a_node_off_the_bus_only_where_none_reaches_it() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    taken(&store, &a, &[1]).await;
    let says = |node, reaches_bus| {
        let says = Saying {
            reaches_bus,
            ..WELL
        };
        beat(&store, node, says, AS_MEANT)
    };
    let to_b = || handed(&store, &a, Epoch(1), "b");
    assert!(matches!(says(&b, false).await, Ok(Beat::Committed(_))));
    assert_eq!(to_b().await, HandOver::NoReceiver);
    // The bus itself is gone: a slot is as well off there as anywhere.
    assert!(matches!(says(&a, false).await, Ok(Beat::Committed(_))));
    assert_eq!(to_b().await, HandOver::Done);
}

#[tokio::test]
async fn who_leaves_ends_its_own_run_and_no_later_one() {
    let store = store();
    let a = started(&store, "a").await;
    let again = started(&store, "a").await;
    leave(&store, &a).await.unwrap();
    assert!(!nodes(&store).await["a"].fenced);
    leave(&store, &again).await.unwrap();
    assert!(nodes(&store).await["a"].fenced);
}

#[tokio::test]
async fn all_owners_are_found_by_slot() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    taken(&store, &a, &[0, 4_095]).await;
    taken(&store, &b, &[7]).await;
    let found = owners(&store).await.unwrap();
    let names = found.slots.iter();
    let names: Vec<_> = names
        .map(|(slot, row)| (slot.number(), row.node.as_str()))
        .collect();
    assert_eq!(names, [(0, "a"), (7, "b"), (4_095, "a")]);
    assert_eq!(owner_of(&store, slot(3)).await.unwrap().0, None);
}

/// How often a transaction is begun that fails so, and what becomes of it.
async fn tries(failures: usize, error: StoreError) -> (usize, Result<(), StoreError>) {
    let tries = std::cell::Cell::new(0);
    let result = retried(|| {
        tries.set(tries.get() + 1);
        let result = if tries.get() <= failures {
            Err(error.clone())
        } else {
            Ok(())
        };
        std::future::ready(result)
    })
    .await;
    (tries.get(), result)
}

#[tokio::test]
async fn a_claim_is_tried_again_only_when_nothing_came_of_it() {
    assert_eq!(tries(0, StoreError::Conflict).await.0, 1);
    let (count, result) = tries(TRIES_MAX - 1, StoreError::Conflict).await;
    assert!(count == TRIES_MAX && result.is_ok());
    let (count, result) = tries(TRIES_MAX, StoreError::TooOld).await;
    assert!(count == TRIES_MAX && matches!(result, Err(StoreError::TooOld)));
    let (count, result) = tries(1, StoreError::OutcomeUnknown).await;
    assert!(count == 1 && matches!(result, Err(StoreError::OutcomeUnknown)));
}

fn order(by: &str, at_ms: u64) -> FenceOrder {
    FenceOrder {
        by: Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse(by).unwrap(),
        },
        at: Timestamp::from_ms(at_ms),
    }
}

#[tokio::test]
async fn no_beat_commits_once_an_operator_has_ordered_the_end_of_its_run() {
    let store = store();
    let (a, b) = (started(&store, "a").await, started(&store, "b").await);
    assert_eq!(taken(&store, &a, &[1]).await, [(1, 1)]);
    let run = a.incarnation();
    let given = order_fence(&store, "a", run, &order("kim", 7), AS_MEANT).await;
    assert_eq!(given.unwrap().unwrap(), order("kim", 7));
    // It may answer from memory still: nobody takes its slots before it is found silent.
    assert!(!nodes(&store).await["a"].fenced);
    assert_eq!(taken(&store, &b, &[1]).await, []);
    assert_eq!(
        beat(&store, &a, WELL, AS_MEANT).await.unwrap(),
        Beat::Fenced
    );
    assert_eq!(nodes(&store).await["a"].beat, 0, "nothing was written");
    assert!(fence(&store, &suspect(&store, "a").await).await.unwrap());
    assert_eq!(taken(&store, &b, &[1]).await, [(1, 2)]);
    // The next run beats.
    let again = started(&store, "a").await;
    assert!(matches!(
        beat(&store, &again, WELL, AS_MEANT).await.unwrap(),
        Beat::Committed(_)
    ));
}

#[tokio::test]
async fn an_order_that_comes_twice_is_the_first_and_ends_no_further_run() {
    let store = store();
    let run = started(&store, "a").await.incarnation();
    let give = async |run, order: &FenceOrder| {
        order_fence(&store, "a", run, order, AS_MEANT)
            .await
            .unwrap()
    };
    assert_eq!(give(run, &order("kim", 7)).await, Ok(order("kim", 7)));
    assert_eq!(give(run, &order("lee", 9)).await, Ok(order("kim", 7)));
    let next = started(&store, "a").await;
    assert_eq!(give(run, &order("lee", 9)).await, Ok(order("kim", 7)));
    assert!(matches!(
        beat(&store, &next, WELL, AS_MEANT).await.unwrap(),
        Beat::Committed(_)
    ));
    let late = give(Incarnation(run.0 + 5), &order("lee", 9)).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::InvalidState);
    for unknown in ["", "z"] {
        let refused = order_fence(&store, unknown, run, &order("kim", 7), AS_MEANT).await;
        assert_eq!(refused.unwrap().unwrap_err().code, ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn an_order_meets_the_beat_that_comes_at_the_same_time() {
    let store = store();
    let a = started(&store, "a").await;
    let mut txn = store.begin().await.unwrap();
    let run = a.incarnation();
    assert_eq!(fence_order(&mut txn, "a", run).await.unwrap(), None);
    let row = node_row(&mut txn, "a", Read::Conflict).await.unwrap();
    let next = NodeRow {
        beat: 1,
        ..row.unwrap()
    };
    txn.set(keys::node::key("a"), keys::node::encode(&next));
    let given = order_fence(&store, "a", run, &order("kim", 7), AS_MEANT).await;
    given.unwrap().unwrap();
    assert!(matches!(txn.commit().await, Err(StoreError::Conflict)));
}
