//! What is to be known before a promotion is carried out, or ended.

use super::{Ask, Need};
use crate::command::{Command, VerificationRef};

impl Ask<'_> {
    /// What a command wants to know that carries a promotion out, or ends it.
    pub(super) fn promotion(&mut self, command: &Command) {
        match command {
            Command::Publish(publish) => {
                let mark = (publish.source.clone(), publish.verification.id);
                if !self.facts.marks.contains_key(&mark) {
                    self.needs.push(Need::Mark(mark.0, mark.1));
                }
                self.job(&VerificationRef {
                    task: publish.source.clone(),
                    id: publish.verification.id,
                });
                for (number, product) in publish.products.iter().enumerate() {
                    self.entry(number, product);
                }
            }
            Command::NotePromoted { verification, .. } => {
                let named = VerificationRef {
                    task: self.scope.clone(),
                    id: *verification,
                };
                self.verification(Some(&named));
                self.job(&named);
            }
            Command::DropPromotion { .. } => {
                if self.facts.promotions.is_none() {
                    self.needs.push(Need::Promotions);
                }
            }
            _ => unreachable!("only what carries promotions out or ends them comes here"),
        }
    }
}
