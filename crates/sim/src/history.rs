//! The history: what every client asked, when, and what it was told.
//!
//! Owns the record that the checkers judge. It must not know how a client gets its answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::ErrorCode;
use sillok_core::command::Digest;
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;

/// How a command ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was acknowledged, with the position behind its events.
    Acknowledged(Seq),
    /// It was refused for good.
    Refused(ErrorCode),
}

/// A command as its client saw it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who.
    pub actor: Actor,
    /// Where.
    pub scope: Scope,
    /// The command's id.
    pub command: CommandId,
    /// Its body.
    pub digest: Digest,
    /// Its name, for people.
    pub name: &'static str,
    /// When it was first sent, in µs of the world.
    pub invoked_us: u64,
    /// When and how it ended; none while it is under way.
    pub ended: Option<(u64, Ending)>,
    /// Whether it must be refused whenever it comes.
    pub is_forged: bool,
}

/// A read of where a scope's chain ends, as its client saw it.
#[derive(Clone, Debug)]
pub struct TipRead {
    /// Which client.
    pub agent: usize,
    /// Of which scope.
    pub scope: Scope,
    /// When it was asked, in µs of the world.
    pub invoked_us: u64,
    /// When it was answered, in µs of the world.
    pub answered_us: u64,
    /// The answer.
    pub seq: Seq,
}

/// What a workload noted for its own check.
#[derive(Clone, Debug)]
pub struct Note {
    /// Which client.
    pub agent: usize,
    /// When, in µs of the world.
    pub at_us: u64,
    /// Whose note it is.
    pub kind: &'static str,
    /// What was seen.
    pub value: serde_json::Value,
}

/// All that clients saw.
#[derive(Debug, Default)]
pub struct History {
    /// Commands, in the order in which they were first sent.
    pub calls: Vec<Call>,
    /// Reads, in the order of their answers.
    pub reads: Vec<TipRead>,
    /// What clients saw that must not be.
    pub complaints: Vec<String>,
    /// What workloads noted, in the order in which they did.
    pub notes: Vec<Note>,
    /// When the index of whoever committed an entry was told of it, in µs of the world. What it was never told of, it
    /// learnt from the outbox, somewhat later.
    pub told_us: BTreeMap<EntryId, u64>,
}

/// A history that clients write together.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<History>>);

impl Recorder {
    /// Notes that a command is sent for the first time: its number.
    pub fn invoked(&self, call: Call) -> usize {
        let mut history = self.0.lock();
        history.calls.push(call);
        history.calls.len() - 1
    }

    /// Notes how a command ended.
    pub fn ended(&self, number: usize, at_us: u64, ending: Ending) {
        self.0.lock().calls[number].ended = Some((at_us, ending));
    }

    /// Notes a read.
    pub fn read(&self, read: TipRead) {
        self.0.lock().reads.push(read);
    }

    /// Notes what must not be.
    pub fn complain(&self, what: String) {
        self.0.lock().complaints.push(what);
    }

    /// Notes something for a check.
    pub fn note(&self, note: Note) {
        self.0.lock().notes.push(note);
    }

    /// Notes that an index is told of an entry by the node that has committed it.
    pub(crate) fn told(&self, entry: EntryId, at_us: u64) {
        self.0.lock().told_us.entry(entry).or_insert(at_us);
    }

    /// Looks at the history so far.
    pub fn look<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.0.lock())
    }
}
