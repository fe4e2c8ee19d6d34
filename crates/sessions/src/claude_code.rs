//! Lines of the session files of Claude Code.
//!
//! Owns which of them say something of the work, and what. The client's form is nowhere laid down: whatever is unknown
//! is passed over by its name. It must not know other clients.

use serde::Deserialize;
use serde_json::value::RawValue;
use sillok_core::staging::LogLevel;

use crate::json::{self, Raw, flag, items, object, text};
use crate::limits::BLOCKS_MAX;
use crate::scribe::{COMPACTION, Ended, FAULT, PROMPT, SAID, Scribe, THINKING, id, time};
use crate::tool;

/// What texts begin with that the client writes in the user's name.
const CONTEXT: [&str; 7] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
];

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    subtype: Raw<'a>,
    #[serde(borrow, default)]
    uuid: Raw<'a>,
    #[serde(borrow, default, rename = "sessionId")]
    session: Raw<'a>,
    #[serde(borrow, default, rename = "agentId")]
    agent: Raw<'a>,
    #[serde(borrow, default)]
    timestamp: Raw<'a>,
    #[serde(borrow, default)]
    cwd: Raw<'a>,
    #[serde(borrow, default, rename = "gitBranch")]
    branch: Raw<'a>,
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default, rename = "isSidechain")]
    is_sidechain: Raw<'a>,
    #[serde(borrow, default, rename = "isMeta")]
    is_meta: Raw<'a>,
    #[serde(borrow, default, rename = "isCompactSummary")]
    is_summary: Raw<'a>,
    #[serde(borrow, default, rename = "isApiErrorMessage")]
    is_fault: Raw<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
}

/// A part of a message, or of what a tool gave.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    tool_use_id: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    is_error: Raw<'a>,
}

/// Reads one line: whether it is an object.
pub(crate) fn read(line: &str, scribe: &mut Scribe<'_>) -> bool {
    let Some(line) = json::line::<Line<'_>>(line) else {
        return false;
    };
    scribe.session(line.session);
    scribe.happens(line.cwd, line.branch);
    scribe.time = time(line.timestamp);
    scribe.place.id = id(line.uuid);
    scribe.place.sidechain = flag(line.is_sidechain);
    if scribe.place.agent.is_none() {
        scribe.place.agent = id(line.agent);
    }
    let kind = text(line.kind).unwrap_or_default();
    match kind.as_str() {
        "user" if flag(line.is_summary) => message(&line, COMPACTION, scribe),
        "user" if flag(line.is_meta) => scribe.passed.count("note of the client"),
        "user" => message(&line, PROMPT, scribe),
        "assistant" if flag(line.is_fault) => message(&line, FAULT, scribe),
        "assistant" => message(&line, SAID, scribe),
        "system" => system(&line, scribe),
        kind => scribe.passed.count_kind("record", kind),
    }
    true
}

/// What the client itself notes: that a conversation was compacted is part of the work.
fn system(line: &Line<'_>, scribe: &mut Scribe<'_>) {
    let kind = text(line.subtype).unwrap_or_default();
    if kind == "compact_boundary" {
        let said = text(line.content).unwrap_or_default();
        scribe.say(LogLevel::Info, COMPACTION, &said);
    } else {
        scribe.passed.count_kind("system", &kind);
    }
}

/// How loud something is that was said, by its sort.
fn level(kind: &str) -> LogLevel {
    match kind {
        SAID => LogLevel::Thought,
        FAULT => LogLevel::Warn,
        _ => LogLevel::Info,
    }
}

/// Something that was said, unless the client said it in the user's name.
fn say(kind: &'static str, said: &str, scribe: &mut Scribe<'_>) {
    let is_context = || {
        CONTEXT
            .iter()
            .any(|start| said.trim_start().starts_with(start))
    };
    if kind == PROMPT && is_context() {
        scribe.passed.count("note of the client");
    } else {
        scribe.say(level(kind), kind, said);
    }
}

/// A message: one text, or blocks.
fn message(line: &Line<'_>, kind: &'static str, scribe: &mut Scribe<'_>) {
    let content = object::<Message<'_>>(line.message).and_then(|message| message.content);
    if let Some(said) = text(content) {
        return say(kind, &said, scribe);
    }
    let Some(blocks) = items(content) else {
        return scribe.passed.count("message without content");
    };
    if blocks.len() > BLOCKS_MAX {
        scribe.passed.count("blocks of a line that has too many");
    }
    for raw in blocks.into_iter().take(BLOCKS_MAX) {
        match object::<Block<'_>>(Some(raw)) {
            Some(read) => block(&read, kind, scribe),
            None => scribe.passed.count("block that is no JSON object"),
        }
    }
}

fn block(block: &Block<'_>, kind: &'static str, scribe: &mut Scribe<'_>) {
    let of_block = text(block.kind).unwrap_or_default();
    match of_block.as_str() {
        "text" => say(kind, &text(block.text).unwrap_or_default(), scribe),
        "thinking" => match text(block.thinking).filter(|said| !said.trim().is_empty()) {
            Some(said) => scribe.say(LogLevel::Thought, THINKING, &said),
            None => scribe.passed.count("hidden thinking"),
        },
        "redacted_thinking" => scribe.passed.count("hidden thinking"),
        "tool_use" | "server_tool_use" => {
            let name = tool::name(block.name);
            scribe.call(&name, id(block.id), &tool::command(&name, block.input));
        }
        "tool_result" => {
            let ended = if flag(block.is_error) {
                Ended::Badly
            } else {
                Ended::Well
            };
            let output = output(block.content, scribe);
            scribe.result(id(block.tool_use_id), &output, ended, None);
        }
        "image" | "document" => scribe.passed.count(&of_block),
        other => scribe.passed.count_kind("block", other),
    }
}

/// What a tool gave: one text, or blocks of which texts are read.
fn output(raw: Option<&RawValue>, scribe: &mut Scribe<'_>) -> String {
    if let Some(said) = text(raw) {
        return said;
    }
    let mut texts = Vec::new();
    for raw in items(raw).into_iter().flatten().take(BLOCKS_MAX) {
        let Some(block) = object::<Block<'_>>(Some(raw)) else {
            scribe.passed.count("block that is no JSON object");
            continue;
        };
        match (
            text(block.text),
            text(block.kind).unwrap_or_default().as_str(),
        ) {
            (Some(said), "text") => texts.push(said),
            (_, kind @ ("image" | "document")) => scribe.passed.count(kind),
            (_, kind) => scribe.passed.count_kind("block", kind),
        }
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests;
