//! The survey of a backup: whether it is whole, and where it is to be cut.
//!
//! A cut lies between two commits, for all scopes at once: what is restored is one moment that there was.
//! A cut inside a commit, or at other moments in other scopes, could leave a promotion without its source,
//! or half of what was published at once.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};

use bytes::Bytes;
use sillok_core::chain::{Broken, Header};
use sillok_core::event::{Body, EventKind};
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_core::time::Timestamp;
use sillok_store::backup::{self, End, Hash, Head, Reader};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family, InBackup, ScopeKey};
use sillok_store::{Error as StoreError, header};

use super::Error;

/// Up to which moment is restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// All that the backup holds.
    End,
    /// The last moment before the first commit that holds an event which is later than this.
    Time(Timestamp),
    /// Right behind the commit that holds this event.
    Event(Scope, Seq),
}

/// What a backup holds, and what of it is to be restored. It was read to its end: it is whole.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What stands before its rows.
    pub head: Head,
    /// What stands behind them.
    pub end: End,
    /// The hash that names it.
    pub hash: Hash,
    /// Where it is cut; none where all of it is restored.
    pub(super) cut: Option<Cut>,
}

/// Where a backup is cut.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// Commits up to and with this counter are restored.
    pub(super) through: u64,
    /// Where each scope ends that is left.
    pub(super) ends: BTreeMap<ScopeKey, ScopeEnd>,
}

/// Where a scope ends that is left.
#[derive(Clone, Debug)]
pub(super) struct ScopeEnd {
    pub(super) scope: Scope,
    /// Its last event.
    pub(super) last: Seq,
    /// Its floor of command ids in the backup: answers below it may have been forgotten.
    pub(super) floor: Timestamp,
}

impl Cut {
    /// Whether an event of a scope is restored.
    pub(super) fn keeps(&self, scope: &ScopeKey, seq: Seq) -> bool {
        self.ends.get(scope).is_some_and(|end| seq <= end.last)
    }
}

/// Reads a backup to its end and finds where it is to be cut. Nothing is written.
///
/// # Errors
/// [`Error`]
pub fn survey(file: &mut (impl Read + Seek), until: &Until) -> Result<Survey, Error> {
    let mut search = Search::of(until);
    let (head, end, hash) = read_through(file, |generation, family, key, value| {
        search.look(generation, family, key, value)
    })?;
    let mut survey = Survey {
        head,
        end,
        hash,
        cut: None,
    };
    if let Some(through) = search.found(&end)? {
        let ends = ends(file, &survey, through)?;
        if ends.is_empty() && end.events > 0 {
            return Err(Error::NothingByThen);
        }
        survey.cut = Some(Cut { through, ends });
    }
    Ok(survey)
}

/// Reads a backup from its beginning to its end, and hands each row over with the generation of the
/// backup and the family of the row.
pub(super) fn read_through(
    file: &mut (impl Read + Seek),
    mut each: impl FnMut(u32, Family, &Bytes, &Bytes) -> Result<(), Error>,
) -> Result<(Head, End, Hash), Error> {
    let mut reader = open(file)?;
    let head = reader.head().clone();
    while let Some(rows) = reader.next_rows()? {
        for (key, value) in &rows {
            each(head.generation, family_of(key)?, key, value)?;
        }
    }
    let (end, hash) = reader.end().expect("it was read to its end");
    Ok((head, *end, *hash))
}

/// Begins to read a backup that a store of this build can take.
pub(super) fn open<F: Read + Seek>(file: &mut F) -> Result<Reader<BufReader<&mut F>>, Error> {
    file.seek(SeekFrom::Start(0)).map_err(backup::Error::Io)?;
    let reader = Reader::open(BufReader::new(file))?;
    check_head(reader.head()).map_err(Error::Store)?;
    Ok(reader)
}

fn check_head(head: &Head) -> Result<(), StoreError> {
    header::check_format(head.store_format)?;
    let mismatch = |what, stored: String, configured: String| {
        Err(StoreError::LayoutMismatch {
            what,
            stored,
            configured,
        })
    };
    if head.slot_count != u32::from(SLOTS) {
        return mismatch("slot count", head.slot_count.to_string(), SLOTS.to_string());
    }
    if head.slot_hash != SLOT_HASH {
        return mismatch("slot hash", head.slot_hash.clone(), SLOT_HASH.to_owned());
    }
    Ok(())
}

/// The family of a row that a backup may hold.
pub(super) fn family_of(key: &[u8]) -> Result<Family, Error> {
    Family::of(key)
        .filter(|family| family.in_backup() == InBackup::Held)
        .ok_or_else(|| Error::Content(format!("the key {}", hex::encode(key))))
}

/// A row of the outbox: the commit's counter, and what it tells.
pub(super) fn told(generation: u32, key: &[u8], value: &[u8]) -> Result<(u64, OutboxRow), Error> {
    let stamp = keys::outbox::parse(key).map_err(content)?.stamp;
    if stamp.generation != generation {
        let what = format!("a commit of generation {}", stamp.generation);
        return Err(Error::Content(what));
    }
    let row = keys::outbox::decode(key, value).map_err(content)?;
    Ok((stamp.counter, row))
}

/// The header of a stored event.
pub(super) fn header_of(key: &[u8], value: &[u8]) -> Result<Header, Error> {
    let event = keys::event::decode(key, value).map_err(content)?;
    event
        .decode_header()
        .map_err(|broken| Error::Content(broken.to_string()))
}

/// A row that does not decode.
pub(super) fn content(error: StoreError) -> Error {
    Error::Content(error.to_string())
}

/// The search for the place of a cut, row by row: events come before the outbox.
enum Search {
    Nothing,
    Time {
        time: Timestamp,
        /// The first event of each scope that is later.
        later: BTreeMap<ScopeKey, Seq>,
        /// The counter of the first commit with such an event.
        first: Option<u64>,
    },
    Event {
        scope: Scope,
        seq: Seq,
        /// The counter of the commit that holds it.
        found: Option<u64>,
        /// The last event of the scope.
        last: Seq,
    },
}

impl Search {
    fn of(until: &Until) -> Self {
        match until {
            Until::End => Self::Nothing,
            Until::Time(time) => Self::Time {
                time: *time,
                later: BTreeMap::new(),
                first: None,
            },
            Until::Event(scope, seq) => Self::Event {
                scope: scope.clone(),
                seq: *seq,
                found: None,
                last: Seq::ZERO,
            },
        }
    }

    fn look(
        &mut self,
        generation: u32,
        family: Family,
        key: &Bytes,
        value: &Bytes,
    ) -> Result<(), Error> {
        match (self, family) {
            (Self::Time { time, later, .. }, Family::Event) => {
                let at = keys::event::parse(key).map_err(content)?;
                // Times within a scope never go back, and its events come in order.
                if !later.contains_key(&at.scope) && header_of(key, value)?.time > *time {
                    later.insert(at.scope, at.seq);
                }
            }
            (Self::Time { later, first, .. }, Family::Outbox) => {
                let (counter, row) = told(generation, key, value)?;
                let is_later = later
                    .get(&ScopeKey::of(&row.scope))
                    .is_some_and(|seq| row.last >= *seq);
                if is_later && first.is_none_or(|first| counter < first) {
                    *first = Some(counter);
                }
            }
            (
                Self::Event {
                    scope,
                    seq,
                    found,
                    last,
                },
                Family::Outbox,
            ) => {
                let (counter, row) = told(generation, key, value)?;
                if row.scope == *scope {
                    *last = (*last).max(row.last);
                    if row.first <= *seq && *seq <= row.last {
                        *found = Some(counter);
                    }
                }
            }
            (_, Family::Outbox) => drop(told(generation, key, value)?),
            _ => {}
        }
        Ok(())
    }

    /// The counter of the last commit that is left; none where nothing is cut.
    fn found(self, end: &End) -> Result<Option<u64>, Error> {
        match self {
            Self::Nothing => Ok(None),
            Self::Time { first, .. } => Ok(first.map(|first| first - 1)),
            Self::Event {
                found: Some(found), ..
            } if found >= end.cut.counter => Ok(None),
            Self::Event {
                found: Some(found), ..
            } => Ok(Some(found)),
            Self::Event {
                scope, seq, last, ..
            } => {
                let has = if last == Seq::ZERO {
                    "it has none of that scope".to_owned()
                } else {
                    format!("its last one there is {last}")
                };
                Err(Error::NoSuchEvent { scope, seq, has })
            }
        }
    }
}

/// Where the scopes end that were committed to by then.
fn ends(
    file: &mut (impl Read + Seek),
    survey: &Survey,
    through: u64,
) -> Result<BTreeMap<ScopeKey, ScopeEnd>, Error> {
    let mut ends: BTreeMap<ScopeKey, ScopeEnd> = BTreeMap::new();
    let mut floors: BTreeMap<ScopeKey, Timestamp> = BTreeMap::new();
    let mut erasures: Vec<(ScopeKey, Seq, Seq)> = Vec::new();
    let (_, _, hash) = read_through(file, |generation, family, key, value| {
        match family {
            Family::Event => erasures.extend(first_erased(key, value)?),
            Family::Scope => {
                let row = keys::scope::decode(key, value).map_err(content)?;
                floors.insert(ScopeKey::of(&row.scope), row.floor);
            }
            Family::Outbox => {
                let (counter, row) = told(generation, key, value)?;
                if counter <= through {
                    let end = ends.entry(ScopeKey::of(&row.scope)).or_insert(ScopeEnd {
                        scope: row.scope,
                        last: Seq::ZERO,
                        floor: Timestamp::EPOCH,
                    });
                    end.last = end.last.max(row.last);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    if hash != survey.hash {
        return Err(Error::Changed);
    }
    for (scope, erased, by) in erasures {
        let Some(end) = ends.get(&scope) else {
            continue;
        };
        if erased <= end.last && by > end.last {
            return Err(Error::ErasedSince {
                scope: end.scope.clone(),
                seq: erased,
                by,
            });
        }
    }
    for (scope, end) in &mut ends {
        end.floor = floors.get(scope).copied().unwrap_or_default();
    }
    Ok(ends)
}

/// The first event that one erased, if this one did: the scope, that event, and this one.
fn first_erased(key: &Bytes, value: &Bytes) -> Result<Option<(ScopeKey, Seq, Seq)>, Error> {
    if header_of(key, value)?.kind != EventKind::ContentErased {
        return Ok(None);
    }
    let event = keys::event::decode(key, value).map_err(content)?;
    let broken = |broken: Broken| Error::Content(broken.to_string());
    let at = keys::event::parse(key).map_err(content)?;
    Ok(match event.decode_body().map_err(broken)? {
        Some(Body::ContentErased(erased)) => erased
            .events
            .first()
            .map(|first| (at.scope, first.at.seq, at.seq)),
        _ => None,
    })
}
