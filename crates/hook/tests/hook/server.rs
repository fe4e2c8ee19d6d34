//! A server for these tests: a thread a connection, each command taken once under its principal and id.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

/// What each token begins with that it makes: all of them are one principal's.
const MINTED: &str = "slk_minted";

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it should.
    Well,
    /// It takes commands, and answers none.
    Deaf,
    /// It takes connections, and says nothing.
    Silent,
    /// It never ends its answer.
    Endless,
    /// It speaks no HTTP.
    Garbage,
    /// It closes each connection.
    Closing,
    /// It has no room for anybody.
    Refusing,
}

#[derive(Default)]
struct Memory {
    manner: Option<Manner>,
    requests: usize,
    answered: BTreeMap<(String, String), String>,
    openings: Vec<(String, Value)>,
    minted: usize,
    revoked: BTreeSet<String>,
    open: BTreeSet<String>,
    records: Vec<(String, Value)>,
    anchors: Vec<Value>,
}

pub(crate) struct Server {
    url: String,
    memory: Arc<Mutex<Memory>>,
}

struct Request {
    method: String,
    path: String,
    principal: String,
    command: Option<String>,
    body: Value,
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let memory = Arc::new(Mutex::new(Memory {
            manner: Some(manner),
            ..Memory::default()
        }));
        let shared = Arc::clone(&memory);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { url, memory }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) fn be(&mut self, manner: Manner) {
        self.memory().manner = Some(manner);
    }

    pub(crate) fn requests(&self) -> usize {
        self.memory().requests
    }

    /// The texts of a task's records, in the order in which they were taken.
    pub(crate) fn contents(&self, task: &str) -> Vec<String> {
        let memory = self.memory();
        let own = memory.records.iter().filter(|(other, _)| other == task);
        own.map(|(_, record)| record["content"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn openings(&self, task: &str) -> usize {
        self.memory()
            .openings
            .iter()
            .filter(|(other, _)| other == task)
            .count()
    }

    /// What a task was opened with.
    pub(crate) fn opening(&self, task: &str) -> Value {
        let memory = self.memory();
        let found = memory.openings.iter().find(|(other, _)| other == task);
        found.unwrap().1.clone()
    }

    /// Knows none of the tokens any more that it made so far.
    pub(crate) fn revoke(&self) {
        let mut memory = self.memory();
        let made = (1..=memory.minted).map(|number| format!("Bearer {MINTED}{number}"));
        let made: BTreeSet<String> = made.collect();
        memory.revoked.extend(made);
    }

    /// How many tokens it made.
    pub(crate) fn minted(&self) -> usize {
        self.memory().minted
    }

    /// How many tasks were opened by conversations of a client.
    pub(crate) fn openings_of(&self, client: &str) -> usize {
        let memory = self.memory();
        let own = memory.openings.iter();
        own.filter(|(task, _)| task.contains(&format!("/task/{client}-")))
            .count()
    }

    pub(crate) fn anchors(&self) -> Vec<Value> {
        self.memory().anchors.clone()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap()
    }
}

fn serve(mut stream: TcpStream, memory: &Mutex<Memory>) {
    let mut come = Vec::new();
    let patience = Duration::from_secs(5);
    loop {
        let manner = memory.lock().unwrap().manner.unwrap();
        match manner {
            Manner::Closing => return,
            Manner::Silent => return std::thread::sleep(patience),
            Manner::Garbage => {
                let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
                return std::thread::sleep(Duration::from_millis(50));
            }
            Manner::Endless => {
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                let mut alive = stream.write_all(head).is_ok();
                while alive {
                    alive = stream.write_all(b"1\r\n \r\n").is_ok();
                }
                return;
            }
            Manner::Well | Manner::Deaf | Manner::Refusing => {}
        }
        let Some(request) = next(&mut stream, &mut come) else {
            return;
        };
        let (status, body) = answer(&request, manner, &mut memory.lock().unwrap());
        if manner == Manner::Deaf {
            return std::thread::sleep(patience);
        }
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream
            .write_all(&[head.as_bytes(), body.as_bytes()].concat())
            .is_err()
        {
            return;
        }
    }
}

fn next(stream: &mut TcpStream, come: &mut Vec<u8>) -> Option<Request> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(at)) = head.parse(come) {
            let value = |name: &str| {
                let found = head
                    .headers
                    .iter()
                    .find(|header| header.name.eq_ignore_ascii_case(name))?;
                String::from_utf8(found.value.to_vec()).ok()
            };
            let length = value("content-length").map_or(0, |length| length.parse().unwrap());
            if come.len() >= at + length {
                let request = Request {
                    method: head.method.unwrap().to_owned(),
                    path: head.path.unwrap().to_owned(),
                    principal: value("authorization").unwrap_or_default(),
                    command: value("idempotency-key"),
                    body: serde_json::from_slice(&come[at..at + length]).unwrap_or_default(),
                };
                come.drain(..at + length);
                return Some(request);
            }
        }
        let mut part = [0; 4_096];
        let bytes = stream.read(&mut part).ok().filter(|bytes| *bytes > 0)?;
        come.extend(&part[..bytes]);
    }
}

fn answer(request: &Request, manner: Manner, memory: &mut Memory) -> (u16, String) {
    memory.requests += 1;
    if manner == Manner::Refusing {
        return problem(429, "busy");
    }
    if memory.revoked.contains(&request.principal) {
        return problem(401, "unauthenticated");
    }
    let path = request.path.split('?').next().unwrap();
    let read = match (request.method.as_str(), path) {
        ("POST", "/v1/brief") => Some(brief(is_open(request, memory))),
        ("POST", "/v1/tokens") => {
            memory.minted += 1;
            Some(json!({ "token": format!("{MINTED}{}", memory.minted) }))
        }
        ("POST", "/v1/recall") => Some(found(request.body["failures_only"] == true)),
        ("POST", "/v1/fixes/check") if !is_open(request, memory) => {
            return problem(404, "not_found");
        }
        ("POST", "/v1/fixes/check") => {
            Some(json!({ "verdict": "reject", "order": "Stop!", "tried": [] }))
        }
        ("GET", "/v1/status") => Some(json!({})),
        ("GET", "/v1/records") => Some(listed(request, memory)),
        _ => None,
    };
    match read {
        Some(document) => (200, document.to_string()),
        None => command(request, path, memory),
    }
}

fn is_open(request: &Request, memory: &Memory) -> bool {
    let task = request.body["scope"].as_str();
    task.is_some_and(|task| memory.open.contains(task))
}

/// A task that was opened is warned of what failed in others.
fn brief(is_open: bool) -> Value {
    let mut brief = json!({
        "items": [{ "item": "decision", "scope": "org/acme", "root": "0190", "data_marked_text": "<recalled-data brief>" }],
        "cut": [{ "layer": "normal", "items": 2, "more": false }],
    });
    if is_open {
        brief["warnings"] =
            json!([{ "approach": { "text": "Raise it." }, "failed": 2, "reasons": ["It hangs."] }]);
    }
    brief
}

fn found(failures: bool) -> Value {
    let name = if failures { "failed" } else { "known" };
    let text = format!("<recalled-data {name}>");
    json!({ "results": [{ "entry": name, "status": "published", "data_marked_text": text }], "left_out": 0 })
}

fn listed(request: &Request, memory: &Memory) -> Value {
    let task = request.path.split(['=', '&']).nth(1).unwrap();
    let own = memory.records.iter().filter(|(other, _)| other == task);
    let items = own
        .map(|(task, record)| json!({ "id": format!("{task}#1"), "content": record["content"] }));
    json!({ "items": items.collect::<Vec<_>>() })
}

fn command(request: &Request, path: &str, memory: &mut Memory) -> (u16, String) {
    let Some(id) = &request.command else {
        return problem(400, "invalid_request");
    };
    let is_minted = request.principal.contains(MINTED);
    let principal = if is_minted {
        "agent"
    } else {
        &request.principal
    };
    let key = (principal.to_owned(), id.clone());
    let body = request.body.to_string();
    if let Some(before) = memory.answered.get(&key) {
        return if *before == body {
            (200, "{}".to_owned())
        } else {
            problem(422, "command_reused")
        };
    }
    let task = request.body["scope"].as_str().unwrap().to_owned();
    match path {
        "/v1/tasks" if !memory.open.insert(task.clone()) => return problem(409, "conflict"),
        "/v1/tasks" => memory.openings.push((task, request.body.clone())),
        _ if !memory.open.contains(&task) => return problem(404, "not_found"),
        "/v1/logs" => {
            let records = request.body["records"].as_array().unwrap().clone();
            memory
                .records
                .extend(records.into_iter().map(|record| (task.clone(), record)));
        }
        "/v1/anchors" => memory
            .anchors
            .push(request.body["anchors"][0]["to"].clone()),
        _ => return problem(404, "not_found"),
    }
    memory.answered.insert(key, body);
    (201, "{}".to_owned())
}

fn problem(status: u16, code: &str) -> (u16, String) {
    (
        status,
        json!({ "code": code, "detail": "of a test", "status": status }).to_string(),
    )
}
