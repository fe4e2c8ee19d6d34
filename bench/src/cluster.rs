//! Nodes among others: three processes on one store, with a real nats-server between them, against one.
//!
//! The store is FoundationDB where `SILLOK_FDB_BIN` names a binary that was built with it, and else the
//! embedded one, served at a socket by a process of its own. Owns the order in which things are measured.

mod bed;
mod changes;
mod delivery;
mod routing;
mod sse;
mod tails;
mod writers;

use crate::engines::runtime;
use crate::error::Error;
use crate::report::Report;
use crate::scale::Scale;

/// Measures routing, the delivery of events, nodes that die and end, and many tails on one node.
///
/// # Errors
/// What a process answered, or that one did not come up.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    // What starts processes panics where it cannot; the item is not measured then, like any other.
    let measuring = std::thread::scope(|threads| {
        let measuring = threads.spawn(|| {
            let runtime = runtime()?;
            routing::measure(&runtime, scale, report)?;
            delivery::measure(&runtime, scale, report)?;
            changes::measure(&runtime, scale, report)?;
            tails::measure(&runtime, scale, report)
        });
        measuring.join()
    });
    let ended = || Error::Wrong("a process of the cluster failed, as it says above".to_owned());
    measuring.unwrap_or_else(|_panic| Err(ended()))
}
