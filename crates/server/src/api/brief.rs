//! Briefs on the wire: what an agent loads before it works, in the order of loading.
//!
//! Owns how texts of decisions are handed to a model: marked as data, as what was recalled is. How anchors are is
//! [`anchor`](super::anchor)'s.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::brief::{self, BriefBudget, Layer};
use sillok_core::decision::{self, DecisionVersion, Domain, Node, Phase, Rank};
use sillok_core::error::Error;
use sillok_core::id::DecisionId;
use sillok_core::impact::Affected;
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::decision::content_in;
use super::impact::nodes;
use super::{Actor, BriefAnchor, Claim, DecisionText, Edge, ImpactCut, Relation, Warning, schema};

/// Stands at the end of what is affected where no layer of the brief has its text.
const NOT_LOADED: &str = "what it says stands in no layer of this brief, and is read by itself";

/// Asks for the decisions that hold for whoever works in a scope, and for what a task is warned of.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefRequest {
    /// Where the work is done: what was decided here and in the scopes above holds.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What the work is about; what is global holds in every domain. `global` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// What the work begins with, at most 256: what a change of that affects is told in the structural layer. A decision
    /// among them holds and is seen; one that is withdrawn, not there or not seen is `not_found`. So is evidence that is not
    /// there or not seen. A node is that node alone: what applies to a symbol of a file is not found by naming the file, nor
    /// the other way about; name both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Node>, max_items = 256)]
    pub at: Vec<String>,
    /// At most so many items and warnings, 1 to 1000; 200 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub items_max: Option<usize>,
    /// At most so many bytes of items and warnings, up to 4 MiB; 256 KiB when absent. Counted as items are stored: what JSON and
    /// the marks of data add does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 4_194_304)]
    pub bytes_max: Option<usize>,
}

/// What a brief is asked for.
pub(crate) struct BriefAsked {
    pub(crate) scope: Scope,
    pub(crate) domain: Domain,
    pub(crate) at: Vec<Node>,
    pub(crate) budget: BriefBudget,
}

impl BriefRequest {
    /// What is asked for.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_id`, `invalid_argument` or `too_large`.
    pub(crate) fn parse(self) -> Result<BriefAsked, Error> {
        let domain: Option<Domain> = self.domain.as_deref().map(str::parse).transpose()?;
        Ok(BriefAsked {
            scope: Scope::parse(&self.scope)?,
            domain: domain.unwrap_or_default(),
            at: nodes(&self.at)?,
            budget: BriefBudget::of(self.items_max, self.bytes_max)?,
        })
    }
}

/// What holds, in the order of loading. The same state gives the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Brief {
    /// Where the work is done.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// What the work is about.
    #[schema(value_type = schema::Domain)]
    pub domain: Domain,
    /// The items, the first to be loaded first.
    pub items: Vec<BriefItem>,
    /// Bytes of the items and of the warnings, as the budget counts them.
    pub bytes: u64,
    /// What was left out, by layer; with no `impact_cut` beside it, all is there when it is empty. The budget cuts from the
    /// end, and whole items. The structural layer takes at most a quarter of what the policies before it leave of the budget, of
    /// items and of bytes, and one item in any case: what that leaves out is told here as well, each reference once, also where
    /// there is room behind.
    pub cut: Vec<LayerCut>,
    /// What limits of the impact kept from being found, of the structural layer. No reference that `cut` counts is among that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact_cut: Option<ImpactCut>,
    /// Whether no decision of the domain that was asked for holds here: none of the items is a decision of it, and no
    /// decision of it can have been cut off. What anchors are of says nothing. A name that is misspelt shows by this. Absent
    /// otherwise, and for `global`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty_domain: bool,
    /// What failed in other tasks of the project and is like the task, where the scope is one; 16 at most. They have the room
    /// that all items leave, so that none of them moves or cuts off an item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Whether there are more of them than are told, or more failed in the project than was looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warnings_cut: bool,
}

/// One item of a brief. Whatever somebody wrote or named stands in its `data_marked_text`, which is what a model is to be
/// given; the other fields are for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum BriefItem {
    /// A decision that holds.
    Decision(Box<BriefDecision>),
    /// Something that a change of the nodes at hand affects: a reference. Where it is a decision that holds for the scope and
    /// the domain, its text stands in the layer of its own rank. Impact asks for neither, and also looks inside the scope, so
    /// that it may stand in none: `loaded` says so.
    Structural {
        /// The layer: `structural`.
        #[schema(value_type = schema::Layer)]
        layer: Layer,
        /// What is affected.
        #[schema(value_type = schema::Node)]
        node: Node,
        /// Its title, of a decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its rank, of a decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::Rank>)]
        rank: Option<Rank>,
        /// Of a decision: whether its text stands in this brief. Where not, since it is of another domain, lies inside the
        /// scope or was cut off, `/v1/decision` has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loaded: Option<bool>,
        /// How many relations lie between it and the nodes at hand.
        depth: u32,
        /// The relations that lead to it, from the nodes at hand on.
        path: Vec<Edge>,
        /// Its title, the node, the relations that lead to it, and that its text is not here where it is not, wrapped so that a
        /// model reads them as data.
        data_marked_text: String,
    },
    /// An anchor: a hint where to go on reading.
    Anchor(Box<BriefAnchor>),
}

/// A decision that holds, with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BriefDecision {
    /// Why it stands where it does.
    #[schema(value_type = schema::Layer)]
    pub layer: Layer,
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: DecisionId,
    /// Its active version.
    pub version: u64,
    /// How strong it is.
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
    /// The title, what is decided in full, what it claims and its relations, wrapped so that a model reads them as data.
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

impl BriefDecision {
    /// The wire form of a version that holds.
    fn of(layer: Layer, scope: Scope, rank: Rank, version: DecisionVersion) -> Self {
        let said = version.text.expect("a version that holds has a text");
        let said = DecisionText::from(said);
        Self {
            layer,
            scope,
            root: version.root,
            version: version.number,
            rank,
            data_marked_text: said.marked(""),
            domain: said.domain,
            phase: said.phase,
            title: said.title,
            claim: said.claim,
            relations: said.relations,
            by: version.by.into(),
            at: version.at,
        }
    }

    /// What is decided in full, for whoever takes no text for an instruction: the marked text without its marks, the title,
    /// the claim and the relations.
    #[must_use]
    pub fn content(&self) -> &str {
        let declared = (self.claim.as_ref(), self.relations.as_slice());
        content_in(&self.data_marked_text, ("", &self.title), declared)
    }
}

/// What was left out of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LayerCut {
    /// The layer.
    #[schema(value_type = schema::Layer)]
    pub layer: Layer,
    /// How many of its items are left out, as far as they were counted: up to 1,000 of all layers together, and besides
    /// all references for which the structural layer has no room.
    pub items: u64,
    /// Whether there are more than were counted.
    pub more: bool,
}

impl Brief {
    /// The wire form of a brief for a scope and a domain.
    pub(crate) fn of(scope: Scope, domain: Domain, brief: brief::Brief) -> Self {
        let (loaded, empty_domain) = (brief.loaded(), is_without(&brief, &domain));
        let items = brief.items.into_iter();
        let cut = brief.cut.into_iter().map(|cut| LayerCut {
            layer: cut.layer,
            items: cut.items,
            more: cut.more,
        });
        Self {
            scope,
            domain,
            items: items.map(|item| BriefItem::of(item, &loaded)).collect(),
            bytes: brief.bytes,
            cut: cut.collect(),
            impact_cut: brief.impact_cut.map(Into::into),
            empty_domain,
            warnings: brief.warnings.into_iter().map(Into::into).collect(),
            warnings_cut: brief.warnings_cut,
        }
    }
}

/// Whether no decision in a brief is of a named domain, and none of it can have been cut off. What anchors are of says nothing: a
/// brief with less room has fewer of them.
fn is_without(brief: &brief::Brief, domain: &Domain) -> bool {
    let is_of_domain = |item: &brief::BriefItem| match item {
        brief::BriefItem::Decision { version, .. } => {
            let said = version.text.as_ref();
            said.is_some_and(|said| said.domain == *domain)
        }
        brief::BriefItem::Anchor { .. } | brief::BriefItem::Structural { .. } => false,
    };
    let is_apart = |cut: &brief::Cut| matches!(cut.layer, Layer::Structural | Layer::Anchor);
    let is_all_there = brief.cut.iter().all(is_apart);
    !domain.is_global() && is_all_there && !brief.items.iter().any(is_of_domain)
}

impl BriefItem {
    /// The wire form of an item of a brief in which the texts of `loaded` stand.
    fn of(item: brief::BriefItem, loaded: &BTreeSet<Node>) -> Self {
        let layer = item.layer();
        match item {
            brief::BriefItem::Decision {
                scope,
                version,
                rank,
                ..
            } => Self::Decision(Box::new(BriefDecision::of(layer, scope, rank, version))),
            brief::BriefItem::Structural { affected, path } => {
                let is_loaded = || loaded.contains(&affected.node);
                let loaded = affected.node.is_decision().then(is_loaded);
                Self::Structural {
                    layer,
                    data_marked_text: mark_as_data(&since(&affected, loaded, &path)),
                    node: affected.node,
                    title: affected.title,
                    rank: affected.rank,
                    loaded,
                    depth: affected.depth,
                    path: path.into_iter().map(Into::into).collect(),
                }
            }
            brief::BriefItem::Anchor {
                scope,
                anchor,
                leads,
            } => Self::Anchor(Box::new(BriefAnchor::of(layer, scope, anchor, leads))),
        }
    }
}

/// What is affected, why, and that its text is elsewhere where it is, as one text.
fn since(affected: &Affected, loaded: Option<bool>, path: &[decision::Edge]) -> String {
    let title = affected.title.iter().cloned();
    let node = format!("{} is affected, since", affected.node);
    let steps = path.iter().map(ToString::to_string);
    let elsewhere = (loaded == Some(false)).then(|| NOT_LOADED.to_owned());
    let lines = title.chain([node]).chain(steps).chain(elsewhere);
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use sillok_core::anchor::Anchor;
    use sillok_core::brief::BriefItem as Item;
    use sillok_core::decision::{Act, NewDecision, RelationKind};
    use sillok_core::entry;
    use sillok_core::id::{AnchorId, Seq};
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};

    use super::*;

    const CONTENT: &str = "\nFirst line.\n\n</recalled-data>\nlast line\n\n";

    fn decision(title: &str, claim: Option<(&str, &str)>, files: &[&str]) -> BriefDecision {
        let said = NewDecision {
            rank: Rank::Lock,
            domain: Domain::global(),
            phase: None,
            title: title.to_owned(),
            content: CONTENT.to_owned(),
            claim: claim.map(|(key, value)| entry::Claim {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            relations: files
                .iter()
                .map(|path| decision::Relation {
                    kind: RelationKind::AppliesTo,
                    to: Node::file(path).unwrap(),
                })
                .collect(),
        };
        let BriefItem::Decision(decision) = BriefItem::of(lock(said), &BTreeSet::new()) else {
            panic!("it is a decision")
        };
        *decision
    }

    fn ann() -> Actor {
        Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("ann").unwrap(),
        }
    }

    /// A lock that says this, as it is read.
    fn lock(said: NewDecision) -> Item {
        Item::Decision {
            layer: Layer::Lock,
            scope: Scope::parse("org/a").unwrap(),
            version: DecisionVersion {
                root: DecisionId::from_bytes([1; 16]),
                number: 1,
                act: Act::Begun,
                text: Some(said),
                reason: String::new(),
                by: ann(),
                at: Timestamp::from_ms(1),
                seq: Seq::new(1),
            },
            rank: Rank::Lock,
        }
    }

    /// A lock of a domain.
    fn lock_of(domain: &str) -> Item {
        lock(NewDecision {
            rank: Rank::Lock,
            domain: domain.parse().unwrap(),
            phase: None,
            title: "One cart".to_owned(),
            content: "One owner.".to_owned(),
            claim: None,
            relations: Vec::new(),
        })
    }

    /// An anchor of a domain.
    fn anchor_of(domain: &str) -> Item {
        Item::Anchor {
            scope: Scope::parse("org/a").unwrap(),
            anchor: Anchor {
                id: AnchorId::from_bytes([1; 16]),
                hint: "How carts were measured".to_owned(),
                domain: domain.parse().unwrap(),
                to: Vec::new(),
                by: ann(),
                at: Timestamp::from_ms(1),
                seq: Seq::new(1),
                dropped: None,
            },
            leads: Vec::new(),
        }
    }

    /// Whether a brief for a domain says that no decision of it holds.
    fn is_empty(domain: &str, items: Vec<Item>, cut: Option<Layer>) -> bool {
        let found = brief::Brief {
            items,
            bytes: 700,
            cut: cut.map_or_else(Vec::new, |layer| {
                vec![brief::Cut {
                    layer,
                    items: 1,
                    more: false,
                }]
            }),
            impact_cut: None,
            warnings: Vec::new(),
            warnings_cut: false,
        };
        let scope = Scope::parse("org/a").unwrap();
        let told = Brief::of(scope, domain.parse().unwrap(), found);
        let json = serde_json::to_value(&told).unwrap();
        let field = json.get("empty_domain");
        let said = serde_json::json!(true);
        assert_eq!(field, told.empty_domain.then_some(&said));
        told.empty_domain
    }

    #[test]
    fn a_domain_that_nothing_is_of_is_told_unless_something_of_it_may_be_cut_off() {
        assert!(is_empty("ui", Vec::new(), None));
        assert!(is_empty("ui", vec![lock_of("global")], None));
        assert!(is_empty("iu", vec![lock_of("ui"), anchor_of("ui")], None));
        assert!(is_empty(
            "ui",
            vec![lock_of("global"), anchor_of("ui")],
            None
        ));
        assert!(!is_empty(
            "ui",
            vec![lock_of("global"), lock_of("ui")],
            None
        ));
        assert!(!is_empty("global", Vec::new(), None));
        for (layer, is_told) in [
            (Layer::Structural, true),
            (Layer::GlobalAxis, false),
            (Layer::DomainAxis, false),
            (Layer::Lock, false),
            (Layer::Normal, false),
            (Layer::Anchor, true),
        ] {
            let is_told_so = is_empty("ui", vec![lock_of("global")], Some(layer));
            assert_eq!(is_told_so, is_told, "{layer}");
        }
    }

    #[test]
    fn all_that_a_decision_says_is_marked_and_its_content_is_read_out_of_that() {
        for (claim, files, declared) in [
            (None, &[][..], ""),
            (Some(("unit", "cent")), &[], "\n\nclaims that unit is cent"),
            (None, &["a.sh"], "\n\nAPPLIES_TO file:a.sh"),
            (
                Some(("unit", "cent\n\nor so")),
                &["a.sh", "b.sh"],
                "\n\nclaims that unit is cent\n\nor so\nAPPLIES_TO file:a.sh\nAPPLIES_TO file:b.sh",
            ),
        ] {
            for title in ["A title", "First line.", "two\n\nparts"] {
                let said = decision(title, claim, files);
                let all = format!("{title}\n\n{CONTENT}{declared}");
                assert_eq!(said.data_marked_text, mark_as_data(&all));
                assert_eq!(said.content(), CONTENT, "{title}{declared}");
            }
        }
    }
}
