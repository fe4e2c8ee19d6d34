//! How requests are answered: by one run of the project's command, whose true outcome is recorded once.
//!
//! Owns that each request gets an answer, and that what was run is not run again because it could not be recorded at once. This
//! is `sillok verify`, with the command and the work tree that the configuration names, under a token of its own that counts for
//! this run. Which requests there are is its caller's; what is left of a task that passed, `went`'s.

use std::path::PathBuf;

use serde_json::value::to_raw_value;
use sillok_core::circular::{Approach, Language};
use sillok_core::error::ErrorCode;
use sillok_core::id::{RecordId, VerificationId};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::verification::{Outcome as Ended, check_approach};
use sillok_mcp::ending::{ANSWERED, EndAnswer, EndRequest, OUTPUT_BYTES_MAX, Outcome, may_answer};
use sillok_server::api::{
    AppendMemoryEvent, Appended, Citation, EventView, ListQuery, MintToken, PromotionState,
    RevokeToken, VerificationView,
};

use super::patience::patiently;
use super::{Ending, commands, went};
use crate::args::Touched;
use crate::client::Client;
use crate::execution::Execution;
use crate::failure::Failure;
use crate::here::Here;
use crate::output::note;
use crate::verification::{self, Places, Verdict, Written};

/// A request that is older than this when somebody begins to answer: whoever asked waits no more, and the tree is another one.
const REQUEST_AGE_MS_MAX: u64 = 60 * 60 * 1_000;
/// How long a token counts beyond the time that a command may take.
const TOKEN_SPARED_S: u64 = 600;
/// Records that are looked through at once for an answer, and how often.
const PAGE_ROWS: usize = 1_000;
const PAGES_MAX: usize = 100;
/// How long an answer waits for what a verification publishes. Whoever waits for more reads the promotion.
const PUBLISHED_WAIT_MS: u64 = 10_000;

impl Ending {
    /// Answers requests of one task, the earlier one first, but for those that are answered. What cannot be asked or told is
    /// noted, and holds nobody up.
    pub(super) async fn answer(&self, asked: &[EventView]) {
        let mut open = Vec::new();
        for event in asked {
            match patiently(|| is_answered(&self.client, event)).await {
                Ok(true) => {}
                Ok(false) => open.push(event),
                Err(failure) => passed_over(event, &failure),
            }
        }
        if open.is_empty() {
            return;
        }
        let token = MintToken {
            scope: self.project.scope.to_string(),
            kind: PrincipalKind::Orchestrator,
            id: "verification".to_owned(),
            lifetime_s: self.project.timeout_s + TOKEN_SPARED_S,
        };
        let minted = match patiently(|| self.client.mint_token(&token)).await {
            Ok(minted) => minted,
            Err(failure) => {
                open.iter().for_each(|event| passed_over(event, &failure));
                return;
            }
        };
        let orchestrator = self.client.with_token(&minted.token);
        Box::pin(self.answer_as(&orchestrator, &open)).await;
        let revoke = RevokeToken {
            id: minted.id.to_string(),
        };
        if let Err(failure) = self.client.revoke_token(&revoke).await {
            note(&format!(
                "the token of a run counts until it expires: {failure}"
            ));
        }
    }

    async fn answer_as(&self, orchestrator: &Client, open: &[&EventView]) {
        let (old, fresh): (Vec<&EventView>, Vec<&EventView>) =
            open.iter().copied().partition(|event| self.is_old(event));
        let why = "it was asked before anybody was there to answer, too long ago. Ask again.";
        tell(orchestrator, &old, &unrun(why)).await;
        // A process that ended before it could tell what it had recorded is no reason to run the command again.
        let rest = match patiently(|| self.recorded(orchestrator, &fresh)).await {
            Ok(Some((asked, answer))) => {
                let (known, rest) = fresh.split_at(asked);
                tell(orchestrator, known, &answer).await;
                self.leave(orchestrator, known.last(), &answer).await;
                rest
            }
            Ok(None) => fresh.as_slice(),
            Err(failure) => {
                tell(orchestrator, &fresh, &unrun(&failure.to_string())).await;
                return;
            }
        };
        // The last one is answered last: where that is found unanswered, so is its run.
        if let Some(last) = rest.last() {
            let answer = Box::pin(self.verified(orchestrator, last)).await;
            tell(orchestrator, rest, &answer).await;
            self.leave(orchestrator, Some(last), &answer).await;
        }
    }

    /// Stores how a task was gone about that passed, for whoever comes after. The agent was answered: where that cannot be, the
    /// task has passed all the same.
    async fn leave(&self, orchestrator: &Client, last: Option<&&EventView>, answer: &EndAnswer) {
        let Some(event) = last.filter(|_| answer.outcome == Outcome::Passed) else {
            return;
        };
        let stored = match patiently(|| asked_of(&self.client, event)).await {
            Ok(asked) => patiently(|| went::store(orchestrator, event, &asked)).await,
            Err(failure) => Err(failure),
        };
        match stored {
            Ok(()) => {}
            // It was stored before, when more or less stood around it.
            Err(failure) if failure.code() == Some(ErrorCode::CommandReused) => {}
            Err(failure) => {
                let task = &event.scope;
                note(&format!(
                    "how {task} was gone about is not stored: {failure}"
                ));
            }
        }
    }

    fn is_old(&self, event: &EventView) -> bool {
        self.began.ms().saturating_sub(event.time.ms()) > REQUEST_AGE_MS_MAX
    }

    /// The answer that follows from what is recorded for the last of these that there is anything of, and how many it answers.
    async fn recorded(
        &self,
        orchestrator: &Client,
        asked: &[&EventView],
    ) -> Result<Option<(usize, EndAnswer)>, Failure> {
        let Some(first) = asked.first() else {
            return Ok(None);
        };
        let recorded = orchestrator.verifications(&first.scope).await?.items;
        let of = |event: &EventView| {
            let run = run_of(event);
            recorded.iter().find(|one| one.run == run)
        };
        let found = asked.iter().enumerate().rev();
        let mut found = found.filter_map(|(place, event)| Some((place + 1, of(event)?)));
        Ok(found
            .next()
            .map(|(asked, one)| (asked, self.told_again(one))))
    }

    /// Runs the command, and records how it ended.
    async fn verified(&self, orchestrator: &Client, event: &EventView) -> EndAnswer {
        let task = &event.scope;
        let Some(directory) = self.directory(task) else {
            let why = format!("{task} lies in no worktree that there is a directory for");
            return unrun(&why);
        };
        let asked = match patiently(|| asked_of(&self.client, event)).await {
            Ok(asked) => asked,
            Err(failure) => return unrun(&failure.to_string()),
        };
        let here = Here::looked(directory.clone()).await;
        let ran = match self.apart.run(&self.project.command, &directory).await {
            Ok(ran) => ran,
            Err(failure) => return unrun(&failure.to_string()),
        };
        let (approach, touched) = tried(asked);
        let verdict = Verdict {
            task,
            run: run_of(event),
            places: Places::of(here, &ran, approach.as_deref()).await,
            approach,
            touched,
            target: None,
        };
        let commands = commands::recording(event, &ran);
        let written =
            patiently(|| verification::write(orchestrator, &ran, &verdict, commands)).await;
        match written {
            Ok(written) => {
                let published = published(orchestrator, task, &written).await;
                self.told(&ran, written, published)
            }
            Err(failure) => self.unwritten(orchestrator, event, &ran, &failure).await,
        }
    }

    /// The answer where a run could not be recorded: somebody else has, or it is told.
    async fn unwritten(
        &self,
        orchestrator: &Client,
        event: &EventView,
        ran: &Execution,
        failure: &Failure,
    ) -> EndAnswer {
        if failure.code() == Some(ErrorCode::CommandReused)
            && let Ok(Some((_, answer))) = self.recorded(orchestrator, &[event]).await
        {
            return answer;
        }
        let ended = &ran.ending;
        unrun(&format!(
            "it ended with {ended}, which could not be recorded ({failure}). Ask again."
        ))
    }

    /// The work tree of a task, if there is one.
    fn directory(&self, task: &Scope) -> Option<PathBuf> {
        let path = task.to_string();
        let directory = self.project.directory_of(path.split('/').nth(5)?);
        directory.is_dir().then_some(directory)
    }

    fn told(&self, ran: &Execution, written: Written, published: Option<usize>) -> EndAnswer {
        let judged = written.verification.judged;
        EndAnswer {
            request: 0,
            outcome: outcome_of(written.outcome),
            verification: Some(written.verification.verification.to_string()),
            command: ran.command.clone(),
            output: format!("{}\n{}", end_of(&ran.output), ran.ending),
            snapshot: Some(written.snapshot.to_string()),
            verdict: judged.map(|judged| judged.verdict),
            language: self.language,
            published,
        }
    }

    /// What is known of a run whose process ended before it told of it.
    fn told_again(&self, one: &VerificationView) -> EndAnswer {
        let snapshot = one.citations.iter().find_map(|citation| match citation {
            Citation::TerminalSnapshot { id } => Some(id.clone()),
            _ => None,
        });
        EndAnswer {
            request: 0,
            outcome: outcome_of(one.outcome),
            verification: Some(one.id.to_string()),
            command: self.project.command.join(" "),
            output: end_of(one.error.as_deref().unwrap_or_default()).to_owned(),
            snapshot,
            verdict: None,
            language: self.language,
            published: None,
        }
    }
}

/// The run that answers a request, and those before it that wait.
fn run_of(event: &EventView) -> String {
    format!("end-{}#{}", event.scope, event.seq.get())
}

const fn outcome_of(ended: Ended) -> Outcome {
    match ended {
        Ended::Passed => Outcome::Passed,
        Ended::Failed => Outcome::Failed,
    }
}

fn end_of(output: &str) -> &str {
    &output[output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX))..]
}

/// How much was published, where that is known soon.
async fn published(client: &Client, task: &Scope, written: &Written) -> Option<usize> {
    let id: VerificationId = written.verification.verification;
    let promotion = client.promotion_within(task, id, PUBLISHED_WAIT_MS).await;
    let promotion = promotion.ok()?;
    let is_over = promotion.state != PromotionState::Pending;
    is_over.then(|| promotion.report.map_or(0, |report| report.created))
}

async fn is_answered(client: &Client, event: &EventView) -> Result<bool, Failure> {
    let mut query = ListQuery {
        scope: event.scope.to_string(),
        after: Some(event.seq.get().to_string()),
        limit: Some(PAGE_ROWS),
    };
    for _ in 0..PAGES_MAX {
        let page = client.records(&query).await?;
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

/// What the agent said. It is large where it names much: then the event does not show it.
async fn asked_of(client: &Client, event: &EventView) -> Result<EndRequest, Failure> {
    let shown = event.body["content"].as_str().map(str::to_owned);
    let content = match shown {
        Some(content) => content,
        None => {
            let id = RecordId {
                scope: event.scope.clone(),
                seq: event.seq,
            };
            client.record(&id).await?.content
        }
    };
    // A form that somebody else gave it says nothing of the approach.
    Ok(serde_json::from_str(&content).unwrap_or_default())
}

/// Tells each of these the same, in their order.
async fn tell(orchestrator: &Client, asked: &[&EventView], answer: &EndAnswer) {
    for event in asked {
        let answer = EndAnswer {
            request: event.seq.get(),
            ..answer.clone()
        };
        let body = AppendMemoryEvent {
            scope: event.scope.to_string(),
            event_type: ANSWERED.to_owned(),
            payload: to_raw_value(&answer).expect("plain data is JSON"),
            time: None,
            bound: None,
        };
        let command = commands::answer(event);
        let append = || orchestrator.write_as::<Appended>(command, "/v1/memory-events", &body);
        match patiently(append).await {
            Ok(_) => {}
            // It was answered otherwise before.
            Err(failure) if failure.code() == Some(ErrorCode::CommandReused) => {}
            // Such as to a task that was archived: nobody is told, and the others are not held up.
            Err(failure) => passed_over(event, &failure),
        }
    }
}

fn passed_over(event: &EventView, failure: &Failure) {
    note(&format!(
        "a request of {} is not answered: {failure}",
        event.scope
    ));
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

fn unrun(why: &str) -> EndAnswer {
    EndAnswer {
        request: 0,
        outcome: Outcome::Unrun,
        verification: None,
        command: String::new(),
        output: why.to_owned(),
        snapshot: None,
        verdict: None,
        language: Language::default(),
        published: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use sillok_core::time::Timestamp;
    use sillok_server::config::ProjectVerification;

    use super::super::queue::tests::asked;
    use super::*;
    use crate::client::RetryPolicy;

    fn ending(directory: PathBuf) -> Ending {
        let project = ProjectVerification {
            scope: Scope::parse("org/a/project/b").unwrap(),
            command: vec!["true".to_owned()],
            directory,
            timeout_s: 1,
            environment: BTreeMap::new(),
        };
        let client = Client::new("http://127.0.0.1:1", None, RetryPolicy::default()).unwrap();
        Ending::new(client, project, None, Language::English, Path::new("/data"))
    }

    #[test]
    fn a_task_is_verified_in_the_work_tree_of_its_worktree() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("main")).unwrap();
        let ending = ending(folder.path().join("{worktree}"));
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
    fn a_request_grows_old_before_anybody_is_there_and_never_while_it_waits() {
        let request = asked("t", 1).event;
        let began = |ms: u64| {
            let began = Timestamp::from_ms(request.time.ms() + ms);
            Ending {
                began,
                ..ending("/".into())
            }
        };
        assert!(!began(REQUEST_AGE_MS_MAX).is_old(&request));
        assert!(began(REQUEST_AGE_MS_MAX + 1).is_old(&request));
        // Whoever was there when it was made answers it, whatever the time is by now.
        let earlier = Ending {
            began: Timestamp::from_ms(0),
            ..ending("/".into())
        };
        assert!(!earlier.is_old(&request));
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
}
