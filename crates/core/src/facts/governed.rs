//! What is to be known before a question is answered, or a promotion taken back.

use std::borrow::Cow;

use super::{Ask, Facts, Need};
use crate::command::VerificationRef;
use crate::entry::Status;
use crate::id::{EntryId, ReviewId};
use crate::limits::UNCOVERED_MAX;
use crate::promotion::NewEntry;
use crate::review::{Offer, Question};

impl Facts {
    /// What is offered, with its vector as it is searched by.
    #[must_use]
    pub fn product<'a>(&self, offer: &'a Offer) -> Cow<'a, NewEntry> {
        match &self.offered {
            None => Cow::Borrowed(&offer.product),
            Some(embedding) => Cow::Owned(NewEntry {
                embedding: Some(embedding.clone()),
                ..offer.product.clone()
            }),
        }
    }
}

impl Ask<'_> {
    /// A question, and the entries that an answer changes.
    pub(super) fn answer(&mut self, id: ReviewId) {
        self.review(id);
        let Some(review) = self.state.review(id) else {
            return;
        };
        for entry in review.question.entries() {
            self.line(entry);
        }
        match &review.question {
            Question::Merge { new, .. } => self.candidate(*new),
            Question::Offer(offer) => {
                self.entry(0, &self.facts.product(offer));
                let source = (offer.scope.clone(), offer.entry);
                if !self.facts.elsewhere.contains_key(&source) {
                    self.needs.push(Need::HeadElsewhere(source.0, source.1));
                }
            }
            Question::Contradiction { .. } | Question::Wrong { .. } => {}
        }
    }

    /// What a promotion made, and what that replaced.
    pub(super) fn undo(&mut self, promotion: &VerificationRef) {
        self.verification(Some(promotion));
        let mark = (promotion.task.clone(), promotion.id);
        let Some(published) = self.facts.marks.get(&mark) else {
            self.needs.push(Need::Mark(mark.0, mark.1));
            return;
        };
        let products = published.iter().flat_map(|report| &report.products);
        let entries: Vec<EntryId> = products.filter_map(|product| product.entry).collect();
        // Those that are gone may have gone into others, which hold what the promotion gave.
        let is_gone = |entry: &&EntryId| {
            let head = self.state.head(**entry);
            head.is_some_and(|head| head.status == Status::Archived)
        };
        let gone: Vec<EntryId> = entries.iter().filter(is_gone).copied().collect();
        match &self.facts.merges {
            None if !gone.is_empty() => self.needs.push(Need::Merges(gone)),
            None => {}
            Some(merges) => {
                for known in gone.iter().filter_map(|entry| merges.get(entry)) {
                    self.line(*known);
                }
            }
        }
        for entry in entries {
            self.line(entry);
            // What was taken back itself, while it was replaced, is passed over.
            let mut above = self.state.head(entry);
            for _ in 0..UNCOVERED_MAX {
                let Some(old) = above.and_then(|head| head.lifecycle.supersedes) else {
                    break;
                };
                self.head_with_text(old);
                let known = self.state.head(old);
                above = known.filter(|head| head.status == Status::Archived);
            }
        }
    }
}
