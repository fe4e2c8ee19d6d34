//! Reading the texts that events name: those that lie in their events, and those that lie in chunks.
//!
//! Owns that what is read is what was written, and which chunks a part of a text takes. Must not know whose text it is.

use core::ops::Range;

use sillok_core::limits::{CHUNK_BYTES, PAGE_BYTES_MAX};
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_core::{Error, ErrorCode};
use sillok_store::Txn;
use sillok_store::keys::{self, ScopeKey};

use crate::errors::refusal;
use crate::rows;

/// A whole text, checked against what its event says of it.
pub(super) async fn whole(
    txn: &mut impl Txn,
    scope: &Scope,
    content: Content,
) -> Result<String, Error> {
    let (command, numbers, bytes, hash) = match content {
        Content::Inline(text) => return Ok(text),
        Content::Chunked {
            command,
            first,
            count,
            bytes,
            hash,
        } => (command, first..first.saturating_add(count), bytes, hash),
    };
    let here = ScopeKey::of(scope);
    let mut text = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0).min(PAGE_BYTES_MAX));
    for number in numbers {
        let key = keys::chunk::key(&here, command, number);
        let chunk = rows::read(txn, &key, keys::chunk::decode).await;
        let chunk = chunk.map_err(|error| refusal(&error))?;
        text.extend_from_slice(&chunk.ok_or_else(|| lost(scope, "lacks a chunk"))?);
    }
    if text.len() as u64 != bytes || *blake3::hash(&text).as_bytes() != hash {
        return Err(lost(scope, "is not what was written"));
    }
    String::from_utf8(text).map_err(|_| lost(scope, "is no text"))
}

/// The part of a text that lies between two places, without the characters that either of them cuts: where it begins, and
/// what it says. Of a text in chunks only those are read that it lies in. A place behind the end is the end.
pub(super) async fn part(
    txn: &mut impl Txn,
    scope: &Scope,
    content: &Content,
    places: Range<u64>,
) -> Result<(u64, String), Error> {
    let end = places.end.min(content.bytes());
    let begin = places.start.min(end);
    let bytes = match content {
        Content::Inline(text) => text.as_bytes()[place(begin)..place(end)].to_vec(),
        Content::Chunked { .. } => chunked(txn, scope, content, begin..end).await?,
    };
    let (cut, text) = whole_characters(&bytes).ok_or_else(|| lost(scope, "is no text"))?;
    Ok((begin + cut as u64, text.to_owned()))
}

/// The bytes of a text in chunks between two places.
async fn chunked(
    txn: &mut impl Txn,
    scope: &Scope,
    content: &Content,
    places: Range<u64>,
) -> Result<Vec<u8>, Error> {
    let Content::Chunked {
        command,
        first,
        count,
        bytes,
        ..
    } = content
    else {
        unreachable!("only a text in chunks has any");
    };
    let here = ScopeKey::of(scope);
    let mut found = Vec::new();
    // Each chunk but the last has so many bytes.
    let mut at = places.start - places.start % CHUNK_BYTES as u64;
    while at < places.end {
        let number = u32::try_from(at / CHUNK_BYTES as u64).expect("a text is bounded");
        if number >= *count {
            return Err(lost(scope, "lacks a chunk"));
        }
        let key = keys::chunk::key(&here, *command, first.saturating_add(number));
        let chunk = rows::read(txn, &key, keys::chunk::decode).await;
        let chunk = chunk.map_err(|error| refusal(&error))?;
        let chunk = chunk.ok_or_else(|| lost(scope, "lacks a chunk"))?;
        let expected = (*bytes - at).min(CHUNK_BYTES as u64);
        if chunk.len() as u64 != expected {
            return Err(lost(scope, "is not what was written"));
        }
        let from = places.start.saturating_sub(at);
        let to = (places.end - at).min(expected);
        found.extend_from_slice(&chunk[place(from)..place(to)]);
        at += CHUNK_BYTES as u64;
    }
    Ok(found)
}

/// A place in a text, as memory counts it.
fn place(place: u64) -> usize {
    usize::try_from(place).expect("a text is far shorter than memory is large")
}

/// The characters that lie whole in a stretch of a text, and how many bytes before them belong to one that does not. None
/// where it is no stretch of a text.
fn whole_characters(bytes: &[u8]) -> Option<(usize, &str)> {
    /// Bytes of a character behind its first one, at most.
    const FURTHER_MAX: usize = 3;
    let is_further = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = bytes.iter().take_while(is_further).count();
    if cut > FURTHER_MAX {
        return None;
    }
    let rest = &bytes[cut..];
    match core::str::from_utf8(rest) {
        Ok(text) => Some((cut, text)),
        // The last character is not whole.
        Err(error) if error.error_len().is_none() => {
            let text = core::str::from_utf8(&rest[..error.valid_up_to()]).ok()?;
            Some((cut, text))
        }
        Err(_) => None,
    }
}

fn lost(scope: &Scope, what: &str) -> Error {
    let what = format!("a large text of {scope} {what}");
    Error::new(ErrorCode::Internal, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stretch_of_a_text_has_the_characters_that_lie_whole_in_it(
            text in ".{0,12}", from: usize, to: usize,
        ) {
            let to = to % (text.len() + 1);
            let from = from % (to + 1);
            let (cut, found) = whole_characters(&text.as_bytes()[from..to]).unwrap();
            let mut begin = from;
            while begin < to && !text.is_char_boundary(begin) {
                begin += 1;
            }
            let mut end = to;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            prop_assert_eq!(from + cut, begin);
            prop_assert_eq!(found, text.get(begin..end).unwrap_or_default());
        }
    }

    #[test]
    fn what_is_no_text_has_no_characters() {
        for bytes in [&[0xff][..], &[b'a', 0xff, b'b'], &[0x80; 4]] {
            assert_eq!(whole_characters(bytes), None, "{bytes:?}");
        }
    }
}
