//! Deciding what is done to a task: opening, verifying, marking, closing, archiving.

use std::borrow::Cow;

use super::entry::told;
use super::{Context, Decision, check_level, check_short, check_stated, promotion};
use crate::circular::{Approach, ErrorHash, Failures, Wording, reason_of};
use crate::command::{AnswerBody, VerificationRef};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, FixFailed};
use crate::id::VerificationId;
use crate::limits::{APPROACH_NAME_BYTES_MAX, ERROR_TEXT_BYTES_MAX, FAILURE_REASON_BYTES_MAX};
use crate::membership::WireVersion;
use crate::permission::{authorize_read, entry_rule};
use crate::principal::{Principal, PrincipalKind};
use crate::promotion::PublishReport;
use crate::provenance::check_citations;
use crate::scope::{Level, Scope};
use crate::secret::{mask, mask_hidden, mask_shown, whole_before};
use crate::task::{Closing, Task, TaskAction, TaskStatus};
use crate::verification::{
    NewFailure, NewVerification, Verification, VerificationSource, check_approach,
};

pub(super) fn open(
    context: &Context<'_>,
    title: &str,
    description: &str,
) -> Result<Decision, Error> {
    check_level(context.scope(), Level::Task, "opening")?;
    check_stated("title", title)?;
    if description.len() > ERROR_TEXT_BYTES_MAX {
        return Err(Error::too_large(
            "description bytes",
            ERROR_TEXT_BYTES_MAX as u64,
            description.len() as u64,
        ));
    }
    if let Some(task) = context.state.task() {
        let current = crate::error::Current {
            seq: Some(context.state.row().tip.seq),
            ..Default::default()
        };
        let why = format!("the task was opened before; it is {}", task.status.as_str());
        return Err(Error::conflict(why, current));
    }
    let body = Body::TaskOpened {
        title: mask(title).text.into_owned(),
        description: mask(description).text.into_owned(),
    };
    Ok(Decision::of(vec![body], AnswerBody::Task(TaskStatus::Open)))
}

pub(super) fn mark_stuck(context: &Context<'_>, reason: &str) -> Result<Decision, Error> {
    task(context, TaskAction::MarkStuck)?;
    check_stated("reason", reason)?;
    let body = Body::StuckMarked {
        reason: mask(reason).text.into_owned(),
    };
    Ok(Decision::of(
        vec![body],
        AnswerBody::Task(TaskStatus::Stuck),
    ))
}

pub(super) fn clear_stuck(context: &Context<'_>) -> Result<Decision, Error> {
    task(context, TaskAction::ClearStuck)?;
    Ok(Decision::of(
        vec![Body::StuckCleared],
        AnswerBody::Task(TaskStatus::Open),
    ))
}

pub(super) fn close(
    context: &Context<'_>,
    closing: Closing,
    reason: &str,
) -> Result<Decision, Error> {
    task(context, TaskAction::Close)?;
    check_short("reason", reason)?;
    let status = match closing {
        Closing::Done => TaskStatus::Done,
        Closing::Failed => TaskStatus::Failed,
    };
    let body = Body::TaskClosed {
        closing,
        reason: mask(reason).text.into_owned(),
    };
    Ok(Decision::of(vec![body], AnswerBody::Task(status)))
}

pub(super) fn archive(context: &Context<'_>) -> Result<Decision, Error> {
    task(context, TaskAction::Archive)?;
    Ok(Decision::of(
        vec![Body::TaskArchived],
        AnswerBody::Task(TaskStatus::Archived),
    ))
}

pub(super) fn record_verification(
    context: &Context<'_>,
    said: &NewVerification,
) -> Result<Decision, Error> {
    let verification = verification(context, said)?;
    let result = AnswerBody::Verification {
        id: verification.id,
        from: verification.from,
        through: verification.through,
        target: verification.target.clone(),
    };
    Ok(Decision::of(
        vec![Body::VerificationRecorded(Box::new(verification))],
        result,
    ))
}

/// Records a verification that failed, and judges the error by what failed in the task before. As long as a node reads nothing
/// of that, the verification alone is recorded.
pub(super) fn record_failure(
    context: &Context<'_>,
    failure: &NewFailure,
) -> Result<Decision, Error> {
    failure.check_form()?;
    if context.facts.spoken < WireVersion::WITH_FAILURES {
        return record_verification(context, &failure.said);
    }
    let verification = verification(context, &failure.said)?;
    let task = task(context, TaskAction::Verify)?;
    let failed = fix_failed(&verification, failure, &task.failures)?;
    let result = AnswerBody::Failed {
        id: verification.id,
        from: verification.from,
        through: verification.through,
        target: verification.target.clone(),
        judged: failed.error.map(|seen| task.judge(seen)),
    };
    let tells = failed.error.is_some() || failed.approach.is_some();
    let recorded = Body::VerificationRecorded(Box::new(verification));
    let failed = tells.then(|| Body::FixFailed(Box::new(failed)));
    let bodies = [recorded].into_iter().chain(failed).collect();
    Ok(Decision::of(bodies, result))
}

/// What failed of the fix that a verification is about, where these failures are remembered. An error that is blank says nothing.
fn fix_failed(
    verification: &Verification,
    failure: &NewFailure,
    failures: &Failures,
) -> Result<FixFailed, Error> {
    let said = &verification.said;
    let error = said.error.as_deref();
    let error = error.filter(|error| !error.trim().is_empty());
    let names = |names: &[String]| -> Vec<String> {
        let names = names.iter();
        names
            .map(|name| as_far_as(APPROACH_NAME_BYTES_MAX, mask_shown(name)))
            .collect()
    };
    let approach = said.approach.clone().map(|text| Approach {
        text,
        files: names(&failure.files),
        symbols: names(&failure.symbols),
    });
    // In place of short secrets more may stand than there is room for.
    approach.as_ref().map_or(Ok(()), check_approach)?;
    let reason = error.map(reason_of).unwrap_or_default();
    Ok(FixFailed {
        verification: verification.id,
        error: error.map(|error| failures.seen(ErrorHash::of(error), verification.id)),
        wording: approach.as_ref().map(Wording::kept).unwrap_or_default(),
        approach,
        // Without what is wrapped around a line, a secret may stand there that was none before.
        reason: as_far_as(FAILURE_REASON_BYTES_MAX, mask(&reason).text),
    })
}

/// A masked text as far as there is room for it: in place of a short secret more may stand.
pub(super) fn as_far_as(bytes_max: usize, masked: Cow<'_, str>) -> String {
    let mut text = masked.into_owned();
    if text.len() > bytes_max {
        text.truncate(whole_before(&text, bytes_max));
    }
    text
}

/// A verification as it is to be stored.
fn verification(context: &Context<'_>, said: &NewVerification) -> Result<Verification, Error> {
    let task = task(context, TaskAction::Verify)?;
    said.check_form()?;
    let principal = &context.submission.principal;
    check_approval(principal, said.source)?;
    check_citations(principal, &said.citations, context.facts)?;
    let target = target(context, said.target.as_ref())?;
    let id = VerificationId::derived(
        context.scope(),
        &principal.actor.to_string(),
        context.submission.id,
    );
    let text = |text: &Option<String>, masked: fn(&str) -> Cow<'_, str>| {
        let text = text.as_deref();
        text.map(|text| as_far_as(ERROR_TEXT_BYTES_MAX, masked(text)))
    };
    Ok(Verification {
        id,
        said: NewVerification {
            error: text(&said.error, mask_hidden),
            // What was tried is told in words, and colours nothing.
            approach: text(&said.approach, mask_shown),
            binding: told(context, &said.binding),
            ..said.clone()
        },
        recorder: principal.actor.clone(),
        time: context.now,
        from: task.verified_through,
        through: context.state.row().tip.seq,
        target,
    })
}

/// A human's approval is given by a human: it becomes a citation of that person.
fn check_approval(principal: &Principal, source: VerificationSource) -> Result<(), Error> {
    if source != VerificationSource::HumanApproved || principal.actor.kind == PrincipalKind::Human {
        return Ok(());
    }
    Err(Error::forbidden(
        "verification/human_approved",
        format!("{} is no person: only a person approves", principal.actor),
    ))
}

/// Where the knowledge goes: the task's project unless told otherwise, always strictly upward, and
/// only where whoever records the verification could authorise it.
fn target(context: &Context<'_>, named: Option<&Scope>) -> Result<Scope, Error> {
    let project = context
        .scope()
        .at_level(Level::Project)
        .expect("a task lies in a project");
    let target = named.cloned().unwrap_or(project);
    if target.level() <= context.scope().level() || !target.contains(context.scope()) {
        let why = format!("{target} is no wider scope that holds {}", context.scope());
        return Err(Error::new(ErrorCode::InvalidPromotion, why));
    }
    let principal = &context.submission.principal;
    authorize_read(principal, &target)?;
    let can_authorise = [PrincipalKind::Human, PrincipalKind::System].contains(&principal.kind());
    if target.level() == Level::Org && !can_authorise {
        let rule = entry_rule(Level::Org).name;
        return Err(Error::forbidden(
            rule,
            "only a person decides what an organisation takes",
        ));
    }
    Ok(target)
}

pub(super) fn note_promoted(
    context: &Context<'_>,
    verification: VerificationId,
    target: &Scope,
    report: &PublishReport,
) -> Result<Decision, Error> {
    let named = VerificationRef {
        task: context.scope().clone(),
        id: verification,
    };
    if !matches!(context.facts.verifications.get(&named), Some(Some(_))) {
        let why = format!("no verification {verification}");
        return Err(Error::new(ErrorCode::NotFound, why));
    }
    // In conflict with a drop, which takes the job away: one of the two is too late.
    let is_under_way = context.facts.jobs.get(&named) == Some(&true);
    if !is_under_way || context.state.has_ended(verification) {
        let why = format!("promotion {verification} has ended before");
        return Err(promotion::ended(context, why));
    }
    let task = context
        .state
        .task()
        .ok_or_else(|| unknown(context.scope()))?;
    let status = task.status_after_promotion();
    let body = Body::Promoted {
        verification,
        target: target.clone(),
        status,
        report: Box::new(report.clone()),
    };
    Ok(Decision::of(vec![body], AnswerBody::Task(status)))
}

/// The task, if it exists and its status takes the action.
pub(super) fn task<'a>(context: &Context<'a>, action: TaskAction) -> Result<&'a Task, Error> {
    check_level(context.scope(), Level::Task, "the command")?;
    let task = context
        .state
        .task()
        .ok_or_else(|| unknown(context.scope()))?;
    task.check(action)?;
    Ok(task)
}

pub(super) fn unknown(scope: &Scope) -> Error {
    Error::new(ErrorCode::NotFound, format!("{scope} was never opened"))
}
