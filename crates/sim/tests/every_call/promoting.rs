//! The story of the promotions: a task that passed, of which one fact is known already, and then one that failed.

use sillok_core::citation::Citation;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Head, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_sim::agent::Agent;
use sillok_sim::workload::End;
use sillok_sim::workload::material::{judged, observation, text_of};
use sillok_sim::workload::staging::record;
use sillok_store::keys::Family;

use super::calls::put;

/// Looks until a promotion has to be finished.
const LOOKS: u32 = 60;
/// Texts that each task logs.
const LOGGED: u8 = 4;
/// The one of them that a person publishes before.
const KNOWN: u8 = 0;

pub(super) async fn promote(agent: &mut Agent) {
    if put(agent, observation(text_of(KNOWN))).await.is_none() {
        return agent.note("story", "the known fact was refused".into());
    }
    let passed = log(agent, "Mend the parser").await;
    let failed = log(agent, "Mend the writer").await;
    agent.client().count_calls(true);
    judge(agent, &passed, true).await;
    judge(agent, &failed, false).await;
    agent.client().count_calls(false);
}

/// Opens a task and logs what it found.
async fn log(agent: &mut Agent, title: &str) -> Scope {
    let task = agent.next_task();
    let open = Command::OpenTask {
        title: title.into(),
        description: "The last line of a file is lost.".into(),
    };
    let append = Command::Append {
        records: (0..LOGGED)
            .map(|number| record(text_of(number).to_owned()))
            .collect(),
    };
    agent.give(PrincipalKind::Agent, &task, open).await;
    agent.give(PrincipalKind::Agent, &task, append).await;
    task
}

/// Has the only run of a task judged, and waits for what that publishes.
async fn judge(agent: &mut Agent, task: &Scope, passed: bool) {
    let run = if passed { "passed" } else { "failed" };
    let verify = judged(passed, format!("the run that {run}"));
    let answer = agent.give(PrincipalKind::Orchestrator, task, verify).await;
    let Some(AnswerBody::Verification { id, .. }) = answer.map(|answer| answer.result) else {
        return agent.note("story", "the verification was refused".into());
    };
    if agent.client().published(task, id, LOOKS).await.is_none() {
        agent.note("story", "the promotion did not end".into());
    }
}

/// All that the project knows, without what differs between two worlds in which the same was published. One node of several
/// names whole records, and not parts of them, until it has heard that the others read those: so parts are not counted there.
pub(super) fn left(heads: &[Head], nodes: u16) -> Vec<String> {
    let is_of_record =
        |source: &&Citation| matches!(source, Citation::Log { .. } | Citation::Excerpt(_));
    let sources = |head: &Head| {
        let sources = head.citations.iter();
        sources
            .filter(|source| nodes == 1 || !is_of_record(source))
            .count()
    };
    let shown = heads.iter().map(|head| {
        format!(
            "{:?} {} {:?}, a failure: {}, {} validations, {} sources",
            head.table,
            head.content_hash,
            head.status,
            head.failure,
            head.trust.validation_count,
            sources(head),
        )
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort_unstable();
    shown
}

/// One episode and one mark for each verification, of what failed what says so, and one entry for the fact that was known,
/// which rests on what the person said and on the verification.
pub(super) fn promoted(end: &End<'_>, heads: &[Head]) -> Result<(), String> {
    let marks = end.rows(Family::Mark).len();
    let episodes = heads.iter().filter(|head| head.table == Table::Episodes);
    let told: Vec<bool> = episodes.map(|head| head.failure).collect();
    let failed = told.iter().filter(|failed| **failed).count();
    if (told.len(), failed, marks) != (2, 1, 2) {
        let episodes = told.len();
        return Err(format!(
            "{episodes} episodes, of which {failed} failed, and {marks} marks"
        ));
    }
    let is_of_failure = |head: &&Head| head.failure && head.table != Table::Episodes;
    let failures = heads.iter().filter(is_of_failure).count();
    if failures != 2 {
        return Err(format!(
            "{failures} entries say what failed, and not a gotcha and a pattern"
        ));
    }
    let known = ContentHash::of(text_of(KNOWN));
    let sources = heads.iter().find(|head| head.content_hash == known);
    let sources = sources.map_or(0, |head| head.citations.len());
    match sources {
        0 | 1 => Err(format!("the known fact rests on {sources} sources")),
        _ => Ok(()),
    }
}
