//! `report_outcome`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sillok_core::error::ErrorCode;

use super::forms::{Commit, Source};
use crate::api::Api;
use crate::call::{Call, command};
use crate::refusal::Refusal;

/// How something ended. Exactly one of `memory` and `verification` is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The task.
    task: String,
    /// What a memory was to the task. Its last word counts.
    #[serde(default)]
    memory: Option<Used>,
    /// How the task was verified. An agent may not say this of itself: it calls end_task.
    #[serde(default)]
    verification: Option<Verified>,
    /// A UUID of version 7. Name the same one when you send the very same call again.
    #[serde(default)]
    command_id: Option<String>,
}

/// A memory that was used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Used {
    /// The memory.
    entry: String,
    /// helped; wrong: it is not so; stale: it was so once.
    outcome: Worth,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Worth {
    Helped,
    Wrong,
    Stale,
}

/// A verification.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Verified {
    /// How it ended.
    outcome: Ended,
    /// Where that comes from; the tests when absent.
    #[serde(default)]
    source: Option<Origin>,
    /// The run, such as a CI job's id.
    run: String,
    /// What it rests on.
    #[serde(default)]
    #[schemars(length(max = 64))]
    sources: Vec<Source>,
    /// The commit that was verified.
    #[serde(default)]
    commit: Option<Commit>,
    /// What went wrong, on failure.
    #[serde(default)]
    error: Option<String>,
    /// What was tried, on failure: others are warned of it.
    #[serde(default)]
    approach: Option<String>,
    /// The files that it touched.
    #[serde(default)]
    #[schemars(length(max = 64))]
    files: Vec<String>,
    /// The symbols that it touched.
    #[serde(default)]
    #[schemars(length(max = 64))]
    symbols: Vec<String>,
    /// Where the knowledge goes: a scope above the task; its project when absent.
    #[serde(default)]
    target: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Ended {
    Passed,
    Failed,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Origin {
    TestsPassed,
    TestsFailed,
    PrMerged,
    HumanApproved,
    RepeatedSuccess,
}

/// It is counted, or recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// What all tasks say of the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Counted>,
    /// The verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Recorded>,
    command_id: String,
}

/// What all tasks say of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Counted {
    entry: String,
    status: String,
    helped: u64,
    wrong: u64,
    stale: u64,
    /// The question for a person that this raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<String>,
}

/// A verification that is recorded.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Recorded {
    id: String,
    /// Where the knowledge goes.
    target: String,
    /// allow, warn or block: what follows from the error, if one was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// Why: which pattern of errors it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The fingerprint of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How often the task has met it.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// What you are to be told, in the words of this system.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
}

#[derive(Deserialize)]
struct Reported {
    entry: String,
    status: String,
    usage: Usage,
    #[serde(default)]
    review: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    helped: u64,
    wrong: u64,
    stale: u64,
}

#[derive(Deserialize)]
struct Told {
    verification: String,
    target: String,
    #[serde(default)]
    judged: Option<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    verdict: String,
    reason: String,
    error: String,
    count: u32,
    #[serde(default)]
    order: Option<String>,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let id = command(input.command_id.as_deref())?;
    let (memory, verification) = match (input.memory, input.verification) {
        (Some(used), None) => {
            let body = json!({ "task": input.task, "entry": used.entry, "outcome": used.outcome });
            let reported: Reported = call.write("/v1/reuse", &body, id).await?;
            (Some(reported.into()), None)
        }
        (None, Some(verified)) => {
            let body = verification(input.task, verified);
            let told = call.write::<Told>("/v1/verifications", &body, id).await;
            (None, Some(told.map_err(hinted)?.into()))
        }
        _ => {
            let why = "exactly one of 'memory' and 'verification' is given";
            return Err(Refusal::of_arguments(ErrorCode::InvalidRequest, why));
        }
    };
    Ok(Output {
        memory,
        verification,
        command_id: id.to_string(),
    })
}

fn verification(task: String, said: Verified) -> Value {
    let usual = match said.outcome {
        Ended::Passed => Origin::TestsPassed,
        Ended::Failed => Origin::TestsFailed,
    };
    let mut body = json!({
        "scope": task, "outcome": said.outcome, "source": said.source.unwrap_or(usual), "run": said.run,
        "citations": said.sources, "files": said.files, "symbols": said.symbols,
    });
    let optional = [
        ("commit", said.commit.map(|commit| json!(commit))),
        ("error", said.error.map(Value::from)),
        ("approach", said.approach.map(Value::from)),
        ("target", said.target.map(Value::from)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

fn hinted(refusal: Refusal) -> Refusal {
    if refusal.code == ErrorCode::Forbidden {
        return refusal.then("An agent does not verify itself: call end_task, and the project's verification is run.");
    }
    refusal
}

impl From<Reported> for Counted {
    fn from(reported: Reported) -> Self {
        Self {
            entry: reported.entry,
            status: reported.status,
            helped: reported.usage.helped,
            wrong: reported.usage.wrong,
            stale: reported.usage.stale,
            review: reported.review,
        }
    }
}

impl From<Told> for Recorded {
    fn from(told: Told) -> Self {
        let recorded = Self {
            id: told.verification,
            target: told.target,
            verdict: None,
            reason: None,
            error: None,
            count: None,
            order: None,
        };
        let Some(judged) = told.judged else {
            return recorded;
        };
        Self {
            verdict: Some(judged.verdict),
            reason: Some(judged.reason),
            error: Some(judged.error),
            count: Some(judged.count),
            order: judged.order,
            ..recorded
        }
    }
}
