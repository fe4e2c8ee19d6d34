//! The demo's report: what happened, as data.
//!
//! Owns its fields, which are also the JSON document. How it reads for a person is [`page`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;
use sillok_core::ErrorCode;
use sillok_core::decision::Rank;
use sillok_core::entry::Table;
use sillok_core::id::{DecisionId, EntryId, RecordId, ReviewId, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::verification::{Outcome, VerificationSource};
use sillok_server::api::{
    Affected, AuditAnswer, Brief, Current, DecisionSaved, Disposition, Followed, FollowedItem,
    Impact, Problem, Promotion, Proposed, RecallResult,
};

use crate::verification::Recorded;

pub mod page;

/// Everything that happened.
#[derive(Debug, Serialize)]
pub struct Report {
    /// How many agents worked at once.
    pub agents: usize,
    /// Records that the server acknowledged.
    pub records_acked: u64,
    /// Records that were there after the server was stopped and started again.
    pub records_durable: u64,
    /// Entries that were made in the project.
    pub published: u64,
    /// Findings that were the same as an entry that was there.
    pub merged: u64,
    /// Entries that were replaced.
    pub superseded: usize,
    /// Requests that were refused, as they should be.
    pub refused: usize,
    /// Questions that a person answered.
    pub decided: usize,
    /// Entries that were pruned.
    pub pruned: usize,
    /// Decisions that were saved.
    pub decisions: usize,
    /// Decisions that held after the server was stopped and started again.
    pub decisions_durable: usize,
    /// Decisions that an agent loaded, and that what it left is in line with.
    pub in_line: usize,
    /// Originals that an agent found by the anchor of another.
    pub followed: usize,
    /// Those that were found again after the server was stopped and started again.
    pub followed_durable: usize,
    /// Decisions that were not made, since an axis or a lock applies to the file that they are about.
    pub stopped: usize,
    /// Whether the audit found every chain and view as it should be.
    pub audit_ok: bool,
    /// Episodes that were published.
    pub episodes: usize,
    /// Episodes that are linked to another one.
    pub linked_episodes: usize,
    /// The server's address.
    pub address: String,
    /// The data directory.
    pub data: PathBuf,
    /// The project.
    pub scope: Scope,
    /// The sample repository, when one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<PathBuf>,
    /// What the operator vouched for, when the runs carry no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who did what.
    pub agent_details: Vec<AgentReport>,
    /// What was published, and by whom.
    pub findings: Vec<Finding>,
    /// What a later agent recalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<RecallReport>,
    /// What was refused, and why.
    pub refusals: Vec<Refusal>,
    /// What was replaced, and why.
    pub supersessions: Vec<Supersession>,
    /// What a person decided, and why.
    pub judged: Vec<Judged>,
    /// What was pruned, and why.
    pub forgotten: Vec<Pruned>,
    /// What was saved as a decision.
    pub decision_details: Vec<DecisionReport>,
    /// What an agent loaded, and what of that its work is in line with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<BriefReport>,
    /// What an agent found by the anchor of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<FollowReport>,
    /// What was not done, and why.
    pub stops: Vec<StopReport>,
    /// The audit's answer.
    pub audit: AuditAnswer,
    /// The flags that later commands need to find the data directory; empty when they find it.
    #[serde(skip)]
    pub flags: String,
}

/// What one agent did.
#[derive(Clone, Debug, Serialize)]
pub struct AgentReport {
    /// Its name.
    pub agent: String,
    /// Its task.
    pub task: Scope,
    /// What was to be done.
    pub title: String,
    /// Where it worked on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_tree: Option<PathBuf>,
    /// The recorded run that it replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether it began with what others had published.
    pub recalled: bool,
    /// Records of its task that were acknowledged.
    pub records_acked: u64,
    /// What was judged, in order.
    pub attempts: Vec<AttemptReport>,
}

/// One judgement of an agent's work.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptReport {
    /// The approach.
    pub approach: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Where that comes from.
    pub source: VerificationSource,
    /// The test's exit status, when one was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The commit that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The verification.
    pub verification: VerificationId,
    /// What became of it.
    pub promotion: Promotion,
}

impl AttemptReport {
    /// A judgement by a test run.
    #[must_use]
    pub fn new(approach: &str, recorded: Recorded) -> Self {
        let source = match recorded.outcome {
            Outcome::Passed => VerificationSource::TestsPassed,
            Outcome::Failed => VerificationSource::TestsFailed,
        };
        Self {
            approach: approach.to_owned(),
            outcome: recorded.outcome,
            source,
            exit_status: recorded.exit_status,
            commit: recorded.commit.map(|commit| commit.hash),
            verification: recorded.verification,
            promotion: recorded.promotion,
        }
    }
}

/// One entry that was published, and who found it.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The entry.
    pub entry: EntryId,
    /// Its table.
    pub table: Table,
    /// Its text.
    pub content: String,
    /// Whether it tells of a failure.
    pub failure: bool,
    /// Who found it first.
    pub by: String,
    /// Who found the same again.
    pub also_by: BTreeSet<String>,
    /// How often: one may have found it more than once.
    pub merges: u64,
    /// The least cosine of those texts to its own; 1 where they are the same to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f64>,
    /// The first of what it was drawn from, where it names that to the byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
}

/// A stretch of a log.
#[derive(Clone, Debug, Serialize)]
pub struct Quote {
    /// Where the text stands.
    pub record: RecordId,
    /// The first byte, from 0.
    pub from: u32,
    /// The byte behind the last one.
    pub to: u32,
    /// What stands there.
    pub text: String,
}

/// A question that only a person can answer, and the answer.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The question.
    pub review: ReviewId,
    /// Why it was raised.
    pub why: String,
    /// What holds.
    pub kept: String,
    /// What does not hold any more.
    pub lost: String,
    /// Why.
    pub reason: String,
}

/// An entry that left recall because it was worth little.
#[derive(Clone, Debug, Serialize)]
pub struct Pruned {
    /// The entry.
    pub entry: EntryId,
    /// Its text.
    pub text: String,
    /// Why it went.
    pub why: String,
}

/// A decision that was saved.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionReport {
    /// By whom.
    pub by: String,
    /// Where.
    pub scope: Scope,
    /// How strong it is.
    pub rank: Rank,
    /// What it says, in a line.
    pub title: String,
    /// What it says in full.
    pub content: String,
    /// The server's answer.
    pub saved: DecisionSaved,
}

/// What an agent loaded, which way it took by that, and what of it the source is in line with that it left. Each way is a
/// script's; which one is taken follows from what was loaded.
#[derive(Clone, Debug, Serialize)]
pub struct BriefReport {
    /// Who loaded it.
    pub agent: String,
    /// What came back.
    pub brief: Brief,
    /// Which way it took to fix its bug.
    pub way: WayReport,
    /// The decisions of it that what the agent left is in line with.
    pub in_line: Vec<DecisionId>,
}

/// Which of the ways to fix a bug an agent took, by what it had loaded.
#[derive(Clone, Debug, Serialize)]
pub struct WayReport {
    /// The approach of the one that it took.
    pub taken: String,
    /// The approaches of those that it would rather have taken, which a decision that it had loaded rules out.
    pub passed_over: Vec<String>,
}

/// An anchor at the end of a brief, and the originals that it leads to.
#[derive(Clone, Debug, Serialize)]
pub struct FollowReport {
    /// Who followed it.
    pub agent: String,
    /// What came back.
    pub followed: Followed,
}

impl FollowReport {
    /// How many originals that are.
    #[must_use]
    pub fn count(&self) -> usize {
        let items = self.followed.items.iter();
        let are_there = items.filter(|item| !matches!(item, FollowedItem::Gone { .. }));
        are_there.count()
    }
}

/// A decision about a file that an agent did not make, for what applies to that file.
#[derive(Clone, Debug, Serialize)]
pub struct StopReport {
    /// Who let it be.
    pub agent: String,
    /// What would have been decided, in a line.
    pub title: String,
    /// What a change of the file affects, which the agent had asked for first.
    pub impact: Impact,
    /// What the server said to the decision as a proposal, which names nothing but the file.
    pub proposed: Proposed,
}

/// The axes and locks that an impact affects, each with its place among what is affected.
pub fn guarded(impact: &Impact) -> impl Iterator<Item = (usize, &Affected)> {
    let affected = impact.affected.iter().enumerate();
    affected.filter(|(_, one)| one.rank.is_some_and(Rank::is_guarded))
}

/// A recall, with what it gave.
#[derive(Clone, Debug, Serialize)]
pub struct RecallReport {
    /// Who asked.
    pub agent: String,
    /// For what.
    pub query: String,
    /// What came back, the best first.
    pub results: Vec<RecallResult>,
}

/// A request that was refused.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    /// Who asked.
    pub who: String,
    /// For what.
    pub tried: String,
    /// The kind of refusal.
    pub code: ErrorCode,
    /// The rule, where one forbids it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, for a person.
    pub detail: String,
    /// What is current, where a stale write collided with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Current>,
}

impl Refusal {
    /// What a problem says about a request.
    #[must_use]
    pub fn new(who: &str, tried: &str, problem: &Problem) -> Self {
        Self {
            who: who.to_owned(),
            tried: tried.to_owned(),
            code: problem.code,
            rule: problem.rule.clone(),
            detail: problem.detail.clone(),
            current: problem.current,
        }
    }
}

/// An entry that was replaced.
#[derive(Clone, Debug, Serialize)]
pub struct Supersession {
    /// The entry that was replaced.
    pub old: EntryId,
    /// The entry that replaces it.
    pub new: EntryId,
    /// The text that was replaced.
    pub old_text: String,
    /// The text that replaces it.
    pub new_text: String,
    /// Why.
    pub reason: String,
}

/// What all promotions gave, in sum.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Entries that were made.
    pub created: u64,
    /// Findings that were merged.
    pub merged: u64,
    /// Episodes.
    pub episodes: usize,
    /// Episodes that are linked to another one.
    pub linked_episodes: usize,
}

impl Sums {
    /// Adds up what the agents' promotions published.
    #[must_use]
    pub fn of(agents: &[AgentReport]) -> Self {
        let mut sums = Self::default();
        let mut linked = BTreeSet::new();
        for report in agents.iter().flat_map(promotions) {
            sums.created += report.created as u64;
            sums.merged += report.merged as u64;
            sums.episodes += 1;
            if !report.linked_episodes.is_empty() {
                linked.insert(report.episode);
                linked.extend(&report.linked_episodes);
            }
        }
        sums.linked_episodes = linked.len();
        sums
    }
}

fn promotions(agent: &AgentReport) -> impl Iterator<Item = &sillok_server::api::PublishReport> {
    agent
        .attempts
        .iter()
        .filter_map(|attempt| attempt.promotion.report.as_ref())
}

/// Which agents found an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finders {
    /// The one whose finding became the entry.
    pub by: Option<String>,
    /// Those whose same finding was merged into it.
    pub also_by: BTreeSet<String>,
    /// How many findings that were.
    pub merges: u64,
    /// The least cosine at which one was.
    pub cosine: Option<f64>,
}

/// Which agents found which entry.
#[must_use]
pub fn finders(agents: &[AgentReport]) -> BTreeMap<EntryId, Finders> {
    let mut finders: BTreeMap<EntryId, Finders> = BTreeMap::new();
    for agent in agents {
        for product in promotions(agent).flat_map(|report| &report.products) {
            let Some(entry) = product.entry else { continue };
            let found = finders.entry(entry).or_default();
            match product.disposition {
                Disposition::Merged { cosine } => {
                    found.also_by.insert(agent.agent.clone());
                    found.merges += 1;
                    let least = found.cosine.map_or(cosine, |least| least.min(cosine));
                    found.cosine = Some(least);
                }
                _ => found.by = Some(agent.agent.clone()),
            }
        }
    }
    finders
}

#[cfg(test)]
mod tests;
