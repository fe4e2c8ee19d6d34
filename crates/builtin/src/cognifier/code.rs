//! Code: which words of a sentence are code, and whether a text shows them.
//!
//! Owns what counts as a name in code. It must not know where a text comes from.

use std::sync::LazyLock;

use regex::Regex;

/// Points in prose that stand within no name.
const ABBREVIATIONS: [&str; 2] = ["e.g", "i.e"];

/// The code that a sentence names: what stands in backticks, and words such as `test_add`, `add(` and `src/calc.py`.
pub(super) fn named(said: &str) -> Vec<&str> {
    let mut named = Vec::new();
    for (index, piece) in said.split('`').enumerate() {
        if index % 2 == 1 {
            named.push(piece.trim());
            continue;
        }
        let words = NAME.find_iter(piece).map(|found| found.as_str());
        named.extend(
            words.filter(|word| word.contains(['_', '(', '.']) && !ABBREVIATIONS.contains(word)),
        );
    }
    // A number or a mark alone stands in too many places.
    named.retain(|code| code.chars().count() > 1 && code.contains(char::is_alphabetic));
    named
}

/// Whether a text shows a piece of code, and not only as a part of longer words.
pub(super) fn stands(code: &str, text: &str) -> bool {
    let joins = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(is_of_name) && outer.is_some_and(is_of_name)
    };
    text.match_indices(code).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !joins(code.chars().next(), before) && !joins(code.chars().next_back(), after)
    })
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"[A-Za-z0-9_](?:[A-Za-z0-9_./:-]*[A-Za-z0-9_])?\(?";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_prose_is_seen() {
        assert_eq!(
            named("In src/calc.py test_add fails, since add() uses `a - b` (e.g. on line 14.5)."),
            ["src/calc.py", "test_add", "add(", "a - b"]
        );
        assert_eq!(
            named("It uses integer division on line 1475, `1`, and so on."),
            [""; 0]
        );
        assert_eq!(named("테스트 test_round가 실패한다"), ["test_round"]);
    }

    #[test]
    fn code_stands_where_no_longer_word_holds_it() {
        assert!(stands("read", "while read -r name"));
        assert!(stands("add(", "x.add(1)"));
        assert!(stands("calc.py", "src/calc.py:3"));
        assert!(!stands("read", "a thread and readers"));
        assert!(!stands("a.py", "data.py"));
        assert!(!stands("read", ""));
    }
}
