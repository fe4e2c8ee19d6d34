//! Deciding to bring back what left recall because of its age, or of code that was gone.

use super::undo::standing;
use super::{Context, Decision, Draft, check_stated, compare, entry};
use crate::citation::{Citation, join};
use crate::command::AnswerBody;
use crate::decay::confidence_at;
use crate::dedup::{self, Verdict};
use crate::entry::{Head, LinkKind, Status};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, EntryRestored, TrustRevised};
use crate::fingerprint::ContentHash;
use crate::id::EntryId;
use crate::promotion::Disposition;
use crate::recall::confidence_min;
use crate::retention::Retirement;
use crate::secret::mask;
use crate::trust::Trust;

/// Gives an entry back that maintenance or the gate took out, with the status that it has by what stands behind it. It comes
/// among those that hold by now as one that is written does: it is refused where another says the same, and a person is
/// asked where another is like it or contradicts it. Whatever a person took out stays out: that is undone where it was decided.
/// What the gate took out cites the commit at which that was found from now on: a report of that commit takes it out no more.
pub(super) fn restore(context: &Context<'_>, id: EntryId, reason: &str) -> Result<Decision, Error> {
    check_stated("reason", reason)?;
    let head = context.state.head(id).ok_or_else(|| {
        let why = format!("{} has no entry {id}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    check_is_over(context, head)?;
    let mut draft = Draft::new(context);
    let verdict = compared(&draft, head)?;
    let (status, trust) = (standing(context, head), anew(context, head));
    draft.push(Body::EntryRestored(Box::new(EntryRestored {
        entry: id,
        status,
        trust: trust.clone(),
        reason: mask(reason).text.into_owned(),
    })));
    if let Some(citations) = against(context, head) {
        draft.push(Body::TrustRevised(Box::new(TrustRevised {
            entry: id,
            citations,
            status,
            trust,
        })));
    }
    let disposition = if was_asked(&draft, head, verdict) {
        Disposition::Created
    } else {
        entry::relate(&mut draft, 0, id, verdict)
    };
    let answer = AnswerBody::Entry {
        id,
        version: head.version,
        status,
        disposition,
    };
    Ok(Decision::of(draft.bodies, answer))
}

fn refused(head: &Head, why: String) -> Error {
    let current = Current {
        version: Some(head.version),
        entry: Some(head.id),
        seq: None,
    };
    Error::conflict(why, current)
}

/// Checks that nobody found fault with the entry when it was taken out.
fn check_is_over(context: &Context<'_>, head: &Head) -> Result<(), Error> {
    if head.status != Status::Archived {
        return Err(refused(
            head,
            format!("entry {} is {}", head.id, head.status),
        ));
    }
    if head.is_erased() {
        let why = format!("the content of entry {} was erased", head.id);
        return Err(refused(head, why));
    }
    if head.resolved_at().is_some() {
        let why = format!(
            "entry {} was resolved: what holds once more is written anew",
            head.id
        );
        return Err(refused(head, why));
    }
    let why = context.facts.retirements.get(&head.id);
    match why.and_then(Option::as_ref) {
        Some(why) if why.is_restored() => Ok(()),
        Some(other) => {
            let why = format!(
                "entry {} was taken out for what was found of it: {}",
                head.id,
                other.name()
            );
            Err(refused(head, why))
        }
        None => {
            let why = format!("it is not known why entry {} was taken out", head.id);
            Err(refused(head, why))
        }
    }
}

/// All that an entry rests on which the gate took out, and the commit against which it comes back; none where it cites that
/// already, where there is no room for it, and where it left for another reason.
fn against(context: &Context<'_>, head: &Head) -> Option<Vec<Citation>> {
    let why = context.facts.retirements.get(&head.id)?.as_ref()?;
    let Retirement::Stale { at } = why else {
        return None;
    };
    let commit = Citation::Commit {
        hash: at.hash.clone(),
        repository: at.repository.clone(),
    };
    let citations = join(&head.citations, &[commit]);
    (citations != head.citations).then_some(citations)
}

/// What an entry is among those that hold by now, as one that would be written anew.
fn compared(draft: &Draft<'_>, head: &Head) -> Result<Verdict, Error> {
    let text = draft.context.facts.returning.as_deref();
    let text = text.filter(|text| ContentHash::of(&text.content) == head.content_hash);
    let text = text.ok_or_else(|| {
        let why = format!("the text of entry {} is not at hand yet", head.id);
        Error::new(ErrorCode::Unavailable, why)
    })?;
    if !head.table.merges() {
        // States and episodes are many of a kind: what they declare is all that they are held against.
        let neighbours = compare::neighbours(draft, 0, text);
        return Ok(dedup::claim_verdict(text, &neighbours));
    }
    let verdict = compare::compared(draft, 0, text);
    let Verdict::Merge { into, .. } = verdict else {
        return Ok(verdict);
    };
    let current = Current {
        entry: Some(into),
        ..Current::default()
    };
    let why = format!("entry {into} says what entry {} says", head.id);
    Err(Error::conflict(why, current))
}

/// Whether a person was asked before about what a verdict says of an entry. Those that were like one another once, and
/// contradict one another by now, were asked about as something else.
pub(super) fn was_asked(draft: &Draft<'_>, head: &Head, verdict: Verdict) -> bool {
    let (other, contradicts) = match verdict {
        Verdict::Similar { to, .. } => (to, false),
        Verdict::Contradicts { with, .. } => (with, true),
        Verdict::New | Verdict::Merge { .. } => return false,
    };
    let links = |head: &Head, to: EntryId| {
        let mut links = head.links.iter().filter(|link| link.to == to);
        links.any(|link| !contradicts || link.kind == LinkKind::Contradicts)
    };
    let known = draft.state.head(other);
    links(head, other) || known.is_some_and(|known| links(known, head.id))
}

/// Its trust, which ages from now on as from a validation: else it would be due again at once. Nobody vouches for it, so
/// that what faded stays faded, down to what recall asks for: what is not found did not come back.
fn anew(context: &Context<'_>, head: &Head) -> Trust {
    let (trust, config) = (&head.trust, context.config);
    let faded = confidence_at(trust, head.created_at, context.now, &config.trust);
    let found = confidence_min(head.table, head.failure, &config.recall);
    let last = trust.last_validated;
    Trust {
        confidence: faded.max(found.min(trust.confidence)),
        last_validated: Some(last.map_or(context.now, |last| last.max(context.now))),
        ..trust.clone()
    }
}
