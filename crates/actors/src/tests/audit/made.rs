//! What the world is made of, on which the audits of it rest.

use sillok_core::decision::{Act, DecisionVersion};
use sillok_core::scope::{Level, Scope};
use sillok_core::staging::Content;
use sillok_core::task::TaskStatus;
use sillok_store::keys::{self, Family};

use super::{WORLD, keys_of};

#[test]
fn the_tasks_of_the_world_are_what_they_should_be() {
    let tasks: Vec<TaskStatus> = keys_of(Family::Task)
        .iter()
        .map(|key| keys::task::decode(key, &WORLD[key]).unwrap().status)
        .collect();
    assert_eq!(
        tasks
            .iter()
            .filter(|status| **status == TaskStatus::Done)
            .count(),
        2
    );
    let named: Vec<Scope> = keys_of(Family::Scope)
        .iter()
        .map(|key| keys::scope::decode(key, &WORLD[key]).unwrap().scope)
        .collect();
    assert_eq!(
        named
            .iter()
            .filter(|scope| scope.level() == Level::Task)
            .count(),
        tasks.len()
    );
}

#[test]
fn the_decisions_of_the_world_are_what_they_should_be() {
    let versions: Vec<DecisionVersion> = keys_of(Family::DecisionVersion)
        .iter()
        .map(|key| keys::decision_version::decode(key, &WORLD[key]).unwrap())
        .collect();
    let by = |is: fn(&Act) -> bool| versions.iter().filter(|version| is(&version.act)).count();
    let begun = by(|act| *act == Act::Begun);
    assert_eq!(begun, keys_of(Family::Decision).len());
    assert_eq!(by(|act| *act == Act::Changed), 1);
    assert_eq!(by(|act| *act == Act::Withdrawn), 2);
    assert_eq!(by(|act| matches!(act, Act::Restored { from: 1 })), 1);
    // One of those that were withdrawn is active again.
    assert_eq!(keys_of(Family::DecisionListed).len(), begun - 1);
    assert_eq!(keys_of(Family::DecisionClaim).len(), 2);
    assert_eq!(keys_of(Family::Related).len(), 6);
    assert_eq!(keys_of(Family::DeclaredRelation).len(), 2);
}

#[test]
fn the_evidence_and_the_anchors_of_the_world_are_what_they_should_be() {
    let is_large = |key: &Vec<u8>| {
        let evidence = keys::evidence::decode(key, &WORLD[key]).unwrap();
        matches!(evidence.content, Content::Chunked { .. })
    };
    let evidence = keys_of(Family::Evidence);
    assert_eq!(evidence.len(), 2);
    assert_eq!(evidence.iter().filter(|key| is_large(key)).count(), 1);
    let is_dropped = |key: &Vec<u8>| keys::anchor::decode(key, &WORLD[key]).unwrap().is_dropped();
    let anchors = keys_of(Family::Anchor);
    assert_eq!(anchors.len(), 3);
    assert_eq!(anchors.iter().filter(|key| is_dropped(key)).count(), 1);
    assert_eq!(keys_of(Family::AnchorListed).len(), 2);
}
