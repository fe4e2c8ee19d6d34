//! Searching behind anchors through real servers: the same hits after whatever happened to the server, and briefs that are the
//! same while a search runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{MIB, audited, decide, keep, kept, number, point, shown, text};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World, phrase};

/// Another worktree of the same project.
const BESIDE: &str = "org/acme/project/api/worktree/side";
/// Large originals that a search reads, so that it takes far longer than a brief.
const RUNS: usize = 8;
/// Searches of an organisation that are under way at one time, as the server is configured.
const SEARCHES: usize = 2;
/// Briefs that are asked for and answered while a search is under way all along.
const OVERLAPPED: u32 = 3;
/// How long that is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

async fn search(client: &Client, scope: &str, query: &str) -> Value {
    let asked = json!({ "scope": scope, "query": query });
    client.post("/v1/anchors/search", &asked).await.ok()
}

/// The nodes that are found, the best first.
fn nodes(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().expect("it has hits").iter();
    hits.map(|hit| text(&hit["lead"]["to"])).collect()
}

/// A text of many chunks with one line like no other.
fn long(line: &str) -> String {
    let filler = "nothing happened\n".repeat(MIB / 4 / 17);
    format!("{filler}{line}\n{filler}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_is_found_after_a_kill_and_where_it_is_said_it_can_be_read() {
    let mut world = World::start().await;
    let admin = world.admin();
    let large = keep(&admin, ORG, &long("the écrivains met a deadlock")).await;
    let short = keep(&admin, PROJECT, "A livelock, and no deadlock.").await;
    let lock = decide(
        &admin,
        PROJECT,
        json!({ "title": "A lock", "rank": "lock" }),
    )
    .await;
    let [large_node, short_node] = [kept(ORG, &large), kept(PROJECT, &short)];
    let to = [large_node.as_str(), &short_node, &lock];
    let anchor = point(&admin, PROJECT, ("Where it stood still", "global"), &to).await;

    let found = search(&admin, WORKTREE, "deadlock").await;
    // The short one says it among few other words.
    assert_eq!(nodes(&found), [short_node.as_str(), &large_node]);
    let hit = &found["hits"][1];
    assert_eq!(
        (text(&hit["anchor"]), text(&hit["scope"])),
        (&*anchor, PROJECT)
    );
    let (from, to) = (number(&hit["from"]), number(&hit["to"]));
    let (from, to) = (from.to_string(), to.to_string());
    let query = [
        ("scope", ORG),
        ("id", text(&large["id"])),
        ("from", &*from),
        ("to", &*to),
    ];
    let part = admin.get("/v1/evidence/text", &query).await.ok();
    assert!(text(&part["text"]).contains("the écrivains met a deadlock"));
    let marked = text(&hit["data_marked_text"]);
    assert!(marked.contains(text(&part["text"])) && marked.contains("Where it stood still"));
    let found_by_hint = search(&admin, WORKTREE, "stood").await;
    assert_eq!(nodes(&found_by_hint).len(), 3);

    world.kill();
    world.start_again().await;
    let again = search(&world.admin(), WORKTREE, "deadlock").await;
    assert_eq!(again, found);
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_brief_is_the_same_and_is_there_while_searches_run() {
    let searches = SEARCHES.to_string();
    let name = "SILLOK__SERVER__ANCHOR_SEARCHES_PER_ORG_MAX";
    let world = World::start_with(|launch| launch.env(name, &searches)).await;
    let admin = world.admin();
    for rank in ["policy", "axis", "lock", "normal"] {
        decide(&admin, PROJECT, json!({ "title": phrase(), "rank": rank })).await;
    }
    for _ in 0..RUNS {
        let run = keep(&admin, PROJECT, &long("it met a deadlock")).await;
        let node = kept(PROJECT, &run);
        point(&admin, PROJECT, ("A run", "global"), &[&node]).await;
    }
    let asked = json!({ "scope": WORKTREE });
    let before = admin.post("/v1/brief", &asked).await.ok();
    let searching = Arc::new(Searching::default());
    let searches =
        [(); SEARCHES].map(|()| tokio::spawn(search_on(admin.clone(), Arc::clone(&searching))));
    // While all turns are taken before a brief and behind it, and nobody was answered between, a search was under way all along.
    let (mut overlapped, begun) = (0, Instant::now());
    while overlapped < OVERLAPPED {
        assert!(begun.elapsed() < PATIENCE, "{overlapped} overlapped");
        let answered = searching.answered.load(Ordering::SeqCst);
        let were_taken = no_turn_is_left(&admin).await;
        let brief = admin.post("/v1/brief", &asked).await.ok();
        assert_eq!(brief.to_string(), before.to_string());
        let are_taken = no_turn_is_left(&admin).await;
        let is_nobody_answered = searching.answered.load(Ordering::SeqCst) == answered;
        overlapped += u32::from(were_taken && are_taken && is_nobody_answered);
    }
    searching.is_over.store(true, Ordering::SeqCst);
    for search in searches {
        search.await.expect("each finds what there is");
    }
    assert!(searching.answered.load(Ordering::SeqCst) > 0);
}

/// Searches that go on until they are told to end.
#[derive(Default)]
struct Searching {
    is_over: AtomicBool,
    /// How many were answered, with hits or with word that there is no turn.
    answered: AtomicUsize,
}

/// Searches again and again.
async fn search_on(client: Client, searching: Arc<Searching>) {
    while !searching.is_over.load(Ordering::SeqCst) {
        let reply = client.post("/v1/anchors/search", &deadlock()).await;
        searching.answered.fetch_add(1, Ordering::SeqCst);
        if reply.body["code"] == "busy" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        } else {
            assert_eq!(nodes(&reply.ok()).len(), RUNS);
        }
    }
}

/// Whether a search is refused, since as many are under way as there may be.
async fn no_turn_is_left(client: &Client) -> bool {
    let reply = client.post("/v1/anchors/search", &deadlock()).await;
    reply.body["code"] == "busy" || {
        reply.ok();
        false
    }
}

fn deadlock() -> Value {
    json!({ "scope": WORKTREE, "query": "deadlock" })
}

#[tokio::test]
async fn nothing_is_found_behind_an_anchor_that_is_not_seen_or_was_dropped() {
    let world = World::start().await;
    let admin = world.admin();
    let own = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let mut anchors = Vec::new();
    for scope in [WORKTREE, PROJECT, BESIDE] {
        let run = kept(scope, &keep(&admin, scope, "It met a deadlock.").await);
        let anchor = point(&admin, scope, ("A run", "global"), &[&run]).await;
        anchors.push((scope, anchor, run));
    }
    let found = search(&own, WORKTREE, "deadlock").await;
    assert_eq!(nodes(&found), [anchors[0].2.as_str(), &anchors[1].2]);
    for scope in [PROJECT, BESIDE, "org/other"] {
        let asked = json!({ "scope": scope, "query": "deadlock" });
        let denied = own.post("/v1/anchors/search", &asked).await;
        let denied = denied.refused(403, "forbidden");
        assert_eq!(denied["rule"], "token/scope", "{scope}");
    }
    let (scope, anchor, _) = &anchors[0];
    let dropped = json!({ "scope": scope, "id": anchor, "reason": phrase() });
    admin.post("/v1/anchors/drop", &dropped).await.ok();
    let found = search(&own, WORKTREE, "deadlock").await;
    assert_eq!(nodes(&found), [anchors[1].2.as_str()]);
    assert!(
        shown(&own, "/v1/anchor", (*scope, anchor.as_str())).await["anchor"]["dropped"] == true
    );
}
