//! Listings: the queries that ask for a page, and the page.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::schema;

/// Names one scope.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScopeQuery {
    /// The scope.
    #[param(value_type = schema::Scope)]
    pub scope: String,
}

/// Names what lies under a scope, itself included.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UnderQuery {
    /// The scope, or `*` for everything.
    #[param(value_type = schema::ScopePrefix)]
    pub scope: String,
}

/// Asks for one page of a scope's listing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The scope.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The cursor that the page before gave as `next`; from the start when absent. Of records also
    /// the `seq` of the last one that is known, to ask for news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many items, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// Asks for one page of a listing of what lies under a scope.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UnderListQuery {
    /// The scope, or `*` for everything.
    #[param(value_type = schema::ScopePrefix)]
    pub scope: String,
    /// The cursor that the page before gave as `next`; from the start when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many items, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// Asks for one page of a task's listing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskListQuery {
    /// The task's scope.
    #[param(value_type = schema::TaskScope)]
    pub scope: String,
    /// The cursor that the page before gave as `next`; from the start when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many items, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// One page of a listing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items, in order.
    pub items: Vec<T>,
    /// The cursor of the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
