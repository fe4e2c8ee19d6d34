//! Reading the log of a scope: its events, and the staged records among them with their full text.

use sillok_core::bound::Bound;
use sillok_core::chain::Header;
use sillok_core::citation::Excerpt;
use sillok_core::entry::Metadata;
use sillok_core::event::{Body, EventKinds};
use sillok_core::id::{CommandId, RecordId, Seq};
use sillok_core::limits::{PAGE_BYTES_MAX, PAGE_SCAN_ROWS_MAX};
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;
use sillok_core::staging::RecordKind;
use sillok_core::task::opening_text;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::texts::whole;
use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// An event as it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct EventView {
    /// What stays of it for ever.
    pub header: Header,
    /// What happened; none once erased. Large texts are named, not held.
    pub body: Option<Body>,
}

impl EventView {
    /// Reads a stored event.
    pub(super) fn decode(key: &[u8], value: &[u8]) -> Result<Self, Error> {
        let event = keys::event::decode(key, value).map_err(|error| refusal(&error))?;
        let refused =
            |error: sillok_core::chain::Broken| Error::new(ErrorCode::Internal, error.to_string());
        Ok(Self {
            header: event.decode_header().map_err(refused)?,
            body: event.decode_body().map_err(refused)?,
        })
    }
}

/// A staged record with its whole text.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedRecord {
    /// Where it stands.
    pub id: RecordId,
    /// When it was staged.
    pub staged_at: Timestamp,
    /// Who staged it.
    pub actor: Actor,
    /// The command that it came with.
    pub command: CommandId,
    /// What sort of record.
    pub kind: RecordKind,
    /// Its text, with secrets masked.
    pub content: String,
    /// Tool name, arguments, duration and the like.
    pub metadata: Metadata,
    /// When it happened, by the writer's clock.
    pub time: Timestamp,
    /// How many secrets were masked in it.
    pub masked: u32,
    /// Where it was said, where its writer said so.
    pub bound: Option<Bound>,
}

impl<S: Store> Reader<S> {
    /// A staged record; none when no record stands there, or its content was erased.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn record(&self, id: &RecordId) -> Result<Option<StagedRecord>, Error> {
        let mut txn = self.snapshot().await?;
        match event(&mut txn, id).await? {
            Some(event) => staged(&mut txn, &id.scope, event).await,
            None => Ok(None),
        }
    }

    /// What stands in a stretch of a record's text, or of what a task was opened with; none when there is no
    /// such text (any more), or it has no such stretch.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn excerpt(&self, excerpt: &Excerpt) -> Result<Option<String>, Error> {
        let mut txn = self.snapshot().await?;
        let Some(event) = event(&mut txn, &excerpt.record).await? else {
            return Ok(None);
        };
        let text = match &event.body {
            Some(Body::TaskOpened { title, description }) => opening_text(title, description),
            _ => match staged(&mut txn, &excerpt.record.scope, event).await? {
                Some(record) => record.content,
                None => return Ok(None),
            },
        };
        Ok(excerpt.of(&text).map(str::to_owned))
    }

    /// The staged records of a scope behind a position, in order. A page may hold fewer rows than
    /// asked for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, `history_changed` for a position behind the last one,
    /// and what the store answers.
    pub async fn records(
        &self,
        scope: &Scope,
        after: Seq,
        limit: usize,
    ) -> Result<Page<StagedRecord, Seq>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let mut stream = RowStream::new(keys::event::range_after(&ScopeKey::of(scope), after));
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let (mut bytes, mut looked_at) = (0, 0);
        while page.items.len() < rows_max
            && bytes < PAGE_BYTES_MAX
            && looked_at < PAGE_SCAN_ROWS_MAX
        {
            let Some((key, value)) = stream
                .next(&mut txn)
                .await
                .map_err(|error| refusal(&error))?
            else {
                if page.next.is_none() {
                    check_position(&mut txn, scope, after).await?;
                }
                return Ok(Page { next: None, ..page });
            };
            let event = EventView::decode(&key, &value)?;
            page.next = Some(event.header.seq);
            looked_at += 1;
            if let Some(record) = staged(&mut txn, scope, event).await? {
                bytes += record.content.len();
                page.items.push(record);
            }
        }
        Ok(page)
    }

    /// The events of a scope that are of some kinds, behind a position, in order. A page may hold fewer
    /// rows than asked for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, `history_changed` for a position behind the last one,
    /// and what the store answers.
    pub async fn events(
        &self,
        scope: &Scope,
        kinds: &EventKinds,
        after: Seq,
        limit: usize,
    ) -> Result<Page<EventView, Seq>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let mut stream = RowStream::new(keys::event::range_after(&ScopeKey::of(scope), after));
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let (mut bytes, mut looked_at) = (0, 0);
        while page.items.len() < rows_max
            && bytes < PAGE_BYTES_MAX
            && looked_at < PAGE_SCAN_ROWS_MAX
        {
            let Some((key, value)) = stream
                .next(&mut txn)
                .await
                .map_err(|error| refusal(&error))?
            else {
                if page.next.is_none() {
                    check_position(&mut txn, scope, after).await?;
                }
                return Ok(Page { next: None, ..page });
            };
            let event = EventView::decode(&key, &value)?;
            page.next = Some(event.header.seq);
            bytes += value.len();
            looked_at += 1;
            if kinds.have(event.header.kind) {
                page.items.push(event);
            }
        }
        Ok(page)
    }
}

/// Refuses a position behind the end of a scope, which only another history can have had: who waits there
/// would miss what comes before it.
async fn check_position(txn: &mut impl Txn, scope: &Scope, after: Seq) -> Result<(), Error> {
    if after == Seq::ZERO {
        return Ok(());
    }
    let key = keys::scope::key(&ScopeKey::of(scope));
    let row = rows::read(txn, &key, keys::scope::decode).await;
    let row = row.map_err(|error| refusal(&error))?;
    let last = row.map_or(Seq::ZERO, |row| row.tip.seq);
    if after <= last {
        return Ok(());
    }
    let why = format!(
        "{scope} ends with event {last}: that it had an event {after} was before the store was restored \
         from a backup"
    );
    Err(Error::new(ErrorCode::HistoryChanged, why))
}

/// The event that stands at a position.
async fn event(txn: &mut impl Txn, id: &RecordId) -> Result<Option<EventView>, Error> {
    let key = keys::event::key(&ScopeKey::of(&id.scope), id.seq);
    let decoded = |key: &[u8], value: &[u8]| Ok(EventView::decode(key, value));
    let found = rows::read(txn, &key, decoded).await;
    found.map_err(|error| refusal(&error))?.transpose()
}

/// The record that an event staged, with its whole text.
async fn staged(
    txn: &mut impl Txn,
    scope: &Scope,
    event: EventView,
) -> Result<Option<StagedRecord>, Error> {
    let Some((record, bound)) = event.body.and_then(Body::into_record) else {
        return Ok(None);
    };
    let header = event.header;
    let content = whole(txn, scope, record.content).await?;
    Ok(Some(StagedRecord {
        id: RecordId {
            scope: scope.clone(),
            seq: header.seq,
        },
        staged_at: header.time,
        actor: header.actor,
        command: header.command,
        kind: record.kind,
        content,
        metadata: record.metadata,
        time: record.time,
        masked: record.masked,
        bound,
    }))
}
