//! Outcomes: what a command's output says about errors and tests.
//!
//! Owns the shapes of common tools' output. It must not know which command printed it.

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
    pub(super) errors: Vec<String>,
    /// Failed tests, each with its message, which may be empty.
    pub(super) failed_tests: Vec<(String, String)>,
    /// A test runner's summary, such as `1 failed, 3 passed`.
    pub(super) summary: Option<String>,
}

impl Outcome {
    /// Reads an output.
    pub(super) fn of(output: &str) -> Self {
        let plain = ANSI.replace_all(output, "");
        let mut outcome = Self::default();
        for test in FAILED_TEST.captures_iter(&plain).take(FOUND_MAX) {
            let name = ["pytest", "cargo", "go", "unittest"]
                .iter()
                .find_map(|tool| test.name(tool));
            let message = test.name("message").map_or("", |message| message.as_str());
            let name = name.map_or("", |name| name.as_str()).to_owned();
            outcome
                .failed_tests
                .push((name, clip(message, ERROR_CHARS_MAX)));
        }
        for error in ERROR.captures_iter(&plain) {
            let message = clip(error["message"].trim_end_matches('.'), ERROR_CHARS_MAX);
            let told = outcome
                .failed_tests
                .iter()
                .any(|(_, known)| known.contains(&message));
            if !told && !outcome.errors.contains(&message) && outcome.errors.len() < FOUND_MAX {
                outcome.errors.push(message);
            }
        }
        outcome.summary = summary(&plain);
        outcome
    }

    /// Whether the output tells of a failure.
    pub(super) fn failed(&self) -> bool {
        let in_summary = self
            .summary
            .as_ref()
            .is_some_and(|summary| summary.contains("failed") && !summary.starts_with("0 failed"));
        in_summary || !self.errors.is_empty() || !self.failed_tests.is_empty()
    }
}

/// "N failed, M passed" of the last summary in the output.
fn summary(output: &str) -> Option<String> {
    let last = SUMMARY.captures_iter(output).last()?;
    let number = |names: &[&str]| {
        let found = names.iter().find_map(|name| last.name(name));
        found
            .and_then(|number| number.as_str().parse::<u64>().ok())
            .unwrap_or(0)
    };
    let (failed, passed) = (
        number(&["failed", "failed_after", "failed_only"]),
        number(&["passed"]),
    );
    Some(if failed > 0 {
        format!("{failed} failed, {passed} passed")
    } else {
        format!("{passed} passed")
    })
}

static ANSI: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").expect("the pattern is fixed and tested")
});

static FAILED_TEST: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^(?:FAILED (?P<pytest>[^\s:]+::\S+)(?: - (?P<message>.+))?|test (?P<cargo>\S+) \.\.\. FAILED|\s*--- FAIL: (?P<go>\S+).*|(?:FAIL|ERROR): (?P<unittest>\w+) \(.+\))$";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?m)^\s*(?:- |E\s+)?(?P<message>(?:[A-Z]\d{3,4} )?(?:[A-Za-z_]+\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .+)?|error(?:\[E\d+\])?: .+|(?:fatal|FATAL): .+|npm ERR! .+|.*: command not found|.*: No such file or directory|.*panicked at .+)$";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:(?P<failed>\d+) failed, )?(?P<passed>\d+) passed(?:; (?P<failed_after>\d+) failed)?|(?P<failed_only>\d+) failed\b";
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
        let message = "AssertionError: assert -1 == 3".to_owned();
        assert_eq!(
            outcome.failed_tests,
            [("tests/test_calc.py::test_add".to_owned(), message)]
        );
        assert_eq!(outcome.summary.as_deref(), Some("1 failed, 3 passed"));
        assert!(outcome.failed() && outcome.errors.is_empty());
        assert!(!Outcome::of("=== 4 passed in 0.02s ===").failed());
    }

    #[test]
    fn cargo_is_read() {
        let outcome = Outcome::of(
            "test calc::adds ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
        );
        assert_eq!(outcome.failed_tests[0].0, "calc::adds");
        assert_eq!(outcome.summary.as_deref(), Some("1 failed, 2 passed"));
        assert_eq!(
            Outcome::of("error[E0308]: mismatched types").errors,
            ["error[E0308]: mismatched types"]
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
            ("\u{1b}[31merror: no rule\u{1b}[0m", "error: no rule"),
        ] {
            assert_eq!(Outcome::of(output).errors, [error]);
        }
        assert!(!Outcome::of("1466:            raise ValueError(msg)").failed());
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_panic(output in "(?s).{0,300}") {
            Outcome::of(&output).failed();
        }
    }
}
