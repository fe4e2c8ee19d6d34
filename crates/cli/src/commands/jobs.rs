//! `jobs`

use sillok_server::api::{DropPromotion, JobQuery, RetryPromotion, WaitingPromotion};

use crate::args::{JobsCommand, JobsList};
use crate::failure::Failure;
use crate::output::{Style, one_line, table, time};
use crate::session::Session;

/// Characters of an error in a listing.
const ERROR_CHARS_MAX: usize = 60;

/// Carries out `jobs`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: JobsCommand) -> Result<(), Failure> {
    match command {
        JobsCommand::List(list_of) => list(session, list_of).await,
        JobsCommand::Retry {
            scope,
            verification,
        } => {
            let asked = RetryPromotion {
                scope: scope.to_string(),
                verification: verification.to_string(),
            };
            let promotion = session.client.retry_promotion(&asked).await?;
            session.output.show(&promotion, |style| {
                super::verify::describe_promotion(style, &promotion).join("\n")
            })
        }
        JobsCommand::Drop {
            scope,
            verification,
            reason,
        } => {
            let dropped = DropPromotion {
                scope: scope.to_string(),
                verification: verification.to_string(),
                reason,
            };
            let changed = session.client.drop_promotion(&dropped).await?;
            session.output.show(&changed, |style| {
                format!(
                    "{verification} is dropped; {} is {}",
                    style.name(changed.scope.as_str()),
                    changed.status.as_str()
                )
            })
        }
    }
}

async fn list(session: &Session, list: JobsList) -> Result<(), Failure> {
    let query = JobQuery {
        scope: list.scope.to_string(),
        halted: list.halted.then_some(true),
        after: list.after,
        limit: Some(list.paging.limit),
    };
    let page = session.client.jobs(&query).await?;
    session.output.show(&page, |style| {
        let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
        let columns = [
            "TASK",
            "VERIFICATION",
            "STATE",
            "ATTEMPTS",
            "NEXT",
            "LAST ERROR",
        ];
        let mut text = table(style, &columns, &rows);
        if let Some(next) = &page.next {
            text += &more(style, next);
        }
        text
    })
}

fn more(style: Style, next: &str) -> String {
    style.dim(&format!("\n… and more: --after {next}"))
}

fn row(job: &WaitingPromotion) -> Vec<String> {
    let error = job.last_error.as_ref().map_or_else(String::new, |error| {
        one_line(
            &format!("{}: {}", error.code, error.message),
            ERROR_CHARS_MAX,
        )
    });
    vec![
        job.source.to_string(),
        job.verification.to_string(),
        if job.halted { "halted" } else { "waiting" }.to_owned(),
        format!("{} ({} count)", job.attempts, job.failures),
        job.next_at.map_or_else(|| "-".to_owned(), time),
        error,
    ]
}
