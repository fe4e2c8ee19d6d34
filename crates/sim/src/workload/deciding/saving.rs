//! Saving decisions: beginning and changing them, withdrawing and restoring them, alone or many at once.
//!
//! Owns what is written down of each save that was acknowledged, and what a refusal shows.

use futures::future::join_all;
use sillok_core::command::{Answer, AnswerBody, Command, DecisionRef, SaveDecision};
use sillok_core::decision::{NewDecision, Node, Rank, Relation, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};

use super::Says;
use super::asked::{Asked, HEARD, Heard, Told};
use super::asking::home_of;
use super::board::{Board, Known};
use super::stored::Acknowledged;
use crate::agent::Agent;

/// The note of an agent whose save was acknowledged.
pub(super) const SAVED: &str = "decision saved";
/// What the content of a proposal says, and no other text of a world.
pub(super) const ONLY_PROPOSED: &str = "that nobody has decided";
/// Why anything is saved.
const REASON: &str = "it was looked at again";

/// How many texts an agent has written.
#[derive(Default)]
struct Written(u64);

/// The content of a decision.
pub(super) fn decided(number: u64, agent: usize) -> String {
    format!("text {number} of agent {agent}")
}

/// The content of a proposal.
pub(super) fn proposed(number: u64, agent: usize) -> String {
    format!("{}, {ONLY_PROPOSED}", decided(number, agent))
}

/// A content like no other.
fn content(agent: &mut Agent, of: fn(u64, usize) -> String) -> String {
    let written = agent.memory::<Written>();
    written.0 += 1;
    let number = written.0;
    of(number, agent.number())
}

/// Who needs the least leave that there is for it.
pub(super) const fn least(rank: Rank, level: Level) -> PrincipalKind {
    match (rank, level) {
        (Rank::Normal, Level::Task | Level::Worktree) => PrincipalKind::Agent,
        (Rank::Normal, Level::Project) => PrincipalKind::Orchestrator,
        (Rank::Lock, Level::Task | Level::Worktree | Level::Project) => PrincipalKind::Orchestrator,
        _ => PrincipalKind::Human,
    }
}

fn save(change: Option<&Known>, text: NewDecision) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: change.map(Known::named),
        text,
        reason: REASON.to_owned(),
    }))
}

/// A version that was acknowledged.
pub(super) struct Saved {
    pub(super) scope: Scope,
    pub(super) root: DecisionId,
    pub(super) number: u64,
}

impl From<Known> for Saved {
    fn from(known: Known) -> Self {
        Self {
            scope: known.scope,
            root: known.root,
            number: known.version,
        }
    }
}

/// Tells the others of what became of a save: the version, if there is one.
fn settle(
    agent: &mut Agent,
    scope: &Scope,
    expected: Option<u64>,
    text: Option<NewDecision>,
    ended: Result<Answer, Error>,
) -> Option<Saved> {
    let answer = match ended {
        Ok(answer) => answer,
        Err(error) => {
            seen_by(&error)
                .into_iter()
                .for_each(|seen| agent.client().saw(seen));
            return None;
        }
    };
    let AnswerBody::Decision { root, version, .. } = answer.result else {
        return None;
    };
    let note = Acknowledged {
        scope: scope.clone(),
        root,
        expected,
        number: version,
        seq: answer.seq,
        content: text.as_ref().map(|text| text.content.clone()),
    };
    agent.note(SAVED, serde_json::to_value(note).expect("a note is data"));
    let leads_away =
        |one: &Relation| matches!(&one.to, Node::Decision { scope: of, .. } if of != scope);
    if text
        .iter()
        .any(|text| text.relations.iter().any(leads_away))
    {
        agent.client().saw("relation across scopes");
    }
    let is_declared = |one: &Relation| one.kind.declared().is_some();
    if text
        .iter()
        .any(|text| text.relations.iter().any(is_declared))
    {
        agent.client().saw("relation of a declared kind");
    }
    agent.shared(|board: &mut Board| board.saved(scope, (root, version), text));
    Some(Saved {
        scope: scope.clone(),
        root,
        number: version,
    })
}

/// What a refusal shows, by its words, since several share a code.
fn seen_by(error: &Error) -> Option<&'static str> {
    if error.code == ErrorCode::InvalidArgument && error.message.starts_with("no relation ") {
        Some("relation of an undeclared kind refused")
    } else if error.code != ErrorCode::Conflict {
        None
    } else if error.message.contains(" is at version ") {
        Some("change of a decision refused for its version")
    } else if error.message.ends_with(" was withdrawn") {
        Some("relation to a withdrawn decision refused")
    } else {
        None
    }
}

/// Makes a decision.
pub(super) async fn begin(agent: &mut Agent, scope: &Scope, says: &Says) -> Option<Known> {
    let content = content(agent, decided);
    let text = agent.shared(|board: &mut Board| board.text(scope, says, None, content));
    begin_with(agent, scope, text).await
}

/// Gives a save. One that is refused for a kind of relation is noted as a proposal is: it is judged in the same way.
async fn give(
    agent: &mut Agent,
    (kind, scope): (PrincipalKind, &Scope),
    change: Option<&Known>,
    text: &NewDecision,
) -> Result<Answer, Error> {
    let from_us = agent.client().now_us();
    let command = save(change, text.clone());
    let ended = agent.attempt(kind, scope, command).await;
    if let Err(error) = &ended
        && error.code == ErrorCode::InvalidArgument
    {
        let heard = Heard {
            asked: Asked::Proposal {
                by: home_of(scope).asker(0),
                change: change.map(Known::named),
                text: Box::new(text.clone()),
            },
            told: Told::Refused(error.code),
            from_us,
            to_us: agent.client().now_us(),
        };
        let heard = serde_json::to_value(heard).expect("a note is data");
        agent.note(HEARD, heard);
    }
    ended
}

async fn begin_with(agent: &mut Agent, scope: &Scope, text: NewDecision) -> Option<Known> {
    let kind = least(text.rank, scope.level());
    let ended = give(agent, (kind, scope), None, &text).await;
    let saved = settle(agent, scope, None, Some(text.clone()), ended)?;
    Some(Known {
        scope: saved.scope,
        root: saved.root,
        version: saved.number,
        active: true,
        texts: vec![(saved.number, text)],
    })
}

/// Changes the decision at a place.
pub(super) async fn change(agent: &mut Agent, which: u8, says: &Says) -> Option<Saved> {
    let known = agent.shared(|board: &mut Board| board.at(which))?;
    let content = content(agent, decided);
    let text =
        agent.shared(|board: &mut Board| board.text(&known.scope, says, Some(&known), content));
    change_to(agent, &known, text).await
}

async fn change_to(agent: &mut Agent, known: &Known, text: NewDecision) -> Option<Saved> {
    // Somebody may have raised its rank meanwhile, which only a person may change.
    let by = (PrincipalKind::Human, &known.scope);
    let ended = give(agent, by, Some(known), &text).await;
    settle(agent, &known.scope, Some(known.version), Some(text), ended)
}

/// Changes the decision at a place several times at once, each time in the version that is known.
pub(super) async fn rush(agent: &mut Agent, which: u8, writers: u8) {
    let Some(known) = agent.shared(|board: &mut Board| board.at(which)) else {
        return;
    };
    let mut writing = Vec::new();
    for writer in 0..writers {
        let says = Says {
            rank: Rank::Normal as u8,
            domain: writer,
            claim: None,
            relations: None,
        };
        let content = content(agent, decided);
        let text = agent
            .shared(|board: &mut Board| board.text(&known.scope, &says, Some(&known), content));
        let mut client = agent.client().another();
        let (scope, command) = (known.scope.clone(), save(Some(&known), text.clone()));
        writing.push(async move {
            let principal = client.principal(PrincipalKind::Human, "org/sim");
            let (ended, _) = client.give(principal, &scope, command).await;
            (text, ended)
        });
    }
    for (text, ended) in join_all(writing).await {
        settle(agent, &known.scope, Some(known.version), Some(text), ended);
    }
}

/// Withdraws the decision at a place.
pub(super) async fn withdraw(agent: &mut Agent, which: u8) -> Option<Saved> {
    let known = agent.shared(|board: &mut Board| board.at(which))?;
    let command = Command::DeactivateDecision {
        root: known.root,
        expected_version: known.version,
        reason: REASON.to_owned(),
    };
    let kind = PrincipalKind::Human;
    let ended = agent.attempt(kind, &known.scope, command).await;
    settle(agent, &known.scope, Some(known.version), None, ended)
}

/// Restores the decision at a place among those that were withdrawn, with one of the texts that it had.
pub(super) async fn restore(agent: &mut Agent, which: u8, text: u8) -> Option<Saved> {
    let known = agent.shared(|board: &mut Board| board.withdrawn(which))?;
    let place = usize::from(text).checked_rem(known.texts.len())?;
    let (version, text) = known.texts[place].clone();
    let command = Command::RestoreDecision {
        root: known.root,
        expected_version: known.version,
        version,
        reason: REASON.to_owned(),
    };
    let kind = PrincipalKind::Human;
    let ended = agent.attempt(kind, &known.scope, command).await;
    let expected = Some(known.version);
    let saved = settle(agent, &known.scope, expected, Some(text), ended)?;
    agent.client().saw("withdrawn decision restored");
    Some(saved)
}

/// What a proposal says, and the decision that it changes: that at a place, if one is named, and else none.
pub(super) fn proposal(
    agent: &mut Agent,
    scope: &Scope,
    which: Option<u8>,
    says: &Says,
) -> (Scope, Option<DecisionRef>, NewDecision) {
    let known = which.and_then(|which| agent.shared(|board: &mut Board| board.at(which)));
    let content = content(agent, proposed);
    let scope = known.as_ref().map_or(scope, |known| &known.scope);
    let text = agent.shared(|board: &mut Board| board.text(scope, says, known.as_ref(), content));
    (scope.clone(), known.as_ref().map(Known::named), text)
}

/// Makes decisions each of which is related to the one before it, and the first to the last. None where one was refused.
pub(super) async fn ring(
    agent: &mut Agent,
    scope: &Scope,
    size: u8,
    kind: u8,
) -> Option<Vec<Node>> {
    // To decisions the first three kinds lead.
    let kind = RelationKind::BUILT_IN[usize::from(kind % 3)];
    let says = Says {
        rank: Rank::Normal as u8,
        domain: kind.ordinal(),
        claim: None,
        relations: Some(Vec::new()),
    };
    let first = begin(agent, scope, &says).await?;
    let mut nodes = vec![first.node()];
    for _ in 1..size {
        let text = related(agent, scope, &says, kind, nodes.last()?.clone());
        nodes.push(begin_with(agent, scope, text).await?.node());
    }
    let text = related(agent, scope, &says, kind, nodes.last()?.clone());
    change_to(agent, &first, text).await?;
    Some(nodes)
}

/// What a decision says, with one relation.
fn related(
    agent: &mut Agent,
    scope: &Scope,
    says: &Says,
    kind: RelationKind,
    to: Node,
) -> NewDecision {
    let content = content(agent, decided);
    let text = agent.shared(|board: &mut Board| board.text(scope, says, None, content));
    NewDecision {
        relations: vec![Relation { kind, to }],
        ..text
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::permission::{Access, allows};

    use super::*;

    #[test]
    fn who_begins_a_decision_may_and_nobody_with_less_leave_may() {
        let order = [
            PrincipalKind::Agent,
            PrincipalKind::Orchestrator,
            PrincipalKind::Human,
        ];
        for rank in Rank::ALL {
            for level in Level::ALL {
                let may = |kind| allows(kind, Access::Save(rank), level);
                let first = order.into_iter().find(|kind| may(*kind));
                assert_eq!(first, Some(least(rank, level)), "{rank} in a {level}");
            }
        }
    }
}
