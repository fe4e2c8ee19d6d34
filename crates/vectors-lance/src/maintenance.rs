//! Building indices, compacting data files and removing old versions: slow work, off the write
//! path, beside searches and commits.
//!
//! Owns when each is worth while. A commit of data that comes in between either fits with what was
//! built, or makes the step start anew. It must not know how requests are answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use lance::Dataset;
use lance::dataset::cleanup::CleanupPolicyBuilder;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::index::DatasetIndexExt;
use lance::index::vector::VectorIndexParams;
use lance_index::IndexType;
use lance_index::optimize::OptimizeOptions;
use lance_index::vector::hnsw::builder::HnswBuildParams;
use lance_index::vector::ivf::IvfBuildParams;
use lance_index::vector::sq::builder::SQBuildParams;
use lance_linalg::distance::MetricType;

use crate::columns::{CONTENT, VECTOR};
use crate::config::HnswParams;
use crate::error::Error;
use crate::indices::{TEXT_INDEX, VECTOR_INDEX};
use crate::layout;
use crate::table::Table;
use crate::words;

/// How long searches that began before a table was written anew are waited for: so many looks, so far apart.
const SEARCH_LOOKS: u32 = 200;
const SEARCH_LOOK: Duration = Duration::from_millis(25);

/// Of a data file that is written anew, more than this share is gone.
const GONE_OF_FILE: f32 = 0.05;

/// One step of maintenance: it makes a version of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Put small data files together.
    Compact,
    /// Build both for the first time.
    Build,
    /// Write all data files anew of which more than this share of the rows is no longer there, and the indices with
    /// them.
    Rewrite { gone: f32 },
    /// Index what no segment covers, as a new segment or, with all segments, as one.
    Extend { merge: bool },
}

/// What becomes of files that no version names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strays {
    /// They may be of a commit that is under way: Lance removes them after seven days.
    StayForDays,
    /// Nobody writes: they go.
    Go,
}

impl Table {
    /// Whether so much waits in memory to be indexed that storing more has to wait for [`Self::index`].
    pub(crate) fn is_overdue(&self) -> bool {
        let view = self.view.read();
        view.delta.len() - view.delta.pending() >= self.shared.config.tail_rows_max
    }

    /// Indexes what waits for it.
    pub(crate) async fn index(&self) -> Result<(), Error> {
        let _one_at_a_time = self.maintenance.lock().await;
        if self.view.read().dataset.is_none() {
            return Ok(());
        }
        match self.due().await? {
            Some(step) => self.take(step).await,
            None => Ok(()),
        }
    }

    /// Compacts, indexes and cleans up, each where it is worth while. Whether so much was gone that the table was
    /// written anew: what it held before is removed by [`Self::remove_older`].
    pub(crate) async fn optimise(&self) -> Result<bool, Error> {
        let _one_at_a_time = self.maintenance.lock().await;
        if self.view.read().dataset.is_none() {
            return Ok(false);
        }
        let latest = self.latest().await?;
        let removed = self.removed.load(Ordering::Relaxed);
        let shrinks = has_shrunk(&latest, removed, self.shared.config.gone_share_max);
        if shrinks {
            self.take(Step::Rewrite { gone: GONE_OF_FILE }).await?;
            self.removed.fetch_sub(removed, Ordering::Relaxed);
        } else if latest.count_fragments() > self.shared.config.fragments_max {
            self.take(Step::Compact).await?;
        }
        if let Some(step) = self.due().await? {
            self.take(step).await?;
        }
        self.clean().await?;
        Ok(shrinks)
    }

    /// The latest version.
    async fn latest(&self) -> Result<Dataset, Error> {
        let shown = self
            .view
            .read()
            .dataset
            .clone()
            .expect("a table is maintained once it has a dataset");
        let mut latest = Dataset::clone(&shown);
        latest.checkout_latest().await?;
        Ok(latest)
    }

    /// Runs a step on the latest version and shows what it made; again when a commit came first.
    /// Commits wait for the last attempt: under a steady load the step would otherwise never end.
    async fn take(&self, step: Step) -> Result<(), Error> {
        let attempts_max = self.shared.config.commit_attempts_max;
        for attempt in 1..attempts_max {
            let mut dataset = self.latest().await?;
            match self.attempt(step, &mut dataset).await {
                Err(error) if error.is_overtaken() => {
                    tracing::debug!(table = %self.directory.display(), attempt, %error, "maintenance was overtaken");
                }
                result => {
                    result?;
                    return self.refresh(dataset).await;
                }
            }
        }
        let _no_commit_comes_first = self.commits.lock().await;
        let mut dataset = self.latest().await?;
        self.attempt(step, &mut dataset).await?;
        self.refresh(dataset).await
    }

    /// Builds both indices of the version that is shown, over all of its rows, and shows what it made.
    pub(crate) async fn index_anew(&self) -> Result<(), Error> {
        let mut dataset = self.latest().await?;
        self.build(&mut dataset).await?;
        self.view.write().dataset = Some(Arc::new(dataset));
        Ok(())
    }

    /// The version that searches look at now.
    pub(crate) fn shown(&self) -> Weak<Dataset> {
        let view = self.view.read();
        view.dataset.as_ref().map_or_else(Weak::new, Arc::downgrade)
    }

    /// Writes every data file anew, with all indices, that holds a row which is no longer there. Files with older
    /// states stay until [`Self::remove_older`].
    pub(crate) async fn rewrite(&self) -> Result<(), Error> {
        let _one_at_a_time = self.maintenance.lock().await;
        if self.view.read().dataset.is_none() {
            return Ok(());
        }
        self.take(Step::Rewrite { gone: 0.0 }).await
    }

    /// Removes all versions but the latest, once no search looks at one of those `before`, or has for long, and whatever
    /// else lies there: what a commit or a step left behind that was cut off has the same texts. Nobody may be storing.
    pub(crate) async fn remove_older(&self, before: &[Weak<Dataset>]) -> Result<(), Error> {
        let _one_at_a_time = self.maintenance.lock().await;
        let latest = self.shown();
        if latest.strong_count() == 0 {
            // No commit was ever seen through. One that was cut off left files behind, with all of their texts; none is
            // under way while this is held.
            let _no_commit_comes_between = self.commits.lock().await;
            return match self.exists() {
                // Its answer was lost: the next commit finds it.
                true => Ok(()),
                false => layout::remove(&self.directory),
            };
        }
        let is_looked_at = |one: &Weak<Dataset>| one.strong_count() > 0 && !one.ptr_eq(&latest);
        let mut left = SEARCH_LOOKS;
        while left > 0 && before.iter().any(is_looked_at) {
            tokio::time::sleep(SEARCH_LOOK).await;
            left -= 1;
        }
        self.keep_versions(1, Strays::Go).await
    }

    /// Puts small data files together, and those whose rows are gone by more than a share.
    async fn compact(&self, dataset: &mut Dataset, gone: Option<f32>) -> Result<(), Error> {
        let config = &self.shared.config;
        let usual = CompactionOptions::default();
        let options = CompactionOptions {
            materialize_deletions_threshold: gone.unwrap_or(usual.materialize_deletions_threshold),
            target_rows_per_fragment: config.fragment_rows_max,
            max_bytes_per_file: Some(config.fragment_bytes_max),
            num_threads: Some(1),
            ..usual
        };
        let made = Box::pin(compact_files(dataset, options, None)).await?;
        tracing::debug!(table = %self.directory.display(), ?made, "compacted");
        Ok(())
    }

    /// The step that the indices need, if any.
    async fn due(&self) -> Result<Option<Step>, Error> {
        let config = &self.shared.config;
        let mut segments = BTreeMap::<String, usize>::new();
        for index in self.latest().await?.load_indices().await?.iter() {
            *segments.entry(index.name.clone()).or_default() += 1;
        }
        let view = self.view.read();
        let tail = view.delta.len() - view.delta.pending();
        if !(segments.contains_key(TEXT_INDEX) && segments.contains_key(VECTOR_INDEX)) {
            return Ok((view.rows.vectors() >= config.index_rows_min).then_some(Step::Build));
        }
        let merge = segments
            .values()
            .any(|count| *count >= config.index_segments_max);
        Ok((tail >= config.tail_rows_min).then_some(Step::Extend { merge }))
    }

    async fn attempt(&self, step: Step, dataset: &mut Dataset) -> Result<(), Error> {
        match step {
            Step::Compact => return self.compact(dataset, None).await,
            Step::Rewrite { gone } => {
                self.compact(dataset, Some(gone)).await?;
                if dataset.load_indices().await?.is_empty() {
                    return Ok(());
                }
                // Too few may be left to learn from, as before the table had indices: memory has them then.
                if self.view.read().rows.vectors() < self.shared.config.index_rows_min {
                    return drop_indices(dataset).await;
                }
                self.build(dataset).await?;
            }
            Step::Build => self.build(dataset).await?,
            Step::Extend { merge } => {
                // Many segments would be many searches; no segment is merged before that.
                let options = if merge {
                    OptimizeOptions::merge(usize::MAX)
                } else {
                    OptimizeOptions::append()
                };
                let names = vec![TEXT_INDEX.to_owned(), VECTOR_INDEX.to_owned()];
                Box::pin(dataset.optimize_indices(&options.index_names(names))).await?;
            }
        }
        // The first search after this one finds the indices in memory.
        self.prewarm(dataset).await;
        Ok(())
    }

    async fn build(&self, dataset: &mut Dataset) -> Result<(), Error> {
        let rows = dataset.count_rows(None).await?;
        let shape = HnswParams::of(self.name.1);
        let ivf = IvfBuildParams {
            num_partitions: Some(rows.div_ceil(self.shared.config.partition_rows)),
            ..IvfBuildParams::default()
        };
        let hnsw = HnswBuildParams {
            m: shape.m,
            ef_construction: shape.ef_construction,
            ..HnswBuildParams::default()
        };
        let vector = VectorIndexParams::with_ivf_hnsw_sq_params(
            MetricType::L2,
            ivf,
            hnsw,
            SQBuildParams::default(),
        );
        let name = |name: &str| Some(name.to_owned());
        Box::pin(dataset.create_index(
            &[VECTOR],
            IndexType::Vector,
            name(VECTOR_INDEX),
            &vector,
            true,
        ))
        .await?;
        Box::pin(dataset.create_index(
            &[CONTENT],
            IndexType::Inverted,
            name(TEXT_INDEX),
            &words::params(),
            true,
        ))
        .await?;
        Ok(())
    }

    /// Loads the indices. A failure shows again in the search that needs them.
    pub(crate) async fn prewarm(&self, dataset: &Dataset) {
        for name in [TEXT_INDEX, VECTOR_INDEX] {
            if let Err(error) = dataset.prewarm_index(name).await {
                tracing::debug!(table = %self.directory.display(), name, %error, "an index was not loaded ahead");
            }
        }
    }

    async fn clean(&self) -> Result<(), Error> {
        let count = self.shared.config.versions_kept;
        self.keep_versions(count, Strays::StayForDays).await
    }

    async fn keep_versions(&self, count: usize, strays: Strays) -> Result<(), Error> {
        let latest = self.latest().await?;
        let policy = CleanupPolicyBuilder::default()
            .retain_n_versions(&latest, count)
            .await?
            .delete_unverified(strays == Strays::Go);
        let removed = latest.cleanup_with_policy(policy.build()).await?;
        tracing::debug!(table = %self.directory.display(), ?removed, "removed old versions");
        Ok(())
    }
}

/// Whether more than this share of the rows is gone: of those that lie in the data files, or of those with what was
/// `removed` with whole files.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows are far under 2^53"
)]
fn has_shrunk(dataset: &Dataset, removed: usize, share_max: f64) -> bool {
    let (mut rows, mut left) = (0, 0);
    for file in dataset.fragments().iter() {
        rows += file.physical_rows.unwrap_or(0);
        left += file.num_rows().unwrap_or(0);
    }
    let gone = removed.max(rows - left);
    gone as f64 > (gone + left) as f64 * share_max
}

/// Leaves a table without indices.
async fn drop_indices(dataset: &mut Dataset) -> Result<(), Error> {
    let names: BTreeSet<String> = {
        let indices = dataset.load_indices().await?;
        indices.iter().map(|index| index.name.clone()).collect()
    };
    for name in names {
        dataset.drop_index(&name).await?;
    }
    Ok(())
}
