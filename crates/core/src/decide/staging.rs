//! Deciding what is staged: masking secrets, cutting large texts into chunks.

use std::borrow::Cow;

use super::{Chunk, Context, Decision, task};
use crate::bound::Bound;
use crate::command::{AnswerBody, Command};
use crate::entry::Metadata;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::id::CommandId;
use crate::limits::{CLOCK_AHEAD_MS_MAX, INLINE_BYTES_MAX};
use crate::membership::WireVersion;
use crate::scope::Level;
use crate::secret::mask;
use crate::staging::{self, BoundRecord, Content, NewBoundRecord, NewRecord, Record, RecordKind};
use crate::task::TaskAction;

/// Stages the records of a command, in order.
pub(super) fn decide(context: &Context<'_>) -> Result<Decision, Error> {
    match &context.submission.command {
        Command::Append { records } => append(context, records),
        Command::AppendBound { records } => append_bound(context, records),
        _ => unreachable!("only what appends records comes here"),
    }
}

fn append(context: &Context<'_>, records: &[NewRecord]) -> Result<Decision, Error> {
    check_place(context, records.iter())?;
    staging::check_append(records)?;
    append_each(context, records.iter().map(|record| (record, None)))
}

/// Stages records that say where they were said. As long as a node reads nothing of that, they are staged without.
fn append_bound(context: &Context<'_>, records: &[NewBoundRecord]) -> Result<Decision, Error> {
    check_place(context, records.iter().map(|one| &one.record))?;
    staging::check_bound_append(records)?;
    let is_read = context.facts.spoken >= WireVersion::WITH_BINDINGS;
    let parts = records.iter().map(|one| {
        let bound = one.bound.as_ref().filter(|_| is_read);
        (&one.record, bound)
    });
    append_each(context, parts)
}

/// Checks that the scope takes such records.
fn check_place<'a>(
    context: &Context<'_>,
    mut records: impl Iterator<Item = &'a NewRecord>,
) -> Result<(), Error> {
    if context.scope().level() == Level::Task {
        task::task(context, TaskAction::Append)?;
        return Ok(());
    }
    let belongs = records.find(|record| !may_stand_outside_a_task(&record.kind));
    belongs.map_or(Ok(()), |record| {
        let why = format!(
            "{} belongs to a task; {} is a {}",
            name(&record.kind),
            context.scope(),
            context.scope().level()
        );
        Err(Error::new(ErrorCode::InvalidScope, why))
    })
}

fn append_each<'a>(
    context: &Context<'_>,
    records: impl ExactSizeIterator<Item = (&'a NewRecord, Option<&'a Bound>)>,
) -> Result<Decision, Error> {
    let count = u32::try_from(records.len()).expect("an append is bounded");
    let mut decision = Decision::of(Vec::with_capacity(records.len()), AnswerBody::Done);
    let mut masked_total = 0;
    for (record, bound) in records {
        let mut record = stage(context, record, &mut decision.chunks)?;
        let bound = bound.map(Bound::masked).map(|(bound, masked)| {
            record.masked += masked;
            bound
        });
        masked_total += record.masked;
        decision.bodies.push(match bound {
            Some(bound) => Body::BoundRecordAppended(Box::new(BoundRecord { record, bound })),
            None => Body::RecordAppended(Box::new(record)),
        });
    }
    decision.result = AnswerBody::Appended {
        first: context.state.row().tip.seq.next(),
        count,
        masked: masked_total,
    };
    Ok(decision)
}

const fn may_stand_outside_a_task(kind: &RecordKind) -> bool {
    matches!(kind, RecordKind::MemoryEvent { .. })
}

const fn name(kind: &RecordKind) -> &'static str {
    match kind {
        RecordKind::Log { .. } => "a log record",
        RecordKind::Snapshot { .. } => "a terminal snapshot",
        RecordKind::MemoryEvent { .. } => "a memory event",
    }
}

fn stage(
    context: &Context<'_>,
    record: &NewRecord,
    chunks: &mut Vec<Chunk>,
) -> Result<Record, Error> {
    let time = record.time.unwrap_or(context.now);
    if time.since_ms(context.now) > CLOCK_AHEAD_MS_MAX {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "a record's time does not lie far ahead",
        ));
    }
    let content = mask(&record.content);
    let metadata = mask(record.metadata.as_str());
    let masked = content.count + metadata.count;
    let metadata = match metadata.text {
        Cow::Borrowed(_) => record.metadata.clone(),
        Cow::Owned(text) => Metadata::parse(&text)?,
    };
    let content = stored(context, content.text, INLINE_BYTES_MAX, chunks);
    Ok(Record {
        kind: record.kind.clone(),
        content,
        metadata,
        time,
        masked,
    })
}

/// A masked text as it is stored: the whole of it up to so many bytes, else chunks behind those that the command has by now.
pub(super) fn stored(
    context: &Context<'_>,
    text: Cow<'_, str>,
    inline_max: usize,
    chunks: &mut Vec<Chunk>,
) -> Content {
    if text.len() > inline_max {
        chunked(context, &text, chunks)
    } else {
        Content::Inline(text.into_owned())
    }
}

fn chunked(context: &Context<'_>, text: &str, chunks: &mut Vec<Chunk>) -> Content {
    let first = u32::try_from(chunks.len()).expect("a command's bytes are bounded");
    for (number, bytes) in (first..).zip(staging::chunks(text)) {
        chunks.push(Chunk {
            number,
            bytes: bytes.to_vec(),
        });
    }
    Content::Chunked {
        command: CommandId::of_chunks(
            &context.submission.principal.actor.to_string(),
            context.submission.id,
        ),
        first,
        count: u32::try_from(chunks.len()).expect("a command's bytes are bounded") - first,
        bytes: text.len() as u64,
        hash: *blake3::hash(text.as_bytes()).as_bytes(),
    }
}
