//! Decisions of the demo: what is locked, what one agent leaves to the next, and what stops another.
//!
//! Owns three texts, and what has to come of them. Each is a real request. That what an agent did is in line with a
//! decision is read off the source that it left, by the code that the decision quotes. Its fix is a script's: that it
//! came of what the agent loaded is not said.

use sillok_core::decision::{Node, Rank, RelationKind};
use sillok_core::scope::Scope;
use sillok_server::api::{
    Brief, BriefDecision, BriefItem, BriefRequest, Claim, DecisionsQuery, Relation, SaveDecision,
};

use super::keeping::{Kept, Pointed};
use super::report::{BriefReport, DecisionReport, FollowReport, StopReport};
use super::stage::{Agent, Stage};
use crate::client::Client;
use crate::failure::Failure;

/// The file that the next agent begins with.
const FILE: &str = "file:src/count.sh";
/// Where the same holds already.
const OTHER_FILE: &str = "file:src/sum.sh";
/// What all of them are about.
const DOMAIN: &str = "input";
/// What is claimed under a key that another decision claims otherwise.
const KEY: &str = "tally.last_line";

/// What a decision says.
#[derive(Clone, Copy, Debug)]
struct Text {
    rank: Rank,
    title: &'static str,
    content: &'static str,
    claim: Option<&'static str>,
}

const LOCKED: Text = Text {
    rank: Rank::Lock,
    title: "The last line counts",
    content: "A loop that reads lines goes on with `|| [ -n \"$name\" ]`: a last line without a newline is a line.",
    claim: Some("counts"),
};
const LEFT: Text = Text {
    rank: Rank::Normal,
    title: "count.sh keeps its loop",
    content: "The loop of count.sh stays a loop, which begins `while read -r name rest || [ -n \"$name\" ]; do`.",
    claim: None,
};
const UNLOCKING: Text = Text {
    rank: Rank::Normal,
    title: "Refuse a last line without a newline",
    content: "Each tool ends with status 1 where its input does not end in a newline.",
    claim: Some("refused"),
};

/// What was decided, and what came of it.
#[derive(Debug, Default)]
pub struct Deciding {
    /// What was saved.
    pub decisions: Vec<DecisionReport>,
    /// What an agent loaded, and what of that its work is in line with.
    pub loaded: Option<BriefReport>,
    /// What was not done, since something is locked.
    pub stops: Vec<StopReport>,
    /// What an agent kept for the next.
    pointed: Option<Pointed>,
    /// What an agent found by the anchor of another.
    pub followed: Option<FollowReport>,
}

impl Deciding {
    /// The orchestrator locks something for the whole project, and an agent leaves a choice to whoever works in
    /// `worktree` next, with the source as it was, which the choice rests on, and an anchor that leads to both.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn decide(
        &mut self,
        stage: &Stage,
        agent: &str,
        (worktree, source): (&Scope, &str),
    ) -> Result<(), Failure> {
        let applies = |file: &str| relation(RelationKind::AppliesTo, file);
        let relations = vec![applies(OTHER_FILE), applies(FILE)];
        let body = said(&stage.project, LOCKED, relations);
        let lock = save(&stage.orchestrator, "the orchestrator", body).await?;
        let client = stage.agent_token(agent, worktree).await?;
        let kept = Kept::keep(&client, worktree, source).await?;
        let depends = relation(RelationKind::DependsOn, &node(&lock).to_string());
        let rests = relation(RelationKind::RestsOn, &kept.node().to_string());
        let body = said(worktree, LEFT, vec![depends, applies(FILE), rests]);
        let left = save(&client, agent, body).await?;
        self.pointed = Some(kept.point(&client, DOMAIN, &node(&left)).await?);
        self.decisions.extend([lock, left]);
        Ok(())
    }

    /// The next agent follows the anchor that its brief ends with.
    ///
    /// # Errors
    /// [`Failure`], and [`Failure::Verdict`] when that does not lead to what was kept.
    pub async fn follow(&mut self, agent: &Agent, brief: &Brief) -> Result<&FollowReport, Failure> {
        let pointed = self.pointed.as_ref();
        let pointed = pointed.ok_or_else(|| Failure::Verdict("nobody kept anything".to_owned()))?;
        let found = pointed.follow((&agent.name, &agent.client), brief).await?;
        Ok(self.followed.insert(found))
    }

    /// Checks that the source which an agent left that had loaded `brief` is in line with all that was decided.
    ///
    /// # Errors
    /// [`Failure::Verdict`] when a decision was not loaded, or the source is not in line with it.
    pub fn check(&mut self, agent: &str, brief: Brief, source: &str) -> Result<(), Failure> {
        let mut in_line = Vec::new();
        for made in &self.decisions {
            let loaded = decisions(&brief).find(|loaded| loaded.root == made.saved.root);
            let Some(loaded) = loaded else {
                let what = format!("\"{}\" is missing in the brief of {agent}", made.title);
                return Err(Failure::Verdict(what));
            };
            if !is_in_line(&loaded.data_marked_text, source) {
                let what = format!("what {agent} left is not in line with \"{}\"", made.title);
                return Err(Failure::Verdict(what));
            }
            in_line.push(loaded.root);
        }
        self.loaded = Some(BriefReport {
            agent: agent.to_owned(),
            brief,
            in_line,
        });
        Ok(())
    }

    /// One more agent would decide otherwise. It asks first what that touches, and lets it be.
    ///
    /// # Errors
    /// [`Failure`], and [`Failure::Verdict`] when it was told of no lock, or something was stored.
    pub async fn refrain(&mut self, stage: &Stage, number: usize) -> Result<(), Failure> {
        let agent = stage.agent(number).await?;
        let locks = self.decisions.iter();
        let locks: Vec<Node> = locks
            .filter(|made| made.rank == Rank::Lock)
            .map(node)
            .collect();
        let limits = locks
            .iter()
            .map(|lock| relation(RelationKind::Constrains, &lock.to_string()));
        let applies = relation(RelationKind::AppliesTo, OTHER_FILE);
        let body = said(
            &agent.worktree,
            UNLOCKING,
            limits.chain([applies]).collect(),
        );
        let proposed = agent.client.propose_decision(&body).await?;
        let is_guarded = |lock: &Node| proposed.guards.iter().any(|guard| guard.node == *lock);
        if locks.is_empty() || !locks.iter().all(is_guarded) {
            let what = format!("{} was not told what is locked", agent.name);
            return Err(Failure::Verdict(what));
        }
        let query = DecisionsQuery {
            scope: agent.worktree.to_string(),
            withdrawn: true,
            ..DecisionsQuery::default()
        };
        if !agent.client.decisions(&query).await?.items.is_empty() {
            return Err(Failure::Verdict("a proposal was stored".to_owned()));
        }
        self.stops.push(StopReport {
            agent: agent.name,
            title: body.title,
            proposed,
        });
        Ok(())
    }
}

/// What an agent loads before it begins with its task.
///
/// # Errors
/// [`Failure`]
pub async fn load(agent: &Agent, task: &Scope) -> Result<Brief, Failure> {
    let request = BriefRequest {
        scope: task.to_string(),
        domain: Some(DOMAIN.to_owned()),
        at: vec![FILE.to_owned()],
        ..BriefRequest::default()
    };
    agent.client.brief(&request).await
}

/// The command that loads it, as an agent's log has it.
#[must_use]
pub fn command() -> String {
    format!("brief --domain {DOMAIN} --at {FILE}")
}

/// What a model would be given of a brief.
#[must_use]
pub fn texts(brief: &Brief) -> String {
    let texts = brief.items.iter().filter_map(|item| match item {
        BriefItem::Decision(decision) => Some(decision.data_marked_text.as_str()),
        BriefItem::Anchor(anchor) => Some(anchor.data_marked_text.as_str()),
        BriefItem::Structural { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The decisions of a brief.
fn decisions(brief: &Brief) -> impl Iterator<Item = &BriefDecision> {
    brief.items.iter().filter_map(|item| match item {
        BriefItem::Decision(decision) => Some(&**decision),
        BriefItem::Structural { .. } | BriefItem::Anchor(_) => None,
    })
}

/// Whether all code that a text quotes stands in a source; one that quotes none asks for nothing that could be seen.
fn is_in_line(text: &str, source: &str) -> bool {
    let mut quoted = text.split('`').skip(1).step_by(2).peekable();
    quoted.peek().is_some() && quoted.all(|code| source.contains(code))
}

/// A decision as relations name it.
fn node(made: &DecisionReport) -> Node {
    Node::Decision {
        scope: made.scope.clone(),
        root: made.saved.root,
    }
}

fn relation(kind: RelationKind, to: &str) -> Relation {
    Relation {
        kind: kind.into(),
        to: to.to_owned(),
    }
}

fn said(scope: &Scope, text: Text, relations: Vec<Relation>) -> SaveDecision {
    SaveDecision {
        scope: scope.to_string(),
        rank: Some(text.rank),
        domain: Some(DOMAIN.to_owned()),
        title: text.title.to_owned(),
        content: text.content.to_owned(),
        claim: text.claim.map(|value| Claim {
            key: KEY.to_owned(),
            value: value.to_owned(),
        }),
        relations,
        ..SaveDecision::default()
    }
}

async fn save(client: &Client, by: &str, body: SaveDecision) -> Result<DecisionReport, Failure> {
    let saved = client.save_decision(&body).await?;
    Ok(DecisionReport {
        by: by.to_owned(),
        scope: Scope::parse(&body.scope)?,
        rank: body.rank.unwrap_or(Rank::Normal),
        title: body.title,
        content: body.content,
        saved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::scenario::LATER;

    #[test]
    fn the_later_fix_is_in_line_with_both_decisions_and_the_bug_with_neither() {
        let attempt = LATER.attempts.last().unwrap();
        for text in [LOCKED, LEFT] {
            assert!(is_in_line(text.content, attempt.new), "{}", text.title);
            assert!(!is_in_line(text.content, attempt.old), "{}", text.title);
        }
        assert!(!is_in_line("It quotes nothing.", attempt.new));
        assert_eq!(FILE, format!("file:{}", LATER.source()));
    }

    #[test]
    fn the_change_that_is_stopped_claims_otherwise_under_the_locked_key() {
        assert!(LOCKED.claim.is_some() && UNLOCKING.claim.is_some());
        assert_ne!(LOCKED.claim, UNLOCKING.claim);
        assert!(LOCKED.rank.is_guarded());
    }
}
