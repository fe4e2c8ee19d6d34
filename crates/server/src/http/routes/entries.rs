//! Routes of entries.

use axum::Json;
use axum::extract::State;
use sillok_core::command::{Command, Replacement};
use sillok_core::entry::Head;
use sillok_core::error::Error;
use sillok_core::id::{CommandId, EntryId, Seq};

use super::not_found;
use crate::api::{
    AmendEntry, Cursor, EntryQuery, EntryView, EntryWritten, History, HistoryQuery, PutEntry,
    ResolveState, RestoreEntry, Supersede, Superseded,
};
use crate::http::auth::Session;
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Rows of each list of a history.
const HISTORY_ROWS: usize = sillok_core::limits::PAGE_ROWS_MAX;

/// Write an entry, or merge it into the one that says the same.
#[utoipa::path(post, path = "/v1/entries", tag = "entries", operation_id = "put_entry", request_body = PutEntry,
    responses((status = 200, description = "The entry is there.", body = EntryWritten)),
    extensions(("x-sillok-access" = json!(["entries"]))))]
pub(super) async fn put(State(app): State<App>, write: Write<PutEntry>) -> Reply<EntryWritten> {
    let (scope, mut entry, verification) =
        write.body.into_parts().map_err(Refusal::of(write.id))?;
    let vector = app.embed_entry(&write.session, &scope, &entry).await;
    entry.embedding = vector.map_err(Refusal::of(write.id))?;
    let command = Command::PutEntry {
        entry: Box::new(entry),
        verification,
    };
    app.carry_out(&write.session, write.id, (scope, command))
        .await?
        .entry()
}

/// Give an entry a new version.
#[utoipa::path(post, path = "/v1/entries/amend", tag = "entries", operation_id = "amend_entry",
    request_body = AmendEntry,
    responses((status = 200, description = "The entry has a new version.", body = EntryWritten)),
    extensions(("x-sillok-access" = json!(["entries"]))))]
pub(super) async fn amend(State(app): State<App>, write: Write<AmendEntry>) -> Reply<EntryWritten> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.entry).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let mut amendment = write
        .body
        .into_amendment(head.table)
        .map_err(|error| conceal.over(refused(error)))?;
    amendment.embedding = app
        .embed(&write.session, &head.scope, &amendment.content)
        .await;
    let command = Command::AmendEntry(Box::new(amendment));
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .entry()
}

/// Replace one entry by another.
#[utoipa::path(post, path = "/v1/entries/supersede", tag = "entries", operation_id = "supersede_entry",
    request_body = Supersede,
    responses((status = 200, description = "The entry is replaced.", body = Superseded)),
    extensions(("x-sillok-access" = json!(["entries"]))))]
pub(super) async fn supersede(
    State(app): State<App>,
    write: Write<Supersede>,
) -> Reply<Superseded> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.old).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let mut supersession = write
        .body
        .into_supersession(head.table)
        .map_err(|error| conceal.over(refused(error)))?;
    if let Replacement::New(entry) = &mut supersession.new {
        entry.embedding = app.embed(&write.session, &head.scope, &entry.content).await;
    }
    let command = Command::Supersede(Box::new(supersession));
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .superseded()
}

/// Resolve a state: it holds no longer.
#[utoipa::path(post, path = "/v1/entries/resolve", tag = "entries", operation_id = "resolve_state",
    request_body = ResolveState,
    responses((status = 200, description = "The state is resolved.", body = EntryWritten)),
    extensions(("x-sillok-access" = json!(["entries"]))))]
pub(super) async fn resolve(
    State(app): State<App>,
    write: Write<ResolveState>,
) -> Reply<EntryWritten> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.entry).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let verification = write.body.verification.map(TryInto::try_into).transpose();
    let command = Command::ResolveState {
        entry: head.id,
        expected_version: write.body.expected_version,
        reason: write.body.reason,
        verification: verification.map_err(|error| conceal.over(refused(error)))?,
    };
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .entry()
}

/// Bring an entry back that maintenance took out of recall, with the status that it has by what stands behind it. It ages
/// anew from then on.
#[utoipa::path(post, path = "/v1/entries/restore", tag = "entries", operation_id = "restore_entry",
    request_body = RestoreEntry,
    responses((status = 200, description = "The entry is back.", body = EntryWritten)),
    extensions(("x-sillok-access" = json!(["control/decide_below_project", "control/decide_from_project"]))))]
pub(super) async fn restore(
    State(app): State<App>,
    write: Write<RestoreEntry>,
) -> Reply<EntryWritten> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.entry).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let command = Command::RestoreEntry {
        entry: head.id,
        reason: write.body.reason,
    };
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .entry()
}

/// Whether an entry is hidden from whoever wants to write to it. The denial is noted where the entry
/// lives; the stranger is told what a reader would be told.
pub(super) struct Concealed {
    is_hidden: bool,
    id: CommandId,
}

impl Concealed {
    pub(super) fn of(session: &Session, head: &Head, id: CommandId) -> Self {
        Self {
            is_hidden: !session.principal.prefix.sees_entries_of(&head.scope),
            id,
        }
    }

    pub(super) fn over(&self, refusal: Refusal) -> Refusal {
        if self.is_hidden {
            Refusal::of(self.id)(not_found("such entry"))
        } else {
            refusal
        }
    }
}

/// Show an entry with its active version.
#[utoipa::path(get, path = "/v1/entry", tag = "entries", operation_id = "show_entry", params(EntryQuery),
    responses((status = 200, description = "The entry.", body = EntryView)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<EntryQuery>) -> Reply<EntryView> {
    let id: EntryId = read.query.id.parse()?;
    let found = app.reader().entry(id).await?;
    let seen = found.filter(|view| {
        read.session
            .principal
            .prefix
            .sees_entries_of(&view.head.scope)
    });
    let view = seen.ok_or_else(|| not_found("such entry"))?;
    Ok(Json(view.into()))
}

/// Show the line of supersessions that an entry stands in, and the entry's own versions.
#[utoipa::path(get, path = "/v1/history", tag = "entries", operation_id = "show_history", params(HistoryQuery),
    responses((status = 200, description = "Its history.", body = History)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn history(State(app): State<App>, read: Read<HistoryQuery>) -> Reply<History> {
    let id: EntryId = read.query.id.parse()?;
    let generation = app.generation();
    let line_after = Cursor::entry(read.query.line_after.as_deref(), generation)?;
    let versions_after = Cursor::seq(read.query.versions_after.as_deref(), generation)?;
    let scope = app.reader().entry_scope(id).await?;
    if !scope.is_some_and(|scope| read.session.principal.prefix.sees_entries_of(&scope)) {
        return Err(not_found("such entry").into());
    }
    let line = app.reader().line(id, line_after, HISTORY_ROWS).await?;
    let versions = app
        .reader()
        .versions(id, versions_after.get(), HISTORY_ROWS)
        .await?;
    let (Some(line), Some(versions)) = (line, versions) else {
        return Err(not_found("such entry").into());
    };
    Ok(Json(History {
        line: line.items.into_iter().map(Into::into).collect(),
        line_next: line.next.map(|id| Cursor::Entry(id).encode(generation)),
        versions: versions.items.into_iter().map(Into::into).collect(),
        versions_next: versions
            .next
            .map(|number| Cursor::Seq(Seq::new(number)).encode(generation)),
    }))
}

impl App {
    /// The head of an entry that a write names, whoever asks: whether they may write there is
    /// decided, and a denial noted, where the entry lives.
    pub(super) async fn head(&self, id: &str) -> Result<Head, Error> {
        let id: EntryId = id.parse()?;
        let view = self.reader().entry(id).await?;
        view.map(|view| view.head)
            .ok_or_else(|| not_found("such entry"))
    }
}
