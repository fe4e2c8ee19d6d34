//! The state of the node, and the verdict of an audit, on the wire.

use serde::{Deserialize, Serialize};
use sillok_actors::maintenance::Progress;
use sillok_actors::spaces::ChangeStatus;
use sillok_core::Error;
use sillok_core::chain::EventHash;
use sillok_core::checkpoint;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::schedule::Run;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::schema;

/// What the node is doing. Counts are of the whole store; promotions are those that the token covers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// Version of the server.
    pub version: String,
    /// Name of the node.
    pub node: String,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Raised by each restore of the store.
    pub generation: u32,
    /// Scopes that hold at least one event.
    pub scopes: u64,
    /// How many of them are tasks.
    pub tasks: u64,
    /// Events in all scopes.
    pub events: u64,
    /// Scope actors that are there.
    pub active_scopes: u64,
    /// Commands that wait or are under way.
    pub queued_commands: u64,
    /// Transactions that were committed since the start.
    pub batches: u64,
    /// Commands that were applied since the start.
    pub commands: u64,
    /// Entries that the index holds durably.
    pub index_stored: u64,
    /// States of entries that the index serves from memory until they are stored.
    pub index_pending: u64,
    /// The space of the vectors that entries are searched by.
    pub space: String,
    /// A change of the embedder that is under way, or has come to its end since the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder_change: Option<EmbedderChange>,
    /// Promotions of this node that are not finished.
    pub promotions: Vec<JobView>,
    /// The last whole run of maintenance in the cluster, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceRun>,
    /// How far the run is that is under way on this node, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_under_way: Option<MaintenanceProgress>,
    /// When maintenance is due next, where the node sees to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub maintenance_due: Option<Timestamp>,
}

/// A change of the embedder: the vectors of all entries are made anew, while the former ones are searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EmbedderChange {
    /// The space that entries were searched by when the server started.
    pub from: String,
    /// The space that they are to be searched by.
    pub wanted: String,
    /// Whether they are. Then `embedder.previous` is of no use any more.
    pub over: bool,
    /// Entries that were looked at.
    pub done: u64,
    /// Entries that there are, about.
    pub total: u64,
    /// Why the last step failed, if it did. It is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl From<ChangeStatus> for EmbedderChange {
    fn from(change: ChangeStatus) -> Self {
        Self {
            from: change.from.0,
            wanted: change.wanted.0,
            over: change.is_over,
            done: change.done,
            total: change.total,
            last_error: change.last_error,
        }
    }
}

/// A run of maintenance that came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MaintenanceRun {
    /// The node that carried it out.
    pub node: String,
    /// When it began.
    #[schema(value_type = schema::Timestamp)]
    pub began: Timestamp,
    /// When it ended.
    #[schema(value_type = schema::Timestamp)]
    pub ended: Timestamp,
    /// Entries that were taken out of recall.
    pub retired: u64,
    /// Skills that were offered to their organisation.
    pub offered: u64,
    /// Scopes of which so much is due that somebody has to say so.
    pub asks: u64,
    /// Scopes, skills, vector tables and places of checkpoints that refused, and what could not be read.
    pub refused: u64,
    /// Promotions that had failed as often as they may, and waited for somebody.
    pub halted: u64,
    /// The file of the checkpoint that it signed, on its node, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// How far a run of maintenance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MaintenanceProgress {
    /// Entries that there were as it began.
    pub entries: u64,
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Entries that are to be taken out; 0 until all were looked at.
    pub planned: u64,
    /// Those of them that are done with.
    pub retired: u64,
}

impl From<Progress> for MaintenanceProgress {
    fn from(progress: Progress) -> Self {
        Self {
            entries: progress.entries,
            looked_at: progress.looked_at,
            planned: progress.planned,
            retired: progress.retired,
        }
    }
}

impl From<Run> for MaintenanceRun {
    fn from(run: Run) -> Self {
        Self {
            node: run.node,
            began: run.began,
            ended: run.ended,
            retired: run.did.retired,
            offered: run.did.offered,
            asks: run.did.asks,
            refused: run.did.refused,
            halted: run.did.halted,
            checkpoint: run.checkpoint,
        }
    }
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
    /// Attempts so far that failed.
    pub attempts: u32,
    /// Why the last one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Whether it has failed as often as it may, and waits until it is wanted tried anew.
    pub halted: bool,
}

/// The ends of all chains of events, signed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    /// The checkpoint, to be kept where the store is not: lines of JSON.
    pub text: String,
    /// The key that it is signed by, in hexadecimal: the same for all checkpoints of the installation.
    pub key: String,
    /// Chains that it has the end of.
    pub scopes: u64,
}

/// The end of a chain, as a checkpoint has it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainEnd {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Its last event then.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// The hash of that event: 64 hexadecimal digits.
    #[schema(value_type = schema::ContentHash)]
    pub hash: String,
}

impl From<&checkpoint::ChainEnd> for ChainEnd {
    fn from(end: &checkpoint::ChainEnd) -> Self {
        Self {
            scope: end.scope.clone(),
            seq: end.seq,
            hash: end.hash.to_string(),
        }
    }
}

impl TryFrom<ChainEnd> for checkpoint::ChainEnd {
    type Error = Error;

    fn try_from(end: ChainEnd) -> Result<Self, Error> {
        Ok(Self {
            hash: EventHash::from_bytes(checkpoint::parse_hash(&end.hash)?),
            scope: end.scope,
            seq: end.seq,
        })
    }
}

/// Asks whether these events are in their chains.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareChains {
    /// Ends that a checkpoint has, at most 10,000.
    pub ends: Vec<ChainEnd>,
}

/// Whether they are.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChainsCompared {
    /// Whether all of them are.
    pub ok: bool,
    /// The first that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<AuditDifference>,
}

/// Asks for an audit of everything.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditRequest {}

/// The verdict of an audit.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditAnswer {
    /// Whether everything holds.
    pub ok: bool,
    /// Scopes that were checked.
    pub scopes: u64,
    /// Events that were checked.
    pub events: u64,
    /// Rows of the view that follow from the events.
    pub rows: u64,
    /// Records of commands that agree with the events.
    pub commands: u64,
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
    /// The family of keys.
    pub family: String,
    /// The key in hexadecimal, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What differs.
    pub what: String,
    /// Which invariant that breaks.
    pub invariant: String,
}
