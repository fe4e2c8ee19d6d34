//! Which names of files a text may hold: of a compiler's output, a stack trace, a diff, a tool's arguments, a sentence.
//!
//! Owns what looks like a path. It must not know which files there are.

use std::collections::BTreeSet;

use crate::limits::{NAME_BYTES_MAX, NAMES_MAX, TEXT_BYTES_MAX};

/// What looks like a path in a text, each once, in its order. Of a long text, its two ends are read.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let (first, last) = ends(text);
    let mut found = Names::default();
    for line in first.lines().chain(last.lines()) {
        if found.order.len() >= NAMES_MAX {
            break;
        }
        found.in_line(line);
    }
    found.order
}

fn ends(text: &str) -> (&str, &str) {
    if text.len() <= TEXT_BYTES_MAX {
        return (text, "");
    }
    let half = TEXT_BYTES_MAX / 2;
    let first = text.floor_char_boundary(half);
    let last = text.ceil_char_boundary(text.len() - half);
    (&text[..first], &text[last..])
}

#[derive(Default)]
struct Names<'a> {
    known: BTreeSet<&'a str>,
    order: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn in_line(&mut self, line: &'a str) {
        let is_header = ["diff --git ", "--- ", "+++ "]
            .iter()
            .any(|header| line.starts_with(header));
        for (number, piece) in line.split('\\').enumerate() {
            for word in piece.split(parts_words) {
                let word = if is_header { without_side(word) } else { word };
                self.take(without_place(word));
            }
            // A letter behind a backslash stands for the end of a line in JSON, or is the first one of a name.
            let behind = piece.strip_prefix(['n', 'r', 't']).filter(|_| number > 0);
            let word = behind.and_then(|behind| behind.split(parts_words).next());
            self.take(without_place(word.unwrap_or_default()));
        }
    }

    fn take(&mut self, name: &'a str) {
        let is_new = self.order.len() < NAMES_MAX && is_like_a_path(name);
        if is_new && self.known.insert(name) {
            self.order.push(name);
        }
    }
}

/// What stands between names.
fn parts_words(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '"' | '\''
                | '`'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '<'
                | '>'
                | ','
                | ';'
                | '|'
                | '='
                | '*'
        )
}

/// A name in the header of a diff, without the side that it is of.
fn without_side(word: &str) -> &str {
    let side = word.strip_prefix("a/").or_else(|| word.strip_prefix("b/"));
    side.unwrap_or(word)
}

/// A name without the lines and the column behind it, and without what ends a sentence.
fn without_place(word: &str) -> &str {
    let mut word = word.split("#L").next().unwrap_or(word);
    loop {
        let bare = word.trim_end_matches(['.', ':', '!', '?']);
        let number = bare.trim_end_matches(|last: char| last.is_ascii_digit() || last == '-');
        let bare = match number.strip_suffix(':') {
            Some(before) if number.len() < bare.len() => before,
            _ => bare,
        };
        if bare.len() == word.len() {
            return word.strip_prefix("./").unwrap_or(word);
        }
        word = bare;
    }
}

/// A path has a directory or an ending, and a letter.
fn is_like_a_path(name: &str) -> bool {
    let has_ending = || {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| !ending.is_empty() && ending.chars().all(char::is_alphanumeric))
    };
    (2..=NAME_BYTES_MAX).contains(&name.len())
        && !name.contains("://")
        && name.chars().any(char::is_alphabetic)
        && (name.contains('/') || has_ending())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_found_as_tools_and_people_write_them() {
        for (text, expected) in [
            ("error: src/main.rs:12:5: expected `;`", "src/main.rs"),
            ("  --> crates/core/src/lib.rs:3:1", "crates/core/src/lib.rs"),
            ("  File \"app/views.py\", line 3, in get", "app/views.py"),
            ("    at run (src/a.test.ts:1:22)", "src/a.test.ts"),
            ("src\\n\\nsrc/b.go:7: undefined: x", "src/b.go"),
            ("+++ b/lib/x.c\t2026-01-01", "lib/x.c"),
            (
                "I changed `docs/설계.md`, since it was wrong.",
                "docs/설계.md",
            ),
            ("see README.md.", "README.md"),
            ("{\"file_path\":\"/w/t/src/a.rs\",\"n\":1}", "/w/t/src/a.rs"),
            ("see src/a.rs#L10-L20 for that", "src/a.rs"),
            ("see src/a.rs#L10", "src/a.rs"),
            ("--config=./ci/deploy.yaml", "ci/deploy.yaml"),
            ("a/b stands for itself", "a/b"),
        ] {
            assert!(names(text).contains(&expected), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn sides_are_taken_off_in_headers_of_diffs_alone() {
        let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n+use a/y.rs";
        assert_eq!(names(diff), ["x.rs", "a/y.rs"]);
    }

    #[test]
    fn what_is_no_path_is_none() {
        for text in [
            "",
            "a sentence",
            "1.2.3",
            "https://host/a.rs",
            "at 12:30",
            "...",
            "-",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn of_a_long_text_both_ends_are_read() {
        let text = format!("first.rs\n{}\nlast.rs", "한 ".repeat(TEXT_BYTES_MAX));
        assert_eq!(names(&text), ["first.rs", "last.rs"]);
    }

    proptest! {
        #[test]
        fn names_are_few_each_once_and_stand_in_the_text(text in "(\\PC|[a-z./: \n\"\\\\]){0,400}") {
            let found = names(&text);
            prop_assert!(found.len() <= NAMES_MAX);
            let once: BTreeSet<&&str> = found.iter().collect();
            prop_assert_eq!(once.len(), found.len());
            prop_assert!(found.iter().all(|name| text.contains(name) && name.len() <= NAME_BYTES_MAX));
        }

        #[test]
        fn a_path_is_found_wherever_it_stands(
            path in "[a-z]{1,8}(/[a-z_]{1,8}){1,3}\\.[a-z]{1,4}", line in 1_u32..99_999,
        ) {
            for text in [
                format!("{path}:{line}: no"), format!("in '{path}'."), format!("({path}:{line}:1)"),
                format!("+++ b/{path}"), format!("{{\"path\":\"{path}\"}}"),
            ] {
                prop_assert!(names(&text).contains(&path.as_str()), "{}", text);
            }
        }
    }
}
