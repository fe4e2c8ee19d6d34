//! Outcomes: what a command's output says about errors and tests.
//!
//! Owns the shapes of common tools' output. It must not know which command printed it.

use core::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

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
    /// A test runner's summary, such as `1 failed, 3 passed`.
    pub(super) summary: Option<Found>,
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
        outcome.summary = summary(output);
        let passed_until = match outcome.failed_tests.is_empty() {
            true => passed_until(output),
            false => 0,
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
        let is_red =
            |summary: &Found| summary.text.contains(" failed") || summary.text.contains(" error");
        let in_summary = self.summary.as_ref().is_some_and(is_red);
        in_summary || !self.errors.is_empty() || !self.failed_tests.is_empty()
    }
}

/// What a summary counts.
struct Counts {
    failed: u64,
    passed: u64,
    /// Of tests that could not be run.
    errors: u64,
}

impl Counts {
    fn of(summary: &Captures<'_>) -> Self {
        let number = |names: &[&str]| {
            let found = names.iter().find_map(|name| summary.name(name));
            found
                .and_then(|number| number.as_str().parse().ok())
                .unwrap_or(0)
        };
        Self {
            failed: number(&["failed", "failed_after", "failed_only"]),
            passed: number(&["passed"]),
            errors: number(&["errors", "errors_after", "errors_only"]),
        }
    }
}

/// "N failed, M passed" of the last summary in the output.
fn summary(output: &str) -> Option<Found> {
    let last = SUMMARY.captures_iter(output).last()?;
    let Counts {
        failed,
        passed,
        errors,
    } = Counts::of(&last);
    let mut counts = Vec::new();
    if failed > 0 {
        counts.push(format!("{failed} failed"));
    }
    if failed > 0 || last.name("errors_only").is_none() {
        counts.push(format!("{passed} passed"));
    }
    if errors > 0 {
        let plural = if errors == 1 { "" } else { "s" };
        counts.push(format!("{errors} error{plural}"));
    }
    let (text, at) = (counts.join(", "), last.get_match().range());
    Some(Found { text, at })
}

/// Where the last summary that tells of tests which passed begins, if none tells of any that did not; else 0.
fn passed_until(output: &str) -> usize {
    let mut until = 0;
    for summary in SUMMARY.captures_iter(output) {
        let counts = Counts::of(&summary);
        let rest = &output[summary.get_match().end()..];
        // Anything may have failed that is no test.
        let is_of_tests = summary.name("failed_only").is_none()
            || counts.errors > 0
            || rest.starts_with(", ")
            || rest.starts_with(" in ");
        if is_of_tests && (counts.failed > 0 || counts.errors > 0) {
            return 0;
        }
        if counts.passed > 0 {
            until = summary.get_match().start();
        }
    }
    until
}

static FAILED_TEST: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^(?:FAILED (?P<pytest>[^\s:]+::\S+)(?: - (?P<message>.+))?|test (?P<cargo>\S+) \.\.\. FAILED|\s*--- FAIL: (?P<go>\S+).*|(?:FAIL|ERROR): (?P<unittest>\w+) \(.+\))$";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^\s*(?:- |E\s+)?(?P<message>(?:[A-Z]\d{3,4} )?(?:[A-Za-z_]+\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .+)?|error(?:\[E\d+\])?: .+|(?:fatal|FATAL): .+|npm ERR! .+|.*: command not found|.*: No such file or directory|.*panicked at .+|(?P<timeout>(?i:.*\btimed out after \d.*|.*\b(?:execution|command|process|program|script) (?:has |was )?timed out\b.*)))$";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let others = r"(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*";
    let pattern = format!(
        r"(?:(?P<failed>\d+) failed, )?(?P<passed>\d+) passed(?:; (?P<failed_after>\d+) failed)?(?:{others}, (?P<errors>\d+) errors?\b)?|(?P<failed_only>\d+) failed\b(?:{others}, (?P<errors_after>\d+) errors?\b)?|\b(?P<errors_only>[1-9]\d*) errors? in \d+(?:\.\d+)?s\b"
    );
    Regex::new(&pattern).expect("the pattern is fixed and tested")
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
                "1 failed, 0 passed, 2 errors",
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
        for output in [
            "Found 3 errors in 2 files (checked 5 source files)",
            "webpack compiled with 2 errors in 1234 ms",
            "a1b2c3 fix 2 errors in 3 modules",
        ] {
            assert_eq!(Outcome::of(output).summary, None, "{output}");
        }
        let red = Outcome::of("=== 1 failed, 3 passed in 1.00s ===\n0 errors in 3 files");
        assert!(red.failed());
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
