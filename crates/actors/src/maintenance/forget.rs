//! Forgetting answers: those to commands that nobody may give again.
//!
//! Owns the reading and the removal. Which answer is needed no more is core's rule. No event tells of it and no
//! owner is asked: a floor never falls, a commit finds the one that it decided by raised and decides anew, and
//! none reads the answer to a command below it.

use bytes::Bytes;
use sillok_core::Error;
use sillok_core::command::ScopeRow;
use sillok_core::retention::answers::{idle_floor, is_forgotten, settled_floor};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn, key_range};

use super::held::{Held, lost};
use super::{Maintain, Part};
use crate::claims::retried;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;

/// Records that are looked at, and removed, at once.
const RECORDS_AT_ONCE: usize = 256;

/// Forgets what is needed no more, or counts it in a dry run, which holds no lease, where that was asked for. How many
/// answers.
///
/// # Errors
/// `fenced` where the lease is the run's no more; what the store answered. What was forgotten before stays so.
pub(super) async fn answers<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    held: Option<&Held<'_, S, P>>,
) -> Result<u64, Error> {
    if !asked.parts.contains(&Part::Forget) {
        return Ok(0);
    }
    let forgotten = in_all_scopes(shared, asked, held).await;
    forgotten.map_err(|error| refusal(&error))?.ok_or_else(lost)
}

/// How many answers were forgotten, or would be; none where the lease is the run's no more.
async fn in_all_scopes<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    held: Option<&Held<'_, S, P>>,
) -> Result<Option<u64>, StoreError> {
    // A node whose clock was ahead may have dated it.
    let newest = newest(&shared.store).await?.min(shared.ports.clock.now());
    let mut txn = LongReads::of(&shared.store).begin().await?;
    let mut scopes = RowStream::new(Family::Scope.range());
    let mut forgotten = 0;
    while let Some((key, value)) = scopes.next(&mut txn).await? {
        // One that cannot be read, an audit names.
        let Ok(mut row) = keys::scope::decode(&key, &value) else {
            continue;
        };
        if !shared.protocol.keeps(Safeguard::KeepsAnswers) {
            row.floor = row.tip.time;
        }
        let is_asked = |within: &Scope| within.contains(&row.scope);
        if row.floor == settled_floor(&row) || !asked.within.as_ref().is_none_or(is_asked) {
            continue;
        }
        let key = ScopeKey::of(&row.scope);
        let mut left = keys::command::range_of_scope(&key);
        while !left.is_empty() {
            let floor = raised(shared.protocol, &row, newest);
            let seen = some(&mut txn, &row, floor, left).await?;
            forgotten += seen.old.len() as u64;
            let does_something = floor.is_some() || !seen.old.is_empty();
            if let Some(held) = held
                && does_something
                && !asked.dry_run
            {
                match remove(held, &row, floor, &seen).await? {
                    Removal::Done => {}
                    // Somebody wrote there again.
                    Removal::Overtaken => break,
                    Removal::LeaseLost => return Ok(None),
                }
            }
            left = seen.left;
        }
    }
    Ok(Some(forgotten))
}

/// Where the floor of an idle scope is raised to; none of any other.
fn raised<P: Protocol>(protocol: P, row: &ScopeRow, newest: Timestamp) -> Option<Timestamp> {
    if protocol.keeps(Safeguard::RaisesFloorsLate) {
        return idle_floor(row, newest);
    }
    // Planted bug: over whatever the scope has answered, however soon somebody may ask again.
    Some(row.tip.time)
}

/// When the newest event of all scopes happened.
async fn newest<S: Store>(store: &S) -> Result<Timestamp, StoreError> {
    let mut txn = LongReads::of(store).begin().await?;
    let mut scopes = RowStream::new(Family::Scope.range());
    let mut newest = Timestamp::EPOCH;
    while let Some((key, value)) = scopes.next(&mut txn).await? {
        if let Ok(row) = keys::scope::decode(&key, &value) {
            newest = newest.max(row.tip.time);
        }
    }
    Ok(newest)
}

/// Some records of a scope.
struct Seen {
    /// Those that are needed no more.
    old: Vec<Bytes>,
    /// What was not looked at.
    left: KeyRange,
}

/// Looks at the next records of a scope. Those of one principal come in the order of their time, so that what
/// follows one which is kept is passed over.
async fn some(
    txn: &mut impl Txn,
    row: &ScopeRow,
    raised: Option<Timestamp>,
    range: KeyRange,
) -> Result<Seen, StoreError> {
    let floor = raised.map_or(row.floor, |floor| floor.max(row.floor));
    let options = RangeOptions::first(RECORDS_AT_ONCE, Read::Snapshot);
    let rows = txn.range(&range, options).await?;
    let mut left = KeyRange {
        begin: range.end.clone(),
        end: range.end,
    };
    if rows.len() == RECORDS_AT_ONCE
        && let Some((last, _)) = rows.last()
    {
        left.begin = key_range::successor(last);
    }
    let mut old = Vec::new();
    for (key, _) in rows {
        let Ok(of) = keys::command::parse(&key) else {
            continue;
        };
        if is_forgotten(of.actor.kind, of.command, floor) {
            old.push(key);
        } else {
            let passed = keys::command::range_behind(&of.scope, &of.actor).begin;
            left.begin = left.begin.max(passed).min(left.end.clone());
        }
    }
    Ok(Seen { old, left })
}

/// What became of an attempt to remove old records.
enum Removal {
    /// They are gone.
    Done,
    /// The scope is idle no more.
    Overtaken,
    /// The lease is the run's no more.
    LeaseLost,
}

/// Removes old records, together with the floor that allows it in an idle scope, if that is still so and the lease still the
/// run's.
async fn remove<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    row: &ScopeRow,
    raised: Option<Timestamp>,
    seen: &Seen,
) -> Result<Removal, StoreError> {
    let shared = held.shared();
    // A floor that was raised too early settles nothing.
    let settles = seen.left.is_empty() && shared.protocol.keeps(Safeguard::RaisesFloorsLate);
    let key = keys::scope::key(&ScopeKey::of(&row.scope));
    retried(|| async {
        let mut txn = shared.store.begin().await?;
        if !held.is_held(&mut txn, Read::Conflict).await? {
            return Ok(Removal::LeaseLost);
        }
        if let Some(raised) = raised {
            let found = txn.get(&key, Read::Conflict).await?;
            let found = found.map(|value| keys::scope::decode(&key, &value));
            let Some(found) = found.transpose()?.filter(|found| found.tip == row.tip) else {
                return Ok(Removal::Overtaken);
            };
            let settled = settles.then(|| settled_floor(row));
            let floor = found.floor.max(settled.unwrap_or(raised));
            txn.set(
                key.clone(),
                keys::scope::encode(&ScopeRow { floor, ..found }),
            );
        }
        for old in &seen.old {
            txn.clear(old.clone());
        }
        txn.commit().await.map(|_| Removal::Done)
    })
    .await
}
