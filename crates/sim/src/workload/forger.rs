//! The forger: principals try what they may not do, and must be refused whenever it comes, each time by
//! the rule that is there for it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use sillok_core::citation::{Citation, Excerpt};
use sillok_core::command::{Answer, Command, SaveDecision};
use sillok_core::decision::{Domain, NewDecision, Node, Rank, Relation, RelationKind};
use sillok_core::entry::Binding;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{DecisionId, RecordId, Seq};
use sillok_core::invariants::Invariant;
use sillok_core::limits::COMMAND_RETRY_MS_MAX;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};

use crate::agent::Agent;
use crate::history::Ending;
use crate::violation::Violation;
use crate::workload::branches;
use crate::workload::material::{OPENING_WORD, observation, project, project_path, scope};
use crate::workload::{Check, Draw, End, Workload};

/// The kind of the notes about commands that another rule refused than the one that is there for it.
const NOTE: &str = "refused otherwise";

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Forger;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// An agent archives its task, which is maintenance's to do.
    ArchiveAsAgent,
    /// An agent says that its own work passed, which is the orchestrator's to say.
    VerifyAsAgent,
    /// An orchestrator of one worktree publishes in its project, which its token does not cover.
    PublishFromWorktree,
    /// An orchestrator publishes in a project without a verification.
    PublishUnverified,
    /// An orchestrator names a record that was never written.
    CiteNothing,
    /// An orchestrator names a commit that the repository at hand does not have.
    CiteNoCommit,
    /// An orchestrator cites a stretch that begins within a character of what its task was opened with.
    TakeCharacterApart,
    /// A command comes again after it was forgotten.
    ComeTooLate,
    /// An agent sets an axis, which is a person's to do.
    SetAxisAsAgent,
    /// An agent locks something, which is the orchestrator's to do.
    LockAsAgent,
    /// An orchestrator gives a project a policy, which is a person's to do.
    SetPolicyAsOrchestrator,
    /// An orchestrator decides for the organisation, which is a person's to do.
    DecideForOrganisation,
    /// An agent relates a decision to one that nobody made.
    RelateToNothing,
}

/// All of them.
const ACTIONS: [Action; 13] = [
    Action::ArchiveAsAgent,
    Action::VerifyAsAgent,
    Action::PublishFromWorktree,
    Action::PublishUnverified,
    Action::CiteNothing,
    Action::CiteNoCommit,
    Action::TakeCharacterApart,
    Action::ComeTooLate,
    Action::SetAxisAsAgent,
    Action::LockAsAgent,
    Action::SetPolicyAsOrchestrator,
    Action::DecideForOrganisation,
    Action::RelateToNothing,
];

impl Action {
    /// The code and the rule by which it is refused.
    const fn refusal(self) -> (ErrorCode, Option<&'static str>) {
        match self {
            Self::ArchiveAsAgent => (ErrorCode::Forbidden, Some("control/maintain")),
            Self::VerifyAsAgent => (ErrorCode::Forbidden, Some("control/record_verification")),
            Self::PublishFromWorktree => (ErrorCode::Forbidden, Some("token/scope")),
            Self::PublishUnverified => (ErrorCode::Forbidden, Some("entries/project")),
            Self::CiteNothing | Self::CiteNoCommit | Self::TakeCharacterApart => {
                (ErrorCode::UnresolvableCitation, None)
            }
            Self::ComeTooLate => (ErrorCode::Expired, None),
            Self::SetAxisAsAgent | Self::SetPolicyAsOrchestrator => {
                (ErrorCode::Forbidden, Some("control/save_axis"))
            }
            Self::LockAsAgent => (
                ErrorCode::Forbidden,
                Some("control/save_lock_up_to_project"),
            ),
            Self::DecideForOrganisation => (ErrorCode::Forbidden, Some("control/save_normal_org")),
            Self::RelateToNothing => (ErrorCode::NotFound, None),
        }
    }

    /// Who gives it.
    const fn kind(self) -> PrincipalKind {
        match self {
            Self::ArchiveAsAgent
            | Self::VerifyAsAgent
            | Self::SetAxisAsAgent
            | Self::LockAsAgent
            | Self::RelateToNothing => PrincipalKind::Agent,
            _ => PrincipalKind::Orchestrator,
        }
    }

    fn scope(self, task: Scope) -> Scope {
        match self {
            Self::PublishFromWorktree => project(0),
            Self::PublishUnverified | Self::SetPolicyAsOrchestrator => project(1),
            Self::DecideForOrganisation => scope("org/sim"),
            _ => task,
        }
    }

    fn command(self, task: &Scope) -> Command {
        let put = |text: &str, citations: Vec<Citation>| {
            let mut entry = observation(text);
            entry.citations.extend(citations);
            Command::PutEntry {
                entry: Box::new(entry),
                verification: None,
            }
        };
        match self {
            Self::ArchiveAsAgent => Command::ArchiveTask,
            Self::VerifyAsAgent => Command::RecordVerification(Box::new(NewVerification {
                outcome: Outcome::Passed,
                source: VerificationSource::TestsPassed,
                run: "my own word".to_owned(),
                citations: Vec::new(),
                binding: Binding::NoRepository,
                error: None,
                approach: None,
                target: None,
            })),
            Self::PublishFromWorktree => put("not mine to say", Vec::new()),
            Self::PublishUnverified => put("unverified", Vec::new()),
            Self::CiteNothing => {
                let id = RecordId {
                    scope: task.clone(),
                    seq: Seq::new(u64::MAX / 2),
                };
                let time = Timestamp::EPOCH;
                put("as nobody wrote", vec![Citation::Log { id, time }])
            }
            Self::CiteNoCommit => {
                let commit = Citation::Commit {
                    hash: branches::hash(branches::COMMITS),
                    repository: branches::REPOSITORY.to_owned(),
                };
                put("as nobody committed", vec![commit])
            }
            Self::TakeCharacterApart => {
                let excerpt = Excerpt {
                    record: RecordId {
                        scope: task.clone(),
                        seq: Seq::new(1),
                    },
                    from: 1,
                    to: u32::try_from(OPENING_WORD.len()).expect("a word is short"),
                };
                put("half a word", vec![Citation::Excerpt(excerpt)])
            }
            Self::ComeTooLate => put("said long ago", Vec::new()),
            Self::SetAxisAsAgent => decide(Rank::Axis, Vec::new()),
            Self::LockAsAgent => decide(Rank::Lock, Vec::new()),
            Self::SetPolicyAsOrchestrator => decide(Rank::Policy, Vec::new()),
            Self::DecideForOrganisation => decide(Rank::Normal, Vec::new()),
            Self::RelateToNothing => {
                let to = Node::Decision {
                    scope: task.clone(),
                    root: DecisionId::from_bytes([0; 16]),
                };
                let kind = RelationKind::DependsOn;
                decide(Rank::Normal, vec![Relation { kind, to }])
            }
        }
    }
}

/// The command that makes a decision.
fn decide(rank: Rank, relations: Vec<Relation>) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text: NewDecision {
            rank,
            domain: Domain::global(),
            phase: None,
            title: "as nobody may say".to_owned(),
            content: "as nobody may say".to_owned(),
            claim: None,
            relations,
        },
        reason: String::new(),
    }))
}

impl Workload for Forger {
    type Action = Action;

    fn name(&self) -> &'static str {
        "forger"
    }

    fn share(&self) -> u32 {
        40
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        *draw.stream.choose(&ACTIONS)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let worktree = format!("{}/worktree/w{}", project_path(0), agent.number() + 100);
        let prefix = match action {
            Action::PublishFromWorktree => &*worktree,
            _ => "org/sim",
        };
        let age_ms = match action {
            Action::ComeTooLate => 2 * COMMAND_RETRY_MS_MAX,
            _ => 0,
        };
        let task = agent.task();
        let command = action.command(&task);
        let client = agent.client();
        let principal = client.principal(action.kind(), prefix);
        let result = client
            .forge(principal, &action.scope(task), command, age_ms)
            .await;
        if let Some(otherwise) = otherwise(action, &result) {
            agent.note(NOTE, json!(otherwise));
        }
    }
}

/// What refused an action that another rule is there for. That it was refused at all is checked
/// against the history.
fn otherwise(action: Action, result: &Result<Answer, Error>) -> Option<String> {
    let error = result.as_ref().err()?;
    let (code, rule) = action.refusal();
    let is_as_meant = error.code == code && (rule.is_none() || error.rule() == rule);
    (!is_as_meant).then(|| format!("{action:?} was refused otherwise: {error}"))
}

impl Check for Forger {
    /// Invariant 6, as clients see it: what is forbidden is refused.
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let broken = |what| Err(Violation::new(Invariant::Permitted.as_str(), what));
        for call in end.history.calls.iter().filter(|call| call.is_forged) {
            if let Some((_, Ending::Acknowledged(_))) = call.ended {
                return broken(format!(
                    "{} was allowed to {} in {}",
                    call.actor, call.name, call.scope
                ));
            }
        }
        match end.history.notes.iter().find(|note| note.kind == NOTE) {
            None => Ok(()),
            Some(note) => broken(note.value.to_string()),
        }
    }
}
