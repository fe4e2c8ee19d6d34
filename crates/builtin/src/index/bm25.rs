//! BM25: how well a text answers a query's words (Robertson and Zaragoza, 2009).
//!
//! Owns the formula with k1 = 1.2 and b = 0.75. Rarity and mean length are those of the texts that
//! passed the filters, so one tenant's words say nothing about another's. It must not know entries.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::terms;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// How often each term occurs in one text.
#[derive(Debug, Default)]
pub(super) struct TermCounts {
    /// Sorted by term.
    counts: Vec<(Box<str>, u32)>,
    total: u32,
}

impl TermCounts {
    pub(super) fn of(text: &str) -> Self {
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

    fn count(&self, term: &str) -> u32 {
        self.counts
            .binary_search_by(|(known, _)| (**known).cmp(term))
            .map_or(0, |index| self.counts[index].1)
    }
}

/// The scores of the texts that hold a word of `query`, by their index in `texts`. All are over 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of words and texts are far under 2^24, or near enough"
)]
pub(super) fn scores(query: &str, texts: &[&TermCounts]) -> Vec<(usize, f32)> {
    let query: Vec<String> = terms(query)
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if query.is_empty() || texts.is_empty() {
        return Vec::new();
    }
    let length_mean = (texts.iter().map(|text| u64::from(text.total)).sum::<u64>() as f32
        / texts.len() as f32)
        .max(1.0);
    let counts: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| query.iter().map(|term| text.count(term)).collect())
        .collect();
    let rarity: Vec<f32> = (0..query.len())
        .map(|term| {
            let holding = counts.iter().filter(|counts| counts[term] > 0).count() as f32;
            (1.0 + (texts.len() as f32 - holding + 0.5) / (holding + 0.5)).ln()
        })
        .collect();
    let score = |(index, counts): (usize, &Vec<u32>)| {
        let length = K1 * (1.0 - B + B * texts[index].total as f32 / length_mean);
        let parts = counts.iter().zip(&rarity).filter(|(count, _)| **count > 0);
        let sum: f32 = parts
            .map(|(count, rarity)| rarity * *count as f32 * (K1 + 1.0) / (*count as f32 + length))
            .sum();
        (sum > 0.0).then_some((index, sum))
    };
    counts.iter().enumerate().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(query: &str, texts: &[&str]) -> Vec<usize> {
        let counts: Vec<TermCounts> = texts.iter().map(|text| TermCounts::of(text)).collect();
        let mut scores = scores(query, &counts.iter().collect::<Vec<_>>());
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
    }
}
