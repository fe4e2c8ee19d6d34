//! What deduplication makes of each pair, by the rule and the thresholds of production.
//!
//! Must not know what is expected of a pair.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sillok_core::dedup::{Neighbour, Verdict, compared_from, verdict};
use sillok_core::entry::{Binding, Detail, Embedding, Metadata, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, PortError, SpaceThresholds};
use sillok_core::promotion::NewEntry;

use crate::pair::Pair;

/// What becomes of the second text when the first is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The two become one entry.
    Merged,
    /// Two entries, and a merge is suggested.
    Suggested,
    /// Two entries, and a contradiction for review.
    Contradicting,
    /// Two entries that do not know of one another.
    Apart,
}

impl Outcome {
    /// Every outcome, in the order of tables.
    pub const ALL: [Self; 4] = [
        Self::Merged,
        Self::Suggested,
        Self::Contradicting,
        Self::Apart,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Suggested => "suggested",
            Self::Contradicting => "contradicting",
            Self::Apart => "apart",
        }
    }

    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::New => Self::Apart,
            Verdict::Similar { .. } => Self::Suggested,
            Verdict::Merge { .. } => Self::Merged,
            Verdict::Contradicts { .. } => Self::Contradicting,
        }
    }
}

/// A pair and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// The pair.
    pub pair: Pair,
    /// How close the two texts lie.
    pub cosine: f32,
    /// What became of them.
    pub outcome: Outcome,
}

/// Judges every pair in the space of `embedder`.
///
/// # Errors
/// What the embedder answered.
///
/// # Panics
/// When the outcome depends on which of the two texts came first.
pub async fn judge(embedder: &dyn Embedder, pairs: &[Pair]) -> Result<Vec<Judged>, PortError> {
    let texts: Vec<&str> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    let vectors = embedder.embed(&texts).await?;
    assert_eq!(vectors.len(), texts.len(), "one vector for each text");
    let thresholds = embedder.thresholds();
    let judged = pairs.iter().zip(vectors.chunks(2)).map(|(pair, vectors)| {
        let cosine = cosine(&vectors[0], &vectors[1]);
        let outcome = outcome(pair.a, pair.b, cosine, thresholds);
        assert!(
            outcome == self::outcome(pair.b, pair.a, cosine, thresholds),
            "the order matters: {pair:?}"
        );
        Judged {
            pair: *pair,
            cosine,
            outcome,
        }
    });
    Ok(judged.collect())
}

/// What becomes of `new` when `known` is the one entry of the scope.
#[must_use]
pub fn outcome(known: &str, new: &str, cosine: f32, thresholds: SpaceThresholds) -> Outcome {
    let neighbour = Neighbour {
        id: EntryId::from_bytes([1; 16]),
        table: Table::Observations,
        failure: false,
        content: known.to_owned(),
        content_hash: ContentHash::of(known),
        claim: None,
        cosine: Some(cosine),
        succeeded: None,
    };
    let entry = NewEntry {
        table: Table::Observations,
        content: new.to_owned(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: None,
    };
    // The index names what lies that close; the same text is found by its hash.
    let found = cosine >= compared_from(thresholds)
        || neighbour.content_hash == ContentHash::of(&entry.content);
    let neighbours = if found { vec![neighbour] } else { Vec::new() };
    Outcome::of(verdict(&entry, &neighbours, thresholds))
}

fn cosine(a: &Embedding, b: &Embedding) -> f32 {
    a.values.iter().zip(&b.values).map(|(a, b)| a * b).sum()
}

/// What a future gives that does not wait for anything, as those of an embedder without I/O.
///
/// # Panics
/// When it waits.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::{Label, pairs};

    const THRESHOLDS: SpaceThresholds = SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    };

    /// The wording alone, as in a space where all texts lie in one place: what holds there holds in
    /// every space.
    #[test]
    fn in_no_space_is_anything_merged_that_is_not_one() {
        for pair in pairs() {
            let outcome = outcome(pair.a, pair.b, 1.0, THRESHOLDS);
            let merged = outcome == Outcome::Merged;
            assert!(!merged || pair.label.is_one(), "{pair:?}");
        }
    }

    #[test]
    fn most_near_duplicates_are_worded_the_same() {
        let same = || pairs().into_iter().filter(|pair| pair.label == Label::Same);
        let merged = |pair: &Pair| outcome(pair.a, pair.b, 1.0, THRESHOLDS) == Outcome::Merged;
        let (of, merged) = (same().count(), same().filter(merged).count());
        assert!(merged * 4 >= of * 3, "{merged} of {of}");
    }
}
