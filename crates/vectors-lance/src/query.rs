//! How a table answers a search: memory exactly, the rest through the indices, with the filters as
//! a set of row addresses.
//!
//! Owns the two lists of one table. It must not know other tables, nor how lists are fused.

use std::sync::Arc;

use sillok_core::id::EntryId;
use sillok_core::ports::{ClaimRequest, Ranked};
use sillok_core::scope::Scope;

use crate::claims::Smallest;
use crate::delta::Corpus;
use crate::directory::{Admitted, Directory};
use crate::error::Error;
use crate::filter::{Attributes, Filter};
use crate::indices::{Indices, Scored};
use crate::ranking::best;
use crate::table::Table;

/// How often a search is begun anew because rows moved while it ran. Rows move once a second at
/// most, and a search takes milliseconds.
const ATTEMPTS_MAX: usize = 4;

/// What one table is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) filter: Filter,
    /// A vector of the searched space, with a direction.
    pub(crate) vector: Option<Vec<f32>>,
    /// The distinct terms of the text.
    pub(crate) terms: Vec<String>,
    pub(crate) cosine_min: f32,
    pub(crate) limit: usize,
    /// Whether the vectors themselves decide the order of what the index finds.
    pub(crate) exact_scores: bool,
}

/// The two lists of one table, best first.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) vector: Vec<Ranked>,
    pub(crate) text: Vec<Ranked>,
}

/// What memory found, and what is left to ask of the indices.
struct Begun {
    memory: Answer,
    corpus: Corpus,
    indexed: Option<(Arc<Indices>, Admitted)>,
}

impl Table {
    /// Answers a question.
    pub(crate) async fn answer(&self, question: &Question) -> Result<Answer, Error> {
        let mut attempt = 1;
        loop {
            let Begun {
                memory,
                corpus,
                indexed,
            } = self.begin(question).await?;
            let Some((indices, admitted)) = indexed else {
                return Ok(memory);
            };
            let (vector, text) = tokio::try_join!(
                self.closest_indexed(&indices, question, &admitted),
                answering_indexed(&indices, question, &admitted, &corpus),
            )?;
            let view = self.view.read();
            let (vector, lost_vectors) = named(&view.rows, question, vector);
            let (text, lost_texts) = named(&view.rows, question, text);
            if (lost_vectors || lost_texts) && attempt < ATTEMPTS_MAX {
                attempt += 1;
                continue;
            }
            return Ok(Answer {
                vector: best([memory.vector, vector].concat(), question.limit),
                text: best([memory.text, text].concat(), question.limit),
            });
        }
    }

    /// Brings the entries into `found` that declare the key of a claim with another value. Memory knows what all rows claim.
    pub(crate) fn claimants(&self, request: &ClaimRequest, filter: &Filter, found: &mut Smallest) {
        let view = self.view.read();
        let (scope, claim) = (&request.scope, request.claim);
        let is_newest = |entry: EntryId| view.delta.get(scope, entry).is_none();
        let stored =
            |entry: EntryId, attributes: &Attributes| filter.admits(attributes) && is_newest(entry);
        view.rows.claimants(scope, claim, stored, found);
        view.delta.claimants(scope, claim, filter, found);
    }

    /// Searches memory, and takes the rows to ask the indices for from the same moment.
    async fn begin(&self, question: &Question) -> Result<Begun, Error> {
        let indices = self.view.read().indices.clone();
        let mut corpus = match indices.filter(|_| !question.terms.is_empty()) {
            // A moment later there may be a text more: too little to change an order.
            Some(indices) => indices.corpus(&question.terms).await?,
            None => Corpus::default(),
        };
        let Question {
            filter,
            terms,
            limit,
            ..
        } = question;
        let view = self.view.read();
        view.delta.count_into(terms, &mut corpus);
        let memory = Answer {
            vector: question.vector.as_deref().map_or_else(Vec::new, |vector| {
                view.delta
                    .closest(vector, filter, question.cosine_min, *limit)
            }),
            text: view.delta.answering(terms, &corpus, filter, *limit),
        };
        let indexed = view.indices.as_ref().map(|indices| {
            let newer = |scope: &Scope| view.delta.entries_of(scope);
            (Arc::clone(indices), view.rows.admitted(filter, newer))
        });
        Ok(Begun {
            memory,
            corpus,
            indexed,
        })
    }

    /// The rows that the vector index finds close enough.
    async fn closest_indexed(
        &self,
        indices: &Indices,
        question: &Question,
        admitted: &Admitted,
    ) -> Result<Scored, Error> {
        let (Some(vector), Some(admission)) = (&question.vector, &admitted.with_vector) else {
            return Ok(Scored::new());
        };
        let config = &self.shared.config;
        let mut found = indices
            .closest(
                vector,
                admission,
                question.limit,
                question.exact_scores,
                config,
            )
            .await?;
        found.retain(|(_, cosine)| *cosine >= question.cosine_min);
        Ok(found)
    }
}

/// The rows that the full-text index finds.
async fn answering_indexed(
    indices: &Indices,
    question: &Question,
    admitted: &Admitted,
    corpus: &Corpus,
) -> Result<Scored, Error> {
    match &admitted.all {
        Some(admission) if !question.terms.is_empty() => {
            indices
                .answering(&question.terms, admission, question.limit, corpus)
                .await
        }
        _ => Ok(Scored::new()),
    }
}

/// The entries of found rows; also whether a row is no longer where it was.
fn named(rows: &Directory, question: &Question, found: Scored) -> (Vec<Ranked>, bool) {
    let mut lost = false;
    let mut ranked = Vec::with_capacity(found.len());
    for (address, score) in found {
        match rows.at(question.filter.scopes(), address) {
            Some((scope, entry)) => ranked.push(Ranked {
                scope: scope.clone(),
                entry,
                score,
            }),
            None => lost = true,
        }
    }
    (ranked, lost)
}
