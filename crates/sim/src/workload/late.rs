//! Late retries: an agent sends an earlier command of its own once more, long after its answer, and
//! must get the same answer. Once what it wrote was erased, that is without a hash of it.

use serde::{Deserialize, Serialize};
use sillok_core::command::{Answer, CommandRecord, Digest};
use sillok_core::invariants::Invariant;

use crate::agent::Agent;
use crate::violation::Violation;
use crate::workload::{Check, Draw, End, Workload};

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct LateRetries;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends a command again.
    Again {
        /// Which, counted from the first.
        number: u16,
    },
}

impl Workload for LateRetries {
    type Action = Action;

    fn name(&self) -> &'static str {
        "late retries"
    }

    fn share(&self) -> u32 {
        60
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let number = draw.stream.index(usize::from(draw.before.max(1)));
        Action::Again {
            number: u16::try_from(number).expect("as many as before"),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Again { number } = action;
        // Those that were refused, or never sent, have no answer to be repeated.
        let Some((sent, before)) = agent.answered(usize::from(number)) else {
            return;
        };
        let now = agent.client().give_again(&sent).await;
        if now.as_ref() == Ok(&before) || now == Ok(without_hashes(&before)) {
            agent.client().saw("repeat answered from its record");
        } else {
            agent.client().complain(&sent, format!("{now:?}"));
        }
    }
}

/// What a command is answered with once what it wrote was erased.
fn without_hashes(answer: &Answer) -> Answer {
    let record = CommandRecord::Applied {
        digest: Digest::ERASED,
        answer: answer.clone(),
    };
    match record.rest() {
        CommandRecord::Applied { answer, .. } => answer,
        CommandRecord::Aborted { .. } => unreachable!("it was applied"),
    }
}

impl Check for LateRetries {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        match end.history.complaints.first() {
            None => Ok(()),
            Some(complaint) => Err(Violation::new(
                Invariant::AppliedOnce.as_str(),
                complaint.clone(),
            )),
        }
    }
}
