//! Planted bugs: each safeguard of decisions, left out, must be seen to break something.

use std::collections::BTreeSet;

use sillok_core::brief::BriefItem;
use sillok_core::decision::{Node as Place, Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_store::keys::Family;

use super::stage::{Stage, at, file, relates, save, says, sound, titles, withdraw};
use crate::NodeConfig;
use crate::protocol::{Safeguard, Without};
use crate::reads::BriefQuery;
use crate::tests::harness::{AS_MEANT, PROJECT, TASK, TestNode, ports, store};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{ORG, pairs_of};

const fn without(safeguard: Safeguard) -> Without {
    Without(Some(safeguard))
}

/// A decision that becomes stronger and is said again then, and one that is withdrawn. Gives what is loaded then, and whether
/// the audit passes.
async fn moved_and_withdrawn(protocol: Without) -> (Vec<String>, bool) {
    let store = store();
    let mut stage = Stage::under(protocol, &store).await;
    let moved = stage.begin(PROJECT, says(Rank::Normal, "weak")).await;
    stage
        .change(PROJECT, (moved, 1), says(Rank::Lock, "strong at first"))
        .await;
    stage
        .change(PROJECT, (moved, 2), says(Rank::Lock, "strong"))
        .await;
    let gone = stage.begin(PROJECT, says(Rank::Normal, "gone")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    let loaded = stage.titles(PROJECT).await;
    stage.node.shutdown().await;
    (loaded, sound(&store).await.is_none())
}

#[tokio::test]
async fn what_moves_or_is_withdrawn_is_no_longer_loaded_from_where_it_was() {
    assert_eq!(
        moved_and_withdrawn(AS_MEANT).await,
        (vec!["strong".to_owned()], true)
    );
}

#[tokio::test]
async fn without_the_end_of_the_former_listing_two_versions_are_active() {
    let without = without(Safeguard::EndsFormerListing);
    let (loaded, is_sound) = moved_and_withdrawn(without).await;
    assert_eq!(loaded, ["strong", "weak", "gone"]);
    assert!(!is_sound, "the planted bug must be seen");
}

#[tokio::test]
async fn without_the_look_at_what_is_active_what_was_withdrawn_is_loaded() {
    let without = without(Safeguard::LoadsActiveOnly);
    let (loaded, is_sound) = moved_and_withdrawn(without).await;
    assert_eq!(loaded, ["strong", "gone"], "the planted bug must be seen");
    assert!(is_sound, "it is read wrongly, and stored as it should be");
}

/// The layers and titles that a brief loads where the weak was said after the strong, and a lock is among them.
async fn loaded_by_rank(protocol: Without) -> (Vec<u8>, Vec<String>) {
    let mut stage = Stage::under(protocol, &store()).await;
    for (path, rank, title) in [
        (ORG, Rank::Axis, "axis"),
        (PROJECT, Rank::Lock, "lock"),
        (TASK, Rank::Normal, "normal"),
    ] {
        stage.begin(path, says(rank, title)).await;
        stage.node.ports().clock.sleep(10).await;
    }
    let brief = stage.brief(TASK, BriefQuery::default()).await;
    let layers = brief.items.iter().map(|item| item.layer() as u8);
    (layers.collect(), titles(&brief))
}

fn owned(titles: &[&str]) -> Vec<String> {
    titles.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn what_is_strong_is_loaded_first_and_locks_of_all_domains_are() {
    let (layers, titles) = loaded_by_rank(AS_MEANT).await;
    assert_eq!(layers, [3, 5, 6]);
    assert_eq!(titles, owned(&["axis", "lock", "normal"]));
}

#[tokio::test]
async fn without_the_order_of_ranks_something_normal_stands_before_an_axis() {
    let (layers, titles) = loaded_by_rank(without(Safeguard::LoadsByRank)).await;
    assert!(!layers.is_sorted(), "the planted bug must be seen");
    assert_eq!(titles, owned(&["normal", "lock", "axis"]));
}

#[tokio::test]
async fn without_the_locks_of_all_domains_one_is_forgotten() {
    let (_, titles) = loaded_by_rank(without(Safeguard::LoadsGlobalLocks)).await;
    let expected = owned(&["axis", "normal"]);
    assert_eq!(titles, expected, "the planted bug must be seen");
}

/// How many nodes are told of that a cycle affects, and how many of them differ.
async fn around_a_cycle(protocol: Without) -> (usize, usize) {
    let mut stage = Stage::under(protocol, &store()).await;
    let rests = |on: DecisionId, title: &str| {
        let text = says(Rank::Normal, title);
        relates(RelationKind::DependsOn, at(PROJECT, on), text)
    };
    let first = stage.begin(PROJECT, says(Rank::Normal, "first")).await;
    let second = stage.begin(PROJECT, rests(first, "second")).await;
    let third = stage.begin(PROJECT, rests(second, "third")).await;
    stage
        .change(PROJECT, (first, 1), rests(third, "first"))
        .await;
    let found = stage.impact(PROJECT, at(PROJECT, first)).await;
    let nodes: BTreeSet<&Place> = found.affected.iter().map(|one| &one.node).collect();
    let query = BriefQuery {
        at: vec![at(PROJECT, first)],
        ..BriefQuery::default()
    };
    let brief = stage.brief(PROJECT, query).await;
    let is_structural = |item: &&BriefItem| matches!(item, BriefItem::Structural { .. });
    let structural = brief.items.iter().filter(is_structural).count();
    let is_cut = !brief.cut.is_empty() || brief.impact_cut.is_some();
    assert!(is_cut || structural == found.affected.len());
    (found.affected.len(), nodes.len())
}

#[tokio::test]
async fn an_impact_goes_around_a_cycle_once() {
    assert_eq!(around_a_cycle(AS_MEANT).await, (2, 2));
}

#[tokio::test]
async fn without_the_visit_that_is_the_only_one_a_cycle_has_no_end() {
    let (told, nodes) = around_a_cycle(without(Safeguard::VisitsOnce)).await;
    assert_eq!(nodes, 3, "it comes back to where it began");
    assert!(told > 200, "the planted bug must be seen: {told}");
}

/// A save whose commit never comes to pass, whatever else its node commits. Gives the relations that are there then, and
/// what the audit says.
async fn failed_save(protocol: Without) -> (usize, Option<String>) {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    let node = TestNode::start_as(line.clone(), ports(), NodeConfig::default(), protocol).await;
    let mut stage = Stage {
        node: node.unwrap(),
        given: 0,
    };
    stage.begin(PROJECT, says(Rank::Normal, "first")).await;
    let text = says(Rank::Lock, "about a file");
    let text = relates(RelationKind::AppliesTo, file("src/api.rs"), text);
    let command = save(None, text);
    // A save sets more keys than that; what is written beside it is less.
    line.allow(2);
    stage.person(PROJECT, command).await.unwrap_err();
    let pairs = pairs_of(&memory).await;
    let is_relation = |key: &&Vec<u8>| Family::of(key) == Some(Family::Related);
    let relations = pairs.keys().filter(is_relation).count();
    (relations, sound(&memory).await)
}

#[tokio::test]
async fn a_save_that_fails_leaves_no_relation_behind() {
    assert_eq!(failed_save(AS_MEANT).await, (0, None));
}

#[tokio::test]
async fn without_the_relations_in_the_save_one_that_fails_leaves_them_behind() {
    let without = without(Safeguard::SavesRelationsWithDecision);
    let (relations, difference) = failed_save(without).await;
    assert_eq!(relations, 1);
    let difference = difference.expect("the planted bug must be seen");
    assert!(
        difference.contains(Family::Related.as_str()),
        "{difference}"
    );
}

/// A decision that is called otherwise and stays related to a file. Gives what the audit says.
async fn renamed(protocol: Without) -> Option<String> {
    let store = store();
    let mut stage = Stage::under(protocol, &store).await;
    let about = |title: &str| {
        let text = says(Rank::Lock, title);
        relates(RelationKind::AppliesTo, file("src/api.rs"), text)
    };
    let root = stage.begin(PROJECT, about("first")).await;
    stage.change(PROJECT, (root, 1), about("second")).await;
    stage.node.shutdown().await;
    sound(&store).await
}

#[tokio::test]
async fn a_relation_says_what_its_decision_is_called_now() {
    assert_eq!(renamed(AS_MEANT).await, None);
}

#[tokio::test]
async fn without_the_renaming_of_relations_one_says_a_former_title() {
    let difference = renamed(without(Safeguard::RenamesRelations)).await;
    let difference = difference.expect("the planted bug must be seen");
    assert!(
        difference.contains(Family::Related.as_str()),
        "{difference}"
    );
}

#[tokio::test]
async fn what_is_read_wrongly_or_written_apart_is_stored_as_it_should_be_all_the_same() {
    for safeguard in [
        Safeguard::LoadsByRank,
        Safeguard::LoadsGlobalLocks,
        Safeguard::VisitsOnce,
        Safeguard::SavesRelationsWithDecision,
        Safeguard::ListsAnchorsLast,
    ] {
        let (_, is_sound) = moved_and_withdrawn(without(safeguard)).await;
        assert!(is_sound, "{safeguard:?}");
    }
}
