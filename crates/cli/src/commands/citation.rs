//! Citations as they are written on the command line.
//!
//! Owns the short forms. Whether a source exists is the server's to say.

use sillok_core::id::RecordId;
use sillok_server::api::Citation;

use super::gate;
use crate::args::{Cite, bytes};
use crate::client::Client;
use crate::failure::Failure;
use crate::git;

/// The citations that flags name. A log record's time is looked up, and what a file of the work tree here says.
///
/// # Errors
/// [`Failure::Usage`] for a form that is none, or [`Failure`] of the server.
pub async fn resolve(client: &Client, cite: &Cite) -> Result<Vec<Citation>, Failure> {
    let mut citations = Vec::new();
    for text in &cite.citations {
        let mut citation = parse(text).map_err(Failure::Usage)?;
        match &mut citation {
            Citation::Log { id, time } => {
                let record: RecordId = id.parse().map_err(Failure::Core)?;
                *time = client.record(&record).await?.time;
            }
            Citation::File {
                path,
                lines,
                fingerprint: fingerprint @ None,
            } => *fingerprint = gate::fingerprint(path, *lines),
            _ => {}
        }
        citations.push(citation);
    }
    Ok(citations)
}

fn parse(text: &str) -> Result<Citation, String> {
    if text.starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| format!("--cite '{text}' is no citation: {error}"));
    }
    let unknown = || {
        format!(
            "--cite '{text}' is no citation: log:, excerpt:, snapshot:, commit:, file:, human: or JSON is \
             expected"
        )
    };
    let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
    Ok(match kind {
        "log" => Citation::Log {
            id: rest.to_owned(),
            time: Default::default(),
        },
        "snapshot" => Citation::TerminalSnapshot {
            id: rest.to_owned(),
        },
        "excerpt" => {
            let form = || format!("--cite '{text}' is no excerpt:SCOPE#NUMBER:FROM-TO");
            let (id, range) = rest.rsplit_once(':').ok_or_else(form)?;
            let (from, to) = bytes(range).map_err(|why| format!("{}: {why}", form()))?;
            let id = id.to_owned();
            Citation::Excerpt { id, from, to }
        }
        "human" => Citation::Human {
            user: rest.to_owned(),
        },
        "commit" => commit(rest)?,
        "file" => file(rest)?,
        _ => return Err(unknown()),
    })
}

fn commit(text: &str) -> Result<Citation, String> {
    if let Some((hash, repository)) = text.split_once('@') {
        return Ok(Citation::Commit {
            hash: hash.to_owned(),
            repository: repository.to_owned(),
        });
    }
    let here = git::head(".".as_ref()).ok_or("name the repository: commit:HASH@REPOSITORY")?;
    Ok(Citation::Commit {
        hash: text.to_owned(),
        repository: here.repository,
    })
}

fn file(text: &str) -> Result<Citation, String> {
    let range = text.rsplit_once(':').and_then(|(path, range)| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((path, [first.parse().ok()?, last.parse().ok()?]))
    });
    Ok(match range {
        Some((path, lines)) => Citation::File {
            path: path.to_owned(),
            lines: Some(lines),
            fingerprint: None,
        },
        None => Citation::File {
            path: text.to_owned(),
            lines: None,
            fingerprint: None,
        },
    })
}

/// A citation on one line, for a person.
#[must_use]
pub fn line(citation: &Citation) -> String {
    match citation {
        Citation::Commit { hash, repository } => format!("commit {hash} of {repository}"),
        Citation::File {
            path,
            lines: Some([first, last]),
            ..
        } => format!("file {path}:{first}-{last}"),
        Citation::File { path, .. } => format!("file {path}"),
        Citation::Symbol { name, file, .. } => format!("symbol {name} in {file}"),
        Citation::TerminalSnapshot { id } => format!("snapshot {id}"),
        Citation::Log { id, .. } => format!("log {id}"),
        Citation::Excerpt { id, from, to } => format!("bytes {from}-{to} of {id}"),
        Citation::Human { user } => format!("human {user}"),
        Citation::Test { name, outcome, run } => {
            format!("{name} ({outcome:?}) in run {run}").to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_and_json_are_read() {
        assert_eq!(
            parse("commit:abcdef1@https://h/r").unwrap(),
            Citation::Commit {
                hash: "abcdef1".into(),
                repository: "https://h/r".into()
            }
        );
        assert_eq!(
            parse("file:src/a.rs:3-9").unwrap(),
            Citation::File {
                path: "src/a.rs".into(),
                lines: Some([3, 9]),
                fingerprint: None
            }
        );
        assert_eq!(
            parse("file:a:b").unwrap(),
            Citation::File {
                path: "a:b".into(),
                lines: None,
                fingerprint: None
            }
        );
        assert!(matches!(
            parse("snapshot:org/a#3").unwrap(),
            Citation::TerminalSnapshot { .. }
        ));
        assert!(matches!(
            parse("{\"kind\":\"human\",\"user\":\"kim\"}").unwrap(),
            Citation::Human { .. }
        ));
        assert_eq!(
            parse("excerpt:org/a#3:4-19").unwrap(),
            Citation::Excerpt {
                id: "org/a#3".into(),
                from: 4,
                to: 19
            }
        );
        for bad in [
            "",
            "x",
            "nothing:x",
            "{",
            "{}",
            "excerpt:org/a#3",
            "excerpt:org/a#3:9-9",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
