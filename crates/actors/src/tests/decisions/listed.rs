//! Listings of decisions: pages, filters, histories, and what contradicts a claim.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::decision::Rank;
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::limits::PAGE_ROWS_MAX;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::stage::{Stage, claims, of_domain, says, withdraw};
use crate::reads::{DecisionAt, DecisionFilter, DecisionPlace, Reader};
use crate::tests::harness::{PROJECT, TASK, TestStore, scope, store};
use crate::tests::world::{ORG, OTHER_PROJECT};

async fn listed(reader: &Reader<TestStore>, filter: &DecisionFilter, limit: usize) -> Vec<String> {
    let (mut titles, mut roots, mut after) = (Vec::new(), BTreeSet::new(), None);
    loop {
        let here = scope(PROJECT);
        let page = reader.decisions(&here, filter, after, limit).await;
        let page = page.unwrap();
        assert!(page.items.len() <= limit);
        for head in page.items {
            assert!(roots.insert(head.root), "nothing is listed twice");
            titles.push(head.title);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    titles.sort_unstable();
    titles
}

#[tokio::test]
async fn decisions_of_a_scope_are_listed_in_pages_and_by_what_they_are() {
    let mut stage = Stage::set().await;
    for number in 0..4 {
        let title = format!("normal {number}");
        stage.begin(PROJECT, says(Rank::Normal, &title)).await;
    }
    let lock = of_domain("ui", says(Rank::Lock, "lock of ui"));
    stage.begin(PROJECT, lock).await;
    let normal = of_domain("ui", says(Rank::Normal, "normal of ui"));
    stage.begin(PROJECT, normal).await;
    let gone = stage.begin(PROJECT, says(Rank::Lock, "gone")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    stage.begin(ORG, says(Rank::Normal, "above")).await;
    stage.begin(TASK, says(Rank::Normal, "below")).await;
    let reader = stage.node.reader();
    let every = DecisionFilter::default();
    let ui = Some("ui".parse().unwrap());
    let normals = ["normal 0", "normal 1", "normal 2", "normal 3"];
    for limit in [1, 2, 3, 100] {
        let all = [&["lock of ui"][..], &normals, &["normal of ui"]].concat();
        assert_eq!(listed(reader, &every, limit).await, all);
        let locks = DecisionFilter {
            rank: Some(Rank::Lock),
            ..every.clone()
        };
        assert_eq!(listed(reader, &locks, limit).await, ["lock of ui"]);
        let with_withdrawn = DecisionFilter {
            withdrawn: true,
            ..locks.clone()
        };
        let found = listed(reader, &with_withdrawn, limit).await;
        assert_eq!(found, ["gone", "lock of ui"]);
        let of_ui = DecisionFilter {
            domain: ui.clone(),
            ..every.clone()
        };
        let found = listed(reader, &of_ui, limit).await;
        assert_eq!(found, ["lock of ui", "normal of ui"]);
    }
    for (limit, code) in [
        (0, ErrorCode::InvalidArgument),
        (PAGE_ROWS_MAX + 1, ErrorCode::TooLarge),
    ] {
        let here = scope(PROJECT);
        let refused = reader.decisions(&here, &every, None, limit).await;
        assert_eq!(refused.unwrap_err().code, code);
    }
}

#[tokio::test]
async fn a_list_of_one_rank_reads_no_decision_of_another_and_none_that_was_withdrawn() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let mut others = Vec::new();
    for number in 0..3 {
        let title = format!("normal {number}");
        others.push(stage.begin(PROJECT, says(Rank::Normal, &title)).await);
    }
    let gone = stage.begin(PROJECT, says(Rank::Lock, "gone")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    others.push(gone);
    for (number, domain) in ["global", "ui", "shop", "global"].into_iter().enumerate() {
        let text = says(Rank::Lock, &format!("lock {number}"));
        stage.begin(PROJECT, of_domain(domain, text)).await;
    }
    let here = scope(PROJECT);
    let mut txn = store.begin().await.unwrap();
    for root in others {
        // Whoever reads it is refused.
        txn.set(keys::decision::key(&ScopeKey::of(&here), root), vec![255]);
    }
    txn.commit().await.unwrap();
    let reader = stage.node.reader();
    let locks = DecisionFilter {
        rank: Some(Rank::Lock),
        ..DecisionFilter::default()
    };
    let of_global = DecisionFilter {
        domain: Some("global".parse().unwrap()),
        ..locks.clone()
    };
    for limit in [1, 2, 3, 4, 100] {
        let all = ["lock 0", "lock 1", "lock 2", "lock 3"];
        assert_eq!(listed(reader, &locks, limit).await, all);
        let found = listed(reader, &of_global, limit).await;
        assert_eq!(found, ["lock 0", "lock 3"]);
    }
    // A place in one listing is none in the other.
    let every = DecisionFilter::default();
    let place = reader.decisions(&here, &locks, None, 1).await.unwrap();
    let place = place.next.unwrap();
    assert!(matches!(place.at, DecisionAt::Listed { .. }));
    // Nor is one of another form, or of a domain that is not listed, whoever made it up.
    let of_another_form = DecisionPlace {
        at: DecisionAt::Root(gone),
        ..place
    };
    let of_ui = DecisionFilter {
        domain: Some("ui".parse().unwrap()),
        ..locks.clone()
    };
    let of_another_domain = reader.decisions(&here, &of_ui, None, 1).await;
    let of_another_domain = DecisionPlace {
        at: place.at,
        ..of_another_domain.unwrap().next.unwrap()
    };
    for (filter, after) in [
        (&every, place),
        (&locks, of_another_form),
        (&of_ui, of_another_domain),
    ] {
        let refused = reader.decisions(&here, filter, Some(after), 1).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_place_is_one_of_its_own_listing_and_in_each_other_it_is_refused() {
    let mut stage = Stage::set().await;
    for rank in [Rank::Axis, Rank::Lock] {
        for domain in ["global", "ui"] {
            let text = says(rank, &format!("{rank} of {domain}"));
            stage.begin(PROJECT, of_domain(domain, text)).await;
        }
    }
    let mut filters = Vec::new();
    for rank in [None, Some(Rank::Axis), Some(Rank::Lock)] {
        for domain in [None, Some("global"), Some("ui")] {
            for withdrawn in [false, true] {
                filters.push(DecisionFilter {
                    rank,
                    domain: domain.map(|domain| domain.parse().unwrap()),
                    withdrawn,
                });
            }
        }
    }
    let (reader, here) = (stage.node.reader(), scope(PROJECT));
    for filter in &filters {
        let place = reader.decisions(&here, filter, None, 1).await;
        let place = place.unwrap().next.expect("a full page may have more");
        for other in &filters {
            let page = reader.decisions(&here, other, Some(place), 1).await;
            let code = page.map(drop).map_err(|error| error.code);
            let expected = if other == filter {
                Ok(())
            } else {
                Err(ErrorCode::InvalidArgument)
            };
            assert_eq!(code, expected, "{filter:?} in {other:?}");
        }
    }
}

#[tokio::test]
async fn the_history_of_a_decision_comes_in_pages_from_its_beginning() {
    let mut stage = Stage::set().await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "version 1")).await;
    for number in 1..7 {
        let title = format!("version {}", number + 1);
        let text = says(Rank::Normal, &title);
        stage.change(PROJECT, (root, number), text).await;
    }
    let reader = stage.node.reader();
    for limit in [1, 2, 3, 7, 50] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let here = scope(PROJECT);
            let page = reader.decision_history(&here, root, after, limit).await;
            let page = page.unwrap().expect("it was saved");
            assert!(page.items.len() <= limit);
            found.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let numbers: Vec<u64> = found.iter().map(|version| version.number).collect();
        assert_eq!(numbers, (1..=7).collect::<Vec<u64>>());
        let texts = found.into_iter().filter_map(|version| version.text);
        let titles: Vec<String> = texts.map(|text| text.title).collect();
        assert_eq!(titles[6], "version 7");
    }
}

#[tokio::test]
async fn what_declares_the_same_key_with_another_value_in_sight_contradicts_a_claim() {
    let mut stage = Stage::set().await;
    let declares = |rank, title: &str, value: &str| claims("http.api", value, says(rank, title));
    let axis = declares(Rank::Axis, "axis above", "rest");
    let axis = stage.begin(ORG, axis).await;
    let lock = declares(Rank::Lock, "lock here", "grpc");
    let lock = stage.begin(PROJECT, lock).await;
    let same = declares(Rank::Normal, "the same", "soap");
    stage.begin(PROJECT, same).await;
    let other = claims("http.port", "80", says(Rank::Normal, "another key"));
    stage.begin(PROJECT, other).await;
    for hidden in [TASK, OTHER_PROJECT] {
        let text = declares(Rank::Normal, "not in sight", "rest");
        stage.begin(hidden, text).await;
    }
    let former = declares(Rank::Normal, "withdrawn", "rest");
    let former = stage.begin(PROJECT, former).await;
    stage.person(PROJECT, withdraw(former, 1)).await.unwrap();
    let moved = declares(Rank::Normal, "moved", "rest");
    let moved = stage.begin(PROJECT, moved).await;
    let text = claims("http.host", "one", says(Rank::Normal, "moved"));
    stage.change(PROJECT, (moved, 1), text).await;
    let claim = Claim {
        key: "http.api".to_owned(),
        value: "soap".to_owned(),
    };
    let reader = stage.node.reader();
    let against = async |besides: Option<DecisionId>| {
        let here = scope(PROJECT);
        let found = reader.contradictions(&here, &claim, besides).await;
        let found = found.unwrap();
        assert!(!found.cut);
        let told = found.told.into_iter();
        let told = told.map(|one| (one.scope, one.root, one.rank));
        told.collect::<Vec<_>>()
    };
    let (above, here) = (
        (scope(ORG), axis, Rank::Axis),
        (scope(PROJECT), lock, Rank::Lock),
    );
    assert_eq!(against(None).await, [above.clone(), here.clone()]);
    assert_eq!(against(Some(lock)).await, std::slice::from_ref(&above));
    // A root names a decision of the scope that is asked about.
    assert_eq!(against(Some(axis)).await, [above, here]);
}
