//! What a model answers: its form, read strictly, and the way from its quotes to bytes of records.
//!
//! What is no answer of the schema is refused as a whole. A fact that quotes what is not there is left out and
//! counted: the others do not rest on it. It must not know how the answer came.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use sillok_core::citation::Excerpt;
use sillok_core::entry::Claim;
use sillok_core::id::RecordId;
use sillok_core::limits::{CITATIONS_MAX, PRODUCTS_MAX};
use sillok_core::promotion::{CausalEdge, CognifyInput, Cognition, Fact, SkillDraft, Used};

use crate::prompt::{self, OPENING};
use crate::quote::Text;
use crate::schema;

/// Quotes that one fact has at most.
const QUOTES_MAX: usize = 16;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(prompt::SCHEMA).expect("the schema of this crate is JSON")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    facts: Vec<Stated>,
    critique: String,
    key_decisions: Vec<String>,
    result: String,
    score: f64,
    causal_edges: Vec<Edge>,
    repeatable: bool,
    #[serde(deserialize_with = "present")]
    skill: Option<Skill>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    content: String,
    quotes: Vec<Quote>,
    #[serde(deserialize_with = "present")]
    claim: Option<Claimed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    record: u64,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claimed {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge {
    cause: String,
    effect: String,
    confidence: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    name: String,
    description: String,
    code: String,
}

/// Has a field be there even where it may be null: the schema wants all of them.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}

/// Reads an answer to a task of which the records from `left_out.0` up to `left_out.1` were not given.
///
/// # Errors
/// What is wrong with it, without a word of the answer's own.
pub(crate) fn read(
    text: &str,
    input: &CognifyInput,
    left_out: (usize, usize),
    used: Used,
) -> Result<Cognition, String> {
    let answer = of_schema(text)?;
    // Before anything is looked for.
    if answer.facts.len() > PRODUCTS_MAX {
        return Err(format!("it states more than {PRODUCTS_MAX} facts"));
    }
    if answer
        .facts
        .iter()
        .any(|fact| fact.quotes.len() > QUOTES_MAX)
    {
        return Err(format!("a fact has more than {QUOTES_MAX} quotes"));
    }
    let mut records = Records::of(input, left_out);
    let stated = answer.facts.len();
    let facts: Vec<Fact> = answer
        .facts
        .into_iter()
        .filter_map(|stated| records.fact(stated))
        .collect();
    let sources = sources(&facts, input.opening.as_ref());
    let cognition = Cognition {
        left_out: u32::try_from(stated - facts.len()).unwrap_or(u32::MAX),
        facts,
        critique: answer.critique,
        key_decisions: answer.key_decisions,
        result: answer.result,
        score: answer.score,
        causal_edges: answer.causal_edges.into_iter().map(Edge::into).collect(),
        repeatable: answer.repeatable,
        skill: answer.skill.map(|skill| SkillDraft {
            name: skill.name,
            description: skill.description,
            code: skill.code,
            sources: sources.clone(),
        }),
        sources,
        used,
    };
    let checked = cognition
        .check(input)
        .map_err(|improper| improper.to_string());
    checked.map(|()| cognition)
}

fn of_schema(text: &str) -> Result<Answer, String> {
    let not_json = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        format!("the answer is not JSON, at line {line}, column {column}")
    };
    let not_of_it = || "the answer is not of the schema".to_owned();
    let value: Value = serde_json::from_str(text).map_err(not_json)?;
    if !schema::allows(&SCHEMA, &value) {
        return Err(not_of_it());
    }
    // From the text again: a key that comes twice is lost in a value.
    serde_json::from_str(text).map_err(|_| not_of_it())
}

impl From<Edge> for CausalEdge {
    fn from(edge: Edge) -> Self {
        Self {
            cause: edge.cause,
            effect: edge.effect,
            confidence: edge.confidence,
        }
    }
}

/// The records that facts rest on, each once, in the order of the log. The opening is no record.
fn sources(facts: &[Fact], opening: Option<&RecordId>) -> Vec<RecordId> {
    let excerpts = facts.iter().flat_map(|fact| &fact.sources);
    let mut ids: Vec<&RecordId> = excerpts
        .map(|excerpt| &excerpt.record)
        .filter(|id| Some(*id) != opening)
        .collect();
    ids.sort();
    ids.dedup();
    ids.into_iter().take(CITATIONS_MAX).cloned().collect()
}

/// The records that a model was given, by number.
struct Records<'a> {
    input: &'a CognifyInput,
    left_out: (usize, usize),
    /// The parts of each that were read, each with its first byte in the whole text.
    texts: BTreeMap<usize, Vec<(u32, Text)>>,
}

impl<'a> Records<'a> {
    fn of(input: &'a CognifyInput, left_out: (usize, usize)) -> Self {
        Self {
            input,
            left_out,
            texts: BTreeMap::new(),
        }
    }

    /// A fact as the rules know it; none of one that says nothing, and where anything that it quotes is not
    /// there.
    fn fact(&mut self, stated: Stated) -> Option<Fact> {
        let content = stated.content.trim();
        if content.is_empty() || stated.quotes.is_empty() {
            return None;
        }
        let mut sources = Vec::with_capacity(stated.quotes.len());
        for quote in &stated.quotes {
            let excerpt = self.excerpt(quote)?;
            if !sources.contains(&excerpt) {
                sources.push(excerpt);
            }
        }
        Some(Fact {
            content: content.to_owned(),
            sources,
            claim: stated.claim.map(|claim| Claim {
                key: claim.key,
                value: claim.value,
            }),
        })
    }

    fn excerpt(&mut self, quote: &Quote) -> Option<Excerpt> {
        let number = usize::try_from(quote.record).ok()?;
        let id = self.id(number)?;
        let parts = self.texts.entry(number).or_insert_with(|| {
            let parts = self.input.parts_of(&id).into_iter();
            let text = |(from, part): (u32, Cow<'_, str>)| (from, Text::new(part.into_owned()));
            parts.map(text).collect()
        });
        // A quote stands in one part: nobody knows what lies between two of them.
        let found = parts
            .iter_mut()
            .find_map(|(from, text)| Some((*from, text.find(&quote.text)?)));
        let (from, at) = found?;
        let byte = |place: usize| from.checked_add(u32::try_from(place).ok()?);
        Some(Excerpt {
            record: id,
            from: byte(at.start)?,
            to: byte(at.end)?,
        })
    }

    fn id(&self, number: usize) -> Option<RecordId> {
        if number == OPENING {
            return self.input.opening.clone();
        }
        let place = number - 1;
        let was_given = place < self.left_out.0 || place >= self.left_out.1;
        let record = self.input.records.get(place).filter(|_| was_given)?;
        Some(record.id.clone())
    }
}

#[cfg(test)]
mod tests;
