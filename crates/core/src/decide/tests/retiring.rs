//! What leaves recall: states that are resolved, and entries whose time is over.

use super::governance::{human, project, report};
use super::world::{START, TASK, World, amend, entry, principal};
use crate::command::{AnswerBody, Command};
use crate::entry::{Detail, Head, Skill, Status, Table};
use crate::error::ErrorCode;
use crate::event::Body;
use crate::facts::{Facts, HashKey, Need, needs};
use crate::id::Seq;
use crate::principal::PrincipalKind;
use crate::promotion::NewEntry;
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;
use crate::state::{Change, Stamped, State};
use crate::time::DAY_MS;

#[test]
fn a_state_is_resolved_once_and_nothing_else_is() {
    let mut world = World::new(TASK);
    let (state, _) = world
        .put(
            PrincipalKind::Agent,
            entry(Table::Gotchas, "port 80 is taken"),
        )
        .unwrap();
    let (fact, _) = world
        .put(
            PrincipalKind::Agent,
            entry(Table::Observations, "port 80 was taken"),
        )
        .unwrap();
    let resolve = |entry, expected_version| Command::ResolveState {
        entry,
        expected_version,
        reason: "moved to 81".into(),
        verification: None,
    };
    let stale = world
        .give(PrincipalKind::Agent, resolve(state, 2))
        .unwrap_err();
    assert_eq!(stale.code, ErrorCode::Conflict);
    let fact = world
        .give(PrincipalKind::Agent, resolve(fact, 1))
        .unwrap_err();
    assert_eq!(fact.code, ErrorCode::InvalidArgument);
    world.give(PrincipalKind::Agent, resolve(state, 1)).unwrap();
    let head = world.state.head(state).unwrap();
    assert_eq!(
        (head.status, head.resolved_at()),
        (Status::Deprecated, Some(START))
    );
    let again = world
        .give(PrincipalKind::Agent, resolve(state, 1))
        .unwrap_err();
    assert_eq!(again.code, ErrorCode::Conflict);
}

#[test]
fn what_is_to_be_known_of_many_entries_is_asked_for_once_each_and_in_their_order() {
    let mut world = project();
    let one = human(&mut world, Table::Observations, "the linker is lld");
    let other = human(&mut world, Table::Observations, "CI runs on arm");
    let retire = Command::Retire {
        entries: vec![(other, 1), (one, 1), (other, 1)],
        why: Retirement::Aged,
    };
    let submission = world.submission(PrincipalKind::System, retire);
    let mut state = State::new(world.state.scope(), None, None);
    let asked = needs(&state, &submission, &Facts::default());
    assert_eq!(asked, [Need::Head(other), Need::Head(one)]);
    for id in [one, other] {
        state.learn_head(id, world.state.head(id).cloned());
    }
    let asked = needs(&state, &submission, &Facts::default());
    let by_hash = [other, one].map(|id| {
        let head = world.state.head(id).unwrap();
        Need::ByHash(HashKey {
            table: head.table,
            failure: head.failure,
            hash: head.content_hash,
        })
    });
    assert_eq!(asked, by_hash);
}

#[test]
fn what_an_event_changed_stays_as_it_was_when_the_next_one_changes_it() {
    let mut world = project();
    let id = human(&mut world, Table::Observations, "the linker is lld");
    let before = world.state.head(id).unwrap().clone();
    let mut state = world.state.clone();
    let mut apply = |seq, body| {
        let at = Stamped {
            seq: Seq::new(seq),
            time: START.plus_ms(seq),
            actor: principal(PrincipalKind::System).actor,
        };
        state.apply(&body, &at)
    };
    let resolved = apply(
        10,
        Body::StateResolved {
            entry: id,
            reason: "it is mold".into(),
        },
    );
    let retired = apply(
        11,
        Body::EntriesRetired {
            entries: vec![id],
            why: Retirement::Aged,
        },
    );
    let head_in = |changes: &[Change]| -> Head {
        let mut heads = changes.iter().filter_map(|change| match change {
            Change::Head(head) => Some((**head).clone()),
            _ => None,
        });
        heads.next().unwrap()
    };
    let (first, second) = (head_in(&resolved), head_in(&retired));
    assert_eq!(
        (first.status, first.updated_at),
        (Status::Deprecated, START.plus_ms(10))
    );
    assert_eq!(
        (second.status, second.updated_at),
        (Status::Archived, START.plus_ms(11))
    );
    assert_eq!(state.head(id), Some(&second));
    assert_eq!(world.state.head(id), Some(&before), "another state");
}

#[test]
fn only_what_is_old_still_is_retired() {
    let mut world = project();
    let old = human(&mut world, Table::Observations, "the linker is lld");
    let touched = human(&mut world, Table::Observations, "CI runs on arm");
    let young = Command::Retire {
        entries: vec![(old, 1), (touched, 1)],
        why: Retirement::Aged,
    };
    let left = world.give(PrincipalKind::System, young.clone()).unwrap();
    assert_eq!(
        left,
        AnswerBody::Retired {
            retired: 0,
            left: 2
        }
    );
    world.now = START.plus_ms(91 * DAY_MS);
    world
        .give(PrincipalKind::Human, amend(touched, 1, "CI runs on arm64"))
        .unwrap();
    let denied = world.give(PrincipalKind::Human, young.clone()).unwrap_err();
    assert_eq!(denied.rule(), Some("control/maintain"));
    let done = world.give(PrincipalKind::System, young.clone()).unwrap();
    assert_eq!(
        done,
        AnswerBody::Retired {
            retired: 1,
            left: 1
        }
    );
    assert_eq!(world.state.head(old).unwrap().status, Status::Archived);
    assert!(world.state.head(touched).unwrap().status.is_live());
    let again = world.give(PrincipalKind::System, young).unwrap();
    assert_eq!(
        again,
        AnswerBody::Retired {
            retired: 0,
            left: 2
        }
    );
    let odd = Command::Retire {
        entries: Vec::new(),
        why: Retirement::Wrong,
    };
    let odd = world.give(PrincipalKind::System, odd).unwrap_err();
    assert_eq!(odd.code, ErrorCode::InvalidArgument);
}

#[test]
fn what_is_worth_more_by_now_is_not_pruned() {
    let mut world = project();
    let skill = Skill {
        name: "deploy".into(),
        description: "to staging".into(),
        code: "make deploy".into(),
        usage_count: 0,
        success_rate: 1.0,
    };
    let draft = NewEntry {
        detail: Detail::Skill(Box::new(skill)),
        ..entry(Table::Skills, "deploy to staging")
    };
    let (skill, _) = world.put(PrincipalKind::Human, draft).unwrap();
    for from in 0..2 {
        report(&mut world, skill, from, ReuseOutcome::Wrong);
    }
    world.now = START.plus_ms(91 * DAY_MS);
    let prune = Command::Retire {
        entries: vec![(skill, 1)],
        why: Retirement::Pruned,
    };
    // Between the plan and its owner, tasks say that it helped.
    let mut later = world;
    for from in 2..6 {
        report(&mut later, skill, from, ReuseOutcome::Helped);
    }
    let left = later.give(PrincipalKind::System, prune).unwrap();
    let nothing = AnswerBody::Retired {
        retired: 0,
        left: 1,
    };
    assert_eq!(left, nothing);
}

#[test]
fn a_state_is_retired_some_time_after_it_was_resolved() {
    let mut world = project();
    let state = human(&mut world, Table::Gotchas, "port 80 is taken");
    let retire = Command::Retire {
        entries: vec![(state, 1)],
        why: Retirement::Aged,
    };
    world.now = START.plus_ms(400 * DAY_MS);
    let left = world.give(PrincipalKind::System, retire.clone()).unwrap();
    assert_eq!(
        left,
        AnswerBody::Retired {
            retired: 0,
            left: 1
        }
    );
    let resolve = Command::ResolveState {
        entry: state,
        expected_version: 1,
        reason: "moved".into(),
        verification: None,
    };
    world.give(PrincipalKind::Human, resolve).unwrap();
    world.now = START.plus_ms(431 * DAY_MS);
    let done = world.give(PrincipalKind::System, retire).unwrap();
    assert_eq!(
        done,
        AnswerBody::Retired {
            retired: 1,
            left: 0
        }
    );
    assert_eq!(world.state.head(state).unwrap().status, Status::Archived);
}

#[test]
fn a_skill_that_is_read_and_written_back_counts_its_reports_once() {
    let mut world = project();
    let written = |usage_count, success_rate| Skill {
        name: "deploy".into(),
        description: "to staging".into(),
        code: "make deploy".into(),
        usage_count,
        success_rate,
    };
    let draft = NewEntry {
        detail: Detail::Skill(Box::new(written(0, 1.0))),
        ..entry(Table::Skills, "deploy to staging")
    };
    let (skill, _) = world.put(PrincipalKind::Human, draft).unwrap();
    report(&mut world, skill, 0, ReuseOutcome::Helped);
    report(&mut world, skill, 1, ReuseOutcome::Wrong);
    let shown = |world: &World| {
        let usage = world.state.head(skill).unwrap().usage;
        match world.versions[&skill].detail.clone().with(usage) {
            Detail::Skill(skill) => *skill,
            other => panic!("{other:?}"),
        }
    };
    let read = shown(&world);
    assert_eq!(read.usage_count, 2);
    for number in 1..4 {
        // The last is given in one batch with the one before, whose version is in the state alone.
        world.index_lags = number > 1;
        if number == 3 {
            world.versions.remove(&skill);
        }
        let text = format!("deploy to staging, {number}");
        let Command::AmendEntry(mut amended) = amend(skill, number, &text) else {
            panic!("it amends")
        };
        amended.detail = Detail::Skill(Box::new(Skill {
            code: format!("make deploy-{number}"),
            ..read.clone()
        }));
        let given = Command::AmendEntry(amended);
        world.give(PrincipalKind::Human, given).unwrap();
        let seen = shown(&world);
        assert_eq!(seen.code, format!("make deploy-{number}"));
        assert_eq!(
            (seen.usage_count, seen.success_rate),
            (read.usage_count, read.success_rate)
        );
    }
}
