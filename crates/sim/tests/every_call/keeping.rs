//! The story of evidence: originals that lie in chunks, a decision that rests on them, another one that is related to it by
//! a kind that is declared before, and two anchors that point to all of it, of which the first is dropped.

use std::fmt::Write as _;

use sillok_core::anchor::NewAnchor;
use sillok_core::command::{AnswerBody, Command, SaveDecision};
use sillok_core::decision::{
    DeclaredKind, Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind,
};
use sillok_core::evidence::{Evidence, NewEvidence};
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_sim::agent::Agent;
use sillok_sim::workload::End;
use sillok_sim::workload::material::project;
use sillok_store::keys::{self, Family, ScopeKey};

/// Originals that are saved, each of which fills more chunks than the one before it.
const ORIGINALS: u8 = 2;
/// How long a node has to take its slots, in ms, before anything is kept: those calls are of no story.
const START_MS: u64 = 1_000;
/// How long the calls are counted on, in ms, for what follows from the last commit.
const REST_MS: u64 = 1_000;
/// The hints of the anchors: the first is dropped.
const HINTS: [&str; 2] = ["what was found first", "what holds"];

pub(super) async fn keep(agent: &mut Agent) {
    let scope = project(0);
    agent.client().sleep(START_MS).await;
    agent.client().count_calls(true);
    let kept = all(agent, &scope).await;
    agent.client().sleep(REST_MS).await;
    agent.client().count_calls(false);
    if kept.is_none() {
        agent.note("story", "something was refused".into());
    }
}

/// Has all of it kept; none where anything is refused.
async fn all(agent: &mut Agent, scope: &Scope) -> Option<()> {
    let mut to = Vec::new();
    for number in 0..ORIGINALS {
        let save = Command::SaveEvidence(Box::new(original(number)));
        let answer = agent.give(PrincipalKind::Human, scope, save).await?;
        let AnswerBody::EvidenceSaved { id, .. } = answer.result else {
            return None;
        };
        let scope = scope.clone();
        to.push(Node::Evidence { scope, id });
    }
    let answer = agent
        .give(PrincipalKind::Human, scope, rests_on(&to))
        .await?;
    let AnswerBody::Decision { root, .. } = answer.result else {
        return None;
    };
    let decision = Node::Decision {
        scope: scope.clone(),
        root,
    };
    let (declare, relate) = explained(&decision);
    for command in [declare, relate] {
        agent.give(PrincipalKind::Human, scope, command).await?;
    }
    to.push(decision);
    let anchors = HINTS.map(|hint| NewAnchor {
        hint: hint.to_owned(),
        domain: Domain::global(),
        to: to.clone(),
    });
    let add = Command::AddAnchors {
        anchors: anchors.into(),
    };
    let answer = agent.give(PrincipalKind::Human, scope, add).await?;
    let AnswerBody::AnchorsAdded { ids } = answer.result else {
        return None;
    };
    let drop = Command::DropAnchor {
        anchor: *ids.first()?,
        reason: "it was found anew".to_owned(),
    };
    agent.give(PrincipalKind::Human, scope, drop).await?;
    Some(())
}

/// An original of numbered lines, with characters of several bytes that chunks cut.
fn original(number: u8) -> NewEvidence {
    let bytes = (usize::from(number) + 1) * CHUNK_BYTES + CHUNK_BYTES / 3;
    let (mut content, mut line) = (String::new(), 0);
    while content.len() < bytes {
        line += 1;
        writeln!(content, "줄 {line} of original {number}").unwrap();
    }
    NewEvidence {
        title: title(number),
        source: String::new(),
        media_type: "text/plain".to_owned(),
        content,
    }
}

fn title(number: u8) -> String {
    format!("original {number}")
}

/// A decision that rests on all of this.
fn rests_on(evidence: &[Node]) -> Command {
    let relations = evidence.iter().map(|to| Relation {
        kind: RelationKind::RestsOn,
        to: to.clone(),
    });
    decide("what was found", relations.collect())
}

/// Declares a kind of relation, and makes a decision that is related by it to this one.
fn explained(decision: &Node) -> (Command, Command) {
    let kind = DeclaredKind {
        name: "EXPLAINS".parse().unwrap(),
        reach: Reach::Backward,
    };
    let declare = Command::DeclareRelation {
        name: kind.name,
        reach: kind.reach,
        meaning: "it says why the other is so".to_owned(),
    };
    let relation = Relation {
        kind: RelationKind::Declared(kind),
        to: decision.clone(),
    };
    (declare, decide("why it is so", vec![relation]))
}

fn decide(title: &str, relations: Vec<Relation>) -> Command {
    let text = NewDecision {
        rank: Rank::Normal,
        domain: Domain::global(),
        phase: None,
        title: title.to_owned(),
        content: "The last line of a file is lost.".to_owned(),
        claim: None,
        relations,
    };
    Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text,
        reason: "it was found".to_owned(),
    }))
}

fn evidence(end: &End<'_>) -> Vec<Evidence> {
    let rows = end.rows(Family::Evidence).into_iter();
    rows.map(|(key, value)| keys::evidence::decode(&key, &value).unwrap())
        .collect()
}

/// All that is kept, without what differs between two worlds in which the same was kept.
pub(super) fn left(end: &End<'_>) -> Vec<String> {
    let originals = evidence(end).into_iter().map(|row| {
        let (bytes, hash) = (row.content.bytes(), row.hash);
        format!(
            "{} of {bytes} bytes, {hash:?}, {} masked",
            row.title, row.masked
        )
    });
    let mut left: Vec<String> = originals.collect();
    for (key, value) in end.rows(Family::Anchor) {
        let row = keys::anchor::decode(&key, &value).unwrap();
        let (to, dropped) = (row.to.len(), row.is_dropped());
        left.push(format!("{} to {to}, dropped: {dropped}", row.hint));
    }
    left.sort_unstable();
    left
}

/// Each original once, with all of its chunks and no others, as it was handed over; each relation to it once, and that of
/// the declared kind; and both anchors, of which one is listed.
pub(super) fn kept(end: &End<'_>) -> Result<(), String> {
    let rows = evidence(end);
    let mut pieces = 0;
    for number in 0..ORIGINALS {
        let named: Vec<&Evidence> = rows
            .iter()
            .filter(|row| row.title == title(number))
            .collect();
        let [row] = named.as_slice() else {
            return Err(format!("{} times original {number}", named.len()));
        };
        let Content::Chunked { command, count, .. } = &row.content else {
            return Err(format!("original {number} does not lie in chunks"));
        };
        let range = keys::chunk::range_of_command(&ScopeKey::of(&project(0)), *command);
        let mut text = Vec::new();
        for (key, value) in end.rows(Family::Chunk) {
            if range.contains(&key) {
                text.extend_from_slice(&keys::chunk::decode(&key, &value).unwrap());
            }
        }
        if text != original(number).content.as_bytes() {
            let bytes = text.len();
            return Err(format!(
                "original {number} is not there whole: {bytes} bytes"
            ));
        }
        pieces += *count as usize;
    }
    let is = [
        rows.len(),
        end.rows(Family::Chunk).len(),
        end.rows(Family::Related).len(),
        end.rows(Family::Anchor).len(),
        end.rows(Family::AnchorListed).len(),
        end.rows(Family::DeclaredRelation).len(),
    ];
    let originals = usize::from(ORIGINALS);
    let (anchors, listed) = (HINTS.len(), HINTS.len() - 1);
    let should_be = [originals, pieces, originals + 1, anchors, listed, 1];
    if is == should_be {
        Ok(())
    } else {
        Err(format!(
            "evidence, chunks, relations, anchors, listed anchors and kinds are {is:?}, and not {should_be:?}"
        ))
    }
}
