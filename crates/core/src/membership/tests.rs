//! The rules of membership, by example and by property.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::slot::SLOTS;

fn row(incarnation: u64, beat: u64) -> NodeRow {
    NodeRow {
        incarnation: Incarnation(incarnation),
        beat,
        fenced: false,
        reaches_bus: true,
        is_behind: false,
        reads: WireVersion::FIRST,
    }
}

fn nodes(beats: &[(&str, u64)]) -> Nodes {
    beats
        .iter()
        .map(|(name, beat)| ((*name).to_owned(), row(1, *beat)))
        .collect()
}

fn names(suspects: &[Suspect]) -> Vec<&str> {
    suspects
        .iter()
        .map(|suspect| suspect.node.as_str())
        .collect()
}

#[test]
fn a_slot_is_free_for_all_only_when_its_owners_run_is_over() {
    let owner = OwnerRow {
        node: "a".into(),
        incarnation: Incarnation(2),
        epoch: Epoch(7),
    };
    let fenced = NodeRow {
        fenced: true,
        ..row(2, 5)
    };
    assert!(is_claimable(None, None));
    assert!(!is_claimable(Some(&owner), Some(&row(2, 5))));
    assert!(is_claimable(Some(&owner), Some(&row(3, 0))), "it restarted");
    assert!(is_claimable(Some(&owner), Some(&fenced)));
    assert!(is_claimable(Some(&owner), None), "it never registered");
}

#[test]
fn a_silent_neighbour_is_fenced_after_the_span_and_not_before() {
    let config = BeatConfig::default();
    let mut watcher = Watcher::default();
    let mut suspected_at = None;
    for beat in 0..10 {
        let seen = nodes(&[("a", beat), ("b", 3), ("c", beat)]);
        let suspects = watcher.after_beat("a", beat * 1_000, &seen, &config);
        if !suspects.is_empty() && suspected_at.is_none() {
            assert_eq!(names(&suspects), ["b"]);
            suspected_at = Some(beat * 1_000);
        }
    }
    assert_eq!(suspected_at, Some(4_000));
}

#[test]
fn a_watcher_that_was_away_suspects_nobody() {
    let config = BeatConfig::default();
    let mut watcher = Watcher::default();
    let seen = nodes(&[("a", 1), ("b", 3)]);
    for beat in 0..4 {
        assert!(
            watcher
                .after_beat("a", beat * 1_000, &seen, &config)
                .is_empty()
        );
    }
    // Paused for an hour: the clock ran, the beats did not.
    assert!(
        watcher
            .after_beat("a", 3_600_000, &seen, &config)
            .is_empty()
    );
    // The store was away: no beat committed.
    watcher.beat_failed();
    assert!(
        watcher
            .after_beat("a", 3_601_000, &seen, &config)
            .is_empty()
    );
    assert_eq!(
        names(&watcher.after_beat("a", 3_602_000, &seen, &config)),
        ["b"]
    );
}

#[test]
fn who_is_seen_for_the_first_time_has_not_been_silent_before() {
    let config = BeatConfig::default();
    let mut watcher = Watcher::default();
    watcher.after_beat("a", 0, &nodes(&[("a", 1)]), &config);
    let seen = nodes(&[("a", 1), ("b", 0)]);
    for beat in 1..5 {
        assert!(
            watcher
                .after_beat("a", beat * 1_000, &seen, &config)
                .is_empty()
        );
    }
    assert_eq!(
        names(&watcher.after_beat("a", 5_000, &seen, &config)),
        ["b"]
    );
}

#[test]
fn a_restart_or_a_beat_ends_the_silence() {
    let config = BeatConfig::default();
    let mut watcher = Watcher::default();
    let quiet = nodes(&[("a", 1), ("b", 3)]);
    for beat in 0..4 {
        watcher.after_beat("a", beat * 1_000, &quiet, &config);
    }
    let mut restarted = quiet.clone();
    restarted.insert("b".into(), row(2, 3));
    assert!(
        watcher
            .after_beat("a", 4_000, &restarted, &config)
            .is_empty()
    );
    assert!(
        watcher
            .after_beat("a", 7_900, &restarted, &config)
            .is_empty()
    );
}

#[test]
fn the_ring_skips_the_fenced_and_oneself() {
    let mut ring = nodes(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)]);
    ring.get_mut("d").unwrap().fenced = true;
    assert_eq!(neighbours("c", &ring, 3), ["e", "a", "b"]);
    assert_eq!(neighbours("e", &ring, 2), ["a", "b"]);
    assert!(neighbours("a", &nodes(&[("a", 1)]), 3).is_empty());
}

#[test]
fn every_node_is_watched_by_another() {
    let ring = nodes(&[
        ("a", 1),
        ("b", 1),
        ("c", 1),
        ("d", 1),
        ("e", 1),
        ("f", 1),
        ("g", 1),
    ]);
    let watched: BTreeSet<&str> = ring
        .keys()
        .flat_map(|me| neighbours(me, &ring, 3))
        .collect();
    assert_eq!(watched.len(), ring.len());
}

#[test]
fn a_lease_that_outlives_the_fence_is_refused() {
    assert!(BeatConfig::default().check().is_ok());
    let refused = |config: BeatConfig| config.check().unwrap_err().message;
    for (every_ms, lease_ms) in [(1_000, 2_001), (1_999, 2_000), (1_001, 2_000)] {
        let too_long = BeatConfig {
            every_ms,
            lease_ms,
            ..BeatConfig::default()
        };
        assert!(refused(too_long).contains("fence_after_ms"), "{lease_ms}");
    }
    let never = BeatConfig {
        every_ms: 0,
        ..BeatConfig::default()
    };
    assert!(never.check().is_err());
}

proptest! {
    #[test]
    fn a_node_that_leaves_moves_only_its_own_slots(gone in 0usize..7, number in 0..SLOTS) {
        let all = ["a", "b", "c", "d", "e", "f", "g"];
        let slot = Slot::new(number).unwrap();
        let before = home(slot, all).unwrap();
        let rest = all.iter().copied().filter(|name| *name != all[gone]);
        let after = home(slot, rest).unwrap();
        prop_assert!(before == after || before == all[gone]);
    }

    #[test]
    fn placement_does_not_depend_on_the_order_of_nodes(number in 0..SLOTS) {
        let slot = Slot::new(number).unwrap();
        prop_assert_eq!(home(slot, ["a", "b", "c"]), home(slot, ["c", "a", "b"]));
    }

    #[test]
    fn nobody_is_suspected_whose_beats_are_seen(steps in proptest::collection::vec((1u64..5_000, 0u64..2, any::<bool>()), 1..100)) {
        let config = BeatConfig::default();
        let mut watcher = Watcher::default();
        let (mut now_ms, mut beat, mut unchanged_ms) = (0, 1, 0);
        for (passed_ms, beats, committed) in steps {
            now_ms += passed_ms;
            beat += beats;
            unchanged_ms = if beats > 0 { 0 } else { unchanged_ms + passed_ms };
            if committed {
                let suspects = watcher.after_beat("a", now_ms, &nodes(&[("a", now_ms), ("b", beat)]), &config);
                prop_assert!(suspects.is_empty() || unchanged_ms >= config.fence_after_ms);
            } else {
                watcher.beat_failed();
            }
        }
    }
}

#[test]
fn slots_spread_evenly() {
    let all = ["node-0", "node-1", "node-2"];
    for node in all {
        let held = (0..SLOTS)
            .filter_map(Slot::new)
            .filter(|slot| home(*slot, all) == Some(node))
            .count();
        assert!(
            (1_200..1_550).contains(&held),
            "{node} holds {held} of {SLOTS}"
        );
    }
}

/// The figures of docs/scale.md: few slots a node make an uneven lot of it.
#[test]
fn a_thousand_nodes_share_the_slots_unevenly() {
    for (count, most, least, without) in [(3, 1_404, 1_311, 0), (50, 96, 64, 0), (1_000, 12, 0, 18)]
    {
        let all: Vec<String> = (0..count)
            .map(|number| format!("sillok-{number}"))
            .collect();
        let mut held: BTreeMap<&str, usize> = all.iter().map(|name| (name.as_str(), 0)).collect();
        for slot in (0..SLOTS).filter_map(Slot::new) {
            let node = home(slot, all.iter().map(String::as_str)).expect("there are nodes");
            *held.get_mut(node).expect("it is one of them") += 1;
        }
        let nobodys = held.values().filter(|slots| **slots == 0).count();
        let (max, min) = (held.values().max(), held.values().min());
        assert_eq!(
            (max, min, nobodys),
            (Some(&most), Some(&least), without),
            "{count} nodes"
        );
    }
}

#[test]
fn a_fence_is_ordered_for_the_current_run_of_a_known_node_until_it_is_over() {
    let row = |fenced| NodeRow {
        incarnation: Incarnation(3),
        beat: 9,
        fenced,
        reaches_bus: true,
        is_behind: false,
        reads: WireVersion::FIRST,
    };
    let check = |run, row: Option<&NodeRow>| {
        let checked = check_fence_order("bob", Incarnation(run), row);
        checked.map_err(|error| error.code)
    };
    assert_eq!(check(3, Some(&row(false))), Ok(()));
    assert_eq!(check(3, Some(&row(true))), Err(ErrorCode::InvalidState));
    for other in [2, 4] {
        assert_eq!(
            check(other, Some(&row(false))),
            Err(ErrorCode::InvalidState)
        );
    }
    assert_eq!(check(3, None), Err(ErrorCode::NotFound));
}
