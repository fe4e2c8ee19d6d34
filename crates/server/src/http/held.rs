//! The way of what was recalled through the cognitive gate, where the server has the asker's work tree on its disk.
//!
//! Owns how many checks there are at once, and what follows from one in the background. What is checked is [`gate`]'s.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sillok_core::command::{Command, Submission};
use sillok_core::error::Error;
use sillok_core::id::{Attempt, CommandId, EntryId};
use sillok_core::scope::{Level, Scope};
use sillok_gate::{Budget, Gate};
use tokio::sync::{Semaphore, oneshot};

use super::App;
use super::auth::Session;
use crate::api::{RecallAnswer, ReportGate};
use crate::gate::{self, Displaced};
use crate::system::random;

/// Checks that are under way at once. Others wait for their turn.
const CHECKS_MAX: usize = 4;
/// How long an answer waits for its turn and its check. Then it is given as it is, and says so; what is under way goes on,
/// keeps its turn, and is known to the next one.
const HELD_MAX: Duration = Duration::from_millis(250);
/// Looks at main branches that are under way at once. Where there is no room the next recall has one more.
const LOOKS_MAX: usize = 2;

/// The turns of checks and looks.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    checks: Arc<Semaphore>,
    looks: Arc<Semaphore>,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
        }
    }
}

/// The work tree that an answer is held against.
struct Held {
    root: PathBuf,
    gate: Arc<Gate>,
}

impl App {
    /// What was recalled in a scope, held against the work tree that the server follows for it, where it does and the asker wants
    /// that. What is gone or moved there is reported as the asker's word, if it stands in a task.
    pub(super) async fn held(
        &self,
        session: Arc<Session>,
        (scope, asked): (Scope, Option<bool>),
        answer: RecallAnswer,
    ) -> RecallAnswer {
        let Some((root, gate)) = self.code().gate(&scope, asked) else {
            return answer;
        };
        let of = Held {
            root: root.to_owned(),
            gate: Arc::clone(gate),
        };
        let checks = Arc::clone(&self.gates().checks);
        let checked = checked(checks, Arc::clone(&of.gate), answer.clone());
        let Ok(checked) = tokio::time::timeout(HELD_MAX, checked).await else {
            return RecallAnswer {
                unchecked: true,
                ..answer
            };
        };
        let Some((held, displaced)) = checked else {
            return answer;
        };
        if !displaced.is_empty() {
            self.look_on(session, scope, of, displaced);
        }
        held
    }

    /// Looks in the background for what was not looked for everywhere, which the next answer knows, and whether what is displaced
    /// is so at the main branch as well, which is reported for a task.
    fn look_on(&self, session: Arc<Session>, scope: Scope, of: Held, displaced: Displaced) {
        let Ok(turn) = Arc::clone(&self.gates().looks).try_acquire_owned() else {
            return;
        };
        let (tell, told) = oneshot::channel();
        // On a thread of its own: a server that ends does not wait for it.
        let looking = std::thread::Builder::new().spawn(move || {
            let _turn = turn;
            let displaced = gate::look_on(displaced, &of.gate, Budget::WHOLE);
            if scope.level() != Level::Task {
                return;
            }
            let reports = gate::reports(&of.root, &displaced, &scope, Budget::WHOLE);
            let reports = reports.inspect_err(|error| {
                tracing::debug!(%error, "what is displaced is not looked for at a main branch");
            });
            // Nobody waits for it where the server ends.
            let _unheard = tell.send(reports.unwrap_or_default());
        });
        if looking.is_err() {
            return;
        }
        let app = self.clone();
        tokio::spawn(async move {
            for report in told.await.unwrap_or_default() {
                if let Err(error) = app.take_down(&session, report).await {
                    tracing::debug!(%error, "what the gate found is not taken down");
                }
            }
        });
    }

    async fn take_down(&self, session: &Session, report: ReportGate) -> Result<(), Error> {
        let entry: EntryId = report.entry.parse()?;
        let Some(view) = self.reader().entry(entry).await? else {
            return Ok(());
        };
        let mut bytes = [0; 10];
        random(&mut bytes);
        let submission = Submission {
            scope: view.head.scope,
            principal: session.principal.clone(),
            id: CommandId::from_parts(self.clock().now(), bytes),
            attempt: Attempt::FIRST,
            command: Command::ReportGate(Box::new(report.parse(entry)?)),
        };
        self.node().submit(submission).await.map(drop)
    }
}

/// An answer as it holds against a work tree, once it is its turn.
async fn checked(
    checks: Arc<Semaphore>,
    gate: Arc<Gate>,
    mut answer: RecallAnswer,
) -> Option<(RecallAnswer, Displaced)> {
    let turn = checks.acquire_owned().await.ok()?;
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let displaced = gate::hold(&mut answer, &gate, Budget::ANSWER);
        (answer, displaced)
    });
    // A panic in there is one of ours: nothing is said of the results, as without a work tree.
    checked.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_answer_waits_for_checks_that_never_end() {
        let checks = Arc::new(Semaphore::new(0));
        let gate = Arc::new(Gate::without_tree());
        let answer: RecallAnswer =
            serde_json::from_str(r#"{"results":[],"tokens":0,"left_out":0,"by_meaning":true}"#)
                .unwrap();
        let waits = checked(checks, gate, answer);
        assert!(tokio::time::timeout(HELD_MAX, waits).await.is_err());
    }
}
