//! What is to be known before content is erased.

use super::{Ask, Need};
use crate::erasure::Erase;
use crate::event::Body;
use crate::id::Seq;

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
        positions.retain(|seq| !self.facts.events.contains_key(seq));
        if !positions.is_empty() {
            self.needs.push(Need::Events(positions));
        }
        if !order.records.is_empty() && self.facts.promotions.is_none() {
            self.needs.push(Need::Promotions);
        }
    }
}
