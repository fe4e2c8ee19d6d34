//! Live tails: server-sent events that resume where a listener left off.
//!
//! Owns the loop of one listener. The store says what there is; the bus only says when to look
//! again, so a missed word costs nothing. However often that is in vain, a listener hears something
//! within a heartbeat. A tail ends with the token that it was opened with, and with the server.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::Sse;
use axum::response::sse::Event;
use futures::{FutureExt, Stream, StreamExt, stream};
use sillok_actors::reads::{self, TailCursor, TailOf};
use sillok_bus::Listener;
use sillok_bus::in_process::Heard;
use sillok_core::error::Error;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::Slot;
use tokio::sync::watch;

use super::App;
use super::auth::Session;
use super::guard::Place;
use crate::api::{Actor, EventView, Problem, TailItem, body_json};

/// One listener.
struct Tail {
    app: App,
    session: Arc<Session>,
    of: TailOf,
    /// What lies before it was looked at.
    cursor: TailCursor,
    /// The last one that the listener was told.
    told: TailCursor,
    ready: VecDeque<reads::TailItem>,
    /// When the listener is told something at the latest, on the boot clock in ms. Only what it is told
    /// puts that off.
    heartbeat_at_ms: u64,
    listener: Listener,
    stopping: watch::Receiver<bool>,
    ended: bool,
    _place: Place,
}

/// A stream of the events that are asked for, behind `cursor`.
///
/// # Errors
/// `busy` when too many are open.
pub(super) fn open(
    app: App,
    session: Arc<Session>,
    of: TailOf,
    cursor: TailCursor,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Error> {
    let place = app.tail_place(&session.principal.actor)?;
    // Listening begins before the first read: what is committed in between is heard.
    let listener = app.node().bus().listen();
    let stopping = app.inner.stopping.clone();
    let mut tail = Tail {
        app,
        session,
        of,
        cursor,
        told: cursor,
        ready: VecDeque::new(),
        heartbeat_at_ms: 0,
        listener,
        stopping,
        ended: false,
        _place: place,
    };
    tail.put_heartbeat_off();
    let events = stream::unfold(tail, |mut tail| async move {
        tail.next().await.map(|event| (event, tail))
    });
    Ok(Sse::new(events.map(Ok)))
}

impl Tail {
    async fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        match self.step().await {
            Ok(event) => {
                self.put_heartbeat_off();
                event
            }
            Err(error) => {
                // The status was sent long ago; the refusal comes as a last event.
                self.ended = true;
                self.app.node().note_refusal(&error);
                let status = super::status_of(error.code).as_u16();
                let problem = Problem::new(&error, status, None);
                Event::default().event("error").json_data(problem).ok()
            }
        }
    }

    /// The next event, or a comment when nothing that is asked for comes for a while; none when the server
    /// stops.
    async fn step(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.told = item.cursor;
                return shown(item).map(Some);
            }
            if *self.stopping.borrow() {
                return Ok(None);
            }
            self.app.still_counts(&self.session).await?;
            while self
                .listener
                .next()
                .now_or_never()
                .is_some_and(|heard| heard != Heard::Closed)
            {}
            let rows = self.app.inner.config.tail_page_rows;
            let page = self.app.reader().tail(&self.of, self.cursor, rows).await?;
            self.cursor = page.next;
            self.ready = page.items.into();
            if !self.ready.is_empty() {
                continue;
            }
            let now_ms = self.app.clock().monotonic_ms();
            let left_ms = self.heartbeat_at_ms.saturating_sub(now_ms);
            if !page.at_end || left_ms == 0 {
                return Ok(Some(self.heartbeat()));
            }
            let heartbeat = self.app.clock().sleep(left_ms);
            let under = &self.of.under;
            tokio::select! {
                // Whether the server stops is looked at above.
                _ = self.stopping.changed() => {}
                () = async { while !self.listener.wake_for(|slot| concerns(under, slot)).await {
                    // Without a bus the heartbeat is what looks again.
                    std::future::pending::<()>().await;
                } } => {}
                () = heartbeat => return Ok(Some(self.heartbeat())),
            }
        }
    }

    fn put_heartbeat_off(&mut self) {
        let now_ms = self.app.clock().monotonic_ms();
        self.heartbeat_at_ms = now_ms + self.app.inner.config.tail_heartbeat_ms;
    }

    /// A comment, with the cursor if it moved since the listener was told one: whoever resumes there does
    /// not look again at all that was not asked for.
    fn heartbeat(&mut self) -> Event {
        let comment = Event::default().comment("nothing new");
        if self.told == self.cursor {
            return comment;
        }
        self.told = self.cursor;
        comment.id(self.cursor.to_string())
    }
}

/// Whether what happens in a slot can lie under a prefix. A project with all inside it has one slot.
fn concerns(under: &ScopePrefix, slot: Slot) -> bool {
    match under {
        ScopePrefix::Scope(scope) if scope.project().is_some() => Slot::of(scope) == slot,
        ScopePrefix::Scope(_) | ScopePrefix::All => true,
    }
}

fn shown(item: reads::TailItem) -> Result<Event, Error> {
    let cursor = item.cursor.to_string();
    let event = event_view(item.scope, item.event);
    let kind = event.kind.as_str();
    let data = TailItem {
        cursor: cursor.clone(),
        event,
    };
    Event::default()
        .id(cursor)
        .event(kind)
        .json_data(data)
        .map_err(|error| {
            Error::new(
                sillok_core::ErrorCode::Internal,
                format!("an event cannot be shown: {error}"),
            )
        })
}

/// The wire form of an event of a scope.
pub(super) fn event_view(scope: Scope, event: reads::EventView) -> EventView {
    let header = event.header;
    EventView {
        scope,
        seq: header.seq,
        time: header.time,
        kind: header.kind,
        actor: Actor::from(header.actor),
        command: header.command,
        body: event
            .body
            .as_ref()
            .map_or(serde_json::Value::Null, body_json),
    }
}
