//! Promotions: how fast what tasks wrote becomes knowledge, and what becomes of what several say at once.
//!
//! A node as a laptop has it: the embedded store, Lance tables, and the built-in cognifier and embedder. First
//! many tasks with long logs are verified, one after the other, and the clock stops when the last of them is
//! published. Then agents who each found the same patterns have their tasks verified at the same moment: each
//! pattern has to be one entry that cites all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use sillok_actors::jobs::PromotionState;
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::HashEmbedder;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Binding, Head, Table};
use sillok_core::id::VerificationId;
use sillok_core::ports::Embedder as _;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{FjallStore, RangeOptions, Read, Store as _, Txn as _};
use sillok_vectors_lance::{LanceConfig, LanceIndex};

use crate::engines::{folder, open_store, ports, runtime};
use crate::error::Error;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, principal, record, scope, submission};

/// Records of each task.
const RECORDS: usize = 200;
/// What a task found out, among them.
const FINDINGS: usize = 5;
/// Agents that find the same, and what all of them find.
const AGENTS: usize = 5;
const PATTERNS: usize = 20;
/// Commands under way while tasks are prepared, and promotions that are waited for.
const IN_FLIGHT: usize = 32;
/// Promotions in a minute.
const A_MINUTE_MIN: f64 = 500.0;
/// The longest that one promotion may take, in ms.
const PATIENCE_MS: u64 = 120_000;
/// Entries of a project that are looked at.
const HEADS_MAX: usize = 10_000;

/// Measures both.
///
/// # Errors
/// What the node answered; an attempt at a promotion that failed, or a pattern that was lost or is there twice.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let (folder, runtime) = (folder()?, runtime()?);
    let bed = runtime.block_on(Bed::start(folder.path()))?;
    let measured = runtime.block_on(async {
        let many = bed.many(scale.promotions).await?;
        Ok::<_, Error>((many, bed.same().await?))
    });
    runtime.block_on(bed.node.shutdown());
    let (many, same) = measured?;
    let a_minute = scale.promotions as f64 * 60.0 / many.as_secs_f64();
    let what = format!(
        "promotions: {} tasks of {RECORDS} records, in a minute",
        scale.promotions
    );
    report.add(Row::new(what, a_minute, "tasks").with_floor(Floor::AtLeast(A_MINUTE_MIN)));
    let promotions = AGENTS * PATTERNS;
    let what = format!("promotions: {AGENTS} agents with the same {PATTERNS} patterns at once");
    let took = same.took.as_secs_f64();
    report.add(Row::new(what, promotions as f64 * 60.0 / took, "tasks/min"));
    report.add(Row::new(
        "promotions: entries that these became",
        same.entries as f64,
        "entries",
    ));
    report.add(Row::new(
        "promotions: tasks that these cite",
        same.citations as f64,
        "citations",
    ));
    Ok(())
}

/// A node, and the store under it.
struct Bed {
    store: FjallStore,
    node: Node<FjallStore>,
}

/// What the same patterns became.
struct Same {
    took: Duration,
    entries: usize,
    citations: usize,
}

impl Bed {
    async fn start(path: &Path) -> Result<Self, Error> {
        let store = open_store(&path.join("store"))?;
        let config = LanceConfig::new(HashEmbedder.space(), HashEmbedder.dimensions());
        let index = LanceIndex::open(path.join("vectors"), config);
        let index = index.map_err(|error| Error::Wrong(error.to_string()))?;
        let node = Node::start(store.clone(), ports(Arc::new(index)), NodeConfig::default());
        let node = node.await?;
        Ok(Self { store, node })
    }

    /// How long it takes until so many tasks are published, from the first verification on.
    async fn many(&self, tasks: usize) -> Result<Duration, Error> {
        let texts = Texts::new();
        let tasks: Vec<Scope> = (0..tasks).map(crate::workload::task).collect();
        let logs = tasks.iter().enumerate().map(|(number, task)| {
            let findings = (0..FINDINGS).map(|finding| pattern(number * FINDINGS + finding));
            let lines =
                (FINDINGS..RECORDS).map(|line| texts.get(number * RECORDS + line).to_owned());
            (task.clone(), lines.chain(findings).collect())
        });
        let logs: Vec<(Scope, Vec<String>)> = logs.collect();
        self.prepare(logs).await?;
        let begun = Instant::now();
        self.promote(tasks).await?;
        Ok(begun.elapsed())
    }

    /// Has the same patterns found by several at once.
    async fn same(&self) -> Result<Same, Error> {
        let project = scope("org/bench/project/same");
        let task = |agent: usize, found: usize| {
            scope(&format!("{project}/worktree/w{agent}/task/t{found}"))
        };
        let found = |found: usize| pattern(1_000_000 + found);
        let pairs = (0..PATTERNS).flat_map(|found| (0..AGENTS).map(move |agent| (agent, found)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let logs = pairs.iter().map(|(agent, number)| {
            let log = vec![format!("agent {agent} looks around"), found(*number)];
            (task(*agent, *number), log)
        });
        self.prepare(logs.collect()).await?;
        let tasks = pairs.iter().map(|(agent, found)| task(*agent, *found));
        let begun = Instant::now();
        self.promote(tasks.collect()).await?;
        let took = begun.elapsed();
        let stated = self
            .stated(&project, (0..PATTERNS).map(found).collect())
            .await?;
        let entries = stated.values().map(Vec::len).sum();
        let citing = stated.values().flatten().map(tasks_of);
        let citations = citing.map(|tasks| tasks.len()).sum();
        if (entries, citations) != (PATTERNS, AGENTS * PATTERNS) || stated.len() != PATTERNS {
            let patterns = (0..PATTERNS).map(found);
            let lost: Vec<String> = patterns.filter(|one| !stated.contains_key(one)).collect();
            return Err(Error::Wrong(format!(
                "{PATTERNS} patterns became {entries} entries that cite {citations} tasks; lost: {lost:?}"
            )));
        }
        Ok(Same {
            took,
            entries,
            citations,
        })
    }

    /// Opens tasks, and writes their logs.
    async fn prepare(&self, logs: Vec<(Scope, Vec<String>)>) -> Result<(), Error> {
        let agent = principal(PrincipalKind::Agent);
        let writing = stream::iter(logs).map(Ok::<_, Error>);
        let written = writing.try_for_each_concurrent(IN_FLIGHT, async |(task, lines)| {
            let title = format!("Work on {task}");
            let open = Command::OpenTask {
                title,
                description: String::new(),
            };
            self.node.submit(submission(&task, &agent, open)).await?;
            let records = lines.iter().map(|line| record(line)).collect();
            let append = Command::Append { records };
            self.node.submit(submission(&task, &agent, append)).await?;
            Ok(())
        });
        written.await
    }

    /// Has tasks verified, and waits until all of them are published, each at its first attempt: one that went well
    /// only later is an error all the same, which what is published does not show.
    async fn promote(&self, tasks: Vec<Scope>) -> Result<(), Error> {
        let failures_before = self.node.metrics().promotion_failures;
        let waiting = stream::iter(tasks).map(Ok::<_, Error>);
        let published = waiting.try_for_each_concurrent(None, async |task| {
            let id = self.verify(&task).await?;
            match self.node.promotion(&task, id, PATIENCE_MS).await? {
                PromotionState::Done(_) => Ok(()),
                other => Err(Error::Wrong(format!("{task} was not published: {other:?}"))),
            }
        });
        published.await?;
        let failures = self.node.metrics().promotion_failures - failures_before;
        if failures > 0 {
            let why = format!("{failures} attempts at promotions failed, and none may");
            return Err(Error::Wrong(why));
        }
        Ok(())
    }

    async fn verify(&self, task: &Scope) -> Result<VerificationId, Error> {
        let verification = NewVerification {
            outcome: Outcome::Passed,
            source: VerificationSource::TestsPassed,
            run: format!("the tests of {task}"),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: None,
            approach: None,
            target: None,
        };
        let command = Command::RecordVerification(Box::new(verification));
        let orchestrator = principal(PrincipalKind::Orchestrator);
        let answer = self
            .node
            .submit(submission(task, &orchestrator, command))
            .await?;
        match answer.result {
            AnswerBody::Verification { id, .. } => Ok(id),
            other => Err(Error::Wrong(format!(
                "a verification was answered with {other:?}"
            ))),
        }
    }

    /// The live entries of a project that state one of these texts, by text.
    async fn stated(
        &self,
        project: &Scope,
        texts: BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<Head>>, Error> {
        let mut txn = self.store.begin().await?;
        let project = ScopeKey::of(project);
        let options = RangeOptions::first(HEADS_MAX, Read::Snapshot);
        let rows = txn
            .range(&keys::head::range_of_scope(&project), options)
            .await?;
        let mut stated: BTreeMap<String, Vec<Head>> = BTreeMap::new();
        for (key, value) in rows {
            let head = keys::head::decode(&key, &value)?;
            if !head.status.is_live() || head.table != Table::Observations {
                continue;
            }
            let key = keys::version::key(&project, head.id, head.version);
            let value = txn.get(&key, Read::Snapshot).await?;
            let missing = || Error::Wrong(format!("{} has no content", head.id));
            let version = keys::version::decode(&key, &value.ok_or_else(missing)?)?;
            let states = |text: &&String| version.content.contains(text.trim_end_matches('.'));
            if let Some(text) = texts.iter().find(states) {
                stated.entry(text.clone()).or_default().push(head);
            }
        }
        Ok(stated)
    }
}

/// The tasks whose records an entry cites.
fn tasks_of(head: &Head) -> BTreeSet<Scope> {
    let records = head
        .citations
        .iter()
        .filter_map(|citation| citation.record());
    records.map(|record| record.scope.clone()).collect()
}

/// What somebody found out, as it stands in a log; another one for each number.
fn pattern(number: usize) -> String {
    const CAUSES: [&str; 10] = [
        "the loop stops one item early",
        "the cache keeps the key of the last call",
        "the lock is held across the call",
        "the offset counts characters and not bytes",
        "the timeout is given in seconds",
        "the default is shared by all calls",
        "the file stays open after an error",
        "the header is parsed twice",
        "the retry drops its first argument",
        "the comparison ignores the time zone",
    ];
    let cause = CAUSES[number % CAUSES.len()];
    let file = number / CAUSES.len();
    format!("Root cause: {cause} in src/part_{file}/unit_{number}.py.")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use sillok_actors::Ports;
    use sillok_builtin::{ExactIndex, RuleCognifier};
    use sillok_core::ports::{BoxFuture, Cognifier, PortError};
    use sillok_core::promotion::{CognifyInput, Cognition};

    use super::*;

    /// A cognifier whose first answer cannot be used, where it is one that stumbles.
    struct Stumbling(AtomicBool);

    impl Cognifier for Stumbling {
        fn name(&self) -> &str {
            "stumbling 1"
        }

        fn cognify<'a>(
            &'a self,
            input: &'a CognifyInput,
        ) -> BoxFuture<'a, Result<Cognition, PortError>> {
            Box::pin(async move {
                if self.0.swap(false, Ordering::Relaxed) {
                    return Err(PortError::Unusable("it stumbled".to_owned()));
                }
                Ok(RuleCognifier::draw(input))
            })
        }
    }

    async fn promoted(path: &Path, stumbles: bool) -> Result<(), Error> {
        let store = open_store(path)?;
        let ports = Ports {
            cognifier: Arc::new(Stumbling(AtomicBool::new(stumbles))),
            ..ports(Arc::new(ExactIndex::new()))
        };
        let node = Node::start(store.clone(), ports, NodeConfig::default()).await?;
        let bed = Bed { store, node };
        let task = crate::workload::task(0);
        bed.prepare(vec![(task.clone(), vec![pattern(0)])]).await?;
        let promoted = bed.promote(vec![task]).await;
        bed.node.shutdown().await;
        promoted
    }

    #[test]
    fn a_promotion_that_goes_well_at_its_second_attempt_only_fails_the_item() {
        let (folder, runtime) = (folder().unwrap(), runtime().unwrap());
        let (well, stumbled) = (folder.path().join("well"), folder.path().join("stumbled"));
        runtime.block_on(promoted(&well, false)).unwrap();
        let error = runtime.block_on(promoted(&stumbled, true)).unwrap_err();
        let Error::Wrong(why) = error else {
            panic!("{error}")
        };
        assert_eq!(why, "1 attempts at promotions failed, and none may");
    }
}
