//! A cognifier by rules: it reads the shapes of agents' logs, and needs no model and no network.
//!
//! Facts come from what the task's description states, from diffs and edits, from errors and test
//! runs, and from sentences in which an agent says why something is so or what it chose. What an agent
//! only supposed is none, nor is a cause that names nothing which the run showed. The same
//! records always give the same facts, and agents who find the same thing say it in the same
//! words, so that publishing merges it. It only proposes; it must not know entries or scopes.

use sillok_core::citation::Excerpt;
use sillok_core::ports::{BoxFuture, Cognifier, PortError};
use sillok_core::promotion::{CausalEdge, CognifyInput, Cognition, SkillDraft, Used};
use sillok_core::task::opening_text;
use sillok_core::verification::Outcome as Judgement;

use self::facts::{Facts, Rank};
use self::issue::Issue;
use self::sentence::clip;
use self::work::Work;

mod code;
mod diff;
mod evidence;
mod exit;
mod facts;
mod issue;
mod outcome;
mod read;
mod sentence;
mod shell;
mod steps;
mod thought;
mod verb;
mod work;

/// Name and version of the rules, recorded on what they propose.
pub const NAME: &str = "builtin-rules-v3";

/// Steps that a skill has at least: one command is no way of doing something.
const SKILL_STEPS_MIN: usize = 2;

/// The cognifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleCognifier;

impl RuleCognifier {
    /// What the rules draw from a task's records.
    #[must_use]
    pub fn draw(input: &CognifyInput) -> Cognition {
        let opened_with = opening_text(&input.title, &input.description);
        let issue = Issue::of(&opened_with);
        let mut facts = Facts::default();
        if let Some(opening) = &input.opening {
            for statement in &issue.statements {
                let at = statement.at.iter().cloned();
                let excerpts = at
                    .filter_map(|at| evidence::excerpt(opening, &opened_with, &opened_with, at))
                    .collect::<Vec<Excerpt>>();
                facts.add(Rank::Issue, statement.said.clone(), excerpts);
            }
        }
        let work = Work::of(input, &mut facts);
        let passed = input.outcome == Judgement::Passed;
        let repeats = work.checked && work.commands_right.len() >= SKILL_STEPS_MIN;
        let skill = (passed && repeats).then(|| skill(input, &issue, &facts, &work));
        Cognition {
            critique: critique(input, &facts),
            key_decisions: decisions(&facts),
            result: result(input, &work),
            score: score(passed, &work),
            causal_edges: edges(&facts, &work),
            repeatable: skill.is_some(),
            skill,
            sources: facts.sources(input.opening.as_ref()),
            facts: facts.keep(),
            left_out: 0,
            used: Used::default(),
        }
    }
}

impl Cognifier for RuleCognifier {
    fn name(&self) -> &str {
        NAME
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(core::future::ready(Ok(Self::draw(input))))
    }
}

/// What was learnt: cause, change, proof and detour, each in a sentence.
fn critique(input: &CognifyInput, facts: &Facts) -> String {
    let mut parts = Vec::new();
    if let Some(error) = input
        .error
        .as_deref()
        .filter(|_| input.outcome == Judgement::Failed)
    {
        parts.push(format!("Failed: {}", clip(error, 400)));
    }
    if let Some(approach) = input
        .approach
        .as_deref()
        .filter(|_| input.outcome == Judgement::Failed)
    {
        parts.push(format!("Approach: {}", clip(approach, 400)));
    }
    let issue = facts.of(Rank::Issue).map(|fact| ("Issue", fact)).take(2);
    let cause = facts.of(Rank::Cause).map(|fact| ("Cause", fact)).take(1);
    let change = facts.of(Rank::Change).map(|fact| ("Change", fact)).take(2);
    let outcome = facts
        .of(Rank::Outcome)
        .map(|fact| ("Outcome", fact))
        .rev()
        .take(1);
    let detour = facts
        .of(Rank::Error)
        .map(|fact| ("Went wrong", fact))
        .take(1);
    parts.extend(
        issue
            .chain(cause)
            .chain(change)
            .chain(outcome)
            .chain(detour)
            .map(|(label, fact)| format!("{label}: {fact}")),
    );
    parts.join("\n")
}

fn result(input: &CognifyInput, work: &Work) -> String {
    let judged = match input.outcome {
        Judgement::Passed => "Passed",
        Judgement::Failed => "Failed",
    };
    let files = if work.files.is_empty() {
        "no change of a file recorded".to_owned()
    } else {
        format!("changed {}", work.files.join(", "))
    };
    format!(
        "{judged}: {files}; {} of {} commands went wrong.",
        work.commands_failed, work.commands
    )
}

/// Half for the judgement, half for the share of commands that went right, of those of which that is known.
fn score(passed: bool, work: &Work) -> f64 {
    let known = work.commands - work.commands_open;
    let right = f64::from(known - work.commands_failed) / f64::from(known.max(1));
    let right = if known == 0 { 1.0 } else { right };
    f64::midpoint(f64::from(u8::from(passed)), right)
}

/// The first choices that were made, in order.
fn decisions(facts: &Facts) -> Vec<String> {
    const DECISIONS_MAX: usize = 32;
    let all = facts.of(Rank::Decision);
    all.map(str::to_owned).take(DECISIONS_MAX).collect()
}

fn edges(facts: &Facts, work: &Work) -> Vec<CausalEdge> {
    const EDGES_MAX: usize = 16;
    let edge = |cause: &str, effect: &str, confidence| CausalEdge {
        cause: cause.to_owned(),
        effect: effect.to_owned(),
        confidence,
    };
    let mut edges = Vec::new();
    for (error, fix) in &work.fixes {
        edges.push(edge(error, fix, 0.6));
    }
    let changes: Vec<&str> = facts.of(Rank::Change).collect();
    for outcome in facts
        .of(Rank::Outcome)
        .filter(|outcome| outcome.contains(" after "))
    {
        edges.extend(
            changes
                .iter()
                .take(2)
                .map(|change| edge(change, outcome, 0.8)),
        );
    }
    if let (Some(cause), Some(change)) = (facts.of(Rank::Cause).next(), changes.first()) {
        edges.push(edge(cause, change, 0.7));
    }
    edges.truncate(EDGES_MAX);
    edges
}

/// The way it was done: the commands that went right, in order, with what they changed.
fn skill(input: &CognifyInput, issue: &Issue, facts: &Facts, work: &Work) -> SkillDraft {
    let topic = if issue.topic.is_empty() {
        "a task of this kind"
    } else {
        &issue.topic
    };
    let about = facts
        .of(Rank::Cause)
        .chain(facts.of(Rank::Change))
        .take(2)
        .collect::<Vec<_>>()
        .join(" ");
    let steps = work
        .commands_right
        .iter()
        .enumerate()
        .map(|(index, (_, command))| format!("{}. {command}", index + 1));
    SkillDraft {
        name: format!("Resolve: {}", clip(topic, 80)),
        description: about,
        code: steps.collect::<Vec<_>>().join("\n"),
        sources: facts.sources(input.opening.as_ref()),
    }
}

#[cfg(test)]
mod tests;
