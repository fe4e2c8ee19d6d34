//! One connection: requests one after the other, each with its answer, all before a deadline.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use super::answer::{Answer, Read, read};
use super::{Address, Error};
use crate::clock::Deadline;
use crate::limits::INTERIM_MAX;

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'static str,
    /// The route, with its query.
    pub route: &'a str,
    /// The id of the command that it carries.
    pub command: Option<&'a str>,
    /// The body: JSON.
    pub body: &'a [u8],
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    address: Address,
    token: Option<String>,
    stream: TcpStream,
    deadline: Deadline,
    usable: bool,
}

impl Connection {
    /// Connects. All of it, with every request, ends with `deadline`; connecting takes no longer than `connect_ms`.
    ///
    /// # Errors
    /// [`Error::Away`]
    pub fn open(
        address: &Address,
        token: Option<&str>,
        connect_ms: u64,
        deadline: Deadline,
    ) -> Result<Self, Error> {
        let connecting = deadline.or_after_ms(connect_ms);
        let stream = connect(address, connecting).map_err(|source| Error::Away {
            address: address.authority(),
            source,
        })?;
        // A command and its answer are one packet each: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        Ok(Self {
            address: address.clone(),
            token: token.map(str::to_owned),
            stream,
            deadline,
            usable: true,
        })
    }

    /// Whether a further request may be sent.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.usable && self.deadline.left().is_some()
    }

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// [`Error::Unheard`] or [`Error::Foreign`]. The connection serves no further request then.
    pub fn request(&mut self, request: &Request<'_>) -> Result<Answer, Error> {
        self.usable = false;
        let answer = self.exchange(request)?;
        self.usable = answer.stays;
        Ok(answer)
    }

    fn exchange(&mut self, request: &Request<'_>) -> Result<Answer, Error> {
        let bytes = self.encoded(request);
        self.stream
            .set_write_timeout(Some(self.left()?))
            .map_err(Error::Unheard)?;
        self.stream.write_all(&bytes).map_err(Error::Unheard)?;
        let mut come = Vec::new();
        let mut interim = 0;
        let mut over = false;
        loop {
            match read(&come, over)? {
                Read::Whole(answer) => return Ok(answer),
                Read::Interim(bytes) if interim < INTERIM_MAX => {
                    interim += 1;
                    come.drain(..bytes);
                    continue;
                }
                Read::Interim(_) => return Err(Error::Foreign("it never comes to its end")),
                Read::Partial => {}
            }
            self.stream
                .set_read_timeout(Some(self.left()?))
                .map_err(Error::Unheard)?;
            let mut part = [0; READ_BYTES];
            let bytes = self.stream.read(&mut part).map_err(Error::Unheard)?;
            over = bytes == 0;
            come.extend(&part[..bytes]);
        }
    }

    fn left(&self) -> Result<std::time::Duration, Error> {
        let late = || Error::Unheard(io::ErrorKind::TimedOut.into());
        self.deadline.left().ok_or_else(late)
    }

    fn encoded(&self, request: &Request<'_>) -> Vec<u8> {
        let (method, path) = (request.method, self.address.path());
        let mut head = format!("{method} {path}{} HTTP/1.1\r\n", request.route);
        let mut line = |name: &str, value: &str| {
            // A line break in a value would begin another line.
            if !value.contains(['\r', '\n']) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        };
        line("host", &self.address.authority());
        line(
            "user-agent",
            concat!("sillok-hook/", env!("CARGO_PKG_VERSION")),
        );
        if let Some(token) = &self.token {
            line("authorization", &format!("Bearer {token}"));
        }
        if let Some(command) = request.command {
            line("idempotency-key", command);
        }
        if request.method != "GET" {
            line("content-type", "application/json");
            line("content-length", &request.body.len().to_string());
        }
        let mut bytes = head.into_bytes();
        bytes.extend(b"\r\n");
        bytes.extend(request.body);
        bytes
    }
}

fn connect(address: &Address, deadline: Deadline) -> io::Result<TcpStream> {
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for socket in address.resolve(deadline)? {
        let Some(left) = deadline.left() else {
            return Err(io::ErrorKind::TimedOut.into());
        };
        match TcpStream::connect_timeout(&socket, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error,
        }
    }
    Err(why)
}
