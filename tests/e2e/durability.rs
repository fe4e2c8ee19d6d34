//! What survives: restarts, full disks, second owners, newer formats.

mod faults;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::samples::put;
use crate::harness::world::log;
use crate::harness::{Launch, ORG, PROJECT, WORKTREE, World, assert_same, command_id, phrase};

/// The longest that a refusal at the start may take.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Exit status of a bad configuration, and of what may work later.
const REFUSED: [i32; 2] = [78, 75];

/// Starts a server that must refuse at once: what it said.
fn refused(data: &Path) -> String {
    let started = Instant::now();
    let (status, said) = Launch::new(data).start_in_vain(AT_ONCE);
    let code = status
        .code()
        .unwrap_or_else(|| panic!("a signal ended it: {said}"));
    assert!(REFUSED.contains(&code), "it ended with {code}: {said}");
    println!("refused after {:?}: {said}", started.elapsed());
    said
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused_at_once_and_the_first_goes_on() {
    let world = World::start().await;
    let task = world.task().await;
    let announced = std::fs::read_to_string(world.data().join("server.json")).unwrap();
    for _ in 0..2 {
        let said = refused(&world.data());
        assert!(said.contains("in use by another process"), "{said}");
    }
    for line in ["audit verify --offline --json", "rebuild --json"] {
        let ran = world.sillok(line);
        assert!(REFUSED.contains(&ran.status.unwrap()), "{ran:#?}");
        assert!(ran.stderr.contains("in use by another process"), "{ran:#?}");
    }
    assert_eq!(
        std::fs::read_to_string(world.data().join("server.json")).unwrap(),
        announced
    );
    log(&world.admin(), &task, "the first goes on").await;
}

#[tokio::test]
async fn data_of_a_newer_format_is_refused_at_once_and_left_alone() {
    let mut world = World::start().await;
    let task = world.task().await;
    log(&world.admin(), &task, "written by this build").await;
    world.stop();
    let format = world.data().join("store/FORMAT");
    let current = std::fs::read_to_string(&format).unwrap();
    assert_eq!(current, "sillok store format 1\n");
    std::fs::write(&format, "sillok store format 2\n").unwrap();

    let before = files(&world.data());
    let said = refused(&world.data());
    assert!(
        said.contains("newer") && said.contains("format 2"),
        "{said}"
    );
    for line in ["audit verify --offline --json", "rebuild --json"] {
        let ran = world.sillok(line);
        assert!(REFUSED.contains(&ran.status.unwrap()), "{ran:#?}");
        assert!(ran.stderr.contains("format 2"), "{ran:#?}");
    }
    let after = files(&world.data());
    assert!(before.keys().eq(after.keys()), "files came or went");
    for (path, bytes) in &before {
        assert!(after[path] == *bytes, "{} was changed", path.display());
    }

    std::fs::write(&format, current).unwrap();
    world.start_again().await;
    assert_eq!(world.admin().all("/v1/records", &task).await.len(), 1);
}

/// All files of a directory with what they hold.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 5, "there is something to compare");
    found
}

#[tokio::test]
async fn a_restart_keeps_everything_and_gives_the_first_answers_again() {
    let mut world = World::start().await;
    let mut answered = Vec::new();
    for good in world.good_requests().await {
        let id = command_id();
        let answer = good
            .sender
            .command(&good.sample.route, &id, &good.sample.body)
            .await
            .ok();
        good.sample.settle(&good.sender, &answer).await;
        answered.push((good, id, answer));
    }
    let before = everything(&world).await;
    for again in 1..=3 {
        // In order, by a signal that service managers send, and not in order at all.
        match again {
            1 => world.stop(),
            2 => {
                world.server().signal("TERM");
                world.stop_signalled();
            }
            _ => world.kill(),
        }
        world.start_again().await;
        assert_eq!(everything(&world).await, before, "restart {again}");
        for (good, id, first) in &answered {
            let client = world.admin().with_token(Some(good.sender.token()));
            let answer = client
                .command(&good.sample.route, id, &good.sample.body)
                .await
                .ok();
            let what = format!("{} after restart {again}", good.sample.route);
            assert_same(&answer, first, &what);
        }
        assert_eq!(everything(&world).await, before, "a retry writes nothing");
    }
    assert_eq!(world.sillok("audit verify --json").json()["ok"], true);
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_as_soon_as_it_is_ready_stops_in_order() {
    let mut world = World::start().await;
    for _ in 0..10 {
        world.stop();
        world.start_again().await;
    }
}

/// All events, records, tasks and tokens.
async fn everything(world: &World) -> Vec<(String, Value)> {
    let admin = world.admin();
    let tasks = admin.all("/v1/tasks", "*").await;
    let mut found = Vec::new();
    let scopes = tasks
        .iter()
        .map(|task| task["scope"].as_str().expect("a task has a scope"));
    for scope in scopes.chain([ORG, PROJECT, WORKTREE]) {
        for path in ["/v1/events", "/v1/records"] {
            found.push((
                format!("{path} {scope}"),
                Value::Array(admin.all(path, scope).await),
            ));
        }
    }
    found.push((
        "tokens".into(),
        admin.get("/v1/tokens", &[("scope", "*")]).await.ok(),
    ));
    found.push(("tasks".into(), Value::Array(tasks)));
    found
}

#[tokio::test]
async fn what_was_published_is_recalled_after_a_restart_even_without_its_index() {
    let mut world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let texts: Vec<String> = (0..30).map(|_| phrase()).collect();
    for text in &texts {
        put(&agent, WORKTREE, text).await;
    }
    let found = async |world: &World| {
        let client = world.admin().with_token(Some(agent.token()));
        for text in &texts {
            let asked = json!({ "scope": WORKTREE, "query": text });
            let answer = client.post("/v1/recall", &asked).await.ok();
            assert_eq!(answer["results"][0]["content"], text.as_str(), "{answer}");
        }
    };
    world.kill();
    world.start_again().await;
    found(&world).await;
    world.stop();
    // The error that an unreadable index gives says that it may be removed.
    std::fs::remove_dir_all(world.data().join("vectors")).unwrap();
    world.start_again().await;
    found(&world).await;
}

#[tokio::test]
async fn secrets_of_a_data_directory_are_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::start().await;
    let mode = |name: &str| {
        std::fs::metadata(world.data().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode("admin.token"), mode("token.key"), mode(".")),
        (0o600, 0o600, 0o700)
    );
    assert!(
        world.server().base().starts_with("http://127.0.0.1:"),
        "loopback by default"
    );
    let secret = world.mint(PrincipalKind::Agent, PROJECT, 600).await["token"].clone();
    let secret = secret.as_str().unwrap().as_bytes().to_owned();
    for (path, bytes) in files(&world.data()) {
        let holds = bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!holds, "{} holds the secret of a token", path.display());
    }
}

#[tokio::test]
async fn secrets_in_records_are_masked_before_they_are_stored() {
    let mut world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let record = json!({ "level": "tool", "content": format!("export GITHUB_TOKEN={secret}"),
        "metadata": { "password": "correct-horse-battery" } });
    let body = json!({ "scope": task, "records": [record] });
    let appended = admin.post("/v1/logs", &body).await.ok();
    assert!(appended["masked"].as_u64() >= Some(1), "{appended}");
    let shown = admin.get("/v1/records", &[("scope", &task)]).await.text;
    assert!(!shown.contains(secret), "{shown}");
    world.stop();
    for (path, bytes) in files(&world.data()) {
        let holds = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!holds, "{} holds the secret", path.display());
    }
}
