//! Reading decisions: heads, what they say, and their versions.

use serde::{Deserialize, Serialize};
use sillok_actors::reads;
use sillok_core::decision::{self, Act, Domain, NewDecision, Phase, Rank};
use sillok_core::id::{DecisionId, Seq};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::Relation;
use crate::api::{Actor, Claim, schema};

/// Asks for the decisions of one scope: by their roots, or, where a rank is named and those withdrawn are not asked for, by
/// their domains and by when they were begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionsQuery {
    /// The scope. What lies above or inside it is not listed.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// Of this rank alone: `policy`, `axis`, `lock` or `normal`. No decision of another rank is looked at then, unless those
    /// that were withdrawn are asked for. They follow one another by a hash of the domain's name, and in each domain by when
    /// they were begun: one whose domain is changed between two pages has another place then, and may be passed over or listed
    /// twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Rank>)]
    pub rank: Option<String>,
    /// Of this domain alone, which is `global` or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// Whether those that were withdrawn are listed too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// Go on behind this cursor. One that was given out for another rank or domain, or with other ones withdrawn, is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// Names one decision.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionQuery {
    /// The scope that it was made in.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The decision.
    #[param(value_type = schema::DecisionId)]
    pub root: String,
}

/// Asks for the versions of one decision.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionHistoryQuery {
    /// The scope that it was made in.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The decision.
    #[param(value_type = schema::DecisionId)]
    pub root: String,
    /// Go on behind this cursor, or behind the version with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// What there is to know of a decision without its content. While it is withdrawn, that is what it said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionHead {
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: DecisionId,
    /// Its newest version: the active one, if any is.
    pub version: u64,
    /// Whether it applies.
    pub active: bool,
    /// Whether what it said was erased: its texts are empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
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
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it has to do with something else.
    pub relations: Vec<Relation>,
    /// When it was made first.
    #[schema(value_type = schema::Timestamp)]
    pub begun_at: Timestamp,
    /// When the newest version was saved.
    #[schema(value_type = schema::Timestamp)]
    pub changed_at: Timestamp,
}

impl DecisionHead {
    /// The wire form of a head that `scope` holds.
    pub(crate) fn of(scope: &Scope, head: decision::DecisionHead) -> Self {
        Self {
            scope: scope.clone(),
            root: head.root,
            version: head.version,
            active: head.active,
            erased: head.is_erased(),
            rank: head.rank,
            domain: head.domain,
            phase: head.phase,
            title: head.title,
            claim: head.claim.map(Into::into),
            relations: head.relations.into_iter().map(Into::into).collect(),
            begun_at: head.begun_at,
            changed_at: head.changed_at,
        }
    }
}

/// What a version of a decision says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionText {
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
    /// What is decided, in full, with secrets masked.
    pub content: String,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it has to do with something else.
    pub relations: Vec<Relation>,
}

impl From<NewDecision> for DecisionText {
    fn from(said: NewDecision) -> Self {
        Self {
            rank: said.rank,
            domain: said.domain,
            phase: said.phase,
            title: said.title,
            content: said.content,
            claim: said.claim.map(Into::into),
            relations: said.relations.into_iter().map(Into::into).collect(),
        }
    }
}

/// One version of a decision, which never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionVersion {
    /// Its number, from 1.
    pub number: u64,
    /// How it came to be.
    #[schema(value_type = schema::Act)]
    pub act: String,
    /// The version whose text it has, where it restored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<u64>,
    /// What it says; absent of one that withdraws the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<DecisionText>,
    /// Why; empty where a chain began without a word.
    pub reason: String,
    /// Who saved it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The event that it was saved by.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
}

impl From<decision::DecisionVersion> for DecisionVersion {
    fn from(version: decision::DecisionVersion) -> Self {
        let (act, restored_from) = told(version.act);
        Self {
            number: version.number,
            act: act.to_owned(),
            restored_from,
            text: version.text.map(Into::into),
            reason: version.reason,
            by: version.by.into(),
            at: version.at,
            seq: version.seq,
        }
    }
}

/// The name of an act, and the version whose text one restored.
pub(crate) const fn told(act: Act) -> (&'static str, Option<u64>) {
    match act {
        Act::Begun => ("begun", None),
        Act::Changed => ("changed", None),
        Act::Withdrawn => ("withdrawn", None),
        Act::Restored { from } => ("restored", Some(from)),
    }
}

/// A decision with what it says.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DecisionView {
    /// What there is to know of it.
    pub head: DecisionHead,
    /// Its active version; the last one that said something, where it was withdrawn.
    pub version: DecisionVersion,
}

impl DecisionView {
    /// The wire form of a decision that `scope` holds.
    pub(crate) fn of(scope: &Scope, view: reads::DecisionView) -> Self {
        Self {
            head: DecisionHead::of(scope, view.head),
            version: view.version.into(),
        }
    }
}
