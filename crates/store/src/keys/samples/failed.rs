//! Samples of what failed in tasks, small ones and the largest that may be.

use sillok_core::chain::StoredEvent;
use sillok_core::circular::{
    Approach, ErrorHash, ErrorSeen, FailedApproach, Failures, Term, Wording,
};
use sillok_core::event::{Body, FixFailed};
use sillok_core::id::{Seq, VerificationId};
use sillok_core::limits::{
    APPROACH_BYTES_MAX, APPROACH_NAMES_MAX, ERROR_TEXT_BYTES_MAX, ERRORS_KEPT_MAX,
    FAILURE_REASON_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
};
use sillok_core::task::{Task, TaskStatus};
use sillok_core::time::Timestamp;
use sillok_core::verification::check_approach;

use super::Parts;
use super::decisions::{longest_actor, longest_scope, sealed};
use crate::keys::failed_approach;

impl Parts {
    fn error_seen(&self) -> ErrorSeen {
        ErrorSeen {
            error: ErrorHash::from_bytes(self.hash),
            first: self.verification_id(),
        }
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
    pub(in crate::keys) fn wording(&self) -> Wording {
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
        failures.came_up(seen(1, 2), Seq::new(1));
        failures.came_up(self.error_seen(), self.seq());
        failures.approach_failed();
        failures
    }
}

/// An error and the verification that failed with it first, by a number each.
fn seen(error: u8, first: u8) -> ErrorSeen {
    ErrorSeen {
        error: ErrorHash::from_bytes([error; 32]),
        first: VerificationId::from_bytes([first; 16]),
    }
}

/// An approach that says as much as one may, with as many names as there may be.
fn longest_approach() -> Approach {
    let name_bytes = (APPROACH_BYTES_MAX - ERROR_TEXT_BYTES_MAX) / (2 * APPROACH_NAMES_MAX);
    let names = vec!["n".repeat(name_bytes); APPROACH_NAMES_MAX];
    let approach = Approach {
        text: "t".repeat(ERROR_TEXT_BYTES_MAX),
        files: names.clone(),
        symbols: names,
    };
    check_approach(&approach).unwrap();
    approach
}

/// Such an approach, which failed for a reason that is as long.
pub(in crate::keys) fn largest() -> FailedApproach {
    FailedApproach {
        task: longest_scope(),
        seq: Seq::new(u64::MAX),
        verification: VerificationId::from_bytes([255; 16]),
        approach: longest_approach(),
        reason: "r".repeat(FAILURE_REASON_BYTES_MAX),
        at: Timestamp::from_ms(u64::MAX),
        // An approach that is so long keeps none.
        wording: Wording::default(),
    }
}

/// The event that tells of it.
pub(in crate::keys) fn event_of(failed: &FailedApproach) -> StoredEvent {
    let body = Body::FixFailed(Box::new(FixFailed {
        verification: failed.verification,
        error: Some(seen(255, 255)),
        approach: Some(failed.approach.clone()),
        reason: failed.reason.clone(),
        wording: failed.wording.clone(),
    }));
    sealed(&body, &longest_actor(), failed.at)
}

/// A task that was opened with as much as one may, and that remembers as many errors as it may.
pub(in crate::keys) fn largest_task() -> Task {
    let mut failures = Failures::default();
    for number in 0..ERRORS_KEPT_MAX {
        let number = u8::try_from(number).unwrap();
        failures.came_up(seen(number, number), Seq::new(u64::MAX));
    }
    Task {
        title: "t".repeat(SHORT_TEXT_BYTES_MAX),
        description: "d".repeat(ERROR_TEXT_BYTES_MAX),
        status: TaskStatus::Stuck,
        stuck_reason: Some("s".repeat(SHORT_TEXT_BYTES_MAX)),
        verified_through: Seq::new(u64::MAX),
        promotions_pending: u32::MAX,
        opened_by: longest_actor(),
        opened_at: Timestamp::from_ms(u64::MAX),
        updated_at: Timestamp::from_ms(u64::MAX),
        failures,
    }
}
