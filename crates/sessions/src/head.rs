//! What a file is of: its session or run, and what was to be done.
//!
//! Owns what of a file's beginning names it. It must not know how a task is named after it.

use std::io::{BufReader, Read};
use std::path::Path;

use sillok_core::limits::ERROR_TEXT_BYTES_MAX;

use crate::error::Error;
use crate::file;
use crate::format::{Client, Format};
use crate::limits::{HEAD_BYTES_MAX, ID_BYTES_MAX, SESSION_BYTES_MAX};
use crate::reader::Reader;
use crate::record::{Entry, clip_bytes, shortened, title_of};
use crate::scribe::PROMPT;
use crate::trajectory::Run;

/// What names the file of an agent that another one had at work.
const AGENT: &str = "agent-";
/// Entries at the beginning among which the first prompt is looked for.
const ENTRIES_MAX: usize = 64;
/// Digits of the groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// What a file is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its format.
    pub format: Format,
    /// The run's name, or the session's id.
    pub name: String,
    /// The agent that another one had at work in the session.
    pub agent: Option<String>,
    /// BLAKE3 of a run's text: the same file is the same run. A session grows, and has none.
    pub digest: Option<[u8; 32]>,
    /// What was to be done, in a line.
    pub title: String,
    /// What was to be done, in full; empty when the file does not say.
    pub description: String,
}

impl Head {
    /// What a run is.
    #[must_use]
    pub fn of_run(run: &Run) -> Self {
        Self {
            format: Format::Traj,
            name: run.name.clone(),
            agent: None,
            digest: Some(run.digest),
            title: run.title.clone(),
            description: run.description.clone(),
        }
    }

    /// What a session is, by its file's name and beginning. Claude Code names a file by its session, and one that goes on
    /// with another session may begin with that one's lines. Else the first line that names a session does, up to the first
    /// that says something: whatever is written behind it later, the name stays.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::NoFile`], [`Error::TooLarge`]
    pub fn of_session(path: &Path, client: Client) -> Result<Self, Error> {
        let io = Error::read(path);
        let (file, _) = file::open(path, SESSION_BYTES_MAX)?;
        let source = BufReader::new(file.take(HEAD_BYTES_MAX));
        let mut reader = Reader::new(client, None, None, source);
        let mut name = None;
        let mut prompt = None;
        for number in 0..ENTRIES_MAX {
            let entry = reader.entry().map_err(&io)?;
            if number == 0 {
                name.clone_from(&reader.state().session);
            }
            let Some(entry) = entry else {
                break;
            };
            prompt = self::prompt(&entry);
            if prompt.is_some() {
                break;
            }
        }
        let stem = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let agent = (client == Client::ClaudeCode).then(|| stem.strip_prefix(AGENT));
        let agent = agent
            .flatten()
            .map(|agent| clip_bytes(agent, ID_BYTES_MAX).to_owned());
        let of_file = (client == Client::ClaudeCode && is_uuid(&stem)).then(|| stem.clone());
        let name = of_file.or(name);
        let name = name.unwrap_or_else(|| clip_bytes(&stem, ID_BYTES_MAX).to_owned());
        let format = match client {
            Client::ClaudeCode => Format::ClaudeCode,
            Client::Codex => Format::Codex,
        };
        let description = prompt.unwrap_or_default();
        Ok(Self {
            title: title_of(&description).unwrap_or_else(|| format!("{format} session {name}")),
            format,
            name,
            agent,
            digest: None,
            description,
        })
    }
}

/// What an entry asks for.
fn prompt(entry: &Entry) -> Option<String> {
    let record = entry
        .records
        .iter()
        .find(|record| record.place.kind == Some(PROMPT))?;
    Some(shortened(&record.content, ERROR_TEXT_BYTES_MAX))
}

/// Whether a name has the form of a UUID.
fn is_uuid(name: &str) -> bool {
    let groups: Vec<&str> = name.split('-').collect();
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.len() == UUID_GROUPS.len()
        && groups
            .iter()
            .zip(UUID_GROUPS)
            .all(|(group, digits)| group.len() == digits && is_hex(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::TITLE_CHARS_MAX;

    fn head(name: &str, lines: &[&str]) -> Head {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, lines.join("\n")).unwrap();
        Head::of_session(&path, Client::ClaudeCode).unwrap()
    }

    const TITLE: &str = r#"{"type":"summary","summary":"s","leafUuid":"u"}"#;
    const ASKED: &str =
        r#"{"type":"user","sessionId":"s1","message":{"content":"\n Mend it \nsoon"}}"#;
    const SAID: &str = r#"{"type":"assistant","sessionId":"s1","message":{"content":"Yes."}}"#;
    const LATER: &str = r#"{"type":"user","sessionId":"s2","message":{"content":"More"}}"#;

    #[test]
    fn a_session_is_named_by_its_first_line_and_titled_by_its_first_prompt() {
        let found = head("x.jsonl", &[TITLE, ASKED, LATER]);
        assert_eq!(
            (found.name.as_str(), found.title.as_str()),
            ("s1", "Mend it")
        );
        assert_eq!(found.description, "Mend it \nsoon");
        assert_eq!(found.agent, None);
        let found = head("agent-7.jsonl", &[SAID, LATER]);
        assert_eq!((found.name.as_str(), found.title.as_str()), ("s1", "More"));
        assert_eq!(found.agent.as_deref(), Some("7"));
    }

    #[test]
    fn a_session_that_goes_on_with_another_is_named_by_its_file() {
        let other = "57f6f27a-f714-44de-a160-29f6de7bfd73";
        let found = head(&format!("{other}.jsonl"), &[ASKED, LATER]);
        assert_eq!(
            (found.name.as_str(), found.title.as_str()),
            (other, "Mend it")
        );
        for no_uuid in [
            "57f6f27a-f714-44de-a160-29f6de7bfd7",
            "57f6f27a-f714-44de-a160-29f6de7bfd7x",
        ] {
            assert_eq!(head(&format!("{no_uuid}.jsonl"), &[ASKED]).name, "s1");
        }
    }

    #[test]
    fn no_half_of_a_secret_is_left_where_a_title_or_a_description_ends() {
        let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let half = &secret[..20];
        for before in [TITLE_CHARS_MAX - 20, ERROR_TEXT_BYTES_MAX - 20] {
            let said = format!("{} {secret} and on", "x".repeat(before - 1));
            let asked = ASKED.replace("\\n Mend it \\nsoon", &said);
            let found = head("x.jsonl", &[asked.as_str()]);
            assert!(
                found.description.starts_with("xxx"),
                "{}",
                found.description
            );
            assert!(!found.title.contains(half) && !found.description.contains(half));
        }
    }

    #[test]
    fn what_is_written_later_changes_no_name() {
        let nameless = r#"{"type":"user","message":{"content":"Hi"}}"#;
        let before = head("x.jsonl", &[nameless]).name;
        assert_eq!(before, "x");
        assert_eq!(head("x.jsonl", &[nameless, ASKED]).name, before);
        assert_eq!(head("x.jsonl", &[SAID, LATER]).name, "s1");
        assert_eq!(head("x.jsonl", &[TITLE]).title, "claude-code session x");
    }
}
