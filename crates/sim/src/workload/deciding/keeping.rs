//! Keeping evidence and anchors: saving originals, large ones in chunks, pointing to them and to decisions, dropping what
//! points, and asking for both.
//!
//! Owns what is written down of each that was acknowledged. What they say, `original` does; whether it is right, `judged`.

use serde::{Deserialize, Serialize};
use sillok_core::ErrorCode;
use sillok_core::anchor::NewAnchor;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::{DeclaredKind, Domain, Node, Rank};
use sillok_core::id::{AnchorId, EvidenceId, Seq};
use sillok_core::scope::Scope;

use super::board::{Board, KnownEvidence, domain};
use super::original::{CHUNKS_MAX, Original, hint, stored_hint};
use super::saving::least;
use super::{DOMAINS, Home, LEVELS, asking, within};
use crate::agent::Agent;

/// The note of an agent whose evidence, anchors or end of an anchor were acknowledged.
pub(super) const KEPT: &str = "evidence or anchors kept";
/// Anchors that one command adds at most.
pub(super) const ANCHORS_MAX: u8 = 3;
/// Nodes that an anchor points to at most.
pub(super) const GOALS_MAX: u8 = 4;
/// Parts that a text is divided into where one is asked for; it ends before the last of them.
pub(super) const PART_MAX: u8 = 250;
/// The part that lies right behind the end.
const BEHIND: u64 = 240;
/// Bytes of the smallest part that is asked for: more than a character has.
const PART_BYTES: u64 = 8;
/// Why an anchor is dropped.
const REASON: &str = "it leads nowhere any more";

/// An action that is about evidence or anchors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// Saves evidence.
    Save {
        /// Where.
        home: Home,
        /// Whole chunks that it fills, and a part of one more; none where it fits a row.
        chunks: u8,
        /// Whether secrets are in it.
        masks: bool,
    },
    /// Adds anchors, all of them with one command.
    Point {
        /// Where.
        home: Home,
        /// For which domain.
        domain: u8,
        /// What each points to: evidence, or decisions, by their places among those that are seen.
        to: Vec<Vec<(bool, u8)>>,
        /// Whether a secret is in each hint.
        masks: bool,
    },
    /// Drops an anchor.
    Drop {
        /// Which, by its place among those that were not dropped.
        which: u8,
    },
    /// Asks for the text of evidence.
    Read {
        /// Which, by its place among all that is known.
        which: u8,
        /// Where it begins and how long it is, in parts of the whole; all of it, if nothing is said.
        part: Option<(u8, u8)>,
    },
    /// Asks for what an anchor points to.
    Follow {
        /// Which, by its place among all that are known.
        which: u8,
        /// How wide the token is, as the level of a scope.
        width: u8,
    },
    /// Asks for what is found behind anchors.
    Search {
        /// Where.
        home: Home,
        /// For which domain.
        domain: u8,
        /// The word that is looked for, by its place among those that many texts have.
        word: u8,
        /// A number that is looked for beside it.
        number: Option<u8>,
        /// Whether few hits are wanted.
        few: bool,
        /// How wide the token is, as the level of a scope.
        width: u8,
    },
}

impl Keeping {
    /// Whether it can be carried out.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Save { home, chunks, .. } => {
                home.check()?;
                within("chunks", *chunks, (0, CHUNKS_MAX))
            }
            Self::Point {
                home, domain, to, ..
            } => {
                home.check()?;
                let domains = u8::try_from(DOMAINS.len()).expect("few domains");
                within("domain", *domain, (0, domains - 1))?;
                let anchors = u8::try_from(to.len()).unwrap_or(u8::MAX);
                within("to", anchors, (1, ANCHORS_MAX))?;
                to.iter().try_for_each(|goals| {
                    let goals = u8::try_from(goals.len()).unwrap_or(u8::MAX);
                    within("to", goals, (1, GOALS_MAX))
                })
            }
            Self::Follow { width, .. } => within("width", *width, (0, LEVELS - 1)),
            Self::Search {
                home,
                domain,
                width,
                ..
            } => {
                home.check()?;
                let domains = u8::try_from(DOMAINS.len()).expect("few domains");
                within("domain", *domain, (0, domains - 1))?;
                within("width", *width, (0, LEVELS - 1))
            }
            Self::Drop { .. } | Self::Read { .. } => Ok(()),
        }
    }
}

/// Evidence, anchors, the end of one or a declared kind that somebody was told of who had it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Told {
    /// Evidence was saved.
    Evidence {
        scope: Scope,
        id: EvidenceId,
        /// The event that it was acknowledged with.
        seq: Seq,
        hash: [u8; 32],
        masked: u32,
        original: Original,
    },
    /// Anchors were added.
    Anchors {
        scope: Scope,
        ids: Vec<AnchorId>,
        /// The event of the last of them.
        seq: Seq,
        domain: Domain,
        /// What each says and points to.
        said: Vec<(String, Vec<Node>)>,
    },
    /// An anchor was dropped.
    Dropped {
        scope: Scope,
        id: AnchorId,
        seq: Seq,
    },
    /// A kind of relation was declared.
    Declared {
        scope: Scope,
        kind: DeclaredKind,
        seq: Seq,
    },
}

/// Words of which many texts have one, or their hints: of all originals, of those with secrets and of those without, of
/// decisions, and of hints.
const WORDS: [&str; 6] = ["original", "github", "door", "text", "hint", "nowhere"];

/// What is looked for.
fn words(word: u8, number: Option<u8>) -> Vec<String> {
    let word = WORDS[usize::from(word) % WORDS.len()].to_owned();
    let number = number.map(|number| number.to_string());
    [word].into_iter().chain(number).collect()
}

/// How many originals and hints an agent has written.
#[derive(Default)]
struct Written(u64);

/// An original like no other.
fn written(agent: &mut Agent, chunks: u8, masks: bool) -> Original {
    let written = agent.memory::<Written>();
    written.0 += 1;
    let number = written.0;
    Original {
        agent: agent.number(),
        number,
        chunks,
        masks,
    }
}

/// Carries an action out.
pub(super) async fn keep(agent: &mut Agent, action: Keeping) {
    match action {
        Keeping::Save {
            home,
            chunks,
            masks,
        } => save(agent, &home.scope(), chunks, masks).await,
        Keeping::Point {
            home,
            domain,
            to,
            masks,
        } => point(agent, &home.scope(), domain, &to, masks).await,
        Keeping::Drop { which } => drop_one(agent, which).await,
        Keeping::Read { which, part } => {
            let known = agent.shared(|board: &mut Board| board.evidence_at(which));
            if let Some(known) = known {
                let part = part.map(|part| part_of(&known.original, part));
                asking::text(agent, known, part).await;
            }
        }
        Keeping::Follow { which, width } => {
            let known = agent.shared(|board: &mut Board| board.anchor_at(which));
            if let Some(known) = known {
                asking::followed(agent, &known, width).await;
            }
        }
        Keeping::Search {
            home,
            domain,
            word,
            number,
            few,
            width,
        } => {
            let words = words(word, number);
            asking::search(agent, home.asker(width), domain, words, few).await;
        }
    }
}

/// From which byte to which other one: never right at the end, which is no part and not behind it either.
fn part_of(original: &Original, (begin, length): (u8, u8)) -> (u64, u64) {
    let bytes = original.stored().len() as u64;
    let of_whole = |part: u8| bytes * u64::from(part) / BEHIND;
    let from = of_whole(begin);
    let from = if from == bytes { from + 1 } else { from };
    (from, from + PART_BYTES + of_whole(length))
}

/// Writes down what an agent was told.
pub(super) fn note(agent: &Agent, told: &Told) {
    let told = serde_json::to_value(told).expect("a note is data");
    agent.note(KEPT, told);
}

/// Has an original kept.
async fn save(agent: &mut Agent, scope: &Scope, chunks: u8, masks: bool) {
    let original = written(agent, chunks, masks);
    let command = Command::SaveEvidence(Box::new(original.given()));
    let kind = least(Rank::Normal, scope.level());
    let Ok(answer) = agent.attempt(kind, scope, command).await else {
        return;
    };
    let AnswerBody::EvidenceSaved { id, hash, masked } = answer.result else {
        return;
    };
    let told = Told::Evidence {
        scope: scope.clone(),
        id,
        seq: answer.seq,
        hash,
        masked,
        original,
    };
    note(agent, &told);
    for (seen, is_seen) in [
        ("evidence stored in chunks", chunks > 0),
        ("evidence masked", masked > 0),
    ] {
        if is_seen {
            agent.client().saw(seen);
        }
    }
    let known = KnownEvidence {
        scope: scope.clone(),
        id,
        original,
    };
    agent.shared(|board: &mut Board| board.evidence.push(known));
}

/// Has anchors added that point to what is known; none where nothing is.
async fn point(
    agent: &mut Agent,
    scope: &Scope,
    of_domain: u8,
    to: &[Vec<(bool, u8)>],
    masks: bool,
) {
    let domain = domain(of_domain);
    let (mut anchors, mut said) = (Vec::new(), Vec::new());
    for goals in to {
        let to = agent.shared(|board: &mut Board| board.goals(scope, goals));
        if to.is_empty() {
            continue;
        }
        let original = written(agent, 0, masks);
        said.push((stored_hint(&original), to.clone()));
        anchors.push(NewAnchor {
            hint: hint(&original),
            domain: domain.clone(),
            to,
        });
    }
    if anchors.is_empty() {
        return;
    }
    let command = Command::AddAnchors { anchors };
    let kind = least(Rank::Normal, scope.level());
    let answer = match agent.attempt(kind, scope, command).await {
        Ok(answer) => answer,
        Err(error) => {
            if error.code == ErrorCode::Conflict {
                agent.client().saw("anchor to a withdrawn decision refused");
            }
            return;
        }
    };
    let AnswerBody::AnchorsAdded { ids } = answer.result else {
        return;
    };
    agent.shared(|board: &mut Board| board.pointed(scope, &ids));
    let told = Told::Anchors {
        scope: scope.clone(),
        ids,
        seq: answer.seq,
        domain,
        said,
    };
    note(agent, &told);
}

/// Has the anchor at a place dropped. Somebody else may have done so before.
async fn drop_one(agent: &mut Agent, which: u8) {
    let Some(known) = agent.shared(|board: &mut Board| board.held(which)) else {
        return;
    };
    let command = Command::DropAnchor {
        anchor: known.id,
        reason: REASON.to_owned(),
    };
    let kind = least(Rank::Normal, known.scope.level());
    let Ok(answer) = agent.attempt(kind, &known.scope, command).await else {
        return;
    };
    agent.client().saw("anchor dropped");
    agent.shared(|board: &mut Board| board.dropped(known.id));
    let told = Told::Dropped {
        scope: known.scope,
        id: known.id,
        seq: answer.seq,
    };
    note(agent, &told);
}

#[cfg(test)]
mod tests {
    use super::super::original::tests::original;
    use super::*;

    #[test]
    fn a_part_begins_within_the_text_or_behind_its_end_and_never_right_at_it() {
        for chunks in [0, 1] {
            let one = original(1, chunks, true);
            let bytes = one.stored().len() as u64;
            let mut behind = 0;
            for begin in 0..PART_MAX {
                for length in [0, 1, PART_MAX - 1] {
                    let (from, to) = part_of(&one, (begin, length));
                    assert_ne!(from, bytes);
                    assert!(to >= from + PART_BYTES);
                    behind += u32::from(from > bytes);
                }
            }
            assert!((1..=60).contains(&behind), "{behind} parts lie behind it");
        }
    }

    #[test]
    fn what_no_world_can_carry_out_is_refused() {
        let home = Home {
            project: 0,
            level: 0,
        };
        let save = |chunks| Keeping::Save {
            home,
            chunks,
            masks: false,
        };
        let point = |to| Keeping::Point {
            home,
            domain: 0,
            to,
            masks: false,
        };
        let goals = |count: u8| -> Vec<(bool, u8)> { (0..count).map(|one| (true, one)).collect() };
        for fits in [save(0), save(CHUNKS_MAX), point(vec![goals(GOALS_MAX)])] {
            assert_eq!(fits.check(), Ok(()));
        }
        for wrong in [
            save(CHUNKS_MAX + 1),
            point(Vec::new()),
            point(vec![goals(1); usize::from(ANCHORS_MAX) + 1]),
            point(vec![goals(1), goals(0)]),
            point(vec![goals(GOALS_MAX + 1)]),
            Keeping::Follow {
                which: 0,
                width: LEVELS,
            },
            Keeping::Search {
                home,
                domain: 3,
                word: 0,
                number: None,
                few: false,
                width: 0,
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
