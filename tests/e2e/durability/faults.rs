//! Real faults of the disk: it is full, or a file may not grow. The process ends and says why, and
//! after a restart everything that was acknowledged is there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::world::open;
use crate::harness::{Chance, Client, Launch, Server, WORKTREE, command_id, phrase};

/// Clients that write at once.
const CLIENTS: usize = 8;
/// Bytes of one record: large enough that a small disk is soon full, small enough to be stored in
/// the journal itself.
const RECORD_WORDS: usize = 6_000;
/// Exit status of a server whose store failed.
const STORE_FAILED: i32 = 70;
/// The longest that filling the disk may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was sent, and what is known of it.
#[derive(Default)]
struct Sent {
    acked: Vec<(String, Value, Value)>,
    unknown: Vec<(String, Value)>,
}

fn task(number: usize) -> String {
    format!("{WORKTREE}/task/fault-{number}")
}

/// Writes until the server is gone.
async fn fill(client: &Client, chance: &mut Chance) -> Sent {
    let refused = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (client, mut chance, refused) = (client.clone(), chance.split(), Arc::clone(&refused));
        clients.spawn(async move {
            let mut sent = Sent::default();
            loop {
                let content = format!("{} {}", phrase(), chance.words(RECORD_WORDS));
                let record = json!({ "level": "tool", "content": content });
                let (id, body) = (
                    command_id(),
                    json!({ "scope": task(number), "records": [record] }),
                );
                match client.attempt("/v1/logs", &id, &body).await {
                    Ok(reply) if reply.status == 200 => sent.acked.push((id, body, reply.body)),
                    Ok(reply) if reply.status >= 500 || reply.status == 429 => {
                        refused.fetch_add(1, Ordering::SeqCst);
                        sent.unknown.push((id, body));
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    Ok(reply) => panic!("a full disk is no fault of the request: {}", reply.text),
                    Err(_) => {
                        sent.unknown.push((id, body));
                        return sent;
                    }
                }
            }
        });
    }
    let filled = async {
        let mut all = Sent::default();
        while let Some(sent) = clients.join_next().await {
            let sent = sent.expect("a client does not panic");
            all.acked.extend(sent.acked);
            all.unknown.extend(sent.unknown);
        }
        all
    };
    let all = tokio::time::timeout(PATIENCE, filled)
        .await
        .expect("the server ends in time");
    println!(
        "{} acknowledged, {} unknown, {refused:?} refused",
        all.acked.len(),
        all.unknown.len()
    );
    assert!(!all.acked.is_empty(), "something was acknowledged before");
    all
}

/// The server has ended, and said why.
fn ended(mut server: Server, why: &[&str]) {
    let status = server.ends_within(PATIENCE);
    let said = server.said();
    let status = status.unwrap_or_else(|| panic!("the server goes on: {said}"));
    assert_eq!(
        status.code(),
        Some(STORE_FAILED),
        "it ended with {status}: {said}"
    );
    assert!(
        said.contains("the store failed, the process ends"),
        "{said}"
    );
    assert!(
        why.iter().any(|why| said.contains(why)),
        "it does not say why: {said}"
    );
}

/// Everything that was acknowledged is there, once, and a retry settles the rest.
async fn check(client: &Client, sent: Sent) {
    let stored = async |number: usize| {
        let mut found = std::collections::BTreeMap::new();
        let mut query = vec![
            ("scope".to_owned(), task(number)),
            ("limit".to_owned(), "50".to_owned()),
        ];
        loop {
            let pairs: Vec<(&str, &str)> = query
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .collect();
            let page = client.get("/v1/records", &pairs).await.ok();
            for record in page["items"].as_array().expect("a page has items") {
                let command = record["command"]
                    .as_str()
                    .expect("it has a command")
                    .to_owned();
                let before = found.insert(command, record["content"].clone());
                assert_eq!(before, None, "a command was applied twice");
            }
            let Some(next) = page["next"].as_str() else {
                return found;
            };
            query.truncate(2);
            query.push(("after".to_owned(), next.to_owned()));
        }
    };
    for retried in [false, true] {
        let mut all = std::collections::BTreeMap::new();
        for number in 0..CLIENTS {
            all.extend(stored(number).await);
        }
        let unknown = sent.unknown.iter().filter(|_| retried);
        let expected = sent.acked.iter().map(|(id, body, _)| (id, body));
        for (id, body) in expected.chain(unknown.map(|(id, body)| (id, body))) {
            let content = all
                .get(id)
                .unwrap_or_else(|| panic!("command {id} is lost"));
            assert!(
                *content == body["records"][0]["content"],
                "command {id} is not what was sent"
            );
        }
        if retried {
            assert_eq!(
                all.len(),
                sent.acked.len() + sent.unknown.len(),
                "something else is there"
            );
            return;
        }
        for (id, body, first) in sent.acked.iter().take(20) {
            let again = client.command("/v1/logs", id, body).await.ok();
            assert_eq!(again, *first, "a retry is given the first answer");
        }
        for (id, body) in &sent.unknown {
            client.command("/v1/logs", id, body).await.ok();
        }
    }
}

async fn open_tasks(client: &Client) {
    for number in 0..CLIENTS {
        open(client, &task(number)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_may_not_grow_ends_the_process_and_loses_nothing_acknowledged() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("skipped: there is no prlimit on this machine to bound the size of files");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut chance = Chance::of_test("journal");
    // Without the signal that a limit sends, the write itself fails, as on a full quota.
    let server = Launch::after("trap '' XFSZ", &data).start().await;
    open_tasks(&Client::admin_of(&server)).await;
    let limit = format!("--fsize={}", 3 << 20);
    let pid = server.pid().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &pid, &limit])
        .status()
        .unwrap();
    assert!(
        limited.success(),
        "the limit of one's own process can be lowered"
    );
    let sent = fill(&Client::admin_of(&server), &mut chance).await;
    ended(server, &["File too large", "os error 27"]);

    let server = Server::start(&data).await;
    check(&Client::admin_of(&server), sent).await;
    server.stop();
}

/// A file system of its own, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// A small one in memory; none where that is not allowed.
    fn small(path: &Path) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
            .arg(path)
            .output();
        mounted
            .is_ok_and(|ran| ran.status.success())
            .then(|| Self(path.to_owned()))
    }

    fn enlarge(&self) {
        let ran = Command::new("mount")
            .args(["-o", "remount,size=512m"])
            .arg(&self.0)
            .status();
        assert!(ran.unwrap().success(), "what was mounted can be enlarged");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Nothing is left to do when it stays.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_the_process_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let Some(mount) = Mount::small(&data) else {
        println!("skipped: a small file system cannot be mounted here (it takes root)");
        return;
    };
    let mut chance = Chance::of_test("full disk");
    let server = Server::start(&data).await;
    open_tasks(&Client::admin_of(&server)).await;
    let sent = fill(&Client::admin_of(&server), &mut chance).await;
    ended(server, &["No space left", "os error 28"]);

    mount.enlarge();
    let server = Server::start(&data).await;
    check(&Client::admin_of(&server), sent).await;
    server.stop();
}
