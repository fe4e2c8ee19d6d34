//! Recall over a large published store, and publishing into it.
//!
//! A project and its organisation hold the entries; another project of the same organisation holds
//! more that no answer may contain. Questions come from a task: hybrid search over the task and its
//! ancestors, with filters on status, failures, confidence and, in turn, tables. Publishing goes
//! through the node; its writer must find the entry at once, another reader within a second.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sillok_actors::reads::{Reader, RecallAnswer, RecallQuery};
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::HashEmbedder;
use sillok_core::command::AnswerBody;
use sillok_core::entry::Table;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, VectorIndex};
use sillok_core::principal::PrincipalKind;
use sillok_core::recall::Narrowing;
use sillok_core::scope::Scope;
use sillok_store::FjallStore;
use sillok_vectors_lance::{LanceConfig, LanceIndex};

use crate::corpus;
use crate::engines::{folder, open_store, ports, runtime};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{principal, scope, submission};

const RESULTS: usize = 10;
/// Recalls before any counts.
const WARM: u32 = 50;
/// Floors, in ms.
const P50_MS_MAX: f64 = 15.0;
const P99_MS_MAX: f64 = 50.0;
const VISIBLE_MS_MAX: f64 = 1_000.0;
/// After this an entry that is not found is taken for lost.
const LOST: Duration = Duration::from_secs(10);
/// Published texts are numbered from here, beyond those of the corpus.
const FIRST_PUBLISHED: u32 = 10_000_000;

/// Measures recalls and publishes.
///
/// # Errors
/// What the node or the index answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let runtime = runtime()?;
    let index = Arc::new(open_index(&folder.path().join("vectors"))?);
    let began = Instant::now();
    let node = runtime.block_on(start(&folder.path().join("store"), &index, scale.entries))?;
    let prepared = began.elapsed();
    let result = runtime.block_on(async {
        let recalls = recalls(node.reader(), scale.recalls).await?;
        Ok::<_, Error>((recalls, publishes(&node, scale.publishes).await?))
    });
    runtime.block_on(node.shutdown());
    let (recalls, published) = result?;
    let ms = |us: u64| us as f64 / 1_000.0;
    let what = format!("recall: preparing {} entries, with indexing", scale.entries);
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    let row =
        Row::new("recall: p50", ms(recalls.value_at_quantile(0.5)), "ms").with_latency(&recalls);
    report.add(row.with_floor(Floor::AtMost(P50_MS_MAX)));
    let row =
        Row::new("recall: p99", ms(recalls.value_at_quantile(0.99)), "ms").with_latency(&recalls);
    report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
    let row = Row::new(
        "publish: one after the other, p50",
        ms(published.acknowledged.value_at_quantile(0.5)),
        "ms",
    );
    report.add(row.with_latency(&published.acknowledged));
    let row = Row::new(
        "publish: visible to others, worst",
        ms(published.visible.max()),
        "ms",
    );
    report.add(
        row.with_latency(&published.visible)
            .with_floor(Floor::AtMost(VISIBLE_MS_MAX)),
    );
    Ok(())
}

/// The index of the embedder that all items use.
///
/// # Errors
/// What the index answered.
pub(crate) fn open_index(path: &Path) -> Result<LanceIndex, Error> {
    let config = LanceConfig::new(HashEmbedder.space(), HashEmbedder.dimensions());
    LanceIndex::open(path, config).map_err(|error| Error::Wrong(error.to_string()))
}

fn project() -> Scope {
    scope("org/bench/project/corpus")
}

/// A node on a store with that many entries that a question sees, all of them stored and indexed.
///
/// # Errors
/// What the store or the index answered.
pub(crate) async fn start(
    path: &Path,
    index: &Arc<LanceIndex>,
    entries: u32,
) -> Result<Node<FjallStore>, Error> {
    let store = open_store(path)?;
    let organisation = entries / 5;
    corpus::write(&store, &project(), 0, entries - organisation).await?;
    corpus::write(
        &store,
        &scope("org/bench"),
        entries - organisation,
        organisation,
    )
    .await?;
    let foreign = entries / 20;
    corpus::write(&store, &scope("org/bench/project/other"), entries, foreign).await?;
    let ports = ports(Arc::clone(index) as Arc<dyn VectorIndex>);
    let node = Node::start(store, ports, NodeConfig::default()).await?;
    let stats = index.stats().await?;
    if stats.stored != u64::from(entries + foreign) {
        return Err(Error::Wrong(format!(
            "{} entries are stored in the index, of {entries} + {foreign}",
            stats.stored
        )));
    }
    index.optimise().await?;
    Ok(node)
}

fn query(number: u32, text: String) -> RecallQuery {
    let tables: &[Table] = match number % 3 {
        0 => &[],
        1 => &[Table::Observations],
        _ => &[Table::Patterns, Table::Gotchas],
    };
    let asked_at = scope("org/bench/project/corpus/worktree/main/task/1");
    RecallQuery {
        limit: Some(RESULTS),
        narrowing: Narrowing {
            tables: tables.to_vec(),
            ..Narrowing::default()
        },
        confidence_min: Some(0.5),
        ..RecallQuery::new(asked_at, text)
    }
}

async fn recalls(reader: &Reader<FjallStore>, recalls: u32) -> Result<Histogram<u64>, Error> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut latency = histogram();
    for number in 0..WARM + recalls {
        let query = query(number, corpus::question(&mut rng));
        let tables = query.narrowing.tables.clone();
        let sent = Instant::now();
        let answer = reader.recall(query).await?;
        if number >= WARM {
            latency.saturating_record(elapsed_us(sent));
        }
        check(&answer, &tables)?;
    }
    Ok(latency)
}

/// An answer that is not full, or not what the filters let pass, measures nothing.
fn check(answer: &RecallAnswer, tables: &[Table]) -> Result<(), Error> {
    let seen: BTreeSet<Scope> = [project(), scope("org/bench")].into();
    let fits = |table: Table| tables.is_empty() || tables.contains(&table);
    let good = answer.by_meaning
        && answer.results.len() == RESULTS
        && answer
            .results
            .iter()
            .all(|result| seen.contains(&result.head.scope) && fits(result.head.table));
    if good {
        return Ok(());
    }
    let scopes: Vec<String> = answer
        .results
        .iter()
        .map(|result| result.head.scope.to_string())
        .collect();
    Err(Error::Wrong(format!(
        "a recall answered from {scopes:?}, by meaning: {}",
        answer.by_meaning
    )))
}

/// What publishing took.
struct Published {
    /// From submitting to the acknowledgement.
    acknowledged: Histogram<u64>,
    /// From the acknowledgement to an answer, to another reader, that holds the entry.
    visible: Histogram<u64>,
}

async fn publishes(node: &Node<FjallStore>, publishes: u32) -> Result<Published, Error> {
    let person = principal(PrincipalKind::Human);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut published = Published {
        acknowledged: histogram(),
        visible: histogram(),
    };
    for number in FIRST_PUBLISHED..FIRST_PUBLISHED + publishes {
        let text = corpus::text(&mut rng, number);
        let command = submission(&project(), &person, corpus::put(&text, Table::Gotchas));
        let sent = Instant::now();
        let answer = node.submit(command).await?;
        published.acknowledged.saturating_record(elapsed_us(sent));
        let AnswerBody::Entry { id, .. } = answer.result else {
            return Err(Error::Wrong(format!(
                "a publish was answered with {:?}",
                answer.result
            )));
        };
        let acknowledged = Instant::now();
        let other = tokio::spawn(wait_until_visible(
            node.reader().clone(),
            text.clone(),
            id,
            acknowledged,
        ));
        if !finds(node.reader(), text, id).await? {
            return Err(Error::Wrong(format!("the writer of {id} does not find it")));
        }
        let visible = other
            .await
            .map_err(|panic| Error::Wrong(panic.to_string()))??;
        published
            .visible
            .saturating_record(u64::try_from(visible.as_micros()).unwrap_or(u64::MAX));
    }
    Ok(published)
}

async fn finds(reader: &Reader<FjallStore>, text: String, id: EntryId) -> Result<bool, Error> {
    let answer = reader.recall(query(0, text)).await?;
    Ok(answer.results.iter().any(|result| result.head.id == id))
}

async fn wait_until_visible(
    reader: Reader<FjallStore>,
    text: String,
    id: EntryId,
    since: Instant,
) -> Result<Duration, Error> {
    while !finds(&reader, text.clone(), id).await? {
        if since.elapsed() > LOST {
            return Err(Error::Wrong(format!(
                "{id} was acknowledged and is not found"
            )));
        }
    }
    Ok(since.elapsed())
}
