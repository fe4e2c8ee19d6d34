//! What saving a decision does to the view of a scope.
//!
//! Owns the part of `apply` that makes versions of decisions, and which rows follow from them: where a decision is listed,
//! what it claims and what it is related to, as long as it applies.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Change, Stamped, State};
use crate::decision::{DecisionHead, DecisionVersion, Edge};
use crate::entry::Claim;
use crate::event::DecisionSaved;
use crate::id::DecisionId;
use crate::scope::Scope;

impl State {
    /// The head of a decision, if it is known and exists.
    #[must_use]
    pub fn decision(&self, root: DecisionId) -> Option<&DecisionHead> {
        self.decisions.get(&root)?.as_deref()
    }

    /// Whether it is known if the decision exists.
    #[must_use]
    pub fn knows_decision(&self, root: DecisionId) -> bool {
        self.decisions.contains_key(&root)
    }

    /// Takes in what was read of a decision.
    pub fn learn_decision(&mut self, root: DecisionId, head: Option<DecisionHead>) {
        self.decisions
            .entry(root)
            .or_insert_with(|| head.map(Arc::new));
    }

    pub(super) fn decision_saved(&mut self, saved: &DecisionSaved, at: &Stamped) -> Vec<Change> {
        let before = self.decisions.get(&saved.root).cloned().flatten();
        let head = Arc::new(head_after(before.as_deref(), saved, at));
        self.decisions.insert(saved.root, Some(Arc::clone(&head)));
        let mut changes = vec![
            Change::Decision(Arc::clone(&head)),
            Change::DecisionVersion(Box::new(version_saved(saved, at))),
        ];
        // What is withdrawn is nowhere.
        let was = before.as_deref().filter(|before| before.active);
        let is = Some(&*head).filter(|head| head.active);
        changes.extend(listed(was, is));
        changes.extend(claimed(was, is));
        changes.extend(related(self.scope(), was, is));
        changes
    }

    /// A version of a decision, of which this is left. The decision was withdrawn before, so that it is listed, claims
    /// and is related to nothing; what its head says goes with the first version.
    pub(super) fn decision_erased(&mut self, rest: &DecisionSaved, at: &Stamped) -> Vec<Change> {
        let mut changes = vec![Change::DecisionVersion(Box::new(version_saved(rest, at)))];
        let head = self.decision(rest.root);
        let head = head.expect("an event names decisions that the state knows");
        if !head.is_erased() {
            let head = Arc::new(head.rest());
            self.decisions.insert(rest.root, Some(Arc::clone(&head)));
            changes.push(Change::Decision(head));
        }
        changes
    }
}

/// The version that an event saves.
#[must_use]
pub fn version_saved(saved: &DecisionSaved, at: &Stamped) -> DecisionVersion {
    DecisionVersion {
        root: saved.root,
        number: saved.number,
        act: saved.act,
        text: saved.text.clone(),
        reason: saved.reason.clone(),
        by: at.actor.clone(),
        at: at.time,
        seq: at.seq,
    }
}

/// The head once a version was saved.
fn head_after(before: Option<&DecisionHead>, saved: &DecisionSaved, at: &Stamped) -> DecisionHead {
    let (begun_seq, begun_at) =
        before.map_or((at.seq, at.time), |head| (head.begun_seq, head.begun_at));
    if let Some(text) = &saved.text {
        return DecisionHead {
            root: saved.root,
            version: saved.number,
            active: true,
            rank: text.rank,
            domain: text.domain.clone(),
            phase: text.phase.clone(),
            title: text.title.clone(),
            claim: text.claim.clone(),
            relations: text.relations.clone(),
            begun_seq,
            begun_at,
            changed_at: at.time,
        };
    }
    let before = before.expect("an event withdraws a decision that the state knows");
    DecisionHead {
        version: saved.number,
        active: false,
        changed_at: at.time,
        ..before.clone()
    }
}

/// Where a decision is listed: no longer where it was, and where it is now. Nothing where it stays.
fn listed(was: Option<&DecisionHead>, is: Option<&DecisionHead>) -> Vec<Change> {
    let of_place = |head: &DecisionHead| (head.rank, head.domain.clone());
    if was.map(of_place) == is.map(of_place) {
        return Vec::new();
    }
    let place = |head: &DecisionHead, listed| Change::DecisionListed {
        rank: head.rank,
        domain: head.domain.clone(),
        begun: head.begun_seq,
        root: head.root,
        listed,
    };
    let left = was.map(|was| place(was, false));
    let came = is.map(|is| place(is, true));
    left.into_iter().chain(came).collect()
}

/// What a decision claims: no longer what it did, unless the key is the same.
fn claimed(was: Option<&DecisionHead>, is: Option<&DecisionHead>) -> Vec<Change> {
    let claim = |head: &DecisionHead, version| {
        let Claim { key, value } = head.claim.clone()?;
        Some(Change::DecisionClaim {
            key,
            value,
            root: head.root,
            version,
        })
    };
    let key = |head: &DecisionHead| head.claim.as_ref().map(|claim| claim.key.clone());
    let stays = |was: &&DecisionHead| is.is_some_and(|is| key(is) == key(was));
    let left = was
        .filter(|was| !stays(was))
        .and_then(|was| claim(was, None));
    let came = is.and_then(|is| claim(is, Some(is.version)));
    left.into_iter().chain(came).collect()
}

/// The relations that ended, and behind them those that are declared and began, or say from now on that their decision is called
/// otherwise; each in the order in which they were declared.
fn related(scope: &Scope, was: Option<&DecisionHead>, is: Option<&DecisionHead>) -> Vec<Change> {
    let edges = |head: Option<&DecisionHead>| head.map_or_else(Vec::new, |head| head.edges(scope));
    let (old, new) = (edges(was), edges(is));
    let (old_set, new_set): (BTreeSet<&Edge>, BTreeSet<&Edge>) =
        (old.iter().collect(), new.iter().collect());
    let ended = old.iter().filter(|edge| !new_set.contains(edge));
    let ended = ended
        .cloned()
        .map(|edge| Change::RelatedTo { edge, name: None });
    let mut changes: Vec<Change> = ended.collect();
    if let Some(name) = is.map(DecisionHead::name) {
        let is_renamed = was.map(DecisionHead::name).as_ref() != Some(&name);
        let told = new.iter().filter_map(|edge| {
            let (edge, name, stood) = (edge.clone(), name.clone(), old_set.contains(edge));
            match (stood, is_renamed) {
                (true, true) => Some(Change::RelationRenamed { edge, name }),
                (true, false) => None,
                (false, _) => Some(Change::RelatedTo {
                    edge,
                    name: Some(name),
                }),
            }
        });
        changes.extend(told);
    }
    changes
}

#[cfg(test)]
mod tests;
