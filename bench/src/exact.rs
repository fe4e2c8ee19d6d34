//! The true neighbours of questions, found by comparing each with every entry.
//!
//! Owns the lists and their bounds; entries are seen once, as they are written. It must not know indices.

use sillok_builtin::HashEmbedder;
use sillok_core::entry::Embedding;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder as _, IndexDoc};
use sillok_core::scope::Scope;

/// A question, with the entries of some scopes that lie closest to it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) text: String,
    pub(crate) embedding: Embedding,
    pub(crate) scopes: Vec<Scope>,
    /// The best first.
    closest: Vec<(f32, EntryId)>,
    limit: usize,
}

impl Asked {
    /// A question about these scopes, of which so many entries are wanted.
    pub(crate) fn new(text: String, scopes: Vec<Scope>, limit: usize) -> Self {
        let embedding = Embedding {
            space: HashEmbedder.space(),
            values: HashEmbedder::vector(&text),
        };
        Self {
            text,
            embedding,
            scopes,
            closest: Vec::with_capacity(limit + 1),
            limit,
        }
    }

    /// Compares it with an entry.
    pub(crate) fn see(&mut self, doc: &IndexDoc) {
        let Some(embedding) = &doc.embedding else {
            return;
        };
        if !self.scopes.contains(&doc.scope) {
            return;
        }
        let score = dot(&self.embedding.values, &embedding.values);
        let is_full = self.closest.len() == self.limit;
        if is_full
            && self
                .closest
                .last()
                .is_some_and(|(worst, _)| *worst >= score)
        {
            return;
        }
        let place = self.closest.partition_point(|(other, _)| *other >= score);
        self.closest.insert(place, (score, doc.entry));
        self.closest.truncate(self.limit);
    }

    /// Of the closest entries, how many are among these.
    pub(crate) fn hits(&self, found: &[EntryId]) -> usize {
        let is_found = |(_, entry): &&(f32, EntryId)| found.contains(entry);
        self.closest.iter().filter(is_found).count()
    }

    /// How many entries there are to find.
    pub(crate) const fn wanted(&self) -> usize {
        self.closest.len()
    }
}

/// The cosine of two vectors of length 1, in eight sums, so that it is computed eight at a time.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_the_sum_of_products() {
        let a: Vec<f32> = (0..19).map(|n| n as f32).collect();
        assert!((dot(&a, &a) - 2_109.0).abs() < 1e-3);
    }
}
