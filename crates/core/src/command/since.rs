//! Which commands older nodes read.
//!
//! Owns the version of each command, and of the citations and relations that it brings; and in which form a command is given to
//! nodes that do not read it, where it has such a form.

use super::Command;
use crate::citation::Citation;
use crate::decision::{Relation, RelationKind};
use crate::membership::WireVersion;

impl Command {
    /// The version that all nodes have to read before the command may be given: an older one reads neither
    /// the command nor the events that it leads to.
    #[must_use]
    pub fn since(&self) -> WireVersion {
        let is_newer = |relation: &Relation| {
            matches!(
                relation.kind,
                RelationKind::RestsOn | RelationKind::Declared(_)
            )
        };
        let has_excerpt = |citations: &[Citation]| {
            let is_excerpt = |citation: &Citation| matches!(citation, Citation::Excerpt(_));
            citations.iter().any(is_excerpt)
        };
        match self {
            Self::RecordVerification(said) if has_excerpt(&said.citations) => {
                WireVersion::WITH_EXCERPTS
            }
            // Until all nodes judge failures, it is the verification alone.
            Self::RecordFailure(failure) if has_excerpt(&failure.said.citations) => {
                WireVersion::WITH_EXCERPTS
            }
            Self::AmendEntry(amend) if has_excerpt(&amend.citations) => WireVersion::WITH_EXCERPTS,
            Self::PutEntry { .. } | Self::Publish(_) | Self::Supersede(_)
                if self
                    .entries()
                    .iter()
                    .any(|entry| has_excerpt(&entry.citations)) =>
            {
                WireVersion::WITH_EXCERPTS
            }
            Self::ReportReuse { .. }
            | Self::ResolveState { .. }
            | Self::AnswerReview(_)
            | Self::UndoPromotion { .. }
            | Self::Retire { .. }
            | Self::Offer(_) => WireVersion::WITH_REVIEWS,
            Self::DropPromotion { .. } => WireVersion::WITH_ATTEMPTS,
            Self::Erase(_) => WireVersion::WITH_ERASURE,
            Self::RestoreEntry { .. } => WireVersion::WITH_RESTORING,
            Self::SaveEvidence(_)
            | Self::AddAnchors { .. }
            | Self::DropAnchor { .. }
            | Self::EraseMemory(_)
            | Self::DeclareRelation { .. } => WireVersion::WITH_EVIDENCE,
            Self::SaveDecision(save) if save.text.relations.iter().any(is_newer) => {
                WireVersion::WITH_EVIDENCE
            }
            Self::SaveDecision(_)
            | Self::DeactivateDecision { .. }
            | Self::RestoreDecision { .. } => WireVersion::WITH_DECISIONS,
            Self::EraseVerifications(_) => WireVersion::WITH_FAILURES,
            Self::ReportGate(_) => WireVersion::WITH_GATE,
            Self::StoreTrajectory(_) => WireVersion::WITH_TRAJECTORIES,
            _ => WireVersion::FIRST,
        }
    }

    /// The form of the command that nodes of this version read, where that is another one.
    #[must_use]
    pub fn read_by(&self, version: WireVersion) -> Option<Self> {
        let plain = (version < WireVersion::WITH_BINDINGS)
            .then(|| self.unbound())
            .flatten();
        match plain.as_ref().unwrap_or(self) {
            Self::RecordFailure(failure) if version < WireVersion::WITH_FAILURES => {
                Some(failure.as_verification())
            }
            _ => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::NewAnchor;
    use crate::bank::{Ended, NewTrajectory, Reward};
    use crate::circular::Approach;
    use crate::citation::Excerpt;
    use crate::command::SaveDecision;
    use crate::decision::{DeclaredKind, Domain, NewDecision, Node, Rank, Reach};
    use crate::entry::Binding;
    use crate::evidence::{MEDIA_TYPE_USUAL, NewEvidence};
    use crate::id::AnchorId;
    use crate::verification::{NewFailure, NewVerification, Outcome, VerificationSource};

    fn saves(relations: &[(RelationKind, &str)]) -> Command {
        let relations = relations.iter().map(|(kind, to)| Relation {
            kind: *kind,
            to: to.parse().unwrap(),
        });
        Command::SaveDecision(Box::new(SaveDecision {
            change: None,
            text: NewDecision {
                rank: Rank::Normal,
                domain: Domain::global(),
                phase: None,
                title: "t".into(),
                content: "c".into(),
                claim: None,
                relations: relations.collect(),
            },
            reason: String::new(),
        }))
    }

    #[test]
    fn what_speaks_of_evidence_anchors_or_declared_relations_waits_until_all_nodes_read_it() {
        const ID: &str = "0196f3a2-0000-7000-8000-000000000001";
        let evidence = format!("evidence:org/a#{ID}");
        let decision = format!("decision:org/a#{ID}");
        let kind = DeclaredKind {
            name: "CAUSES".parse().unwrap(),
            reach: Reach::Forward,
        };
        let to: Node = evidence.parse().unwrap();
        let file = (RelationKind::AppliesTo, "file:src/a.rs");
        for command in [
            Command::SaveEvidence(Box::new(NewEvidence {
                title: "t".into(),
                source: String::new(),
                media_type: MEDIA_TYPE_USUAL.into(),
                content: "c".into(),
            })),
            Command::AddAnchors {
                anchors: vec![NewAnchor {
                    hint: "h".into(),
                    domain: Domain::global(),
                    to: vec![to],
                }],
            },
            Command::DropAnchor {
                anchor: AnchorId::from_bytes([1; 16]),
                reason: "r".into(),
            },
            Command::EraseMemory(Box::default()),
            saves(&[(RelationKind::RestsOn, &evidence)]),
            saves(&[file, (RelationKind::RestsOn, &evidence)]),
            Command::DeclareRelation {
                name: kind.name,
                reach: kind.reach,
                meaning: "m".into(),
            },
            saves(&[file, (RelationKind::Declared(kind), &decision)]),
        ] {
            let name = command.name();
            assert_eq!(command.since(), WireVersion::WITH_EVIDENCE, "{name}");
        }
        let depends = (RelationKind::DependsOn, &*decision);
        for command in [saves(&[]), saves(&[file]), saves(&[depends])] {
            assert_eq!(command.since(), WireVersion::WITH_DECISIONS);
        }
    }

    fn failure(citations: Vec<Citation>) -> NewFailure {
        NewFailure {
            said: NewVerification {
                outcome: Outcome::Failed,
                source: VerificationSource::TestsFailed,
                run: "r".into(),
                citations,
                binding: Binding::NoRepository,
                error: Some("e".into()),
                approach: Some("a".into()),
                target: None,
            },
            files: vec!["src/a.rs".into()],
            symbols: Vec::new(),
        }
    }

    #[test]
    fn a_failure_waits_for_no_more_than_its_verification_and_older_nodes_read_that_alone() {
        let excerpt = Citation::Excerpt(Excerpt {
            record: "org/a/project/p/worktree/w/task/t#3".parse().unwrap(),
            from: 0,
            to: 1,
        });
        for citations in [vec![], vec![excerpt]] {
            let failure = failure(citations);
            let alone = Command::RecordVerification(Box::new(failure.said.clone()));
            let command = Command::RecordFailure(Box::new(failure));
            assert_eq!(command.since(), alone.since());
            for number in 1..=WireVersion::NEWEST.get() {
                let version = WireVersion::try_from(number).unwrap();
                let form = (version < WireVersion::WITH_FAILURES).then_some(&alone);
                assert_eq!(command.read_by(version).as_ref(), form, "{version}");
                assert_eq!(alone.read_by(version), None);
            }
            // Whichever of the two was recorded, the other one is a retry of it.
            assert_eq!(command.digest(), alone.digest());
        }
    }

    #[test]
    fn a_failure_that_says_something_else_is_another_command() {
        let one = failure(Vec::new());
        let mut other = one.clone();
        other.said.error = Some("another".into());
        let digest = |failure: NewFailure| Command::RecordFailure(Box::new(failure)).digest();
        assert_ne!(digest(one), digest(other));
    }

    #[test]
    fn a_trajectory_waits_until_all_nodes_read_it() {
        let store = Command::StoreTrajectory(Box::new(NewTrajectory {
            kind: "bugfix".parse().unwrap(),
            approach: Approach::default(),
            ended: Ended::Failed,
            reward: Reward::of(-1.0).unwrap(),
            lesson: String::new(),
            steps: Vec::new(),
        }));
        assert_eq!(store.since(), WireVersion::WITH_TRAJECTORIES);
        assert_eq!(store.read_by(WireVersion::WITH_FAILURES), None);
    }

    #[test]
    fn what_verifications_say_is_erased_once_all_nodes_know_what_is_left() {
        let erase = Command::EraseVerifications(Box::default());
        assert_eq!(erase.since(), WireVersion::WITH_FAILURES);
    }
}
