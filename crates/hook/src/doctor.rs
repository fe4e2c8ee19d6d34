//! The doctor: whether what happens to an agent reaches the memory, and what is to be done where it does not.
//!
//! Owns the checks, from the hook's program to the record that is read back, in the order in which one needs the other, and
//! what people are told of what waits.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::arguments::Flags;
use crate::client::Client;
use crate::clock::{Deadline, Ids};
use crate::place::Place;
use crate::run::{Connected, Error, chain, connect};
use crate::settings::{Environment, Settings};
use crate::spool::directory::Spools;
use crate::talk::{self, Server};

mod waiting;

pub use waiting::{flush, waiting};

/// The conversation that the doctor plays: one task of each scope, however often it is called.
const SESSION: &str = "doctor";
/// How long one answer may take where a person waits for it, in ms.
const ANSWER_MS: u64 = 10_000;
/// How long the hook's program may take at one event. It takes far less.
const HOOK_PATIENCE: Duration = Duration::from_secs(10);
/// Pages of the doctor's task that are read back.
const PAGES_MAX: usize = 1_000;

/// What mends a token that cannot be read or kept.
const AGENTS_MEND: &str =
    "give yourself the right to read and write what is named, or name a token with SILLOK_TOKEN";

/// What the hook's program is told by its environment.
const VARIABLES: [&str; 10] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SILLOK_CONFIG",
    "SILLOK_DATA",
    "SILLOK__SERVER__DATA",
    "SILLOK_SCOPE",
    "SILLOK_TOKEN",
    "SILLOK_URL",
    "SILLOK_HOOK",
];

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// How it is: what was found, or what is wrong and how to mend it.
    pub found: Result<String, Ill>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ill {
    /// What is wrong.
    pub why: String,
    /// How to mend it.
    pub mend: String,
}

fn ill(why: impl Into<String>, mend: impl Into<String>) -> Ill {
    Ill {
        why: why.into(),
        mend: mend.into(),
    }
}

/// What the doctor looks at.
#[derive(Clone, Copy)]
pub struct Patient<'a> {
    /// The client whose events are played.
    pub client: Client,
    /// The hook's program.
    pub hook: &'a Path,
    /// The directory that the agent would work in.
    pub directory: &'a Path,
    /// Flags for hooks.
    pub flags: &'a Flags,
    /// The environment.
    pub environment: Environment<'a>,
}

/// Looks at everything between an agent and the memory. What rests on something that is ill is not looked at.
#[must_use]
pub fn examine(patient: &Patient<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut look = |what, found: Result<String, Ill>| {
        let is_well = found.is_ok();
        checks.push(Check { what, found });
        is_well
    };
    let program = look("the hook's program", program(patient.hook));
    let settings = Settings::resolve(patient.flags, patient.environment);
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            look(
                "the settings",
                Err(ill(chain(&error), "correct what is named")),
            );
            return checks;
        }
    };
    let place = placed(&settings, patient);
    let named = place
        .as_ref()
        .map(|place| format!("events go to {}", place.task));
    let is_placed = look("the scope", named.map_err(Clone::clone));
    let spools = look("the spool", spool(&settings));
    let server = reachable(&settings);
    let told = server
        .as_ref()
        .map(|(_, url)| format!("it answers at {url}"));
    let is_reached = look("the server", told.map_err(Clone::clone));
    let all = program && is_placed && spools && is_reached;
    if let (true, Ok(place), Ok((mut server, _))) = (all, place, server) {
        look(
            "an event, from the program to the memory and back",
            played(patient, &place, &mut server),
        );
    }
    checks
}

fn program(hook: &Path) -> Result<String, Ill> {
    let mend =
        "build it (cargo build -p sillok-hook), and put it beside sillok or name it with --hook";
    let output = Command::new(hook).arg("--version").output();
    let output =
        output.map_err(|error| ill(format!("{} does not run: {error}", hook.display()), mend))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let own = concat!("sillok-hook ", env!("CARGO_PKG_VERSION"));
    if said == own {
        return Ok(format!("{said}, at {}", hook.display()));
    }
    Err(ill(
        format!("{} says '{said}' and not '{own}'", hook.display()),
        mend,
    ))
}

fn placed(settings: &Settings, patient: &Patient<'_>) -> Result<Place, Ill> {
    let mend = "set SILLOK_SCOPE to a project or a worktree, or install with --in SCOPE";
    if !settings.enabled {
        return Err(ill("hooks are switched off", "unset SILLOK_HOOK"));
    }
    let scope = settings.scope.as_ref();
    let scope = scope.ok_or_else(|| ill("no scope is named", mend))?;
    let place = Place::of(scope, patient.client, SESSION, Some(patient.directory));
    place.ok_or_else(|| {
        ill(
            format!("{scope} is an organisation, which has no tasks"),
            mend,
        )
    })
}

fn spool(settings: &Settings) -> Result<String, Ill> {
    let spools = Spools::of(&settings.data);
    let mend = format!(
        "give yourself the right to write in {}",
        spools.path().display()
    );
    let probe = spools.path().join(format!("probe.{}", std::process::id()));
    let written = spools.make().and_then(|()| std::fs::write(&probe, "probe"));
    let removed = written.and_then(|()| std::fs::remove_file(&probe));
    removed.map_err(|error| ill(format!("nothing can be written there: {error}"), mend))?;
    let (commands, lost) =
        waiting::waiting_in(&spools).map_err(|error| ill(error.to_string(), ""))?;
    let mut said = format!(
        "{} is there; {commands} commands wait in it",
        spools.path().display()
    );
    for line in lost {
        said.push_str("; ");
        said.push_str(&line);
    }
    Ok(said)
}

fn reachable(settings: &Settings) -> Result<(Server, String), Ill> {
    let url = settings.url().ok_or_else(|| {
        ill(
            format!("no server serves {}", settings.data.display()),
            "start one with `sillok serve`, or set SILLOK_URL",
        )
    })?;
    let mut connected = connection(settings)?;
    // Whoever may read what is on record here may be told of it.
    let mut known = status(&mut connected);
    let forgotten = connected.forget_unknown(settings);
    if forgotten.map_err(|error| ill(chain(&error), AGENTS_MEND))? {
        connected = connection(settings)?;
        known = status(&mut connected);
    }
    match known {
        Ok(_) => Ok((connected.server, url)),
        Err(
            error @ talk::Error::Refused {
                status: 401 | 403, ..
            },
        ) => Err(ill(
            chain(&error),
            "set SILLOK_TOKEN to a token whose scope covers the work",
        )),
        Err(error) => Err(ill(
            chain(&error),
            "look at what the server says in its own log",
        )),
    }
}

/// A connection with a token that is kept: one that is not is made anew for each event.
fn connection(settings: &Settings) -> Result<Connected, Ill> {
    let connected = connect(settings, Deadline::after_ms(ANSWER_MS));
    let connected = connected.map_err(|error| match error {
        Error::Token(error) => ill(chain(&error), AGENTS_MEND),
        error => ill(
            chain(&error),
            "start it with `sillok serve`, or correct SILLOK_URL",
        ),
    })?;
    match connected.speaker.unkept() {
        Some(error) => Err(ill(chain(error), AGENTS_MEND)),
        None => Ok(connected),
    }
}

fn status(connected: &mut Connected) -> Result<serde_json::Value, talk::Error> {
    connected.server.get("/v1/status", &[])
}

/// Plays a tool's use and the end of an agent's work, and reads the record back.
fn played(patient: &Patient<'_>, place: &Place, server: &mut Server) -> Result<String, Ill> {
    let mark = format!("doctor {}", Ids::default().make());
    let mend =
        "run the hook by hand with the same event, and look at what it says on standard error";
    let (used, stop) = events(patient, &mark);
    for (name, event) in [used, stop] {
        let answer = fed(patient, name, &event.to_string());
        let answer =
            answer.map_err(|error| ill(format!("the hook does not run: {error}"), mend))?;
        if !answer.stderr.is_empty() || !answer.is_success {
            return Err(ill(
                format!("the hook says: {}", answer.stderr.trim()),
                mend,
            ));
        }
    }
    let found = read_back(place, server, &mark);
    let found = found.map_err(|error| {
        ill(
            chain(&error),
            "give the token a scope that covers the work, so that it can be read",
        )
    })?;
    let Some(id) = found else {
        let why = "the record is not in the task's log";
        return Err(ill(
            why,
            "see what waits with `sillok-hook waiting`, and hand it over with `sillok-hook flush`",
        ));
    };
    Ok(format!("it is there: {id}"))
}

fn events(
    patient: &Patient<'_>,
    mark: &str,
) -> (
    (&'static str, serde_json::Value),
    (&'static str, serde_json::Value),
) {
    let directory = patient.directory;
    let (input, output) = (json!({ "command": "true" }), mark);
    match patient.client {
        Client::ClaudeCode | Client::Codex => {
            let used = json!({
                "session_id": SESSION, "cwd": directory, "hook_event_name": "PostToolUse",
                "tool_name": "Bash", "tool_input": input, "tool_response": output,
            });
            let stop =
                json!({ "session_id": SESSION, "cwd": directory, "hook_event_name": "Stop" });
            (("PostToolUse", used), ("Stop", stop))
        }
        Client::Cursor => {
            let roots = [directory];
            let used = json!({
                "conversation_id": SESSION, "workspace_roots": roots, "hook_event_name": "postToolUse",
                "tool_name": "Shell", "tool_input": input, "tool_output": output,
            });
            let stop = json!({
                "conversation_id": SESSION, "workspace_roots": roots, "hook_event_name": "stop", "status": "completed",
            });
            (("postToolUse", used), ("stop", stop))
        }
    }
}

struct Ran {
    is_success: bool,
    stderr: String,
}

/// Runs the hook's program on one event.
fn fed(patient: &Patient<'_>, name: &str, event: &str) -> io::Result<Ran> {
    let mut command = Command::new(patient.hook);
    command.args([patient.client.as_str(), name]);
    for name in VARIABLES {
        match (patient.environment)(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let Flags {
        scope,
        url,
        token_file,
        data,
    } = patient.flags;
    let texts = [("--scope", scope), ("--url", url)];
    for (flag, value) in texts {
        command.args(value.iter().flat_map(|value| [flag, value.as_str()]));
    }
    for (flag, value) in [("--token-file", token_file), ("--data", data)] {
        if let Some(path) = value {
            command.arg(flag).arg(path);
        }
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(event.as_bytes())?;
    drop(input);
    let started = std::time::Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > HOOK_PATIENCE {
            child.kill()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output()?;
    Ok(Ran {
        is_success: output.status.success(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[derive(Deserialize)]
struct Records {
    items: Vec<Record>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    content: String,
}

fn read_back(
    place: &Place,
    server: &mut Server,
    mark: &str,
) -> Result<Option<String>, talk::Error> {
    let mut after: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let mut query = vec![("scope", place.task.as_str()), ("limit", "1000")];
        query.extend(after.as_deref().map(|after| ("after", after)));
        let page: Records = server.get("/v1/records", &query)?;
        let found = page
            .items
            .into_iter()
            .find(|record| record.content.contains(mark));
        if let Some(record) = found {
            return Ok(Some(record.id));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(None)
}
