//! A tail, read off its connection: server-sent events, one to a chunk.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::Error;

/// The most bytes of one event.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// An open tail.
pub(super) struct Tail {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its kind.
    pub(super) kind: String,
    data: String,
}

impl Tail {
    /// Opens a tail of a scope, from its first event on.
    ///
    /// # Errors
    /// What the system or the server answered.
    pub(super) async fn open(address: &str, token: &str, scope: &str) -> Result<Self, Error> {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!(
            "GET /v1/tail?scope={scope} HTTP/1.1\r\nHost: {address}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut tail = Self {
            stream,
            buffer: Vec::new(),
        };
        let head = tail.until(b"\r\n\r\n").await?;
        if head.starts_with("HTTP/1.1 200") {
            return Ok(tail);
        }
        Err(Error::Wrong(format!("no tail is opened: {head}")))
    }

    /// The next event.
    ///
    /// # Errors
    /// If the tail ends.
    pub(super) async fn next(&mut self) -> Result<Event, Error> {
        loop {
            let lines = self.until(b"\n\n").await?;
            if let Some(event) = Event::parse(&lines) {
                return Ok(event);
            }
        }
    }

    async fn until(&mut self, end: &[u8]) -> Result<String, Error> {
        loop {
            let found = self.buffer.windows(end.len()).position(|at| at == end);
            if let Some(at) = found {
                let text = String::from_utf8_lossy(&self.buffer[..at]).into_owned();
                self.buffer.drain(..at + end.len());
                return Ok(text);
            }
            let is_open = self.buffer.len() < EVENT_BYTES_MAX
                && self.stream.read_buf(&mut self.buffer).await? > 0;
            if !is_open {
                return Err(Error::Wrong("a tail has ended".to_owned()));
            }
        }
    }
}

impl Event {
    /// The event in these lines, among which those are that begin a chunk; none in a comment.
    fn parse(lines: &str) -> Option<Self> {
        let field = |name| lines.lines().find_map(|line| line.strip_prefix(name));
        Some(Self {
            kind: field("event: ")?.to_owned(),
            data: field("data: ")?.to_owned(),
        })
    }

    /// The number that it has in its scope.
    ///
    /// # Errors
    /// If it has none.
    pub(super) fn seq(&self) -> Result<u64, Error> {
        let item: Value = serde_json::from_str(&self.data)?;
        let seq = item["event"]["seq"].as_u64();
        seq.ok_or_else(|| Error::Wrong(format!("an event without a number: {}", self.data)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_found_behind_the_head_of_its_chunk_and_a_comment_is_none() {
        let lines = "\r\n4e\r\nid: 7\nevent: RECORD_APPENDED\ndata: {\"event\":{\"seq\":3}}";
        let event = Event::parse(lines).unwrap();
        assert_eq!(
            (event.kind.as_str(), event.seq().unwrap()),
            ("RECORD_APPENDED", 3)
        );
        assert_eq!(Event::parse("\r\n10\r\n: nothing new"), None);
    }
}
