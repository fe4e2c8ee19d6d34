//! Short ways to save evidence and to add anchors.

use sillok_core::Error;
use sillok_core::anchor::NewAnchor;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::Node as Place;
use sillok_core::evidence::NewEvidence;
use sillok_core::id::{AnchorId, EvidenceId};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::Family;

use super::stage::Stage;
use crate::tests::harness::{TestStore, scope};
use crate::tests::world::{Pairs, pairs_of};

/// The families that hold evidence and anchors.
pub(super) const KEPT: [Family; 3] = [Family::Evidence, Family::Anchor, Family::AnchorListed];

/// An original that was taken from nowhere in particular.
pub(in crate::tests) fn original(title: &str, content: &str) -> NewEvidence {
    NewEvidence {
        title: title.to_owned(),
        source: "a shell".to_owned(),
        media_type: "text/plain".to_owned(),
        content: content.to_owned(),
    }
}

/// The command that saves it.
pub(in crate::tests) fn keep(evidence: NewEvidence) -> Command {
    Command::SaveEvidence(Box::new(evidence))
}

/// An anchor of all domains.
pub(in crate::tests) fn points_to(hint: &str, to: Vec<Place>) -> NewAnchor {
    NewAnchor {
        hint: hint.to_owned(),
        domain: "global".parse().unwrap(),
        to,
    }
}

/// The same of one domain.
pub(super) fn listed_in(domain: &str, anchor: NewAnchor) -> NewAnchor {
    NewAnchor {
        domain: domain.parse().unwrap(),
        ..anchor
    }
}

/// The command that adds them.
pub(in crate::tests) fn point(anchors: Vec<NewAnchor>) -> Command {
    Command::AddAnchors { anchors }
}

/// The command that drops one.
pub(super) fn let_go(anchor: AnchorId) -> Command {
    Command::DropAnchor {
        anchor,
        reason: "it leads nowhere new".to_owned(),
    }
}

/// Evidence of a scope as what something leads to.
pub(super) fn kept(path: &str, id: EvidenceId) -> Place {
    Place::Evidence {
        scope: scope(path),
        id,
    }
}

impl Stage {
    /// Has a person save evidence.
    pub(super) async fn keep(&mut self, path: &str, title: &str, content: &str) -> EvidenceId {
        let command = keep(original(title, content));
        let answer = self.give(PrincipalKind::Human, path, command).await;
        match answer.unwrap() {
            AnswerBody::EvidenceSaved { id, .. } => id,
            other => panic!("evidence was answered with {other:?}"),
        }
    }

    /// Has a person add anchors.
    pub(super) async fn point(
        &mut self,
        path: &str,
        anchors: Vec<NewAnchor>,
    ) -> Result<Vec<AnchorId>, Error> {
        let command = point(anchors);
        match self.give(PrincipalKind::Human, path, command).await? {
            AnswerBody::AnchorsAdded { ids } => Ok(ids),
            other => panic!("anchors were answered with {other:?}"),
        }
    }

    /// Has a person add one anchor of all domains.
    pub(super) async fn point_to(&mut self, path: &str, hint: &str, to: Vec<Place>) -> AnchorId {
        let added = self.point(path, vec![points_to(hint, to)]).await;
        added.unwrap()[0]
    }

    /// Has a person drop an anchor.
    pub(super) async fn let_go(&mut self, path: &str, anchor: AnchorId) -> Result<(), Error> {
        let command = let_go(anchor);
        match self.give(PrincipalKind::Human, path, command).await? {
            AnswerBody::Done => Ok(()),
            other => panic!("a drop was answered with {other:?}"),
        }
    }
}

/// The rows of evidence and anchors that a store holds.
pub(super) async fn rows_kept(store: &TestStore) -> Pairs {
    let mut pairs = pairs_of(store).await;
    pairs.retain(|key, _| Family::of(key).is_some_and(|family| KEPT.contains(&family)));
    pairs
}
