//! Deciding a batch: each command on the state that the earlier ones would leave.
//!
//! Owns the order of checks around `core::decide`: what was poisoned, repeats within the batch,
//! what the store remembers of the command, facts, the decision, and its sealing into events. Nothing
//! here writes.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use sillok_core::chain::{Origin, seal};
use sillok_core::circular::Failures;
use sillok_core::command::{Answer, Command, CommandRecord, Digest, Submission};
use sillok_core::config::TrustConfig;
use sillok_core::decay::confidence_at;
use sillok_core::decide::{Chunk, Decision, Replay, decide, denial, replay};
use sillok_core::event::{Body, EventKind, TrustRevised};
use sillok_core::facts::Facts;
use sillok_core::id::{CommandId, Epoch};
use sillok_core::permission::authorize_read;
use sillok_core::ports::Rng;
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;
use sillok_core::state::{Stamped, State};
use sillok_core::time::Timestamp;
use sillok_core::trust::Trust;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::decided::{Decided, heads_of};
use super::unresolved::name_of;
use super::{Failure, Outcome, Shared, failures, gated};
use crate::errors::refusal;
use crate::facts::{self, Unfetched};
use crate::protocol::{Protocol, Safeguard};
use crate::scope_actor::Pending;

/// What was gathered for each command of a batch; nothing for one that is not to be tried again.
pub(super) type Gathered = Vec<Option<Result<Facts, Error>>>;

/// Gathers what the commands of a batch of one scope want to know before their transaction begins. Those of them
/// that have `panicked`, or are poisoned, are not looked at.
///
/// # Errors
/// `Panicked` when one met a defect.
pub(super) async fn gather<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    scope: &Scope,
    batch: &[Pending],
    panicked: &BTreeSet<usize>,
) -> Result<Gathered, Failure> {
    let (ports, rules) = (&shared.ports, &shared.config.rules);
    let spoken = shared.spoken();
    let mut gathered = Gathered::with_capacity(batch.len());
    let mut cited = Vec::with_capacity(batch.len());
    for (index, pending) in batch.iter().enumerate() {
        let submission = &pending.submission;
        let poisoned = &shared.poisoned;
        let is_held = poisoned.holds(|| name_of(submission), || ports.clock.monotonic_ms());
        if is_held || panicked.contains(&index) {
            gathered.push(None);
            cited.push(Vec::new());
            continue;
        }
        let gathering = facts::gather(&shared.store, ports, rules, spoken, submission);
        let gathering = AssertUnwindSafe(gathering);
        let (facts, commits) = match gathering.catch_unwind().await {
            Ok(Ok((mut facts, commits))) => {
                if let Some(early) = &pending.early {
                    facts.neighbours.clone_from(&early.neighbours);
                    facts.claimants.clone_from(&early.claimants);
                }
                (Ok(facts), commits)
            }
            Ok(Err(error)) => (Err(error), Vec::new()),
            Err(_panic) => return Err(met_defect(shared, index, submission)),
        };
        gathered.push(Some(facts));
        cited.push(commits);
    }
    let facts = gathered.iter_mut().map(|one| one.as_mut()?.as_mut().ok());
    let wanting = facts.zip(cited);
    let wanting = wanting.filter_map(|(facts, commits)| Some((facts?, commits)));
    shared.presences.complete(ports, scope, wanting).await;
    Ok(gathered)
}

/// Poisons a command that met a defect.
fn met_defect<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    index: usize,
    submission: &Submission,
) -> Failure {
    let now_ms = shared.ports.clock.monotonic_ms();
    shared.poisoned.add(name_of(submission), now_ms);
    Failure::Panicked(index)
}

/// A batch under decision.
pub(super) struct Deciding<'a, S: Store, P: Protocol, T: Txn> {
    pub(super) shared: &'a Arc<Shared<S, P>>,
    pub(super) txn: &'a mut T,
    pub(super) rng: &'a mut dyn Rng,
    pub(super) scope_key: ScopeKey,
    pub(super) epoch: Epoch,
    pub(super) now: Timestamp,
    pub(super) gathered: Gathered,
    /// Planted bug: what failed before the batch, by which its errors are judged.
    pub(super) judged_from: Option<Failures>,
    pub(super) decided: Decided,
    /// Commands of this batch, by who gave them.
    pub(super) earlier: BTreeMap<(Actor, CommandId), (usize, Digest)>,
}

impl<S: Store, P: Protocol, T: Txn> Deciding<'_, S, P, T> {
    /// Decides all commands, in order.
    pub(super) async fn all(mut self, batch: &[Pending]) -> Result<Decided, Failure> {
        for (index, pending) in batch.iter().enumerate() {
            if self.drops_last(index, batch) {
                break;
            }
            if !self.shared.protocol.keeps(Safeguard::KnowsOwnBatch) {
                self.decided.state.forget_texts();
            }
            if !self.shared.protocol.keeps(Safeguard::ComparesInActor) {
                self.decided.state.forget_vectors();
            }
            let deciding = AssertUnwindSafe(self.one(index, &pending.submission));
            let outcome = match deciding.catch_unwind().await {
                Ok(outcome) => outcome?,
                // The state may be half changed: drop it, and decide the batch again without this
                // command.
                Err(_panic) => return Err(met_defect(self.shared, index, &pending.submission)),
            };
            self.decided.outcomes.push(outcome);
        }
        Ok(self.decided)
    }

    /// A planted bug: the last command of a batch is answered as the one before it, and left out.
    fn drops_last(&mut self, index: usize, batch: &[Pending]) -> bool {
        let is_last = index > 0 && index + 1 == batch.len();
        if self.shared.protocol.keeps(Safeguard::WritesWholeBatch) || !is_last {
            return false;
        }
        let answered = self.repeat(index - 1);
        self.decided.outcomes.push(answered);
        true
    }

    async fn one(&mut self, index: usize, submission: &Submission) -> Result<Outcome, Failure> {
        let Some(gathered) = self.gathered[index].take() else {
            return self.poisoned(submission).await;
        };
        let actor = &submission.principal.actor;
        let digest = submission.command.digest();
        let name = (actor.clone(), submission.id);
        if self.shared.protocol.keeps(Safeguard::DeduplicatesBatch)
            && let Some((first, known)) = self.earlier.get(&name)
        {
            return Ok(if *known == digest {
                self.repeat(*first)
            } else {
                Outcome::Refused(reused())
            });
        }
        let key = keys::command::key(&self.scope_key, actor, submission.id);
        let record = match self.remembered(submission, &key).await? {
            Ok(record) => record,
            Err(error) => return Ok(Outcome::Refused(error)),
        };
        let known = match replay(record.as_ref(), digest, submission.attempt) {
            Ok(Replay::Apply) => None,
            Ok(Replay::Answered(answer)) => Some(Outcome::Answered(*answer)),
            Ok(Replay::Abandoned(last)) => Some(Outcome::Abandoned(last)),
            Err(error) => Some(Outcome::Refused(error)),
        };
        if let Some(outcome) = known {
            return Ok(outcome);
        }
        self.decided.seen.push((key.clone(), record));
        self.earlier.insert(name, (index, digest));
        if let Err(error) = self.shared.held_quarantines.check(&submission.scope) {
            self.bar(submission, key, digest);
            // Whoever may not see the scope learns nothing of its quarantine.
            let seen = authorize_read(&submission.principal, &submission.scope);
            return Ok(Outcome::Refused(seen.err().unwrap_or(error)));
        }
        let applied = match self.facts(submission, gathered).await? {
            Ok(mut facts) => {
                let before = self.decided.events.len();
                let applied = self.apply(submission, &facts);
                self.erase(&facts, before).await?;
                self.decided.elsewhere.take(&mut facts);
                applied
            }
            Err(error) => {
                self.bar(submission, key, digest);
                return Ok(Outcome::Refused(error));
            }
        };
        match applied {
            Ok(answer) => {
                self.decided.records.push((
                    key,
                    CommandRecord::Applied {
                        digest,
                        answer: answer.clone(),
                    },
                ));
                Ok(Outcome::Answered(answer))
            }
            Err(error) => {
                self.bar(submission, key, digest);
                Ok(self.refuse(submission, error))
            }
        }
    }

    /// Adds what the events from the one with this index on order destroyed.
    async fn erase(&mut self, facts: &Facts, first: usize) -> Result<(), Failure> {
        let decided = &mut self.decided;
        for ((_, event), kind) in decided.events.iter().zip(&decided.kinds).skip(first) {
            if *kind != EventKind::ContentErased {
                continue;
            }
            if let Ok(Some(Body::ContentErased(erased))) = event.decode_body() {
                let records = &mut decided.records;
                let adding =
                    decided
                        .erasing
                        .add(self.txn, &self.scope_key, facts, &erased, records);
                adding.await.map_err(|error| Failure::of(&error))?;
            }
        }
        Ok(())
    }

    /// The facts of a command, or why it cannot be decided. That another writer came between, or that
    /// the transaction has lived too long, says nothing of the command.
    async fn facts(
        &mut self,
        submission: &Submission,
        gathered: Result<Facts, Error>,
    ) -> Result<Result<Facts, Error>, Failure> {
        let gathered = match gathered {
            Ok(gathered) => gathered,
            Err(error) => return Ok(Err(error)),
        };
        let (state, protocol) = (&mut self.decided.state, self.shared.protocol);
        let unstored = &self.decided.events;
        match facts::fetch(self.txn, state, unstored, submission, gathered, protocol).await {
            Ok(facts) => Ok(Ok(facts)),
            Err(Unfetched::Store(error)) if error.is_retryable() => Err(Failure::of(&error)),
            Err(Unfetched::Store(error)) => Ok(Err(refusal(&error))),
            Err(Unfetched::Refused(error)) => Ok(Err(error)),
        }
    }

    /// What is said of a command that met a defect: for good only if no earlier attempt of it was
    /// applied, or may yet be.
    async fn poisoned(&mut self, submission: &Submission) -> Result<Outcome, Failure> {
        let actor = &submission.principal.actor;
        let key = keys::command::key(&self.scope_key, actor, submission.id);
        let record = match self.remembered(submission, &key).await? {
            Ok(record) => record,
            Err(error) => return Ok(Outcome::Refused(error)),
        };
        let was_applied = matches!(record, Some(CommandRecord::Applied { .. }));
        let error = if was_applied || self.is_unresolved(submission) {
            let why =
                "the command met a defect; whether an earlier attempt was applied is known later";
            Error::new(ErrorCode::OutcomeUnknown, why)
        } else {
            let why = "the command met a defect before and is not tried again; nothing was written";
            Error::new(ErrorCode::Internal, why)
        };
        Ok(Outcome::Refused(error))
    }

    fn is_unresolved(&self, submission: &Submission) -> bool {
        let shared = self.shared;
        self.shared.protocol.keeps(Safeguard::BarsRefused)
            && shared
                .unresolved
                .holds(|| name_of(submission), &*shared.ports.clock)
    }

    /// Before a command is refused, sees to it that no earlier attempt of it is applied later.
    fn bar(&mut self, submission: &Submission, key: Vec<u8>, digest: Digest) {
        if self.is_unresolved(submission) {
            let attempt = submission.attempt;
            let aborted = CommandRecord::Aborted { digest, attempt };
            self.decided.records.push((key, aborted));
        }
    }

    /// What a repeat within the batch is told: the answer of the first one, which is not there yet
    /// when that one was refused; then the refusal is the same.
    fn repeat(&self, first: usize) -> Outcome {
        match &self.decided.outcomes[first] {
            Outcome::Answered(_) => Outcome::SameAs(first),
            Outcome::Refused(error) => Outcome::Refused(error.clone()),
            Outcome::Abandoned(last) => Outcome::Abandoned(*last),
            Outcome::SameAs(earlier) => Outcome::SameAs(*earlier),
        }
    }

    /// What the store remembers of a command. A record that does not decode is that command's alone:
    /// the others of the batch know nothing of it.
    async fn remembered(
        &mut self,
        submission: &Submission,
        key: &[u8],
    ) -> Result<Result<Option<CommandRecord>, Error>, Failure> {
        let protocol = self.shared.protocol;
        let may_repeat = matches!(submission.command, Command::Publish(_))
            && !protocol.keeps(Safeguard::PublishesOnce);
        let may_count_again = matches!(submission.command, Command::StoreTrajectory(_))
            && !protocol.keeps(Safeguard::CountsTrajectoriesOnce);
        if may_repeat || may_count_again || !protocol.keeps(Safeguard::RemembersCommands) {
            return Ok(Ok(None));
        }
        let value = self
            .txn
            .get(key, Read::Conflict)
            .await
            .map_err(|error| Failure::of(&error))?;
        let record = value
            .map(|value| keys::command::decode(key, &value))
            .transpose();
        match record {
            Ok(record) => Ok(Ok(record)),
            Err(error @ StoreError::Corrupt { .. }) => Ok(Err(refusal(&error))),
            Err(error) => Err(Failure::of(&error)),
        }
    }

    /// Decides one command and applies its events to the state.
    fn apply(&mut self, submission: &Submission, facts: &Facts) -> Result<Answer, Error> {
        let rules = &self.shared.config.rules;
        let as_of_now = gated::as_of_now(self.shared.protocol, &self.decided.state, submission);
        let asked = as_of_now.as_ref().unwrap_or(submission);
        let Decision {
            mut bodies,
            chunks,
            mut result,
        } = decide(&self.decided.state, asked, facts, rules, self.now)?;
        gated::misplace(self.shared.protocol, &mut bodies);
        failures::judge_by(self.judged_from.as_ref(), &mut result);
        failures::leave_wordings(self.shared.protocol, facts, &mut bodies);
        if !self.shared.protocol.keeps(Safeguard::DecaysAtRead)
            && matches!(submission.command, Command::Retire { .. })
        {
            bodies.splice(..0, faded(&self.decided.state, self.now, &rules.trust));
        }
        for body in &bodies {
            let restores = matches!(body, Body::SupersessionUndone { .. });
            if !restores || self.shared.protocol.keeps(Safeguard::RestoresReplaced) {
                self.seal(submission, body);
            }
        }
        self.keep_chunks(submission, chunks);
        let tip = self.decided.state.row().tip;
        Ok(Answer {
            seq: tip.seq,
            time: tip.time,
            result,
        })
    }

    fn seal(&mut self, submission: &Submission, body: &Body) {
        let mut salt = [0; 16];
        self.rng.fill(&mut salt);
        let origin = Origin {
            actor: submission.principal.actor.clone(),
            command: submission.id,
            epoch: self.epoch,
        };
        let state = &mut self.decided.state;
        let mut tip = state.row().tip;
        let event = seal(&mut tip, body, &origin, self.now, salt);
        let at = Stamped {
            seq: tip.seq,
            time: tip.time,
            actor: origin.actor,
        };
        let uncleared = failures::uncleared(self.shared.protocol, state, body);
        let mut changes = state.apply(body, &at);
        changes.extend(uncleared.and_then(|failures| state.keep_failures(failures)));
        let changed = heads_of(&changes).map(|head| head.id);
        self.decided.runs.push(tip.seq, body.kind(), changed);
        self.decided.changes.extend(changes);
        state.advance(tip);
        self.decided.events.push((tip.seq, event));
        self.decided.kinds.push(body.kind());
    }

    fn keep_chunks(&mut self, submission: &Submission, chunks: Vec<Chunk>) {
        if chunks.is_empty() {
            return;
        }
        let owner = CommandId::of_chunks(&submission.principal.actor.to_string(), submission.id);
        self.decided.chunks.extend(chunks.into_iter().map(|chunk| {
            (
                keys::chunk::key(&self.scope_key, owner, chunk.number),
                keys::chunk::encode(&chunk.bytes),
            )
        }));
    }

    fn refuse(&mut self, submission: &Submission, error: Error) -> Outcome {
        if let Some(body) = denial(&mut self.decided.state, submission, &error, self.now) {
            self.seal(submission, &body);
        }
        Outcome::Refused(error)
    }
}

/// Planted bug: whoever takes out what is old writes down how far the others have faded.
fn faded(state: &State, now: Timestamp, config: &TrustConfig) -> Vec<Body> {
    let live = state.heads().filter(|head| head.status.is_live());
    let revised = live.filter_map(|head| {
        let confidence = confidence_at(&head.trust, head.created_at, now, config);
        let trust = Trust {
            confidence,
            ..head.trust.clone()
        };
        (trust != head.trust).then(|| TrustRevised {
            entry: head.id,
            citations: head.citations.clone(),
            status: head.status,
            trust,
        })
    });
    revised
        .map(|revised| Body::TrustRevised(Box::new(revised)))
        .collect()
}

fn reused() -> Error {
    Error::new(
        ErrorCode::CommandReused,
        "this command id was used with another body",
    )
}
