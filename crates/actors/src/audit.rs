//! Audit: does everything that is stored follow from the events, and do the events hold together?
//!
//! Owns the order in which a store is gone through and the report. Every scope is read as it was at one
//! moment, so a node may go on writing meanwhile. Memory is that of the largest scope's heads, and
//! of the longest chain of a decision, and a few bytes for each scope and token. It changes nothing.

use core::fmt;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::Error;
use sillok_core::id::Seq;
use sillok_core::invariants::Invariant;
use sillok_core::scope::Scope;
use sillok_core::token::TokenHash;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{RangeOptions, Read, Store, Txn};

use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::rows::Place;

mod chains;
pub mod checkpoint;
mod commands;
pub(crate) mod elsewhere;
mod erasures;
pub(crate) mod fold;
mod former;
pub(crate) mod lines;
mod lookup;
mod outbox;
pub(crate) mod scope;
mod stop;
mod texts;
mod told;
pub use elsewhere::is_operators;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditReport {
    /// Scopes whose chain and view hold.
    pub scopes: u64,
    /// Events that hold.
    pub events: u64,
    /// Rows of the view that follow from the events.
    pub rows: u64,
    /// Records of commands that agree with the events.
    pub commands: u64,
    /// Large texts whose chunks are what was written.
    pub large_texts: u64,
    /// Chunks that no event names: what a crash left behind before its commit. They do no harm.
    pub chunks_unused: u64,
    /// Rows of the outbox.
    pub outbox_rows: u64,
    /// Tokens that cover everything, which no scope's events explain.
    pub operator_tokens: u64,
    /// The first difference; none when everything holds.
    pub first: Option<Difference>,
}

impl AuditReport {
    /// Whether everything holds.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.first.is_none()
    }
}

/// One place where what is stored is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The scope, for a family that belongs to one.
    pub scope: Option<Scope>,
    /// The event that determines what should be there, where one does.
    pub seq: Option<Seq>,
    /// The family of keys.
    pub family: String,
    /// The key in hexadecimal, where there is one.
    pub key: Option<String>,
    /// What does not fit.
    pub what: String,
    /// Which invariant that breaks.
    pub invariant: Invariant,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.scope, self.seq) {
            (Some(scope), Some(seq)) => write!(f, "{scope}#{seq}")?,
            (Some(scope), None) => write!(f, "{scope}")?,
            (None, _) => write!(
                f,
                "family {} key {}",
                self.family,
                self.key.as_deref().unwrap_or("none")
            )?,
        }
        write!(f, " ({}): {}", self.family, self.what)
    }
}

/// How far an audit or a rebuild has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Scopes that were gone through.
    pub scopes: u64,
    /// Events that were gone through.
    pub events: u64,
    /// Entries that were told to the index. Only a rebuild does that.
    pub entries: u64,
}

/// Told how far the work has come, after each scope and in between in a large one.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Events after which progress is told within a scope.
pub(crate) const PROGRESS_EVENTS: u64 = 10_000;

/// Why an audit does not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It found a difference.
    Found(Box<Difference>),
    /// The store did not answer.
    Failed(Error),
}

/// What is remembered from scope to scope.
#[derive(Default)]
pub(crate) struct Seen {
    /// The scope before this one, in the order of keys.
    pub(crate) last: Option<ScopeKey>,
    /// Tokens that events made.
    pub(crate) minted: BTreeSet<TokenHash>,
}

/// Goes through the whole store and reports the first difference between what is stored and what
/// the events lead to.
///
/// # Errors
/// What the store answers; `busy` when a scope that takes the store longer to read than it keeps one moment
/// is written to all the while. A difference is no error: it is in the report.
pub async fn verify<S: Store>(store: &S, progress: OnProgress<'_>) -> Result<AuditReport, Error> {
    let mut report = AuditReport::default();
    match go_through(&LongReads::of(store), progress, &mut report).await {
        Ok(()) => {}
        Err(Stop::Found(difference)) => report.first = Some(*difference),
        Err(Stop::Failed(error)) => return Err(error),
    }
    Ok(report)
}

async fn go_through<S: Store>(
    store: &LongReads<S>,
    progress: OnProgress<'_>,
    report: &mut AuditReport,
) -> Result<(), Stop> {
    let mut seen = Seen::default();
    while scope::next(store, &mut seen, report, progress).await? {
        progress(Progress {
            scopes: report.scopes,
            events: report.events,
            entries: 0,
        });
    }
    outbox::check(store, report).await?;
    elsewhere::check(store, &seen, report).await
}

/// The scope that a key means, when the row that names it is damaged or gone: some row of the
/// outbox still names it.
pub(crate) async fn name_of(txn: &mut impl Txn, scope: &ScopeKey) -> Result<Option<Place>, Stop> {
    let mut rows = crate::row_stream::RowStream::new(Family::Outbox.range());
    while let Some((key, value)) = rows.next(txn).await? {
        if let Ok(row) = keys::outbox::decode(&key, &value)
            && ScopeKey::of(&row.scope) == *scope
        {
            return Ok(Some(Place::of(&row.scope)));
        }
    }
    Ok(None)
}

/// The position of the last event of a scope that is there.
pub(crate) async fn last_event(txn: &mut impl Txn, scope: &ScopeKey) -> Result<Option<Seq>, Error> {
    let range = keys::event::range_of_scope(scope);
    let rows = txn
        .range(&range, RangeOptions::last(1, Read::Snapshot))
        .await;
    let rows = rows.map_err(|error| refusal(&error))?;
    Ok(rows
        .first()
        .and_then(|(key, _)| keys::event::parse(key).ok())
        .map(|key| key.seq))
}
