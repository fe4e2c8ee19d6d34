//! Loading: the rows of a backup into an empty store, without what lies behind the cut.
//!
//! Owns what becomes of each family. Large texts come last where there is a cut, since only then it is known
//! which of them an event that is left names.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use bytes::Bytes;
use sillok_core::chain::Tip;
use sillok_core::command::CommandRecord;
use sillok_core::event::Body;
use sillok_core::id::{CommandId, Epoch, Seq};
use sillok_core::membership::{NodeRow, OwnerRow};
use sillok_core::staging::Content;
use sillok_core::stamp::Stamp;
use sillok_core::state::State;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Store, Txn as _};

use super::Error;
use super::survey::{Cut, Survey, content, family_of, header_of, open, told};
use crate::audit::{OnProgress, PROGRESS_EVENTS, Progress};
use crate::row_writer::RowWriter;
use crate::rows::Row;

/// What was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loaded {
    /// Events.
    pub(super) events: u64,
    /// When the last of them happened.
    pub(super) last_event: Option<Timestamp>,
}

/// Large texts, by the names of their chunks.
type Texts = BTreeSet<(ScopeKey, CommandId)>;

/// What a row of a backup becomes, by its family.
type RowsOf<L> = fn(&mut L, Family, &Bytes, &Bytes) -> Result<Vec<Row>, Error>;

/// Loads what the survey leaves of a backup.
pub(super) async fn load<S: Store>(
    store: &S,
    file: &mut (impl Read + Seek),
    survey: &Survey,
    progress: OnProgress<'_>,
) -> Result<Loaded, Error> {
    let mut load = Load {
        survey,
        generation: store.generation(),
        loaded: Loaded::default(),
        texts: Texts::new(),
        progress,
    };
    let mut writer = RowWriter::new(store).await?;
    load.run(file, &mut writer, Load::row).await?;
    if survey.cut.is_some() && !load.texts.is_empty() {
        load.run(file, &mut writer, Load::chunk_that_is_left)
            .await?;
    }
    writer.finish().await?;
    check_counter(store, survey).await?;
    Ok(load.loaded)
}

/// Whatever the store commits from now on must lie behind the commits of the backup.
async fn check_counter<S: Store>(store: &S, survey: &Survey) -> Result<(), Error> {
    let stamp = store.begin().await?.commit().await?.stamp;
    assert!(
        stamp.counter >= survey.end.cut.counter,
        "the restored store counts on where the backup ends"
    );
    Ok(())
}

struct Load<'a> {
    survey: &'a Survey,
    generation: u32,
    loaded: Loaded,
    /// Large texts that events which are left name.
    texts: Texts,
    progress: OnProgress<'a>,
}

impl Load<'_> {
    async fn run<S: Store>(
        &mut self,
        file: &mut (impl Read + Seek),
        writer: &mut RowWriter<'_, S>,
        rows_of: RowsOf<Self>,
    ) -> Result<(), Error> {
        let mut reader = open(file)?;
        while let Some(rows) = reader.next_rows()? {
            for (key, value) in &rows {
                for row in rows_of(self, family_of(key)?, key, value)? {
                    writer.write(row).await?;
                }
            }
        }
        match reader.end() {
            Some((_, hash)) if *hash == self.survey.hash => Ok(()),
            _ => Err(Error::Changed),
        }
    }

    fn cut(&self) -> Option<&Cut> {
        self.survey.cut.as_ref()
    }

    /// The rows of the store that a row of the backup becomes.
    fn row(&mut self, family: Family, key: &Bytes, value: &Bytes) -> Result<Vec<Row>, Error> {
        let same = || vec![row(key.to_vec(), value.to_vec())];
        match family {
            Family::Event => self.event(key, value),
            Family::Chunk | Family::Scope if self.cut().is_some() => Ok(Vec::new()),
            Family::Command => Ok(if self.keeps_command(key, value)? {
                same()
            } else {
                Vec::new()
            }),
            Family::Outbox => self.outbox(key, value),
            Family::Owner => owner(key, value),
            Family::Node => node(key, value),
            _ => Ok(same()),
        }
    }

    fn event(&mut self, key: &Bytes, value: &Bytes) -> Result<Vec<Row>, Error> {
        let at = keys::event::parse(key).map_err(content)?;
        if self.cut().is_some_and(|cut| !cut.keeps(&at.scope, at.seq)) {
            return Ok(Vec::new());
        }
        let time = header_of(key, value)?.time;
        self.loaded.events += 1;
        self.loaded.last_event = self.loaded.last_event.max(Some(time));
        if self.loaded.events.is_multiple_of(PROGRESS_EVENTS) {
            (self.progress)(Progress {
                events: self.loaded.events,
                ..Progress::default()
            });
        }
        let mut rows = vec![row(key.to_vec(), value.to_vec())];
        if self.cut().is_some() {
            self.note_text(&at.scope, key, value)?;
            rows.extend(self.scope_that_ends(&at.scope, at.seq, key, value)?);
        }
        Ok(rows)
    }

    /// Notes that a large text is left.
    fn note_text(&mut self, scope: &ScopeKey, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let event = keys::event::decode(key, value).map_err(content)?;
        let body = event
            .decode_body()
            .map_err(|broken| Error::Content(broken.to_string()))?;
        if let Some(Content::Chunked { command, .. }) = body.as_ref().and_then(Body::content) {
            self.texts.insert((*scope, *command));
        }
        Ok(())
    }

    /// The row of a scope whose last event this is.
    fn scope_that_ends(
        &self,
        scope: &ScopeKey,
        seq: Seq,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Row>, Error> {
        let ends = self.cut().and_then(|cut| cut.ends.get(scope));
        let Some(end) = ends.filter(|end| end.last == seq) else {
            return Ok(None);
        };
        let event = keys::event::decode(key, value).map_err(content)?;
        let mut state = State::new(&end.scope, None, None);
        state.raise_floor(end.floor);
        state.advance(Tip {
            seq,
            hash: event.hash(),
            time: header_of(key, value)?.time,
        });
        let value = keys::scope::encode(state.row());
        Ok(Some(row(keys::scope::key(scope), value)))
    }

    /// Whether the record of a command is restored: that of a command whose events were cut off is not,
    /// since a retry of it must be carried out.
    fn keeps_command(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let Some(cut) = self.cut() else {
            return Ok(true);
        };
        let scope = keys::command::parse(key).map_err(content)?.scope;
        Ok(match keys::command::decode(key, value).map_err(content)? {
            CommandRecord::Applied { answer, .. } => cut.keeps(&scope, answer.seq),
            CommandRecord::Aborted { .. } => true,
        })
    }

    /// A commit is told under the generation of the restored store.
    fn outbox(&self, key: &[u8], value: &[u8]) -> Result<Vec<Row>, Error> {
        let at = keys::outbox::parse(key).map_err(content)?;
        let (counter, _) = told(self.survey.head.generation, key, value)?;
        if self.cut().is_some_and(|cut| counter > cut.through) {
            return Ok(Vec::new());
        }
        let stamp = Stamp {
            generation: self.generation,
            ..at.stamp
        };
        let key = keys::outbox::key(at.slot, stamp);
        Ok(vec![row(key, value.to_vec())])
    }

    /// A chunk of a large text that is left.
    fn chunk_that_is_left(
        &mut self,
        family: Family,
        key: &Bytes,
        value: &Bytes,
    ) -> Result<Vec<Row>, Error> {
        if family != Family::Chunk {
            return Ok(Vec::new());
        }
        let at = keys::chunk::parse(key).map_err(content)?;
        let is_left = self.texts.contains(&(at.scope, at.command));
        Ok(is_left
            .then(|| row(key.to_vec(), value.to_vec()))
            .into_iter()
            .collect())
    }
}

fn row(key: Vec<u8>, value: Vec<u8>) -> Row {
    Row {
        key,
        value: Some(value),
    }
}

/// Nobody commits under an epoch that somebody had before.
fn owner(key: &[u8], value: &[u8]) -> Result<Vec<Row>, Error> {
    let before = keys::owner::decode(key, value).map_err(content)?;
    let after = OwnerRow {
        epoch: Epoch(before.epoch.0 + 1),
        ..before
    };
    Ok(vec![row(key.to_vec(), keys::owner::encode(&after))])
}

/// No run of a node goes on.
fn node(key: &[u8], value: &[u8]) -> Result<Vec<Row>, Error> {
    let before = keys::node::decode(key, value).map_err(content)?;
    let after = NodeRow {
        fenced: true,
        ..before
    };
    Ok(vec![row(key.to_vec(), keys::node::encode(&after))])
}
