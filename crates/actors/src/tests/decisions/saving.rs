//! Saving decisions: chains of versions, who may save what, and what they may be related to.

use sillok_core::ErrorCode;
use sillok_core::command::AnswerBody;
use sillok_core::decision::{Act, Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::membership::WireVersion;
use sillok_core::permission::{Access, allows};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;
use sillok_store::keys::{self, Family};

use super::stage::{Stage, at, claims, file, relates, restore, save, says, sound, withdraw};
use crate::NodeConfig;
use crate::reads::DecisionFilter;
use crate::tests::harness::{PROJECT, TASK, TestNode, ports, scope, store, submission};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE, pairs_of};

/// The paths of one scope of each level.
const LEVELS: [(&str, Level); 4] = [
    (TASK, Level::Task),
    (WORKTREE, Level::Worktree),
    (PROJECT, Level::Project),
    (ORG, Level::Org),
];

#[tokio::test]
async fn a_decision_is_changed_withdrawn_and_restored_as_versions_of_one_chain() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let first = says(Rank::Normal, "one request at a time");
    let root = stage.begin(PROJECT, first.clone()).await;
    let second = claims("http.at_once", "2", says(Rank::Lock, "two at a time"));
    assert_eq!(stage.change(PROJECT, (root, 1), second).await, 2);
    let withdrawn = stage.person(PROJECT, withdraw(root, 2)).await;
    assert_eq!(withdrawn.unwrap(), (root, 3));
    let reader = stage.node.reader().clone();
    let view = reader.decision(&scope(PROJECT), root).await.unwrap();
    let view = view.expect("it stays readable");
    assert!(!view.head.active);
    assert_eq!((view.head.version, view.head.rank), (3, Rank::Lock));
    assert_eq!(view.version.number, 2, "what it said last");
    let restored = stage.person(PROJECT, restore(root, 3, 1)).await;
    assert_eq!(restored.unwrap(), (root, 4));
    let view = reader.decision(&scope(PROJECT), root).await.unwrap();
    let view = view.expect("it is active");
    assert!(view.head.active);
    assert_eq!(view.version.text, Some(first));
    assert_eq!(view.head.claim, None);
    let here = scope(PROJECT);
    let history = reader.decision_history(&here, root, None, 10).await;
    let history = history.unwrap().expect("it was saved");
    assert_eq!(history.next, None);
    let acts: Vec<(u64, Act)> = history
        .items
        .iter()
        .map(|version| (version.number, version.act))
        .collect();
    let from = 1;
    let expected = [
        (1, Act::Begun),
        (2, Act::Changed),
        (3, Act::Withdrawn),
        (4, Act::Restored { from }),
    ];
    assert_eq!(acts, expected);
    assert_eq!(history.items[3].reason, "it holds after all");
    stage.node.shutdown().await;
    assert_eq!(sound(&store).await, None);
}

#[tokio::test]
async fn a_stale_version_is_refused_with_the_current_one() {
    let mut stage = Stage::set().await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "tabs")).await;
    let spaces = || says(Rank::Normal, "spaces");
    stage.change(PROJECT, (root, 1), spaces()).await;
    for stale in [
        save(Some((root, 1)), spaces()),
        withdraw(root, 1),
        restore(root, 1, 1),
    ] {
        let refused = stage.person(PROJECT, stale).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        let current = refused.current().and_then(|current| current.version);
        assert_eq!(current, Some(2));
    }
    assert_eq!(stage.titles(PROJECT).await, ["spaces"]);
}

#[tokio::test]
async fn what_was_withdrawn_is_restored_before_it_is_changed_and_only_then() {
    let mut stage = Stage::set().await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "tabs")).await;
    let early = stage.person(PROJECT, restore(root, 1, 1)).await;
    assert_eq!(early.unwrap_err().code, ErrorCode::Conflict);
    stage.person(PROJECT, withdraw(root, 1)).await.unwrap();
    for late in [
        withdraw(root, 2),
        save(Some((root, 2)), says(Rank::Normal, "spaces")),
    ] {
        let refused = stage.person(PROJECT, late).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
    }
    for silent in [2, 7] {
        let refused = stage.person(PROJECT, restore(root, 2, silent)).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
    }
    stage.person(PROJECT, restore(root, 2, 1)).await.unwrap();
    assert_eq!(stage.titles(PROJECT).await, ["tabs"]);
}

#[tokio::test]
async fn a_decision_that_was_never_saved_is_not_found() {
    let mut stage = Stage::set().await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "tabs")).await;
    let nobody = DecisionId::from_bytes([7; 16]);
    let text = || says(Rank::Normal, "spaces");
    for (path, root) in [(PROJECT, nobody), (WORKTREE, root), (ORG, root)] {
        for command in [
            save(Some((root, 1)), text()),
            withdraw(root, 1),
            restore(root, 1, 1),
        ] {
            let refused = stage.person(path, command).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::NotFound, "{path}");
        }
        let reader = stage.node.reader();
        assert_eq!(reader.decision(&scope(path), root).await.unwrap(), None);
        let here = scope(path);
        let history = reader.decision_history(&here, root, None, 10).await;
        assert_eq!(history.unwrap(), None);
    }
}

#[tokio::test]
async fn each_kind_of_principal_saves_the_ranks_that_the_table_allows() {
    let mut stage = Stage::set().await;
    for kind in PrincipalKind::ALL {
        for (path, level) in LEVELS {
            for rank in Rank::ALL {
                let what = format!("{kind:?} saves {rank} in {path}");
                let saved = stage.give(kind, path, save(None, says(rank, &what))).await;
                let is_allowed = allows(kind, Access::Save(rank), level);
                let is_fit = rank != Rank::Policy || level >= Level::Project;
                match saved.map_err(|refused| (refused.code, refused.rule().map(str::to_owned))) {
                    Ok(_) => assert!(is_allowed && is_fit, "{what}"),
                    Err((ErrorCode::InvalidArgument, _)) => {
                        assert!(is_allowed && !is_fit, "{what}")
                    }
                    Err((code, rule)) => {
                        assert_eq!(code, ErrorCode::Forbidden, "{what}");
                        assert_eq!(rule.as_deref(), Some(Access::Save(rank).rule(level)));
                        assert!(!is_allowed, "{what}");
                    }
                }
            }
        }
    }
    // As the specification has it, and not only as the table does.
    let loaded = stage.titles(TASK).await;
    let has = |what: &str| loaded.iter().any(|title| title.starts_with(what));
    assert!(has(
        "Agent saves normal in org/acme/project/api/worktree/main/task/42"
    ));
    assert!(!has("Agent saves lock") && !has("Orchestrator saves axis") && !has("System"));
    assert!(has("Orchestrator saves lock in org/acme/project/api"));
    assert!(has("Human saves policy in org/acme"));
}

#[tokio::test]
async fn whoever_may_not_save_a_rank_may_not_change_what_has_it() {
    let mut stage = Stage::set().await;
    let axis = stage.begin(PROJECT, says(Rank::Axis, "one API")).await;
    let lock = stage.begin(WORKTREE, says(Rank::Lock, "no unsafe")).await;
    let orchestrator = PrincipalKind::Orchestrator;
    let weaker = save(Some((axis, 1)), says(Rank::Normal, "many APIs"));
    for command in [weaker, withdraw(axis, 1)] {
        let refused = stage.give(orchestrator, PROJECT, command).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        assert_eq!(refused.rule(), Some("control/save_axis"));
    }
    let stronger = says(Rank::Axis, "no unsafe at all");
    let refused = stage
        .give(orchestrator, WORKTREE, save(Some((lock, 1)), stronger))
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
    let refused = stage
        .give(PrincipalKind::Agent, WORKTREE, withdraw(lock, 1))
        .await;
    assert_eq!(
        refused.unwrap_err().rule(),
        Some("control/save_lock_up_to_project")
    );
    let weaker = save(Some((lock, 1)), says(Rank::Normal, "little unsafe"));
    stage.give(orchestrator, WORKTREE, weaker).await.unwrap();
    // One that is withdrawn has its rank still, and so has the text that would hold again.
    stage.person(PROJECT, withdraw(axis, 1)).await.unwrap();
    for command in [
        (PROJECT, restore(axis, 2, 1)),
        (WORKTREE, save(Some((lock, 2)), says(Rank::Axis, "none"))),
    ] {
        let refused = stage.give(orchestrator, command.0, command.1).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
    }
}

#[tokio::test]
async fn a_relation_leads_to_what_is_seen_there_and_active() {
    let mut stage = Stage::set().await;
    let above = stage.begin(ORG, says(Rank::Axis, "one API")).await;
    let beside = stage
        .begin(OTHER_PROJECT, says(Rank::Normal, "one site"))
        .await;
    let below = stage.begin(WORKTREE, says(Rank::Normal, "tabs")).await;
    let gone = stage.begin(PROJECT, says(Rank::Normal, "gone")).await;
    stage.person(PROJECT, withdraw(gone, 1)).await.unwrap();
    let nobody = DecisionId::from_bytes([7; 16]);
    let kind = RelationKind::DependsOn;
    let related = |to| save(None, relates(kind, to, says(Rank::Normal, "related")));
    for (to, code) in [
        (at(PROJECT, nobody), ErrorCode::NotFound),
        (at(ORG, nobody), ErrorCode::NotFound),
        (at(OTHER_PROJECT, beside), ErrorCode::NotFound),
        (at(WORKTREE, below), ErrorCode::NotFound),
        (at(PROJECT, above), ErrorCode::NotFound),
        (at(PROJECT, gone), ErrorCode::Conflict),
        (file("src/lib.rs"), ErrorCode::InvalidArgument),
    ] {
        let refused = stage.person(PROJECT, related(to.clone())).await;
        assert_eq!(refused.unwrap_err().code, code, "{to}");
    }
    stage
        .person(PROJECT, related(at(ORG, above)))
        .await
        .unwrap();
    stage
        .person(WORKTREE, related(at(ORG, above)))
        .await
        .unwrap();
    let own = relates(kind, at(PROJECT, gone), says(Rank::Normal, "gone"));
    stage.person(PROJECT, restore(gone, 2, 1)).await.unwrap();
    let refused = stage.person(PROJECT, save(Some((gone, 3)), own)).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn what_points_to_something_that_was_withdrawn_since_may_stay_and_nothing_new_may() {
    let mut stage = Stage::set().await;
    let target = stage.begin(ORG, says(Rank::Normal, "one API")).await;
    let kind = RelationKind::Constrains;
    let text = |title| relates(kind, at(ORG, target), says(Rank::Normal, title));
    let root = stage.begin(PROJECT, text("first")).await;
    stage.person(ORG, withdraw(target, 1)).await.unwrap();
    assert_eq!(stage.change(PROJECT, (root, 1), text("second")).await, 2);
    let another = stage.person(PROJECT, save(None, text("another"))).await;
    assert_eq!(another.unwrap_err().code, ErrorCode::Conflict);
    stage.person(PROJECT, withdraw(root, 2)).await.unwrap();
    let (_, version) = stage.person(PROJECT, restore(root, 3, 1)).await.unwrap();
    assert_eq!(version, 4, "it had that relation");
}

#[tokio::test]
async fn a_node_that_speaks_an_older_version_saves_no_decision() {
    let config = NodeConfig {
        wire_version: WireVersion::WITH_RESTORING,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store(), ports(), config).await;
    let mut stage = Stage {
        node: node.unwrap(),
        given: 0,
    };
    let refused = stage
        .person(PROJECT, save(None, says(Rank::Normal, "tabs")))
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
    let listed = stage
        .node
        .reader()
        .decisions(&scope(PROJECT), &DecisionFilter::default(), None, 10)
        .await;
    assert!(listed.unwrap().items.is_empty());
}

#[tokio::test]
async fn what_a_batch_changed_is_restored_in_the_same_batch() {
    let store = store();
    let mut stage = Stage::over(&store).await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "tabs")).await;
    let second = claims("indent", "4", says(Rank::Normal, "spaces"));
    let give = |number, command| {
        let given = submission(number, PrincipalKind::Human, PROJECT, command);
        let node = stage.node.clone();
        async move { node.submit(given).await }
    };
    // The others wait for the first one, and make one batch.
    let (before, changed, withdrawn, restored) = tokio::join!(
        give(101, save(None, says(Rank::Normal, "before"))),
        give(102, save(Some((root, 1)), second.clone())),
        give(103, withdraw(root, 2)),
        give(104, restore(root, 3, 2)),
    );
    for answer in [before, changed, withdrawn] {
        answer.unwrap();
    }
    let told = AnswerBody::Decision {
        root,
        version: 4,
        active: true,
    };
    assert_eq!(restored.unwrap().result, told);
    let view = stage.node.reader().decision(&scope(PROJECT), root).await;
    let view = view.unwrap().expect("it was saved");
    assert_eq!(view.version.text, Some(second));
    stage.node.shutdown().await;
    let batches = pairs_of(&store).await.into_iter();
    let batches = batches.filter(|(key, _)| Family::of(key) == Some(Family::Outbox));
    let sizes = batches.map(|(key, value)| {
        let row = keys::outbox::decode(&key, &value).unwrap();
        row.last.get() - row.first.get() + 1
    });
    assert_eq!(sizes.max(), Some(3), "they were one batch");
    assert_eq!(sound(&store).await, None);
}
