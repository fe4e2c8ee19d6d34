//! The audit of one scope: its chain, its view, its commands and its large texts.
//!
//! Each scope answers for its own part of every family, and for what lies between it and the scope
//! before it, where nothing may be.

use bytes::Bytes;
use sillok_core::command::{AnswerBody, CommandRecord};
use sillok_core::id::{EntryId, Seq};
use sillok_core::invariants::{RowDifference, view_is_fold};
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn};

use super::fold::{CommandRun, Expected, Fold, LargeText, ShortHash, check_end, reason, short_hash};
use super::{AuditReport, Difference, OnProgress, PROGRESS_EVENTS, Progress, Seen, Stop, last_event, name_of};
use crate::row_stream::RowStream;
use crate::rows::Place;

/// The families that events are read from or answer for, whose keys begin with the scope.
pub(crate) const SOURCES: [Family; 3] = [Family::Event, Family::Command, Family::Chunk];

/// The families of the view whose keys begin with the scope, in the order of their letters.
pub(crate) const VIEW: [Family; 5] = [Family::ByHash, Family::Head, Family::Task, Family::Version, Family::Verification];

/// Audits the scope behind the last one. Whether there was one; at the end, checks that nothing is
/// left behind the last scope.
pub(super) async fn next<S: Store>(
    store: &S,
    seen: &mut Seen,
    report: &mut AuditReport,
    progress: OnProgress<'_>,
) -> Result<bool, Stop> {
    let mut txn = store.begin().await?;
    let range = keys::scope::range_after(seen.last.as_ref());
    let row = txn.range(&range, RangeOptions::first(1, Read::Snapshot)).await?.pop();
    let Some((key, value)) = row else {
        nothing_between(&mut txn, SOURCES.into_iter().chain(VIEW), seen.last.as_ref(), None).await?;
        return Ok(false);
    };
    let scope = match keys::scope::parse(&key) {
        Ok(parsed) => parsed.scope,
        Err(error) => return Err(unnamed(Family::Scope, &key, reason(error))),
    };
    nothing_between(&mut txn, SOURCES.into_iter().chain(VIEW), seen.last.as_ref(), Some(&scope)).await?;
    let place = place_of(&mut txn, &scope, &key, &value).await?;
    let mut done = Progress { scopes: report.scopes, events: report.events, entries: 0 };
    let mut fold = fold_events(&mut txn, &place, &value, &mut done, progress).await?;
    report.events = done.events;
    check_owner(&mut txn, &place, &fold).await?;
    report.rows += check_view(&mut txn, &place, &fold).await?;
    report.commands += check_commands(&mut txn, &place, &mut fold).await?;
    check_texts(&mut txn, &place, &fold, report).await?;
    seen.minted.extend(fold.minted);
    seen.last = Some(scope);
    report.scopes += 1;
    Ok(true)
}

/// The part of a family between two scopes' own parts.
pub(crate) fn between(family: Family, after: Option<&ScopeKey>, before: Option<&ScopeKey>) -> KeyRange {
    let part = |scope: &ScopeKey| KeyRange::prefix(&[&[family.letter()], scope.as_bytes().as_slice()].concat());
    let all = family.range();
    let begin = after.map_or(all.begin, |scope| part(scope).end);
    KeyRange { begin, end: before.map_or(all.end, |scope| part(scope).begin) }
}

/// Nothing may lie between the parts of two scopes that follow one another.
pub(crate) async fn nothing_between(
    txn: &mut impl Txn,
    families: impl IntoIterator<Item = Family>,
    after: Option<&ScopeKey>,
    before: Option<&ScopeKey>,
) -> Result<(), Stop> {
    for family in families {
        let range = between(family, after, before);
        if range.is_empty() {
            continue;
        }
        let Some((key, _)) = txn.range(&range, RangeOptions::first(1, Read::Snapshot)).await?.pop() else {
            continue;
        };
        let what = "the row belongs to no scope that there is";
        let owner = key.get(1..=ScopeKey::LEN).and_then(|part| part.try_into().ok()).map(ScopeKey::from_bytes);
        let place = match &owner {
            Some(owner) => name_of(txn, owner).await?,
            None => None,
        };
        let Some(place) = place else { return Err(unnamed(family, &key, what)) };
        let first = keys::event::parse(&key).map(|key| key.seq).ok();
        let last = last_event(txn, &place.key).await?;
        let seq = first.or(last).unwrap_or(Seq::ZERO);
        return Err(Stop::at(&place, seq, family, &key, what));
    }
    Ok(())
}

pub(super) fn unnamed(family: Family, key: &[u8], what: impl Into<String>) -> Stop {
    Stop::Found(Box::new(Difference {
        scope: None,
        seq: None,
        family: family.as_str().to_owned(),
        key: Some(hex::encode(key)),
        what: what.into(),
    }))
}

/// The scope that a row names; when the row is damaged, the difference, with the scope's name from
/// elsewhere.
pub(crate) async fn place_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    key: &[u8],
    value: &[u8],
) -> Result<Place, Stop> {
    let what = match keys::scope::decode(key, value) {
        Ok(row) if ScopeKey::of(&row.scope) == *scope => return Ok(Place::of(&row.scope)),
        Ok(row) => format!("the row of {} stands under another scope's key", row.scope),
        Err(error) => reason(error),
    };
    let last = last_event(txn, scope).await?.unwrap_or(Seq::ZERO);
    Err(match name_of(txn, scope).await? {
        Some(place) => Stop::at(&place, last, Family::Scope, key, what),
        None => unnamed(Family::Scope, key, what),
    })
}

/// Folds all events of a scope, and counts them. They must end where the scope's own row says.
pub(crate) async fn fold_events(
    txn: &mut impl Txn,
    place: &Place,
    row: &Bytes,
    done: &mut Progress,
    progress: OnProgress<'_>,
) -> Result<Fold, Stop> {
    let mut fold = Fold::new(place);
    let mut events = RowStream::new(keys::event::range_of_scope(&place.key));
    while let Some((key, value)) = events.next(txn).await? {
        fold.event(txn, &key, &value).await?;
        done.events += 1;
        if done.events.is_multiple_of(PROGRESS_EVENTS) {
            progress(*done);
        }
    }
    // Whether events are missing comes before what the last ones say.
    check_end(&fold, place, row)?;
    fold.finish(txn).await?;
    Ok(fold)
}

/// The slot of a scope with events has an owner, and none that is older than the last event.
async fn check_owner(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<(), Stop> {
    let Some(last) = fold.last() else { return Ok(()) };
    let key = keys::owner::key(place.slot);
    let owner = match txn.get(&key, Read::Snapshot).await? {
        None => return Err(unnamed(Family::Owner, &key, "a slot with events has no owner")),
        Some(value) => keys::owner::decode(&key, &value),
    };
    let owner = owner.map_err(|error| unnamed(Family::Owner, &key, reason(error)))?;
    if owner.epoch < last.epoch {
        let what = format!("the event is of epoch {}, but its slot is in epoch {}", last.epoch, owner.epoch);
        return Err(Stop::at(place, last.seq, Family::Owner, &key, what));
    }
    Ok(())
}

/// Compares the view with the fold, byte for byte. The number of rows.
async fn check_view(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<u64, Stop> {
    let differences = differences(txn, place, fold).await?;
    let first = differences.into_iter().min_by_key(|(_, seq, _)| seq.unwrap_or(Seq::new(u64::MAX)));
    let Some((key, seq, what)) = first else { return Ok(fold.rows.len() as u64) };
    let family = Family::of(&key).expect("keys of the view belong to a family");
    // A row that no event gave is named by the last event, which should have been the last word.
    let seq = seq.unwrap_or(fold.row().tip.seq);
    Err(Stop::at(place, seq, family, &key, what))
}

/// All rows of a scope's view that are not what its events lead to: the key, the event that
/// determines the row, and what is wrong.
pub(crate) async fn differences(
    txn: &mut impl Txn,
    place: &Place,
    fold: &Fold,
) -> Result<Vec<(Vec<u8>, Option<Seq>, &'static str)>, Stop> {
    let mut stored: Vec<(Vec<u8>, ShortHash)> = Vec::new();
    for family in VIEW {
        let part = KeyRange::prefix(&[&[family.letter()], place.key.as_bytes().as_slice()].concat());
        let mut rows = RowStream::new(part);
        while let Some((key, value)) = rows.next(txn).await? {
            stored.push((key.to_vec(), short_hash(&value)));
        }
    }
    // The other families of the view are not kept by scope: ask for the very rows.
    let kept_elsewhere = |key: &&Vec<u8>| !Family::of(key).is_some_and(|family| VIEW.contains(&family));
    let removed = fold.removed.keys().filter(kept_elsewhere);
    for key in fold.rows.keys().filter(kept_elsewhere).take(0).chain(removed.take(0)) {
        if let Some(value) = txn.get(key, Read::Snapshot).await? {
            stored.push((key.clone(), short_hash(&value)));
        }
    }
    stored.sort_unstable();
    let expected = fold.rows.iter().map(|(key, Expected { hash, .. })| (key.clone(), *hash)).collect();
    let seq_of = |key: &Vec<u8>| {
        fold.rows.get(key).map(|row| row.seq).or_else(|| fold.removed.get(key).copied())
    };
    let named = view_is_fold(&expected, stored).into_iter().map(|difference| match difference {
        RowDifference::Missing(key) => (seq_of(&key), key, "the row that the event leads to is missing"),
        RowDifference::Differs(key) => (seq_of(&key), key, "the row is not what the event leads to"),
        RowDifference::Unexplained(key) => (seq_of(&key), key, "no event leads to the row"),
    });
    Ok(named.map(|(seq, key, what)| (key, seq, what)).collect())
}

/// Compares the records of commands with their events. The number of records.
async fn check_commands(txn: &mut impl Txn, place: &Place, fold: &mut Fold) -> Result<u64, Stop> {
    fold.commands.sort_unstable_by_key(|run| (run.key, run.first));
    if let Some([_, again]) = fold.commands.array_windows::<2>().find(|[a, b]| a.key == b.key) {
        let what = format!("command {} was applied before", again.id);
        return Err(Stop::at(place, again.first, Family::Event, &keys::event::key(&place.key, again.first), what));
    }
    let mut found = vec![false; fold.commands.len()];
    let mut records = RowStream::new(keys::command::range_of_scope(&place.key));
    let mut count = 0;
    while let Some((key, value)) = records.next(txn).await? {
        let run = fold.commands.binary_search_by_key(&short_hash(&key), |run| run.key).ok();
        let seq = run.map_or(fold.row().tip.seq, |run| fold.commands[run].last);
        let at = |what: String| Stop::at(place, seq, Family::Command, &key, what);
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
            return Err(Stop::at(place, run.last, Family::Command, &keys::event::key(&place.key, run.last), what));
        }
    }
    Ok(count)
}

/// Checks what a record says against the events of its command.
fn check_record(fold: &Fold, run: Option<&CommandRun>, record: &CommandRecord) -> Result<(), String> {
    let CommandRecord::Applied { answer, .. } = record else {
        return match run {
            None => Ok(()),
            Some(run) => Err(format!("command {} is said to be aborted, but has events", run.id)),
        };
    };
    match run {
        None if answer.seq > fold.row().tip.seq => Err(format!("the answer names event {}", answer.seq)),
        Some(run) if (answer.seq, answer.time) != (run.last, run.time) => {
            Err(format!("the answer names event {}, but the command's last is {}", answer.seq, run.last))
        }
        _ => check_answer(fold, run, &answer.result),
    }
}

/// Checks that what an answer names is there.
fn check_answer(fold: &Fold, run: Option<&CommandRun>, result: &AnswerBody) -> Result<(), String> {
    let scope = ScopeKey::of(&fold.row().scope);
    let has = |entry: &EntryId| fold.rows.contains_key(&keys::head::key(&scope, *entry));
    let holds = match result {
        AnswerBody::Done | AnswerBody::Task(_) | AnswerBody::Token { .. } => true,
        AnswerBody::Appended { first, count, .. } => run.is_some_and(|run| {
            run.first == *first && first.get() + u64::from(*count) == run.last.get() + 1
        }),
        AnswerBody::Verification { id, .. } => fold.rows.contains_key(&keys::verification::key(&scope, *id)),
        AnswerBody::Entry { id, version, .. } => {
            has(id) && fold.rows.contains_key(&keys::version::key(&scope, *id, *version))
        }
        AnswerBody::Superseded { new, old, .. } => has(new) && has(old),
        AnswerBody::Published(report) => has(&report.episode),
    };
    if holds { Ok(()) } else { Err("the answer names what the events did not lead to".to_owned()) }
}

/// Checks that every large text is there, chunk by chunk.
async fn check_texts(
    txn: &mut impl Txn,
    place: &Place,
    fold: &Fold,
    report: &mut AuditReport,
) -> Result<(), Stop> {
    let mut chunks = RowStream::new(keys::chunk::range_of_scope(&place.key));
    let mut open: Option<OpenText<'_>> = None;
    let mut whole = 0;
    while let Some((key, value)) = chunks.next(txn).await? {
        let lost = |seq: Option<Seq>, what: String| {
            Stop::at(place, seq.unwrap_or(fold.row().tip.seq), Family::Chunk, &key, what)
        };
        let parsed = keys::chunk::parse(&key).map_err(|error| lost(None, reason(error)))?;
        let earlier = fold.texts.range(..=(parsed.command, parsed.number)).next_back();
        let text = earlier.filter(|((command, first), text)| {
            *command == parsed.command && parsed.number - first < text.count
        });
        let bytes = keys::chunk::decode(&key, &value);
        let bytes = bytes.map_err(|error| lost(text.map(|(_, text)| text.seq), reason(error)))?;
        let Some(((_, first), text)) = text else {
            report.chunks_unused += 1;
            continue;
        };
        let current = open.take().filter(|open| open.text.seq == text.seq);
        let mut current = current.unwrap_or_else(|| OpenText::new(text, *first));
        if !current.take(parsed.number, &bytes) {
            return Err(lost(Some(text.seq), format!("chunk {} is missing", current.next)));
        }
        if current.is_whole(*first) {
            if !current.is_as_written() {
                return Err(lost(Some(text.seq), "the text is not what was written".to_owned()));
            }
            whole += 1;
        } else {
            open = Some(current);
        }
    }
    if whole < fold.texts.len() {
        return Err(missing_text(txn, place, fold).await?);
    }
    report.large_texts += whole as u64;
    Ok(())
}

/// A large text of which some chunks were read.
struct OpenText<'a> {
    text: &'a LargeText,
    next: u32,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl<'a> OpenText<'a> {
    fn new(text: &'a LargeText, first: u32) -> Self {
        Self { text, next: first, bytes: 0, hasher: blake3::Hasher::new() }
    }

    fn take(&mut self, number: u32, bytes: &Bytes) -> bool {
        let follows = number == self.next;
        if follows {
            self.next += 1;
            self.bytes += bytes.len() as u64;
            self.hasher.update(bytes);
        }
        follows
    }

    fn is_whole(&self, first: u32) -> bool {
        self.next - first == self.text.count
    }

    fn is_as_written(&self) -> bool {
        self.bytes == self.text.bytes && *self.hasher.finalize().as_bytes() == self.text.hash
    }
}

/// The first text that lacks a chunk, when one does.
async fn missing_text(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<Stop, Stop> {
    for ((command, first), text) in &fold.texts {
        for number in *first..*first + text.count {
            let key = keys::chunk::key(&place.key, *command, number);
            if txn.get(&key, Read::Snapshot).await?.is_none() {
                let what = "a chunk that the event names is missing";
                return Ok(Stop::at(place, text.seq, Family::Chunk, &key, what));
            }
        }
    }
    let key = keys::scope::key(&place.key);
    Ok(Stop::at(place, fold.row().tip.seq, Family::Chunk, &key, "two events name the same chunks"))
}
