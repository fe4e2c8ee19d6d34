//! Live tails: server-sent events, taken up again where the connection was lost.
//!
//! Owns the reading of the event stream. It must not know what the events tell.

use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use sillok_server::api::{TailItem, TailQuery};

use super::{Client, can_help, random_share, unreachable};
use crate::failure::Failure;

/// Bytes of one event. An event holds at most a record, escaped as JSON, with its surroundings.
const EVENT_BYTES_MAX: usize = 64 << 20;

/// The name of the event that carries a refusal: the server's last word.
const REFUSAL: &str = "error";

/// How far a tail has come.
struct Progress {
    /// What is asked for. Behind its cursor the tail goes on.
    query: TailQuery,
    /// Connections in a row that came to nothing.
    failures: u32,
}

impl Client {
    /// Calls `each` for every event that `query` asks for, for ever. A lost connection is taken up again
    /// behind the last event, and so is a stream that the server ends with a refusal that passes;
    /// how often in a row that may fail is bounded as for any call.
    ///
    /// # Errors
    /// [`Failure`] of the server, or of `each`.
    pub async fn tail(
        &self,
        query: TailQuery,
        mut each: impl FnMut(TailItem) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut progress = Progress { query, failures: 0 };
        loop {
            let ended = self.tail_once(&mut progress, &mut each).await;
            let mut asked_ms = None;
            if let Err(failure) = ended {
                progress.failures += 1;
                if progress.failures >= self.retry.attempts_max || !can_help(&failure) {
                    return Err(failure);
                }
                if let Failure::Refused(problem) = &failure {
                    asked_ms = problem.retry_after_ms;
                }
            }
            let attempt = progress.failures.max(1);
            tokio::time::sleep(self.retry.delay(attempt, asked_ms, random_share())).await;
        }
    }

    /// Calls `each` for every piece of a backup. What came before a failure is no backup.
    ///
    /// # Errors
    /// [`Failure`] of the server, or of `each`.
    pub async fn backup(
        &self,
        mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let request = self.request(Method::GET, "/v1/backup");
        let response = self.opened(request).await?;
        let mut body = response.bytes_stream();
        while let Some(bytes) = body.next().await {
            each(&bytes.map_err(|source| unreachable(&self.base, source))?)?;
        }
        Ok(())
    }

    /// The answer to a request, its body still to be read, unless it is a refusal.
    async fn opened(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let lost = |source| unreachable(&self.base, source);
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(self.refusal(status, &self.whole(response).await?))
    }

    async fn tail_once(
        &self,
        progress: &mut Progress,
        each: &mut impl FnMut(TailItem) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let request = self.request(Method::GET, "/v1/tail").query(&progress.query);
        let response = self.opened(request).await?;
        let status = response.status();
        // The connection is good, unless all that comes over it is a refusal.
        let before = std::mem::take(&mut progress.failures);
        let mut is_first = true;
        let mut events = Events::default();
        let mut body = response.bytes_stream();
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|source| unreachable(&self.base, source))?;
            let complete = events.push(&bytes);
            for event in complete.map_err(|why| self.foreign(why.to_owned()))? {
                if event.name == REFUSAL {
                    progress.failures = if is_first { before } else { 0 };
                    return Err(self.refusal(status, event.data.as_bytes()));
                }
                is_first = false;
                if event.data.is_empty() {
                    // Nothing that is asked for lies before it.
                    progress.query.cursor = Some(event.id);
                    continue;
                }
                let item: TailItem = self.parse(event.data.as_bytes())?;
                progress.query.cursor = Some(item.cursor.clone());
                each(item)?;
            }
        }
        Ok(())
    }
}

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    /// What sort of event; empty when the stream does not say.
    name: String,
    /// Where the stream goes on behind it; empty when it does not say.
    id: String,
    /// What it tells; nothing when it only has an id.
    data: String,
}

/// Puts an event stream together from the pieces in which it arrives.
#[derive(Debug, Default)]
struct Events {
    line: Vec<u8>,
    event: Event,
}

impl Events {
    /// Takes one piece and returns the events that it completes.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, &'static str> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.event.data.len() > EVENT_BYTES_MAX {
                return Err("an event is larger than any event can be");
            }
            if self.line.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.line);
                let line = std::str::from_utf8(&line).map_err(|_| "an event is not UTF-8")?;
                complete.extend(self.take_line(line.trim_end_matches(['\n', '\r'])));
            }
        }
        Ok(complete)
    }

    fn take_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (!event.data.is_empty() || !event.id.is_empty()).then_some(event);
        }
        let value = |field: &str| {
            let rest = line.strip_prefix(field)?.strip_prefix(':')?;
            Some(rest.strip_prefix(' ').unwrap_or(rest))
        };
        if let Some(name) = value("event") {
            name.clone_into(&mut self.event.name);
        } else if let Some(id) = value("id") {
            id.clone_into(&mut self.event.id);
        } else if let Some(data) = value("data") {
            if !self.event.data.is_empty() {
                self.event.data.push('\n');
            }
            self.event.data.push_str(data);
        }
        // Comments.
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let stream = ": heartbeat\n\nid: t1\ndata: {\"a\":\ndata: \"é\"}\r\n\n: heartbeat\nid: t2\n\nevent: x\ndata:b\n\ndata: rest";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let pieces = stream.as_bytes().chunks(size);
            let found: Vec<Event> = pieces
                .flat_map(|piece| events.push(piece).unwrap())
                .collect();
            let event = |name: &str, id: &str, data: &str| Event {
                name: name.to_owned(),
                id: id.to_owned(),
                data: data.to_owned(),
            };
            let wanted = [
                event("", "t1", "{\"a\":\n\"é\"}"),
                event("", "t2", ""),
                event("x", "", "b"),
            ];
            assert_eq!(found, wanted, "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX];
        assert!(events.push(&piece).is_ok());
        assert!(events.push(b"x").is_err());
    }
}
