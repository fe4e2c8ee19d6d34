//! What the rules take of a script of the shell: which of its commands runs, shows or edits, and whose failure it is.

use sillok_core::staging::LogLevel::{Info, Tool};

use super::endings::{EDIT, checked_by, contents, drawn, logged};
use super::*;

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
