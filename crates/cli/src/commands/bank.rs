//! `trajectory` and `pattern`, and the warnings of a brief.

use sillok_core::bank::TaskKind;
use sillok_server::api::{Pattern, PatternsFound, PatternsQuery, StoreTrajectory, Warning};

use crate::args::{PatternCommand, PatternSearch, TrajectoryCommand, TrajectoryStore};
use crate::failure::Failure;
use crate::output::{Style, one_line, time};
use crate::session::Session;

/// Characters of an approach or a lesson on one line.
const LINE_CHARS_MAX: usize = 100;

/// Carries out `trajectory`.
///
/// # Errors
/// [`Failure`]
pub async fn trajectory(session: &Session, command: TrajectoryCommand) -> Result<(), Failure> {
    let TrajectoryCommand::Store(args) = command;
    store(session, args).await
}

async fn store(session: &Session, args: TrajectoryStore) -> Result<(), Failure> {
    let body = StoreTrajectory {
        scope: args.scope.to_string(),
        kind: args.kind.to_string(),
        approach: args.approach,
        files: args.touched.files,
        symbols: args.touched.symbols,
        ended: args.ended,
        reward: args.reward.get(),
        lesson: args.lesson,
        steps: args.steps.into_iter().map(|step| step.0).collect(),
    };
    let stored = session.client.store_trajectory(&body).await?;
    session.output.show(&stored, |style| {
        format!("stored {}", style.name(&stored.trajectory.to_string()))
    })
}

/// Carries out `pattern`.
///
/// # Errors
/// [`Failure`]
pub async fn pattern(session: &Session, command: PatternCommand) -> Result<(), Failure> {
    let PatternCommand::Search(args) = command;
    search(session, args).await
}

async fn search(session: &Session, args: PatternSearch) -> Result<(), Failure> {
    let query = PatternsQuery {
        scope: session.scope(&args.within)?.to_string(),
        query: args.query,
        kind: args.kind.map(|kind| kind.to_string()),
        failures_only: args.failures_only.then_some(true),
        limit: args.limit,
    };
    let found = session.client.search_patterns(&query).await?;
    session
        .output
        .show(&found, |style| described(style, &found))
}

/// Patterns that were found, the best first.
fn described(style: Style, found: &PatternsFound) -> String {
    if found.patterns.is_empty() {
        return "no pattern of the project answers that".to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    for pattern in &found.patterns {
        lines.extend(one(style, pattern));
    }
    if found.cut {
        lines.push(style.dim("… and more is known in the project than is told here"));
    }
    lines.join("\n")
}

fn one(style: Style, pattern: &Pattern) -> Vec<String> {
    let tried = pattern.succeeded.saturating_add(pattern.failed);
    let how = format!(
        "{} of {tried} succeeded, weight {:.2}, last used {}, score {:.3}",
        pattern.succeeded,
        pattern.weight,
        time(pattern.last_used),
        pattern.score
    );
    let kind = pattern.kind.as_ref();
    let mut lines = vec![
        format!(
            "{}  {}",
            style.name(kind.map_or("-", TaskKind::as_str)),
            one_line(&pattern.approach.text, LINE_CHARS_MAX)
        ),
        format!("  {}", style.dim(&how)),
    ];
    for cited in &pattern.cited {
        let lesson = one_line(&cited.lesson, LINE_CHARS_MAX);
        let reward = cited.reward.map(|reward| format!(" ({reward:+.2})"));
        lines.push(format!(
            "  {}{} in {}  {lesson}",
            cited.ended.as_str(),
            reward.unwrap_or_default(),
            cited.record
        ));
    }
    lines
}

/// What a brief warns of, a few lines each, and that there is more; nothing where it warns of nothing.
pub(super) fn warnings(style: Style, warnings: &[Warning], cut: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if warnings.is_empty() && !cut {
        return lines;
    }
    lines.push(String::new());
    lines.push(style.bold("warnings: what failed in tasks like this one"));
    for warning in warnings {
        lines.push(one_line(&warning.approach.text, LINE_CHARS_MAX));
        let times = format!(
            "   failed {} times, succeeded {} times, last {}",
            warning.failed,
            warning.succeeded,
            time(warning.last)
        );
        lines.push(style.dim(&times));
        let reasons = warning.reasons.iter();
        lines.extend(reasons.map(|reason| format!("   {}", one_line(reason, LINE_CHARS_MAX))));
        let cited = warning.failures.iter().map(|failure| &failure.record);
        lines.extend(cited.map(|record| style.dim(&format!("   see {record}"))));
    }
    if cut {
        lines.push(style.dim("… and more failed in the project than is told here"));
    }
    lines
}
