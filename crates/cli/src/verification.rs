//! Recording what a command's run says about a task, and waiting for what that publishes.
//!
//! Owns the order: the evidence first, then the verdict that cites it, then the promotion. It must
//! not know how the command was run.

use serde::Serialize;
use serde_json::json;
use serde_json::value::to_raw_value;
use sillok_core::id::{CommandId, RecordId, Seq, VerificationId};
use sillok_core::limits::ERROR_TEXT_BYTES_MAX;
use sillok_core::scope::Scope;
use sillok_core::staging::Trigger;
use sillok_core::verification::{Outcome, VerificationSource};
use sillok_server::api::{
    AppendSnapshot, Bound, Citation, Commit, ErrorJudged, Promotion, RecordVerification,
    VerificationRecorded,
};

use crate::args::Touched;
use crate::client::{Client, new_command_id};
use crate::execution::Execution;
use crate::failure::Failure;
use crate::here::{self, Here};

/// What a run is recorded as.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// The task.
    pub task: &'a Scope,
    /// Name of the run.
    pub run: String,
    /// What the work tree was at that it ran in.
    pub places: Places,
    /// The approach that was tried.
    pub approach: Option<String>,
    /// What it touches.
    pub touched: Touched,
    /// Where the knowledge goes; the task's project when none is named.
    pub target: Option<&'a Scope>,
}

/// What the records of a run are bound to: what the work tree was at, with the files that they name.
#[derive(Clone, Debug, Default)]
pub struct Places {
    snapshot: Option<Bound>,
    verification: Option<Bound>,
}

impl Places {
    /// Those of a run that took place here.
    pub async fn of(mut here: Here, ran: &Execution, approach: Option<&str>) -> Self {
        let (ran, approach) = (ran.clone(), approach.map(str::to_owned));
        let read = tokio::task::spawn_blocking(move || {
            let error = (!ran.passed).then(|| error_text(&ran));
            let tried = approach.as_deref().filter(|_| !ran.passed);
            Self {
                snapshot: here.bound(&ran.output),
                verification: here.bound_of_verification(error.as_deref(), tried),
            }
        });
        // A panic in there is one of ours: the run is bound to nothing then.
        read.await.unwrap_or_default()
    }
}

/// What was recorded, and what it published.
#[derive(Debug, Serialize)]
pub struct Recorded {
    /// The task.
    pub task: Scope,
    /// How it ended.
    pub outcome: Outcome,
    /// The command.
    pub command: String,
    /// Its exit status; none when a signal ended it.
    pub exit_status: Option<i32>,
    /// How it ended, for a person.
    pub ending: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Name of the run.
    pub run: String,
    /// The commit that was verified; none when there is no repository.
    pub commit: Option<Commit>,
    /// The snapshot of the output.
    pub snapshot: RecordId,
    /// The verification.
    pub verification: VerificationId,
    /// It speaks for the records after this position...
    pub from: Seq,
    /// ...up to and including this one.
    pub through: Seq,
    /// Where the knowledge goes.
    pub target: Scope,
    /// What follows from the error of one that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<ErrorJudged>,
    /// What became of its promotion.
    pub promotion: Promotion,
}

/// The ids of the commands that record a run: under the same ones it is recorded once, however often that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Of the snapshot.
    pub snapshot: CommandId,
    /// Of the verification that cites it.
    pub verification: CommandId,
}

impl Commands {
    /// Ids that nobody used before.
    #[must_use]
    pub fn unused() -> Self {
        Self {
            snapshot: new_command_id(),
            verification: new_command_id(),
        }
    }
}

/// What is recorded, before anything is published.
#[derive(Debug)]
pub struct Written {
    /// How it ended.
    pub outcome: Outcome,
    /// The commit that was verified; none when there is no repository.
    pub commit: Option<Commit>,
    /// The snapshot of the output.
    pub snapshot: RecordId,
    /// The verification.
    pub verification: VerificationRecorded,
}

/// Records a run's outcome by its exit status, and waits for its promotion.
///
/// # Errors
/// [`Failure`] of the server.
pub async fn record(
    client: &Client,
    ran: &Execution,
    verdict: Verdict<'_>,
) -> Result<Recorded, Failure> {
    let written = write(client, ran, &verdict, Commands::unused()).await?;
    let recorded = written.verification;
    let promotion = client
        .promotion(verdict.task, recorded.verification)
        .await?;
    Ok(Recorded {
        task: verdict.task.clone(),
        outcome: written.outcome,
        command: ran.command.clone(),
        exit_status: ran.exit_status,
        ending: ran.ending.clone(),
        duration_ms: ran.duration_ms,
        run: verdict.run,
        commit: written.commit,
        snapshot: written.snapshot,
        verification: recorded.verification,
        from: recorded.from,
        through: recorded.through,
        target: recorded.target,
        judged: recorded.judged,
        promotion,
    })
}

/// Records a run's outcome by its exit status, under these commands.
///
/// # Errors
/// [`Failure`] of the server.
pub async fn write(
    client: &Client,
    ran: &Execution,
    verdict: &Verdict<'_>,
    commands: Commands,
) -> Result<Written, Failure> {
    let task = verdict.task;
    let snapshot = snapshot(client, ran, verdict, commands.snapshot).await?;
    let (outcome, source) = if ran.passed {
        (Outcome::Passed, VerificationSource::TestsPassed)
    } else {
        (Outcome::Failed, VerificationSource::TestsFailed)
    };
    let cited = Citation::TerminalSnapshot {
        id: snapshot.to_string(),
    };
    // What was run is recorded, also where a script has nothing to say of the approach.
    let says = |text: &String| !ran.passed && !text.trim().is_empty();
    let approach = verdict.approach.clone().filter(says);
    let touched = match approach {
        Some(_) => verdict.touched.clone(),
        None => Touched::default(),
    };
    let bound = verdict.places.verification.clone();
    let commit = bound.as_ref().and_then(here::commit);
    let body = RecordVerification {
        scope: task.to_string(),
        outcome,
        source,
        run: verdict.run.clone(),
        citations: vec![cited],
        commit: None,
        bound,
        error: (!ran.passed).then(|| error_text(ran)),
        approach,
        files: touched.files,
        symbols: touched.symbols,
        target: verdict.target.map(ToString::to_string),
    };
    let verification = client
        .record_verification_as(commands.verification, &body)
        .await?;
    Ok(Written {
        outcome,
        commit,
        snapshot,
        verification,
    })
}

async fn snapshot(
    client: &Client,
    ran: &Execution,
    verdict: &Verdict<'_>,
    command: CommandId,
) -> Result<RecordId, Failure> {
    let metadata = json!({
        "command": ran.command,
        "duration_ms": ran.duration_ms,
        "ending": ran.ending,
        "exit_status": ran.exit_status,
    });
    let body = AppendSnapshot {
        scope: verdict.task.to_string(),
        content: if ran.output.is_empty() {
            "(it printed nothing)".to_owned()
        } else {
            ran.output.clone()
        },
        trigger: if ran.passed {
            Trigger::Manual
        } else {
            Trigger::Error
        },
        metadata: Some(to_raw_value(&metadata).expect("plain data is JSON")),
        time: None,
        bound: verdict.places.snapshot.clone(),
    };
    let appended = client.append_snapshot_as(command, &body).await?;
    Ok(RecordId {
        scope: verdict.task.clone(),
        seq: appended.first,
    })
}

/// What went wrong: how the command ended, and the end of what it printed.
fn error_text(ran: &Execution) -> String {
    let head = format!("{} ended with {}\n", ran.command, ran.ending);
    let room = ERROR_TEXT_BYTES_MAX.saturating_sub(head.len());
    let start = ran
        .output
        .ceil_char_boundary(ran.output.len().saturating_sub(room));
    let text = head + &ran.output[start..];
    text[..text.floor_char_boundary(ERROR_TEXT_BYTES_MAX)].to_owned()
}

/// A name for a run that has none of its own.
#[must_use]
pub fn new_run_id() -> String {
    format!("local-{}", new_command_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_text_holds_the_end_of_the_output_within_its_limit() {
        let ran = |command: &str, output: String| Execution {
            command: command.to_owned(),
            exit_status: Some(1),
            ending: "exit status 1".to_owned(),
            passed: false,
            output,
            duration_ms: 1,
        };
        let text = error_text(&ran("sh t", "한".repeat(ERROR_TEXT_BYTES_MAX) + "end"));
        assert!(text.len() <= ERROR_TEXT_BYTES_MAX);
        assert!(text.starts_with("sh t ended with exit status 1\n") && text.ends_with("end"));
        assert!(
            error_text(&ran(&"x".repeat(ERROR_TEXT_BYTES_MAX), "o".into())).len()
                <= ERROR_TEXT_BYTES_MAX
        );
    }
}
