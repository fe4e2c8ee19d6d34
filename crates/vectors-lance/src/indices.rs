//! The two indices of a table version, asked without a query planner: planning a scan costs more
//! than searching does.
//!
//! Owns how the segments of an index are searched and put together. It must not know entries,
//! only row addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::Float32Array;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use lance::Dataset;
use lance::dataset::ProjectionRequest;
use lance::index::{DatasetIndexExt, DatasetIndexInternalExt};
use lance_index::metrics::NoOpMetricsCollector;
use lance_index::prefilter::{NoFilter, PreFilter};
use lance_index::scalar::ScalarIndex;
use lance_index::scalar::inverted::document_tokenizer::DocType;
use lance_index::scalar::inverted::query::{FtsSearchParams, Operator, Tokens};
use lance_index::scalar::inverted::{InvertedIndex, MemBM25Scorer};
use lance_index::vector::{ApproxMode, Query, VectorIndex};
use lance_linalg::distance::{MetricType, dot};

use crate::admission::{Admission, Slice};
use crate::columns::{self, CONTENT, VECTOR};
use crate::config::LanceConfig;
use crate::delta::Corpus;
use crate::error::Error;

/// Name of the full-text index.
pub(crate) const TEXT_INDEX: &str = "content_bm25";
/// Name of the vector index.
pub(crate) const VECTOR_INDEX: &str = "vector_hnsw";

/// From so many admitted rows in a hundred on, a search that finds a few more and leaves out what is not admitted is cheaper
/// than one that tests every row first (ADR 0039).
const OPEN_PERCENT: u64 = 60;

/// Row addresses and scores, best first.
pub(crate) type Scored = Vec<(u64, f32)>;

/// The open indices of one version of a table.
#[derive(Debug)]
pub(crate) struct Indices {
    /// The version.
    dataset: Arc<Dataset>,
    vector: Vec<Arc<dyn VectorIndex>>,
    text: Vec<Arc<dyn ScalarIndex>>,
    /// The data files that both cover.
    pub(crate) covered: BTreeSet<u64>,
}

impl Indices {
    /// Opens the indices of a version; none unless there are both.
    pub(crate) async fn open(dataset: &Arc<Dataset>) -> Result<Option<Self>, Error> {
        let metadata = dataset.load_indices().await?;
        let present: BTreeSet<u64> = dataset
            .fragments()
            .iter()
            .map(|fragment| fragment.id)
            .collect();
        let covered_by = |name: &str| -> BTreeSet<u64> {
            let segments = metadata.iter().filter(|index| index.name == name);
            let files = segments
                .filter_map(|index| index.fragment_bitmap.as_ref())
                .flatten();
            files
                .map(u64::from)
                .filter(|file| present.contains(file))
                .collect()
        };
        let covered: BTreeSet<u64> = covered_by(TEXT_INDEX)
            .intersection(&covered_by(VECTOR_INDEX))
            .copied()
            .collect();
        if covered.is_empty() {
            return Ok(None);
        }
        let (mut vector, mut text) = (Vec::new(), Vec::new());
        for segment in metadata.iter() {
            let metrics = &NoOpMetricsCollector;
            if segment.name == VECTOR_INDEX {
                vector.push(
                    dataset
                        .open_vector_index(VECTOR, &segment.uuid, metrics)
                        .await?,
                );
            } else if segment.name == TEXT_INDEX {
                text.push(
                    dataset
                        .open_scalar_index(CONTENT, &segment.uuid, metrics)
                        .await?,
                );
            }
        }
        Ok(Some(Self {
            dataset: Arc::clone(dataset),
            vector,
            text,
            covered,
        }))
    }

    /// The admitted rows closest to `vector`, with their cosines: as the index has them, in a few
    /// digits, or, when `exact`, as the vectors themselves give them.
    pub(crate) async fn closest(
        &self,
        vector: &[f32],
        admission: &Arc<Admission>,
        limit: usize,
        exact: bool,
        config: &LanceConfig,
    ) -> Result<Scored, Error> {
        let wanted = if exact {
            limit.saturating_mul(2)
        } else {
            limit
        };
        let rows = self.vector.iter().map(|index| index.num_rows()).sum();
        let asked = Asked {
            query: query(vector, wanted, config),
            open: open(wanted, admission, rows).map(|wanted| query(vector, wanted, config)),
        };
        let slices = slices(admission, rows);
        let searches = self.vector.iter().flat_map(|index| {
            let asked = &asked;
            slices
                .iter()
                .map(move |slice| closest_in(&**index, asked, slice, config))
        });
        let mut found = futures::future::try_join_all(searches).await?.concat();
        sort(&mut found, wanted);
        if exact && !found.is_empty() {
            found = self.measured(vector, &found).await?;
            sort(&mut found, limit);
        }
        Ok(found)
    }

    /// The same rows with their true cosines.
    async fn measured(&self, vector: &[f32], found: &[(u64, f32)]) -> Result<Scored, Error> {
        let addresses: Vec<u64> = found.iter().map(|(address, _)| *address).collect();
        let projection = ProjectionRequest::from_columns([VECTOR], self.dataset.schema());
        let rows = Box::pin(self.dataset.take_rows(&addresses, projection)).await?;
        let vectors = columns::vectors(&rows)?;
        assert_eq!(
            vectors.len(),
            addresses.len(),
            "an admitted row is in the version it was admitted in"
        );
        let measured = addresses.into_iter().zip(vectors);
        Ok(measured
            .filter_map(|(address, row)| Some((address, dot(vector, &row?))))
            .collect())
    }

    /// The admitted rows that answer `terms` best, with their BM25 scores. How rare a term is, and
    /// how long a text is, is judged by `corpus`.
    pub(crate) async fn answering(
        &self,
        terms: &[String],
        admission: &Arc<Admission>,
        limit: usize,
        corpus: &Corpus,
    ) -> Result<Scored, Error> {
        let tokens = Arc::new(Tokens::new(terms.to_vec(), DocType::Text));
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let holding: HashMap<String, usize> = corpus
            .holding
            .iter()
            .map(|(term, texts)| (term.clone(), count(*texts)))
            .collect();
        let scorer = MemBM25Scorer::new(corpus.terms, count(corpus.texts), holding);
        let open = open(limit, admission, corpus.texts);
        let ask = |index, limit, filter| answering_in(index, &tokens, limit, filter, &scorer);
        let mut found = Scored::new();
        for index in self.text_segments() {
            if let Some(open) = open {
                let mut some = ask(index, open, Arc::new(NoFilter) as _).await?;
                let are_all = some.len() < open;
                some.retain(|(address, _)| admission.admits(*address));
                if are_all || some.len() >= limit {
                    found.extend(some);
                    continue;
                }
            }
            found.extend(ask(index, limit, Arc::clone(admission) as _).await?);
        }
        sort(&mut found, limit);
        Ok(found)
    }

    /// What the full-text index knows of `terms`.
    pub(crate) async fn corpus(&self, terms: &[String]) -> Result<Corpus, Error> {
        let holding = terms
            .iter()
            .map(|term| (term.clone(), 0))
            .collect::<BTreeMap<_, _>>();
        // Counts come back in the order in which terms are asked for.
        let terms: Vec<String> = holding.keys().cloned().collect();
        let mut corpus = Corpus {
            holding,
            ..Corpus::default()
        };
        for index in self.text_segments() {
            let (length, texts, holding) = index.bm25_stats_for_terms(&terms, None).await?;
            corpus.terms += length;
            corpus.texts += texts as u64;
            for (count, more) in corpus.holding.values_mut().zip(holding) {
                *count += more as u64;
            }
        }
        Ok(corpus)
    }

    fn text_segments(&self) -> impl Iterator<Item = &InvertedIndex> {
        self.text.iter().map(|index| {
            let index = index.as_any().downcast_ref::<InvertedIndex>();
            index.expect("the full-text index is an inverted index")
        })
    }
}

/// The rows of one segment that answer best.
async fn answering_in(
    index: &InvertedIndex,
    tokens: &Arc<Tokens>,
    limit: usize,
    filter: Arc<dyn PreFilter>,
    scorer: &MemBM25Scorer,
) -> Result<Scored, Error> {
    let search = index.bm25_search(
        Arc::clone(tokens),
        Arc::new(FtsSearchParams::new().with_limit(Some(limit))),
        Operator::Or,
        filter,
        Arc::new(NoOpMetricsCollector),
        Some(scorer),
    );
    let (addresses, scores) = Box::pin(search).await?;
    Ok(addresses.into_iter().zip(scores).collect())
}

fn query(vector: &[f32], wanted: usize, config: &LanceConfig) -> Query {
    Query {
        column: VECTOR.to_owned(),
        key: Arc::new(Float32Array::from(vector.to_vec())),
        k: wanted,
        lower_bound: None,
        upper_bound: None,
        minimum_nprobes: config.probes,
        maximum_nprobes: None,
        search_effort: 0.5,
        ef: Some(config.search_candidates.max(wanted.saturating_mul(2))),
        refine_factor: None,
        metric_type: Some(MetricType::L2),
        use_index: true,
        query_parallelism: 0,
        dist_q_c: 0.0,
        approx_mode: ApproxMode::Normal,
    }
}

/// What the partitions of a segment are asked.
struct Asked {
    /// For admitted rows alone.
    query: Query,
    /// For so many of any rows that what is wanted of admitted ones should be among them, where most are admitted.
    open: Option<Query>,
}

/// How many of any rows are asked for, so that `wanted` admitted ones should be among them; none where too few are admitted.
fn open(wanted: usize, admission: &Admission, rows: u64) -> Option<usize> {
    let percent = percent(admission, rows);
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    // A quarter more, since those that are not admitted are not spread evenly.
    let open = wanted.saturating_mul(125).div_ceil(percent.max(1));
    (percent >= OPEN_PERCENT).then(|| usize::try_from(open).unwrap_or(usize::MAX))
}

/// How many in a hundred rows of an index are admitted.
fn percent(admission: &Admission, rows: u64) -> u64 {
    (admission.rows().saturating_mul(100) / rows.max(1)).min(100)
}

/// Searches the partitions of one segment that lie closest, some at the same time, and further ones while less than what
/// is wanted was found.
async fn closest_in(
    index: &dyn VectorIndex,
    asked: &Asked,
    admission: &Arc<Slice>,
    config: &LanceConfig,
) -> Result<Scored, Error> {
    let (partitions, _) = index.find_partitions(&asked.query)?;
    let partitions = partitions.values();
    let (closest, further) = partitions.split_at(config.probes.min(partitions.len()));
    let search = |partition: &u32| closest_of(index, *partition, asked, admission);
    // No more at once than are carried out: each may hold a partition that is loaded for it alone.
    let searches = stream::iter(closest.iter().map(search).collect::<Vec<_>>());
    let mut found: Scored = searches
        .buffer_unordered(config.threads)
        .try_concat()
        .await?;
    for partition in further {
        if found.len() >= asked.query.k {
            break;
        }
        found.extend(search(partition).await?);
    }
    Ok(found)
}

/// The admitted rows of one partition of a segment that lie closest.
async fn closest_of(
    index: &dyn VectorIndex,
    partition: u32,
    asked: &Asked,
    admission: &Arc<Slice>,
) -> Result<Scored, Error> {
    if let Some(open) = &asked.open {
        let mut found = search(index, partition, open, Arc::new(NoFilter)).await?;
        let are_all = found.len() < open.k;
        found.retain(|(address, _)| admission.admits(*address));
        if are_all || found.len() >= asked.query.k {
            return Ok(found);
        }
    }
    let filter = Arc::clone(admission);
    search(index, partition, &asked.query, filter).await
}

/// Searches one partition of a segment.
async fn search(
    index: &dyn VectorIndex,
    partition: u32,
    query: &Query,
    filter: Arc<dyn PreFilter>,
) -> Result<Scored, Error> {
    let partition = usize::try_from(partition).expect("partitions are numbered in 32 bits");
    let rows = index
        .search_in_partition(partition, query, filter, &NoOpMetricsCollector)
        .await?;
    // For vectors of length 1 the squared distance is twice what the cosine lacks to 1.
    let rows = columns::scored(&rows, "_distance")?;
    let scored = |(address, distance)| (address, 1.0 - distance / 2.0);
    Ok(rows.into_iter().map(scored).collect())
}

/// `admission` cut so that the index searches each slice in the cheapest way. Where under a tenth
/// of its rows are admitted, it measures all of these; else it walks its graph, which is dear
/// while most of what it meets is not admitted. So what is a little over a tenth is cut up.
fn slices(admission: &Arc<Admission>, rows: u64) -> Vec<Arc<Slice>> {
    const SLICE_PERCENT: u64 = 8;
    const WALK_PERCENT: u64 = 25;
    let percent = percent(admission, rows);
    let count = if percent < WALK_PERCENT {
        percent / SLICE_PERCENT + 1
    } else {
        1
    };
    (0..count)
        .map(|index| Arc::new(admission.slice(index, count)))
        .collect()
}

/// The best first, and `limit` of them.
fn sort(found: &mut Scored, limit: usize) {
    found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(limit);
}
