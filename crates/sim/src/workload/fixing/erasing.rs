//! Erasing what was said of fixes: an agent records one with a word in it, gives its promotion up, and has a person erase it,
//! alone or with some that failed in the task before, while others go on recording there.
//!
//! Owns that. That no row holds the word afterwards, [`crate::workload::erasing`] checks; what follows for errors and approaches,
//! `judged` and `point` do.

use sillok_core::command::{Answer, Command};
use sillok_core::erasure::EraseVerifications;
use sillok_core::id::VerificationId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;

use super::{Failed, Fix, failed, settle};
use crate::agent::Agent;
use crate::workload::erasing::{ERASED, has_erased, new_word};

impl Failed {
    /// The last ones of a task that are known to have failed.
    fn last(&self, task: &Scope, count: u8) -> Vec<VerificationId> {
        let known = self.0.get(task).into_iter().flatten().rev();
        known.take(usize::from(count)).copied().collect()
    }
}

/// Records a fix that failed in a task and has erased what it says, with so many others.
pub(super) async fn erase(agent: &mut Agent, task: &Scope, fix: Fix, others: u8) {
    let (number, word) = new_word(agent);
    let orchestrator = PrincipalKind::Orchestrator;
    let mut named = agent.shared(|failed: &mut Failed| failed.last(task, others));
    let command = failed(agent, fix, Some(&word));
    let answer = agent.give(orchestrator, task, command).await;
    let Some(id) = settle(agent, task, (fix, Some(word)), answer) else {
        return;
    };
    let drop = Command::DropPromotion {
        verification: id,
        reason: "nobody is to learn of it".to_owned(),
    };
    // Refused where it was published before: then the project says the word.
    let is_dropped = agent.give(orchestrator, task, drop).await.is_some();
    named.push(id);
    let mut answer = order(agent, task, named).await;
    if answer.is_none() && others > 0 {
        // The promotion of another one is under way.
        answer = order(agent, task, vec![id]).await;
    }
    if !has_erased(answer) {
        return;
    }
    agent.client().saw("verification erased");
    if is_dropped {
        agent.note(ERASED, number.into());
    }
    if others == 0 {
        // Whoever is not sure orders it again, and nothing is written.
        order(agent, task, vec![id]).await;
    }
}

/// Has a person erase what these verifications say.
async fn order(
    agent: &mut Agent,
    task: &Scope,
    verifications: Vec<VerificationId>,
) -> Option<Answer> {
    let erase = Command::EraseVerifications(Box::new(EraseVerifications {
        verifications,
        reason: "nobody is to read it".to_owned(),
    }));
    agent.give(PrincipalKind::Human, task, erase).await
}
