//! Reading anchors: what they say, and what they lead to, in a line each.

use serde::{Deserialize, Serialize};
use sillok_actors::reads;
use sillok_core::anchor::{self, Standing};
use sillok_core::brief::Layer;
use sillok_core::decision::{Domain, Node, Rank};
use sillok_core::id::{AnchorId, Seq};
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Actor, schema};

/// Asks for the anchors of one scope, by their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AnchorsQuery {
    /// The scope. What lies above or inside it is not listed.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// Of this domain alone, which is `global` or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// Whether those that were dropped are listed too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// Go on behind this cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// Names one anchor.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AnchorQuery {
    /// The scope that it was added to.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The anchor.
    #[param(value_type = schema::AnchorId)]
    pub id: String,
}

/// A hint where to go on reading. It only points: what it leads to keeps its rank and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Anchor {
    /// The scope that it was added to.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The anchor.
    #[schema(value_type = schema::AnchorId)]
    pub id: AnchorId,
    /// What is found there, in a line.
    pub hint: String,
    /// What it is about.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// What it leads to, as it was declared.
    #[schema(value_type = Vec<schema::Node>)]
    pub to: Vec<Node>,
    /// Who added it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The event that it was added by.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// Whether it was dropped.
    pub dropped: bool,
    /// Whether what it said was erased: its hint is empty, and it leads nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl Anchor {
    /// The wire form of an anchor that `scope` holds.
    pub(crate) fn of(scope: &Scope, anchor: anchor::Anchor) -> Self {
        Self {
            scope: scope.clone(),
            id: anchor.id,
            erased: anchor.is_erased(),
            hint: anchor.hint,
            domain: anchor.domain,
            to: anchor.to,
            by: anchor.by.into(),
            at: anchor.at,
            seq: anchor.seq,
            dropped: anchor.dropped.is_some(),
        }
    }
}

/// Something that an anchor leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lead {
    /// What it is.
    #[schema(value_type = schema::Node)]
    pub to: Node,
    /// Its title; empty where it is gone.
    pub title: String,
    /// Its own rank, of a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Rank>)]
    pub rank: Option<Rank>,
    /// How it stands.
    #[schema(value_type = schema::Standing)]
    pub standing: Standing,
}

impl From<anchor::Lead> for Lead {
    fn from(lead: anchor::Lead) -> Self {
        Self {
            to: lead.to,
            title: lead.title,
            rank: lead.rank,
            standing: lead.standing,
        }
    }
}

/// An anchor with what it leads to: decisions by their rank, then evidence, then what is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnchorView {
    /// The anchor.
    pub anchor: Anchor,
    /// What it leads to.
    pub leads: Vec<Lead>,
}

impl AnchorView {
    /// The wire form of an anchor that `scope` holds.
    pub(crate) fn of(scope: &Scope, view: reads::AnchorView) -> Self {
        Self {
            anchor: Anchor::of(scope, view.anchor),
            leads: view.leads.into_iter().map(Into::into).collect(),
        }
    }
}

/// An anchor in a brief. The texts of what it leads to stand in their own layers, or are read by following it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BriefAnchor {
    /// The layer: `anchor`.
    #[schema(value_type = schema::Layer)]
    pub layer: Layer,
    /// The scope that it was added to.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The anchor.
    #[schema(value_type = schema::AnchorId)]
    pub id: AnchorId,
    /// What it is about.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// What is found there, in a line.
    pub hint: String,
    /// What it leads to: decisions by their rank, then evidence, then what is gone.
    pub leads: Vec<Lead>,
    /// The hint and what the anchor leads to, wrapped so that a model reads them as data.
    pub data_marked_text: String,
    /// Who added it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

impl BriefAnchor {
    /// The wire form of an anchor that stands in a layer.
    pub(crate) fn of(
        layer: Layer,
        scope: Scope,
        anchor: anchor::Anchor,
        leads: Vec<anchor::Lead>,
    ) -> Self {
        let leads: Vec<Lead> = leads.into_iter().map(Into::into).collect();
        let lines: String = leads.iter().map(pointing).collect();
        Self {
            layer,
            scope,
            id: anchor.id,
            domain: anchor.domain,
            data_marked_text: mark_as_data(&format!("{}\n{lines}", anchor.hint)),
            hint: anchor.hint,
            leads,
            by: anchor.by.into(),
            at: anchor.at,
        }
    }
}

/// What an anchor leads to, as a line of text.
pub(super) fn pointing(lead: &Lead) -> String {
    let Lead {
        to,
        title,
        rank,
        standing,
    } = lead;
    let rank = rank.map_or_else(String::new, |rank| format!("{rank} "));
    match standing {
        Standing::Holds => format!("\nleads to {rank}{to}: {title}"),
        Standing::Withdrawn => format!("\nleads to {rank}{to}, which was withdrawn: {title}"),
        Standing::Gone => format!("\nleads to {to}, which is gone"),
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::principal::{Actor as CoreActor, PrincipalId, PrincipalKind};

    use super::*;

    #[test]
    fn all_that_an_anchor_says_and_names_is_marked() {
        let scope = Scope::parse("org/a").unwrap();
        let id = "01900000-0000-7000-8000-000000000000";
        let lead = |node: &str, rank: Option<Rank>, standing| anchor::Lead {
            to: format!("{node}:org/a#{id}").parse().unwrap(),
            title: "A title".to_owned(),
            rank,
            standing,
        };
        let leads = vec![
            lead("decision", Some(Rank::Axis), Standing::Holds),
            lead("decision", Some(Rank::Lock), Standing::Withdrawn),
            lead("evidence", None, Standing::Holds),
            anchor::Lead {
                title: String::new(),
                ..lead("evidence", None, Standing::Gone)
            },
        ];
        let anchor = anchor::Anchor {
            id: AnchorId::from_bytes([1; 16]),
            hint: "Look here".to_owned(),
            domain: Domain::global(),
            to: leads.iter().map(|lead| lead.to.clone()).collect(),
            by: CoreActor {
                kind: PrincipalKind::Agent,
                id: PrincipalId::parse("a").unwrap(),
            },
            at: Timestamp::from_ms(1),
            seq: Seq::new(1),
            dropped: None,
        };
        let shown = BriefAnchor::of(Layer::Anchor, scope, anchor, leads);
        let said = format!(
            "Look here\n\n\
             leads to axis decision:org/a#{id}: A title\n\
             leads to lock decision:org/a#{id}, which was withdrawn: A title\n\
             leads to evidence:org/a#{id}: A title\n\
             leads to evidence:org/a#{id}, which is gone"
        );
        assert_eq!(shown.data_marked_text, mark_as_data(&said));
        let expected = [Some(Rank::Axis), Some(Rank::Lock), None, None];
        let ranks = shown.leads.iter().map(|lead| lead.rank);
        assert!(ranks.eq(expected), "each keeps its own rank");
    }
}
