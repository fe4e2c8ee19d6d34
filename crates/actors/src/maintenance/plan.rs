//! The plan of a run: what is due, by the heads of all entries.
//!
//! Owns the reading. Which entry goes is core's; carrying it out is [`super`]'s.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::Error;
use sillok_core::config::RetentionConfig;
use sillok_core::entry::{Detail, Head, Status, Table, Version};
use sillok_core::id::{EntryId, ReviewId};
use sillok_core::promotion::NewEntry;
use sillok_core::retention::{Aging, Planned, Planner, ScopePlan, origin};
use sillok_core::review::Offer;
use sillok_core::scope::{Level, Scope};
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::{Maintain, Part, ScopeMaintained};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;
use crate::rows;

/// What a run is to do.
pub(super) struct Plan {
    pub(super) looked_at: u64,
    pub(super) scopes: Vec<ScopeMaintained>,
    pub(super) offers: Vec<Offer>,
    pub(super) unreadable: u64,
    pub(super) halted: u64,
}

/// Plans a run over what is stored now.
///
/// # Errors
/// What the store answered.
pub(super) async fn of<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
) -> Result<Plan, Error> {
    let read = read(shared, asked).await;
    read.map_err(|error| refusal(&error))
}

async fn read<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
) -> Result<Plan, StoreError> {
    let mut config = shared.config.rules.retention.clone();
    if !shared.protocol.keeps(Safeguard::KeepsBest) {
        config.keep_best = 0;
    }
    let config = &config;
    let mut planner = Planner::new(shared.ports.clock.now(), config);
    let mut offers: Vec<Offer> = Vec::new();
    let (mut looked_at, mut unreadable) = (0, 0);
    // Each head is judged for itself, and asked again by its owner: they need not be of one moment.
    let mut txn = LongReads::of(&shared.store).begin().await?;
    let mut heads = RowStream::new(Family::Head.range());
    while let Some((key, value)) = heads.next(&mut txn).await? {
        let Ok(head) = keys::head::decode(&key, &value) else {
            unreadable += 1;
            continue;
        };
        let is_asked = |within: &Scope| within.contains(&head.scope);
        if !asked.within.as_ref().is_none_or(is_asked) {
            continue;
        }
        looked_at += 1;
        let is_resolved = head.status == Status::Deprecated && head.resolved_at().is_some();
        if !(head.status.is_live() || is_resolved) {
            continue;
        }
        // The typed part says what these were worth, and where an episode comes from.
        let typed = matches!(head.table, Table::Episodes | Table::Skills);
        let version = match typed {
            true => version(&mut txn, &head).await,
            false => Ok(None),
        };
        // One row that is damaged keeps nobody from the rest.
        let version = match version {
            Err(StoreError::Corrupt { .. }) => {
                unreadable += 1;
                continue;
            }
            version => version?,
        };
        let detail = version.as_ref().map(|version| &version.detail);
        planner.take(&head.scope, [planned(&head, detail)]);
        if asked.parts.contains(&Part::Offer) && is_offered(&head) {
            match was_offered(&mut txn, &head).await {
                Ok(true) => {}
                Ok(false) => offers.extend(version.map(|version| offer(&head, version))),
                Err(StoreError::Corrupt { .. }) => unreadable += 1,
                Err(error) => return Err(error),
            }
        }
    }
    let scopes = chosen(planner.finish(), asked, config);
    let plans = scopes.iter().filter(|scope| !scope.asks);
    let going: BTreeSet<EntryId> = plans
        .flat_map(|scope| scope.plan.aged.iter().chain(&scope.plan.pruned))
        .map(|(entry, _)| *entry)
        .collect();
    offers.retain(|offer| !going.contains(&offer.entry));
    let halted = halted(&mut txn).await?;
    Ok(Plan {
        looked_at,
        scopes,
        offers,
        unreadable,
        halted,
    })
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

/// The parts of a plan that were asked for.
fn chosen(
    scopes: BTreeMap<Scope, ScopePlan>,
    asked: &Maintain,
    config: &RetentionConfig,
) -> Vec<ScopeMaintained> {
    let chosen = scopes.into_iter().map(|(scope, mut plan)| {
        if !asked.parts.contains(&Part::Archive) {
            plan.aged.clear();
        }
        if !asked.parts.contains(&Part::Prune) {
            plan.pruned.clear();
        }
        let asks = !asked.force && plan.asks(config);
        ScopeMaintained {
            scope,
            plan,
            retired: 0,
            left: 0,
            asks,
            error: None,
        }
    });
    chosen.filter(|scope| scope.plan.going() > 0).collect()
}

fn planned(head: &Head, detail: Option<&Detail>) -> Planned {
    let detail = detail.unwrap_or(&Detail::Plain);
    Planned {
        entry: head.id,
        version: head.version,
        origin: origin(head, detail).map_or(0, name_of),
        aging: Aging::of(head, detail),
    }
}

/// A number for a task, other than 0.
fn name_of(task: &Scope) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *ScopeKey::of(task).as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
}

/// Whether an entry proved itself in a project, so that its organisation is asked.
fn is_offered(head: &Head) -> bool {
    head.table == Table::Skills
        && head.status == Status::Published
        && head.scope.level() == Level::Project
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

fn offer(head: &Head, version: Version) -> Offer {
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

async fn version(txn: &mut impl Txn, head: &Head) -> Result<Option<Version>, StoreError> {
    let key = keys::version::key(&ScopeKey::of(&head.scope), head.id, head.version);
    rows::read(txn, &key, keys::version::decode).await
}
