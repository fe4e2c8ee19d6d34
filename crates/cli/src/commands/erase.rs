//! `erase`

use sillok_server::api::{ContentErased, EraseContent};

use crate::args::Erase;
use crate::failure::Failure;
use crate::output::Style;
use crate::session::Session;

/// Carries out `erase`.
///
/// # Errors
/// [`Failure`]
pub async fn erase(session: &Session, erase: Erase) -> Result<(), Failure> {
    let body = EraseContent {
        scope: erase.scope.to_string(),
        records: erase.record,
        entries: erase.entry.iter().map(ToString::to_string).collect(),
        offers: erase.offer.iter().map(ToString::to_string).collect(),
        reason: erase.reason,
    };
    let done = session.client.erase(&body).await?;
    session.output.show(&done, |style| describe(style, &done))
}

fn describe(style: Style, done: &ContentErased) -> String {
    let mut lines = vec![format!(
        "erased in {}: {} events lost their content",
        style.name(done.scope.as_str()),
        done.events
    )];
    if done.known > 0 {
        lines.push(format!("{} had been erased before", done.known));
    }
    let gone = done.entries.iter();
    lines.extend(gone.map(|id| format!("{id}: nothing is left of it")));
    let resting = done.resting.iter();
    lines.extend(resting.map(|id| format!("{id}: rests on what was erased, and may say it")));
    let offers = done.offers.iter();
    lines.extend(
        offers.map(|id| format!("review {id}: offers it to the organisation, and holds it")),
    );
    lines.push("backups that were taken before hold it still".to_owned());
    lines.join("\n")
}
