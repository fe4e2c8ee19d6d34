//! Trajectories: what the range of a project holds, in which order, and that the largest ones fit.

use proptest::prelude::*;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use crate::keys::related::ScopePath;
use crate::keys::samples::{parts, trajectories};
use crate::keys::{self, trajectory};
use crate::limits::VALUE_BYTES_MAX;

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn key(task: &str, at: u64, seq: u64) -> Vec<u8> {
    trajectory::key(&trajectory::Key {
        task: ScopePath::of(&scope(task)),
        at: Timestamp::from_ms(at),
        seq: Seq::new(seq),
    })
}

#[test]
fn those_of_a_project_are_one_range_with_the_newest_at_its_end_whatever_task_they_are_of() {
    const ONE: &str = "org/a/project/p/worktree/main/task/1";
    const TWO: &str = "org/a/project/p/worktree/other/task/2";
    let range = trajectory::range_of_project(&scope("org/a/project/p"));
    let rows = [
        key(ONE, 1, 9),
        key(TWO, 255, 1),
        key(ONE, 256, 4),
        key(TWO, 70_000, 2),
    ];
    assert!(rows.is_sorted());
    assert!(rows.iter().all(|row| range.contains(row)));
    for other in [
        "org/a/project/q/worktree/main/task/1",
        "org/b/project/p/worktree/main/task/1",
    ] {
        assert!(!range.contains(&key(other, 255, 1)), "{other}");
    }
}

#[test]
fn the_largest_trajectory_and_its_event_fit_one_value_each() {
    for largest in trajectories::largest() {
        for value in [
            trajectory::encode(&largest),
            keys::event::encode(&trajectories::event_of(&largest)),
        ] {
            assert!(value.len() <= VALUE_BYTES_MAX, "{}", value.len());
        }
    }
}

proptest! {
    #[test]
    fn a_trajectory_lies_in_the_range_of_its_own_project_alone(a in parts(), b in parts()) {
        let (one, other) = (a.trajectory(), b.trajectory());
        let project = |scope: &Scope| scope.at_level(sillok_core::scope::Level::Project);
        let own = project(&one.task).expect("samples are of tasks");
        let range = trajectory::range_of_project(&own);
        prop_assert!(range.contains(&trajectory::key(&a.trajectory_place())));
        let is_same = project(&other.task).as_ref() == Some(&own);
        prop_assert_eq!(range.contains(&trajectory::key(&b.trajectory_place())), is_same);
    }
}
