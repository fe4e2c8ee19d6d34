//! Banking: orchestrators store how agents went about a few tasks that are over, and agents ask for patterns, for failures alone,
//! and for briefs with little room; a person has some of it erased.
//!
//! Owns what they do. What they say is `said`'s and how they ask is `asked`'s; what must hold of it stands in `judged`, which
//! reads what `written` reads of the events.

mod asked;
mod judged;
mod said;
mod written;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::ErrorCode;
use sillok_core::bank::{Ended, NewTrajectory, Reward, Step};
use sillok_core::circular::Approach;
use sillok_core::command::{Answer, AnswerBody, Command, SaveDecision};
use sillok_core::decision::{Domain, NewDecision, Rank};
use sillok_core::erasure::Erase;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::task::Closing;

pub(crate) use self::asked::{Asked, Found, Heard, Told};
use self::said::APPROACH_TEXTS;
use crate::agent::Agent;
use crate::workload::erasing::{ERASED, has_erased, new_word};
use crate::workload::material::scope;
use crate::workload::staging::record;
use crate::workload::{Draw, Workload};

/// Projects whose tasks are banked: none that others work in.
const PROJECTS: u8 = 2;
/// Tasks of each. Those of even numbers are done, the others were given up.
const TASKS: u8 = 4;
/// Steps by which rewards differ.
const REWARDS: u8 = 9;
/// Room of a brief, at most.
const ITEMS_MAX: u8 = 6;
/// Decisions that hold in each of the projects.
const LOCKS: u8 = 2;
/// The note of an agent whose trajectory was stored.
const STORED: &str = "trajectory stored";
/// The note of an agent that made a decision.
const DECIDED: &str = "lock of a banked project";

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Banking;

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Of which project.
    pub project: u8,
    /// Which of its tasks.
    pub task: u8,
}

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Stores a trajectory.
    Store {
        /// Of which task.
        place: Place,
        /// What was done, by the number of its text.
        approach: u8,
        /// Whether it succeeded. What was given up did not.
        succeeded: bool,
        /// What it was worth, in quarters above -1.
        reward: u8,
    },
    /// Asks for patterns.
    Search {
        /// Where.
        place: Place,
        /// About which text.
        approach: u8,
        /// Whether those are sought that failed.
        failures_only: bool,
    },
    /// Asks for a brief.
    Brief {
        /// Of which task.
        place: Place,
        /// Room for so many items.
        items: u8,
    },
    /// Stores a trajectory, and has it erased.
    Erase {
        /// Of which task.
        place: Place,
        /// What was done, by the number of its text.
        approach: u8,
    },
}

/// Tasks that are known to be over, and projects in which decisions are known to hold.
#[derive(Default)]
struct Ready {
    tasks: BTreeSet<Place>,
    projects: BTreeSet<u8>,
}

/// A trajectory as whoever stored it said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stored {
    task: Scope,
    seq: Seq,
    approach: Approach,
    ended: Ended,
    reward: Reward,
    lesson: String,
}

/// A decision that holds in a project from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decided {
    project: u8,
    root: DecisionId,
    at_us: u64,
}

impl Place {
    fn scope(self) -> Scope {
        let Self { project, task } = self;
        scope(&format!(
            "org/sim/project/banked-{project}/worktree/w{}/task/b{task}",
            task % 3
        ))
    }

    fn check(self) -> Result<(), String> {
        let Self { project, task } = self;
        if project >= PROJECTS {
            return Err(format!("place.project: {project} is not below {PROJECTS}"));
        }
        if task >= TASKS {
            return Err(format!("place.task: {task} is not below {TASKS}"));
        }
        Ok(())
    }

    const fn is_done(self) -> bool {
        self.task.is_multiple_of(2)
    }
}

fn project_of(number: u8) -> Scope {
    scope(&format!("org/sim/project/banked-{number}"))
}

impl Workload for Banking {
    type Action = Action;

    fn name(&self) -> &'static str {
        "banking"
    }

    fn share(&self) -> u32 {
        15
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let place = Place {
            project: draw.byte(PROJECTS.into()),
            task: draw.byte(TASKS.into()),
        };
        let approach = draw.byte(APPROACH_TEXTS);
        match draw.byte(100) {
            0..=49 => Action::Store {
                place,
                approach,
                succeeded: draw.stream.permille(500),
                reward: draw.byte(REWARDS.into()),
            },
            50..=69 => Action::Search {
                place,
                approach,
                failures_only: draw.stream.permille(500),
            },
            70..=89 => Action::Brief {
                place,
                items: 1 + draw.byte(ITEMS_MAX.into()),
            },
            _ => Action::Erase { place, approach },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (Action::Store { place, .. }
        | Action::Search { place, .. }
        | Action::Brief { place, .. }
        | Action::Erase { place, .. }) = action;
        place.check()?;
        match action {
            Action::Store { reward, .. } if *reward >= REWARDS => {
                Err(format!("reward: {reward} is not below {REWARDS}"))
            }
            Action::Brief { items, .. } if !(1..=ITEMS_MAX).contains(items) => {
                Err(format!("items: {items} is not from 1 to {ITEMS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Store {
                place,
                approach,
                succeeded,
                reward,
            } => {
                let Some(task) = over(agent, place).await else {
                    return;
                };
                let ended = if succeeded && place.is_done() {
                    Ended::Succeeded
                } else {
                    Ended::Failed
                };
                let reward = Reward::of(f64::from(reward) / 4.0 - 1.0);
                let reward = reward.expect("quarters above -1");
                let said = (said::approach(approach), ended, reward, String::new());
                store(agent, &task, said).await;
            }
            Action::Search {
                place,
                approach,
                failures_only,
            } => asked::patterns(agent, &place.scope(), approach, failures_only).await,
            Action::Brief { place, items } => {
                let Some(task) = over(agent, place).await else {
                    return;
                };
                decide(agent, place.project).await;
                asked::brief(agent, &task, items).await;
            }
            Action::Erase { place, approach } => {
                let Some(task) = over(agent, place).await else {
                    return;
                };
                erase(agent, &task, approach).await;
            }
        }
    }
}

/// Opens a task and closes it, unless it is known to be over. None where it is refused: it lies under a quarantine.
async fn over(agent: &mut Agent, place: Place) -> Option<Scope> {
    let task = place.scope();
    if agent.shared(|ready: &mut Ready| ready.tasks.contains(&place)) {
        return Some(task);
    }
    let open = Command::OpenTask {
        title: said::TITLE.to_owned(),
        description: said::description(),
    };
    // Another agent may have done either meanwhile.
    let opened = agent.attempt(PrincipalKind::Agent, &task, open).await;
    let refused = opened.err().map(|error| error.code);
    if refused.is_some_and(|code| code != ErrorCode::Conflict) {
        return None;
    }
    let closing = if place.is_done() {
        Closing::Done
    } else {
        Closing::Failed
    };
    let close = Command::CloseTask {
        closing,
        reason: String::new(),
    };
    let kind = PrincipalKind::Orchestrator;
    let closed = agent.attempt(kind, &task, close).await;
    let refused = closed.err().map(|error| error.code);
    if refused.is_some_and(|code| code != ErrorCode::InvalidState) {
        return None;
    }
    agent.shared(|ready: &mut Ready| ready.tasks.insert(place));
    Some(task)
}

/// Has decisions hold in a project, unless it is known that some do.
async fn decide(agent: &mut Agent, number: u8) {
    if !agent.shared(|ready: &mut Ready| ready.projects.insert(number)) {
        return;
    }
    for _ in 0..LOCKS {
        let lock = Command::SaveDecision(Box::new(SaveDecision {
            change: None,
            text: NewDecision {
                rank: Rank::Lock,
                domain: Domain::global(),
                phase: None,
                title: "what holds here".to_owned(),
                content: "what holds here, whatever failed before".to_owned(),
                claim: None,
                relations: Vec::new(),
            },
            reason: String::new(),
        }));
        let project = project_of(number);
        let answer = agent.give(PrincipalKind::Human, &project, lock).await;
        let Some(AnswerBody::Decision { root, .. }) = answer.map(|answer| answer.result) else {
            continue;
        };
        let decided = Decided {
            project: number,
            root,
            at_us: agent.client().now_us(),
        };
        let decided = serde_json::to_value(decided).expect("a note is data");
        agent.note(DECIDED, decided);
    }
}

/// Stages what an agent did and stores how it went. Gives where that stands, if it was stored.
async fn store(
    agent: &mut Agent,
    task: &Scope,
    (approach, ended, reward, lesson): (Approach, Ended, Reward, String),
) -> Option<Seq> {
    let append = Command::Append {
        records: vec![record("what was done".to_owned())],
    };
    let appended = agent.give(PrincipalKind::Agent, task, append).await?;
    let AnswerBody::Appended { first, .. } = appended.result else {
        return None;
    };
    let new = NewTrajectory {
        kind: said::kind(),
        approach: approach.clone(),
        ended,
        reward,
        lesson: lesson.clone(),
        steps: vec![Step {
            record: first,
            bytes: Some((0, 4)),
        }],
    };
    let store = Command::StoreTrajectory(Box::new(new));
    let answer = agent.give(PrincipalKind::Orchestrator, task, store).await?;
    let AnswerBody::TrajectoryStored { seq } = answer.result else {
        return None;
    };
    agent.client().saw("trajectory stored");
    let stored = Stored {
        task: task.clone(),
        seq,
        approach,
        ended,
        reward,
        lesson,
    };
    let stored = serde_json::to_value(stored).expect("a note is data");
    agent.note(STORED, stored);
    Some(seq)
}

/// Stores a trajectory with a word in it and has it erased.
async fn erase(agent: &mut Agent, task: &Scope, approach: u8) {
    let (number, word) = new_word(agent);
    let mut approach = said::approach(approach);
    approach.symbols.push(word.clone());
    let reward = Reward::of(-1.0).expect("it is no less");
    let said = (approach, Ended::Failed, reward, word);
    let Some(seq) = store(agent, task, said).await else {
        return;
    };
    if has_erased(order(agent, task, seq).await) {
        agent.client().saw("trajectory erased");
        agent.note(ERASED, number.into());
        // Whoever is not sure orders it again, and nothing is written.
        order(agent, task, seq).await;
    }
}

async fn order(agent: &mut Agent, task: &Scope, seq: Seq) -> Option<Answer> {
    let erase = Command::Erase(Box::new(Erase {
        records: vec![seq],
        reason: "nobody is to read it".to_owned(),
        ..Erase::default()
    }));
    agent.give(PrincipalKind::Human, task, erase).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn what_is_drawn_can_be_done_in_all_of_few_tasks() {
        let mut stream = Stream::new(1, "banking", 0);
        let mut places = BTreeSet::new();
        for before in 0..400 {
            let action = Banking.draw(&mut Draw {
                stream: &mut stream,
                agent: 0,
                before,
                nodes: 3,
                projects: 12,
            });
            assert_eq!(Banking.check_action(&action, 3), Ok(()));
            if let Action::Store { place, .. } = action {
                places.insert(place);
            }
        }
        assert_eq!(places.len(), usize::from(PROJECTS * TASKS));
    }

    #[test]
    fn what_nobody_can_do_is_refused_with_its_field() {
        let place = Place {
            project: 1,
            task: 3,
        };
        let refused = |action: &Action| Banking.check_action(action, 3).unwrap_err();
        let brief = |place, items| Action::Brief { place, items };
        let project = Place {
            project: PROJECTS,
            ..place
        };
        assert_eq!(
            refused(&brief(project, 1)),
            "place.project: 2 is not below 2"
        );
        let task = Place {
            task: TASKS,
            ..place
        };
        assert_eq!(refused(&brief(task, 1)), "place.task: 4 is not below 4");
        assert_eq!(refused(&brief(place, 0)), "items: 0 is not from 1 to 6");
        let store = Action::Store {
            place,
            approach: 0,
            succeeded: true,
            reward: REWARDS,
        };
        assert_eq!(refused(&store), "reward: 9 is not below 9");
    }
}
