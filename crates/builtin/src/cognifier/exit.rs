//! Exit codes: how a command ended, as the metadata of a record or a line of its output says.
//!
//! Owns the keys and the lines that tell a code. It must not know which command it was, nor what
//! else its output says.

use core::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::evidence::offset;

/// Keys of a record's metadata that tell a code, the first that does so before the others.
const KEYS: [&str; 4] = ["exit_code", "exit", "exit_status", "returncode"];

/// A code that an output tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    /// It.
    pub(super) code: i64,
    /// The line that tells it, in bytes of the output.
    pub(super) at: Range<usize>,
}

/// The code that a record's metadata tells, as a number or as the digits of one.
pub(super) fn recorded(metadata: &serde_json::Value) -> Option<i64> {
    KEYS.iter().find_map(|key| {
        let told = metadata.get(*key)?;
        told.as_i64().or_else(|| told.as_str()?.trim().parse().ok())
    })
}

/// The last code in the output that is not 0, else the last.
///
/// As with summaries of tests, a later one does not take a failure back. What stands before
/// `passed_until` was logged by tests that passed; but the first line of all is the harness's own.
pub(super) fn told(output: &str, passed_until: usize) -> Option<Exit> {
    // Looked for once: so many lines may tell a code, each behind as many blanks.
    let first = output.len() - output.trim_start().len();
    let mut last: Option<Exit> = None;
    for found in TOLD.captures_iter(output) {
        let exit = exit_of(&found);
        let is_logged = exit.at.end <= passed_until && exit.at.start > first;
        let is_worse = exit.code != 0 || last.as_ref().is_none_or(|known| known.code == 0);
        if is_worse && !is_logged {
            last = Some(exit);
        }
    }
    last
}

/// The code that a harness tells around what a command compared: in the first line of all, else in the last.
pub(super) fn around(output: &str) -> Option<Exit> {
    let text = output.trim();
    let first = text.lines().next()?;
    // What two texts have in common is shown after a blank.
    let last = || {
        let (_, last) = text.rsplit_once('\n')?;
        of_line(last, output).filter(|_| !last.starts_with([' ', '\t']))
    };
    of_line(first, output).or_else(last)
}

/// The code that a harness tells ahead of what a viewer gave.
///
/// Any line may be one of a file, and logs of builds end with a code, or are searched for one. So only a first line
/// counts that says `exit code` and nothing before it, and that something follows: a viewer which went wrong says why.
/// That some failure of a viewer goes unseen does less harm than one which there never was.
pub(super) fn ahead(output: &str) -> Option<Exit> {
    let (first, rest) = output.trim_start().split_once('\n')?;
    let word = first.get(..4)?;
    let is_harness = word.eq_ignore_ascii_case("exit") && !rest.trim().is_empty();
    of_line(first, output).filter(|_| is_harness)
}

/// The code that a line of the output tells.
fn of_line(line: &str, output: &str) -> Option<Exit> {
    let Exit { code, at } = exit_of(&TOLD.captures(line)?);
    let from = offset(line, output);
    let at = from + at.start..from + at.end;
    Some(Exit { code, at })
}

fn exit_of(found: &Captures<'_>) -> Exit {
    Exit {
        code: found["code"].parse().expect("so few digits are a number"),
        at: found.get_match().range(),
    }
}

/// A line that says nothing but a code: `exit status 1`, `Exit code: 0`, `[Command finished with exit code 2]`.
/// One that goes on is prose.
static TOLD: LazyLock<Regex> = LazyLock::new(|| {
    let who = r"(?:error:? +|elifecycle +)?(?:the +)?(?:command|process|program|script|task|job)";
    let ended = r"(?: +has)? +(?:exited|finished|completed|failed|ended|terminated) +with +";
    let which = r"(?:an? +)?(?:non-?zero +)?";
    let pattern = format!(
        r"(?mi)^[ \t]*[\[(]?(?:(?:{who}{ended}{which})?exit[ _-]?|{who}{ended}{which})(?:code|status)(?: +(?:was|is))?(?: *[:=])? *(?P<code>-?[0-9]{{1,10}})\.?[\])]?[ \t]*\r?$"
    );
    Regex::new(&pattern).expect("the pattern is fixed and tested")
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_code_is_read_of_metadata_as_a_number_or_as_digits() {
        for (metadata, code) in [
            (json!({ "exit_code": 2 }), Some(2)),
            (json!({ "exit_code": 0, "step": 4 }), Some(0)),
            (json!({ "exit": "1" }), Some(1)),
            (json!({ "exit_status": -9 }), Some(-9)),
            (json!({ "exit_code": null, "returncode": 3 }), Some(3)),
            (json!({ "exit": true }), None),
            (json!({ "exit_code": "none" }), None),
            (json!({ "exit_code": 1.5 }), None),
            (json!({ "step": 1 }), None),
            (json!(null), None),
        ] {
            assert_eq!(recorded(&metadata), code, "{metadata}");
        }
    }

    #[test]
    fn a_line_of_its_own_tells_a_code_and_prose_does_not() {
        for (line, code) in [
            ("exit status 1", 1),
            ("exit code: 0", 0),
            ("Exit code 127", 127),
            ("  Exit status: 2\r", 2),
            ("exit_code=3", 3),
            ("[Command finished with exit code 0]", 0),
            ("[The command completed with exit code 1.]", 1),
            ("Process exited with code 4", 4),
            ("Error: Process completed with exit code 1.", 1),
            ("error Command failed with exit code 1.", 1),
            ("Command exited with non-zero status 2", 2),
        ] {
            let output = format!("before\n{line}\nafter");
            let exit = told(&output, 0).unwrap();
            assert_eq!(exit.code, code, "{line}");
            assert_eq!(output[exit.at].trim(), line.trim());
        }
        for line in [
            "It ends with exit status 1 where nothing is found.",
            "exit status 1 means that nothing was found",
            "status 404",
            "code: 3",
            "14: exit code 1",
            "exit code",
            "exit code 1.5",
        ] {
            assert_eq!(told(line, 0), None, "{line}");
        }
    }

    #[test]
    fn a_later_code_takes_no_failure_back_and_what_passing_tests_log_is_none() {
        let code = |output: &str, until| told(output, until).map(|exit| exit.code);
        assert_eq!(code("exit code: 2\nexit code: 0", 0), Some(2));
        assert_eq!(code("exit code: 0\nexit code: 2", 0), Some(2));
        let logged = "running\nexit status 3\n4 passed";
        assert_eq!(code(logged, logged.find('4').unwrap()), None);
        let first = "Exit code 1\n4 passed";
        assert_eq!(code(first, first.find('4').unwrap()), Some(1));
    }
    #[test]
    fn around_what_was_compared_the_first_line_tells_a_code_or_the_last() {
        for (output, line) in [
            ("\n Exit code 1\n1c1\n< exit status 2", Some("Exit code 1")),
            (
                "1c1\r\n[Command finished with exit code 2]\r\n",
                Some("[Command finished with exit code 2]"),
            ),
            ("exit status 1\n", Some("exit status 1")),
            ("@@ -1 +1 @@\nexit status 1\n-a\n+b", None),
            ("@@ -1 +1 @@\n-a\n+b\n exit status 1\n", None),
            (" \n", None),
        ] {
            let at = around(output).map(|exit| output[exit.at].trim());
            assert_eq!(at, line, "{output}");
        }
    }

    #[test]
    fn ahead_of_what_is_shown_a_first_line_tells_a_code_and_what_is_shown_does_not() {
        let output = "\nExit code 2\ncat: a.py is a directory";
        let exit = ahead(output).unwrap();
        assert_eq!((exit.code, &output[exit.at]), (2, "Exit code 2"));
        for shown in [
            "cc a.c\nexit status 2\nmake: stopped",
            "cc a.c\nexit status 2",
            "exit status 2\n",
            "Error: Process completed with exit code 1.\nError: Process completed with exit code 1.",
            "실 exit status 2\nof a file",
            "",
        ] {
            assert_eq!(ahead(shown), None, "{shown}");
        }
    }
}
