//! Sillok's entries in a client's JSON: its hooks, and its MCP server.
//!
//! Owns which events of which client are hooked, and how an entry of Sillok's is told from others. An entry is Sillok's by the
//! program that it runs, whoever wrote it.

use serde_json::{Value as Document, json};

use super::Doing;
use super::json::{self, Value};
use super::made::{
    Edited, Made, Step, at, made, make, make_plain, put_item, put_member, take_item, take_member,
};
use crate::client::Client;

/// How long a client waits for a hook, in s. A hook ends long before that.
const TIMEOUT_S: u64 = 5;
/// What entries are put into where there is nothing: no file, or a blank one.
const BRACKETS: &str = "{\n}";
/// What a file in UTF-8 may begin with.
const BYTE_ORDER: char = '\u{feff}';
/// The name of the server among others.
const SERVER: &str = "sillok";

/// The programs that entries run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `sillok-hook`, by its name or its path.
    pub hook: String,
    /// `sillok`, by its name or its path.
    pub sillok: String,
    /// The scope of the work, where it is to be named.
    pub scope: Option<String>,
}

impl Programs {
    fn command(&self, client: Client, event: &str) -> String {
        let scope = self.scope.as_ref();
        let scope = scope.map_or(String::new(), |scope| format!(" --scope {scope}"));
        format!("{} {client} {event}{scope}", word(&self.hook))
    }

    /// The server's entry.
    #[must_use]
    pub fn server(&self) -> Document {
        let mut entry = json!({ "command": self.sillok, "args": ["mcp"] });
        if let Some(scope) = &self.scope {
            entry["env"] = json!({ "SILLOK_SCOPE": scope });
        }
        entry
    }
}

/// The events of a client that are hooked, with the tools that each is for, where it is not for all.
#[must_use]
pub const fn events(client: Client) -> &'static [(&'static str, Option<&'static str>)] {
    match client {
        Client::ClaudeCode => &[
            ("SessionStart", None),
            ("UserPromptSubmit", None),
            ("PreToolUse", Some("Edit|Write|MultiEdit|NotebookEdit")),
            ("PostToolUse", None),
            ("PostToolUseFailure", None),
            ("PreCompact", None),
            ("Stop", None),
            ("SubagentStop", None),
            ("SessionEnd", None),
        ],
        Client::Codex => &[
            ("SessionStart", None),
            ("UserPromptSubmit", None),
            ("PreToolUse", Some("apply_patch")),
            ("PostToolUse", None),
            ("PreCompact", None),
            ("Stop", None),
            ("SubagentStop", None),
            ("SessionEnd", None),
        ],
        Client::Cursor => &[
            ("sessionStart", None),
            ("beforeSubmitPrompt", None),
            ("postToolUse", None),
            ("postToolUseFailure", None),
            ("preCompact", None),
            ("stop", None),
            ("subagentStop", None),
            ("sessionEnd", None),
        ],
    }
}

/// What stands in a list of hooks for one event.
fn entry(client: Client, event: &str, tools: Option<&str>, programs: &Programs) -> Document {
    let command = programs.command(client, event);
    if client == Client::Cursor {
        return json!({ "command": command, "timeout": TIMEOUT_S });
    }
    let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT_S });
    match tools {
        Some(tools) => json!({ "matcher": tools, "hooks": [hook] }),
        None => json!({ "hooks": [hook] }),
    }
}

/// A word of a shell's command line.
fn word(text: &str) -> String {
    let plain = |one: char| one.is_ascii_alphanumeric() || "/._-+@%:=,".contains(one);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The first word of a command line, and what stands behind it.
fn first_word(line: &str) -> (String, &str) {
    let mut found = String::new();
    let mut rest = line.trim_start();
    while let Some(next) = rest.chars().next().filter(|next| !next.is_whitespace()) {
        let quote = (next == '\'' || next == '"').then_some(next);
        let (inside, behind) = match quote {
            Some(quote) => rest[1..].split_once(quote).unwrap_or((&rest[1..], "")),
            None if next == '\\' => {
                rest[1..].split_at(rest[1..].chars().next().map_or(0, char::len_utf8))
            }
            None => rest.split_at(
                rest.find([' ', '\t', '\n', '\'', '"', '\\'])
                    .unwrap_or(rest.len()),
            ),
        };
        found.push_str(inside);
        rest = behind;
    }
    (found, rest.trim_start())
}

fn runs(path: &str, program: &str) -> bool {
    path.rsplit('/').next() == Some(program)
}

/// Whether a handler is Sillok's for a client.
fn is_own(handler: &Value, client: Client) -> bool {
    let command = handler.get("command").and_then(Value::text);
    command.is_some_and(|command| {
        let (program, rest) = first_word(command);
        runs(&program, "sillok-hook") && first_word(rest).0 == client.as_str()
    })
}

/// Edits the hooks of a client.
///
/// # Errors
/// What is wrong with the file.
pub fn hooks(
    client: Client,
    before: Option<&str>,
    programs: &Programs,
    doing: Doing,
) -> Result<Edited, String> {
    let (text, with) = begin(before);
    if with != Made::Alone && doing == Doing::Uninstall {
        return Ok(unchanged(before));
    }
    let wanted: Vec<(String, Document)> = events(client)
        .iter()
        .map(|(event, tools)| ((*event).to_owned(), entry(client, event, *tools, programs)))
        .collect();
    let is_wanted = || {
        let mut found = own_entries(&json::read(&text)?, &text, client);
        let mut wanted = wanted.clone();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        wanted.sort_by(|one, other| one.0.cmp(&other.0));
        Ok::<bool, String>(found == wanted)
    };
    if doing == Doing::Install && is_wanted()? {
        return Ok(unchanged(before));
    }
    let (cleared, gone) = take_hooks(&text, client)?;
    if doing == Doing::Uninstall {
        let with = made(&json::read(&cleared)?, &[], "hooks");
        return finished(before, clean(cleared, client)?, gone > 0, with);
    }
    let mut text = make(&cleared, &[], "hooks", ['{', '}'], with)?;
    for (event, entry) in wanted.iter().rev() {
        let hooks = [Step::Key("hooks")];
        text = make(&text, &hooks, event, ['[', ']'], Made::Alone)?;
        text = put_item(&text, &[Step::Key("hooks"), Step::Key(event)], entry)?;
    }
    if client == Client::Cursor && json::read(&text)?.get("version").is_none() {
        text = make_plain(&text, &[], "version", "1")?;
    }
    let mut said = Vec::new();
    if client == Client::Codex {
        said.push(
            "Codex runs new hooks once you have looked at them and trust them: type /hooks there."
                .to_owned(),
        );
    }
    let after = Some(text);
    Ok(Edited { after, said })
}

/// Sillok's entries by event, as documents, where each is one of its own alone.
fn own_entries(root: &Value, text: &str, client: Client) -> Vec<(String, Document)> {
    let mut found = Vec::new();
    let hooks = root.get("hooks").map(Value::members).unwrap_or_default();
    for member in hooks {
        for item in member.value.items() {
            let own = is_own(item, client);
            let handlers = item.get("hooks").map(Value::items).unwrap_or_default();
            if own || handlers.iter().any(|handler| is_own(handler, client)) {
                let shown = serde_json::from_str(&text[item.span.clone()]);
                found.push((member.key.clone(), shown.unwrap_or_default()));
            }
        }
    }
    found
}

/// Takes all of Sillok's handlers out: the text, and how many they were.
fn take_hooks(text: &str, client: Client) -> Result<(String, usize), String> {
    let mut text = text.to_owned();
    let mut gone = 0;
    // Each turn takes one out.
    loop {
        let root = json::read(&text)?;
        let hooks = root.get("hooks").map(Value::members).unwrap_or_default();
        let own = hooks.iter().find_map(|member| {
            let mut items = member.value.items().iter().enumerate();
            items.find_map(|(place, item)| {
                if is_own(item, client) {
                    return Some((member.key.clone(), place, None));
                }
                let handlers = item.get("hooks").map(Value::items).unwrap_or_default();
                let own: Vec<usize> = (0..handlers.len())
                    .filter(|handler| is_own(&handlers[*handler], client))
                    .collect();
                let first = own.first()?;
                let inner = (own.len() < handlers.len()).then_some(*first);
                Some((member.key.clone(), place, inner))
            })
        });
        let Some((event, place, handler)) = own else {
            return Ok((text, gone));
        };
        let list = [Step::Key("hooks"), Step::Key(&event)];
        text = match handler {
            None => take_item(&text, &list, place)?,
            Some(handler) => {
                let way = [list[0], list[1], Step::Item(place), Step::Key("hooks")];
                take_item(&text, &way, handler)?
            }
        };
        gone += 1;
    }
}

/// Takes out what was made for entries that are gone.
fn clean(mut text: String, client: Client) -> Result<String, String> {
    for (event, _) in events(client) {
        text = take_if_made(text, &[Step::Key("hooks")], event)?;
    }
    text = take_if_made(text, &[], "hooks")?;
    let root = json::read(&text)?;
    // Hooks that somebody added since to what was made need the version that was made.
    let needed = made(&root, &[], "hooks").is_some();
    if made(&root, &[], "version").is_some() && !needed {
        text = take_member(&text, &[], "version")?;
    }
    Ok(text)
}

/// Takes a member out that was made, and is empty.
fn take_if_made(text: String, way: &[Step<'_>], key: &str) -> Result<String, String> {
    let root = json::read(&text)?;
    let found = at(&root, way).and_then(|object| object.get(key));
    let is_empty =
        found.is_some_and(|value| value.members().is_empty() && value.items().is_empty());
    if is_empty && made(&root, way, key).is_some() {
        return take_member(&text, way, key);
    }
    Ok(text)
}

/// Edits the MCP servers of a client.
///
/// # Errors
/// What is wrong with the file.
pub fn servers(before: Option<&str>, programs: &Programs, doing: Doing) -> Result<Edited, String> {
    let (text, with) = begin(before);
    if with != Made::Alone && doing == Doing::Uninstall {
        return Ok(unchanged(before));
    }
    let root = json::read(&text)?;
    let list = [Step::Key("mcpServers")];
    let found = at(&root, &list).and_then(|servers| servers.get(SERVER));
    if let Some(foreign) = found.filter(|entry| !is_own_server(entry)) {
        let line = text[..foreign.span.start].matches('\n').count() + 1;
        let said = vec![format!(
            "a server of your own is called {SERVER} (line {line}); it is left as it is"
        )];
        return Ok(Edited {
            said,
            ..unchanged(before)
        });
    }
    let wanted = programs.server();
    let is_wanted = |entry: &Value| {
        serde_json::from_str::<Document>(&text[entry.span.clone()])
            .is_ok_and(|entry| entry == wanted)
    };
    if doing == Doing::Install && found.is_some_and(is_wanted) {
        return Ok(unchanged(before));
    }
    let taken = match found {
        Some(_) => take_member(&text, &list, SERVER)?,
        None => text.clone(),
    };
    if doing == Doing::Uninstall {
        let gone = found.is_some();
        let cleaned = if gone {
            take_if_made(taken, &[], "mcpServers")?
        } else {
            taken
        };
        return finished(before, cleaned, gone, made(&root, &[], "mcpServers"));
    }
    let listed = make(&taken, &[], "mcpServers", ['{', '}'], with)?;
    let after = Some(put_member(&listed, &list, SERVER, &wanted)?);
    Ok(Edited {
        after,
        said: Vec::new(),
    })
}

/// Whether an entry is as installing makes it, of whatever place and scope: a person's own has further arguments.
fn is_own_server(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::text);
    let args = entry.get("args").map(Value::items).unwrap_or_default();
    let env = entry.get("env").map(Value::members).unwrap_or_default();
    let mut keys = entry.members().iter().map(|member| member.key.as_str());
    keys.all(|key| ["command", "args", "env"].contains(&key))
        && env.iter().all(|member| member.key == "SILLOK_SCOPE")
        && command.is_some_and(|command| runs(command, "sillok"))
        && args.len() == 1
        && args[0].text() == Some("mcp")
}

/// The text that is edited, and what is made with the first thing that has to be made in it.
fn begin(before: Option<&str>) -> (String, Made) {
    let Some(text) = before else {
        return (format!("{BRACKETS}\n"), Made::File);
    };
    let (mark, rest) = marked(text);
    if rest.trim().is_empty() {
        (format!("{mark}{BRACKETS}{rest}"), Made::Brackets)
    } else {
        (text.to_owned(), Made::Alone)
    }
}

/// The mark of UTF-8 that a text may begin with, and the text behind it.
fn marked(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER) {
        BYTE_ORDER.len_utf8()
    } else {
        0
    })
}

fn unchanged(before: Option<&str>) -> Edited {
    Edited {
        after: before.map(str::to_owned),
        said: Vec::new(),
    }
}

/// The file after everything of Sillok's is out. What was made `with` the last of it goes, unless somebody wrote into it since.
fn finished(
    before: Option<&str>,
    text: String,
    gone: bool,
    with: Option<Made>,
) -> Result<Edited, String> {
    if !gone {
        return Ok(unchanged(before));
    }
    json::read(&text)?;
    let (mark, rest) = marked(&text);
    let blank = rest
        .strip_prefix(BRACKETS)
        .filter(|rest| rest.trim().is_empty());
    let after = match (with, blank) {
        (Some(Made::File), Some(_)) => None,
        (Some(Made::Brackets), Some(blank)) => Some(format!("{mark}{blank}")),
        _ => Some(text),
    };
    Ok(Edited {
        after,
        said: Vec::new(),
    })
}
