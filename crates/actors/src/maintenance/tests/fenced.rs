//! A run whose lease went to another one meanwhile: it ends, and does and writes nothing more.

use sillok_core::schedule::{Outcome, Run};
use sillok_store::{Error as StoreError, KeyRange, Read};

use super::parts::{Kept, prepare, signing_over};
use super::*;
use crate::protocol::Without;
use crate::tests::harness::{AS_MEANT, TestNode, TestStore};
use crate::tests::line::{Fate, Line};

/// Takes the lease as a run of this node does: the row by which it is held.
async fn taken_by(node: &TestNode) -> OwnerRow {
    let shared = node.shared();
    let (node, run) = (shared.ownership.node(), shared.ownership.incarnation());
    let taken = lease::take(&shared.store, LEASE, node, run).await;
    taken.unwrap().unwrap()
}

async fn taken(stage: &Stage) -> OwnerRow {
    taken_by(&stage.node).await
}

/// What the run of the node goes on with, behind a line.
fn behind(line: &Line, stage: &Stage) -> Shared<TestStore, Without> {
    let of = stage.node.shared();
    let (ports, config) = (of.ports.clone(), of.config.clone());
    let shared = Shared::new(line.clone(), ports, config, AS_MEANT);
    shared.ownership.begin_run(of.ownership.incarnation());
    shared
}

/// What a run that did nothing writes down.
fn noted_by(stage: &Stage) -> Run {
    let now = stage.node.ports().clock.now();
    Run {
        node: stage.node.shared().ownership.node().to_owned(),
        began: now,
        ended: now,
        did: Outcome::default(),
        checkpoint: None,
    }
}

/// Nobody hears whose the lease is.
fn silent(line: &Line) {
    line.lose_range(KeyRange::key(&keys::lease::key(LEASE)));
}

/// What was held back finds the lease taken by another node's run, and writes nothing.
async fn lands_too_late(line: &Line, stage: &Stage) {
    taken_over(&stage.store, "other", Incarnation(1)).await;
    let before = pairs_of(&stage.store).await;
    assert!(matches!(line.land().await, Err(StoreError::Conflict)));
    line.mend();
    assert!(pairs_of(&stage.store).await == before);
}

/// A run that holds the lease by this row.
fn held<'a>(stage: &'a Stage, taken: &OwnerRow) -> Held<'a, TestStore, Without> {
    Held::new(stage.node.shared(), taken.clone())
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
    taken_over(&stage.store, "other", Incarnation(1)).await;
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
    taken_over(&stage.store, "other", Incarnation(1)).await;
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
    let line = Line::new(&stage.store, Fate::Arrives);
    let (shared, taken) = (behind(&line, &stage), taken(&stage).await);
    let noting = Held::new(&shared, taken);
    let run = noted_by(&stage);
    assert!(nightly::note(&noting, &run, None).await.unwrap());
    let noted = nightly::known(&stage.store).await.unwrap();
    assert_eq!(noted.clone().unwrap().last, Some(run.clone()));
    // It is taken between the look and the commit.
    line.hold_next();
    let next = Some(run.began);
    let unheard = nightly::note(&noting, &run, next).await.unwrap_err();
    assert!(matches!(unheard, StoreError::OutcomeUnknown), "{unheard}");
    lands_too_late(&line, &stage).await;
    assert!(!nightly::note(&noting, &run, next).await.unwrap());
    assert_eq!(nightly::known(&stage.store).await.unwrap(), noted);
}

#[tokio::test]
async fn an_answer_is_forgotten_only_while_the_lease_is_the_runs_own() {
    let mut stage = Stage::set().await;
    worked(&mut stage, "old", 2).await;
    stage.days.store(40, Ordering::Relaxed);
    worked(&mut stage, "newest", 1).await;
    let line = Line::new(&stage.store, Fate::Arrives);
    let (shared, taken) = (behind(&line, &stage), taken(&stage).await);
    let (run, asked) = (Held::new(&shared, taken), only(Part::Forget));
    line.hold_next();
    let unheard = forget::answers(&shared, &asked, Some(&run)).await;
    assert_eq!(unheard.unwrap_err().code, ErrorCode::OutcomeUnknown);
    lands_too_late(&line, &stage).await;
    let ended = forget::answers(&shared, &asked, Some(&run)).await;
    assert_eq!(ended.unwrap_err().code, ErrorCode::Fenced);
    assert_eq!(
        stage.answers().await,
        5,
        "three of the old task, two of the other"
    );
}

#[tokio::test]
async fn each_scope_is_told_of_where_the_store_does_not_say_whose_the_lease_is() {
    let line = Line::new(&store(), Fate::Arrives);
    let days = Arc::new(AtomicU64::new(0));
    let wall = Wall {
        days: Arc::clone(&days),
        boot_ms: Arc::default(),
        inner: ports().clock,
    };
    let ports = Ports {
        clock: Arc::new(wall),
        ..ports()
    };
    let node = TestNode::start(line.clone(), ports, NodeConfig::default()).await;
    let node = node.unwrap();
    let entry = NewEntry {
        detail: skill("by hand", 0.1),
        ..crate::tests::world::entry(Table::Skills, "bisect by hand")
    };
    let put = Command::PutEntry {
        entry: Box::new(entry),
        verification: None,
    };
    let put = submission(0, PrincipalKind::Human, PROJECT, put);
    node.submit(put).await.unwrap();
    days.store(91, Ordering::Relaxed);
    let held = Held::new(node.shared(), taken_by(&node).await);
    let turn = node.shared().maintenance.begin().unwrap();
    silent(&line);
    let done = carry_out(&held, node.router(), &only(Part::Prune), &turn).await;
    let done = done.unwrap();
    let [told] = done.scopes.as_slice() else {
        panic!("{done:?}");
    };
    let code = told.error.as_ref().map(|error| error.code);
    assert_eq!((told.retired, code), (0, Some(ErrorCode::Unavailable)));
    assert_eq!(done.checkpoint_error, None, "nobody asked for one");
}

#[tokio::test]
async fn what_a_run_did_is_told_where_the_store_does_not_say_whose_the_lease_is_in_the_end() {
    let (index, kept) = (HookedIndex::new(|_| {}), Arc::new(Kept::default()));
    let ports = Ports {
        index: index.clone(),
        checkpoints: Some(kept.clone()),
        ..ports()
    };
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports, NodeConfig::default()).await;
    let node = node.unwrap();
    let held = Held::new(node.shared(), taken_by(&node).await);
    let turn = node.shared().maintenance.begin().unwrap();
    let cut = line.clone();
    index.before_optimised(move || silent(&cut));
    let whole = Maintain::whole();
    let done = once(&held, node.router(), &whole, None, &turn).await;
    let done = done.unwrap().unwrap();
    assert_eq!((done.optimised, done.checkpoint), (true, None));
    let why = done.checkpoint_error.map(|error| error.code);
    assert_eq!(why, Some(ErrorCode::Unavailable));
    assert!(kept.all.lock().unwrap().is_empty());
    // The same run, once the store says so again.
    line.repair();
    let (file, why) = signed(node.shared(), &whole, held.unless_lost().await.unwrap()).await;
    assert!(file.is_some() && why.is_none(), "{why:?}");
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
