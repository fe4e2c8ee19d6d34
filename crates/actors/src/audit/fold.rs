//! The fold of one scope: its events from the first to the last, and the rows that follow from them.
//!
//! Owns what an event sequence must satisfy and what it explains. Audits compare the result with
//! what is stored, rebuilds write it. It holds hashes of rows, not the rows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sillok_core::chain::Header;
use sillok_core::command::ScopeRow;
use sillok_core::event::Body;
use sillok_core::id::{CommandId, EntryId, Seq, VerificationId};
use sillok_core::invariants::{self, Invariant, Violation};
use sillok_core::principal::Actor;
use sillok_core::state::{Change, Stamped, State};
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, Txn};

use super::Stop;
use super::erasures::Erasures;
use super::lines::check_lines;
use super::lookup::recorded;
use super::stop::violated;
use super::told::Told;
use crate::rows::{self, Place};

/// Enough of a BLAKE3 hash to tell two values or keys apart.
pub(crate) type ShortHash = [u8; 16];

/// The hash of a value or key.
pub(crate) fn short_hash(bytes: &[u8]) -> ShortHash {
    let hash = blake3::hash(bytes);
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a BLAKE3 hash has 32 bytes");
    *first
}

/// A row as the events leave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Hash of the value.
    pub(crate) hash: ShortHash,
    /// The last event that wrote it.
    pub(crate) seq: Seq,
}

/// The events of one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRun {
    /// Hash of the key that the command's record has.
    pub(crate) key: ShortHash,
    /// The command.
    pub(crate) id: CommandId,
    /// Its first event.
    pub(crate) first: Seq,
    /// Its last event.
    pub(crate) last: Seq,
    /// The time of its last event.
    pub(crate) time: Timestamp,
}

/// What the events of a scope lead to.
pub(crate) struct Fold {
    place: Place,
    pub(super) state: State,
    before: Option<Header>,
    run: Option<Run>,
    /// Rows of the view, by their keys.
    pub(crate) rows: BTreeMap<Vec<u8>, Expected>,
    /// Keys of rows that an event removed, and which.
    pub(crate) removed: BTreeMap<Vec<u8>, Seq>,
    /// Every command that has events, in the order of its events.
    pub(crate) commands: Vec<CommandRun>,
    /// What the events say beside that.
    pub(crate) told: Told,
    /// Promotions that have ended.
    ended: BTreeSet<VerificationId>,
    /// Promotions that were published here.
    published: BTreeSet<VerificationId>,
    erasures: Erasures,
}

/// The command whose events are being read.
struct Run {
    actor: Actor,
    record: CommandRun,
    /// Its events but the records, which a long append has many of.
    bodies: Vec<Body>,
    /// Entries that it made of a text that was known already, each with the one that has it.
    repeats: Vec<(EntryId, EntryId)>,
}

/// An event as it is folded: what it changed, and where.
pub(crate) struct Folded {
    /// Its position.
    pub(crate) seq: Seq,
    /// What it changed.
    pub(crate) changes: Vec<Change>,
}

impl Fold {
    pub(crate) fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            state: State::new(&place.scope, None, None),
            before: None,
            run: None,
            rows: BTreeMap::new(),
            removed: BTreeMap::new(),
            commands: Vec::new(),
            told: Told::default(),
            ended: BTreeSet::new(),
            published: BTreeSet::new(),
            erasures: Erasures::default(),
        }
    }

    /// The row that the scope must have by now.
    pub(crate) fn row(&self) -> &ScopeRow {
        self.state.row()
    }

    /// Takes a floor of command ids over that lies higher than the events lead to: maintenance raises it where
    /// nobody writes any more, and a restore to an earlier moment leaves it where it was.
    fn raise_floor(&mut self, stored: &ScopeRow) {
        if stored.tip == self.row().tip {
            self.state.raise_floor(stored.floor);
        }
    }

    /// The last event that was folded.
    pub(crate) fn last(&self) -> Option<&Header> {
        self.before.as_ref()
    }

    /// Where the next event must stand.
    fn next_seq(&self) -> Seq {
        self.state.row().tip.seq.next()
    }

    /// Checks the event in a row and applies it.
    pub(crate) async fn event(
        &mut self,
        txn: &mut impl Txn,
        key: &[u8],
        value: &[u8],
    ) -> Result<Folded, Stop> {
        let expected = self.next_seq();
        let at = |seq: Seq, what: String| Stop::at(&self.place, seq, Family::Event, key, what);
        let found = keys::event::parse(key).map_err(|error| at(expected, error.to_string()))?;
        if found.seq != expected {
            let what = format!("event {} follows event {}", found.seq, self.row().tip.seq);
            return Err(at(expected.min(found.seq), what).of(Invariant::Chained));
        }
        let event = keys::event::decode(key, value);
        let event = event.map_err(|error| at(expected, reason(error)))?;
        let mut tip = self.state.row().tip;
        let violated =
            |violation: Violation| at(expected, violation.to_string()).of(violation.invariant);
        let ordered = self.erasures.of(txn, &self.place, expected, &event).await?;
        let followed = invariants::event_follows(&mut tip, &event, ordered);
        let (header, body) = followed.map_err(violated)?;
        invariants::epoch_follows(self.before.as_ref(), &header).map_err(violated)?;
        // First, since what is published a second time may well be made a second time.
        invariants::promotion_publishes_once(&mut self.published, &body).map_err(violated)?;
        invariants::event_applies(&self.state, &body).map_err(violated)?;
        invariants::promotion_ends_once(&mut self.ended, &body).map_err(violated)?;
        let stamped = Stamped {
            seq: header.seq,
            time: header.time,
            actor: header.actor.clone(),
        };
        if let Body::ContentErased(erased) = &body {
            let left = self.erasures.left(erased);
            let what = |seq| format!("event {seq} was erased, but its content is still there");
            if let Some(seq) = left {
                return Err(at(seq, what(seq)).of(Invariant::Chained));
            }
        }
        let repeat = match &body {
            Body::EntryCreated(created) => {
                invariants::known_text(&self.state, created).map(|known| (created.id, known))
            }
            _ => None,
        };
        self.told.note(header.seq, &body, &self.state);
        let changes = self.state.apply(&body, &stamped);
        self.state.advance(tip);
        // Only commits that are being decided compare texts with one another.
        self.state.index_was_told();
        self.note_rows(header.seq, &changes);
        self.note_command(txn, &header, body).await?;
        if let (Some(run), Some(repeat)) = (&mut self.run, repeat) {
            run.repeats.push(repeat);
        }
        self.before = Some(header);
        Ok(Folded {
            seq: expected,
            changes,
        })
    }

    /// Checks the last command and what the entries came to. Nothing may follow.
    pub(crate) async fn finish(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        self.end_run(txn).await?;
        check_lines(&self.place, &self.state, &self.rows)
    }

    fn note_rows(&mut self, seq: Seq, changes: &[Change]) {
        for change in changes {
            let row = rows::row_of(&self.place, change);
            match row.value {
                Some(value) => {
                    self.removed.remove(&row.key);
                    self.rows.insert(
                        row.key,
                        Expected {
                            hash: short_hash(&value),
                            seq,
                        },
                    );
                }
                None => {
                    self.rows.remove(&row.key);
                    self.removed.insert(row.key, seq);
                }
            }
        }
    }

    async fn note_command(
        &mut self,
        txn: &mut impl Txn,
        header: &Header,
        body: Body,
    ) -> Result<(), Stop> {
        if matches!(body, Body::Denied { .. }) {
            // A denial is no part of a command: nothing followed from that.
            return self.end_run(txn).await;
        }
        let same = |run: &Run| run.actor == header.actor && run.record.id == header.command;
        if !self.run.as_ref().is_some_and(same) {
            self.end_run(txn).await?;
        }
        let place = &self.place;
        let run = self.run.get_or_insert_with(|| Run {
            actor: header.actor.clone(),
            record: CommandRun {
                key: short_hash(&keys::command::key(
                    &place.key,
                    &header.actor,
                    header.command,
                )),
                id: header.command,
                first: header.seq,
                last: header.seq,
                time: header.time,
            },
            bodies: Vec::new(),
            repeats: Vec::new(),
        });
        run.record.last = header.seq;
        run.record.time = header.time;
        match body {
            Body::RecordAppended(_) | Body::BoundRecordAppended(_) => {
                let checked = invariants::record_permitted(&place.scope, &header.actor);
                checked.map_err(|violation| violated(place, header.seq, &violation))
            }
            body => {
                run.bodies.push(body);
                Ok(())
            }
        }
    }

    async fn end_run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        let Some(Run {
            actor,
            record,
            bodies,
            repeats,
        }) = self.run.take()
        else {
            return Ok(());
        };
        let place = &self.place;
        let at = |violation: Violation| violated(place, record.first, &violation);
        invariants::trust_is_validated(&bodies).map_err(at)?;
        invariants::command_permitted(&place.scope, &actor, &bodies).map_err(at)?;
        invariants::texts_are_one(&repeats, &bodies).map_err(at)?;
        invariants::erasure_is_whole(&self.state, &bodies).map_err(at)?;
        invariants::failure_is_told(&bodies).map_err(at)?;
        let named = bodies.iter().find_map(|body| match body {
            Body::Published {
                source,
                verification,
                ..
            } => Some((source, *verification)),
            _ => None,
        });
        let verification = match named {
            Some((source, id)) => recorded(txn, &ScopeKey::of(source), id).await?,
            None => None,
        };
        invariants::command_backed(&place.scope, &bodies, verification.as_ref()).map_err(at)?;
        self.commands.push(record);
        Ok(())
    }
}

/// What does not fit about stored bytes, without their place.
pub(super) fn reason(error: StoreError) -> String {
    match error {
        StoreError::Corrupt { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// Compares a scope's own row with where its events end.
pub(super) fn check_end(fold: &mut Fold, place: &Place, value: &Bytes) -> Result<(), Stop> {
    let key = keys::scope::key(&place.key);
    let stored = keys::scope::decode(&key, value);
    if let Ok(stored) = &stored {
        fold.raise_floor(stored);
    }
    let row = fold.row();
    if keys::scope::encode(row) == *value {
        return Ok(());
    }
    let stored = match stored {
        Ok(stored) => stored,
        Err(error) => {
            return Err(Stop::at(
                place,
                row.tip.seq,
                Family::Scope,
                &key,
                reason(error),
            ));
        }
    };
    let (seq, what) = if stored.tip.seq > row.tip.seq {
        let what = format!(
            "the scope ends with event {}, but the last one that is there is {}",
            stored.tip.seq, row.tip.seq
        );
        (row.tip.seq.next(), what)
    } else if stored.tip.seq < row.tip.seq {
        (
            stored.tip.seq.next(),
            format!(
                "the scope ends with event {}, but more events are there",
                stored.tip.seq
            ),
        )
    } else {
        (
            row.tip.seq,
            "the scope's row is not what its events lead to".to_owned(),
        )
    };
    Err(Stop::at(place, seq, Family::Scope, &key, what))
}
