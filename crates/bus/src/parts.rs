//! Parts: what is larger than one message of a bus goes as several, and is put together again.
//!
//! Owns the form of a part and the bounds on what waits for its rest. Each part is sealed with the
//! cluster's key, and what does not open is never kept: whoever reaches the bus can make nothing wait but
//! what a node sent before, and not more of that than the bounds say.
//!
//! ```text
//! part: call 16 · number u16 · count u16 · seal 32 · bytes
//! ```

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::wire::{CALL_BYTES, Call, ClusterKey, Refused, SEAL_BYTES, check_part, seal_part};

/// Bytes of a part before its seal.
const PLACE_BYTES: usize = CALL_BYTES + 4;
/// Bytes of a part before its content.
const HEAD_BYTES: usize = PLACE_BYTES + SEAL_BYTES;
/// Bytes of one whole: a command's largest body with room for all that goes with it.
pub const WHOLE_BYTES_MAX: usize = 24 << 20;
/// Bytes that may wait for their rest.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Wholes that may wait for their rest.
const WAITING_MAX: usize = 1_024;
/// What a part takes besides its content, in bytes.
const PART_COST_BYTES: usize = 128;
/// What a whole takes besides its parts, in bytes.
const WHOLE_COST_BYTES: usize = 512;
/// How long something waits for its rest, in ms.
const WAITS_MS: u64 = 10_000;

/// The parts of a whole, none larger than `bytes_max`.
///
/// # Errors
/// [`Refused::TooMuch`] when it is larger than a whole may be, or would be more parts than can be
/// counted.
pub fn split(
    key: &ClusterKey,
    call: &Call,
    whole: &[u8],
    bytes_max: usize,
) -> Result<Vec<Vec<u8>>, Refused> {
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
        let seal = seal_part(key, &part, chunk);
        part.extend_from_slice(&seal);
        part.extend_from_slice(chunk);
        part
    };
    Ok((0..count).zip(chunks).map(part).collect())
}

/// A part, taken apart.
struct Part<'a> {
    call: Call,
    number: u16,
    count: u16,
    content: &'a [u8],
}

impl<'a> Part<'a> {
    fn open(key: &ClusterKey, bytes: &'a [u8]) -> Result<Self, Refused> {
        let (place, rest) = bytes
            .split_first_chunk::<PLACE_BYTES>()
            .ok_or(Refused::Malformed)?;
        let (seal, content) = rest
            .split_first_chunk::<SEAL_BYTES>()
            .ok_or(Refused::Malformed)?;
        check_part(key, place, content, seal)?;
        let (call, numbers) = place
            .split_first_chunk::<CALL_BYTES>()
            .ok_or(Refused::Malformed)?;
        let [number_high, number_low, count_high, count_low] = *numbers else {
            return Err(Refused::Malformed);
        };
        let number = u16::from_be_bytes([number_high, number_low]);
        let count = u16::from_be_bytes([count_high, count_low]);
        if number >= count {
            return Err(Refused::Malformed);
        }
        Ok(Self {
            call: *call,
            number,
            count,
            content,
        })
    }
}

/// A whole of which parts have come.
struct Waiting {
    parts: BTreeMap<u16, Vec<u8>>,
    count: u16,
    /// Bytes of the parts' content.
    content_bytes: usize,
    /// Bytes that it takes in all.
    bytes: usize,
    until_ms: u64,
    /// It can never be whole: its parts are not kept, and none that comes makes a new one of it.
    is_spoiled: bool,
}

/// What has come in parts and waits for its rest.
pub struct Assembly {
    key: ClusterKey,
    waiting: BTreeMap<Call, Waiting>,
    by_time: BTreeSet<(u64, Call)>,
    bytes: usize,
}

impl Assembly {
    /// What takes in parts that are sealed with a key.
    #[must_use]
    pub const fn new(key: ClusterKey) -> Self {
        Self {
            key,
            waiting: BTreeMap::new(),
            by_time: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// Takes a part in: the whole, once all of it has come. A part that comes again changes nothing.
    ///
    /// # Errors
    /// Why the part counts for nothing. If no node wrote it, that is all. Otherwise what it belongs to is
    /// spoiled.
    pub fn take(&mut self, bytes: &[u8], now_ms: u64) -> Result<Option<Vec<u8>>, Refused> {
        let part = Part::open(&self.key, bytes)?;
        if part.count == 1 {
            return Ok(Some(part.content.to_vec()));
        }
        self.forget_before(now_ms);
        self.open_for(&part, now_ms)?;
        let waiting = self
            .waiting
            .get_mut(&part.call)
            .expect("a place for it was just made");
        if waiting.is_spoiled {
            return Err(Refused::TooMuch);
        }
        if waiting.count != part.count {
            self.spoil(&part.call);
            return Err(Refused::Malformed);
        }
        let Entry::Vacant(place) = waiting.parts.entry(part.number) else {
            return Ok(None);
        };
        let (content_bytes, bytes) = (part.content.len(), PART_COST_BYTES + part.content.len());
        if waiting.content_bytes + content_bytes > WHOLE_BYTES_MAX
            || self.bytes + bytes > WAITING_BYTES_MAX
        {
            self.spoil(&part.call);
            return Err(Refused::TooMuch);
        }
        place.insert(part.content.to_vec());
        waiting.content_bytes += content_bytes;
        waiting.bytes += bytes;
        self.bytes += bytes;
        if waiting.parts.len() < usize::from(part.count) {
            return Ok(None);
        }
        let whole = self.forget(&part.call).map(|waiting| {
            let parts: Vec<Vec<u8>> = waiting.parts.into_values().collect();
            parts.concat()
        });
        Ok(whole)
    }

    /// Bytes that wait for their rest, with what it takes to keep them.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// Makes a place for what a part belongs to, if there is none yet.
    fn open_for(&mut self, part: &Part<'_>, now_ms: u64) -> Result<(), Refused> {
        if self.waiting.contains_key(&part.call) {
            return Ok(());
        }
        if self.waiting.len() >= WAITING_MAX || self.bytes + WHOLE_COST_BYTES > WAITING_BYTES_MAX {
            return Err(Refused::TooMuch);
        }
        let waiting = Waiting {
            parts: BTreeMap::new(),
            count: part.count,
            content_bytes: 0,
            bytes: WHOLE_COST_BYTES,
            until_ms: now_ms.saturating_add(WAITS_MS),
            is_spoiled: false,
        };
        self.bytes += waiting.bytes;
        self.by_time.insert((waiting.until_ms, part.call));
        self.waiting.insert(part.call, waiting);
        Ok(())
    }

    /// Drops what has come of a whole, and takes none of its parts until its time is over.
    fn spoil(&mut self, call: &Call) {
        if let Some(waiting) = self.waiting.get_mut(call) {
            self.bytes -= waiting.bytes - WHOLE_COST_BYTES;
            waiting.bytes = WHOLE_COST_BYTES;
            waiting.parts.clear();
            waiting.is_spoiled = true;
        }
    }

    fn forget(&mut self, call: &Call) -> Option<Waiting> {
        let waiting = self.waiting.remove(call)?;
        self.by_time.remove(&(waiting.until_ms, *call));
        self.bytes -= waiting.bytes;
        Some(waiting)
    }

    fn forget_before(&mut self, now_ms: u64) {
        while let Some((until_ms, call)) = self.by_time.first().copied() {
            if until_ms > now_ms {
                return;
            }
            self.by_time.remove(&(until_ms, call));
            self.forget(&call);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALL: Call = [3; CALL_BYTES];
    /// Bytes of parts with so much content.
    const PART_BYTES_MAX: usize = HEAD_BYTES + 80;

    fn key() -> ClusterKey {
        ClusterKey::new(&[1; 32])
    }

    fn parts(call: &Call, whole: &[u8]) -> Vec<Vec<u8>> {
        split(&key(), call, whole, PART_BYTES_MAX).unwrap()
    }

    fn assembly() -> Assembly {
        Assembly::new(key())
    }

    #[test]
    fn what_fits_goes_as_one() {
        let mut assembly = assembly();
        for whole in [&b""[..], b"a", &[7; 80]] {
            let parts = parts(&CALL, whole);
            assert_eq!(parts.len(), 1);
            assert_eq!(assembly.take(&parts[0], 0), Ok(Some(whole.to_vec())));
        }
        assert_eq!(parts(&CALL, &[7; 81]).len(), 2);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let large = vec![0; WHOLE_BYTES_MAX + 1];
        assert_eq!(split(&key(), &CALL, &large, 1 << 20), Err(Refused::TooMuch));
        assert_eq!(
            split(&key(), &CALL, &large[1..], PART_BYTES_MAX),
            Err(Refused::TooMuch)
        );
        assert_eq!(
            split(&key(), &CALL, b"a", HEAD_BYTES),
            Err(Refused::TooMuch)
        );
        assert_eq!(
            split(&key(), &CALL, &large[1..], 1 << 20).unwrap().len(),
            25
        );
    }

    #[test]
    fn what_waits_too_long_is_forgotten() {
        let mut assembly = assembly();
        let parts = parts(&CALL, &[7; 150]);
        assert_eq!(assembly.take(&parts[0], 5), Ok(None));
        let cost_bytes = WHOLE_COST_BYTES + PART_COST_BYTES;
        assert_eq!(assembly.waiting_bytes(), cost_bytes + 80);
        assert_eq!(assembly.take(&parts[1], 5 + WAITS_MS), Ok(None));
        assert_eq!(assembly.waiting_bytes(), cost_bytes + 70);
        assert_eq!(
            assembly.take(&parts[0], 6 + WAITS_MS),
            Ok(Some(vec![7; 150]))
        );
        assert_eq!(assembly.waiting_bytes(), 0);
    }

    #[test]
    fn too_much_that_waits_is_refused() {
        let mut assembly = assembly();
        let whole = vec![1; 8 << 20];
        for byte in 0..8 {
            let mut parts = split(&key(), &[byte; CALL_BYTES], &whole, 9 << 19).unwrap();
            parts.truncate(1);
            assert_eq!(assembly.take(&parts[0], 0), Ok(None));
        }
        let held = assembly.waiting_bytes();
        let mut taken = 0;
        for byte in 8..40 {
            let parts = split(&key(), &[byte; CALL_BYTES], &whole, 9 << 19).unwrap();
            taken += u32::from(assembly.take(&parts[0], 0).is_ok());
        }
        assert!(taken < 32, "some were refused");
        assert!(assembly.waiting_bytes() > held && assembly.waiting_bytes() <= WAITING_BYTES_MAX);
        assert_eq!(assembly.take(b"short", 0), Err(Refused::Malformed));
    }

    #[test]
    fn a_part_that_contradicts_the_others_spoils_its_own_whole_only() {
        let mut assembly = assembly();
        let parts = parts(&CALL, &[7; 300]);
        assert_eq!(assembly.take(&parts[0], 0), Ok(None));
        let other = split(&key(), &CALL, &[8; 150], PART_BYTES_MAX).unwrap();
        assert_eq!(assembly.take(&other[1], 0), Err(Refused::Malformed));
        assert_eq!(assembly.waiting_bytes(), WHOLE_COST_BYTES);
        // It cannot be whole any more, so nothing of it waits, until its time is over.
        assert_eq!(assembly.take(&parts[1], 1), Err(Refused::TooMuch));
        assert_eq!(assembly.waiting_bytes(), WHOLE_COST_BYTES);
        assert_eq!(assembly.take(&parts[1], WAITS_MS), Ok(None));
        let mut beyond = parts[1][..PLACE_BYTES].to_vec();
        beyond[CALL_BYTES + 1] = 9;
        let seal = seal_part(&key(), &beyond, b"");
        beyond.extend_from_slice(&seal);
        assert_eq!(assembly.take(&beyond, 0), Err(Refused::Malformed));
    }

    #[test]
    fn what_no_node_wrote_is_not_kept() {
        let mut assembly = assembly();
        let forged = split(&ClusterKey::new(&[2; 32]), &CALL, &[7; 300], PART_BYTES_MAX).unwrap();
        let genuine = parts(&CALL, &[7; 300]);
        assert_eq!(assembly.take(&forged[0], 0), Err(Refused::Seal));
        assert_eq!(assembly.waiting_bytes(), 0);
        assert_eq!(assembly.take(&genuine[0], 0), Ok(None));
        // It spoils nothing of what a node wrote.
        for at in [0, CALL_BYTES + 1, CALL_BYTES + 3, PLACE_BYTES, HEAD_BYTES] {
            let mut touched = genuine[1].clone();
            touched[at] ^= 1;
            assert_eq!(assembly.take(&touched, 0), Err(Refused::Seal), "{at}");
        }
        for part in &genuine[1..3] {
            assert_eq!(assembly.take(part, 0), Ok(None));
        }
        assert_eq!(assembly.take(&genuine[3], 0), Ok(Some(vec![7; 300])));
    }

    #[test]
    fn wholes_and_parts_without_content_are_bounded_too() {
        let mut assembly = assembly();
        let mut taken = 0;
        for number in 0..2 * WAITING_MAX as u64 {
            let mut call = CALL;
            call[..8].copy_from_slice(&number.to_be_bytes());
            taken += usize::from(assembly.take(&parts(&call, &[7; 81])[0], 0).is_ok());
        }
        assert_eq!(taken, WAITING_MAX);
        assert_eq!(
            assembly.take(&parts(&CALL, &[7; 81])[0], 0),
            Err(Refused::TooMuch)
        );
        assert_eq!(
            assembly.take(&parts(&CALL, &[7; 81])[0], WAITS_MS),
            Ok(None)
        );
        assert_eq!(assembly.waiting.len(), assembly.by_time.len());
        let before = assembly.waiting_bytes();
        let mut empty = CALL.to_vec();
        empty[0] ^= 1;
        empty.extend_from_slice(&[0, 0, 9, 9]);
        let seal = seal_part(&key(), &empty, b"");
        empty.extend_from_slice(&seal);
        assert_eq!(assembly.take(&empty, WAITS_MS), Ok(None));
        assert!(assembly.waiting_bytes() > before);
    }

    proptest! {
        /// In whatever order parts come, and how often: the whole is there with the last of them.
        #[test]
        fn a_whole_is_there_with_its_last_part(
            whole in proptest::collection::vec(any::<u8>(), 81..900),
            order in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let parts = parts(&CALL, &whole);
            let mut assembly = assembly();
            let mut come = BTreeSet::new();
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
