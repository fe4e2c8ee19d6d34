//! Calls of an import: how records are cut into them, and what names each.
//!
//! Owns their bounds and command ids. It must not know what a task holds already.

use serde_json::value::to_raw_value;
use sillok_core::id::CommandId;
use sillok_core::limits::COMMAND_RETRY_MS_MAX;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_server::api::{AppendLogs, LogRecord};
use sillok_sessions::{Head, Record};

use crate::client::now;
use crate::failure::Failure;

/// Records of one call.
const BATCH_RECORDS_MAX: usize = 100;
/// Bytes of content of one call of more than one record.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// How long the commands of an import are made out of one time: while any of them could be one that was sent before, the
/// server remembers it.
const PERIOD_MS: u64 = COMMAND_RETRY_MS_MAX / 2;

/// A record, and what names it within its file.
pub(super) struct Placed {
    pub(super) at: u64,
    pub(super) ordinal: usize,
    pub(super) record: Record,
}

/// Whether records fill a call.
pub(super) fn is_full(placed: &[Placed]) -> bool {
    let bytes: usize = placed
        .iter()
        .map(|placed| placed.record.content.len())
        .sum();
    placed.len() >= BATCH_RECORDS_MAX || bytes >= BATCH_BYTES_MAX
}

/// Cuts records into calls, by number and by bytes.
pub(super) fn batches(records: &[Placed]) -> Vec<&[Placed]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, placed) in records.iter().enumerate() {
        let length = placed.record.content.len();
        let full = at - start == BATCH_RECORDS_MAX || bytes + length > BATCH_BYTES_MAX;
        if full && at > start {
            batches.push(&records[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += length;
    }
    if start < records.len() {
        batches.push(&records[start..]);
    }
    batches
}

/// One call. Every import of the file into the task names it alike that begins it with the same record: where another one
/// has sent it with other records, it is refused as `command_reused`.
pub(super) fn call(
    opening: CommandId,
    head: &Head,
    placed: &[Placed],
    task: &Scope,
) -> Result<(CommandId, AppendLogs), Failure> {
    let first = placed.first().expect("a call has a record");
    let id = first.record.place.id.as_deref();
    let now = now();
    let command = command_of(opening, head, (id, first.at, first.ordinal), now)?;
    let records = placed.iter().map(|placed| log_record(&placed.record, now));
    let body = AppendLogs {
        scope: task.to_string(),
        records: records.collect(),
    };
    Ok((command, body))
}

/// The command of a batch, by its first record: what the client calls the line, else where it stands, and its place
/// within the line.
fn command_of(
    opening: CommandId,
    head: &Head,
    (id, at, ordinal): (Option<&str>, u64, usize),
    now: Timestamp,
) -> Result<CommandId, Failure> {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 import of recorded work");
    let at = at.to_le_bytes();
    let of_line = id.map_or(&at[..], str::as_bytes);
    let digest = head.digest.unwrap_or_default();
    let ordinal = (ordinal as u64).to_le_bytes();
    for part in [
        opening.as_bytes(),
        head.name.as_bytes(),
        &digest,
        of_line,
        &ordinal,
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut random = [0; 10];
    hasher.finalize_xof().fill(&mut random);
    let opened = opening.time()?;
    let periods = now.since_ms(opened) / PERIOD_MS;
    Ok(CommandId::from_parts(
        opened.plus_ms(periods * PERIOD_MS),
        random,
    ))
}

fn log_record(record: &Record, now: Timestamp) -> LogRecord {
    LogRecord {
        level: record.level,
        content: record.content.clone(),
        metadata: Some(to_raw_value(&record.place).expect("plain data is JSON")),
        // A clock that went ahead is no reason to lose a record.
        time: record.time.filter(|time| *time <= now),
    }
}

#[cfg(test)]
mod tests;
