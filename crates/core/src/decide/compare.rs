//! What an entry is compared with, before it is decided whether it is new.
//!
//! Owns which entries that are. What follows from a likeness is [`crate::dedup`]'s rule.

use super::Draft;
use crate::dedup::{self, Neighbour, Verdict};
use crate::entry::{Claim, Embedding};
use crate::facts::hash_key;
use crate::fingerprint::ContentHash;
use crate::id::EntryId;
use crate::ports::SpaceThresholds;
use crate::promotion::NewEntry;
use crate::scope::Scope;

/// What becomes of an entry, in the form in which it is stored, among those that hold.
pub(super) fn compared(draft: &Draft<'_>, number: usize, entry: &NewEntry) -> Verdict {
    let neighbours = neighbours(draft, number, entry);
    let thresholds = draft.context.facts.thresholds.unwrap_or(EXACT_ONLY);
    dedup::verdict(entry, &neighbours, thresholds)
}

/// The thresholds where no space is known: only the same text is the same.
pub(super) const EXACT_ONLY: SpaceThresholds = SpaceThresholds {
    merge: f32::INFINITY,
    similar: f32::INFINITY,
};

/// Live entries that may be the same as `entry`, or contradict it: what the index and the table of texts name, and
/// what was written since the index was last told.
pub(super) fn neighbours(draft: &Draft<'_>, number: usize, entry: &NewEntry) -> Vec<Neighbour> {
    let facts = draft.context.facts;
    let mut found: Vec<Neighbour> = Vec::new();
    for fresh in draft.state.fresh() {
        let cosine = cosine(entry.embedding.as_ref(), fresh.embedding.as_ref());
        let known = Known {
            content: &fresh.content,
            claim: fresh.claim.as_ref(),
            succeeded: fresh.detail.succeeded(),
            cosine,
        };
        found.extend(neighbour(draft, fresh.id, &known));
    }
    let indexed = facts
        .neighbours
        .get(&number)
        .into_iter()
        .flatten()
        .map(|n| (n.entry, Some(n.score)));
    let claimants = facts.claimants.get(&number).into_iter().flatten();
    let claimants = claimants.map(|id| (*id, None));
    let same_text = draft.state.by_hash(&hash_key(entry)).map(|id| (id, None));
    for (id, cosine) in indexed.chain(claimants).chain(same_text) {
        let Some(Some(version)) = facts.versions.get(&id) else {
            continue;
        };
        if found.iter().all(|known| known.id != id) {
            let known = Known {
                content: &version.content,
                claim: version.claim.as_ref(),
                succeeded: version.detail.succeeded(),
                cosine,
            };
            found.extend(neighbour(draft, id, &known));
        }
    }
    found
}

/// What an entry claims, as far as its text is at hand.
pub(super) fn claim_of<'a>(draft: &'a Draft<'_>, id: EntryId) -> Option<&'a Claim> {
    let fresh = draft.state.fresh().iter().find(|fresh| fresh.id == id);
    if let Some(fresh) = fresh {
        return fresh.claim.as_ref();
    }
    let version = draft.context.facts.versions.get(&id)?.as_ref()?;
    version.claim.as_ref()
}

fn cosine(ours: Option<&Embedding>, theirs: Option<&Embedding>) -> Option<f32> {
    ours?.cosine(theirs?)
}

/// What a live entry is compared by, beside its head.
struct Known<'a> {
    content: &'a str,
    claim: Option<&'a Claim>,
    succeeded: Option<&'a Scope>,
    cosine: Option<f32>,
}

fn neighbour(draft: &Draft<'_>, id: EntryId, known: &Known<'_>) -> Option<Neighbour> {
    let head = draft.state.head(id).filter(|head| head.status.is_live())?;
    Some(Neighbour {
        id,
        table: head.table,
        failure: head.failure,
        content: known.content.to_owned(),
        content_hash: ContentHash::of(known.content),
        claim: known.claim.cloned(),
        cosine: known.cosine,
        succeeded: known.succeeded.cloned(),
    })
}
