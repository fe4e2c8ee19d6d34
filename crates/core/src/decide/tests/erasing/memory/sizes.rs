//! How much one order erases at most.

use super::*;
use crate::chain::Tip;
use crate::limits::{ERASED_EVENTS_MAX, ERASURE_BYTES_MAX, PRINCIPAL_ID_CHARS_MAX};
use crate::principal::{Actor, PrincipalId};

/// A chain of this many versions, of which the last one withdraws it. They are saved by whoever has the longest name.
fn long_chain(world: &mut World, versions: u64) -> DecisionId {
    let root = begun(world, text(WORD));
    let id = PrincipalId::parse(&"p".repeat(PRINCIPAL_ID_CHARS_MAX)).unwrap();
    for number in 1..versions {
        let command = if number + 1 == versions {
            withdraw(root, number, WORD)
        } else {
            save(Some((root, number)), text(WORD), WORD)
        };
        let mut submission = world.submission(Human, command);
        submission.principal.actor = Actor {
            kind: Human,
            id: id.clone(),
        };
        world.carry_out(&submission).unwrap();
    }
    root
}

/// Bytes of each event behind `before`.
fn parts(world: &World, before: Tip) -> Vec<usize> {
    let first = usize::try_from(before.seq.get()).unwrap();
    let parts = world.events[first..].iter();
    parts
        .map(|event| postcard::to_allocvec(event).unwrap().len())
        .collect()
}

#[test]
fn the_longest_chain_goes_in_parts_that_fit_and_what_is_more_is_refused_by_the_limit() {
    let mut world = World::new(PROJECT);
    let most = ERASED_EVENTS_MAX as u64;
    let root = long_chain(&mut world, most);
    let other = evidence(&mut world, "plain", 1);
    let submission = world.submission(Human, order(&[root], &[other], &[]));
    let facts = world.facts(&submission);
    assert!(facts.events.is_empty(), "what is refused is not read");
    let refused = refused(&mut world, Human, submission.command);
    assert_eq!(refused.code, ErrorCode::TooLarge);
    let limit = refused.details.as_ref().unwrap().limit.clone();
    assert_eq!(limit, Some(("events to erase".to_owned(), most)));

    let before = world.state.row().tip;
    let events = u32::try_from(most).unwrap();
    let answer = world.give(Human, order(&[root, root], &[], &[]));
    assert_eq!(answer, Ok(erased(events, 0)));
    let parts = parts(&world, before);
    assert!(parts.len() > 1);
    let bound = ERASURE_BYTES_MAX + 1_000;
    assert!(parts.iter().all(|bytes| *bytes < bound), "{parts:?}");
    assert!(!holds(&world, WORD.as_bytes()));
    check_folds(&world);
}
