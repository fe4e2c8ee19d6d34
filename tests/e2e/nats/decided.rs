//! What is decided, kept and pointed to, as a stream tells of it.

use super::*;
use crate::harness::{PROJECT, WORKTREE, phrase};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_decided_kept_and_pointed_to_is_heard_and_what_was_refused_is_not() {
    let mut bed = Bed::new().await;
    let admin = bed.world.admin();
    let said = json!({ "scope": WORKTREE, "title": phrase(), "content": phrase(), "rank": "lock",
        "domain": "global" });
    let saved = admin.post("/v1/decisions", &said).await.ok();
    let change = |version: u64| {
        let mut body = said.clone();
        body["root"] = saved["root"].clone();
        body["expected_version"] = json!(version);
        body["reason"] = json!(phrase());
        body
    };
    admin.post("/v1/decisions", &change(1)).await.ok();
    let stale = admin.post("/v1/decisions", &change(1)).await;
    drop(stale.refused(409, "conflict"));
    let original = json!({ "scope": WORKTREE, "title": phrase(), "content": phrase() });
    let kept = admin.post("/v1/evidence", &original).await.ok();
    let id = kept["id"].as_str().expect("evidence has an id");
    let to = json!([format!("evidence:{WORKTREE}#{id}")]);
    let anchors = json!({ "scope": WORKTREE, "anchors": [{ "hint": phrase(), "to": to }] });
    let added = admin.post("/v1/anchors", &anchors).await.ok();
    let gone = json!({ "scope": WORKTREE, "id": added["ids"][0], "reason": phrase() });
    admin.post("/v1/anchors/drop", &gone).await.ok();
    let withdrawn = json!({ "scope": WORKTREE, "root": saved["root"], "expected_version": 2,
        "reason": phrase() });
    admin
        .post("/v1/decisions/deactivate", &withdrawn)
        .await
        .ok();
    let again = json!({ "scope": WORKTREE, "root": saved["root"], "expected_version": 3,
        "version": 1, "reason": phrase() });
    admin.post("/v1/decisions/restore", &again).await.ok();

    let events = admin.all("/v1/events", WORKTREE).await;
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    let each = [
        "DECISION_SAVED",
        "DECISION_SAVED",
        "EVIDENCE_SAVED",
        "ANCHOR_ADDED",
        "ANCHOR_DROPPED",
        "DECISION_SAVED",
        "DECISION_SAVED",
    ];
    assert_eq!(kinds, each);
    let acts: Vec<&str> = events
        .iter()
        .filter_map(|event| event["body"]["act"].as_str())
        .collect();
    assert_eq!(acts, ["begun", "changed", "withdrawn", "restored"]);
    assert_eq!(events[6]["body"]["restored_from"], 1);
    let stored: BTreeSet<u64> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    let last = *stored.last().expect("there are events");
    for seq in &stored {
        bed.listener.hears(WORKTREE, *seq).await;
    }
    // A later word on the same stream: what was refused would have come before it.
    let task = bed.world.task().await;
    bed.listener.hears(&task, 1).await;
    assert_eq!(last, stored.len() as u64);
    let heard = bed.listener.of(WORKTREE, Some(Channel::Events));
    assert_eq!(heard, stored, "each once");
    assert!(bed.listener.of(WORKTREE, Some(Channel::Log)).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declared_kind_is_heard_where_it_was_declared_and_one_declared_twice_once() {
    let mut bed = Bed::new().await;
    let admin = bed.world.admin();
    let route = "/v1/decisions/kinds";
    let kind =
        json!({ "scope": PROJECT, "name": "EXPLAINS", "reach": "backward", "meaning": phrase() });
    admin.post(route, &kind).await.ok();
    drop(admin.post(route, &kind).await.refused(409, "conflict"));
    let events = admin.all("/v1/events", PROJECT).await;
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["RELATION_DECLARED"]);
    let body = &events[0]["body"];
    assert_eq!(
        (&body["name"], &body["reach"], &body["meaning"]),
        (&kind["name"], &kind["reach"], &kind["meaning"])
    );
    let seq = events[0]["seq"].as_u64().expect("it has a number");
    bed.listener.hears(PROJECT, seq).await;
    // A later word: what was refused would have come before it.
    let said = json!({ "scope": PROJECT, "title": phrase(), "content": phrase() });
    admin.post("/v1/decisions", &said).await.ok();
    bed.listener.hears(PROJECT, seq + 1).await;
    let heard = bed.listener.of(PROJECT, Some(Channel::Events));
    assert_eq!(heard, [seq, seq + 1].into(), "each once");
    assert!(bed.listener.of(PROJECT, Some(Channel::Log)).is_empty());
}
