//! Promotions that a state has seen begin or end.
//!
//! Owns what commands of one batch must know of one another, before any of it is stored.

use std::collections::BTreeMap;

use crate::id::VerificationId;
use crate::promotion::{Standing, Stands};
use crate::verification::Verification;

/// What the events that a state has seen say of promotions.
#[derive(Clone, Debug, Default)]
pub(super) struct Promotions {
    recorded: BTreeMap<VerificationId, Standing>,
    ended: BTreeMap<VerificationId, Stands>,
}

impl Promotions {
    pub(super) fn recorded(&mut self, verification: &Verification) {
        let standing = Standing {
            verification: verification.id,
            outcome: verification.said.outcome,
            through: verification.through,
            stands: Stands::Pending,
        };
        self.recorded.insert(verification.id, standing);
    }

    pub(super) fn ended(&mut self, verification: VerificationId, how: Stands) {
        self.ended.insert(verification, how);
    }

    pub(super) fn has_ended(&self, verification: VerificationId) -> bool {
        self.ended.contains_key(&verification)
    }

    pub(super) fn len(&self) -> usize {
        self.recorded.len() + self.ended.len()
    }

    /// All promotions of the task, where `stored` are those that are committed.
    pub(super) fn over(&self, stored: &[Standing]) -> Vec<Standing> {
        let mut all = self.recorded.clone();
        // What is stored knows of a publication, which is no event of the task.
        all.extend(stored.iter().map(|one| (one.verification, *one)));
        for (verification, how) in &self.ended {
            if let Some(one) = all.get_mut(verification) {
                one.stands = *how;
            }
        }
        all.into_values().collect()
    }
}
