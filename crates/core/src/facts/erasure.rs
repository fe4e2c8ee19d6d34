//! What is to be known before content is erased.

use super::{Ask, Need};
use crate::erasure::{Erase, EraseMemory, EraseVerifications, events_of};
use crate::event::Body;
use crate::id::{EvidenceId, Seq};
use crate::limits::ERASED_EVENTS_MAX;

impl Ask<'_> {
    pub(super) fn erase(&mut self, order: &Erase) {
        if order.check().is_err() {
            return;
        }
        for entry in &order.entries {
            self.head_with_text(*entry);
        }
        match &self.facts.texts {
            None if !order.entries.is_empty() => {
                self.needs.push(Need::Texts(order.entries.clone()));
            }
            None => {}
            Some(texts) => {
                let bodies = texts.events.iter().filter_map(|event| event.body.as_ref());
                for body in bodies {
                    if let Body::ReviewRaised { id, .. } = body {
                        self.review(*id);
                    }
                }
            }
        }
        let mut positions: Vec<Seq> = order.records.clone();
        for id in &order.offers {
            self.review(*id);
            positions.extend(self.state.review(*id).map(|review| review.raised_by));
        }
        self.events(positions);
        if !order.records.is_empty() && self.facts.promotions.is_none() {
            self.needs.push(Need::Promotions);
        }
    }

    /// Of a decision, evidence, an anchor or a kind of relation, the events that hold what it says are found by their positions:
    /// no other event does.
    pub(super) fn erase_memory(&mut self, order: &EraseMemory) {
        if order.check().is_err() {
            return;
        }
        for root in &order.decisions {
            self.decision_head(*root);
        }
        let unknown = |id: &&EvidenceId| !self.state.knows_evidence(**id);
        let evidence = order.evidence.iter().filter(unknown);
        self.needs.extend(evidence.copied().map(Need::Evidence));
        for anchor in &order.anchors {
            self.anchor(*anchor);
        }
        for name in &order.kinds {
            self.own_declaration(*name);
        }
        let holding = order.holding(self.state);
        if holding.count() > ERASED_EVENTS_MAX as u64 {
            return;
        }
        let seqs = &self.facts.decision_seqs;
        let mut positions: Vec<Seq> = holding.events.iter().copied().collect();
        for (root, mut numbers) in holding.chains() {
            let known = |number: &u64| seqs.get(&(root, *number));
            positions.extend(numbers.iter().filter_map(known).flatten());
            numbers.retain(|number| known(number).is_none());
            if !numbers.is_empty() {
                self.needs.push(Need::DecisionSeqs(root, numbers));
            }
        }
        self.events(positions);
    }

    /// Of a verification, the events that hold what it says are found by what it speaks for.
    pub(super) fn erase_verifications(&mut self, order: &EraseVerifications) {
        if order.check().is_err() {
            return;
        }
        let Some(stored) = &self.facts.promotions else {
            self.needs.push(Need::Promotions);
            return;
        };
        let all = self.state.promotions(stored);
        let named = all
            .iter()
            .filter(|one| order.verifications.contains(&one.verification));
        let positions = named.flat_map(|one| events_of(one.through)).collect();
        self.events(positions);
    }

    /// Events of the scope that are not at hand.
    fn events(&mut self, mut positions: Vec<Seq>) {
        positions.retain(|seq| !self.facts.events.contains_key(seq));
        if !positions.is_empty() {
            self.needs.push(Need::Events(positions));
        }
    }
}
