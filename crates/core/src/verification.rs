//! Verifications: what somebody entitled to judge said about a task's work.
//!
//! Owns the record's form and what each source is worth. It must not know promotion.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::circular::Approach;
use crate::citation::{self, Citation};
use crate::entry::Binding;
use crate::error::{Error, ErrorCode};
use crate::id::{Seq, VerificationId};
use crate::limits::{
    APPROACH_BYTES_MAX, APPROACH_NAME_BYTES_MAX, APPROACH_NAMES_MAX, ERROR_TEXT_BYTES_MAX,
    SHORT_TEXT_BYTES_MAX, WORDED_BYTES_MAX, WORDING_BYTES_FACTOR,
};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::time::Timestamp;

/// How often what is recorded is written: in an event, and in a row.
const WRITTEN: usize = 2;

/// How a verification ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work holds.
    Passed,
    /// It does not.
    Failed,
}

/// Where a verification comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationSource {
    /// The project's tests passed.
    TestsPassed,
    /// The project's tests failed.
    TestsFailed,
    /// The change was merged.
    PrMerged,
    /// A person approved it.
    HumanApproved,
    /// The same thing succeeded again.
    RepeatedSuccess,
}

impl VerificationSource {
    /// All sources.
    pub const ALL: [Self; 5] = [
        Self::TestsPassed,
        Self::TestsFailed,
        Self::PrMerged,
        Self::HumanApproved,
        Self::RepeatedSuccess,
    ];

    /// The source's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TestsPassed => "tests_passed",
            Self::TestsFailed => "tests_failed",
            Self::PrMerged => "pr_merged",
            Self::HumanApproved => "human_approved",
            Self::RepeatedSuccess => "repeated_success",
        }
    }

    /// Whether a verification from this source can have this outcome.
    #[must_use]
    pub const fn allows(self, outcome: Outcome) -> bool {
        matches!((self, outcome), (Self::TestsFailed, Outcome::Failed))
            || (!matches!(self, Self::TestsFailed) && matches!(outcome, Outcome::Passed))
    }
}

impl fmt::Display for VerificationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for VerificationSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|source| source.as_str() == text).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArgument,
                "the sources are tests_passed, tests_failed, pr_merged, human_approved and repeated_success",
            )
        })
    }
}

/// A verification as its recorder hands it over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewVerification {
    /// How it ended.
    pub outcome: Outcome,
    /// Where it comes from.
    pub source: VerificationSource,
    /// The run, such as a CI job's id. The same run validates an entry once.
    pub run: String,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// The commit that was verified, if there is a repository.
    pub binding: Binding,
    /// What went wrong, on failure.
    pub error: Option<String>,
    /// The approach that was tried, on failure.
    pub approach: Option<String>,
    /// Where the knowledge goes; the task's project when none is named.
    pub target: Option<Scope>,
}

impl NewVerification {
    /// Checks the form: sizes, and an outcome that its source allows.
    ///
    /// # Errors
    /// `too_large`, `invalid_argument` or `unresolvable_citation`.
    pub fn check_form(&self) -> Result<(), Error> {
        if !self.source.allows(self.outcome) {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "tests_failed goes with failed, and every other source with passed",
            ));
        }
        if self.run.trim().is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "a verification names its run",
            ));
        }
        let texts = [
            ("run id bytes", Some(&self.run), SHORT_TEXT_BYTES_MAX),
            (
                "error text bytes",
                self.error.as_ref(),
                ERROR_TEXT_BYTES_MAX,
            ),
            (
                "approach bytes",
                self.approach.as_ref(),
                ERROR_TEXT_BYTES_MAX,
            ),
        ];
        for (what, text, limit) in texts {
            let bytes = text.map_or(0, String::len);
            if bytes > limit {
                return Err(Error::too_large(what, limit as u64, bytes as u64));
            }
        }
        if let Binding::Commit { hash, repository } = &self.binding {
            Citation::Commit {
                hash: hash.clone(),
                repository: repository.clone(),
            }
            .check_form()?;
        }
        self.binding.check_bound()?;
        citation::check_all(&self.citations)
    }

    /// Bytes that recording it writes of its error and its approach.
    #[must_use]
    pub fn written_bytes(&self) -> usize {
        let texts = [&self.error, &self.approach].into_iter().flatten();
        WRITTEN * texts.map(String::len).sum::<usize>()
    }
}

/// A failed verification as its recorder hands it over, with what the fix was that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFailure {
    /// The verification; its approach says in words what was tried.
    pub said: NewVerification,
    /// The files that the approach touches, by their paths from the root of the work tree.
    pub files: Vec<String>,
    /// The symbols that it touches.
    pub symbols: Vec<String>,
}

impl NewFailure {
    /// Checks the form: that of its verification, that this one failed, and what it says of the approach.
    ///
    /// # Errors
    /// `too_large`, `invalid_argument` or `unresolvable_citation`.
    pub fn check_form(&self) -> Result<(), Error> {
        if self.said.outcome != Outcome::Failed {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "what an approach touches is told of one that failed",
            ));
        }
        self.said.check_form()?;
        match &self.said.approach {
            Some(text) => check_stated(text)?,
            None if self.files.is_empty() && self.symbols.is_empty() => {}
            None => {
                let why = "files and symbols are those of an approach, and none is told";
                return Err(Error::new(ErrorCode::InvalidArgument, why));
            }
        }
        check_names("files of an approach", &self.files)?;
        check_names("symbols of an approach", &self.symbols)?;
        let approach = self.said.approach.as_deref().unwrap_or_default();
        check_bytes(approach, &self.files, &self.symbols)
    }

    /// Bytes that recording it writes of all that it says: beside its verification an event and a row, each with the approach,
    /// the names of what that touches, and its wording where that is kept.
    #[must_use]
    pub fn written_bytes(&self) -> usize {
        let names = self.files.iter().chain(&self.symbols).map(String::len);
        let approach = self.said.approach.as_ref().map_or(0, String::len);
        let tried = approach + names.sum::<usize>();
        let wording = if tried <= WORDED_BYTES_MAX {
            WORDING_BYTES_FACTOR * tried
        } else {
            0
        };
        self.said.written_bytes() + WRITTEN * (tried + wording)
    }
}

/// Checks an approach that is proposed: that it says something, and not too much.
///
/// # Errors
/// `too_large`, `invalid_argument`.
pub fn check_approach(approach: &Approach) -> Result<(), Error> {
    check_stated(&approach.text)?;
    if approach.text.len() > ERROR_TEXT_BYTES_MAX {
        let (limit, given) = (ERROR_TEXT_BYTES_MAX as u64, approach.text.len() as u64);
        return Err(Error::too_large("approach bytes", limit, given));
    }
    check_names("files of an approach", &approach.files)?;
    check_names("symbols of an approach", &approach.symbols)?;
    check_bytes(&approach.text, &approach.files, &approach.symbols)
}

/// Checks that an approach says something.
fn check_stated(text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        let why = "an approach is not empty";
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    Ok(())
}

/// Checks names of one sort that an approach touches.
fn check_names(what: &'static str, names: &[String]) -> Result<(), Error> {
    if names.len() > APPROACH_NAMES_MAX {
        let (limit, given) = (APPROACH_NAMES_MAX as u64, names.len() as u64);
        return Err(Error::too_large(what, limit, given));
    }
    for name in names {
        if name.trim().is_empty() {
            let why = format!("{what}: a name is empty");
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        if name.len() > APPROACH_NAME_BYTES_MAX {
            let (limit, given) = (APPROACH_NAME_BYTES_MAX as u64, name.len() as u64);
            return Err(Error::too_large(what, limit, given));
        }
    }
    Ok(())
}

/// Checks how much an approach says with all its names.
fn check_bytes(approach: &str, files: &[String], symbols: &[String]) -> Result<(), Error> {
    let names = files.iter().chain(symbols).map(String::len);
    let bytes = approach.len() + names.sum::<usize>();
    if bytes > APPROACH_BYTES_MAX {
        let (limit, given) = (APPROACH_BYTES_MAX as u64, bytes as u64);
        return Err(Error::too_large(
            "bytes of an approach with its names",
            limit,
            given,
        ));
    }
    Ok(())
}

/// A verification as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Its id, and the id of the promotion that it starts.
    pub id: VerificationId,
    /// What was said.
    pub said: NewVerification,
    /// Who said it, and so authorised what it promotes.
    pub recorder: Actor,
    /// When.
    pub time: Timestamp,
    /// It speaks for the records after this position...
    pub from: Seq,
    /// ...up to and including this one.
    pub through: Seq,
    /// Where the knowledge goes.
    pub target: Scope,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_and_source_must_agree() {
        for source in VerificationSource::ALL {
            let failed = source == VerificationSource::TestsFailed;
            assert_eq!(source.allows(Outcome::Failed), failed);
            assert_eq!(source.allows(Outcome::Passed), !failed);
            assert_eq!(
                source.as_str().parse::<VerificationSource>().unwrap(),
                source
            );
        }
    }

    fn failure(approach: Option<&str>, files: &[String]) -> NewFailure {
        NewFailure {
            said: NewVerification {
                outcome: Outcome::Failed,
                source: VerificationSource::TestsFailed,
                run: "r".into(),
                citations: Vec::new(),
                binding: Binding::NoRepository,
                error: Some("e".into()),
                approach: approach.map(str::to_owned),
                target: None,
            },
            files: files.to_vec(),
            symbols: Vec::new(),
        }
    }

    fn code(checked: Result<(), Error>) -> Option<ErrorCode> {
        checked.err().map(|refused| refused.code)
    }

    #[test]
    fn what_a_fix_touches_is_told_of_an_approach_that_failed() {
        let file = ["src/a.rs".to_owned()];
        assert_eq!(code(failure(None, &[]).check_form()), None);
        assert_eq!(code(failure(Some("a"), &file).check_form()), None);
        let invalid = Some(ErrorCode::InvalidArgument);
        assert_eq!(code(failure(Some(" "), &[]).check_form()), invalid);
        assert_eq!(code(failure(None, &file).check_form()), invalid);
        assert_eq!(
            code(failure(Some("a"), &[" ".into()]).check_form()),
            invalid
        );
        let mut passed = failure(Some("a"), &[]);
        passed.said.outcome = Outcome::Passed;
        passed.said.source = VerificationSource::TestsPassed;
        assert_eq!(code(passed.check_form()), invalid);
    }

    #[test]
    fn an_approach_has_so_many_names_so_long_and_as_much_with_all_of_them() {
        let name = |bytes: usize| "n".repeat(bytes);
        let large = Some(ErrorCode::TooLarge);
        for (text, files, expected) in [
            (1, vec![name(APPROACH_NAME_BYTES_MAX)], None),
            (1, vec![name(APPROACH_NAME_BYTES_MAX + 1)], large),
            (1, vec![name(1); APPROACH_NAMES_MAX], None),
            (1, vec![name(1); APPROACH_NAMES_MAX + 1], large),
            (ERROR_TEXT_BYTES_MAX + 1, vec![], large),
            (
                ERROR_TEXT_BYTES_MAX,
                vec![name(APPROACH_NAME_BYTES_MAX); APPROACH_NAMES_MAX],
                None,
            ),
        ] {
            let text = "t".repeat(text);
            assert_eq!(code(failure(Some(&text), &files).check_form()), expected);
            let approach = Approach {
                text: text.clone(),
                files: Vec::new(),
                symbols: files.clone(),
            };
            assert_eq!(code(check_approach(&approach)), expected);
            // Each is short, and all of them are not.
            let both = Approach {
                files: files.clone(),
                ..approach
            };
            let bytes = text.len() + 2 * files.iter().map(String::len).sum::<usize>();
            let is_over = bytes > APPROACH_BYTES_MAX;
            let expected = expected.or(is_over.then_some(ErrorCode::TooLarge));
            assert_eq!(code(check_approach(&both)), expected, "{bytes}");
        }
    }

    #[test]
    fn all_that_a_failure_says_counts_as_often_as_it_is_written() {
        let file = ["four".to_owned(), "seven77".to_owned()];
        let (said, tried) = (1 + 3, 3 + 4 + 7);
        let wording = WORDING_BYTES_FACTOR * tried;
        let failed = failure(Some("abc"), &file);
        assert_eq!(failed.written_bytes(), 2 * said + 2 * (tried + wording));
        assert_eq!(failed.said.written_bytes(), 2 * said);
        assert_eq!(failure(None, &[]).written_bytes(), 2);
        // Of a long one no wording is kept.
        let long = failure(Some(&"a".repeat(WORDED_BYTES_MAX)), &file);
        let tried = WORDED_BYTES_MAX + 4 + 7;
        assert_eq!(long.written_bytes(), 2 * (1 + WORDED_BYTES_MAX) + 2 * tried);
    }
}
