//! Adding and dropping anchors: requests and answers.

use serde::{Deserialize, Serialize};
use sillok_core::anchor;
use sillok_core::command::Command;
use sillok_core::decision::Domain;
use sillok_core::error::Error;
use sillok_core::id::{AnchorId, CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use crate::api::schema;

/// A hint where to go on reading, as its writer hands it over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAnchor {
    /// What is found there, in a line.
    #[schema(value_type = schema::Hint)]
    pub hint: String,
    /// What it is about; `global` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Domain>)]
    pub domain: Option<String>,
    /// What it leads to, 1 to 16: decisions and evidence, of its scope or of those above it.
    #[schema(value_type = HashSet<schema::Led>, min_items = 1, max_items = 16)]
    pub to: Vec<String>,
}

impl TryFrom<NewAnchor> for anchor::NewAnchor {
    type Error = Error;

    fn try_from(wire: NewAnchor) -> Result<Self, Error> {
        let domain: Option<Domain> = wire.domain.as_deref().map(str::parse).transpose()?;
        let nodes = wire.to.iter().map(|text| text.parse());
        Ok(Self {
            hint: wire.hint,
            domain: domain.unwrap_or_default(),
            to: nodes.collect::<Result<_, Error>>()?,
        })
    }
}

/// Adds anchors to a scope, in order, all or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAnchors {
    /// The scope that they are added to.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The anchors, 1 to 64.
    #[schema(min_items = 1, max_items = 64)]
    pub anchors: Vec<NewAnchor>,
}

impl AddAnchors {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`, and what is wrong with a name.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let anchors = self.anchors.into_iter().map(TryInto::try_into);
        let anchors = anchors.collect::<Result<Vec<anchor::NewAnchor>, Error>>()?;
        Ok((scope, Command::AddAnchors { anchors }))
    }
}

/// Anchors were added.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnchorsAdded {
    /// The anchors, in the order in which they were given.
    #[schema(value_type = Vec<schema::AnchorId>)]
    pub ids: Vec<AnchorId>,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When they were added.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Drops an anchor: it is listed no longer, and stays readable. What it leads to stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DropAnchor {
    /// The scope that it was added to.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The anchor.
    #[schema(value_type = schema::AnchorId)]
    pub id: String,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

impl DropAnchor {
    /// The anchor, where it is, and the command.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(AnchorId, (Scope, Command)), Error> {
        let scope = Scope::parse(&self.scope)?;
        let anchor: AnchorId = self.id.parse()?;
        let command = Command::DropAnchor {
            anchor,
            reason: self.reason,
        };
        Ok((anchor, (scope, command)))
    }
}

/// An anchor was dropped.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnchorDropped {
    /// The anchor.
    #[schema(value_type = schema::AnchorId)]
    pub id: AnchorId,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was dropped.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

#[cfg(test)]
mod tests {
    use sillok_core::error::ErrorCode;

    use super::*;

    const ID: &str = "01900000-0000-7000-8000-000000000000";

    fn parsed(anchors: &[NewAnchor]) -> Result<Vec<anchor::NewAnchor>, ErrorCode> {
        let body = AddAnchors {
            scope: "org/a".to_owned(),
            anchors: anchors.to_vec(),
        };
        let (_, command) = body.into_command().map_err(|refused| refused.code)?;
        let Command::AddAnchors { anchors } = command else {
            panic!("{command:?}")
        };
        Ok(anchors)
    }

    fn anchor(domain: Option<&str>, to: &[&str]) -> NewAnchor {
        NewAnchor {
            hint: "h".to_owned(),
            domain: domain.map(str::to_owned),
            to: to.iter().map(|&node| node.to_owned()).collect(),
        }
    }

    #[test]
    fn an_anchor_is_about_everything_unless_it_is_said_and_keeps_its_order() {
        let (decision, evidence) = (
            format!("decision:org/a#{ID}"),
            format!("evidence:org/a#{ID}"),
        );
        let to = [evidence.as_str(), decision.as_str()];
        let both = [anchor(None, &to), anchor(Some("ui"), &to[1..])];
        let parsed = parsed(&both).unwrap();
        assert!(parsed[0].domain.is_global() && parsed[1].domain.as_str() == "ui");
        let nodes: Vec<String> = parsed[0].to.iter().map(ToString::to_string).collect();
        assert_eq!(nodes, to);
    }

    #[test]
    fn a_wrong_name_is_refused_by_the_code_of_its_kind() {
        let node = format!("evidence:org/a#{ID}");
        for (wrong, code) in [
            (anchor(Some("UI"), &[&node]), ErrorCode::InvalidArgument),
            (
                anchor(None, &["evidence:org/a"]),
                ErrorCode::InvalidArgument,
            ),
            (anchor(None, &["evidence:org/a#7"]), ErrorCode::InvalidId),
            (anchor(None, &["evidence:a#7"]), ErrorCode::InvalidScope),
        ] {
            assert_eq!(
                parsed(core::slice::from_ref(&wrong)),
                Err(code),
                "{wrong:?}"
            );
        }
    }
}
