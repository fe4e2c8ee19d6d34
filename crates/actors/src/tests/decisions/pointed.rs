//! Anchors in briefs: they come last and are cut first, and move nothing that they lead to.

use sillok_core::anchor::Standing;
use sillok_core::brief::{Brief, BriefBudget, BriefItem, Layer};
use sillok_core::decision::{Node as Place, Rank, RelationKind};
use sillok_store::{Store as _, Txn as _};

use super::kept::{KEPT, kept, listed_in, points_to, rows_kept};
use super::stage::{Stage, at, file, of_domain, relates, says, sound, titles, viewer, withdraw};
use crate::protocol::{Safeguard, Without};
use crate::reads::BriefQuery;
use crate::rebuild::rebuild;
use crate::restore::Until;
use crate::tests::harness::{AS_MEANT, PROJECT, TASK, later_node, scope, store};
use crate::tests::restore::{restored, whole};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};

fn about(domain: &str) -> BriefQuery {
    BriefQuery {
        domain: domain.parse().unwrap(),
        ..BriefQuery::default()
    }
}

/// The hints of the anchors that a brief loads, in order.
fn hints(brief: &Brief) -> Vec<&str> {
    let anchors = brief.items.iter().filter_map(|item| match item {
        BriefItem::Anchor { anchor, .. } => Some(anchor.hint.as_str()),
        BriefItem::Decision { .. } | BriefItem::Structural { .. } => None,
    });
    anchors.collect()
}

fn is_anchor(item: &BriefItem) -> bool {
    matches!(item, BriefItem::Anchor { .. })
}

/// Decisions of each rank, two domains and two scopes, what is affected at hand among them, and the nodes of all of them,
/// the weakest first.
async fn decide(stage: &mut Stage) -> Vec<Place> {
    let mut nodes = Vec::new();
    for rank in [Rank::Normal, Rank::Lock, Rank::Axis] {
        for domain in ["ui", "global"] {
            for path in [PROJECT, ORG] {
                let text = of_domain(domain, says(rank, &format!("{rank} {domain} {path}")));
                let text = relates(RelationKind::AppliesTo, file("src/api.rs"), text);
                nodes.push(at(path, stage.begin(path, text).await));
            }
        }
    }
    let policy = stage.begin(ORG, says(Rank::Policy, "policy")).await;
    nodes.push(at(ORG, policy));
    nodes
}

/// A brief about the interface while a file is at hand, with room for so many items.
fn room(items_max: usize) -> BriefQuery {
    BriefQuery {
        at: vec![file("src/api.rs")],
        budget: BriefBudget {
            items_max,
            ..BriefBudget::default()
        },
        ..about("ui")
    }
}

#[tokio::test]
async fn anchors_come_behind_everything_else_which_is_the_same_without_them() {
    let mut stage = Stage::set().await;
    let nodes = decide(&mut stage).await;
    // All but the policy are about the file, and with room for four times as many behind it there is room for all references.
    let references = nodes.len() - 1;
    let budgets = 1..=4 * references + 8;
    let mut without = Vec::new();
    for items_max in budgets.clone() {
        without.push(stage.brief(TASK, room(items_max)).await);
    }
    // The weakest of them, the strongest, and all at once, wherever anchors are kept.
    let (weakest, strongest) = (nodes[0].clone(), nodes[nodes.len() - 1].clone());
    let mut added = 0;
    for path in [ORG, PROJECT, WORKTREE, TASK] {
        let to = match path {
            ORG => vec![strongest.clone()],
            _ => nodes.clone(),
        };
        let anchors = vec![
            points_to("to many", to),
            listed_in("ui", points_to("to one", vec![strongest.clone()])),
        ];
        added += stage.point(path, anchors).await.unwrap().len();
    }
    let to = vec![weakest];
    let other = listed_in("runtime", points_to("of another domain", to));
    stage.point(PROJECT, vec![other]).await.unwrap();
    for (items_max, before) in budgets.zip(without) {
        let brief = stage.brief(TASK, room(items_max)).await;
        let decisions = brief.items.iter().take_while(|item| !is_anchor(item));
        let decisions = decisions.count();
        assert_eq!(brief.items[..decisions], before.items, "{items_max}");
        assert!(brief.items[decisions..].iter().all(is_anchor));
        let loaded = brief.items.len() - decisions;
        let cut = |layer| {
            let mut cuts = brief.cut.iter();
            cuts.find(|cut| cut.layer == layer)
                .map_or(0, |cut| cut.items)
        };
        assert_eq!(loaded as u64 + cut(Layer::Anchor), added as u64);
        // Whatever is cut before them is cut as it was, and where anything is but references that have no room, they all are.
        let others = brief.cut.iter().filter(|cut| cut.layer != Layer::Anchor);
        assert!(others.clone().eq(&before.cut));
        let referred = ((items_max - 1) / 4).clamp(1, references);
        let all = nodes.len() + referred;
        assert!(decisions <= all && (loaded == 0 || decisions == all));
        if decisions == all {
            let left_out: u64 = others.clone().map(|cut| cut.items).sum();
            assert_eq!(left_out, (references - referred) as u64);
            assert!(others.clone().all(|cut| cut.layer == Layer::Structural));
        }
        assert_eq!(brief.impact_cut, before.impact_cut);
    }
}

#[tokio::test]
async fn anchors_are_loaded_by_domain_and_scope_in_the_order_in_which_they_were_added() {
    let mut stage = Stage::set().await;
    let run = stage.keep(ORG, "a run", "p99 is 12 ms").await;
    let mut last = None;
    // Added in an order that is none of these.
    for (path, domain, hint) in [
        (TASK, "global", "task"),
        (PROJECT, "ui", "ui project"),
        (WORKTREE, "global", "worktree"),
        (ORG, "ui", "ui org"),
        (PROJECT, "global", "project, first"),
        (PROJECT, "runtime", "runtime project"),
        (TASK, "ui", "ui task"),
        (PROJECT, "global", "project, second"),
        (ORG, "global", "org"),
        (PROJECT, "global", "project, dropped"),
    ] {
        let anchor = listed_in(domain, points_to(hint, vec![kept(ORG, run)]));
        last = stage.point(path, vec![anchor]).await.unwrap().pop();
    }
    let run = stage.keep(OTHER_PROJECT, "beside", "p99 is 9 ms").await;
    stage
        .point_to(OTHER_PROJECT, "beside", vec![kept(OTHER_PROJECT, run)])
        .await;
    stage.let_go(PROJECT, last.unwrap()).await.unwrap();
    let global = [
        "org",
        "project, first",
        "project, second",
        "worktree",
        "task",
    ];
    let everywhere = stage.brief(TASK, BriefQuery::default()).await;
    assert_eq!(hints(&everywhere), global);
    let ui = stage.brief(TASK, about("ui")).await;
    let expected = [&global[..], &["ui org", "ui project", "ui task"]].concat();
    assert_eq!(hints(&ui), expected);
    assert!(ui.items.iter().all(is_anchor) && ui.cut.is_empty());
    let above = stage.brief(ORG, about("ui")).await;
    assert_eq!(hints(&above), ["org", "ui org"]);
}

#[tokio::test]
async fn an_anchor_of_a_brief_tells_how_what_it_leads_to_stands_and_no_text_of_it() {
    let mut stage = Stage::set().await;
    let lock = stage.begin(PROJECT, says(Rank::Lock, "lock")).await;
    let axis = stage.begin(ORG, says(Rank::Axis, "axis")).await;
    let run = stage.keep(PROJECT, "a run", "the text of a run").await;
    let to = vec![kept(PROJECT, run), at(PROJECT, lock), at(ORG, axis)];
    let id = stage.point_to(PROJECT, "how it came", to).await;
    stage.person(PROJECT, withdraw(lock, 1)).await.unwrap();
    let brief = stage.brief(TASK, BriefQuery::default()).await;
    assert_eq!(titles(&brief), ["axis"], "what was withdrawn is not loaded");
    let BriefItem::Anchor {
        scope: holder,
        anchor,
        leads,
    } = &brief.items[1]
    else {
        panic!("the anchor is the last item");
    };
    assert_eq!((holder.as_str(), anchor.id), (PROJECT, id));
    let told: Vec<_> = leads
        .iter()
        .map(|lead| (lead.title.as_str(), lead.standing))
        .collect();
    let expected = [
        ("axis", Standing::Holds),
        ("lock", Standing::Withdrawn),
        ("a run", Standing::Holds),
    ];
    assert_eq!(told, expected);
    let stored = postcard::to_allocvec(&brief.items[1]).unwrap();
    let text = b"the text of a run";
    assert!(!stored.windows(text.len()).any(|at| at == text));
    let view = stage.node.reader().anchor(holder, id).await.unwrap();
    assert_eq!(view.map(|view| view.leads).as_ref(), Some(leads));
}

/// The layers of a brief about the interface, in which something normal, a lock and an anchor stand.
async fn layers(protocol: Without) -> Vec<Layer> {
    let store = store();
    let mut stage = Stage::under(protocol, &store).await;
    let lock = of_domain("ui", says(Rank::Lock, "lock"));
    stage.begin(PROJECT, lock).await;
    let root = stage.begin(ORG, says(Rank::Normal, "normal")).await;
    let anchor = points_to("to what is normal", vec![at(ORG, root)]);
    let anchors = vec![listed_in("ui", anchor)];
    stage.point(PROJECT, anchors).await.unwrap();
    let brief = stage.brief(TASK, about("ui")).await;
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None, "it is stored as it should be");
    brief.items.iter().map(BriefItem::layer).collect()
}

#[tokio::test]
async fn an_anchor_stands_behind_what_it_leads_to() {
    let expected = [Layer::Lock, Layer::Normal, Layer::Anchor];
    assert_eq!(layers(AS_MEANT).await, expected);
}

#[tokio::test]
async fn without_the_place_of_anchors_they_stand_before_decisions() {
    let without = Without(Some(Safeguard::ListsAnchorsLast));
    let layers = layers(without).await;
    assert!(!layers.is_sorted(), "the planted bug must be seen");
    assert_eq!(layers, [Layer::Lock, Layer::Anchor, Layer::Normal]);
}

/// A store with evidence, small and large, and anchors, one of which was dropped.
async fn keep_some(stage: &mut Stage) {
    let small = stage.keep(PROJECT, "small", "p99 is 12 ms").await;
    let large = "12 ms, and again\n".repeat(10_000);
    let large = stage.keep(ORG, "large", &large).await;
    let root = stage.begin(PROJECT, says(Rank::Lock, "lock")).await;
    let to = vec![kept(ORG, large), kept(PROJECT, small), at(PROJECT, root)];
    for number in 0..5 {
        let domain = ["global", "ui"][number % 2];
        let anchor = points_to(&format!("number {number}"), to.clone());
        let anchors = vec![listed_in(domain, anchor)];
        let added = stage.point(PROJECT, anchors).await.unwrap();
        if number == 3 {
            stage.let_go(PROJECT, added[0]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_rebuild_gives_the_same_rows_and_the_same_brief() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    keep_some(&mut stage).await;
    let brief = stage.brief(TASK, about("ui")).await;
    let index = stage.node.ports().index.clone();
    stage.node.shutdown().await;
    let rows = rows_kept(&store).await;
    assert_eq!(rows.len(), 2 + 5 + 4);
    let mut txn = store.begin().await.unwrap();
    for family in KEPT {
        txn.clear_range(&family.range());
    }
    txn.commit().await.unwrap();
    assert!(rows_kept(&store).await.is_empty());
    assert!(sound(&store).await.is_some(), "they are missed");
    rebuild(&store, &*index, &|_| {}).await.unwrap();
    assert_eq!(rows_kept(&store).await, rows);
    assert_eq!(sound(&store).await, None);
    let node = later_node(&store).await;
    let again = node
        .brief_of_standing(&viewer(TASK), about("ui"))
        .await
        .unwrap();
    assert_eq!(again, brief);
}

#[tokio::test]
async fn a_restored_backup_gives_the_same_rows_and_the_same_texts() {
    let first = store();
    let mut stage = Stage::over(&first).await;
    keep_some(&mut stage).await;
    stage.node.shutdown().await;
    let rows = rows_kept(&first).await;
    let bytes = whole(&first).await;
    let (restored, report) = restored(&bytes, &Until::End).await.unwrap();
    assert!(report.audit.is_ok());
    assert_eq!(report.audit.large_texts, 1);
    assert_eq!(rows_kept(&restored).await, rows);
    let node = later_node(&restored).await;
    let here = scope(ORG);
    let page = node.reader().evidence_list(&here, None, 10).await.unwrap();
    let id = page.items[0].id;
    let text = node.reader().evidence_text(&here, id, None).await.unwrap();
    assert_eq!(text.unwrap().text, "12 ms, and again\n".repeat(10_000));
}
