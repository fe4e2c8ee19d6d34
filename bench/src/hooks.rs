//! Hooks of a coding agent, each a process of its own, from its start to its end: with a server, and with none.
//!
//! The server is a process on the same cores. A conversation goes on and on: it begins again, a prompt, a change, the tool that
//! made it, a compaction, the end of the agent's work. That a beginning is answered where there is a server, and only there, and
//! that nothing waits at the end, is looked at; a hook that says anything to a person ends the item.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::http::server::{ServerProcess, binary};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::scale::Scale;

/// Where the agent works.
const SCOPE: &str = "org/bench/project/hooks/worktree/main";
/// Conversations of each run before any counts.
const WARM: usize = 3;
/// The floor.
const P99_MS_MAX: f64 = 30.0;
/// The events of one turn of a conversation.
const EVENTS: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "Stop",
];

/// Measures each event with a server, and with none.
///
/// # Errors
/// A hook that fails, or that keeps something back although there is a server.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    for is_there in [true, false] {
        let folder = folder()?;
        let server = is_there.then(|| ServerProcess::start(folder.path()));
        let server = server.transpose()?;
        let bed = Bed {
            program: binary()?.with_file_name("sillok-hook"),
            data: folder.path().join("data"),
            is_there,
        };
        let mut runs: Vec<[Histogram<u64>; EVENTS.len()]> = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            runs.push(bed.run(scale.turns)?);
        }
        let what = if is_there {
            "with a server"
        } else {
            "with none"
        };
        for (place, event) in EVENTS.iter().enumerate() {
            let of_event: Vec<Histogram<u64>> = runs.iter().map(|run| run[place].clone()).collect();
            let row = Row::new(
                format!("hooks: p99 of {event} {what}, its process included"),
                worst_ms(&of_event, 0.99),
                "ms",
            );
            let row = row.with_latency(&together(&of_event));
            report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
        }
        let waiting = bed.told(&["waiting"], &Value::Null)?;
        let kept = !waiting.starts_with("0 commands");
        if kept == is_there {
            return Err(Error::Wrong(format!("{what}: {waiting}")));
        }
        drop(server);
    }
    Ok(())
}

struct Bed {
    program: PathBuf,
    data: PathBuf,
    /// Whether a server serves the data.
    is_there: bool,
}

impl Bed {
    /// Times so many turns of a conversation, event by event.
    fn run(&self, turns: usize) -> Result<[Histogram<u64>; EVENTS.len()], Error> {
        let mut taken = EVENTS.map(|_| histogram());
        for turn in 0..WARM + turns {
            for (place, name) in EVENTS.iter().enumerate() {
                let event = event(name, turn, &self.data);
                let began = Instant::now();
                let answer = self.told(&["claude-code", name], &event)?;
                if turn >= WARM {
                    taken[place].saturating_record(elapsed_us(began));
                }
                if *name == "SessionStart" && answer.is_empty() == self.is_there {
                    return Err(Error::Wrong(format!("a beginning is answered '{answer}'")));
                }
            }
        }
        Ok(taken)
    }

    /// Runs the hook to its end: what it prints.
    fn told(&self, words: &[&str], event: &Value) -> Result<String, Error> {
        let failed = |why: String| Error::Process {
            program: self.program.clone(),
            why,
        };
        let mut child = Command::new(&self.program)
            .args(words)
            .env("SILLOK_DATA", &self.data)
            .env("SILLOK_SCOPE", SCOPE)
            .env_remove("SILLOK_URL")
            .env_remove("SILLOK_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        if let Some(mut input) = child.stdin.take() {
            // One that was asked for something else may have ended, and reads no event.
            match input.write_all(event.to_string().as_bytes()) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() || !said.is_empty() {
            return Err(failed(said));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn event(name: &str, turn: usize, directory: &Path) -> Value {
    let mut event = json!({ "session_id": "bench", "cwd": directory, "hook_event_name": name });
    let file = directory.join(format!("src/part{turn}.rs"));
    match name {
        "SessionStart" => event["source"] = json!("resume"),
        "PreCompact" => event["trigger"] = json!("auto"),
        "UserPromptSubmit" => event["prompt"] = json!(format!("Make request {turn} end in time")),
        "Stop" => event["last_assistant_message"] = json!(format!("Request {turn} ends in time.")),
        _ => {
            event["tool_name"] = json!("Edit");
            event["tool_input"] =
                json!({ "file_path": file, "old_string": "5", "new_string": "30" });
            event["tool_response"] = json!({ "success": true });
        }
    }
    event
}
