//! Invariants 5 and 6: what a write rests on, and that whoever made it was allowed to.

use super::{Invariant, Violation, broken, ensure};
use crate::decision::Rank;
use crate::entry::Status;
use crate::event::{Body, EntryAmended, EntryCreated};
use crate::permission::{Access, Control, allows, entry_rule};
use crate::principal::{Actor, PrincipalKind};
use crate::retention::Retirement;
use crate::review::Question;
use crate::scope::{Level, Scope};
use crate::verification::{Outcome, Verification};

/// Invariant 6: whoever gave a command was allowed to. `bodies` are all events of the command but
/// its records, for which [`record_permitted`] speaks.
///
/// # Errors
/// What does not hold.
pub fn command_permitted(scope: &Scope, actor: &Actor, bodies: &[Body]) -> Result<(), Violation> {
    // What follows from a promotion, an answer, an undoing or a return rests on the leave for that.
    let under = bodies.iter().find_map(|body| match body {
        Body::Published { .. } => Some(Access::CarryOut),
        Body::ReviewAnswered { .. } | Body::PromotionUndone { .. } | Body::EntryRestored(_) => {
            Some(Access::Decide)
        }
        _ => None,
    });
    for body in bodies {
        let Some(access) = access_of(body, under) else {
            continue;
        };
        permitted(scope, actor, access)?;
    }
    Ok(())
}

/// Invariant 6, for an appended record.
///
/// # Errors
/// What does not hold.
pub fn record_permitted(scope: &Scope, actor: &Actor) -> Result<(), Violation> {
    permitted(scope, actor, Access::Control(Control::AppendLog))
}

fn permitted(scope: &Scope, actor: &Actor, access: Access) -> Result<(), Violation> {
    let level = scope.level();
    let what = || {
        format!(
            "{} does not allow it to {actor} in a {level}",
            access.rule(level)
        )
    };
    ensure(
        allows(actor.kind, access, level),
        Invariant::Permitted,
        what,
    )
}

/// What leave an event needed; none when it is no write of its actor's.
fn access_of(body: &Body, under: Option<Access>) -> Option<Access> {
    Some(match body {
        Body::Denied { .. } => return None,
        Body::ReviewRaised { question, .. } => match **question {
            Question::Offer(_) => Access::Control(Control::Maintain),
            // It follows from what its command did.
            _ => return None,
        },
        Body::TaskOpened { .. } => Access::Control(Control::OpenTask),
        Body::RecordAppended(_) | Body::BoundRecordAppended(_) => {
            Access::Control(Control::AppendLog)
        }
        Body::StuckMarked { .. } => Access::Control(Control::MarkStuck),
        Body::StuckCleared => Access::Control(Control::ClearStuck),
        Body::TaskClosed { .. } => Access::Control(Control::CloseTask),
        Body::TaskArchived => Access::Control(Control::Maintain),
        Body::VerificationRecorded(_) | Body::FixFailed(_) | Body::PromotionDropped { .. } => {
            Access::Control(Control::RecordVerification)
        }
        Body::TrajectoryStored(_) => Access::Control(Control::StoreTrajectory),
        Body::Promoted { .. } | Body::Published { .. } => Access::CarryOut,
        Body::EntryCreated(_)
        | Body::EntryAmended(_)
        | Body::Merged(_)
        | Body::Superseded { .. }
        | Body::Linked { .. }
        | Body::CitationsRefreshed(_)
        | Body::StateResolved { .. } => under.unwrap_or(Access::Entries),
        Body::EntriesRetired {
            why: Retirement::Stale { .. },
            ..
        } => under.unwrap_or(Access::Control(Control::ReportOutcome)),
        Body::EntriesRetired { .. } => under.unwrap_or(Access::Control(Control::Maintain)),
        Body::ReuseReported(_) => Access::Control(Control::ReportOutcome),
        Body::ReviewAnswered { .. }
        | Body::PromotionUndone { .. }
        | Body::SupersessionUndone { .. }
        | Body::EntryRestored(_)
        | Body::TrustRevised(_) => Access::Decide,
        Body::TokenMinted { token, .. } => match token.actor.kind {
            PrincipalKind::Agent => Access::Control(Control::MintAgentToken),
            _ => Access::Control(Control::ManageTokens),
        },
        Body::TokenRevoked { .. } => Access::Control(Control::ManageTokens),
        Body::ContentErased(_) => Access::Control(Control::Erase),
        Body::EvidenceSaved(_) | Body::AnchorAdded(_) | Body::AnchorDropped { .. } => {
            Access::Save(Rank::Normal)
        }
        Body::RelationDeclared { .. } => Access::Save(Rank::Lock),
        Body::DecisionSaved(saved) => {
            let ranks = saved.text.iter().map(|text| text.rank).chain(saved.before);
            // Whoever may save the stronger of the two may save the other. One that began and says nothing is no chain.
            Access::Save(ranks.min().unwrap_or(Rank::Axis))
        }
    })
}

/// Invariant 5: what a command publishes rests on what it must rest on. `verification` is the one
/// that the command's `PUBLISHED` names, as its source recorded it; none when there is none.
///
/// # Errors
/// What does not hold.
pub fn command_backed(
    scope: &Scope,
    bodies: &[Body],
    verification: Option<&Verification>,
) -> Result<(), Violation> {
    let published = bodies.iter().find_map(|body| match body {
        Body::Published {
            source,
            verification,
            ..
        } => Some((source, *verification)),
        _ => None,
    });
    if let Some((source, id)) = published {
        let Some(found) = verification.filter(|found| found.id == id) else {
            return broken(
                Invariant::Backed,
                format!("verification {id} of {source} was never recorded"),
            );
        };
        let upward = found.target == *scope && scope.contains(source) && scope != source;
        ensure(upward, Invariant::Backed, || {
            format!("verification {id} names {}, not {scope}", found.target)
        })?;
    }
    for body in bodies {
        match body {
            Body::EntryCreated(created) => {
                created_backed(scope, created, published.and(verification))?
            }
            Body::EntryAmended(amended) => amended_backed(scope, amended)?,
            _ => {}
        }
    }
    Ok(())
}

fn created_backed(
    scope: &Scope,
    created: &EntryCreated,
    promotion: Option<&Verification>,
) -> Result<(), Violation> {
    let backed = |holds: bool, what: &str| {
        ensure(holds, Invariant::Backed, || {
            format!("entry {} {what}", created.id)
        })
    };
    let named = created.promotion == promotion.map(|verification| verification.id);
    backed(named, "names a promotion that did not publish it")?;
    let verifies = created
        .citations
        .iter()
        .any(|citation| citation.can_verify());
    if let Some(verification) = promotion {
        let failed = verification.said.outcome == Outcome::Failed;
        backed(
            created.failure == failed,
            "does not tell what its verification said",
        )?;
    } else if entry_rule(scope.level()).needs_verification {
        backed(verifies, "rests on no verification")?;
    }
    backed(
        !created.failure || created.status == Status::Hypothesis,
        "tells of a failure, and is no hypothesis",
    )?;
    backed(
        created.status == Status::Hypothesis || verifies,
        "is verified by nothing",
    )?;
    let cites = created.table.kind().needs_citation() && scope.level() > Level::Worktree;
    backed(!cites || !created.citations.is_empty(), "cites nothing")
}

fn amended_backed(scope: &Scope, amended: &EntryAmended) -> Result<(), Violation> {
    let verifies = amended
        .citations
        .iter()
        .any(|citation| citation.can_verify());
    let needs =
        entry_rule(scope.level()).needs_verification || amended.status != Status::Hypothesis;
    ensure(verifies || !needs, Invariant::Backed, || {
        format!(
            "version {} of {} rests on no verification",
            amended.version, amended.id
        )
    })
}
