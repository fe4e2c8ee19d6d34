//! Deciding reviews: which questions are raised, and what follows from a person's answer.

use super::{Context, Decision, Draft, check_stated, entry, supersede};
use crate::command::{AnswerBody, AnswerReview};
use crate::entry::{Head, Status};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, TrustRevised};
use crate::id::{EntryId, ReviewId};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::provenance::{Backing, status_of};
use crate::retention::Retirement;
use crate::review::{Offer, Question, Review};
use crate::scope::Level;
use crate::secret::mask;
use crate::trust::Trust;

/// Raises the question that the `number`-th write of a command leads to; none while a node lives that reads
/// no questions: the two entries are linked all the same.
pub(super) fn raise(draft: &mut Draft<'_>, number: usize, question: Question) -> Option<ReviewId> {
    let context = draft.context;
    if context.facts.spoken < WireVersion::WITH_REVIEWS {
        return None;
    }
    let id = ReviewId::derived(
        context.scope(),
        &context.submission.principal.actor.to_string(),
        context.submission.id,
        u32::try_from(number).expect("the writes of a command are bounded"),
    );
    let question = Box::new(question);
    draft.push(Body::ReviewRaised { id, question });
    Some(id)
}

/// Raises the question whether this organisation takes an entry over, once for each version of it.
pub(super) fn offer(context: &Context<'_>, offer: &Offer) -> Result<Decision, Error> {
    if context.scope().level() != Level::Org || !context.scope().contains(&offer.scope) {
        let why = format!("{} is offered to its organisation", offer.scope);
        return Err(Error::new(ErrorCode::InvalidPromotion, why));
    }
    let id = ReviewId::of_offer(context.scope(), &offer.scope, offer.entry, offer.version);
    let mut bodies = Vec::new();
    if context.state.review(id).is_none() {
        let question = Box::new(Question::Offer(Box::new(offer.clone())));
        bodies.push(Body::ReviewRaised { id, question });
    }
    Ok(Decision::of(bodies, AnswerBody::Done))
}

/// Answers a question, with all that follows from the answer.
pub(super) fn answer(context: &Context<'_>, answer: &AnswerReview) -> Result<Decision, Error> {
    check_stated("reason", &answer.reason)?;
    let id = answer.review;
    let review = context.state.review(id).ok_or_else(|| {
        let why = format!("{} has no review {id}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    if let Some(given) = &review.answer {
        let said = if given.approved {
            "approved"
        } else {
            "rejected"
        };
        let why = format!("review {id} was {said} by {} before", given.by);
        return Err(Error::conflict(why, Current::default()));
    }
    if answer.keep.is_some() && !(answer.approve && is_contradiction(&review.question)) {
        let why = "an entry to keep is named where a contradiction is approved";
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let mut draft = Draft::new(context);
    draft.push(Body::ReviewAnswered {
        id,
        approved: answer.approve,
        reason: mask(&answer.reason).text.into_owned(),
    });
    if answer.approve {
        nothing_was_amended(context, review)?;
    }
    let (kept, retired) = follow(&mut draft, &review.question, answer)?;
    let answer = AnswerBody::Reviewed {
        review: id,
        kept,
        retired,
    };
    Ok(Decision::of(draft.bodies, answer))
}

/// Refuses an approval where one of the entries has another text by now: nobody was asked about that one.
fn nothing_was_amended(context: &Context<'_>, review: &Review) -> Result<(), Error> {
    for id in review.question.entries() {
        let head = context.state.head(id);
        if let Some(head) = head.filter(|head| head.version_seq > review.raised_by) {
            let current = Current {
                version: Some(head.version),
                entry: Some(id),
                seq: None,
            };
            let why = format!(
                "entry {id} was amended after the question was raised: the review can be rejected"
            );
            return Err(Error::conflict(why, current));
        }
    }
    Ok(())
}

const fn is_contradiction(question: &Question) -> bool {
    matches!(question, Question::Contradiction { .. })
}

/// What an answer does: the entry that holds by it, and the one that it takes out of recall.
fn follow(
    draft: &mut Draft<'_>,
    question: &Question,
    answer: &AnswerReview,
) -> Result<(Option<EntryId>, Option<EntryId>), Error> {
    match question {
        Question::Merge { new, known, cosine } if answer.approve => {
            merge(draft, *new, *known, *cosine)?;
            Ok((Some(*known), Some(*new)))
        }
        Question::Contradiction { new, known, .. } if answer.approve => {
            let kept = answer.keep.unwrap_or(*new);
            let lost = match (kept == *new, kept == *known) {
                (true, _) => *known,
                (_, true) => *new,
                _ => {
                    let why = format!("the review is about {new} and {known}");
                    return Err(Error::new(ErrorCode::InvalidArgument, why));
                }
            };
            replace(draft, kept, lost, &answer.reason)?;
            approve(draft, kept);
            Ok((Some(kept), Some(lost)))
        }
        Question::Wrong { entry, .. } if answer.approve => {
            live(draft, *entry)?;
            retire(draft, *entry, Retirement::Wrong);
            Ok((None, Some(*entry)))
        }
        Question::Wrong { entry, .. } => {
            let head = draft.state.head(*entry);
            let is_live = head.is_some_and(|head| head.status.is_live());
            if is_live {
                approve(draft, *entry);
            }
            Ok((is_live.then_some(*entry), None))
        }
        Question::Offer(offer) if answer.approve => {
            still_stands(draft.context, offer)?;
            let backing = backing(draft.context);
            let id = entry::derived_id(draft.context, 0);
            let product = draft.context.facts.product(offer);
            let written = entry::write(draft, 0, id, &product, &backing, None);
            Ok((Some(written.entry), None))
        }
        Question::Merge { .. } | Question::Contradiction { .. } | Question::Offer(_) => {
            Ok((None, None))
        }
    }
}

/// Refuses to publish what is not any more in the project as it was offered: nobody was asked about that.
fn still_stands(context: &Context<'_>, offer: &Offer) -> Result<(), Error> {
    let source = (offer.scope.clone(), offer.entry);
    let head = context.facts.elsewhere.get(&source);
    let head = head.and_then(Option::as_ref);
    if head.is_some_and(|head| head.status.is_live() && head.version == offer.version) {
        return Ok(());
    }
    let current = Current {
        version: head.map(|head| head.version),
        entry: Some(offer.entry),
        seq: None,
    };
    let by_now = head.map_or("gone".to_owned(), |head| {
        format!("{} in version {}", head.status, head.version)
    });
    let why = format!(
        "entry {} of {} was offered in version {} and is {by_now}: the review can be rejected",
        offer.entry, offer.scope, offer.version
    );
    Err(Error::conflict(why, current))
}

fn live<'a>(draft: &'a Draft<'_>, id: EntryId) -> Result<&'a Head, Error> {
    let head = draft.state.head(id);
    let head = head.ok_or_else(|| Error::new(ErrorCode::NotFound, format!("no entry {id}")))?;
    if head.status.is_live() {
        return Ok(head);
    }
    let current = Current {
        version: Some(head.version),
        entry: Some(id),
        seq: None,
    };
    let why = format!(
        "entry {id} is {} by now: the review can be rejected",
        head.status
    );
    Err(Error::conflict(why, current))
}

/// What stands behind an answer: a person's word validates what it keeps. An orchestrator's does not.
fn backing(context: &Context<'_>) -> Backing {
    let principal = &context.submission.principal;
    if principal.kind() == PrincipalKind::Human {
        Backing::of_person(principal, &context.submission.id.to_string())
    } else {
        Backing::None
    }
}

fn merge(draft: &mut Draft<'_>, new: EntryId, known: EntryId, cosine: f64) -> Result<(), Error> {
    live(draft, known)?;
    let head = live(draft, new)?;
    let (citations, failure) = (head.citations.clone(), head.failure);
    let (trust, status) = (head.trust.clone(), head.status);
    // What was written since the index was told is in the state, with its text.
    let fresh = draft.state.fresh().iter().find(|fresh| fresh.id == new);
    let fresh = fresh.map(|fresh| fresh.content.clone());
    let version = draft.context.facts.versions.get(&new);
    let stored = version.and_then(Option::as_ref);
    let content = fresh
        .or_else(|| stored.map(|version| version.content.clone()))
        .ok_or_else(|| {
            let why = format!("the text of entry {new} is not there");
            Error::new(ErrorCode::NotFound, why)
        })?;
    let backing = backing(draft.context);
    let said = entry::Said {
        content,
        citations,
        failure,
    };
    entry::merge(draft, known, &said, &backing, None, cosine);
    inherit(draft, known, &trust, status);
    retire(draft, new, Retirement::Duplicate { of: known });
    Ok(())
}

/// Hands on what another entry was worth that says the same.
fn inherit(draft: &mut Draft<'_>, id: EntryId, trust: &Trust, status: Status) {
    let config = &draft.context.config.trust;
    let head = draft.state.head(id).expect("the caller has merged into it");
    // What failed stays a hypothesis, whatever says the same.
    if head.failure {
        return;
    }
    let (joined, status) = (head.trust.joined(trust, config), head.status.max(status));
    if joined != head.trust || status != head.status {
        let revised = TrustRevised {
            entry: id,
            citations: head.citations.clone(),
            status,
            trust: joined,
        };
        draft.push(Body::TrustRevised(Box::new(revised)));
    }
}

/// Has `kept` stand in the place of `lost`: as its successor where the two can form a line, else by taking
/// `lost` out of recall.
fn replace(draft: &mut Draft<'_>, kept: EntryId, lost: EntryId, reason: &str) -> Result<(), Error> {
    live(draft, kept)?;
    let old = live(draft, lost)?.clone();
    if supersede::existing(&draft.state, draft.context.scope(), &old, kept).is_err() {
        retire(draft, lost, Retirement::Contradicted { by: kept });
        return Ok(());
    }
    draft.push(Body::Superseded {
        new: kept,
        old: lost,
        line: old.line,
        reason: mask(reason).text.into_owned(),
        commit: None,
    });
    Ok(())
}

fn retire(draft: &mut Draft<'_>, entry: EntryId, why: Retirement) {
    let entries = vec![entry];
    draft.push(Body::EntriesRetired { entries, why });
}

/// Counts a person's word for an entry.
fn approve(draft: &mut Draft<'_>, id: EntryId) {
    let context = draft.context;
    let backing = backing(context);
    let head = draft.state.head(id).expect("the caller has looked at it");
    // What failed stays a hypothesis, whoever says so.
    if backing == Backing::None || head.failure {
        return;
    }
    let config = &context.config.trust;
    let citations = backing.cite(&head.citations);
    let status = status_of(head.status, &citations, true, head.usage.helped, config);
    debug_assert!(status != Status::Hypothesis, "a person's word verifies");
    let trust = backing.approved_trust(&head.trust, context.now, config);
    draft.push(Body::TrustRevised(Box::new(TrustRevised {
        entry: id,
        citations,
        status,
        trust,
    })));
}
