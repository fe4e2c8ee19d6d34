//! How a table answers a search: memory exactly, the rest through the indices, with the filters as
//! a set of row addresses.
//!
//! Owns the two lists of one table. It must not know other tables, nor how lists are fused.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Float32Array, RecordBatch};
use lance::Dataset;
use lance::dataset::scanner::{RowAddrMask, RowAddrTreeMap, Scanner};
use lance::index::{DatasetIndexExt, DatasetIndexInternalExt};
use lance_index::metrics::NoOpMetricsCollector;
use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::InvertedIndex;
use lance_linalg::distance::MetricType;
use sillok_core::ports::Ranked;

use crate::columns::{self, CONTENT, VECTOR};
use crate::delta::Corpus;
use crate::directory::Admitted;
use crate::error::Error;
use crate::filter::Filter;
use crate::ranking::best;
use crate::table::{TEXT_INDEX, Table};

/// How often a search is begun anew because rows moved while it ran. Rows move once a second at
/// most, and a search takes milliseconds.
const ATTEMPTS_MAX: usize = 4;

/// What one table is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) filter: Filter,
    /// A vector of the searched space, with a direction.
    pub(crate) vector: Option<Vec<f32>>,
    /// The text as it came, clipped.
    pub(crate) text: String,
    /// Its distinct terms.
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
    indexed: Option<(Arc<Dataset>, Admitted)>,
}

impl Table {
    /// Answers a question.
    pub(crate) async fn answer(&self, question: &Question) -> Result<Answer, Error> {
        for attempt in 1..=ATTEMPTS_MAX {
            let corpus = self.corpus(question).await?;
            let Begun { memory, indexed } = self.begin(question, &corpus);
            let Some((dataset, admitted)) = indexed else {
                return Ok(memory);
            };
            let (vector, text) = tokio::try_join!(
                self.closest_indexed(&dataset, question, admitted.with_vector),
                self.answering_indexed(&dataset, question, admitted.all),
            )?;
            let view = self.view.read();
            let (vector, lost_vectors) = named(&view.rows, question, vector);
            let (text, lost_texts) = named(&view.rows, question, text);
            if lost_vectors || lost_texts {
                if attempt < ATTEMPTS_MAX {
                    continue;
                }
                tracing::warn!(table = %self.directory.display(), "rows moved under every attempt at a search");
            }
            return Ok(Answer {
                vector: best([memory.vector, vector].concat(), question.limit),
                text: best([memory.text, text].concat(), question.limit),
            });
        }
        unreachable!("the last attempt returns")
    }

    /// Searches memory, and takes the rows to ask the indices for from the same moment.
    fn begin(&self, question: &Question, corpus: &Corpus) -> Begun {
        let view = self.view.read();
        let filter = &question.filter;
        let memory = Answer {
            vector: question.vector.as_deref().map_or_else(Vec::new, |vector| {
                view.delta
                    .closest(vector, filter, question.cosine_min, question.limit)
            }),
            text: view
                .delta
                .answering(&question.terms, corpus, filter, question.limit),
        };
        let indexed = view
            .dataset
            .as_ref()
            .filter(|_| !view.covered.is_empty())
            .and_then(|dataset| {
                let admitted = view.rows.admitted(filter, |scope, entry| {
                    view.delta.get(scope, entry).is_some()
                });
                admitted.all.is_some().then(|| (Arc::clone(dataset), admitted))
            });
        Begun { memory, indexed }
    }

    /// The rows that the vector index finds close, with their cosines.
    async fn closest_indexed(
        &self,
        dataset: &Arc<Dataset>,
        question: &Question,
        admitted: Option<RowAddrTreeMap>,
    ) -> Result<Vec<(u64, f32)>, Error> {
        let (Some(vector), Some(admitted)) = (question.vector.as_ref(), admitted) else {
            return Ok(Vec::new());
        };
        let config = &self.shared.config;
        let mut scan = dataset.scan();
        scan.nearest(VECTOR, &Float32Array::from(vector.clone()), question.limit)?
            .distance_metric(MetricType::L2)
            .nprobes(config.probes)
            .ef(config
                .search_candidates
                .max(question.limit.saturating_mul(2)));
        if std::env::var("ACORN").is_ok() { scan.approx_mode(lance_index::vector::ApproxMode::Fast); }
        if question.exact_scores {
            scan.refine(2);
        }
        let found = run(&mut scan, admitted, "_distance").await?;
        // For vectors of length 1 the squared distance is twice what the cosine lacks to 1.
        let cosines = columns::scored(&found, "_distance")?
            .into_iter()
            .map(|(address, distance)| (address, 1.0 - distance / 2.0));
        Ok(cosines
            .filter(|(_, cosine)| *cosine >= question.cosine_min)
            .collect())
    }

    /// The rows that the full-text index finds, with their BM25 scores.
    async fn answering_indexed(
        &self,
        dataset: &Arc<Dataset>,
        question: &Question,
        admitted: Option<RowAddrTreeMap>,
    ) -> Result<Vec<(u64, f32)>, Error> {
        let Some(admitted) = admitted.filter(|_| !question.terms.is_empty()) else {
            return Ok(Vec::new());
        };
        let limit = i64::try_from(question.limit).unwrap_or(i64::MAX);
        let query = FullTextSearchQuery::new(question.text.clone())
            .with_column(CONTENT.to_owned())?
            .limit(Some(limit));
        let mut scan = dataset.scan();
        scan.full_text_search(query)?;
        columns::scored(&run(&mut scan, admitted, "_score").await?, "_score")
    }

    /// What the full-text index knows of the question's terms, for scoring what memory holds.
    async fn corpus(&self, question: &Question) -> Result<Corpus, Error> {
        let dataset = {
            let view = self.view.read();
            if question.terms.is_empty() || view.delta.len() == 0 || view.covered.is_empty() {
                return Ok(Corpus::default());
            }
            view.dataset.clone()
        };
        let Some(dataset) = dataset else {
            return Ok(Corpus::default());
        };
        let mut corpus = Corpus {
            holding: question
                .terms
                .iter()
                .map(|t| (t.clone(), 0))
                .collect::<BTreeMap<_, _>>(),
            ..Corpus::default()
        };
        for segment in dataset.load_indices_by_name(TEXT_INDEX).await? {
            let index = dataset
                .open_scalar_index(CONTENT, &segment.uuid, &NoOpMetricsCollector)
                .await?;
            let Some(index) = index.as_any().downcast_ref::<InvertedIndex>() else {
                continue;
            };
            let (terms, texts, holding) = index.bm25_stats_for_terms(&question.terms, None).await?;
            corpus.terms += terms;
            corpus.texts += texts as u64;
            for (count, more) in corpus.holding.values_mut().zip(holding) {
                *count += more as u64;
            }
        }
        Ok(corpus)
    }
}

/// Runs a search of the indices alone, over the admitted rows alone.
async fn run(scan: &mut Scanner, admitted: RowAddrTreeMap, score: &str) -> Result<RecordBatch, Error> {
    scan.prefilter(true)
        .with_row_id_prefilter(RowAddrMask::from_allowed(admitted))
        .fast_search()
        .disable_scoring_autoprojection()
        .project(&[lance::dataset::ROW_ID, score])?;
    Ok(scan.try_into_batch().await?)
}

/// The entries of found rows; also whether a row is no longer where it was.
fn named(
    rows: &crate::directory::Directory,
    question: &Question,
    found: Vec<(u64, f32)>,
) -> (Vec<Ranked>, bool) {
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
