//! Promotion: from what a cognifier proposes to what a verification publishes.
//!
//! Owns the mapping of a passed or failed verification to entries. It must not know where records
//! come from or how entries merge: collecting is a job's work, merging is [`crate::dedup`].

use serde::{Deserialize, Serialize};

use crate::citation::{self, Citation, Excerpt, TestOutcome};
use crate::entry::{Binding, Claim, Detail, Embedding, Episode, Metadata, Skill, Table};
use crate::id::{EntryId, RecordId, VerificationId};
use crate::limits::PRODUCTS_MAX;
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::verification::{Outcome, Verification, VerificationSource};

mod attempts;
mod bound;
mod check;
mod drawn;
mod ends;
mod input;
mod room;
mod standing;

use bound::Places;
use room::{Room, clip, masked_edge, with_first_lists};

pub use attempts::{
    Attempts, BACKOFF_MS_MAX, FailedAttempt, LastError, Patience, REACH_BACKOFF_MS_MAX, Spent, Used,
};
pub use check::Improper;
pub use ends::{Ends, beginning, ending};
pub use input::{CognifyInput, CognifyRecord, RecordEnd, Unread};
pub use standing::{Given, Standing, Stands, given_back};

/// One atomic fact: true or false by itself, without pronouns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The fact as a sentence.
    pub content: String,
    /// What it was drawn from: together they say what it says.
    pub sources: Vec<Excerpt>,
    /// What it claims, if that can be stated as key and value.
    pub claim: Option<Claim>,
}

/// One thing that brought about another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CausalEdge {
    /// What came first.
    pub cause: String,
    /// What came of it.
    pub effect: String,
    /// 0 to 1.
    pub confidence: f64,
}

impl CausalEdge {
    /// Bytes of its texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.cause.len() + self.effect.len()
    }
}

/// A way of doing something, as proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillDraft {
    /// A short name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it is done.
    pub code: String,
    /// The records that it was drawn from.
    pub sources: Vec<RecordId>,
}

/// What a cognifier proposes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cognition {
    /// Atomic facts.
    pub facts: Vec<Fact>,
    /// What was learnt.
    pub critique: String,
    /// Choices that were made on the way.
    pub key_decisions: Vec<String>,
    /// What came out.
    pub result: String,
    /// 0 to 1.
    pub score: f64,
    /// What brought about what.
    pub causal_edges: Vec<CausalEdge>,
    /// Whether the way it was done could serve again.
    pub repeatable: bool,
    /// That way.
    pub skill: Option<SkillDraft>,
    /// The records that the critique rests on, for the episode's citations.
    pub sources: Vec<RecordId>,
    /// Facts that the engine left out itself, since what they name stands nowhere.
    pub left_out: u32,
    /// What it used.
    pub used: Used,
}

/// An entry as it is handed to the scope that may publish it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewEntry {
    /// Its table.
    pub table: Table,
    /// Its text.
    pub content: String,
    /// The typed part.
    pub detail: Detail,
    /// Free metadata.
    pub metadata: Metadata,
    /// What it claims, if it declares that.
    pub claim: Option<Claim>,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Whether it tells of something that failed.
    pub failure: bool,
    /// Where it was true first.
    pub binding: Binding,
    /// The vector of the text; none when no embedder answered.
    pub embedding: Option<Embedding>,
}

/// What a verification publishes of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct Products {
    /// The entries, the episode first, without embeddings.
    pub entries: Vec<NewEntry>,
    /// How many facts there was no room for: the last ones.
    pub left_out: usize,
}

/// What a verification publishes.
///
/// A passed one publishes the episode, the facts as observations, and a skill draft (which the
/// target takes only where success repeats). A failed one publishes the failure itself and nothing
/// else: an episode, a gotcha and a failed pattern, all marked as failures. Each says what drew it, and the episode what
/// was `spent`, and what was not read.
#[must_use]
pub fn products(
    verification: &Verification,
    input: &CognifyInput,
    cognition: &Cognition,
    spent: &Spent,
) -> Products {
    let drawn = spent.said_of_others();
    let places = Places::of(verification, input);
    let other = |product: NewEntry| NewEntry {
        metadata: drawn.clone(),
        binding: places.bind(&product.citations),
        ..product
    };
    let mut entries = vec![NewEntry {
        metadata: spent.said(input.unread),
        ..other(episode(verification, input, cognition))
    }];
    let mut left_out = 0;
    match verification.said.outcome {
        Outcome::Passed => {
            let draft = cognition.skill.as_ref().filter(|_| cognition.repeatable);
            let draft = draft.map(|draft| other(skill(verification, input, draft)));
            let mut room = Room::beside(entries.iter().chain(&draft));
            let says = |fact: &&Fact| !fact.content.trim().is_empty();
            let facts = cognition.facts.iter().filter(says);
            let proposed = facts.clone().count();
            let facts = facts.map(|fact| other(observation(verification, fact)));
            let taken = facts
                .take(PRODUCTS_MAX - 2)
                .take_while(|fact| room.takes(fact));
            entries.extend(taken);
            left_out = proposed - (entries.len() - 1);
            entries.extend(draft);
        }
        Outcome::Failed => {
            entries.push(other(gotcha(verification, input)));
            entries.push(other(failed_pattern(verification, input, cognition)));
        }
    }
    assert!(entries.len() <= PRODUCTS_MAX, "products are bounded");
    Products { entries, left_out }
}

fn episode(verification: &Verification, input: &CognifyInput, cognition: &Cognition) -> NewEntry {
    let success = verification.said.outcome == Outcome::Passed;
    let detail = Episode {
        task_id: input.task.clone(),
        task: clip(&input.title),
        critique: clip(&cognition.critique),
        reward: cognition.score,
        success,
        input: clip(&input.description),
        output: clip(&cognition.result),
        key_decisions: cognition
            .key_decisions
            .iter()
            .map(|text| clip(text))
            .collect(),
        causal_edges: cognition.causal_edges.iter().map(masked_edge).collect(),
    };
    let content = if cognition.critique.trim().is_empty() {
        input.title.clone()
    } else {
        format!("{}\n{}", input.title, cognition.critique)
    };
    new_entry(
        verification,
        Table::Episodes,
        &content,
        Detail::Episode(Box::new(with_first_lists(detail))),
        records(input, &cognition.sources),
    )
}

fn observation(verification: &Verification, fact: &Fact) -> NewEntry {
    let entry = new_entry(
        verification,
        Table::Observations,
        &fact.content,
        Detail::Plain,
        fact.sources.iter().cloned().map(Citation::Excerpt),
    );
    NewEntry {
        claim: fact.claim.as_ref().map(Claim::masked),
        ..entry
    }
}

fn skill(verification: &Verification, input: &CognifyInput, draft: &SkillDraft) -> NewEntry {
    let content = format!("{}\n{}", draft.name, draft.description);
    let detail = Skill {
        name: clip(&draft.name),
        description: clip(&draft.description),
        code: clip(&draft.code),
        usage_count: 0,
        success_rate: 1.0,
    };
    new_entry(
        verification,
        Table::Skills,
        &content,
        Detail::Skill(Box::new(detail)),
        records(input, &draft.sources),
    )
}

fn gotcha(verification: &Verification, input: &CognifyInput) -> NewEntry {
    let error = verification
        .said
        .error
        .as_deref()
        .unwrap_or("the verification failed without an error text");
    let content = format!("{}: {error}", input.title);
    new_entry(
        verification,
        Table::Gotchas,
        &content,
        Detail::Plain,
        core::iter::empty(),
    )
}

fn failed_pattern(
    verification: &Verification,
    input: &CognifyInput,
    cognition: &Cognition,
) -> NewEntry {
    let content = match verification.said.approach.as_deref() {
        Some(approach) => format!("Failed approach: {approach}"),
        None => format!("An approach that was not named failed: {}", input.title),
    };
    new_entry(
        verification,
        Table::Patterns,
        &content,
        Detail::Plain,
        records(input, &cognition.sources),
    )
}

fn new_entry(
    verification: &Verification,
    table: Table,
    content: &str,
    detail: Detail,
    sources: impl Iterator<Item = Citation>,
) -> NewEntry {
    NewEntry {
        table,
        content: clip(content),
        detail,
        metadata: Metadata::default(),
        claim: None,
        citations: citations(verification, sources),
        failure: verification.said.outcome == Outcome::Failed,
        binding: verification.said.binding.clone(),
        embedding: None,
    }
}

/// What a product rests on: the judgement first, then its own sources, then what the judge cited.
fn citations(
    verification: &Verification,
    sources: impl Iterator<Item = Citation>,
) -> Vec<Citation> {
    let cited = verification.said.citations.iter().cloned();
    let all: Vec<Citation> = core::iter::once(judgement(verification))
        .chain(sources)
        .chain(cited)
        .collect();
    citation::join(&[], &all)
}

/// The citations of whole records.
fn records(input: &CognifyInput, ids: &[RecordId]) -> impl Iterator<Item = Citation> {
    ids.iter()
        .filter_map(|id| input.record(id))
        .map(input::of_record)
}

/// The citation that stands for the verification itself.
#[must_use]
pub fn judgement(verification: &Verification) -> Citation {
    let said = &verification.said;
    if said.source == VerificationSource::HumanApproved {
        return Citation::Human {
            user: verification.recorder.id.clone(),
        };
    }
    let outcome = match said.outcome {
        Outcome::Passed => TestOutcome::Pass,
        Outcome::Failed => TestOutcome::Fail,
    };
    Citation::Test {
        name: said.source.as_str().to_owned(),
        outcome,
        run: said.run.clone(),
    }
}

/// What became of one product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It became an entry.
    Created,
    /// It was the same as an entry that stays.
    Merged {
        /// Cosine of the two texts; 1 for the same text.
        cosine: f64,
    },
    /// It became an entry that contradicts another.
    Contradicts {
        /// The other entry.
        other: EntryId,
    },
    /// It was left out: a skill is published only where success repeats.
    LeftOut,
}

impl Disposition {
    /// The names of all of them.
    pub const NAMES: [&'static str; 4] = ["created", "merged", "contradicts", "left_out"];

    /// Which one it is, by name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Merged { .. } => "merged",
            Self::Contradicts { .. } => "contradicts",
            Self::LeftOut => "left_out",
        }
    }
}

/// One product and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// Its table.
    pub table: Table,
    /// The entry that it became, or was merged into; none when it was left out.
    pub entry: Option<EntryId>,
    /// What became of it.
    pub disposition: Disposition,
}

/// What a promotion published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishReport {
    /// The episode: the promotion's result.
    pub episode: EntryId,
    /// Every product, in order.
    pub products: Vec<Product>,
    /// Earlier episodes that this one is linked to.
    pub linked_episodes: Vec<EntryId>,
}

impl PublishReport {
    /// How many entries were made.
    #[must_use]
    pub fn created(&self) -> usize {
        let made = |p: &&Product| {
            matches!(
                p.disposition,
                Disposition::Created | Disposition::Contradicts { .. }
            )
        };
        self.products.iter().filter(made).count()
    }

    /// How many products were the same as an entry that was there.
    #[must_use]
    pub fn merged(&self) -> usize {
        self.products
            .iter()
            .filter(|p| matches!(p.disposition, Disposition::Merged { .. }))
            .count()
    }
}

/// A promotion under way: written with the verification, deleted once it is noted or dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The task whose verification it carries out.
    pub source: Scope,
    /// The verification.
    pub verification: VerificationId,
    /// When it was written.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests;
