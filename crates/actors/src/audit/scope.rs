//! The audit of one scope: its chain, its view, its commands and its large texts.
//!
//! Each scope answers for its own part of every family, and for what lies between it and the scope
//! before it, where nothing may be but what commands left behind that were never applied.

use bytes::Bytes;
use sillok_core::command::CommandRecord;
use sillok_core::id::Seq;
use sillok_core::invariants::{Invariant, RowDifference, dropped_is_unpublished, view_is_fold};
use sillok_core::token::TokenHash;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn};

use super::chains::check_chains;
use super::commands::check_commands;
use super::fold::{Expected, Fold, ShortHash, check_end, reason, short_hash};
use super::former::as_written_now;
use super::stop::violated;
use super::texts::check_texts;
use super::{
    AuditReport, Difference, OnProgress, PROGRESS_EVENTS, Progress, Seen, Stop, last_event, name_of,
};
use crate::long_reads::LongReads;
use crate::row_stream::RowStream;
use crate::rows::{self, Place};

/// The families that events are read from or answer for, whose keys begin with the scope.
pub(crate) const SOURCES: [Family; 3] = [Family::Event, Family::Command, Family::Chunk];

/// The families of the view whose keys begin with the scope, in the order of their letters.
pub(crate) const VIEW: [Family; 15] = [
    Family::Anchor,
    Family::DecisionClaim,
    Family::Decision,
    Family::Evidence,
    Family::DeclaredRelation,
    Family::DecisionListed,
    Family::AnchorListed,
    Family::DecisionVersion,
    Family::ByHash,
    Family::Head,
    Family::Task,
    Family::Report,
    Family::Version,
    Family::Review,
    Family::Verification,
];

/// How often a scope is read until nobody wrote to it meanwhile, where the store keeps no moment for as long
/// as that takes.
const READINGS_MAX: usize = 3;

/// Audits the scope behind the last one. Whether there was one; at the end, checks that nothing is
/// left behind the last scope.
pub(super) async fn next<S: Store>(
    store: &LongReads<S>,
    seen: &mut Seen,
    report: &mut AuditReport,
    progress: OnProgress<'_>,
) -> Result<bool, Stop> {
    for _ in 0..READINGS_MAX {
        let mut txn = store.begin().await?;
        let row = behind(&mut txn, seen.last.as_ref()).await?;
        let mut checked = report.clone();
        let found = check(&mut txn, seen, &mut checked, row.as_ref(), progress).await;
        // All of a scope changes together with its row, and no scope goes away: the first and the last
        // look make one moment of what lies between them.
        if !txn.is_of_one_moment() && behind(&mut txn, seen.last.as_ref()).await? != row {
            continue;
        }
        let audited = found?;
        *report = checked;
        let is_there = audited.is_some();
        if let Some((scope, minted)) = audited {
            seen.minted.extend(minted);
            seen.last = Some(scope);
        }
        return Ok(is_there);
    }
    let why = "a scope is written to faster than the store lets it be read at one moment";
    Err(Stop::Failed(Error::new(ErrorCode::Busy, why)))
}

/// The row of the scope behind another one.
async fn behind(
    txn: &mut impl Txn,
    last: Option<&ScopeKey>,
) -> Result<Option<(Bytes, Bytes)>, Stop> {
    let range = keys::scope::range_after(last);
    let mut rows = txn
        .range(&range, RangeOptions::first(1, Read::Snapshot))
        .await?;
    Ok(rows.pop())
}

/// Audits one scope, or what lies behind the last one: its key and the tokens that it made.
async fn check(
    txn: &mut impl Txn,
    seen: &Seen,
    report: &mut AuditReport,
    row: Option<&(Bytes, Bytes)>,
    progress: OnProgress<'_>,
) -> Result<Option<(ScopeKey, Vec<TokenHash>)>, Stop> {
    let families = || SOURCES.into_iter().chain(VIEW);
    let Some((key, value)) = row else {
        nothing_between(txn, families(), seen.last.as_ref(), None).await?;
        return Ok(None);
    };
    let scope = match keys::scope::parse(key) {
        Ok(parsed) => parsed.scope,
        Err(error) => return Err(unnamed(Family::Scope, key, reason(error))),
    };
    nothing_between(txn, families(), seen.last.as_ref(), Some(&scope)).await?;
    let place = place_of(txn, &scope, key, value).await?;
    let mut done = Progress {
        scopes: report.scopes,
        events: report.events,
        entries: 0,
    };
    let mut fold = fold_events(txn, &place, value, &mut done, progress).await?;
    report.events = done.events;
    check_owner(txn, &place, &fold).await?;
    report.rows += check_view(txn, &place, &fold).await?;
    check_chains(txn, &place, &fold).await?;
    report.commands += check_commands(txn, &place, &mut fold).await?;
    check_texts(txn, &place, &fold, report).await?;
    check_dropped(txn, &place, &fold).await?;
    report.scopes += 1;
    Ok(Some((scope, fold.told.minted)))
}

/// The part of a family between two scopes' own parts.
pub(crate) fn between(
    family: Family,
    after: Option<&ScopeKey>,
    before: Option<&ScopeKey>,
) -> KeyRange {
    let part = |scope: &ScopeKey| {
        KeyRange::prefix(&[&[family.letter()], scope.as_bytes().as_slice()].concat())
    };
    let all = family.range();
    let begin = after.map_or(all.begin, |scope| part(scope).end);
    KeyRange {
        begin,
        end: before.map_or(all.end, |scope| part(scope).begin),
    }
}

/// Whether a row may stand in a scope that has none of its own: a command that was to be its first left
/// its large content behind, or the word that an attempt of it is never applied.
fn is_left_behind(family: Family, key: &[u8], value: &[u8]) -> bool {
    match family {
        Family::Chunk => keys::chunk::parse(key).is_ok() && keys::chunk::decode(key, value).is_ok(),
        Family::Command => {
            let record = keys::command::decode(key, value);
            keys::command::parse(key).is_ok() && matches!(record, Ok(CommandRecord::Aborted { .. }))
        }
        _ => false,
    }
}

/// Between the parts of two scopes that follow one another lies nothing but what was left behind.
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
        let mut rows = RowStream::new(range);
        let key = loop {
            match rows.next(txn).await? {
                Some((key, value)) if is_left_behind(family, &key, &value) => {}
                Some((key, _)) => break Some(key),
                None => break None,
            }
        };
        let Some(key) = key else { continue };
        let what = "the row belongs to no scope that there is";
        let owner = key
            .get(1..=ScopeKey::LEN)
            .and_then(|part| part.try_into().ok())
            .map(ScopeKey::from_bytes);
        let place = match &owner {
            Some(owner) => name_of(txn, owner).await?,
            None => None,
        };
        let Some(place) = place else {
            return Err(unnamed(family, &key, what));
        };
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
        invariant: Invariant::ViewIsFold,
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
    check_end(&mut fold, place, row)?;
    fold.finish(txn).await?;
    Ok(fold)
}

/// Nothing was published of a promotion that was dropped. A mark that does not decode is named with the
/// other marks.
async fn check_dropped(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<(), Stop> {
    for (dropped, seq) in &fold.told.dropped {
        let key = keys::mark::key(&place.key, *dropped);
        let mark = match rows::read(txn, &key, keys::mark::decode).await {
            Err(StoreError::Corrupt { .. }) => continue,
            read => read?,
        };
        let checked = dropped_is_unpublished(*dropped, mark.as_ref());
        checked.map_err(|violation| violated(place, *seq, &violation))?;
    }
    Ok(())
}

/// The slot of a scope with events has an owner, and none that is older than the last event.
async fn check_owner(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<(), Stop> {
    let Some(last) = fold.last() else {
        return Ok(());
    };
    let key = keys::owner::key(place.slot);
    let owner = match txn.get(&key, Read::Snapshot).await? {
        None => {
            return Err(unnamed(
                Family::Owner,
                &key,
                "a slot with events has no owner",
            ));
        }
        Some(value) => keys::owner::decode(&key, &value),
    };
    let owner = owner.map_err(|error| unnamed(Family::Owner, &key, reason(error)))?;
    if owner.epoch < last.epoch {
        let what = format!(
            "the event is of epoch {}, but its slot is in epoch {}",
            last.epoch, owner.epoch
        );
        return Err(Stop::at(place, last.seq, Family::Owner, &key, what).of(Invariant::Fenced));
    }
    Ok(())
}

/// Compares the view with the fold, byte for byte, each row as this build writes it. The number of rows.
async fn check_view(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<u64, Stop> {
    let differences = differences(txn, place, fold).await?;
    let first = differences
        .into_iter()
        .min_by_key(|(_, seq, _)| seq.unwrap_or(Seq::new(u64::MAX)));
    let Some((key, seq, what)) = first else {
        return Ok(fold.rows.len() as u64);
    };
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
        let part =
            KeyRange::prefix(&[&[family.letter()], place.key.as_bytes().as_slice()].concat());
        let mut rows = RowStream::new(part);
        while let Some((key, value)) = rows.next(txn).await? {
            let value = as_written_now(fold, &key, value);
            stored.push((key.to_vec(), short_hash(&value)));
        }
    }
    // The other families of the view are not kept by scope: ask for the very rows.
    let kept_elsewhere =
        |key: &&Vec<u8>| !Family::of(key).is_some_and(|family| VIEW.contains(&family));
    let removed = fold.removed.keys().filter(kept_elsewhere);
    for key in fold.rows.keys().filter(kept_elsewhere).chain(removed) {
        if let Some(value) = txn.get(key, Read::Snapshot).await? {
            let value = as_written_now(fold, key, value);
            stored.push((key.clone(), short_hash(&value)));
        }
    }
    stored.sort_unstable();
    let expected = fold
        .rows
        .iter()
        .map(|(key, Expected { hash, .. })| (key.clone(), *hash))
        .collect();
    let seq_of = |key: &Vec<u8>| {
        fold.rows
            .get(key)
            .map(|row| row.seq)
            .or_else(|| fold.removed.get(key).copied())
    };
    let named = view_is_fold(&expected, stored)
        .into_iter()
        .map(|difference| match difference {
            RowDifference::Missing(key) => (
                seq_of(&key),
                key,
                "the row that the event leads to is missing",
            ),
            RowDifference::Differs(key) => {
                (seq_of(&key), key, "the row is not what the event leads to")
            }
            RowDifference::Unexplained(key) => (seq_of(&key), key, "no event leads to the row"),
        });
    Ok(named.map(|(seq, key, what)| (key, seq, what)).collect())
}
