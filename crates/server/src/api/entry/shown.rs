//! Entries as they are shown: with the active version, or with their history.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::view::{EntryHead, VersionView};
use crate::api::schema;

/// Asks for an entry's history.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// The entry.
    #[param(value_type = schema::EntryId)]
    pub id: String,
    /// The cursor that the page before gave as `line_next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub line_after: Option<String>,
    /// The cursor that the page before gave as `versions_next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub versions_after: Option<String>,
}

/// Names one entry.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EntryQuery {
    /// The entry.
    #[param(value_type = schema::EntryId)]
    pub id: String,
}

/// An entry with its active version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    /// What changes while versions stay.
    pub head: EntryHead,
    /// The active version.
    pub version: VersionView,
}

/// The line of supersessions that an entry stands in, and the versions of the entry itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The line, the first entry first.
    pub line: Vec<EntryHead>,
    /// Where the line goes on; absent at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_next: Option<String>,
    /// The entry's versions, the first one first.
    pub versions: Vec<VersionView>,
    /// Where the versions go on; absent at their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions_next: Option<String>,
}

impl From<sillok_actors::reads::EntryView> for EntryView {
    fn from(view: sillok_actors::reads::EntryView) -> Self {
        let (head, mut version) = (view.head, view.version);
        version.detail = version.detail.with(head.usage);
        Self {
            head: head.into(),
            version: version.into(),
        }
    }
}
