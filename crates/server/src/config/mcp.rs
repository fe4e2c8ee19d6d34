//! `[mcp]`: who may reach the protocol's endpoint, and how much of it is under way at one time.
//!
//! Owns the section's form, its defaults and its ranges. It must not know what is called there.

use serde::{Deserialize, Serialize};
use sillok_core::{Error, ErrorCode};
use sillok_mcp::http::Settings;
use sillok_mcp::limits::{CALLS_MAX, MESSAGE_BYTES_MAX};

use super::within;

/// `[mcp]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Names under which clients reach this server, with commas between them, such as `sillok.example` or
    /// `sillok.example:7411`, besides this machine's own and the address that it listens on. A request with another `Host` is
    /// refused: it may come from a page that rebinds its name.
    pub hosts: String,
    /// Pages that may call it from a browser, with commas between them, such as `https://app.example:443`. None without any.
    pub origins: String,
    /// Bytes of one request.
    pub message_bytes_max: usize,
    /// How long a whole request may take to arrive, in ms.
    pub message_ms_max: u64,
    /// Requests that are under way at one time, at each of its endpoints.
    pub calls_max: usize,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            hosts: String::new(),
            origins: String::new(),
            message_bytes_max: MESSAGE_BYTES_MAX,
            message_ms_max: 30_000,
            calls_max: CALLS_MAX,
        }
    }
}

impl McpConfig {
    pub(super) fn check(&self) -> Result<(), Error> {
        within(
            "mcp.message_bytes_max",
            self.message_bytes_max,
            1 << 10..=MESSAGE_BYTES_MAX,
        )?;
        within("mcp.message_ms_max", self.message_ms_max, 1..=3_600_000)?;
        within("mcp.calls_max", self.calls_max, 1..=4_096)?;
        let is_page = |origin: &&str| {
            ["http://", "https://"]
                .iter()
                .any(|scheme| origin.starts_with(scheme))
        };
        match listed(&self.origins).find(|origin| !is_page(origin)) {
            None => Ok(()),
            Some(wrong) => {
                let why = format!(
                    "configuration mcp.origins names '{wrong}', which does not begin with http:// or https://"
                );
                Err(Error::new(ErrorCode::InvalidArgument, why))
            }
        }
    }

    /// What an endpoint of a server that listens at `address` takes.
    #[must_use]
    pub fn settings(&self, address: std::net::IpAddr) -> Settings {
        let usual = Settings::default();
        let own = (!address.is_unspecified()).then(|| address.to_string());
        let named = listed(&self.hosts).map(str::to_owned);
        Settings {
            hosts: usual.hosts.into_iter().chain(own).chain(named).collect(),
            origins: listed(&self.origins).map(str::to_owned).collect(),
            message_bytes_max: self.message_bytes_max,
            message_ms_max: self.message_ms_max,
            calls_max: self.calls_max,
        }
    }
}

fn listed(names: &str) -> impl Iterator<Item = &str> {
    let names = names.split(',').map(str::trim);
    names.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_reached_by_its_own_names_and_those_that_are_configured() {
        let config = McpConfig {
            hosts: "sillok.example:7411, other.example".to_owned(),
            ..McpConfig::default()
        };
        let hosts = config.settings([10, 0, 0, 7].into()).hosts;
        for host in [
            "localhost",
            "127.0.0.1",
            "::1",
            "10.0.0.7",
            "sillok.example:7411",
            "other.example",
        ] {
            assert!(hosts.iter().any(|known| known == host), "{host}");
        }
        let unspecified = config.settings([0, 0, 0, 0].into()).hosts;
        assert!(!unspecified.iter().any(|host| host == "0.0.0.0"));
    }

    #[test]
    fn a_page_is_named_with_its_scheme() {
        let of = |origins: &str| McpConfig {
            origins: origins.to_owned(),
            ..McpConfig::default()
        };
        assert!(
            of("https://app.example:443, http://localhost:*")
                .check()
                .is_ok()
        );
        assert!(of("app.example").check().is_err());
        assert!(of("*").check().is_err());
    }
}
