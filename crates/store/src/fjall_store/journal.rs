//! The batches in a journal of fjall, read before fjall reads them.
//!
//! Owns the form of a journal, version 3 of fjall's format. fjall itself takes whatever it cannot
//! read for the torn end of the journal and cuts it off, acknowledged batches behind it included;
//! it refuses some torn ends; and it does not check a batch's sequence number. Must not know what
//! follows from a broken batch; that is `recovery`'s.

use xxhash_rust::xxh3::xxh3_64;

use super::header::{COUNTER_KEY, LINK_KEY, Link};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
/// What ends every batch.
const TRAILER: &[u8] = b"FJL\x03";
/// The compression tag of a value that is stored as it is.
const PLAIN: u8 = 0;

/// A batch whose checksum fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    /// fjall's sequence number, which the checksum does not cover.
    pub(super) seqno: u64,
    /// Counter of the last commit in it; none in a batch that is not the commit thread's.
    pub(super) counter: Option<u64>,
    /// What it says about the batch before it; none in those of older builds.
    pub(super) link: Option<Link>,
    /// Where it ends.
    pub(super) end: usize,
}

/// What stands at a place of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A whole batch.
    Batch(Batch),
    /// Nothing any more.
    End,
    /// Something else, and why it is no batch.
    Broken(&'static str),
}

/// What stands at `at`. The zeros that fill a journal up have been cut from `journal`: a batch ends
/// in something else.
pub(super) fn next(journal: &[u8], at: usize) -> Next {
    if at >= journal.len() {
        return Next::End;
    }
    match batch(journal, at) {
        Ok(batch) => Next::Batch(batch),
        Err(reason) => Next::Broken(reason),
    }
}

/// The first whole batch that begins at `at` or later and for which `counts` holds.
pub(super) fn find(journal: &[u8], at: usize, counts: impl Fn(&Batch) -> bool) -> Option<usize> {
    (at..journal.len())
        .filter(|at| journal[*at] == START)
        .find(|at| batch(journal, *at).is_ok_and(|batch| counts(&batch)))
}

fn batch(journal: &[u8], at: usize) -> Result<Batch, &'static str> {
    const CUT: &str = "the batch is cut off";
    let mut rest = Fields { journal, at };
    if rest.byte().ok_or(CUT)? != START {
        return Err("no batch begins here");
    }
    let items = rest.u32().ok_or(CUT)?;
    let seqno = rest.u64().ok_or(CUT)?;
    let first = rest.at;
    let (mut counter, mut link) = (None, None);
    for _ in 0..items {
        match rest.byte().ok_or(CUT)? {
            ITEM => {
                let (key, value) = rest.item().ok_or(CUT)?;
                match value {
                    Some(value) if key == COUNTER_KEY => {
                        counter = value.try_into().ok().map(u64::from_be_bytes);
                    }
                    Some(value) if key == LINK_KEY => link = Link::decode(value),
                    _ => {}
                }
            }
            CLEAR => {
                rest.u64().ok_or(CUT)?;
            }
            _ => return Err("the batch holds something that is no item"),
        }
    }
    let content = &journal[first..rest.at];
    if rest.byte().ok_or(CUT)? != END {
        return Err("the batch does not end where it should");
    }
    let checksum = rest.u64().ok_or(CUT)?;
    if rest.take(TRAILER.len()).ok_or(CUT)? != TRAILER {
        return Err("the batch's end is damaged");
    }
    if checksum != xxh3_64(content) {
        return Err("the batch's checksum does not fit");
    }
    Ok(Batch {
        seqno,
        counter,
        link,
        end: rest.at,
    })
}

/// Fields of a journal, read one after the other. Every reader answers none at the end.
struct Fields<'a> {
    journal: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.journal.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The key, and the value where it is stored as it is.
    fn item(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let _value_type = self.byte()?;
        let compression = self.byte()?;
        let _keyspace = self.u64()?;
        let key_len = self.array().map(u16::from_le_bytes)?;
        let _value_len = self.u32()?;
        let stored_len = self.u32()?;
        let key = self.take(usize::from(key_len))?;
        let value = self.take(usize::try_from(stored_len).ok()?)?;
        Some((key, Some(value).filter(|_| compression == PLAIN)))
    }
}
