//! The audit of the outbox: every event is told exactly once, in order, with the entries it changed.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::event::Body;
use sillok_core::id::{EntryId, Seq};
use sillok_core::invariants::Invariant;
use sillok_core::review::Question;
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Read, Store, Txn};

use super::erasures::Erasures;
use super::fold::reason;
use super::scope::{place_of, unnamed};
use super::{AuditReport, Stop};
use crate::row_stream::RowStream;
use crate::rows::Place;

/// Checks all rows of the outbox against the events.
pub(super) async fn check<S: Store>(store: &S, report: &mut AuditReport) -> Result<(), Stop> {
    let mut txn = store.begin().await?;
    // Before the rows: when the store keeps no moment for as long as this takes, more is told than is asked for.
    let tips = tips(&mut txn).await?;
    let mut told: BTreeMap<ScopeKey, Seq> = BTreeMap::new();
    let mut erasures: BTreeMap<ScopeKey, Erasures> = BTreeMap::new();
    let mut rows = RowStream::new(Family::Outbox.range());
    while let Some((key, value)) = rows.next(&mut txn).await? {
        let wrong = |error| unnamed(Family::Outbox, &key, reason(error));
        let parsed = keys::outbox::parse(&key).map_err(wrong)?;
        let row = keys::outbox::decode(&key, &value).map_err(wrong)?;
        let place = Place::of(&row.scope);
        let through = told.entry(place.key).or_insert(Seq::ZERO);
        let at = |seq: Seq, what: &str| {
            Stop::at(&place, seq, Family::Outbox, &key, what).of(Invariant::Heard)
        };
        if parsed.slot != place.slot || parsed.stamp.generation != store.generation() {
            return Err(at(
                row.first,
                "the row stands in another slot or generation",
            ));
        }
        if row.first > through.next() {
            return Err(at(through.next(), "the event was never told"));
        }
        if row.first <= *through || row.last < row.first {
            return Err(at(row.first, "the event is told twice"));
        }
        *through = row.last;
        let of_scope = erasures.entry(place.key).or_default();
        check_entries(&mut txn, &place, &row, &key, of_scope).await?;
        report.outbox_rows += 1;
    }
    check_all_told(&mut txn, tips, told).await
}

/// A row names the entries that its events changed.
async fn check_entries(
    txn: &mut impl Txn,
    place: &Place,
    row: &OutboxRow,
    key: &[u8],
    erasures: &mut Erasures,
) -> Result<(), Stop> {
    let before = Seq::new(row.first.get() - 1);
    let mut events = RowStream::new(keys::event::range_through(&place.key, before, row.last));
    let mut changed: BTreeSet<EntryId> = BTreeSet::new();
    let mut count = 0;
    while let Some((key, value)) = events.next(txn).await? {
        let event = keys::event::decode(&key, &value).ok();
        // Whether the event itself holds was checked with its scope.
        if let Some(event) = event {
            let seq = Seq::new(before.get() + count + 1);
            let rest = erasures.of(txn, place, seq, &event).await?;
            let body = event.decode_body().ok().flatten();
            let body = body.as_ref().or(rest.map(|erased| &erased.rest));
            changed.extend(body.map(entries_of).unwrap_or_default());
        }
        count += 1;
    }
    if count != row.last.get() - before.get() {
        return Err(Stop::at(
            place,
            row.last,
            Family::Outbox,
            key,
            "the row tells of events that are not there",
        )
        .of(Invariant::Heard));
    }
    if !changed.iter().eq(&row.entries) {
        return Err(Stop::at(
            place,
            row.first,
            Family::Outbox,
            key,
            "the row names other entries than its events",
        )
        .of(Invariant::Heard));
    }
    Ok(())
}

/// The entries whose heads an event changes.
fn entries_of(body: &Body) -> Vec<EntryId> {
    match body {
        Body::EntryCreated(created) => vec![created.id],
        Body::EntryAmended(amended) => vec![amended.id],
        Body::Merged(merged) => vec![merged.into],
        Body::Linked { entry, .. } | Body::StateResolved { entry, .. } => vec![*entry],
        Body::Superseded { new, old, line, .. }
        | Body::SupersessionUndone { new, old, line, .. } => vec![*new, *old, *line],
        Body::ReuseReported(reported) => vec![reported.entry],
        Body::TrustRevised(revised) => vec![revised.entry],
        Body::CitationsRefreshed(refreshed) => vec![refreshed.entry],
        Body::EntriesRetired { entries, .. } => entries.clone(),
        Body::EntryRestored(restored) => vec![restored.entry],
        Body::ContentErased(erased) => erased.entries.clone(),
        Body::ReviewRaised { question, .. } => match **question {
            Question::Wrong { entry, .. } => vec![entry],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Every scope, and where it ends.
async fn tips(txn: &mut impl Txn) -> Result<Vec<(Place, Seq)>, Stop> {
    let mut tips = Vec::new();
    let mut scopes = RowStream::new(Family::Scope.range());
    while let Some((key, value)) = scopes.next(txn).await? {
        let wrong = |error| unnamed(Family::Scope, &key, reason(error));
        let scope = keys::scope::parse(&key).map_err(wrong)?.scope;
        let place = place_of(txn, &scope, &key, &value).await?;
        let row = keys::scope::decode(&key, &value).map_err(wrong)?;
        tips.push((place, row.tip.seq));
    }
    Ok(tips)
}

/// Every scope was told of to its end, and nothing was told of another one.
async fn check_all_told(
    txn: &mut impl Txn,
    tips: Vec<(Place, Seq)>,
    mut told: BTreeMap<ScopeKey, Seq>,
) -> Result<(), Stop> {
    for (place, tip) in tips {
        let through = told.remove(&place.key).unwrap_or(Seq::ZERO);
        if through < tip {
            let prefix = keys::outbox::prefix(place.slot);
            return Err(Stop::at(
                &place,
                through.next(),
                Family::Outbox,
                &prefix,
                "the event was never told",
            )
            .of(Invariant::Heard));
        }
    }
    for scope in told.into_keys() {
        // It may have got its first event meanwhile.
        let row = txn.get(&keys::scope::key(&scope), Read::Snapshot).await?;
        if row.is_none() {
            return Err(unnamed(
                Family::Outbox,
                scope.as_bytes(),
                "the outbox tells of a scope without events",
            )
            .of(Invariant::Heard));
        }
    }
    Ok(())
}
