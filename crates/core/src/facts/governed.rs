//! What is to be known before what an entry is worth changes: reports, answers of people, retention, undoing.

use std::borrow::Cow;

use super::{Ask, Facts, HashKey, Need};
use crate::command::{Command, VerificationRef};
use crate::entry::{Status, Table};
use crate::id::{EntryId, ReviewId};
use crate::limits::UNCOVERED_MAX;
use crate::promotion::NewEntry;
use crate::review::{Offer, Question};
use crate::scope::Scope;

impl Facts {
    /// What is offered, with its vector as it is searched by.
    #[must_use]
    pub fn product<'a>(&self, offer: &'a Offer) -> Cow<'a, NewEntry> {
        match &self.offered {
            None => Cow::Borrowed(&offer.product),
            Some(refitted) => Cow::Owned(NewEntry {
                embedding: refitted.embedding.clone(),
                ..offer.product.clone()
            }),
        }
    }
}

impl Ask<'_> {
    /// What a command wants to know that changes what entries are worth.
    pub(super) fn governed(&mut self, command: &Command) {
        match command {
            Command::ReportReuse { task, entry, .. } => self.report(*entry, task),
            Command::ReportGate(said) => {
                self.report(said.entry, &said.task);
                self.line(said.entry);
                self.commits(vec![said.at.clone()]);
            }
            Command::ResolveState {
                entry,
                verification,
                ..
            } => {
                self.verification(verification.as_ref());
                self.line(*entry);
            }
            Command::AnswerReview(answer) => self.answer(answer.review),
            Command::UndoPromotion { promotion, .. } => self.undo(promotion),
            Command::Retire { entries, .. } => {
                for (entry, _) in entries {
                    self.head_with_text(*entry);
                    self.worth(*entry);
                }
            }
            Command::RestoreEntry { entry, .. } => self.returning(*entry),
            Command::Offer(offer) => self.review(ReviewId::of_offer(
                self.scope,
                &offer.scope,
                offer.entry,
                offer.version,
            )),
            _ => unreachable!("only what changes the worth of entries comes here"),
        }
    }

    /// The version of an entry whose worth stands in its typed part.
    fn worth(&mut self, entry: EntryId) {
        if let Some(head) = self.state.head(entry)
            && matches!(head.table, Table::Episodes | Table::Skills)
            && !self.facts.versions.contains_key(&entry)
        {
            self.needs.push(Need::Version(entry, head.version));
        }
    }

    /// An entry that is to come back, why it left, and what is close to it by now.
    fn returning(&mut self, entry: EntryId) {
        self.head_with_text(entry);
        self.why_left(entry);
        if let Some(text) = self.facts.returning.as_deref()
            && (text.table.merges() || text.claim.is_some())
        {
            self.entry(0, text);
        }
    }

    /// Why an entry left recall, where it did: its head changes no more once it has.
    fn why_left(&mut self, entry: EntryId) {
        if let Some(head) = self.state.head(entry)
            && head.status == Status::Archived
            && !self.facts.retirements.contains_key(&entry)
        {
            self.needs.push(Need::Retirement(entry, head.updated_at));
        }
    }

    /// What is to be known of an entry that a task reports on.
    fn report(&mut self, entry: EntryId, task: &Scope) {
        self.head(entry);
        if !self.facts.tasks.contains_key(task) {
            self.needs.push(Need::Task(task.clone()));
        }
        if !self.state.knows_report(entry, task) {
            self.needs.push(Need::Report(entry, task.clone()));
        }
    }

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

    /// The entry that has the text of one which may hold again, and what the two declare.
    fn holder_of_text(&mut self, id: EntryId) {
        let key = self.state.head(id).map(|head| HashKey {
            table: head.table,
            failure: head.failure,
            hash: head.content_hash,
        });
        let holder = key.and_then(|key| self.state.by_hash(&key));
        if let Some(holder) = holder.filter(|holder| *holder != id) {
            self.candidate(holder);
            self.candidate(id);
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
                    self.why_left(*known);
                }
            }
        }
        for entry in entries {
            self.line(entry);
            self.why_left(entry);
            // What was taken back itself, while it was replaced, is passed over.
            let mut above = self.state.head(entry);
            for _ in 0..UNCOVERED_MAX {
                let Some(old) = above.and_then(|head| head.lifecycle.supersedes) else {
                    break;
                };
                self.head_with_text(old);
                self.holder_of_text(old);
                let known = self.state.head(old);
                above = known.filter(|head| head.status == Status::Archived);
            }
        }
    }
}
