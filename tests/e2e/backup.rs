//! Backups of a server that serves, and what is restored from them.

mod refusals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::world::{log, open, verify};
use crate::harness::{Client, PROJECT, Ran, Server, World, command_id, phrase};

/// Takes a backup of the world into a file of this name.
fn back_up(world: &World, name: &str) -> (PathBuf, Value) {
    let file = world.folder().join(name);
    let done = world.run(&["backup", "--json", file.to_str().unwrap()]);
    (file, done.json())
}

/// Restores a backup into a directory of this name.
fn restore(world: &World, file: &Path, name: &str, more: &[&str]) -> (PathBuf, Ran) {
    let data = world.folder().join(name);
    let mut words = vec!["restore", "--json", file.to_str().unwrap()];
    words.extend(["--data", data.to_str().unwrap()]);
    words.extend(more);
    let ran = world.run(&words);
    (data, ran)
}

/// Checks a data directory that no server has.
fn audited(world: &World, data: &Path) -> Value {
    let words = ["audit", "verify", "--offline", "--json", "--data"];
    let mut words = words.to_vec();
    words.push(data.to_str().unwrap());
    world.run(&words).json()
}

/// The texts of a task's log.
async fn texts(client: &Client, task: &str) -> Vec<String> {
    let records = client.all("/v1/records", task).await;
    let text = |record: &Value| record["content"].as_str().unwrap().to_owned();
    records.iter().map(text).collect()
}

/// The cursor behind the first event that a tail gives.
async fn tail_cursor(client: &Client) -> String {
    let response = client.stream(&[("scope", PROJECT)], None).await;
    let mut chunks = response.bytes_stream();
    let mut text = String::new();
    loop {
        let id = text.lines().find_map(|line| line.strip_prefix("id:"));
        if let (Some(id), true) = (id, text.contains("\n\n")) {
            return id.trim().to_owned();
        }
        let chunk = chunks.next().await.expect("there are events").unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// Agents that log without a pause, and what was acknowledged to them.
struct Load {
    acknowledged: Arc<Mutex<Vec<(String, String)>>>,
    is_over: Arc<AtomicBool>,
    agents: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    async fn start(world: &World, agents: usize) -> Self {
        let mut load = Self {
            acknowledged: Arc::default(),
            is_over: Arc::default(),
            agents: Vec::new(),
        };
        for _ in 0..agents {
            let (task, admin) = (world.task().await, world.admin());
            let acknowledged = Arc::clone(&load.acknowledged);
            let is_over = Arc::clone(&load.is_over);
            load.agents.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let text = phrase();
                    log(&admin, &task, &text).await;
                    acknowledged.lock().push((task.clone(), text));
                }
            }));
        }
        load
    }

    fn so_far(&self) -> Vec<(String, String)> {
        self.acknowledged.lock().clone()
    }

    async fn reaches(&self, count: usize) {
        while self.acknowledged.lock().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) -> Vec<(String, String)> {
        self.is_over.store(true, Ordering::Relaxed);
        for agent in self.agents {
            agent.await.expect("an agent does not panic");
        }
        Arc::into_inner(self.acknowledged)
            .expect("nobody else has it")
            .into_inner()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_holds_all_that_was_acknowledged_and_nothing_later() {
    let mut world = World::start().await;
    let verified = world.verified().await;
    let load = Load::start(&world, 4).await;
    load.reaches(200).await;
    let before = load.so_far();
    let (file, done) = tokio::task::block_in_place(|| back_up(&world, "one.backup"));
    let during = load.so_far();
    load.reaches(during.len() + 50).await;
    let all = load.end().await;
    assert!(all.len() > during.len());
    // What was acknowledged before goes on counting where it was taken.
    assert_eq!(world.sillok("audit verify --json").json()["ok"], true);
    world.stop();

    let (data, ran) = restore(&world, &file, "restored", &[]);
    let restored = ran.json();
    assert_eq!(restored["events"], done["events"]);
    assert_eq!(
        (&restored["events_cut"], &restored["audit"]["first"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(audited(&world, &data)["ok"], true);

    let server = Server::start(&data).await;
    let admin = Client::admin_of(&server);
    for (task, text) in &before {
        let found = texts(&admin, task).await;
        assert!(found.contains(text), "{task} lacks {text}");
    }
    // Each agent waits for its answer: its first write behind the end of the backup was sent after it.
    let mut tasks: Vec<&String> = all.iter().map(|(task, _)| task).collect();
    tasks.sort();
    tasks.dedup();
    for task in tasks {
        let found = texts(&admin, task).await;
        let written: Vec<&String> = all
            .iter()
            .filter(|(of, _)| of == task)
            .map(|(_, text)| text)
            .collect();
        assert!(
            found.iter().eq(written[..found.len()].iter().copied()),
            "a prefix of what was written"
        );
        assert!(found.len() < written.len(), "{task} has what came later");
    }
    // It serves: what was published is found again, and work goes on.
    let promoted = admin
        .get("/v1/task", &[("scope", verified["task"].as_str().unwrap())])
        .await;
    promoted.ok();
    open(&admin, &world.unopened()).await;
    server.stop();
    assert_eq!(audited(&world, &data)["ok"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_and_cursors_from_before_are_void_and_say_so() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for _ in 0..5 {
        log(&admin, &task, &phrase()).await;
    }
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let cursor = tail_cursor(&admin).await;
    let one = [("scope", task.as_str()), ("limit", "1")];
    let page = admin.get("/v1/records", &one).await.ok()["next"]
        .as_str()
        .unwrap()
        .to_owned();
    let (file, _) = back_up(&world, "one.backup");
    let (data, ran) = restore(&world, &file, "restored", &[]);
    let restored = ran.json();
    assert_eq!(restored["tokens_revoked"], 1);
    let server = Server::start(&data).await;
    let fresh = Client::admin_of(&server);

    for old in [&agent, &admin] {
        let refused = Client::new(server.base(), Some(old.token()));
        refused
            .get("/v1/status", &[])
            .await
            .refused(401, "unauthenticated");
    }
    let tail = [("scope", PROJECT), ("cursor", cursor.as_str())];
    let problem = fresh
        .get("/v1/tail", &tail)
        .await
        .refused(410, "history_changed");
    assert!(
        problem["detail"].as_str().unwrap().contains("restored"),
        "{problem}"
    );
    let after = [("scope", task.as_str()), ("after", page.as_str())];
    fresh
        .get("/v1/records", &after)
        .await
        .refused(410, "history_changed");
    let data_text = data.to_str().unwrap();
    let ran = world.run(&[
        "tail", "--scope", PROJECT, "--cursor", &cursor, "--data", data_text,
    ]);
    ran.ended(1);
    assert!(
        ran.stderr.contains("history_changed") || ran.stderr.contains("restored"),
        "{ran:#?}"
    );
    // They go on counting where they were given out.
    agent.get("/v1/status", &[]).await.ok();
    let status = fresh.get("/v1/status", &[]).await.ok();
    assert_eq!(status["generation"], restored["generation"]);
    assert!(status["generation"].as_u64() > Some(1));
    // New ones count.
    let again = tail_cursor(&fresh).await;
    drop(
        fresh
            .stream(&[("scope", PROJECT), ("cursor", &again)], None)
            .await,
    );
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_an_event_or_a_time_takes_back_what_came_later() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let body =
        |text: &str| json!({ "scope": task, "records": [{ "level": "info", "content": text }] });
    let kept = command_id();
    let first = admin.command("/v1/logs", &kept, &body("kept")).await.ok();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let cut = command_id();
    let second = admin
        .command("/v1/logs", &cut, &body("taken back"))
        .await
        .ok();
    verify(&admin, &task, PROJECT).await;
    let (file, done) = back_up(&world, "one.backup");

    let event = format!("{task}#{}", first["first"]);
    let middle = i64::try_from(first["time"].as_u64().unwrap() + 10).unwrap();
    let time = rfc3339(middle);
    for (number, more) in [["--to-event", &event], ["--to-time", &time]]
        .into_iter()
        .enumerate()
    {
        let (data, ran) = restore(&world, &file, &format!("restored-{number}"), &more);
        let report = ran.json();
        assert!(report["events_cut"].as_u64() >= Some(2), "{report}");
        let all = report["events"].as_u64().unwrap() + report["events_cut"].as_u64().unwrap();
        assert_eq!(done["events"], all);
        assert_eq!(audited(&world, &data)["ok"], true);
        let server = Server::start(&data).await;
        let restored = Client::admin_of(&server);
        assert_eq!(texts(&restored, &task).await, ["kept"]);
        let status = restored.get("/v1/task", &[("scope", &task)]).await.ok();
        assert_eq!(status["status"], "open", "it was done only later");
        // A retry of what is there writes nothing; what was taken back may be written anew.
        let again = restored
            .command("/v1/logs", &kept, &body("kept"))
            .await
            .ok();
        assert_eq!(again["first"], first["first"]);
        let anew = restored
            .command("/v1/logs", &cut, &body("taken back"))
            .await
            .ok();
        assert_eq!(anew["first"], second["first"]);
        assert_eq!(texts(&restored, &task).await, ["kept", "taken back"]);
        server.stop();
        assert_eq!(audited(&world, &data)["ok"], true);
    }
}

/// A time as RFC 3339 has it.
fn rfc3339(ms: i64) -> String {
    let (seconds, ms) = (ms.div_euclid(1_000), ms.rem_euclid(1_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil from days (Howard Hinnant).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_store_is_backed_up_and_restored_again_also_offline() {
    let mut world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    log(&admin, &task, "first life").await;
    world.stop();
    // Without a server the command reads the directory itself.
    let offline = world.folder().join("offline.backup");
    world
        .run(&["backup", "--offline", "--json", offline.to_str().unwrap()])
        .json();
    let (first, ran) = restore(&world, &offline, "first", &[]);
    let one = ran.json();
    let server = Server::start(&first).await;
    log(&Client::admin_of(&server), &task, "second life").await;
    server.stop();
    let again = world.folder().join("again.backup");
    let words = [
        "backup",
        "--json",
        again.to_str().unwrap(),
        "--data",
        first.to_str().unwrap(),
    ];
    let done = world.run(&words).json();
    assert_eq!(done["generation"], one["generation"]);
    let (second, ran) = restore(&world, &again, "second", &[]);
    assert!(ran.json()["generation"].as_u64() > one["generation"].as_u64());
    assert_eq!(audited(&world, &second)["ok"], true);
    let server = Server::start(&second).await;
    assert_eq!(
        texts(&Client::admin_of(&server), &task).await,
        ["first life", "second life"]
    );
    server.stop();
}
