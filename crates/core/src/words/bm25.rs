//! BM25: how well a text answers a query's words (Robertson and Zaragoza, 2009).
//!
//! Owns the formula with k1 = 1.2 and b = 0.75. Rarity and mean length are those of the texts that
//! are handed in, so one tenant's words say nothing about another's. It must not know what they are texts of.

use std::collections::{BTreeMap, BTreeSet};

use super::terms;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The words of a query, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Sorted.
    terms: Vec<String>,
}

impl Query {
    /// The words of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let terms: BTreeSet<String> = terms(text).into_iter().collect();
        Self {
            terms: terms.into_iter().collect(),
        }
    }

    /// Whether there is no word that says anything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How often its words occur in no text at all.
    #[must_use]
    pub fn none(&self) -> Counted {
        Counted {
            counts: vec![0; self.terms.len()],
            total: 0,
        }
    }

    /// How often its words occur in a text.
    #[must_use]
    pub fn count(&self, text: &str) -> Counted {
        let mut counted = self.none();
        for term in terms(text) {
            if let Ok(at) = self.terms.binary_search(&term) {
                counted.counts[at] += 1;
            }
            counted.total += 1;
        }
        counted
    }
}

/// How often each term occurs in one text, whatever is asked later.
#[derive(Debug, Default)]
pub struct TermCounts {
    /// Sorted by term.
    counts: Vec<(Box<str>, u32)>,
    total: u32,
}

impl TermCounts {
    /// Those of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut counts = BTreeMap::<String, u32>::new();
        let mut total = 0;
        for term in terms(text) {
            *counts.entry(term).or_default() += 1;
            total += 1;
        }
        Self {
            counts: counts
                .into_iter()
                .map(|(term, count)| (term.into(), count))
                .collect(),
            total,
        }
    }

    /// How often the words of a query are among them.
    #[must_use]
    pub fn counted(&self, query: &Query) -> Counted {
        let counts = query.terms.iter().map(|term| self.count(term));
        Counted {
            counts: counts.collect(),
            total: self.total,
        }
    }

    fn count(&self, term: &str) -> u32 {
        self.counts
            .binary_search_by(|(known, _)| (**known).cmp(term))
            .map_or(0, |index| self.counts[index].1)
    }
}

/// How often each word of one query occurs in a text, and how many words the text has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// In the order of the query's words.
    counts: Vec<u32>,
    total: u32,
}

impl Counted {
    /// Adds those of another text, which was counted for the same query: both are one text from then on.
    pub fn add(&mut self, other: &Self) {
        debug_assert_eq!(self.counts.len(), other.counts.len(), "of one query");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    /// How many of the query's words occur.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }
}

/// The scores of the texts that hold a word of the query that all of them were counted for, by their index in `texts`. All
/// are over 0.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of words and texts are far under 2^24, or near enough"
)]
pub fn scores(texts: &[Counted]) -> Vec<(usize, f32)> {
    let Some(first) = texts.first() else {
        return Vec::new();
    };
    let length_mean = (texts.iter().map(|text| u64::from(text.total)).sum::<u64>() as f32
        / texts.len() as f32)
        .max(1.0);
    let rarity: Vec<f32> = (0..first.counts.len())
        .map(|term| {
            let holding = texts.iter().filter(|text| text.counts[term] > 0).count() as f32;
            (1.0 + (texts.len() as f32 - holding + 0.5) / (holding + 0.5)).ln()
        })
        .collect();
    let score = |(index, text): (usize, &Counted)| {
        let length = K1 * (1.0 - B + B * text.total as f32 / length_mean);
        let parts = text.counts.iter().zip(&rarity);
        let parts = parts.filter(|(count, _)| **count > 0);
        let sum: f32 = parts
            .map(|(count, rarity)| rarity * *count as f32 * (K1 + 1.0) / (*count as f32 + length))
            .sum();
        (sum > 0.0).then_some((index, sum))
    };
    texts.iter().enumerate().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranking(query: &str, texts: &[&str]) -> Vec<usize> {
        let query = Query::of(query);
        let counted = texts
            .iter()
            .map(|text| TermCounts::of(text).counted(&query));
        let mut scores = scores(&counted.collect::<Vec<_>>());
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        scores.into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn a_rare_word_outweighs_a_common_one() {
        let texts = [
            "the server starts",
            "the server stops",
            "the server leaks",
            "a rounding error",
        ];
        assert_eq!(ranking("server rounding", &texts)[0], 3);
    }

    #[test]
    fn a_short_text_outranks_a_long_one_with_the_same_word() {
        let texts = [
            "precision is lost",
            "precision is one of many words that this long text about other matters also holds",
        ];
        assert_eq!(ranking("precision", &texts), [0, 1]);
    }

    #[test]
    fn what_shares_no_word_is_not_listed() {
        assert_eq!(ranking("precision", &["a server", "losing precision"]), [1]);
        assert!(ranking("the of", &["the of"]).is_empty());
        assert!(ranking("", &["a server"]).is_empty());
        assert!(ranking("precision", &[]).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_counted_for_a_query_is_what_was_counted_before_it(
            query in "[a-d ]{0,12}", text in "[a-e ]{0,40}",
        ) {
            let query = Query::of(&query);
            prop_assert_eq!(query.count(&text), TermCounts::of(&text).counted(&query));
        }

        #[test]
        fn texts_that_are_added_up_count_as_one(
            query in "[a-d ]{0,12}", one in "[a-e ]{0,40}", other in "[a-e ]{0,40}",
        ) {
            let query = Query::of(&query);
            let mut sum = query.none();
            sum.add(&query.count(&one));
            sum.add(&query.count(&other));
            prop_assert_eq!(sum, query.count(&format!("{one} {other}")));
        }
    }
}
