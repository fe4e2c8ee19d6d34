//! The second opinion: whether each scope's history is linearizable, judged by a checker that shares
//! nothing with [`crate::check`].
//!
//! Owns the translation of what clients saw into what `stateright`'s `LinearizabilityTester` reads,
//! and the sequential specification in [`chain`]. `stateright` was taken rather than `adya`, which
//! looks for cycles among transactions that read and write whole lists: what is seen here is one
//! object for each scope with positions as answers, and the question is one of real time. It must
//! not know the invariants, nor any of the functions that judge them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use sillok_core::chain::Header;
use sillok_core::event::EventKind;
use sillok_core::id::{CommandId, Seq};
use sillok_core::invariants::{Invariant, Violation};
use sillok_core::principal::{Actor, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::check::rows;
use crate::history::{Call, Ending, History};
use crate::storage::Storage;

mod chain;

use chain::{Author, Op, Span, Verdict, Written};

/// One seed in so many gets a second opinion: more than one in a hundred.
const ONE_IN: u64 = 64;
/// The whole chain is looked at behind everything that anybody did...
const LAST_LOOK_US: u64 = u64::MAX;
/// ...which is when a command that nobody heard of has been applied at the latest.
const END_US: u64 = LAST_LOOK_US - 1;
/// The only commands that may be answered without having written anything: a token that was revoked before is
/// not revoked again, what a task said before is not counted again, and what was erased before not erased again.
const MAY_WRITE_NOTHING: [&str; 6] = [
    "revoke_token",
    "report_reuse",
    "report_gate",
    "erase",
    "erase_memory",
    "erase_verifications",
];

/// How much was judged a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Opinion {
    /// Worlds.
    pub worlds: u64,
    /// Scopes, each of which has a history of its own.
    pub scopes: u64,
    /// Commands and reads in these.
    pub operations: u64,
    /// Scopes whose search for an order was given up.
    pub undecided: u64,
}

impl Opinion {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.scopes += other.scopes;
        self.operations += other.operations;
        self.undecided += other.undecided;
    }

    /// Whether at least 1 % of so many worlds were judged, each of them to the end.
    #[must_use]
    pub fn is_enough_for(&self, worlds: u64) -> bool {
        self.worlds > 0 && self.worlds * 100 >= worlds && self.undecided == 0
    }
}

/// Whether the world of a seed gets a second opinion.
pub(crate) fn is_due(seed: u64) -> bool {
    seed.is_multiple_of(ONE_IN)
}

/// Judges every scope of a world.
///
/// # Errors
/// The first scope whose history no order explains.
pub(crate) fn judge(history: &History, store: &Storage) -> Result<Opinion, Violation> {
    let mut cases = cases(history);
    read_chains(store, &mut cases)?;
    let mut opinion = Opinion {
        worlds: 1,
        ..Opinion::default()
    };
    for case in cases.into_values() {
        opinion.scopes += 1;
        let scope = case.scope.clone();
        let (written, spans) = case.finish(history);
        opinion.operations += spans.len() as u64;
        match chain::verdict(&written, spans) {
            Verdict::Linearizable => {}
            Verdict::Undecided => opinion.undecided += 1,
            Verdict::Not(why) => return Err(objection(format!("{scope}: {why}"))),
        }
    }
    Ok(opinion)
}

fn objection(what: String) -> Violation {
    Violation {
        invariant: Invariant::SecondOpinion,
        what,
    }
}

/// One scope: what clients did there, and what its chain holds.
struct Case<'a> {
    scope: &'a Scope,
    calls: Vec<usize>,
    reads: Vec<usize>,
    by_name: BTreeMap<(&'a Actor, CommandId), usize>,
    written: Vec<Written>,
    /// Who wrote the last event, to tell where the next command begins.
    last: Option<(Actor, CommandId)>,
}

/// The scopes that clients named, by their keys.
fn cases(history: &History) -> BTreeMap<ScopeKey, Case<'_>> {
    let mut cases: BTreeMap<ScopeKey, Case<'_>> = BTreeMap::new();
    let empty = |scope| Case {
        scope,
        calls: Vec::new(),
        reads: Vec::new(),
        by_name: BTreeMap::new(),
        written: Vec::new(),
        last: None,
    };
    for (number, call) in history.calls.iter().enumerate() {
        let case = cases.entry(ScopeKey::of(&call.scope));
        let case = case.or_insert_with(|| empty(&call.scope));
        case.calls.push(number);
        case.by_name.insert((&call.actor, call.command), number);
    }
    for (number, read) in history.reads.iter().enumerate() {
        let case = cases.entry(ScopeKey::of(&read.scope));
        case.or_insert_with(|| empty(&read.scope))
            .reads
            .push(number);
    }
    cases
}

/// Reads all chains from the store, event by event.
fn read_chains(store: &Storage, cases: &mut BTreeMap<ScopeKey, Case<'_>>) -> Result<(), Violation> {
    let unreadable = |what: &dyn std::fmt::Display| objection(what.to_string());
    // A command never spans two commits: where one begins, so does another command.
    let mut begins: BTreeSet<(ScopeKey, Seq)> = BTreeSet::new();
    for (key, value) in rows(store, Family::Outbox) {
        let row = keys::outbox::decode(&key, &value).map_err(|error| unreadable(&error))?;
        begins.insert((ScopeKey::of(&row.scope), row.first));
    }
    for (key, value) in rows(store, Family::Event) {
        let name = keys::event::parse(&key).map_err(|error| unreadable(&error))?;
        let event = keys::event::decode(&key, &value).map_err(|error| unreadable(&error))?;
        let header = event.decode_header().map_err(|error| unreadable(&error))?;
        match cases.get_mut(&name.scope) {
            Some(case) => case.extend(header, begins.contains(&(name.scope, name.seq))),
            None if is_of_nodes(&header) => {}
            None => {
                let what = format!("{} wrote to a scope that nobody named", header.actor);
                return Err(objection(what));
            }
        }
    }
    Ok(())
}

/// Whether an event is none of the clients' commands: what the nodes do of themselves, and the notes
/// of what they refused.
fn is_of_nodes(header: &Header) -> bool {
    header.actor.kind == PrincipalKind::System || header.kind == EventKind::Denied
}

impl Case<'_> {
    /// Takes the chain's next event in.
    fn extend(&mut self, header: Header, begins_commit: bool) {
        let author = if is_of_nodes(&header) {
            Author::Node
        } else {
            let call = self.by_name.get(&(&header.actor, header.command));
            call.map_or(Author::Stranger, |number| Author::Call(*number))
        };
        let name = (header.actor, header.command);
        let goes_on = !begins_commit && self.last.as_ref() == Some(&name);
        match self.written.last_mut() {
            Some(written) if goes_on && written.author == author => written.last = header.seq,
            _ => self.written.push(Written {
                author,
                last: header.seq,
            }),
        }
        self.last = Some(name);
    }

    /// What is to be judged: the chain, and the operations on it.
    fn finish(self, history: &History) -> (Arc<[Written]>, Vec<Span>) {
        let applied: BTreeMap<usize, Seq> = self
            .written
            .iter()
            .filter_map(|written| match written.author {
                Author::Call(number) => Some((number, written.last)),
                _ => None,
            })
            .collect();
        let mut spans = Vec::with_capacity(self.calls.len() + self.reads.len() + 1);
        for number in self.calls {
            let found = applied.get(&number).copied();
            spans.extend(span_of(number, &history.calls[number], found));
        }
        for number in self.reads {
            let read = &history.reads[number];
            spans.push(Span {
                invoked_us: read.invoked_us,
                returned_us: read.answered_us,
                op: Op::Tip,
                seq: read.seq,
            });
        }
        spans.push(Span {
            invoked_us: LAST_LOOK_US,
            returned_us: LAST_LOOK_US,
            op: Op::Whole,
            seq: self.written.last().map_or(Seq::ZERO, |last| last.last),
        });
        (self.written.into(), spans)
    }
}

/// A command as an operation. One that was refused did nothing, and neither did one without an
/// answer that is not in the chain: both are left out, and the chain must hold nothing of theirs. One
/// without an answer that is in the chain was applied at some time between its sending and the end.
fn span_of(number: usize, call: &Call, found: Option<Seq>) -> Option<Span> {
    let (returned_us, seq) = match call.ended {
        Some((ended_us, Ending::Acknowledged(seq))) => (ended_us, seq),
        Some((_, Ending::Refused(_))) => return None,
        None => (END_US, found?),
    };
    let op = if MAY_WRITE_NOTHING.contains(&call.name) && found.is_none() {
        Op::Nothing
    } else {
        Op::Command(number)
    };
    Some(Span {
        invoked_us: call.invoked_us,
        returned_us,
        op,
        seq,
    })
}

#[cfg(test)]
mod tests;
