//! What the rules say of how commands ended: nothing of one of which nothing says so.

use sillok_core::staging::LogLevel::{self, Error, Info, Thought, Tool};

use super::*;

pub(super) const EDIT: (LogLevel, &str, &str) = (Tool, "edit calc.py: replace `a` by `b`", "{}");

pub(super) fn logged(log: &[(LogLevel, &str, &str)]) -> CognifyInput {
    let texts: Vec<(LogLevel, &str)> = log.iter().map(|(level, text, _)| (*level, *text)).collect();
    let mut input = input("Mend it", "", &texts);
    for (record, (_, _, metadata)) in input.records.iter_mut().zip(log) {
        record.metadata = Metadata::parse(metadata).unwrap();
    }
    input
}

pub(super) fn drawn(log: &[(LogLevel, &str, &str)]) -> Cognition {
    let input = logged(log);
    let cognition = RuleCognifier::draw(&input);
    assert_eq!(cognition.check(&input), Ok(()));
    cognition
}

pub(super) fn contents(log: &[(LogLevel, &str, &str)]) -> Vec<String> {
    let facts = drawn(log).facts.into_iter();
    facts.map(|fact| fact.content).collect()
}

/// After an edit and what would make a skill of two steps, one more command with what it gave.
pub(super) fn checked_by(last: &[(LogLevel, &str, &str)]) -> Cognition {
    let begin = [(Tool, "make fmt", "{}"), (Info, "formatted", "{}"), EDIT];
    drawn(&[begin.as_slice(), last].concat())
}

#[test]
fn a_code_that_is_not_0_is_a_failure() {
    let output = "cc -o calc calc.c\nmake: *** [check] Error 2";
    for metadata in [r#"{"exit_code":2}"#, "{}"] {
        let facts = contents(&[(Tool, "make check", "{}"), (Info, output, metadata)]);
        assert_eq!(
            facts,
            [
                "`make check` failed with make: *** [check] Error 2.",
                "Running `make check` failed."
            ]
        );
    }
    for metadata in [
        r#"{"exit_code":2}"#,
        r#"{"exit":2}"#,
        r#"{"exit_status":"2"}"#,
        r#"{"returncode":2}"#,
    ] {
        let output = "checking calc\nchecking sum";
        let of_output = [(Tool, "make check", "{}"), (Info, output, metadata)];
        let of_command = [(Tool, "make check", metadata), (Info, output, "{}")];
        for log in [of_output, of_command] {
            let told = [
                "`make check` failed with exit status 2.",
                "Running `make check` failed.",
            ];
            assert_eq!(contents(&log), told, "{metadata}");
            assert!(!checked_by(&log).repeatable);
        }
    }
    let log = [
        (Tool, "make check", "{}"),
        (Info, "checking calc\nexit status 2", "{}"),
    ];
    assert!(contents(&log).contains(&"Running `make check` failed.".to_owned()));
}

#[test]
fn a_command_without_a_result_neither_succeeded_nor_checked_anything() {
    let log = [(Tool, "cargo test", "{}")];
    assert!(contents(&log).is_empty());
    assert!(contents(&[log[0], (Info, " \n", "{}")]).is_empty());
    let cut_off = checked_by(&log);
    assert!(!cut_off.repeatable && cut_off.skill.is_none());
    let beside_a_failure = |last: &[(LogLevel, &str, &str)]| {
        let failed = [(Tool, "make lint", "{}"), (Error, "error: bad", "{}")];
        drawn(&[failed.as_slice(), last].concat()).score
    };
    assert_eq!(beside_a_failure(&log), beside_a_failure(&[]));
    let before = [(Tool, "cargo test", "{}"), (Info, "4 passed", "{}")];
    let both = checked_by(&[before.as_slice(), log.as_slice()].concat());
    assert!(both.repeatable, "a check before it stays one");
}

#[test]
fn all_output_of_a_command_is_read_where_steps_have_no_numbers() {
    let log = [
        (Tool, "cargo test", "{}"),
        (Info, "Compiling calc\nFinished", "{}"),
        (
            Info,
            "test result: FAILED. 2 passed; 1 failed; 0 ignored",
            "{}",
        ),
        (Thought, "Let us look.", "{}"),
        (Info, "The staging database needs the VPN", "{}"),
    ];
    assert_eq!(
        contents(&log),
        [
            "Running `cargo test` gave 1 failed, 2 passed.",
            "The staging database needs the VPN."
        ]
    );
    assert!(!checked_by(&log[..3]).repeatable);
    let of_another_step = [
        (Tool, "cargo test", r#"{"step":1}"#),
        (Info, "4 passed", r#"{"step":1}"#),
        (Info, "The staging database needs the VPN", r#"{"step":2}"#),
    ];
    let facts = contents(&of_another_step);
    assert!(facts.contains(&"The staging database needs the VPN.".to_owned()));
}

#[test]
fn a_command_succeeded_where_something_shows_it() {
    let succeeded = ["Running `make check` succeeded."];
    let zero = r#"{"exit_code":0}"#;
    for (output, metadata) in [
        ("", zero),
        ("checking calc\nfine", zero),
        ("checking calc\nfine", "{}"),
        ("exit code: 0", "{}"),
    ] {
        let of_output = [(Tool, "make check", "{}"), (Info, output, metadata)];
        assert_eq!(contents(&of_output), succeeded, "{output}");
        assert!(checked_by(&of_output).repeatable, "{output}");
    }
    assert_eq!(contents(&[(Tool, "make check", zero)]), succeeded);
    // What is written beside the output is no error by that alone.
    let beside = [
        (Tool, "make check", "{}"),
        (Error, "Checking calc\nFinished", zero),
    ];
    assert_eq!(contents(&beside), succeeded);
    // What is logged as an error apart from the command is one, whatever that ended with.
    let of_step = r#"{"exit_code":0,"step":1}"#;
    for (error, stands) in [
        (r#"{"step":1}"#, true),
        (r#"{"step":2}"#, false),
        ("{}", false),
    ] {
        let log = [
            (Tool, "make check", of_step),
            (Error, "Checking calc\nFinished", error),
        ];
        let succeeds = contents(&log).contains(&succeeded[0].to_owned());
        assert_eq!(succeeds, stands, "{error}");
        assert_eq!(checked_by(&log).repeatable, stands, "{error}");
    }
    // A pipe ends with the code of its last command.
    let piped = [
        (Tool, "make check | tail", "{}"),
        (Info, "1 failed, 3 passed in 0.02s", zero),
    ];
    let counted = ["Running `make check | tail` gave 1 failed, 3 passed."];
    assert_eq!(contents(&piped), counted);
    assert!(!checked_by(&piped).repeatable);
    // What is written beside the output is no cause of what went wrong, either.
    let [command, count] = piped;
    let beside = (Error, "Checking calc", zero);
    assert_eq!(contents(&[command, beside, count]), counted);
    let told = [command, beside, (Info, "checked\nexit status 2", zero)];
    let cause = "`make check | tail` failed with exit status 2.";
    assert_eq!(
        contents(&told),
        [cause, "Running `make check | tail` failed."]
    );
    let mended = drawn(&[told.as_slice(), [EDIT].as_slice()].concat());
    assert_eq!(mended.causal_edges[0].cause, cause);
}

#[test]
fn of_many_errors_the_first_are_told_with_what_mended_them() {
    let errors: Vec<String> = (0..40).map(|n| format!("ValueError: bad {n}")).collect();
    let failed = errors
        .iter()
        .flat_map(|error| [(Tool, "make check", "{}"), (Info, error.as_str(), "{}")]);
    let log: Vec<(LogLevel, &str, &str)> = failed.chain([EDIT]).collect();
    let fixes = Work::of(&logged(&log), &mut Facts::default()).fixes;
    assert_eq!(fixes.len(), 16);
    for ((error, _), bad) in fixes.iter().zip(&errors) {
        assert_eq!(*error, format!("`make check` failed with {bad}."));
    }
}

#[test]
fn what_a_search_answers_by_its_code_is_no_failure() {
    let code = |command: &str, code: &str| {
        let metadata = format!(r#"{{"exit":{code}}}"#);
        let cognition = drawn(&[(Tool, command, metadata.as_str())]);
        (cognition.facts.len(), cognition.result)
    };
    for command in [
        "grep -rn test src",
        "grep 'a; b' src",
        "diff -r tests/a tests/b",
        "diff a b >/dev/null 2>&1",
        "cd api && git diff --quiet",
        "cd api\ngit diff --quiet",
        "grep -rn x \\\n  src",
        r#"{"command":"grep -rn x \\\n  src"}"#,
        "test -f build",
    ] {
        let (facts, result) = code(command, "1");
        assert_eq!(facts, 0, "{command}");
        assert!(result.ends_with("0 of 1 commands went wrong."), "{result}");
        let (_, result) = code(command, "2");
        assert!(result.ends_with("1 of 1 commands went wrong."), "{result}");
    }
    // Nobody can tell whose code it is, or it is no answer.
    for command in [
        "test -f Makefile && make check",
        "test -f x&&make",
        "diff a b; pytest -q",
        "diff a b;pytest",
        "diff a b & make",
        "diff a b\npytest -q",
        r#"{"command":"diff a b\npytest -q"}"#,
        "grep x f\nnpm test",
        "cd a;make&& grep x f",
        "cat missing.py",
    ] {
        let (_, result) = code(command, "1");
        assert!(
            result.ends_with("1 of 1 commands went wrong."),
            "{command}: {result}"
        );
    }
    let log = [
        (Tool, "grep x f\nnpm test", "{}"),
        (Info, "npm ERR! code ELIFECYCLE", r#"{"exit":1}"#),
    ];
    let told = [
        "`grep x f \u{2026}` failed with npm ERR! code ELIFECYCLE.",
        "Running `grep x f \u{2026}` failed.",
    ];
    assert_eq!(contents(&log), told);
}

#[test]
fn the_line_of_a_harness_is_not_what_a_command_printed() {
    let (zero, one) = (r#"{"exit":0}"#, r#"{"exit":1}"#);
    let succeeded = &["Running `diff tests/a tests/b` succeeded."];
    let cases: [(&str, &str, &[&str]); 4] = [
        ("[Command finished with exit code 0]", zero, succeeded),
        ("exit status 1", one, &[]),
        // What is recorded stands.
        ("exit status 2", zero, succeeded),
        ("exit status 2", one, &[]),
    ];
    for (output, metadata, told) in cases {
        let command = "diff tests/a tests/b";
        let log = [(Tool, command, "{}"), (Info, output, metadata)];
        assert_eq!(contents(&log), told, "{output} {metadata}");
        let result = drawn(&log).result;
        assert!(result.ends_with("0 of 1 commands went wrong."), "{result}");
    }
}

#[test]
fn a_fact_names_the_line_that_it_quotes_a_command_by() {
    for (command, shown, named) in [
        ("make check", "make check", "make check"),
        ("cd api && make check", "cd api && make check", "make check"),
        (
            "cd api &&\nmake check",
            "cd api &&\nmake check",
            "make check",
        ),
        (
            "\n$ cd api\n\nmake check\nls\n",
            "$ cd api\n\nmake check",
            "make check \u{2026}",
        ),
        (
            "make \\\n  check\nls",
            "make \\\n  check",
            "make check \u{2026}",
        ),
    ] {
        let log = [(Tool, command, "{}"), (Info, "checking calc\nfine", "{}")];
        let input = logged(&log);
        let facts = RuleCognifier::draw(&input).facts;
        assert_eq!(facts.len(), 1, "{command}");
        let content = format!("Running `{named}` succeeded.");
        assert_eq!(facts[0].content, content);
        let sources = facts[0].sources.iter();
        let stretches: Vec<_> = sources
            .filter(|excerpt| excerpt.record == input.records[0].id)
            .map(|excerpt| excerpt.of(command).unwrap())
            .collect();
        assert_eq!(stretches, [shown]);
    }
}

#[test]
fn scripts_that_begin_alike_are_told_apart() {
    let (tests, lints) = ("set -e\nnpm ci\nnpm test", "set -e\nnpm run lint");
    let log = [
        EDIT,
        (Tool, tests, "{}"),
        (Info, "4 passed", "{}"),
        (Tool, lints, "{}"),
        (Info, "2 passed", "{}"),
        (Tool, "cd api &&\nset -e\nnpm  ci\n\nnpm test", "{}"),
        (Info, "5 passed", "{}"),
    ];
    let cognition = drawn(&log);
    let outcomes: Vec<&str> = cognition
        .facts
        .iter()
        .map(|fact| fact.content.as_str())
        .filter(|content| content.starts_with("Running"))
        .collect();
    // Of the one that ran twice, the last outcome stands.
    assert_eq!(
        outcomes,
        [
            "Running `set -e \u{2026}` gave 2 passed after calc.py was edited.",
            "Running `set -e \u{2026}` gave 5 passed after calc.py was edited.",
        ]
    );
    let code = cognition.skill.unwrap().code;
    let steps = "1. edit calc.py\n2. set -e \u{2026}\n3. set -e \u{2026}";
    assert_eq!(code, steps);
}

#[test]
fn a_code_that_a_line_tells_is_an_answer_or_a_failure_as_one_of_metadata_is() {
    for (command, output) in [
        ("diff a b", "Exit code 1\n1c1\n< a\n---\n> b"),
        ("diff a b", "1c1\n< a\n---\n> b\nexit status 1"),
        ("test -f x", "[Command finished with exit code 1]"),
        ("grep -r x src", "Exit code 1\n\n(nothing found)"),
    ] {
        let log = [(Tool, command, "{}"), (Info, output, "{}")];
        let cognition = drawn(&log);
        assert!(cognition.facts.is_empty(), "{command}");
        assert!(cognition.result.ends_with("0 of 1 commands went wrong."));
        assert!(!checked_by(&log).repeatable, "{command}");
    }
    for (command, output, told) in [
        (
            "grep x src",
            "Exit code 2\ngrep: src: it is a directory",
            "`grep x src` failed with exit status 2.",
        ),
        (
            "cat missing",
            "exit code 1\ncat: missing: No such file or directory",
            "`cat missing` failed with cat: missing: No such file or directory.",
        ),
    ] {
        let log = [(Tool, command, "{}"), (Info, output, "{}")];
        assert_eq!(contents(&log), [told]);
        let result = drawn(&log).result;
        assert!(result.ends_with("1 of 1 commands went wrong."), "{result}");
    }
    // What a file says of other commands says nothing of the one that shows it.
    let zero = r#"{"exit":0}"#;
    for (command, output, metadata) in [
        ("cat ci.log", "cc a.c\nexit status 2\nstopped", "{}"),
        ("cat ci.log", "cc a.c\nexit status 2", "{}"),
        ("cat ci.log", "exit code 2\ncc a.c", zero),
        ("tail -1 ci.log", "exit status 2", "{}"),
        ("git diff", "@@ -1 +1 @@\n exit status 2\n-a\n+b", "{}"),
        ("diff -U1 a b", "@@ -1 +1 @@\n-a\n+b\n exit status 2", "{}"),
    ] {
        let cognition = drawn(&[(Tool, command, "{}"), (Info, output, metadata)]);
        let result = cognition.result;
        assert!(cognition.facts.is_empty(), "{command}: {output}");
        assert!(result.ends_with("0 of 1 commands went wrong."), "{output}");
    }
}
