//! The parts that all families share: building and taking apart keys, and versioned values.
//!
//! Must not know any family's fields.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_core::decision::RelationName;
use sillok_core::slot::Slot;
use xxhash_rust::xxh3::xxh3_64;

use super::{Family, ScopeKey};
use crate::Error;

/// Most values fit without a second allocation.
const VALUE_BYTES_USUAL: usize = 1_024;

/// The key of `family` with `parts` one behind the other.
pub(super) fn build(family: Family, parts: &[&[u8]]) -> Vec<u8> {
    let len = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut key = Vec::with_capacity(len);
    key.push(family.letter());
    for part in parts {
        key.extend_from_slice(part);
    }
    assert_eq!(key.len(), len, "a key is as long as its parts");
    key
}

/// Bytes of the checksum that ends every value.
const CHECKSUM_BYTES: usize = 4;

/// `format`, `value` in postcard, and the checksum of both.
pub(super) fn encode<T: Serialize>(format: u8, value: &T) -> Vec<u8> {
    seal(unsealed(format, value))
}

/// As [`encode`], without the bytes `end`, with which `value` has to end.
pub(super) fn encode_without_end<T: Serialize>(format: u8, value: &T, end: &[u8]) -> Vec<u8> {
    let mut bytes = unsealed(format, value);
    assert!(
        bytes[1..].ends_with(end),
        "the value ends with what is left out"
    );
    bytes.truncate(bytes.len() - end.len());
    seal(bytes)
}

fn unsealed<T: Serialize>(format: u8, value: &T) -> Vec<u8> {
    let mut start = Vec::with_capacity(VALUE_BYTES_USUAL);
    start.push(format);
    postcard::to_extend(value, start).expect("plain data structures always encode")
}

/// `format`, `bytes` as they are, and the checksum of both.
pub(super) fn encode_raw(format: u8, bytes: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(1 + bytes.len() + CHECKSUM_BYTES);
    value.push(format);
    value.extend_from_slice(bytes);
    seal(value)
}

/// Ends a value with its checksum. Not every row follows from an event, so only this tells a damaged
/// one from what was written. It is against damage: whoever wants to deceive can compute it, and is
/// found by the chain of the events and what follows from them.
fn seal(mut value: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(&value);
    value.extend_from_slice(&checksum);
    // A store may keep the allocation itself, so it is no larger than the value.
    value.shrink_to_fit();
    value
}

fn checksum(fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let [a, b, c, d, ..] = xxh3_64(fields).to_be_bytes();
    [a, b, c, d]
}

/// Reads a value that was written in `format`, to its last byte.
pub(super) fn decode<T: DeserializeOwned>(
    family: Family,
    format: u8,
    key: &[u8],
    value: &[u8],
) -> Result<T, Error> {
    let fields = open(family, format, key, value)?;
    decode_fields(family, key, fields)
}

/// Reads fields in postcard, to their last byte.
pub(super) fn decode_fields<'a, T: Deserialize<'a>>(
    family: Family,
    key: &[u8],
    fields: &'a [u8],
) -> Result<T, Error> {
    match postcard::take_from_bytes(fields) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(corrupt(
            family,
            key,
            format!("{} bytes too many", rest.len()),
        )),
        Err(error) => Err(corrupt(
            family,
            key,
            format!("the value does not decode: {error}"),
        )),
    }
}

/// Reads the first fields in postcard, and leaves those behind them.
pub(super) fn decode_front<'a, T: Deserialize<'a>>(
    family: Family,
    key: &[u8],
    fields: &'a [u8],
) -> Result<T, Error> {
    match postcard::take_from_bytes(fields) {
        Ok((value, _)) => Ok(value),
        Err(error) => Err(corrupt(
            family,
            key,
            format!("the value does not decode: {error}"),
        )),
    }
}

/// The bytes between the format version, which has to be `format`, and the checksum, which has to
/// be theirs.
pub(super) fn open<'a>(
    family: Family,
    format: u8,
    key: &[u8],
    value: &'a [u8],
) -> Result<&'a [u8], Error> {
    open_any(family, format..=format, key, value).map(|(_, fields)| fields)
}

/// The format version of a value, which has to be one of `formats`, and the bytes behind it.
pub(super) fn open_any<'a>(
    family: Family,
    formats: RangeInclusive<u8>,
    key: &[u8],
    value: &'a [u8],
) -> Result<(u8, &'a [u8]), Error> {
    let Some((fields, stored)) = value.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(corrupt(family, key, "the value is too short".to_owned()));
    };
    if checksum(fields) != *stored {
        let reason = "the value is not what was written: its checksum differs".to_owned();
        return Err(corrupt(family, key, reason));
    }
    match fields.split_first() {
        Some((found, fields)) if formats.contains(found) => Ok((*found, fields)),
        Some((found, _)) => {
            let newest = formats.end();
            let reason = format!("the value has format {found}; this build reads format {newest}");
            Err(corrupt(family, key, reason))
        }
        None => Err(corrupt(family, key, "the value is empty".to_owned())),
    }
}

/// Takes a key apart, from its front.
pub(super) struct KeyReader<'a> {
    family: Family,
    key: &'a [u8],
    rest: &'a [u8],
}

impl<'a> KeyReader<'a> {
    pub(super) fn new(family: Family, key: &'a [u8]) -> Result<Self, Error> {
        match key.split_first() {
            Some((letter, rest)) if *letter == family.letter() => Ok(Self { family, key, rest }),
            _ => Err(corrupt(
                family,
                key,
                "the key belongs to another family".to_owned(),
            )),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some((part, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.corrupt("the key is too short"));
        };
        self.rest = rest;
        Ok(*part)
    }

    /// Passes over that many bytes.
    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), Error> {
        let Some(rest) = self.rest.get(bytes..) else {
            return Err(self.corrupt("the key is too short"));
        };
        self.rest = rest;
        Ok(())
    }

    pub(super) fn scope(&mut self) -> Result<ScopeKey, Error> {
        self.array().map(ScopeKey::from_bytes)
    }

    pub(super) fn slot(&mut self) -> Result<Slot, Error> {
        let number = u16::from_be_bytes(self.array()?);
        Slot::new(number).ok_or_else(|| self.corrupt("there is no such slot"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    /// Text up to a 0, which is skipped.
    pub(super) fn text_to_zero(&mut self) -> Result<&'a str, Error> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else {
            return Err(self.corrupt("the key is too short"));
        };
        let (text, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        self.text(text)
    }

    /// All that is left, which has to be some text.
    pub(super) fn text_to_end(self) -> Result<&'a str, Error> {
        if self.rest.is_empty() {
            return Err(self.corrupt("the key is too short"));
        }
        self.text(self.rest)
    }

    /// All that is left, which has to be the name of a kind of relation that is declared, as it is written.
    pub(super) fn relation_name_to_end(self) -> Result<RelationName, Error> {
        let (family, key) = (self.family, self.key);
        let text = self.text_to_end()?;
        let name = RelationName::stored(text).ok();
        let name = name.filter(|name| name.as_str() == text);
        name.ok_or_else(|| {
            corrupt(
                family,
                key,
                "there is no such name of a relation".to_owned(),
            )
        })
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.corrupt("the key is too long"))
        }
    }

    pub(super) fn corrupt(&self, reason: &str) -> Error {
        corrupt(self.family, self.key, reason.to_owned())
    }

    fn text(&self, bytes: &'a [u8]) -> Result<&'a str, Error> {
        std::str::from_utf8(bytes).map_err(|_| self.corrupt("the key is not text"))
    }
}

/// The first bytes of the BLAKE3 hash of a text: what stands for it in keys that have one length.
pub(super) fn short_hash(text: &str) -> [u8; 16] {
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a BLAKE3 hash has more than 16 bytes");
    *first
}

pub(super) fn slot_bytes(slot: Slot) -> [u8; 2] {
    slot.number().to_be_bytes()
}

pub(super) fn corrupt(family: Family, key: &[u8], reason: String) -> Error {
    Error::Corrupt {
        family: family.as_str(),
        key: hex::encode(key),
        reason,
    }
}
