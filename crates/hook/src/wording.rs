//! What is written of an event: the bodies of commands, with texts of a bounded length.
//!
//! Owns their form. Secrets in them are masked by the server, before it stores anything.

use serde_json::{Value, json};
use sillok_core::limits::{METADATA_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use crate::limits::{OPENING_BYTES, TEXT_BYTES_MAX, TITLE_BYTES};

/// How loud a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What is said.
    Info,
    /// What failed.
    Error,
    /// What a tool did.
    Tool,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Error => "error",
            Self::Tool => "tool",
        }
    }
}

/// The body that opens a task: with what a person said, whose first line is the title; where nobody said anything yet, with a
/// title that says nothing of any work, since by its opening a task is warned of what failed in others like it.
#[must_use]
pub fn open_task(task: &Scope, said: Option<&str>, unsaid: &str) -> String {
    let said = said.unwrap_or_default().trim();
    let mut lines = said.lines().map(in_a_line);
    let first = lines.find(|line| !line.is_empty());
    let Some(line) = first else {
        let title = cut_to(unsaid, SHORT_TEXT_BYTES_MAX);
        return json!({ "scope": task.as_str(), "title": title }).to_string();
    };
    let title = cut_to(&line, TITLE_BYTES).trim_end();
    // What the title says is not said twice.
    let rest = if title == said { "" } else { said };
    let description = cut_to(rest, OPENING_BYTES);
    json!({ "scope": task.as_str(), "title": title, "description": description }).to_string()
}

fn in_a_line(line: &str) -> String {
    let plain = line
        .chars()
        .map(|one| if one.is_control() { ' ' } else { one });
    plain.collect::<String>().trim().to_owned()
}

/// The body that appends one record.
#[must_use]
pub fn append_log(
    task: &Scope,
    level: Level,
    content: &str,
    metadata: &Value,
    at: Timestamp,
) -> String {
    // Of metadata that is too large only what an event is, is kept.
    let whole = metadata.to_string().len() <= METADATA_BYTES_MAX;
    let kept = ["client", "session", "event", "tool"];
    let few = || {
        let pairs = kept.iter().filter_map(|key| {
            let text = metadata.get(key)?.as_str()?;
            Some(((*key).to_owned(), Value::from(cut_to(text, 512))))
        });
        Value::Object(pairs.collect())
    };
    let metadata = if whole { metadata.clone() } else { few() };
    let record = json!({
        "level": level.as_str(),
        "content": shortened(content),
        "metadata": metadata,
        "time": at.ms(),
    });
    json!({ "scope": task.as_str(), "records": [record] }).to_string()
}

/// The body that adds one anchor.
#[must_use]
pub fn add_anchor(task: &Scope, hint: &str, to: &[String]) -> String {
    json!({ "scope": task.as_str(), "anchors": [{ "hint": hint, "to": to }] }).to_string()
}

/// A text with its beginning and its end, and between them how much was left out.
#[must_use]
pub fn shortened(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let head = cut_to(text, TEXT_BYTES_MAX / 2);
    let from = text.len() - TEXT_BYTES_MAX / 2;
    let from = (from..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    let left = from - head.len();
    format!(
        "{head}\n[{left} bytes were left out here]\n{}",
        &text[from..]
    )
}

/// The beginning of a text, of at most so many bytes and of whole characters.
#[must_use]
pub fn cut_to(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("first{}last", "ä".repeat(TEXT_BYTES_MAX));
        let short = shortened(&text);
        assert!(short.starts_with("first") && short.ends_with("last"));
        assert!(short.len() < TEXT_BYTES_MAX + 64);
        assert!(short.contains("bytes were left out here"));
    }

    #[test]
    fn metadata_that_is_too_large_keeps_what_the_event_is() {
        let task = Scope::parse("org/a/project/b/worktree/c/task/d").unwrap();
        let metadata = json!({ "client": "codex", "input": "x".repeat(METADATA_BYTES_MAX) });
        let body = append_log(&task, Level::Tool, "c", &metadata, Timestamp::from_ms(7));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["records"][0]["metadata"], json!({ "client": "codex" }));
        assert_eq!(body["records"][0]["time"], 7);
    }

    fn opened(said: Option<&str>) -> Value {
        let task = Scope::parse("org/a/project/b/worktree/c/task/d").unwrap();
        serde_json::from_str(&open_task(&task, said, "codex-7")).unwrap()
    }

    #[test]
    fn a_task_is_opened_with_the_first_thing_that_was_said() {
        let body = opened(Some("Mend the upload."));
        assert_eq!(body["title"], "Mend the upload.");
        assert_eq!(body["description"], "");
        let body = opened(Some("\n \u{1}\n  Mend\tthe upload.\nIt times out.\n"));
        assert_eq!(body["title"], "Mend the upload.");
        let description = body["description"].as_str().unwrap();
        assert!(description.ends_with("It times out."), "{description}");
        for nothing in [None, Some(""), Some(" \n\u{1}")] {
            assert_eq!(opened(nothing)["title"], "codex-7");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_said_makes_a_title_of_one_line_within_its_bound(said in "(?s).{0,400}") {
            let body = opened(Some(&said));
            let title = body["title"].as_str().unwrap();
            prop_assert!(!title.trim().is_empty() && title.len() <= TITLE_BYTES);
            prop_assert!(!title.contains(char::is_control));
            let description = body["description"].as_str().unwrap_or_default();
            prop_assert!(description.len() <= OPENING_BYTES);
        }

        #[test]
        fn a_cut_is_a_beginning_within_its_bound(text in ".{0,64}", max in 0_usize..80) {
            let cut = cut_to(&text, max);
            prop_assert!(text.starts_with(cut) && cut.len() <= max);
            prop_assert!(max < text.len() || cut == text);
        }
    }
}
