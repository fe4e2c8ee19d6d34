//! The audit of what is not kept by scope: rows that a scope must explain though their keys do not
//! begin with it, rows that no event determines, and keys of no family.
//!
//! That the rows which events lead to are there was checked with each scope. Here it is the other
//! way round: everything that is there is explained.

use sillok_core::decision::{Edge, NamedEdge, Node};
use sillok_core::entry::Head;
use sillok_core::event::Body;
use sillok_core::id::{EntryId, Seq, TokenId, VerificationId};
use sillok_core::invariants::Invariant;
use sillok_core::principal::{Actor, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::Slot;
use sillok_core::token::{Token, TokenHash};
use sillok_core::verification::Verification;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn};

use super::fold::reason;
use super::lookup::minted;
use super::scope::unnamed;
use super::{AuditReport, Seen, Stop};
use crate::row_stream::RowStream;
use crate::rows;

/// Checks all families that are not kept by scope.
pub(super) async fn check<S: Store>(
    store: &S,
    seen: &Seen,
    report: &mut AuditReport,
) -> Result<(), Stop> {
    let mut txn = store.begin().await?;
    for family in [
        Family::Location,
        Family::Related,
        Family::FailedApproach,
        Family::Trajectory,
        Family::Job,
        Family::Attempt,
        Family::Mark,
        Family::Node,
        Family::Fence,
        Family::Quarantine,
        Family::Owner,
        Family::Relay,
        Family::Lease,
        Family::Run,
        Family::Vector,
        Family::Space,
    ] {
        let mut rows = RowStream::new(family.range());
        while let Some((key, value)) = rows.next(&mut txn).await? {
            family
                .check(&key, &value)
                .map_err(|error| unnamed(family, &key, reason(error)))?;
            if !is_explained(&mut txn, family, &key, &value).await? {
                return Err(unnamed(family, &key, "no event leads to the row"));
            }
        }
    }
    check_tokens(&mut txn, seen, report).await?;
    no_other_keys(&mut txn).await
}

/// Whether a vector is that of an entry: it is of no event, but it says what the entry says.
async fn is_of_entry(txn: &mut impl Txn, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
    let (parsed, vector) = (keys::vector::parse(key)?, keys::vector::decode(key, value)?);
    let head = keys::head::key(&parsed.scope, parsed.entry);
    let head = rows::read(txn, &head, keys::head::decode).await?;
    let is_of = head.is_some_and(|head| {
        let is_former = vector.version < head.version;
        let is_same = (vector.version, vector.content_hash) == (head.version, head.content_hash);
        !head.is_erased() && (is_former || is_same)
    });
    // Both may have gone together since the row was read.
    Ok(is_of || rows::read(txn, key, keys::vector::decode).await?.is_none())
}

/// Whether a row that decodes follows from events, for families that are not kept by scope. Rows
/// that no event determines explain themselves.
pub(crate) async fn is_explained(
    txn: &mut impl Txn,
    family: Family,
    key: &[u8],
    value: &[u8],
) -> Result<bool, StoreError> {
    match family {
        Family::Location => {
            let (entry, scope) = (
                keys::location::parse(key)?.entry,
                keys::location::decode(key, value)?,
            );
            Ok(head(txn, &scope, entry).await?.is_some())
        }
        Family::Related => {
            let (parsed, NamedEdge { edge, .. }) = (
                keys::related::parse(key)?,
                keys::related::decode(key, value)?,
            );
            let fits = keys::related::Key::of(&edge) == Some(parsed);
            // What the decision is called in it is compared with the events of its scope, which lead to the row.
            let is_said = fits && is_declared(txn, &edge).await?;
            // The decision may have been changed since the row was read.
            Ok(is_said || rows::read(txn, key, keys::related::decode).await?.is_none())
        }
        Family::FailedApproach => is_of_failure(txn, key, value).await,
        Family::Trajectory => is_of_trajectory(txn, key, value).await,
        Family::Job => {
            let (parsed, job) = (keys::job::parse(key)?, keys::job::decode(key, value)?);
            let fits =
                parsed.slot == Slot::of(&job.source) && parsed.verification == job.verification;
            let known = verification(txn, &ScopeKey::of(&job.source), job.verification).await?;
            Ok(fits && known.is_some())
        }
        // What is in it no event says, but it goes with the job.
        Family::Attempt => {
            let parsed = keys::attempt::parse(key)?;
            keys::attempt::decode(key, value)?;
            let job = keys::job::key(parsed.slot, parsed.verification);
            let job = rows::read(txn, &job, keys::job::decode).await?;
            // Both may have gone together since the row was read.
            Ok(job.is_some() || rows::read(txn, key, keys::attempt::decode).await?.is_none())
        }
        Family::Quarantine => {
            let slot = keys::quarantine::parse(key)?.slot;
            let order = keys::quarantine::decode(key, value)?;
            Ok(slot == Slot::of(&order.scope))
        }
        Family::Vector => is_of_entry(txn, key, value).await,
        Family::Mark => {
            let (parsed, report) = (keys::mark::parse(key)?, keys::mark::decode(key, value)?);
            let Some(known) = verification(txn, &parsed.scope, parsed.verification).await? else {
                return Ok(false);
            };
            // An episode says which promotion made it, and is made together with the mark.
            let episode = head(txn, &known.target, report.episode).await?;
            Ok(episode.is_some_and(|head| head.promotion == Some(parsed.verification)))
        }
        _ => Ok(true),
    }
}

/// Whether the decision that an edge begins at says so, and is active.
async fn is_declared(txn: &mut impl Txn, edge: &Edge) -> Result<bool, StoreError> {
    let Node::Decision { scope, root } = &edge.from else {
        return Ok(false);
    };
    let key = keys::decision::key(&ScopeKey::of(scope), *root);
    let head = rows::read(txn, &key, keys::decision::decode).await?;
    Ok(head.is_some_and(|head| head.edges(scope).contains(edge)))
}

/// Whether the event that an approach that failed names says so.
async fn is_of_failure(txn: &mut impl Txn, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
    let (parsed, failed) = (
        keys::failed_approach::parse(key)?,
        keys::failed_approach::decode(key, value)?,
    );
    // What it says is compared with the events of its task, which lead to the row.
    let fits = keys::failed_approach::Key::of(&failed) == parsed;
    let body = body_at(txn, &failed.task, failed.seq).await?;
    let is_told =
        matches!(body, Some(Body::FixFailed(told)) if told.verification == failed.verification);
    // Its verification may have been erased since the row was read.
    let read = keys::failed_approach::decode;
    Ok(fits && is_told || rows::read(txn, key, read).await?.is_none())
}

/// Whether the event that a trajectory names tells of one.
async fn is_of_trajectory(
    txn: &mut impl Txn,
    key: &[u8],
    value: &[u8],
) -> Result<bool, StoreError> {
    let (parsed, stored) = (
        keys::trajectory::parse(key)?,
        keys::trajectory::decode(key, value)?,
    );
    // What it says is compared with the events of its task, which lead to the row.
    let fits = keys::trajectory::Key::of(&stored) == parsed;
    let body = body_at(txn, &stored.task, stored.seq).await?;
    let is_told = matches!(body, Some(Body::TrajectoryStored(_)));
    // It may have been erased since the row was read.
    let read = keys::trajectory::decode;
    Ok(fits && is_told || rows::read(txn, key, read).await?.is_none())
}

/// What the event at a position of a scope says; none where it was erased, or where there is none.
async fn body_at(txn: &mut impl Txn, scope: &Scope, seq: Seq) -> Result<Option<Body>, StoreError> {
    let key = keys::event::key(&ScopeKey::of(scope), seq);
    let event = rows::read(txn, &key, keys::event::decode).await?;
    Ok(event.and_then(|event| event.decode_body().ok().flatten()))
}

async fn verification(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: VerificationId,
) -> Result<Option<Verification>, StoreError> {
    rows::read(
        txn,
        &keys::verification::key(scope, id),
        keys::verification::decode,
    )
    .await
}

async fn head(
    txn: &mut impl Txn,
    scope: &Scope,
    entry: EntryId,
) -> Result<Option<Head>, StoreError> {
    rows::read(
        txn,
        &keys::head::key(&ScopeKey::of(scope), entry),
        keys::head::decode,
    )
    .await
}

/// Every token was made by an event of its scope, save those of the operator.
async fn check_tokens(
    txn: &mut impl Txn,
    seen: &Seen,
    report: &mut AuditReport,
) -> Result<(), Stop> {
    let mut tokens = RowStream::new(Family::Token.range());
    while let Some((key, value)) = tokens.next(txn).await? {
        let wrong = |error| unnamed(Family::Token, &key, reason(error));
        let hash = keys::token::parse(&key).map_err(wrong)?.hash;
        let token = keys::token::decode(&key, &value).map_err(wrong)?;
        report.operator_tokens += u64::from(token.prefix == ScopePrefix::All);
        let explained = is_token_explained(txn, seen, &hash, &token).await?;
        if !explained {
            return Err(unnamed(Family::Token, &key, "no event leads to the row"));
        }
    }
    Ok(())
}

/// Whether an event of its scope made a token, or it is the operator's.
pub(crate) async fn is_token_explained(
    txn: &mut impl Txn,
    seen: &Seen,
    hash: &TokenHash,
    token: &Token,
) -> Result<bool, Stop> {
    match &token.prefix {
        ScopePrefix::All => Ok(is_operators(hash, token)),
        ScopePrefix::Scope(scope) => {
            Ok(seen.minted.contains(hash) || minted(txn, &ScopeKey::of(scope), hash).await?)
        }
    }
}

/// Whether a token is one that the system makes for the operator at its first start: it stands for
/// a person and covers everything, so no scope can have made it.
#[must_use]
pub fn is_operators(hash: &TokenHash, token: &Token) -> bool {
    token.prefix == ScopePrefix::All
        && token.id == TokenId::of_hash(hash)
        && token.minted_by == Actor::system()
        && token.actor.kind == PrincipalKind::Human
}

/// No key begins with a letter that is no family's.
async fn no_other_keys(txn: &mut impl Txn) -> Result<(), Stop> {
    let mut begin = KeyRange::all().begin;
    let mut ranges: Vec<KeyRange> = Family::ALL.iter().map(|family| family.range()).collect();
    ranges.sort_by(|a, b| a.begin.cmp(&b.begin));
    ranges.push(KeyRange::new(KeyRange::all().end, KeyRange::all().end));
    for family in ranges {
        let between = KeyRange::new(begin, family.begin);
        begin = family.end;
        if between.is_empty() {
            continue;
        }
        if let Some((key, _)) = txn
            .range(&between, RangeOptions::first(1, Read::Snapshot))
            .await?
            .pop()
        {
            return Err(Stop::Found(Box::new(super::Difference {
                scope: None,
                seq: None,
                family: "none".to_owned(),
                key: Some(hex::encode(key)),
                what: "the key belongs to no family".to_owned(),
                invariant: Invariant::ViewIsFold,
            })));
        }
    }
    Ok(())
}
