//! Citations: what a piece of knowledge rests on.
//!
//! Owns the kinds of source and which of them prove something. It must not know how a source is
//! looked up: that is a fact which the caller fetches (see [`crate::facts`]).

use serde::{Deserialize, Serialize};

use crate::commit::CommitName;
use crate::error::{Error, ErrorCode};
use crate::id::RecordId;
use crate::limits::{CITATION_BYTES_MAX, CITATIONS_MAX, SHORT_TEXT_BYTES_MAX};
use crate::principal::PrincipalId;
use crate::time::Timestamp;

mod hash;

pub use hash::CitationsHash;

/// A stretch of a text of the audit log: of a record's, or of what a task was opened with (its title, a line
/// break, its description).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Excerpt {
    /// Where the text stands.
    pub record: RecordId,
    /// Its first byte, from 0.
    pub from: u32,
    /// The byte behind its last one.
    pub to: u32,
}

impl Excerpt {
    /// What it says, where `text` is its record's; none when the text has no such stretch.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.within(0, text)
    }

    /// The same where `part` is the part of its record's text that begins at the byte `begins`.
    #[must_use]
    pub fn within<'a>(&self, begins: u32, part: &'a str) -> Option<&'a str> {
        let place = |byte: u32| usize::try_from(byte.checked_sub(begins)?).ok();
        let (from, to) = (place(self.from)?, place(self.to)?);
        part.get(from..to).filter(|stretch| !stretch.is_empty())
    }
}

/// One source of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Citation {
    /// A commit of a repository.
    Commit {
        /// The commit's hash, in hexadecimal.
        hash: String,
        /// The repository, as its remote or path names it.
        repository: String,
    },
    /// A range of lines of a file.
    File {
        /// Path from the root of the work tree.
        path: String,
        /// First and last line, counted from 1.
        lines: Option<(u32, u32)>,
        /// BLAKE3 of the cited range, in hexadecimal.
        fingerprint: Option<String>,
    },
    /// A named piece of code.
    Symbol {
        /// Id in the code graph.
        id: String,
        /// The symbol's name.
        name: String,
        /// Path of the file that defines it.
        file: String,
        /// The signature it had.
        signature: Option<String>,
    },
    /// A terminal snapshot in the audit log.
    TerminalSnapshot {
        /// Where it stands.
        id: RecordId,
    },
    /// A log record in the audit log.
    Log {
        /// Where it stands.
        id: RecordId,
        /// When it was written.
        time: Timestamp,
    },
    /// A person's word.
    Human {
        /// Who.
        user: PrincipalId,
    },
    /// The outcome of a test run.
    Test {
        /// What ran.
        name: String,
        /// How it ended.
        outcome: TestOutcome,
        /// The run, as the verification names it.
        run: String,
    },
    /// What a record says in one place, or what a task was opened with.
    Excerpt(Excerpt),
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
}

impl Citation {
    /// Whether this is the kind of source that can verify: a passed test or a person. Whether it
    /// does depends on what stands behind it.
    #[must_use]
    pub const fn can_verify(&self) -> bool {
        matches!(
            self,
            Self::Human { .. }
                | Self::Test {
                    outcome: TestOutcome::Pass,
                    ..
                }
        )
    }

    /// The record that must exist for the citation to resolve, if it names one.
    #[must_use]
    pub const fn record(&self) -> Option<&RecordId> {
        match self {
            Self::TerminalSnapshot { id } | Self::Log { id, .. } => Some(id),
            Self::Excerpt(excerpt) => Some(&excerpt.record),
            _ => None,
        }
    }

    /// The commit that the citation names, if it names one.
    #[must_use]
    pub fn commit(&self) -> Option<CommitName> {
        match self {
            Self::Commit { hash, repository } => Some(CommitName::new(hash, repository)),
            _ => None,
        }
    }

    /// Bytes of the citation's texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        const RECORD_BYTES: usize = 8;
        let record = self
            .record()
            .map_or(0, |id| id.scope.as_str().len() + RECORD_BYTES);
        record + self.texts().iter().map(|text| text.len()).sum::<usize>()
    }

    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Commit { hash, repository } => vec![hash, repository],
            Self::File {
                path, fingerprint, ..
            } => core::iter::once(path.as_str())
                .chain(fingerprint.as_deref())
                .collect(),
            Self::Symbol {
                id,
                name,
                file,
                signature,
            } => [id.as_str(), name, file]
                .into_iter()
                .chain(signature.as_deref())
                .collect(),
            Self::Test { name, run, .. } => vec![name, run],
            Self::TerminalSnapshot { .. }
            | Self::Log { .. }
            | Self::Human { .. }
            | Self::Excerpt(_) => vec![],
        }
    }

    /// Checks the form of the citation: sizes, line order, a hexadecimal commit hash.
    ///
    /// # Errors
    /// `too_large` or `unresolvable_citation`.
    pub fn check_form(&self) -> Result<(), Error> {
        for text in self.texts() {
            if text.len() > SHORT_TEXT_BYTES_MAX {
                return Err(Error::too_large(
                    "citation text bytes",
                    SHORT_TEXT_BYTES_MAX as u64,
                    text.len() as u64,
                ));
            }
            if text.is_empty() {
                return Err(unresolvable("a citation has an empty field"));
            }
        }
        match self {
            Self::File {
                lines: Some((first, last)),
                ..
            } if *first == 0 || last < first => {
                Err(unresolvable("lines are counted from 1, first to last"))
            }
            Self::Commit { hash, .. } if !is_commit_hash(hash) => Err(unresolvable(
                "a commit is named by 7 to 64 hexadecimal digits",
            )),
            Self::Excerpt(excerpt) if excerpt.from >= excerpt.to => {
                Err(unresolvable("an excerpt holds at least one byte"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the number and form of an entry's citations.
///
/// # Errors
/// `too_large` or `unresolvable_citation`.
pub fn check_all(citations: &[Citation]) -> Result<(), Error> {
    if citations.len() > CITATIONS_MAX {
        return Err(Error::too_large(
            "citations",
            CITATIONS_MAX as u64,
            citations.len() as u64,
        ));
    }
    let bytes: usize = citations.iter().map(Citation::text_bytes).sum();
    if bytes > CITATION_BYTES_MAX {
        return Err(Error::too_large(
            "citation bytes",
            CITATION_BYTES_MAX as u64,
            bytes as u64,
        ));
    }
    citations.iter().try_for_each(Citation::check_form)
}

/// Joins two lists of citations: what is new in `more` is added behind `kept`, up to the limits.
#[must_use]
pub fn join(kept: &[Citation], more: &[Citation]) -> Vec<Citation> {
    let mut joined = kept.to_vec();
    let mut bytes: usize = kept.iter().map(Citation::text_bytes).sum();
    for citation in more {
        let fits =
            joined.len() < CITATIONS_MAX && bytes + citation.text_bytes() <= CITATION_BYTES_MAX;
        if fits && !joined.contains(citation) {
            bytes += citation.text_bytes();
            joined.push(citation.clone());
        }
    }
    joined
}

/// Whether `text` can name a commit.
#[must_use]
pub fn is_commit_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(crate) fn unresolvable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::UnresolvableCitation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(run: &str, outcome: TestOutcome) -> Citation {
        Citation::Test {
            name: "t".into(),
            outcome,
            run: run.into(),
        }
    }

    #[test]
    fn only_a_pass_or_a_person_can_verify() {
        assert!(test("r", TestOutcome::Pass).can_verify());
        assert!(!test("r", TestOutcome::Fail).can_verify());
        assert!(
            Citation::Human {
                user: PrincipalId::parse("kim").unwrap()
            }
            .can_verify()
        );
    }

    #[test]
    fn joining_repeats_nothing_and_keeps_order() {
        let a = [test("1", TestOutcome::Pass), test("2", TestOutcome::Pass)];
        let b = [test("2", TestOutcome::Pass), test("3", TestOutcome::Pass)];
        let joined = join(&a, &b);
        assert_eq!(joined.len(), 3);
        assert_eq!(joined[..2], a);
    }

    #[test]
    fn the_texts_of_all_citations_are_bounded_together() {
        let long = |run: u32| {
            test(
                &format!("{run}{}", "x".repeat(SHORT_TEXT_BYTES_MAX - 1)),
                TestOutcome::Pass,
            )
        };
        let many: Vec<Citation> = (0..9).map(long).collect();
        assert_eq!(check_all(&many).unwrap_err().code, ErrorCode::TooLarge);
        let joined = join(&[], &many);
        assert!(!joined.is_empty() && check_all(&joined).is_ok());
    }

    #[test]
    fn forms_are_checked() {
        let lines = |first, last| Citation::File {
            path: "a".into(),
            lines: Some((first, last)),
            fingerprint: None,
        };
        assert!(lines(1, 1).check_form().is_ok());
        assert!(lines(0, 1).check_form().is_err());
        assert!(lines(3, 2).check_form().is_err());
        assert!(
            Citation::Commit {
                hash: "zz".into(),
                repository: "r".into()
            }
            .check_form()
            .is_err()
        );
        assert!(test("", TestOutcome::Pass).check_form().is_err());
        let excerpt = |from, to| {
            Citation::Excerpt(Excerpt {
                record: "org/a/project/p/worktree/w/task/t#3".parse().unwrap(),
                from,
                to,
            })
        };
        assert!(excerpt(3, 4).check_form().is_ok());
        assert!(excerpt(4, 4).check_form().is_err());
    }

    #[test]
    fn an_excerpt_says_what_stands_there_and_nothing_where_nothing_does() {
        let said = |from, to| {
            let record = "org/a/project/p/worktree/w/task/t#3".parse().unwrap();
            Excerpt { record, from, to }
                .of("a 실록 z")
                .map(str::to_owned)
        };
        assert_eq!(said(2, 8).as_deref(), Some("실록"));
        assert_eq!(said(0, 10).as_deref(), Some("a 실록 z"));
        for nothing in [(3, 8), (0, 11), (9, 9), (9, 2), (40, 50)] {
            assert_eq!(said(nothing.0, nothing.1), None, "{nothing:?}");
        }
    }

    #[test]
    fn an_excerpt_counts_the_bytes_of_the_whole_text_where_a_part_of_it_is_read() {
        let said = |from, to| {
            let record = "org/a/project/p/worktree/w/task/t#3".parse().unwrap();
            let excerpt = Excerpt { record, from, to };
            excerpt.within(100, "a 실록 z").map(str::to_owned)
        };
        assert_eq!(said(102, 108).as_deref(), Some("실록"));
        for nothing in [(2, 8), (99, 101), (103, 108), (100, 111), (104, 102)] {
            assert_eq!(said(nothing.0, nothing.1), None, "{nothing:?}");
        }
    }
}
