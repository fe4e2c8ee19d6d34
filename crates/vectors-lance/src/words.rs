//! Words of texts, split as the full-text index of a table splits them.
//!
//! Owns the tokeniser's parameters, for the index and for what memory holds alike. It must not
//! know scores.

use std::collections::BTreeMap;

use lance_index::scalar::InvertedIndexParams;
use lance_index::scalar::inverted::document_tokenizer::LanceTokenizer;
use lance_index::scalar::inverted::query::collect_query_tokens;
use parking_lot::Mutex;

use crate::error::Error;

/// Most bytes of a query that are looked at.
const QUERY_BYTES_MAX: usize = 4_096;

/// Parameters of the full-text index: words at white space and punctuation, lower case, English
/// stems, without English stop words.
pub(crate) fn params() -> InvertedIndexParams {
    InvertedIndexParams::default()
}

/// Splits texts.
#[derive(Debug)]
pub(crate) struct Words {
    /// A tokeniser writes to itself while it works.
    tokenizer: Mutex<Box<dyn LanceTokenizer>>,
}

impl Words {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self {
            tokenizer: Mutex::new(params().build()?),
        })
    }

    /// How often each term occurs in `text`.
    pub(crate) fn count(&self, text: &str) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for term in collect_query_tokens(text, &mut self.tokenizer.lock()) {
            *counts.entry(term).or_insert(0) += 1;
        }
        counts
    }

    /// The distinct terms of a query.
    pub(crate) fn distinct(&self, query: &str) -> Vec<String> {
        self.count(query).into_keys().collect()
    }
}

/// The first `words_max` words of a query.
pub(crate) fn clip_query(text: &str, words_max: usize) -> String {
    let bytes = text.floor_char_boundary(QUERY_BYTES_MAX);
    text[..bytes]
        .split_whitespace()
        .take(words_max)
        .collect::<Vec<_>>()
        .join(" ")
}
