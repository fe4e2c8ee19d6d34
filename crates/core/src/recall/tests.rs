//! The rules of recall, one test each.

use proptest::prelude::*;

use super::*;
use crate::entry::{Binding, Kind, Lifecycle, Status};
use crate::fingerprint::ContentHash;
use crate::id::Seq;
use crate::ports::Ranked;
use crate::principal::Actor;
use crate::reuse::Usage;
use crate::time::DAY_MS;
use crate::trust::Trust;

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn scope() -> Scope {
    Scope::parse("org/a/project/b").unwrap()
}

fn ranked(numbers: &[u8]) -> Vec<Ranked> {
    numbers
        .iter()
        .map(|n| Ranked {
            scope: scope(),
            entry: entry(*n),
            score: 1.0 / f32::from(*n + 1),
        })
        .collect()
}

fn head(number: u8, table: Table, status: Status, failure: bool, confidence: f64) -> Head {
    Head {
        id: entry(number),
        scope: scope(),
        table,
        version: 1,
        version_seq: Seq::new(1),
        content_hash: ContentHash::of("x"),
        status,
        failure,
        trust: Trust {
            confidence,
            ..Trust::draft(table.kind(), &RulesConfig::default().trust)
        },
        line: entry(number),
        line_head: entry(number),
        lifecycle: Lifecycle::default(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        links: Vec::new(),
        reuse_count: 0,
        last_used: None,
        promotion: None,
        author: Actor::system(),
        created_at: Timestamp::EPOCH,
        updated_at: Timestamp::EPOCH,
        usage: Usage::default(),
    }
}

fn published(number: u8) -> Head {
    head(number, Table::Observations, Status::Published, false, 0.9)
}

const FAILURES: Asked = Asked {
    failures_only: true,
    at_commit: false,
};

fn numbers() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..30, 0..30)
}

proptest! {
    #[test]
    fn fusion_is_a_share_in_order_and_holds_each_entry_once(vector in numbers(), text in numbers()) {
        let lists = SearchLists { vector: ranked(&vector), text: ranked(&text), ..SearchLists::default() };
        let fused = fuse(&lists, 60.0);
        let mut ids: Vec<EntryId> = fused.iter().map(|one| one.entry).collect();
        prop_assert!(fused.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
        prop_assert!(fused.iter().all(|one| one.similarity > 0.0 && one.similarity <= 1.0));
        ids.sort();
        let mut expected: Vec<EntryId> = vector.iter().chain(&text).map(|n| entry(*n)).collect();
        expected.sort();
        expected.dedup();
        prop_assert_eq!(ids, expected);
        for one in &fused {
            prop_assert_eq!(one.vector_rank.is_some(), one.cosine.is_some());
            prop_assert_eq!(one.text_rank.is_some(), one.bm25.is_some());
            prop_assert_eq!(one.vector_rank.is_some(), vector.iter().any(|n| entry(*n) == one.entry));
        }
    }

    #[test]
    fn a_score_is_the_product_of_its_factors(
        confidence in 0.1f64..=1.0, similarity in 0.0f64..=1.0, age in 0u64..500, table in proptest::sample::select(Table::ALL.to_vec()),
    ) {
        let head = head(1, table, Status::Verified, false, confidence);
        let fused = Fused { similarity, ..fuse(&SearchLists { vector: ranked(&[1]), ..SearchLists::default() }, 60.0).remove(0) };
        let score = score(&fused, &head, Timestamp::from_ms(age * DAY_MS), &RulesConfig::default());
        prop_assert!((score.total - score.similarity * score.confidence * score.relevance * score.recency).abs() < 1e-12);
        prop_assert!(score.total <= similarity);
    }

    #[test]
    fn ranking_is_by_total_then_by_entry_whatever_the_order_of_arrival(mut order in Just((1u8..20).collect::<Vec<_>>()).prop_shuffle()) {
        let heads: Vec<Head> = (1u8..20).map(|n| head(n, Table::Observations, Status::Published, false, if n % 3 == 0 { 0.9 } else { 0.5 })).collect();
        let config = RulesConfig::default();
        let run = |order: &[u8]| {
            let fused = order.iter().map(|n| Fused { similarity: 0.5, ..fuse(&SearchLists { vector: ranked(&[*n]), ..SearchLists::default() }, 60.0).remove(0) }).collect();
            rank(fused, |one| heads.iter().find(|head| head.id == one.entry), Asked::default(), Timestamp::EPOCH, &config)
        };
        let hits = run(&order);
        order.sort_unstable();
        prop_assert_eq!(&hits, &run(&order));
        let ordered = hits.windows(2).all(|pair| {
            let (a, b) = (&pair[0], &pair[1]);
            a.score.total > b.score.total || (a.score.total == b.score.total && a.fused.entry < b.fused.entry)
        });
        prop_assert!(ordered);
    }

    #[test]
    fn marked_text_cannot_close_its_wrapper(text in "(?s).{0,200}", nested in 0u8..3) {
        let mut text = text;
        for _ in 0..nested {
            text = mark_as_data(&text);
        }
        let marked = mark_as_data(&text);
        let close = marked.lines().last().unwrap();
        prop_assert!(close.starts_with("</recalled-data key="));
        prop_assert!(!text.contains(close));
        prop_assert!(marked.contains(&text));
        prop_assert_eq!(&marked, &mark_as_data(&text));
    }
}

#[test]
fn first_in_both_lists_is_one_and_in_one_list_a_half() {
    let fused = fuse(
        &SearchLists {
            vector: ranked(&[1, 2]),
            text: ranked(&[1, 3]),
            ..SearchLists::default()
        },
        60.0,
    );
    assert_eq!(fused[0].entry, entry(1));
    assert!((fused[0].similarity - 1.0).abs() < 1e-12);
    assert!((fused[1].similarity - 61.0 / 124.0).abs() < 1e-12);
    assert_eq!((fused[1].vector_rank, fused[1].text_rank), (Some(2), None));
}

#[test]
fn weak_patterns_and_very_weak_entries_are_left_out() {
    let config = RecallConfig::default();
    let admitted = |table, confidence| {
        admits(
            &head(1, table, Status::Verified, false, confidence),
            Asked::default(),
            &config,
        )
    };
    assert!(!admitted(Table::Patterns, 0.59));
    assert!(admitted(Table::Patterns, 0.6));
    assert!(!admitted(Table::Observations, 0.29));
    assert!(admitted(Table::Observations, 0.3));
}

#[test]
fn failures_come_up_in_failure_searches_only_and_at_any_confidence() {
    let config = RecallConfig::default();
    let failure = head(1, Table::Patterns, Status::Hypothesis, true, 0.1);
    assert!(admits(&failure, FAILURES, &config));
    assert!(!admits(
        &head(1, Table::Patterns, Status::Hypothesis, true, 0.9),
        Asked::default(),
        &config
    ));
    assert!(!admits(&published(1), FAILURES, &config));
}

#[test]
fn only_live_statuses_are_recalled() {
    for status in [Status::Deprecated, Status::Archived] {
        assert!(!admits(
            &head(1, Table::Observations, status, false, 1.0),
            Asked::default(),
            &RecallConfig::default()
        ));
        assert!(!admits(
            &head(1, Table::Observations, status, true, 1.0),
            FAILURES,
            &RecallConfig::default()
        ));
    }
}

#[test]
fn what_was_replaced_at_a_commit_is_recalled_at_commits_alone() {
    let config = RecallConfig::default();
    let at_commit = Asked {
        at_commit: true,
        ..Asked::default()
    };
    let mut replaced = head(1, Table::Gotchas, Status::Deprecated, false, 0.9);
    replaced.lifecycle.deprecated_at = Some(Timestamp::EPOCH);
    assert!(!admits(&replaced, at_commit, &config), "it was resolved");
    replaced.lifecycle.superseded_by = Some(entry(2));
    assert!(
        !admits(&replaced, at_commit, &config),
        "nobody said at which commit"
    );
    replaced.lifecycle.valid_to_commit = Some("abcdef1".into());
    assert!(admits(&replaced, at_commit, &config));
    assert!(!admits(&replaced, Asked::default(), &config));
    let fused = fuse(
        &SearchLists {
            vector: ranked(&[1]),
            text: vec![],
            ..SearchLists::default()
        },
        60.0,
    )
    .remove(0);
    let now = Timestamp::from_ms(DAY_MS);
    let scored = score(&fused, &replaced, now, &RulesConfig::default());
    assert!(scored.relevance > 0.9, "it is not resolved where it holds");
    replaced.status = Status::Archived;
    assert!(!admits(&replaced, at_commit, &config));
}

#[test]
fn what_has_no_head_is_left_out() {
    let head = published(1);
    let fused = fuse(
        &SearchLists {
            vector: ranked(&[2, 1]),
            text: vec![],
            ..SearchLists::default()
        },
        60.0,
    );
    let hits = rank(
        fused,
        |one| (one.entry == head.id).then_some(&head),
        Asked::default(),
        Timestamp::EPOCH,
        &RulesConfig::default(),
    );
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].fused.entry, entry(1));
    assert_eq!(Kind::Episodic, head.table.kind());
}
