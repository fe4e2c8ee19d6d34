//! `log_event`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::call::{Call, command};
use crate::refusal::Refusal;

/// What happened.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The task.
    task: String,
    /// How loud it is: `thought` for what you think, `tool` for what a tool did, `error` for what went wrong.
    level: Level,
    /// What happened, in words. Large outputs go in through the command line.
    content: String,
    /// Name of the tool, arguments, duration and the like.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// A UUID of version 7. Name the same one when you send the very same call again, and it is logged once.
    #[serde(default)]
    command_id: Option<String>,
}

/// How loud a record is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Level {
    Info,
    Warn,
    Error,
    Thought,
    Tool,
}

/// It is logged, for good.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Where it stands, SCOPE#SEQ: cite it as a source of kind `log`.
    record: String,
    /// Secrets that were masked in it.
    masked: u32,
    command_id: String,
}

#[derive(Deserialize)]
struct Appended {
    first: u64,
    masked: u32,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let id = command(input.command_id.as_deref())?;
    let mut record = json!({ "level": input.level, "content": input.content });
    if let Some(metadata) = input.metadata {
        record["metadata"] = Value::Object(metadata);
    }
    let body = json!({ "scope": input.task, "records": [record] });
    let appended: Appended = call.write("/v1/logs", &body, id).await?;
    Ok(Output {
        record: format!("{}#{}", input.task, appended.first),
        masked: appended.masked,
        command_id: id.to_string(),
    })
}
