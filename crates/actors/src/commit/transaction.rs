//! Writing a batch: one transaction that conflicts with everything it was decided from.
//!
//! Owns the conflict set and the order of writes: chunks first, then everything else at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sillok_core::channel::Runs;
use sillok_core::entry::Status;
use sillok_core::event::Body;
use sillok_core::id::{EntryId, Epoch, Seq};
use sillok_core::ports::Rng;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::state::{Change, State};
use sillok_core::task::Task;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, Read, Store, Txn};

use super::batch::{Deciding, gather};
use super::chunks::{look_again, write_chunks};
use super::decided::Decided;
use super::decisions::Elsewhere;
use super::erasing::Erasing;
use super::job_news::follow_jobs;
use super::{Failure, Outcome, Shared, decisions, failures};
use crate::documents;
use crate::errors::refusal;
use crate::known_tip::KnownTip;
use crate::metrics::{count, seconds};
use crate::protocol::{Protocol, Safeguard};
use crate::rows::{self, Place};
use crate::scope_actor::Pending;
use crate::spans::{Noted, OpenSpan};

impl Failure {
    pub(super) fn of(error: &StoreError) -> Self {
        match error {
            StoreError::Conflict => Self::Again,
            StoreError::TooOld => Self::TooOld,
            StoreError::OutcomeUnknown => Self::Unknown,
            StoreError::TooLarge { .. } => Self::TooLarge(refusal(error)),
            _ => Self::Refused(refusal(error)),
        }
    }
}

/// Decides and commits a batch once, without those commands of it that have `panicked`.
///
/// # Errors
/// Why it did not commit; the state is dropped with it.
pub(super) async fn attempt<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    scope: &Scope,
    tip: &KnownTip,
    state: Option<State>,
    rng: &mut dyn Rng,
    batch: &[Pending],
    panicked: &BTreeSet<usize>,
) -> Result<(State, Vec<Outcome>), Failure> {
    let place = Place::of(scope);
    let (scope_key, slot) = (place.key, place.slot);
    let held_before = shared.ownership.epoch(slot);
    let gathered = gather(shared, scope, batch, panicked).await?;
    let mut txn = begin(shared).await?;
    let epoch = check_owner(shared, &mut txn, slot).await?;
    if held_before != Some(epoch) {
        // Whoever held the slot in between may have published what was not gathered.
        return Err(Failure::Again);
    }
    let state = current_state(shared.protocol, &mut txn, scope, &scope_key, state).await?;
    let before = state.row().clone();
    let deciding = Deciding {
        shared,
        txn: &mut txn,
        rng,
        scope_key,
        epoch,
        now: shared.ports.clock.now(),
        gathered,
        judged_from: failures::before_batch(shared.protocol, &state),
        decided: Decided {
            state,
            outcomes: Vec::with_capacity(batch.len()),
            events: Vec::new(),
            kinds: Vec::new(),
            runs: Runs::default(),
            changes: Vec::new(),
            records: Vec::new(),
            chunks: Vec::new(),
            erasing: Erasing::default(),
            seen: Vec::new(),
            elsewhere: Elsewhere::default(),
        },
        earlier: BTreeMap::new(),
    };
    let mut decided = deciding.all(batch).await?;
    if decided.is_empty() {
        return Ok((decided.state, decided.outcomes));
    }
    if !decided.chunks.is_empty() {
        write_chunks(shared, (slot, &scope_key), &before, &decided.chunks).await?;
        // The chunks are newer than the transaction: begin anew, and look again at all that was seen.
        txn = begin(shared).await?;
        if check_owner(shared, &mut txn, slot).await? != epoch {
            return Err(Failure::Again);
        }
        look_again(shared.protocol, &mut txn, &scope_key, &before, &decided).await?;
    }
    decisions::relate_apart(shared, &place, &decided.changes).await?;
    write(shared.protocol, &mut txn, &place, &decided);
    let moving = (!decided.events.is_empty()).then(|| tip.moves());
    let noted = note(shared, scope, before.tip.seq.next(), batch, &decided);
    let stamp = commit(shared, slot, txn).await?;
    noted.stands();
    if let Some(moving) = moving {
        moving.to(epoch, decided.state.row().tip);
    }
    if !shared.protocol.keeps(Safeguard::TellsWithEvents) && !decided.events.is_empty() {
        tell_apart(shared, &place, &decided).await?;
    }
    if shared.ports.streams.is_some() {
        shared.fresh_runs.add(stamp, decided.runs.as_slice());
    }
    note_committed(shared, &decided);
    tell_index(shared, &mut decided, stamp).await?;
    follow_jobs(shared, slot, batch, &decided);
    Ok((decided.state, decided.outcomes))
}

/// Counts what has committed.
fn note_committed<S: Store, P: Protocol>(shared: &Shared<S, P>, decided: &Decided) {
    let counters = &shared.counters;
    let applied = decided.applied();
    count(&counters.batches, 1);
    count(&counters.commands, applied as u64);
    #[expect(clippy::cast_precision_loss, reason = "a batch is bounded")]
    counters.batch_commands.observe(applied as f64);
    count(&counters.promotions_started, decided.jobs().count() as u64);
    counters.wrote(&decided.kinds);
}

/// Remembers which traces what is about to be committed belongs to: those of the commands that wrote it.
fn note<'a, S: Store, P: Protocol>(
    shared: &'a Shared<S, P>,
    scope: &Scope,
    first: Seq,
    batch: &[Pending],
    decided: &Decided,
) -> Noted<'a> {
    let mut next = first;
    let mut wrote: Vec<(Seq, Seq, &OpenSpan)> = Vec::new();
    for (pending, outcome) in batch.iter().zip(&decided.outcomes) {
        if let Outcome::Answered(answer) = outcome
            && answer.seq >= next
        {
            wrote.push((next, answer.seq, &pending.span));
            next = answer.seq.next();
        }
    }
    let rows = decided.runs.as_slice().iter().map(|run| {
        let of_run = wrote
            .iter()
            .filter(|(begin, end, _)| *begin <= run.last && *end >= run.first);
        (run.first, of_run.map(|(.., span)| *span).collect())
    });
    shared.spans.note_commit(scope, rows)
}

pub(super) async fn begin<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<S::Txn, Failure> {
    let txn = shared.store.begin().await;
    txn.map_err(|error| Failure::of(&error))
}

async fn commit<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    slot: Slot,
    txn: S::Txn,
) -> Result<Stamp, Failure> {
    let streams = shared.ports.streams.as_ref();
    let followers = (
        shared.bus_feed.begin(slot),
        shared.index_feed.begin(slot),
        streams.map(|_| shared.stream_feeds.begin(slot)),
    );
    if !shared.protocol.keeps(Safeguard::AnswersAfterCommit) {
        tokio::spawn(async move {
            let _followers = followers;
            txn.commit().await
        });
        return Ok(Stamp::ZERO);
    }
    let begun_us = shared.ports.clock.monotonic_us();
    let committed = txn.commit().await.map_err(|error| Failure::of(&error))?;
    drop(followers);
    let took_us = shared.ports.clock.monotonic_us().saturating_sub(begun_us);
    shared.counters.commit_seconds.observe(seconds(took_us));
    Ok(committed.stamp)
}

/// Planted bug: the outbox row is written once the events are there.
async fn tell_apart<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    place: &Place,
    decided: &Decided,
) -> Result<(), Failure> {
    let mut txn = begin(shared).await?;
    check_owner(shared, &mut txn, place.slot).await?;
    write_outbox(shared.protocol, &mut txn, place, decided);
    commit(shared, place.slot, txn).await.map(drop)
}

/// The slot must still belong to this run of this node, until the commit: under which epoch it does.
pub(super) async fn check_owner<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    txn: &mut S::Txn,
    slot: Slot,
) -> Result<Epoch, Failure> {
    if !shared.protocol.keeps(Safeguard::ReadsOwner) {
        return shared.ownership.epoch(slot).ok_or(Failure::Fenced);
    }
    let key = keys::owner::key(slot);
    let row = txn
        .get(&key, Read::Conflict)
        .await
        .map_err(|error| Failure::of(&error))?;
    let row = row
        .map(|value| keys::owner::decode(&key, &value))
        .transpose();
    let row = row.map_err(|error| Failure::Refused(refusal(&error)))?;
    shared
        .ownership
        .confirmed(slot, row.as_ref())
        .ok_or(Failure::Fenced)
}

/// The state to decide from: the carried one if nobody wrote to the scope since, else read anew.
async fn current_state<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    scope: &Scope,
    scope_key: &ScopeKey,
    carried: Option<State>,
) -> Result<State, Failure> {
    let key = keys::scope::key(scope_key);
    let row = get(txn, &key, tip_read(protocol), keys::scope::decode).await?;
    match carried {
        Some(state) if row.as_ref() == Some(state.row()) => Ok(state),
        Some(_) => Err(Failure::Again),
        None => {
            let key = keys::task::key(scope_key);
            let task: Option<Task> = get(txn, &key, Read::Snapshot, keys::task::decode).await?;
            let task = task.map(|task| failures::as_read(protocol, task));
            Ok(State::new(scope, row, task))
        }
    }
}

/// How the tip of a scope is read.
pub(super) fn tip_read<P: Protocol>(protocol: P) -> Read {
    if protocol.keeps(Safeguard::ConflictsOnTip) {
        Read::Conflict
    } else {
        Read::Snapshot
    }
}

pub(super) async fn get<V>(
    txn: &mut impl Txn,
    key: &[u8],
    read: Read,
    decode: impl FnOnce(&[u8], &[u8]) -> Result<V, StoreError>,
) -> Result<Option<V>, Failure> {
    let value = txn
        .get(key, read)
        .await
        .map_err(|error| Failure::of(&error))?;
    let value = value.map(|value| decode(key, &value)).transpose();
    value.map_err(|error| Failure::Refused(refusal(&error)))
}

fn write<P: Protocol>(protocol: P, txn: &mut impl Txn, place: &Place, decided: &Decided) {
    // Before anything is written: see `Txn::conflict_on`.
    if protocol.keeps(Safeguard::ConflictsOnHeads) {
        for head in decided.heads() {
            txn.conflict_on(&KeyRange::key(&keys::head::key(&place.key, head.id)));
        }
        decisions::conflict_on_heads(txn, place, &decided.changes);
    }
    for (seq, event) in &decided.events {
        rows::write_event(txn, place, *seq, event);
    }
    if protocol.keeps(Safeguard::MarksWithProducts) {
        let changes = decided.changes.iter();
        for change in changes.filter(|change| decisions::is_written(protocol, change)) {
            rows::write_change(txn, place, change);
        }
    } else {
        write_marks_apart(txn, place, decided);
    }
    for (key, record) in &decided.records {
        rows::write_command(txn, key.clone(), record);
    }
    if protocol.keeps(Safeguard::ErasesContent) {
        decided.erasing.write(protocol, txn, place);
        let erased = decided.heads().filter(|head| head.is_erased());
        if protocol.keeps(Safeguard::KeepsVectorsUnderHeads) {
            for head in erased {
                txn.clear_range(&keys::vector::range_of_entry(&place.key, head.id));
            }
        }
    }
    if decided.events.is_empty() {
        return;
    }
    rows::write_scope(txn, place, decided.state.row());
    if protocol.keeps(Safeguard::TellsWithEvents) {
        write_outbox(protocol, txn, place, decided);
    }
}

/// Planted bug: what a promotion published is marked where it started, once that is noted.
fn write_marks_apart(txn: &mut impl Txn, place: &Place, decided: &Decided) {
    for change in &decided.changes {
        if !matches!(change, Change::Mark { .. }) {
            rows::write_change(txn, place, change);
        }
    }
    for (_, event) in &decided.events {
        if let Ok(Some(Body::Promoted {
            verification,
            report,
            ..
        })) = event.decode_body()
        {
            let mark = Change::Mark {
                source: place.scope.clone(),
                verification,
                report,
            };
            rows::write_change(txn, place, &mark);
        }
    }
}

/// A row for each run, in the order of the events.
fn write_outbox<P: Protocol>(protocol: P, txn: &mut impl Txn, place: &Place, decided: &Decided) {
    for run in decided.runs.as_slice() {
        let mut entries = run.entries.clone();
        if !protocol.keeps(Safeguard::TellsOfRetired) {
            let is_retired = |entry: &EntryId| {
                let head = decided.state.head(*entry);
                head.is_some_and(|head| head.status == Status::Archived)
            };
            entries.retain(|entry| !is_retired(entry));
        }
        rows::write_outbox(txn, place, run.first, run.last, entries);
    }
}

/// Makes what was published visible to searches before anybody is told that it is there.
async fn tell_index<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    decided: &mut Decided,
    stamp: Stamp,
) -> Result<(), Failure> {
    if decided.heads().next().is_none() {
        return Ok(());
    }
    // The commit stands whatever happens here: the indexer will read the outbox and tell the index.
    let docs = match shared.store.begin().await {
        Ok(mut txn) => documents::load_all(&mut txn, decided.heads(), stamp).await,
        Err(error) => Err(refusal(&error)),
    };
    match docs {
        Ok(docs) => {
            if shared.is_alone() {
                shared.gone.keep(stamp, &docs);
            }
            shared.ports.index.offer(docs);
            decided.state.index_was_told();
        }
        Err(error) => {
            tracing::warn!(%error, "the index was not told of a commit; the indexer will tell it")
        }
    }
    Ok(())
}
