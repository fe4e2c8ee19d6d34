//! The orchestrator's side of `end_task`, beside a server: each project's command is run when an agent asks for the end of its
//! task.
//!
//! Owns which requests are taken up, and that each is answered. How a command is run is [`execution`]'s, and what its outcome is
//! recorded as, [`verification`]'s: this is `sillok verify`, with the command and the work tree that the configuration names,
//! under a token of its own that is minted for each run. What is left of a task that passed is `went`'s. An agent only asks:
//! neither the command nor the outcome is its to say.

mod went;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::to_raw_value;
use sillok_core::circular::{Approach, Language};
use sillok_core::error::ErrorCode;
use sillok_core::event::EventKind;
use sillok_core::id::RecordId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::verification::{Outcome as Ended, check_approach};
use sillok_mcp::ending::{
    ANSWERED, EndAnswer, EndRequest, OUTPUT_BYTES_MAX, Outcome, REQUESTED, may_answer,
};
use sillok_server::api::{
    AppendMemoryEvent, Appended, EventView, ListQuery, MintToken, TailItem, TailQuery,
};
use sillok_server::config::ProjectVerification;
use tokio::sync::mpsc;

use crate::args::Touched;
use crate::client::{Client, now};
use crate::execution::{self, Echo, Execution};
use crate::failure::{EXIT_RETRY, Failure};
use crate::git;
use crate::output::note;
use crate::verification::{self, Recorded, Verdict};

/// Requests of one project that wait at one time. More are found again once these are answered.
const WAITING_MAX: usize = 256;
/// How long is waited until a tail that ended is opened anew.
const PAUSE: Duration = Duration::from_secs(2);
/// A request that is older was made before anybody could answer it, and nobody waits for it any more.
const REQUEST_AGE_MS_MAX: u64 = 60 * 60 * 1_000;
/// How long a token counts beyond the time that a command may take.
const TOKEN_SPARED_S: u64 = 600;
/// Records that are looked through at once for an answer, and how often.
const PAGE_ROWS: usize = 1_000;
const PAGES_MAX: usize = 100;

/// Follows one project, and answers what its agents ask.
pub struct Ending {
    /// Speaks as the administrator, who mints the tokens of runs.
    client: Client,
    project: ProjectVerification,
    language: Language,
    /// Holds how far the project was followed.
    cursor_file: PathBuf,
}

impl Ending {
    /// Who answers the agents of `project`, and keeps how far it came in `folder`.
    #[must_use]
    pub fn new(
        client: Client,
        project: ProjectVerification,
        language: Language,
        folder: &Path,
    ) -> Self {
        let name = blake3::hash(project.scope.to_string().as_bytes()).to_hex();
        Self {
            client,
            project,
            language,
            cursor_file: folder.join(format!("verification-{}.cursor", &name[..16])),
        }
    }

    /// Answers for ever. Requests of a project are answered one after the other: they share its work trees.
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
        let (asked, mut waiting) = mpsc::channel(WAITING_MAX);
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
            asked.try_send(item).map_err(full)
        });
        let answers = async move {
            while let Some(item) = waiting.recv().await {
                Box::pin(self.answer(&item)).await?;
                std::fs::write(&self.cursor_file, &item.cursor)
                    .map_err(Failure::io("how far a project was followed cannot be kept"))?;
            }
            Ok(())
        };
        let mut answers = std::pin::pin!(answers);
        let followed = tokio::select! {
            answered = &mut answers => return answered,
            followed = tail => followed,
        };
        // A command that runs is let run to its end, also where the tail is lost.
        answers.await.and(followed)
    }

    /// Answers a request, unless it was or is too old.
    async fn answer(&self, item: &TailItem) -> Result<(), Failure> {
        let event = &item.event;
        let age_ms = now().ms().saturating_sub(event.time.ms());
        if age_ms > REQUEST_AGE_MS_MAX || self.is_answered(event).await? {
            return Ok(());
        }
        let token = MintToken {
            scope: self.project.scope.to_string(),
            kind: PrincipalKind::Orchestrator,
            id: "verification".to_owned(),
            lifetime_s: self.project.timeout_s + TOKEN_SPARED_S,
        };
        let minted = self.client.mint_token(&token).await?;
        let orchestrator = self.client.with_token(&minted.token);
        let answer = match self.verified(&orchestrator, event).await {
            Ok(answer) => answer,
            Err(failure) if failure.exit_status() == EXIT_RETRY => return Err(failure),
            Err(failure) => unrun(event, &failure.to_string()),
        };
        let body = AppendMemoryEvent {
            scope: event.scope.to_string(),
            event_type: ANSWERED.to_owned(),
            payload: to_raw_value(&answer).expect("plain data is JSON"),
            time: None,
        };
        let appended: Result<Appended, _> = orchestrator.write("/v1/memory-events", &body).await;
        match appended {
            Ok(_) if answer.outcome == Outcome::Passed => {
                self.leave(&orchestrator, event).await;
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(failure) if failure.exit_status() == EXIT_RETRY => Err(failure),
            // Such as to a task that was archived: nobody is told, and the others are not held up.
            Err(failure) => {
                note(&format!(
                    "a request of {} is not answered: {failure}",
                    event.scope
                ));
                Ok(())
            }
        }
    }

    /// Stores how the task was gone about, for whoever comes after. The agent was answered: where that cannot be, the task has
    /// passed all the same.
    async fn leave(&self, orchestrator: &Client, event: &EventView) {
        let stored = match self.asked(event).await {
            Ok(asked) => went::store(orchestrator, event, &asked).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = stored {
            let task = &event.scope;
            note(&format!(
                "how {task} was gone about is not stored: {failure}"
            ));
        }
    }

    async fn is_answered(&self, event: &EventView) -> Result<bool, Failure> {
        let mut query = ListQuery {
            scope: event.scope.to_string(),
            after: Some(event.seq.get().to_string()),
            limit: Some(PAGE_ROWS),
        };
        for _ in 0..PAGES_MAX {
            let page = self.client.records(&query).await?;
            let answers = page.items.iter().any(|record| {
                let is_answer = record.event_type.as_deref() == Some(ANSWERED);
                is_answer
                    && may_answer(record.author.kind)
                    && serde_json::from_str::<EndAnswer>(&record.content)
                        .is_ok_and(|answer| answer.request == event.seq.get())
            });
            if answers || page.next.is_none() {
                return Ok(answers);
            }
            query.after = page.next;
        }
        Ok(false)
    }

    /// Runs the command, and records how it ended.
    async fn verified(
        &self,
        orchestrator: &Client,
        event: &EventView,
    ) -> Result<EndAnswer, Failure> {
        let (task, request) = (&event.scope, event.seq.get());
        let Some(directory) = self.directory(task) else {
            let why = format!("{task} lies in no worktree that there is a directory for");
            return Ok(unrun(event, &why));
        };
        let asked = self.asked(event).await?;
        let commit = git::head(&directory);
        let ran = self.execute(&directory).await?;
        let (approach, touched) = tried(asked);
        let verdict = Verdict {
            task,
            run: format!("end-{task}#{request}"),
            commit,
            approach,
            touched,
            target: None,
        };
        let recorded = verification::record(orchestrator, &ran, verdict).await?;
        Ok(self.told(request, &ran, recorded))
    }

    /// The work tree of a task, if there is one.
    fn directory(&self, task: &Scope) -> Option<PathBuf> {
        let path = task.to_string();
        let directory = self.project.directory_of(path.split('/').nth(5)?);
        directory.is_dir().then_some(directory)
    }

    /// What the agent said. It is large where it names much: then the event does not show it.
    async fn asked(&self, event: &EventView) -> Result<EndRequest, Failure> {
        let shown = event.body["content"].as_str().map(str::to_owned);
        let content = match shown {
            Some(content) => content,
            None => {
                let id = RecordId {
                    scope: event.scope.clone(),
                    seq: event.seq,
                };
                self.client.record(&id).await?.content
            }
        };
        // A form that somebody else gave it says nothing of the approach.
        Ok(serde_json::from_str(&content).unwrap_or_default())
    }

    /// A run that does not end in time has failed: what hangs is no success.
    async fn execute(&self, directory: &Path) -> Result<Execution, Failure> {
        let timeout_s = self.project.timeout_s;
        let running = execution::run(&self.project.command, directory, Echo::Silent);
        let in_time = tokio::time::timeout(Duration::from_secs(timeout_s), running).await;
        in_time.unwrap_or_else(|_| {
            Ok(Execution {
                command: self.project.command.join(" "),
                exit_status: None,
                ending: format!("no end within {timeout_s} s"),
                passed: false,
                output: String::new(),
                duration_ms: timeout_s * 1_000,
            })
        })
    }

    fn told(&self, request: u64, ran: &Execution, recorded: Recorded) -> EndAnswer {
        let output = &ran.output;
        let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
        let report = recorded.promotion.report;
        EndAnswer {
            request,
            outcome: match recorded.outcome {
                Ended::Passed => Outcome::Passed,
                Ended::Failed => Outcome::Failed,
            },
            verification: Some(recorded.verification.to_string()),
            command: ran.command.clone(),
            output: format!("{}\n{}", &output[start..], ran.ending),
            snapshot: Some(recorded.snapshot.to_string()),
            verdict: recorded.judged.map(|judged| judged.verdict),
            language: self.language,
            published: report.map_or(0, |report| report.created),
        }
    }
}

/// What was tried, as the agent says. What no failure can hold is left out: it would keep the failure from being recorded.
fn tried(asked: EndRequest) -> (Option<String>, Touched) {
    let said = Approach {
        text: asked.approach.unwrap_or_default(),
        files: asked.files,
        symbols: asked.symbols,
    };
    if check_approach(&said).is_err() {
        return (None, Touched::default());
    }
    let touched = Touched {
        files: said.files,
        symbols: said.symbols,
    };
    (Some(said.text), touched)
}

fn asks(event: &EventView) -> bool {
    event.body["event_type"] == REQUESTED
}

fn unrun(event: &EventView, why: &str) -> EndAnswer {
    EndAnswer {
        request: event.seq.get(),
        outcome: Outcome::Unrun,
        verification: None,
        command: String::new(),
        output: why.to_owned(),
        snapshot: None,
        verdict: None,
        language: Language::default(),
        published: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::RetryPolicy;

    fn ending(command: &[&str], directory: PathBuf, timeout_s: u64) -> Ending {
        let project = ProjectVerification {
            scope: Scope::parse("org/a/project/b").unwrap(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            directory,
            timeout_s,
        };
        let client = Client::new("http://127.0.0.1:1", None, RetryPolicy::default()).unwrap();
        Ending::new(client, project, Language::English, Path::new("/data"))
    }

    #[test]
    fn a_task_is_verified_in_the_work_tree_of_its_worktree() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("main")).unwrap();
        let ending = ending(&["true"], folder.path().join("{worktree}"), 1);
        let task = |worktree: &str| {
            let path = format!("org/a/project/b/worktree/{worktree}/task/t");
            Scope::parse(&path).unwrap()
        };
        let main = ending.directory(&task("main"));
        assert_eq!(main, Some(folder.path().join("main")));
        assert_eq!(ending.directory(&task("other")), None);
        assert_eq!(
            ending.directory(&Scope::parse("org/a/project/b").unwrap()),
            None
        );
    }

    #[test]
    fn what_no_failure_can_hold_keeps_none_from_being_recorded() {
        let asked = |approach: &str, files: usize| EndRequest {
            summary: "s".to_owned(),
            approach: Some(approach.to_owned()),
            files: vec!["src/a.rs".to_owned(); files],
            ..EndRequest::default()
        };
        let (approach, touched) = tried(asked("lock by row", 64));
        assert_eq!(approach.as_deref(), Some("lock by row"));
        assert_eq!(touched.files.len(), 64);
        let long = "x".repeat(1 << 20);
        for wrong in [asked("lock by row", 65), asked(" ", 1), asked(&long, 1)] {
            let (approach, touched) = tried(wrong);
            assert!(approach.is_none() && touched.files.is_empty());
        }
    }

    #[tokio::test]
    async fn what_hangs_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let ending = ending(&["sleep", "60"], folder.path().to_owned(), 1);
        let ran = ending.execute(folder.path()).await.unwrap();
        assert!(
            !ran.passed && ran.ending.contains("no end within 1 s"),
            "{ran:?}"
        );
    }
}
