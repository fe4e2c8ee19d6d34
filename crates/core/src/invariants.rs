//! The invariants of the architecture's section 9, as functions over data.
//!
//! Owns what must hold of what is stored, whatever wrote it: audits, tests and simulations ask the
//! same functions. It must not know how rows are read. Each function says which invariant it is.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::chain::{self, Header, StoredEvent, Tip};
use crate::command::Digest;
use crate::entry::{Head, Status};
use crate::erasure::Erased;
use crate::event::Body;
use crate::id::{CommandId, EntryId, Seq};
use crate::membership::{NodeRow, OwnerRow, is_claimable};
use crate::scope::Scope;
use crate::state::State;

mod decisions;
mod erasure;
mod evidence;
mod failures;
mod governed;
mod heard;
mod promotions;
mod texts;
mod tokens;
mod trajectories;
mod trust;
mod writes;

pub use decisions::{DecisionChain, decision_chain};
pub use erasure::erasure_is_whole;
pub use failures::failure_is_told;
pub use heard::heard_is_committed;
pub use promotions::{dropped_is_unpublished, promotion_ends_once, promotion_publishes_once};
pub use texts::{known_text, texts_are_one};
pub use trust::trust_is_validated;
pub use writes::{command_backed, command_permitted, record_permitted};

/// Which invariant is meant. The numbers are those of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// 1: no gap and no fork in an event sequence or version chain; exactly one active version.
    Chained,
    /// 2: an acknowledged write is never lost, and applies once.
    AppliedOnce,
    /// 3: no two epochs of a slot commit past a takeover.
    Fenced,
    /// 4: an event is heard if and only if it was committed.
    Heard,
    /// 5, what is published is published once: a text that a table holds already makes no second entry.
    Merged,
    /// 5: nothing is published without its verification and, where required, its citations.
    Backed,
    /// 5, what is published is marked with it, so that it is published once.
    Marked,
    /// 6: every write satisfied the permission table.
    Permitted,
    /// 7: the view equals the fold of the events.
    ViewIsFold,
    /// 8: reads never go back in time for one client.
    ReadsGoForward,
    /// 10: after faults heal, everything drains.
    Drained,
    /// 1, 2 and 8 together, as a checker of another make sees them: each scope's history is
    /// linearizable.
    SecondOpinion,
    /// 5, a promotion is published or dropped, and that once.
    EndsOnce,
    /// 5, what a promotion publishes in its target, it publishes at once, and that once.
    PublishedOnce,
    /// 5, what an entry is trusted with follows from what was said of it, and not from how long it has lain there.
    Trusted,
}

impl Invariant {
    /// What the invariant says.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chained => "no gap and no fork",
            Self::AppliedOnce => "applied once",
            Self::Fenced => "one epoch after another",
            Self::Heard => "heard if and only if committed",
            Self::Merged => "one entry for one text",
            Self::Backed => "nothing without its verification",
            Self::Marked => "a promotion is marked with what it publishes",
            Self::Permitted => "every write permitted",
            Self::ViewIsFold => "the view is the fold of the events",
            Self::ReadsGoForward => "reads go forward",
            Self::Drained => "everything drains",
            Self::SecondOpinion => "every history is linearizable",
            Self::EndsOnce => "a promotion ends once",
            Self::PublishedOnce => "a promotion is published once",
            Self::Trusted => "confidence moves by validations alone",
        }
    }
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// What was found instead.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.invariant.as_str())
    }
}

impl core::error::Error for Violation {}

fn broken<T>(invariant: Invariant, what: impl Into<String>) -> Result<T, Violation> {
    Err(Violation {
        invariant,
        what: what.into(),
    })
}

fn ensure(
    holds: bool,
    invariant: Invariant,
    what: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        broken(invariant, what())
    }
}

/// Invariant 1, one event: it follows `tip`, holds what it committed to, is of the kind that its
/// header says, and its content is there, or a person `ordered` it erased: then what is left of it counts. Moves the
/// tip onto it.
///
/// # Errors
/// What does not hold; the tip then stays.
pub fn event_follows(
    tip: &mut Tip,
    event: &StoredEvent,
    ordered: Option<&Erased>,
) -> Result<(Header, Body), Violation> {
    let mut next = *tip;
    let refused = |why: chain::Broken| Violation {
        invariant: Invariant::Chained,
        what: why.to_string(),
    };
    let header = chain::verify(&mut next, event).map_err(refused)?;
    let body = match event.decode_body().map_err(refused)? {
        Some(body) => body,
        None => erasure::rest(&header, ordered)?,
    };
    let kind = header.kind;
    ensure(body.kind() == kind, Invariant::Chained, || {
        format!("the content of a {} is another", kind.as_str())
    })?;
    *tip = next;
    Ok((header, body))
}

/// The head of an entry that was made before.
fn known(state: &State, id: EntryId) -> Result<&Head, Violation> {
    match state.head(id) {
        Some(head) => Ok(head),
        None => broken(Invariant::Chained, format!("entry {id} was never made")),
    }
}

/// The head of an entry that has not left recall: what one that has says, and what it is trusted with, stays till it
/// comes back.
fn held(state: &State, id: EntryId) -> Result<&Head, Violation> {
    let head = known(state, id)?;
    let what = || format!("entry {id} changes, but left recall");
    ensure(head.status != Status::Archived, Invariant::Chained, what)?;
    Ok(head)
}

/// Invariant 1, what an event does: it changes only what is there, gives each entry one version
/// after the other, and replaces no entry twice. What passes can be applied to `state`.
///
/// # Errors
/// What does not hold.
pub fn event_applies(state: &State, body: &Body) -> Result<(), Violation> {
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    let known = |id: EntryId| known(state, id);
    match body {
        Body::RecordAppended(_)
        | Body::BoundRecordAppended(_)
        | Body::Denied { .. }
        | Body::Published { .. } => Ok(()),
        Body::TaskOpened { .. } => {
            chained(state.task().is_none(), "the task was opened before".into())
        }
        Body::StuckMarked { .. }
        | Body::StuckCleared
        | Body::TaskClosed { .. }
        | Body::TaskArchived
        | Body::VerificationRecorded(_)
        | Body::Promoted { .. } => {
            chained(state.task().is_some(), "the task was never opened".into())
        }
        Body::FixFailed(failed) => failures::failure_applies(state, failed),
        Body::TrajectoryStored(stored) => trajectories::trajectory_applies(state, stored),
        Body::PromotionDropped {
            verified_through, ..
        } => promotions::drop_applies(state, *verified_through),
        Body::EntryCreated(created) => chained(
            state.head(created.id).is_none(),
            format!("entry {} was made before", created.id),
        ),
        Body::EntryAmended(amended) => {
            let active = held(state, amended.id)?.version;
            let what = format!(
                "version {} of {} follows version {active}",
                amended.version, amended.id
            );
            chained(amended.version == active + 1, what)
        }
        Body::Merged(merged) => trust::repeated(held(state, merged.into)?, &merged.trust),
        Body::Linked { entry, .. } => known(*entry).map(drop),
        Body::Superseded { new, old, line, .. } => {
            let (new, old, first) = (known(*new)?, known(*old)?, known(*line)?);
            let what = format!("entry {} was replaced before", old.id);
            chained(old.lifecycle.superseded_by.is_none(), what)?;
            chained(
                new.lifecycle.supersedes.is_none(),
                format!("entry {} replaced another before", new.id),
            )?;
            let heads = old.line == first.id && first.line_head == old.id && new.id != old.id;
            let what = format!("entry {} does not head the line of {}", old.id, first.id);
            chained(heads, what)
        }
        Body::TokenMinted { .. } | Body::TokenRevoked { .. } => tokens::event_applies(state, body),
        Body::ReuseReported(_)
        | Body::ReviewRaised { .. }
        | Body::ReviewAnswered { .. }
        | Body::TrustRevised(_)
        | Body::CitationsRefreshed(_)
        | Body::EntriesRetired { .. }
        | Body::StateResolved { .. }
        | Body::EntryRestored(_)
        | Body::SupersessionUndone { .. }
        | Body::PromotionUndone { .. } => governed::event_applies(state, body),
        Body::ContentErased(erased) => erasure::event_applies(state, erased),
        Body::DecisionSaved(saved) => decisions::event_applies(state, saved),
        Body::RelationDeclared { name, .. } => decisions::declared_applies(state, *name),
        Body::EvidenceSaved(_) | Body::AnchorAdded(_) | Body::AnchorDropped { .. } => {
            evidence::event_applies(state, body)
        }
    }
}

/// Invariant 1, the versions of an entry: 1, 2, 3 and so on, and the last one is the active one.
///
/// # Errors
/// What does not hold.
pub fn one_active_version(
    head: &Head,
    versions: impl IntoIterator<Item = u64>,
) -> Result<(), Violation> {
    let mut last = 0;
    for number in versions {
        let what = || format!("version {number} of {} follows version {last}", head.id);
        ensure(number == last + 1, Invariant::Chained, what)?;
        last = number;
    }
    let what = || {
        format!(
            "version {} of {} is active, but {last} is the last",
            head.version, head.id
        )
    };
    ensure(head.version == last, Invariant::Chained, what)
}

/// Invariant 1, a line of supersessions from its first entry on: each entry is replaced by the
/// next, all but the last are deprecated, and the first one knows the last.
///
/// # Errors
/// What does not hold.
pub fn one_head_of_line(line: &[&Head]) -> Result<(), Violation> {
    let (Some(first), Some(last)) = (line.first(), line.last()) else {
        return broken(Invariant::Chained, "a line has at least one entry");
    };
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    for pair in line.windows(2) {
        let [old, new] = pair else { continue };
        let linked =
            old.lifecycle.superseded_by == Some(new.id) && new.lifecycle.supersedes == Some(old.id);
        chained(
            linked,
            format!("entries {} and {} do not name one another", old.id, new.id),
        )?;
        chained(
            !old.status.is_live(),
            format!("entry {} was replaced, but is {}", old.id, old.status),
        )?;
    }
    let ids: BTreeSet<EntryId> = line.iter().map(|head| head.id).collect();
    chained(
        ids.len() == line.len(),
        format!("the line of {} returns to itself", first.id),
    )?;
    let of_line = line.iter().all(|head| head.line == first.id);
    chained(
        of_line,
        format!("an entry of the line of {} names another line", first.id),
    )?;
    chained(
        first.lifecycle.supersedes.is_none(),
        format!("entry {} is not the first of its line", first.id),
    )?;
    let ends = last.lifecycle.superseded_by.is_none() && first.line_head == last.id;
    chained(
        ends,
        format!("entry {} does not head the line of {}", last.id, first.id),
    )
}

/// Invariant 2: what was acknowledged is what is stored, by command and body, and each command once.
///
/// # Errors
/// What does not hold.
pub fn acknowledged_is_stored_once(
    acknowledged: &BTreeSet<(CommandId, Digest)>,
    stored: impl IntoIterator<Item = (CommandId, Digest)>,
) -> Result<(), Violation> {
    let mut found = BTreeMap::new();
    for (command, digest) in stored {
        let first = found.insert(command, digest).is_none();
        ensure(first, Invariant::AppliedOnce, || {
            format!("command {command} was applied twice")
        })?;
    }
    for (command, digest) in acknowledged {
        match found.remove(command) {
            None => {
                return broken(
                    Invariant::AppliedOnce,
                    format!("command {command} was acknowledged and is lost"),
                );
            }
            Some(stored) => {
                let what = || format!("command {command} was applied with another body");
                ensure(stored == *digest, Invariant::AppliedOnce, what)?;
            }
        }
    }
    match found.first_key_value() {
        None => Ok(()),
        Some((command, _)) => broken(
            Invariant::AppliedOnce,
            format!("command {command} was never acknowledged"),
        ),
    }
}

/// Invariant 3, within one scope: an event's epoch is never lower than that of the one before it.
///
/// # Errors
/// What does not hold.
pub fn epoch_follows(before: Option<&Header>, header: &Header) -> Result<(), Violation> {
    let before = before.map_or(header.epoch, |before| before.epoch);
    let what = || format!("epoch {} commits after epoch {before}", header.epoch);
    ensure(header.epoch >= before, Invariant::Fenced, what)
}

/// Invariant 3, for a change of a slot's owner by `writer`: the epoch rises by one, and a living owner
/// is followed only by whom it names itself.
///
/// # Errors
/// What does not hold.
pub fn owner_follows(
    before: Option<&OwnerRow>,
    node: Option<&NodeRow>,
    after: &OwnerRow,
    writer: &str,
) -> Result<(), Violation> {
    let epoch = before.map_or(0, |before| before.epoch.0);
    let what = || format!("epoch {} of a slot follows epoch {epoch}", after.epoch);
    ensure(after.epoch.0 == epoch + 1, Invariant::Fenced, what)?;
    let Some(before) = before else { return Ok(()) };
    // An operator's order has the owner take the slot again: nobody else has it.
    let stays = (&before.node, before.incarnation) == (&after.node, after.incarnation);
    let is_own = stays || before.node == writer;
    let what = || format!("{writer} took a slot from {}, which is alive", before.node);
    ensure(
        is_own || is_claimable(Some(before), node),
        Invariant::Fenced,
        what,
    )
}

/// Where a stored row differs from the one that the events give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowDifference<K> {
    /// The row is not there.
    Missing(K),
    /// The row holds something else.
    Differs(K),
    /// No event gave the row.
    Unexplained(K),
}

/// Invariant 7: the rows that are there are those that the events give, with the same values.
/// `stored` goes through the rows in rising order of their keys. All differences, in that order.
pub fn view_is_fold<K: Ord + Clone, V: PartialEq>(
    expected: &BTreeMap<K, V>,
    stored: impl IntoIterator<Item = (K, V)>,
) -> Vec<RowDifference<K>> {
    let mut differences = Vec::new();
    let mut expected = expected.iter().peekable();
    for (key, value) in stored {
        while let Some((missing, _)) = expected.next_if(|(next, _)| **next < key) {
            differences.push(RowDifference::Missing(missing.clone()));
        }
        match expected.next_if(|(next, _)| **next == key) {
            None => differences.push(RowDifference::Unexplained(key)),
            Some((_, same)) if *same == value => {}
            Some(_) => differences.push(RowDifference::Differs(key)),
        }
    }
    differences.extend(expected.map(|(missing, _)| RowDifference::Missing(missing.clone())));
    differences
}

/// Invariant 8: what one client read of each scope, in the order of its reads, never goes back.
///
/// # Errors
/// What does not hold.
pub fn reads_go_forward<'a>(
    reads: impl IntoIterator<Item = (&'a Scope, Seq)>,
) -> Result<(), Violation> {
    let mut seen: BTreeMap<&Scope, Seq> = BTreeMap::new();
    for (scope, seq) in reads {
        let before = seen.insert(scope, seq).unwrap_or(Seq::ZERO);
        let what = || format!("{scope} was read at {seq} after it was read at {before}");
        ensure(seq >= before, Invariant::ReadsGoForward, what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
