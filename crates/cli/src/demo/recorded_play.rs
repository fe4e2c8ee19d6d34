//! The play with recorded runs: agents that each replay a run at once.
//!
//! Owns who replays what, and the operator's word: a recorded run carries no verdict, so a person
//! vouches for it, or it stays unverified and nothing of it is published.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sillok_core::scope::Scope;
use sillok_core::verification::{Outcome, VerificationSource};
use sillok_server::api::RecordVerification;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::deciding::Deciding;
use super::governance::{self, Advice, Grounds};
use super::judgement;
use super::play::Played;
use super::report::{AgentReport, AttemptReport};
use super::stage::{Agent, Stage};
use crate::args::Assume;
use crate::failure::Failure;
use crate::import::{import, task_name};
use crate::trajectory::{self, Run};
use crate::verification::new_run_id;

const ADVICE: Advice = Advice {
    first: "Recorded runs may be imported without a verdict.",
    second: "Recorded runs are imported without a verdict and publish nothing by themselves.",
    replacement: "A recorded run publishes nothing until a person vouches for it, and then says so.",
    reason: "The older wording leaves out who vouches.",
};

/// Plays it.
///
/// # Errors
/// [`Failure`]
pub async fn play(
    stage: &Stage,
    agents: usize,
    folder: &Path,
    assume: Option<Assume>,
) -> Result<Played, Failure> {
    let runs: Vec<Run> = files(folder)?
        .iter()
        .map(|path| trajectory::read(path))
        .collect::<Result<_, _>>()?;
    let details = at_once(stage, agents, runs, assume).await?;
    let first = details.first().expect("there is at least one agent");
    let trespasser = stage.agent(0).await?;
    let mut outcomes = governance::trespass(stage, &trespasser, &first.task).await?;
    if let Some(attempt) = first.attempts.first() {
        let grounds = Grounds {
            task: first.task.clone(),
            verification: attempt.verification,
        };
        outcomes.join(governance::revise(stage, &grounds, ADVICE).await?);
    }
    let note = match assume {
        Some(Assume::Passed) => {
            "These runs carry no test verdict. You said that they passed, and your word stands for it: every one is recorded as human_approved."
        }
        None => {
            "These runs carry no test verdict, and nobody vouched for them (--assume passed): they are logged, and nothing of them is published."
        }
    };
    Ok(Played {
        agents: details,
        recall: None,
        outcomes,
        judgement: judgement::judge(stage).await?,
        // A recorded run leaves no source that it could be held against.
        deciding: Deciding::default(),
        repository: None,
        note: Some(note.to_owned()),
    })
}

/// The recorded runs of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = std::fs::read_dir(folder).map_err(Failure::io(format!(
        "{} cannot be listed",
        folder.display()
    )))?;
    let mut files = Vec::new();
    for entry in listed {
        let path = entry
            .map_err(Failure::io(format!(
                "{} cannot be listed",
                folder.display()
            )))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "traj")
        {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::Usage(format!(
            "{} holds no .traj file",
            folder.display()
        )));
    }
    Ok(files)
}

/// Which runs each agent replays: every run at least once, and every agent at least one.
fn shares(agents: usize, runs: usize) -> Vec<Vec<usize>> {
    let mut shares = vec![Vec::new(); agents];
    for number in 0..agents.max(runs) {
        shares[number % agents].push(number % runs);
    }
    shares
}

async fn at_once(
    stage: &Stage,
    agents: usize,
    runs: Vec<Run>,
    assume: Option<Assume>,
) -> Result<Vec<AgentReport>, Failure> {
    let start = Arc::new(Barrier::new(agents));
    let runs: Arc<[Run]> = runs.into();
    let mut running = JoinSet::new();
    for (number, share) in shares(agents, runs.len()).into_iter().enumerate() {
        let agent = stage.agent(number).await?;
        let (stage, start, runs) = (stage.clone(), Arc::clone(&start), Arc::clone(&runs));
        running.spawn(async move {
            start.wait().await;
            let mut details = Vec::new();
            for at in share {
                details.push(replay(&stage, &agent, &runs[at], assume).await?);
            }
            Ok::<_, Failure>((number, details))
        });
    }
    let mut details = Vec::new();
    while let Some(ended) = running.join_next().await {
        details.push(ended.expect("an agent does not panic")?);
    }
    details.sort_by_key(|(number, _)| *number);
    Ok(details
        .into_iter()
        .flat_map(|(_, details)| details)
        .collect())
}

async fn replay(
    stage: &Stage,
    agent: &Agent,
    run: &Run,
    assume: Option<Assume>,
) -> Result<AgentReport, Failure> {
    let task = agent.worktree.child(&task_name(run))?;
    let imported = import(&agent.client, task.clone(), run, |count| {
        stage.progress.inc(count)
    })
    .await?;
    let mut attempts = Vec::new();
    if assume == Some(Assume::Passed) {
        attempts.push(vouch(stage, &task).await?);
    }
    Ok(AgentReport {
        agent: agent.name.clone(),
        task,
        title: run.title.clone(),
        work_tree: None,
        run: Some(run.name.clone()),
        recalled: false,
        records_acked: imported.records,
        attempts,
    })
}

/// The operator's word.
async fn vouch(stage: &Stage, task: &Scope) -> Result<AttemptReport, Failure> {
    let recorded = stage
        .operator
        .record_verification(&RecordVerification {
            scope: task.to_string(),
            outcome: Outcome::Passed,
            source: VerificationSource::HumanApproved,
            run: new_run_id(),
            citations: Vec::new(),
            commit: None,
            bound: None,
            error: None,
            approach: None,
            files: Vec::new(),
            symbols: Vec::new(),
            target: None,
        })
        .await?;
    Ok(AttemptReport {
        approach: "as recorded".to_owned(),
        outcome: Outcome::Passed,
        source: VerificationSource::HumanApproved,
        exit_status: None,
        commit: None,
        verification: recorded.verification,
        promotion: stage
            .operator
            .promotion(task, recorded.verification)
            .await?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_replayed_and_nobody_is_idle() {
        assert_eq!(shares(5, 5), [[0], [1], [2], [3], [4]]);
        assert_eq!(shares(3, 2), [vec![0], vec![1], vec![0]]);
        assert_eq!(shares(2, 5), [vec![0, 2, 4], vec![1, 3]]);
    }

    #[test]
    fn a_folder_without_runs_is_wrong_usage() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), "{}").unwrap();
        assert!(matches!(files(folder.path()), Err(Failure::Usage(_))));
        std::fs::write(folder.path().join("b.traj"), "{}").unwrap();
        assert_eq!(files(folder.path()).unwrap().len(), 1);
        assert!(matches!(
            files(&folder.path().join("none")),
            Err(Failure::Io { .. })
        ));
    }
}
