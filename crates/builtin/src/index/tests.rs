//! What the port promises, on this engine.

use proptest::prelude::*;
use sillok_core::entry::{Claim, Status, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::ports::Embedder;
use sillok_core::retention::Age;
use sillok_core::time::Timestamp;

use super::*;
use crate::HashEmbedder;

const LIVE: [Status; 3] = [Status::Hypothesis, Status::Verified, Status::Published];

/// The engine never waits, so one poll gives the answer.
fn now<T>(mut future: BoxFuture<'_, Result<T, PortError>>) -> T {
    let mut context = core::task::Context::from_waker(core::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        core::task::Poll::Ready(result) => result.unwrap(),
        core::task::Poll::Pending => panic!("the exact index waits for nothing"),
    }
}

fn embedding(text: &str) -> Embedding {
    now(HashEmbedder.embed(&[text])).remove(0)
}

fn scope(name: &str) -> Scope {
    Scope::parse(&format!("org/a/project/{name}")).unwrap()
}

fn stamp(counter: u64) -> Stamp {
    Stamp {
        generation: 1,
        counter,
        index: 0,
    }
}

fn doc(number: u8, content: &str, counter: u64) -> IndexDoc {
    IndexDoc {
        scope: scope("p"),
        entry: EntryId::from_bytes([number; 16]),
        version: 1,
        table: Table::Observations,
        status: Status::Published,
        failure: false,
        confidence: 0.8,
        content_hash: ContentHash::of(content),
        content: content.to_owned(),
        claim: None,
        embedding: Some(embedding(content)),
        created_at: Timestamp::EPOCH,
        age: Age::default(),
        stamp: stamp(counter),
    }
}

fn request(text: &str) -> SearchRequest {
    SearchRequest {
        scopes: vec![scope("p")],
        tables: vec![],
        statuses: LIVE.to_vec(),
        failures: false,
        confidence_min: 0.0,
        text: text.to_owned(),
        embedding: Some(embedding(text)),
        limit: 10,
    }
}

fn numbers(list: &[Ranked]) -> Vec<u8> {
    list.iter()
        .map(|ranked| ranked.entry.as_bytes()[0])
        .collect()
}

#[test]
fn the_closest_comes_first_in_both_lists() {
    let index = ExactIndex::new();
    index.offer(vec![
        doc(1, "the login page is blank", 1),
        doc(2, "TimeDelta serialization loses precision", 2),
    ]);
    let lists = now(index.search(&request("precision of TimeDelta serialization")));
    assert_eq!(numbers(&lists.vector), [2, 1]);
    assert_eq!(numbers(&lists.text), [2]);
}

/// Five entries that differ from the first in one filter each, and the first.
fn filtered() -> ExactIndex {
    let base = doc(1, "a fact", 1);
    let entry = |number: u8| EntryId::from_bytes([number; 16]);
    let index = ExactIndex::new();
    index.offer(vec![
        base.clone(),
        IndexDoc {
            entry: entry(2),
            scope: scope("other"),
            ..base.clone()
        },
        IndexDoc {
            entry: entry(3),
            table: Table::Skills,
            ..base.clone()
        },
        IndexDoc {
            entry: entry(4),
            status: Status::Deprecated,
            ..base.clone()
        },
        IndexDoc {
            entry: entry(5),
            failure: true,
            ..base.clone()
        },
        IndexDoc {
            entry: entry(6),
            confidence: 0.2,
            ..base
        },
    ]);
    index
}

#[test]
fn every_filter_holds_before_ranking() {
    let index = filtered();
    let found = |request: SearchRequest| {
        let lists = now(index.search(&request));
        assert_eq!(numbers(&lists.vector), numbers(&lists.text));
        numbers(&lists.vector)
    };
    let tables = vec![Table::Observations];
    assert_eq!(
        found(SearchRequest {
            tables,
            confidence_min: 0.3,
            ..request("fact")
        }),
        [1]
    );
    assert_eq!(found(request("fact")), [1, 3, 6]);
    assert_eq!(
        found(SearchRequest {
            failures: true,
            ..request("fact")
        }),
        [5]
    );
    let scopes = vec![scope("other"), scope("other")];
    assert_eq!(
        found(SearchRequest {
            scopes,
            ..request("fact")
        }),
        [2]
    );
    assert_eq!(
        found(SearchRequest {
            statuses: vec![Status::Deprecated],
            ..request("fact")
        }),
        [4]
    );
    assert_eq!(
        found(SearchRequest {
            limit: 2,
            ..request("fact")
        }),
        [1, 3]
    );
    assert!(
        found(SearchRequest {
            limit: 0,
            ..request("fact")
        })
        .is_empty()
    );
}

#[test]
fn vectors_of_other_spaces_are_never_compared() {
    let index = ExactIndex::new();
    let mut other = doc(1, "a fact", 1);
    other.embedding.as_mut().unwrap().space.0 = "another".to_owned();
    index.offer(vec![
        other,
        IndexDoc {
            embedding: None,
            ..doc(2, "a fact", 1)
        },
    ]);
    let lists = now(index.search(&request("fact")));
    assert!(lists.vector.is_empty());
    assert_eq!(numbers(&lists.text), [1, 2]);
}

#[test]
fn neighbours_are_live_of_one_table_and_close_enough() {
    let index = ExactIndex::new();
    let base = doc(1, "the cache key includes the tenant", 1);
    let n = |number: u8| EntryId::from_bytes([number; 16]);
    index.offer(vec![
        base.clone(),
        IndexDoc {
            entry: n(2),
            status: Status::Deprecated,
            ..base.clone()
        },
        IndexDoc {
            entry: n(3),
            table: Table::Skills,
            ..base.clone()
        },
        IndexDoc {
            entry: n(4),
            failure: true,
            ..base.clone()
        },
        IndexDoc {
            entry: n(5),
            status: Status::Hypothesis,
            ..base
        },
        doc(6, "quite another matter", 1),
    ]);
    let request = NeighbourRequest {
        scope: scope("p"),
        table: Table::Observations,
        failure: false,
        embedding: embedding("the cache key includes the tenant"),
        cosine_min: 0.9,
        limit: 10,
    };
    let close = now(index.neighbours(&request));
    assert_eq!(numbers(&close), [1, 5]);
    assert!((close[0].score - 1.0).abs() < 1e-4);
}

fn claim(key: &str, value: &str) -> ClaimHash {
    let claim = Claim {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    ClaimHash::of(&claim, &scope("p"))
}

/// Who declares a key with another value than this, among failures or the rest.
fn claimants(index: &ExactIndex, failure: bool, limit: usize) -> Vec<u8> {
    let request = ClaimRequest {
        scope: scope("p"),
        failure,
        claim: claim("http.timeout", "30s"),
        limit,
    };
    let found = now(index.claimants(&request));
    found.iter().map(|entry| entry.as_bytes()[0]).collect()
}

#[test]
fn claims_are_found_by_their_key_whatever_the_table_and_the_vector() {
    let index = ExactIndex::new();
    let other = doc(1, "requests are aborted early", 1);
    let other = IndexDoc {
        claim: Some(claim("http.timeout", "10s")),
        ..other
    };
    let n = |number: u8| EntryId::from_bytes([number; 16]);
    let of = |number, claim| IndexDoc {
        entry: n(number),
        claim: Some(claim),
        ..other.clone()
    };
    let gotcha = IndexDoc {
        entry: n(2),
        table: Table::Gotchas,
        embedding: None,
        ..other.clone()
    };
    let deprecated = IndexDoc {
        entry: n(5),
        status: Status::Deprecated,
        ..other.clone()
    };
    let failure = IndexDoc {
        entry: n(6),
        failure: true,
        ..other.clone()
    };
    let elsewhere = IndexDoc {
        entry: n(7),
        scope: scope("q"),
        ..other.clone()
    };
    let (agrees, another) = (claim("http.timeout", "30s"), claim("http.retries", "10s"));
    index.offer(vec![of(3, agrees), of(4, another), deprecated, failure]);
    index.offer(vec![elsewhere, gotcha, other.clone()]);
    assert_eq!(claimants(&index, false, 10), [1, 2]);
    assert_eq!(claimants(&index, true, 10), [6]);
    assert_eq!(claimants(&index, false, 1), [1]);
    // A newer state claims something else, or nothing, or is gone.
    let newer = IndexDoc {
        claim: Some(agrees),
        stamp: stamp(2),
        ..other
    };
    index.offer(vec![newer, gone(2, 2)]);
    assert!(claimants(&index, false, 10).is_empty());
}

#[test]
fn what_is_offered_is_pending_until_it_is_applied() {
    let index = ExactIndex::new();
    index.offer(vec![doc(1, "a fact", 5)]);
    assert_eq!(
        now(index.stats()),
        IndexStats {
            stored: 0,
            pending: 1
        }
    );
    assert_eq!(now(index.watermark()), None);
    for _ in 0..2 {
        now(index.apply(vec![doc(1, "a fact", 5)], stamp(6)));
        assert_eq!(
            now(index.stats()),
            IndexStats {
                stored: 1,
                pending: 0
            }
        );
        assert_eq!(now(index.watermark()), Some(stamp(6)));
    }
    now(index.apply(vec![], stamp(3)));
    assert_eq!(
        now(index.watermark()),
        Some(stamp(6)),
        "the cursor never goes back"
    );
    now(index.clear());
    assert_eq!(
        (now(index.stats()), now(index.watermark())),
        (IndexStats::default(), None)
    );
}

proptest! {
    #[test]
    fn the_newest_state_wins_in_any_order(mut order in Just((1u64..12).collect::<Vec<_>>()).prop_shuffle(), apply: [bool; 11]) {
        let index = ExactIndex::new();
        for (counter, apply) in order.drain(..).zip(apply) {
            let doc = doc(1, &format!("state {counter}"), counter);
            if apply { now(index.apply(vec![doc], stamp(counter))) } else { index.offer(vec![doc]) }
        }
        let lists = now(index.search(&request("state 11")));
        prop_assert_eq!(lists.vector.len(), 1);
        prop_assert!((lists.vector[0].score - 1.0).abs() < 1e-4);
    }

    #[test]
    fn the_order_of_arrival_does_not_change_an_answer(order in Just((0u8..20).collect::<Vec<_>>()).prop_shuffle(), limit in 0usize..25) {
        let texts = ["a login page", "a blank page", "the login fails", "precision is lost"];
        let build = |order: &[u8]| {
            let index = ExactIndex::new();
            index.offer(order.iter().map(|n| doc(*n, texts[usize::from(*n % 4)], u64::from(*n))).collect());
            now(index.search(&SearchRequest { limit, ..request("login page") }))
        };
        let sorted: Vec<u8> = (0..20).collect();
        let lists = build(&order);
        prop_assert_eq!(&lists, &build(&sorted));
        prop_assert!(lists.vector.len() <= limit && lists.text.len() <= limit);
    }
}

#[test]
fn ages_are_those_of_the_newest_states_by_scope() {
    let index = ExactIndex::new();
    let elsewhere = IndexDoc {
        scope: scope("q"),
        ..doc(2, "two", 2)
    };
    let resolved_at = Some(Timestamp::from_ms(7));
    let newer = IndexDoc {
        version: 2,
        status: Status::Deprecated,
        age: Age {
            from: Timestamp::from_ms(5),
            resolved_at,
            value: 0.25,
            origin: 9,
        },
        ..doc(1, "one", 3)
    };
    now(index.apply(vec![doc(1, "one", 1), elsewhere], stamp(2)));
    index.offer(vec![newer]);
    let mut seen = Vec::new();
    now(index.ages(&mut |columns| {
        for (row, scope) in columns.scope.iter().enumerate() {
            let scope = columns.scopes[*scope as usize].as_str().to_owned();
            let age = (columns.worth.age_from[row].ms(), columns.worth.value[row]);
            seen.push((scope, columns.version[row], age, columns.resolved_at[row]));
        }
    }));
    assert_eq!(
        seen,
        [
            ("org/a/project/p".to_owned(), 2, (5, 0.25), resolved_at),
            ("org/a/project/q".to_owned(), 1, (0, 0.0), None),
        ]
    );
    let mut origins = Vec::new();
    now(index.worths(&mut |columns| {
        let rows = columns.origin.iter().zip(columns.status);
        origins.extend(rows.map(|(origin, status)| (*origin, *status)));
    }));
    assert_eq!(origins, [(9, Status::Deprecated), (0, Status::Published)]);
}

/// The state of an entry that has left.
fn gone(number: u8, counter: u64) -> IndexDoc {
    IndexDoc {
        status: Status::Archived,
        content: String::new(),
        embedding: None,
        ..doc(number, "a fact", counter)
    }
}

#[test]
fn what_is_gone_is_forgotten_and_comes_back_by_a_newer_state_alone() {
    let index = ExactIndex::new();
    let of = |index: &ExactIndex| {
        let IndexStats { stored, pending } = now(index.stats());
        let mut ages = 0;
        now(index.ages(&mut |columns| ages += columns.scope.len()));
        let found = now(index.search(&request("a fact"))).text.len();
        (stored, pending, ages, found)
    };
    now(index.apply(vec![doc(1, "a fact", 1), doc(2, "a fact", 2)], stamp(2)));
    index.offer(vec![gone(1, 5)]);
    assert_eq!(of(&index), (1, 1, 1, 1), "hidden, and not stored yet");
    for _ in 0..2 {
        now(index.apply(vec![gone(1, 5)], stamp(5)));
        assert_eq!(of(&index), (1, 0, 1, 1));
        assert!(
            index
                .get(&scope("p"), EntryId::from_bytes([1; 16]))
                .is_none()
        );
    }
    index.offer(vec![doc(1, "a fact", 4)]);
    now(index.apply(vec![doc(1, "a fact", 5)], stamp(5)));
    assert_eq!(of(&index), (1, 0, 1, 1), "no older state brings it back");
    now(index.apply(vec![doc(1, "a fact", 6)], stamp(6)));
    assert_eq!(of(&index), (2, 0, 2, 2));
}

#[test]
fn what_left_a_table_is_forgotten_with_that_table_alone() {
    let index = ExactIndex::new();
    let gone = IndexDoc {
        status: Status::Archived,
        ..doc(1, "an old state", 2)
    };
    now(index.apply(vec![gone], stamp(2)));
    let here = Table::Observations;
    let other = Table::ALL.iter().find(|table| table.kind() != here.kind());
    for (table, is_forgotten) in [(*other.unwrap(), false), (here, true)] {
        now(index.forget(&Lost::table(vector_table(&scope("p"), table))));
        index.offer(vec![doc(1, "an old state", 1)]);
        let found = index.get(&scope("p"), EntryId::from_bytes([1; 16]));
        assert_eq!(found.is_some(), is_forgotten, "{table:?}");
    }
}
