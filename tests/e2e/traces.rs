//! Traces: one write is one trace, from the client to the indexer, whichever node it was given to.

use std::time::Duration;

use serde_json::json;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;

use crate::harness::collector::{Collector, Span};
use crate::harness::{Client, Cluster, Launch, World, world};

/// The variable that says where spans go.
const ENDPOINT: &str = "SILLOK__TELEMETRY__OTLP_ENDPOINT";
/// The variable that says how long they are gathered.
const EVERY_MS: &str = "SILLOK__TELEMETRY__EXPORT_EVERY_MS";
/// The span of the client that writes.
const CLIENT: &str = "b7ad6b7169203331";

/// A trace of its own for each number.
fn trace(number: u8) -> String {
    format!("{number:02x}f7651916cd43dd8448eb211c80319c")
}

fn traceparent(number: u8) -> String {
    format!("00-{}-{CLIENT}-01", trace(number))
}

/// Text for as long as the process of a test runs.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// A project whose slot a node owns.
async fn owned_by(cluster: &Cluster, name: &str) -> String {
    for number in 0..200 {
        let project = format!("org/acme/project/traced{number}");
        let text = format!("The build of {number} needs protoc {}", world::next());
        put(&cluster.admin("ada"), &project, &text, "none").await;
        let scope = Scope::parse(&project).expect("it is one");
        let slot = u64::from(Slot::of(&scope).number());
        let query = [("slots", "true")];
        let view = cluster.admin("ada").get("/v1/cluster", &query).await.ok();
        let slots = view["slots"].as_array().expect("they were asked for");
        let is_owned = slots
            .iter()
            .any(|one| one["slot"] == slot && one["node"] == name && one["owned"] == true);
        if is_owned {
            return project;
        }
    }
    panic!("{name} owns none of many");
}

/// Waits until the first node writes what has a place for a trace: it has to have seen the others.
async fn speak_the_newest(cluster: &Cluster) {
    let begun = std::time::Instant::now();
    loop {
        let view = cluster.admin("ada").get("/v1/cluster", &[]).await.ok();
        if view["wire_version"].as_u64() >= Some(2) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{view}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Publishes something with this `traceparent`.
async fn put(client: &Client, scope: &str, text: &str, traceparent: &str) {
    let entry = json!({ "scope": scope, "content": text }).to_string();
    let headers = [("traceparent", traceparent)];
    let reply = client.raw("/v1/entries", &headers, entry.into()).await;
    reply.ok();
}

/// The span of this name on a node.
fn named<'a>(spans: &'a [Span], name: &str, node: &str) -> &'a Span {
    let mut found = spans
        .iter()
        .filter(|span| span.name == name && span.node == node);
    let one = found.next();
    let one = one.unwrap_or_else(|| panic!("no {name} on {node} in {spans:#?}"));
    assert!(
        found.next().is_none(),
        "{name} is once on {node}: {spans:#?}"
    );
    one
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_write_is_one_trace_across_two_nodes() {
    let collector = Collector::start().await;
    let settings = [(ENDPOINT, kept(collector.url())), (EVERY_MS, "50")];
    let mut cluster = Cluster::start_with(&["ada", "bob"], &settings).await;
    speak_the_newest(&cluster).await;
    let project = owned_by(&cluster, "bob").await;
    let content = format!("Xylophones are tuned in spring {}", world::next());
    put(&cluster.admin("ada"), &project, &content, &traceparent(1)).await;
    let names = [
        "POST /v1/entries",
        "route",
        "forward",
        "serve",
        "commit",
        "relay",
        "stream",
        "index",
    ];
    let spans = collector.comes(&trace(1), &names).await;
    assert_eq!(spans.len(), names.len(), "and nothing else: {spans:#?}");
    let path = [
        ("POST /v1/entries", "ada"),
        ("route", "ada"),
        ("forward", "ada"),
        ("serve", "bob"),
        ("commit", "bob"),
    ];
    let mut parent = CLIENT.to_owned();
    for (name, node) in path {
        let span = named(&spans, name, node);
        assert_eq!(span.parent, parent, "{name} in {spans:#?}");
        parent.clone_from(&span.id);
    }
    for name in ["relay", "stream", "index"] {
        assert_eq!(named(&spans, name, "bob").parent, parent, "{name}");
    }
    let slot = Slot::of(&Scope::parse(&project).expect("it is one"));
    let commit = named(&spans, "commit", "bob");
    assert_eq!(commit.notes["sillok.scope.kind"], "project");
    assert_eq!(commit.notes["sillok.slot"], slot.number().to_string());
    assert_eq!(commit.notes["sillok.batch"], "1");
    assert_eq!(
        named(&spans, "index", "bob").notes["sillok.seq"],
        commit.notes["sillok.seq"]
    );
    assert_eq!(named(&spans, "forward", "ada").notes["sillok.to"], "bob");
    let http = named(&spans, "POST /v1/entries", "ada");
    assert_eq!(http.notes["http.response.status_code"], "200");
    assert_eq!(http.resource["service.name"], "sillok");
    assert_eq!(http.resource["service.version"], env!("CARGO_PKG_VERSION"));
    // What is sent while the nodes end comes too; and nothing of it says what was written, or by whom.
    for name in ["ada", "bob"] {
        cluster.stop(name);
    }
    for span in collector.all() {
        for secret in [
            "Xylophones",
            "protoc",
            "slk_",
            "0123456789abcdef",
            "traced",
            "admin",
        ] {
            assert!(!span.text.contains(secret), "{secret} in {span:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_traceparent_begins_a_new_trace_and_a_refusal_is_named() {
    let collector = Collector::start().await;
    let url = collector.url().to_owned();
    let world = World::start_with(|launch| launch.env(ENDPOINT, &url).env(EVERY_MS, "50")).await;
    for (number, bad) in [
        "",
        "junk",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ]
    .iter()
    .enumerate()
    {
        let text = format!("Bad headers harm nobody {number}");
        put(&world.admin(), "org/acme/project/api", &text, bad).await;
    }
    let begun = std::time::Instant::now();
    let roots = loop {
        let spans = collector.all();
        let roots: Vec<Span> = spans
            .into_iter()
            .filter(|span| span.name == "POST /v1/entries")
            .collect();
        if roots.len() == 4 {
            break roots;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{roots:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    for root in &roots {
        assert_eq!(root.parent, "", "{root:?}");
        collector
            .comes(&root.trace, &["route", "commit", "index"])
            .await;
    }
    // A caller that records nothing has nothing recorded.
    let not_sampled = format!("00-{}-{CLIENT}-00", trace(2));
    put(
        &world.admin(),
        "org/acme/project/api",
        "Not sampled",
        &not_sampled,
    )
    .await;
    let refused = json!({ "scope": "org/acme/project/api", "content": "" }).to_string();
    let parent = traceparent(3);
    let headers = [("traceparent", parent.as_str())];
    let reply = world
        .admin()
        .raw("/v1/entries", &headers, refused.into())
        .await;
    assert_eq!(reply.status, 400, "{reply:?}");
    let spans = collector.comes(&trace(3), &["POST /v1/entries"]).await;
    let code = reply.body["code"].as_str().expect("it is a refusal");
    let refused = spans.iter().find(|span| span.name == "POST /v1/entries");
    let refused = refused.expect("it has come");
    assert_eq!(refused.notes["sillok.refusal"], code);
    assert_eq!(refused.notes["http.response.status_code"], "400");
    assert!(collector.of(&trace(2)).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_hands_on_the_trace_of_its_environment() {
    let collector = Collector::start().await;
    let url = collector.url().to_owned();
    let world = World::start_with(|launch| launch.env(ENDPOINT, &url).env(EVERY_MS, "50")).await;
    for (variable, expected) in [(traceparent(7), true), ("junk".to_owned(), false)] {
        let ran = world
            .invocation("status")
            .env("TRACEPARENT", &variable)
            .run();
        ran.ended(0);
        if expected {
            let spans = collector.comes(&trace(7), &["GET /v1/status"]).await;
            assert_eq!((spans.len(), spans[0].parent.as_str()), (1, CLIENT));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_without_the_collector_and_lost_spans_are_counted_and_said_once() {
    // Nobody listens there.
    let nowhere = |launch: Launch| {
        launch
            .env(ENDPOINT, "http://127.0.0.1:1")
            .env(EVERY_MS, "20")
            .env("SILLOK__TELEMETRY__EXPORT_TIMEOUT_MS", "300")
    };
    let mut world = World::start_with(nowhere).await;
    let task = world.task().await;
    let begun = std::time::Instant::now();
    let admin = world.admin();
    while admin.metric::<u64>("sillok_spans_lost_total").await <= 20 {
        world::log(&admin, &task, "it goes on").await;
        assert!(begun.elapsed() < Duration::from_secs(30), "none is lost");
    }
    assert_eq!(admin.metric::<u64>("sillok_spans_sent_total").await, 0);
    // It is counted before it is said.
    let mut said = world.server().said();
    while !said.contains("spans are lost") && begun.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        said = world.server().said();
    }
    assert_eq!(said.matches("spans are lost").count(), 1, "{said}");
    let stopping = std::time::Instant::now();
    world.stop();
    assert!(
        stopping.elapsed() < Duration::from_secs(10),
        "it waits for nobody"
    );
}

#[test]
fn a_bad_collector_is_refused_by_the_name_of_its_key() {
    let folder = tempfile::tempdir().expect("a folder of its own");
    for (variable, value, key) in [
        (ENDPOINT, "collector:4318", "telemetry.otlp_endpoint"),
        (
            ENDPOINT,
            "https://collector:4318",
            "telemetry.otlp_endpoint",
        ),
        (
            ENDPOINT,
            "http://me:hunter2@collector",
            "telemetry.otlp_endpoint",
        ),
        (EVERY_MS, "0", "telemetry.export_every_ms"),
        (
            "SILLOK__TELEMETRY__SAMPLED_SHARE",
            "2",
            "telemetry.sampled_share",
        ),
        (
            "SILLOK__TELEMETRY__SERVICE_NAME",
            " ",
            "telemetry.service_name",
        ),
    ] {
        let launch = Launch::new(&folder.path().join("data")).env(variable, value);
        let (status, said) = launch.start_in_vain(Duration::from_secs(30));
        assert_eq!(status.code(), Some(78), "{said}");
        assert!(said.contains(key) && !said.contains("hunter2"), "{said}");
    }
}
