//! What is found behind anchors, in the plainest way.
//!
//! Owns a second telling of where anchors lead, the other way round, and of what a word is. It shares no code with what nodes
//! do.

use sillok_core::anchor::{Lead, Standing};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;

use super::super::original::Original;
use super::super::view::View;

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

/// Whether one of these words is in a text.
pub(in super::super) fn has_word(text: &str, words: &[String]) -> bool {
    let mut parts = text.split(|one: char| !one.is_alphanumeric());
    parts.any(|part| words.iter().any(|word| part == word))
}

impl View<'_> {
    /// What the anchors lead to that a brief for a scope and a domain tells of, each once, without what is gone.
    pub(in super::super) fn led(&self, scope: &Scope, domain: &Domain) -> Vec<Led> {
        let mut all: Vec<Led> = Vec::new();
        for anchored in self.anchored(scope, domain) {
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
