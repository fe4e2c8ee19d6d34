//! What a change reaches, as whoever asks sees it.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::brief::{Brief, BriefBudget, BriefItem, Layer};
use sillok_core::command::Submission;
use sillok_core::decision::{Node as Place, Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_core::limits::RELATIONS_MAX;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::ScopePrefix;
use sillok_store::keys::Family;

use super::stage::{Stage, affected, at, file, relates, save, says, titles, viewer, withdraw};
use crate::reads::{BriefQuery, Viewer};
use crate::tests::harness::{PROJECT, TASK, principal, scope, store, submission};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};

impl Stage {
    /// Begins a chain of a normal decision that is related to something.
    pub(super) async fn related(
        &mut self,
        path: &str,
        title: &str,
        kind: RelationKind,
        to: Place,
    ) -> DecisionId {
        let text = relates(kind, to, says(Rank::Normal, title));
        self.begin(path, text).await
    }
}

/// The paths of what is affected, in words.
fn paths(impact: &Impact) -> Vec<String> {
    let paths = (0..impact.affected.len()).map(|index| {
        let path = impact.path(index).into_iter();
        let steps: Vec<String> = path.map(ToString::to_string).collect();
        steps.join(", ")
    });
    paths.collect()
}

/// A decision that constrains one and applies to a file, with those that speak of it: itself, one that depends on it, and one
/// that depends on that.
async fn bound(stage: &mut Stage) -> [DecisionId; 3] {
    let base = stage.begin(PROJECT, says(Rank::Axis, "base")).await;
    let here = || at(PROJECT, base);
    let kind = RelationKind::DependsOn;
    let rests = stage.related(PROJECT, "rests on it", kind, here()).await;
    let limited = stage.begin(PROJECT, says(Rank::Lock, "limited")).await;
    let (limits, about) = (RelationKind::Constrains, RelationKind::AppliesTo);
    let text = relates(limits, at(PROJECT, limited), says(Rank::Axis, "base"));
    let text = relates(about, file("src/api.rs"), text);
    stage.change(PROJECT, (base, 1), text).await;
    let title = "constrains it";
    stage.related(PROJECT, title, limits, here()).await;
    let title = "about the file";
    stage
        .related(PROJECT, title, about, file("src/api.rs"))
        .await;
    let title = "rests on that";
    let far = stage
        .related(PROJECT, title, kind, at(PROJECT, rests))
        .await;
    [base, rests, far]
}

#[tokio::test]
async fn a_change_is_carried_along_relations_in_their_direction_with_the_path_to_each() {
    let mut stage = Stage::set().await;
    let [here, rests, far] = bound(&mut stage).await.map(|root| at(PROJECT, root));
    let found = stage.impact(PROJECT, here.clone()).await;
    assert_eq!(found.cut, None);
    assert_eq!(found.start, std::slice::from_ref(&here));
    let mut reached = affected(&found);
    let last = reached.pop();
    assert_eq!(last.as_deref(), Some("rests on that"), "the farthest");
    reached.sort_unstable();
    assert_eq!(reached, ["file:src/api.rs", "limited", "rests on it"]);
    let path = paths(&found).pop().unwrap();
    let expected = format!("{rests} DEPENDS_ON {here}, {far} DEPENDS_ON {rests}");
    assert_eq!(path, expected);
}

#[tokio::test]
async fn a_change_of_a_file_is_carried_to_what_decisions_say_of_it_and_on_from_there() {
    let mut stage = Stage::set().await;
    bound(&mut stage).await;
    let found = stage.impact(PROJECT, file("src/api.rs")).await;
    let mut reached = affected(&found);
    reached.sort_unstable();
    let expected = [
        "about the file",
        "base",
        "limited",
        "rests on it",
        "rests on that",
    ];
    assert_eq!(reached, expected);
}

#[tokio::test]
async fn a_cycle_is_gone_around_once_and_everything_is_told_once() {
    let mut stage = Stage::set().await;
    let first = stage.begin(PROJECT, says(Rank::Normal, "first")).await;
    let (mut roots, mut last) = (vec![first], first);
    for number in 1..5 {
        let title = format!("number {number}");
        let to = at(PROJECT, last);
        last = stage
            .related(PROJECT, &title, RelationKind::DependsOn, to)
            .await;
        roots.push(last);
    }
    // It closes, and each is bound to each.
    for (number, root) in roots.iter().enumerate() {
        let mut text = says(Rank::Normal, &format!("number {number}"));
        for other in roots.iter().filter(|other| *other != root) {
            text = relates(RelationKind::DependsOn, at(PROJECT, *other), text);
        }
        stage.change(PROJECT, (*root, 1), text).await;
    }
    let found = stage.impact(PROJECT, at(PROJECT, first)).await;
    let mut reached = affected(&found);
    reached.sort_unstable();
    let others: Vec<String> = (1..5).map(|number| format!("number {number}")).collect();
    assert_eq!(reached, others);
    assert_eq!(found.cut, None);
    assert_eq!(stage.impact(PROJECT, at(PROJECT, first)).await, found);
}

#[tokio::test]
async fn whoever_asks_sees_what_lies_around_and_as_far_inside_as_the_token_reaches() {
    let mut stage = Stage::set().await;
    let above = stage.begin(ORG, says(Rank::Axis, "above")).await;
    let kind = RelationKind::DependsOn;
    for (path, title) in [
        (PROJECT, "in the project"),
        (WORKTREE, "in the work tree"),
        (TASK, "in the task"),
        (OTHER_PROJECT, "in another project"),
    ] {
        stage.related(path, title, kind, at(ORG, above)).await;
    }
    let start = vec![at(ORG, above)];
    let asked = async |path: &str, prefix: &str| {
        let viewer = Viewer {
            scope: scope(path),
            prefix: prefix.parse::<ScopePrefix>().unwrap(),
        };
        let limits = ImpactLimits::default();
        let found = stage
            .node
            .impact_of_standing(&viewer, start.clone(), limits, None);
        let mut reached = affected(&found.await.unwrap());
        reached.sort_unstable();
        reached
    };
    let inside = ["in the project", "in the task", "in the work tree"];
    let all = [
        "in another project",
        "in the project",
        "in the task",
        "in the work tree",
    ];
    assert_eq!(asked(ORG, ORG).await, all);
    assert_eq!(asked(ORG, "*").await, all);
    assert_eq!(asked(ORG, PROJECT).await, inside);
    assert_eq!(asked(PROJECT, ORG).await, inside);
    assert_eq!(asked(TASK, TASK).await, inside);
    assert_eq!(asked(PROJECT, WORKTREE).await, inside);
    assert_eq!(asked(OTHER_PROJECT, ORG).await, ["in another project"]);
}

#[tokio::test]
async fn nothing_is_reached_through_what_is_not_seen_or_was_withdrawn() {
    let mut stage = Stage::set().await;
    let above = stage.begin(ORG, says(Rank::Axis, "above")).await;
    let kind = RelationKind::DependsOn;
    stage
        .related(OTHER_PROJECT, "hidden", kind, at(ORG, above))
        .await;
    let between = stage
        .related(PROJECT, "between", kind, at(ORG, above))
        .await;
    stage
        .related(TASK, "behind", kind, at(PROJECT, between))
        .await;
    let found = stage.impact(PROJECT, at(ORG, above)).await;
    assert_eq!(affected(&found), ["between", "behind"]);
    stage.person(PROJECT, withdraw(between, 1)).await.unwrap();
    let found = stage.impact(PROJECT, at(ORG, above)).await;
    assert_eq!((affected(&found), found.cut), (vec![], None));
}

#[tokio::test]
async fn a_start_that_is_not_seen_was_withdrawn_or_is_not_there_is_refused_by_its_name() {
    let mut stage = Stage::set().await;
    let stands = stage.begin(PROJECT, says(Rank::Axis, "stands")).await;
    let gone = stage.begin(PROJECT, says(Rank::Axis, "gone")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    let hidden = stage.begin(OTHER_PROJECT, says(Rank::Axis, "hidden"));
    let hidden = hidden.await;
    let nobody = DecisionId::from_bytes([7; 16]);
    let asked = async |at: Vec<Place>| {
        let (limits, viewer) = (ImpactLimits::default(), viewer(PROJECT));
        let query = BriefQuery {
            at: at.clone(),
            ..BriefQuery::default()
        };
        let node = &stage.node;
        let impact = node.impact_of_standing(&viewer, at, limits, None).await;
        let brief = node.brief_of_standing(&viewer, query).await;
        [impact.map(drop), brief.map(drop)]
    };
    // Files and symbols are names of anything.
    let names = ["file:src/nowhere.rs", "symbol:nobody"];
    let mut taken: Vec<Place> = names.map(|name| name.parse().unwrap()).to_vec();
    taken.push(at(PROJECT, stands));
    assert_eq!(asked(taken.clone()).await, [Ok(()), Ok(())]);
    for wrong in [
        at(PROJECT, gone),
        at(OTHER_PROJECT, hidden),
        at(ORG, stands),
        at(PROJECT, nobody),
    ] {
        let mut nodes = taken.clone();
        nodes.push(wrong.clone());
        for refused in asked(nodes).await {
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::NotFound, "{wrong}");
            assert!(refused.message.contains(&wrong.to_string()), "{refused}");
        }
    }
}

/// Decisions of which each is related to all others: one has as many relations as it may.
const OF_A_CLIQUE: usize = RELATIONS_MAX + 1;

#[tokio::test]
async fn where_everything_depends_on_everything_each_decision_is_told_once_and_what_is_cut_is_counted()
 {
    let mut stage = Stage::set().await;
    let mut all = Vec::new();
    for number in 0..OF_A_CLIQUE {
        let text = says(Rank::Normal, &format!("number {number}"));
        all.push(stage.begin(PROJECT, text).await);
    }
    for (number, root) in all.iter().enumerate() {
        let others = all.iter().filter(|other| *other != root);
        let text = says(Rank::Normal, &format!("number {number}"));
        let text = others.fold(text, |text, other| {
            relates(RelationKind::DependsOn, at(PROJECT, *other), text)
        });
        stage.change(PROJECT, (*root, 1), text).await;
    }
    let asked = async |nodes_max, depth_max| {
        let limits = ImpactLimits::of(nodes_max, depth_max).unwrap();
        let (viewer, start) = (viewer(PROJECT), vec![at(PROJECT, all[0])]);
        let node = &stage.node;
        node.impact_of_standing(&viewer, start, limits, Some(1_000_000))
            .await
            .unwrap()
    };
    let whole = asked(None, None).await;
    let told: BTreeSet<&Place> = whole.affected.iter().map(|one| &one.node).collect();
    assert_eq!(
        (whole.affected.len(), told.len()),
        (OF_A_CLIQUE - 1, OF_A_CLIQUE - 1)
    );
    assert!(whole.affected.iter().all(|one| one.depth == 1));
    assert_eq!(whole.cut, None);
    assert_eq!(
        asked(None, Some(1)).await,
        whole,
        "nothing is left for a second step"
    );
    let few = asked(Some(10), None).await;
    assert_eq!(few.affected[..], whole.affected[..10]);
    let cut = few.cut.unwrap();
    assert_eq!((cut.nodes, cut.time), (OF_A_CLIQUE as u64 - 1 - 10, false));
}

#[tokio::test]
async fn what_limits_cut_off_is_told() {
    let mut stage = Stage::set().await;
    let hub = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    let kind = RelationKind::DependsOn;
    let mut last = hub;
    for number in 0..100 {
        let title = format!("number {number}");
        last = stage.related(PROJECT, &title, kind, at(PROJECT, hub)).await;
    }
    stage.related(PROJECT, "far", kind, at(PROJECT, last)).await;
    let asked = async |nodes_max, depth_max, ms_max| {
        let limits = ImpactLimits::of(nodes_max, depth_max).unwrap();
        let start = vec![at(PROJECT, hub)];
        let viewer = viewer(PROJECT);
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, ms_max)
            .await;
        found.unwrap()
    };
    let whole = asked(None, None, None).await;
    assert_eq!((whole.affected.len(), whole.cut), (101, None));
    let few = asked(Some(10), None, None).await;
    assert_eq!(few.affected[..], whole.affected[..10], "the first of them");
    assert!(few.cut.is_some_and(|cut| cut.nodes >= 90 && !cut.time));
    let near = asked(None, Some(1), None).await;
    assert_eq!(near.affected.len(), 100);
    assert!(near.cut.is_some_and(|cut| cut.depth == 1 && cut.nodes == 0));
    let none = asked(None, None, Some(0)).await;
    assert!(none.affected.is_empty() && none.cut.is_some_and(|cut| cut.time));
    // Time enough for the hub, and not for all that depends on it.
    let late = asked(None, None, Some(1)).await;
    assert_eq!(late.affected, near.affected);
    assert!(late.cut.is_some_and(|cut| cut.time));
    let in_time = asked(None, None, Some(1_000_000)).await;
    assert_eq!(in_time, whole);
}

/// The clock of these tests moves on at each look, 16 of which are a millisecond.
const LOOKS_OF_A_MS: usize = 16;

#[tokio::test]
async fn the_clock_is_looked_at_before_each_node_and_each_start() {
    let mut stage = Stage::set().await;
    let mut last = stage.begin(PROJECT, says(Rank::Axis, "first")).await;
    let mut chain = vec![at(PROJECT, last)];
    for number in 0..3 * LOOKS_OF_A_MS {
        let (title, kind) = (format!("number {number}"), RelationKind::DependsOn);
        last = stage
            .related(PROJECT, &title, kind, at(PROJECT, last))
            .await;
        chain.push(at(PROJECT, last));
    }
    let limits = ImpactLimits {
        depth_max: u32::MAX,
        ..ImpactLimits::default()
    };
    let viewer = viewer(PROJECT);
    let asked = async |start: &[Place], ms_max| {
        let start = start.to_vec();
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, Some(ms_max));
        found.await.unwrap()
    };
    let whole = asked(&chain[..1], 1_000_000).await;
    assert_eq!((whole.affected.len(), whole.cut), (chain.len() - 1, None));
    let late = asked(&chain[..1], 1).await;
    assert!(late.cut.is_some_and(|cut| cut.time));
    let told = late.affected.len();
    assert!((1..LOOKS_OF_A_MS).contains(&told), "{told}");
    assert_eq!(late.affected[..told - 1], whole.affected[..told - 1]);
    // Those that it begins with are not all looked at either.
    let late = asked(&chain, 1).await;
    assert_eq!(late.start, chain);
    assert!(late.affected.is_empty() && late.cut.is_some_and(|cut| cut.time));
}

#[tokio::test]
async fn what_more_depend_on_than_there_is_time_to_read_is_not_read_to_its_end() {
    let mut stage = Stage::set().await;
    let hub = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    let count = 64 * (LOOKS_OF_A_MS + 1);
    for number in 0..count {
        let (title, kind) = (format!("number {number}"), RelationKind::DependsOn);
        stage.related(PROJECT, &title, kind, at(PROJECT, hub)).await;
    }
    let asked = async |ms_max| {
        let (viewer, start) = (viewer(PROJECT), vec![at(PROJECT, hub)]);
        let limits = ImpactLimits::of(None, Some(1)).unwrap();
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, Some(ms_max));
        found.await.unwrap()
    };
    let whole = asked(1_000_000).await;
    assert_eq!((whole.affected.len(), whole.cut), (count, None));
    let late = asked(1).await;
    assert!(late.cut.is_some_and(|cut| cut.time));
    // What was read of it is told.
    let told = late.affected.len();
    assert!((1..count).contains(&told), "{told}");
    let of_hub: BTreeSet<&Place> = whole.affected.iter().map(|one| &one.node).collect();
    assert!(late.affected.iter().all(|one| of_hub.contains(&one.node)));
}

#[tokio::test]
async fn time_that_runs_out_where_nothing_leads_on_is_told() {
    let mut stage = Stage::set().await;
    let hub = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    let kind = RelationKind::Constrains;
    for number in 0..100 {
        let title = format!("number {number}");
        stage.related(PROJECT, &title, kind, at(PROJECT, hub)).await;
    }
    let limits = ImpactLimits::default();
    for (ms_max, is_late) in [(0, true), (1_000_000, false)] {
        let (viewer, start) = (viewer(PROJECT), vec![at(PROJECT, hub)]);
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, Some(ms_max));
        let found = found.await.unwrap();
        assert_eq!(found.affected.len(), 0);
        assert_eq!(found.cut.is_some_and(|cut| cut.time), is_late);
    }
}

#[tokio::test]
async fn relations_are_read_up_to_a_limit_and_none_where_there_is_no_room_for_what_they_lead_to() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let hub = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    let kind = RelationKind::DependsOn;
    for number in 0..20 {
        let title = format!("number {number}");
        let around = stage.related(PROJECT, &title, kind, at(PROJECT, hub)).await;
        for behind in 0..10 {
            let title = format!("behind {number} {behind}");
            stage.related(TASK, &title, kind, at(PROJECT, around)).await;
        }
    }
    let few = |relations_max| ImpactLimits {
        relations_max,
        ..ImpactLimits::default()
    };
    let asked = async |limits: ImpactLimits| {
        let before = store.rows_read(Family::Related);
        let (viewer, start) = (viewer(PROJECT), vec![at(PROJECT, hub)]);
        let found = stage
            .node
            .impact_of_standing(&viewer, start, limits, None)
            .await;
        (found.unwrap(), store.rows_read(Family::Related) - before)
    };
    let (whole, read) = asked(few(220)).await;
    assert_eq!((whole.affected.len(), whole.cut, read), (220, None, 220));
    // What is there once so many are read is told, with what each is, and that it is not all.
    for (relations_max, told) in [(0, 0), (5, 5), (20, 20), (25, 25), (219, 219)] {
        let (found, _) = asked(few(relations_max)).await;
        assert_eq!(found.affected.len(), told);
        assert!(found.affected.iter().all(|one| one.title.is_some()));
        let cut = found.cut.unwrap();
        assert!(cut.relations && !cut.time && cut.nodes == 0, "{cut:?}");
        assert_eq!(asked(few(relations_max)).await.0, found, "the same again");
    }
    // Of those that there is room for, one leads on: that tells all that is to be told.
    let narrow = ImpactLimits::of(Some(20), None).unwrap();
    let shallow = ImpactLimits::of(None, Some(1)).unwrap();
    for limits in [narrow, shallow] {
        let (found, read) = asked(limits).await;
        assert_eq!((found.affected.len(), read), (20, 30));
        assert!(found.affected.iter().all(|one| one.title.is_some()));
        let cut = found.cut.unwrap();
        assert_eq!((cut.nodes + cut.depth, cut.relations), (1, false));
    }
}

#[tokio::test]
async fn relations_that_carry_nothing_back_lead_nowhere_however_many_there_are() {
    let mut stage = Stage::set().await;
    let hub = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    for number in 0..30 {
        let kind = [RelationKind::Constrains, RelationKind::Validates][number % 2];
        let title = format!("number {number}");
        stage.related(TASK, &title, kind, at(PROJECT, hub)).await;
    }
    let kind = RelationKind::DependsOn;
    stage.related(TASK, "rests", kind, at(PROJECT, hub)).await;
    let found = stage.impact(PROJECT, at(PROJECT, hub)).await;
    assert_eq!(
        (affected(&found), found.cut),
        (vec!["rests".to_owned()], None)
    );
}

/// A brief of twelve items about an axis beside a lock, where so many policies stand before both and twenty decisions depend on
/// the axis.
async fn brief_of_a_hub(policies: usize) -> Brief {
    let mut stage = Stage::set().await;
    let axis = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
    stage.begin(PROJECT, says(Rank::Lock, "lock")).await;
    for number in 0..policies {
        let title = format!("policy {number}");
        stage.begin(ORG, says(Rank::Policy, &title)).await;
    }
    let kind = RelationKind::DependsOn;
    for number in 0..20 {
        let title = format!("number {number}");
        stage
            .related(PROJECT, &title, kind, at(PROJECT, axis))
            .await;
    }
    let budget = BriefBudget::of(Some(12), None).unwrap();
    let query = BriefQuery {
        at: vec![at(PROJECT, axis)],
        budget,
        ..BriefQuery::default()
    };
    stage.brief(PROJECT, query).await
}

#[tokio::test]
async fn however_much_depends_on_what_is_at_hand_a_brief_still_loads_every_axis_and_lock() {
    // Behind nine policies, a quarter of what they leave is less than one item, and one reference is told.
    for (policies, references, normal) in [(0, 3, 7), (4, 2, 4), (9, 1, 0)] {
        let brief = brief_of_a_hub(policies).await;
        let is_structural = |item: &&BriefItem| item.layer() == Layer::Structural;
        let told = brief.items.iter().filter(is_structural).count();
        assert_eq!(told, references, "{policies} policies");
        assert_eq!(titles(&brief)[policies..policies + 2], ["hub", "lock"]);
        assert_eq!(brief.items.len(), policies + references + 2 + normal);
        assert_eq!(brief.impact_cut, None);
        let left_out = brief.cut.iter().map(|cut| (cut.layer, cut.items));
        let expected = [
            (Layer::Structural, 20 - references as u64),
            (Layer::Normal, 20 - normal as u64),
        ];
        assert_eq!(left_out.collect::<Vec<_>>(), expected);
    }
}

/// Another organisation.
const ELSEWHERE: &str = "org/globex";
/// Decisions that others make about a file.
const FOREIGN: usize = 1_000;

#[tokio::test]
async fn what_others_say_of_the_same_file_is_neither_told_nor_read() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let kind = RelationKind::AppliesTo;
    let manifest = || file("Cargo.toml");
    for path in [TASK, PROJECT, ORG] {
        stage.related(path, path, kind, manifest()).await;
    }
    let limits = ImpactLimits::default();
    // What each sees, and how many relations are read for it.
    let asked = async |stage: &Stage| {
        let mut found = Vec::new();
        for (path, prefix) in [
            (PROJECT, ORG),
            (TASK, TASK),
            (WORKTREE, "*"),
            (ORG, PROJECT),
        ] {
            let viewer = Viewer {
                scope: scope(path),
                prefix: prefix.parse().unwrap(),
            };
            let before = store.rows_read(Family::Related);
            let start = vec![manifest()];
            let impact = stage
                .node
                .impact_of_standing(&viewer, start, limits, Some(1_000_000));
            let impact = impact.await.unwrap();
            let read = store.rows_read(Family::Related) - before;
            found.push((impact, read));
        }
        found
    };
    let alone = asked(&stage).await;
    for (impact, read) in &alone {
        assert_eq!((impact.affected.len(), *read), (3, 3));
    }
    for number in 0..FOREIGN {
        let title = format!("number {number}");
        stage.related(OTHER_PROJECT, &title, kind, manifest()).await;
        let text = relates(kind, manifest(), says(Rank::Normal, &title));
        stage.given += 1;
        let foreign = Submission {
            principal: principal(PrincipalKind::Human, ELSEWHERE),
            ..submission(
                stage.given,
                PrincipalKind::Human,
                "org/globex/project/api",
                save(None, text),
            )
        };
        stage.node.submit(foreign).await.unwrap();
    }
    assert_eq!(asked(&stage).await, alone);
    // They are there.
    let from_other = stage.impact(OTHER_PROJECT, manifest()).await;
    assert_eq!(from_other.affected.len(), FOREIGN + 1);
}
