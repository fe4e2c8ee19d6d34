//! What a text says to a terminal alone: colours, moves of the cursor, titles, bells.
//!
//! Owns the shapes of such sequences, as ECMA-48 has them. It must not know what a text means.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// A sequence, as an expression: what begins with a bracket, a string up to its end, any other behind an escape, and a control
/// character by itself. Line ends and tabs are none.
pub(crate) const SEQUENCE: &str = r"(?:(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|(?:\x1b[\]P^_X]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}])";

static SEQUENCES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(SEQUENCE).expect("a shape of sequences"));

/// A text without its sequences; borrowed where it has none.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    SEQUENCES.replace_all(text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_is_told_is_left_out_and_what_it_shows_is_not() {
        for (text, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}(B\u{1b}[mplain", "plain"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}shown", "shown"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}Pq12\u{1b}\\shown", "shown"),
            (
                "be\u{7}ll, n\u{0}ull, \u{1b}7saved\u{1b}8",
                "bell, null, saved",
            ),
            ("at the end \u{1b}", "at the end "),
            ("\u{1b}]0;without an end", "0;without an end"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_that_says_nothing_to_a_terminal_is_as_it_was() {
        for text in ["", "plain\ttext\r\nof lines\n", "한글 [0m 31m", "é\u{a0}ü"] {
            assert!(matches!(shown(text), Cow::Borrowed(shown) if shown == text));
        }
    }
}
