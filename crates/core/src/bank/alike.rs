//! How much two texts have in common by their words, where rare words say more than common ones.
//!
//! Owns the measure, and which words of an approach count in it. How a word is told is [`crate::circular`]'s. It must not know
//! what the texts are of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::circular::{Approach, Term, Wording, holds, in_order};
use crate::limits::{FIX_REWORDED_BYTES_MAX, WARNED_ALIKE_TENTHS, WARNED_WORDS_MIN};

/// The words by which something is found: in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words(Vec<Term>);

impl Words {
    /// Those of what somebody asks about, who names no files or symbols beside the text.
    pub(super) fn of_text(text: &str) -> Self {
        let asked = Approach {
            text: text.to_owned(),
            ..Approach::default()
        };
        Self::of(&[&Wording::of(&asked)])
    }

    /// Those of several wordings together. The name of a file is one by which nobody asks: its parts are.
    pub(super) fn of(wordings: &[&Wording]) -> Self {
        let words = wordings.iter().flat_map(|one| one.words.iter());
        let words = words.filter(|word| !word.is_place());
        let names = wordings.iter().flat_map(|one| one.names.iter());
        Self(in_order(words.chain(names).copied().collect()))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many words both have, as a part of all that the one has that has fewer: over 0 to 1, and none where that is too little
    /// to say anything. How rare the words are does not count: the more often something failed, the more common its words are.
    pub(super) fn in_common(&self, other: &Self) -> Option<f64> {
        // Numbers alone make no two texts alike.
        let telling = self.common(other).filter(|word| !word.is_number());
        if telling.count() < WARNED_WORDS_MIN {
            return None;
        }
        let (common, fewer) = (self.common(other).count(), self.0.len().min(other.0.len()));
        let count = |words: usize| f64::from(u32::try_from(words).unwrap_or(u32::MAX));
        (10 * common >= WARNED_ALIKE_TENTHS * fewer).then(|| count(common) / count(fewer))
    }

    fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Term> + 'a {
        let mine = self.0.iter().copied();
        mine.filter(|word| holds(&other.0, *word))
    }
}

/// In how many of some texts each word occurs.
#[derive(Debug, Default)]
pub(super) struct Rarity {
    holding: BTreeMap<Term, u32>,
    texts: u32,
}

impl Rarity {
    /// Takes in another text.
    pub(super) fn take(&mut self, words: &Words) {
        self.texts = self.texts.saturating_add(1);
        for word in &words.0 {
            *self.holding.entry(*word).or_default() += 1;
        }
    }

    /// What a word says: the inverse document frequency of BM25 (Robertson and Zaragoza, 2009), which is over 0.
    fn of(&self, word: Term) -> f64 {
        let holding = f64::from(self.holding.get(&word).copied().unwrap_or_default());
        (1.0 + (f64::from(self.texts) - holding + 0.5) / (holding + 0.5)).ln()
    }

    fn sum(&self, words: impl Iterator<Item = Term>) -> f64 {
        words.map(|word| self.of(word)).sum()
    }

    /// How much of what is asked a text answers: 0 to 1.
    pub(super) fn answered(&self, asked: &Words, text: &Words) -> f64 {
        let all = self.sum(asked.0.iter().copied());
        if all > 0.0 {
            self.sum(asked.common(text)) / all
        } else {
            0.0
        }
    }
}

/// What may still be worded anew to answer one question.
pub(super) struct Room {
    reworded_bytes: usize,
}

impl Room {
    pub(super) const ALL: Self = Self::of(FIX_REWORDED_BYTES_MAX);

    /// Room for so many bytes of approaches.
    pub(super) const fn of(reworded_bytes: usize) -> Self {
        Self { reworded_bytes }
    }

    /// How an approach is worded by the rule of this build: as it was recorded, or made anew where another rule did that or none
    /// is kept. None where there is no room for that.
    pub(super) fn worded<'a>(
        &mut self,
        recorded: &'a Wording,
        approach: &Approach,
    ) -> Option<Cow<'a, Wording>> {
        if recorded.is_current() {
            return Some(Cow::Borrowed(recorded));
        }
        let left = self.reworded_bytes.checked_sub(approach.bytes());
        self.reworded_bytes = left?;
        Some(Cow::Owned(Wording::of(approach)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rarity(texts: &[&str]) -> Rarity {
        let mut rarity = Rarity::default();
        for text in texts {
            rarity.take(&Words::of_text(text));
        }
        rarity
    }

    #[test]
    fn a_rare_word_says_more_than_a_common_one() {
        let rarity = rarity(&["retry the upload", "retry the login", "retry the cache"]);
        let asked = Words::of_text("retry upload");
        let answered = |text| rarity.answered(&asked, &Words::of_text(text));
        assert!(answered("upload twice") > answered("retry twice"));
        assert!((answered("retry the upload") - 1.0).abs() < 1e-12);
        assert_eq!(answered("lock the door"), 0.0);
        assert_eq!(rarity.answered(&Words::default(), &asked), 0.0);
    }

    #[test]
    fn one_word_in_common_says_nothing_and_a_number_is_none() {
        let one = Words::of_text("retry the upload 3 times");
        let alike = |text| one.in_common(&Words::of_text(text));
        assert_eq!(alike("upload a picture"), None);
        assert_eq!(alike("upload 3 pictures"), None);
        assert!(alike("retry uploads of pictures").is_some());
        assert_eq!(alike("retry the upload 3 times"), Some(1.0));
    }

    #[test]
    fn two_words_of_very_many_say_nothing() {
        let letter = |number: u8| char::from(b'a' + number);
        let many = |prefix: &str| -> String {
            let words = (0..20).map(|number| format!("{prefix}{}q ", letter(number)));
            words.collect()
        };
        let of = |text: String| Words::of_text(&text);
        let one = of(format!("retry uploads {}", many("zz")));
        assert_eq!(
            one.in_common(&of(format!("retry uploads {}", many("xx")))),
            None
        );
        assert!(one.in_common(&of("retry uploads".to_owned())).is_some());
    }

    #[test]
    fn what_another_rule_worded_is_worded_anew_as_far_as_there_is_room() {
        let approach = Approach {
            text: "cache the parsed headers".to_owned(),
            ..Approach::default()
        };
        let current = Wording::of(&approach);
        let mut room = Room::of(approach.bytes() + 1);
        let found = room.worded(&current, &approach);
        assert!(matches!(found, Some(Cow::Borrowed(_))));
        let none = Wording::default();
        assert_eq!(room.worded(&none, &approach).as_deref(), Some(&current));
        assert_eq!(room.reworded_bytes, 1);
        assert_eq!(room.worded(&none, &approach), None);
    }
}
