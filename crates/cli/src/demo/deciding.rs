//! Decisions of the demo: what is locked, what one agent leaves to the next, what that one does by it, and what stops another.
//!
//! Owns four texts, and what has to come of them. Each is a real request. What agents do is a script's; which of its ways one
//! takes follows from what the server answers: of the ways to fix a bug the first that leaves what decisions of the brief quote
//! as they quote it, and of a decision about a file that it is made, or that it is not. That what was done is in line with
//! a decision is read off the source that an agent left, once more.

use sillok_core::decision::{Node, Rank, RelationKind};
use sillok_core::scope::Scope;
use sillok_server::api::{
    Brief, BriefDecision, BriefItem, BriefRequest, Claim, DecisionsQuery, Impact, ImpactRequest,
    Relation, SaveDecision,
};

use super::keeping::{Kept, Pointed};
use super::report::{BriefReport, DecisionReport, FollowReport, StopReport, WayReport, guarded};
use super::scenario::Bug;
use super::stage::{Agent, Stage};
use crate::client::Client;
use crate::failure::Failure;

/// The file that the next agent begins with.
const FILE: &str = "file:src/count.sh";
/// Where the same holds already.
const OTHER_FILE: &str = "file:src/sum.sh";
/// A file that nothing is decided about.
const FREE_FILE: &str = "file:src/slug.sh";
/// How often an agent asks what a change affects: a machine that is busy may run out of time.
const IMPACT_ATTEMPTS_MAX: u32 = 25;
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

const SPELLING: Text = Text {
    rank: Rank::Normal,
    title: "slug.sh keeps to ASCII",
    content: "A character of a title that is none of a-z and 0-9 becomes a dash, a letter with an accent as well.",
    claim: None,
};
/// What one more agent would decide, and about which file.
const WISHES: [(&str, Text); 2] = [(OTHER_FILE, UNLOCKING), (FREE_FILE, SPELLING)];

/// What an agent did that would decide something about a file.
#[derive(Debug)]
enum Course {
    /// It decided it.
    Made(Box<DecisionReport>),
    /// It let it be.
    LetBe(Box<StopReport>),
}

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

    /// Checks that the source which an agent left that had loaded `brief` and took a way by that is in line with all that was
    /// decided.
    ///
    /// # Errors
    /// [`Failure::Verdict`] when a decision was not loaded, or the source is not in line with it.
    pub fn check(
        &mut self,
        agent: &str,
        (brief, way): (Brief, WayReport),
        source: &str,
    ) -> Result<(), Failure> {
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
            way,
            in_line,
        });
        Ok(())
    }

    /// One more agent would decide something about each of two files. Whether it does is up to what the server answers; that it
    /// let be what the lock applies to, and decided the other, is checked behind that.
    ///
    /// # Errors
    /// [`Failure`], and [`Failure::Verdict`] when it decided over a lock, let be what is free, or something that it let be was
    /// stored.
    pub async fn decide_more(&mut self, stage: &Stage, number: usize) -> Result<(), Failure> {
        let agent = stage.agent(number).await?;
        for (file, text) in WISHES {
            match choose(&agent, file, text).await? {
                Course::Made(made) => self.decisions.push(*made),
                Course::LetBe(stop) => {
                    check_unsaved(&agent, &stop).await?;
                    self.stops.push(*stop);
                }
            }
        }
        let let_be = self.stops.iter().map(|stop| stop.title.as_str());
        if !let_be.eq([UNLOCKING.title]) {
            let what = format!(
                "{} did not let be what is locked, and nothing else",
                agent.name
            );
            return Err(Failure::Verdict(what));
        }
        Ok(())
    }
}

/// An agent would decide something about a file. It asks first what a change of that affects, and lets it be where an axis or a
/// lock is among that: then it asks what speaks against it in words, by a proposal. Otherwise it decides. It names no
/// decision: what applies to the file is found by the file.
async fn choose(agent: &Agent, file: &str, text: Text) -> Result<Course, Failure> {
    let impact = affected(agent, file).await?;
    let applies = relation(RelationKind::AppliesTo, file);
    let body = said(&agent.worktree, text, vec![applies]);
    // What was cut off may be guarded.
    let is_free = impact.cut.is_none() && guarded(&impact).next().is_none();
    if is_free {
        let made = save(&agent.client, &agent.name, body).await?;
        return Ok(Course::Made(Box::new(made)));
    }
    let proposed = agent.client.propose_decision(&body).await?;
    Ok(Course::LetBe(Box::new(StopReport {
        agent: agent.name.clone(),
        title: body.title,
        impact,
        proposed,
    })))
}

/// What a change of a file affects. Where time cut it off, it is asked for again, and told as it is where that happens again
/// and again. What anything else cut off would be cut off again, so it is told at once.
async fn affected(agent: &Agent, file: &str) -> Result<Impact, Failure> {
    let request = ImpactRequest {
        scope: agent.worktree.to_string(),
        at: vec![file.to_owned()],
        ..ImpactRequest::default()
    };
    for _ in 1..IMPACT_ATTEMPTS_MAX {
        let impact = agent.client.impact(&request).await?;
        if !impact.cut.is_some_and(|cut| cut.time) {
            return Ok(impact);
        }
    }
    agent.client.impact(&request).await
}

/// Checks that what an agent let be was not stored, though it was proposed.
async fn check_unsaved(agent: &Agent, stop: &StopReport) -> Result<(), Failure> {
    let query = DecisionsQuery {
        scope: agent.worktree.to_string(),
        withdrawn: true,
        ..DecisionsQuery::default()
    };
    let stored = agent.client.decisions(&query).await?.items;
    if stored.iter().any(|head| head.title == stop.title) {
        return Err(Failure::Verdict("a proposal was stored".to_owned()));
    }
    Ok(())
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

/// The first of several ways to fix a bug by which all code that decisions of a brief quote stands in the source as they quote
/// it. One that quotes none rules out no way.
///
/// # Errors
/// [`Failure::Verdict`] when the brief rules out all of them.
pub fn way(brief: &Brief, ways: &'static [Bug]) -> Result<(&'static Bug, WayReport), Failure> {
    let mut passed_over = Vec::new();
    for bug in ways {
        let last = bug.attempts.last();
        let last = last.expect("the last attempt at a bug fixes it");
        let leaves = |made: &BriefDecision| quoted_in(&made.data_marked_text, last.new);
        if decisions(brief).all(leaves) {
            let taken = last.approach.to_owned();
            return Ok((bug, WayReport { taken, passed_over }));
        }
        passed_over.push(last.approach.to_owned());
    }
    let what = "the brief rules out every way to fix the bug";
    Err(Failure::Verdict(what.to_owned()))
}

/// The decisions of a brief.
fn decisions(brief: &Brief) -> impl Iterator<Item = &BriefDecision> {
    brief.items.iter().filter_map(|item| match item {
        BriefItem::Decision(decision) => Some(&**decision),
        BriefItem::Structural { .. } | BriefItem::Anchor(_) => None,
    })
}

/// The code that a text quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether all code that a text quotes stands in a source.
fn quoted_in(text: &str, source: &str) -> bool {
    quoted(text).all(|code| source.contains(code))
}

/// The same of a text that quotes some: one that quotes none asks for nothing that could be seen.
fn is_in_line(text: &str, source: &str) -> bool {
    quoted(text).next().is_some() && quoted_in(text, source)
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
mod tests;
