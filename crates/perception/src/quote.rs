//! Quotes: where in a text a quote stands.
//!
//! A model copies a quote nearly word for word: line breaks become blanks, and blanks at the ends go. So a quote
//! is found word for word, or else with all blank stretches taken for one blank; nothing else is forgiven. It
//! must not know what a quote is to prove.

use core::ops::Range;

/// Characters that a quote has at least: fewer stand everywhere.
const CHARS_MIN: usize = 3;

/// A text to find quotes in.
pub(crate) struct Text {
    original: String,
    /// The same with blank stretches as one blank, made when it is first wanted.
    squeezed: Option<Squeezed>,
}

struct Squeezed {
    text: String,
    /// For each byte of it, the byte of the original that it stems from.
    from: Vec<usize>,
}

impl Text {
    pub(crate) fn new(original: String) -> Self {
        Self {
            original,
            squeezed: None,
        }
    }

    /// Where a quote stands first, in bytes; none where it does not, and of a quote that says too little.
    pub(crate) fn find(&mut self, quote: &str) -> Option<Range<usize>> {
        let quote = quote.trim();
        if quote.chars().filter(|c| !c.is_whitespace()).count() < CHARS_MIN {
            return None;
        }
        if let Some(from) = self.original.find(quote) {
            return Some(from..from + quote.len());
        }
        let original = &self.original;
        let squeezed = self.squeezed.get_or_insert_with(|| Squeezed::of(original));
        let quote = Squeezed::of(quote).text;
        let place = squeezed.text.find(&quote)?;
        let last = place + quote.len() - 1;
        // Both ends are no blanks: each byte of theirs stems from the byte that is the same.
        Some(squeezed.from[place]..squeezed.from[last] + 1)
    }
}

impl Squeezed {
    fn of(original: &str) -> Self {
        let mut squeezed = Self {
            text: String::with_capacity(original.len()),
            from: Vec::with_capacity(original.len()),
        };
        let mut was_blank = false;
        for (place, c) in original.char_indices() {
            let is_blank = c.is_whitespace();
            if !(is_blank && was_blank) {
                let c = if is_blank { ' ' } else { c };
                squeezed.text.push(c);
                squeezed.from.extend(place..place + c.len_utf8());
            }
            was_blank = is_blank;
        }
        squeezed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found<'a>(text: &'a str, quote: &str) -> Option<&'a str> {
        Text::new(text.to_owned()).find(quote).map(|at| &text[at])
    }

    #[test]
    fn a_quote_is_found_word_for_word_in_any_script() {
        let text = "테스트가 실패했다: expected 3, got 4\n원인은 반올림이다";
        assert_eq!(found(text, "expected 3, got 4"), Some("expected 3, got 4"));
        assert_eq!(found(text, "원인은 반올림이다"), Some("원인은 반올림이다"));
        assert_eq!(found(text, " 실패했다:\n"), Some("실패했다:"));
        assert_eq!(
            Text::new(text.to_owned()).find("실패"),
            None,
            "two characters say too little"
        );
        assert_eq!(Text::new(text.to_owned()).find("실패했"), Some(13..22));
    }

    #[test]
    fn blanks_may_differ_and_nothing_else_may() {
        let text = "error:\n    the  parser\u{a0}is greedy\r\nend";
        let original = "error:\n    the  parser\u{a0}is greedy";
        assert_eq!(found(text, "error: the parser is greedy"), Some(original));
        for other in [
            "error: the Parser is greedy",
            "error; the parser",
            "errorthe",
            "greedy parser",
        ] {
            assert_eq!(found(text, other), None, "{other}");
        }
    }

    #[test]
    fn what_says_nothing_is_found_nowhere() {
        for quote in ["", "  ", "a", "ab", "a b", "\n\n\n\n"] {
            assert_eq!(found("ab a b\n\n\n\n  abc", quote), None, "{quote:?}");
        }
        assert_eq!(found("", "abc"), None);
    }

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    proptest! {
        /// Whatever stretch is quoted with whatever blanks: what is found is a stretch with the same words.
        #[test]
        fn every_stretch_is_found_and_says_the_same(
            text in "[a-b가-나é😀 \n\t\u{3000}]{0,60}", from in 0usize..60, length in 0usize..60,
            blank in "[ \n\t\u{a0}]{1,3}",
        ) {
            let from = text.floor_char_boundary(from.min(text.len()));
            let to = text.floor_char_boundary((from + length).min(text.len()));
            let exact = &text[from..to];
            let says_much = exact.chars().filter(|c| !c.is_whitespace()).count() >= CHARS_MIN;
            let mut searched = Text::new(text.clone());
            for quote in [exact.to_owned(), words(exact).join(&blank)] {
                match searched.find(&quote) {
                    None => prop_assert!(!says_much, "{quote:?} in {text:?}"),
                    Some(at) => {
                        prop_assert!(says_much);
                        let said = text.get(at.clone());
                        prop_assert!(said.is_some(), "{at:?} takes a character apart");
                        prop_assert_eq!(words(said.unwrap()), words(&quote));
                    }
                }
            }
        }

        #[test]
        fn any_quote_of_any_text_is_found_as_it_stands_or_not_at_all(text in ".{0,40}", quote in ".{0,6}") {
            let mut searched = Text::new(text.clone());
            if let Some(at) = searched.find(&quote) {
                prop_assert_eq!(words(&text[at]), words(&quote));
            }
        }
    }
}
