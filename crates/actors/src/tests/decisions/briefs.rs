//! Briefs: what is loaded, where a budget cuts, and that the same state gives the same bytes.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::brief::{Brief, BriefBudget, BriefItem, Layer};
use sillok_core::decision::{DecisionHead, NewDecision, Phase, Proposal, Rank, RelationKind};
use sillok_core::id::{DecisionId, Seq};
use sillok_core::limits::BRIEF_COUNTED_MAX;
use sillok_core::ports::Lost;
use sillok_core::principal::PrincipalKind;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey, decision_listed};
use sillok_store::{Store, Txn};

use super::kept::kept;
use super::stage::{
    Stage, affected, at, claims, file, of_domain, relates, restore, says, sound, titles, viewer,
    withdraw,
};
use crate::audit;
use crate::reads::{BriefQuery, DecisionFilter, RecallQuery};
use crate::rebuild::rebuild;
use crate::tests::harness::{PROJECT, TASK, TestStore, later_node, principal, scope, store};
use crate::tests::world::{ORG, OTHER_PROJECT, Pairs, WORKTREE, pairs_of};

fn about(domain: &str) -> BriefQuery {
    BriefQuery {
        domain: domain.parse().unwrap(),
        ..BriefQuery::default()
    }
}

fn room(items_max: usize, bytes_max: usize) -> BriefQuery {
    BriefQuery {
        budget: BriefBudget {
            items_max,
            bytes_max,
        },
        ..BriefQuery::default()
    }
}

fn bytes(brief: &Brief) -> Vec<u8> {
    postcard::to_allocvec(brief).unwrap()
}

/// How many items of a layer are left out, and whether there are more.
fn cut(brief: &Brief, layer: Layer) -> Option<(u64, bool)> {
    let found = brief.cut.iter().find(|cut| cut.layer == layer);
    found.map(|cut| (cut.items, cut.more))
}

#[tokio::test]
async fn what_holds_is_loaded_by_rank_domain_and_scope_whenever_it_was_said() {
    let mut stage = Stage::set().await;
    // Said in an order that is none of these.
    for (path, domain, rank, title) in [
        (TASK, "global", Rank::Normal, "normal task"),
        (TASK, "ui", Rank::Lock, "lock ui task"),
        (PROJECT, "ui", Rank::Normal, "normal ui project"),
        (WORKTREE, "ui", Rank::Axis, "axis ui worktree"),
        (OTHER_PROJECT, "global", Rank::Axis, "axis elsewhere"),
        (ORG, "ui", Rank::Lock, "lock ui org"),
        (PROJECT, "wms", Rank::Axis, "axis wms project"),
        (WORKTREE, "global", Rank::Lock, "lock worktree"),
        (PROJECT, "global", Rank::Policy, "policy project"),
        (PROJECT, "global", Rank::Axis, "axis project, first"),
        (PROJECT, "global", Rank::Axis, "axis project, second"),
        (ORG, "global", Rank::Normal, "normal org"),
        (ORG, "global", Rank::Axis, "axis org"),
        (ORG, "global", Rank::Policy, "policy org"),
        (ORG, "global", Rank::Lock, "lock org"),
    ] {
        stage
            .begin(path, of_domain(domain, says(rank, title)))
            .await;
    }
    let ui = stage.brief(TASK, about("ui")).await;
    let global = [
        "policy org",
        "policy project",
        "axis org",
        "axis project, first",
    ];
    let expected = [
        &global[..],
        &[
            "axis project, second",
            "axis ui worktree",
            "lock org",
            "lock worktree",
            "lock ui org",
            "lock ui task",
            "normal org",
            "normal task",
            "normal ui project",
        ],
    ]
    .concat();
    assert_eq!(titles(&ui), expected);
    let layers: Vec<u8> = ui.items.iter().map(|one| one.layer() as u8).collect();
    assert_eq!(layers, [1, 1, 3, 3, 3, 4, 5, 5, 5, 5, 6, 6, 6]);
    assert!(ui.cut.is_empty() && ui.impact_cut.is_none());
    let everything = stage.titles(TASK).await;
    let is_global = |title: &&str| !title.contains(" ui ");
    let expected: Vec<&str> = expected.into_iter().filter(is_global).collect();
    assert_eq!(everything, expected);
    assert_eq!(stage.titles(ORG).await[..2], ["policy org", "axis org"]);
}

/// Whether a brief has a decision that names a phase.
fn names_a_phase(brief: &Brief) -> bool {
    brief.items.iter().any(|item| match item {
        BriefItem::Decision { version, .. } => {
            let text = version.text.as_ref();
            text.is_some_and(|text| text.phase.is_some())
        }
        BriefItem::Structural { .. } | BriefItem::Anchor { .. } => false,
    })
}

/// A brief without the phases in it, which count as bytes, and without times.
fn without_phases(mut brief: Brief) -> Brief {
    brief.bytes = 0;
    for item in &mut brief.items {
        if let BriefItem::Decision { version, .. } = item {
            version.at = Timestamp::EPOCH;
            version.text.as_mut().unwrap().phase = None;
        }
        brief.bytes += item.bytes() as u64;
    }
    brief
}

#[tokio::test]
async fn a_phase_neither_filters_a_decision_nor_moves_it() {
    let mut told: Vec<Vec<Brief>> = Vec::new();
    // Two phases are called as domains are.
    let named = [Some("design"), Some("ui"), Some("global"), None];
    for phases in [[None; 4], named] {
        let mut stage = Stage::set().await;
        for number in 0..48 {
            let rank = Rank::ALL[number % 4];
            let domain = match rank {
                Rank::Policy => "global",
                Rank::Axis | Rank::Lock | Rank::Normal => {
                    ["global", "ui", "runtime"][number / 4 % 3]
                }
            };
            let text = of_domain(domain, says(rank, &format!("number {number}")));
            let text = relates(RelationKind::AppliesTo, file("src/api.rs"), text);
            let phase: Option<Phase> = phases[number / 12].map(|name| name.parse().unwrap());
            stage.begin(PROJECT, NewDecision { phase, ..text }).await;
        }
        let mut briefs = Vec::new();
        for (domain, items_max) in [("global", 100), ("ui", 100), ("ui", 30), ("design", 100)] {
            let query = BriefQuery {
                at: vec![file("src/api.rs")],
                budget: BriefBudget {
                    items_max,
                    ..BriefBudget::default()
                },
                ..about(domain)
            };
            briefs.push(stage.brief(TASK, query).await);
        }
        told.push(briefs);
    }
    let with = told.pop().unwrap();
    let without = told.pop().unwrap();
    assert!(with.iter().all(names_a_phase));
    assert!(!without.iter().any(names_a_phase));
    let bare = |briefs: Vec<Brief>| briefs.into_iter().map(without_phases).collect::<Vec<_>>();
    assert_eq!(bare(with), bare(without));
}

#[tokio::test]
async fn a_chain_keeps_its_place_when_it_is_changed_and_is_left_out_while_it_is_withdrawn() {
    let mut stage = Stage::set().await;
    let first = stage.begin(PROJECT, says(Rank::Lock, "first")).await;
    stage.begin(PROJECT, says(Rank::Lock, "second")).await;
    let changed = says(Rank::Lock, "first, changed");
    stage.change(PROJECT, (first, 1), changed).await;
    assert_eq!(stage.titles(PROJECT).await, ["first, changed", "second"]);
    stage.person(PROJECT, withdraw(first, 2)).await.unwrap();
    assert_eq!(stage.titles(PROJECT).await, ["second"]);
    stage.person(PROJECT, restore(first, 3, 1)).await.unwrap();
    assert_eq!(stage.titles(PROJECT).await, ["first", "second"]);
    let stronger = says(Rank::Axis, "first, as an axis");
    stage.change(PROJECT, (first, 4), stronger).await;
    let loaded = stage.titles(PROJECT).await;
    assert_eq!(loaded, ["first, as an axis", "second"]);
    let moved = of_domain("ui", says(Rank::Normal, "first, of ui"));
    stage.change(PROJECT, (first, 5), moved).await;
    assert_eq!(stage.titles(PROJECT).await, ["second"]);
    let ui = stage.brief(PROJECT, about("ui")).await;
    assert_eq!(titles(&ui), ["second", "first, of ui"]);
}

#[tokio::test]
async fn the_structural_layer_points_to_what_is_affected_and_its_texts_stay_in_their_layers() {
    let mut stage = Stage::set().await;
    stage.begin(ORG, says(Rank::Policy, "policy")).await;
    let touched = says(Rank::Lock, "about the file");
    let touched = relates(RelationKind::AppliesTo, file("src/api.rs"), touched);
    let touched = stage.begin(PROJECT, touched).await;
    let rests = says(Rank::Normal, "rests on it");
    let rests = relates(RelationKind::DependsOn, at(PROJECT, touched), rests);
    stage.begin(TASK, rests).await;
    stage.begin(PROJECT, says(Rank::Axis, "axis")).await;
    let query = BriefQuery {
        at: vec![file("src/api.rs")],
        ..BriefQuery::default()
    };
    let brief = stage.brief(TASK, query).await;
    let layers: Vec<Layer> = brief.items.iter().map(BriefItem::layer).collect();
    let expected = [
        Layer::Policy,
        Layer::Structural,
        Layer::Structural,
        Layer::GlobalAxis,
        Layer::Lock,
        Layer::Normal,
    ];
    assert_eq!(layers, expected);
    let impact = stage.impact(TASK, file("src/api.rs")).await;
    assert_eq!(affected(&impact), ["about the file", "rests on it"]);
    for index in 0..2 {
        let of_impact = BriefItem::of_impact(&impact, index).unwrap();
        assert_eq!(brief.items[1 + index], of_impact);
    }
    assert_eq!(
        titles(&brief),
        ["policy", "axis", "about the file", "rests on it"]
    );
    assert_eq!(titles(&brief), stage.titles(TASK).await, "it moves nothing");
}

#[tokio::test]
async fn a_reference_to_what_no_layer_loads_is_told_apart_from_one_whose_text_is_there() {
    let mut stage = Stage::set().await;
    let applies = |text| relates(RelationKind::AppliesTo, file("src/api.rs"), text);
    for number in 0..7 {
        let title = format!("axis {number}");
        stage.begin(ORG, says(Rank::Axis, &title)).await;
    }
    let here = applies(says(Rank::Lock, "here"));
    let here = stage.begin(PROJECT, here).await;
    let elsewhere = applies(of_domain("ui", says(Rank::Lock, "of another domain")));
    let elsewhere = stage.begin(PROJECT, elsewhere).await;
    let inside = applies(says(Rank::Lock, "inside"));
    let inside = stage.begin(TASK, inside).await;
    let query = |domain: &str, items_max| BriefQuery {
        at: vec![file("src/api.rs")],
        budget: BriefBudget {
            items_max,
            ..BriefBudget::default()
        },
        ..about(domain)
    };
    let names = [
        at(PROJECT, here),
        at(PROJECT, elsewhere),
        at(TASK, inside),
        file("src/other.rs"),
    ];
    let loaded = |brief: &Brief| {
        let loaded = brief.loaded();
        names.each_ref().map(|node| loaded.contains(node))
    };
    for (path, domain, items_max, expected) in [
        (PROJECT, "global", 100, [true, false, false, false]),
        (PROJECT, "ui", 100, [true, true, false, false]),
        (TASK, "ui", 100, [true, true, true, false]),
        // There is no room for the last text.
        (TASK, "ui", 12, [true, false, true, false]),
    ] {
        let brief = stage.brief(path, query(domain, items_max)).await;
        let is_structural = |item: &&BriefItem| item.layer() == Layer::Structural;
        let references = brief.items.iter().filter(is_structural).count();
        assert_eq!(references, 3, "{path} {domain} {items_max}");
        assert_eq!(loaded(&brief), expected, "{path} {domain} {items_max}");
    }
}

#[tokio::test]
async fn a_budget_cuts_whole_items_from_the_end_and_says_what_it_cut() {
    let mut stage = Stage::set().await;
    let ranks = [Rank::Axis, Rank::Lock, Rank::Normal];
    for rank in ranks {
        for number in 0..4 {
            let mut text = says(rank, &format!("{rank} {number}"));
            // One that is small stands behind one that is large.
            text.content = "so it is. ".repeat(1 + 100 * (number % 2));
            stage.begin(PROJECT, text).await;
        }
    }
    let whole = stage.brief(PROJECT, BriefQuery::default()).await;
    assert_eq!((whole.items.len(), whole.cut.len()), (12, 0));
    for items_max in 1..=12 {
        let brief = stage.brief(PROJECT, room(items_max, 1 << 20)).await;
        assert_eq!(brief.items[..], whole.items[..items_max]);
        let left_out: u64 = brief.cut.iter().map(|cut| cut.items).sum();
        assert_eq!(left_out, 12 - items_max as u64);
        assert!(brief.cut.iter().all(|cut| !cut.more));
    }
    let brief = stage.brief(PROJECT, room(6, 1 << 20)).await;
    assert_eq!(cut(&brief, Layer::GlobalAxis), None);
    assert_eq!(cut(&brief, Layer::Lock), Some((2, false)));
    assert_eq!(cut(&brief, Layer::Normal), Some((4, false)));
    let mut taken = 0;
    for number in 0..12 {
        let of_item = whole.items[number].bytes();
        taken += of_item;
        let exact = stage.brief(PROJECT, room(1_000, taken)).await;
        assert_eq!(exact.items[..], whole.items[..=number]);
        assert_eq!(exact.bytes, taken as u64);
        if number > 0 {
            let short = stage.brief(PROJECT, room(1_000, taken - 1)).await;
            assert_eq!(short.items[..], whole.items[..number], "none is skipped");
        }
    }
    let first = whole.items[0].bytes();
    let query = room(1_000, first - 1);
    let refused = stage.node.brief_of_standing(&viewer(PROJECT), query).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    for number in [first, first - 1] {
        assert!(refused.message.contains(&number.to_string()), "{refused}");
    }
}

#[tokio::test]
async fn what_is_left_out_is_counted_as_far_as_counting_goes() {
    let mut stage = Stage::set().await;
    let more = 7;
    for number in 0..BRIEF_COUNTED_MAX + 1 + more {
        let title = format!("number {number}");
        stage.begin(PROJECT, says(Rank::Lock, &title)).await;
    }
    let brief = stage.brief(PROJECT, room(1, 1 << 20)).await;
    let counted = BRIEF_COUNTED_MAX as u64;
    assert_eq!(cut(&brief, Layer::Lock), Some((counted, true)));
    let brief = stage.brief(PROJECT, room(1 + more, 1 << 20)).await;
    assert_eq!(cut(&brief, Layer::Lock), Some((counted, false)));
}

/// Writes the rows of a family anew.
async fn rewrite(store: &TestStore, family: Family, value: impl Fn(&[u8], &[u8]) -> Vec<u8>) {
    let pairs = pairs_of(store).await;
    let of_family = |(key, _): &(Vec<u8>, Vec<u8>)| Family::of(key) == Some(family);
    let rows: Vec<_> = pairs.into_iter().filter(of_family).collect();
    assert!(!rows.is_empty());
    let mut txn = store.begin().await.unwrap();
    for (key, was) in rows {
        let value = value(&key, &was);
        txn.set(key, value);
    }
    txn.commit().await.unwrap();
}

#[tokio::test]
async fn the_version_that_holds_is_loaded_whichever_one_a_list_in_the_former_format_says() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let root = stage.begin(PROJECT, says(Rank::Lock, "said first")).await;
    rewrite(&store, Family::DecisionListed, |_, _| {
        decision_listed::encode(&Some(1))
    })
    .await;
    assert_eq!(stage.titles(TASK).await, ["said first"]);
    let again = says(Rank::Lock, "said again");
    stage.change(PROJECT, (root, 1), again).await;
    let listed = rows_of_decisions(&store).await;
    let listed = listed
        .iter()
        .find(|(key, _)| Family::of(key) == Some(Family::DecisionListed));
    let (key, value) = listed.unwrap();
    let said = decision_listed::decode(key, value).unwrap();
    assert_eq!(said, Some(1), "a change leaves the place as it was");
    assert_eq!(stage.titles(TASK).await, ["said again"]);
    assert_eq!(sound(&store).await, None);
    stage.person(PROJECT, withdraw(root, 2)).await.unwrap();
    assert!(stage.titles(TASK).await.is_empty());
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn a_brief_is_refused_where_a_list_says_otherwise_than_a_head() {
    let spoils: [fn(&mut DecisionHead); 4] = [
        |head| head.active = false,
        |head| head.rank = Rank::Axis,
        |head| head.domain = "ui".parse().unwrap(),
        |head| head.begun_seq = Seq::new(head.begun_seq.get() + 1),
    ];
    for spoil in spoils {
        let (store, stage, root) = with_a_lock().await;
        rewrite(&store, Family::Decision, |key, value| {
            let mut head = keys::decision::decode(key, value).unwrap();
            spoil(&mut head);
            keys::decision::encode(&head)
        })
        .await;
        refuses_a_brief(&stage, root).await;
        assert!(locks(&stage).await.is_empty(), "nor is it listed");
        assert!(sound(&store).await.is_some(), "an audit tells of it");
    }
}

#[tokio::test]
async fn a_brief_is_refused_where_what_is_listed_has_no_head() {
    let (store, stage, root) = with_a_lock().await;
    let mut txn = store.begin().await.unwrap();
    txn.clear(keys::decision::key(&ScopeKey::of(&scope(PROJECT)), root));
    txn.commit().await.unwrap();
    refuses_a_brief(&stage, root).await;
    assert!(locks(&stage).await.is_empty(), "nor is it listed");
    assert!(sound(&store).await.is_some(), "an audit tells of it");
}

#[tokio::test]
async fn a_brief_is_refused_and_a_list_says_it_once_where_a_decision_is_listed_twice() {
    let (store, stage, root) = with_a_lock().await;
    let is_listed = |(key, _): &(Vec<u8>, Vec<u8>)| Family::of(key) == Some(Family::DecisionListed);
    let (key, value) = pairs_of(&store).await.into_iter().find(is_listed).unwrap();
    let place = decision_listed::parse(&key).unwrap();
    let later = decision_listed::Key {
        begun: Seq::new(place.begun.get() + 1),
        ..place
    };
    let mut txn = store.begin().await.unwrap();
    txn.set(decision_listed::key(&later), value);
    txn.commit().await.unwrap();
    refuses_a_brief(&stage, root).await;
    assert_eq!(locks(&stage).await, [root]);
    assert!(sound(&store).await.is_some(), "an audit tells of it");
}

async fn with_a_lock() -> (TestStore, Stage, DecisionId) {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let root = stage.begin(PROJECT, says(Rank::Lock, "a lock")).await;
    assert_eq!(locks(&stage).await, [root]);
    (store, stage, root)
}

/// The locks of the project, as they are listed.
async fn locks(stage: &Stage) -> Vec<DecisionId> {
    let filter = DecisionFilter {
        rank: Some(Rank::Lock),
        ..DecisionFilter::default()
    };
    let reader = stage.node.reader();
    let page = reader.decisions(&scope(PROJECT), &filter, None, 10).await;
    let heads = page.unwrap().items.into_iter();
    heads.map(|head| head.root).collect()
}

/// Asserts that no brief is made of what is stored, and that the answer names the decision.
async fn refuses_a_brief(stage: &Stage, root: DecisionId) {
    let viewer = viewer(TASK);
    let refused = stage
        .node
        .brief_of_standing(&viewer, room(10, 1 << 20))
        .await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Internal);
    assert!(refused.to_string().contains(&root.to_string()), "{refused}");
}

#[tokio::test]
async fn a_brief_of_an_empty_scope_is_empty() {
    let stage = Stage::set().await;
    let brief = stage.brief(TASK, room(1, 1)).await;
    assert_eq!((brief.items.len(), brief.bytes, brief.cut.len()), (0, 0, 0));
}

/// The families that hold decisions.
const OF_DECISIONS: [Family; 5] = [
    Family::Decision,
    Family::DecisionVersion,
    Family::DecisionListed,
    Family::DecisionClaim,
    Family::Related,
];

async fn rows_of_decisions(store: &TestStore) -> Pairs {
    let mut pairs = pairs_of(store).await;
    pairs.retain(|key, _| Family::of(key).is_some_and(|family| OF_DECISIONS.contains(&family)));
    pairs
}

#[tokio::test]
async fn the_same_state_gives_the_same_bytes_on_another_node_and_after_a_rebuild() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    for number in 0..30 {
        let rank = Rank::ALL[number % 4];
        let mut text = claims("number", "one", says(rank, &format!("number {number}")));
        if number % 3 == 0 {
            text = relates(RelationKind::AppliesTo, file("src/api.rs"), text);
        }
        stage.begin(PROJECT, text).await;
    }
    let query = || BriefQuery {
        at: vec![file("src/api.rs")],
        budget: BriefBudget {
            items_max: 25,
            ..BriefBudget::default()
        },
        ..BriefQuery::default()
    };
    let first = bytes(&stage.brief(TASK, query()).await);
    assert_eq!(bytes(&stage.brief(TASK, query()).await), first);
    stage.node.shutdown().await;
    let node = later_node(&store).await;
    let again = node
        .brief_of_standing(&viewer(TASK), query())
        .await
        .unwrap();
    assert_eq!(bytes(&again), first);
    let index = node.ports().index.clone();
    node.shutdown().await;
    let rows = rows_of_decisions(&store).await;
    assert!(rows.len() > 30);
    let mut txn = store.begin().await.unwrap();
    for family in OF_DECISIONS {
        txn.clear_range(&family.range());
    }
    txn.commit().await.unwrap();
    assert_eq!(rows_of_decisions(&store).await.len(), 0);
    rebuild(&store, &*index, &|_| {}).await.unwrap();
    assert_eq!(rows_of_decisions(&store).await, rows);
    assert!(audit::verify(&store, &|_| {}).await.unwrap().is_ok());
    let rebuilt = later_node(&store).await;
    let again = rebuilt
        .brief_of_standing(&viewer(TASK), query())
        .await
        .unwrap();
    assert_eq!(bytes(&again), first);
}

#[tokio::test]
async fn no_layer_of_a_brief_no_impact_no_proposal_and_no_save_asks_the_index() {
    let (mut stage, index) = Stage::asking().await;
    let root = stage.begin(PROJECT, says(Rank::Axis, "axis")).await;
    for rank in Rank::ALL {
        stage.begin(PROJECT, says(rank, &format!("{rank}"))).await;
    }
    let of_ui = of_domain("ui", says(Rank::Axis, "axis of ui"));
    stage.begin(PROJECT, of_ui).await;
    let run = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    stage
        .point_to(PROJECT, "a run", vec![kept(PROJECT, run)])
        .await;
    let rests = |title: &str| {
        relates(
            RelationKind::DependsOn,
            at(PROJECT, root),
            says(Rank::Normal, title),
        )
    };
    let resting = stage.begin(TASK, rests("rests on it")).await;
    let query = || BriefQuery {
        at: vec![at(PROJECT, root)],
        ..about("ui")
    };
    let before = stage.brief(TASK, query()).await;
    let layers: BTreeSet<Layer> = before.items.iter().map(BriefItem::layer).collect();
    assert_eq!(layers, Layer::ALL.into(), "none is empty");
    let impact = stage.impact(PROJECT, at(PROJECT, root)).await;
    assert_eq!(impact.affected.len(), 1);
    let (who, proposal) = (
        principal(PrincipalKind::Human, ORG),
        Proposal::of(rests("would too")),
    );
    let proposed = stage
        .node
        .propose(&who, &scope(TASK), None, &proposal)
        .await;
    proposed.unwrap();
    let means = stage.node.meaning(&viewer(TASK), resting, 1).await;
    means.unwrap();
    assert_eq!(index.asked(), 0);
    // The count counts.
    let question = || RecallQuery::new(scope(TASK), "which axis?");
    stage.node.recall(question()).await.unwrap();
    assert!(index.asked() > 0);
    // And they are the same while there is no index to ask.
    index.damage(&Lost::All);
    index.refuse();
    assert!(!stage.node.recall(question()).await.unwrap().whole);
    assert_eq!(stage.brief(TASK, query()).await, before);
    assert_eq!(stage.impact(PROJECT, at(PROJECT, root)).await, impact);
}
