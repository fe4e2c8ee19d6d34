//! The checkers: what must hold of a world that has come to rest.
//!
//! Owns the comparison of what clients saw with what is stored. The invariants themselves are
//! core's, the same functions that `sillok audit verify` asks.

use std::collections::{BTreeMap, BTreeSet};

use sillok_actors::audit;
use sillok_actors::protocol::Protocol;
use sillok_core::channel::Channel;
use sillok_core::command::{CommandRecord, Digest};
use sillok_core::id::{CommandId, Seq};
use sillok_core::invariants::{Invariant, Violation, acknowledged_is_stored_once};
use sillok_core::limits::COMMAND_RETRY_MS_MAX;
use sillok_core::membership::{Nodes, is_owner_living};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, Family};
use sillok_store::{RangeOptions, Read, Store, Txn};

use crate::history::{Call, Ending, History};
use crate::second_opinion::{self, Opinion};
use crate::storage::Storage;
use crate::world::{World, at_once};

/// More rows than a world ever has in one family.
const ROWS_MAX: usize = 1_000_000;

/// Commands that were acknowledged.
pub(crate) fn acknowledged(history: &History) -> u64 {
    let is_acknowledged = |call: &&Call| matches!(call.ended, Some((_, Ending::Acknowledged(_))));
    history.calls.iter().filter(is_acknowledged).count() as u64
}

/// All of it, and how much of it was judged a second time.
///
/// # Errors
/// The first thing that does not hold.
pub(crate) fn all<P: Protocol>(world: &World<P>) -> Result<Opinion, Violation> {
    audited(&world.store)?;
    if !world.is_alone() {
        world.heard.check(&tips(&world.store))?;
    }
    nobody_stands_aside(world)?;
    world.recorder.look(|history| {
        sets_are_equal(history, &world.store)?;
        in_real_time(history)?;
        if second_opinion::is_due(world.plan.seed) {
            second_opinion::judge(history, &world.store)
        } else {
            Ok(Opinion::default())
        }
    })
}

/// All that `sillok audit verify` checks. It holds between any two commits, whatever is under way.
///
/// # Errors
/// The first thing that does not hold.
pub(crate) fn audited(store: &Storage) -> Result<(), Violation> {
    let report = at_once(audit::verify(store, &|_| {}));
    let report = report.map_err(|error| broken(Invariant::ViewIsFold, error.to_string()))?;
    match report.first {
        None => Ok(()),
        Some(difference) => Err(broken(difference.invariant, difference.to_string())),
    }
}

/// A node ends when another process runs under its name. Here there never is one, so whoever ended for
/// that reason has taken itself for another.
fn nobody_stands_aside<P: Protocol>(world: &World<P>) -> Result<(), Violation> {
    for place in world.places() {
        if world.node(place).is_some_and(|node| node.is_replaced()) {
            let what = format!("node {} ended, and nobody else has its name", place.0);
            return Err(broken(Invariant::Drained, what));
        }
    }
    Ok(())
}

fn broken(invariant: Invariant, what: String) -> Violation {
    Violation { invariant, what }
}

/// Invariant 2: the acknowledged commands are those that are stored, each once, by id and body. Answers may be
/// forgotten once nobody may ask again.
fn sets_are_equal(history: &History, store: &Storage) -> Result<(), Violation> {
    let stored = stored(store);
    let is_stored: BTreeSet<CommandId> = stored.iter().map(|(command, _)| *command).collect();
    let scopes = rows(store, Family::Scope);
    let ended = scopes.iter().map(|(key, value)| {
        let row = keys::scope::decode(key, value).expect("the audit has read it");
        row.tip.time
    });
    let newest = ended.max().unwrap_or_default();
    let may_be_forgotten = |command: CommandId| {
        let made = command.time().expect("it was carried out");
        newest.since_ms(made) > COMMAND_RETRY_MS_MAX
    };
    let mut acknowledged: BTreeSet<(CommandId, Digest)> = BTreeSet::new();
    for call in &history.calls {
        let is_kept = is_stored.contains(&call.command) || !may_be_forgotten(call.command);
        if is_kept && let Some((_, Ending::Acknowledged(_))) = call.ended {
            acknowledged.insert((call.command, call.digest));
        }
    }
    acknowledged_is_stored_once(&acknowledged, with_erased(history, stored))
}

/// The same with the bodies that clients sent for those whose content was erased since: the store has no hash of such.
fn with_erased(history: &History, stored: Vec<(CommandId, Digest)>) -> Vec<(CommandId, Digest)> {
    let sent: BTreeMap<CommandId, Digest> = history
        .calls
        .iter()
        .map(|call| (call.command, call.digest))
        .collect();
    let known = |(command, digest): (CommandId, Digest)| match sent.get(&command) {
        Some(sent) if digest == Digest::ERASED => (command, *sent),
        _ => (command, digest),
    };
    stored.into_iter().map(known).collect()
}

/// The commands of clients that are stored as applied.
fn stored(store: &Storage) -> Vec<(CommandId, Digest)> {
    let mut found = Vec::new();
    for (key, value) in rows(store, Family::Command) {
        let name = keys::command::parse(&key).expect("the audit has read it");
        let record = keys::command::decode(&key, &value).expect("the audit has read it");
        if let CommandRecord::Applied { digest, .. } = record
            && name.actor.kind != PrincipalKind::System
        {
            found.push((name.command, digest));
        }
    }
    found
}

/// Linearizability of each scope by the positions in the acknowledgements: what was sent after
/// another command was acknowledged does not stand before it. A command that needs no event, such as
/// an equal fact that is published again, stands where the one before it does.
fn in_real_time(history: &History) -> Result<(), Violation> {
    let mut scopes: BTreeMap<&Scope, Vec<(u64, u64, Seq)>> = BTreeMap::new();
    for call in &history.calls {
        if let Some((ended_us, Ending::Acknowledged(seq))) = call.ended {
            let scope = scopes.entry(&call.scope).or_default();
            scope.push((call.invoked_us, ended_us, seq));
        }
    }
    for (scope, calls) in scopes {
        linear(scope, calls)?;
    }
    for read in &history.reads {
        let before = history.calls.iter().filter(|call| call.scope == read.scope);
        let known = before.filter_map(|call| match call.ended {
            Some((ended_us, Ending::Acknowledged(seq))) if ended_us < read.invoked_us => Some(seq),
            _ => None,
        });
        let newest = known.max().unwrap_or(Seq::ZERO);
        if read.seq < newest {
            let what = format!(
                "{} was read at {} though {newest} was acknowledged before",
                read.scope, read.seq
            );
            return Err(broken(Invariant::ReadsGoForward, what));
        }
    }
    Ok(())
}

fn linear(scope: &Scope, mut calls: Vec<(u64, u64, Seq)>) -> Result<(), Violation> {
    calls.sort_unstable();
    let mut by_end: Vec<(u64, Seq)> = calls.iter().map(|(_, end, seq)| (*end, *seq)).collect();
    by_end.sort_unstable();
    let mut ended = by_end.into_iter().peekable();
    let mut newest = Seq::ZERO;
    for (invoked_us, _, seq) in calls {
        while let Some((_, before)) = ended.next_if(|(end_us, _)| *end_us < invoked_us) {
            newest = newest.max(before);
        }
        if seq < newest {
            let what = format!("{scope}#{seq} was sent after {newest} was acknowledged");
            return Err(broken(Invariant::AppliedOnce, what));
        }
    }
    Ok(())
}

/// What is not done yet, if anything: a promotion, or a slot whose owner's run is over.
pub(crate) fn undrained(store: &Storage) -> Option<String> {
    let jobs = rows(store, Family::Job);
    if !jobs.is_empty() {
        return Some(format!("{} promotions are not finished", jobs.len()));
    }
    let nodes: Nodes = rows(store, Family::Node)
        .into_iter()
        .filter_map(|(key, value)| {
            let node = keys::node::parse(&key).ok()?.node;
            Some((node, keys::node::decode(&key, &value).ok()?))
        })
        .collect();
    for (key, value) in rows(store, Family::Owner) {
        let slot = keys::owner::parse(&key).ok()?.slot;
        let owner = keys::owner::decode(&key, &value).ok()?;
        if !is_owner_living(&owner, nodes.get(&owner.node)) {
            return Some(format!("slot {slot} has no owner"));
        }
    }
    None
}

/// A slot that its owner does not serve, if there is one: nobody else would.
pub(crate) fn unheld<P: Protocol>(world: &World<P>) -> Option<String> {
    let nodes: BTreeMap<String, _> = world
        .places()
        .into_iter()
        .filter_map(|place| world.node(place))
        .map(|node| (node.ownership().node().to_owned(), node))
        .collect();
    rows(&world.store, Family::Owner)
        .into_iter()
        .find_map(|(key, value)| {
            let slot = keys::owner::parse(&key).ok()?.slot;
            let owner = keys::owner::decode(&key, &value).ok()?;
            let node = nodes.get(&owner.node);
            let holds = node.and_then(|node| node.ownership().confirmed(slot, Some(&owner)));
            holds
                .is_none()
                .then(|| format!("{} owns slot {slot} and does not hold it", owner.node))
        })
}

/// What the listener has not heard yet, if anything.
pub(crate) fn unheard<P: Protocol>(world: &World<P>) -> Option<String> {
    if world.is_alone() {
        return None;
    }
    let committed = rows(&world.store, Family::Outbox).len();
    let heard = world.heard.len();
    (heard < committed).then(|| format!("{heard} of {committed} runs of events were heard"))
}

/// What the streams were never told, or lack since they were created anew, if anything.
pub(crate) fn untold<P: Protocol>(world: &World<P>) -> Option<String> {
    if world.is_alone() {
        return None;
    }
    let mut shared = world.sim.lock();
    for (key, _) in rows(&world.store, Family::Outbox) {
        let at = keys::outbox::parse(&key).expect("the audit has read it");
        let mut channels = Channel::ALL.into_iter();
        if !channels.any(|channel| shared.server.of(channel).was_told(at.slot, at.stamp)) {
            return Some(format!(
                "no stream was ever told of {} in slot {}",
                at.stamp, at.slot
            ));
        }
    }
    let lacks = |channel| shared.server.of(channel).unfilled.len();
    let [events, log] = Channel::ALL.map(lacks);
    let what =
        || format!("a stream that was created anew lacks {events} events and {log} records it had");
    (events + log > 0).then(what)
}

/// Where each chain ends.
fn tips(store: &Storage) -> BTreeMap<Scope, Seq> {
    let tip = |(key, value): (bytes::Bytes, bytes::Bytes)| {
        let row = keys::scope::decode(&key, &value).expect("the audit has read it");
        (row.scope, row.tip.seq)
    };
    rows(store, Family::Scope).into_iter().map(tip).collect()
}

pub(crate) fn rows(store: &Storage, family: Family) -> Vec<(bytes::Bytes, bytes::Bytes)> {
    let mut txn = at_once(store.begin()).expect("the engine in memory is never closed");
    let options = RangeOptions::first(ROWS_MAX, Read::Snapshot);
    at_once(txn.range(&family.range(), options)).expect("a new view is not too old")
}
