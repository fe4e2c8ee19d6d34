//! Deciding: from a command and the facts to the events that follow from it, or a refusal.
//!
//! Owns the order in which a command is checked, and dispatches to one file for each family of
//! commands. Nothing here changes anything: events are applied by [`crate::state`].

use crate::chain::Tip;
use crate::command::{AnswerBody, Command, CommandRecord, Digest, Submission};
use crate::config::RulesConfig;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::facts::Facts;
use crate::id::Attempt;
use crate::limits::{
    CLOCK_AHEAD_MS_MAX, CLOCK_BEHIND_MS_MAX, DENIAL_SAMPLE_MS, SHORT_TEXT_BYTES_MAX,
};
use crate::permission;
use crate::scope::{Level, Scope};
use crate::state::{Stamped, State};
use crate::time::Timestamp;

mod anchor;
mod compare;
mod decision;
mod declared;
mod entry;
mod erase;
mod evidence;
mod gate;
mod promotion;
mod publish;
mod repeated;
mod restore;
mod retire;
mod reuse;
mod review;
mod staging;
mod supersede;
mod task;
mod text;
mod token;
mod trajectory;
mod undo;

/// What a command leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The events, in order.
    pub bodies: Vec<Body>,
    /// Chunks of large content, to be written before the events that refer to them.
    pub chunks: Vec<Chunk>,
    /// What the caller is told.
    pub result: AnswerBody,
}

impl Decision {
    fn of(bodies: Vec<Body>, result: AnswerBody) -> Self {
        Self {
            bodies,
            chunks: Vec::new(),
            result,
        }
    }
}

/// A piece of a large text, under the number that it has within its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number within the command, from 0.
    pub number: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is to be done about a command, given what the store remembers of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Replay {
    /// It was not applied: decide it.
    Apply,
    /// It was applied before: give the first answer again.
    Answered(Box<crate::command::Answer>),
    /// This attempt was given up for good; a later attempt may be made.
    Abandoned(Attempt),
}

/// Tells a retry from a new command and from a misuse of a command id.
///
/// # Errors
/// `command_reused` when the id was used with another body.
pub fn replay(
    record: Option<&CommandRecord>,
    digest: Digest,
    attempt: Attempt,
) -> Result<Replay, Error> {
    match record {
        None => Ok(Replay::Apply),
        Some(
            CommandRecord::Applied { digest: known, .. }
            | CommandRecord::Aborted { digest: known, .. },
        ) if *known != digest && *known != Digest::ERASED => Err(Error::new(
            ErrorCode::CommandReused,
            "this command id was used with another body",
        )),
        Some(CommandRecord::Applied { answer, .. }) => {
            Ok(Replay::Answered(Box::new(answer.clone())))
        }
        Some(CommandRecord::Aborted { attempt: last, .. }) if *last >= attempt => {
            Ok(Replay::Abandoned(*last))
        }
        Some(CommandRecord::Aborted { .. }) => Ok(Replay::Apply),
    }
}

/// Decides a command that was not applied before. `facts` must leave nothing that
/// [`needs`](crate::facts::needs) asks for.
///
/// # Errors
/// The refusal that the caller gets. Nothing then follows from the command, save that a denial may
/// be noted (see [`denial`]).
pub fn decide(
    state: &State,
    submission: &Submission,
    facts: &Facts,
    config: &RulesConfig,
    now: Timestamp,
) -> Result<Decision, Error> {
    check_submission(state, submission, facts, now)?;
    let context = Context {
        state,
        submission,
        facts,
        config,
        now: now.max(state.row().tip.time),
    };
    match &submission.command {
        Command::OpenTask { title, description } => task::open(&context, title, description),
        Command::MarkStuck { reason } => task::mark_stuck(&context, reason),
        Command::ClearStuck => task::clear_stuck(&context),
        Command::CloseTask { closing, reason } => task::close(&context, *closing, reason),
        Command::ArchiveTask => task::archive(&context),
        Command::RecordVerification(said) => task::record_verification(&context, said),
        Command::RecordFailure(failure) => task::record_failure(&context, failure),
        Command::StoreTrajectory(new) => trajectory::store(&context, new),
        Command::NotePromoted {
            verification,
            target,
            report,
        } => task::note_promoted(&context, *verification, target, report),
        Command::Append { .. } | Command::AppendBound { .. } => staging::decide(&context),
        Command::PutEntry {
            entry,
            verification,
        } => entry::put(&context, entry, verification.as_ref()),
        Command::AmendEntry(amend) => entry::amend(&context, amend),
        Command::Supersede(supersede) => supersede::supersede(&context, supersede),
        Command::Publish(publish) => publish::publish(&context, publish),
        Command::MintToken {
            hash,
            kind,
            id,
            lifetime_ms,
        } => token::mint(&context, hash, *kind, id, *lifetime_ms),
        Command::RevokeToken { hash } => token::revoke(&context, hash),
        Command::ReportReuse {
            task,
            entry,
            outcome,
        } => reuse::report(&context, task, *entry, *outcome),
        Command::ReportGate(said) => gate::report(&context, said),
        Command::ResolveState {
            entry,
            expected_version: seen,
            reason,
            verification,
        } => retire::resolve(&context, (*entry, *seen), reason, verification.as_ref()),
        Command::AnswerReview(answer) => review::answer(&context, answer),
        Command::UndoPromotion { promotion, reason } => undo::undo(&context, promotion, reason),
        Command::Retire { entries, why } => retire::retire(&context, entries, why),
        Command::Offer(offer) => review::offer(&context, offer),
        Command::DropPromotion {
            verification,
            reason,
        } => promotion::drop(&context, *verification, reason),
        Command::Erase(order) => erase::erase(&context, order),
        Command::EraseMemory(order) => erase::memory::erase(&context, order),
        Command::EraseVerifications(order) => erase::verification::erase(&context, order),
        Command::RestoreEntry { entry, reason } => restore::restore(&context, *entry, reason),
        Command::SaveDecision(_)
        | Command::DeactivateDecision { .. }
        | Command::RestoreDecision { .. }
        | Command::DeclareRelation { .. } => decision::decide(&context, &submission.command),
        Command::SaveEvidence(new) => evidence::save(&context, new),
        Command::AddAnchors { anchors } => anchor::add(&context, anchors),
        Command::DropAnchor { anchor, reason } => anchor::drop(&context, *anchor, reason),
    }
}

/// What no command may lack, whatever it says.
fn check_submission(
    state: &State,
    submission: &Submission,
    facts: &Facts,
    now: Timestamp,
) -> Result<(), Error> {
    permission::authorize(
        &submission.principal,
        submission.command.access(),
        submission.command.acts_in(&submission.scope),
    )?;
    if submission.command.since() > facts.spoken {
        return Err(older_nodes());
    }
    check_clock(&state.row().tip, now)?;
    check_command_id(state, submission, now)
}

/// The event that notes a denial in the scope's log: at most one in a second, counting those that
/// were left out. A scope without events gets none, so that nobody fills it from outside.
pub fn denial(
    state: &mut State,
    submission: &Submission,
    error: &Error,
    now: Timestamp,
) -> Option<Body> {
    let rule = error
        .rule()
        .filter(|_| error.code == ErrorCode::Forbidden)?
        .to_owned();
    if state.row().tip.seq == crate::id::Seq::ZERO {
        return None;
    }
    let denials = state.denials();
    if denials
        .last
        .is_some_and(|last| now.since_ms(last) < DENIAL_SAMPLE_MS)
    {
        denials.unsampled += 1;
        return None;
    }
    denials.last = Some(now);
    let unsampled = core::mem::take(&mut denials.unsampled);
    Some(Body::Denied {
        rule,
        kind: submission.principal.kind(),
        command: submission.command.name().to_owned(),
        unsampled,
    })
}

/// The refusal of a command that older nodes of the cluster do not read.
#[must_use]
pub fn older_nodes() -> Error {
    let why = "a node of the cluster is of an older version, which does not read this command";
    Error::new(ErrorCode::Unavailable, why)
}

struct Context<'a> {
    state: &'a State,
    submission: &'a Submission,
    facts: &'a Facts,
    config: &'a RulesConfig,
    /// The time of the events: never before the last one of the scope.
    now: Timestamp,
}

impl Context<'_> {
    fn scope(&self) -> &Scope {
        &self.submission.scope
    }

    fn stamped(&self, events_before: usize) -> Stamped {
        let seq = self.state.row().tip.seq.get() + events_before as u64 + 1;
        Stamped {
            seq: crate::id::Seq::new(seq),
            time: self.now,
            actor: self.submission.principal.actor.clone(),
        }
    }
}

/// Events that build on one another: each is applied to a working copy as it is decided.
struct Draft<'a> {
    context: &'a Context<'a>,
    state: State,
    bodies: Vec<Body>,
}

impl<'a> Draft<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            state: context.state.clone(),
            bodies: Vec::new(),
        }
    }

    fn push(&mut self, body: Body) {
        let at = self.context.stamped(self.bodies.len());
        self.state.apply(&body, &at);
        self.bodies.push(body);
    }
}

fn check_clock(tip: &Tip, now: Timestamp) -> Result<(), Error> {
    if tip.time.since_ms(now) > CLOCK_BEHIND_MS_MAX {
        let why = "the node's clock is far behind the scope's last event";
        return Err(Error::new(ErrorCode::Unavailable, why));
    }
    Ok(())
}

fn check_command_id(state: &State, submission: &Submission, now: Timestamp) -> Result<(), Error> {
    if submission.command.is_exempt_from_floor() {
        return Ok(());
    }
    let made = submission.id.time()?;
    if made < state.row().floor {
        return Err(Error::new(
            ErrorCode::Expired,
            "the command id is older than the log of answered commands",
        ));
    }
    if made.since_ms(now) > CLOCK_AHEAD_MS_MAX {
        return Err(Error::new(
            ErrorCode::InvalidId,
            "the command id's time lies far ahead",
        ));
    }
    Ok(())
}

fn check_short(what: &str, text: &str) -> Result<(), Error> {
    if text.len() > SHORT_TEXT_BYTES_MAX {
        return Err(Error::too_large(
            &format!("{what} bytes"),
            SHORT_TEXT_BYTES_MAX as u64,
            text.len() as u64,
        ));
    }
    Ok(())
}

fn check_stated(what: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            format!("{what} is not empty"),
        ));
    }
    check_short(what, text)
}

fn check_level(scope: &Scope, level: Level, what: &str) -> Result<(), Error> {
    if scope.level() == level {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidScope,
        format!(
            "{what} is given to a {level}; {scope} is a {}",
            scope.level()
        ),
    ))
}

#[cfg(test)]
mod tests;
