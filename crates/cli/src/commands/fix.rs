//! `fix`

use sillok_core::circular::{Likeness, Verdict};
use sillok_server::api::{CheckFix, FailedApproach, FixChecked, ListQuery, Tried};

use super::decision::{pages, with_more};
use crate::args::{FixCheck, FixCommand, FixFailed};
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

/// Characters of an approach or a reason on one line.
const LINE_CHARS_MAX: usize = 100;

/// Carries out `fix`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: FixCommand) -> Result<(), Failure> {
    match command {
        FixCommand::Check(args) => check(session, args).await,
        FixCommand::Failed(args) => failed(session, &args).await,
    }
}

async fn check(session: &Session, args: FixCheck) -> Result<(), Failure> {
    let body = CheckFix {
        scope: args.scope.to_string(),
        approach: args.approach,
        files: args.touched.files,
        symbols: args.touched.symbols,
        language: args.language.map(|language| language.to_string()),
    };
    let checked = session.client.check_fix(&body).await?;
    session
        .output
        .show(&checked, |style| described(style, &checked))?;
    match checked.verdict {
        Verdict::Allow | Verdict::Warn => Ok(()),
        Verdict::Block | Verdict::Reject => {
            let verdict = checked.verdict.as_str();
            Err(Failure::Verdict(format!("the approach: {verdict}")))
        }
    }
}

/// A verdict, and what it rests on.
fn described(style: Style, checked: &FixChecked) -> String {
    let mut lines = vec![style.name(checked.verdict.as_str())];
    lines.extend(checked.order.clone());
    lines.extend(checked.suggestion.as_deref().map(harmless));
    if let Some(reason) = &checked.stuck {
        lines.push(format!("the task is stuck: {}", harmless(reason)));
    }
    for tried in &checked.tried {
        lines.extend(history(style, tried));
    }
    if checked.cut {
        lines.push(style.dim("… and more failed in the project than is told here"));
    }
    lines.join("\n")
}

/// What was tried in a task, and how it failed.
fn history(style: Style, tried: &Tried) -> Vec<String> {
    let what = match tried.likeness {
        Likeness::One => "tried",
        Likeness::Near => "nearly tried",
    };
    let times = match tried.attempts {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let mut lines = vec![format!(
        "{what} {times} in {}, last {}: {}",
        tried.task,
        time(tried.last),
        one_line(&tried.approach.text, LINE_CHARS_MAX)
    )];
    let reasons = tried.reasons.iter().filter(|reason| !reason.is_empty());
    lines.extend(reasons.map(|reason| format!("  {}", one_line(reason, LINE_CHARS_MAX))));
    if tried.cut {
        lines.push(style.dim("  … and more of it is known"));
    }
    lines
}

async fn failed(session: &Session, args: &FixFailed) -> Result<(), Failure> {
    let scope = args.scope.to_string();
    let found = pages(args.paging.limit, async |after, limit| {
        let query = ListQuery {
            scope: scope.clone(),
            after,
            limit,
        };
        session.client.failed_approaches(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, listed(style, &found.items), &found)
    })
}

/// Approaches that failed, a line each.
fn listed(style: Style, failed: &[FailedApproach]) -> String {
    let row = |failed: &FailedApproach| {
        vec![
            failed.seq.to_string(),
            time(failed.at),
            one_line(&failed.approach.text, LINE_CHARS_MAX),
            one_line(&failed.reason, LINE_CHARS_MAX),
        ]
    };
    let rows: Vec<Vec<String>> = failed.iter().map(row).collect();
    table(style, &["seq", "when", "approach", "reason"], &rows)
}
