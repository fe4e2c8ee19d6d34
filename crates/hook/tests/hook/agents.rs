//! Whom a hook speaks as, and what a conversation's task is opened with.

use std::fs;

use crate::server::{Manner, Server};
use crate::{Machine, TASK, recorded};

#[test]
fn a_conversation_in_which_nobody_said_anything_says_nothing_by_its_title() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    machine.well("SessionStart");
    assert_eq!(server.openings(TASK), 0);
    assert!(
        machine.waiting().starts_with("0 commands wait"),
        "{}",
        machine.waiting()
    );
    machine.well("PreToolUse");
    assert_eq!(server.opening(TASK)["title"], "claude-code-abc123");
    machine.well("UserPromptSubmit");
    assert_eq!(server.openings(TASK), 1);
    let contents = server.contents(TASK);
    assert!(contents[0].contains("begins"), "{contents:?}");
    assert_eq!(contents.len(), 2);
}

#[test]
fn after_its_token_was_revoked_a_hook_has_another_one_at_the_same_event() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    fs::create_dir_all(machine.data()).unwrap();
    fs::write(machine.data().join("admin.token"), "slk_admin\n").unwrap();
    let told = |name: &str| {
        let mut command = machine.command(&["claude-code", name]);
        command.env_remove("SILLOK_TOKEN");
        let ran = machine.fed(command, &recorded("claude-code", name));
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{name}");
        ran.told()
    };
    assert!(told("SessionStart").is_some());
    told("Stop");
    assert_eq!(server.minted(), 1);
    server.revoke();
    assert!(told("UserPromptSubmit").is_some());
    assert_eq!(server.minted(), 2);
    assert_eq!(server.contents(TASK).len(), 3);
}

#[test]
fn a_token_file_that_is_away_and_a_number_that_is_none_lose_no_event() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    let token = machine.folder.path().join("token");
    let stop = || {
        let file = token.to_string_lossy().into_owned();
        let mut command = machine.command(&["claude-code", "Stop", "--token-file", &file]);
        command.env("SILLOK_HOOK_CONNECT_MS", "0");
        machine.fed(command, &recorded("claude-code", "Stop"))
    };
    let ran = stop();
    assert_eq!(ran.status, Some(0));
    assert!(
        ran.stderr.contains("is no number of milliseconds") && ran.stderr.contains("is not there"),
        "{}",
        ran.stderr
    );
    assert!(machine.waiting().starts_with("2 commands wait"));
    fs::write(&token, "slk_one\n").unwrap();
    stop();
    assert_eq!(server.contents(TASK).len(), 2);
}
