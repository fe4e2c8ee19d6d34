//! A client of the protocol, over HTTP or over the standard streams of `sillok mcp`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::binary::command;
use crate::harness::{Client, Reply, World};

/// The current revision, which has no sessions and no handshake.
pub(crate) const CURRENT: &str = "2026-07-28";
/// One of those that have a handshake.
const OLDER: &str = "2025-06-18";

/// The name under which a result carries a refusal for programs.
const PROBLEM: &str = "sillok.dev/problem";

pub(crate) enum Mcp {
    Http {
        client: Client,
        path: String,
    },
    Stdio {
        child: Child,
        write: ChildStdin,
        read: BufReader<ChildStdout>,
        last: u64,
    },
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Called {
    tool: String,
    result: Value,
}

impl Mcp {
    /// Over HTTP, with all tools.
    pub(crate) fn http(client: &Client) -> Self {
        Self::Http {
            client: client.clone(),
            path: "/mcp/all".to_owned(),
        }
    }

    /// Over the streams of a process, with all tools, as a client of an older revision.
    pub(crate) fn stdio(world: &World, client: &Client) -> Self {
        let server = ["--url", world.server().base()];
        Self::process(world.folder(), &server, client.token())
    }

    /// The same, for whichever server these words lead to. The process stands in no work tree, unless they name one.
    pub(crate) fn process(home: &Path, words: &[&str], token: &str) -> Self {
        let mut command = command(home);
        command.env("SILLOK_TOKEN", token);
        Self::of(command, home, words)
    }

    /// A process that was given no token: it finds one in the data directory that these words name.
    pub(crate) fn without_token(home: &Path, words: &[&str]) -> Self {
        Self::of(command(home), home, words)
    }

    fn of(mut command: Command, home: &Path, words: &[&str]) -> Self {
        let child = command
            .current_dir(home)
            .args(["mcp", "--tools", "all"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("the binary is there");
        let write = child.stdin.take().expect("it is piped");
        let read = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut this = Self::Stdio {
            child,
            write,
            read,
            last: 0,
        };
        let begun = this.exchange(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": OLDER, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }));
        assert_eq!(begun["result"]["protocolVersion"], OLDER, "{begun}");
        this.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        this
    }

    /// The answer to a request: its result, or its error.
    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        match self {
            Self::Http { client, path } => {
                let reply = post(client, path, method, params, &[]).await;
                assert_eq!(reply.media, "application/json", "{}", reply.text);
                reply.body
            }
            Self::Stdio { last, .. } => {
                *last += 1;
                let id = *last;
                let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.take() });
                let answer = self.exchange(&message);
                assert_eq!(answer["id"], id, "{answer}");
                answer
            }
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Called {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params).await;
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        Called {
            tool: tool.to_owned(),
            result: answer["result"].clone(),
        }
    }

    fn exchange(&mut self, message: &Value) -> Value {
        self.write(message);
        let Self::Stdio { read, .. } = self else {
            panic!("only a process has streams")
        };
        let mut line = String::new();
        read.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn write(&mut self, message: &Value) {
        let Self::Stdio { write, .. } = self else {
            panic!("only a process has streams")
        };
        writeln!(write, "{message}").expect("it reads");
        write.flush().expect("it reads");
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        if let Self::Stdio { child, .. } = self {
            // A test that failed leaves no process behind.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Sends a request of the current revision over HTTP, with further headers.
pub(crate) async fn post(
    client: &Client,
    path: &str,
    method: &str,
    mut params: Value,
    more: &[(&str, &str)],
) -> Reply {
    let name = params["name"].as_str().or_else(|| params["uri"].as_str());
    let name = name.map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", CURRENT),
        ("mcp-method", method),
    ];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    headers.extend(more);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    client
        .raw(path, &headers, body.to_string().into_bytes())
        .await
}

impl Called {
    /// What the tool answered, which must have been carried out.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        let Self { tool, result } = self;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let text = result["content"][0]["text"]
            .as_str()
            .expect("it has a text");
        let read: Value = serde_json::from_str(text).expect("the text is the structure");
        assert_eq!(read, result["structuredContent"], "{tool}");
        read
    }

    pub(crate) fn is_error(&self) -> bool {
        self.result["isError"] == true
    }

    /// The problem of a refusal with this code.
    #[track_caller]
    pub(crate) fn refused(self, code: &str) -> Value {
        let Self { tool, result } = self;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let problem = &result["_meta"][PROBLEM];
        assert_eq!(problem["code"], code, "{tool}: {result}");
        let text = result["content"][0]["text"]
            .as_str()
            .expect("it has a text");
        assert!(text.starts_with(&format!("{code}: ")), "{tool}: {text}");
        problem.clone()
    }

    pub(crate) fn text(&self) -> String {
        self.result.to_string()
    }
}
