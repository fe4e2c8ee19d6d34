//! All parts of a run together: what a rehearsal says of each, and the checkpoint that a run ends with.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use sillok_core::checkpoint::ChainEnd;
use sillok_core::citation::Citation;
use sillok_core::id::{RecordId, Seq};
use sillok_core::ports::{Checkpoints, PortError};
use sillok_core::schedule::Run;

use super::*;
use crate::audit::checkpoint::against;

/// Keeps checkpoints in memory.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) all: Mutex<Vec<Vec<ChainEnd>>>,
    refuses: AtomicBool,
}

impl Checkpoints for Kept {
    fn file(&self, made_at: Timestamp) -> String {
        format!("{}.checkpoint", made_at.ms() / DAY_MS)
    }

    fn keep(
        &self,
        made_at: Timestamp,
        _generation: u32,
        ends: Vec<ChainEnd>,
    ) -> BoxFuture<'_, Result<String, PortError>> {
        Box::pin(async move {
            if self.refuses.load(Ordering::Relaxed) {
                return Err(PortError::Unavailable("the disk is full".into()));
            }
            self.all.lock().unwrap().push(ends);
            Ok(self.file(made_at))
        })
    }
}

async fn signing() -> (Stage, Arc<Kept>) {
    signing_over(ports()).await
}

/// The same over other ports.
pub(super) async fn signing_over(ports: Ports) -> (Stage, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let checkpoints: Arc<dyn Checkpoints> = Arc::clone(&kept) as _;
    let stage = Stage::over(Ports {
        checkpoints: Some(checkpoints),
        ..ports
    });
    (stage.await, kept)
}

/// The last run that is written down.
async fn last_run(stage: &Stage) -> Run {
    let runs = nightly::known(&stage.store).await.unwrap();
    runs.unwrap().last.unwrap()
}

/// An entry that comes from a task: it cites the first record there.
async fn drawn(stage: &mut Stage, task: &str, content: &str) -> EntryId {
    let id = RecordId {
        scope: scope(task),
        seq: Seq::new(2),
    };
    let record = stage.node.reader().record(&id).await.unwrap().unwrap();
    let time = record.time;
    let mut entry = crate::tests::world::entry(Table::Observations, content);
    entry.citations = vec![Citation::Log { id, time }];
    let command = Command::PutEntry {
        entry: Box::new(entry),
        verification: None,
    };
    match stage.give(PrincipalKind::Human, PROJECT, command).await {
        AnswerBody::Entry { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

/// Something for each part, 91 days later.
pub(super) async fn prepare(stage: &mut Stage) {
    let task = worked(stage, "source", 1).await.scope;
    for number in 0..7 {
        drawn(
            stage,
            task.as_str(),
            &format!("fact {number} of the source"),
        )
        .await;
    }
    stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    stage
        .put(Table::Skills, "bisect by hand", skill("by hand", 0.1))
        .await;
    proven(stage).await;
    stage.days.store(91, Ordering::Relaxed);
    stage
        .put(Table::Observations, "CI runs on arm", Detail::Plain)
        .await;
}

#[tokio::test]
async fn a_rehearsal_says_of_every_part_what_the_run_does() {
    let (mut stage, kept) = signing().await;
    prepare(&mut stage).await;
    let before = pairs_of(&stage.store).await;
    let planned = stage.maintain(true, false).await.unwrap();
    assert!(
        pairs_of(&stage.store).await == before,
        "a dry run writes nothing"
    );
    assert!(kept.all.lock().unwrap().is_empty());
    let done = stage.maintain(false, false).await.unwrap();
    let of = |run: &Maintained| {
        let scope = &run.scopes[0];
        let parts = (
            run.offered,
            run.not_offered,
            run.forgotten,
            run.halted,
            run.unreadable,
        );
        let file = run.checkpoint.clone();
        (
            run.looked_at,
            run.scopes.len(),
            scope.plan.clone(),
            scope.asks,
            parts,
            file,
        )
    };
    assert_eq!(of(&planned), of(&done));
    let plan = &planned.scopes[0].plan;
    assert_eq!((plan.aged.len(), plan.pruned.len(), plan.kept), (3, 1, 5));
    assert_eq!((planned.looked_at, planned.offered), (11, 1));
    assert!(planned.forgotten > 0 && planned.checkpoint.is_some());
    assert_eq!((done.scopes[0].retired, done.scopes[0].left), (4, 0));
    let going = plan.aged.iter().chain(&plan.pruned);
    for (entry, _) in going {
        assert_eq!(stage.status(*entry).await, Status::Archived);
    }
    let again = stage.maintain(true, false).await.unwrap();
    assert_eq!(
        (again.scopes.len(), again.offered, again.forgotten),
        (0, 0, 0)
    );
    holds(&stage).await;
}

#[tokio::test]
async fn a_run_ends_with_a_checkpoint_that_history_is_held_against() {
    let (mut stage, kept) = signing().await;
    stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    stage.days.store(91, Ordering::Relaxed);
    let done = stage.maintain(false, false).await.unwrap();
    let ends = kept.all.lock().unwrap().pop().unwrap();
    assert_eq!(against(&stage.store, &ends).await.unwrap(), None);
    let of_project = ends.iter().find(|end| end.scope.as_str() == PROJECT);
    assert_eq!(
        of_project.unwrap().seq,
        Seq::new(2),
        "with what the run took out"
    );
    let last = last_run(&stage).await;
    assert!(done.checkpoint.is_some());
    assert_eq!((last.checkpoint, last.did.refused), (done.checkpoint, 0));

    let sign = Maintain {
        parts: [Part::Sign].into(),
        ..Maintain::whole()
    };
    let alone = stage.node.maintain(&sign).await.unwrap();
    assert!(alone.checkpoint.is_some() && !alone.optimised && alone.scopes.is_empty());
    let rehearsed = Maintain {
        dry_run: true,
        ..sign.clone()
    };
    let named = stage.node.maintain(&rehearsed).await.unwrap();
    assert_eq!(named.checkpoint, alone.checkpoint);
    assert_eq!(kept.all.lock().unwrap().len(), 1);
    let others = Maintain {
        parts: [Part::Archive].into(),
        ..Maintain::whole()
    };
    assert_eq!(stage.node.maintain(&others).await.unwrap().checkpoint, None);
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_kept_keeps_nothing_else() {
    let (mut stage, kept) = signing().await;
    let old = stage
        .put(Table::Observations, "the linker is lld", Detail::Plain)
        .await;
    stage.days.store(91, Ordering::Relaxed);
    kept.refuses.store(true, Ordering::Relaxed);
    let done = stage.maintain(false, false).await.unwrap();
    let error = done.checkpoint_error.clone().unwrap();
    assert!(error.message.contains("the disk is full"), "{error}");
    assert_eq!((done.checkpoint.clone(), done.optimised), (None, true));
    assert_eq!(stage.status(old).await, Status::Archived);
    assert_eq!(done.outcome().refused, 1);
    let last = last_run(&stage).await;
    assert_eq!((last.checkpoint, last.did.refused), (None, 1));
    holds(&stage).await;
}

#[tokio::test]
async fn where_nobody_keeps_checkpoints_only_who_asks_for_one_is_refused() {
    let stage = Stage::set().await;
    let whole = stage.maintain(false, false).await.unwrap();
    assert_eq!((whole.checkpoint, whole.checkpoint_error), (None, None));
    let sign = Maintain {
        parts: [Part::Sign].into(),
        ..Maintain::whole()
    };
    let refused = stage.node.maintain(&sign).await.unwrap();
    assert_eq!(
        refused.checkpoint_error.unwrap().code,
        ErrorCode::InvalidArgument
    );
}

#[tokio::test]
async fn a_night_ends_with_a_checkpoint() {
    let (stage, kept) = signing().await;
    let shared = Arc::clone(stage.node.shared());
    let router = Arc::new(Router::new(Arc::clone(&shared)));
    for days in [0, 1, 2] {
        stage.days.store(days, Ordering::Relaxed);
        nightly::look(&shared, &router, &Midnight).await.unwrap();
    }
    assert_eq!(kept.all.lock().unwrap().len(), 2, "one for each night");
    assert_eq!(stage.node.maintenance_progress(), None);
}
