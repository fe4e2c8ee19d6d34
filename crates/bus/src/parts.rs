//! Parts: what is larger than one message of a bus goes as several, and is put together again.
//!
//! Owns the form of a part and the bounds on what waits for its rest. Parts are not sealed: what they
//! make is. Whoever reaches the bus can spoil a whole by this, and cannot make one that opens.
//!
//! ```text
//! part: call 16 · number u16 · count u16 · bytes
//! ```

use std::collections::BTreeMap;

use crate::wire::{CALL_BYTES, Call, Refused};

/// Bytes of a part before its content.
const HEAD_BYTES: usize = CALL_BYTES + 4;
/// Bytes of one whole: a command's largest body with room for all that goes with it.
pub const WHOLE_BYTES_MAX: usize = 24 << 20;
/// Bytes that may wait for their rest.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// How long something waits for its rest, in ms.
const WAITS_MS: u64 = 10_000;

/// The parts of a whole, none larger than `bytes_max`.
///
/// # Errors
/// [`Refused::TooMuch`] when it is larger than a whole may be, or would be more parts than can be
/// counted.
pub fn split(call: &Call, whole: &[u8], bytes_max: usize) -> Result<Vec<Vec<u8>>, Refused> {
    if whole.len() > WHOLE_BYTES_MAX || bytes_max <= HEAD_BYTES {
        return Err(Refused::TooMuch);
    }
    let chunks: Vec<&[u8]> = whole.chunks(bytes_max - HEAD_BYTES).collect();
    let chunks = if chunks.is_empty() {
        vec![&[][..]]
    } else {
        chunks
    };
    let count = u16::try_from(chunks.len()).map_err(|_| Refused::TooMuch)?;
    let part = |(number, chunk): (u16, &[u8])| {
        let mut part = Vec::with_capacity(HEAD_BYTES + chunk.len());
        part.extend_from_slice(call);
        part.extend_from_slice(&number.to_be_bytes());
        part.extend_from_slice(&count.to_be_bytes());
        part.extend_from_slice(chunk);
        part
    };
    Ok((0..count).zip(chunks).map(part).collect())
}

/// A whole of which parts have come.
struct Waiting {
    parts: BTreeMap<u16, Vec<u8>>,
    count: u16,
    bytes: usize,
    until_ms: u64,
}

/// What has come in parts and waits for its rest.
#[derive(Default)]
pub struct Assembly {
    waiting: BTreeMap<Call, Waiting>,
    bytes: usize,
}

impl Assembly {
    /// Takes a part in: the whole, once all of it has come. A part that comes again changes nothing.
    ///
    /// # Errors
    /// Why the part counts for nothing. What it belongs to is dropped with it.
    pub fn take(&mut self, part: &[u8], now_ms: u64) -> Result<Option<Vec<u8>>, Refused> {
        let (call, rest) = part
            .split_first_chunk::<CALL_BYTES>()
            .ok_or(Refused::Malformed)?;
        let (number, rest) = rest.split_first_chunk::<2>().ok_or(Refused::Malformed)?;
        let (count, content) = rest.split_first_chunk::<2>().ok_or(Refused::Malformed)?;
        let (number, count) = (u16::from_be_bytes(*number), u16::from_be_bytes(*count));
        if number >= count {
            return Err(Refused::Malformed);
        }
        if count == 1 {
            return Ok(Some(content.to_vec()));
        }
        self.forget_before(now_ms);
        if self.bytes + content.len() > WAITING_BYTES_MAX {
            self.forget(call);
            return Err(Refused::TooMuch);
        }
        let waiting = self.waiting.entry(*call).or_insert_with(|| Waiting {
            parts: BTreeMap::new(),
            count,
            bytes: 0,
            until_ms: now_ms + WAITS_MS,
        });
        if waiting.count != count {
            self.forget(call);
            return Err(Refused::Malformed);
        }
        if let std::collections::btree_map::Entry::Vacant(place) = waiting.parts.entry(number) {
            place.insert(content.to_vec());
            waiting.bytes += content.len();
            self.bytes += content.len();
        }
        if waiting.bytes > WHOLE_BYTES_MAX {
            self.forget(call);
            return Err(Refused::TooMuch);
        }
        if waiting.parts.len() < usize::from(count) {
            return Ok(None);
        }
        let whole = self.forget(call).map(|waiting| {
            let parts: Vec<Vec<u8>> = waiting.parts.into_values().collect();
            parts.concat()
        });
        Ok(whole)
    }

    /// Bytes that wait for their rest.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    fn forget(&mut self, call: &Call) -> Option<Waiting> {
        let waiting = self.waiting.remove(call)?;
        self.bytes -= waiting.bytes;
        Some(waiting)
    }

    fn forget_before(&mut self, now_ms: u64) {
        let mut kept_bytes = 0;
        self.waiting.retain(|_, waiting| {
            let is_kept = waiting.until_ms > now_ms;
            kept_bytes += if is_kept { waiting.bytes } else { 0 };
            is_kept
        });
        self.bytes = kept_bytes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALL: Call = [3; CALL_BYTES];

    #[test]
    fn what_fits_goes_as_one() {
        let mut assembly = Assembly::default();
        for whole in [&b""[..], b"a", &[7; 80]] {
            let parts = split(&CALL, whole, 100).unwrap();
            assert_eq!(parts.len(), 1);
            assert_eq!(assembly.take(&parts[0], 0), Ok(Some(whole.to_vec())));
        }
        assert_eq!(split(&CALL, &[7; 81], 100).unwrap().len(), 2);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let large = vec![0; WHOLE_BYTES_MAX + 1];
        assert_eq!(split(&CALL, &large, 1 << 20), Err(Refused::TooMuch));
        assert_eq!(split(&CALL, &large[1..], 100), Err(Refused::TooMuch));
        assert_eq!(split(&CALL, b"a", HEAD_BYTES), Err(Refused::TooMuch));
        assert_eq!(split(&CALL, &large[1..], 1 << 20).unwrap().len(), 25);
    }

    #[test]
    fn what_waits_too_long_is_forgotten() {
        let mut assembly = Assembly::default();
        let parts = split(&CALL, &[7; 150], 100).unwrap();
        assert_eq!(assembly.take(&parts[0], 5), Ok(None));
        assert_eq!(assembly.waiting_bytes(), 80);
        assert_eq!(assembly.take(&parts[1], 5 + WAITS_MS), Ok(None));
        assert_eq!(assembly.waiting_bytes(), 70);
        assert_eq!(
            assembly.take(&parts[0], 6 + WAITS_MS),
            Ok(Some(vec![7; 150]))
        );
        assert_eq!(assembly.waiting_bytes(), 0);
    }

    #[test]
    fn too_much_that_waits_is_refused() {
        let mut assembly = Assembly::default();
        let whole = vec![1; 8 << 20];
        for byte in 0..8 {
            let mut parts = split(&[byte; CALL_BYTES], &whole, 9 << 19).unwrap();
            parts.truncate(1);
            assert_eq!(assembly.take(&parts[0], 0), Ok(None));
        }
        let held = assembly.waiting_bytes();
        let mut taken = 0;
        for byte in 8..40 {
            let parts = split(&[byte; CALL_BYTES], &whole, 9 << 19).unwrap();
            taken += u32::from(assembly.take(&parts[0], 0).is_ok());
        }
        assert!(taken < 32, "some were refused");
        assert!(assembly.waiting_bytes() > held && assembly.waiting_bytes() <= WAITING_BYTES_MAX);
        assert_eq!(assembly.take(b"short", 0), Err(Refused::Malformed));
    }

    #[test]
    fn a_part_that_contradicts_the_others_spoils_its_own_whole_only() {
        let mut assembly = Assembly::default();
        let parts = split(&CALL, &[7; 300], 100).unwrap();
        assert_eq!(assembly.take(&parts[0], 0), Ok(None));
        let other = split(&CALL, &[8; 150], 100).unwrap();
        assert_eq!(assembly.take(&other[1], 0), Err(Refused::Malformed));
        assert_eq!(assembly.waiting_bytes(), 0);
        let mut beyond = parts[1].clone();
        beyond[CALL_BYTES + 1] = 9;
        assert_eq!(assembly.take(&beyond, 0), Err(Refused::Malformed));
    }

    proptest! {
        /// In whatever order parts come, and how often: the whole is there with the last of them.
        #[test]
        fn a_whole_is_there_with_its_last_part(
            whole in proptest::collection::vec(any::<u8>(), 81..900),
            order in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let parts = split(&CALL, &whole, 100).unwrap();
            let mut assembly = Assembly::default();
            let mut come = std::collections::BTreeSet::new();
            let order = order.iter().map(|index| index.index(parts.len())).chain(0..parts.len());
            for number in order {
                come.insert(number);
                let taken = assembly.take(&parts[number], 1).unwrap();
                if come.len() == parts.len() {
                    prop_assert_eq!(taken, Some(whole));
                    prop_assert_eq!(assembly.waiting_bytes(), 0);
                    return Ok(());
                }
                prop_assert_eq!(taken, None);
            }
        }
    }
}
