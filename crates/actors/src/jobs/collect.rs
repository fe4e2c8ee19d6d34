//! Collecting: what a promotion reads of its task, within the verification's pin.
//!
//! Owns how much is read, from where, and how much is not. It must not know what is drawn from it.

use sillok_core::bound::Bound;
use sillok_core::event::Body;
use sillok_core::id::{CommandId, RecordId, Seq};
use sillok_core::limits::{PROMOTION_BYTES_MAX, PROMOTION_RECORDS_MAX};
use sillok_core::promotion::{
    CognifyInput, CognifyRecord, Ends, RecordEnd, Unread, beginning, ending,
};
use sillok_core::scope::Scope;
use sillok_core::staging::{Content, Record};
use sillok_core::verification::Verification;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{RangeOptions, Read, Store, Txn};

use super::promote::row;
use super::unknown;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::protocol::Protocol;

/// Events that are read at once.
const PAGE_ROWS: usize = 512;

/// How much of a task one promotion reads. A record that begins within the bytes is read; what follows the last one is not
/// even looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) records: usize,
    pub(super) bytes: usize,
}

const BOUNDS: Bounds = Bounds {
    records: PROMOTION_RECORDS_MAX,
    bytes: PROMOTION_BYTES_MAX,
};

/// Reads the task's records within the verification's pin.
///
/// # Errors
/// What the store answered.
pub(super) async fn collect<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    verification: &Verification,
) -> Result<CognifyInput, Error> {
    let key = keys::task::key(&ScopeKey::of(source));
    let task = row(shared, &key, keys::task::decode).await?;
    let task = task.ok_or_else(|| unknown(source, verification.id))?;
    let opening = opening(shared, source).await?;
    let (records, unread) = records(shared, source, verification, BOUNDS).await?;
    Ok(CognifyInput {
        task: source.clone(),
        title: task.title,
        description: task.description,
        outcome: verification.said.outcome,
        error: verification.said.error.clone(),
        approach: verification.said.approach.clone(),
        opening,
        records,
        unread,
    })
}

/// The first records, as many as are within the bounds, and how much is not read. Behind them nothing is read: of what else
/// there is, the events are known by number, and not which of them are records.
///
/// # Errors
/// What the store answered.
pub(super) async fn records<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    verification: &Verification,
    bounds: Bounds,
) -> Result<(Vec<CognifyRecord>, Unread), Error> {
    let scope = ScopeKey::of(source);
    let record_bytes = shared.config.jobs.record_bytes;
    let (mut records, mut unread) = (Vec::new(), Unread::default());
    let mut range = keys::event::range_through(&scope, verification.from, verification.through);
    let mut bytes = 0;
    // Nothing that a promotion under way reads is erased, and nothing else changes an event: what is read at several moments
    // belongs together.
    let store = LongReads::of(&shared.store);
    loop {
        let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
        let rows = txn
            .range(&range, RangeOptions::first(PAGE_ROWS, Read::Snapshot))
            .await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let Some((last, _)) = rows.last() else { break };
        range.begin = sillok_store::key_range::successor(last);
        for (key, value) in &rows {
            let Some((seq, (record, bound))) = record(key, value)? else {
                continue;
            };
            let id = RecordId {
                scope: source.clone(),
                seq,
            };
            let read = read_record(&mut txn, &scope, id, record, record_bytes).await?;
            let record = CognifyRecord { bound, ..read };
            let text_bytes: usize = record.parts().map(|(_, text)| text.len()).sum();
            bytes += text_bytes + record.metadata.as_str().len();
            bytes += record.bound.as_ref().map_or(0, Bound::bytes);
            unread.bytes += record.unread_bytes();
            records.push(record);
            if records.len() >= bounds.records || bytes >= bounds.bytes {
                unread.events = verification.through.get() - seq.get();
                return Ok((records, unread));
            }
        }
    }
    Ok((records, unread))
}

/// The record that an event is, if it is one, with where it was said.
fn record(key: &[u8], value: &[u8]) -> Result<Option<(Seq, (Record, Option<Bound>))>, Error> {
    let event = keys::event::decode(key, value).map_err(|error| refusal(&error))?;
    let seq = keys::event::parse(key)
        .map_err(|error| refusal(&error))?
        .seq;
    let body = event
        .decode_body()
        .map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
    let staged = body.and_then(Body::into_record);
    Ok(staged.map(|staged| (seq, staged)))
}

/// Where the task was opened, if its log begins with that.
async fn opening<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    task: &Scope,
) -> Result<Option<RecordId>, Error> {
    let seq = Seq::new(1);
    let key = keys::event::key(&ScopeKey::of(task), seq);
    let Some(event) = row(shared, &key, keys::event::decode).await? else {
        return Ok(None);
    };
    let body = event
        .decode_body()
        .map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?;
    Ok(match body {
        Some(Body::TaskOpened { .. }) => Some(RecordId {
            scope: task.clone(),
            seq,
        }),
        _ => None,
    })
}

/// A record as a cognifier reads it: its text, or of one that is longer than `bytes_max` its beginning and its end.
async fn read_record(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: RecordId,
    record: Record,
    bytes_max: usize,
) -> Result<CognifyRecord, Error> {
    let bytes = record.content.bytes();
    let no_text = || Error::new(ErrorCode::Internal, format!("{id} is no text"));
    let (content, end) = match Ends::of(bytes, bytes_max) {
        None => {
            let text = whole(txn, scope, &id, record.content).await?;
            (String::from_utf8(text).map_err(|_| no_text())?, None)
        }
        Some(ends) => {
            let (first, last) = both_ends(txn, scope, &id, record.content, ends).await?;
            let content = beginning(&first).ok_or_else(no_text)?.to_owned();
            let (before, end) = ending(&last).ok_or_else(no_text)?;
            let from = bytes - (last.len() - before) as u64;
            let end = RecordEnd {
                from: u32::try_from(from).expect("a record's text is far shorter than 4 GiB"),
                content: end.to_owned(),
            };
            (content, Some(end))
        }
    };
    Ok(CognifyRecord {
        id,
        time: record.time,
        kind: record.kind,
        content,
        end,
        metadata: record.metadata,
        bound: None,
    })
}

/// All bytes of a text.
async fn whole(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: &RecordId,
    content: Content,
) -> Result<Vec<u8>, Error> {
    match content {
        Content::Inline(text) => Ok(text.into_bytes()),
        Content::Chunked {
            command,
            first,
            count,
            ..
        } => {
            let mut bytes = Vec::new();
            for number in first..first + count {
                bytes.extend(chunk(txn, scope, id, (command, number)).await?);
            }
            Ok(bytes)
        }
    }
}

/// The first and the last bytes of a text that has more than both. What lies between is not fetched.
async fn both_ends(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: &RecordId,
    content: Content,
    ends: Ends,
) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let (command, numbers) = match content {
        Content::Inline(text) => {
            let bytes = text.as_bytes();
            let behind = bytes.len() - ends.last;
            return Ok((bytes[..ends.first].to_vec(), bytes[behind..].to_vec()));
        }
        Content::Chunked {
            command,
            first,
            count,
            ..
        } => (command, first..first + count),
    };
    let mut beginning = Vec::new();
    for number in numbers.clone() {
        if beginning.len() >= ends.first {
            break;
        }
        beginning.extend(chunk(txn, scope, id, (command, number)).await?);
    }
    beginning.truncate(ends.first);
    let mut end = Vec::new();
    for number in numbers.rev() {
        if end.len() >= ends.last {
            break;
        }
        let mut longer = chunk(txn, scope, id, (command, number)).await?;
        longer.append(&mut end);
        end = longer;
    }
    end.drain(..end.len().saturating_sub(ends.last));
    Ok((beginning, end))
}

/// A chunk of a text, by the name that its chunks lie under and its number.
async fn chunk(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: &RecordId,
    (command, number): (CommandId, u32),
) -> Result<Vec<u8>, Error> {
    let key = keys::chunk::key(scope, command, number);
    let value = txn
        .get(&key, Read::Snapshot)
        .await
        .map_err(|error| refusal(&error))?;
    let lacking = || Error::new(ErrorCode::Internal, format!("{id} lacks a chunk"));
    let value = value.ok_or_else(lacking)?;
    let bytes = keys::chunk::decode(&key, &value).map_err(|error| refusal(&error))?;
    Ok(bytes.to_vec())
}
