//! `maintain`

use std::time::Duration;

use sillok_server::api::{self, Maintained};

use crate::args::Maintain;
use crate::failure::Failure;
use crate::output::{Style, table};
use crate::progress::{self, Counted};
use crate::session::Session;

/// How often the server is asked how far it is.
const MOMENTS: Duration = Duration::from_millis(500);

/// Carries out `maintain`.
///
/// # Errors
/// [`Failure::Verdict`] when so much of a scope, or of everything, is due that somebody has to say so, and when something
/// could not be done.
pub async fn run(session: &Session, args: Maintain) -> Result<(), Failure> {
    let asked = api::Maintain {
        dry_run: args.dry_run,
        only: args.only,
        force: args.force,
        scope: args.scope.map(|scope| scope.to_string()),
    };
    let asking = session.client.maintain(&asked);
    let done = match session.output.json {
        true => asking.await?,
        false => progress::counted(MOMENTS, || look(session), asking).await?,
    };
    session.output.show(&done, |style| describe(style, &done))?;
    question(&done).map_or(Ok(()), |what| Err(Failure::Verdict(what)))?;
    undone(&done).map_or(Ok(()), |what| Err(Failure::Verdict(what)))
}

/// What somebody has to say before it is done.
fn question(done: &Maintained) -> Option<String> {
    let asks = done.scopes.iter().filter(|scope| scope.asks);
    let asks: Vec<&str> = asks.map(|scope| scope.scope.as_str()).collect();
    let (what, of_it) = match (done.asks, asks.as_slice()) {
        (true, _) => ("everything".to_owned(), ""),
        (false, []) => return None,
        (false, scopes) => (scopes.join(", "), " of it"),
    };
    Some(format!(
        "most of {what} is due: nothing{of_it} was taken out or offered, and no answer was forgotten; if the clock is right, give --force"
    ))
}

/// How far the server is, and with what.
async fn look(session: &Session) -> Option<Counted> {
    // The answer is waited for all the same.
    let status = session.client.status().await.ok()?;
    let run = status.maintenance_under_way?;
    Some(match run.planned {
        0 => Counted {
            what: "entries looked at",
            position: run.looked_at,
            length: run.entries,
        },
        planned => Counted {
            what: "entries taken out",
            position: run.retired,
            length: planned,
        },
    })
}

/// What the run could not do.
fn undone(done: &Maintained) -> Option<String> {
    let refused = done.scopes.iter().filter_map(|scope| {
        let error = scope.error.as_ref()?;
        Some(format!("{}: {error}", scope.scope))
    });
    let mut left: Vec<String> = refused.collect();
    if done.not_offered > 0 {
        left.push(format!("{} skills were not offered", done.not_offered));
    }
    if done.unreadable > 0 {
        let damaged = done.unreadable;
        left.push(format!(
            "{damaged} entries or slots cannot be read: run sillok audit verify"
        ));
    }
    if let Some(error) = &done.index_error {
        left.push(format!("the vector tables were not compacted: {error}"));
    }
    if let Some(error) = &done.checkpoint_error {
        left.push(format!("no checkpoint was signed: {error}"));
    }
    (!left.is_empty()).then(|| left.join("; "))
}

fn describe(style: Style, done: &Maintained) -> String {
    let rows: Vec<Vec<String>> = done
        .scopes
        .iter()
        .map(|scope| {
            vec![
                scope.scope.to_string(),
                scope.live.to_string(),
                scope.aged.to_string(),
                scope.pruned.to_string(),
                scope.kept.to_string(),
                scope.retired.to_string(),
                scope.left.to_string(),
            ]
        })
        .collect();
    let columns = [
        "SCOPE",
        "LIVE",
        "AGED",
        "PRUNED",
        "KEPT",
        "TAKEN OUT",
        "LEFT",
    ];
    let mut lines = vec![format!("{} entries looked at", done.looked_at)];
    if !rows.is_empty() {
        lines.push(table(style, &columns, &rows));
    }
    let offered = if done.dry_run { "to offer" } else { "offered" };
    lines.push(format!(
        "{} skills {offered} to their organisations",
        done.offered
    ));
    if done.halted > 0 {
        lines.push(format!(
            "{} promotions have failed as often as they may: see sillok jobs list --halted",
            done.halted
        ));
    }
    if done.forgotten > 0 {
        let forgotten = if done.dry_run {
            "to forget"
        } else {
            "forgotten"
        };
        lines.push(format!(
            "{} answers to old commands {forgotten}",
            done.forgotten
        ));
    }
    if done.optimised {
        lines.push("the vector tables are compacted and indexed".to_owned());
    }
    if let Some(file) = &done.checkpoint {
        let signed = if done.dry_run { "to sign" } else { "signed" };
        lines.push(format!("checkpoint {signed}: {file}"));
    }
    if done.dry_run {
        lines.push(
            style
                .dim("nothing was done: this was a dry run")
                .to_string(),
        );
    }
    lines.join("\n")
}
