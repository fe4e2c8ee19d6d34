//! Outcomes: what a command's output says about errors and tests.
//!
//! Owns the shapes of common tools' output. It must not know which command printed it.

use core::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

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
        outcome
    }

    /// Whether the output tells of a failure.
    pub(super) fn failed(&self) -> bool {
        self.tests_failed || !self.errors.is_empty() || !self.failed_tests.is_empty()
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
            passed: number("passed"),
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

/// All summaries of tests in the output.
fn summaries(output: &str) -> impl Iterator<Item = Summary> {
    SUMMARY.captures_iter(output).filter_map(move |found| {
        let stretch = found.name("counts")?;
        let counts = Counts::of(stretch.as_str());
        let rest = &output[stretch.end()..];
        let is_of_tests = counts.are_of_tests(found.name("word").is_some(), rest);
        let line = output[..stretch.start()]
            .rfind('\n')
            .map_or(0, |end| end + 1);
        let begins_line = output[line..stretch.start()].trim().is_empty();
        let is_bare = COUNT.find(stretch.as_str()).map(|count| count.len()) == Some(stretch.len());
        is_of_tests.then(|| Summary {
            is_doubtful: is_bare && !begins_line && !DURATION.is_match(rest),
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
    let pattern = format!(
        r"(?m)^\s*(?:- |E\s+)?(?P<message>(?:[A-Z]\d{{3,4}} )?(?:[A-Za-z_]+\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .+)?|error(?:\[E\d+\])?: .+|(?:fatal|FATAL): .+|npm ERR! .+|.*: command not found|.*: No such file or directory|.*panicked at .+|{counted}|(?P<timeout>(?i:.*\btimed out after \d.*|.*\b(?:execution|command|process|program|script) (?:has |was )?timed out\b.*)))$"
    );
    Regex::new(&pattern).expect("the pattern is fixed and tested")
});

/// Counts in one line, such as `1 failed, 2 skipped, 3 passed` or `3 passed (2 steps) | 1 failed`.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let count = r"\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|ignored|flaky|todo|pending|total)\b";
    let then = r"(?: \([^()\n]*\))?(?:[,;]| +\||,? and) +";
    // A number that is part of something counts nothing: a port, a fraction, a name. One that
    // follows a word may say which: `attempt 2 failed`.
    let pattern = format!(
        r"(?m)(?:(?P<word>[[:alpha:]]) |^|[^\w.,:/@#-])(?P<counts>{count}(?:{then}{count})*)"
    );
    Regex::new(&pattern).expect("the pattern is fixed and tested")
});

/// One count of those that a summary is told by.
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?P<number>\d+) (?P<of>failed|passed|errors?)\b";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

/// The time that a run took, as pytest ends a summary.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^ in \d+(?:\.\d+)?s\b";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pytest_is_read() {
        let outcome = Outcome::of(
            "FAILED tests/test_calc.py::test_add - AssertionError: assert -1 == 3\n=== 1 failed, 3 passed in 0.02s ===",
        );
        let test = &outcome.failed_tests[0];
        assert_eq!(test.name, "tests/test_calc.py::test_add");
        assert_eq!(test.message, "AssertionError: assert -1 == 3");
        assert_eq!(test.at, 0..68);
        assert_eq!(outcome.summary.as_ref().unwrap().text, "1 failed, 3 passed");
        assert!(outcome.failed() && outcome.errors.is_empty());
        assert!(!Outcome::of("=== 4 passed in 0.02s ===").failed());
    }

    #[test]
    fn cargo_is_read() {
        let outcome = Outcome::of(
            "test calc::adds ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
        );
        assert_eq!(outcome.failed_tests[0].name, "calc::adds");
        assert_eq!(outcome.summary.as_ref().unwrap().text, "1 failed, 2 passed");
        assert_eq!(
            Outcome::of("error[E0308]: mismatched types").errors[0].text,
            "error[E0308]: mismatched types"
        );
        assert!(!Outcome::of("test result: ok. 2 passed; 0 failed; 0 ignored").failed());
    }

    #[test]
    fn errors_of_common_tools_are_read() {
        for (output, error) in [
            (
                "ERRORS:\n- E999 IndentationError: unexpected indent\n",
                "E999 IndentationError: unexpected indent",
            ),
            (
                "Traceback (most recent call last):\n  File \"x\"\nValueError: bad",
                "ValueError: bad",
            ),
            ("fatal: not a git repository", "fatal: not a git repository"),
            (
                "bash: foo: command not found",
                "bash: foo: command not found",
            ),
        ] {
            let found = Outcome::of(output).errors;
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].text, error);
            assert!(output[found[0].at.clone()].contains(error));
        }
        assert!(!Outcome::of("1466:            raise ValueError(msg)").failed());
    }

    #[test]
    fn a_command_that_ran_out_of_time_went_wrong() {
        for output in [
            "[*] lehmer attack\nEXECUTION TIMED OUT BECAUSE NO OUTPUT WAS PRODUCED FOR MORE THAN 60.0 SECONDS.\nPLEASE REFINE",
            "The command timed out.",
            "curl: (28) Connection timed out after 5001 milliseconds",
        ] {
            let outcome = Outcome::of(output);
            assert!(outcome.failed() && outcome.timed_out, "{output}");
            assert_eq!(outcome.errors.len(), 1);
            assert!(!outcome.errors[0].text.contains("lehmer"));
        }
        assert!(!Outcome::of("0 requests timed out; the timeout is 5 s").failed());
        let both = Outcome::of("ValueError: bad\nThe command timed out");
        assert!(both.failed() && !both.timed_out);
    }

    #[test]
    fn a_timeout_that_tests_log_which_all_pass_is_no_failure() {
        let logged = "WARNING client: the request timed out after 5 s";
        let passed = Outcome::of(&format!("{logged}\n=== 4 passed in 0.02s ==="));
        assert!(!passed.failed() && !passed.timed_out);
        let failed = Outcome::of(&format!("{logged}\n=== 1 failed, 3 passed in 0.02s ==="));
        assert!(failed.failed() && failed.errors.len() == 1);
        let later = Outcome::of("=== 4 passed in 0.02s ===\nThe command timed out.");
        assert!(later.failed() && later.timed_out);
    }

    #[test]
    fn a_test_that_could_not_be_run_is_a_failure() {
        let logged = "E   subprocess.TimeoutExpired: Command 'x' timed out after 5 seconds";
        for (summary, text) in [
            ("3 passed, 1 error in 5.02s", "3 passed, 1 error"),
            (
                "1 failed, 3 passed, 2 warnings, 2 errors in 1.00s",
                "1 failed, 3 passed, 2 errors",
            ),
            (
                "1 failed, 1 skipped, 2 errors in 1.00s",
                "1 failed, 2 errors",
            ),
            ("1 error in 0.12s", "1 error"),
        ] {
            let outcome = Outcome::of(&format!("{logged}\n=== {summary} ==="));
            assert_eq!(outcome.summary.as_ref().unwrap().text, text);
            assert!(outcome.failed() && outcome.errors.len() == 1, "{summary}");
        }
        assert!(!Outcome::of("=== 3 passed, 1 warning in 5.02s ===").failed());
    }

    #[test]
    fn errors_that_are_counted_elsewhere_are_no_tests() {
        for (output, error) in [
            (
                "a.py:3: error: bad\nFound 1 error in 1 file (checked 5 source files)",
                "Found 1 error in 1 file (checked 5 source files)",
            ),
            (
                "Found 3 errors in 2 files.\n\nErrors  Files",
                "Found 3 errors in 2 files",
            ),
            (
                "Found 1 error in src/a.ts:3\n",
                "Found 1 error in src/a.ts:3",
            ),
            ("Found 2 errors.\n", "Found 2 errors"),
            (
                "Found 3 errors (2 fixed, 1 remaining).",
                "Found 3 errors (2 fixed, 1 remaining)",
            ),
            (
                "webpack compiled with 2 errors in 1234 ms",
                "webpack compiled with 2 errors in 1234 ms",
            ),
            (
                "client (webpack 5.90.1) compiled with 1 error in 9 ms",
                "client (webpack 5.90.1) compiled with 1 error in 9 ms",
            ),
        ] {
            let outcome = Outcome::of(output);
            assert_eq!(outcome.summary, None, "{output}");
            assert!(outcome.failed() && !outcome.timed_out, "{output}");
            assert_eq!(outcome.errors.len(), 1, "{output}");
            assert_eq!(outcome.errors[0].text, error);
            assert!(output[outcome.errors[0].at.clone()].contains(error));
        }
        for output in [
            "Found 0 errors in 2 files",
            "Found 0 errors. Watching for file changes.",
            "Found 3 errors (3 fixed, 0 remaining).",
            "    Found 2 errors in the parser",
            "webpack compiled with 0 errors",
            "a1b2c3 fix 2 errors in 3 modules",
            "a1b2c3 Found 2 errors in 3 files",
        ] {
            let outcome = Outcome::of(output);
            assert!(outcome.summary.is_none() && !outcome.failed(), "{output}");
        }
        let red = Outcome::of("=== 1 failed, 3 passed in 1.00s ===\n0 errors in 3 files");
        assert!(red.failed());
    }

    #[test]
    fn a_summary_says_what_its_line_counts() {
        let logged = "WARNING client: the request timed out after 5 s";
        for (output, text) in [
            ("Results: 3 passed, 1 failed", "1 failed, 3 passed"),
            ("Results: 1 failed", "1 failed"),
            ("     Tests  1 failed | 3 passed (4)", "1 failed, 3 passed"),
            ("     Tests  1 failed (1)", "1 failed"),
            ("  1 failed\n    a.spec.ts:3\n  3 passed (5.0s)", "1 failed"),
            ("FAILED | 3 passed | 1 failed (10ms)", "1 failed, 3 passed"),
            (
                "FAILED | 3 passed (2 steps) | 1 failed (1 step) (10ms)",
                "1 failed, 3 passed",
            ),
            (
                "Summary [ 0.1s] 4 tests run: 3 passed, 1 failed, 0 skipped",
                "1 failed, 3 passed",
            ),
            (
                "Tests:       1 failed, 1 skipped, 3 passed, 5 total\nSnapshots:   2 passed, 2 total",
                "1 failed, 3 passed",
            ),
            ("1 failed, 2 skipped, 3 passed", "1 failed, 3 passed"),
            ("test cases: 3 |  2 passed | 1 failed", "1 failed, 2 passed"),
            ("2 failed, 1 skipped in 1.00s", "2 failed"),
            ("2 skipped, 1 error in 0.12s", "1 error"),
            (
                "test result: FAILED. 2 passed; 1 failed; 0 ignored\ntest result: ok. 4 passed; 0 failed",
                "1 failed, 2 passed",
            ),
        ] {
            let outcome = Outcome::of(&format!("{logged}\n{output}"));
            assert_eq!(outcome.summary.as_ref().unwrap().text, text, "{output}");
            assert!(outcome.failed() && outcome.errors.len() == 1, "{output}");
            // The counts alone make it red.
            assert!(Outcome::of(output).failed(), "{output}");
        }
    }

    #[test]
    fn a_summary_of_tests_that_all_passed_is_green() {
        let logged = "WARNING client: the request timed out after 5 s";
        for (output, text) in [
            ("4 passed in 1.00s\n3 failed logins", "4 passed"),
            ("127.0.0.1:8080 failed, retrying\n4 passed", "4 passed"),
            ("127.0.0.1:8080 failed\n4 passed", "4 passed"),
            ("attempt 2 failed\n4 passed", "4 passed"),
            ("build #3 failed\n4 passed", "4 passed"),
            ("2 failed, retrying\n4 passed", "4 passed"),
            (
                "INFO uploader: 3 failed\n=== 4 passed in 0.1s ===",
                "4 passed",
            ),
            ("Retries (2 failed)\n4 passed", "4 passed"),
            ("jobs: 1 failed.\n4 passed", "4 passed"),
            ("Tests:       1 skipped, 3 passed, 4 total", "3 passed"),
            ("3 passed, 0 failed, 0 skipped", "3 passed"),
            ("ok | 3 passed | 0 failed (10ms)", "3 passed"),
        ] {
            let outcome = Outcome::of(&format!("{logged}\n{output}"));
            assert_eq!(outcome.summary.as_ref().unwrap().text, text, "{output}");
            assert!(!outcome.failed(), "{output}");
        }
        let none_failed = Outcome::of("12 tests, 0 failed");
        assert_eq!(none_failed.summary.as_ref().unwrap().text, "0 failed");
        assert!(!none_failed.failed());
        for output in [
            "3 failed logins",
            "1/3 failed",
            "1,234 failed",
            "2 failed-over",
        ] {
            assert_eq!(Outcome::of(output).summary, None, "{output}");
        }
    }

    #[test]
    fn a_second_run_of_tests_excuses_no_timeout_of_the_first() {
        let logged = "WARNING client: the request timed out after 5 s";
        for runs in [
            "test result: ok. 0 passed; 0 failed",
            "=== 1 failed, 3 passed in 1.00s ===\n=== 4 passed in 1.00s ===",
            "=== 2 failed in 1.00s ===\n=== 4 passed in 1.00s ===",
        ] {
            let outcome = Outcome::of(&format!("{logged}\n{runs}"));
            assert_eq!(outcome.errors.len(), 1, "{runs}");
        }
        let both = format!("{logged}\n4 passed; 0 failed\n0 passed; 0 failed");
        assert!(!Outcome::of(&both).failed());
        let attempts = format!("3 failed attempts\n{logged}\n=== 4 passed in 1.00s ===");
        assert!(!Outcome::of(&attempts).failed());
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_panic(output in "(?s).{0,300}") {
            Outcome::of(&output).failed();
        }
    }
}
