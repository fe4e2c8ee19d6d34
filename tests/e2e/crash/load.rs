//! The load: one client that writes until its connection is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::ledger::{Acked, Ledger, Place, Write};
use crate::harness::{Chance, Client, command_id};

/// The client that records verifications: the kill meets promotions as well.
const VERIFIER: usize = 0;

/// Writes until the server is gone.
pub(super) async fn write_until(
    number: usize,
    client: Client,
    place: Arc<Place>,
    stop: Arc<AtomicBool>,
    mut chance: Chance,
) -> Ledger {
    let mut ledger = Ledger::default();
    let mut written = 0;
    while !stop.load(Ordering::SeqCst) {
        let write = if number == VERIFIER && written % 4 == 3 {
            verification(&place)
        } else {
            any(number, written, &place, &mut chance)
        };
        written += 1;
        let id = command_id();
        match send(&client, &id, &write).await {
            Some(acked) => ledger.acked.push(Acked {
                id,
                write,
                answer: acked,
            }),
            None => {
                ledger.unknown.push((id, write));
                return ledger;
            }
        }
    }
    ledger
}

/// Sends a command until it is answered: the answer, or none when its outcome is not known.
pub(super) async fn send(client: &Client, id: &str, write: &Write) -> Option<serde_json::Value> {
    loop {
        let reply = client.attempt(write.route, id, &write.body).await.ok()?;
        match reply.status {
            // Turned away before anything happened: the same command again.
            429 | 503 => tokio::time::sleep(Duration::from_millis(5)).await,
            _ => return Some(reply.ok()),
        }
    }
}

fn any(number: usize, written: usize, place: &Place, chance: &mut Chance) -> Write {
    let task = place.tasks[number % place.tasks.len()].clone();
    let text = |chance: &mut Chance| format!("{number}-{written} {}", chance.words(8));
    match chance.below(20) {
        0 => {
            // Larger than what an event holds: the text lies in chunks of its own.
            let content = format!("{} ", text(chance)).repeat(1_500);
            let body = json!({ "scope": task, "content": content, "trigger": "error" });
            Write {
                route: "/v1/snapshots",
                scope: task,
                body,
                contents: vec![content],
            }
        }
        1..=3 => {
            let content = text(chance);
            let scope = place.worktree.clone();
            let body = json!({ "scope": scope, "content": content });
            Write {
                route: "/v1/entries",
                scope,
                body,
                contents: vec![content],
            }
        }
        kind => {
            let count = if kind == 4 { 40 } else { 1 + chance.below(3) };
            let contents: Vec<String> = (0..count).map(|_| text(chance)).collect();
            let record = |content| json!({ "level": "thought", "content": content });
            let records: Vec<_> = contents.iter().map(record).collect();
            let body = json!({ "scope": task, "records": records });
            Write {
                route: "/v1/logs",
                scope: task,
                body,
                contents,
            }
        }
    }
}

fn verification(place: &Place) -> Write {
    let scope = place.tasks[VERIFIER].clone();
    let run = format!("run-{}", command_id());
    let body = json!({ "scope": scope, "outcome": "passed", "source": "tests_passed", "run": run });
    Write {
        route: "/v1/verifications",
        scope,
        body,
        contents: vec![run],
    }
}
