//! Shell: whether a text runs one command alone.
//!
//! Owns quotes, redirections and what joins commands. It must not know what a command does, nor how
//! it ended.

use std::sync::LazyLock;

use regex::Regex;

/// Whether a text is one command in one line, beside which nothing else runs. What cannot be told counts as more than one.
pub(super) fn is_alone(text: &str) -> bool {
    const JOINTS: [char; 6] = [';', '&', '|', '`', '\'', '"'];
    const RUNS: [&str; 3] = ["$(", "<(", ">("];
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let bare = QUOTED.replace_all(line, "_");
    let bare = REDIRECTED.replace_all(&bare, " ");
    // A mark of a quote that is left has no end, or what stands behind it is run.
    !bare.contains(JOINTS) && !RUNS.iter().any(|runs| bare.contains(runs))
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed and tested")
}

/// What is meant as it stands. Between double marks a command may still be run for its words.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"\\.|'[^']*'|"(?:[^"\\`$]|\$*\\.|\$+[^"(\\`$])*\$*""#));

/// The redirections that are written with a mark which joins commands elsewhere: `2>&1`, `&>log`, `>|log`.
static REDIRECTED: LazyLock<Regex> = LazyLock::new(|| compiled(r"[<>]&|&>|>\|"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_is_alone_whatever_it_quotes_and_wherever_it_writes() {
        for text in [
            "diff -r tests/a tests/b",
            "\n  grep x f  \n\n",
            "grep 'a; b && c' f",
            r#"grep "a|b 'c'" f"#,
            r"grep a\|b\;c f",
            r#"grep "^a\"b|\$(c)$" f"#,
            r#"test "$HOME" = "$x$""#,
            "grep x f 2>&1",
            "grep x f >/dev/null 2>/dev/null",
            "grep x f &>log",
            "grep x f >|log <&3",
        ] {
            assert!(is_alone(text), "{text}");
        }
    }

    #[test]
    fn whatever_else_runs_a_command_is_not_alone() {
        for text in [
            "",
            "diff a b\npytest -q",
            "diff a b;pytest",
            "diff a b; pytest -q",
            "test -f x&&make",
            "test -f x || make",
            "diff a b & make",
            "diff a b&",
            "diff a b 2>&1|tee log",
            "diff a b 2>&1 &make",
            "diff a b &&>log make",
            "grep x f|&tail",
            "diff <(make a) b",
            "test `make a`",
            "test $(make a) = b",
            r#"test "$(make a)" = b"#,
            r#"test "a`make`" = b"#,
            r#"test "$$(make a)" = b"#,
            "grep 'x f; make",
            "grep \"x\ny\" f",
        ] {
            assert!(!is_alone(text), "{text}");
        }
    }
}
