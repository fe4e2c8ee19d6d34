//! Tails: what happens, as it happens, and again from where one left off.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};

use crate::harness::world::{log, verify};
use crate::harness::{Client, PROJECT, WORKTREE, World, binary, phrase};

/// The longest that a tail may let one wait for an event.
const PATIENCE: Duration = Duration::from_secs(20);

/// A `sillok tail --json` that runs.
struct Tail {
    child: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn open(world: &World, cursor: Option<&str>) -> Self {
        Self::of(world, &[], cursor)
    }

    /// As [`open`](Self::open), of some kinds of events.
    fn of(world: &World, kinds: &[&str], cursor: Option<&str>) -> Self {
        let mut command = binary::command(&world.folder().join("home"));
        command
            .args(["tail", "--json", "--scope", PROJECT, "--data"])
            .arg(world.data());
        for kind in kinds {
            command.args(["--kind", kind]);
        }
        if let Some(cursor) = cursor {
            command.args(["--cursor", cursor]);
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The next item: one JSON document on one line.
    fn next(&self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("an event comes in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place(item: &Value) -> (String, u64) {
    let event = &item["event"];
    let scope = event["scope"].as_str().expect("an event has a scope");
    (
        scope.to_owned(),
        event["seq"].as_u64().expect("and a position"),
    )
}

/// Checks that the events of each scope come one after the other, none twice and none left out.
fn check_whole(items: &[Value]) -> BTreeMap<String, u64> {
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for item in items {
        let (scope, seq) = place(item);
        let before = last.insert(scope.clone(), seq).unwrap_or_default();
        assert_eq!(seq, before + 1, "{scope} after {before}: {item}");
    }
    last
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_resumes_behind_its_cursor_without_gaps_and_repeats() {
    let mut world = World::start().await;
    let tasks = [world.task().await, world.task().await];
    let write = async |world: &World, count: usize| {
        let admin = world.admin();
        for number in 0..count {
            log(&admin, &tasks[number % 2], &phrase()).await;
        }
    };
    write(&world, 40).await;
    let mut items = Vec::new();
    let tail = Tail::open(&world, None);
    for _ in 0..25 {
        items.push(tail.next());
    }
    drop(tail);
    // More happens while nobody listens, and a restart lies in between.
    write(&world, 20).await;
    world.stop();
    world.start_again().await;
    let cursor = items.last().unwrap()["cursor"].as_str().unwrap().to_owned();
    let tail = Tail::open(&world, Some(&cursor));
    // And more while somebody does.
    write(&world, 20).await;
    let total: usize = 2 + 40 + 20 + 20;
    while items.len() < total {
        items.push(tail.next());
    }
    let last = check_whole(&items);
    assert_eq!(
        last.values().sum::<u64>(),
        total as u64,
        "all of it came: {last:?}"
    );
    for task in &tasks {
        assert_eq!(last[task], 41, "an opening, and forty records");
    }
    assert!(
        tail.lines.recv_timeout(Duration::from_millis(300)).is_err(),
        "nothing came twice"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_what_was_promoted_hears_that_alone_and_resumes_over_all_else() {
    let world = World::start().await;
    let (admin, first) = (world.admin(), world.task().await);
    let promote = async |task: &str| {
        log(&admin, task, &format!("Root cause: {}", phrase())).await;
        verify(&admin, task, PROJECT).await
    };
    let begun = promote(&first).await;
    let tail = Tail::of(&world, &["PUBLISHED"], None);
    let item = tail.next();
    let seen = |item: &Value| {
        let (event, verification) = (&item["event"], &item["event"]["body"]["verification"]);
        assert_eq!(
            (&event["kind"], &event["scope"]),
            (&json!("PUBLISHED"), &json!(PROJECT))
        );
        verification.as_str().expect("it names one").to_owned()
    };
    assert_eq!(seen(&item), begun);
    drop(tail);
    // A long time passes in which there is much to log and nothing to promote.
    let cursor = item["cursor"].as_str().expect("each has one").to_owned();
    for _ in 0..60 {
        log(&admin, &first, &phrase()).await;
    }
    let tail = Tail::of(&world, &["PUBLISHED", "PROMOTION_UNDONE"], Some(&cursor));
    assert!(tail.lines.recv_timeout(Duration::from_millis(500)).is_err());
    let second = world.task().await;
    let later = promote(&second).await;
    assert_eq!(seen(&tail.next()), later);
    assert!(tail.lines.recv_timeout(Duration::from_millis(300)).is_err());
    let ran = world.sillok(&format!("tail --scope {PROJECT} --kind published"));
    ran.ended(2);
    assert!(ran.stderr.contains("no kind of event"), "{}", ran.stderr);
}

#[tokio::test]
async fn the_events_of_a_scope_are_printed_whatever_pages_they_fill() {
    let world = World::start().await;
    let task = world.task().await;
    let lines: String = (0..1_100)
        .map(|number| format!("{{\"level\": \"info\", \"content\": \"line {number}\"}}\n"))
        .collect();
    let import = world.invocation(&format!("log import --scope {task}"));
    import.stdin(lines).run().ended(0);
    let events = |flags: &str| {
        let ran = world.sillok(&format!("events --json --scope {task} {flags}"));
        ran.json_lines()
    };
    let all = events("");
    let seqs: Vec<u64> = all
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(seqs, (1..=all.len() as u64).collect::<Vec<_>>());
    let records = events("--kind RECORD_APPENDED --after 50");
    assert_eq!(records[0]["seq"], 51);
    assert_eq!(records.last(), all.last());
    assert_eq!(records.len(), all.len() - 50);
    assert!(all.len() > 1_100);
    world
        .sillok(&format!("events --scope {task} --kind nothing"))
        .ended(2);
    world.sillok("events --scope nowhere/x").ended(2);
}

/// Reads events from a stream until there are `count`: their ids and data.
async fn read(client: &Client, last_event: Option<&str>, count: usize) -> Vec<(String, Value)> {
    let response = client.stream(&[("scope", PROJECT)], last_event).await;
    let mut chunks = response.bytes_stream();
    let (mut text, mut events) = (String::new(), Vec::new());
    while events.len() < count {
        let chunk = tokio::time::timeout(PATIENCE, chunks.next())
            .await
            .expect("an event in time");
        let chunk = chunk
            .expect("the stream goes on")
            .expect("it is not broken");
        text.push_str(std::str::from_utf8(&chunk).expect("a test writes ASCII"));
        while let Some(end) = text.find("\n\n") {
            let event: String = text.drain(..end + 2).collect();
            let field = |name: &str| {
                event
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim().to_owned())
            };
            let Some(data) = field("data:") else { continue };
            let id = field("id:").expect("every event has an id");
            events.push((id, serde_json::from_str(&data).expect("the data is JSON")));
        }
    }
    events.truncate(count);
    events
}

#[tokio::test]
async fn a_stream_resumes_behind_its_last_event_id() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for _ in 0..20 {
        log(&admin, &task, &phrase()).await;
    }
    // Ten records in one call are one commit: a cursor stands inside it as well.
    let records: Vec<Value> = (0..10)
        .map(|_| serde_json::json!({ "level": "info", "content": phrase() }))
        .collect();
    admin
        .post(
            "/v1/logs",
            &serde_json::json!({ "scope": task, "records": records }),
        )
        .await
        .ok();
    let whole = read(&admin, None, 31).await;
    let items: Vec<Value> = whole.iter().map(|(_, item)| item.clone()).collect();
    check_whole(&items);
    for (at, (id, item)) in whole.iter().enumerate().take(30) {
        assert_eq!(item["cursor"], id.as_str());
        let rest = read(&admin, Some(id), 1).await;
        assert_eq!(rest[0], whole[at + 1], "behind event {at}");
    }
}

#[tokio::test]
async fn a_tail_ends_with_the_token_that_opened_it() {
    let world = World::start().await;
    let task = world.task().await;
    let minted = world
        .mint(sillok_core::principal::PrincipalKind::Agent, PROJECT, 600)
        .await;
    let agent = world.admin().with_token(minted["token"].as_str());
    let response = agent.stream(&[("scope", PROJECT)], None).await;
    let mut chunks = response.bytes_stream();
    let first = tokio::time::timeout(PATIENCE, chunks.next())
        .await
        .expect("an event in time");
    assert!(first.is_some());
    world
        .admin()
        .post(
            "/v1/tokens/revoke",
            &serde_json::json!({ "id": minted["id"] }),
        )
        .await
        .ok();
    let secret = phrase();
    let _told = log(&world.admin(), &task, &secret).await;
    let rest = async {
        let mut text = Vec::new();
        while let Some(Ok(chunk)) = chunks.next().await {
            text.extend_from_slice(&chunk);
        }
        String::from_utf8(text).expect("a test writes ASCII")
    };
    let rest = tokio::time::timeout(PATIENCE, rest)
        .await
        .expect("the stream ends");
    assert!(
        !rest.contains(&secret),
        "what happened after the revocation is not told: {rest}"
    );
    assert!(
        rest.contains("unauthenticated"),
        "it says why it ends: {rest}"
    );
    assert!(
        world
            .admin()
            .get("/v1/events", &[("scope", WORKTREE)])
            .await
            .status
            == 200
    );
}
