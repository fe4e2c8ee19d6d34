//! `tail`

use sillok_core::event::EventKind;
use sillok_server::api::{EventView, TailQuery};

use crate::args::Within;
use crate::failure::Failure;
use crate::output::{Style, one_line, time};
use crate::session::Session;

/// Carries out `tail`: one event a line, until Ctrl-C.
///
/// # Errors
/// [`Failure`]
pub async fn run(
    session: &Session,
    within: &Within,
    cursor: Option<String>,
    kinds: &[EventKind],
) -> Result<(), Failure> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let query = TailQuery {
        scope: session.scope(within)?.to_string(),
        cursor,
        kind: (!kinds.is_empty()).then(|| kinds.join(",")),
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
