//! Outcomes: what a command's output says about errors and tests.
//!
//! Owns the shapes of common tools' output. It must not know which command printed it.

use core::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::exit::{self, Exit};
use super::sentence::clip;

/// Errors and failed tests that one output gives.
const FOUND_MAX: usize = 4;
/// Characters of an error that a fact quotes.
const ERROR_CHARS_MAX: usize = 200;

/// What an output says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Messages of errors, without place and time.
    pub(super) errors: Vec<Found>,
    /// Failed tests.
    pub(super) failed_tests: Vec<FailedTest>,
    /// A test runner's summary, such as `1 failed, 3 passed`: the last that counts a failure, else
    /// the last.
    pub(super) summary: Option<Found>,
    /// Whether that summary counts a failure.
    tests_failed: bool,
    /// The code that a line of it says the command ended with.
    pub(super) exit: Option<Exit>,
    /// Whether all that went wrong is that its time was over.
    pub(super) timed_out: bool,
}

/// Something that an output says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// It.
    pub(super) text: String,
    /// Where it stands in the output, in bytes.
    pub(super) at: Range<usize>,
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedTest {
    /// Its name.
    pub(super) name: String,
    /// Why; may be empty.
    pub(super) message: String,
    /// Where both stand in the output, in bytes.
    pub(super) at: Range<usize>,
}

impl Outcome {
    /// Reads an output without control codes.
    pub(super) fn of(output: &str) -> Self {
        let mut outcome = Self::default();
        for test in FAILED_TEST.captures_iter(output).take(FOUND_MAX) {
            let name = ["pytest", "cargo", "go", "unittest"]
                .iter()
                .find_map(|tool| test.name(tool));
            let message = test.name("message").map_or("", |message| message.as_str());
            let name = name.map_or("", |name| name.as_str()).to_owned();
            outcome.failed_tests.push(FailedTest {
                name,
                message: clip(message, ERROR_CHARS_MAX),
                at: test.get_match().range(),
            });
        }
        let summary = summary(output);
        outcome.tests_failed = summary.as_ref().is_some_and(|told| told.counts.are_red());
        outcome.summary = summary.map(Summary::told);
        let passed_until = match outcome.tests_failed || !outcome.failed_tests.is_empty() {
            true => 0,
            false => passed_until(output),
        };
        let mut others = !outcome.failed_tests.is_empty();
        for error in ERROR.captures_iter(output) {
            let timed_out = error.name("timeout");
            // A test that passed may log that.
            if timed_out.is_some_and(|timeout| timeout.end() <= passed_until) {
                continue;
            }
            others |= timed_out.is_none();
            let message = clip(error["message"].trim_end_matches('.'), ERROR_CHARS_MAX);
            let tests = &outcome.failed_tests;
            let told = tests.iter().any(|test| test.message.contains(&message))
                || outcome.errors.iter().any(|known| known.text == message);
            if !told && outcome.errors.len() < FOUND_MAX {
                outcome.errors.push(Found {
                    text: message,
                    at: error.get_match().range(),
                });
            }
        }
        outcome.timed_out = !others && !outcome.errors.is_empty();
        outcome.exit = exit::told(output, passed_until);
        outcome
    }

    /// Whether the output tells of a failure otherwise than by a code: what a code says depends on the command.
    pub(super) fn failed(&self) -> bool {
        self.is_red() || !self.errors.is_empty() || !self.failed_tests.is_empty()
    }

    /// Whether its summary of tests counts a failure.
    pub(super) fn is_red(&self) -> bool {
        self.tests_failed
    }
}

/// Counts of tests that stand together in one line.
struct Summary {
    counts: Counts,
    /// Where they stand in the output, in bytes.
    at: Range<usize>,
    /// Whether it is a bare "N failed" within a line, which may be of anything.
    is_doubtful: bool,
}

impl Summary {
    fn told(self) -> Found {
        Found {
            text: self.counts.told(),
            at: self.at,
        }
    }
}

/// What a summary counts; none of what it does not speak of.
struct Counts {
    failed: Option<u64>,
    passed: Option<u64>,
    /// Of tests that could not be run.
    errors: Option<u64>,
}

impl Counts {
    fn of(counts: &str) -> Self {
        let number = |of: &str| -> Option<u64> {
            let mut found = COUNT.captures_iter(counts);
            let found = found.find(|count| count["of"].starts_with(of))?;
            found["number"].parse().ok()
        };
        Self {
            failed: number("failed"),
            passed: number("passed").or_else(|| number("succeeded")),
            errors: number("error"),
        }
    }

    fn are_red(&self) -> bool {
        self.failed.is_some_and(|failed| failed > 0) || self.errors.is_some_and(|errors| errors > 0)
    }

    /// Whether it is tests that are counted, where the counts come `after_word` and before `rest`:
    /// anything may pass, fail or have errors.
    fn are_of_tests(&self, after_word: bool, rest: &str) -> bool {
        let errors = self.errors.is_some_and(|errors| errors > 0);
        match (self.passed, self.failed) {
            (Some(_), _) => true,
            (None, Some(_)) => errors || (!after_word && stands_alone(rest)),
            (None, None) => errors && DURATION.is_match(rest),
        }
    }

    /// "N failed, M passed", of what was counted.
    fn told(&self) -> String {
        let mut told = Vec::new();
        // That nothing failed goes without saying where something passed.
        if let Some(failed) = self.failed
            && (failed > 0 || self.passed.is_none())
        {
            told.push(format!("{failed} failed"));
        }
        if let Some(passed) = self.passed {
            told.push(format!("{passed} passed"));
        }
        if let Some(errors) = self.errors
            && errors > 0
        {
            let plural = if errors == 1 { "" } else { "s" };
            told.push(format!("{errors} error{plural}"));
        }
        told.join(", ")
    }
}

/// Whether "N failed" before `rest` says all: `3 failed logins` and `1 failed, retrying` go on.
fn stands_alone(rest: &str) -> bool {
    if let Some(next) = rest.strip_prefix(", ") {
        return next.starts_with(|first: char| first.is_ascii_digit());
    }
    match rest.strip_prefix(' ') {
        Some(next) => next.starts_with("in ") || !next.starts_with(char::is_alphanumeric),
        None => !rest.starts_with('-'),
    }
}

/// Whether what comes after `before` is the first of its line. Only blanks are looked back over: a line may be as long
/// as a record and hold a count in every ninth byte.
fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    before.is_empty() || before.ends_with('\n')
}

/// All summaries of tests in the output.
fn summaries(output: &str) -> impl Iterator<Item = Summary> {
    SUMMARY.captures_iter(output).filter_map(move |found| {
        let (share, pair) = (found.name("share"), found.name("pair"));
        let stretch = share.or(pair).or_else(|| found.name("counts"))?;
        let counts = Counts::of(stretch.as_str());
        let rest = &output[stretch.end()..];
        let is_of_tests = counts.are_of_tests(found.name("word").is_some(), rest)
            && (pair.is_none() || stands_alone(rest));
        let is_bare = COUNT.find(stretch.as_str()).map(|count| count.len()) == Some(stretch.len());
        is_of_tests.then(|| Summary {
            is_doubtful: is_bare
                && share.is_none()
                && !DURATION.is_match(rest)
                && !begins_line(&output[..stretch.start()]),
            counts,
            at: stretch.range(),
        })
    })
}

/// The last summary that counts a failure, else the last. One that may count anything is not held against a later one.
///
/// One output often holds several: of each binary, of each package, or of tests and then of
/// snapshots. A later one does not take a failure back, and nobody can tell here whether what failed
/// was run again; so the output is red, and what is said of it is what made it so.
fn summary(output: &str) -> Option<Summary> {
    let is_red = |summary: &Summary| summary.counts.are_red() && !summary.is_doubtful;
    let red = summaries(output).filter(is_red).last();
    red.or_else(|| summaries(output).last())
}

/// Where the last summary that tells of tests which passed begins; else 0.
fn passed_until(output: &str) -> usize {
    let passed = summaries(output).filter(|summary| summary.counts.passed > Some(0));
    passed.last().map_or(0, |summary| summary.at.start)
}

static FAILED_TEST: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^(?:FAILED (?P<pytest>[^\s:]+::\S+)(?: - (?P<message>.+))?|test (?P<cargo>\S+) \.\.\. FAILED|\s*--- FAIL: (?P<go>\S+).*|(?:FAIL|ERROR): (?P<unittest>\w+) \(.+\))$";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    // What a checker or a bundler counts; one that mended all of them says so in what follows.
    let counted = r"Found [1-9]\d* errors?(?: in (?:\d+ files?\b|\S+:\d+|the same file\b).*| \(\d+ fixed, [1-9]\d* remaining\))?\.?\r?|(?:[\w-]+ \()?webpack(?: \d[\w.-]*)?\)? compiled with [1-9]\d* errors?\b.*";
    // What it goes on after says `(ignored)`, without the stars.
    let make = r"[\w.-]*make(?:\[\d+\])?: \*\*\* (?:\[.+|.+\bStop\.)\r?";
    let pattern = format!(
        r"(?m)^\s*(?:- |E\s+)?(?P<message>(?:[A-Z]\d{{3,4}} )?(?:[A-Za-z_]+\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .+)?|error(?:\[E\d+\])?: .+|(?:fatal|FATAL): .+|npm (?:ERR! .+|error code \S+)|{make}|.*: command not found|.*: No such file or directory|.*panicked at .+|{counted}|(?P<timeout>(?i:.*\btimed out after \d.*|.*\b(?:execution|command|process|program|script) (?:has |was )?timed out\b.*)))$"
    );
    Regex::new(&pattern).expect("the pattern is fixed and tested")
});

/// Counts in one line, such as `1 failed, 2 skipped, 3 passed` or `3 passed (2 steps) | 1 failed`.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let count = r"\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|ignored|flaky|todo|pending|total)\b";
    let then = r"(?: \([^()\n]*\))?(?:[,;]| +\||,? and) +";
    // A number that is part of something counts nothing: a port, a fraction, a name. One that
    // follows a word may say which: `attempt 2 failed`.
    let counts = format!(
        r"(?:(?P<word>[[:alpha:]]) |^|[^\w\n.,:/@#-])(?P<counts>{count}(?:{then}{count})*)"
    );
    let pattern = format!("(?m)(?:{SHARE}|{}|{counts})", pair());
    Regex::new(&pattern).expect("the pattern is fixed and tested")
});

/// `✖  1 of 3 failed (33%)`, at the end of a table of Cypress': alone in its line, or before its other columns.
const SHARE: &str = r"^[^\w\n]*(?P<share>\d+ of \d+ failed) \(\d+%\)(?:[ \t]+\d|[ \t\r]*$)";

/// `3 succeeded and 1 failed`. Anything may succeed: its line says that it is of tests, or says nothing else.
fn pair() -> String {
    let tests = r"(?i:tests|specs|suites|scenarios|test (?:cases?|results?|run|suite|summary))";
    let alone = r"[^\pL\n]*(?:(?i:results?|summary)[^\pL\n]*)?";
    let pair = r"\d+ (?:succeeded(?:,|,? and) +\d+ failed|failed,? and +\d+ succeeded)\b";
    format!(r"^(?:(?:{alone}|.*\b{tests}\b.*)[^\w\n.,:/@#-])?(?P<pair>{pair})")
}

/// One count of those that a summary is told by.
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?P<number>\d+)(?: of \d+)? (?P<of>failed|passed|succeeded|errors?)\b";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

/// The time that a run took, as pytest ends a summary.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^ in \d+(?:\.\d+)?s\b";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

#[cfg(test)]
mod tests;
