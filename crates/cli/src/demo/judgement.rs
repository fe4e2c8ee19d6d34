//! What a person decides, and what leaves recall because it was worth little.
//!
//! Owns two claims that contradict one another, the answer to that, and a skill that mostly failed. That the
//! skill is old, a server is told that is there for the pruning alone: it prunes at once what others prune after 90 days.

use sillok_core::entry::Table;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_server::api::{
    AnswerReview, Claim, Maintain, PutEntry, Question, ReviewQuery, ReviewsQuery, Skill,
};

use super::report::{Judged, Pruned};
use super::stage::Stage;
use crate::client::Client;
use crate::failure::Failure;

/// What the server that prunes is told of retention. It holds for all that lies in the data directory, so that server
/// carries out nothing else, and no other is told so.
pub const RETENTION: (&str, &str) = ("retention.prune_days", "0.0000001");

const BEFORE: (&str, &str) = ("The tally service listens on port 8080.", "8080");
const AFTER: (&str, &str) = ("The tally service listens on port 9090.", "9090");
const REASON: &str = "The port was moved with the new gateway; 8080 is closed.";
/// Share of uses that helped: under it skills are pruned.
const POOR: f64 = 0.2;

/// What came of it while the agents worked.
#[derive(Debug, Default)]
pub struct Judgement {
    /// What a person decided.
    pub judged: Vec<Judged>,
    /// The skill that mostly failed.
    pub poor: Option<EntryId>,
}

/// Puts down what contradicts itself, and decides it; puts down what is worth little.
///
/// # Errors
/// [`Failure`], and [`Failure::Verdict`] when nobody was asked.
pub async fn judge(stage: &Stage) -> Result<Judgement, Failure> {
    let operator = &stage.operator;
    operator.put_entry(&claim(stage, BEFORE)).await?;
    let new = operator.put_entry(&claim(stage, AFTER)).await?.entry;
    let scope = stage.project.to_string();
    let query = ReviewsQuery {
        scope: scope.clone(),
        answered: false,
        after: None,
        limit: None,
    };
    let waiting = operator.reviews(&query).await?.items;
    let asks = |question: &Question| matches!(question, Question::Contradiction { new: of, .. } if *of == new);
    let review = waiting.into_iter().find(|review| asks(&review.question));
    let unasked = || Failure::Verdict("nobody was asked which of two claims holds".to_owned());
    let review = review.ok_or_else(unasked)?;
    let Question::Contradiction { known, why, .. } = review.question else {
        return Err(unasked());
    };
    // Both entries, side by side.
    let id = review.id.to_string();
    let query = ReviewQuery {
        scope: scope.clone(),
        id: id.clone(),
    };
    let evidence = operator.review(&query).await?;
    let text = |entry: EntryId| {
        let mut views = evidence.entries.iter();
        let view = views.find(|view| view.head.id == entry);
        view.map(|view| view.version.content.clone())
    };
    let (Some(kept), Some(lost)) = (text(new), text(known)) else {
        return Err(Failure::Verdict("a question lacks its evidence".to_owned()));
    };
    let answer = AnswerReview {
        scope,
        review: id,
        approve: true,
        keep: Some(new.to_string()),
        reason: REASON.to_owned(),
    };
    operator.answer_review(&answer).await?;
    let poor = operator.put_entry(&poor_skill(stage)).await?.entry;
    Ok(Judgement {
        judged: vec![Judged {
            review: review.id,
            why,
            kept,
            lost,
            reason: REASON.to_owned(),
        }],
        poor: Some(poor),
    })
}

/// Runs the part of maintenance that prunes, in the demo's project.
///
/// # Errors
/// [`Failure`], and [`Failure::Verdict`] when the skill that mostly failed stayed.
pub async fn prune(
    operator: &Client,
    project: &Scope,
    poor: Option<EntryId>,
) -> Result<Vec<Pruned>, Failure> {
    let asked = Maintain {
        dry_run: false,
        only: vec!["prune".to_owned()],
        force: false,
        scope: Some(project.to_string()),
    };
    let done = operator.maintain(&asked).await?;
    let mut pruned = Vec::new();
    for entry in done.scopes.iter().flat_map(|scope| &scope.entries) {
        let view = operator.entry(*entry).await?;
        let rate = view.version.skill.as_ref().map(|skill| skill.success_rate);
        let reward = view.version.episode.as_ref().map(|episode| episode.reward);
        let why = match (rate, reward) {
            (Some(rate), _) => format!("it is old, and helped in {:.0} of 100 uses", rate * 100.0),
            (None, Some(reward)) => format!("it is old, and its reward was {reward:.2}"),
            (None, None) => "it is old and of little value".to_owned(),
        };
        pruned.push(Pruned {
            entry: *entry,
            text: view.version.content,
            why,
        });
    }
    match poor {
        Some(poor) if pruned.iter().all(|gone| gone.entry != poor) => Err(Failure::Verdict(
            "a skill that mostly failed was not pruned".to_owned(),
        )),
        _ => Ok(pruned),
    }
}

fn claim(stage: &Stage, (content, value): (&str, &str)) -> PutEntry {
    PutEntry {
        claim: Some(Claim {
            key: "tally.port".to_owned(),
            value: value.to_owned(),
        }),
        ..entry(stage, Table::Observations, content)
    }
}

fn poor_skill(stage: &Stage) -> PutEntry {
    let skill = Skill {
        name: "Guess and run again".to_owned(),
        description: "Change something and run the tests once more.".to_owned(),
        code: "sh tests/all.sh".to_owned(),
        usage_count: 5,
        success_rate: POOR,
    };
    PutEntry {
        skill: Some(skill),
        ..entry(
            stage,
            Table::Skills,
            "Guess and run again: change something and run the tests once more.",
        )
    }
}

fn entry(stage: &Stage, table: Table, content: &str) -> PutEntry {
    PutEntry {
        scope: stage.project.to_string(),
        table,
        content: content.to_owned(),
        metadata: None,
        claim: None,
        citations: Vec::new(),
        commit: None,
        bound: None,
        skill: None,
        failure: false,
        verification: None,
    }
}
