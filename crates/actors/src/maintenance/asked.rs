//! What is asked of a run of maintenance, and what is answered.

use std::collections::BTreeSet;

use sillok_core::Error;
use sillok_core::retention::plan::ScopePlan;
use sillok_core::schedule::Outcome;
use sillok_core::scope::Scope;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Takes out what is old.
    Archive,
    /// Takes out what is old and of little value.
    Prune,
    /// Offers skills that proved themselves in a project to their organisation.
    Offer,
    /// Forgets the answers to commands that nobody may give again.
    Forget,
    /// Compacts and indexes the vector tables of the node that runs it.
    Optimise,
    /// Signs the ends of all chains of events, and keeps that where the store is not.
    Sign,
}

impl Part {
    /// All parts, in the order of a run.
    pub const ALL: [Self; 6] = [
        Self::Archive,
        Self::Prune,
        Self::Offer,
        Self::Forget,
        Self::Optimise,
        Self::Sign,
    ];

    /// The part's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Prune => "prune",
            Self::Offer => "offer",
            Self::Forget => "forget",
            Self::Optimise => "optimise",
            Self::Sign => "sign",
        }
    }
}

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintain {
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// The parts to do.
    pub parts: BTreeSet<Part>,
    /// Take out more than the configured share of a scope, or of everything, too.
    pub force: bool,
    /// Look into this scope, and what lies inside it, alone. The tables of the node are optimised, and the ends of all chains
    /// signed, all the same.
    pub within: Option<Scope>,
}

impl Maintain {
    /// A whole run.
    #[must_use]
    pub fn whole() -> Self {
        Self {
            dry_run: false,
            parts: Part::ALL.into(),
            force: false,
            within: None,
        }
    }

    /// Whether nothing is left out, so that it stands for a night's run.
    pub(super) fn is_whole(&self) -> bool {
        self.within.is_none() && self.has_all_parts()
    }

    /// Whether a part is to be done that a wrong clock would do harm with. A checkpoint is none: what it says of the chains is
    /// true whenever it was signed, and a clock that is wrong is no reason to be without one.
    pub(super) fn goes_by_clock(&self) -> bool {
        let parts = [Part::Archive, Part::Prune, Part::Offer, Part::Forget];
        parts.iter().any(|part| self.parts.contains(part))
    }

    /// Whether all parts are to be done, as far as there is something to do.
    pub(super) fn has_all_parts(&self) -> bool {
        self.parts.len() == Part::ALL.len()
    }
}

/// What a run did in one scope, or would do.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeMaintained {
    /// The scope.
    pub scope: Scope,
    /// The plan.
    pub plan: ScopePlan,
    /// Entries that were taken out.
    pub retired: u64,
    /// Entries that were planned and had changed since.
    pub left: u64,
    /// Entries that are due and cannot be read: an audit names them.
    pub unreadable: u64,
    /// Whether so much of the scope, or of everything, is due that somebody has to say so: nothing was done here then, and
    /// no answer forgotten anywhere.
    pub asks: bool,
    /// Why the rest was not taken out: the scope is under quarantine, say. The run went on elsewhere.
    pub error: Option<Error>,
}

/// What a run did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintained {
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Whether so much of all of that is due that somebody has to say so: nothing was taken out, offered or forgotten
    /// anywhere then.
    pub asks: bool,
    /// Scopes in which something is due.
    pub scopes: Vec<ScopeMaintained>,
    /// Skills that were offered, or would be.
    pub offered: u64,
    /// Skills that were not, because no embedder answered or their organisation refused the question.
    pub not_offered: u64,
    /// What cannot be read of what the run looks at (entries that are due, skills that proved themselves, slots whose
    /// news the index could not take in): an audit names it.
    pub unreadable: u64,
    /// Promotions that have failed as often as they may, and wait for somebody.
    pub halted: u64,
    /// Answers to commands that were forgotten, or would be.
    pub forgotten: u64,
    /// Whether the vector tables were compacted and indexed.
    pub optimised: bool,
    /// Why they were not, though that was asked for.
    pub index_error: Option<Error>,
    /// The file of the checkpoint that was signed, or would be.
    pub checkpoint: Option<String>,
    /// Why none was signed, though that was asked for.
    pub checkpoint_error: Option<Error>,
}

impl Maintained {
    /// What is written down of it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let count = |is: fn(&ScopeMaintained) -> bool| {
            self.scopes.iter().filter(|scope| is(scope)).count() as u64
        };
        Outcome {
            retired: self.scopes.iter().map(|scope| scope.retired).sum(),
            offered: self.offered,
            asks: count(|scope| scope.asks),
            refused: count(|scope| scope.error.is_some())
                + self.not_offered
                + self.unreadable
                + u64::from(self.index_error.is_some())
                + u64::from(self.checkpoint_error.is_some()),
            halted: self.halted,
        }
    }
}
