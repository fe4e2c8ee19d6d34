//! The passages of an original: where they begin and end, and which of them answers a query best.
//!
//! Owns that no word is cut in two by a passage, unless it is longer than one may be. It must not know whose text it is.

use core::ops::Range;

use crate::limits::{ANCHOR_SEARCH_PASSAGE_BYTES, ANCHOR_SEARCH_PASSAGE_BYTES_MAX};
use crate::words::bm25::{Counted, Query, scores};

/// Bytes that are counted in one step: little enough that others get their turn meanwhile.
const STEP_BYTES: usize = 16 << 10;

/// A text whose words are being counted, passage by passage.
#[derive(Debug)]
pub struct Counting<'a> {
    query: &'a Query,
    text: &'a str,
    /// Where the next passage begins.
    at: usize,
    passages: Vec<(Range<usize>, Counted)>,
}

/// What was counted of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Bytes of it.
    pub(super) bytes: u64,
    /// How often the words of the query occur.
    pub(super) counted: Counted,
    /// Where the passage begins that answers the query best, in bytes.
    pub(super) from: u64,
    /// That passage.
    pub(super) passage: String,
}

impl<'a> Counting<'a> {
    /// Begins with a text.
    #[must_use]
    pub const fn of(query: &'a Query, text: &'a str) -> Self {
        Self {
            query,
            text,
            at: 0,
            passages: Vec::new(),
        }
    }

    /// Counts some more of it: whether there is more.
    pub fn step(&mut self) -> bool {
        let until = self.at.saturating_add(STEP_BYTES);
        while self.at < until.min(self.text.len()) {
            let rest = &self.text[self.at..];
            let length = passage_length(rest);
            let counted = self.query.count(&rest[..length]);
            self.passages.push((self.at..self.at + length, counted));
            self.at += length;
        }
        self.at < self.text.len()
    }

    /// What was counted, once all of it was. The best passage is found as originals are: by words that few of the others
    /// have. The first of those that are as good, and where none has a word of the query, the first one that says anything.
    #[must_use]
    pub fn finish(mut self) -> Text {
        while self.step() {}
        let mut counted = self.query.none();
        let (ranges, counts): (Vec<_>, Vec<_>) = self.passages.into_iter().unzip();
        for count in &counts {
            counted.add(count);
        }
        let scored = scores(&counts).into_iter();
        // Of those that are as good, `max_by` takes the last one.
        let best = scored.rev().max_by(|one, other| one.1.total_cmp(&other.1));
        let says_something = |range: &Range<usize>| !self.text[range.clone()].trim().is_empty();
        let range = match best {
            Some((index, _)) => ranges[index].clone(),
            None => ranges.into_iter().find(says_something).unwrap_or_default(),
        };
        let passage = &self.text[range.clone()];
        let before = passage.len() - passage.trim_start().len();
        Text {
            bytes: self.text.len() as u64,
            counted,
            from: (range.start + before) as u64,
            passage: passage.trim().to_owned(),
        }
    }
}

/// Bytes of the passage at the start of a text: to the end of a line, or else of a word.
fn passage_length(text: &str) -> usize {
    if text.len() <= ANCHOR_SEARCH_PASSAGE_BYTES {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(ANCHOR_SEARCH_PASSAGE_BYTES)];
    let far = |(at, _): &(usize, char)| *at >= ANCHOR_SEARCH_PASSAGE_BYTES / 2;
    let last = |ends: fn(char) -> bool| {
        let mut late = window.char_indices().rev().take_while(far);
        late.find(|(_, one)| ends(*one))
    };
    let found = last(|one| one == '\n')
        .or_else(|| last(char::is_whitespace))
        .or_else(|| last(parts_words));
    let found = found.or_else(|| {
        let end = text.floor_char_boundary(ANCHOR_SEARCH_PASSAGE_BYTES_MAX);
        let mut behind = text[..end].char_indices().skip(window.chars().count());
        behind.find(|(_, one)| parts_words(*one))
    });
    match found {
        Some((at, one)) => at + one.len_utf8(),
        None => text.floor_char_boundary(ANCHOR_SEARCH_PASSAGE_BYTES_MAX),
    }
}

/// Whether no word goes on over a character.
fn parts_words(one: char) -> bool {
    !one.is_alphanumeric() && !matches!(one, '_' | '.' | '\'')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All passages of a text.
    fn passages(text: &str) -> Vec<&str> {
        let (mut rest, mut all) = (text, Vec::new());
        while !rest.is_empty() {
            let (passage, behind) = rest.split_at(passage_length(rest));
            all.push(passage);
            rest = behind;
        }
        all
    }

    fn counted(query: &str, text: &str) -> Text {
        Counting::of(&Query::of(query), text).finish()
    }

    proptest! {
        #[test]
        fn passages_make_the_text_and_cut_no_word(
            words in prop::collection::vec("[a-z가-힣_.']{1,90}[ \n,。]{1,3}", 0..60),
            query in "[a-z가-힣]{1,3}",
        ) {
            let text = words.concat();
            let all = passages(&text);
            prop_assert_eq!(all.concat(), text.as_str());
            prop_assert!(all.iter().all(|one| one.len() <= ANCHOR_SEARCH_PASSAGE_BYTES_MAX));
            let query = Query::of(&query);
            prop_assert_eq!(Counting::of(&query, &text).finish().counted, query.count(&text));
        }

        #[test]
        fn the_passage_stands_where_it_is_said_to(
            text in "(\\PC|\n| ){0,900}", query in "[a-z]{1,3}",
        ) {
            let found = counted(&query, &text);
            let from = usize::try_from(found.from).unwrap();
            prop_assert_eq!(&text[from..from + found.passage.len()], found.passage.as_str());
        }
    }

    #[test]
    fn a_word_that_never_ends_is_cut_and_nothing_of_it_is_lost() {
        for letter in ["a", "줄"] {
            let text = letter.repeat(5_000);
            let all = passages(&text);
            assert!(all.len() > 1 && all.iter().all(|one| one.len() <= 4_096));
            assert_eq!(all.concat(), text);
        }
    }

    #[test]
    fn the_best_passage_has_the_word_that_few_others_have() {
        let line = "the server answered in time, and nobody waited for it\n";
        let text = format!("{0}the server met a deadlock\n{0}", line.repeat(40));
        let found = counted("server deadlock", &text);
        assert!(found.passage.contains("met a deadlock"), "{found:?}");
        assert!(found.passage.len() <= ANCHOR_SEARCH_PASSAGE_BYTES);
        // The first of those that are as good.
        let found = counted("server", &line.repeat(40));
        assert_eq!(found.from, 0);
    }

    #[test]
    fn a_text_without_any_of_the_words_shows_its_beginning() {
        let text = format!("{}First.\n{}", " ".repeat(900), "Further. ".repeat(99));
        let found = counted("deadlock", &text);
        assert_eq!(found.counted.distinct(), 0);
        assert!(found.passage.starts_with("First."), "{found:?}");
        let nothing = counted("deadlock", "");
        assert_eq!((nothing.from, nothing.passage.as_str()), (0, ""));
    }

    #[test]
    fn a_step_counts_a_part_of_a_large_text_alone() {
        let text = "some words\n".repeat(10_000);
        let query = Query::of("words");
        let mut counting = Counting::of(&query, &text);
        let mut steps = 1;
        while counting.step() {
            steps += 1;
        }
        assert!(steps >= text.len() / (2 * STEP_BYTES), "{steps}");
        assert_eq!(counting.finish().counted, query.count(&text));
    }
}
