//! The address of a server.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc;

use super::Error;
use crate::clock::Deadline;

/// The port where none is named.
const PORT: u16 = 80;
/// Addresses of one name that are tried.
const TRIED_MAX: usize = 4;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// Reads an address such as `http://127.0.0.1:7411`.
    ///
    /// # Errors
    /// [`Error::Address`]
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Address {
            address: text.to_owned(),
            why,
        };
        let rest = text.strip_prefix("http://").ok_or_else(|| {
            wrong(
                "only plain http is spoken; put a proxy that ends TLS in front of a remote server",
            )
        })?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if rest.contains(['?', '#', '@']) || rest.contains(char::is_whitespace) || !rest.is_ascii()
        {
            return Err(wrong("it holds more than a host, a port and a path"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .ok_or_else(|| wrong("a ] is missing"))?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong("the port is no number"))?,
            None if port.is_empty() => PORT,
            None => return Err(wrong("something stands behind the host")),
        };
        if host.is_empty() {
            return Err(wrong("there is no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    /// What stands before each route.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host with its port, as a request names it.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether it names this very machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }

    /// The socket addresses of it. A name is looked up beside this thread, since nothing else bounds how long that takes.
    ///
    /// # Errors
    /// What the system answered, or that it took too long.
    pub fn resolve(&self, deadline: Deadline) -> std::io::Result<Vec<SocketAddr>> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let (found, heard) = mpsc::channel();
        let (host, port) = (self.host.clone(), self.port);
        std::thread::spawn(move || {
            let addresses = (host.as_str(), port).to_socket_addrs();
            // Nobody waits for it any more: then it is of no use.
            let _ = found.send(addresses.map(|all| all.take(TRIED_MAX).collect()));
        });
        let left = deadline.left().unwrap_or_default();
        heard
            .recv_timeout(left)
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_a_port_and_a_path() {
        let plain = Address::parse("http://127.0.0.1:7411").unwrap();
        assert_eq!(plain.authority(), "127.0.0.1:7411");
        assert_eq!(plain.path(), "");
        let behind = Address::parse("http://box.example/memory/").unwrap();
        assert_eq!(
            (behind.authority().as_str(), behind.path()),
            ("box.example:80", "/memory")
        );
        let six = Address::parse("http://[::1]:9").unwrap();
        assert_eq!(six.authority(), "[::1]:9");
        assert!(plain.is_loopback() && six.is_loopback() && !behind.is_loopback());
        let deadline = Deadline::after_ms(1_000);
        assert_eq!(six.resolve(deadline).unwrap(), ["[::1]:9".parse().unwrap()]);
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for wrong in [
            "https://box.example",
            "127.0.0.1:1",
            "http://",
            "http://[::1",
            "http://box:port",
            "http://user:secret@box",
            "http://box/a?b",
            "http://box:1\r\nX: y",
        ] {
            assert!(
                matches!(Address::parse(wrong), Err(Error::Address { .. })),
                "{wrong}"
            );
        }
    }
}
