//! What failed of a fix is what its verification says, and its error counts under one that failed with it.

use super::*;
use crate::circular::{Approach, ErrorSeen, Term};
use crate::entry::Binding;
use crate::erasure::rest_of;
use crate::id::{Seq, VerificationId};
use crate::invariants::event_applies;
use crate::limits::FAILURE_REASON_BYTES_MAX;
use crate::principal::Actor;
use crate::scope::Scope;
use crate::state::Stamped;
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

fn seen(error: ErrorHash) -> ErrorSeen {
    ErrorSeen { error, first: ID }
}

fn failed(error: bool, approach: Option<&str>, reason: &str) -> FixFailed {
    FixFailed {
        verification: ID,
        error: error.then(|| seen(ErrorHash::from_bytes([7; 32]))),
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
            .map(|body| rest_of(&body, |hash, _, _| hash).unwrap());
        assert!(is_told(&rests), "{said:?} {approach:?}");
        let [recorded, failed] = whole;
        let [bare, rest] = rests;
        assert!(!is_told(&[bare, failed]), "{said:?} {approach:?}");
        // Where only an error was told, its rest has a hash as well.
        let is_seen = approach.is_some();
        assert_eq!(!is_told(&[recorded, rest]), is_seen);
    }
}

/// A fix that failed with this error, of which its event says so, and of an approach.
fn normalised(error: &str, reason: &str) -> FixFailed {
    FixFailed {
        error: Some(seen(ErrorHash::of(error))),
        ..failed(true, Some("catch it"), reason)
    }
}

/// Whether that is told of a verification that says this error.
fn gives(error: &str, failed: FixFailed) -> bool {
    is_told(&pair(recorded(Some(error), Some("catch it")), failed))
}

#[test]
fn a_reason_is_what_the_error_gives_where_it_is_normalised_as_it_was() {
    let error = "Traceback (most recent call last):\nKeyError: 'user_id'";
    let reason = reason_of(error);
    assert!(reason.len() > 4 && gives(error, normalised(error, &reason)));
    // Another release may have kept less of it, or more.
    assert!(gives(error, normalised(error, &reason[..4])));
    let longer = format!("{reason}; and so on");
    assert!(gives(error, normalised(error, &longer)));
    for wrong in ["", "KeyError: 'user_name'"] {
        assert!(!gives(error, normalised(error, wrong)), "{wrong}");
        // Where it was normalised otherwise, nobody knows what it gave.
        assert!(gives(error, failed(true, Some("catch it"), wrong)));
    }
    // Without what colours it, a secret stood there that the error does not say.
    let masked = normalised(error, "ValueError: [masked:github_token] is no token");
    assert!(gives(error, masked));
    let long = format!("KeyError: '{}'", "k".repeat(2 * FAILURE_REASON_BYTES_MAX));
    assert!(gives(&long, normalised(&long, &reason_of(&long))));
}

#[test]
fn a_wording_is_that_of_the_approach_where_the_same_rule_made_it() {
    let error = "KeyError: 'user_id'";
    let worded = |spoil: fn(&mut Wording)| {
        let mut failed = normalised(error, &reason_of(error));
        failed.wording = Wording::of(failed.approach.as_ref().unwrap());
        spoil(&mut failed.wording);
        gives(error, failed)
    };
    assert!(worded(|_| ()));
    assert!(!worded(|wording| wording.said.clear()));
    assert!(!worded(|wording| wording.words.push(Term::from_bits(7))));
    assert!(worded(|wording| {
        wording.rule ^= 1;
        wording.said.clear();
    }));
    assert!(worded(|wording| *wording = Wording::default()));
    // One that names a file which was not worded, and one of no approach at all.
    let mut other = normalised(error, &reason_of(error));
    other.wording = Wording::of(other.approach.as_ref().unwrap());
    let files = &mut other.approach.as_mut().unwrap().files;
    files.push("src/b.rs".into());
    assert!(!gives(error, other));
    let mut of_none = normalised(error, &reason_of(error));
    of_none.wording = Wording::of(&of_none.approach.take().unwrap());
    let bodies = |failed| pair(recorded(Some(error), None), failed);
    assert!(!is_told(&bodies(of_none.clone())));
    of_none.wording = Wording::default();
    assert!(is_told(&bodies(of_none)));
}

#[test]
fn an_error_counts_under_the_verification_that_failed_with_it_first() {
    let mut state = State::new(
        &Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
        None,
        None,
    );
    let of = |number: u8, error: u8, first: u8| {
        Body::FixFailed(Box::new(FixFailed {
            verification: VerificationId::from_bytes([number; 16]),
            error: Some(ErrorSeen {
                error: ErrorHash::from_bytes([error; 32]),
                first: VerificationId::from_bytes([first; 16]),
            }),
            ..failed(true, None, "e")
        }))
    };
    assert!(
        event_applies(&state, &of(1, 7, 1)).is_err(),
        "it is no task"
    );
    let opened = Body::TaskOpened {
        title: "t".into(),
        description: String::new(),
    };
    let at = |seq| Stamped {
        seq: Seq::new(seq),
        time: Timestamp::EPOCH,
        actor: Actor::system(),
    };
    state.apply(&opened, &at(1));
    assert!(event_applies(&state, &of(1, 7, 2)).is_err(), "of nobody");
    state.apply(&of(1, 7, 1), &at(2));
    assert!(event_applies(&state, &of(2, 7, 1)).is_ok());
    assert!(event_applies(&state, &of(2, 8, 2)).is_ok());
    for (error, first) in [(7, 2), (8, 1), (8, 3)] {
        let wrong = event_applies(&state, &of(2, error, first)).unwrap_err();
        assert_eq!(wrong.invariant, Invariant::Chained, "{error} {first}");
    }
}
