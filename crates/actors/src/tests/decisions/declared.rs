//! Declared kinds of relations: where they count, what a change reaches over them, and who declares one first.

use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::{DeclaredKind, Node as Place, Rank, Reach, RelationKind};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::Family;

use super::stage::{PLACES, Stage, affected, at, relates, restore, save, says, sound, withdraw};
use crate::NodeConfig;
use crate::reads::DeclaredView;
use crate::tests::harness::{PROJECT, TASK, TestNode, ports, scope, store, submission};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE, pairs_of};

/// A kind, as it is declared and used.
pub(in crate::tests) fn kind(name: &str, reach: Reach) -> DeclaredKind {
    DeclaredKind {
        name: name.parse().unwrap(),
        reach,
    }
}

/// The command that declares it.
pub(in crate::tests) fn declare(kind: DeclaredKind) -> Command {
    Command::DeclareRelation {
        name: kind.name,
        reach: kind.reach,
        meaning: format!("the one {kind:?} the other"),
    }
}

impl Stage {
    /// Has a person declare a kind: the code of the refusal, if it is refused.
    async fn declare(&mut self, path: &str, kind: DeclaredKind) -> Result<(), ErrorCode> {
        let human = PrincipalKind::Human;
        match self.give(human, path, declare(kind)).await {
            Ok(AnswerBody::Done) => Ok(()),
            Ok(other) => panic!("a declaration was answered with {other:?}"),
            Err(refused) => Err(refused.code),
        }
    }

    /// Has a person relate a decision to another by a declared kind.
    async fn joins(
        &mut self,
        path: &str,
        title: &str,
        (kind, to): (DeclaredKind, Place),
    ) -> Result<Place, ErrorCode> {
        let kind = RelationKind::Declared(kind);
        let text = relates(kind, to, says(Rank::Normal, title));
        let saved = self.person(path, save(None, text)).await;
        saved
            .map(|(root, _)| at(path, root))
            .map_err(|refused| refused.code)
    }

    /// What counts somewhere, by name and who declared it, in pages of so many.
    async fn declared(&self, path: &str, limit: usize) -> Vec<(String, String)> {
        let (reader, here) = (self.node.reader(), scope(path));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = reader.declared_relations(&here, after, limit).await;
            let page = page.unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items.into_iter().map(|one| {
                let DeclaredView { scope, declared } = one;
                (declared.name.to_string(), scope.to_string())
            }));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    }
}

#[tokio::test]
async fn a_change_goes_over_a_declared_relation_the_ways_that_were_declared() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let to = at(ORG, target);
    let mut back = Vec::new();
    for reach in Reach::ALL {
        let kind = kind(&format!("GOES_{reach}"), reach);
        stage.declare(PROJECT, kind).await.unwrap();
        let title = reach.to_string();
        let from = stage.joins(WORKTREE, &title, (kind, to.clone())).await;
        let reached = affected(&stage.impact(TASK, from.unwrap()).await);
        assert_eq!(!reached.is_empty(), reach.carries_on(), "{reach}");
        back.extend(reach.carries_back().then_some(title));
    }
    let impact = stage.impact(TASK, to).await;
    let mut reached = affected(&impact);
    reached.sort_unstable();
    assert_eq!(reached, back);
    let first = impact.path(0);
    assert!(first[0].kind.declared().is_some(), "{first:?}");
    stage.node.shutdown().await;
    assert_eq!(sound(&memory).await, None);
}

#[tokio::test]
async fn a_kind_counts_where_it_was_declared_and_in_all_that_lies_inside() {
    let mut stage = Stage::set().await;
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let to = at(ORG, target);
    let (wide, narrow) = (kind("WIDE", Reach::Forward), kind("NARROW", Reach::Both));
    for kind in [wide, narrow] {
        let unknown = stage.joins(PROJECT, "early", (kind, to.clone())).await;
        assert_eq!(unknown, Err(ErrorCode::InvalidArgument));
    }
    stage.declare(ORG, wide).await.unwrap();
    stage.declare(PROJECT, narrow).await.unwrap();
    for path in PLACES {
        let inside = [PROJECT, WORKTREE, TASK].contains(&path);
        for (kind, counts) in [(wide, true), (narrow, inside)] {
            let title = format!("{kind:?} of {path}");
            let saved = stage.joins(path, &title, (kind, to.clone())).await;
            assert_eq!(saved.is_ok(), counts, "{title}");
            let (reader, named) = (stage.node.reader(), [kind.name].into());
            let found = reader.declared_reaches(&scope(path), named).await;
            let expected = counts.then_some((kind.name, kind.reach));
            assert_eq!(found.unwrap(), expected.into_iter().collect(), "{title}");
            // Its reach is part of what it is.
            let otherwise = DeclaredKind {
                reach: Reach::Neither,
                ..kind
            };
            let refused = stage.joins(path, &title, (otherwise, to.clone())).await;
            assert_eq!(refused, Err(ErrorCode::InvalidArgument), "{title}");
        }
    }
    let (of_org, of_project) = (
        ("WIDE".to_owned(), ORG.to_owned()),
        ("NARROW".to_owned(), PROJECT.to_owned()),
    );
    for limit in [1, 2, 100] {
        let both = [of_project.clone(), of_org.clone()];
        assert_eq!(stage.declared(TASK, limit).await, both);
        assert_eq!(stage.declared(PROJECT, limit).await, both);
        let one = [of_org.clone()];
        assert_eq!(stage.declared(OTHER_PROJECT, limit).await, one);
        assert_eq!(stage.declared(ORG, limit).await, one);
    }
}

#[tokio::test]
async fn a_name_is_declared_once_on_its_way_and_what_is_nearer_counts() {
    let mut stage = Stage::set().await;
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let to = at(ORG, target);
    let (near, far) = (
        kind("LEADS", Reach::Forward),
        kind("LEADS", Reach::Backward),
    );
    stage.declare(PROJECT, near).await.unwrap();
    // What lies inside does not bind what lies around.
    stage.declare(ORG, far).await.unwrap();
    for (path, again) in [
        (PROJECT, near),
        (PROJECT, far),
        (ORG, far),
        (OTHER_PROJECT, near),
    ] {
        let refused = stage.declare(path, again).await;
        assert_eq!(refused, Err(ErrorCode::Conflict), "{path}");
    }
    for path in [WORKTREE, TASK] {
        let refused = stage.declare(path, kind("OTHER", Reach::Both)).await;
        assert_eq!(refused, Err(ErrorCode::InvalidScope), "{path}");
    }
    for (path, counts, other) in [(TASK, near, far), (OTHER_PROJECT, far, near)] {
        let saved = stage.joins(path, path, (counts, to.clone())).await;
        saved.unwrap();
        let refused = stage.joins(path, path, (other, to.clone())).await;
        assert_eq!(refused, Err(ErrorCode::InvalidArgument), "{path}");
    }
    for limit in [1, 100] {
        let told = |path: &str| vec![("LEADS".to_owned(), path.to_owned())];
        assert_eq!(stage.declared(TASK, limit).await, told(PROJECT));
        assert_eq!(stage.declared(OTHER_PROJECT, limit).await, told(ORG));
    }
}

#[tokio::test]
async fn two_kinds_join_the_same_decisions_and_go_with_what_says_them() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let target = stage.begin(PROJECT, says(Rank::Lock, "target")).await;
    let to = at(PROJECT, target);
    let kinds = [
        kind("FIRST", Reach::Backward),
        kind("SECOND", Reach::Neither),
    ];
    let mut text = says(Rank::Normal, "joined");
    for kind in kinds {
        stage.declare(ORG, kind).await.unwrap();
        text = relates(RelationKind::Declared(kind), to.clone(), text);
    }
    let related = async |expected: usize| {
        let pairs = pairs_of(&memory).await;
        let is_relation = |key: &&Vec<u8>| Family::of(key) == Some(Family::Related);
        assert_eq!(pairs.keys().filter(is_relation).count(), expected);
        assert_eq!(sound(&memory).await, None);
    };
    let root = stage.begin(PROJECT, text.clone()).await;
    related(2).await;
    let kept = relates(
        RelationKind::Declared(kinds[1]),
        to.clone(),
        says(Rank::Normal, "less"),
    );
    stage.change(PROJECT, (root, 1), kept).await;
    related(1).await;
    assert!(stage.impact(PROJECT, to.clone()).await.affected.is_empty());
    stage.person(PROJECT, withdraw(root, 2)).await.unwrap();
    related(0).await;
    stage.person(PROJECT, restore(root, 3, 1)).await.unwrap();
    related(2).await;
    assert_eq!(affected(&stage.impact(PROJECT, to).await), ["joined"]);
}

/// A project and the organisation around it declare one name at the same time, the organisation after so many turns of the
/// runtime. Whether the project's was taken: then it was the first, and what it declared counts in it.
async fn declared_while_declared_around(turns: usize) -> bool {
    let memory = store();
    let line = Line::new(&memory, Fate::Lingers);
    let node = TestNode::start(line, ports(), NodeConfig::default()).await;
    let mut stage = Stage {
        node: node.unwrap(),
        given: 0,
    };
    let target = stage.begin(ORG, says(Rank::Axis, "target")).await;
    let (near, far) = (
        kind("LEADS", Reach::Forward),
        kind("LEADS", Reach::Backward),
    );
    let node = &stage.node;
    let give = |number, path: &'static str, kind| {
        let given = submission(number, PrincipalKind::Human, path, declare(kind));
        async move { node.submit(given).await }
    };
    let inside = give(101, PROJECT, near);
    let around = async {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        give(102, ORG, far).await
    };
    let (inside, around) = tokio::join!(inside, around);
    around.unwrap();
    let is_taken = inside.is_ok();
    if let Err(refused) = inside {
        assert_eq!(refused.code, ErrorCode::Conflict);
    }
    let to = at(ORG, target);
    for (kind, counts) in [(near, is_taken), (far, !is_taken)] {
        let saved = stage.joins(PROJECT, "joined", (kind, to.clone())).await;
        assert_eq!(saved.is_ok(), counts, "after {turns} turns");
    }
    stage.node.shutdown().await;
    assert_eq!(sound(&memory).await, None);
    let declared = pairs_of(&memory).await;
    let is_declared = |key: &&Vec<u8>| Family::of(key) == Some(Family::DeclaredRelation);
    let rows = declared.keys().filter(is_declared).count();
    assert_eq!(rows, 1 + usize::from(is_taken));
    is_taken
}

#[tokio::test]
async fn who_declares_a_name_that_is_declared_around_it_meanwhile_is_refused() {
    let (mut taken, mut refused) = (0, 0);
    for turns in (0..600).step_by(20) {
        match Box::pin(declared_while_declared_around(turns)).await {
            true => taken += 1,
            false => refused += 1,
        }
    }
    assert!(taken > 0 && refused > 0, "{taken} {refused}");
}
