//! One agent at work: it reads a failing test, edits the source, commits, and asks to be judged.
//!
//! Owns the order of its steps. The orchestrator judges by the true exit status of the test, run
//! once more in the agent's work tree.

use std::path::PathBuf;

use sillok_core::staging::LogLevel;
use sillok_core::verification::Outcome;

use super::journal::Journal;
use super::report::{AgentReport, AttemptReport};
use super::sample_repository::commit;
use super::scenario::{Attempt, Bug};
use super::stage::{Agent, Stage};
use crate::args::Touched;
use crate::execution::{self, Echo, Execution};
use crate::failure::Failure;
use crate::git;
use crate::here::Here;
use crate::verification::{self, Places, Verdict, new_run_id};

/// An agent, its work tree, and what it sets out to fix.
#[derive(Debug)]
pub struct Work {
    /// Who.
    pub agent: Agent,
    /// Where, on disk.
    pub dir: PathBuf,
    /// What.
    pub bug: &'static Bug,
}

impl Work {
    /// Opens the agent's task.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn open(&self, stage: &Stage) -> Result<Journal, Failure> {
        let task = self
            .agent
            .worktree
            .child(&format!("fix-{}", self.bug.tool))?;
        let words = (self.bug.title, self.bug.description);
        Journal::open(
            self.agent.client.clone(),
            task,
            words,
            stage.progress.clone(),
        )
        .await
    }

    /// Works until the test passes or the attempts are used up.
    ///
    /// # Errors
    /// [`Failure`], also when an edit does not fit the source any more.
    pub async fn run(self, stage: &Stage, mut journal: Journal) -> Result<AgentReport, Failure> {
        let seen = self.test().await?;
        let complaint = first_complaint(&seen);
        journal
            .ran("I start with the test that fails.", &seen)
            .await?;
        let source = self.read_source()?;
        let thought = format!("The test says: {complaint}. I read the source.");
        let show = format!("cat {}", self.bug.source());
        journal
            .step(&thought, &show, (LogLevel::Info, &source))
            .await?;

        let mut attempts = Vec::new();
        for attempt in self.bug.attempts {
            let tried = self.attempt(stage, &mut journal, attempt).await?;
            let passed = tried.outcome == Outcome::Passed;
            attempts.push(tried);
            if passed {
                break;
            }
        }
        Ok(AgentReport {
            agent: self.agent.name,
            task: journal.task().clone(),
            title: self.bug.title.to_owned(),
            work_tree: Some(self.dir),
            run: None,
            recalled: false,
            records_acked: journal.acked(),
            attempts,
        })
    }

    async fn attempt(
        &self,
        stage: &Stage,
        journal: &mut Journal,
        attempt: &Attempt,
    ) -> Result<AttemptReport, Failure> {
        let (dir, file) = (self.dir.clone(), self.bug.source());
        self.edit(attempt)?;
        let diff = blocking(move || git::run(&dir, ["diff", "--unified=1"])).await?;
        let thought = format!("{} {}", self.bug.cause, attempt.approach);
        journal
            .step(&thought, &format!("edit {file}"), (LogLevel::Info, &diff))
            .await?;
        journal
            .ran("I run the test again.", &self.test().await?)
            .await?;

        let (dir, author) = (self.dir.clone(), self.agent.name.clone());
        let message = format!("Fix {file}");
        let commit_message = message.clone();
        blocking(move || commit(&dir, &author, &commit_message)).await?;
        let command = format!("git commit --all -m '{message}'");
        journal
            .step(
                "The change is committed, and the orchestrator judges.",
                &command,
                (LogLevel::Info, ""),
            )
            .await?;
        self.judge(stage, journal, attempt).await
    }

    /// The orchestrator's part: the test, its true exit status, and what it publishes.
    async fn judge(
        &self,
        stage: &Stage,
        journal: &mut Journal,
        attempt: &Attempt,
    ) -> Result<AttemptReport, Failure> {
        let ran = self.test().await?;
        let here = Here::looked(self.dir.clone()).await;
        let verdict = Verdict {
            task: journal.task(),
            run: new_run_id(),
            places: Places::of(here, &ran, Some(attempt.approach)).await,
            approach: Some(attempt.approach.to_owned()),
            touched: Touched::default(),
            target: None,
        };
        let recorded = verification::record(&stage.orchestrator, &ran, verdict).await?;
        journal.count(1);
        Ok(AttemptReport::new(attempt.approach, recorded))
    }

    async fn test(&self) -> Result<Execution, Failure> {
        execution::run(&self.bug.test(), &self.dir, Echo::Silent).await
    }

    fn read_source(&self) -> Result<String, Failure> {
        let path = self.dir.join(self.bug.source());
        std::fs::read_to_string(&path)
            .map_err(Failure::io(format!("{} cannot be read", path.display())))
    }

    fn edit(&self, attempt: &Attempt) -> Result<(), Failure> {
        let path = self.dir.join(self.bug.source());
        let source = self.read_source()?;
        if source.matches(attempt.old).count() != 1 {
            return Err(Failure::Verdict(format!(
                "the edit does not fit {}",
                path.display()
            )));
        }
        let edited = source.replace(attempt.old, attempt.new);
        std::fs::write(&path, edited)
            .map_err(Failure::io(format!("{} cannot be written", path.display())))
    }
}

/// The first line in which the test complains.
fn first_complaint(ran: &Execution) -> String {
    let line = ran.output.lines().find(|line| line.starts_with("error:"));
    line.map_or_else(
        || ran.ending.clone(),
        |line| line.trim_start_matches("error:").trim().to_owned(),
    )
}

/// Runs what waits for another program on a thread of its own.
async fn blocking<T: Send + 'static, E: Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    Ok(tokio::task::spawn_blocking(work)
        .await
        .expect("the work does not panic")?)
}
