//! What failed in tasks: the format of a task that remembers it, what the ranges of failed approaches hold, in which order, and
//! that the largest values fit.

use proptest::prelude::*;
use sillok_core::circular::Failures;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::task::Task;

use super::{assert_corrupt, compare_golden};
use crate::keys::related::ScopePath;
use crate::keys::samples::{failed, golden, parts};
use crate::keys::{self, Family, codec, failed_approach};
use crate::limits::VALUE_BYTES_MAX;

#[test]
fn the_second_form_of_tasks_never_changes() {
    let p = golden();
    let task = Task {
        failures: p.failures(),
        ..p.task()
    };
    let key = keys::task::key(&p.scope_key());
    compare_golden("task_2.txt", &key, &keys::task::encode(&task));
}

/// The key of what failed in a task by an event.
fn key(task: &Scope, seq: u64) -> Vec<u8> {
    failed_approach::key(&failed_approach::Key {
        task: ScopePath::of(task),
        seq: Seq::new(seq),
    })
}

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

#[test]
fn what_failed_in_a_project_is_one_range_task_by_task_in_the_order_in_which_it_did() {
    let project = scope("org/a/project/p");
    let tasks = ["main/task/1", "main/task/2", "other/task/1"];
    let tasks = tasks.map(|path| scope(&format!("org/a/project/p/worktree/{path}")));
    let range = failed_approach::range_inside(&project);
    let mut keys = Vec::new();
    for task in &tasks {
        let own = failed_approach::range_inside(task);
        let rows = [1, 2, 300, 70_000].map(|seq| key(task, seq));
        assert!(rows.is_sorted());
        for row in &rows {
            assert!(range.contains(row) && own.contains(row));
            let holding = tasks.iter().filter(|task| {
                let range = failed_approach::range_inside(task);
                range.contains(row)
            });
            assert_eq!(holding.count(), 1);
        }
        keys.extend(rows);
    }
    // All of a task stands together.
    keys.sort();
    let of_task = |key: &Vec<u8>| failed_approach::parse(key).unwrap().task;
    let mut turns: Vec<ScopePath> = keys.iter().map(of_task).collect();
    turns.dedup();
    assert_eq!(turns.len(), tasks.len());
    for path in [
        "org/a/project/q/worktree/main/task/1",
        "org/b/project/p/worktree/main/task/1",
    ] {
        assert!(!range.contains(&key(&scope(path), 1)), "{path}");
    }
}

#[test]
fn a_page_goes_on_behind_an_event_and_ends_with_the_task() {
    let task = scope("org/a/project/p/worktree/w/task/t");
    let all = failed_approach::range_after(&task, None);
    assert_eq!(all, failed_approach::range_inside(&task));
    for after in [0, 1, 255, 256, 70_000, u64::MAX - 1] {
        let behind = failed_approach::range_after(&task, Some(Seq::new(after)));
        assert!(!behind.contains(&key(&task, after)));
        assert!(behind.contains(&key(&task, after + 1)));
        assert!(behind.contains(&key(&task, u64::MAX)));
        assert_eq!(behind.end, all.end);
    }
    let other = scope("org/a/project/p/worktree/w/task/u");
    assert!(!all.contains(&key(&other, 1)));
}

#[test]
fn a_task_in_a_format_that_nobody_wrote_is_refused() {
    let p = golden();
    let task = keys::task::key(&p.scope_key());
    let fields = postcard::to_allocvec(&p.task()).unwrap();
    let value = codec::encode_raw(3, &fields);
    assert_corrupt(Family::Task, &task, keys::task::decode(&task, &value));
}

#[test]
fn the_largest_approach_that_failed_its_event_and_the_largest_task_fit_one_value_each() {
    let largest = failed::largest();
    let task = failed::largest_task();
    for (what, value) in [
        ("approach", failed_approach::encode(&largest)),
        (
            "its event",
            keys::event::encode(&failed::event_of(&largest)),
        ),
        ("task", keys::task::encode(&task)),
    ] {
        assert!(value.len() <= VALUE_BYTES_MAX, "{what}: {}", value.len());
    }
}

proptest! {
    #[test]
    fn a_task_in_which_something_failed_is_of_format_2(p in parts()) {
        let key = keys::task::key(&p.scope_key());
        for (failures, format) in [(Failures::default(), 1), (p.failures(), 2)] {
            let task = Task { failures, ..p.task() };
            let value = keys::task::encode(&task);
            prop_assert_eq!(value[0], format);
            prop_assert_eq!(keys::task::decode(&key, &value).unwrap(), task);
        }
    }

    #[test]
    fn a_task_in_which_nothing_failed_is_all_its_fields_but_four_zeros(p in parts()) {
        let fields = postcard::to_allocvec(&p.task()).unwrap();
        let (fields, none) = fields.split_last_chunk::<4>().unwrap();
        prop_assert_eq!(none, &[0; 4]);
        prop_assert_eq!(keys::task::encode(&p.task()), codec::encode_raw(1, fields));
    }

    #[test]
    fn what_failed_in_a_task_lies_inside_the_scopes_around_it(p in parts(), after in 0_u64..9) {
        let failed = p.failed_approach();
        let key = failed_approach::key(&p.failed_place());
        for around in failed.task.with_ancestors() {
            prop_assert!(failed_approach::range_inside(&around).contains(&key));
        }
        let beside = scope("org/beside/project/p");
        prop_assert!(!failed_approach::range_inside(&beside).contains(&key));
        let behind = failed_approach::range_after(&failed.task, Some(Seq::new(after)));
        prop_assert_eq!(behind.contains(&key), failed.seq > Seq::new(after));
    }
}
