//! Lines of the rollout files of Codex.
//!
//! Owns which of them say something of the work, and what. What the client writes a second time as an event of its
//! interface is passed over. It must not know other clients.

use serde::Deserialize;
use serde_json::value::RawValue;
use sillok_core::staging::LogLevel;

use crate::json::{self, Raw, flag, items, number, object, text};
use crate::limits::BLOCKS_MAX;
use crate::scribe::{COMPACTION, Ended, FAULT, PROMPT, SAID, Scribe, THINKING, id, time};
use crate::tool;

/// What messages begin with that the client writes in the user's name.
const CONTEXT: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
];

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    timestamp: Raw<'a>,
    #[serde(borrow, default)]
    payload: Raw<'a>,
    #[serde(borrow, default)]
    record_type: Raw<'a>,
}

/// What a session begins with, and what a turn of it does.
#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    session_id: Raw<'a>,
    #[serde(borrow, default)]
    cwd: Raw<'a>,
    #[serde(borrow, default)]
    git: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Git<'a> {
    #[serde(borrow, default)]
    branch: Raw<'a>,
}

/// What the model was told or said, and what was called.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    role: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    summary: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    action: Raw<'a>,
    #[serde(borrow, default)]
    call_id: Raw<'a>,
    #[serde(borrow, default)]
    output: Raw<'a>,
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    reason: Raw<'a>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
}

#[derive(Deserialize)]
struct Action<'a> {
    #[serde(borrow, default)]
    command: Raw<'a>,
    #[serde(borrow, default)]
    query: Raw<'a>,
    #[serde(borrow, default)]
    url: Raw<'a>,
}

/// An output that is an object: of a tool that failed, or of a shell in earlier versions.
#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default)]
    output: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    success: Raw<'a>,
    #[serde(borrow, default)]
    metadata: Raw<'a>,
}

#[derive(Deserialize)]
struct Ending<'a> {
    #[serde(borrow, default)]
    exit_code: Raw<'a>,
}

/// Reads one line: whether it is an object.
pub(crate) fn read(line: &str, scribe: &mut Scribe<'_>) -> bool {
    let Some(read) = json::line::<Line<'_>>(line) else {
        return false;
    };
    scribe.time = time(read.timestamp);
    scribe.happens(None, None);
    let kind = text(read.kind).unwrap_or_default();
    // Earlier versions wrote what a session begins with, and what follows, without a frame.
    let whole = read.payload.or_else(|| serde_json::from_str(line).ok());
    match (kind.as_str(), read.payload.is_some()) {
        ("session_meta", true) => begin(whole, scribe),
        ("", false) if read.record_type.is_some() => scribe.passed.count_kind("record", "state"),
        ("", false) => begin(whole, scribe),
        ("turn_context", true) => {
            let turn = object::<Meta<'_>>(whole);
            scribe.happens(turn.and_then(|turn| turn.cwd), None);
            scribe.passed.count_kind("record", "turn_context");
        }
        ("response_item", true) => with_item(whole, scribe, item),
        ("event_msg", true) => with_item(whole, scribe, event),
        ("compacted", true) => with_item(whole, scribe, compacted),
        (other, true) => scribe.passed.count_kind("record", other),
        (_, false) => with_item(whole, scribe, item),
    }
    true
}

/// The session, and where it begins. A session that continues another one holds that one's beginning as well.
fn begin(raw: Raw<'_>, scribe: &mut Scribe<'_>) {
    let Some(meta) = object::<Meta<'_>>(raw) else {
        return scribe.passed.count("beginning that is no JSON object");
    };
    if scribe.state.session.is_some() {
        return scribe.passed.count("beginning of another session");
    }
    scribe.session(meta.id.or(meta.session_id));
    let git = object::<Git<'_>>(meta.git).unwrap_or_default();
    scribe.happens(meta.cwd, git.branch);
    scribe.passed.count_kind("record", "session_meta");
}

fn with_item(raw: Raw<'_>, scribe: &mut Scribe<'_>, then: fn(&Item<'_>, &mut Scribe<'_>)) {
    match object::<Item<'_>>(raw) {
        Some(item) => then(&item, scribe),
        None => scribe.passed.count("payload that is no JSON object"),
    }
}

/// What stands for a conversation that was compacted.
fn compacted(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let said = text(item.message).unwrap_or_default();
    scribe.say(LogLevel::Info, COMPACTION, &said);
}

/// What the interface shows: most of it stands in an item of its own, too.
fn event(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let kind = text(item.kind).unwrap_or_default();
    match kind.as_str() {
        "error" | "stream_error" => {
            let said = text(item.message).unwrap_or_default();
            scribe.say(LogLevel::Warn, FAULT, &said);
        }
        "turn_aborted" => {
            let why = text(item.reason).unwrap_or_else(|| "no reason is told".to_owned());
            scribe.say(
                LogLevel::Warn,
                FAULT,
                &format!("the turn was aborted: {why}"),
            );
        }
        kind => scribe.passed.count_kind("event", kind),
    }
}

fn item(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let kind = text(item.kind).unwrap_or_default();
    let call = || id(item.call_id);
    match kind.as_str() {
        "message" => message(item, scribe),
        "reasoning" => reasoning(item, scribe),
        "function_call" | "tool_search_call" => {
            let name = tool::name(item.name.or(item.kind));
            scribe.call(&name, call(), &arguments(&name, item.arguments));
        }
        "custom_tool_call" => {
            let name = tool::name(item.name);
            let input = text(item.input).filter(|input| !input.trim().is_empty());
            let input = input.unwrap_or_else(|| arguments(&name, item.arguments));
            scribe.call(&name, call(), &input);
        }
        "local_shell_call" => {
            let command = object::<Action<'_>>(item.action)
                .and_then(|action| items(action.command))
                .map(|words| tool::words(&words))
                .filter(|command| !command.trim().is_empty());
            scribe.call("shell", call(), command.as_deref().unwrap_or("shell"));
        }
        "web_search_call" => {
            let action = object::<Action<'_>>(item.action);
            let sought = action.and_then(|action| text(action.query.or(action.url)));
            let command = format!("web_search {}", sought.unwrap_or_default());
            scribe.call("web_search", call(), &command);
        }
        "function_call_output" | "custom_tool_call_output" => output(item, scribe),
        "image_generation_call" => scribe.passed.count("image"),
        kind => scribe.passed.count_kind("item", kind),
    }
}

/// The text of a call whose arguments are JSON within a string.
fn arguments(name: &str, raw: Raw<'_>) -> String {
    let Some(said) = text(raw) else {
        return tool::command(name, raw);
    };
    match serde_json::from_str::<&RawValue>(&said) {
        Ok(inner) => tool::command(name, Some(inner)),
        Err(_) if said.trim().is_empty() => name.to_owned(),
        Err(_) => said,
    }
}

fn message(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let said = texts(item.content, scribe);
    let role = text(item.role).unwrap_or_default();
    match role.as_str() {
        "user"
            if CONTEXT
                .iter()
                .any(|start| said.trim_start().starts_with(start)) =>
        {
            scribe.passed.count("note of the client");
        }
        "user" => scribe.say(LogLevel::Info, PROMPT, &said),
        "assistant" => scribe.say(LogLevel::Thought, SAID, &said),
        role => scribe.passed.count_kind("message of role", role),
    }
}

fn reasoning(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let mut said = texts(item.summary, scribe);
    if said.trim().is_empty() {
        said = texts(item.content, scribe);
    }
    if said.trim().is_empty() {
        scribe.passed.count("hidden thinking");
    } else {
        scribe.say(LogLevel::Thought, THINKING, &said);
    }
}

/// The texts of a list of parts, or one text. Images are passed over.
fn texts(raw: Raw<'_>, scribe: &mut Scribe<'_>) -> String {
    if let Some(said) = text(raw) {
        return said;
    }
    let mut texts = Vec::new();
    let parts = items(raw).unwrap_or_default();
    if parts.len() > BLOCKS_MAX {
        scribe.passed.count("blocks of a line that has too many");
    }
    for raw in parts.into_iter().take(BLOCKS_MAX) {
        let Some(part) = object::<Part<'_>>(Some(raw)) else {
            scribe.passed.count("block that is no JSON object");
            continue;
        };
        match (
            text(part.text),
            text(part.kind).unwrap_or_default().as_str(),
        ) {
            (Some(said), _) => texts.push(said),
            (None, "input_image" | "output_image") => scribe.passed.count("image"),
            (None, kind) => scribe.passed.count_kind("block", kind),
        }
    }
    texts.join("\n")
}

/// What came of a call: a text, parts, or an object. Earlier versions wrote that object's JSON as the text, with how the
/// command ended; without that, such a text is what the command itself wrote.
fn output(item: &Item<'_>, scribe: &mut Scribe<'_>) {
    let call = id(item.call_id);
    let said = text(item.output);
    let inner = said
        .as_deref()
        .and_then(|said| serde_json::from_str(said).ok());
    let known = object::<Output<'_>>(inner.or(item.output));
    let is_known = |known: &Output<'_>| match inner {
        Some(_) => known.output.and(known.metadata).is_some(),
        None => known.output.or(known.content).is_some(),
    };
    let Some(known) = known.filter(is_known) else {
        let said = said.unwrap_or_else(|| texts(item.output, scribe));
        return scribe.result(call, &said, Ended::Unsaid, None);
    };
    let code = object::<Ending<'_>>(known.metadata).and_then(|ending| number(ending.exit_code));
    let ended = match known.success {
        None => Ended::Unsaid,
        success if flag(success) => Ended::Well,
        Some(_) => Ended::Badly,
    };
    let said = texts(known.output.or(known.content), scribe);
    scribe.result(call, &said, ended, code);
}

#[cfg(test)]
mod tests;
