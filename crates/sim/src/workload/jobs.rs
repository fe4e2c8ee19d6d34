//! Jobs: promotions are given up while a worker may be carrying them out, and those that can only fail are
//! given up as well, or tried anew once they have halted.
//!
//! That nothing is published of what was dropped, and nothing dropped of what is published, the audit sees.

use serde::{Deserialize, Serialize};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::id::VerificationId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;

use crate::agent::Agent;
use crate::ports::HOPELESS;
use crate::workload::material::{judged, text_of};
use crate::workload::staging::record;
use crate::workload::{Draw, Workload};

/// The longest wait before a promotion is dropped, in ms: about as long as most take.
const DROP_AFTER_MS_MAX: u16 = 500;
/// How often somebody asks whether a promotion has halted, and the wait before each, in ms: together
/// longer than all attempts take where nothing else goes wrong.
const LOOKS: u32 = 40;
const LOOK_MS: u64 = 1_000;
/// How long a promotion that can only fail is tried before it is given up, in ms.
const GIVE_UP_MS: u64 = 2_000;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Jobs;

/// Whether an agent has started a promotion that can only fail.
#[derive(Default)]
struct Halted(bool);

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Has the newest task judged, and gives the promotion up after so many ms.
    Drop {
        /// Whether it passed.
        passed: bool,
        /// How long the promotion has.
        after_ms: u16,
    },
    /// Has a task judged whose promotion can only fail, once for each agent.
    Halt {
        /// Whether it is given up after some attempts; otherwise what it fails at is mended once it has
        /// halted, which takes half a minute, and it is tried anew.
        gives_up: bool,
    },
}

impl Workload for Jobs {
    type Action = Action;

    fn name(&self) -> &'static str {
        "jobs"
    }

    fn share(&self) -> u32 {
        20
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        if draw.stream.permille(50) {
            return Action::Halt {
                gives_up: draw.stream.permille(500),
            };
        }
        let after_ms = draw.stream.between(0, u64::from(DROP_AFTER_MS_MAX));
        Action::Drop {
            passed: draw.stream.permille(800),
            after_ms: u16::try_from(after_ms).expect("below a second"),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Drop { after_ms, .. } if *after_ms > DROP_AFTER_MS_MAX => {
                Err(format!("after_ms: {after_ms} is above {DROP_AFTER_MS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Drop { passed, after_ms } => {
                let task = agent.task();
                if let Some(id) = verify(agent, &task, passed).await {
                    agent.client().sleep(u64::from(after_ms)).await;
                    give_up(agent, &task, id).await;
                }
            }
            Action::Halt { gives_up } => {
                if !std::mem::replace(&mut agent.memory::<Halted>().0, true) {
                    halt(agent, gives_up).await;
                }
            }
        }
    }
}

async fn verify(agent: &mut Agent, task: &Scope, passed: bool) -> Option<VerificationId> {
    let run = format!("job {} of {}", agent.sent_count(), agent.number());
    let kind = PrincipalKind::Orchestrator;
    let answer = agent.give(kind, task, judged(passed, run)).await?;
    match answer.result {
        AnswerBody::Verification { id, .. } => Some(id),
        _ => None,
    }
}

async fn give_up(agent: &mut Agent, task: &Scope, id: VerificationId) {
    let drop = Command::DropPromotion {
        verification: id,
        reason: "nobody needs it".into(),
    };
    let answer = agent.give(PrincipalKind::Orchestrator, task, drop).await;
    agent.client().saw(match answer {
        Some(_) => "promotion dropped",
        None => "promotion that was to be dropped published before",
    });
}

async fn halt(agent: &mut Agent, gives_up: bool) {
    let number = u8::try_from(agent.number() % 256).expect("it is below 256");
    // A task of its own: what others say of the newest one must not wait for this.
    let task = agent.task_apart("hopeless");
    let open = Command::OpenTask {
        title: format!("{HOPELESS} of {}", task.as_str()),
        description: "Make the cognifier fail.".into(),
    };
    let append = Command::Append {
        records: vec![record(text_of(number).to_owned())],
    };
    agent.give(PrincipalKind::Agent, &task, open).await;
    agent.give(PrincipalKind::Agent, &task, append).await;
    let Some(id) = verify(agent, &task, true).await else {
        return;
    };
    if gives_up {
        agent.client().sleep(GIVE_UP_MS).await;
        return give_up(agent, &task, id).await;
    }
    // The agent goes on meanwhile: that the promotion ends, the world waits for.
    let mut operator = agent.client().another();
    tokio::spawn(async move {
        operator.halted(&task, id, LOOKS, LOOK_MS).await;
        operator.mend(&task);
        // One that has not halted by now goes on by itself, or halts at an attempt that began before.
        for _ in 0..LOOKS {
            if operator.retry(&task, id).await {
                operator.saw("halted promotion tried anew");
            }
            if operator.published(&task, id, 1).await.is_some() {
                return;
            }
        }
    });
}
