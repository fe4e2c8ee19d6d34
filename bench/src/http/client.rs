//! A client that does as little as a client can: prebuilt requests over a kept connection.
//!
//! It knows answers with a `Content-Length`, and no others.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::Error;
use crate::workload::command_id;

/// The most bytes of one answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Characters of a command id as text.
const ID_CHARS: usize = 36;

/// A request, ready to be sent again and again, each time as another command.
pub(crate) struct Request {
    bytes: Vec<u8>,
    /// Where the command id stands.
    id_at: usize,
}

impl Request {
    /// A call of a write route.
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
        Self { bytes, id_at }
    }

    fn as_new_command(&mut self) -> &[u8] {
        let id = command_id().to_string();
        assert_eq!(id.len(), ID_CHARS, "an id is a UUID with hyphens");
        self.bytes[self.id_at..self.id_at + ID_CHARS].copy_from_slice(id.as_bytes());
        &self.bytes
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
        self.stream.write_all(request.as_new_command()).await?;
        self.buffer.clear();
        loop {
            if let Some(answer) = Answer::parse(&self.buffer)? {
                return answer.check();
            }
            if self.buffer.len() > ANSWER_BYTES_MAX {
                return Err(Error::Wrong("an answer has no end".to_owned()));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::Wrong(
                    "the server closed a connection in an answer".to_owned(),
                ));
            }
        }
    }
}

/// An answer that is here as a whole.
struct Answer<'a> {
    status: u16,
    body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The answer at the beginning of `bytes`; none while some of it is missing.
    fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Error> {
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
        let body = bytes.get(end + 4..end + 4 + length);
        Ok(body.map(|body| Self { status, body }))
    }

    fn check(&self) -> Result<(), Error> {
        if (200..300).contains(&self.status) {
            return Ok(());
        }
        let body = String::from_utf8_lossy(self.body);
        Err(Error::Wrong(format!(
            "the server answered {}: {body}",
            self.status
        )))
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
                Answer::parse(&bytes[..cut]).unwrap().is_none(),
                "{cut} bytes are not all of it"
            );
        }
        let answer = Answer::parse(bytes).unwrap().unwrap();
        assert_eq!((answer.status, answer.body), (200, b"hello".as_slice()));
        assert!(answer.check().is_ok());
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
        assert!(Answer::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn each_sending_is_another_command() {
        let mut request = Request::post("/v1/logs", "host", "token", "{}");
        let first = request.as_new_command().to_vec();
        let second = request.as_new_command();
        assert_eq!(first.len(), second.len());
        assert_ne!(first, second);
        assert!(second.ends_with(b"\r\n\r\n{}"));
    }
}
