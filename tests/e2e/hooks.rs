//! Hooks of coding agents, with the real server: every recorded event of every client, a server that is away, killed and back,
//! and an installation that runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{Invocation, PROJECT, Ran, WORKTREE, World, binary, world};

/// The clients, and how many records their recorded events lead to.
const CLIENTS: [(&str, usize); 3] = [("claude-code", 8), ("codex", 7), ("cursor", 11)];

/// Where what clients tell is recorded.
fn recorded(client: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.join("../crates/hook/testdata").join(client)
}

/// The hook's program, which is built beside the product's.
fn program() -> PathBuf {
    let path = binary::path().with_file_name("sillok-hook");
    let how = "run `cargo build -p sillok-hook`";
    assert!(
        path.is_file(),
        "there is no binary at {}: {how}",
        path.display()
    );
    path
}

/// The hook with these words, as a client runs it.
fn hook(world: &World, words: &[&str]) -> Invocation {
    let home = world.folder().join("home");
    let command = words
        .iter()
        .fold(Command::new(program()), |mut command, word| {
            command.arg(word);
            command
        });
    Invocation::of(command, &home)
        .env("SILLOK_DATA", world.data())
        .env("SILLOK_SCOPE", WORKTREE)
        .dir(world.folder())
}

/// Tells the hook of a recorded event. It must say nothing to a person.
#[track_caller]
fn event(world: &World, client: &str, name: &str) -> Ran {
    let document = fs::read(recorded(client).join(format!("{name}.json"))).expect("it is recorded");
    let ran = hook(world, &[client, name]).stdin(document).run();
    ran.ended(0);
    assert_eq!(ran.stderr, "", "{client} {name}");
    ran
}

/// What an agent is told in an answer.
fn told(ran: &Ran) -> Option<String> {
    let document: Value = serde_json::from_str(&ran.stdout).ok()?;
    let inner = document["hookSpecificOutput"]["additionalContext"].as_str();
    inner
        .or(document["additional_context"].as_str())
        .map(str::to_owned)
}

/// The task of a client's recorded conversation.
fn task(client: &str) -> String {
    let session = match client {
        "claude-code" => "abc123",
        "codex" => "0199a213-81c0-7800-8aa1-bbab2a035a53",
        _ => "conv-123",
    };
    format!("{WORKTREE}/task/{client}-{session}")
}

/// The texts of a task's records.
async fn contents(world: &World, task: &str) -> Vec<String> {
    let records = world.admin().all("/v1/records", task).await;
    let texts = records
        .iter()
        .map(|record| record["content"].as_str().expect("a text").to_owned());
    texts.collect()
}

/// Saves a decision of the project, which every brief there begins with: what it says.
async fn decide(world: &World) -> String {
    let says = "Requests have a deadline of two seconds, whoever sends them.";
    let body = json!({ "scope": PROJECT, "title": "Deadlines", "content": says, "rank": "lock" });
    world.admin().post("/v1/decisions", &body).await.ok();
    says.to_owned()
}

/// Records that raising a timeout failed in a task.
async fn fail(world: &World, task: &str) {
    let body = json!({ "scope": task, "outcome": "failed", "source": "tests_failed",
        "run": format!("run-{}", world::next()), "error": "TimeoutError: the read timed out",
        "approach": "Change src/client.rs: timeout(30)", "files": ["src/client.rs"] });
    world.admin().post("/v1/verifications", &body).await.ok();
}

#[tokio::test]
async fn every_recorded_event_of_every_client_is_answered_and_is_in_the_memory() {
    let world = World::start().await;
    for (client, count) in CLIENTS {
        let mut names: Vec<String> = fs::read_dir(recorded(client))
            .expect("they are recorded")
            .map(|entry| entry.expect("it is listed").path())
            .map(|path| {
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "notify")
            .collect();
        // The end of a conversation comes at its end.
        names.sort_by_key(|name| name.to_lowercase().starts_with("sessionend"));
        for name in &names {
            event(&world, client, name);
        }
        let written = world.admin().all("/v1/records", &task(client)).await;
        assert_eq!(written.len(), count, "{client}: {written:#?}");
        // The administrator's token lies beside it, and is nobody's to write with.
        let by_agents = written
            .iter()
            .filter(|record| record["author"]["kind"] == "agent");
        assert_eq!(by_agents.count(), count, "{client}: {written:#?}");
        let waiting = hook(&world, &["waiting"]).run();
        assert!(
            waiting.stdout.starts_with("0 commands wait"),
            "{}",
            waiting.stdout
        );
    }
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test]
async fn an_agent_is_told_what_was_decided_and_what_failed_marked_as_data() {
    let world = World::start().await;
    let says = decide(&world).await;
    let start = told(&event(&world, "claude-code", "SessionStart")).expect("something holds");
    assert!(
        start.contains(&says) && start.contains("<recalled-data key="),
        "{start}"
    );
    assert!(start.contains(&task("claude-code")), "{start}");
    let before = event(&world, "claude-code", "PreToolUse");
    assert_eq!(told(&before), None, "nothing failed yet");
    fail(&world, &task("claude-code")).await;
    let before = told(&event(&world, "claude-code", "PreToolUse")).expect("it failed before");
    assert!(
        before.starts_with("Sillok's verdict on this change is reject. Stop!"),
        "{before}"
    );
    // Codex and Cursor work in the same project.
    for (client, name) in [("codex", "SessionStart"), ("cursor", "sessionStart")] {
        let start = told(&event(&world, client, name)).expect("something holds");
        assert!(start.contains(&says), "{client}: {start}");
    }
}

#[tokio::test]
async fn a_compaction_leaves_an_anchor_that_leads_to_what_held() {
    let world = World::start().await;
    decide(&world).await;
    event(&world, "claude-code", "SessionStart");
    event(&world, "claude-code", "PreCompact");
    let anchors = world.admin().all("/v1/anchors", &task("claude-code")).await;
    let [anchor] = anchors.as_slice() else {
        panic!("{anchors:?}")
    };
    let hint = anchor["hint"].as_str().expect("a hint");
    assert!(hint.contains("was compacted (manual)"), "{hint}");
    assert_eq!(anchor["to"].as_array().map(Vec::len), Some(1));
    // What was decided in the task holds there alone, and is told with the anchor when the conversation goes on.
    let says = "Uploads are tried again by whoever sends them.";
    let own = json!({ "scope": task("claude-code"), "title": "Uploads", "content": says, "rank": "normal" });
    world.admin().post("/v1/decisions", &own).await.ok();
    let start = told(&event(&world, "claude-code", "SessionStart")).expect("something holds");
    assert!(
        start.contains(says) && start.contains("was compacted (manual)"),
        "{start}"
    );
    let other = told(&event(&world, "codex", "SessionStart")).expect("something holds");
    assert!(!other.contains(says), "{other}");
}

/// Tells the hook that a person says something in a conversation: what the agent is told.
fn said(world: &World, session: &str, prompt: &str) -> Option<String> {
    let document = json!({ "session_id": session, "cwd": world.folder(), "hook_event_name": "UserPromptSubmit",
        "prompt": prompt });
    let ran = hook(world, &["claude-code", "UserPromptSubmit"])
        .stdin(document.to_string())
        .run();
    ran.ended(0);
    assert_eq!(ran.stderr, "", "{prompt}");
    told(&ran)
}

#[tokio::test]
async fn a_prompt_is_warned_of_what_failed_where_others_were_asked_the_like_and_of_nothing_else() {
    let world = World::start().await;
    said(
        &world,
        "one",
        "The upload of large invoices to the archive times out",
    );
    let one = format!("{WORKTREE}/task/claude-code-one");
    fail(&world, &one).await;
    let warned = said(
        &world,
        "two",
        "Why does the upload of invoices to the archive stop?",
    );
    let warned = warned.expect("it failed in a task like this one");
    assert!(
        warned.contains("A warning:") && warned.contains("timeout(30)"),
        "{warned}"
    );
    let other = said(
        &world,
        "three",
        "Give buttons of the settings dialogue round corners",
    );
    assert!(
        !other.unwrap_or_default().contains("A warning:"),
        "another task is warned of nothing"
    );
    // One in which nobody said anything has a title that is like no other's.
    for session in ["four", "five"] {
        let document =
            json!({ "session_id": session, "cwd": world.folder(), "hook_event_name": "Stop" });
        hook(&world, &["claude-code", "Stop"])
            .stdin(document.to_string())
            .run()
            .ended(0);
    }
    fail(&world, &format!("{WORKTREE}/task/claude-code-four")).await;
    let five = format!("{WORKTREE}/task/claude-code-five");
    let brief = json!({ "scope": five });
    let brief = world.admin().post("/v1/brief", &brief).await.ok();
    assert_eq!(brief.get("warnings"), None, "{brief}");
}

#[tokio::test]
async fn what_happens_while_the_server_is_away_is_in_the_memory_once_when_it_is_back() {
    let mut world = World::start().await;
    event(&world, "claude-code", "SessionStart");
    world.kill();
    for name in [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "Stop",
    ] {
        let ran = event(&world, "claude-code", name);
        assert_eq!(ran.stdout, "", "{name}");
    }
    event(&world, "codex", "UserPromptSubmit");
    world.start_again().await;
    // Any conversation that begins hands over what others left.
    event(&world, "cursor", "sessionStart");
    event(&world, "claude-code", "Stop");
    let written = contents(&world, &task("claude-code")).await;
    let parts = [
        "begins",
        "A person says",
        "Write was given",
        "compacted",
        "finished",
        "finished",
    ];
    assert_eq!(written.len(), parts.len(), "{written:#?}");
    for (content, part) in written.iter().zip(parts) {
        assert!(content.contains(part), "{content}");
    }
    assert_eq!(contents(&world, &task("codex")).await.len(), 1);
    let flushed = hook(&world, &["flush"]).run();
    assert!(
        flushed
            .stdout
            .starts_with("0 commands were handed over; 0 wait"),
        "{}",
        flushed.stdout
    );
    assert_eq!(
        contents(&world, &task("claude-code")).await.len(),
        parts.len()
    );
}

#[tokio::test]
async fn a_server_that_is_killed_between_events_again_and_again_gets_each_once() {
    let mut world = World::start().await;
    let mut expected = 0;
    for round in 0..4 {
        for name in ["PostToolUse", "Stop"] {
            event(&world, "claude-code", name);
            expected += 1;
        }
        world.kill();
        event(&world, "claude-code", "Stop");
        expected += 1;
        world.start_again().await;
        if round % 2 == 0 {
            event(&world, "claude-code", "Stop");
            expected += 1;
        }
    }
    event(&world, "claude-code", "Stop");
    assert_eq!(
        contents(&world, &task("claude-code")).await.len(),
        expected + 1
    );
}

#[tokio::test]
async fn secrets_in_events_are_masked_in_the_memory() {
    let world = World::start().await;
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let document = json!({ "session_id": "abc123", "cwd": world.folder(), "hook_event_name": "Stop",
        "last_assistant_message": format!("The token is {secret}.") });
    let ran = hook(&world, &["claude-code", "Stop"])
        .stdin(document.to_string())
        .run();
    ran.ended(0);
    let written = contents(&world, &task("claude-code")).await;
    assert!(!written[0].contains(secret), "{written:?}");
}

#[tokio::test]
async fn an_agents_own_token_is_used_and_one_that_does_not_cover_the_work_keeps_what_happened() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let stranger = world.principal(PrincipalKind::Agent, "org/other").await;
    let document = fs::read(recorded("codex").join("Stop.json")).expect("it is recorded");
    let stop = |token: &str| {
        let hook = hook(&world, &["codex", "Stop"]).env("SILLOK_TOKEN", token);
        hook.stdin(document.clone()).run()
    };
    stop(stranger.token()).ended(0);
    let waiting = hook(&world, &["waiting"]).run();
    assert!(
        waiting.stdout.starts_with("2 commands wait"),
        "{}",
        waiting.stdout
    );
    stop(agent.token()).ended(0);
    let records = world.admin().all("/v1/records", &task("codex")).await;
    assert_eq!(records.len(), 2);
    assert!(
        records
            .iter()
            .all(|record| record["author"]["kind"] == "agent"),
        "{records:?}"
    );
}

#[tokio::test]
async fn a_hook_whose_token_was_revoked_has_another_one_and_is_the_same_agent() {
    let world = World::start().await;
    event(&world, "claude-code", "Stop");
    let tokens = world.admin().all("/v1/tokens", PROJECT).await;
    let own = tokens
        .iter()
        .find(|token| token["actor"]["kind"] == "agent");
    let id = own.expect("it was made")["id"].clone();
    let revoked = json!({ "id": id });
    world.admin().post("/v1/tokens/revoke", &revoked).await.ok();
    event(&world, "claude-code", "Stop");
    let records = world.admin().all("/v1/records", &task("claude-code")).await;
    assert_eq!(records.len(), 2, "{records:#?}");
    let author = |place: usize| &records[place]["author"];
    assert_eq!(author(0), author(1));
    assert_eq!(author(0)["kind"], "agent");
}

#[tokio::test]
async fn the_doctor_says_that_all_is_well_and_what_is_wrong_when_it_is_not() {
    let mut world = World::start().await;
    for (client, _) in CLIENTS {
        let line = format!("doctor --client {client} --in {WORKTREE} --json");
        let looked = world.sillok(&line).json();
        let checks = looked.as_array().expect("a list");
        assert!(
            checks.iter().all(|check| check["well"] == true),
            "{looked:#}"
        );
        assert!(checks.len() == 5, "{looked:#}");
    }
    world.stop();
    let looked = world.sillok(&format!("doctor --in {WORKTREE} --json"));
    let looked = looked.json_with(1);
    let ill: Vec<&Value> = looked
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["well"] == false)
        .collect();
    assert_eq!(ill.len(), 1, "{looked:#}");
    assert_eq!(ill[0]["what"], "the server");
    assert!(
        ill[0]["mend"]
            .as_str()
            .is_some_and(|mend| mend.contains("sillok serve"))
    );
}

#[tokio::test]
async fn what_is_installed_runs_and_is_removed_without_a_trace() {
    let world = World::start().await;
    let home = world.folder().join("home");
    for (client, folder, file) in [
        ("claude-code", ".claude", "settings.json"),
        ("codex", ".codex", "hooks.json"),
        ("cursor", ".cursor", "hooks.json"),
    ] {
        let path = home.join(folder).join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        let before = "{\n  // mine\n  \"hooks\": {},\n}\n";
        fs::write(&path, before).expect("it can be written");
        let line = format!("install --client {client} --in {WORKTREE}");
        let planned = world.sillok(&format!("{line} --dry-run --json")).json();
        assert_eq!(planned[0]["changed"], true);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), before);
        world.sillok(&line).ended(0);
        let installed = fs::read_to_string(&path).expect("it is there");
        let program = program().canonicalize().expect("it is there");
        let named = program.to_string_lossy().into_owned();
        assert!(installed.contains(&named), "{installed}");
        // Whatever client it is, a command line of it runs.
        let command = installed.lines().find_map(|line| {
            let command = line.trim().strip_prefix("\"command\": \"")?;
            Some(command.trim_end_matches(['"', ',']).to_owned())
        });
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command.expect("a command"));
        let name = if client == "cursor" {
            "sessionStart"
        } else {
            "SessionStart"
        };
        let document =
            fs::read(recorded(client).join(format!("{name}.json"))).expect("it is recorded");
        let ran = Invocation::of(shell, &home)
            .env("SILLOK_DATA", world.data())
            .stdin(document)
            .run();
        ran.ended(0);
        assert_eq!(ran.stderr, "");
        // That it began is in the memory once anybody says or does something.
        let name = if client == "cursor" { "stop" } else { "Stop" };
        event(&world, client, name);
        let written = contents(&world, &task(client)).await;
        assert!(written[0].contains("A conversation begins"), "{written:?}");
        assert_eq!(written.len(), 2, "{client}");
        world.sillok(&format!("{line} --uninstall")).ended(0);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), before);
    }
    let left = [
        home.join(".claude.json"),
        home.join(".codex/config.toml"),
        home.join(".cursor/mcp.json"),
    ];
    assert!(!left.iter().any(|path| path.exists()));
}
