//! Importing sessions of Claude Code and of Codex: while they are written, again, at once, and after they were changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Client, WORKTREE, World};

const CLAUDE_CODE: &str = include_str!("../../../crates/sessions/tests/golden/claude-code.jsonl");
const CODEX: &str = include_str!("../../../crates/sessions/tests/golden/codex.jsonl");

/// The session of the sample.
const SESSION: &str = "7d1c3f0e-52a4-4c1b-9a57-2f6f1f1b0a01";

/// Where a session is imported to that nobody touches.
const ELSEWHERE: &str = "org/acme/project/api/worktree/other";

fn task(worktree: &str) -> String {
    format!("{worktree}/task/claude-code-{SESSION}")
}

fn import(world: &World, into: &str, path: &Path) -> Value {
    let path = path.to_str().expect("UTF-8");
    world
        .run(&["import", "--json", "--into", into, path])
        .json()
}

fn file(world: &World, text: &str) -> PathBuf {
    let path = world.folder().join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, text).expect("the folder is there");
    path
}

/// What the records of a task say, without where they stand in its log.
async fn said(admin: &Client, task: &str) -> Vec<Value> {
    let records = admin.all("/v1/records", task).await;
    let told = |record: &Value| {
        let names = ["level", "content", "metadata", "time", "masked"];
        json!(names.map(|name| record[name].clone()))
    };
    records.iter().map(told).collect()
}

/// Forgets how far imports came.
fn forget(world: &World) {
    std::fs::remove_dir_all(world.data().join("imports")).expect("cursors were kept");
}

#[tokio::test]
async fn a_session_that_is_still_written_is_imported_once_however_often_and_with_or_without_a_cursor()
 {
    let world = World::start().await;
    let admin = world.admin();
    let path = file(&world, CLAUDE_CODE);
    let whole = import(&world, ELSEWHERE, &path);
    let expected = said(&admin, &task(ELSEWHERE)).await;
    assert_eq!(whole["imported"], expected.len());
    assert_eq!(whole["passed_over"]["image"], 2);
    assert_eq!(
        expected[0][3], 1_740_906_902_250_u64,
        "the time is the file's"
    );
    let length = CLAUDE_CODE.len();
    let mut imported = 0;
    for (number, cut) in (1..=9).map(|part| (part, length * part / 9)) {
        // A cut goes through a line, and may go through a character.
        std::fs::write(&path, &CLAUDE_CODE.as_bytes()[..cut]).expect("it is writable");
        let answer = import(&world, WORKTREE, &path);
        assert_eq!(answer["already_there"], imported, "{answer}");
        imported += answer["imported"].as_u64().expect("a count");
        if imported > 0 && number % 2 == 0 {
            forget(&world);
        }
    }
    assert_eq!(imported, expected.len() as u64);
    assert_eq!(said(&admin, &task(WORKTREE)).await, expected);
    let again = import(&world, WORKTREE, &path);
    assert_eq!(
        (&again["imported"], &again["records"]),
        (&json!(0), &json!(imported))
    );
    assert_eq!(said(&admin, &task(WORKTREE)).await, expected);
    let verdict = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test]
async fn two_imports_at_once_bring_in_each_record_once() {
    let world = World::start().await;
    let admin = world.admin();
    let long: String = (0..3_000)
        .map(|number| {
            let line = json!({ "type": "assistant", "sessionId": SESSION, "uuid": format!("u{number}"),
                "message": { "content": format!("thought {number}") } });
            format!("{line}\n")
        })
        .collect();
    let path = file(&world, &long);
    // One of them sees less of the session, so that its batches end elsewhere.
    let shorter = world.folder().join("shorter.jsonl");
    let lines: String = long
        .lines()
        .take(1_250)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&shorter, lines).expect("the folder is there");
    let imports = [&path, &shorter, &path].map(|path| {
        let line = format!("import --json --into {WORKTREE} {}", path.display());
        let invocation = world.invocation(&line);
        std::thread::spawn(move || invocation.run())
    });
    for import in imports {
        let ran = import.join().expect("a command does not panic");
        // Whoever sees less finds that the task holds more than its file says.
        assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    }
    import(&world, WORKTREE, &path);
    let records = admin.all("/v1/records", &task(WORKTREE)).await;
    let contents: Vec<&str> = records
        .iter()
        .filter_map(|one| one["content"].as_str())
        .collect();
    let expected: Vec<String> = (0..3_000)
        .map(|number| format!("thought {number}"))
        .collect();
    assert_eq!(contents, expected);
}

#[tokio::test]
async fn secrets_of_a_session_are_masked_and_counted() {
    let world = World::start().await;
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let line = json!({ "type": "user", "sessionId": SESSION,
        "message": { "content": format!("push with {secret} please") } });
    let path = file(&world, &format!("{line}\n"));
    let path_text = path.to_str().expect("UTF-8");
    let dry = world
        .run(&[
            "import",
            "--json",
            "--dry-run",
            "--into",
            WORKTREE,
            path_text,
        ])
        .json();
    assert_eq!((&dry["imported"], &dry["masked"]), (&json!(1), &json!(1)));
    world
        .admin()
        .get("/v1/task", &[("scope", &task(WORKTREE))])
        .await
        .refused(404, "not_found");
    let answer = import(&world, WORKTREE, &path);
    assert_eq!(
        (&answer["imported"], &answer["masked"]),
        (&json!(1), &json!(1))
    );
    let said = said(&world.admin(), &task(WORKTREE)).await;
    assert!(!said[0].to_string().contains(secret), "{said:?}");
    // The task's title is the prompt: it is found again although that was masked.
    let again = import(&world, WORKTREE, &path);
    assert_eq!(
        (&again["imported"], &again["masked"]),
        (&json!(0), &json!(0))
    );
}

#[tokio::test]
async fn a_folder_is_walked_and_what_is_no_session_is_left_out_by_name() {
    let world = World::start().await;
    let home = world.folder().join("projects");
    let inner = home.join(SESSION).join("subagents");
    std::fs::create_dir_all(&inner).expect("the folder is there");
    std::fs::write(home.join(format!("{SESSION}.jsonl")), CLAUDE_CODE).unwrap();
    let of_agent = json!({ "type": "assistant", "sessionId": SESSION, "agentId": "a1", "isSidechain": true,
        "message": { "content": "Only one caller." } });
    std::fs::write(inner.join("agent-a1.jsonl"), format!("{of_agent}\n")).unwrap();
    std::fs::write(home.join("rollout-1.jsonl"), CODEX).unwrap();
    std::fs::write(home.join("other.jsonl"), "{\"a\":1}\n").unwrap();
    std::os::unix::fs::symlink(&home, home.join("loop")).unwrap();
    let answer = import(&world, WORKTREE, &home);
    let tasks = answer["tasks"].as_array().expect("a list");
    let mut formats: Vec<&str> = tasks
        .iter()
        .filter_map(|one| one["format"].as_str())
        .collect();
    formats.sort_unstable();
    assert_eq!(formats, ["claude-code", "claude-code", "codex"]);
    let left_out = answer["left_out"].as_array().expect("a list");
    assert_eq!(left_out.len(), 1, "{answer}");
    assert!(
        left_out[0]["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("other.jsonl"))
    );
    let beside = said(&world.admin(), &format!("{}-agent-a1", task(WORKTREE))).await;
    assert_eq!(beside[0][2]["sidechain"], true);
    assert_eq!(beside[0][2]["agent"], "a1");
    let named = home.join("other.jsonl");
    let named = named.to_str().expect("UTF-8");
    world
        .run(&["import", "--json", "--into", WORKTREE, named])
        .ended(2);
}

#[tokio::test]
async fn a_session_that_says_something_else_than_before_is_refused_and_changes_nothing() {
    let world = World::start().await;
    let admin = world.admin();
    let path = file(&world, CLAUDE_CODE);
    import(&world, WORKTREE, &path);
    let before = said(&admin, &task(WORKTREE)).await;
    let cut: String = CLAUDE_CODE
        .lines()
        .take(6)
        .map(|line| format!("{line}\n"))
        .collect();
    let moved = CLAUDE_CODE.replacen("345 ms", "345 milliseconds", 1);
    let same_length = CLAUDE_CODE.replacen("345 ms", "346 ms", 1);
    for text in [cut, moved, same_length] {
        file(&world, &text);
        let words = [
            "import",
            "--json",
            "--into",
            WORKTREE,
            path.to_str().expect("UTF-8"),
        ];
        let answer = world.run(&words).json_with(1);
        assert_eq!(answer["left_out"][0]["failed"], true, "{answer}");
        assert_eq!(said(&admin, &task(WORKTREE)).await, before);
    }
}

#[tokio::test]
async fn a_session_that_hooks_wrote_down_there_is_a_conflict_and_is_imported_elsewhere() {
    let world = World::start().await;
    let admin = world.admin();
    let scope = task(WORKTREE);
    let open = json!({ "scope": scope, "title": "Mend it" });
    admin.post("/v1/tasks", &open).await.ok();
    let record = json!({ "level": "info", "content": "345 ms is serialized as 344.",
        "metadata": { "client": "claude-code", "event": "UserPromptSubmit", "session": SESSION } });
    let logs = json!({ "scope": scope, "records": [record] });
    admin.post("/v1/logs", &logs).await.ok();
    let path = file(&world, CLAUDE_CODE);
    let words = [
        "import",
        "--json",
        "--into",
        WORKTREE,
        path.to_str().expect("UTF-8"),
    ];
    let answer = world.run(&words).json_with(1);
    let why = answer["left_out"][0]["why"].as_str().expect("a reason");
    assert!(why.contains("hooks"), "{answer}");
    assert_eq!(admin.all("/v1/records", &scope).await.len(), 1);
    let elsewhere = import(&world, ELSEWHERE, &path);
    assert!(elsewhere["imported"].as_u64() > Some(0), "{elsewhere}");
}

#[tokio::test]
async fn what_was_erased_of_a_session_does_not_come_back() {
    let world = World::start().await;
    let admin = world.admin();
    let path = file(&world, CLAUDE_CODE);
    import(&world, WORKTREE, &path);
    let scope = task(WORKTREE);
    let records = admin.all("/v1/records", &scope).await;
    let last = records.last().expect("it has records")["seq"].to_string();
    let words = [
        "erase",
        "--json",
        "--scope",
        &scope,
        "--reason",
        "it leaked",
        "--record",
        &last,
    ];
    world.run(&words).ended(0);
    let left = admin.all("/v1/records", &scope).await;
    for _ in 0..2 {
        let again = import(&world, WORKTREE, &path);
        assert_eq!(again["imported"], 0, "{again}");
        assert_eq!(admin.all("/v1/records", &scope).await, left);
        forget(&world);
    }
}
