//! Carrying out one promotion: collect, cognify, embed, publish, note.
//!
//! Owns the order. Nothing here is done twice: the target keeps a mark of what a verification
//! published, and both commands carry the verification's own id.

use std::sync::Arc;

use sillok_core::citation::{self, Citation};
use sillok_core::command::{AnswerBody, Command, Publish, Submission, VerificationRef};
use sillok_core::id::{Attempt, CommandId, VerificationId};
use sillok_core::membership::WireVersion;
use sillok_core::ports::PortError;
use sillok_core::principal::Principal;
use sillok_core::promotion::{Job, NewEntry, PublishReport, Spent, products};
use sillok_core::scope::Scope;
use sillok_core::secret::mask;
use sillok_core::slot::Slot;
use sillok_core::trace::{SpanKind, TraceContext};
use sillok_core::verification::Verification;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::collect::collect;
use super::{Ending, Failure, kept, unknown, used};
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};
use crate::router::Router;
use crate::rows;
use crate::spaces::embed_each;

/// Carries a job out, from wherever an earlier attempt left it. None if it was dropped.
///
/// # Errors
/// Why it could not be finished; the job stays.
pub(super) async fn carry_out<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    job: &Job,
) -> Result<Option<PublishReport>, Failure> {
    match ending(shared, &job.source, job.verification).await? {
        Ending::Done(report) => return Ok(Some(*report)),
        Ending::Dropped => return Ok(None),
        Ending::UnderWay(_) => {}
    }
    let verification = verification(shared, &job.source, job.verification).await?;
    let within = shared.spans.of_promotion(job.verification);
    let span = shared
        .spans
        .begin_in(&job.source, "promote", SpanKind::Internal, within);
    let within = span.or(within);
    let published = mark(shared, &job.source, job.verification).await?;
    let report = match published.filter(|_| shared.protocol.keeps(Safeguard::PublishesOnce)) {
        Some(report) => report,
        None => publish(shared, router, job, &verification, within).await?,
    };
    let note = Command::NotePromoted {
        verification: verification.id,
        target: verification.target.clone(),
        report: Box::new(report.clone()),
    };
    router
        .submit(as_system(&job.source, verification.id, note), within)
        .await?;
    Ok(Some(report))
}

/// How a promotion has ended. Once its job is gone, a mark says that it is published; without one it was
/// dropped.
///
/// # Errors
/// `not_found` when the task has no such verification.
pub(super) async fn ending<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    id: VerificationId,
) -> Result<Ending, Error> {
    let named = VerificationRef {
        task: source.clone(),
        id,
    };
    let slot = Slot::of(source);
    let mut txn = begin(shared).await?;
    let scope = ScopeKey::of(source);
    let known = txn
        .get(&keys::verification::key(&scope, named.id), Read::Snapshot)
        .await;
    if known.map_err(|error| refusal(&error))?.is_none() {
        return Err(unknown(source, id));
    }
    let job = txn
        .get(&keys::job::key(slot, id), Read::Snapshot)
        .await
        .map_err(|error| refusal(&error))?;
    if job.is_some() {
        let key = keys::attempt::key(slot, id);
        let value = txn.get(&key, Read::Snapshot).await;
        let value = value.map_err(|error| refusal(&error))?;
        let attempts = value.and_then(|value| kept::read(&key, &value));
        return Ok(Ending::UnderWay(attempts.unwrap_or_default()));
    }
    drop(txn);
    let mark = mark(shared, source, id).await?;
    Ok(mark.map_or(Ending::Dropped, |report| Ending::Done(Box::new(report))))
}

async fn publish<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    job: &Job,
    verification: &Verification,
    within: Option<TraceContext>,
) -> Result<PublishReport, Failure> {
    let prepared = shared.jobs.prepared(verification.id);
    // What was prepared for other nodes than there are now is prepared anew.
    let mut products = match prepared.filter(|products| is_read_by_all(shared, products)) {
        Some(products) => products,
        None => prepare(shared, job, verification).await?,
    };
    // The cognifier was asked, and is not asked again because of the embedder, though the attempt be cut off meanwhile.
    let is_kept = shared.jobs.keep_prepared(verification.id, products.clone());
    if let Err(mut failure) = embed(shared, &mut products).await {
        failure.is_costly = !is_kept;
        return Err(failure);
    }
    // Over the submission, too, and with the vectors.
    let is_kept = shared.jobs.keep_prepared(verification.id, products.clone());
    let publish = Publish {
        source: job.source.clone(),
        verification: verification.clone(),
        products,
    };
    let command = Command::Publish(Box::new(publish));
    let submission = as_system(&verification.target, verification.id, command);
    let submitted = router.submit(submission, within);
    let answer = submitted.await.map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.counts {
            // What was refused is prepared anew.
            drop(shared.jobs.prepared(verification.id));
        } else {
            failure.is_costly = !is_kept;
        }
        failure
    })?;
    match answer.result {
        AnswerBody::Published(report) => Ok(*report),
        other => {
            let why = format!("a promotion was answered with {other:?}");
            Err(Error::new(ErrorCode::Internal, why).into())
        }
    }
}

/// Draws from a task's records what is worth publishing, without vectors.
async fn prepare<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    job: &Job,
    verification: &Verification,
) -> Result<Vec<NewEntry>, Failure> {
    let input = collect(shared, &job.source, verification).await?;
    let cognition = shared.ports.cognifier.cognify(&input).await;
    used::note(shared, verification.id, &cognition);
    let cognition = cognition.map_err(|error| of_engine(&error))?;
    if let Err(improper) = cognition.check(&input) {
        return Err(of_engine(&PortError::Unusable(improper.to_string())));
    }
    let counters = &shared.counters;
    count(&counters.promotion_unread_events, input.unread.events);
    count(&counters.promotion_unread_bytes, input.unread.bytes);
    let name = shared.ports.cognifier.name();
    let known = shared.jobs.attempts(verification.id);
    // What attempts used that ran elsewhere, or before a restart, is known of those that the store keeps.
    let spent = known.and_then(|attempts| attempts.spent);
    let spent = Spent {
        cognifier: name.to_owned(),
        ..spent.unwrap_or_else(|| Spent::nothing(name))
    };
    let mut products = used::fitting(shared, products(verification, &input, &cognition, &spent));
    if !is_read_by_all(shared, &products) {
        for product in &mut products {
            let citations = core::mem::take(&mut product.citations);
            let whole = citations.into_iter().filter_map(|cited| input.whole(cited));
            product.citations = citation::join(&[], &whole.collect::<Vec<_>>());
        }
    }
    Ok(products)
}

/// Whether all nodes read the citations of the products.
fn is_read_by_all<S: Store, P: Protocol>(shared: &Shared<S, P>, products: &[NewEntry]) -> bool {
    let mut citations = products.iter().flat_map(|product| &product.citations);
    shared.speaks(WireVersion::WITH_EXCERPTS)
        || !citations.any(|citation| matches!(citation, Citation::Excerpt(_)))
}

/// Gives the products their vectors, where they have none yet: those of their texts as they will be stored, without
/// secrets, which no embedder is to see. One whose text the embedder refuses, or meets a defect in, goes without.
async fn embed<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    products: &mut [NewEntry],
) -> Result<(), Failure> {
    if products.iter().all(|product| product.embedding.is_some()) {
        return Ok(());
    }
    let vectors = {
        let masked: Vec<_> = products
            .iter()
            .map(|product| mask(&product.content))
            .collect();
        let texts: Vec<&str> = masked.iter().map(|masked| masked.text.as_ref()).collect();
        let embedder = &*shared.ports.embedder;
        let vectors = embed_each(embedder, &embedder.space(), &texts).await;
        vectors.map_err(|error| of_engine(&error))?
    };
    for (product, vector) in products.iter_mut().zip(vectors) {
        product.embedding = vector;
    }
    Ok(())
}

async fn begin<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<S::Txn, Error> {
    shared.store.begin().await.map_err(|error| refusal(&error))
}

/// Reads one row in a transaction of its own and decodes it; none when it is absent.
///
/// # Errors
/// What the store answered.
pub(super) async fn row<S: Store, P: Protocol, V>(
    shared: &Shared<S, P>,
    key: &[u8],
    decode: impl FnOnce(&[u8], &[u8]) -> Result<V, StoreError>,
) -> Result<Option<V>, Error> {
    let found = rows::read(&mut begin(shared).await?, key, decode).await;
    found.map_err(|error| refusal(&error))
}

pub(super) async fn verification<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    id: VerificationId,
) -> Result<Verification, Error> {
    let key = keys::verification::key(&ScopeKey::of(source), id);
    let found = row(shared, &key, keys::verification::decode).await?;
    found.ok_or_else(|| unknown(source, id))
}

async fn mark<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    id: VerificationId,
) -> Result<Option<PublishReport>, Error> {
    let key = keys::mark::key(&ScopeKey::of(source), id);
    row(shared, &key, keys::mark::decode).await
}

/// What a finished promotion used, as its episode said at first; none where that was published by an older release, or
/// erased since.
///
/// # Errors
/// What the store answered.
pub(super) async fn spent<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    id: VerificationId,
    report: &PublishReport,
) -> Result<Option<Spent>, Error> {
    let target = verification(shared, source, id).await?.target;
    let key = keys::version::key(&ScopeKey::of(&target), report.episode, 1);
    let version = row(shared, &key, keys::version::decode).await?;
    Ok(version.and_then(|version| Spent::read(&version.metadata)))
}

fn as_system(scope: &Scope, verification: VerificationId, command: Command) -> Submission {
    Submission {
        scope: scope.clone(),
        principal: Principal::system(),
        id: CommandId::from_bytes(*verification.as_bytes()),
        attempt: Attempt::FIRST,
        command,
    }
}

/// Why an engine failed the promotion. That it was out of reach says nothing of the promotion: whoever brings it
/// back need not go through all that waited for it.
fn of_engine(error: &PortError) -> Failure {
    let counts = !matches!(error, PortError::Unavailable(_));
    Failure {
        counts,
        ..Failure::of_its_own(engine_refusal(error))
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::promotion::Used;

    use super::*;

    #[test]
    fn only_an_engine_that_was_out_of_reach_costs_no_attempt() {
        let used = Used {
            prompt_tokens: Some(3_000),
            completion_tokens: Some(8_192),
            micro_dollars: None,
        };
        for (error, counts) in [
            (PortError::Unavailable("it was not reached".into()), false),
            (PortError::Unusable("status 400".into()), true),
            (
                PortError::Wasted {
                    why: "the connection broke off".into(),
                    used,
                },
                true,
            ),
        ] {
            let failure = of_engine(&error);
            assert_eq!(
                (failure.counts, failure.is_costly),
                (counts, true),
                "{error}"
            );
        }
    }
}
