//! What is found behind anchors, in the plainest way.
//!
//! Owns a second telling of where anchors lead, the other way round, of what a word is, and of how well a text answers. It
//! shares no code with what nodes do, but for what comes of a word before it is counted: stems are those of `core::words`.

use sillok_core::anchor::{Lead, Standing};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_core::words::terms;

use super::super::original::Original;
use super::super::view::View;

/// By what part a score may differ that was counted with fewer digits.
const PRECISION: f64 = 1e-4;

/// Something that anchors lead to which a brief tells of.
#[derive(Clone, Debug)]
pub(in super::super) struct Led {
    pub(in super::super) lead: Lead,
    /// The version that said something last, of a decision.
    pub(in super::super) version: Option<u64>,
    /// What it says; nothing where nobody knows what was handed over.
    pub(in super::super) text: Option<String>,
    /// The anchors that lead there, and their hints.
    pub(in super::super) anchors: Vec<((Scope, AnchorId), String)>,
}

impl Led {
    /// Whether one of these words is in it, or in a hint that leads there; nothing where that is not known.
    pub(in super::super) fn has_one(&self, words: &[String]) -> Option<bool> {
        let hints = self.anchors.iter().map(|(_, hint)| hint.as_str());
        let mut beside = hints.chain([self.lead.title.as_str()]);
        if beside.any(|text| has_word(text, words)) {
            return Some(true);
        }
        let text = self.text.as_ref()?;
        Some(has_word(text, words))
    }
}

/// How well something answers.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Answers {
    /// How often each word that is looked for is in it.
    counts: Vec<usize>,
    /// How many words it has.
    total: usize,
    /// The higher, the better; 0 where none of the words is in it.
    pub(in super::super) score: f64,
}

impl Answers {
    /// Whether it is better than another one for sure: nodes count with fewer digits.
    pub(in super::super) fn is_better_than(&self, other: &Self) -> bool {
        self.score > other.score * (1.0 + PRECISION)
    }

    /// Whether it has the same words as often, so that nothing but their order tells them apart.
    pub(in super::super) fn is_as_good_as(&self, other: &Self) -> bool {
        self.counts == other.counts && self.total == other.total
    }

    /// Whether a node that says this has counted the same.
    pub(in super::super) fn is_scored(&self, score: u32) -> bool {
        let score = f64::from(f32::from_bits(score));
        (score - self.score).abs() <= self.score * PRECISION
    }
}

/// How well each of these answers some words, by the rarity of words among them (BM25); nothing where the text of one is not
/// known.
#[expect(clippy::cast_precision_loss, reason = "there are few words")]
pub(in super::super) fn answers(led: &[Led], words: &[String]) -> Option<Vec<Answers>> {
    let mut wanted = terms(&words.join(" "));
    wanted.sort_unstable();
    wanted.dedup();
    let mut all = Vec::with_capacity(led.len());
    for one in led {
        let hints = one.anchors.iter().map(|(_, hint)| hint.as_str());
        let parts = [one.lead.title.as_str(), one.text.as_deref()?];
        let has = terms(
            &parts
                .into_iter()
                .chain(hints)
                .collect::<Vec<_>>()
                .join("\n"),
        );
        let count = |word: &String| has.iter().filter(|one| *one == word).count();
        all.push(Answers {
            counts: wanted.iter().map(count).collect(),
            total: has.len(),
            score: 0.0,
        });
    }
    let number = all.len() as f64;
    let mean = all.iter().map(|one| one.total).sum::<usize>() as f64 / number.max(1.0);
    let rarity = |at: usize| {
        let holding = all.iter().filter(|one| one.counts[at] > 0).count() as f64;
        (1.0 + (number - holding + 0.5) / (holding + 0.5)).ln()
    };
    let rarities: Vec<f64> = (0..wanted.len()).map(rarity).collect();
    for one in &mut all {
        let length = 1.2 * (0.25 + 0.75 * one.total as f64 / mean.max(1.0));
        let parts = one.counts.iter().zip(&rarities).map(|(count, rarity)| {
            let count = *count as f64;
            rarity * count * 2.2 / (count + length)
        });
        one.score = parts.sum();
    }
    Some(all)
}

/// Whether one of these words is in a text.
pub(in super::super) fn has_word(text: &str, words: &[String]) -> bool {
    let mut parts = text.split(|one: char| !one.is_alphanumeric());
    parts.any(|part| words.iter().any(|word| part == word))
}

impl View<'_> {
    /// What the anchors lead to that a brief for a scope and a domain tells of, each once, without what is gone, in the order in
    /// which a search comes upon it: the anchors from the end of the brief on, and what each leads to as it is told.
    pub(in super::super) fn led(&self, scope: &Scope, domain: &Domain) -> Vec<Led> {
        let mut all: Vec<Led> = Vec::new();
        for anchored in self.anchored(scope, domain).into_iter().rev() {
            let pointer = anchored.anchor;
            for lead in anchored.leads {
                if lead.standing == Standing::Gone {
                    continue;
                }
                let leading = ((pointer.scope.clone(), pointer.id), pointer.hint.clone());
                if let Some(known) = all.iter_mut().find(|known| known.lead.to == lead.to) {
                    known.anchors.push(leading);
                    continue;
                }
                let (version, text) = self.said_by(&lead.to);
                all.push(Led {
                    lead,
                    version,
                    text,
                    anchors: vec![leading],
                });
            }
        }
        all
    }

    /// The version of a decision that said something last, and the text of a decision or of evidence.
    fn said_by(&self, node: &Node) -> (Option<u64>, Option<String>) {
        match node {
            Node::Decision { scope, root } => {
                let chain = self.chains.get(&(scope, *root));
                let said = chain.and_then(|chain| chain.last_said());
                said.map_or((None, None), |(number, text, _)| {
                    (Some(number), Some(text.content.clone()))
                })
            }
            Node::Evidence { scope, id } => {
                let Some((_, said)) = self.evidence.get(&(scope, *id)) else {
                    return (None, None);
                };
                let text = match &said.content {
                    Content::Inline(text) => Some(text.clone()),
                    content @ Content::Chunked { .. } => {
                        let original = Original::told(&said.title, said.masked, content);
                        original.map(|original| original.stored())
                    }
                };
                let is_it = |text: &String| *blake3::hash(text.as_bytes()).as_bytes() == said.hash;
                (None, text.filter(is_it))
            }
            Node::File { .. } | Node::Symbol { .. } => (None, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_what_stands_between_what_is_no_letter_and_no_digit() {
        let words = |word: &str| vec![word.to_owned()];
        let text = "줄 12: [masked:github_token] ended there.";
        for (word, is_there) in [
            ("12", true),
            ("github", true),
            ("there", true),
            ("1", false),
            ("token_", false),
            ("end", false),
        ] {
            assert_eq!(has_word(text, &words(word)), is_there, "{word}");
        }
    }
}
