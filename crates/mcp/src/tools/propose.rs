//! `propose_memory`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sillok_core::error::ErrorCode;

use super::forms::{Claim, Commit, Source, Table, Verification};
use crate::api::Api;
use crate::call::{Call, command};
use crate::refusal::Refusal;

/// What was learnt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Where it holds: your task or its worktree. What is verified is promoted to the project by itself.
    scope: String,
    /// One fact or lesson, understandable without the conversation.
    content: String,
    /// What it is; observations when absent.
    #[serde(default)]
    table: Option<Table>,
    /// What it rests on. Without a source it stays a hypothesis for ever.
    #[serde(default)]
    #[schemars(length(max = 64))]
    sources: Vec<Source>,
    /// What it says under a key.
    #[serde(default)]
    claim: Option<Claim>,
    /// The commit at which it is true.
    #[serde(default)]
    commit: Option<Commit>,
    /// Whether it tells of something that failed.
    #[serde(default)]
    failure: bool,
    /// A way of doing something, in the table `skills`.
    #[serde(default)]
    skill: Option<Skill>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// The verification that it rests on, where the scope needs one.
    #[serde(default)]
    verification: Option<Verification>,
    /// A UUID of version 7. Name the same one when you send the very same call again.
    #[serde(default)]
    command_id: Option<String>,
}

/// A way of doing something.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Skill {
    name: String,
    /// What it is for.
    description: String,
    /// How it is done.
    code: String,
}

/// It is there.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    entry: String,
    version: u64,
    /// hypothesis until something verifies it.
    status: String,
    /// created, merged (into one that says the same, which `entry` names) or contradicts.
    became: String,
    /// The memory that it contradicts: a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    contradicts: Option<String>,
    command_id: String,
}

#[derive(Deserialize)]
struct Written {
    entry: String,
    version: u64,
    status: String,
    disposition: Disposition,
}

#[derive(Deserialize)]
struct Disposition {
    kind: String,
    #[serde(default)]
    other: Option<String>,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let id = command(input.command_id.as_deref())?;
    let body = body(input);
    let written: Written = call.write("/v1/entries", &body, id).await.map_err(hinted)?;
    Ok(Output {
        entry: written.entry,
        version: written.version,
        status: written.status,
        became: written.disposition.kind,
        contradicts: written.disposition.other,
        command_id: id.to_string(),
    })
}

/// The API's form. What is not said is left out, so that its own defaults hold.
fn body(input: Input) -> Value {
    let mut body = json!({
        "scope": input.scope, "content": input.content, "citations": input.sources, "failure": input.failure,
    });
    let optional = [
        ("table", input.table.map(|table| json!(table))),
        ("claim", input.claim.map(|claim| json!(claim))),
        ("commit", input.commit.map(|commit| json!(commit))),
        ("skill", input.skill.map(|skill| json!(skill))),
        ("metadata", input.metadata.map(Value::Object)),
        ("verification", input.verification.map(|named| json!(named))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

fn hinted(refusal: Refusal) -> Refusal {
    match refusal.code {
        ErrorCode::Forbidden => refusal.then(
            "An agent writes to its own task and worktree: name one of them as scope. What is verified goes up by itself.",
        ),
        ErrorCode::CitationRequired => refusal.then("Name sources: log_event answers with a record to cite."),
        _ => refusal,
    }
}
