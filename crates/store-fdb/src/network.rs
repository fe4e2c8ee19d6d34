//! The thread that carries the client library's network, one in a process.
//!
//! Owns starting it once and stopping it once: the library cannot do either twice.

use std::io;

use foundationdb::api::{FdbApiBuilder, NetworkAutoStop};
use parking_lot::Mutex;
use sillok_store::Error;

use crate::{OpenError, error};

enum Network {
    NotStarted,
    Runs(NetworkAutoStop),
    Over,
}

static NETWORK: Mutex<Network> = Mutex::new(Network::NotStarted);

/// Starts the thread, unless it runs.
///
/// # Errors
/// `Library` when the library does not know this API, `Unavailable` when the thread was stopped: it cannot
/// be started again.
#[expect(
    unsafe_code,
    reason = "the library leaves it to its caller to stop the thread before the process ends"
)]
pub(crate) fn start() -> Result<(), OpenError> {
    let mut network = NETWORK.lock();
    match *network {
        Network::Runs(_) => return Ok(()),
        Network::Over => {
            let why = "the network thread was stopped, and a process has only one";
            let stopped = Error::unavailable("starting FoundationDB", io::Error::other(why));
            return Err(stopped.into());
        }
        Network::NotStarted => {}
    }
    // Whatever comes of it, it is not tried again: the library would panic.
    *network = Network::Over;
    let builder = FdbApiBuilder::default().build();
    let builder = builder.map_err(error::of_open)?;
    // SAFETY: it is kept in a static, from where `stop_network` takes it, which whoever ends the process
    // calls before (see there).
    let running = unsafe { builder.boot() }.map_err(error::of_open)?;
    *network = Network::Runs(running);
    Ok(())
}

/// Stops the thread, if it runs, and waits for its end. To be called before the process ends, when no
/// store is in use any more: what still waits for the cluster waits for ever.
pub fn stop_network() {
    let network = std::mem::replace(&mut *NETWORK.lock(), Network::Over);
    if let Network::Runs(running) = network {
        drop(running);
    }
}
