//! The binary, as clients run it: against a server that is there, away, slow or hostile.
//!
//! The server here speaks HTTP and takes each command once, as the real one does. What the real one says of these requests is
//! tested with it, in `tests/e2e/hooks.rs`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io::Write};

use serde_json::{Value, json};

mod agents;
mod server;

use server::{Manner, Server};

const SCOPE: &str = "org/acme/project/api/worktree/main";
const TASK: &str = "org/acme/project/api/worktree/main/task/claude-code-abc123";

/// A person's machine: a home with a data directory, and the hook.
struct Machine {
    folder: tempfile::TempDir,
    url: Option<String>,
    token: &'static str,
}

struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

impl Ran {
    fn told(&self) -> Option<String> {
        let document: Value = serde_json::from_str(&self.stdout).ok()?;
        let inner = &document["hookSpecificOutput"]["additionalContext"];
        let told = inner
            .as_str()
            .or_else(|| document["additional_context"].as_str());
        told.map(str::to_owned)
    }
}

impl Machine {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            url: None,
            token: "slk_one",
        }
    }

    fn with(server: &Server) -> Self {
        let mut machine = Self::new();
        machine.url = Some(server.url());
        machine
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Announces a server as `sillok serve` does.
    fn announce(&self, url: &str) {
        fs::create_dir_all(self.data()).unwrap();
        fs::write(
            self.data().join("server.json"),
            json!({ "url": url }).to_string(),
        )
        .unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sillok-hook"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("SILLOK_DATA", self.data())
            .env("SILLOK_SCOPE", SCOPE)
            .env("SILLOK_TOKEN", self.token);
        if let Some(url) = &self.url {
            command.env("SILLOK_URL", url);
        }
        command
    }

    fn fed(&self, mut command: Command, event: &[u8]) -> Ran {
        let started = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A hook that ends early does not read all of it.
        let _ = child.stdin.take().unwrap().write_all(event);
        let output = child.wait_with_output().unwrap();
        Ran {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            took: started.elapsed(),
        }
    }

    fn event(&self, client: &str, name: &str) -> Ran {
        self.fed(self.command(&[client, name]), &recorded(client, name))
    }

    /// An event of Claude Code that must go well and say nothing to a person.
    fn well(&self, name: &str) -> Ran {
        let ran = self.event("claude-code", name);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{name}");
        ran
    }

    fn waiting(&self) -> String {
        self.fed(self.command(&["waiting"]), b"").stdout
    }

    fn spools(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.data().join("hooks")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "spool"))
            .collect()
    }
}

fn recorded(client: &str, name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(client);
    fs::read(folder.join(format!("{name}.json"))).unwrap()
}

#[test]
fn a_conversation_is_told_what_holds_what_is_known_and_what_failed() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    let told = machine.well("SessionStart").told().unwrap();
    assert!(
        told.starts_with(&format!(
            "The task of this conversation in Sillok is {TASK}:"
        )) && told.contains("<recalled-data brief>")
            && told.contains("2 further items")
            && !told.contains("A warning:"),
        "{told}"
    );
    let told = machine.well("UserPromptSubmit").told().unwrap();
    assert!(
        told.contains("<recalled-data failed>")
            && told.contains("<recalled-data known>")
            && told.contains("A warning: in other tasks like this one it failed 2 times"),
        "{told}"
    );
    let opening = server.opening(TASK);
    assert!(
        opening["title"]
            .as_str()
            .is_some_and(|title| title.starts_with("Write a function")),
        "{opening}"
    );
    let told = machine.well("PreToolUse").told().unwrap();
    assert!(
        told.starts_with("Sillok's verdict on this change is reject. Stop!"),
        "{told}"
    );
    for silent in [
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ] {
        assert_eq!(machine.well(silent).stdout, "", "{silent}");
    }
    let contents = server.contents(TASK);
    let parts = [
        "begins (startup)",
        "A person says: Write a function",
        "Write was given",
        "and failed with: Command exited",
        "is compacted (manual)",
        "completed the refactoring",
        "Analysis complete",
        "is over (other)",
    ];
    assert_eq!(contents.len(), parts.len());
    for (content, part) in contents.iter().zip(parts) {
        assert!(content.contains(part), "{content}");
    }
    assert_eq!(server.anchors(), [json!(["decision:org/acme#0190"])]);
    assert_eq!(
        machine.spools(),
        Vec::<PathBuf>::new(),
        "a conversation that is over leaves nothing"
    );
}

#[test]
fn a_change_that_comes_first_opens_the_task_that_it_is_compared_in() {
    for (client, name) in [
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("cursor", "postToolUse"),
    ] {
        let server = Server::start(Manner::Well);
        let machine = Machine::with(&server);
        let ran = machine.event(client, name);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{client}");
        let told = ran.told().unwrap();
        assert!(told.contains("verdict on this change is reject"), "{told}");
        assert_eq!(server.openings_of(client), 1, "{client}");
    }
}

#[test]
fn input_without_an_end_and_locks_of_others_hold_no_agent_up() {
    let machine = Machine::new();
    let mut child = machine
        .command(&["cursor", "beforeSubmitPrompt"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"conversation_id\": \"s\"").unwrap();
    let output = child.wait_with_output().unwrap();
    // The other end was open for all that time.
    drop(input);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"{\"continue\":true}\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("took too long"), "{said}");
    machine.well("Stop");
    let held = fs::File::open(machine.spools().remove(0)).unwrap();
    held.lock().unwrap();
    let ran = machine.event("claude-code", "Stop");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.contains("took too long"), "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(9), "{:?}", ran.took);
    held.unlock().unwrap();
    machine.well("Stop");
    assert!(
        machine.waiting().starts_with("3 commands wait"),
        "{}",
        machine.waiting()
    );
}

#[test]
fn each_client_is_answered_in_its_own_form() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    for client in ["claude-code", "codex", "cursor"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("testdata")
            .join(client);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let ran = machine.event(client, &name);
            assert_eq!(
                (ran.status, ran.stderr.as_str()),
                (Some(0), ""),
                "{client} {name}"
            );
            if client == "cursor" {
                assert!(
                    serde_json::from_str::<Value>(&ran.stdout)
                        .unwrap()
                        .is_object()
                );
            }
        }
    }
    let document = String::from_utf8(recorded("codex", "notify")).unwrap();
    let ran = machine.fed(machine.command(&["codex", "notify", &document]), b"");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
}

#[test]
fn cursor_is_told_behind_a_tool_what_it_takes_at_no_prompt() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    let prompt = machine.event("cursor", "beforeSubmitPrompt");
    assert_eq!(prompt.stdout.trim(), "{\"continue\":true}");
    let told = machine.event("cursor", "postToolUse").told().unwrap();
    assert!(told.contains("<recalled-data known>"), "{told}");
    assert!(told.contains("verdict on this change"), "{told}");
    let told = machine.event("cursor", "postToolUse").told().unwrap();
    assert!(
        !told.contains("<recalled-data known>"),
        "it is told once: {told}"
    );
}

#[test]
fn with_a_server_that_is_away_everything_is_kept_and_handed_over_once_in_order() {
    let machine = Machine::new();
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
    ];
    for name in events {
        assert_eq!(machine.well(name).stdout, "", "{name}");
    }
    // The task is opened, and four of these are written.
    assert!(
        machine.waiting().starts_with("5 commands wait"),
        "{}",
        machine.waiting()
    );
    let server = Server::start(Manner::Well);
    machine.announce(&server.url());
    machine.well("Stop");
    let contents = server.contents(TASK);
    assert_eq!(contents.len(), 5);
    for (content, part) in contents.iter().zip([
        "begins",
        "A person says",
        "Write was given",
        "has finished",
        "has finished",
    ]) {
        assert!(content.contains(part), "{content}");
    }
    assert!(machine.waiting().starts_with("0 commands wait"));
    let flushed = machine.fed(machine.command(&["flush"]), b"");
    assert!(
        flushed
            .stdout
            .starts_with("0 commands were handed over; 0 wait"),
        "{}",
        flushed.stdout
    );
    assert_eq!(server.contents(TASK).len(), 5);
}

#[test]
fn a_server_that_takes_a_command_and_never_says_so_gets_it_again_and_counts_it_once() {
    let mut server = Server::start(Manner::Deaf);
    let machine = Machine::with(&server);
    let ran = machine.well("Stop");
    assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
    server.be(Manner::Well);
    machine.well("Stop");
    assert_eq!(server.contents(TASK).len(), 2);
    assert!(server.requests() > 3, "something was sent again");
}

#[test]
fn with_another_token_nothing_is_given_again_that_may_have_been_taken() {
    let mut server = Server::start(Manner::Deaf);
    let mut machine = Machine::with(&server);
    machine.well("Stop");
    server.be(Manner::Well);
    machine.token = "slk_two";
    let ran = machine.event("claude-code", "Stop");
    assert_eq!(ran.status, Some(0));
    assert!(
        ran.stderr.contains("given by another principal"),
        "{}",
        ran.stderr
    );
    assert_eq!(server.openings(TASK), 1);
}

#[test]
fn no_server_however_it_behaves_holds_an_agent_up_or_changes_its_answer() {
    for manner in [
        Manner::Silent,
        Manner::Endless,
        Manner::Garbage,
        Manner::Closing,
        Manner::Refusing,
    ] {
        let server = Server::start(manner);
        let machine = Machine::with(&server);
        for (client, name) in [
            ("claude-code", "SessionStart"),
            ("claude-code", "PreToolUse"),
            ("claude-code", "PostToolUse"),
            ("cursor", "beforeSubmitPrompt"),
            ("codex", "Stop"),
        ] {
            let ran = machine.event(client, name);
            assert_eq!(ran.status, Some(0), "{manner:?} {name}");
            assert!(
                ran.took < Duration::from_secs(3),
                "{manner:?} {name}: {:?}",
                ran.took
            );
            assert_eq!(ran.told(), None, "{manner:?} {name}");
        }
        let waiting = machine.waiting();
        assert!(!waiting.starts_with("0 commands"), "{manner:?}: {waiting}");
    }
}

#[test]
fn what_is_no_event_or_has_no_settings_is_said_and_the_agent_goes_on() {
    let machine = Machine::new();
    let mut unscoped = machine.command(&["claude-code", "Stop"]);
    unscoped.env_remove("SILLOK_SCOPE");
    let cases = [
        (
            machine.command(&["claude-code", "Stop"]),
            b"not json".to_vec(),
            "no JSON object",
        ),
        (
            machine.command(&["claude-code", "Stop"]),
            vec![b' '; (16 << 20) + 1],
            "has more than",
        ),
        (
            machine.command(&["emacs", "Stop"]),
            recorded("codex", "Stop"),
            "no client",
        ),
        (
            machine.command(&["claude-code", "Stop", "--fast"]),
            recorded("codex", "Stop"),
            "no flag",
        ),
        (unscoped, recorded("codex", "Stop"), "no scope is named"),
    ];
    for (command, event, said) in cases {
        let ran = machine.fed(command, &event);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{said}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let mut off = machine.command(&["cursor", "stop"]);
    off.env("SILLOK_HOOK", "off")
        .env("SILLOK_URL", "https://box.example");
    let ran = machine.fed(off, &recorded("cursor", "stop"));
    assert_eq!((ran.stdout.trim(), ran.stderr.as_str()), ("{}", ""));
}

#[test]
fn commands_for_another_server_are_not_handed_to_this_one() {
    let (one, other) = (Server::start(Manner::Refusing), Server::start(Manner::Well));
    let mut machine = Machine::with(&one);
    machine.event("claude-code", "Stop");
    machine.url = Some(other.url());
    machine.event("codex", "SessionEnd");
    assert_eq!(other.contents(TASK), Vec::<String>::new());
    assert!(
        machine.waiting().starts_with("2 commands wait"),
        "{}",
        machine.waiting()
    );
}

#[test]
fn hooks_of_one_conversation_at_once_lose_nothing() {
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..4 {
                    machine.well("PostToolUse");
                }
            });
        }
    });
    machine.well("Stop");
    assert_eq!(server.contents(TASK).len(), 33);
}

#[test]
fn a_damaged_spool_is_told_and_the_rest_of_it_is_handed_over() {
    let machine = Machine::new();
    for name in ["UserPromptSubmit", "PostToolUse"] {
        machine.well(name);
    }
    let spool = machine.spools().remove(0);
    let mut bytes = fs::read(&spool).unwrap();
    let at = bytes
        .windows(8)
        .position(|window| window == b"A person")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&spool, bytes).unwrap();
    assert!(
        machine
            .waiting()
            .contains("1 stretches of the spool are damaged"),
        "{}",
        machine.waiting()
    );
    let server = Server::start(Manner::Well);
    machine.announce(&server.url());
    let ran = machine.event("claude-code", "Stop");
    assert!(ran.stderr.contains("damaged"), "{}", ran.stderr);
    assert_eq!(server.contents(TASK).len(), 2);
}

#[test]
fn it_says_its_version_and_how_it_is_used() {
    let machine = Machine::new();
    let version = machine.fed(machine.command(&["--version"]), b"");
    assert_eq!(
        version.stdout.trim(),
        format!("sillok-hook {}", env!("CARGO_PKG_VERSION"))
    );
    let help = machine.fed(machine.command(&["--help"]), b"");
    assert!(help.stdout.contains("Usage: sillok-hook <client> <event>"));
}

#[test]
fn the_doctor_finds_what_is_wrong_and_that_all_is_well() {
    use sillok_hook::arguments::Flags;
    use sillok_hook::client::Client;
    use sillok_hook::doctor::{Patient, examine};
    let server = Server::start(Manner::Well);
    let machine = Machine::with(&server);
    let hook = Path::new(env!("CARGO_BIN_EXE_sillok-hook"));
    let token = machine.folder.path().join("token");
    fs::write(&token, "slk_one\n").unwrap();
    let flags = Flags {
        scope: Some(SCOPE.to_owned()),
        url: Some(server.url()),
        token_file: Some(token),
        data: Some(machine.data()),
    };
    let looked = |client, hook: &Path, flags: &Flags| {
        let checks = examine(&Patient {
            client,
            hook,
            directory: machine.folder.path(),
            flags,
            environment: &|_| None,
        });
        let ill = checks
            .iter()
            .filter_map(|check| check.found.clone().err().map(|ill| (check.what, ill)));
        (checks.len(), ill.collect::<Vec<_>>())
    };
    for client in Client::ALL {
        assert_eq!(looked(client, hook, &flags), (5, Vec::new()), "{client}");
    }
    let (_, ill) = looked(Client::Codex, Path::new("/nowhere/sillok-hook"), &flags);
    assert_eq!(ill[0].0, "the hook's program");
    let (_, ill) = looked(
        Client::Codex,
        hook,
        &Flags {
            scope: None,
            ..flags.clone()
        },
    );
    assert_eq!(ill[0].0, "the scope");
    let away = Flags {
        url: Some("http://127.0.0.1:9".to_owned()),
        ..flags
    };
    let (_, ill) = looked(Client::Codex, hook, &away);
    assert_eq!(ill[0].0, "the server");
    assert!(ill.iter().all(|(_, ill)| !ill.mend.is_empty()));
}
