//! Tests of maintenance runs: what they take out, what they leave, and that only one runs at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Binding, Detail, Metadata, Skill, Status, Table};
use sillok_core::id::{EntryId, Epoch, Incarnation};
use sillok_core::membership::{OwnerRow, WireVersion};
use sillok_core::ports::{BoxFuture, Calendar, Clock};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{Family, ScopeKey};
use sillok_store::{Store, Txn as _, keys};

mod parts;

use super::*;

mod at_once;
mod fenced;
mod jumped;
mod offered;

use crate::admission::{Permit, Wanted};
use crate::tests::harness::{
    PROJECT, TestNode, TestStore, append, open_task, ports, scope, store, submission,
};
use crate::tests::index::HookedIndex;
use crate::tests::world::pairs_of;
use crate::{NodeConfig, Ports, audit};

/// A clock whose wall time is moved by hand, and its boot time too, in ms.
struct Wall {
    days: Arc<AtomicU64>,
    boot_ms: Arc<AtomicU64>,
    inner: Arc<dyn Clock>,
}

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        let days = self.days.load(Ordering::Relaxed);
        self.inner.now().plus_ms(days * DAY_MS)
    }

    fn monotonic_us(&self) -> u64 {
        self.inner.monotonic_us() + self.boot_ms.load(Ordering::Relaxed) * 1_000
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.inner.sleep(ms)
    }
}

/// A clock for which nobody waits long.
struct Hurried(Arc<dyn Clock>);

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic_us(&self) -> u64 {
        self.0.monotonic_us()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.0.sleep(ms.div_ceil(100))
    }
}

struct Stage {
    store: TestStore,
    node: TestNode,
    days: Arc<AtomicU64>,
    boot_ms: Arc<AtomicU64>,
    given: u64,
}

impl Stage {
    async fn set() -> Self {
        Self::over(ports()).await
    }

    async fn over(inner: Ports) -> Self {
        let (store, days, boot_ms) = (store(), Arc::default(), Arc::default());
        let wall = Wall {
            days: Arc::clone(&days),
            boot_ms: Arc::clone(&boot_ms),
            inner: Arc::clone(&inner.clock),
        };
        let ports = Ports {
            clock: Arc::new(wall),
            ..inner
        };
        let node = TestNode::start(store.clone(), ports, NodeConfig::default()).await;
        Self {
            store,
            node: node.unwrap(),
            days,
            boot_ms,
            given: 0,
        }
    }

    async fn give(&mut self, kind: PrincipalKind, path: &str, command: Command) -> AnswerBody {
        let submission = self.made(kind, path, command);
        self.node.submit(submission).await.unwrap().result
    }

    /// A command that is made now.
    fn made(&mut self, kind: PrincipalKind, path: &str, command: Command) -> Submission {
        self.given += 1;
        let mut submission = submission(self.given, kind, path, command);
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.given.to_be_bytes());
        submission.id = CommandId::from_parts(self.node.ports().clock.now(), random);
        submission
    }

    /// A command of somebody that waits until it is dropped.
    fn waits(&self) -> Permit {
        let wanted = Wanted {
            scope: &scope(PROJECT),
            bytes: 1,
            is_own: false,
            is_metered: true,
            now_ms: self.node.ports().clock.monotonic_ms(),
        };
        let admission = self.node.router().admission();
        admission.admit(&Arc::default(), wanted).unwrap()
    }

    /// How many answers are kept.
    async fn answers(&self) -> usize {
        let pairs = pairs_of(&self.store).await;
        let is_answer = |key: &&Vec<u8>| Family::of(key) == Some(Family::Command);
        pairs.keys().filter(is_answer).count()
    }

    async fn put(&mut self, table: Table, content: &str, detail: Detail) -> EntryId {
        let entry = NewEntry {
            table,
            content: content.into(),
            detail,
            metadata: Metadata::default(),
            claim: None,
            citations: Vec::new(),
            failure: false,
            binding: Binding::NoRepository,
            embedding: None,
        };
        let command = Command::PutEntry {
            entry: Box::new(entry),
            verification: None,
        };
        match self.give(PrincipalKind::Human, PROJECT, command).await {
            AnswerBody::Entry { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    async fn status(&self, id: EntryId) -> Status {
        self.node
            .reader()
            .entry(id)
            .await
            .unwrap()
            .unwrap()
            .head
            .status
    }

    async fn maintain(&self, dry_run: bool, force: bool) -> Result<Maintained, Error> {
        let asked = Maintain {
            dry_run,
            parts: Part::ALL.into(),
            force,
            within: None,
        };
        self.node.maintain(&asked).await
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_plans_what_the_run_does() {
    let mut stage = Stage::set().await;
    let old = stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    stage.days.store(91, Ordering::Relaxed);
    let young = stage
        .put(Table::Observations, "CI runs on arm", Detail::Plain)
        .await;
    let before = pairs_of(&stage.store).await;
    let planned = stage.maintain(true, false).await.unwrap();
    assert!(
        pairs_of(&stage.store).await == before,
        "a dry run writes nothing"
    );
    let done = stage.maintain(false, false).await.unwrap();
    let plans = |run: &Maintained| -> Vec<_> {
        run.scopes
            .iter()
            .map(|scope| (scope.scope.clone(), scope.plan.clone(), scope.asks))
            .collect()
    };
    assert_eq!(plans(&planned), plans(&done));
    assert_eq!(planned.looked_at, 2);
    assert_eq!((done.scopes[0].retired, done.scopes[0].left), (1, 0));
    assert_eq!(stage.status(old).await, Status::Archived);
    assert_eq!(stage.status(young).await, Status::Verified);
    let again = stage.maintain(false, false).await.unwrap();
    assert!(again.scopes.is_empty(), "once: {again:?}");
    assert!(audit::verify(&stage.store, &|_| {}).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_clock_that_jumped_a_year_makes_the_run_ask() {
    let mut stage = Stage::set().await;
    let mut entries = Vec::new();
    for number in 0..20 {
        let content = format!("fact number {number} of the build");
        entries.push(
            stage
                .put(Table::Observations, &content, Detail::Plain)
                .await,
        );
    }
    stage.days.store(365, Ordering::Relaxed);
    let asked = stage.maintain(false, false).await.unwrap();
    assert!(asked.scopes[0].asks && asked.scopes[0].retired == 0);
    assert_eq!(stage.status(entries[0]).await, Status::Verified);
    let done = stage.maintain(false, true).await.unwrap();
    assert_eq!(done.scopes[0].retired, 20);
    assert_eq!(stage.status(entries[0]).await, Status::Archived);
}

fn skill(name: &str, success_rate: f64) -> Detail {
    Detail::Skill(Box::new(Skill {
        name: name.into(),
        description: "Find the commit that broke it".into(),
        code: "git bisect run".into(),
        usage_count: 0,
        success_rate,
    }))
}

/// The three tasks that find skills helpful.
fn tasks() -> [String; 3] {
    [0, 1, 2].map(|number| format!("{PROJECT}/worktree/main/task/t{number}"))
}

/// A skill that three tasks found helpful, and those tasks.
async fn proven(stage: &mut Stage) -> EntryId {
    for task in tasks() {
        stage.give(PrincipalKind::Agent, &task, open_task()).await;
    }
    helpful(stage, "bisect", "bisect: find the commit").await
}

/// A skill that the three tasks found helpful.
async fn helpful(stage: &mut Stage, name: &str, content: &str) -> EntryId {
    let detail = skill(name, 1.0);
    let id = stage.put(Table::Skills, content, detail).await;
    for task in tasks() {
        let report = Command::ReportReuse {
            task: scope(&task),
            entry: id,
            outcome: ReuseOutcome::Helped,
        };
        stage.give(PrincipalKind::Agent, PROJECT, report).await;
    }
    assert_eq!(stage.status(id).await, Status::Published);
    id
}

#[tokio::test]
async fn a_skill_that_three_tasks_found_helpful_is_offered_once() {
    let mut stage = Stage::set().await;
    proven(&mut stage).await;
    for offered in [1, 0] {
        assert_eq!(stage.maintain(false, false).await.unwrap().offered, offered);
    }
    let org = scope("org/acme");
    let waiting = stage
        .node
        .reader()
        .reviews(&org, false, None, 10)
        .await
        .unwrap();
    assert_eq!(waiting.items.len(), 1, "it is offered once");
    assert!(audit::verify(&stage.store, &|_| {}).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_damaged_row_is_counted_and_keeps_nobody_from_the_rest() {
    let mut stage = Stage::set().await;
    let old = stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    let detail = skill("bisect", 0.1);
    let poor = stage
        .put(Table::Skills, "bisect by hand", detail.clone())
        .await;
    let damaged = stage.put(Table::Skills, "bisect", detail).await;
    let key = keys::version::key(&ScopeKey::of(&scope(PROJECT)), damaged, 1);
    let mut txn = stage.store.begin().await.unwrap();
    txn.set(key, vec![9, 9, 9]);
    txn.commit().await.unwrap();
    stage.days.store(91, Ordering::Relaxed);
    let done = stage.maintain(false, false).await.unwrap();
    assert_eq!((done.unreadable, done.scopes[0].retired), (1, 2));
    let noted = nightly::known(&stage.store).await.unwrap().unwrap();
    let noted = noted.last.unwrap().did;
    assert_eq!((done.outcome().refused, noted.refused), (1, 1));
    for gone in [old, poor] {
        assert_eq!(stage.status(gone).await, Status::Archived);
    }
}

#[tokio::test]
async fn a_plan_waits_for_the_index_and_is_refused_where_that_does_not_get_on() {
    let index = HookedIndex::new(|_| {});
    let mut stage = Stage::over(Ports {
        index: index.clone(),
        clock: Arc::new(Hurried(ports().clock)),
        ..ports()
    })
    .await;
    stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    assert_eq!(stage.maintain(true, false).await.unwrap().looked_at, 1);
    index.refuse();
    stage
        .put(Table::Observations, "the port is 80", Detail::Plain)
        .await;
    let refused = stage.maintain(true, false).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    let refused = stage.maintain(false, false).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    index.accept();
    assert_eq!(stage.maintain(false, false).await.unwrap().looked_at, 2);
}

/// A calendar that names the beginning of each day.
struct Midnight;

impl Calendar for Midnight {
    fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        Some(Timestamp::from_ms(now.ms() / DAY_MS * DAY_MS))
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        Some(Timestamp::from_ms((now.ms() / DAY_MS + 1) * DAY_MS))
    }
}

#[tokio::test]
async fn what_is_due_is_run_once_for_its_time_and_missed_nights_together() {
    let mut stage = Stage::set().await;
    let old = stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    let shared = Arc::clone(stage.node.shared());
    let router = Arc::new(Router::new(Arc::clone(&shared)));
    let look = async || nightly::look(&shared, &router, &Midnight).await.unwrap();
    let runs = async || nightly::known(&stage.store).await.unwrap().unwrap();

    look().await;
    assert_eq!(
        runs().await.last,
        None,
        "what was due before the first look is not made up for"
    );
    look().await;
    assert_eq!(runs().await.last, None);

    stage.days.store(100, Ordering::Relaxed);
    look().await;
    let first = runs().await;
    assert_eq!(first.through.ms() % DAY_MS, 0);
    let run = first.last.clone().unwrap();
    assert_eq!((run.did.retired, run.did.asks), (1, 0));
    assert!(run.began <= run.ended && first.through <= run.began);
    assert_eq!(stage.status(old).await, Status::Archived);
    look().await;
    assert_eq!(runs().await, first, "a hundred nights are one run");

    // Another node that saw the same before finds it done once it has the lease.
    let whole = Maintain::whole();
    let late = run_apart(&shared, &router, &whole, Some(first.through));
    assert_eq!(late.await.unwrap(), None);
    assert_eq!(runs().await, first);

    stage.days.store(101, Ordering::Relaxed);
    look().await;
    let second = runs().await;
    assert_eq!(second.through, first.through.plus_ms(DAY_MS));
    assert_eq!(second.last.unwrap().did.retired, 0);
    assert!(audit::verify(&stage.store, &|_| {}).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_whole_run_by_hand_is_written_down_and_a_part_or_rehearsal_is_not() {
    let stage = Stage::set().await;
    let part = Maintain {
        parts: [Part::Archive].into(),
        ..Maintain::whole()
    };
    stage.node.maintain(&part).await.unwrap();
    stage.maintain(true, false).await.unwrap();
    assert_eq!(nightly::known(&stage.store).await.unwrap(), None);
    stage.maintain(false, false).await.unwrap();
    let runs = nightly::known(&stage.store).await.unwrap().unwrap();
    assert!(runs.last.is_some() && runs.through <= runs.last.unwrap().began);
}

#[tokio::test]
async fn beside_a_run_of_a_living_node_no_other_begins() {
    let stage = Stage::set().await;
    let begun = crate::claims::register(&stage.store, "other", WireVersion::NEWEST).await;
    let (run, _) = begun.unwrap().unwrap();
    taken_over(&stage.store, "other", run).await;
    let refused = stage.maintain(false, false).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    assert!(
        stage.maintain(true, false).await.is_ok(),
        "a dry run needs no lease"
    );
    // That run is over: another one of its node began.
    taken_over(&stage.store, "other", Incarnation(run.0 + 7)).await;
    assert!(stage.maintain(false, false).await.is_ok());
    let mut txn = stage.store.begin().await.unwrap();
    let lease = txn
        .get(&keys::lease::key(LEASE), sillok_store::Read::Snapshot)
        .await;
    assert_eq!(lease.unwrap(), None, "it is given back");
}

/// A run of this node has the lease from now on, whoever had it.
pub(super) async fn taken_over(store: &TestStore, node: &str, run: Incarnation) {
    let row = OwnerRow {
        node: node.to_owned(),
        incarnation: run,
        epoch: Epoch(1),
    };
    let mut txn = store.begin().await.unwrap();
    txn.set(keys::lease::key(LEASE), keys::lease::encode(&row));
    txn.commit().await.unwrap();
}

/// A task of its own, opened by an agent, with `records` records.
async fn worked(stage: &mut Stage, name: &str, records: usize) -> Submission {
    let task = format!("{PROJECT}/worktree/w/task/{name}");
    let opened = stage.made(PrincipalKind::Agent, &task, open_task());
    stage.node.submit(opened.clone()).await.unwrap();
    for _ in 0..records {
        stage
            .give(PrincipalKind::Agent, &task, append("a line"))
            .await;
    }
    opened
}

async fn holds(stage: &Stage) {
    let report = audit::verify(&stage.store, &|_| {}).await.unwrap();
    assert_eq!(report.first, None);
}

#[tokio::test]
async fn answers_are_forgotten_once_nobody_may_ask_again() {
    let mut stage = Stage::set().await;
    let many = 2 * 256 + 7;
    let opened = worked(&mut stage, "old", many).await;
    stage.days.store(30, Ordering::Relaxed);
    worked(&mut stage, "newer", 1).await;
    let before = stage.answers().await;
    assert_eq!(before, many + 3);
    assert_eq!(stage.maintain(false, false).await.unwrap().forgotten, 0);
    assert_eq!(stage.answers().await, before);
    // A retry still has its first answer.
    stage.node.submit(opened.clone()).await.unwrap();
    stage.days.store(32, Ordering::Relaxed);
    assert_eq!(
        stage.maintain(false, false).await.unwrap().forgotten,
        0,
        "nobody has written since"
    );
    worked(&mut stage, "newest", 1).await;
    let rows = pairs_of(&stage.store).await;
    let planned = stage.maintain(true, false).await.unwrap();
    assert!(
        pairs_of(&stage.store).await == rows,
        "a dry run writes nothing"
    );
    let done = stage.maintain(false, false).await.unwrap();
    assert_eq!(
        (planned.forgotten, done.forgotten),
        (many as u64 + 1, many as u64 + 1)
    );
    assert_eq!(stage.answers().await, 4);
    let refused = stage.node.submit(opened.clone()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Expired);
    holds(&stage).await;
    let rows = pairs_of(&stage.store).await;
    assert_eq!(stage.maintain(false, false).await.unwrap().forgotten, 0);
    let scopes = |pairs: &BTreeMap<Vec<u8>, Vec<u8>>| -> Vec<_> {
        let of = |(key, _): &(&Vec<u8>, &Vec<u8>)| Family::of(key) == Some(Family::Scope);
        let rows = pairs.iter().filter(of);
        rows.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    assert!(
        scopes(&pairs_of(&stage.store).await) == scopes(&rows),
        "it is looked at once"
    );
    // Whoever goes on there is answered as ever.
    let late = stage.made(
        PrincipalKind::Agent,
        opened.scope.as_str(),
        append("a late line"),
    );
    let first = stage.node.submit(late.clone()).await.unwrap();
    assert_eq!(stage.node.submit(late).await.unwrap(), first);
    holds(&stage).await;
}

#[tokio::test]
async fn a_scope_that_is_written_to_forgets_what_is_behind_its_floor() {
    let mut stage = Stage::set().await;
    worked(&mut stage, "long", 3).await;
    stage.days.store(40, Ordering::Relaxed);
    let task = format!("{PROJECT}/worktree/w/task/long");
    stage
        .give(PrincipalKind::Agent, &task, append("a line of today"))
        .await;
    let within = Maintain {
        parts: [Part::Forget].into(),
        within: Some(scope(&format!("{PROJECT}/worktree/other"))),
        ..Maintain::whole()
    };
    assert_eq!(stage.node.maintain(&within).await.unwrap().forgotten, 0);
    let others = Maintain {
        parts: [Part::Archive, Part::Prune].into(),
        ..Maintain::whole()
    };
    assert_eq!(stage.node.maintain(&others).await.unwrap().forgotten, 0);
    assert_eq!(stage.maintain(false, false).await.unwrap().forgotten, 4);
    assert_eq!(stage.answers().await, 1);
    holds(&stage).await;
}

#[tokio::test]
async fn who_writes_while_answers_are_forgotten_is_not_refused() {
    let mut stage = Stage::set().await;
    let opened = worked(&mut stage, "old", 2).await;
    stage.days.store(40, Ordering::Relaxed);
    worked(&mut stage, "newest", 1).await;
    let task = opened.scope.as_str().to_owned();
    let late = stage.made(PrincipalKind::Agent, &task, append("a late line"));
    let (done, written) = tokio::join!(
        stage.maintain(false, false),
        stage.node.submit(late.clone())
    );
    done.unwrap();
    assert_eq!(stage.node.submit(late).await.unwrap(), written.unwrap());
    assert_eq!(
        stage.node.submit(opened).await.unwrap_err().code,
        ErrorCode::Expired
    );
    holds(&stage).await;
}
