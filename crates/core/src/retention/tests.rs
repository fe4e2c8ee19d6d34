//! Tests of retention: the ages and values of the specification, and what a plan keeps.

use proptest::prelude::*;

use super::*;

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

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn scope() -> Scope {
    Scope::parse("org/a/project/b").unwrap()
}

fn plan(entries: impl IntoIterator<Item = Planned>) -> ScopePlan {
    let config = RetentionConfig::default();
    let mut planner = Planner::new(now(), &config);
    planner.take(&scope(), entries);
    planner.finish().remove(&scope()).unwrap_or_default()
}

fn planned(number: u8, origin: u64, aging: Aging) -> Planned {
    Planned {
        entry: entry(number),
        version: 1,
        origin,
        aging,
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
fn the_best_five_of_a_task_stay() {
    let value = |number: u8| f64::from(number) / 100.0;
    let old = (1..=8).map(|number| planned(number, 7, aging(Table::Episodes, 200, value(number))));
    let plan = plan(old);
    let going: Vec<EntryId> = plan.pruned.iter().map(|(entry, _)| *entry).collect();
    assert_eq!(going, [1, 2, 3].map(entry));
    assert_eq!((plan.kept, plan.live), (5, 8));
}

#[test]
fn what_names_no_task_and_what_is_resolved_is_not_kept() {
    let unnamed = planned(1, 0, aging(Table::Episodes, 200, 1.0));
    let resolved = Aging {
        resolved_at: Some(days_ago(60)),
        ..aging(Table::Tasks, 200, 1.0)
    };
    let plan = plan([unnamed, planned(2, 7, resolved)]);
    assert_eq!(plan.aged, [(entry(1), 1), (entry(2), 1)]);
}

#[test]
fn a_plan_that_takes_most_of_a_scope_asks() {
    let config = RetentionConfig::default();
    let of = |old: u8, young: u8| {
        let old = (0..old).map(|number| planned(number, 0, aging(Table::Observations, 400, 1.0)));
        let young =
            (0..young).map(|number| planned(200 + number, 0, aging(Table::Observations, 1, 1.0)));
        plan(old.chain(young)).asks(&config)
    };
    assert!(of(20, 19));
    assert!(!of(20, 20));
    assert!(!of(16, 0), "so few need no question");
}

fn any_planned() -> impl Strategy<Value = Planned> {
    let table = proptest::sample::select(Table::ALL.to_vec());
    (
        any::<u8>(),
        0u64..4,
        table,
        0u64..900,
        0.0f64..=1.0,
        proptest::option::of(0u64..900),
    )
        .prop_map(|(number, origin, table, days, value, resolved)| Planned {
            aging: Aging {
                resolved_at: resolved
                    .filter(|_| table.kind() == Kind::State)
                    .map(days_ago),
                ..aging(table, days, value)
            },
            ..planned(number, origin, aging(table, 0, 0.0))
        })
}

proptest! {
    /// The plan against a slow one that looks at all entries for each.
    #[test]
    fn a_plan_takes_what_is_due_and_not_among_the_best(
        entries in proptest::collection::btree_map(any::<u8>(), any_planned(), 0..60)
    ) {
        let config = RetentionConfig::default();
        let entries: Vec<Planned> = entries.into_iter()
            .map(|(number, planned)| Planned { entry: entry(number), ..planned })
            .collect();
        let better = |one: &Planned, than: &Planned| {
            let key = |p: &Planned| (p.aging.age_from, p.entry);
            one.aging.value > than.aging.value || (one.aging.value == than.aging.value && key(one) > key(than))
        };
        let counts = |p: &Planned| p.origin != 0 && p.aging.table.kind() != Kind::State;
        let is_best = |p: &Planned| {
            let before = entries.iter().filter(|other| counts(other) && other.origin == p.origin && better(other, p));
            counts(p) && before.count() < config.keep_best
        };
        let expected = |why: Retirement| -> Vec<(EntryId, u64)> {
            let goes = |p: &&Planned| due(&p.aging, now(), &config).as_ref() == Some(&why) && !is_best(p);
            entries.iter().filter(goes).map(|p| (p.entry, p.version)).collect()
        };
        let plan = plan(entries.iter().copied());
        prop_assert_eq!(&plan.aged, &expected(Retirement::Aged));
        prop_assert_eq!(&plan.pruned, &expected(Retirement::Pruned));
    }

    #[test]
    fn what_is_due_stays_due(one in any_planned(), later in 0u64..1_000) {
        let config = RetentionConfig::default();
        if due(&one.aging, now(), &config).is_some() {
            prop_assert!(due(&one.aging, now().plus_ms(later * DAY_MS), &config).is_some());
        }
    }
}
