//! How long an impact may take, by a clock that a test takes over.

use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use sillok_core::ports::{BoxFuture, Clock};
use sillok_core::time::Timestamp;

use super::{PROJECT, Server, node};
use crate::api::Impact;
use crate::system::SystemClock;

/// Saves that are under way at once.
const AT_ONCE: usize = 64;
/// Decisions that depend on the hub: the clock is looked at several times while relations to it are read.
const DEPENDENTS: usize = 10 * AT_ONCE;

/// The clock of this machine, until a test takes over how long things take.
#[derive(Default)]
struct Taken(Mutex<Option<Steps>>);

/// Where a clock stands that was taken over.
struct Steps {
    at_us: u64,
    /// How far each look at it moves it on.
    step_us: u64,
}

impl Taken {
    /// From now on each look moves it on by so much, and nothing else does.
    fn step(&self, step_us: u64) {
        let at_us = self.monotonic_us();
        *self.0.lock() = Some(Steps { at_us, step_us });
    }
}

impl Clock for Taken {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn monotonic_us(&self) -> u64 {
        match &mut *self.0.lock() {
            None => SystemClock.monotonic_us(),
            Some(steps) => {
                steps.at_us += steps.step_us;
                steps.at_us
            }
        }
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        SystemClock.sleep(ms)
    }
}

#[tokio::test]
async fn an_impact_ends_once_its_time_is_up_and_says_so_and_not_before() {
    let clock = Arc::new(Taken::default());
    let server = Server::filled(|_| (), |ports| ports.clock = clock.clone()).await;
    let hub = node(PROJECT, &server.save(PROJECT, &json!({})).await.unwrap());
    let rests = json!({ "relations": [{ "kind": "DEPENDS_ON", "to": hub }] });
    for _ in 0..DEPENDENTS / AT_ONCE {
        let saves = (0..AT_ONCE).map(|_| server.save(PROJECT, &rests));
        for saved in join_all(saves).await {
            saved.unwrap();
        }
    }
    let asked = async || {
        let body = json!({ "scope": PROJECT, "at": [hub] });
        let found = server.post::<Impact>(&server.admin, "/v1/impact", body);
        found.await.unwrap()
    };
    // While it stands still, and where all looks together take less than the time that there is.
    for step_us in [0, 10] {
        clock.step(step_us);
        let whole = asked().await;
        assert_eq!((whole.affected.len(), whole.cut), (DEPENDENTS, None));
    }
    // Time for some rows of those that lead to the hub, and not for all.
    clock.step(5_000);
    let found = asked().await;
    let told = found.affected.len();
    assert!((1..DEPENDENTS).contains(&told), "{told}");
    assert!(found.cut.unwrap().time);
}
