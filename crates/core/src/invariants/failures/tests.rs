//! What failed of a fix is what its verification says.

use super::*;
use crate::circular::{Approach, ErrorHash, Wording};
use crate::entry::Binding;
use crate::erasure::{Names, rest_of};
use crate::id::{Seq, VerificationId};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::verification::{NewVerification, VerificationSource};

const ID: VerificationId = VerificationId::from_bytes([1; 16]);

fn recorded(error: Option<&str>, approach: Option<&str>) -> Verification {
    Verification {
        id: ID,
        said: NewVerification {
            outcome: Outcome::Failed,
            source: VerificationSource::TestsFailed,
            run: "r".into(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: error.map(str::to_owned),
            approach: approach.map(str::to_owned),
            target: None,
        },
        recorder: Actor::system(),
        time: Timestamp::EPOCH,
        from: Seq::ZERO,
        through: Seq::new(1),
        target: Scope::parse("org/a").unwrap(),
    }
}

fn failed(error: bool, approach: Option<&str>, reason: &str) -> FixFailed {
    FixFailed {
        verification: ID,
        error: error.then(|| ErrorHash::from_bytes([7; 32])),
        approach: approach.map(|text| Approach {
            text: text.to_owned(),
            files: vec!["src/a.rs".to_owned()],
            symbols: Vec::new(),
        }),
        reason: reason.to_owned(),
        wording: Wording::default(),
    }
}

fn pair(recorded: Verification, failed: FixFailed) -> [Body; 2] {
    [
        Body::VerificationRecorded(Box::new(recorded)),
        Body::FixFailed(Box::new(failed)),
    ]
}

fn is_told(bodies: &[Body]) -> bool {
    failure_is_told(bodies).is_ok()
}

#[test]
fn what_its_verification_says_is_told_and_nothing_else() {
    for (said, approach, error, tried, reason) in [
        (Some("e"), Some("a"), true, Some("a"), "e"),
        // An error of which nothing is left once it is normalised.
        (Some("e"), None, true, None, ""),
        (None, Some("a"), false, Some("a"), ""),
        (Some(" "), Some("a"), false, Some("a"), ""),
    ] {
        let bodies = pair(recorded(said, approach), failed(error, tried, reason));
        assert!(is_told(&bodies), "{said:?} {approach:?}");
    }
    for (said, approach, error, tried, reason) in [
        (Some("e"), Some("a"), false, Some("a"), "e"),
        (None, Some("a"), true, Some("a"), ""),
        (None, Some("a"), false, Some("a"), "e"),
        (Some("e"), Some("a"), true, Some("b"), "e"),
        (Some("e"), Some("a"), true, None, "e"),
        (Some("e"), None, true, Some("a"), "e"),
    ] {
        let bodies = pair(recorded(said, approach), failed(error, tried, reason));
        assert!(!is_told(&bodies), "{said:?} {approach:?} {error} {tried:?}");
    }
}

#[test]
fn it_stands_right_behind_a_verification_that_failed() {
    let [recorded, failed] = pair(recorded(Some("e"), None), failed(true, None, "e"));
    assert!(is_told(&[]) && is_told(std::slice::from_ref(&recorded)));
    assert!(!is_told(std::slice::from_ref(&failed)));
    assert!(!is_told(&[failed.clone(), recorded.clone()]));
    assert!(!is_told(&[
        recorded.clone(),
        Body::StuckCleared,
        failed.clone()
    ]));
    assert!(!is_told(&[
        recorded.clone(),
        failed.clone(),
        failed.clone()
    ]));
    let Body::VerificationRecorded(said) = recorded else {
        panic!("it is a verification")
    };
    let mut passed = said.clone();
    passed.said.outcome = Outcome::Passed;
    let mut other = said;
    other.id = VerificationId::from_bytes([2; 16]);
    for wrong in [passed, other] {
        assert!(!is_told(&[
            Body::VerificationRecorded(wrong),
            failed.clone()
        ]));
    }
}

#[test]
fn of_what_was_erased_both_say_nothing_or_one_of_them_was_left() {
    for (said, approach) in [(Some("e"), Some("a")), (Some("e"), None), (None, Some("a"))] {
        let reason = said.unwrap_or_default();
        let whole = pair(
            recorded(said, approach),
            failed(said.is_some(), approach, reason),
        );
        assert!(is_told(&whole));
        let rests = whole
            .clone()
            .map(|body| rest_of(&body, &mut Names::default()).unwrap());
        assert!(is_told(&rests), "{said:?} {approach:?}");
        let [recorded, failed] = whole;
        let [bare, rest] = rests;
        assert!(!is_told(&[bare, failed]), "{said:?} {approach:?}");
        // Where only an error was told, its rest has a hash as well.
        let is_seen = approach.is_some();
        assert_eq!(!is_told(&[recorded, rest]), is_seen);
    }
}
