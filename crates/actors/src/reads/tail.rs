//! Tails: the events of many scopes in one order, with one cursor that resumes.
//!
//! Owns the cursor and the merge. The order is that of commits: within a snapshot every commit up
//! to its last one is seen, so a cursor that moved past a commit can have missed none before it.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use sillok_core::id::Seq;
use sillok_core::limits::{PAGE_BYTES_MAX, PAGE_SCAN_ROWS_MAX};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn};

use super::records::EventView;
use super::{Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;

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
    /// The events of all scopes that `under` covers, in the order of their commits, behind a
    /// cursor. Events of one scope come in their own order. Nothing is skipped or repeated.
    ///
    /// # Errors
    /// `history_changed` for a cursor from before a restore, `invalid_argument` or `too_large` for the
    /// limit, and what the store answers.
    pub async fn tail(
        &self,
        under: &ScopePrefix,
        after: TailCursor,
        limit: usize,
    ) -> Result<TailPage, Error> {
        let rows_max = page_rows(limit)?;
        after.check_generation(self.store.generation())?;
        let mut txn = self.snapshot().await?;
        let mut merge = Merge::open(&mut txn, under, after).await?;
        let mut page = TailPage {
            items: Vec::new(),
            next: after,
            at_end: false,
        };
        let mut bytes = 0;
        for _ in 0..PAGE_SCAN_ROWS_MAX {
            let Some((stamp, row)) = merge.next(&mut txn).await? else {
                page.at_end = true;
                return Ok(page);
            };
            let given = if stamp == after.stamp { after.given } else { 0 };
            let run = Run { stamp, row, given };
            if under.covers(&run.row.scope) {
                bytes += run.read(&mut txn, rows_max, &mut page).await?;
            }
            if page.items.len() >= rows_max || bytes >= PAGE_BYTES_MAX {
                page.next = page
                    .items
                    .last()
                    .expect("a page with bytes has items")
                    .cursor;
                return Ok(page);
            }
            page.next = TailCursor {
                stamp,
                given: run.length()?,
            };
        }
        Ok(page)
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

    /// Adds the events that were not given out, as far as the page has room for them. The number of
    /// bytes added.
    async fn read(
        &self,
        txn: &mut impl Txn,
        rows_max: usize,
        page: &mut TailPage,
    ) -> Result<usize, Error> {
        let length = self.length()?;
        let room = rows_max.saturating_sub(page.items.len());
        let wanted = room.min(length.saturating_sub(self.given) as usize);
        if wanted == 0 {
            return Ok(0);
        }
        let before = Seq::new(self.row.first.get() - 1 + u64::from(self.given));
        let range =
            keys::event::range_through(&ScopeKey::of(&self.row.scope), before, self.row.last);
        let rows = txn
            .range(&range, RangeOptions::first(wanted, Read::Snapshot))
            .await;
        let rows = rows.map_err(|error| refusal(&error))?;
        if rows.len() != wanted {
            return Err(broken(
                &self.row.scope,
                "an event that was committed is not there",
            ));
        }
        let mut bytes = 0;
        for ((key, value), given) in rows.iter().zip(self.given + 1..) {
            bytes += value.len();
            page.items.push(TailItem {
                cursor: TailCursor {
                    stamp: self.stamp,
                    given,
                },
                scope: self.row.scope.clone(),
                event: EventView::decode(key, value)?,
            });
        }
        Ok(bytes)
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
    ) -> Result<Self, Error> {
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

    async fn next(&mut self, txn: &mut impl Txn) -> Result<Option<(Stamp, OutboxRow)>, Error> {
        let Some((stamp, (number, row))) = self.heads.pop_first() else {
            return Ok(None);
        };
        self.advance(txn, number).await?;
        Ok(Some((stamp, row)))
    }

    async fn advance(&mut self, txn: &mut impl Txn, number: usize) -> Result<(), Error> {
        let row = self.slots[number]
            .next(txn)
            .await
            .map_err(|error| refusal(&error))?;
        if let Some((key, value)) = row {
            let stamp = keys::outbox::parse(&key)
                .map_err(|error| refusal(&error))?
                .stamp;
            let row = keys::outbox::decode(&key, &value).map_err(|error| refusal(&error))?;
            let before = self.heads.insert(stamp, (number, row));
            assert!(before.is_none(), "no two rows of the outbox have one stamp");
        }
        Ok(())
    }
}

/// The slots whose outbox has rows at or behind a stamp. A few reads for each slot in use.
async fn slots_with_rows(txn: &mut impl Txn, stamp: Stamp) -> Result<Vec<Slot>, Error> {
    let mut slots = Vec::new();
    let mut slot = Slot::new(0);
    while let Some(here) = slot {
        let range = KeyRange {
            end: Family::Outbox.range().end,
            ..range_from(here, stamp)
        };
        let rows = txn
            .range(&range, RangeOptions::first(1, Read::Snapshot))
            .await;
        let Some((key, _)) = rows.map_err(|error| refusal(&error))?.pop() else {
            break;
        };
        let found = keys::outbox::parse(&key)
            .map_err(|error| refusal(&error))?
            .slot;
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
