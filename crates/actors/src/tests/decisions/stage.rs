//! A node on which decisions are made, and short ways to make them.

use std::sync::Arc;

use sillok_core::Error;
use sillok_core::brief::{Brief, BriefItem};
use sillok_core::command::{AnswerBody, Command, DecisionRef, SaveDecision};
use sillok_core::decision::{NewDecision, Node as Place, Rank, Relation, RelationKind};
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_core::principal::PrincipalKind;

use crate::protocol::Without;
use crate::reads::{BriefQuery, Viewer};
use crate::tests::harness::{
    AS_MEANT, PROJECT, TASK, TestNode, TestStore, ports, scope, store, submission,
};
use crate::tests::index::HookedIndex;
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE};
use crate::{NodeConfig, Ports, audit};

/// A decision about everything, whose content tells it apart.
pub(in crate::tests) fn says(rank: Rank, title: &str) -> NewDecision {
    NewDecision {
        rank,
        domain: "global".parse().unwrap(),
        phase: None,
        title: title.to_owned(),
        content: format!("{title}, and so it is done."),
        claim: None,
        relations: Vec::new(),
    }
}

/// The same of one domain.
pub(super) fn of_domain(domain: &str, text: NewDecision) -> NewDecision {
    NewDecision {
        domain: domain.parse().unwrap(),
        ..text
    }
}

/// The same with what it claims.
pub(in crate::tests) fn claims(key: &str, value: &str, text: NewDecision) -> NewDecision {
    let claim = Claim {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    NewDecision {
        claim: Some(claim),
        ..text
    }
}

/// The same with one relation more.
pub(in crate::tests) fn relates(
    kind: RelationKind,
    to: Place,
    mut text: NewDecision,
) -> NewDecision {
    text.relations.push(Relation { kind, to });
    text
}

/// A decision of a scope as what something is related to.
pub(super) fn at(path: &str, root: DecisionId) -> Place {
    Place::Decision {
        scope: scope(path),
        root,
    }
}

pub(super) fn file(path: &str) -> Place {
    Place::file(path).unwrap()
}

/// The command that begins a chain, or changes the decision in the version that is named.
pub(in crate::tests) fn save(change: Option<(DecisionId, u64)>, text: NewDecision) -> Command {
    let change = change.map(|(root, expected_version)| DecisionRef {
        root,
        expected_version,
    });
    Command::SaveDecision(Box::new(SaveDecision {
        change,
        text,
        reason: "it was talked over".to_owned(),
    }))
}

pub(super) fn withdraw(root: DecisionId, expected_version: u64) -> Command {
    Command::DeactivateDecision {
        root,
        expected_version,
        reason: "it does not hold any more".to_owned(),
    }
}

pub(super) fn restore(root: DecisionId, expected_version: u64, version: u64) -> Command {
    Command::RestoreDecision {
        root,
        expected_version,
        version,
        reason: "it holds after all".to_owned(),
    }
}

/// Who looks in a scope with a token of the whole organisation.
pub(super) fn viewer(path: &str) -> Viewer {
    Viewer {
        scope: scope(path),
        prefix: ORG.parse().unwrap(),
    }
}

/// A node on which decisions are made by a person, unless another is named.
pub(super) struct Stage {
    pub(super) node: TestNode,
    pub(super) given: u64,
}

impl Stage {
    pub(super) async fn set() -> Self {
        Self::over(&store()).await
    }

    /// A node on a store that is there.
    pub(super) async fn over(store: &TestStore) -> Self {
        Self::under(AS_MEANT, store).await
    }

    /// A node whose index counts how often it is asked.
    pub(super) async fn asking() -> (Self, Arc<HookedIndex>) {
        let index = HookedIndex::new(|_| ());
        let ports = Ports {
            index: index.clone(),
            ..ports()
        };
        let node = TestNode::start(store(), ports, NodeConfig::default()).await;
        let node = node.unwrap();
        (Self { node, given: 0 }, index)
    }

    pub(super) async fn under(protocol: Without, store: &TestStore) -> Self {
        let node =
            TestNode::start_as(store.clone(), ports(), NodeConfig::default(), protocol).await;
        Self {
            node: node.unwrap(),
            given: 0,
        }
    }

    pub(super) async fn give(
        &mut self,
        kind: PrincipalKind,
        path: &str,
        command: Command,
    ) -> Result<AnswerBody, Error> {
        self.given += 1;
        let given = submission(self.given, kind, path, command);
        Ok(self.node.submit(given).await?.result)
    }

    /// What a person's command about a decision was answered with: its root, and its version.
    pub(super) async fn person(
        &mut self,
        path: &str,
        command: Command,
    ) -> Result<(DecisionId, u64), Error> {
        match self.give(PrincipalKind::Human, path, command).await? {
            AnswerBody::Decision { root, version, .. } => Ok((root, version)),
            other => panic!("a decision was answered with {other:?}"),
        }
    }

    /// Has a person begin a chain.
    pub(super) async fn begin(&mut self, path: &str, text: NewDecision) -> DecisionId {
        self.person(path, save(None, text)).await.unwrap().0
    }

    /// Has a person change a decision: the number of the version.
    pub(super) async fn change(
        &mut self,
        path: &str,
        (root, expected_version): (DecisionId, u64),
        text: NewDecision,
    ) -> u64 {
        let command = save(Some((root, expected_version)), text);
        self.person(path, command).await.unwrap().1
    }

    pub(super) async fn brief(&self, path: &str, query: BriefQuery) -> Brief {
        self.node
            .brief_of_standing(&viewer(path), query)
            .await
            .unwrap()
    }

    /// What a brief for everything loads, by title.
    pub(super) async fn titles(&self, path: &str) -> Vec<String> {
        titles(&self.brief(path, BriefQuery::default()).await)
    }

    pub(super) async fn impact(&self, path: &str, start: Place) -> Impact {
        let limits = ImpactLimits::default();
        let (viewer, start) = (viewer(path), vec![start]);
        let found = self
            .node
            .impact_of_standing(&viewer, start, limits, None)
            .await;
        found.unwrap()
    }
}

/// The titles of what a brief loads with its text, in order.
pub(super) fn titles(brief: &Brief) -> Vec<String> {
    let decisions = brief.items.iter().filter_map(|item| match item {
        BriefItem::Decision { version, .. } => version.text.as_ref(),
        BriefItem::Structural { .. } | BriefItem::Anchor { .. } => None,
    });
    decisions.map(|text| text.title.clone()).collect()
}

/// The titles of the decisions that are affected, and the files and symbols among them, in order.
pub(super) fn affected(impact: &Impact) -> Vec<String> {
    let shown = impact.affected.iter().map(|one| match &one.title {
        Some(title) => title.clone(),
        None => one.node.to_string(),
    });
    shown.collect()
}

/// The scopes in which decisions are made.
pub(super) const PLACES: [&str; 5] = [ORG, PROJECT, WORKTREE, TASK, OTHER_PROJECT];

/// What an audit says of a store.
pub(in crate::tests) async fn sound(store: &TestStore) -> Option<String> {
    let report = audit::verify(store, &|_| {}).await.unwrap();
    report.first.map(|difference| difference.to_string())
}
