//! `policy`
//!
//! A policy is a decision of rank `policy`: what is printed of one is what is printed of a decision.

use sillok_core::decision::{Domain, Rank};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::DecisionId;
use sillok_core::scope::Scope;
use sillok_server::api::{DecisionView, DecisionsQuery, SaveDecision};

use super::decision;
use super::log::text_or_stdin;
use crate::args::{DecisionHistory, DecisionNamed, PolicyCommand, PolicyList, PolicySet, Seen};
use crate::failure::Failure;
use crate::session::Session;

/// The status that a server answers with where something is not there.
const NOT_FOUND: u16 = 404;

/// Carries out `policy`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Set(args) => set(session, args).await,
        PolicyCommand::Withdraw(seen) => withdraw(session, seen).await,
        PolicyCommand::List(args) => list(session, args).await,
        PolicyCommand::Show(args) => show(session, &args).await,
        PolicyCommand::History(args) => history(session, &args).await,
    }
}

async fn set(session: &Session, args: PolicySet) -> Result<(), Failure> {
    // What a policy is related to, and what it claims, stays as it was.
    let before = match args.former.seen() {
        Some((root, expected)) => {
            let now = policy(session, &args.scope, root).await?;
            decision::said_before(session, now, expected)?
        }
        None => SaveDecision::default(),
    };
    let body = SaveDecision {
        scope: args.scope.to_string(),
        rank: Some(Rank::Policy),
        domain: Some(Domain::global().to_string()),
        title: args.title,
        content: text_or_stdin(args.content)?,
        reason: args.reason,
        ..before
    };
    decision::save(session, &body).await
}

async fn withdraw(session: &Session, seen: Seen) -> Result<(), Failure> {
    policy(session, &seen.scope, seen.root).await?;
    decision::deactivate(session, seen).await
}

async fn show(session: &Session, args: &DecisionNamed) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    let found = policy(session, &scope, args.root).await?;
    decision::show_found(session, &found)
}

async fn history(session: &Session, args: &DecisionHistory) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    policy(session, &scope, args.root).await?;
    decision::history(session, args).await
}

/// The policy that has this root: no other decision is made one, or taken for one, by a slip.
async fn policy(
    session: &Session,
    scope: &Scope,
    root: DecisionId,
) -> Result<DecisionView, Failure> {
    let found = session.client.decision(scope, root).await?;
    let rank = found.head.rank;
    if rank == Rank::Policy {
        return Ok(found);
    }
    let why = format!("{scope} has no policy {root}: that decision is of rank {rank}");
    let error = Error::new(ErrorCode::NotFound, why);
    Err(decision::refused(&error, NOT_FOUND))
}

async fn list(session: &Session, args: PolicyList) -> Result<(), Failure> {
    let query = DecisionsQuery {
        scope: session.scope(&args.within)?.to_string(),
        rank: Some(Rank::Policy.to_string()),
        withdrawn: args.withdrawn,
        ..DecisionsQuery::default()
    };
    decision::show_list(session, query, args.paging.limit).await
}
