//! The audit of a scope's commands: each was applied once, and its answer agrees with its events.

use sillok_core::circular::ErrorJudged;
use sillok_core::command::{AnswerBody, CommandRecord};
use sillok_core::id::{EntryId, Seq};
use sillok_core::invariants::Invariant;
use sillok_store::Txn;
use sillok_store::keys::{self, Family, ScopeKey};

use super::Stop;
use super::fold::{CommandRun, Fold, reason, short_hash};
use crate::row_stream::RowStream;
use crate::rows::Place;

/// Compares the records of commands with their events. The number of records.
pub(super) async fn check_commands(
    txn: &mut impl Txn,
    place: &Place,
    fold: &mut Fold,
) -> Result<u64, Stop> {
    fold.commands
        .sort_unstable_by_key(|run| (run.key, run.first));
    if let Some([_, again]) = fold
        .commands
        .array_windows::<2>()
        .find(|[a, b]| a.key == b.key)
    {
        let what = format!("command {} was applied before", again.id);
        return Err(Stop::at(
            place,
            again.first,
            Family::Event,
            &keys::event::key(&place.key, again.first),
            what,
        )
        .of(Invariant::AppliedOnce));
    }
    let mut found = vec![false; fold.commands.len()];
    let mut records = RowStream::new(keys::command::range_of_scope(&place.key));
    let mut count = 0;
    while let Some((key, value)) = records.next(txn).await? {
        let run = fold
            .commands
            .binary_search_by_key(&short_hash(&key), |run| run.key)
            .ok();
        let seq = run.map_or(fold.row().tip.seq, |run| fold.commands[run].last);
        let at = |what: String| {
            Stop::at(place, seq, Family::Command, &key, what).of(Invariant::AppliedOnce)
        };
        keys::command::parse(&key).map_err(|error| at(reason(error)))?;
        let record = keys::command::decode(&key, &value).map_err(|error| at(reason(error)))?;
        check_record(fold, run.map(|run| &fold.commands[run]), &record).map_err(at)?;
        if let Some(run) = run {
            found[run] = true;
        }
        count += 1;
    }
    let floor = fold.row().floor;
    for (run, found) in fold.commands.iter().zip(found) {
        // What is older than the floor may have been forgotten.
        let forgotten = run.id.time().is_ok_and(|time| time < floor);
        if !found && !forgotten {
            let what = format!("the answer of command {} is missing", run.id);
            return Err(Stop::at(
                place,
                run.last,
                Family::Command,
                &keys::event::key(&place.key, run.last),
                what,
            )
            .of(Invariant::AppliedOnce));
        }
    }
    Ok(count)
}

/// Checks what a record says against the events of its command.
fn check_record(
    fold: &Fold,
    run: Option<&CommandRun>,
    record: &CommandRecord,
) -> Result<(), String> {
    let CommandRecord::Applied { answer, .. } = record else {
        return match run {
            None => Ok(()),
            Some(run) => Err(format!(
                "command {} is said to be aborted, but has events",
                run.id
            )),
        };
    };
    match run {
        None if answer.seq > fold.row().tip.seq => {
            Err(format!("the answer names event {}", answer.seq))
        }
        Some(run) if (answer.seq, answer.time) != (run.last, run.time) => Err(format!(
            "the answer names event {}, but the command's last is {}",
            answer.seq, run.last
        )),
        _ => check_answer(fold, run, &answer.result),
    }
}

/// Checks that what an answer names is there.
fn check_answer(fold: &Fold, run: Option<&CommandRun>, result: &AnswerBody) -> Result<(), String> {
    let scope = ScopeKey::of(&fold.row().scope);
    let is_recorded = |id| {
        let key = keys::verification::key(&scope, id);
        fold.rows.contains_key(&key)
    };
    let has = |entry: &EntryId| fold.rows.contains_key(&keys::head::key(&scope, *entry));
    let holds = match result {
        AnswerBody::Done | AnswerBody::Task(_) | AnswerBody::Token { .. } => true,
        AnswerBody::Appended { first, count, .. } => run.is_some_and(|run| {
            run.first == *first && first.get() + u64::from(*count) == run.last.get() + 1
        }),
        AnswerBody::Verification { id, .. } => is_recorded(*id),
        AnswerBody::Failed { id, judged, .. } => is_recorded(*id) && is_judged(fold, run, *judged),
        AnswerBody::Entry { id, version, .. } => {
            has(id)
                && fold
                    .rows
                    .contains_key(&keys::version::key(&scope, *id, *version))
        }
        AnswerBody::Superseded { new, old, .. } => has(new) && has(old),
        AnswerBody::Published(report) => has(&report.episode),
        AnswerBody::Reported { entry, .. } => has(entry),
        AnswerBody::Reviewed {
            review,
            kept,
            retired,
        } => {
            let asked = keys::review::key(&scope, *review);
            fold.rows.contains_key(&asked) && kept.iter().chain(retired).all(has)
        }
        AnswerBody::Undone {
            retired,
            restored,
            revised,
            left,
        } => [retired, restored, revised, left]
            .into_iter()
            .flatten()
            .all(has),
        AnswerBody::Retired { retired, .. } => run.is_some() || *retired == 0,
        AnswerBody::Decision {
            root,
            version,
            active,
        } => run.is_some_and(|run| {
            // The event of the command itself saved that version, and withdrew the decision or did not. Its row may be of a
            // later one, which erased it.
            let mut own = fold.told.versions.range(run.first..=run.last);
            own.any(|(_, saved)| *saved == (*root, *version, *active))
        }),
        AnswerBody::Erased {
            events, entries, ..
        } => (run.is_some() || *events == 0) && entries.iter().all(has),
        AnswerBody::EvidenceSaved { id, hash, masked } => run.is_some_and(|run| {
            let saved = fold.told.evidence.get(&run.last);
            saved.is_some_and(|one| (one.id, one.hash, one.masked) == (*id, *hash, *masked))
        }),
        AnswerBody::TrajectoryStored { seq } => is_trajectory(fold, run, *seq),
        AnswerBody::AnchorsAdded { ids } => run.is_some_and(|run| {
            let added = fold.told.anchors.range(run.first..=run.last);
            added.map(|(_, anchor)| anchor).eq(ids)
        }),
    };
    if holds {
        Ok(())
    } else {
        Err("the answer names what the events did not lead to".to_owned())
    }
}

/// Whether a command's one event is at this position, and tells of a trajectory.
fn is_trajectory(fold: &Fold, run: Option<&CommandRun>, seq: Seq) -> bool {
    let is_it = |run: &CommandRun| run.first == seq && run.last == seq;
    run.is_some_and(is_it) && fold.told.trajectories.contains(&seq)
}

/// Whether a failure was judged as its answer says: the last event of the command tells what failed, where that is told.
fn is_judged(fold: &Fold, run: Option<&CommandRun>, judged: Option<ErrorJudged>) -> bool {
    run.is_some_and(|run| fold.told.judged.get(&run.last).copied() == judged)
}
