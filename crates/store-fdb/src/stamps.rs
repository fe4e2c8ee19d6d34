//! Stamps made of versionstamps.
//!
//! Owns the mapping. A versionstamp has ten bytes, which the cluster fills in at commit: eight of the
//! version, two of the transaction's place among those of that version. A [`Stamp`] has fourteen, of
//! which these ten are the middle: two bytes of the store's generation before, two of the index behind.
//! So the same bytes sort alike whether they are read as one or as the other.
//!
//! The upper two bytes of a version stay zero for nine years (a version is some microsecond of the
//! cluster's life); after that the generation of new stamps is a larger one.

use sillok_store::Stamp;

/// Bytes of a versionstamp.
const VERSIONSTAMP_BYTES: usize = 10;

/// The stamp of a transaction at a version.
pub(crate) fn stamp(generation: u16, version: u64, batch: u16, index: u16) -> Stamp {
    let mut bytes = [0; Stamp::LEN];
    bytes[..2].copy_from_slice(&generation.to_be_bytes());
    bytes[2..10].copy_from_slice(&version.to_be_bytes());
    bytes[10..12].copy_from_slice(&batch.to_be_bytes());
    bytes[12..].copy_from_slice(&index.to_be_bytes());
    Stamp::from_bytes(&bytes).expect("a stamp has as many bytes")
}

/// The stamp behind every commit up to a version, and before every later one.
pub(crate) fn through(generation: u16, version: u64) -> Stamp {
    stamp(generation, version, u16::MAX, 0)
}

/// The stamp of a commit whose versionstamp is known, with index 0.
pub(crate) fn of_versionstamp(generation: u16, versionstamp: &[u8]) -> Option<Stamp> {
    let versionstamp: &[u8; VERSIONSTAMP_BYTES] = versionstamp.try_into().ok()?;
    let (version, batch) = versionstamp.split_first_chunk::<8>()?;
    let batch = batch.first_chunk::<2>()?;
    let version = u64::from_be_bytes(*version);
    Some(stamp(generation, version, u16::from_be_bytes(*batch), 0))
}

/// A key whose stamp the cluster fills in: where it stands is said in the last four bytes, which are
/// not stored.
pub(crate) fn stamped_key(mut prefix: Vec<u8>, generation: u16, index: u16) -> Vec<u8> {
    prefix.extend_from_slice(&generation.to_be_bytes());
    let offset = u32::try_from(prefix.len()).expect("a key has some thousand bytes at most");
    prefix.extend_from_slice(&[0; VERSIONSTAMP_BYTES]);
    prefix.extend_from_slice(&index.to_be_bytes());
    prefix.extend_from_slice(&offset.to_le_bytes());
    prefix
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stamps_sort_as_commits_do(a: (u16, u64, u16, u16), b: (u16, u64, u16, u16)) {
            let of = |t: (u16, u64, u16, u16)| stamp(t.0, t.1, t.2, t.3);
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
        }

        #[test]
        fn a_key_holds_the_stamp_that_its_commit_has(
            generation: u16, version: u64, batch: u16, index: u16,
        ) {
            let versionstamp = [version.to_be_bytes().as_slice(), &batch.to_be_bytes()].concat();
            let mut key = stamped_key(b"prefix".to_vec(), generation, index);
            let offset = key.split_off(key.len() - 4);
            let offset = u32::from_le_bytes(offset.try_into().unwrap()) as usize;
            key[offset..offset + VERSIONSTAMP_BYTES].copy_from_slice(&versionstamp);
            let of_key = Stamp::from_bytes(&key[b"prefix".len()..]).unwrap();
            let of_commit = of_versionstamp(generation, &versionstamp).unwrap();
            prop_assert_eq!(of_key, Stamp { index, ..of_commit });
        }
    }

    #[test]
    fn what_was_seen_lies_between_the_commits_before_and_after() {
        let seen = through(1, 7);
        assert!(stamp(1, 7, u16::MAX, 0) <= seen && seen < stamp(1, 8, 0, 0));
        assert_eq!(of_versionstamp(1, &[0; 9]), None);
    }

    #[test]
    fn the_generation_is_that_of_the_store_for_nine_years() {
        let years = |count: u64| count * 366 * 24 * 60 * 60 * 1_000_000;
        assert_eq!(
            stamp(3, years(8), 0, 0).generation,
            stamp(3, 0, 0, 0).generation
        );
        assert!(stamp(3, years(9), 0, 0).generation > stamp(3, 0, 0, 0).generation);
    }
}
