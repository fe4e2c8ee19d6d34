//! Erasing: people destroy records, published entries, decisions, evidence, anchors and what kinds of relations mean while others
//! go on writing, and whoever wrote them asks again.
//!
//! Owns the words that were erased, and the check that no row of the store holds one of them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::anchor::NewAnchor;
use sillok_core::command::{Answer, AnswerBody, Command, SaveDecision};
use sillok_core::decision::{
    Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind, RelationName,
};
use sillok_core::erasure::{Erase, EraseMemory};
use sillok_core::evidence::{MEDIA_TYPE_USUAL, NewEvidence};
use sillok_core::id::{AnchorId, DecisionId, EntryId, EvidenceId, Seq};
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::keys::Family;

use crate::agent::Agent;
use crate::violation::Violation;
use crate::workload::material::{check_project, draw_project, project};
use crate::workload::publishing::Board;
use crate::workload::staging::record;
use crate::workload::{Check, Draw, End, Workload};

/// The note of an agent whose words were erased.
pub(super) const ERASED: &str = "word erased";
/// What every word begins with that is written to be erased.
const MARK: &[u8] = b"to be erased: ";
/// Digits of the number behind it.
const DIGITS: usize = 8;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Erasing;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Stages a record and has it erased.
    Record {
        /// Whether it is too large for a row.
        large: bool,
    },
    /// Has the first entry erased that agents told one another of.
    Entry {
        /// Which project.
        project: u8,
    },
    /// Saves evidence, a decision that rests on it and an anchor that leads to it, lets go of them and has all of it erased.
    Memory {
        /// Whether the evidence is too large for a row.
        large: bool,
    },
    /// Declares a kind of relation and has erased what it means.
    Kind {
        /// In which project.
        project: u8,
    },
}

impl Workload for Erasing {
    type Action = Action;

    fn name(&self) -> &'static str {
        "erasing"
    }

    fn share(&self) -> u32 {
        16
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        match draw.stream.between(0, 9) {
            0 => Action::Record { large: true },
            1..=5 => Action::Record { large: false },
            6 => Action::Memory {
                large: draw.stream.between(0, 3) == 0,
            },
            7 => Action::Kind {
                project: draw_project(draw),
            },
            _ => Action::Entry {
                project: draw_project(draw),
            },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Record { .. } | Action::Memory { .. } => Ok(()),
            Action::Entry { project } | Action::Kind { project } => check_project(*project),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Record { large } => erase_record(agent, large).await,
            Action::Entry { project } => erase_entry(agent, project).await,
            Action::Memory { large } => erase_memory(agent, large).await,
            Action::Kind { project } => erase_kind(agent, project).await,
        }
    }
}

fn order(records: Vec<Seq>, entries: Vec<EntryId>) -> Command {
    Command::Erase(Box::new(Erase {
        records,
        entries,
        offers: Vec::new(),
        reason: "nobody is to read it".to_owned(),
    }))
}

fn of_memory(order: EraseMemory) -> Command {
    let reason = "nobody is to read it".to_owned();
    Command::EraseMemory(Box::new(EraseMemory { reason, ..order }))
}

/// Whether anything was erased that had not been before.
pub(super) fn has_erased(answer: Option<Answer>) -> bool {
    let result = answer.map(|answer| answer.result);
    matches!(result, Some(AnswerBody::Erased { events, .. }) if events > 0)
}

/// A number that nobody else writes, and the word that bears it.
pub(super) fn new_word(agent: &Agent) -> (usize, String) {
    let number = agent.number() * 10_000 + agent.sent_count();
    let word = format!("{}{number:0DIGITS$}. ", String::from_utf8_lossy(MARK));
    (number, word)
}

/// How often a word stands in a text.
const fn times(large: bool, word: &str) -> usize {
    if large {
        CHUNK_BYTES * 5 / 4 / word.len()
    } else {
        1
    }
}

async fn erase_record(agent: &mut Agent, large: bool) {
    let (number, word) = new_word(agent);
    let append = Command::Append {
        records: vec![record(word.repeat(times(large, &word)))],
    };
    let task = agent.task();
    let answer = agent.give(PrincipalKind::Agent, &task, append).await;
    let Some(AnswerBody::Appended { first, .. }) = answer.map(|answer| answer.result) else {
        return;
    };
    // Refused while a promotion may be reading it.
    let erase = order(vec![first], Vec::new());
    if has_erased(agent.give(PrincipalKind::Human, &task, erase).await) {
        agent.note(ERASED, number.into());
        agent.client().saw("record erased");
    }
}

/// Refused where another entry has a text of this one.
async fn erase_entry(agent: &mut Agent, number: u8) {
    let Some(entry) = agent.shared(|board: &mut Board| board.first(number)) else {
        return;
    };
    let erase = order(Vec::new(), vec![entry]);
    let answer = agent
        .give(PrincipalKind::Human, &project(number), erase)
        .await;
    if has_erased(answer) {
        agent.shared(|board: &mut Board| board.remove(number, entry));
        agent.client().saw("entry erased");
    }
}

/// Evidence, a decision and an anchor of the agent's task.
struct Memory {
    evidence: EvidenceId,
    decision: DecisionId,
    anchor: AnchorId,
}

/// What holds, or is listed, is not erased: so it is withdrawn and dropped before.
async fn erase_memory(agent: &mut Agent, large: bool) {
    let (number, word) = new_word(agent);
    let task = agent.task();
    let Some(memory) = remember(agent, &task, &word, large).await else {
        return;
    };
    let erase = of_memory(EraseMemory {
        decisions: vec![memory.decision],
        evidence: vec![memory.evidence],
        anchors: vec![memory.anchor],
        ..EraseMemory::default()
    });
    if has_erased(agent.give(PrincipalKind::Human, &task, erase).await) {
        agent.note(ERASED, number.into());
        agent.client().saw("decision and evidence erased");
    }
}

/// Saves all that says the word, and lets go of it.
async fn remember(agent: &mut Agent, task: &Scope, word: &str, large: bool) -> Option<Memory> {
    let human = PrincipalKind::Human;
    let keep = Command::SaveEvidence(Box::new(NewEvidence {
        title: word.to_owned(),
        source: word.to_owned(),
        media_type: MEDIA_TYPE_USUAL.to_owned(),
        content: word.repeat(times(large, word)),
    }));
    let AnswerBody::EvidenceSaved { id: evidence, .. } =
        agent.give(human, task, keep).await?.result
    else {
        return None;
    };
    let to = Node::Evidence {
        scope: task.clone(),
        id: evidence,
    };
    let AnswerBody::Decision { root, version, .. } =
        agent.give(human, task, decide(word, &to)).await?.result
    else {
        return None;
    };
    let point = Command::AddAnchors {
        anchors: vec![NewAnchor {
            hint: word.to_owned(),
            domain: Domain::global(),
            to: vec![to],
        }],
    };
    let AnswerBody::AnchorsAdded { ids } = agent.give(human, task, point).await?.result else {
        return None;
    };
    let anchor = *ids.first()?;
    let withdraw = Command::DeactivateDecision {
        root,
        expected_version: version,
        reason: word.to_owned(),
    };
    agent.give(human, task, withdraw).await?;
    let reason = word.to_owned();
    let let_go = Command::DropAnchor { anchor, reason };
    agent.give(human, task, let_go).await?;
    Some(Memory {
        evidence,
        decision: root,
        anchor,
    })
}

/// The name of the kind, which nobody else declares, stays.
async fn erase_kind(agent: &mut Agent, of: u8) {
    let (number, word) = new_word(agent);
    let (human, scope) = (PrincipalKind::Human, project(of));
    let name = kind_name(number);
    let declare = Command::DeclareRelation {
        name,
        reach: Reach::Both,
        meaning: word,
    };
    let declared = agent.give(human, &scope, declare).await;
    let Some(AnswerBody::Done) = declared.map(|answer| answer.result) else {
        return;
    };
    let erase = of_memory(EraseMemory {
        kinds: vec![name],
        ..EraseMemory::default()
    });
    if has_erased(agent.give(human, &scope, erase).await) {
        agent.note(ERASED, number.into());
        agent.client().saw("meaning of a kind erased");
    }
}

/// The name of a kind by the number of its word.
fn kind_name(number: usize) -> RelationName {
    let name = format!("ERASED_{number}");
    name.parse()
        .expect("a number does not make a name too long, or one that is taken")
}

/// A decision that says the word, and rests on evidence.
fn decide(word: &str, evidence: &Node) -> Command {
    let relation = Relation {
        kind: RelationKind::RestsOn,
        to: evidence.clone(),
    };
    Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text: NewDecision {
            rank: Rank::Normal,
            domain: Domain::global(),
            phase: None,
            title: word.to_owned(),
            content: word.to_owned(),
            claim: None,
            relations: vec![relation],
        },
        reason: word.to_owned(),
    }))
}

impl Check for Erasing {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let notes = end.history.notes.iter().filter(|note| note.kind == ERASED);
        let erased: BTreeSet<u64> = notes.filter_map(|note| note.value.as_u64()).collect();
        if erased.is_empty() {
            return Ok(());
        }
        for family in Family::ALL {
            for (_, value) in end.rows(*family) {
                if let Some(number) = words_in(&value).find(|number| erased.contains(number)) {
                    let what = format!("a row of {family:?} holds word {number}, which was erased");
                    return Err(Violation::new("nothing is left of what was erased", what));
                }
            }
        }
        Ok(())
    }
}

/// The numbers of the words that stand in a row.
fn words_in(value: &[u8]) -> impl Iterator<Item = u64> {
    let marks = value.windows(MARK.len() + DIGITS);
    let words = marks.filter(|at| at.starts_with(MARK));
    words.filter_map(|at| str::from_utf8(&at[MARK.len()..]).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_a_kind_of_its_own() {
        let names = [17, 10_017, 99_999_999].map(kind_name);
        let names = names.each_ref().map(RelationName::as_str);
        assert_eq!(names, ["ERASED_17", "ERASED_10017", "ERASED_99999999"]);
    }

    #[test]
    fn words_are_found_wherever_they_stand_in_a_row() {
        let row = b"\x00\xffto be erased: 00010017. to be erased: 00000002. to be erased: 0000000";
        assert_eq!(words_in(row).collect::<Vec<_>>(), [10_017, 2]);
        assert_eq!(words_in(b"").count(), 0);
    }
}
