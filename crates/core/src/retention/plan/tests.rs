//! Tests of plans: what they take and keep, against a slow plan that looks at all entries for each.

use proptest::prelude::*;

use super::*;
use crate::time::DAY_MS;

const NOW_DAYS: u64 = 1_000;

fn now() -> Timestamp {
    Timestamp::from_ms(NOW_DAYS * DAY_MS)
}

fn days_ago(days: u64) -> Timestamp {
    Timestamp::from_ms((NOW_DAYS - days) * DAY_MS)
}

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn scope(number: u32) -> Scope {
    Scope::parse(&format!("org/a/project/p{number}")).unwrap()
}

/// An entry as an index has it.
#[derive(Clone, Debug)]
struct Row {
    entry: EntryId,
    scope: u32,
    status: Status,
    origin: u64,
    aging: Aging,
}

fn row(number: u8, origin: u64, table: Table, days: u64, value: f64) -> Row {
    Row {
        entry: entry(number),
        scope: 0,
        status: Status::Verified,
        origin,
        aging: Aging {
            table,
            age_from: days_ago(days),
            resolved_at: None,
            value,
        },
    }
}

fn resolved(row: Row, days: u64) -> Row {
    Row {
        status: Status::Deprecated,
        aging: Aging {
            resolved_at: Some(days_ago(days)),
            ..row.aging
        },
        ..row
    }
}

/// Hands rows over in batches of so many.
fn pass(rows: &[Row], at_once: usize, mut each: impl FnMut(&AgeColumns<'_>)) {
    let scopes: Vec<Scope> = (0..3).map(scope).collect();
    for batch in rows.chunks(at_once) {
        fn all<T>(batch: &[Row], of: impl Fn(&Row) -> T) -> Vec<T> {
            batch.iter().map(of).collect()
        }
        each(&AgeColumns {
            worth: WorthColumns {
                entry: &all(batch, |row| row.entry),
                table: &all(batch, |row| row.aging.table),
                status: &all(batch, |row| row.status),
                age_from: &all(batch, |row| row.aging.age_from),
                value: &all(batch, |row| row.aging.value),
                origin: &all(batch, |row| row.origin),
            },
            scopes: &scopes,
            scope: &all(batch, |row| row.scope),
            version: &all(batch, |_| 1),
            resolved_at: &all(batch, |row| row.aging.resolved_at),
        });
    }
}

fn planned(rows: &[Row], at_once: usize, within: Option<&Scope>) -> Plan {
    let config = RetentionConfig::default();
    let mut planner = Planner::new(now(), &config, within);
    pass(rows, at_once, |columns| planner.take(columns));
    if planner.has_to_rank() {
        pass(rows, at_once, |columns| planner.rank(&columns.worth));
    }
    planner.finish()
}

fn plan(rows: &[Row]) -> ScopePlan {
    let found = planned(rows, 7, None).scopes.remove(&scope(0));
    found.unwrap_or_default()
}

#[test]
fn the_best_five_of_a_task_stay() {
    let value = |number: u8| f64::from(number) / 100.0;
    let old = (1..=8).map(|number| row(number, 7, Table::Episodes, 200, value(number)));
    let plan = plan(&old.collect::<Vec<_>>());
    let going: Vec<EntryId> = plan.pruned.iter().map(|(entry, _)| *entry).collect();
    assert_eq!(going, [1, 2, 3].map(entry));
    assert_eq!((plan.kept, plan.live), (5, 8));
}

#[test]
fn what_is_no_longer_live_takes_nobody_elses_place() {
    let mut rows: Vec<Row> = (1..=6)
        .map(|number| row(number, 7, Table::Episodes, 200, 0.1))
        .collect();
    rows[5].status = Status::Archived;
    let plan = plan(&rows);
    assert_eq!((plan.going(), plan.kept, plan.live), (0, 5, 5));
}

#[test]
fn what_names_no_task_and_what_is_resolved_is_not_kept() {
    let unnamed = row(1, 0, Table::Episodes, 200, 1.0);
    let state = resolved(row(2, 7, Table::Tasks, 200, 1.0), 60);
    let plan = plan(&[unnamed, state]);
    assert_eq!(plan.aged, [(entry(1), 1), (entry(2), 1)]);
}

#[test]
fn a_plan_that_takes_most_of_a_scope_asks() {
    let config = RetentionConfig::default();
    let of = |old: u8, young: u8| {
        let old = (0..old).map(|number| row(number, 0, Table::Observations, 400, 1.0));
        let young = (0..young).map(|number| row(200 + number, 0, Table::Observations, 1, 1.0));
        plan(&old.chain(young).collect::<Vec<_>>()).asks(&config)
    };
    assert!(of(20, 19));
    assert!(!of(20, 20));
    assert!(!of(16, 0), "so few need no question");
}

#[test]
fn scopes_outside_the_one_that_is_asked_for_are_passed_over() {
    let elsewhere = Row {
        scope: 1,
        ..row(2, 0, Table::Observations, 400, 1.0)
    };
    let rows = [row(1, 0, Table::Observations, 400, 1.0), elsewhere];
    let plan = planned(&rows, 1, Some(&scope(1)));
    assert_eq!(plan.looked_at, 1);
    assert_eq!(plan.scopes.keys().collect::<Vec<_>>(), [&scope(1)]);
    assert_eq!(plan.scopes[&scope(1)].aged, [(entry(2), 1)]);
}

#[test]
fn every_task_of_which_something_is_due_is_found_and_no_other_one() {
    let mut tasks = Tasks::NONE;
    assert_eq!(tasks.place(0), None, "nothing is looked for as yet");
    tasks.named = (1..=1_000).rev().map(|number| number * 3).collect();
    tasks.named.extend([3, 3_000, u64::MAX]);
    tasks.put_in_order();
    for (place, number) in (1..=1_000).enumerate() {
        assert_eq!(tasks.place(number * 3), Some(place));
        assert_eq!(tasks.place(number * 3 + 1), None);
    }
    assert_eq!(tasks.place(u64::MAX), Some(1_000));
    let is_marked = |task: &u64| {
        let (word, bit) = tasks.mark(*task);
        tasks.marks[word] & bit != 0
    };
    let marked = (10_000..20_000).filter(is_marked).count();
    assert!(
        marked < 1_500,
        "{marked} of 10000 others would be looked for"
    );
    tasks.named.clear();
    tasks.put_in_order();
    assert_eq!(tasks.place(3), None);
}

fn any_row() -> impl Strategy<Value = Row> {
    let table = proptest::sample::select(Table::ALL.to_vec());
    let status = proptest::sample::select(vec![
        Status::Hypothesis,
        Status::Verified,
        Status::Published,
        Status::Deprecated,
        Status::Archived,
    ]);
    let resolved = proptest::option::of(0u64..900);
    let numbers = (0u64..4, 0u32..3, 0u64..900, 0.0f64..=1.0);
    (table, status, resolved, numbers).prop_map(
        |(table, status, resolved, (origin, scope, days, value))| {
            let of_state = resolved.filter(|_| table.kind() == Kind::State);
            let mut row = row(0, origin * 4 + u64::from(scope), table, days, value);
            row.aging.resolved_at = of_state.map(days_ago);
            Row {
                scope,
                status,
                origin: if origin == 0 { 0 } else { row.origin },
                ..row
            }
        },
    )
}

proptest! {
    /// The plan against a slow one that looks at all entries for each.
    #[test]
    fn a_plan_takes_what_is_due_and_not_among_the_best(
        rows in proptest::collection::btree_map(any::<u8>(), any_row(), 0..80),
        at_once in 1usize..40,
    ) {
        let config = RetentionConfig::default();
        let rows: Vec<Row> = rows.into_iter()
            .map(|(number, row)| Row { entry: entry(number), ..row })
            .collect();
        let key = |row: &Row| (row.aging.age_from, row.entry);
        let better = |one: &Row, than: &Row| {
            let (value, other) = (one.aging.value, than.aging.value);
            value > other || (value == other && key(one) > key(than))
        };
        let counts = |row: &Row| row.origin != 0 && row.status.is_live() && row.aging.table.kind() != Kind::State;
        let is_best = |row: &Row| {
            let of_task = rows.iter().filter(|other| counts(other) && other.origin == row.origin);
            counts(row) && of_task.filter(|other| better(other, row)).count() < config.keep_best
        };
        let is_looked_at = |row: &Row| {
            row.status.is_live() || row.status == Status::Deprecated && row.aging.resolved_at.is_some()
        };
        let plan = planned(&rows, at_once, None);
        prop_assert_eq!(plan.looked_at, rows.len() as u64);
        for number in 0..3 {
            let here = || rows.iter().filter(|row| row.scope == number && is_looked_at(row));
            let expected = |why: Retirement| -> Vec<(EntryId, u64)> {
                let goes = |row: &&Row| due(&row.aging, now(), &config).as_ref() == Some(&why) && !is_best(row);
                here().filter(goes).map(|row| (row.entry, 1)).collect()
            };
            let found = plan.scopes.get(&scope(number)).cloned().unwrap_or_default();
            prop_assert_eq!(&found.aged, &expected(Retirement::Aged));
            prop_assert_eq!(&found.pruned, &expected(Retirement::Pruned));
            if found.going() > 0 {
                prop_assert_eq!(found.live, here().count() as u64);
            }
        }
    }
}

/// Old and young entries in scopes of their own, five in each.
fn scattered(old: u8, young: u8) -> Plan {
    let days = |number: u8| if number < old { 400 } else { 1 };
    let row = |number: u8| row(number, 0, Table::Observations, days(number), 1.0);
    let rows: Vec<Row> = (0..old + young).map(row).collect();
    let scopes: Vec<Scope> = (0..=(old + young) / 5).map(u32::from).map(scope).collect();
    let config = RetentionConfig::default();
    let mut planner = Planner::new(now(), &config, None);
    for (number, row) in rows.iter().enumerate() {
        pass(core::slice::from_ref(row), 1, |columns| {
            let place = [u32::try_from(number / 5).unwrap()];
            planner.take(&AgeColumns {
                scopes: &scopes,
                scope: &place,
                ..*columns
            });
        });
    }
    planner.finish()
}

#[test]
fn a_plan_that_takes_most_of_many_small_scopes_asks_though_none_of_them_does() {
    let config = RetentionConfig::default();
    for (old, young, asks) in [
        (20, 19, true),
        (20, 20, false),
        (16, 0, false),
        (100, 0, true),
    ] {
        let plan = scattered(old, young);
        assert!(plan.scopes.values().all(|plan| !plan.asks(&config)));
        assert_eq!(plan.asks(&config), asks, "{old} of {}", old + young);
        assert_eq!(plan.live, u64::from(old + young));
    }
}
