//! For tests of one simulated part without a world around it: lets its time go on.

use tokio::task::JoinHandle;

use super::{Due, Sim};

/// Lets whatever is due happen, whenever everything else waits, until it is dropped.
pub(crate) struct Pump(JoinHandle<()>);

impl Pump {
    /// Begins to do so, on the runtime of the caller.
    pub(crate) fn start(sim: Sim) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let due = sim.lock().pop();
                match due {
                    Some(Due::Act(_, act)) => act(&mut sim.lock()),
                    Some(_) => panic!("there are no nodes"),
                    None => {}
                }
                tokio::task::yield_now().await;
            }
        }))
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}
