//! How much one order erases at most.

use super::*;
use crate::chain::Tip;
use crate::limits::{
    DECISION_VERSIONS_MAX, ERASED_EVENTS_MAX, ERASURE_BYTES_MAX, PRINCIPAL_ID_CHARS_MAX,
};
use crate::principal::{Actor, PrincipalId};

/// A chain of as many versions as there may be, of which the last one withdraws it. They are saved by whoever has the longest
/// name.
fn longest_chain(world: &mut World) -> DecisionId {
    let root = begun(world, text(WORD));
    let id = PrincipalId::parse(&"p".repeat(PRINCIPAL_ID_CHARS_MAX)).unwrap();
    let actor = Actor { kind: Human, id };
    for number in 1..DECISION_VERSIONS_MAX {
        let last = number + 1 == DECISION_VERSIONS_MAX;
        if last {
            let more = save(Some((root, number)), text(WORD), WORD);
            full(world, more);
        }
        let command = if last {
            withdraw(root, number, WORD)
        } else {
            save(Some((root, number)), text(WORD), WORD)
        };
        let mut submission = world.submission(Human, command);
        submission.principal.actor = actor.clone();
        world.carry_out(&submission).unwrap();
    }
    root
}

/// A command is refused since its decision has as many versions as there may be.
fn full(world: &mut World, command: Command) {
    let refused = world.give(Human, command).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge, "{refused}");
    let limit = refused.details.as_ref().unwrap().limit.clone();
    let most = DECISION_VERSIONS_MAX - 1;
    assert_eq!(limit, Some(("versions of a decision".to_owned(), most)));
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
fn the_longest_chains_go_in_parts_that_fit_and_what_is_more_is_refused_by_the_limit() {
    let mut world = World::new(PROJECT);
    let most = ERASED_EVENTS_MAX as u64;
    assert_eq!(most, 2 * DECISION_VERSIONS_MAX);
    let chains = [longest_chain(&mut world), longest_chain(&mut world)];
    // Its last version says that it does not apply, and it does not apply again.
    full(
        &mut world,
        restore(chains[0], DECISION_VERSIONS_MAX, 1, WORD),
    );
    let other = evidence(&mut world, "plain", 1);
    let submission = world.submission(Human, order(&chains, &[other], &[]));
    let facts = world.facts(&submission);
    assert!(facts.events.is_empty(), "what is refused is not read");
    let refused = refused(&mut world, Human, submission.command);
    assert_eq!(refused.code, ErrorCode::TooLarge);
    let limit = refused.details.as_ref().unwrap().limit.clone();
    assert_eq!(limit, Some(("events to erase".to_owned(), most)));

    let before = world.state.row().tip;
    let events = u32::try_from(most).unwrap();
    let named = [chains[0], chains[1], chains[0]];
    let answer = world.give(Human, order(&named, &[], &[]));
    assert_eq!(answer, Ok(erased(events, 0)));
    let parts = parts(&world, before);
    assert!(parts.len() > 1);
    let bound = ERASURE_BYTES_MAX + 1_000;
    assert!(parts.iter().all(|bytes| *bytes < bound), "{parts:?}");
    assert!(!holds(&world, WORD.as_bytes()));
    check_folds(&world);
}
