//! The orchestrator's side of `end_task`, beside a server: each project's command is run when an agent asks for the end of its
//! task.
//!
//! Owns which requests are taken up, in which order, and how far a project was followed. How one is answered, and how
//! a command is run, lies below and beside. An agent only asks: neither the command nor the outcome is its to say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sillok_core::circular::Language;
use sillok_core::error::ErrorCode;
use sillok_core::event::EventKind;
use sillok_core::time::Timestamp;
use sillok_mcp::ending::REQUESTED;
use sillok_server::api::{EventView, TailQuery};
use sillok_server::config::{ProjectVerification, VerificationUser};
use tokio::sync::mpsc;

use crate::client::{Client, now};
use crate::execution::apart::Apart;
use crate::failure::Failure;
use crate::output::note;

mod answer;
mod commands;
mod patience;
mod queue;
mod went;

use queue::Queue;

/// Requests of one project that have come and are not looked at yet. More are found again once these are answered.
const COME_MAX: usize = 256;
/// How long is waited until a tail that ended is opened anew.
const PAUSE: Duration = Duration::from_secs(2);

/// Follows one project, and answers what its agents ask.
pub struct Ending {
    /// Speaks as the administrator, who mints the tokens of runs.
    client: Client,
    project: ProjectVerification,
    apart: Apart,
    language: Language,
    /// Holds how far the project was followed.
    cursor_file: PathBuf,
    /// Since when somebody is here to answer.
    began: Timestamp,
}

impl Ending {
    /// Who answers the agents of `project`, runs its command as `user`, and keeps how far it came in `folder`.
    #[must_use]
    pub fn new(
        client: Client,
        project: ProjectVerification,
        user: Option<VerificationUser>,
        language: Language,
        folder: &Path,
    ) -> Self {
        let name = blake3::hash(project.scope.to_string().as_bytes()).to_hex();
        Self {
            client,
            apart: Apart::of(&project, user),
            project,
            language,
            cursor_file: folder.join(format!("verification-{}.cursor", &name[..16])),
            began: now(),
        }
    }

    /// Answers for ever. Runs of a project come one after the other: they share its work trees.
    pub async fn run(self) {
        loop {
            if let Err(failure) = self.follow().await {
                let scope = &self.project.scope;
                note(&format!(
                    "tasks of {scope} are not ended for now: {failure}"
                ));
                let is_void = [ErrorCode::HistoryChanged, ErrorCode::InvalidArgument];
                if failure.code().is_some_and(|code| is_void.contains(&code)) {
                    // The store was restored, or the file is none: what was read so far says nothing here.
                    let _ = std::fs::remove_file(&self.cursor_file);
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn follow(&self) -> Result<(), Failure> {
        let (come, mut coming) = mpsc::channel(COME_MAX);
        let query = TailQuery {
            scope: self.project.scope.to_string(),
            cursor: std::fs::read_to_string(&self.cursor_file).ok(),
            kind: Some(EventKind::RecordAppended.as_str().to_owned()),
        };
        let tail = self.client.tail(query, move |item| {
            if !asks(&item.event) {
                return Ok(());
            }
            let full = |_| Failure::Verdict("too many requests wait".to_owned());
            come.try_send(item).map_err(full)
        });
        let answers = async move {
            let mut queue = Queue::default();
            while queue.take(&mut coming).await {
                Box::pin(self.answer(&queue.first())).await;
                if let Some(cursor) = queue.answered() {
                    std::fs::write(&self.cursor_file, cursor)
                        .map_err(Failure::io("how far a project was followed cannot be kept"))?;
                }
            }
            Ok(())
        };
        let mut answers = std::pin::pin!(answers);
        let followed = tokio::select! {
            answered = &mut answers => return answered,
            followed = tail => followed,
        };
        // What has come is answered also where the tail is lost.
        answers.await.and(followed)
    }
}

fn asks(event: &EventView) -> bool {
    event.body["event_type"] == REQUESTED
}
