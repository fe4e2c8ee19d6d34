//! Disputing: people declare what others declare otherwise, say what others deny, and answer whatever that asks; they
//! put states down and resolve them.
//!
//! Owns what they say, and what may wait for an answer. What must hold of it stands in `judged`, `asked` and `settled`.

mod asked;
mod judged;
mod offered;
mod settled;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sillok_core::command::{AnswerBody, AnswerReview, Command};
use sillok_core::entry::{Claim, Table};
use sillok_core::id::{EntryId, ReviewId};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{Disposition, NewEntry};
use sillok_core::scope::Scope;

use self::judged::{RESOLVED, SAID, Said};
use self::offered::{Offered, answer_offer, vouch};
use self::settled::{ANSWERED, Answered};
use crate::agent::Agent;
use crate::workload::material::{check_project, draw_project, observation, project};
use crate::workload::{Draw, Workload};

/// Texts that declare something, near to each other: the first two are worded alike.
const DECLARED: [&str; 4] = [
    "The deadline of a request is read from the settings of the service",
    "the deadline of a request is read from the settings of a service.",
    "The deadline of a request is read from the arguments of the service",
    "The deadline of each request stands in the settings of the service",
];
/// What they declare it under.
const KEYS: [&str; 2] = ["request.deadline", "request.retries"];
/// What they declare.
const VALUES: [&str; 3] = ["10", "20", "30"];
/// Texts that say something, or deny it: which of the things, and whether it is denied.
const STATED: [(u8, bool, &str); 8] = [
    (0, false, "The cache of builds is shared between workers"),
    (
        0,
        false,
        "the cache of the builds is shared between workers.",
    ),
    (0, true, "The cache of builds is not shared between workers"),
    (0, true, "the cache of builds isn't shared between workers"),
    (1, false, "The upload resumes behind a broken connection"),
    (1, false, "an upload resumes behind the broken connection."),
    (
        1,
        true,
        "The upload does not resume behind a broken connection",
    ),
    (
        1,
        true,
        "The upload never resumes behind a broken connection",
    ),
];
/// Tables of states.
const STATES: [Table; 3] = [Table::Tasks, Table::Stories, Table::Gotchas];
/// In how many of 1,000 entries that may declare something nothing is declared.
const BARE_PERMILLE: u32 = 250;

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Disputing;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Declares something.
    Declare {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
        /// The key and the value, by their numbers; none where nothing is declared.
        claim: Option<(u8, u8)>,
    },
    /// Says something, or denies it.
    State {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
    /// Puts a state down.
    Put {
        /// Which project.
        project: u8,
        /// Which table, by its place among those of states.
        table: u8,
        /// The key and the value, by their numbers; none where nothing is declared.
        claim: Option<(u8, u8)>,
    },
    /// Resolves a state that somebody put down.
    Resolve {
        /// Which, by its place among those that hold.
        place: u8,
    },
    /// Answers a question that may wait.
    Answer {
        /// Which, by its place among those that may wait.
        place: u8,
        /// Whether it is approved.
        approve: bool,
        /// Whether the older entry is kept, where two contradict one another.
        older: bool,
    },
    /// Puts a skill down that helps several tasks, so that it is offered to the organisation.
    Vouch {
        /// Which project.
        project: u8,
    },
    /// Answers for the organisation what may be offered to it.
    AnswerOffer {
        /// Whether it is taken over.
        approve: bool,
    },
}

/// A question that may wait.
struct Waiting {
    scope: Scope,
    review: ReviewId,
    asks: Asks,
}

/// What a question asks, as far as whoever raised it knows.
#[derive(Clone, Copy)]
enum Asks {
    /// Whether two entries are one.
    Merge,
    /// Which of two holds, of which this is the older one.
    Against(EntryId),
    /// Which of two holds, that may never have met: one of them was said once more.
    OfRepeated,
}

/// What people tell one another of.
#[derive(Default)]
struct Told {
    waiting: VecDeque<Waiting>,
    offers: VecDeque<Offered>,
    /// States that hold: where, and the version that was put down.
    states: VecDeque<(Scope, EntryId, u64)>,
}

fn draw_claim(draw: &mut Draw<'_>, bare_permille: u32) -> Option<(u8, u8)> {
    let (key, value) = (draw.byte(KEYS.len()), draw.byte(VALUES.len()));
    (!draw.stream.permille(bare_permille)).then_some((key, value))
}

fn claim_of(claim: Option<(u8, u8)>) -> Option<Claim> {
    claim.map(|(key, value)| Claim {
        key: KEYS[usize::from(key) % KEYS.len()].to_owned(),
        value: VALUES[usize::from(value) % VALUES.len()].to_owned(),
    })
}

impl Workload for Disputing {
    type Action = Action;

    fn name(&self) -> &'static str {
        "disputing"
    }

    fn share(&self) -> u32 {
        40
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let project = draw_project(draw);
        match draw.byte(100) {
            0..=33 => Action::Declare {
                project,
                text: draw.byte(DECLARED.len()),
                claim: draw_claim(draw, BARE_PERMILLE),
            },
            34..=53 => Action::State {
                project,
                text: draw.byte(STATED.len()),
            },
            54..=61 => Action::Put {
                project,
                table: draw.byte(STATES.len()),
                claim: draw_claim(draw, 1_000 - BARE_PERMILLE),
            },
            62..=68 => Action::Resolve {
                place: draw.byte(8),
            },
            69..=91 => Action::Answer {
                place: draw.byte(8),
                approve: draw.stream.permille(500),
                older: draw.stream.permille(500),
            },
            92..=94 => Action::Vouch { project },
            _ => Action::AnswerOffer {
                approve: draw.stream.permille(600),
            },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Declare { project, .. }
            | Action::State { project, .. }
            | Action::Put { project, .. }
            | Action::Vouch { project } => check_project(*project),
            Action::Resolve { .. } | Action::Answer { .. } | Action::AnswerOffer { .. } => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Declare {
                project,
                text,
                claim,
            } => declare(agent, project, text, claim).await,
            Action::State { project, text } => state(agent, project, text).await,
            Action::Put {
                project,
                table,
                claim,
            } => put_state(agent, project, table, claim).await,
            Action::Resolve { place } => resolve(agent, place).await,
            Action::Answer {
                place,
                approve,
                older,
            } => answer(agent, place, approve, older).await,
            Action::Vouch { project } => {
                vouch(agent, project).await;
            }
            Action::AnswerOffer { approve } => answer_offer(agent, approve).await,
        }
    }
}

/// Puts an entry into a project, and tells of the question that this may have raised. The entry under which it stands,
/// and its version.
async fn put(agent: &mut Agent, home: &Scope, entry: NewEntry) -> Option<(EntryId, u64)> {
    let declares = entry.claim.is_some();
    let put = Command::PutEntry {
        entry: Box::new(entry),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Human, home, put).await?;
    let AnswerBody::Entry {
        id,
        version,
        disposition,
        ..
    } = answer.result
    else {
        return None;
    };
    let asks = match disposition {
        Disposition::Contradicts { other } => {
            agent.client().saw("contradiction raised");
            Asks::Against(other)
        }
        Disposition::Created => Asks::Merge,
        // What is merged asks about what it declares, where nobody was asked yet.
        Disposition::Merged { .. } if declares => Asks::OfRepeated,
        Disposition::Merged { .. } | Disposition::LeftOut => return Some((id, version)),
    };
    let (sent, _) = agent.answered(agent.sent_count() - 1)?;
    let waiting = Waiting {
        scope: home.clone(),
        review: sent.question(),
        asks,
    };
    agent.shared(|told: &mut Told| told.waiting.push_back(waiting));
    Some((id, version))
}

/// Puts an observation, and notes under which entry the agent's word stands.
async fn say(
    agent: &mut Agent,
    number: u8,
    text: &str,
    claim: Option<(u8, u8)>,
    stated: Option<(u8, bool)>,
) {
    let entry = NewEntry {
        claim: claim_of(claim),
        ..observation(text)
    };
    if let Some((entry, _)) = put(agent, &project(number), entry).await {
        let said = Said {
            entry,
            claim,
            stated,
        };
        agent.note(SAID, serde_json::to_value(said).expect("a note is data"));
    }
}

async fn declare(agent: &mut Agent, number: u8, text: u8, claim: Option<(u8, u8)>) {
    let text = DECLARED[usize::from(text) % DECLARED.len()];
    say(agent, number, text, claim, None).await;
}

async fn state(agent: &mut Agent, number: u8, text: u8) {
    let (thing, is_denied, text) = STATED[usize::from(text) % STATED.len()];
    say(agent, number, text, None, Some((thing, is_denied))).await;
}

async fn put_state(agent: &mut Agent, number: u8, table: u8, claim: Option<(u8, u8)>) {
    let table = STATES[usize::from(table) % STATES.len()];
    let text = format!("{table} of {}: {}", agent.number(), agent.sent_count());
    let entry = NewEntry {
        table,
        claim: claim_of(claim),
        ..observation(&text)
    };
    let home = project(number);
    if let Some((entry, version)) = put(agent, &home, entry).await {
        agent.shared(|told: &mut Told| told.states.push_back((home, entry, version)));
    }
}

/// What lies at a place, of those that are there; it is taken away.
fn take<T>(from: &mut VecDeque<T>, place: u8) -> Option<T> {
    let place = usize::from(place).checked_rem(from.len())?;
    from.remove(place)
}

async fn resolve(agent: &mut Agent, place: u8) {
    let taken = agent.shared(|told: &mut Told| take(&mut told.states, place));
    let Some((home, entry, expected_version)) = taken else {
        return;
    };
    let command = Command::ResolveState {
        entry,
        expected_version,
        reason: "it was done".to_owned(),
        verification: None,
    };
    // It may have been replaced, by an answer to what it contradicts.
    let answer = agent.give(PrincipalKind::Human, &home, command).await;
    if answer.is_some() {
        agent.client().saw("state resolved");
        let entry = serde_json::to_value(entry).expect("an id is data");
        agent.note(RESOLVED, entry);
    }
}

fn answered(review: ReviewId, approve: bool, keep: Option<EntryId>) -> Command {
    Command::AnswerReview(Box::new(AnswerReview {
        review,
        approve,
        keep,
        reason: "the two were looked at".to_owned(),
    }))
}

async fn answer(agent: &mut Agent, place: u8, approve: bool, older: bool) {
    let taken = agent.shared(|told: &mut Told| take(&mut told.waiting, place));
    let Some(waiting) = taken else {
        return;
    };
    let keep = match waiting.asks {
        Asks::Against(known) if approve && older => Some(known),
        _ => None,
    };
    let command = answered(waiting.review, approve, keep);
    // It may ask nothing, and what it asks about may have gone.
    let answer = agent
        .give(PrincipalKind::Human, &waiting.scope, command)
        .await;
    let Some(answer) = answer else {
        return;
    };
    agent.client().saw(match waiting.asks {
        Asks::Merge => "suggested merge answered",
        Asks::Against(_) | Asks::OfRepeated => "contradiction answered",
    });
    if let AnswerBody::Reviewed { kept, retired, .. } = answer.result {
        let note = Answered {
            approved: approve,
            wanted: keep,
            kept,
            retired,
            seq: answer.seq,
        };
        let note = serde_json::to_value(note).expect("a note is data");
        agent.note(ANSWERED, note);
    }
}

#[cfg(test)]
mod tests {
    use sillok_builtin::HashEmbedder;
    use sillok_core::dedup::{Contradiction, Neighbour, Verdict, verdict};
    use sillok_core::fingerprint::ContentHash;
    use sillok_core::ports::Embedder as _;

    use super::*;
    use crate::workload::material::embedding;

    fn entry(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    fn told(new: &NewEntry, known: &NewEntry) -> Verdict {
        let neighbour = Neighbour {
            id: entry(1),
            table: known.table,
            failure: known.failure,
            content: known.content.clone(),
            content_hash: ContentHash::of(&known.content),
            claim: known.claim.clone(),
            succeeded: None,
            cosine: embedding(&new.content).cosine(&embedding(&known.content)),
        };
        verdict(new, &[neighbour], HashEmbedder.thresholds())
    }

    fn declared(text: usize, claim: Option<(u8, u8)>) -> NewEntry {
        NewEntry {
            claim: claim_of(claim),
            ..observation(DECLARED[text])
        }
    }

    #[test]
    fn what_is_stated_contradicts_its_denial_and_nothing_else() {
        for (thing, is_denied, text) in STATED {
            for (other, denies, known) in STATED {
                let verdict = told(&observation(text), &observation(known));
                let why = Contradiction::Negation;
                let contradicts = Verdict::Contradicts {
                    with: entry(1),
                    why,
                };
                let is_against = thing == other && is_denied != denies;
                assert_eq!(verdict == contradicts, is_against, "{text} / {known}");
            }
        }
    }

    #[test]
    fn texts_that_are_one_are_not_where_they_declare_otherwise() {
        let known = declared(0, Some((0, 0)));
        let merges = |new: &NewEntry| matches!(told(new, &known), Verdict::Merge { .. });
        assert!(merges(&declared(1, Some((0, 0)))) && merges(&declared(1, None)));
        assert!(!merges(&declared(2, Some((0, 0)))) && !merges(&declared(3, Some((0, 0)))));
        for text in 0..DECLARED.len() {
            let other = told(&declared(text, Some((0, 1))), &known);
            assert!(matches!(other, Verdict::Contradicts { .. }), "{other:?}");
        }
        assert!(!merges(&declared(0, Some((1, 0)))));
    }
}
