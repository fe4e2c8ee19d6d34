//! Saving, withdrawing and restoring decisions: requests and answers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::command::{self, Command, DecisionRef};
use sillok_core::decision::{self, Domain, NewDecision, Proposal, Rank, RelationName};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{CommandId, DecisionId, Seq};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::{KindName, Reaches};
use crate::api::{Claim, Meaning, schema};

/// What a decision declares to have to do with something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// How they are related.
    #[schema(value_type = schema::RelationKind)]
    pub kind: KindName,
    /// To what.
    #[schema(value_type = schema::Node)]
    pub to: String,
}

impl Relation {
    fn resolve(self, reaches: &Reaches) -> Result<decision::Relation, Error> {
        Ok(decision::Relation {
            kind: self.kind.resolve(reaches)?,
            to: self.to.parse()?,
        })
    }
}

impl From<decision::Relation> for Relation {
    fn from(relation: decision::Relation) -> Self {
        Self {
            kind: relation.kind.into(),
            to: relation.to.to_string(),
        }
    }
}

/// Saves a decision, or says what would come of it: it begins a chain of versions, or gives one that is there a further
/// version. That one says all that holds from then on: nothing of the version before it is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveDecision {
    /// The scope that the decision is made in.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The decision that is changed; a chain begins when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::DecisionId>)]
    pub root: Option<String>,
    /// The version of it that the caller has seen. Given with `root`, and only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Version>)]
    pub expected_version: Option<u64>,
    /// How strong it is: `normal` when a chain begins and nothing is said. A change says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Rank>)]
    pub rank: Option<Rank>,
    /// Where it applies: `global` when a chain begins and nothing is said. A change says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// The phase of work that it belongs to. It filters nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Phase>)]
    pub phase: Option<String>,
    /// What is decided, in a line.
    #[schema(value_type = schema::Line)]
    pub title: String,
    /// What is decided, in full.
    #[schema(value_type = schema::Said)]
    pub content: String,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it has to do with something else, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub relations: Vec<Relation>,
    /// Why. A change says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a request to save or to propose says.
struct Said {
    scope: Scope,
    change: Option<DecisionRef>,
    text: NewDecision,
    reason: String,
}

impl SaveDecision {
    /// The names of the kinds that its relations are of, but for those that are built in.
    #[must_use]
    pub fn declared_kinds(&self) -> BTreeSet<RelationName> {
        let kinds = self.relations.iter().map(|relation| relation.kind);
        kinds.filter_map(KindName::declared).collect()
    }

    /// The command, and where it goes. Of each declared kind, `reaches` says which way it carries a change.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_id`, `invalid_request` where a change is named in part or leaves out what it has to say,
    /// and what is wrong with a name.
    pub fn into_command(self, reaches: &Reaches) -> Result<(Scope, Command), Error> {
        let said = self.parse(reaches)?;
        let save = command::SaveDecision {
            change: said.change,
            text: said.text,
            reason: said.reason,
        };
        Ok((said.scope, Command::SaveDecision(Box::new(save))))
    }

    /// What it would say, where, and of which decision: no command comes of that.
    ///
    /// # Errors
    /// As [`Self::into_command`].
    pub fn into_proposal(
        self,
        reaches: &Reaches,
    ) -> Result<(Scope, Option<DecisionRef>, Proposal), Error> {
        let said = self.parse(reaches)?;
        Ok((said.scope, said.change, Proposal::of(said.text)))
    }

    fn parse(self, reaches: &Reaches) -> Result<Said, Error> {
        let scope = Scope::parse(&self.scope)?;
        let change = match (self.root, self.expected_version) {
            (None, None) => None,
            (Some(root), Some(expected_version)) => Some(DecisionRef {
                root: root.parse()?,
                expected_version,
            }),
            _ => {
                return Err(incomplete(
                    "'root' and 'expected_version' are given together",
                ));
            }
        };
        // Silence would turn an axis into any other choice, or one of a domain into one of all.
        if change.is_some() && (self.rank.is_none() || self.domain.is_none()) {
            return Err(incomplete("a change says its 'rank' and its 'domain'"));
        }
        let domain: Option<Domain> = self.domain.as_deref().map(str::parse).transpose()?;
        let relations = self.relations.into_iter().map(|one| one.resolve(reaches));
        let text = NewDecision {
            rank: self.rank.unwrap_or(Rank::Normal),
            domain: domain.unwrap_or_default(),
            phase: self.phase.as_deref().map(str::parse).transpose()?,
            title: self.title,
            content: self.content,
            claim: self.claim.map(Into::into),
            relations: relations.collect::<Result<Vec<decision::Relation>, Error>>()?,
        };
        Ok(Said {
            scope,
            change,
            text,
            reason: self.reason,
        })
    }
}

fn incomplete(why: &str) -> Error {
    Error::new(ErrorCode::InvalidRequest, why)
}

/// Withdraws a decision: it applies no longer, and stays readable.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeactivateDecision {
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: String,
    /// The version of it that the caller has seen.
    #[schema(value_type = schema::Version)]
    pub expected_version: u64,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

impl DeactivateDecision {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let command = Command::DeactivateDecision {
            root: self.root.parse()?,
            expected_version: self.expected_version,
            reason: self.reason,
        };
        Ok((scope, command))
    }
}

/// Has a decision apply again that was withdrawn, with what one of its versions said.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreDecision {
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: String,
    /// The version of it that the caller has seen: the one that withdrew it.
    #[schema(value_type = schema::Version)]
    pub expected_version: u64,
    /// The version whose text holds again.
    #[schema(value_type = schema::Version)]
    pub version: u64,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

impl RestoreDecision {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let command = Command::RestoreDecision {
            root: self.root.parse()?,
            expected_version: self.expected_version,
            version: self.version,
            reason: self.reason,
        };
        Ok((scope, command))
    }
}

/// A decision was saved, withdrawn or restored, and what that means to others, as of the answer. It is saved, also where
/// what it means could not be told.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DecisionSaved {
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: DecisionId,
    /// Its newest version.
    pub version: u64,
    /// Whether it applies.
    pub active: bool,
    /// What that means to others, or why that could not be told.
    #[serde(flatten)]
    pub means: Meaning,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was saved.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "01900000-0000-7000-8000-000000000000";

    fn parsed(text: &str) -> Result<(Scope, Command), Error> {
        serde_json::from_str::<SaveDecision>(text)
            .unwrap()
            .into_command(&Reaches::new())
    }

    #[test]
    fn a_chain_begins_as_a_normal_decision_about_everything() {
        let (scope, command) = parsed(r#"{"scope":"org/a","title":"t","content":"c"}"#).unwrap();
        let Command::SaveDecision(save) = command else {
            panic!("{command:?}")
        };
        assert_eq!(scope.to_string(), "org/a");
        assert_eq!((save.change, save.text.rank), (None, Rank::Normal));
        assert!(save.text.domain.is_global() && save.text.relations.is_empty());
    }

    #[test]
    fn a_change_says_which_version_it_changes_and_how_strong_it_is() {
        let of_change = |rest: &str| {
            let text =
                format!(r#"{{"scope":"org/a","title":"t","content":"c","root":"{ROOT}"{rest}}}"#);
            parsed(&text).map_err(|refused| refused.code)
        };
        let whole = r#","expected_version":3,"rank":"axis","domain":"ui""#;
        let (_, command) = of_change(whole).unwrap();
        let Command::SaveDecision(save) = command else {
            panic!("{command:?}")
        };
        assert_eq!(save.change.map(|change| change.expected_version), Some(3));
        for part in [
            "",
            r#","rank":"axis","domain":"ui""#,
            r#","expected_version":3"#,
            r#","expected_version":3,"rank":"axis""#,
            r#","expected_version":3,"domain":"ui""#,
        ] {
            assert_eq!(of_change(part), Err(ErrorCode::InvalidRequest), "{part}");
        }
    }

    #[test]
    fn a_wrong_name_is_refused_by_the_code_of_its_kind() {
        for (field, code) in [
            (r#""domain":"UI""#, ErrorCode::InvalidArgument),
            (r#""phase":"""#, ErrorCode::InvalidArgument),
            (
                r#""relations":[{"kind":"DEPENDS_ON","to":"file"}]"#,
                ErrorCode::InvalidArgument,
            ),
            (
                r#""relations":[{"kind":"DEPENDS_ON","to":"decision:org/a#7"}]"#,
                ErrorCode::InvalidId,
            ),
            (
                r#""relations":[{"kind":"APPLIES_TO","to":"file:../a"}]"#,
                ErrorCode::InvalidArgument,
            ),
            (
                r#""relations":[{"kind":"LIKES","to":"file:a"}]"#,
                ErrorCode::InvalidArgument,
            ),
        ] {
            let text = format!(r#"{{"scope":"org/a","title":"t","content":"c",{field}}}"#);
            assert_eq!(parsed(&text).unwrap_err().code, code, "{field}");
        }
        for odd in [
            r#""rank":"strong""#,
            r#""relations":[{"kind":"LIKES IT","to":"file:a"}]"#,
        ] {
            let text = format!(r#"{{"scope":"org/a","title":"t","content":"c",{odd}}}"#);
            assert!(
                serde_json::from_str::<SaveDecision>(&text).is_err(),
                "{odd}"
            );
        }
    }
}
