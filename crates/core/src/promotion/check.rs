//! What a cognifier may propose: numbers within their bounds, texts and lists within their limits, and
//! sources that it was given.
//!
//! Owns what is refused of a proposal before anything is made of it. Whether what it says is worth keeping is
//! not judged here.

use std::collections::BTreeSet;

use super::{CausalEdge, CognifyInput, Cognition, Fact};
use crate::id::RecordId;
use crate::limits::{
    COGNITION_CHOICES_MAX, COGNITION_EDGES_MAX, COGNITION_TEXT_BYTES_MAX, PRODUCTS_MAX,
    SHORT_TEXT_BYTES_MAX,
};

/// Characters of a fact that a refusal quotes.
const FACT_CHARS_SHOWN: usize = 80;

/// What is wrong with a proposal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Improper {
    /// A number that is not within 0 to 1, or is none.
    #[error("{what} is {value}, and not within 0 to 1")]
    OutOfBounds {
        /// Which one.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// More of something than there may be.
    #[error("{what}: {found} are more than {max}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A record that the cognifier was not given.
    #[error("it rests on {0}, which it was not given")]
    UnknownSource(RecordId),
    /// A stretch of a text that ends behind it, holds nothing, or takes a character apart.
    #[error("bytes {from} to {to} of {record} are no stretch of its text")]
    NoStretch {
        /// Where the text stands.
        record: RecordId,
        /// The first byte.
        from: u32,
        /// The byte behind the last one.
        to: u32,
    },
    /// A fact that rests on nothing.
    #[error("the fact '{0}' names nothing that it was drawn from")]
    NoSource(String),
}

impl Cognition {
    /// Checks a proposal against what it was drawn from. A model is not trusted to keep to a schema, and
    /// what does not is not mended here: it is asked again.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, input: &CognifyInput) -> Result<(), Improper> {
        within_one("the score", self.score)?;
        for edge in &self.causal_edges {
            within_one("the confidence of an edge", edge.confidence)?;
        }
        // The episode and the skill are products too.
        let facts_max = PRODUCTS_MAX - 2;
        at_most("facts", self.facts.len(), facts_max)?;
        let decisions = &self.key_decisions;
        at_most("key decisions", decisions.len(), COGNITION_CHOICES_MAX)?;
        let edges = &self.causal_edges;
        at_most("causal edges", edges.len(), COGNITION_EDGES_MAX)?;
        let bytes = decisions.iter().map(String::len).sum::<usize>()
            + edges.iter().map(CausalEdge::text_bytes).sum::<usize>();
        let what = "bytes of key decisions and causal edges";
        at_most(what, bytes, COGNITION_TEXT_BYTES_MAX)?;
        for claim in self.facts.iter().filter_map(|fact| fact.claim.as_ref()) {
            let longest = claim.key.len().max(claim.value.len());
            at_most("bytes of a claim", longest, SHORT_TEXT_BYTES_MAX)?;
        }
        self.sources_were_given(input)
    }

    fn sources_were_given(&self, input: &CognifyInput) -> Result<(), Improper> {
        let given: BTreeSet<&RecordId> = input.records.iter().map(|record| &record.id).collect();
        let of_skill = self.skill.iter().flat_map(|skill| &skill.sources);
        let mut all = self.sources.iter().chain(of_skill);
        if let Some(unknown) = all.find(|source| !given.contains(source)) {
            return Err(Improper::UnknownSource(unknown.clone()));
        }
        self.facts.iter().try_for_each(|fact| fact.rests_on(input))
    }
}

impl Fact {
    /// Checks that it names what it was drawn from, and that this stands there.
    fn rests_on(&self, input: &CognifyInput) -> Result<(), Improper> {
        if self.sources.is_empty() {
            let said = self.content.chars().take(FACT_CHARS_SHOWN);
            return Err(Improper::NoSource(said.collect()));
        }
        for excerpt in &self.sources {
            let record = &excerpt.record;
            if input.parts_of(record).is_empty() {
                return Err(Improper::UnknownSource(record.clone()));
            }
            if input.said(excerpt).is_none() {
                return Err(Improper::NoStretch {
                    record: record.clone(),
                    from: excerpt.from,
                    to: excerpt.to,
                });
            }
        }
        Ok(())
    }
}

fn within_one(what: &'static str, value: f64) -> Result<(), Improper> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(Improper::OutOfBounds { what, value })
    }
}

fn at_most(what: &'static str, found: usize, max: usize) -> Result<(), Improper> {
    if found > max {
        return Err(Improper::TooMany { what, found, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::citation::Excerpt;
    use crate::entry::{Claim, Metadata};
    use crate::id::Seq;
    use crate::promotion::{CognifyRecord, RecordEnd, SkillDraft, Unread};
    use crate::scope::Scope;
    use crate::staging::{LogLevel, RecordKind};
    use crate::time::Timestamp;
    use crate::verification::Outcome;

    fn id(seq: u64) -> RecordId {
        RecordId {
            scope: Scope::parse("org/a/project/p/worktree/w/task/t").unwrap(),
            seq: Seq::new(seq),
        }
    }

    fn input() -> CognifyInput {
        CognifyInput {
            task: id(1).scope,
            title: String::new(),
            description: String::new(),
            outcome: Outcome::Passed,
            error: None,
            approach: None,
            opening: None,
            records: vec![CognifyRecord {
                bound: None,
                id: id(1),
                time: Timestamp::from_ms(1),
                kind: RecordKind::Log {
                    level: LogLevel::Info,
                },
                content: "a line".to_owned(),
                end: None,
                metadata: Metadata::default(),
            }],
            unread: Unread::default(),
        }
    }

    fn fact(source: u64) -> Fact {
        Fact {
            content: "the parser is greedy".to_owned(),
            sources: vec![Excerpt {
                record: id(source),
                from: 0,
                to: 6,
            }],
            claim: None,
        }
    }

    fn edge(confidence: f64) -> CausalEdge {
        CausalEdge {
            cause: "a".to_owned(),
            effect: "b".to_owned(),
            confidence,
        }
    }

    /// A proposal that is as large as it may be.
    fn full() -> Cognition {
        Cognition {
            facts: vec![fact(1); PRODUCTS_MAX - 2],
            score: 1.0,
            key_decisions: vec!["use it".to_owned(); COGNITION_CHOICES_MAX],
            causal_edges: vec![edge(0.0); COGNITION_EDGES_MAX],
            sources: vec![id(1)],
            ..Cognition::default()
        }
    }

    fn refused(change: impl FnOnce(&mut Cognition)) -> String {
        let mut cognition = full();
        cognition.check(&input()).unwrap();
        change(&mut cognition);
        cognition.check(&input()).unwrap_err().to_string()
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        for value in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            assert!(refused(|it| it.score = value).starts_with("the score is"));
            let why = refused(|it| it.causal_edges[0] = edge(value));
            assert!(why.starts_with("the confidence of an edge is"), "{why}");
        }
    }

    #[test]
    fn there_is_no_more_of_anything_than_an_event_holds() {
        let why = refused(|it| it.facts.push(fact(1)));
        assert_eq!(why, "facts: 255 are more than 254");
        assert!(refused(|it| it.key_decisions.push(String::new())).starts_with("key decisions"));
        assert!(refused(|it| it.causal_edges.push(edge(1.0))).starts_with("causal edges"));
        let long = "a".repeat(COGNITION_TEXT_BYTES_MAX);
        assert!(refused(|it| it.key_decisions[0].clone_from(&long)).starts_with("bytes of key"));
        assert!(refused(|it| it.causal_edges[0].effect.clone_from(&long)).starts_with("bytes of"));
        let claim = |key: &str, value: &str| Claim {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        for claim in [claim(&long, "v"), claim("k", &long)] {
            let why = refused(|it| it.facts[0].claim = Some(claim));
            assert!(why.starts_with("bytes of a claim"), "{why}");
        }
    }

    #[test]
    fn what_it_rests_on_was_given() {
        let unknown = format!("it rests on {}, which it was not given", id(2));
        assert_eq!(refused(|it| it.sources.push(id(2))), unknown);
        assert_eq!(refused(|it| it.facts[7] = fact(2)), unknown);
        let skill = SkillDraft {
            name: String::new(),
            description: String::new(),
            code: String::new(),
            sources: vec![id(2)],
        };
        assert_eq!(refused(|it| it.skill = Some(skill)), unknown);
    }

    #[test]
    fn a_fact_rests_on_what_stands_there() {
        let why = refused(|it| it.facts[3].sources.clear());
        assert!(why.contains("names nothing"), "{why}");
        for (from, to) in [(0, 7), (2, 2), (3, 1)] {
            let why =
                refused(|it| (it.facts[3].sources[0].from, it.facts[3].sources[0].to) = (from, to));
            assert!(why.contains("are no stretch of its text"), "{why}");
        }
    }

    #[test]
    fn of_a_record_that_was_cut_a_fact_rests_on_what_was_read_of_it() {
        let mut input = input();
        input.records[0].end = Some(RecordEnd {
            from: 40,
            content: "its end".to_owned(),
        });
        let check = |from, to| {
            let mut cognition = full();
            (
                cognition.facts[3].sources[0].from,
                cognition.facts[3].sources[0].to,
            ) = (from, to);
            cognition.check(&input)
        };
        for (from, to) in [(0, 6), (40, 47), (44, 47)] {
            assert_eq!(check(from, to), Ok(()));
        }
        // What lies between was not read, and nothing goes over it.
        for (from, to) in [(6, 13), (39, 47), (0, 47), (40, 48), (5, 41)] {
            let why = check(from, to).unwrap_err().to_string();
            assert!(why.contains("are no stretch of its text"), "{why}");
        }
    }
}
