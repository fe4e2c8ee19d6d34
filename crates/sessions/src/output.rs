//! What an output says of how its command ended.
//!
//! Owns the forms in which shells, interpreters and clients tell it. It must not know records.

use crate::limits::OUTPUT_HEAD_LINES;

/// What clients write before the code that a command ended with, each at the beginning of a line.
const CODES: [&str; 3] = ["Exit code: ", "Exit code ", "Process exited with code "];

/// Whether an output tells of something that went wrong: a traceback, or a line in one of the
/// forms in which interpreters and shells report errors.
#[must_use]
pub(crate) fn shows_error(output: &str) -> bool {
    output.lines().any(|line| {
        let line = line.trim();
        let head = line.split(':').next().unwrap_or_default();
        let names_error = line.len() > head.len()
            && head
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
            && (head.ends_with("Error") || head.ends_with("Exception"));
        names_error
            || line.starts_with("Traceback (most recent call last)")
            || ["error:", "ERROR:", "fatal:", "E   "]
                .iter()
                .any(|start| line.starts_with(start))
            || line.ends_with(": command not found")
            || line.ends_with(": No such file or directory")
            || line.contains("introduced new syntax error")
    })
}

/// The code that an output begins by telling, as clients put it before what the command wrote.
#[must_use]
pub(crate) fn exit_code(output: &str) -> Option<i64> {
    output.lines().take(OUTPUT_HEAD_LINES).find_map(|line| {
        let line = line.trim_end();
        let code = CODES.iter().find_map(|before| line.strip_prefix(before))?;
        code.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_code_that_names_them() {
        for error in [
            "Traceback (most recent call last):\n  File",
            "x\nValueError: bad",
            "marshmallow.exceptions.ValidationError: no",
            "sh: 1: foo: command not found",
            "cat: x: No such file or directory",
            "fatal: not a git repository",
        ] {
            assert!(shows_error(error), "{error}");
        }
        for fine in [
            "12:    raise ValueError(\"x\")",
            "344",
            "errors.py",
            "class MyError",
            "ValueError",
        ] {
            assert!(!shows_error(fine), "{fine}");
        }
    }

    #[test]
    fn a_code_is_read_where_clients_put_it_and_nowhere_else() {
        let codex = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx";
        for (output, code) in [
            ("Exit code 1\nboom", Some(1)),
            ("Exit code: 0\nWall time: 1 seconds\nOutput:\n", Some(0)),
            (codex, Some(2)),
            ("Exit code one", None),
            ("the Exit code 1", None),
            ("", None),
        ] {
            assert_eq!(exit_code(output), code, "{output}");
        }
        let late = format!("{}Exit code 1", "line\n".repeat(OUTPUT_HEAD_LINES));
        assert_eq!(exit_code(&late), None);
    }
}
