//! Deciding to take a promotion back: what it made leaves recall, what that replaced holds again, and what
//! it only supported loses that support.

use super::restore::was_asked;
use super::{Context, Decision, Draft, check_stated, compare, entry, older_nodes};
use crate::citation::Citation;
use crate::command::{AnswerBody, VerificationRef};
use crate::dedup::{self, Contradiction, Verdict};
use crate::entry::{Head, Status};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, EntryRestored, TrustRevised};
use crate::facts::HashKey;
use crate::id::EntryId;
use crate::membership::WireVersion;
use crate::promotion::{Disposition, PublishReport};
use crate::provenance::{Backing, without};
use crate::retention::Retirement;
use crate::scope::Scope;
use crate::secret::mask;
use crate::verification::{Verification, VerificationSource};

/// What undoing did.
#[derive(Default)]
struct Undone {
    retired: Vec<EntryId>,
    restored: Vec<EntryId>,
    revised: Vec<EntryId>,
    left: Vec<EntryId>,
    /// Whether some are left for no longer than older nodes live.
    waits: bool,
}

/// How a promotion validated an entry that it has not made.
#[derive(Clone, Copy)]
enum Gave {
    /// It said the same once more.
    ByRepeating,
    /// It made another entry, which was merged into this one.
    ByMaking,
}

pub(super) fn undo(
    context: &Context<'_>,
    promotion: &VerificationRef,
    reason: &str,
) -> Result<Decision, Error> {
    check_stated("reason", reason)?;
    let (verification, report) = published(context, promotion)?;
    let mut draft = Draft::new(context);
    let mut undone = Undone::default();
    let reason = mask(reason).text;
    for product in &report.products {
        let Some(id) = product.entry else { continue };
        match product.disposition {
            Disposition::Created | Disposition::Contradicts { .. } => {
                let merges = context.facts.merges.as_ref();
                match merges.and_then(|merges| merges.get(&id)) {
                    // A person found that it says what another entry says, which got what it was worth.
                    Some(known) => {
                        let from = (&promotion.task, verification, Gave::ByMaking);
                        supported(&mut draft, *known, from, (&reason, &mut undone));
                    }
                    None => made(&mut draft, id, promotion, (&reason, &mut undone)),
                }
            }
            Disposition::Merged { .. } => {
                let from = (&promotion.task, verification, Gave::ByRepeating);
                supported(&mut draft, id, from, (&reason, &mut undone));
            }
            Disposition::LeftOut => {}
        }
    }
    if draft.bodies.is_empty() {
        if undone.waits {
            return Err(older_nodes());
        }
        let why = format!("nothing is left of promotion {} to take back", promotion.id);
        return Err(Error::conflict(why, Current::default()));
    }
    ask_of_repeats(&mut draft, &undone.restored);
    draft.push(Body::PromotionUndone {
        source: promotion.task.clone(),
        verification: promotion.id,
        reason: reason.into_owned(),
    });
    let answer = AnswerBody::Undone {
        retired: undone.retired,
        restored: undone.restored,
        revised: undone.revised,
        left: undone.left,
    };
    Ok(Decision::of(draft.bodies, answer))
}

/// The verification, and what its promotion published in this scope.
fn published<'a>(
    context: &Context<'a>,
    promotion: &VerificationRef,
) -> Result<(&'a Verification, &'a PublishReport), Error> {
    let verification = context.facts.verifications.get(promotion);
    let mark = (promotion.task.clone(), promotion.id);
    let here = verification
        .and_then(Option::as_ref)
        .filter(|verification| verification.target == *context.scope());
    let report = context.facts.marks.get(&mark).and_then(Option::as_ref);
    here.zip(report).ok_or_else(|| {
        let why = format!(
            "verification {} of {} published nothing in {}",
            promotion.id,
            promotion.task,
            context.scope()
        );
        Error::new(ErrorCode::NotFound, why)
    })
}

/// Whether all nodes read of entries that come back.
fn reads_of_returns(context: &Context<'_>) -> bool {
    context.facts.spoken >= WireVersion::WITH_RESTORING
}

/// Why maintenance took an entry out, where it did and the entry may come back: what an undoing does not reach there
/// would come back with all that the promotion gave. Beside nodes that do not read of a return, none does: such
/// entries are left, and the promotion can be undone once more.
fn over(draft: &Draft<'_>, id: EntryId) -> Option<Retirement> {
    let head = draft.state.head(id)?;
    let returns =
        head.status == Status::Archived && !head.is_erased() && head.resolved_at().is_none();
    let why = draft.context.facts.retirements.get(&id)?.as_ref()?;
    (returns && why.is_restored()).then(|| why.clone())
}

/// Brings an entry back whose time was over, so that what follows is done to it as to any other. It leaves again with
/// the same command.
fn bring_back(draft: &mut Draft<'_>, id: EntryId, reason: &str) {
    let head = draft.state.head(id).expect("the caller has looked at it");
    draft.push(Body::EntryRestored(Box::new(EntryRestored {
        entry: id,
        status: standing(draft.context, head),
        trust: head.trust.clone(),
        reason: reason.to_owned(),
    })));
}

/// Takes an entry out of recall that the promotion made, and gives back what it replaced. One whose time was over is
/// taken out once more, for this reason.
fn made(
    draft: &mut Draft<'_>,
    id: EntryId,
    promotion: &VerificationRef,
    (reason, undone): (&str, &mut Undone),
) {
    if undone.retired.contains(&id) {
        return;
    }
    if over(draft, id).is_some() {
        if !reads_of_returns(draft.context) {
            undone.left.push(id);
            undone.waits = true;
            return;
        }
        bring_back(draft, id, reason);
    }
    let Some(head) = draft.state.head(id).cloned() else {
        undone.left.push(id);
        return;
    };
    let is_replaced = head.status == Status::Deprecated && head.lifecycle.superseded_by.is_some();
    if !(head.status.is_live() || is_replaced) {
        undone.left.push(id);
        return;
    }
    // It goes first: where it has the very text of what it replaced, that is found by its text again.
    draft.push(Body::EntriesRetired {
        entries: vec![id],
        why: Retirement::Undone {
            source: promotion.task.clone(),
            verification: promotion.id,
        },
    });
    undone.retired.push(id);
    // What it replaced may be the promotion's own as well: that goes with it.
    let below = if is_replaced {
        None
    } else {
        uncover(draft, head)
    };
    let Some(old) = below else { return };
    if old.promotion == Some(promotion.id) {
        made(draft, old.id, promotion, (reason, undone));
    } else {
        undone.restored.push(old.id);
    }
}

/// Asks a person about what holds again where another entry has its text by now: both are recalled till then. Once all is
/// taken back, since the other one may have been the promotion's own. What declares one key with other values is no
/// repetition, whatever the text.
fn ask_of_repeats(draft: &mut Draft<'_>, restored: &[EntryId]) {
    for (number, id) in restored.iter().enumerate() {
        let Some(head) = draft.state.head(*id) else {
            continue;
        };
        let same = draft.state.by_hash(&HashKey {
            table: head.table,
            failure: head.failure,
            hash: head.content_hash,
        });
        let Some(other) = same.filter(|other| other != id) else {
            continue;
        };
        let known = draft.state.head(other);
        let is_live = known.is_some_and(|known| known.status.is_live());
        let (ours, theirs) = (
            compare::claim_of(draft, *id),
            compare::claim_of(draft, other),
        );
        let verdict = if dedup::claims_differ(ours, theirs) {
            Verdict::Contradicts {
                with: other,
                why: Contradiction::Claim,
            }
        } else {
            Verdict::Similar {
                to: other,
                cosine: 1.0,
            }
        };
        if is_live && !was_asked(draft, head, verdict) {
            entry::relate(draft, number, *id, verdict);
        }
    }
}

/// Takes back that the last entry of a line replaced another, which holds again: the nearest one below it
/// that no undoing took back while it was replaced.
fn uncover(draft: &mut Draft<'_>, mut last: Head) -> Option<Head> {
    while let Some(old) = replaced(draft, &last) {
        let was_undone = old.status == Status::Archived;
        let status = if was_undone {
            old.status
        } else {
            standing(draft.context, &old)
        };
        draft.push(Body::SupersessionUndone {
            new: last.id,
            old: old.id,
            line: last.line,
            status,
        });
        if !was_undone {
            return Some(old);
        }
        last = draft.state.head(old.id)?.clone();
    }
    None
}

/// The entry that `head` replaced, where `head` is the last of its line.
fn replaced(draft: &Draft<'_>, head: &Head) -> Option<Head> {
    let old = draft.state.head(head.lifecycle.supersedes?)?;
    let first = draft.state.head(head.line)?;
    let is_last = first.line_head == head.id && old.lifecycle.superseded_by == Some(head.id);
    (is_last && !old.status.is_live()).then(|| old.clone())
}

/// The status that an entry has by what stands behind it.
pub(super) fn standing(context: &Context<'_>, head: &Head) -> Status {
    let is_backed = head.trust.validation_count > 0 && !head.failure;
    let config = &context.config.trust;
    let (citations, helped) = (&head.citations, head.usage.helped);
    crate::provenance::status_of(Status::Hypothesis, citations, is_backed, helped, config)
}

/// Takes from an entry what the promotion gave to it, without having made it.
fn supported(
    draft: &mut Draft<'_>,
    id: EntryId,
    (task, verification, gave): (&Scope, &Verification, Gave),
    (reason, undone): (&str, &mut Undone),
) {
    // What the promotion made itself, and said twice, was retired just now.
    if undone.retired.contains(&id) {
        return;
    }
    let context = draft.context;
    let over = over(draft, id);
    let is_held = |head: &&Head| head.status.is_live() || over.is_some();
    let Some(head) = draft.state.head(id).filter(is_held) else {
        undone.left.push(id);
        return;
    };
    let Backing::Validated {
        source,
        run,
        citation,
    } = Backing::of_verification(verification)
    else {
        return;
    };
    let config = &context.config.trust;
    let counted = match gave {
        Gave::ByRepeating => VerificationSource::RepeatedSuccess,
        Gave::ByMaking => source,
    };
    let Some(trust) = head.trust.without(counted, &run, config) else {
        return;
    };
    if over.is_some() && !reads_of_returns(context) {
        undone.left.push(id);
        undone.waits = true;
        return;
    }
    // Another validation that is left may rest on the very same judgement: the same run, or the same person.
    let is_shared = trust.validation_count > 0
        && (matches!(citation, Citation::Human { .. }) || trust.has_counted(source, &run));
    let judgement = (!is_shared).then_some(&citation);
    let citations = without(&head.citations, task, verification, judgement);
    let revised = Head {
        citations: citations.clone(),
        trust: trust.clone(),
        ..head.clone()
    };
    let status = standing(context, &revised);
    if over.is_some() {
        bring_back(draft, id, reason);
    }
    draft.push(Body::TrustRevised(Box::new(TrustRevised {
        entry: id,
        citations,
        status,
        trust,
    })));
    if let Some(why) = over {
        let entries = vec![id];
        draft.push(Body::EntriesRetired { entries, why });
    }
    undone.revised.push(id);
}
