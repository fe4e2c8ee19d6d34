//! Samples of what failed in tasks.

use sillok_core::circular::{Approach, ErrorHash, FailedApproach, Failures, Term, Wording};

use super::Parts;
use crate::keys::failed_approach;

impl Parts {
    pub(in crate::keys) fn error_hash(&self) -> ErrorHash {
        ErrorHash::from_bytes(self.hash)
    }

    pub(in crate::keys) fn approach(&self) -> Approach {
        Approach {
            text: self.text.clone(),
            files: vec![format!("src/{}.rs", self.name)],
            symbols: vec![self.name.clone(); usize::from(self.flag)],
        }
    }

    pub(in crate::keys) fn failed_approach(&self) -> FailedApproach {
        FailedApproach {
            task: self.scope(),
            seq: self.seq(),
            verification: self.verification_id(),
            approach: self.approach(),
            reason: self.text.clone(),
            at: self.time(),
            wording: self.wording(),
        }
    }

    /// As some rule made it, which needs not be that of this build.
    fn wording(&self) -> Wording {
        let terms = |first: u64| vec![Term::from_bits(first), Term::from_bits(self.number)];
        Wording {
            rule: 59,
            words: terms(60),
            names: terms(61),
            said: terms(62),
        }
    }

    pub(in crate::keys) fn failed_place(&self) -> failed_approach::Key {
        failed_approach::Key::of(&self.failed_approach())
    }

    /// What a task remembers of two errors and of an approach.
    pub(in crate::keys) fn failures(&self) -> Failures {
        let mut failures = Failures::default();
        failures.came_up(ErrorHash::from_bytes([1; 32]));
        failures.came_up(self.error_hash());
        failures.approach_failed();
        failures
    }
}
