//! The stage: one project, an orchestrator that judges in it, and agents with tokens of their own.
//!
//! Owns who holds which token. It must not know what anybody works on.

use indicatif::ProgressBar;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_server::api::MintToken;

use crate::client::Client;
use crate::failure::Failure;

/// How long the demo's tokens count, in seconds.
const TOKEN_LIFETIME_S: u64 = 24 * 60 * 60;

/// Who acts where.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The operator of the installation: a person.
    pub operator: Client,
    /// The program that runs agents and judges their work.
    pub orchestrator: Client,
    /// The project.
    pub project: Scope,
    /// Counts acknowledged records.
    pub progress: ProgressBar,
}

/// An agent with a worktree of its own.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Speaks with a token that covers its worktree and nothing else.
    pub client: Client,
    /// The worktree's scope.
    pub worktree: Scope,
}

impl Stage {
    /// Makes the orchestrator's token with the operator's.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn open(
        operator: Client,
        project: Scope,
        progress: ProgressBar,
    ) -> Result<Self, Failure> {
        let orchestrator = minted(
            &operator,
            &project,
            PrincipalKind::Orchestrator,
            "orchestrator",
        )
        .await?;
        Ok(Self {
            operator,
            orchestrator,
            project,
            progress,
        })
    }

    /// The agent with this number, from 0: the orchestrator makes its token.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn agent(&self, number: usize) -> Result<Agent, Failure> {
        let name = format!("agent-{}", number + 1);
        let worktree = self.project.child(&name)?;
        let client = self.agent_token(&name, &worktree).await?;
        Ok(Agent {
            name,
            client,
            worktree,
        })
    }

    /// A client that speaks as an agent, in `scope` and inside it.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn agent_token(&self, name: &str, scope: &Scope) -> Result<Client, Failure> {
        minted(&self.orchestrator, scope, PrincipalKind::Agent, name).await
    }
}

async fn minted(
    minter: &Client,
    scope: &Scope,
    kind: PrincipalKind,
    id: &str,
) -> Result<Client, Failure> {
    let body = MintToken {
        scope: scope.to_string(),
        kind,
        id: id.to_owned(),
        lifetime_s: TOKEN_LIFETIME_S,
    };
    let minted = minter.mint_token(&body).await?;
    Ok(minter.with_token(&minted.token))
}
