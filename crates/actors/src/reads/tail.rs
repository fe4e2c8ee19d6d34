//! Tails: the events of many scopes in one order, with one cursor that resumes.
//!
//! Owns the cursor and the merge. The order is that of commits: within a snapshot every commit up
//! to its last one is seen, so a cursor that moved past a commit can have missed none before it. It
//! moves on over what nobody asked for as over what is given out. A page ends before its snapshot is
//! too old to be read.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use bytes::Bytes;
use sillok_core::event::EventKinds;
use sillok_core::id::Seq;
use sillok_core::limits::{PAGE_BYTES_MAX, PAGE_READS_MAX, PAGE_SCAN_ROWS_MAX};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn};

use super::records::EventView;
use super::{Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;

/// Events that are read at once to find those of some kinds.
const SIFTED_AT_ONCE: usize = 64;

/// A place in a tail: all commits before `stamp` were given out, and of the run of events that was
/// committed at `stamp`, the first `given`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TailCursor {
    stamp: Stamp,
    given: u32,
}

impl TailCursor {
    /// Before everything.
    pub const START: Self = Self {
        stamp: Stamp::ZERO,
        given: 0,
    };

    const BYTES: usize = Stamp::LEN + size_of::<u32>();

    /// Refuses a cursor of another history: what lay before it there is not what lies before it here.
    ///
    /// # Errors
    /// `history_changed`
    pub fn check_generation(self, generation: u32) -> Result<(), Error> {
        if self == Self::START || self.stamp.generation == generation {
            return Ok(());
        }
        Err(Error::history_changed(self.stamp.generation, generation))
    }
}

impl fmt::Display for TailCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:08x}", self.stamp, self.given)
    }
}

impl FromStr for TailCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let split = text
            .is_ascii()
            .then(|| text.split_at_checked(2 * Stamp::LEN))
            .flatten();
        let fits =
            split.filter(|(_, given)| text.len() == 2 * Self::BYTES && !given.starts_with('+'));
        let parsed = fits.and_then(|(stamp, given)| {
            Some(Self {
                stamp: stamp.parse().ok()?,
                given: u32::from_str_radix(given, 16).ok()?,
            })
        });
        parsed.ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArgument,
                "not a cursor that this system gave out",
            )
        })
    }
}

/// What a tail follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailOf {
    /// The scopes whose events it gives.
    pub under: ScopePrefix,
    /// The kinds of events that it gives.
    pub kinds: EventKinds,
}

impl From<ScopePrefix> for TailOf {
    fn from(under: ScopePrefix) -> Self {
        let kinds = EventKinds::ALL;
        Self { under, kinds }
    }
}

/// An event of a tail.
#[derive(Clone, Debug, PartialEq)]
pub struct TailItem {
    /// Where to go on behind this event.
    pub cursor: TailCursor,
    /// The scope that it belongs to.
    pub scope: Scope,
    /// The event.
    pub event: EventView,
}

/// A part of a tail.
#[derive(Clone, Debug, PartialEq)]
pub struct TailPage {
    /// The events.
    pub items: Vec<TailItem>,
    /// Where to go on.
    pub next: TailCursor,
    /// Whether everything that was committed has been looked at. A page that is not at the end may
    /// still be empty.
    pub at_end: bool,
}

impl<S: Store> Reader<S> {
    /// The events of all scopes and kinds that are followed, in the order of their commits, behind a
    /// cursor. Events of one scope come in their own order. Nothing is skipped or repeated. A page whose
    /// snapshot grows too old to be read ends there, if it has come any further than the cursor.
    ///
    /// # Errors
    /// `history_changed` for a cursor from before a restore, `invalid_argument` or `too_large` for the
    /// limit, and what the store answers.
    pub async fn tail(
        &self,
        of: &TailOf,
        after: TailCursor,
        limit: usize,
    ) -> Result<TailPage, Error> {
        let rows_max = page_rows(limit)?;
        after.check_generation(self.store.generation())?;
        let mut txn = self.snapshot().await?;
        let merge = Merge::open(&mut txn, &of.under, after).await;
        let mut merge = merge.map_err(Stop::refusal)?;
        let mut filling = Filling {
            rows_max,
            bytes: 0,
            reads: 0,
            page: TailPage {
                items: Vec::new(),
                next: after,
                at_end: false,
            },
        };
        match filling.fill(&mut txn, &mut merge, of, after).await {
            Err(Stop::Store(StoreError::TooOld)) if filling.page.next != after => {}
            filled => filled.map_err(Stop::refusal)?,
        }
        Ok(filling.page)
    }
}

/// Why a page is not filled any further.
enum Stop {
    /// The store does not answer.
    Store(StoreError),
    /// What it answers cannot be.
    Broken(Error),
}

impl Stop {
    fn refusal(self) -> Error {
        match self {
            Self::Store(error) => refusal(&error),
            Self::Broken(error) => error,
        }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

/// A page that is being filled. Its bytes are those that were read for it.
struct Filling {
    rows_max: usize,
    bytes: usize,
    /// Reads of events.
    reads: usize,
    page: TailPage,
}

impl Filling {
    const fn is_full(&self) -> bool {
        !self.has_room() || self.reads >= PAGE_READS_MAX
    }

    /// Whether one more event can be given.
    const fn has_room(&self) -> bool {
        self.page.items.len() < self.rows_max && self.bytes < PAGE_BYTES_MAX
    }

    /// Adds what lies behind a cursor. Wherever that stops, the page goes on behind what was looked at.
    async fn fill(
        &mut self,
        txn: &mut impl Txn,
        merge: &mut Merge,
        of: &TailOf,
        after: TailCursor,
    ) -> Result<(), Stop> {
        for _ in 0..PAGE_SCAN_ROWS_MAX {
            let Some((stamp, row)) = merge.next(txn).await? else {
                self.page.at_end = true;
                break;
            };
            let given = if stamp == after.stamp { after.given } else { 0 };
            let run = Run { stamp, row, given };
            if of.under.covers(&run.row.scope) {
                run.read(txn, &of.kinds, self).await?;
            } else {
                self.page.next = run.behind(run.length()?);
            }
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }
}

/// A run of events that one commit appended, of which some were given out.
struct Run {
    stamp: Stamp,
    row: OutboxRow,
    given: u32,
}

impl Run {
    fn length(&self) -> Result<u32, Error> {
        let events = self
            .row
            .last
            .get()
            .checked_sub(self.row.first.get())
            .map(|between| between + 1);
        let length = events.and_then(|events| u32::try_from(events).ok());
        length.ok_or_else(|| broken(&self.row.scope, "the outbox holds an impossible run"))
    }

    const fn behind(&self, given: u32) -> TailCursor {
        TailCursor {
            stamp: self.stamp,
            given,
        }
    }

    /// Adds the events that were not given out and are of these kinds, as far as the page has room for
    /// them.
    async fn read(
        &self,
        txn: &mut impl Txn,
        kinds: &EventKinds,
        filling: &mut Filling,
    ) -> Result<(), Stop> {
        let (length, mut given) = (self.length()?, self.given);
        while given < length && !filling.is_full() {
            let mut wanted = filling.rows_max - filling.page.items.len();
            if *kinds != EventKinds::ALL {
                // Few may be of these kinds: what the page has no room for is read again for the next one.
                wanted = wanted.max(SIFTED_AT_ONCE);
            }
            filling.reads += 1;
            let rows = self.rows(txn, given, wanted.min((length - given) as usize));
            for (key, value) in rows.await? {
                if !filling.has_room() {
                    break;
                }
                given += 1;
                filling.bytes += value.len();
                let cursor = self.behind(given);
                let event = EventView::decode(&key, &value)?;
                if kinds.have(event.header.kind) {
                    let scope = self.row.scope.clone();
                    let item = TailItem {
                        cursor,
                        scope,
                        event,
                    };
                    filling.page.items.push(item);
                }
            }
            filling.page.next = self.behind(given);
        }
        Ok(())
    }

    /// So many of its events, behind those that were given out.
    async fn rows(
        &self,
        txn: &mut impl Txn,
        given: u32,
        wanted: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, Stop> {
        let scope = &self.row.scope;
        let before = Seq::new(self.row.first.get() - 1 + u64::from(given));
        let range = keys::event::range_through(&ScopeKey::of(scope), before, self.row.last);
        let rows = txn
            .range(&range, RangeOptions::first(wanted, Read::Snapshot))
            .await?;
        if rows.len() == wanted {
            return Ok(rows);
        }
        let missing = "an event that was committed is not there";
        Err(broken(scope, missing).into())
    }
}

fn broken(scope: &Scope, what: &str) -> Error {
    Error::new(ErrorCode::Internal, format!("{what} ({scope})"))
}

/// The outbox rows of several slots, merged by their stamps.
struct Merge {
    slots: Vec<RowStream>,
    heads: BTreeMap<Stamp, (usize, OutboxRow)>,
}

impl Merge {
    async fn open(
        txn: &mut impl Txn,
        under: &ScopePrefix,
        after: TailCursor,
    ) -> Result<Self, Stop> {
        let slots = match under {
            // A project and all that lies inside it share a slot.
            ScopePrefix::Scope(scope) if scope.project().is_some() => vec![Slot::of(scope)],
            ScopePrefix::Scope(_) | ScopePrefix::All => slots_with_rows(txn, after.stamp).await?,
        };
        let streams = slots
            .iter()
            .map(|slot| RowStream::new(range_from(*slot, after.stamp)));
        let mut merge = Self {
            slots: streams.collect(),
            heads: BTreeMap::new(),
        };
        for number in 0..merge.slots.len() {
            merge.advance(txn, number).await?;
        }
        Ok(merge)
    }

    async fn next(&mut self, txn: &mut impl Txn) -> Result<Option<(Stamp, OutboxRow)>, Stop> {
        let Some((stamp, (number, row))) = self.heads.pop_first() else {
            return Ok(None);
        };
        self.advance(txn, number).await?;
        Ok(Some((stamp, row)))
    }

    async fn advance(&mut self, txn: &mut impl Txn, number: usize) -> Result<(), Stop> {
        let row = self.slots[number].next(txn).await?;
        if let Some((key, value)) = row {
            let stamp = keys::outbox::parse(&key)?.stamp;
            let row = keys::outbox::decode(&key, &value)?;
            let before = self.heads.insert(stamp, (number, row));
            assert!(before.is_none(), "no two rows of the outbox have one stamp");
        }
        Ok(())
    }
}

/// The slots whose outbox has rows at or behind a stamp. A few reads for each slot in use.
async fn slots_with_rows(txn: &mut impl Txn, stamp: Stamp) -> Result<Vec<Slot>, Stop> {
    let mut slots = Vec::new();
    let mut slot = Slot::new(0);
    while let Some(here) = slot {
        let range = KeyRange {
            end: Family::Outbox.range().end,
            ..range_from(here, stamp)
        };
        let rows = txn
            .range(&range, RangeOptions::first(1, Read::Snapshot))
            .await?;
        let Some((key, _)) = rows.into_iter().next() else {
            break;
        };
        let found = keys::outbox::parse(&key)?.slot;
        slot = if found == here {
            slots.push(here);
            Slot::new(here.number() + 1)
        } else {
            // The first row of a later slot, which may lie before the stamp.
            Some(found)
        };
    }
    Ok(slots)
}

fn range_from(slot: Slot, stamp: Stamp) -> KeyRange {
    KeyRange {
        begin: keys::outbox::key(slot, stamp).into(),
        ..keys::outbox::range_of_slot(slot)
    }
}
