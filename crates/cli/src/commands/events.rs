//! `events` and `tail`

use sillok_core::event::EventKind;
use sillok_server::api::{EventView, EventsQuery, TailQuery};

use crate::args::Within;
use crate::failure::Failure;
use crate::output::{Style, one_line, time};
use crate::session::Session;

/// Events that are asked for at once.
const PAGE_ROWS: usize = 1_000;

/// Carries out `events`: one event a line, of all pages.
///
/// # Errors
/// [`Failure`]
pub async fn list(
    session: &Session,
    within: &Within,
    after: u64,
    kinds: &[EventKind],
) -> Result<(), Failure> {
    let mut query = EventsQuery {
        scope: session.scope(within)?.to_string(),
        after: (after > 0).then(|| after.to_string()),
        limit: Some(PAGE_ROWS),
        kind: named(kinds),
    };
    loop {
        let page = session.client.events(&query).await?;
        for event in &page.items {
            session.output.item(event, |style| line(style, event))?;
        }
        if page.next.is_none() {
            return Ok(());
        }
        query.after = page.next;
    }
}

/// Carries out `tail`: one event a line, until Ctrl-C.
///
/// # Errors
/// [`Failure`]
pub async fn tail(
    session: &Session,
    within: &Within,
    cursor: Option<String>,
    kinds: &[EventKind],
) -> Result<(), Failure> {
    let query = TailQuery {
        scope: session.scope(within)?.to_string(),
        cursor,
        kind: named(kinds),
    };
    let output = session.output;
    let tail = session.client.tail(query, |item| {
        output.item(&item, |style| line(style, &item.event))
    });
    tokio::select! {
        ended = tail => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// The kinds as they are asked for; none are all.
fn named(kinds: &[EventKind]) -> Option<String> {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn line(style: Style, event: &EventView) -> String {
    let body = &event.body;
    let text = ["content", "title", "reason", "outcome", "rule"]
        .iter()
        .find_map(|field| body.get(field)?.as_str());
    format!(
        "{} {} {} {} {}",
        style.dim(&time(event.time)),
        style.name(&format!("{}#{}", event.scope, event.seq)),
        style.bold(event.kind.as_str()),
        style.dim(&format!("{}:{}", event.actor.kind, event.actor.id)),
        one_line(text.unwrap_or_default(), 100),
    )
}
