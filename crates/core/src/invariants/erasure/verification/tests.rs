//! What no erasure may do to verifications and to what failed of their fixes.

use crate::chain::Tip;
use crate::circular::{Approach, ErrorHash, ErrorSeen, Wording};
use crate::entry::Binding;
use crate::erasure::{ContentErased, Erased, rest_of};
use crate::event::{Body, FixFailed};
use crate::id::{Seq, VerificationId};
use crate::invariants::{erasure_is_whole, event_applies};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::state::{Stamped, State};
use crate::time::Timestamp;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

const TASK: &str = "org/a/project/b/worktree/c/task/d";

fn at(seq: u64) -> Stamped {
    Stamped {
        seq: Seq::new(seq),
        time: Timestamp::from_ms(seq),
        actor: Actor::system(),
    }
}

fn id(number: u8) -> VerificationId {
    VerificationId::from_bytes([number; 16])
}

/// The failed verification with this number, which speaks for all up to there.
fn recorded(number: u8, through: u64) -> Body {
    Body::VerificationRecorded(Box::new(Verification {
        id: id(number),
        said: NewVerification {
            outcome: Outcome::Failed,
            source: VerificationSource::TestsFailed,
            run: "r".into(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: Some("e".into()),
            approach: Some("a".into()),
            target: None,
        },
        recorder: Actor::system(),
        time: Timestamp::EPOCH,
        from: Seq::ZERO,
        through: Seq::new(through),
        target: Scope::parse("org/a/project/b").unwrap(),
    }))
}

fn failed(number: u8) -> Body {
    Body::FixFailed(Box::new(FixFailed {
        verification: id(number),
        error: Some(ErrorSeen {
            error: ErrorHash::from_bytes([number; 32]),
            first: id(number),
        }),
        approach: Some(Approach {
            text: "a".into(),
            files: vec!["src/a.rs".into()],
            symbols: Vec::new(),
        }),
        reason: "e".into(),
        wording: Wording::default(),
    }))
}

/// A task that was opened, and two fixes that failed in it, by the events 2 to 5.
fn bodies() -> [Body; 5] {
    [
        Body::TaskOpened {
            title: "t".into(),
            description: String::new(),
        },
        recorded(1, 1),
        failed(1),
        recorded(2, 3),
        failed(2),
    ]
}

fn apply(state: &mut State, body: &Body) {
    event_applies(state, body).unwrap();
    let at = at(state.row().tip.seq.get() + 1);
    state.apply(body, &at);
    let mut tip = Tip::genesis(state.scope());
    (tip.seq, tip.time) = (at.seq, at.time);
    state.advance(tip);
}

fn state() -> State {
    let mut state = State::new(&Scope::parse(TASK).unwrap(), None, None);
    bodies().iter().for_each(|body| apply(&mut state, body));
    state
}

/// An erasure of what these positions have, told as if it were of these bodies.
fn erasure(events: &[(u64, Body)]) -> Body {
    let erased = |(seq, body): &(u64, Body)| Erased {
        at: at(*seq),
        rest: rest_of(body, |hash, _, _| hash).unwrap(),
    };
    Body::ContentErased(Box::new(ContentErased {
        events: events.iter().map(erased).collect(),
        entries: Vec::new(),
        reason: "r".into(),
    }))
}

/// Whether a command may have erased this: each event applies, and all of them make a whole.
fn is_sound(erasures: &[Body]) -> bool {
    let mut state = state();
    for body in erasures {
        if event_applies(&state, body).is_err() {
            return false;
        }
        apply(&mut state, body);
    }
    erasure_is_whole(&state, erasures).is_ok()
}

fn all() -> Vec<(u64, Body)> {
    (1..).zip(bodies()).skip(1).collect()
}

#[test]
fn verifications_go_with_what_failed_of_their_fixes_in_one_part_and_in_several() {
    assert!(is_sound(&[erasure(&all())]));
    for at in 1..4 {
        let (first, rest) = (&all()[..at], &all()[at..]);
        assert!(is_sound(&[erasure(first), erasure(rest)]), "{at}");
    }
    assert!(is_sound(&[erasure(&all()[..2])]), "one alone");
}

#[test]
fn what_failed_of_a_fix_does_not_go_alone_nor_with_another_verification() {
    for left in [0, 2] {
        let mut events = all();
        events.remove(left);
        assert!(!is_sound(&[erasure(&events)]), "{left}");
    }
    let of_another = [all()[0].clone(), (3, failed(2))];
    assert!(!is_sound(&[erasure(&of_another)]));
    let apart = [all()[0].clone(), all()[3].clone()];
    assert!(!is_sound(&[erasure(&apart)]));
}

#[test]
fn a_verification_is_erased_where_it_was_recorded_and_in_a_task() {
    for (seq, body) in [(3, recorded(1, 1)), (2, recorded(1, 2))] {
        assert!(event_applies(&state(), &erasure(&[(seq, body)])).is_err());
    }
    let mut without = State::new(&Scope::parse(TASK).unwrap(), None, None);
    let denied = Body::Denied {
        rule: "r".into(),
        kind: crate::principal::PrincipalKind::Agent,
        command: "c".into(),
        unsampled: 0,
    };
    for _ in 0..3 {
        apply(&mut without, &denied);
    }
    for event in &all()[..2] {
        let erasure = erasure(std::slice::from_ref(event));
        assert!(event_applies(&without, &erasure).is_err());
    }
}

#[test]
fn what_is_left_of_events_applies_in_their_place_and_leads_to_the_same() {
    let [opened, ..] = bodies();
    let mut bare = State::new(&Scope::parse(TASK).unwrap(), None, None);
    apply(&mut bare, &opened);
    let rests = all().into_iter().map(|(seq, body)| {
        let rest = rest_of(&body, |hash, _, _| hash).unwrap();
        (seq, rest)
    });
    let rests: Vec<(u64, Body)> = rests.collect();
    for (_, rest) in &rests {
        apply(&mut bare, rest);
    }
    let mut whole = state();
    assert_ne!(bare.task(), whole.task(), "the errors have no fingerprints");
    for state in [&mut bare, &mut whole] {
        apply(state, &erasure(&rests));
    }
    assert_eq!(bare.task(), whole.task());
}

#[test]
fn something_that_is_left_is_found() {
    let spoilt: [fn(&mut FixFailed); 4] = [
        |left| left.reason = "e".into(),
        |left| left.wording = Wording::of(&Approach::default()),
        |left| left.approach.as_mut().unwrap().files = vec!["src/a.rs".into()],
        |left| left.error.as_mut().unwrap().error = ErrorHash::from_bytes([1; 32]),
    ];
    for spoil in spoilt {
        let Body::ContentErased(mut erased) = erasure(&all()) else {
            panic!("it is an erasure")
        };
        let Body::FixFailed(left) = &mut erased.events[1].rest else {
            panic!("it is of a fix")
        };
        spoil(left);
        assert!(event_applies(&state(), &Body::ContentErased(erased)).is_err());
    }
}
