//! Contradictions: what they are, and that they are never merged.

use serde_json::{Value, json};

use crate::harness::{PROJECT, World};

async fn put(world: &World, content: &str) -> Value {
    let body = json!({ "scope": PROJECT, "content": content });
    world.admin().post("/v1/entries", &body).await.ok()
}

#[tokio::test]
async fn a_short_text_and_its_negation_contradict_one_another() {
    let world = World::start().await;
    for (text, negation) in [
        ("The cache is warm.", "The cache is not warm."),
        ("It works without a lock.", "It works with a lock."),
        (
            "The build runs on Linux.",
            "The build doesn't run on Linux.",
        ),
        ("잠금이 있다.", "잠금이 없다."),
    ] {
        let known = put(&world, text).await;
        let second = put(&world, negation).await;
        assert_eq!(
            second["disposition"],
            json!({ "kind": "contradicts", "other": known["entry"] }),
            "{text} / {negation}: {second}"
        );
        let entry = second["entry"].as_str().expect("an entry has an id");
        let shown = world.admin().get("/v1/entry", &[("id", entry)]).await.ok();
        let links = shown["head"]["links"].as_array().expect("a head has links");
        assert!(
            links
                .iter()
                .any(|link| link["kind"] == "contradicts" && link["to"] == known["entry"]),
            "{shown}"
        );
    }
    // What is merely near stays an entry of its own, and what is the same is merged.
    for near in ["The cache is large.", "The log is warm."] {
        let near = put(&world, near).await;
        assert_eq!(near["disposition"]["kind"], "created", "{near}");
    }
    let same = put(&world, "The cache is warm.").await;
    assert_eq!(same["disposition"]["kind"], "merged", "{same}");
}
