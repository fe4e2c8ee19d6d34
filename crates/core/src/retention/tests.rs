//! Tests of retention: the ages and values of the specification, and the names of tasks.

use proptest::prelude::*;

use super::*;
use crate::permission::allows;
use crate::principal::PrincipalKind;

const NOW_DAYS: u64 = 1_000;

fn now() -> Timestamp {
    Timestamp::from_ms(NOW_DAYS * DAY_MS)
}

fn days_ago(days: u64) -> Timestamp {
    Timestamp::from_ms((NOW_DAYS - days) * DAY_MS)
}

fn aging(table: Table, days: u64, value: f64) -> Aging {
    Aging {
        table,
        age_from: days_ago(days),
        resolved_at: None,
        value,
    }
}

#[test]
fn no_agent_takes_out_what_is_gone_and_in_an_organisation_a_person_alone_does() {
    for level in Level::ALL {
        let may = PrincipalKind::ALL.map(|kind| allows(kind, stale_access(level), level));
        // An agent, an orchestrator, a human, the system.
        let is_shared = level != Level::Org;
        assert_eq!(may, [false, is_shared, true, false], "{level}");
    }
}

#[test]
fn ages_are_those_of_the_specification() {
    let config = RetentionConfig::default();
    let at = |table, days| due(&aging(table, days, 1.0), now(), &config);
    for (table, days) in [
        (Table::Observations, 90),
        (Table::Episodes, 90),
        (Table::Skills, 365),
        (Table::Patterns, 365),
    ] {
        assert_eq!(at(table, days), None, "{table} stays at {days} days");
        assert_eq!(
            at(table, days + 1),
            Some(Retirement::Aged),
            "{table} goes after {days} days"
        );
    }
    assert_eq!(
        at(Table::Gotchas, 900),
        None,
        "a state stays until it is resolved"
    );
    let resolved = |days| Aging {
        resolved_at: Some(days_ago(days)),
        ..aging(Table::Gotchas, 900, 1.0)
    };
    assert_eq!(due(&resolved(30), now(), &config), None);
    assert_eq!(due(&resolved(31), now(), &config), Some(Retirement::Aged));
}

#[test]
fn only_episodes_and_skills_of_low_value_are_pruned() {
    let config = RetentionConfig::default();
    let at = |table, value| due(&aging(table, 91, value), now(), &config);
    assert_eq!(at(Table::Episodes, 0.29), Some(Retirement::Pruned));
    assert_eq!(at(Table::Episodes, 0.3), Some(Retirement::Aged));
    assert_eq!(at(Table::Skills, 0.49), Some(Retirement::Pruned));
    assert_eq!(at(Table::Skills, 0.5), None);
    assert_eq!(at(Table::Patterns, 0.0), None);
    let young = aging(Table::Skills, 90, 0.0);
    assert_eq!(due(&young, now(), &config), None);
}

#[test]
fn the_entries_of_a_task_have_a_name_in_each_scope() {
    let scope = |path: &str| Scope::parse(path).unwrap();
    let task = scope("org/a/project/b/worktree/w/task/t");
    let here = name_of(&task, &scope("org/a/project/b"));
    assert_eq!(here, name_of(&task, &scope("org/a/project/b")));
    assert_ne!(here, name_of(&task, &scope("org/a")));
    assert_ne!(
        here,
        name_of(
            &scope("org/a/project/b/worktree/w/task/u"),
            &scope("org/a/project/b")
        )
    );
}

proptest! {
    #[test]
    fn what_is_due_stays_due(
        table in proptest::sample::select(Table::ALL.to_vec()),
        days in 0u64..900,
        value in 0.0f64..=1.0,
        resolved in proptest::option::of(0u64..900),
        later in 0u64..1_000,
    ) {
        let config = RetentionConfig::default();
        let one = Aging { resolved_at: resolved.map(days_ago), ..aging(table, days, value) };
        if due(&one, now(), &config).is_some() {
            prop_assert!(due(&one, now().plus_ms(later * DAY_MS), &config).is_some());
        }
    }
}
