//! Decisions as a node reads them under its own protocol, and what would come of one that nobody has made yet.

use sillok_core::brief::Brief;
use sillok_core::command::{Command, DecisionRef, SaveDecision, Submission};
use sillok_core::decide::decide;
use sillok_core::decision::{self, Proposal, Proposed};
use sillok_core::id::{Attempt, CommandId, DecisionId};
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_core::permission::{Access, Control, authorize};
use sillok_core::principal::{Actor, Principal, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::state::State;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::Node;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::facts::{self, Unfetched};
use crate::protocol::Protocol;
use crate::reads::{BriefQuery, Viewer, proposed};
use crate::rows;

/// What stands for the reason of a change that is proposed: whoever saves it gives one.
const PROPOSED: &str = "it is proposed";

impl<S: Store, P: Protocol> Node<S, P> {
    /// The decisions that hold for whoever works in the scope of `viewer`, in the order of loading, and behind them the
    /// anchors. All decisions and evidence at hand are there, hold and are seen.
    ///
    /// # Errors
    /// `not_found` that names a decision or evidence at hand which is not there, was withdrawn or is not seen,
    /// `invalid_argument` where the budget has no room for the first item, and what the store answers.
    pub async fn brief_of_standing(
        &self,
        viewer: &Viewer,
        query: BriefQuery,
    ) -> Result<Brief, Error> {
        let protocol = self.inner.shared.protocol;
        let reader = self.reader();
        reader.brief_under(protocol, viewer, query).await
    }

    /// What a change of these nodes affects, as `viewer` sees it. Their decisions and evidence are there, hold and are seen.
    /// Others that are not are left out, and so is what is reached through them alone. It ends after `ms_max`, if that is
    /// given.
    ///
    /// # Errors
    /// `not_found` that names a decision or evidence of the start which is not there, was withdrawn or is not seen, and what
    /// the store answers.
    pub async fn impact_of_standing(
        &self,
        viewer: &Viewer,
        start: Vec<decision::Node>,
        limits: ImpactLimits,
        ms_max: Option<u64>,
    ) -> Result<Impact, Error> {
        let protocol = self.inner.shared.protocol;
        let reader = self.reader();
        reader
            .impact_under(protocol, viewer, start, limits, ms_max)
            .await
    }

    /// What it means to others that version `number` of a decision of the scope of `viewer` was saved: what the decision
    /// reaches by now, by that version and by the one before it, which may let go of something, and what contradicts it by
    /// now. One that was withdrawn means something to what it was related to, and to what still depends on it.
    ///
    /// # Errors
    /// `not_found` when that version was never saved, and what the store answers.
    pub async fn meaning(
        &self,
        viewer: &Viewer,
        root: DecisionId,
        number: u64,
    ) -> Result<Proposed, Error> {
        let protocol = self.inner.shared.protocol;
        let reader = self.reader();
        let found = reader.meaning_under(protocol, viewer, root, number).await?;
        found.ok_or_else(|| {
            let why = format!(
                "{} has no version {number} of a decision {root}",
                viewer.scope
            );
            Error::new(ErrorCode::NotFound, why)
        })
    }

    /// What a decision would mean that is proposed: a new one, or a change of one that is there. Nothing is stored.
    ///
    /// # Errors
    /// `forbidden` where the token does not reach the scope, what saving it would be refused with to those who may, and
    /// what the store answers.
    pub async fn propose(
        &self,
        principal: &Principal,
        scope: &Scope,
        change: Option<DecisionRef>,
        proposal: &Proposal,
    ) -> Result<Proposed, Error> {
        let shared = &self.inner.shared;
        let weighed = match authorize(principal, Access::Control(Control::Propose), scope) {
            Err(denied) => Err(denied),
            Ok(()) => {
                let submission = rehearsed(shared, principal, scope, change, proposal);
                weigh(shared, &submission, change, proposal).await
            }
        };
        weighed.inspect_err(|error| shared.counters.refused(error))
    }
}

/// The command that would save a proposal. It is decided, and its events go nowhere. It is given as a person would give
/// it: anyone may propose what only a person may save.
fn rehearsed<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    principal: &Principal,
    scope: &Scope,
    change: Option<DecisionRef>,
    proposal: &Proposal,
) -> Submission {
    let mut random = [0; 10];
    (shared.ports.rng)().fill(&mut random);
    Submission {
        scope: scope.clone(),
        principal: Principal {
            actor: Actor {
                kind: PrincipalKind::Human,
                id: principal.actor.id.clone(),
            },
            prefix: principal.prefix.clone(),
        },
        id: CommandId::from_parts(shared.ports.clock.now(), random),
        attempt: Attempt::FIRST,
        command: Command::SaveDecision(Box::new(SaveDecision {
            change,
            text: proposal.text().clone(),
            reason: PROPOSED.to_owned(),
        })),
    }
}

async fn weigh<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    submission: &Submission,
    change: Option<DecisionRef>,
    proposal: &Proposal,
) -> Result<Proposed, Error> {
    let txn = shared.store.begin().await;
    let mut txn = txn.map_err(|error| refusal(&error))?;
    rehearse(shared, &mut txn, submission).await?;
    let viewer = Viewer {
        scope: submission.scope.clone(),
        prefix: submission.principal.prefix.clone(),
    };
    let changes = change.map(|change| change.root);
    let found = proposed(shared.protocol, &mut txn, &viewer, changes, proposal.text());
    found.await.map_err(|error| refusal(&error))
}

/// Decides a command about a decision as things stand in a transaction that is never committed.
async fn rehearse<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    txn: &mut impl Txn,
    submission: &Submission,
) -> Result<(), Error> {
    let (ports, rules) = (&shared.ports, &shared.config.rules);
    let gathered = facts::gather(&shared.store, ports, rules, shared.spoken(), submission);
    let (gathered, _commits) = gathered.await?;
    let mut state = state_of(txn, &submission.scope).await?;
    let fetched = facts::fetch(txn, &mut state, &[], submission, gathered, shared.protocol);
    let facts = fetched.await.map_err(|unfetched| match unfetched {
        Unfetched::Store(error) => refusal(&error),
        Unfetched::Refused(error) => error,
    })?;
    decide(&state, submission, &facts, rules, ports.clock.now()).map(drop)
}

async fn state_of(txn: &mut impl Txn, scope: &Scope) -> Result<State, Error> {
    let here = ScopeKey::of(scope);
    let row = rows::read(txn, &keys::scope::key(&here), keys::scope::decode).await;
    let row = row.map_err(|error| refusal(&error))?;
    let task = rows::read(txn, &keys::task::key(&here), keys::task::decode).await;
    let task = task.map_err(|error| refusal(&error))?;
    Ok(State::new(scope, row, task))
}
