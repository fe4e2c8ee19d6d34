//! What is read in the output of common tools, and what is not.

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
        (
            "cc x.c\nmake: *** [check] Error 2",
            "make: *** [check] Error 2",
        ),
        (
            "make[1]: *** [Makefile:3: all] Error 1",
            "make[1]: *** [Makefile:3: all] Error 1",
        ),
        (
            "make: *** No rule to make target 'x'.  Stop.",
            "make: *** No rule to make target 'x'. Stop",
        ),
        ("npm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
        ("npm error code ELIFECYCLE", "npm error code ELIFECYCLE"),
    ] {
        let found = Outcome::of(output).errors;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, error);
        let at = &output[found[0].at.clone()];
        assert!(clip(at, ERROR_CHARS_MAX).contains(error));
    }
    for output in [
        "1466:            raise ValueError(msg)",
        "make: [clean] Error 1 (ignored)",
        "Where it fails, make: *** [check] Error 2 is printed.",
        "npm error handling is told of below",
        "It ends with exit status 1 where nothing is found.",
    ] {
        let outcome = Outcome::of(output);
        assert!(!outcome.failed() && outcome.exit.is_none(), "{output}");
    }
}

#[test]
fn a_line_that_tells_a_code_is_read_apart_from_what_else_went_wrong() {
    for output in [
        "exit status 1",
        "Exit code 1\n4 passed",
        "[Command finished with exit code 2]",
    ] {
        let outcome = Outcome::of(output);
        assert!(!outcome.failed(), "{output}");
        assert!(outcome.exit.is_some_and(|exit| exit.code != 0), "{output}");
    }
    let logged = "running\nexit status 3\n=== 4 passed in 0.02s ===";
    assert_eq!(Outcome::of(logged).exit, None);
}

/// Minutes, where each count is looked back from to the beginning of its line.
#[test]
fn a_line_of_eight_mebibytes_is_read_in_one_pass() {
    const BYTES: usize = 8 << 20;
    let many = |count: &str, bytes: usize| count.repeat(bytes / count.len());
    let filler = many("tests of all ", BYTES / 4 * 3);
    for counts in ["1 passed ", "1 failed  "] {
        let line = format!("{filler}{}", many(counts, BYTES / 4));
        let outcome = Outcome::of(&line);
        let summary = outcome.summary.as_ref().unwrap();
        assert_eq!(summary.text, counts.trim());
        assert!(summary.at.start > BYTES / 4 * 3 - counts.len());
    }
    let blanks = format!("4 passed\n{}1 failed", " ".repeat(BYTES));
    assert!(Outcome::of(&blanks).failed());
    // The first line of all is sought once, not before each line that tells a code.
    let (breaks, codes) = (BYTES / 4 * 3, many("exit status 0\n", BYTES / 4));
    let logged = format!("{}{codes}1 passed", "\n".repeat(breaks));
    let exit = Outcome::of(&logged).exit.unwrap();
    assert_eq!((exit.code, exit.at.start), (0, breaks));
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
            "  ✖  1 of 3 failed (33%)                      00:12        5        4        1        -        -  ",
            "1 failed",
        ),
        (
            "✖  1 of 3 failed (33%)   00:12   5   4   1\n4 passed",
            "1 failed",
        ),
        ("12 passed and 2 failed", "2 failed, 12 passed"),
        ("Done, 12 passed and 2 failed.", "2 failed, 12 passed"),
        ("3 succeeded and 1 failed", "1 failed, 3 passed"),
        ("1 failed and 3 succeeded", "1 failed, 3 passed"),
        ("Results: 13 succeeded, 1 failed", "1 failed, 13 passed"),
        (
            "Ran 4 tests: 3 succeeded and 1 failed.\n4 passed",
            "1 failed, 3 passed",
        ),
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
        ("12 passed and 0 failed", "12 passed"),
        ("4 tests: 4 succeeded and 0 failed", "4 passed"),
        ("INFO uploader: 2 of 3 failed (67%)\n4 passed", "4 passed"),
        ("Build: 3 succeeded, 1 failed\n4 passed", "4 passed"),
        (
            "Of all hosts 3 succeeded and 1 failed\n4 passed",
            "4 passed",
        ),
    ] {
        let outcome = Outcome::of(&format!("{logged}\n{output}"));
        assert_eq!(outcome.summary.as_ref().unwrap().text, text, "{output}");
        assert!(!outcome.failed(), "{output}");
    }
    for none_failed in [
        "12 tests, 0 failed",
        "  ✔  0 of 3 failed (0%)   00:12   5   5   -",
    ] {
        let outcome = Outcome::of(none_failed);
        assert_eq!(outcome.summary.as_ref().unwrap().text, "0 failed");
        assert!(!outcome.failed(), "{none_failed}");
    }
    for output in [
        "3 failed logins",
        "1/3 failed",
        "1,234 failed",
        "2 failed-over",
        "It seems that one of three failed.",
        "I ran them again, and 2 of them failed",
        "0 of 3 failed",
        "2 of 3 failed",
        "2 of 3 failed (67%) since the host was away",
        "Now 2 of 3 failed (67%)",
        "3 succeeded",
        "Of all hosts 3 succeeded and 1 failed.",
        "3 succeeded and 1 failed logins",
        "3 succeeded and 1 failed because of the lock",
        "#3 succeeded and 1 failed",
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
