//! Anchors: adding and dropping them, listing them, and following them to what they lead to.

use sillok_core::ErrorCode;
use sillok_core::anchor::{Anchor, Lead, NewAnchor, Standing};
use sillok_core::command::Command;
use sillok_core::decision::{Node as Place, Rank};
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};
use sillok_core::limits::{
    ANCHOR_HINT_BYTES_MAX, ANCHOR_NODES_MAX, ANCHORS_PER_COMMAND_MAX, CHUNK_BYTES, PAGE_ROWS_MAX,
};
use sillok_core::permission::{Access, allows};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::kept::{keep, kept, let_go, listed_in, original, point, points_to, rows_kept};
use super::stage::{Stage, at, file, says, sound, viewer, withdraw};
use crate::reads::{AnchorFilter, FollowedItem, Reader, Viewer};
use crate::tests::harness::{
    PROJECT, TASK, TestStore, command_id, later_node, principal, scope, store, submission,
};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};

/// The anchors of the project, in pages, by their hints.
async fn listed(reader: &Reader<TestStore>, filter: &AnchorFilter, limit: usize) -> Vec<String> {
    let (mut hints, mut after) = (Vec::new(), None);
    loop {
        let page = reader.anchors(&scope(PROJECT), filter, after, limit).await;
        let page = page.unwrap();
        assert!(page.items.len() <= limit);
        hints.extend(page.items.into_iter().map(|anchor: Anchor| anchor.hint));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    hints.sort_unstable();
    hints
}

#[tokio::test]
async fn anchors_of_a_scope_are_listed_in_pages_until_they_are_dropped() {
    let mut stage = Stage::set().await;
    let run = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    let to = || vec![kept(PROJECT, run)];
    let anchors = vec![
        points_to("one", to()),
        listed_in("ui", points_to("two, of ui", to())),
        points_to("three", to()),
    ];
    let added = stage.point(PROJECT, anchors).await.unwrap();
    assert_eq!(added.len(), 3);
    stage.point_to(TASK, "below", to()).await;
    let every = AnchorFilter::default();
    let with_dropped = AnchorFilter {
        dropped: true,
        ..every.clone()
    };
    let of_ui = AnchorFilter {
        domain: Some("ui".parse().unwrap()),
        ..every.clone()
    };
    for limit in [1, 2, 100] {
        let reader = stage.node.reader();
        let all = listed(reader, &every, limit).await;
        assert_eq!(all, ["one", "three", "two, of ui"]);
        assert_eq!(listed(reader, &of_ui, limit).await, ["two, of ui"]);
    }
    stage.let_go(PROJECT, added[0]).await.unwrap();
    let reader = stage.node.reader();
    for limit in [1, 2, 100] {
        assert_eq!(listed(reader, &every, limit).await, ["three", "two, of ui"]);
        let all = listed(reader, &with_dropped, limit).await;
        assert_eq!(all, ["one", "three", "two, of ui"]);
    }
    let dropped = reader.anchor(&scope(PROJECT), added[0]).await.unwrap();
    assert!(dropped.expect("it stays readable").anchor.is_dropped());
    for (limit, code) in [
        (0, ErrorCode::InvalidArgument),
        (PAGE_ROWS_MAX + 1, ErrorCode::TooLarge),
    ] {
        let refused = reader.anchors(&scope(PROJECT), &every, None, limit).await;
        assert_eq!(refused.unwrap_err().code, code);
    }
}

/// Decisions of each rank, of the project and above it, and evidence of both.
struct Originals {
    policy: DecisionId,
    axis: DecisionId,
    lock: DecisionId,
    normal: DecisionId,
    small: EvidenceId,
    large: EvidenceId,
}

impl Originals {
    async fn of(stage: &mut Stage) -> Self {
        let large = "12 ms, and again\n".repeat(CHUNK_BYTES / 8);
        Self {
            normal: stage.begin(PROJECT, says(Rank::Normal, "normal")).await,
            lock: stage.begin(PROJECT, says(Rank::Lock, "lock")).await,
            axis: stage.begin(ORG, says(Rank::Axis, "axis")).await,
            policy: stage.begin(ORG, says(Rank::Policy, "policy")).await,
            small: stage.keep(PROJECT, "small", "p99 is 12 ms").await,
            large: stage.keep(ORG, "large", &large).await,
        }
    }

    /// All of them, the weakest first.
    fn nodes(&self) -> Vec<Place> {
        vec![
            kept(ORG, self.large),
            at(PROJECT, self.normal),
            kept(PROJECT, self.small),
            at(PROJECT, self.lock),
            at(ORG, self.axis),
            at(ORG, self.policy),
        ]
    }
}

fn standing(leads: &[Lead]) -> Vec<(&str, Option<Rank>, Standing)> {
    let told = leads.iter();
    told.map(|lead| (lead.title.as_str(), lead.rank, lead.standing))
        .collect()
}

#[tokio::test]
async fn an_anchor_tells_what_it_leads_to_by_rank_and_how_that_stands_by_now() {
    let mut stage = Stage::set().await;
    let originals = Originals::of(&mut stage).await;
    let id = stage
        .point_to(PROJECT, "how it came", originals.nodes())
        .await;
    let here = scope(PROJECT);
    let view = stage.node.reader().anchor(&here, id).await.unwrap();
    let view = view.expect("it was added");
    assert_eq!(view.anchor.to, originals.nodes(), "as it was declared");
    assert_eq!((view.anchor.id, view.anchor.is_dropped()), (id, false));
    let holds = Standing::Holds;
    let expected = |lock| {
        [
            ("policy", Some(Rank::Policy), holds),
            ("axis", Some(Rank::Axis), holds),
            ("lock", Some(Rank::Lock), lock),
            ("normal", Some(Rank::Normal), holds),
            ("large", None, holds),
            ("small", None, holds),
        ]
    };
    assert_eq!(standing(&view.leads), expected(holds));
    let lock = withdraw(originals.lock, 1);
    stage.person(PROJECT, lock).await.unwrap();
    let view = stage.node.reader().anchor(&here, id).await.unwrap();
    let leads = view.expect("it is there still").leads;
    assert_eq!(standing(&leads), expected(Standing::Withdrawn));
    let nobody = AnchorId::from_bytes([7; 16]);
    for (path, id) in [(PROJECT, nobody), (ORG, id), (TASK, id)] {
        let found = stage.node.reader().anchor(&scope(path), id).await;
        assert_eq!(found.unwrap(), None, "{path}");
    }
}

#[tokio::test]
async fn an_anchor_is_followed_to_the_originals_in_the_order_of_their_ranks() {
    let mut stage = Stage::set().await;
    let originals = Originals::of(&mut stage).await;
    let id = stage
        .point_to(PROJECT, "how it came", originals.nodes())
        .await;
    stage
        .change(
            PROJECT,
            (originals.normal, 1),
            says(Rank::Normal, "changed"),
        )
        .await;
    stage.let_go(PROJECT, id).await.unwrap();
    let (reader, here) = (stage.node.reader(), scope(PROJECT));
    for from in [TASK, PROJECT, ORG] {
        let found = reader.follow(&viewer(from), &here, id).await.unwrap();
        let found = found.expect("it is followed although it was dropped");
        assert!(found.anchor.is_dropped());
        let mut told = Vec::new();
        for item in &found.items {
            match item {
                FollowedItem::Decision { scope, view } => {
                    let text = view.version.text.as_ref().unwrap();
                    assert_eq!(text.title, view.head.title);
                    told.push(format!("{} {scope}", text.title));
                }
                FollowedItem::Evidence { scope, head, text } => {
                    let is_small = text.as_deref() == Some("p99 is 12 ms");
                    assert_eq!(is_small, head.title == "small");
                    assert_eq!(text.is_none(), head.title == "large");
                    told.push(format!("{} {scope}", head.title));
                }
                FollowedItem::Gone { to } => panic!("{to} is there"),
            }
        }
        let expected = [
            format!("policy {ORG}"),
            format!("axis {ORG}"),
            format!("lock {PROJECT}"),
            format!("changed {PROJECT}"),
            format!("large {ORG}"),
            format!("small {PROJECT}"),
        ];
        assert_eq!(told, expected);
    }
    let nobody = AnchorId::from_bytes([7; 16]);
    let none = reader.follow(&viewer(PROJECT), &here, nobody).await;
    assert_eq!(none.unwrap(), None);
}

#[tokio::test]
async fn nobody_follows_an_anchor_whose_scope_is_not_seen_nor_to_what_is_not() {
    let mut stage = Stage::set().await;
    let originals = Originals::of(&mut stage).await;
    let to = vec![at(PROJECT, originals.lock), kept(ORG, originals.large)];
    let id = stage.point_to(WORKTREE, "how it came", to).await;
    let (reader, there) = (stage.node.reader(), scope(WORKTREE));
    let beside = viewer(OTHER_PROJECT);
    assert_eq!(reader.follow(&beside, &there, id).await.unwrap(), None);
    // Who looks from above sees what lies inside as far as the token reaches.
    let narrow = Viewer {
        scope: scope(ORG),
        prefix: OTHER_PROJECT.parse().unwrap(),
    };
    assert_eq!(reader.follow(&narrow, &there, id).await.unwrap(), None);
    let reaching = Viewer {
        scope: scope(ORG),
        prefix: WORKTREE.parse().unwrap(),
    };
    let found = reader.follow(&reaching, &there, id).await.unwrap();
    let items = found.expect("its scope is seen").items;
    let to = at(PROJECT, originals.lock);
    assert_eq!(items.len(), 2);
    assert!(matches!(&items[0], FollowedItem::Evidence { .. }));
    assert_eq!(
        items[1],
        FollowedItem::Gone { to },
        "the project is not seen"
    );
}

#[tokio::test]
async fn an_anchor_points_to_what_is_seen_there_and_active() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let here = stage.begin(PROJECT, says(Rank::Normal, "here")).await;
    let above = stage.begin(ORG, says(Rank::Axis, "above")).await;
    let gone = stage.begin(PROJECT, says(Rank::Normal, "gone")).await;
    let gone_above = stage.begin(ORG, says(Rank::Normal, "gone above")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    stage.person(ORG, withdraw(gone_above, 1)).await.unwrap();
    let below = stage.begin(TASK, says(Rank::Normal, "below")).await;
    let run = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    let beside = stage.keep(OTHER_PROJECT, "beside", "p99 is 9 ms").await;
    let before = rows_kept(&store).await;
    let (nobody, nothing) = (
        DecisionId::from_bytes([7; 16]),
        EvidenceId::from_bytes([7; 16]),
    );
    let (invalid, not_found) = (ErrorCode::InvalidArgument, ErrorCode::NotFound);
    let good = || kept(PROJECT, run);
    for (to, code) in [
        (vec![], invalid),
        (vec![good(), file("src/lib.rs")], invalid),
        (vec![good(), at(PROJECT, here), good()], invalid),
        (vec![good(); ANCHOR_NODES_MAX + 1], ErrorCode::TooLarge),
        (vec![good(), at(PROJECT, nobody)], not_found),
        (vec![good(), at(ORG, nobody)], not_found),
        (vec![good(), at(PROJECT, above)], not_found),
        (vec![good(), at(TASK, below)], not_found),
        (vec![good(), kept(PROJECT, nothing)], not_found),
        (vec![good(), kept(ORG, nothing)], not_found),
        (vec![good(), kept(ORG, run)], not_found),
        (vec![good(), kept(OTHER_PROJECT, beside)], not_found),
        (vec![good(), at(PROJECT, gone)], ErrorCode::Conflict),
        (vec![good(), at(ORG, gone_above)], ErrorCode::Conflict),
    ] {
        // What would be added before it is not added either.
        let anchors = vec![
            points_to("good", vec![good()]),
            points_to("bad", to.clone()),
        ];
        let refused = stage.point(PROJECT, anchors).await.unwrap_err();
        assert_eq!(refused.code, code, "{to:?}");
    }
    let hint = |hint: &str| vec![points_to(hint, vec![good()])];
    for (anchors, code) in [
        (vec![], invalid),
        (hint(" "), invalid),
        (
            hint(&"x".repeat(ANCHOR_HINT_BYTES_MAX + 1)),
            ErrorCode::TooLarge,
        ),
        (
            many(ANCHORS_PER_COMMAND_MAX + 1, &good()),
            ErrorCode::TooLarge,
        ),
    ] {
        let refused = stage.point(PROJECT, anchors).await.unwrap_err();
        assert_eq!(refused.code, code);
    }
    assert_eq!(rows_kept(&store).await, before, "nothing was added");
    let most = many(ANCHORS_PER_COMMAND_MAX, &good());
    let added = stage.point(PROJECT, most).await.unwrap();
    assert_eq!(added.len(), ANCHORS_PER_COMMAND_MAX);
    let to = vec![good(), at(PROJECT, here), at(ORG, above)];
    stage.point_to(PROJECT, "good", to).await;
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

fn many(count: usize, to: &Place) -> Vec<NewAnchor> {
    let numbers = 0..count;
    numbers
        .map(|number| points_to(&format!("number {number}"), vec![to.clone()]))
        .collect()
}

#[tokio::test]
async fn an_anchor_is_dropped_once_and_in_its_own_scope() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let run = stage.keep(PROJECT, "a run", "p99 is 12 ms").await;
    let id = stage
        .point_to(PROJECT, "how fast", vec![kept(PROJECT, run)])
        .await;
    let nobody = AnchorId::from_bytes([7; 16]);
    for (path, id) in [(PROJECT, nobody), (ORG, id), (TASK, id)] {
        let refused = stage.let_go(path, id).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound, "{path}");
    }
    let silent = Command::DropAnchor {
        anchor: id,
        reason: " ".to_owned(),
    };
    let refused = stage.give(PrincipalKind::Human, PROJECT, silent).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
    stage.let_go(PROJECT, id).await.unwrap();
    let refused = stage.let_go(PROJECT, id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    stage.node.shutdown().await;
    // Another node finds it in the store, and not in what it remembers.
    let mut stage = Stage {
        node: later_node(&store).await,
        given: 100,
    };
    let refused = stage.let_go(PROJECT, id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn what_a_batch_saved_is_pointed_to_and_dropped_in_the_same_batch() {
    let store = store();
    let stage = Stage::over(&store).await;
    let give = |number, command| {
        let given = submission(number, PrincipalKind::Human, PROJECT, command);
        let node = stage.node.clone();
        async move { node.submit(given).await }
    };
    let (here, human) = (scope(PROJECT), principal(PrincipalKind::Human, ORG));
    let human = human.actor.to_string();
    let run = EvidenceId::derived(&here, &human, command_id(2));
    let anchor = AnchorId::derived(&here, &human, command_id(3), 0);
    let command = point(vec![points_to("how fast", vec![kept(PROJECT, run)])]);
    // The first holds the scope up, so that the others wait together.
    let (before, saved, added, dropped) = tokio::join!(
        give(1, keep(original("before", "it was slow"))),
        give(2, keep(original("a run", "p99 is 12 ms"))),
        give(3, command),
        give(4, let_go(anchor)),
    );
    for answer in [before, saved, added, dropped] {
        answer.unwrap();
    }
    let found = stage.node.reader().anchor(&here, anchor).await.unwrap();
    let found = found.expect("it was added");
    assert!(found.anchor.is_dropped());
    assert_eq!(found.leads[0].standing, Standing::Holds);
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn whoever_may_save_a_normal_decision_may_add_and_drop_anchors() {
    let mut stage = Stage::set().await;
    let run = stage.keep(ORG, "a run", "p99 is 12 ms").await;
    for kind in PrincipalKind::ALL {
        for (path, level) in [
            (TASK, Level::Task),
            (WORKTREE, Level::Worktree),
            (PROJECT, Level::Project),
            (ORG, Level::Org),
        ] {
            let is_allowed = allows(kind, Access::Save(Rank::Normal), level);
            let to = vec![kept(ORG, run)];
            let standing = stage.point_to(path, "it stands", to.clone()).await;
            for command in [point(vec![points_to("another", to)]), let_go(standing)] {
                let answer = stage.give(kind, path, command).await;
                assert_eq!(answer.is_ok(), is_allowed, "{kind:?} {path}");
                if let Err(refused) = answer {
                    assert_eq!(refused.code, ErrorCode::Forbidden);
                }
            }
        }
    }
}
