//! Citations on the wire.

use serde::{Deserialize, Serialize};
use sillok_core::citation::{self, Excerpt, TestOutcome};
use sillok_core::error::Error;
use sillok_core::principal::PrincipalId;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::schema;

/// One source of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Citation {
    /// A commit of a repository.
    Commit {
        /// The commit's hash, in hexadecimal.
        #[schema(value_type = schema::CommitHash)]
        hash: String,
        /// The repository, as its remote or path names it.
        #[schema(value_type = schema::Line)]
        repository: String,
    },
    /// A range of lines of a file.
    File {
        /// Path from the root of the work tree.
        #[schema(value_type = schema::Line)]
        path: String,
        /// First and last line, counted from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<u32>>, min_items = 2, max_items = 2)]
        lines: Option<[u32; 2]>,
        /// BLAKE3 of the cited range, in hexadecimal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
    },
    /// A named piece of code.
    Symbol {
        /// Id in the code graph.
        #[schema(value_type = schema::Line)]
        id: String,
        /// The symbol's name.
        #[schema(value_type = schema::Line)]
        name: String,
        /// Path of the file that defines it.
        #[schema(value_type = schema::Line)]
        file: String,
        /// The signature it had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A terminal snapshot in the audit log.
    TerminalSnapshot {
        /// Where it stands.
        #[schema(value_type = schema::RecordId)]
        id: String,
    },
    /// A log record in the audit log.
    Log {
        /// Where it stands.
        #[schema(value_type = schema::RecordId)]
        id: String,
        /// When it was written.
        #[serde(default)]
        #[schema(value_type = schema::Timestamp)]
        time: Timestamp,
    },
    /// A person's word.
    Human {
        /// Who.
        user: String,
    },
    /// The outcome of a test run.
    Test {
        /// What ran.
        #[schema(value_type = schema::Line)]
        name: String,
        /// How it ended.
        #[schema(value_type = schema::TestOutcome)]
        outcome: TestOutcome,
        /// The run, as the verification names it.
        #[schema(value_type = schema::Line)]
        run: String,
    },
    /// A stretch of a record's text, or of what a task was opened with (its title, a line break, its
    /// description).
    Excerpt {
        /// Where the text stands.
        #[schema(value_type = schema::RecordId)]
        id: String,
        /// Its first byte, from 0.
        from: u32,
        /// The byte behind its last one.
        to: u32,
    },
}

impl TryFrom<Citation> for citation::Citation {
    type Error = Error;

    fn try_from(wire: Citation) -> Result<Self, Error> {
        Ok(match wire {
            Citation::Commit { hash, repository } => Self::Commit { hash, repository },
            Citation::File {
                path,
                lines,
                fingerprint,
            } => Self::File {
                path,
                lines: lines.map(|[first, last]| (first, last)),
                fingerprint,
            },
            Citation::Symbol {
                id,
                name,
                file,
                signature,
            } => Self::Symbol {
                id,
                name,
                file,
                signature,
            },
            Citation::TerminalSnapshot { id } => Self::TerminalSnapshot { id: id.parse()? },
            Citation::Log { id, time } => Self::Log {
                id: id.parse()?,
                time,
            },
            Citation::Human { user } => Self::Human {
                user: PrincipalId::parse(&user)?,
            },
            Citation::Test { name, outcome, run } => Self::Test { name, outcome, run },
            Citation::Excerpt { id, from, to } => Self::Excerpt(Excerpt {
                record: id.parse()?,
                from,
                to,
            }),
        })
    }
}

impl From<citation::Citation> for Citation {
    fn from(citation: citation::Citation) -> Self {
        match citation {
            citation::Citation::Commit { hash, repository } => Self::Commit { hash, repository },
            citation::Citation::File {
                path,
                lines,
                fingerprint,
            } => Self::File {
                path,
                lines: lines.map(|(first, last)| [first, last]),
                fingerprint,
            },
            citation::Citation::Symbol {
                id,
                name,
                file,
                signature,
            } => Self::Symbol {
                id,
                name,
                file,
                signature,
            },
            citation::Citation::TerminalSnapshot { id } => {
                Self::TerminalSnapshot { id: id.to_string() }
            }
            citation::Citation::Log { id, time } => Self::Log {
                id: id.to_string(),
                time,
            },
            citation::Citation::Human { user } => Self::Human {
                user: user.to_string(),
            },
            citation::Citation::Test { name, outcome, run } => Self::Test { name, outcome, run },
            citation::Citation::Excerpt(Excerpt { record, from, to }) => Self::Excerpt {
                id: record.to_string(),
                from,
                to,
            },
        }
    }
}

/// The rules' citations from those of a request.
pub(super) fn parse_all(wire: Vec<Citation>) -> Result<Vec<citation::Citation>, Error> {
    wire.into_iter().map(TryInto::try_into).collect()
}

/// The wire form of an entry's citations.
pub(super) fn all(citations: Vec<citation::Citation>) -> Vec<Citation> {
    citations.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_citation_goes_there_and_back() {
        let kinds = [
            r#"{"kind":"commit","hash":"abcdef1","repository":"r"}"#,
            r#"{"kind":"file","path":"src/a.rs","lines":[1,4]}"#,
            r#"{"kind":"symbol","id":"i","name":"n","file":"f"}"#,
            r#"{"kind":"terminal_snapshot","id":"org/a#3"}"#,
            r#"{"kind":"log","id":"org/a#3","time":5}"#,
            r#"{"kind":"human","user":"kim"}"#,
            r#"{"kind":"test","name":"t","outcome":"pass","run":"1"}"#,
            r#"{"kind":"excerpt","id":"org/a#3","from":4,"to":9}"#,
        ];
        for text in kinds {
            let wire: Citation = serde_json::from_str(text).unwrap();
            let core = citation::Citation::try_from(wire.clone()).unwrap();
            assert_eq!(Citation::from(core), wire);
            assert_eq!(serde_json::to_string(&wire).unwrap(), text);
        }
    }

    #[test]
    fn a_citation_with_a_wrong_name_or_field_is_refused() {
        let wire: Citation =
            serde_json::from_str(r#"{"kind":"log","id":"nowhere","time":5}"#).unwrap();
        assert!(citation::Citation::try_from(wire).is_err());
        assert!(
            serde_json::from_str::<Citation>(r#"{"kind":"human","user":"kim","extra":1}"#).is_err()
        );
    }
}
