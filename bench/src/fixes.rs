//! Checks of fixes among approaches that failed, and how fast failures are recorded.
//!
//! Each store holds as many approaches that failed as a project has whose agents go in circles: most of them in the task that
//! asks, or spread over many tasks, or all of one idea, so that whatever is like one is like all. They are recorded through the
//! node, and the promotions that their verifications start have ended before anything is asked. The checks are those of the
//! server. They ask in turns for an idea that failed, in other words; for a new one at a place where others failed; and for one
//! that failed, in a task of its own in which nothing did. All approaches touch a symbol of one name, so that each has to be
//! compared. Failures are recorded by the clients of [`crate::lanes`]. What is said is owned by [`tried`](mod@tried).

pub(crate) mod tried;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hdrhistogram::Histogram;
use sillok_actors::jobs::PromotionState;
use sillok_actors::reads::FixChecked;
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::ExactIndex;
use sillok_core::circular::{Approach, Verdict};
use sillok_core::command::AnswerBody;
use sillok_core::id::VerificationId;
use sillok_core::limits::FIX_TRIED_MAX;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::FjallStore;
use tokio::runtime::Runtime;

use self::tried::{IDEAS, again, anew, failure, tried};
use crate::engines::{folder, open_store, ports, runtime, write_back};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::lanes::{Client, load};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::scale::{FixScale, Scale};
use crate::workload::{open_task, principal, scope, submission, task};

/// Where everything failed, and who asks there.
const PROJECT: &str = "org/bench/project/fixes";
const ASKER: &str = "org/bench/project/fixes/worktree/main/task/asks";
/// A task in which nothing failed.
const FRESH: &str = "org/bench/project/fixes/worktree/main/task/fresh";
/// Worktrees that the other tasks lie in.
const WORKTREES: usize = 10;
/// Commands under way while a store is filled.
const IN_FLIGHT: usize = 32;
/// The longest that one promotion may take, in ms.
const PATIENCE_MS: u64 = 120_000;
/// Checks of each run before any counts.
const WARM: usize = 15;
/// The floor.
const P99_MS_MAX: f64 = 5.0;

/// Measures checks in each store, and recording.
///
/// # Errors
/// What the node answered; a check that is judged otherwise than what failed says.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let runtime = runtime()?;
    for history in History::ALL {
        runtime.block_on(among(history, &scale.fixes, report))?;
    }
    recording(&runtime, scale, report)
}

/// Where approaches failed, and how they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    /// Four of five in the task that asks.
    OneTask,
    /// As many in each of many tasks.
    ManyTasks,
    /// All in the task that asks, and all of one idea.
    OneIdea,
}

impl History {
    const ALL: [Self; 3] = [Self::OneTask, Self::ManyTasks, Self::OneIdea];

    const fn told(self) -> &'static str {
        match self {
            Self::OneTask => "four of five in the task that asks",
            Self::ManyTasks => "as many in each task",
            Self::OneIdea => "all of one idea and in the task that asks",
        }
    }

    /// How many ideas there are.
    const fn ideas(self) -> usize {
        match self {
            Self::OneTask | Self::ManyTasks => IDEAS.len(),
            Self::OneIdea => 1,
        }
    }

    /// The idea and the place of an approach.
    const fn of(self, number: usize) -> (usize, usize) {
        (number % self.ideas(), number / self.ideas())
    }

    /// The task in which what is tried at a place fails.
    fn task(self, place: usize) -> Scope {
        let is_asker = match self {
            Self::OneTask => place % 5 != 4,
            Self::ManyTasks => place == 0,
            Self::OneIdea => true,
        };
        if is_asker {
            return scope(ASKER);
        }
        let worktree = place % WORKTREES;
        scope(&format!(
            "{PROJECT}/worktree/w{worktree}/task/place-{place}"
        ))
    }
}

/// Measures checks in a store with such a history.
async fn among(history: History, scale: &FixScale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let began = Instant::now();
    let bed = Bed::start(open_store(folder.path())?, history, scale.failed).await?;
    let prepared = began.elapsed();
    write_back()?;
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        runs.push(bed.run(scale.checks).await);
    }
    bed.node.shutdown().await;
    let runs: Vec<Histogram<u64>> = runs.into_iter().collect::<Result<_, _>>()?;
    let among = format!(
        "fixes: {} approaches that failed, {}",
        scale.failed,
        history.told()
    );
    let what = format!("{among}, preparing");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    let what = format!("{among}, a check, p99, worst of {RUNS} runs");
    let row = Row::new(what, worst_ms(&runs, 0.99), "ms").with_latency(&together(&runs));
    report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
    Ok(())
}

/// A node in whose store approaches failed.
struct Bed {
    node: Node<FjallStore>,
    history: History,
    failed: usize,
}

/// What is asked, and what has to be answered.
struct Question {
    task: Scope,
    approach: Approach,
    verdict: Verdict,
    /// What failed and is like it: how much of that is told, and in how many tasks it failed.
    attempts: usize,
    tasks: usize,
}

impl Bed {
    async fn start(store: FjallStore, history: History, failed: usize) -> Result<Self, Error> {
        let ports = ports(Arc::new(ExactIndex::new()));
        let node = Node::start(store, ports, NodeConfig::default()).await?;
        let bed = Self {
            node,
            history,
            failed,
        };
        bed.fill().await?;
        Ok(bed)
    }

    /// Opens all tasks, and has everything fail in them that fails.
    async fn fill(&self) -> Result<(), Error> {
        let agent = principal(PrincipalKind::Agent);
        let failed = 0..self.failed;
        let tasks = failed.map(|number| self.history.task(self.history.of(number).1));
        let tasks: BTreeSet<Scope> = tasks.chain([ASKER, FRESH].map(scope)).collect();
        for task in &tasks {
            let open = submission(task, &agent, open_task());
            self.node.submit(open).await?;
        }
        let failing = (0..self.failed).map(|number| self.fail(number));
        let failing = stream::iter(failing).buffer_unordered(IN_FLIGHT);
        let verifications: Vec<(Scope, VerificationId)> = failing.try_collect().await?;
        // What they start runs behind them, and would run beside the first checks.
        for (task, id) in &verifications {
            match self.node.promotion(task, *id, PATIENCE_MS).await? {
                PromotionState::Done(_) => {}
                other => return Err(Error::Wrong(format!("{task} was not promoted: {other:?}"))),
            }
        }
        Ok(())
    }

    async fn fail(&self, number: usize) -> Result<(Scope, VerificationId), Error> {
        let (idea, place) = self.history.of(number);
        let task = self.history.task(place);
        let orchestrator = principal(PrincipalKind::Orchestrator);
        let command = failure(number, tried(idea, place));
        let answer = self
            .node
            .submit(submission(&task, &orchestrator, command))
            .await?;
        Ok((task, recorded(answer.result)?))
    }

    /// The questions, over and over.
    fn questions(&self) -> Vec<Question> {
        let ideas = (0..self.history.ideas()).flat_map(|idea| {
            let (attempts, tasks) = self.failed_of(idea);
            let tried = |task, verdict| Question {
                task: scope(task),
                approach: again(idea, 0),
                verdict,
                attempts,
                tasks,
            };
            let new = Question {
                task: scope(ASKER),
                approach: anew(idea % self.places()),
                verdict: Verdict::Allow,
                attempts: 0,
                tasks: 0,
            };
            [
                tried(ASKER, Verdict::Reject),
                new,
                tried(FRESH, Verdict::Warn),
            ]
        });
        ideas.collect()
    }

    /// How many places there are at which something failed.
    const fn places(&self) -> usize {
        self.failed / self.history.ideas()
    }

    /// How often an idea failed in the tasks that are told of, and in how many it did. Where it did so in more than are told of,
    /// it failed as often in each.
    fn failed_of(&self, idea: usize) -> (usize, usize) {
        let all = (0..self.failed).map(|number| self.history.of(number));
        let of_idea = all.filter(|(one, _)| *one == idea);
        let mut times: BTreeMap<Scope, usize> = BTreeMap::new();
        for (_, place) in of_idea {
            *times.entry(self.history.task(place)).or_default() += 1;
        }
        let told = times.values().take(FIX_TRIED_MAX);
        (told.sum(), times.len())
    }

    /// Asks, over and over: what it took.
    async fn run(&self, checks: usize) -> Result<Histogram<u64>, Error> {
        let questions = self.questions();
        let mut latency = histogram();
        for (number, question) in (0..WARM + checks).zip(questions.iter().cycle()) {
            let (task, approach) = (&question.task, &question.approach);
            let sent = Instant::now();
            let checked = self.node.reader().check_fix(task, approach).await?;
            if number >= WARM {
                latency.saturating_record(elapsed_us(sent));
            }
            check(question, &checked)?;
        }
        Ok(latency)
    }
}

/// A check that was not looked for among everything, or found anything else than what failed, measures nothing.
fn check(question: &Question, checked: &FixChecked) -> Result<(), Error> {
    let judged = &checked.judged;
    let attempts = judged.tried.iter().map(|tried| tried.attempts as usize);
    let found = (
        judged.verdict,
        judged.tried.len(),
        attempts.sum::<usize>(),
        judged.cut,
        checked.stuck.is_some(),
    );
    let expected = (
        question.verdict,
        question.tasks.min(FIX_TRIED_MAX),
        question.attempts,
        question.tasks > FIX_TRIED_MAX,
        false,
    );
    if found == expected {
        return Ok(());
    }
    let (task, text) = (&question.task, &question.approach.text);
    let why = format!("{text:?} in {task} was judged {found:?} and not {expected:?}");
    Err(Error::Wrong(why))
}

/// The verification that says what failed.
fn recorded(answer: AnswerBody) -> Result<VerificationId, Error> {
    match answer {
        AnswerBody::Failed { id, .. } => Ok(id),
        other => Err(Error::Wrong(format!(
            "a failure was answered with {other:?}"
        ))),
    }
}

/// Measures how fast failures are recorded, in as many tasks as the widest load has.
fn recording(runtime: &Runtime, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let open = |node: Node<FjallStore>, lane| async move {
        let agent = principal(PrincipalKind::Agent);
        let open = submission(&task(lane), &agent, open_task());
        node.submit(open).await?;
        Ok(())
    };
    let (measured, batch) = load(runtime, folder.path(), scale.wide, scale, open, record_on)?;
    let tasks = scale.wide;
    let what = format!("fixes: failures recorded, {tasks} tasks, {batch:.0} commands a batch");
    let row = Row::new(what, measured.rate(), "failures/s");
    report.add(row.with_latency(&measured.latency));
    Ok(())
}

async fn record_on(client: Client) -> Result<(), Error> {
    let orchestrator = principal(PrincipalKind::Orchestrator);
    let task = task(client.lane);
    let mut next = client.first;
    while client.gauge.is_on() {
        let (idea, place) = History::ManyTasks.of(next);
        let command = submission(&task, &orchestrator, failure(next, tried(idea, place)));
        let sent = Instant::now();
        let answer = client.node.submit(command).await?;
        recorded(answer.result)?;
        client.gauge.acknowledged(client.lane, sent, 1);
        next += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sillok_actors::audit;

    use super::*;

    #[test]
    fn most_approaches_failed_where_somebody_asks_or_as_many_everywhere() {
        let of = |history: History, failed: usize| {
            let tasks = (0..failed).map(|number| history.task(history.of(number).1));
            let tasks: Vec<Scope> = tasks.collect();
            let own = tasks.iter().filter(|task| **task == scope(ASKER)).count();
            let different: BTreeSet<Scope> = tasks.into_iter().collect();
            assert!(!different.contains(&scope(FRESH)));
            (own, different.len())
        };
        assert_eq!(of(History::OneTask, 1_000), (800, 11));
        assert_eq!(of(History::ManyTasks, 1_000), (20, 50));
        assert_eq!(of(History::OneIdea, 1_000), (1_000, 1));
    }

    #[test]
    fn checks_find_what_failed_and_nothing_else_in_what_was_recorded() {
        for history in History::ALL {
            let folder = tempfile::tempdir().unwrap();
            runtime().unwrap().block_on(async {
                let store = open_store(folder.path()).unwrap();
                let bed = Bed::start(store.clone(), history, 100).await.unwrap();
                let questions = bed.questions();
                assert_eq!(questions.len(), 3 * history.ideas());
                bed.run(questions.len()).await.unwrap();
                // Of another question the answer is another one.
                for (one, other) in questions.iter().zip(&questions[1..]) {
                    let checked = bed.node.reader().check_fix(&one.task, &one.approach);
                    let checked = checked.await.unwrap();
                    check(one, &checked).unwrap();
                    assert!(check(other, &checked).is_err());
                }
                bed.node.shutdown().await;
                let audited = audit::verify(&store, &|_| {}).await.unwrap();
                assert!(audited.is_ok(), "{:?}", audited.first);
            });
        }
    }

    #[test]
    fn an_idea_in_other_words_is_as_alike_as_can_be() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            let bed = Bed::start(store, History::OneTask, IDEAS.len());
            let bed = bed.await.unwrap();
            for idea in 0..IDEAS.len() {
                let approach = again(idea, 0);
                let asker = scope(ASKER);
                let checked = bed.node.reader().check_fix(&asker, &approach).await;
                let found = checked.unwrap().judged.tried;
                assert_eq!(found.len(), 1, "{approach:?}");
                assert_eq!(found[0].approach, tried(idea, 0));
                assert_ne!(found[0].approach, approach);
                assert!(found[0].similarity > 0.999, "{approach:?}");
            }
            bed.node.shutdown().await;
        });
    }
}
