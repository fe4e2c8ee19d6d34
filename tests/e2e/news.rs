//! Asking for news: what lies behind the last event of a scope, again and again.

use crate::harness::world::log;
use crate::harness::{Client, World};

/// Reads that the server has answered from memory.
const FROM_MEMORY: &str = "sillok_reads_from_memory_total";

/// The positions behind `after`.
async fn behind(admin: &Client, listing: &str, task: &str, after: &str) -> Vec<u64> {
    let query = [("scope", task), ("after", after)];
    let page = admin.get(listing, &query).await.ok();
    let items = page["items"].as_array().expect("a page has items");
    let seq = |item: &serde_json::Value| item["seq"].as_u64().expect("each has a position");
    items.iter().map(seq).collect()
}

#[tokio::test]
async fn that_there_is_nothing_new_is_said_from_memory_until_there_is() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    log(&admin, &task, "the first line").await;
    let before = admin.metric::<u64>(FROM_MEMORY).await;
    for listing in ["/v1/events", "/v1/records"] {
        assert_eq!(behind(&admin, listing, &task, "1").await, [2]);
        assert!(behind(&admin, listing, &task, "2").await.is_empty());
        assert!(behind(&admin, listing, &task, "q2").await.is_empty());
    }
    assert_eq!(admin.metric::<u64>(FROM_MEMORY).await - before, 4);
    let listed = world.sillok(&format!("log list --scope {task} --after 2 --json"));
    assert_eq!(listed.json()["items"], serde_json::json!([]));
    assert_eq!(admin.metric::<u64>(FROM_MEMORY).await - before, 5);
    log(&admin, &task, "the second line").await;
    assert_eq!(behind(&admin, "/v1/events", &task, "2").await, [3]);
    let refused = admin
        .get("/v1/events", &[("scope", &task), ("after", "two")])
        .await;
    assert_eq!(refused.status, 400);
}
