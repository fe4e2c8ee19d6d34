//! A provider on a free port of this machine: it notes what it is asked, and answers as it is told to.
//!
//! Owns the four forms of an answer and the ways to misbehave. It must not know what is asked of it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// All of its headers, as they stood there.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut rows = self.head.lines().filter_map(|row| row.split_once(": "));
        let found = rows.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// How a provider answers every request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// With this status and JSON.
    Json(u16, Value),
    /// With status 200 and the JSON that this makes of the body of the request.
    Made(fn(&Value) -> Value),
    /// With status 200 and these bytes, as this type of content.
    Bytes(&'static str, Vec<u8>),
    /// With these bytes in place of the head and all that follows.
    Raw(Vec<u8>),
    /// With a body that does not end.
    Endless,
    /// Not at all.
    Silence,
}

/// A provider that listens until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn answering(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/base/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (answer, noted) = (answer.clone(), Arc::clone(&noted));
                tokio::spawn(serve(stream, answer, noted));
            }
        });
        Self {
            url,
            requests,
            task,
        }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, noted: Arc<Mutex<Vec<Request>>>) {
    const JSON: &str = "application/json";
    let request = read(&mut stream).await;
    let asked = request.body.clone();
    noted.lock().push(request);
    let (status, kind, body) = match answer {
        Answer::Json(status, body) => (status, JSON, body.to_string().into_bytes()),
        Answer::Made(make) => (200, JSON, make(&asked).to_string().into_bytes()),
        Answer::Bytes(kind, body) => (200, kind, body),
        Answer::Raw(bytes) => {
            drop(stream.write_all(&bytes).await);
            return;
        }
        Answer::Endless => return endless(stream).await,
        Answer::Silence => return std::future::pending().await,
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // Whoever has heard enough hangs up.
    if stream.write_all(head.as_bytes()).await.is_ok() {
        drop(stream.write_all(&body).await);
    }
}

async fn endless(mut stream: TcpStream) {
    let head =
        "HTTP/1.1 200 Said\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    let mut next = head;
    while stream.write_all(next.as_bytes()).await.is_ok() {
        next = &chunk;
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let (head, body_at) = loop {
        let mut chunk = [0; 4_096];
        let count = stream.read(&mut chunk).await.unwrap();
        assert!(count > 0, "a request has an end to its head");
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break (String::from_utf8(bytes[..end].to_vec()).unwrap(), end + 4);
        }
    };
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let mut request = Request {
        path,
        head,
        body: Value::Null,
    };
    let length: usize = request.header("content-length").unwrap().parse().unwrap();
    let mut body = bytes.split_off(body_at);
    let have = body.len();
    body.resize(length, 0);
    stream.read_exact(&mut body[have..]).await.unwrap();
    request.body = serde_json::from_slice(&body).unwrap();
    request
}

/// Whose form an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenAi,
    Gemini,
    Anthropic,
    Ollama,
}

impl Wire {
    pub(crate) const ALL: [Self; 4] = [Self::OpenAi, Self::Gemini, Self::Anthropic, Self::Ollama];

    /// A whole answer that says `text` and counts these tokens.
    pub(crate) fn says(self, text: &str, prompt: u64, completion: u64) -> Answer {
        Answer::Json(200, self.body(text, prompt, completion))
    }

    pub(crate) fn body(self, text: &str, prompt: u64, completion: u64) -> Value {
        match self {
            Self::OpenAi => json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "test-model",
                "choices": [{ "index": 0, "finish_reason": "stop",
                    "message": { "role": "assistant", "content": text } }],
                "usage": { "prompt_tokens": prompt, "completion_tokens": completion,
                    "total_tokens": prompt + completion },
            }),
            Self::Gemini => json!({
                "candidates": [{ "index": 0, "finishReason": "STOP",
                    "content": { "role": "model", "parts": [{ "text": text }] } }],
                "usageMetadata": { "promptTokenCount": prompt, "candidatesTokenCount": completion,
                    "totalTokenCount": prompt + completion },
                "modelVersion": "test-model",
            }),
            Self::Anthropic => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model",
                "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
                "usage": { "input_tokens": prompt, "output_tokens": completion },
            }),
            Self::Ollama => json!({
                "model": "test-model", "created_at": "2026-01-01T00:00:00Z", "done": true,
                "done_reason": "stop", "message": { "role": "assistant", "content": text },
                "prompt_eval_count": prompt, "eval_count": completion,
            }),
        }
    }
}
