//! Fixing: agents of a few tasks record fixes that failed, one after the other and several at once, now and then one that
//! passed, and ask what follows from an approach in the same task and in others of its project; some mark a task as stuck for
//! a while, and some have erased what was said.
//!
//! Owns what they do. What they say is `said`'s, how they ask is `asked`'s, and how they erase `erasing`'s; what must hold of it
//! stands in `naive`, `point` and `judged`, which read what `written` reads of the events.

mod asked;
mod erasing;
mod judged;
mod naive;
mod point;
mod said;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use sillok_core::circular::{Approach, ErrorJudged, ErrorReason};
use sillok_core::command::{Answer, AnswerBody, Command};
use sillok_core::entry::Binding;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::verification::{NewFailure, NewVerification, Outcome, VerificationSource};

pub(crate) use self::asked::{Asked, Heard, Told};
use self::said::{APPROACH_TEXTS, ERROR_TEXTS};
use crate::agent::Agent;
use crate::workload::material::{self, scope};
use crate::workload::{Draw, Workload};

/// Projects whose tasks are fixed: none that others work in.
const PROJECTS: u8 = 2;
/// Tasks of each.
const TASKS: u8 = 3;
/// What each of them is opened with: no word of it is one of an approach.
const TITLE: &str = "Make the build pass again";
const DESCRIPTION: &str = "Whatever fails is to work.";
/// Fixes that one operation records, at most.
const FIXES_MAX: u8 = 4;
/// Verifications that are erased beside an agent's own, at most.
const OTHERS_MAX: u8 = 2;
/// Approaches that are listed, at most.
const LISTED_MAX: u8 = 64;
/// The note of an agent whose failed fix was recorded.
const RECORDED: &str = "failed fix recorded";

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Fixing;

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Of which project.
    pub project: u8,
    /// Which of its tasks.
    pub task: u8,
}

/// A fix that failed, as whoever tried it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What went wrong, by the number of its text, if that is said.
    pub error: Option<u8>,
    /// What was tried, by the number of its text, if that is said.
    pub approach: Option<u8>,
}

/// An action of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Records fixes that failed, one after the other.
    Fail {
        /// Of which task.
        place: Place,
        /// What failed.
        fixes: Vec<Fix>,
    },
    /// The same, all at once.
    Rush {
        /// Of which task.
        place: Place,
        /// What failed.
        fixes: Vec<Fix>,
    },
    /// Records a fix that passed, and asks about an approach.
    Pass {
        /// Of which task.
        place: Place,
        /// Which approach, by the number of its text.
        approach: u8,
    },
    /// Asks about an approach.
    Check {
        /// To which task.
        place: Place,
        /// Which one, by the number of its text.
        approach: u8,
    },
    /// Asks which approaches failed.
    List {
        /// Of which task.
        place: Place,
        /// At most so many.
        limit: u8,
    },
    /// Records a fix that failed, gives its promotion up, and has erased what it says.
    Erase {
        /// Of which task.
        place: Place,
        /// What failed.
        fix: Fix,
        /// With so many of those that failed there before, unless a promotion of one is under way.
        others: u8,
    },
    /// Marks a task as stuck, asks about an approach, records that it failed all the same, and clears the mark.
    Halt {
        /// Which task.
        place: Place,
        /// Which approach, by the number of its text.
        approach: u8,
    },
}

/// Tasks that are known to be open.
#[derive(Default)]
struct Opened(BTreeSet<Place>);

/// Verifications that are known to have failed, by their tasks.
#[derive(Default)]
struct Failed(BTreeMap<Scope, Vec<VerificationId>>);

/// How many runs an agent has named.
#[derive(Default)]
struct Runs(u64);

/// A failed fix as whoever recorded it was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recorded {
    task: Scope,
    id: VerificationId,
    fix: Fix,
    /// The word in it that is to be erased, if there is one.
    word: Option<String>,
    /// Where the task ended then.
    seq: Seq,
    judged: Option<ErrorJudged>,
}

impl Recorded {
    /// What was said of the fix: its error, and its approach.
    fn said(&self) -> (Option<String>, Option<Approach>) {
        said::told(self.fix, self.word.as_deref())
    }
}

impl Place {
    fn scope(self) -> Scope {
        let Self { project, task } = self;
        scope(&format!(
            "org/sim/project/fixed-{project}/worktree/w{}/task/f{task}",
            task % 2
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
}

/// One task is drawn more often than all others.
fn draw_place(draw: &mut Draw<'_>) -> Place {
    let is_crowded = (draw.stream.permille(500), draw.stream.permille(250));
    let (project, task) = (draw.byte(PROJECTS.into()), draw.byte(TASKS.into()));
    Place {
        project: if is_crowded.0 { 0 } else { project },
        task: if is_crowded.1 { 0 } else { task },
    }
}

fn draw_fixes(draw: &mut Draw<'_>, least: usize, most: usize) -> Vec<Fix> {
    let count = least + usize::from(draw.byte(most - least + 1));
    (0..count).map(|_| draw_fix(draw)).collect()
}

fn draw_fix(draw: &mut Draw<'_>) -> Fix {
    let (error, approach) = (draw.byte(ERROR_TEXTS), draw.byte(APPROACH_TEXTS));
    Fix {
        error: draw.stream.permille(900).then_some(error),
        approach: draw.stream.permille(800).then_some(approach),
    }
}

fn check_fixes(fixes: &[Fix]) -> Result<(), String> {
    if (1..=usize::from(FIXES_MAX)).contains(&fixes.len()) {
        return Ok(());
    }
    let count = fixes.len();
    Err(format!("fixes: {count} is not from 1 to {FIXES_MAX}"))
}

impl Workload for Fixing {
    type Action = Action;

    fn name(&self) -> &'static str {
        "fixing"
    }

    fn share(&self) -> u32 {
        30
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let place = draw_place(draw);
        let approach = draw.byte(APPROACH_TEXTS);
        match draw.byte(100) {
            0..=43 => Action::Fail {
                place,
                fixes: draw_fixes(draw, 1, 3),
            },
            44..=50 => Action::Erase {
                place,
                fix: draw_fix(draw),
                others: draw.byte(usize::from(OTHERS_MAX) + 1),
            },
            51..=59 => Action::Rush {
                place,
                fixes: draw_fixes(draw, 2, FIXES_MAX.into()),
            },
            60..=71 => Action::Pass { place, approach },
            72..=89 => Action::Check { place, approach },
            90..=93 => Action::List {
                place,
                limit: 1 + draw.byte(LISTED_MAX.into()),
            },
            _ => Action::Halt { place, approach },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (Action::Fail { place, .. }
        | Action::Rush { place, .. }
        | Action::Pass { place, .. }
        | Action::Check { place, .. }
        | Action::List { place, .. }
        | Action::Erase { place, .. }
        | Action::Halt { place, .. }) = action;
        place.check()?;
        match action {
            Action::Fail { fixes, .. } | Action::Rush { fixes, .. } => check_fixes(fixes),
            Action::List { limit, .. } if !(1..=LISTED_MAX).contains(limit) => {
                Err(format!("limit: {limit} is not from 1 to {LISTED_MAX}"))
            }
            Action::Erase { others, .. } if *others > OTHERS_MAX => {
                Err(format!("others: {others} is above {OTHERS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Fail { place, fixes } => {
                let task = open(agent, place).await;
                for fix in fixes {
                    record(agent, &task, fix).await;
                }
            }
            Action::Rush { place, fixes } => {
                let task = open(agent, place).await;
                rush(agent, &task, fixes).await;
            }
            Action::Pass { place, approach } => {
                let task = open(agent, place).await;
                let passed = material::judged(true, run(agent));
                agent.give(PrincipalKind::Orchestrator, &task, passed).await;
                asked::check(agent, &task, approach).await;
            }
            Action::Check { place, approach } => {
                asked::check(agent, &place.scope(), approach).await;
            }
            Action::List { place, limit } => asked::list(agent, &place.scope(), limit).await,
            Action::Erase { place, fix, others } => {
                let task = open(agent, place).await;
                erasing::erase(agent, &task, fix, others).await;
            }
            Action::Halt { place, approach } => {
                let task = open(agent, place).await;
                halt(agent, &task, approach).await;
            }
        }
    }
}

/// Opens a task, unless it is known to be open.
async fn open(agent: &mut Agent, place: Place) -> Scope {
    let task = place.scope();
    if !agent.shared(|opened: &mut Opened| opened.0.contains(&place)) {
        let open = Command::OpenTask {
            title: TITLE.to_owned(),
            description: DESCRIPTION.to_owned(),
        };
        // Another agent may have opened it meanwhile.
        agent.give(PrincipalKind::Agent, &task, open).await;
        agent.shared(|opened: &mut Opened| opened.0.insert(place));
    }
    task
}

/// The name of a run that nobody else gives.
fn run(agent: &mut Agent) -> String {
    let runs = agent.memory::<Runs>();
    runs.0 += 1;
    let number = runs.0;
    format!("fix {number} of {}", agent.number())
}

/// The command that records a fix which failed, with a word in it that is to be erased, if there is one.
fn failed(agent: &mut Agent, fix: Fix, word: Option<&str>) -> Command {
    let (error, approach) = said::told(fix, word);
    let text = approach.as_ref().map(|approach| approach.text.clone());
    let approach = approach.unwrap_or_default();
    Command::RecordFailure(Box::new(NewFailure {
        said: NewVerification {
            outcome: Outcome::Failed,
            source: VerificationSource::TestsFailed,
            run: run(agent),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error,
            approach: text,
            target: None,
        },
        files: approach.files,
        symbols: approach.symbols,
    }))
}

/// Records a failed fix.
async fn record(agent: &mut Agent, task: &Scope, fix: Fix) {
    let command = failed(agent, fix, None);
    let kind = PrincipalKind::Orchestrator;
    let answer = agent.give(kind, task, command).await;
    settle(agent, task, (fix, None), answer);
}

/// Records failed fixes, all at once.
async fn rush(agent: &mut Agent, task: &Scope, fixes: Vec<Fix>) {
    let mut recording = Vec::new();
    for fix in fixes {
        let command = failed(agent, fix, None);
        let mut client = agent.client().another();
        recording.push(async move {
            let principal = client.principal(PrincipalKind::Orchestrator, "org/sim");
            let (ended, _) = client.give(principal, task, command).await;
            (fix, ended.ok())
        });
    }
    for (fix, answer) in join_all(recording).await {
        settle(agent, task, (fix, None), answer);
    }
}

/// Notes what whoever recorded a failed fix was told, who said so of it, with the word that is to be erased. Gives the
/// verification, if there is one.
fn settle(
    agent: &mut Agent,
    task: &Scope,
    (fix, word): (Fix, Option<String>),
    answer: Option<Answer>,
) -> Option<VerificationId> {
    let Answer { seq, result, .. } = answer?;
    let AnswerBody::Failed { id, judged, .. } = result else {
        return None;
    };
    let seen = judged.and_then(|judged| seen_by(judged.reason));
    if let Some(seen) = seen {
        agent.client().saw(seen);
    }
    let note = Recorded {
        task: task.clone(),
        id,
        fix,
        word,
        seq,
        judged,
    };
    let note = serde_json::to_value(note).expect("a note is data");
    agent.note(RECORDED, note);
    agent.shared(|failed: &mut Failed| {
        let known = failed.0.entry(task.clone()).or_default();
        known.push(id);
    });
    Some(id)
}

/// What a judgement shows.
const fn seen_by(reason: ErrorReason) -> Option<&'static str> {
    match reason {
        ErrorReason::New | ErrorReason::Repeated => None,
        ErrorReason::CameBack => Some("error that came back warned of"),
        ErrorReason::TakesTurns => Some("errors that take turns blocked"),
        ErrorReason::TooOften => Some("error that came too often blocked"),
        ErrorReason::Stuck => Some("error in a stuck task blocked"),
    }
}

/// Marks a task as stuck, asks about an approach and has it fail meanwhile, and clears the mark, unless a pass has done so.
async fn halt(agent: &mut Agent, task: &Scope, approach: u8) {
    let mark = Command::MarkStuck {
        reason: "it goes round in circles".to_owned(),
    };
    // Only an open one is marked: another may have passed, or be stuck already.
    let marked = agent.give(PrincipalKind::Agent, task, mark).await;
    asked::check(agent, task, approach).await;
    if marked.is_some() {
        let fix = Fix {
            error: Some(approach),
            approach: Some(approach),
        };
        record(agent, task, fix).await;
        let kind = PrincipalKind::Orchestrator;
        agent.give(kind, task, Command::ClearStuck).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn what_is_drawn_can_be_done_and_comes_again_in_few_tasks() {
        let mut stream = Stream::new(1, "fixing", 0);
        let mut places = BTreeSet::new();
        let mut errors = BTreeSet::new();
        for before in 0..400 {
            let action = Fixing.draw(&mut Draw {
                stream: &mut stream,
                agent: 0,
                before,
                nodes: 3,
                projects: 12,
            });
            assert_eq!(Fixing.check_action(&action, 3), Ok(()));
            if let Action::Fail { place, fixes } | Action::Rush { place, fixes } = action {
                places.insert(place);
                errors.extend(fixes.iter().map(|fix| fix.error));
            }
        }
        assert_eq!(places.len(), usize::from(PROJECTS * TASKS));
        assert_eq!(errors.len(), ERROR_TEXTS + 1);
    }

    #[test]
    fn what_nobody_can_do_is_refused_with_its_field() {
        let place = Place {
            project: 1,
            task: 2,
        };
        let refused = |action: &Action| Fixing.check_action(action, 3).unwrap_err();
        let check = |place| Action::Check { place, approach: 0 };
        let project = check(Place {
            project: PROJECTS,
            ..place
        });
        assert_eq!(refused(&project), "place.project: 2 is not below 2");
        let task = check(Place {
            task: TASKS,
            ..place
        });
        assert_eq!(refused(&task), "place.task: 3 is not below 3");
        let fix = Fix {
            error: None,
            approach: None,
        };
        let fixes = vec![fix; 5];
        let many = Action::Rush { place, fixes };
        assert_eq!(refused(&many), "fixes: 5 is not from 1 to 4");
        let erase = Action::Erase {
            place,
            fix,
            others: 3,
        };
        assert_eq!(refused(&erase), "others: 3 is above 2");
        let list = Action::List { place, limit: 0 };
        assert_eq!(refused(&list), "limit: 0 is not from 1 to 64");
    }
}
