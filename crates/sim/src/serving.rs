//! A node's side of the network: what it answers to a parcel.
//!
//! Owns the mapping from requests to the node's public interface, as a transport would have it.

mod banking;
mod deciding;
mod fixing;

use std::sync::Arc;

use sillok_actors::Node;
use sillok_actors::jobs::PromotionState;
use sillok_actors::maintenance::{Maintain, Part};
use sillok_actors::protocol::Protocol;
use sillok_actors::reads::RecallQuery;
use sillok_core::Error;
use sillok_core::event::EventKinds;
use sillok_core::id::Seq;
use sillok_core::limits::RECALL_RESULTS_MAX;
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;
use sillok_core::validity::AsOf;

use crate::net::{Reply, Request};
use crate::store::SimStore;
use crate::workload::branches::Seen;
use crate::workload::material::TEXTS;

/// Events of a scope that are read at once.
const EVENTS_AT_ONCE: usize = 64;

/// Sees a request through; none if it is nothing to answer.
pub(crate) async fn serve<P: Protocol>(
    node: &Node<SimStore, P>,
    request: Request,
) -> Option<Reply> {
    Some(match request {
        Request::News(slots) => {
            node.hear(&slots);
            return None;
        }
        Request::Submit(submission) => {
            Reply::Submitted(node.submit(Arc::unwrap_or_clone(submission)).await)
        }
        Request::Serve(submission) => Reply::Served(node.serve(submission, None).await),
        Request::Tip(scope, seen) => Reply::Tip(read_on(node, &scope, seen).await),
        Request::Promotion(task, id) => Reply::Promotion(node.reader().mark(&task, id).await),
        Request::Halted(task, id) => {
            let stands = node.promotion(&task, id, 0).await;
            Reply::Job(stands.map(|stands| matches!(stands, PromotionState::Halted { .. })))
        }
        Request::Retry(task, id) => Reply::Job(node.retry_promotion(&task, id).await),
        Request::Recall(scope, as_of) => Reply::Recalled(recall(node, scope, as_of).await),
        Request::Decisions(asked) => Reply::Decisions(deciding::tell(node, asked).await),
        Request::Fixes(asked) => Reply::Fixes(fixing::tell(node, asked).await),
        Request::Bank(asked) => Reply::Bank(banking::tell(node, asked).await),
        Request::Maintain { dry_run, within } => {
            Reply::Maintained(maintain(node, dry_run, within).await)
        }
        Request::Drain(_) => {
            node.shutdown().await;
            Reply::Drained
        }
        Request::Fence(name, by) => {
            // It did not, if the store did not answer, or the run is over.
            let _ = fence(node, &name, by).await;
            Reply::Fenced
        }
        Request::Quarantine(scope, reason, by) => {
            let order = node.quarantine(scope, reason, by).await;
            Reply::Quarantined(order.map(drop))
        }
        Request::Head(id) => {
            let view = node.reader().entry(id).await;
            Reply::Head(match view {
                Err(error) => Err(error),
                Ok(None) => Ok(None),
                Ok(Some(view)) => {
                    let line = node.reader().entry(view.head.line).await;
                    line.map(|line| {
                        let newest = line.map_or(id, |line| line.head.line_head);
                        Some((view.head.version, newest))
                    })
                }
            })
        }
    })
}

/// What is recalled at a commit, and how many entries had ended there.
async fn recall<P: Protocol>(
    node: &Node<SimStore, P>,
    scope: Scope,
    as_of: AsOf,
) -> Result<(Vec<Seen>, u64), Error> {
    let query = RecallQuery {
        limit: Some(RECALL_RESULTS_MAX),
        as_of: Some(as_of),
        ..RecallQuery::new(scope, TEXTS[..4].join(" "))
    };
    let answer = node.recall(query).await?;
    let seen = answer.results.into_iter().map(|one| Seen {
        entry: one.head.id,
        from: one.head.lifecycle.valid_from_commit,
        to: one.head.lifecycle.valid_to_commit,
        validity: one.validity,
    });
    Ok((seen.collect(), answer.at.map_or(0, |at| at.ended)))
}

/// Runs maintenance: how many entries it took out, or would take out.
async fn maintain<P: Protocol>(
    node: &Node<SimStore, P>,
    dry_run: bool,
    within: Option<Scope>,
) -> Result<u64, Error> {
    let asked = Maintain {
        dry_run,
        parts: Part::ALL.into(),
        force: false,
        within,
    };
    let done = node.maintain(&asked).await?;
    let gone = done.scopes.iter().map(|scope| {
        let planned = scope.plan.going() as u64;
        if dry_run { planned } else { scope.retired }
    });
    Ok(gone.sum())
}

/// Ends the run that a node is in, as an operator does: the status names it.
async fn fence<P: Protocol>(node: &Node<SimStore, P>, name: &str, by: Actor) -> Result<(), Error> {
    let status = node.cluster().await?;
    let found = status.nodes.iter().find(|shown| shown.name == name);
    if let Some(found) = found {
        node.fence(name, found.incarnation, by).await?;
    }
    Ok(())
}

/// Reads a scope's events behind what was seen, to their end: the last one.
async fn read_on<P: Protocol>(
    node: &Node<SimStore, P>,
    scope: &Scope,
    seen: Seq,
) -> Result<Seq, Error> {
    let mut last = seen;
    loop {
        let page = node
            .events(scope, &EventKinds::ALL, last, EVENTS_AT_ONCE)
            .await?;
        last = page.items.last().map_or(last, |event| event.header.seq);
        if page.next.is_none() {
            return Ok(last);
        }
    }
}
