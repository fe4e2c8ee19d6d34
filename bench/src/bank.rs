//! Searches of patterns among very many trajectories, and briefs of a task that is like what failed.
//!
//! Trajectories are stored through the node, in tasks that are over, and each idea failed as often as it succeeded. What is asked
//! names an idea in its own words; the answer has to count all trajectories of it. What is tried is owned by
//! [`tried`](mod@crate::fixes::tried).

use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hdrhistogram::Histogram;
use sillok_actors::reads::{BriefQuery, Viewer};
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::ExactIndex;
use sillok_core::bank::{Ended, NewTrajectory, PatternQuery, Reward, Step};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::id::Seq;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::task::Closing;
use sillok_store::FjallStore;

use crate::engines::{folder, open_store, ports, runtime, write_back};
use crate::error::Error;
use crate::fixes::tried::{IDEAS, tried};
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::scale::{BankScale, Scale};
use crate::workload::{append, principal, scope, submission};

/// Where everything was tried.
const PROJECT: &str = "org/bench/project/bank";
/// A task that is like all of it.
const LIKE: &str = "org/bench/project/bank/worktree/main/task/like";
/// Tasks that are over.
const TASKS: usize = 40;
/// Commands under way while a store is filled.
const IN_FLIGHT: usize = 32;
/// Questions of each run before any counts.
const WARM: usize = 5;

/// Measures searches and briefs.
///
/// # Errors
/// What the node answered; an answer that counts otherwise than what was stored.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    runtime()?.block_on(among(&scale.bank, report))
}

async fn among(scale: &BankScale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let began = Instant::now();
    let bed = Bed::start(open_store(folder.path())?, scale.stored).await?;
    let prepared = began.elapsed();
    write_back()?;
    let (mut searches, mut briefs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        searches.push(bed.searches(scale.asked).await?);
        briefs.push(bed.briefs(scale.asked).await?);
    }
    bed.node.shutdown().await;
    let among = format!("bank: {} trajectories", scale.stored);
    let what = format!("{among}, preparing");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    for (asked, runs) in [("a search", searches), ("a brief that warns", briefs)] {
        let what = format!("{among}, {asked}, p99, worst of {RUNS} runs");
        let row = Row::new(what, worst_ms(&runs, 0.99), "ms");
        report.add(row.with_latency(&together(&runs)));
    }
    Ok(())
}

/// A node in whose store trajectories are.
struct Bed {
    node: Node<FjallStore>,
    stored: usize,
}

impl Bed {
    async fn start(store: FjallStore, stored: usize) -> Result<Self, Error> {
        let ports = ports(Arc::new(ExactIndex::new()));
        let node = Node::start(store, ports, NodeConfig::default()).await?;
        let bed = Self { node, stored };
        bed.fill().await?;
        Ok(bed)
    }

    async fn give(
        &self,
        kind: PrincipalKind,
        path: &Scope,
        command: Command,
    ) -> Result<AnswerBody, Error> {
        let given = submission(path, &principal(kind), command);
        Ok(self.node.submit(given).await?.result)
    }

    /// Opens all tasks, closes all but one, and stores everything.
    async fn fill(&self) -> Result<(), Error> {
        let ideas = IDEAS
            .iter()
            .map(|(begins, _, goes_on)| format!("{begins} {goes_on}"));
        let open = |description: String| Command::OpenTask {
            title: "what was tried before".to_owned(),
            description,
        };
        let like = open(ideas.collect::<Vec<_>>().join("\n"));
        self.give(PrincipalKind::Agent, &scope(LIKE), like).await?;
        for task in 0..TASKS {
            let task = over(task);
            let opened = open(String::new());
            self.give(PrincipalKind::Agent, &task, opened).await?;
            self.give(PrincipalKind::Agent, &task, append("a step"))
                .await?;
            let close = Command::CloseTask {
                closing: Closing::Done,
                reason: String::new(),
            };
            self.give(PrincipalKind::Orchestrator, &task, close).await?;
        }
        let storing = (0..self.stored).map(|number| self.store(number));
        let storing = stream::iter(storing).buffer_unordered(IN_FLIGHT);
        storing.try_collect::<()>().await
    }

    async fn store(&self, number: usize) -> Result<(), Error> {
        let (idea, place) = (number % IDEAS.len(), number / IDEAS.len());
        let (ended, reward) = if place % 2 == 0 {
            (Ended::Succeeded, 1.0)
        } else {
            (Ended::Failed, -1.0)
        };
        let new = NewTrajectory {
            kind: "bugfix".parse()?,
            approach: tried(idea, place),
            ended,
            reward: Reward::of(reward)?,
            lesson: format!("it was tried at place {place}"),
            steps: vec![Step {
                record: Seq::new(2),
                bytes: None,
            }],
        };
        let command = Command::StoreTrajectory(Box::new(new));
        let task = over(number % TASKS);
        match self
            .give(PrincipalKind::Orchestrator, &task, command)
            .await?
        {
            AnswerBody::TrajectoryStored { .. } => Ok(()),
            other => Err(Error::Wrong(format!("a trajectory led to {other:?}"))),
        }
    }

    /// Asks for each idea, over and over: what it took.
    async fn searches(&self, asked: usize) -> Result<Histogram<u64>, Error> {
        let mut latency = histogram();
        for number in 0..WARM + asked {
            let approach = tried(number % IDEAS.len(), 0);
            let query = PatternQuery::of(&approach.text, None, number % 2 == 1, None)?;
            let sent = Instant::now();
            let found = self.node.search_patterns(&scope(PROJECT), &query).await?;
            if number >= WARM {
                latency.saturating_record(elapsed_us(sent));
            }
            let first = found.patterns.first();
            let tally = first.map(|one| one.pattern.tally);
            let counted = tally.map(|tally| (tally.succeeded + tally.failed) as usize);
            let expected = Some(self.stored / IDEAS.len());
            if counted != expected {
                let why = format!(
                    "{:?} was tried {counted:?} times and not {expected:?}",
                    query.text
                );
                return Err(Error::Wrong(why));
            }
        }
        Ok(latency)
    }

    /// Asks for the brief of the task that is like all ideas: what it took.
    async fn briefs(&self, asked: usize) -> Result<Histogram<u64>, Error> {
        let viewer = Viewer {
            scope: scope(LIKE),
            prefix: LIKE.parse()?,
        };
        let mut latency = histogram();
        for number in 0..WARM + asked {
            let sent = Instant::now();
            let query = BriefQuery::default();
            let brief = self.node.brief_of_standing(&viewer, query).await?;
            if number >= WARM {
                latency.saturating_record(elapsed_us(sent));
            }
            if brief.warnings.is_empty() {
                return Err(Error::Wrong("a brief warns of nothing".to_owned()));
            }
        }
        Ok(latency)
    }
}

fn over(number: usize) -> Scope {
    scope(&format!(
        "{PROJECT}/worktree/w{}/task/t{number}",
        number % 10
    ))
}

#[cfg(test)]
mod tests {
    use sillok_actors::audit;

    use super::*;

    #[test]
    fn what_is_asked_finds_all_that_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            let bed = Bed::start(store.clone(), 100).await.unwrap();
            bed.searches(IDEAS.len()).await.unwrap();
            bed.briefs(1).await.unwrap();
            bed.node.shutdown().await;
            let audited = audit::verify(&store, &|_| {}).await.unwrap();
            assert!(audited.is_ok(), "{:?}", audited.first);
        });
    }
}
