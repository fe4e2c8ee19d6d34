//! `verify`

use sillok_core::circular::ErrorReason;
use sillok_core::scope::Scope;
use sillok_core::verification::{Outcome, VerificationSource};
use sillok_server::api::{
    ErrorJudged, Promotion, PromotionSpent, PromotionState, RecordVerification, RetryPromotion,
    VerificationView,
};

use super::citation;
use crate::args::{Verify, VerifyCommand, VerifyRecord, VerifyRetry};
use crate::execution::{self, Echo};
use crate::failure::Failure;
use crate::here::Here;
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;
use crate::verification::{self, Places, Recorded, Verdict, new_run_id};

/// Characters of a run's name in a listing.
const RUN_CHARS_MAX: usize = 60;

/// Carries out `verify`.
///
/// # Errors
/// [`Failure::Verdict`] when the command that was run has failed.
pub async fn run(session: &Session, verify: Verify) -> Result<(), Failure> {
    match verify.command_given {
        Some(VerifyCommand::Record(record)) => return record_verdict(session, record).await,
        Some(VerifyCommand::List { scope }) => return list(session, &scope).await,
        Some(VerifyCommand::Retry(retry)) => return retry_promotion(session, retry).await,
        None => {}
    }
    let task = verify
        .scope
        .ok_or_else(|| Failure::Usage("--scope names the task".to_owned()))?;
    // A task that is not there is told before a long run, not after it.
    session.client.task(&task).await?;
    let here = std::env::current_dir().map_err(Failure::io("the current directory is gone"))?;
    let around = Here::looked(here.clone()).await;
    let ran = execution::run(&verify.command, &here, Echo::ToStderr).await?;
    let verdict = Verdict {
        task: &task,
        run: verify.run.unwrap_or_else(new_run_id),
        places: Places::of(around, &ran, verify.approach.as_deref()).await,
        approach: verify.approach,
        touched: verify.touched,
        target: verify.target.as_ref(),
    };
    let recorded = verification::record(&session.client, &ran, verdict).await?;
    session
        .output
        .show(&recorded, |style| describe(style, &recorded))?;
    match recorded.outcome {
        Outcome::Passed => published(&recorded.promotion),
        Outcome::Failed => Err(Failure::Verdict(format!(
            "{} ended with {}",
            recorded.command, recorded.ending
        ))),
    }
}

async fn list(session: &Session, task: &Scope) -> Result<(), Failure> {
    // What is no task has none recorded either, which is another answer.
    session.client.task(task).await?;
    let found = session.client.verifications(task).await?;
    session.output.show(&found, |style| {
        let rows: Vec<Vec<String>> = found.items.iter().map(row).collect();
        let columns = [
            "VERIFICATION",
            "RECORDED",
            "OUTCOME",
            "SOURCE",
            "BY",
            "TARGET",
            "RUN",
        ];
        table(style, &columns, &rows)
    })
}

fn row(verification: &VerificationView) -> Vec<String> {
    let outcome = match verification.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
    };
    let by = &verification.recorder;
    vec![
        verification.id.to_string(),
        time(verification.time),
        outcome.to_owned(),
        verification.source.to_string(),
        format!("{}:{}", by.kind, by.id),
        verification.target.to_string(),
        one_line(&verification.run, RUN_CHARS_MAX),
    ]
}

async fn retry_promotion(session: &Session, retry: VerifyRetry) -> Result<(), Failure> {
    let asked = RetryPromotion {
        scope: retry.scope.to_string(),
        verification: retry.verification.to_string(),
    };
    session.client.retry_promotion(&asked).await?;
    let promotion = session
        .client
        .promotion(&retry.scope, retry.verification)
        .await?;
    session.output.show(&promotion, |style| {
        describe_promotion(style, &promotion).join("\n")
    })?;
    published(&promotion)
}

/// A promotion that waits on the dead-letter list is no success: it can be retried. Nor is one that was taken back.
fn published(promotion: &Promotion) -> Result<(), Failure> {
    if promotion.undone {
        return Err(Failure::Verdict("the promotion was taken back".to_owned()));
    }
    if promotion.state == PromotionState::Done {
        return Ok(());
    }
    let unsaid = match promotion.state {
        PromotionState::Dropped => "it was dropped",
        _ => "it is under way",
    };
    let why = promotion.last_error.as_deref().unwrap_or(unsaid);
    Err(Failure::Unpublished(why.to_owned()))
}

fn describe(style: Style, recorded: &Recorded) -> String {
    let outcome = match recorded.outcome {
        Outcome::Passed => style.good("passed"),
        Outcome::Failed => style.bad("failed"),
    };
    let commit = recorded.commit.as_ref().map_or_else(
        || "no repository".to_owned(),
        |commit| format!("commit {} of {}", commit.hash, commit.repository),
    );
    let mut lines = vec![
        format!(
            "{outcome}: {} ended with {} after {} ms",
            recorded.command, recorded.ending, recorded.duration_ms
        ),
        format!(
            "verification {} of records {} to {}, at {commit}",
            recorded.verification,
            recorded.from.next(),
            recorded.through
        ),
    ];
    let output = style.name(&recorded.snapshot.to_string());
    lines.push(format!("its output is {output}"));
    lines.extend(recorded.judged.as_ref().and_then(describe_judged));
    lines.extend(describe_promotion(style, &recorded.promotion));
    lines.join("\n")
}

/// What follows from an error that came up before, or in a task that is stuck, for a person; none of a new one.
fn describe_judged(judged: &ErrorJudged) -> Option<String> {
    if judged.reason == ErrorReason::New {
        return None;
    }
    let (verdict, reason) = (judged.verdict.as_str(), judged.reason.as_str());
    let times = match judged.count {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let order = judged.order.as_deref().unwrap_or_default();
    let told = format!(
        "{verdict}: the error came up {times} since a verification passed ({reason}). {order}"
    );
    Some(told.trim_end().to_owned())
}

/// What a promotion published, line by line, for a person.
#[must_use]
pub fn describe_promotion(style: Style, promotion: &Promotion) -> Vec<String> {
    if promotion.state == PromotionState::Dropped {
        return vec![format!("{}: it was dropped", style.bad("not published"))];
    }
    if promotion.undone {
        return vec![format!(
            "{}: what it published has left recall",
            style.bad("taken back")
        )];
    }
    let Some(report) = promotion
        .report
        .as_ref()
        .filter(|_| promotion.state == PromotionState::Done)
    else {
        let why = promotion.last_error.as_deref().unwrap_or("it is under way");
        return vec![format!(
            "{} after {} attempts: {why}",
            style.bad("not published"),
            promotion.attempts
        )];
    };
    let mut lines = vec![format!(
        "published {} entries, merged {}, linked to {} earlier episodes",
        report.created,
        report.merged,
        report.linked_episodes.len()
    )];
    lines.push(format!(
        "the episode is {}",
        style.name(&report.episode.to_string())
    ));
    lines.extend(promotion.spent.as_ref().map(describe_spent));
    lines
}

/// What drew a promotion, and what that used, for a person.
fn describe_spent(spent: &PromotionSpent) -> String {
    let mut line = format!("drawn by {}", harmless(&spent.cognifier));
    let tokens = [
        (spent.prompt_tokens, "in"),
        (spent.completion_tokens, "out"),
    ];
    for (count, way) in tokens {
        line += &count.map_or_else(String::new, |count| format!(", {count} tokens {way}"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a sum for a person")]
    let dollars = |micro: u64| format!(", ${:.6}", micro as f64 / 1_000_000.0);
    line + &spent.micro_dollars.map_or_else(String::new, dollars)
}

async fn record_verdict(session: &Session, record: VerifyRecord) -> Result<(), Failure> {
    let failed = record.source == VerificationSource::TestsFailed;
    let (error, approach) = (record.error.as_deref(), record.approach.as_deref());
    let bound = Here::look(".".as_ref()).bound_of_verification(error, approach);
    let body = RecordVerification {
        scope: record.scope.to_string(),
        outcome: if failed {
            Outcome::Failed
        } else {
            Outcome::Passed
        },
        source: record.source,
        run: record.run,
        citations: citation::resolve(&session.client, &record.cite).await?,
        commit: None,
        bound,
        error: record.error,
        approach: record.approach,
        files: record.touched.files,
        symbols: record.touched.symbols,
        target: record.target.map(|scope| scope.to_string()),
    };
    let recorded = session.client.record_verification(&body).await?;
    if record.no_wait {
        return session.output.show(&recorded, |style| {
            style.name(&recorded.verification.to_string())
        });
    }
    let promotion = session
        .client
        .promotion(&record.scope, recorded.verification)
        .await?;
    let both = serde_json::json!({ "verification": recorded, "promotion": promotion });
    session.output.show(&both, |style| {
        let head = format!(
            "recorded as {}",
            style.name(&recorded.verification.to_string())
        );
        let mut lines = vec![head];
        lines.extend(recorded.judged.as_ref().and_then(describe_judged));
        lines.extend(describe_promotion(style, &promotion));
        lines.join("\n")
    })?;
    published(&promotion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promotion_that_was_taken_back_is_not_told_as_published() {
        let mut promotion = Promotion {
            state: PromotionState::Done,
            attempts: 0,
            last_error: None,
            report: None,
            spent: None,
            undone: false,
        };
        assert!(published(&promotion).is_ok());
        promotion.undone = true;
        assert!(matches!(published(&promotion), Err(Failure::Verdict(_))));
        let told = describe_promotion(Style::default(), &promotion).join("\n");
        assert_eq!(told, "taken back: what it published has left recall");
    }
}
