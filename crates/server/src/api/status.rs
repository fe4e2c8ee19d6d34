//! The state of the node, and the verdict of an audit, on the wire.

use serde::{Deserialize, Serialize};
use sillok_core::id::{Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::schema;

/// What the node is doing. What lies outside the token's scope is not shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// Version of the server.
    pub version: String,
    /// Name of the node.
    pub node: String,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Scopes that hold at least one event.
    pub scopes: u64,
    /// Events in them.
    pub events: u64,
    /// Scope actors that are running.
    pub active_scopes: u64,
    /// Commands that wait.
    pub queued_commands: u64,
    /// Commits since the start.
    pub commits: u64,
    /// Commands carried out since the start.
    pub commands: u64,
    /// Entries that the index holds durably.
    pub index_stored: u64,
    /// Entries that the index serves from memory.
    pub index_pending: u64,
    /// Promotions that are not finished.
    pub jobs: Vec<JobView>,
}

/// A promotion that is not finished.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// The task whose verification it carries out.
    #[schema(value_type = schema::Scope)]
    pub source: Scope,
    /// The verification.
    #[schema(value_type = schema::VerificationId)]
    pub verification: VerificationId,
    /// When it was written.
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
}

/// The verdict of an audit.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditAnswer {
    /// Whether everything holds.
    pub ok: bool,
    /// Scopes that were checked.
    pub scopes: u64,
    /// Events that were checked.
    pub events: u64,
    /// The first difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<AuditDifference>,
}

/// Where an audit found a difference: a scope and position, or a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditDifference {
    /// The scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Scope>)]
    pub scope: Option<Scope>,
    /// The position in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seq>)]
    pub seq: Option<Seq>,
    /// The key, for families that belong to no scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What differs.
    pub what: String,
}
