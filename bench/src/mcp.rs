//! Recall through the tools of the Model Context Protocol: a real server process on a large published store, asked at its
//! endpoint, and through `sillok mcp` as the host of an agent asks.
//!
//! The store is that of the item about recall, and so are the questions. One client asks, one question after the other.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::corpus;
use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::http::client::{Connection, Request};
use crate::http::server::{ServerProcess, binary};
use crate::recall;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;

/// The floor of both ways, in ms.
const P99_MS_MAX: f64 = 50.0;
/// Questions before any counts.
const WARM: u32 = 50;
const RESULTS: usize = 10;
/// How long a server may take until it answers from all that is there.
const READY_MAX: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);
/// A revision that needs no more than a handshake, and none over HTTP.
const REVISION: &str = "2025-06-18";

/// Measures recalls over both transports.
///
/// # Errors
/// What the server answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    prepare(folder.path(), scale.entries)?;
    let server = ServerProcess::start(folder.path())?;
    let runtime = runtime()?;
    let over_http = runtime.block_on(over_http(&server, scale.recalls))?;
    let over_streams = over_streams(&server, scale.recalls)?;
    let ms = |us: u64| us as f64 / 1_000.0;
    for (transport, latency) in [("/mcp", over_http), ("sillok mcp", over_streams)] {
        let p50 = ms(latency.value_at_quantile(0.5));
        let what = format!("recall over {transport}: p50");
        report.add(Row::new(what, p50, "ms").with_latency(&latency));
        let p99 = ms(latency.value_at_quantile(0.99));
        let row = Row::new(format!("recall over {transport}: p99"), p99, "ms");
        let row = row.with_latency(&latency);
        report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
    }
    Ok(())
}

/// Makes a data directory of a server, with that many entries that a question sees, all of them indexed.
fn prepare(folder: &Path, entries: u32) -> Result<(), Error> {
    drop(ServerProcess::start(folder)?);
    let data = folder.join("data");
    let index = Arc::new(recall::open_index(&only_folder(&data.join("vectors"))?)?);
    let runtime = runtime()?;
    let node = runtime.block_on(recall::start(&data.join("store"), &index, entries))?;
    runtime.block_on(node.shutdown());
    Ok(())
}

/// The index of the one space that there is.
fn only_folder(path: &Path) -> Result<PathBuf, Error> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Error::Wrong(format!("{} indices", found.len()))),
    }
}

/// The question with this number, as a call of the tool.
fn call(number: u32, text: &str) -> String {
    let tables: &[&str] = match number % 3 {
        0 => &[],
        1 => &["observations"],
        _ => &["patterns", "gotchas"],
    };
    let arguments = json!({
        "scope": "org/bench/project/corpus/worktree/main/task/1", "query": text, "limit": RESULTS, "confidence_min": 0.5,
        "tables": tables, "budget_tokens": 8_000,
    });
    let params = json!({ "name": "recall", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }).to_string()
}

/// An answer that is not full, or not from where it may be, measures nothing.
fn check(answer: &Value) -> Result<(), Error> {
    let output = &answer["result"]["structuredContent"];
    let memories = output["memories"].as_array();
    let seen = ["org/bench", "org/bench/project/corpus"];
    let is_seen = |memory: &Value| {
        memory["scope"]
            .as_str()
            .is_some_and(|scope| seen.contains(&scope))
    };
    let good = memories
        .is_some_and(|memories| memories.len() == RESULTS && memories.iter().all(is_seen))
        && output["by_words_alone"].is_null();
    if good {
        return Ok(());
    }
    Err(Error::Wrong(format!("a recall answered {answer}")))
}

async fn over_http(server: &ServerProcess, recalls: u32) -> Result<Histogram<u64>, Error> {
    let mut connection = Connection::open(server.address()).await?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut latency = histogram();
    let began = Instant::now();
    let mut number = 0;
    while number < WARM + recalls {
        let body = call(number, &corpus::question(&mut rng));
        let request = Request::message("/mcp", server.address(), server.token(), &body);
        let sent = Instant::now();
        let answer = connection.send(&request).await?.json()?;
        let took = elapsed_us(sent);
        match check(&answer) {
            // A server that has just started may have to look at its index first.
            Err(_) if number == 0 && began.elapsed() < READY_MAX => {
                tokio::time::sleep(POLL).await;
                continue;
            }
            checked => checked?,
        }
        if number >= WARM {
            latency.saturating_record(took);
        }
        number += 1;
    }
    Ok(latency)
}

fn over_streams(server: &ServerProcess, recalls: u32) -> Result<Histogram<u64>, Error> {
    let mut host = Host::start(server)?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut latency = histogram();
    for number in 0..WARM + recalls {
        let line = call(number, &corpus::question(&mut rng));
        let sent = Instant::now();
        let answer = host.exchange(&line)?;
        if number >= WARM {
            latency.saturating_record(elapsed_us(sent));
        }
        check(&answer)?;
    }
    Ok(latency)
}

/// The host of an agent, with the process that it started. That is killed when this is dropped.
struct Host {
    process: Child,
    write: ChildStdin,
    read: BufReader<ChildStdout>,
}

impl Host {
    fn start(server: &ServerProcess) -> Result<Self, Error> {
        let program = binary()?;
        let mut process = Command::new(&program)
            .args(["mcp", "--url", &format!("http://{}", server.address())])
            .env("SILLOK_TOKEN", server.token())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::Process {
                program: program.clone(),
                why: error.to_string(),
            })?;
        let (write, read) = (process.stdin.take(), process.stdout.take());
        let mut host = Self {
            process,
            write: write.expect("standard input is piped"),
            read: BufReader::new(read.expect("standard output is piped")),
        };
        let begin = json!({ "jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": {
            "protocolVersion": REVISION, "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } } });
        let begun = host.exchange(&begin.to_string())?;
        if begun["result"]["protocolVersion"] != REVISION {
            return Err(Error::Wrong(format!("it began with {begun}")));
        }
        host.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(host)
    }

    fn say(&mut self, line: &str) -> Result<(), Error> {
        self.write.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.write.flush()?)
    }

    fn exchange(&mut self, line: &str) -> Result<Value, Error> {
        self.say(line)?;
        let mut answer = String::new();
        self.read.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_full_or_from_elsewhere_measures_nothing() {
        let answer = |count: usize, scope: &str| {
            let memories = vec![json!({ "scope": scope }); count];
            json!({ "result": { "structuredContent": { "memories": memories } } })
        };
        assert!(check(&answer(RESULTS, "org/bench/project/corpus")).is_ok());
        assert!(check(&answer(RESULTS - 1, "org/bench/project/corpus")).is_err());
        assert!(check(&answer(RESULTS, "org/bench/project/other")).is_err());
        assert!(check(&json!({ "result": { "isError": true } })).is_err());
        let mut by_words = answer(RESULTS, "org/bench");
        by_words["result"]["structuredContent"]["by_words_alone"] = json!(true);
        assert!(check(&by_words).is_err());
    }
}
