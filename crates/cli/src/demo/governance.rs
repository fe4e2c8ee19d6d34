//! What the memory refuses: writes past one's rights, stale ones, and second supersessions.
//!
//! Owns the attempts. Each is a real request; one that is not refused as it should be fails the
//! demo.

use sillok_core::ErrorCode;
use sillok_core::entry::Table;
use sillok_core::id::{EntryId, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::staging::LogLevel;
use sillok_core::verification::{Outcome, VerificationSource};
use sillok_server::api::{
    AmendEntry, AppendLogs, Citation, LogRecord, NewEntry, PutEntry, RecordVerification, Supersede,
    VerificationRef,
};

use super::report::{Refusal, Supersession};
use super::stage::{Agent, Stage};
use crate::client::Client;
use crate::failure::Failure;

/// What an entry of the project may rest on: a task with a passed verification.
#[derive(Clone, Debug)]
pub struct Grounds {
    /// The task.
    pub task: Scope,
    /// Its passed verification.
    pub verification: VerificationId,
}

/// The texts of the entry that is amended and replaced.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// Its first version.
    pub first: &'static str,
    /// Its second version.
    pub second: &'static str,
    /// What replaces it.
    pub replacement: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// What was refused.
    pub refusals: Vec<Refusal>,
    /// What was replaced.
    pub supersessions: Vec<Supersession>,
    /// Entries that were written to the project directly.
    pub written: u64,
}

/// Tries what an agent may not do.
///
/// # Errors
/// [`Failure::Verdict`] when something was not refused as it should be.
pub async fn trespass(stage: &Stage, agent: &Agent, task: &Scope) -> Result<Outcomes, Failure> {
    let name = agent.name.as_str();
    // A token for the whole project: what refuses is the table, not the token's reach.
    let wide = stage.agent_token(name, &stage.project).await?;
    let belief = "Whatever I believe is true for everybody.";
    let published = wide
        .put_entry(&put(&stage.project, belief, None, Vec::new()))
        .await;
    let verified = agent.client.record_verification(&own_word(task)).await;
    let elsewhere = stage.project.child("somebody-else")?.child("secret")?;
    let written = agent.client.append_logs(&greeting(&elsewhere)).await;
    let invented = Citation::Log {
        id: format!("{task}#999999"),
        time: Default::default(),
    };
    let cited = put(&agent.worktree, "A record says so.", None, vec![invented]);
    let cited = agent.client.put_entry(&cited).await;

    use ErrorCode::{Forbidden, UnresolvableCitation};
    let attempts = [
        (
            "publish an entry in the project by itself",
            published.map(drop),
            Forbidden,
        ),
        (
            "declare its own work verified",
            verified.map(drop),
            Forbidden,
        ),
        (
            "write into another worktree's log",
            written.map(drop),
            Forbidden,
        ),
        (
            "cite a record that does not exist",
            cited.map(drop),
            UnresolvableCitation,
        ),
    ];
    let refusals = attempts
        .into_iter()
        .map(|(tried, done, code)| refusal(name, tried, done, code));
    Ok(Outcomes {
        refusals: refusals.collect::<Result<_, _>>()?,
        ..Outcomes::default()
    })
}

/// An agent's own verdict on its own work.
fn own_word(task: &Scope) -> RecordVerification {
    RecordVerification {
        scope: task.to_string(),
        outcome: Outcome::Passed,
        source: VerificationSource::TestsPassed,
        run: "believe-me".to_owned(),
        citations: Vec::new(),
        commit: None,
        bound: None,
        error: None,
        approach: None,
        files: Vec::new(),
        symbols: Vec::new(),
        target: None,
    }
}

fn greeting(task: &Scope) -> AppendLogs {
    let content = "Hello from next door.".to_owned();
    let record = LogRecord {
        level: LogLevel::Info,
        content,
        metadata: None,
        time: None,
        bound: None,
    };
    AppendLogs {
        scope: task.to_string(),
        records: vec![record],
    }
}

/// Writes, amends and replaces an entry of the project, and tries to do both again from what is
/// not current any more.
///
/// # Errors
/// [`Failure`], and [`Failure::Verdict`] when a stale write was not refused.
pub async fn revise(stage: &Stage, grounds: &Grounds, advice: Advice) -> Result<Outcomes, Failure> {
    let (orchestrator, operator) = (&stage.orchestrator, &stage.operator);
    let mut outcomes = Outcomes::default();
    let evidence = evidence(orchestrator, &grounds.task).await?;
    let written = orchestrator
        .put_entry(&put(
            &stage.project,
            advice.first,
            Some(grounds),
            vec![evidence.clone()],
        ))
        .await?;
    let old = written.entry;
    let version = written.version;

    orchestrator
        .amend_entry(&amend(old, version, advice.second, grounds))
        .await?;
    let stale = operator
        .amend_entry(&amend(old, version, advice.first, grounds))
        .await;
    let tried = format!("amend an entry of which it had seen version {version}");
    outcomes.refusals.push(refusal(
        "the operator",
        &tried,
        stale.map(drop),
        ErrorCode::Conflict,
    )?);

    let replace = |content: &str| Supersede {
        old: old.to_string(),
        expected_version: version + 1,
        new: None,
        replacement: Some(replacement(content, evidence.clone())),
        reason: advice.reason.to_owned(),
        commit: None,
        verification: Some(reference(grounds)),
    };
    let done = orchestrator.supersede(&replace(advice.replacement)).await?;
    let again = operator.supersede(&replace(advice.first)).await;
    let tried = "replace an entry that was replaced before";
    outcomes.refusals.push(refusal(
        "the operator",
        tried,
        again.map(drop),
        ErrorCode::Conflict,
    )?);

    outcomes.supersessions.push(Supersession {
        old: done.old,
        new: done.new,
        old_text: advice.second.to_owned(),
        new_text: advice.replacement.to_owned(),
        reason: advice.reason.to_owned(),
    });
    outcomes.written = 2;
    Ok(outcomes)
}

/// The first record of a task, as a citation.
async fn evidence(client: &Client, task: &Scope) -> Result<Citation, Failure> {
    let query = sillok_server::api::ListQuery {
        scope: task.to_string(),
        after: None,
        limit: Some(1),
    };
    let page = client.records(&query).await?;
    let record = page
        .items
        .first()
        .ok_or_else(|| Failure::Verdict(format!("{task} has no record")))?;
    Ok(Citation::Log {
        id: record.id.to_string(),
        time: record.time,
    })
}

fn refusal(
    who: &str,
    tried: &str,
    done: Result<(), Failure>,
    code: ErrorCode,
) -> Result<Refusal, Failure> {
    match done {
        Ok(()) => Err(Failure::Verdict(format!(
            "{who} could {tried}; {code} was expected"
        ))),
        Err(Failure::Refused(problem)) if problem.code == code => {
            Ok(Refusal::new(who, tried, &problem))
        }
        Err(other) => Err(other),
    }
}

fn reference(grounds: &Grounds) -> VerificationRef {
    VerificationRef {
        task: grounds.task.to_string(),
        id: grounds.verification.to_string(),
    }
}

fn put(
    scope: &Scope,
    content: &str,
    grounds: Option<&Grounds>,
    citations: Vec<Citation>,
) -> PutEntry {
    PutEntry {
        scope: scope.to_string(),
        table: Table::Patterns,
        content: content.to_owned(),
        metadata: None,
        claim: None,
        citations,
        commit: None,
        bound: None,
        skill: None,
        failure: false,
        verification: grounds.map(reference),
    }
}

fn amend(entry: EntryId, expected_version: u64, content: &str, grounds: &Grounds) -> AmendEntry {
    AmendEntry {
        entry: entry.to_string(),
        expected_version,
        content: content.to_owned(),
        metadata: None,
        claim: None,
        citations: Vec::new(),
        skill: None,
        verification: Some(reference(grounds)),
    }
}

fn replacement(content: &str, evidence: Citation) -> NewEntry {
    NewEntry {
        table: Some(Table::Patterns),
        content: content.to_owned(),
        metadata: None,
        claim: None,
        citations: vec![evidence],
        commit: None,
        bound: None,
        skill: None,
        failure: false,
    }
}
