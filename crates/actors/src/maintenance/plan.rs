//! The plan of a run: what is due, by the columns that the index has of all entries.
//!
//! Owns the reading, once the index has all that was published. Which entry goes is core's; carrying it out is
//! [`super`]'s.

mod worst;

use std::collections::BTreeSet;
use std::sync::Arc;

use sillok_core::Error;
use sillok_core::config::RetentionConfig;
use sillok_core::entry::{Head, Status, Table, Version};
use sillok_core::id::{EntryId, ReviewId};
use sillok_core::ports::EntryColumns;
use sillok_core::promotion::NewEntry;
use sillok_core::retention::plan::{AgeColumns, Plan as Found, Planner, ScopePlan};
use sillok_core::review::Offer;
use sillok_core::scope::{Level, Scope};
use sillok_core::slot::Slot;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn};

use self::worst::Worst;
use super::{Maintain, Part, ScopeMaintained};
use crate::claims;
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::long_reads::LongReads;
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;
use crate::rows;

/// What a run is to do.
pub(super) struct Plan {
    pub(super) looked_at: u64,
    pub(super) asks: bool,
    /// Whether the clock may be wrong by what is due: what is forgotten by its word is gone for good.
    pub(super) doubts_clock: bool,
    pub(super) scopes: Vec<ScopeMaintained>,
    pub(super) offers: Vec<Offer>,
    pub(super) unreadable: u64,
    pub(super) halted: u64,
}

/// Plans a run over all that was published before. `looked_at` hears of entries as they are looked at.
///
/// # Errors
/// What the store or the index answered, or that the index lags behind.
pub(super) async fn of<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    looked_at: &(dyn Fn(u64) + Sync),
) -> Result<Plan, Error> {
    let mut unreadable = catch_up(shared, asked.within.as_ref()).await?;
    let mut config = shared.config.rules.retention.clone();
    if !shared.protocol.keeps(Safeguard::KeepsBest) {
        config.keep_best = 0;
    }
    let worst = Worst(Arc::clone(&shared.ports.index));
    let columns: &dyn EntryColumns = match shared.protocol.keeps(Safeguard::RanksBest) {
        true => &*shared.ports.index,
        false => &worst,
    };
    let (within, now) = (asked.within.as_ref(), shared.ports.clock.now());
    let Due { found, mut proven } = due(columns, now, &config, within, looked_at).await?;
    let looked_at = found.looked_at;
    let Chosen {
        scopes,
        asks,
        asking,
    } = chosen(found, asked, &config);
    let going: BTreeSet<EntryId> = scopes
        .iter()
        .flat_map(|scope| scope.plan.aged.iter().chain(&scope.plan.pruned))
        .map(|(entry, _)| *entry)
        .collect();
    // A question is an event: dated far ahead, it keeps its organisation from all others until that time.
    let is_offered = asked.parts.contains(&Part::Offer) && !asks;
    proven.retain(|(scope, entry)| is_offered && !asking.contains(scope) && !going.contains(entry));
    let read = async {
        let mut txn = LongReads::of(&shared.store).begin().await?;
        let offers = offers(&mut txn, proven, &mut unreadable).await?;
        Ok::<_, StoreError>((offers, halted(&mut txn).await?))
    };
    let (offers, halted) = read.await.map_err(|error| refusal(&error))?;
    Ok(Plan {
        looked_at,
        asks,
        doubts_clock: asks || !asking.is_empty(),
        scopes,
        offers,
        unreadable,
        halted,
    })
}

/// What the columns of all entries say is due.
#[derive(Debug)]
pub struct Due {
    /// What goes.
    pub found: Found,
    /// Skills that proved themselves in a project, and where.
    pub proven: Vec<(Scope, EntryId)>,
}

/// Finds what is due at `now` of all entries, or of those inside a scope. `looked_at` hears of entries as they are looked
/// at.
///
/// # Errors
/// What whoever keeps the columns answered.
pub async fn due(
    columns: &dyn EntryColumns,
    now: Timestamp,
    config: &RetentionConfig,
    within: Option<&Scope>,
    looked_at: &(dyn Fn(u64) + Sync),
) -> Result<Due, Error> {
    let mut planner = Planner::new(now, config, within);
    let mut proven = Vec::new();
    let mut take = |columns: &AgeColumns<'_>| {
        planner.take(columns);
        looked_at(columns.scope.len() as u64);
        proven.extend(proven_in(columns, within));
    };
    let taken = columns.ages(&mut take).await;
    taken.map_err(|error| engine_refusal(&error))?;
    if planner.has_to_rank() {
        let ranked = columns.worths(&mut |columns| planner.rank(columns)).await;
        ranked.map_err(|error| engine_refusal(&error))?;
    }
    let found = planner.finish();
    Ok(Due { found, proven })
}

/// Waits until the index has all that was published before: an entry that it has not heard of may be better than one
/// that goes. How many slots cannot be read.
pub(super) async fn catch_up<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    within: Option<&Scope>,
) -> Result<u64, Error> {
    let slots = match within.filter(|scope| scope.level() != Level::Org) {
        Some(scope) => [Slot::of(scope)].into(),
        None => {
            let written = written_slots(shared).await;
            written.map_err(|error| refusal(&error))?
        }
    };
    let clock = shared.ports.clock.as_ref();
    shared.index_requests.catch_up(slots, clock).await
}

/// The slots that anything may have been published in: of those of a cluster each has had an owner. A node alone owns all
/// of them whatever is in them, so each one that has something is looked for by its first row.
async fn written_slots<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
) -> Result<BTreeSet<Slot>, StoreError> {
    if !shared.is_alone() {
        let owned = claims::owned_slots(&shared.store).await?;
        return Ok(owned.into_iter().collect());
    }
    let mut txn = LongReads::of(&shared.store).begin().await?;
    let (mut slots, mut left) = (BTreeSet::new(), Family::Outbox.range());
    loop {
        let rows = txn.range(&left, RangeOptions::first(1, Read::Snapshot));
        let rows = rows.await?;
        let Some((key, _)) = rows.first() else {
            return Ok(slots);
        };
        let slot = keys::outbox::parse(key)?.slot;
        slots.insert(slot);
        left.begin = keys::outbox::range_of_slot(slot).end;
    }
}

/// The skills in these columns that proved themselves in a project.
fn proven_in<'a>(
    columns: &'a AgeColumns<'_>,
    within: Option<&'a Scope>,
) -> impl Iterator<Item = (Scope, EntryId)> + 'a {
    let worth = columns.worth;
    let rows = columns.scope.iter().enumerate();
    rows.filter_map(move |(row, scope)| {
        let is_proven = worth.table[row] == Table::Skills && worth.status[row] == Status::Published;
        let scope = &columns.scopes[*scope as usize];
        let is_asked = within.is_none_or(|within| within.contains(scope));
        let is_proven = is_proven && is_asked && scope.level() == Level::Project;
        is_proven.then(|| (scope.clone(), worth.entry[row]))
    })
}

/// What organisations are to be asked about, of skills that proved themselves. One row that is damaged keeps nobody
/// from the rest.
async fn offers(
    txn: &mut impl Txn,
    proven: Vec<(Scope, EntryId)>,
    unreadable: &mut u64,
) -> Result<Vec<Offer>, StoreError> {
    let mut offers = Vec::new();
    for (scope, entry) in proven {
        match offer(txn, &scope, entry).await {
            Err(error @ StoreError::Corrupt { .. }) => {
                tracing::warn!(%error, %entry, %scope, "a skill that proved itself cannot be read");
                *unreadable += 1;
            }
            offer => offers.extend(offer?),
        }
    }
    Ok(offers)
}

/// Promotions, of all scopes, that have failed as often as they may.
async fn halted(txn: &mut impl Txn) -> Result<u64, StoreError> {
    let mut rows = RowStream::new(keys::attempt::range_all());
    let mut halted = 0;
    while let Some((key, value)) = rows.next(txn).await? {
        // One that cannot be read, an audit names.
        let attempts = keys::attempt::decode(&key, &value);
        halted += u64::from(attempts.is_ok_and(|attempts| attempts.halted));
    }
    Ok(halted)
}

/// What was asked for of what is due.
struct Chosen {
    scopes: Vec<ScopeMaintained>,
    /// Whether so much of all that was looked at is due that nothing goes.
    asks: bool,
    /// Scopes that ask by themselves.
    asking: BTreeSet<Scope>,
}

/// The parts of a plan that were asked for, and who asks. A clock that is wrong shows in all that is due, whichever part
/// of it was asked for: it is judged before the others are left out.
fn chosen(mut found: Found, asked: &Maintain, config: &RetentionConfig) -> Chosen {
    let may_ask = !asked.force && asked.goes_by_clock();
    let asks = may_ask && found.asks(config);
    let is_asking = |(_, plan): &(&Scope, &ScopePlan)| may_ask && plan.asks(config);
    let asking = found.scopes.iter().filter(is_asking);
    let asking: BTreeSet<Scope> = asking.map(|(scope, _)| scope.clone()).collect();
    for plan in found.scopes.values_mut() {
        if !asked.parts.contains(&Part::Archive) {
            plan.aged.clear();
        }
        if !asked.parts.contains(&Part::Prune) {
            plan.pruned.clear();
        }
    }
    let due = found
        .scopes
        .into_iter()
        .filter(|(scope, plan)| plan.going() > 0 || asking.contains(scope));
    let scopes = due.map(|(scope, plan)| ScopeMaintained {
        asks: asks || asking.contains(&scope),
        scope,
        plan,
        retired: 0,
        left: 0,
        unreadable: 0,
        error: None,
    });
    Chosen {
        scopes: scopes.collect(),
        asks,
        asking,
    }
}

/// Whether the organisation was asked about this version before, whatever it said.
async fn was_offered(txn: &mut impl Txn, head: &Head) -> Result<bool, StoreError> {
    let org = organisation(&head.scope);
    let question = ReviewId::of_offer(&org, &head.scope, head.id, head.version);
    let key = keys::review::key(&ScopeKey::of(&org), question);
    Ok(rows::read(txn, &key, keys::review::decode).await?.is_some())
}

/// The organisation that a scope lies in.
pub(super) fn organisation(scope: &Scope) -> Scope {
    let within = scope.with_ancestors().pop();
    within.expect("a scope lies in an organisation")
}

/// The question about a skill, if it is not out of date, and was not put before.
async fn offer(
    txn: &mut impl Txn,
    scope: &Scope,
    entry: EntryId,
) -> Result<Option<Offer>, StoreError> {
    let here = ScopeKey::of(scope);
    let head: Option<Head> =
        rows::read(txn, &keys::head::key(&here, entry), keys::head::decode).await?;
    let Some(head) = head.filter(|head| head.status == Status::Published) else {
        return Ok(None);
    };
    if was_offered(txn, &head).await? {
        return Ok(None);
    }
    let key = keys::version::key(&here, entry, head.version);
    let version = rows::read(txn, &key, keys::version::decode).await?;
    Ok(version.map(|version| offer_of(&head, version)))
}

fn offer_of(head: &Head, version: Version) -> Offer {
    Offer {
        scope: head.scope.clone(),
        entry: head.id,
        version: head.version,
        product: NewEntry {
            table: head.table,
            content: version.content,
            detail: version.detail,
            metadata: version.metadata,
            claim: version.claim,
            citations: head.citations.clone(),
            failure: head.failure,
            binding: head.binding.clone(),
            embedding: None,
        },
    }
}
