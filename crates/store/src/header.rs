//! What a store says about itself: the format of its records, its generation, and how scopes are spread.
//!
//! Owns the rows and their checks, for every engine that keeps them. Must not know how one does, nor
//! what else an engine keeps beside them.

use crate::Error;

/// The format that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

// Behind every key of callers, who may not use the first byte 0xFF.
/// The key of the format version.
pub const FORMAT_KEY: &[u8] = b"\xffformat";
/// The key of the generation.
pub const GENERATION_KEY: &[u8] = b"\xffgeneration";
const SLOT_COUNT_KEY: &[u8] = b"\xffslot_count";
const SLOT_HASH_KEY: &[u8] = b"\xffslot_hash";

/// Properties that are written at creation and can never change afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Generation of the stamps of a store that is created; an existing store keeps its own.
    pub generation_at_creation: u32,
    /// Number of slots that scopes are spread over.
    pub slot_count: u32,
    /// Name of the function that spreads them.
    pub slot_hash: String,
}

/// Keys and values of a new store.
#[must_use]
pub fn rows(layout: &Layout) -> [(&'static [u8], Vec<u8>); 4] {
    let number = |number: u32| number.to_be_bytes().to_vec();
    [
        (FORMAT_KEY, number(FORMAT_VERSION)),
        (GENERATION_KEY, number(layout.generation_at_creation)),
        (SLOT_COUNT_KEY, number(layout.slot_count)),
        (SLOT_HASH_KEY, layout.slot_hash.clone().into_bytes()),
    ]
}

/// The generation of a store, whose rows `row` gives by their keys; none where there is no header.
///
/// # Errors
/// `NewerFormat`, `LayoutMismatch`, or `Corrupt` for a row that is missing or malformed.
pub fn check<V: AsRef<[u8]>>(
    layout: &Layout,
    mut row: impl FnMut(&'static [u8]) -> Result<Option<V>, Error>,
) -> Result<Option<u32>, Error> {
    let Some(format) = row(FORMAT_KEY)? else {
        return Ok(None);
    };
    check_format(number(FORMAT_KEY, format.as_ref())?)?;
    let mut required = |key| row(key)?.ok_or_else(|| corrupt(key, "the record is missing"));
    let slot_count = number(SLOT_COUNT_KEY, required(SLOT_COUNT_KEY)?.as_ref())?;
    check_layout("slot count", &slot_count, &layout.slot_count)?;
    let slot_hash = required(SLOT_HASH_KEY)?;
    let slot_hash = String::from_utf8_lossy(slot_hash.as_ref()).into_owned();
    check_layout("slot hash", &slot_hash, &layout.slot_hash)?;
    let generation = required(GENERATION_KEY)?;
    number(GENERATION_KEY, generation.as_ref()).map(Some)
}

/// What a store is that has records but no header.
#[must_use]
pub fn missing() -> Error {
    corrupt(FORMAT_KEY, "the record is missing, but there are others")
}

/// Refuses a format that this build does not know.
///
/// # Errors
/// `NewerFormat`
pub fn check_format(found: u32) -> Result<(), Error> {
    if found > FORMAT_VERSION {
        return Err(Error::NewerFormat {
            found,
            supported: FORMAT_VERSION,
        });
    }
    Ok(())
}

/// A row of the header that does not hold what it should.
#[must_use]
pub fn corrupt(key: &[u8], reason: &str) -> Error {
    let name = String::from_utf8_lossy(&key[1..]).into_owned();
    Error::Corrupt {
        family: "store header",
        key: name,
        reason: reason.to_owned(),
    }
}

fn number(key: &'static [u8], value: &[u8]) -> Result<u32, Error> {
    value
        .try_into()
        .map(u32::from_be_bytes)
        .map_err(|_| corrupt(key, "not 4 bytes"))
}

fn check_layout<T: PartialEq + ToString>(
    what: &'static str,
    stored: &T,
    configured: &T,
) -> Result<(), Error> {
    if stored == configured {
        return Ok(());
    }
    let (stored, configured) = (stored.to_string(), configured.to_string());
    Err(Error::LayoutMismatch {
        what,
        stored,
        configured,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn layout() -> Layout {
        Layout {
            generation_at_creation: 3,
            slot_count: 4_096,
            slot_hash: "blake3".to_owned(),
        }
    }

    fn checked(rows: &BTreeMap<&[u8], Vec<u8>>, layout: &Layout) -> Result<Option<u32>, Error> {
        check(layout, |key| Ok(rows.get(key)))
    }

    #[test]
    fn what_is_written_is_read_again_and_nothing_is_no_header() {
        let written = BTreeMap::from(rows(&layout()));
        assert_eq!(checked(&written, &layout()).unwrap(), Some(3));
        assert_eq!(checked(&BTreeMap::new(), &layout()).unwrap(), None);
    }

    #[test]
    fn a_row_that_is_missing_or_cut_is_named() {
        for (key, _) in rows(&layout()) {
            let mut written = BTreeMap::from(rows(&layout()));
            if key != FORMAT_KEY {
                written.remove(key);
                let missing = checked(&written, &layout());
                assert!(matches!(missing, Err(Error::Corrupt { .. })), "{missing:?}");
            }
            written.insert(key, vec![1]);
            let cut = checked(&written, &layout());
            let is_hash = key == SLOT_HASH_KEY;
            assert_eq!(matches!(cut, Err(Error::LayoutMismatch { .. })), is_hash);
            assert_eq!(matches!(cut, Err(Error::Corrupt { .. })), !is_hash);
        }
    }

    #[test]
    fn another_layout_or_a_newer_format_is_refused() {
        let written = BTreeMap::from(rows(&layout()));
        for (what, other) in [
            (
                "slot count",
                Layout {
                    slot_count: 1,
                    ..layout()
                },
            ),
            (
                "slot hash",
                Layout {
                    slot_hash: "x".to_owned(),
                    ..layout()
                },
            ),
        ] {
            let refused = checked(&written, &other);
            let Err(Error::LayoutMismatch { what: found, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(found, what);
        }
        let mut newer = written;
        newer.insert(FORMAT_KEY, (FORMAT_VERSION + 1).to_be_bytes().to_vec());
        let refused = checked(&newer, &layout());
        assert!(matches!(refused, Err(Error::NewerFormat { found: 2, .. })));
    }
}
