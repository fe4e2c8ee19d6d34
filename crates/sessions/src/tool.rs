//! What of a call to a tool is its command.
//!
//! Owns the text that stands for a call. It must not know clients: a call is a name and JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Raw, is_empty, items, object, text};
use crate::limits::TITLE_CHARS_MAX;

/// What a tool is called that has no name.
const NAMELESS: &str = "tool";
/// Parts of the names of tools that write what they are handed.
const EDITORS: [&str; 4] = ["edit", "write", "replace", "patch"];
/// Shells that are handed a script as their last argument.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    command: Raw<'a>,
    #[serde(borrow, default)]
    cmd: Raw<'a>,
    #[serde(borrow, default)]
    path: Raw<'a>,
    #[serde(borrow, default)]
    file_path: Raw<'a>,
}

/// The name of a tool, as it is told.
pub(crate) fn name(raw: Raw<'_>) -> String {
    let name = text(raw).unwrap_or_default();
    let name: String = name.trim().chars().take(TITLE_CHARS_MAX).collect();
    if name.is_empty() {
        NAMELESS.to_owned()
    } else {
        name
    }
}

/// The text that stands for a call: of a shell its command, of an editor what it was handed, of others their name and
/// what they were handed.
pub(crate) fn command(name: &str, arguments: Raw<'_>) -> String {
    if let Some(command) = object(arguments).and_then(|arguments| shell(&arguments)) {
        return command;
    }
    let Some(arguments) = arguments.filter(|arguments| !is_empty(arguments)) else {
        return name.to_owned();
    };
    let lower = name.to_lowercase();
    if EDITORS.iter().any(|part| lower.contains(part)) {
        arguments.get().to_owned()
    } else {
        format!("{name} {}", arguments.get())
    }
}

/// The command that a shell was handed.
fn shell(arguments: &Arguments<'_>) -> Option<String> {
    if arguments.path.is_some() || arguments.file_path.is_some() {
        return None;
    }
    let raw = arguments.command.or(arguments.cmd);
    let said = text(raw).or_else(|| Some(words(&items(raw)?)));
    said.filter(|command| !command.trim().is_empty())
}

/// The command that a list of words is: the script alone, where a shell is handed one.
pub(crate) fn words(raw: &[&RawValue]) -> String {
    let words: Vec<String> = raw.iter().filter_map(|word| text(Some(word))).collect();
    let program = words.first().map(|word| word.rsplit('/').next());
    let is_shell = program.flatten().is_some_and(|name| SHELLS.contains(&name));
    match words.as_slice() {
        [_, option, script] if is_shell && option.starts_with('-') && option.ends_with('c') => {
            script.clone()
        }
        words => words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, json: &str) -> String {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        command(name, Some(raw))
    }

    #[test]
    fn a_call_is_told_by_what_was_to_be_done() {
        for (name, json, expected) in [
            (
                "Bash",
                r#"{"command":"cargo test","description":"d"}"#,
                "cargo test",
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","ls | wc"]}"#,
                "ls | wc",
            ),
            (
                "shell",
                r#"{"command":["git","commit","-m","it's"]}"#,
                r"git commit -m 'it'\''s'",
            ),
            ("exec_command", r#"{"cmd":"ls","workdir":"x"}"#, "ls"),
            (
                "Read",
                r#"{"file_path":"src/a.rs"}"#,
                r#"Read {"file_path":"src/a.rs"}"#,
            ),
            (
                "Edit",
                r#"{"file_path":"a","old_string":"b"}"#,
                r#"{"file_path":"a","old_string":"b"}"#,
            ),
            (
                "editor",
                r#"{"command":"view","path":"a"}"#,
                r#"{"command":"view","path":"a"}"#,
            ),
            ("Stop", "{}", "Stop"),
            ("Odd", "7", "Odd 7"),
            ("Bash", r#"{"command":" "}"#, r#"Bash {"command":" "}"#),
        ] {
            assert_eq!(told(name, json), expected);
        }
        assert_eq!(command("Stop", None), "Stop");
        assert_eq!(name(None), NAMELESS);
    }
}
