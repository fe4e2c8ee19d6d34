//! The play with the sample repository: agents that fix real bugs at once, and one that comes later.
//!
//! Owns who works on what and when. How one agent works is [`agent`](super::agent)'s.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sillok_core::staging::LogLevel;
use sillok_core::verification::Outcome;
use sillok_server::api::{Brief, RecallRequest, RecallResult};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::agent::Work;
use super::deciding::{self, Deciding};
use super::governance::{self, Advice, Grounds};
use super::journal::Journal;
use super::judgement;
use super::keeping;
use super::play::Played;
use super::report::{AgentReport, RecallReport, WayReport};
use super::sample_repository::SampleRepository;
use super::scenario::{LATER, bug};
use super::stage::{Agent, Stage};
use crate::failure::Failure;

/// What the later agent looks for.
const QUERY: &str = "a last line without a newline is not counted";
/// How often it asks while nothing has come up yet, and how long it waits in between.
const RECALL_ATTEMPTS_MAX: u32 = 25;
const RECALL_PAUSE: Duration = Duration::from_millis(200);

const ADVICE: Advice = Advice {
    first: "Test what read has put into its variable when a loop reads lines.",
    second: "A loop that reads lines also tests what read has put into its variable.",
    replacement: "Read lines with `while read -r line || [ -n \"$line\" ]`, so that the last one counts without a newline.",
    reason: "The older wording does not say what to write.",
};

/// Plays it.
///
/// # Errors
/// [`Failure`]
pub async fn play(stage: &Stage, agents: usize, folder: &Path) -> Result<Played, Failure> {
    let repository = SampleRepository::create(folder)?;
    let mut details = at_once(stage, agents, &repository).await?;
    let mut deciding = Deciding::default();
    let (later, recall) = later(stage, &details, &repository, &mut deciding).await?;
    details.push(later);
    deciding.decide_more(stage, details.len()).await?;

    let first = details.first().expect("there is at least one agent");
    let trespasser = stage.agent(0).await?;
    let mut outcomes = governance::trespass(stage, &trespasser, &first.task).await?;
    let passed = first
        .attempts
        .iter()
        .find(|attempt| attempt.outcome == Outcome::Passed);
    if let Some(passed) = passed {
        let grounds = Grounds {
            task: first.task.clone(),
            verification: passed.verification,
        };
        outcomes.join(governance::revise(stage, &grounds, ADVICE).await?);
    }
    Ok(Played {
        agents: details,
        recall: Some(recall),
        outcomes,
        judgement: judgement::judge(stage).await?,
        deciding,
        repository: Some(repository.root().to_owned()),
        note: None,
    })
}

/// All agents at once, each in a work tree of its own.
async fn at_once(
    stage: &Stage,
    agents: usize,
    repository: &SampleRepository,
) -> Result<Vec<AgentReport>, Failure> {
    let mut works = Vec::new();
    for number in 0..agents {
        let agent = stage.agent(number).await?;
        // Work trees are made one after the other: git locks the repository while it makes one.
        let dir = repository.worktree(&agent.name)?;
        works.push(Work {
            agent,
            dir,
            bug: bug(number),
        });
    }
    let start = Arc::new(Barrier::new(agents));
    let mut running = JoinSet::new();
    for (number, work) in works.into_iter().enumerate() {
        let (stage, start) = (stage.clone(), Arc::clone(&start));
        running.spawn(async move {
            start.wait().await;
            let journal = work.open(&stage).await?;
            Ok::<_, Failure>((number, work.run(&stage, journal).await?))
        });
    }
    let mut details = Vec::new();
    while let Some(ended) = running.join_next().await {
        details.push(ended.expect("an agent does not panic")?);
    }
    details.sort_by_key(|(number, _)| *number);
    Ok(details.into_iter().map(|(_, detail)| detail).collect())
}

/// The next agent: it begins with what was decided for it, which says how it works, and with what the others published.
async fn later(
    stage: &Stage,
    before: &[AgentReport],
    repository: &SampleRepository,
    deciding: &mut Deciding,
) -> Result<(AgentReport, RecallReport), Failure> {
    let agent = stage.agent(before.len()).await?;
    let dir = repository.worktree(&agent.name)?;
    let source = dir.join(LATER[0].source());
    let first = before.first().expect("there is at least one agent");
    let found = read(&source)?;
    deciding
        .decide(stage, &first.agent, (&agent.worktree, &found))
        .await?;
    let work = Work {
        agent: agent.clone(),
        dir,
        bug: &LATER[0],
    };
    let mut journal = work.open(stage).await?;
    let brief = brief(&agent, &mut journal).await?;
    let (bug, way) = deciding::way(&brief, &LATER)?;
    let followed = deciding.follow(&agent, &brief).await?;
    journal
        .step(
            &plan(&way),
            &keeping::command(followed),
            (LogLevel::Info, &keeping::titles(followed)),
        )
        .await?;
    let results = recall(&agent, journal.task().as_str()).await?;
    let best = results
        .first()
        .map_or("nothing", |result| result.data_marked_text.as_str());
    let command = format!("recall \"{QUERY}\"");
    journal
        .step(
            "I ask what is known before I begin.",
            &command,
            (LogLevel::Info, best),
        )
        .await?;
    let detail = Work { bug, ..work }.run(stage, journal).await?;
    deciding.check(&agent.name, (brief, way), &read(&source)?)?;
    let recall = RecallReport {
        agent: agent.name,
        query: QUERY.to_owned(),
        results,
    };
    Ok((
        AgentReport {
            recalled: true,
            ..detail
        },
        recall,
    ))
}

/// What the next agent loads before it begins, logged.
async fn brief(agent: &Agent, journal: &mut Journal) -> Result<Brief, Failure> {
    let brief = deciding::load(agent, journal.task()).await?;
    let texts = deciding::texts(&brief);
    let command = deciding::command();
    let thought = "I load the brief before I begin.";
    journal
        .step(thought, &command, (LogLevel::Info, &texts))
        .await?;
    Ok(brief)
}

/// What the next agent makes of its brief.
fn plan(way: &WayReport) -> String {
    let ruled_out = match way.passed_over.len() {
        0 => "It rules out none of my ways.".to_owned(),
        count => format!("It rules out {count} of my ways, and leaves another one."),
    };
    format!("{ruled_out} It ends with an anchor, so I look where that leads.")
}

fn read(source: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(source)
        .map_err(Failure::io(format!("{} cannot be read", source.display())))
}

/// What is published becomes visible to others within a second.
async fn recall(agent: &Agent, scope: &str) -> Result<Vec<RecallResult>, Failure> {
    let request = RecallRequest {
        scope: scope.to_owned(),
        query: QUERY.to_owned(),
        limit: Some(5),
        ..RecallRequest::default()
    };
    for _ in 1..RECALL_ATTEMPTS_MAX {
        let answer = agent.client.recall(&request).await?;
        if !answer.results.is_empty() {
            return Ok(answer.results);
        }
        tokio::time::sleep(RECALL_PAUSE).await;
    }
    Ok(agent.client.recall(&request).await?.results)
}
