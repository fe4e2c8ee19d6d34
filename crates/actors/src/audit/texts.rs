//! The audit of a scope's large texts: every chunk that an event names is there, and the whole is
//! what was written.

use bytes::Bytes;
use sillok_core::id::Seq;
use sillok_store::keys::{self, Family};
use sillok_store::{Read, Txn};

use super::fold::{Fold, reason};
use super::told::LargeText;
use super::{AuditReport, Stop};
use crate::row_stream::RowStream;
use crate::rows::Place;

/// Checks that every large text is there, chunk by chunk.
pub(super) async fn check_texts(
    txn: &mut impl Txn,
    place: &Place,
    fold: &Fold,
    report: &mut AuditReport,
) -> Result<(), Stop> {
    let mut chunks = RowStream::new(keys::chunk::range_of_scope(&place.key));
    let mut open: Option<OpenText<'_>> = None;
    let mut whole = 0;
    while let Some((key, value)) = chunks.next(txn).await? {
        let lost = |seq: Option<Seq>, what: String| {
            Stop::at(
                place,
                seq.unwrap_or(fold.row().tip.seq),
                Family::Chunk,
                &key,
                what,
            )
        };
        let parsed = keys::chunk::parse(&key).map_err(|error| lost(None, reason(error)))?;
        let earlier = fold
            .told
            .texts
            .range(..=(parsed.command, parsed.number))
            .next_back();
        let text = earlier.filter(|((command, first), text)| {
            *command == parsed.command && parsed.number - first < text.count
        });
        let bytes = keys::chunk::decode(&key, &value);
        let bytes = bytes.map_err(|error| lost(text.map(|(_, text)| text.seq), reason(error)))?;
        let Some(((_, first), text)) = text else {
            report.chunks_unused += 1;
            continue;
        };
        let current = open.take().filter(|open| open.text.seq == text.seq);
        let mut current = current.unwrap_or_else(|| OpenText::new(text, *first));
        if !current.take(parsed.number, &bytes) {
            return Err(lost(
                Some(text.seq),
                format!("chunk {} is missing", current.next),
            ));
        }
        if current.is_whole(*first) {
            if !current.is_as_written() {
                return Err(lost(
                    Some(text.seq),
                    "the text is not what was written".to_owned(),
                ));
            }
            whole += 1;
        } else {
            open = Some(current);
        }
    }
    if whole < fold.told.texts.len() {
        return Err(missing_text(txn, place, fold).await?);
    }
    report.large_texts += whole as u64;
    Ok(())
}

/// A large text of which some chunks were read.
struct OpenText<'a> {
    text: &'a LargeText,
    next: u32,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl<'a> OpenText<'a> {
    fn new(text: &'a LargeText, first: u32) -> Self {
        Self {
            text,
            next: first,
            bytes: 0,
            hasher: blake3::Hasher::new(),
        }
    }

    fn take(&mut self, number: u32, bytes: &Bytes) -> bool {
        let follows = number == self.next;
        if follows {
            self.next += 1;
            self.bytes += bytes.len() as u64;
            self.hasher.update(bytes);
        }
        follows
    }

    fn is_whole(&self, first: u32) -> bool {
        self.next - first == self.text.count
    }

    fn is_as_written(&self) -> bool {
        self.bytes == self.text.bytes && *self.hasher.finalize().as_bytes() == self.text.hash
    }
}

/// The first text that lacks a chunk, when one does.
async fn missing_text(txn: &mut impl Txn, place: &Place, fold: &Fold) -> Result<Stop, Stop> {
    for ((command, first), text) in &fold.told.texts {
        for number in *first..*first + text.count {
            let key = keys::chunk::key(&place.key, *command, number);
            if txn.get(&key, Read::Snapshot).await?.is_none() {
                let what = "a chunk that the event names is missing";
                return Ok(Stop::at(place, text.seq, Family::Chunk, &key, what));
            }
        }
    }
    let key = keys::scope::key(&place.key);
    Ok(Stop::at(
        place,
        fold.row().tip.seq,
        Family::Chunk,
        &key,
        "two events name the same chunks",
    ))
}
