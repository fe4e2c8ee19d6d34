//! What the rules say of how commands ended: nothing of one of which nothing says so.

use sillok_core::staging::LogLevel::{self, Error, Info, Thought, Tool};

use super::*;

const EDIT: (LogLevel, &str, &str) = (Tool, "edit calc.py: replace `a` by `b`", "{}");

fn logged(log: &[(LogLevel, &str, &str)]) -> CognifyInput {
    let texts: Vec<(LogLevel, &str)> = log.iter().map(|(level, text, _)| (*level, *text)).collect();
    let mut input = input("Mend it", "", &texts);
    for (record, (_, _, metadata)) in input.records.iter_mut().zip(log) {
        record.metadata = Metadata::parse(metadata).unwrap();
    }
    input
}

fn drawn(log: &[(LogLevel, &str, &str)]) -> Cognition {
    let input = logged(log);
    let cognition = RuleCognifier::draw(&input);
    assert_eq!(cognition.check(&input), Ok(()));
    cognition
}

fn contents(log: &[(LogLevel, &str, &str)]) -> Vec<String> {
    let facts = drawn(log).facts.into_iter();
    facts.map(|fact| fact.content).collect()
}

/// After an edit and what would make a skill of two steps, one more command with what it gave.
fn checked_by(last: &[(LogLevel, &str, &str)]) -> Cognition {
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
fn what_runs_behind_a_viewer_or_a_change_of_directory_is_read() {
    let failed = "cc -o calc calc.c\nmake: *** [check] Error 2";
    for command in [
        "cd api\nmake check",
        "cd api; make check",
        "cd api &&\nmake check",
        r#"{"command":"cd api\r\nmake check"}"#,
    ] {
        let told = [
            "`make check` failed with make: *** [check] Error 2.",
            "Running `make check` failed.",
        ];
        let log = [(Tool, command, "{}"), (Info, failed, "{}")];
        assert_eq!(contents(&log), told, "{command}");
    }
    let counted = [(Tool, "grep x f\nnpm test", "{}"), (Info, "2 failed", "{}")];
    let told = ["Running `grep x f \u{2026}` gave 2 failed."];
    assert_eq!(contents(&counted), told);
    for command in [
        "grep x f\nnpm test",
        "cd 'my api'; make check",
        "ls; make check",
        "ls && echo --- && make check",
        "ls || make check",
        "ls; for f in a b; do make check; done",
        "cat > x.c <<'EOF'\nit's\nEOF\nmake check",
    ] {
        let result = drawn(&[(Tool, command, "{}"), (Info, failed, "{}")]).result;
        let wrong = result.ends_with("1 of 1 commands went wrong.");
        assert!(wrong, "{command}: {result}");
    }
    // Where all that runs shows files, what they hold is no error.
    for command in [
        "cat a.log\ntail b.log",
        "cat a.log; echo ---; cat b.log",
        "cat a.log; echo $(ls | wc -l)",
        "cat a.log; echo --- | tee -a out",
        "cat a.log; echo b | sort | uniq",
        "cat a.log; printf 'b a' | cut -c 1",
        "cat a.log; echo b | sort",
        "cat a.log; echo b | tr b c | awk '{print $1}'",
        "cat a.log; echo b | sed s/b/c/ | egrep -v c | rg b",
        "cat a.log; echo b |& tee out",
        "cat a.log; echo b | (echo a; cat)",
        "ls; echo a.log b.log | while read f; do cat $f; done",
        "mkdir -p out && cat a.log",
        "cp a.log b.log; X=1; tail b.log",
        "touch out && cat a.log",
        "cat a.log; echo x >| out",
        "cat a.log | grep make",
        "cat a.log || true",
        "cat a.log # and then; make check",
        "grep 'a; make check' a.log",
        "find . -name a.log -exec cat {} \\; && ls",
        "cat <<'EOF' > a.log\nmake check\nEOF",
        "cd api\ncat a.log",
        "find . -name '*.log' | while read f; do head \"$f\"; done",
        "ls; if [ -f a.log ]; then cat a.log; else ls; fi",
        "ls\nfor f in a b; do\n  cat $f\ndone",
    ] {
        let cognition = drawn(&[(Tool, command, "{}"), (Info, failed, "{}")]);
        let result = cognition.result;
        assert!(cognition.facts.is_empty(), "{command}");
        assert!(result.ends_with("0 of 1 commands went wrong."), "{command}");
    }
}

#[test]
fn the_name_of_what_is_shown_said_moved_or_removed_makes_no_check_of_what_is_run() {
    for command in [
        "echo building; node gen.js",
        "node gen.js; [ -d tests ] || exit 1",
        "touch a; node gen.js; sed -i s/test/b/ a",
        "ls tests\nnpm run x",
        "mkdir -p tests && npm run x",
        "rm -rf build && node gen.js",
    ] {
        let log = [(Tool, command, "{}"), (Info, "a\nb", r#"{"exit":0}"#)];
        assert!(contents(&log).is_empty(), "{command}");
    }
}

/// How many facts come of one command that gave what a failed check prints, and the result.
fn beside_an_error(command: &str) -> (usize, String) {
    let failed = "cc -o calc calc.c\nmake: *** [check] Error 2";
    let cognition = drawn(&[(Tool, command, "{}"), (Info, failed, "{}")]);
    (cognition.facts.len(), cognition.result)
}

#[test]
fn what_runs_in_a_branch_of_the_shell_is_judged_by_itself() {
    for command in [
        "ls; if make check; then echo ok; fi",
        "ls; if [ -f a.log ]; then ls; elif make check; then ls; fi",
        "ls; while make check; do sleep 1; done",
        "ls; until make check; do sleep 1; done",
        "pwd; if ! make check; then exit 1; fi",
        "ls; case $x in a) make check;; esac",
        "ls; case $x in a) (cd api; make check);; esac",
        "ls && (cd api && make check)",
        "ls && (make check)",
        "ls && (make)",
        "for f in a b; do make check; done < a.log",
        "[ -f a.log ] && make check",
        "set -e; cat a.log; make check",
        "set -e\nrm -rf build\nmake check",
        "rm -rf build && make check",
        "mkdir -p build && cd build && cmake .. && make check",
        "printf '1\\n' | ./solve && cat a.log",
        "echo 'a | b' && make check",
        "ls; echo 1 | ./solve | tee out",
        "ls; printf '1\\n' | ./solve 2>&1 | head -5 | sort",
        "ls; echo 1 | tr 1 2 | ./solve",
        "ls; printf '%s' \"$x\" | patch -p1",
        "ls; X=1 make check",
        "ls; X=\"a b\" Y='c d' make check",
        "ls; if X=1 make check; then pwd; fi",
        "ls; out=$(make check)",
        "ls; out=\"`make check`\"",
    ] {
        let (facts, result) = beside_an_error(command);
        assert!(facts > 0, "{command}");
        let wrong = result.ends_with("1 of 1 commands went wrong.");
        assert!(wrong, "{command}: {result}");
    }
    // What is moved before something runs is not all that was done.
    let script = "set -e\nrm -rf build\nnpm test";
    let counted = [(Tool, script, "{}"), (Info, "2 failed", "{}")];
    let told = ["Running `set -e \u{2026}` gave 2 failed."];
    assert_eq!(contents(&counted), told);
}

#[test]
fn a_branch_of_the_shell_that_shows_files_holds_no_error() {
    // For each word that begins or ends a branch, or says nothing, one of these is a run where that word is none.
    for command in [
        "ls; if cat a.log; then cat b.log; elif cat c.log; then pwd; else ls; fi",
        "ls; while cat a.log; do cat b.log; done",
        "ls; until ! cat a.log; do cat b.log; done",
        "ls; { cat a.log; }",
        "ls; while true; do :; done",
        "ls; until test -f a.log; do sleep 1; done",
        "ls; for f in a b; do cat $f; done",
        "ls\ncase $x in\n  a | 'b c')\n    cat a.log ;;\n  *) exit 1 ;;\nesac",
        "ls; [[ -f a.log ]] || [ -f b.log ] || printf '%s' none || echo none",
        "ls; set -e; export A=b; cat a.log",
        "ls; X=1; Y+=\"$X 'b c'\"; Z=$HOME/a; cat a.log",
        "ls; n=$((n + 1)); all=(a b); all[0]='c d'; cat a.log",
        "ls; X=1 LC_ALL=C cat a.log",
        "ls; for f in a b; do n=$f; cat $n; done",
        "(X=1; cat a.log)",
        "X=1\ncat a.log",
        "source venv/bin/activate; . env.sh; unset A; cat a.log",
        "ls; for f in a b; do cat $f && continue; break; done",
        // What ends a branch says where it reads and writes.
        "ls; while read f; do cat $f; done < list.txt",
        "ls; for f in a b; do cat $f; done | sort > out",
        "ls; for f in a b; do cat $f; done|sort",
        "ls; if [ -f a.log ]; then cat a.log; fi 2>/dev/null",
        "ls; { cat a.log; } > out",
        "ls; { cat a.log; }>out",
        "ls\ncase $x in\n  a) cat a.log ;;\nesac >out",
        "ls && (cd api && cat b.log)",
        "ls && (cd api && pwd)",
        "ls && ( cat a.log; pwd ) | sort",
        "ls\n(\n  cat a.log\n) 2>&1 | sort",
        "ls; (for f in a b; do cat $f; done) | sort",
        // It may begin with what says nothing.
        "for f in *.log; do cat $f; done",
        "case $x in a) cat a.log;; *) ls;; esac",
        "if [ -f a.log ]; then cat a.log; fi",
        "[ -f a.log ] && cat a.log",
        "set -e; cat a.log",
        "(cd api && cat b.log)",
    ] {
        let (facts, result) = beside_an_error(command);
        assert_eq!(facts, 0, "{command}");
        let right = result.ends_with("0 of 1 commands went wrong.");
        assert!(right, "{command}: {result}");
    }
}

#[test]
fn what_runs_behind_an_edit_is_no_failure_of_the_edit() {
    let command = "sed -i 's/a/b/' calc.py && make check";
    let failed = "make: *** [check] Error 2";
    let told = contents(&[(Tool, command, "{}"), (Info, failed, "{}")]);
    let blamed = format!("`{command}` failed with {failed}.");
    assert!(told.contains(&blamed), "{told:?}");
    assert!(
        !told.iter().any(|one| one.starts_with("An edit")),
        "{told:?}"
    );
}

#[test]
fn what_is_shown_behind_an_edit_is_no_failure_of_it() {
    let shown = "cc -o calc calc.c\nmake: *** [check] Error 2";
    let command = "sed -i 's/a/b/' f.log && cat f.log";
    let log = [(Tool, command, "{}"), (Info, shown, "{}")];
    assert_eq!(contents(&log), ["The file f.log was edited."]);
    let result = drawn(&log).result;
    assert!(result.ends_with("0 of 1 commands went wrong."), "{result}");
    // Where it went wrong, nobody can tell in which of the two.
    let log = [(Tool, command, "{}"), (Info, "none", r#"{"exit":1}"#)];
    let told = [format!("`{command}` failed with exit status 1.")];
    assert_eq!(contents(&log), told);
    // A change of directory shows nothing.
    let silent = "cp a.log b.log && cd out";
    let (facts, result) = beside_an_error(silent);
    assert!(facts > 0 && result.ends_with("1 of 1 commands went wrong."));
    // A text for a file is no script, whatever its lines are like.
    let written = "edit 1:2\ncat calc.py\nend_of_edit";
    let failed = "calc.py: No such file or directory";
    let told = contents(&[(Tool, written, "{}"), (Info, failed, "{}")]);
    assert_eq!(told, [format!("`edit 1:2 \u{2026}` failed with {failed}.")]);
}

#[test]
fn an_edit_with_a_check_behind_it_is_checked_or_takes_the_check_back() {
    let both = "sed -i 's/a/b/' calc.py && make check";
    let right = [(Tool, both, "{}"), (Info, "checking calc\nfine", "{}")];
    let wrong = [
        (Tool, both, "{}"),
        (Info, "make: *** [check] Error 2", "{}"),
    ];
    assert!(checked_by(&right).repeatable);
    let shown = "sed -i 's/a/b/' calc.py && cat calc.py";
    let shown = [(Tool, shown, "{}"), (Info, "checking calc\nfine", "{}")];
    assert!(!checked_by(&shown).repeatable);
    let check = [(Tool, "make check", "{}"), (Info, "checking\nfine", "{}")];
    assert!(checked_by(&check).repeatable);
    assert!(!checked_by(&[check.as_slice(), &wrong].concat()).repeatable);
    // What ran behind it may be why the next edit of the file was made.
    let mended = drawn(&[wrong.as_slice(), &[EDIT]].concat());
    let cause = format!("`{both}` failed with make: *** [check] Error 2.");
    assert_eq!(mended.causal_edges[0].cause, cause);
    // Of one that said nothing nobody knows how its run ended.
    let open = |command| Work::of(&logged(&[(Tool, command, "{}")]), &mut Facts::default());
    assert_eq!(open(both).commands_open, 1);
    assert_eq!(open("sed -i 's/a/b/' calc.py").commands_open, 0);
}

#[test]
fn what_a_tool_that_edits_is_handed_is_no_script() {
    let code = "for line in calc.py:\n    cat = line";
    let log = [
        (Tool, code, r#"{"tool":"edit_file"}"#),
        (Info, "done", "{}"),
    ];
    assert_eq!(contents(&log), ["The file calc.py was edited."]);
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
