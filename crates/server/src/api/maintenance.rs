//! Maintenance on the wire: what is asked of a run, and what it did.

use serde::{Deserialize, Serialize};
use sillok_actors::maintenance::{self, Part};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use utoipa::ToSchema;

use super::schema;

/// Entries of a scope that an answer names. The rest are counted.
const NAMED_MAX: usize = 1_000;

/// Asks for a run over all that is published.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Maintain {
    /// Say what would be done, and do nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The parts to do: archive, prune, offer, forget, optimise, sign; all of them when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::MaintenancePart>)]
    pub only: Vec<String>,
    /// Take out more than the configured share of a scope, or of everything, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Look into this scope, and what lies inside it, alone. The tables that are compacted, and the checkpoint that is signed, are
    /// of everything all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Scope>)]
    pub scope: Option<String>,
}

impl TryFrom<Maintain> for maintenance::Maintain {
    type Error = Error;

    fn try_from(asked: Maintain) -> Result<Self, Error> {
        let part = |name: &String| {
            let known = Part::ALL.into_iter().find(|part| part.as_str() == name);
            known.ok_or_else(|| {
                let names = Part::ALL.map(Part::as_str).join(", ");
                let why = format!("the parts of maintenance are {names}");
                Error::new(ErrorCode::InvalidArgument, why)
            })
        };
        let parts = match asked.only.is_empty() {
            true => Part::ALL.into(),
            false => asked.only.iter().map(part).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            dry_run: asked.dry_run,
            parts,
            force: asked.force,
            within: asked.scope.as_deref().map(Scope::parse).transpose()?,
        })
    }
}

/// What a run did in one scope, or would do.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ScopeMaintained {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Entries whose time is over.
    pub aged: u64,
    /// Old entries of little value.
    pub pruned: u64,
    /// Old entries that stay, because they are among the best of their task.
    pub kept: u64,
    /// Entries that were looked at and are not taken out yet.
    pub live: u64,
    /// The first of those that are due.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub entries: Vec<EntryId>,
    /// Entries that were taken out.
    pub retired: u64,
    /// Entries that were planned and had changed since.
    pub left: u64,
    /// Whether so much of the scope, or of everything, is due that somebody has to say so, with `force`: nothing was done
    /// here, and no answer forgotten anywhere.
    pub asks: bool,
    /// Why the rest was not taken out; the run went on elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<maintenance::ScopeMaintained> for ScopeMaintained {
    fn from(done: maintenance::ScopeMaintained) -> Self {
        let plan = done.plan;
        let due = plan
            .aged
            .iter()
            .chain(&plan.pruned)
            .map(|(entry, _)| *entry);
        Self {
            aged: plan.aged.len() as u64,
            pruned: plan.pruned.len() as u64,
            kept: plan.kept,
            live: plan.live,
            entries: due.take(NAMED_MAX).collect(),
            scope: done.scope,
            retired: done.retired,
            left: done.left,
            asks: done.asks,
            error: done.error.map(|error| error.to_string()),
        }
    }
}

/// What a run did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Maintained {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Whether so much of all of that is due that somebody has to say so, with `force`: nothing was taken out, offered or
    /// forgotten anywhere.
    #[serde(default)]
    pub asks: bool,
    /// Scopes in which something is due.
    pub scopes: Vec<ScopeMaintained>,
    /// Skills that were offered to their organisation, or would be.
    pub offered: u64,
    /// Skills that were not, because no embedder answered or their organisation refused the question.
    pub not_offered: u64,
    /// Entries that are due, skills that proved themselves and slots that cannot be read: an audit names them.
    pub unreadable: u64,
    /// Promotions that have failed as often as they may, and wait for somebody.
    pub halted: u64,
    /// Answers to commands that were forgotten, since nobody may give these again, or would be.
    #[serde(default)]
    pub forgotten: u64,
    /// Whether the vector tables of the node were compacted and indexed.
    pub optimised: bool,
    /// Why they were not, though that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_error: Option<String>,
    /// The file of the checkpoint that the node signed, or would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Why it signed none, though that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_error: Option<String>,
}

impl Maintained {
    /// The answer to a run.
    #[must_use]
    pub fn of(dry_run: bool, done: maintenance::Maintained) -> Self {
        Self {
            dry_run,
            looked_at: done.looked_at,
            asks: done.asks,
            scopes: done.scopes.into_iter().map(Into::into).collect(),
            offered: done.offered,
            not_offered: done.not_offered,
            unreadable: done.unreadable,
            halted: done.halted,
            forgotten: done.forgotten,
            optimised: done.optimised,
            index_error: done.index_error.map(|error| error.to_string()),
            checkpoint: done.checkpoint,
            checkpoint_error: done.checkpoint_error.map(|error| error.to_string()),
        }
    }
}
