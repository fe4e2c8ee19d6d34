//! A client that does as little as a client can: prebuilt requests over a kept connection.
//!
//! It knows answers with a `Content-Length`, and no others.

use std::ops::Range;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::Error;
use crate::workload::command_id;

/// The most bytes of one answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Characters of a command id as text.
const ID_CHARS: usize = 36;

/// A request, ready to be sent again and again.
pub(crate) struct Request {
    bytes: Vec<u8>,
    /// Where the id of a command stands.
    id_at: Option<usize>,
}

impl Request {
    /// A call of a read route.
    pub(crate) fn get(path: &str, host: &str, token: &str) -> Self {
        let bytes =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        Self {
            bytes: bytes.into_bytes(),
            id_at: None,
        }
    }

    /// A call of a write route. It is no command yet.
    pub(crate) fn post(path: &str, host: &str, token: &str, body: &str) -> Self {
        let mut bytes = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nIdempotency-Key: ",
            body.len()
        )
        .into_bytes();
        let id_at = bytes.len();
        bytes.resize(id_at + ID_CHARS, b'0');
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(body.as_bytes());
        Self {
            bytes,
            id_at: Some(id_at),
        }
    }

    /// A message of the Model Context Protocol.
    pub(crate) fn message(path: &str, host: &str, token: &str, body: &str) -> Self {
        let bytes = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self {
            bytes: bytes.into_bytes(),
            id_at: None,
        }
    }

    /// Makes a write another command than it was.
    pub(crate) fn renew(&mut self) {
        let Some(id_at) = self.id_at else { return };
        let id = command_id().to_string();
        assert_eq!(id.len(), ID_CHARS, "an id is a UUID with hyphens");
        self.bytes[id_at..id_at + ID_CHARS].copy_from_slice(id.as_bytes());
    }
}

/// A kept connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// What the system answered.
    pub(crate) async fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4_096),
        })
    }

    /// Sends the request as a new command and waits for its answer.
    ///
    /// # Errors
    /// [`Error::Wrong`] for any answer but a success.
    pub(crate) async fn call(&mut self, request: &mut Request) -> Result<(), Error> {
        request.renew();
        self.send(request).await?.check()
    }

    /// Sends the request as it is and waits for its answer.
    ///
    /// # Errors
    /// If none came. What was asked may have been done, and the connection is of no more use.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<Answer<'_>, Error> {
        self.stream.write_all(&request.bytes).await?;
        self.buffer.clear();
        let (status, body) = loop {
            if let Some(whole) = parse(&self.buffer)? {
                break whole;
            }
            if self.buffer.len() > ANSWER_BYTES_MAX {
                return Err(Error::Wrong("an answer has no end".to_owned()));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::Wrong(
                    "the server closed a connection in an answer".to_owned(),
                ));
            }
        };
        Ok(Answer {
            status,
            body: &self.buffer[body],
        })
    }
}

/// An answer that is here as a whole.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    body: &'a [u8],
}

/// Status and body of the answer at the beginning of `bytes`; none while some of it is missing.
fn parse(bytes: &[u8]) -> Result<Option<(u16, Range<usize>)>, Error> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let wrong = || Error::Wrong("not an HTTP answer".to_owned());
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong())?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status = status
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .ok_or_else(wrong)?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>())
    });
    let length = length.ok_or_else(wrong)?.map_err(|_| wrong())?;
    let body = end + 4..end + 4 + length;
    Ok((body.end <= bytes.len()).then_some((status, body)))
}

impl Answer<'_> {
    /// Refuses any answer but a success.
    ///
    /// # Errors
    /// [`Error::Wrong`], with what the server said.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if (200..300).contains(&self.status) {
            return Ok(());
        }
        Err(Error::Wrong(format!(
            "the server answered {}: {}",
            self.status,
            self.text()
        )))
    }

    /// The body of a success.
    ///
    /// # Errors
    /// As [`check`](Self::check), and if it is not JSON.
    pub(crate) fn json(&self) -> Result<Value, Error> {
        self.check()?;
        Ok(serde_json::from_slice(self.body)?)
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.body).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_once_its_last_byte_is_here() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-length: 5\r\nx: y\r\n\r\nhello";
        for cut in 0..bytes.len() {
            assert!(
                parse(&bytes[..cut]).unwrap().is_none(),
                "{cut} bytes are not all of it"
            );
        }
        let (status, body) = parse(bytes).unwrap().unwrap();
        let body = &bytes[body];
        assert_eq!((status, body), (200, b"hello".as_slice()));
        assert!(Answer { status, body }.check().is_ok());
    }

    #[test]
    fn a_refusal_and_an_answer_without_length_are_errors() {
        let refused = Answer {
            status: 503,
            body: b"busy",
        };
        assert!(
            refused
                .check()
                .unwrap_err()
                .to_string()
                .contains("503: busy")
        );
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn each_sending_is_another_command() {
        let mut request = Request::post("/v1/logs", "host", "token", "{}");
        request.renew();
        let first = request.bytes.clone();
        request.renew();
        let second = request.bytes;
        assert_eq!(first.len(), second.len());
        assert_ne!(first, second);
        assert!(second.ends_with(b"\r\n\r\n{}"));
    }
}
