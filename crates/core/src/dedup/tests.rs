//! The rules of deduplication, one test each.

use proptest::prelude::*;

use super::*;
use crate::entry::{Binding, Detail, Episode, Metadata};

const THRESHOLDS: SpaceThresholds = SpaceThresholds {
    merge: 0.95,
    similar: 0.85,
};

fn id(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn new(table: Table, content: &str) -> NewEntry {
    NewEntry {
        table,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: None,
    }
}

fn known(number: u8, table: Table, content: &str, cosine: f32) -> Neighbour {
    Neighbour {
        id: id(number),
        table,
        failure: false,
        content: content.into(),
        content_hash: ContentHash::of(content),
        claim: None,
        cosine: Some(cosine),
        succeeded: None,
    }
}

fn claim(key: &str, value: &str) -> Option<Claim> {
    Some(Claim {
        key: key.into(),
        value: value.into(),
    })
}

fn neighbour() -> impl Strategy<Value = Neighbour> {
    let table = proptest::sample::select(Table::ALL.to_vec());
    let content = proptest::sample::select(vec![
        "it works",
        "It worked.",
        "it does not work",
        "it runs",
        "other",
    ]);
    (
        any::<u8>(),
        table,
        content,
        proptest::option::of(0.5f32..=1.0),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(number, table, content, cosine, failure, claims)| Neighbour {
                cosine,
                failure,
                claim: claims.then(|| Claim {
                    key: "k".into(),
                    value: content.into(),
                }),
                ..known(number, table, content, 0.0)
            },
        )
}

proptest! {
    #[test]
    fn the_order_of_neighbours_does_not_matter(
        table in proptest::sample::select(Table::ALL.to_vec()),
        mut neighbours in proptest::collection::vec(neighbour(), 0..12),
        rotate in 0usize..12,
    ) {
        neighbours.sort_by_key(|known| known.id);
        neighbours.dedup_by_key(|known| known.id);
        let new = NewEntry { claim: claim("k", "it works"), ..new(table, "it works") };
        let before = (verdict(&new, &neighbours, THRESHOLDS), causal_links(&new, &neighbours, THRESHOLDS));
        if !neighbours.is_empty() {
            let by = rotate % neighbours.len();
            neighbours.rotate_left(by);
        }
        prop_assert_eq!(before, (verdict(&new, &neighbours, THRESHOLDS), causal_links(&new, &neighbours, THRESHOLDS)));
    }

    #[test]
    fn a_merge_joins_one_table_one_failure_mark_and_no_contradiction(
        table in proptest::sample::select(Table::ALL.to_vec()),
        failure: bool,
        neighbours in proptest::collection::vec(neighbour(), 0..12),
    ) {
        let new = NewEntry { failure, claim: claim("k", "it works"), ..new(table, "it works") };
        if let Verdict::Merge { into, sameness } = verdict(&new, &neighbours, THRESHOLDS) {
            prop_assert!(table.merges());
            let justified = neighbours.iter().any(|known| known.id == into
                && known.table == table
                && known.failure == failure
                && contradiction(&new, known).is_none()
                && match sameness {
                    Sameness::Exact => known.content_hash == ContentHash::of(&new.content),
                    Sameness::Cosine(cosine) => known.cosine == Some(cosine)
                        && cosine >= THRESHOLDS.merge
                        && same_wording(&new.content, &known.content),
                });
            prop_assert!(justified);
        }
    }
}

#[test]
fn the_same_text_merges_whatever_its_cosine() {
    let neighbours = [
        known(9, Table::Observations, "near", 0.99),
        known(3, Table::Observations, "a  fact", 0.1),
    ];
    let verdict = verdict(&new(Table::Observations, "a fact"), &neighbours, THRESHOLDS);
    assert_eq!(
        verdict,
        Verdict::Merge {
            into: id(3),
            sameness: Sameness::Exact
        }
    );
}

#[test]
fn cosine_decides_between_merge_similar_and_new() {
    let judge = |cosine| {
        verdict(
            &new(Table::Skills, "a"),
            &[known(1, Table::Skills, "the `a`", cosine)],
            THRESHOLDS,
        )
    };
    assert_eq!(
        judge(0.95),
        Verdict::Merge {
            into: id(1),
            sameness: Sameness::Cosine(0.95)
        }
    );
    assert_eq!(
        judge(0.949),
        Verdict::Similar {
            to: id(1),
            cosine: 0.949
        }
    );
    assert_eq!(
        judge(0.85),
        Verdict::Similar {
            to: id(1),
            cosine: 0.85
        }
    );
    assert_eq!(judge(0.849), Verdict::New);
}

#[test]
fn the_highest_cosine_wins_and_ties_go_to_the_smallest_id() {
    let neighbours = [
        known(5, Table::Patterns, "A.", 0.97),
        known(2, Table::Patterns, "the a", 0.97),
        known(1, Table::Patterns, "`a`", 0.96),
    ];
    let verdict = verdict(&new(Table::Patterns, "a"), &neighbours, THRESHOLDS);
    assert_eq!(
        verdict,
        Verdict::Merge {
            into: id(2),
            sameness: Sameness::Cosine(0.97)
        }
    );
}

#[test]
fn what_is_worded_otherwise_is_similar_however_close() {
    let new = new(Table::Skills, "Run it before the tests");
    let other = known(1, Table::Skills, "Run it after the tests", 0.99);
    let same = known(2, Table::Skills, "run it before tests", 0.96);
    let similar = Verdict::Similar {
        to: id(1),
        cosine: 0.99,
    };
    let beside_other = core::slice::from_ref(&other);
    assert_eq!(verdict(&new, beside_other, THRESHOLDS), similar);
    let merge = Verdict::Merge {
        into: id(2),
        sameness: Sameness::Cosine(0.96),
    };
    assert_eq!(verdict(&new, &[other, same], THRESHOLDS), merge);
}

#[test]
fn failures_and_other_tables_never_merge() {
    let failure = Neighbour {
        failure: true,
        ..known(1, Table::Patterns, "a", 1.0)
    };
    assert_eq!(
        verdict(&new(Table::Patterns, "a"), &[failure], THRESHOLDS),
        Verdict::New
    );
    assert_eq!(
        verdict(
            &new(Table::Patterns, "a"),
            &[known(1, Table::Skills, "a", 1.0)],
            THRESHOLDS
        ),
        Verdict::New
    );
    for table in Table::ALL.iter().filter(|table| !table.merges()) {
        assert_eq!(
            verdict(&new(*table, "a"), &[known(1, *table, "a", 1.0)], THRESHOLDS),
            Verdict::New,
            "{table}"
        );
    }
}

#[test]
fn other_values_of_one_key_contradict_even_when_the_text_is_the_same() {
    let ours = NewEntry {
        claim: claim("http.framework", "axum"),
        ..new(Table::Observations, "we chose")
    };
    let theirs = Neighbour {
        claim: claim("http.framework", "warp"),
        ..known(1, Table::Observations, "we chose", 1.0)
    };
    assert_eq!(
        verdict(&ours, core::slice::from_ref(&theirs), THRESHOLDS),
        Verdict::Contradicts {
            with: id(1),
            why: Contradiction::Claim
        }
    );
    let same = Neighbour {
        claim: ours.claim.clone(),
        ..theirs
    };
    assert_eq!(
        verdict(&ours, &[same], THRESHOLDS),
        Verdict::Merge {
            into: id(1),
            sameness: Sameness::Exact
        }
    );
}

#[test]
fn other_values_of_one_key_contradict_however_far_they_lie_and_in_whatever_table() {
    for table in Table::ALL {
        let ours = NewEntry {
            claim: claim("http.timeout", "10s"),
            ..new(*table, "Requests are aborted early by default")
        };
        let text = "The HTTP client waits thirty seconds";
        let theirs = Neighbour {
            claim: claim("http.timeout", "30s"),
            cosine: None,
            ..known(1, Table::Observations, text, 0.0)
        };
        let near = core::slice::from_ref(&theirs);
        let verdict_of = verdict(&ours, near, THRESHOLDS);
        let why = Contradiction::Claim;
        let against = Verdict::Contradicts { with: id(1), why };
        assert_eq!(verdict_of, against, "{table}");
        assert_eq!(claim_verdict(&ours, near), against, "{table}");
        let failure = Neighbour {
            failure: true,
            ..theirs.clone()
        };
        let agrees = Neighbour {
            claim: ours.claim.clone(),
            ..theirs
        };
        for apart in [failure, agrees] {
            let near = core::slice::from_ref(&apart);
            assert_eq!(verdict(&ours, near, THRESHOLDS), Verdict::New, "{table}");
            assert_eq!(claim_verdict(&ours, near), Verdict::New, "{table}");
        }
    }
}

#[test]
fn what_declares_a_key_is_not_lost_in_what_does_not() {
    let plain = new(Table::Observations, "we chose axum");
    let claims = NewEntry {
        claim: claim("http.framework", "axum"),
        ..plain.clone()
    };
    let to = |number, claim| Neighbour {
        claim,
        ..known(number, Table::Observations, "we chose axum", 0.99)
    };
    let similar = Verdict::Similar {
        to: id(1),
        cosine: 1.0,
    };
    for other in [None, claim("web.framework", "axum")] {
        let near = [to(1, other.clone())];
        assert_eq!(verdict(&claims, &near, THRESHOLDS), similar, "{other:?}");
        // The other way round nothing is lost.
        let merge = Verdict::Merge {
            into: id(1),
            sameness: Sameness::Exact,
        };
        assert_eq!(verdict(&plain, &near, THRESHOLDS), merge, "{other:?}");
    }
    let near = [to(1, None), to(2, claims.claim.clone())];
    let merge = Verdict::Merge {
        into: id(2),
        sameness: Sameness::Exact,
    };
    assert_eq!(verdict(&claims, &near, THRESHOLDS), merge);
    // The same words are not merged either.
    let reworded = Neighbour {
        content_hash: ContentHash::of("We chose `axum`."),
        content: "We chose `axum`.".into(),
        ..to(1, None)
    };
    let close = Verdict::Similar {
        to: id(1),
        cosine: 0.99,
    };
    let near = core::slice::from_ref(&reworded);
    assert_eq!(verdict(&claims, near, THRESHOLDS), close);
    assert!(matches!(
        verdict(&plain, near, THRESHOLDS),
        Verdict::Merge { .. }
    ));
}

#[test]
fn a_negation_never_merges_however_close() {
    let neighbours = [known(
        1,
        Table::Observations,
        "The cache is thread-safe",
        0.99,
    )];
    assert_eq!(
        verdict(
            &new(Table::Observations, "The cache is not thread-safe"),
            &neighbours,
            THRESHOLDS
        ),
        Verdict::Contradicts {
            with: id(1),
            why: Contradiction::Negation
        }
    );
}

/// A claim that the cache is thread-safe, and what contradicts it: the question about the two is open.
fn contested() -> [Neighbour; 2] {
    [
        known(1, Table::Observations, "The cache is thread-safe.", 0.97),
        known(
            2,
            Table::Observations,
            "The cache is not thread-safe.",
            0.98,
        ),
    ]
}

#[test]
fn what_is_worded_as_one_side_of_a_contradiction_merges_into_that_side() {
    for (said, into, cosine) in [
        ("The cache isn't thread-safe", 2, 0.98),
        ("the cache is thread-safe", 1, 0.97),
    ] {
        let new = new(Table::Observations, said);
        let merge = Verdict::Merge {
            into: id(into),
            sameness: Sameness::Cosine(cosine),
        };
        assert_eq!(verdict(&new, &contested(), THRESHOLDS), merge, "{said}");
        let other = 3 - into;
        let against: Vec<Neighbour> = contested()
            .into_iter()
            .filter(|known| known.id == id(other))
            .collect();
        let contradicts = Verdict::Contradicts {
            with: id(other),
            why: Contradiction::Negation,
        };
        assert_eq!(verdict(&new, &against, THRESHOLDS), contradicts, "{said}");
    }
}

#[test]
fn what_brings_a_claim_of_its_own_is_held_against_the_others_first() {
    let says = |number, value: &str| Neighbour {
        claim: claim("cache.locks", value),
        ..known(number, Table::Observations, "The cache takes locks", 0.4)
    };
    let same = known(2, Table::Observations, "A cache takes locks.", 0.97);
    let new = NewEntry {
        claim: claim("cache.locks", "one"),
        ..new(Table::Observations, "The cache takes locks")
    };
    let contradicts = Verdict::Contradicts {
        with: id(1),
        why: Contradiction::Claim,
    };
    let beside = [says(1, "two"), same.clone()];
    assert_eq!(verdict(&new, &beside, THRESHOLDS), contradicts);
    let similar = Verdict::Similar {
        to: id(2),
        cosine: 0.97,
    };
    let alone = core::slice::from_ref(&same);
    assert_eq!(verdict(&new, alone, THRESHOLDS), similar);
    let merge = Verdict::Merge {
        into: id(2),
        sameness: Sameness::Cosine(0.97),
    };
    let claims_it_too = Neighbour {
        claim: new.claim.clone(),
        ..same
    };
    let beside = [says(1, "two"), claims_it_too];
    assert_eq!(verdict(&new, &beside, THRESHOLDS), merge);
}

#[test]
fn a_negation_is_found_under_the_similar_threshold_and_what_else_is_there_stays_apart() {
    let ours = new(Table::Observations, "The cache is not warm.");
    let far = |number, content| known(number, Table::Observations, content, 0.5);
    assert_eq!(
        verdict(&ours, &[far(1, "The cache is warm.")], THRESHOLDS),
        Verdict::Contradicts {
            with: id(1),
            why: Contradiction::Negation
        }
    );
    let others = [
        far(1, "The index is not warm."),
        far(2, "The cache is shared."),
    ];
    assert_eq!(verdict(&ours, &others, THRESHOLDS), Verdict::New);
}

#[test]
fn similar_episodes_are_linked_the_closest_first() {
    let neighbours = [
        known(4, Table::Episodes, "a", 0.90),
        known(2, Table::Episodes, "b", 0.99),
        known(3, Table::Episodes, "c", 0.84),
        known(1, Table::Observations, "d", 0.99),
    ];
    let links = causal_links(&new(Table::Episodes, "e"), &neighbours, THRESHOLDS);
    assert_eq!(links, [(id(2), 0.99), (id(4), 0.90)]);
    assert!(causal_links(&new(Table::Observations, "e"), &neighbours, THRESHOLDS).is_empty());
}

#[test]
fn an_episode_follows_those_alone_that_ended_as_it_did() {
    let failed = Neighbour {
        failure: true,
        ..known(2, Table::Episodes, "b", 0.99)
    };
    let neighbours = [known(1, Table::Episodes, "a", 0.90), failed];
    let new = new(Table::Episodes, "e");
    let links = causal_links(&new, &neighbours, THRESHOLDS);
    assert_eq!(links, [(id(1), 0.90)]);
    let failure = NewEntry {
        failure: true,
        ..new
    };
    let links = causal_links(&failure, &neighbours, THRESHOLDS);
    assert_eq!(links, [(id(2), 0.99)]);
}

fn succeeded(task: &str) -> NewEntry {
    let episode = Episode {
        task_id: Scope::parse(task).unwrap(),
        task: String::new(),
        critique: String::new(),
        reward: 1.0,
        success: true,
        input: String::new(),
        output: String::new(),
        key_decisions: Vec::new(),
        causal_edges: Vec::new(),
    };
    NewEntry {
        detail: Detail::Episode(Box::new(episode)),
        ..new(Table::Episodes, "e")
    }
}

proptest! {
    /// Whatever else is near: a success repeats exactly where one that another task had is linked.
    #[test]
    fn a_success_repeats_where_a_linked_one_is_another_tasks(
        near in proptest::collection::vec((proptest::option::of(0u8..3), 0.7f32..=1.0, any::<bool>()), 0..12),
        ours in 0u8..3,
    ) {
        let task = |number: u8| format!("org/a/project/b/worktree/c/task/{number}");
        let neighbour = |(number, (theirs, cosine, failure)): (usize, &(Option<u8>, f32, bool))| Neighbour {
            failure: *failure,
            succeeded: theirs.filter(|_| !failure).map(|theirs| Scope::parse(&task(theirs)).unwrap()),
            ..known(u8::try_from(number).unwrap(), Table::Episodes, "x", *cosine)
        };
        let neighbours: Vec<Neighbour> = near.iter().enumerate().map(neighbour).collect();
        let new = succeeded(&task(ours));
        let links = causal_links(&new, &neighbours, THRESHOLDS);
        let linked = near.iter().filter(|(_, cosine, failure)| !failure && *cosine >= THRESHOLDS.similar);
        let mut others = linked.filter(|(theirs, ..)| theirs.is_some_and(|theirs| theirs != ours));
        // No more are linked than a head holds; fewer neighbours than that are drawn.
        prop_assert!(near.len() <= LINKS_MAX);
        prop_assert_eq!(repeats(&new, &links, &neighbours), others.next().is_some());
    }
}
