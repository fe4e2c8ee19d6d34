//! Live tails: server-sent events, taken up again where the connection was lost.
//!
//! Owns the reading of the event stream. It must not know what the events tell.

use futures::StreamExt;
use reqwest::Method;
use sillok_core::scope::Scope;
use sillok_server::api::{TailItem, TailQuery};

use super::{Client, can_help, random_share, unreachable};
use crate::failure::Failure;

/// Bytes of one event. An event holds at most a record, escaped as JSON, with its surroundings.
const EVENT_BYTES_MAX: usize = 64 << 20;

impl Client {
    /// Calls `each` for every event inside `scope`, for ever. A lost connection is taken up again
    /// behind the last event; how often in a row that may fail is bounded as for any call.
    ///
    /// # Errors
    /// [`Failure`] of the server, or of `each`.
    pub async fn tail(
        &self,
        scope: &Scope,
        cursor: Option<String>,
        mut each: impl FnMut(TailItem) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut cursor = cursor;
        let mut attempt = 1;
        loop {
            let mut seen = false;
            let ended = self
                .tail_once(scope, cursor.clone(), |item| {
                    seen = true;
                    cursor = Some(item.cursor.clone());
                    each(item)
                })
                .await;
            if let Err(failure) = &ended {
                attempt = if seen { 1 } else { attempt + 1 };
                if attempt > self.retry.attempts_max || !can_help(failure) {
                    return ended;
                }
            }
            tokio::time::sleep(self.retry.delay(attempt, None, random_share())).await;
        }
    }

    async fn tail_once(
        &self,
        scope: &Scope,
        cursor: Option<String>,
        mut each: impl FnMut(TailItem) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let query = TailQuery {
            scope: scope.to_string(),
            cursor,
        };
        let request = self.request(Method::GET, "/v1/tail").query(&query);
        let response = request
            .send()
            .await
            .map_err(|source| unreachable(&self.base, source))?;
        let status = response.status();
        if !status.is_success() {
            let bytes = response
                .bytes()
                .await
                .map_err(|source| unreachable(&self.base, source))?;
            return Err(self.refusal(status, &bytes));
        }
        let mut events = Events::default();
        let mut body = response.bytes_stream();
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|source| unreachable(&self.base, source))?;
            for data in events
                .push(&bytes)
                .map_err(|why| self.foreign(why.to_owned()))?
            {
                each(self.parse(data.as_bytes())?)?;
            }
        }
        Ok(())
    }
}

/// Puts an event stream together from the pieces in which it arrives.
#[derive(Debug, Default)]
struct Events {
    line: Vec<u8>,
    data: String,
}

impl Events {
    /// Takes one piece and returns the data of the events that it completes.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, &'static str> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.data.len() > EVENT_BYTES_MAX {
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

    fn take_line(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then_some(data);
        }
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
        }
        // Comments, ids and event names: the cursor stands in the data too.
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let stream = ": heartbeat\n\nid: t1\ndata: {\"a\":\ndata: \"é\"}\r\n\nevent: x\ndata:b\n\ndata: rest";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let pieces = stream.as_bytes().chunks(size);
            let found: Vec<String> = pieces
                .flat_map(|piece| events.push(piece).unwrap())
                .collect();
            assert_eq!(found, ["{\"a\":\n\"é\"}", "b"], "pieces of {size}");
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
