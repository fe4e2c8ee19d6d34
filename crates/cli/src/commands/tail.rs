//! `tail`

use sillok_server::api::EventView;

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
) -> Result<(), Failure> {
    let scope = session.scope(within)?;
    let output = session.output;
    let tail = session.client.tail(&scope, cursor, |item| {
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
