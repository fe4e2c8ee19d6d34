//! Live tails on the wire.
//!
//! Owns what is asked for and what comes. What an event shows is [`event`](super::event)'s.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{EventView, schema};

/// Asks for a live tail.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TailQuery {
    /// Events of this scope and all that lie inside it, or `*` for those of every scope.
    #[param(value_type = schema::ScopePrefix)]
    pub scope: String,
    /// Go on after this cursor; from the first event when absent. `Last-Event-ID` has precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub cursor: Option<String>,
    /// Events of these kinds alone, by their names with commas between them, such as
    /// `PUBLISHED,REVIEW_RAISED`; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::EventKinds>)]
    pub kind: Option<String>,
}

/// One item of a live tail.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TailItem {
    /// Where the tail goes on after this item.
    pub cursor: String,
    /// The event.
    pub event: EventView,
}

/// One event of a live tail, as server-sent events have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TailEvent {
    /// The item, a `TailItem` as JSON; of the event `error` the refusal that ends the tail, a `Problem`. One that has an id
    /// alone has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The kind of the item's event, or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Where the tail goes on after it: a cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}
