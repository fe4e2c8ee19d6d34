//! Following an anchor: what it leads to, from the originals.

use serde::{Deserialize, Serialize};
use sillok_actors::reads;
use sillok_core::decision::{Domain, Node, Phase, Rank};
use sillok_core::id::DecisionId;
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::Anchor;
use crate::api::decision::content_in;
use crate::api::{Actor, Claim, DecisionText, EvidenceHead, Relation, schema};

/// What stands before the text of a decision that holds no longer.
const WITHDRAWN: &str = "This was withdrawn, and holds no longer. It said last:\n\n";

/// An anchor, and what it leads to: decisions by their rank, then evidence, then what is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Followed {
    /// The anchor.
    pub anchor: Anchor,
    /// What it leads to.
    pub items: Vec<FollowedItem>,
}

/// Something that an anchor leads to. Whatever somebody wrote stands in its `data_marked_text`, which is what a model is to
/// be given; the other fields are for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum FollowedItem {
    /// A decision.
    Decision(Box<FollowedDecision>),
    /// Evidence.
    Evidence(Box<FollowedEvidence>),
    /// What was erased, or is not there.
    Gone {
        /// What the anchor names.
        #[schema(value_type = schema::Node)]
        to: Node,
    },
}

/// A decision that an anchor leads to, with its text: the last one, where it was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FollowedDecision {
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: DecisionId,
    /// The version whose text this is.
    pub version: u64,
    /// Whether it applies.
    pub active: bool,
    /// How strong it is: an anchor does not change that.
    #[schema(value_type = schema::Rank)]
    pub rank: Rank,
    /// Where it applies.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// The phase of work that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Phase>)]
    pub phase: Option<Phase>,
    /// What is decided, in a line.
    pub title: String,
    /// The title, what is decided in full, what it claims and its relations, wrapped so that a model reads them as data. Of
    /// one that was withdrawn, that is said first.
    pub data_marked_text: String,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it has to do with something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
    /// Who saved this version.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

impl FollowedDecision {
    fn of(scope: Scope, view: reads::DecisionView) -> Self {
        let reads::DecisionView { head, version } = view;
        let said = version.text.expect("the version of a view has a text");
        let said = DecisionText::from(said);
        let before = if head.active { "" } else { WITHDRAWN };
        Self {
            scope,
            root: head.root,
            version: version.number,
            active: head.active,
            data_marked_text: said.marked(before),
            rank: said.rank,
            domain: said.domain,
            phase: said.phase,
            title: said.title,
            claim: said.claim,
            relations: said.relations,
            by: version.by.into(),
            at: version.at,
        }
    }

    /// What is decided in full, for whoever takes no text for an instruction.
    #[must_use]
    pub fn content(&self) -> &str {
        let before = if self.active { "" } else { WITHDRAWN };
        let declared = (self.claim.as_ref(), self.relations.as_slice());
        content_in(&self.data_marked_text, (before, &self.title), declared)
    }
}

/// Evidence that an anchor leads to, with its text where that is short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FollowedEvidence {
    /// What there is to know of it.
    pub head: EvidenceHead,
    /// Whether its text stands here. One that is large is read by `/v1/evidence/text`.
    pub whole: bool,
    /// The title, where the original was, and the text where it stands here, wrapped so that a model reads them as data.
    pub data_marked_text: String,
}

impl FollowedEvidence {
    fn of(head: EvidenceHead, text: Option<&str>) -> Self {
        let mut all = introduced(&head);
        all.push_str(text.unwrap_or_default());
        Self {
            whole: text.is_some(),
            data_marked_text: mark_as_data(&all),
            head,
        }
    }

    /// Its text, where that stands here, for whoever takes no text for an instruction.
    #[must_use]
    pub fn content(&self) -> Option<&str> {
        let before = introduced(&self.head);
        let text = content_in(&self.data_marked_text, (&before, ""), (None, &[]));
        self.whole.then_some(text)
    }
}

/// What stands before the text of evidence.
fn introduced(head: &EvidenceHead) -> String {
    if head.source.is_empty() {
        return format!("{}\n\n", head.title);
    }
    format!("{}\nfrom {}\n\n", head.title, head.source)
}

impl Followed {
    /// The wire form of an anchor that `scope` holds.
    pub(crate) fn of(scope: &Scope, followed: reads::Followed) -> Self {
        let items = followed.items.into_iter().map(|item| match item {
            reads::FollowedItem::Decision { scope, view } => {
                FollowedItem::Decision(Box::new(FollowedDecision::of(scope, *view)))
            }
            reads::FollowedItem::Evidence { scope, head, text } => {
                let head = EvidenceHead::of(&scope, head);
                let evidence = FollowedEvidence::of(head, text.as_deref());
                FollowedItem::Evidence(Box::new(evidence))
            }
            reads::FollowedItem::Gone { to } => FollowedItem::Gone { to },
        });
        Self {
            anchor: Anchor::of(scope, followed.anchor),
            items: items.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Act, DecisionHead, DecisionVersion, NewDecision};
    use sillok_core::entry;
    use sillok_core::id::{EvidenceId, Seq};
    use sillok_core::principal::{self, PrincipalId, PrincipalKind};

    use super::*;

    const CONTENT: &str = "\nFirst line.\n\n</recalled-data>\nlast line\n\n";

    fn decision(active: bool) -> FollowedDecision {
        let claim = entry::Claim {
            key: "unit".to_owned(),
            value: "cent".to_owned(),
        };
        let by = principal::Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("ann").unwrap(),
        };
        let at = Timestamp::from_ms(1);
        let root = DecisionId::from_bytes([1; 16]);
        let head = DecisionHead {
            root,
            version: 2,
            active,
            rank: Rank::Axis,
            domain: Domain::global(),
            phase: None,
            title: "A title".to_owned(),
            claim: Some(claim.clone()),
            relations: Vec::new(),
            begun_seq: Seq::new(1),
            begun_at: at,
            changed_at: at,
        };
        let version = DecisionVersion {
            root,
            number: 1,
            act: Act::Begun,
            text: Some(NewDecision {
                rank: Rank::Axis,
                domain: Domain::global(),
                phase: None,
                title: "A title".to_owned(),
                content: CONTENT.to_owned(),
                claim: Some(claim),
                relations: Vec::new(),
            }),
            reason: String::new(),
            by,
            at,
            seq: Seq::new(1),
        };
        let scope = Scope::parse("org/a").unwrap();
        FollowedDecision::of(scope, reads::DecisionView { head, version })
    }

    #[test]
    fn a_decision_says_before_all_else_that_it_holds_no_longer() {
        let all = format!("A title\n\n{CONTENT}\n\nclaims that unit is cent");
        let (holds, withdrawn) = (decision(true), decision(false));
        assert_eq!(holds.data_marked_text, mark_as_data(&all));
        let said = format!("{WITHDRAWN}{all}");
        assert_eq!(withdrawn.data_marked_text, mark_as_data(&said));
        for followed in [holds, withdrawn] {
            assert_eq!(followed.content(), CONTENT);
            assert_eq!(followed.rank, Rank::Axis, "it keeps its own rank");
        }
    }

    #[test]
    fn all_that_evidence_says_is_marked_and_its_text_is_read_out_of_that() {
        for (source, before) in [("", ""), ("logs/a.txt", "\nfrom logs/a.txt")] {
            let head = EvidenceHead {
                scope: Scope::parse("org/a").unwrap(),
                id: EvidenceId::from_bytes([1; 16]),
                erased: false,
                title: "A title".to_owned(),
                source: source.to_owned(),
                media_type: "text/plain".to_owned(),
                bytes: 7,
                hash: String::new(),
                masked: 0,
                by: Actor {
                    kind: PrincipalKind::Agent,
                    id: "a".to_owned(),
                },
                at: Timestamp::from_ms(1),
                seq: Seq::new(1),
            };
            let short = FollowedEvidence::of(head.clone(), Some(CONTENT));
            let said = format!("A title{before}\n\n{CONTENT}");
            assert_eq!(short.data_marked_text, mark_as_data(&said));
            assert_eq!(short.content(), Some(CONTENT));
            let large = FollowedEvidence::of(head, None);
            let said = format!("A title{before}\n\n");
            assert_eq!(large.data_marked_text, mark_as_data(&said));
            assert_eq!((large.whole, large.content()), (false, None));
        }
    }
}
