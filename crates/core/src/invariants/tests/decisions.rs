//! Each decision is one chain, and its head tells how it stands.

use super::*;
use crate::decision::{Act, DecisionHead, DecisionVersion, NewDecision, Rank};
use crate::event::DecisionSaved;
use crate::id::DecisionId;

const ROOT: DecisionId = DecisionId::from_bytes([1; 16]);

fn said(title: &str) -> NewDecision {
    NewDecision {
        rank: Rank::Normal,
        domain: "ui".parse().unwrap(),
        phase: None,
        title: title.into(),
        content: "c".into(),
        claim: None,
        relations: Vec::new(),
    }
}

fn saved(number: u64, act: Act, text: Option<NewDecision>) -> DecisionSaved {
    DecisionSaved {
        root: ROOT,
        number,
        act,
        before: (number > 1).then_some(Rank::Normal),
        text,
        reason: "r".into(),
    }
}

fn right() -> [DecisionSaved; 4] {
    [
        saved(1, Act::Begun, Some(said("a"))),
        saved(2, Act::Changed, Some(said("b"))),
        saved(3, Act::Withdrawn, None),
        saved(4, Act::Restored { from: 1 }, Some(said("a"))),
    ]
}

fn body(saved: &DecisionSaved) -> Body {
    Body::DecisionSaved(Box::new(saved.clone()))
}

fn after(saved: &[DecisionSaved]) -> State {
    let bodies: Vec<Body> = saved.iter().map(body).collect();
    state_after(&project(), &bodies)
}

fn version(saved: &DecisionSaved) -> DecisionVersion {
    DecisionVersion {
        root: saved.root,
        number: saved.number,
        act: saved.act,
        text: saved.text.clone(),
        reason: saved.reason.clone(),
        by: actor(PrincipalKind::Human),
        at: Timestamp::from_ms(saved.number),
        seq: Seq::new(saved.number),
    }
}

fn versions(count: usize) -> Vec<DecisionVersion> {
    right()[..count].iter().map(version).collect()
}

fn head_of(versions: &[DecisionVersion]) -> DecisionHead {
    let (first, last) = (&versions[0], versions.last().unwrap());
    let text = versions.iter().rev().find_map(|one| one.text.clone());
    let text = text.unwrap();
    DecisionHead {
        root: ROOT,
        version: last.number,
        active: last.text.is_some(),
        rank: text.rank,
        domain: text.domain,
        phase: text.phase,
        title: text.title,
        claim: text.claim,
        relations: text.relations,
        begun_seq: first.seq,
        begun_at: first.at,
        changed_at: last.at,
    }
}

#[test]
fn a_version_follows_from_what_the_decision_was() {
    let right = right();
    for (place, next) in right.iter().enumerate() {
        let state = after(&right[..place]);
        assert_eq!(event_applies(&state, &body(next)), Ok(()));
        for wrong in [
            DecisionSaved {
                number: next.number + 1,
                ..next.clone()
            },
            DecisionSaved {
                number: 0,
                ..next.clone()
            },
            DecisionSaved {
                before: Some(Rank::Axis),
                ..next.clone()
            },
            DecisionSaved {
                text: next.text.is_none().then(|| said("a")),
                ..next.clone()
            },
        ] {
            let applied = event_applies(&state, &body(&wrong));
            broken_is(applied, Invariant::Chained);
        }
        for other in right.iter().filter(|other| other.act != next.act) {
            let follows = match place {
                // Begun, and changed: it is active.
                1 | 2 => matches!(other.act, Act::Changed | Act::Withdrawn),
                _ => false,
            };
            let wrong = DecisionSaved {
                number: next.number,
                before: next.before,
                ..other.clone()
            };
            let applied = event_applies(&state, &body(&wrong));
            assert_eq!(applied.is_ok(), follows, "{place}: {wrong:?}");
        }
    }
    let state = after(&right[..3]);
    for from in [0, 4, 5] {
        let wrong = saved(4, Act::Restored { from }, Some(said("a")));
        broken_is(event_applies(&state, &body(&wrong)), Invariant::Chained);
    }
}

#[test]
fn a_chain_holds_in_each_of_its_states() {
    for count in 1..=4 {
        let versions = versions(count);
        assert_eq!(decision_chain(&versions, &head_of(&versions)), Ok(()));
    }
}

#[test]
fn a_chain_with_anything_wrong_in_it_does_not_hold() {
    let whole = versions(4);
    let mend = |change: fn(&mut Vec<DecisionVersion>)| {
        let mut versions = whole.clone();
        change(&mut versions);
        versions
    };
    for wrong in [
        mend(|all| drop(all.remove(1))),
        mend(|all| drop(all.remove(0))),
        mend(|all| all[1].number = 1),
        mend(|all| all[1].act = Act::Begun),
        mend(|all| all[0].act = Act::Changed),
        mend(|all| {
            all[1] = DecisionVersion {
                act: Act::Withdrawn,
                text: None,
                ..all[1].clone()
            }
        }),
        mend(|all| {
            all[2] = DecisionVersion {
                act: Act::Changed,
                text: Some(said("b")),
                ..all[2].clone()
            }
        }),
        mend(|all| all[1].text = None),
        mend(|all| all[2].text = Some(said("b"))),
        mend(|all| all[3].act = Act::Restored { from: 2 }),
        mend(|all| all[3].act = Act::Restored { from: 3 }),
        mend(|all| all[3].act = Act::Restored { from: 4 }),
        mend(|all| all[2].root = DecisionId::from_bytes([2; 16])),
    ] {
        let broken = decision_chain(&wrong, &head_of(&wrong));
        broken_is(broken, Invariant::Chained);
    }
    broken_is(decision_chain(&[], &head_of(&whole)), Invariant::Chained);
}

#[test]
fn a_head_that_tells_something_else_than_its_chain_does_not_hold() {
    for count in [2, 3] {
        let versions = versions(count);
        let right = head_of(&versions);
        for wrong in [
            DecisionHead {
                version: right.version - 1,
                ..right.clone()
            },
            DecisionHead {
                active: !right.active,
                ..right.clone()
            },
            DecisionHead {
                rank: Rank::Axis,
                ..right.clone()
            },
            DecisionHead {
                domain: "wms".parse().unwrap(),
                ..right.clone()
            },
            DecisionHead {
                phase: Some("design".parse().unwrap()),
                ..right.clone()
            },
            DecisionHead {
                title: "a".into(),
                ..right.clone()
            },
            DecisionHead {
                begun_seq: Seq::new(9),
                ..right.clone()
            },
            DecisionHead {
                begun_at: Timestamp::from_ms(9),
                ..right.clone()
            },
            DecisionHead {
                changed_at: Timestamp::from_ms(9),
                ..right.clone()
            },
        ] {
            let broken = decision_chain(&versions, &wrong);
            broken_is(broken, Invariant::Chained);
        }
    }
}

#[test]
fn a_version_was_permitted_by_the_stronger_of_what_it_was_and_is() {
    let org = scope("org/a/project/b/worktree/c");
    let permitted =
        |kind, saved: &DecisionSaved| command_permitted(&org, &actor(kind), &[body(saved)]);
    let with = |rank, text: Option<Rank>| DecisionSaved {
        before: rank,
        text: text.map(|rank| NewDecision { rank, ..said("a") }),
        ..saved(1, Act::Begun, None)
    };
    let (axis, lock, normal) = (Rank::Axis, Rank::Lock, Rank::Normal);
    for (saved, agent, orchestrator) in [
        (with(None, Some(normal)), true, true),
        (with(None, Some(lock)), false, true),
        (with(None, Some(axis)), false, false),
        (with(Some(lock), Some(normal)), false, true),
        (with(Some(axis), Some(normal)), false, false),
        (with(Some(normal), Some(Rank::Policy)), false, false),
        (with(Some(lock), None), false, true),
        (with(Some(axis), None), false, false),
        (with(Some(normal), None), true, true),
    ] {
        assert_eq!(
            permitted(PrincipalKind::Agent, &saved).is_ok(),
            agent,
            "{saved:?}"
        );
        let given = permitted(PrincipalKind::Orchestrator, &saved);
        assert_eq!(given.is_ok(), orchestrator, "{saved:?}");
        assert_eq!(permitted(PrincipalKind::Human, &saved), Ok(()));
        broken_is(
            permitted(PrincipalKind::System, &saved),
            Invariant::Permitted,
        );
    }
}

#[test]
fn a_long_chain_is_checked_by_one_version_at_a_time() {
    // Withdrawn and restored in turn, each time with what the last version said that was changed to something.
    const VERSIONS: u64 = 60_001;
    let at = |number: u64| {
        let saved = match number {
            1 => saved(1, Act::Begun, Some(said("a"))),
            2 => saved(2, Act::Changed, Some(said("b"))),
            odd if odd % 2 == 1 => saved(number, Act::Withdrawn, None),
            even => saved(even, Act::Restored { from: even - 2 }, Some(said("b"))),
        };
        version(&saved)
    };
    let head = DecisionHead {
        version: VERSIONS,
        active: false,
        changed_at: Timestamp::from_ms(VERSIONS),
        ..head_of(&versions(2))
    };
    let mut chain = DecisionChain::new(&head);
    for number in 1..=VERSIONS {
        assert_eq!(chain.version(&at(number)), Ok(()));
    }
    assert_eq!(chain.finish(), Ok(()));
    // The oldest versions are known still, at the end of a chain of any length.
    let mut chain = DecisionChain::new(&head);
    for number in 1..=VERSIONS {
        chain.version(&at(number)).unwrap();
    }
    let other = saved(VERSIONS + 1, Act::Restored { from: 1 }, Some(said("b")));
    let broken = chain.version(&version(&other)).unwrap_err();
    assert_eq!(
        broken.what,
        format!(
            "version {} of decision {ROOT} does not say what version 1 did",
            VERSIONS + 1
        )
    );
}
