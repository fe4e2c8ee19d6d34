//! Bad input: every write route refuses it with the right code, in the right form, and nothing is
//! written.

mod citations;
mod commands;
mod fixes;
mod forms;
mod sizes;

use serde_json::Value;

use crate::harness::{Reply, World};

/// Events in the whole store.
async fn written(world: &World) -> u64 {
    let status = world.admin().get("/v1/status", &[]).await.ok();
    status["events"].as_u64().expect("the status counts events")
}

/// Sends something that must be refused: the problem. Nothing at all may be written.
async fn refused(
    world: &World,
    sending: impl Future<Output = Reply>,
    status: u16,
    code: &str,
) -> Value {
    let before = written(world).await;
    let reply = sending.await;
    let asked = reply.asked.clone();
    let problem = reply.refused(status, code);
    assert_eq!(
        written(world).await,
        before,
        "{asked} was refused, and something was written"
    );
    problem
}
