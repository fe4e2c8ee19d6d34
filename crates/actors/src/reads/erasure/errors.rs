//! Which verifications tell an error still, of which others were erased.
//!
//! Owns finding them, by the events of an order and by those of the verifications that are left. It must not know what is erased.

use std::collections::BTreeSet;

use sillok_core::chain::{Broken, Header};
use sillok_core::event::{Body, EventKind, FixFailed};
use sillok_core::id::{CommandId, Seq, VerificationId};
use sillok_core::limits::ERASED_MAX;
use sillok_core::scope::Scope;
use sillok_core::verification::Outcome;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, Txn};

use crate::row_stream::RowStream;
use crate::rows;

/// The verifications of a task that tell an error of which an order erased others: as many as an order names, those that were
/// recorded first. `last` is where the order ended, and `command` gave it.
pub(super) async fn same_error(
    txn: &mut impl Txn,
    task: &Scope,
    (last, command): (Seq, CommandId),
) -> Result<Vec<VerificationId>, StoreError> {
    let here = ScopeKey::of(task);
    let erased = errors_of(txn, &here, last, command).await?;
    let mut found: Vec<(Seq, VerificationId)> = Vec::new();
    if !erased.is_empty() {
        let mut rows = RowStream::new(keys::verification::range_of_scope(&here));
        while let Some((key, value)) = rows.next(txn).await? {
            let one = keys::verification::decode(&key, &value)?;
            let tells = one.said.error.is_some_and(|error| !error.is_empty());
            if one.said.outcome != Outcome::Failed || !tells {
                continue;
            }
            // Behind the event of the verification.
            let at = one.through.next().next();
            let fix = fix_at(txn, &here, at).await?;
            let fix = fix.filter(|fix| fix.verification == one.id);
            let error = fix.and_then(|fix| fix.error);
            found.extend(
                error
                    .filter(|seen| erased.contains(&seen.first))
                    .map(|_| (at, one.id)),
            );
        }
    }
    found.sort_unstable();
    found.truncate(ERASED_MAX);
    Ok(found.into_iter().map(|(_, id)| id).collect())
}

/// The verifications under which the errors count whose fingerprints an order erased. Its events are the last of its command.
async fn errors_of(
    txn: &mut impl Txn,
    here: &ScopeKey,
    last: Seq,
    command: CommandId,
) -> Result<BTreeSet<VerificationId>, StoreError> {
    let mut errors = BTreeSet::new();
    for seq in (1..=last.get()).rev().map(Seq::new) {
        let Some((header, body)) = event_at(txn, here, seq).await? else {
            break;
        };
        let (EventKind::ContentErased, Some(Body::ContentErased(erased))) = (header.kind, body)
        else {
            break;
        };
        if header.command != command {
            break;
        }
        let rests = erased.events.into_iter().map(|event| event.rest);
        errors.extend(rests.filter_map(|rest| match rest {
            Body::FixFailed(fix) => fix.error.map(|seen| seen.first),
            _ => None,
        }));
    }
    Ok(errors)
}

/// What failed of a fix, as the event at a position tells; none where it tells something else, or nothing any more.
async fn fix_at(
    txn: &mut impl Txn,
    here: &ScopeKey,
    seq: Seq,
) -> Result<Option<FixFailed>, StoreError> {
    let event = event_at(txn, here, seq).await?;
    Ok(event.and_then(|(_, body)| match body {
        Some(Body::FixFailed(fix)) => Some(*fix),
        _ => None,
    }))
}

/// The event at a position, if the chain goes as far; no content where that was erased.
async fn event_at(
    txn: &mut impl Txn,
    here: &ScopeKey,
    seq: Seq,
) -> Result<Option<(Header, Option<Body>)>, StoreError> {
    let key = keys::event::key(here, seq);
    let Some(event) = rows::read(txn, &key, keys::event::decode).await? else {
        return Ok(None);
    };
    let broken = |broken: Broken| StoreError::Corrupt {
        family: Family::Event.as_str(),
        key: hex::encode(&key),
        reason: broken.to_string(),
    };
    let header = event.decode_header().map_err(broken)?;
    let body = event.decode_body().map_err(broken)?;
    Ok(Some((header, body)))
}
