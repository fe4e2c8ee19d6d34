//! `[mcp]`: who may reach the protocol's endpoint, and how much of it is under way at one time.
//!
//! Owns the section's form, its defaults and its ranges. It must not know what is called there.

use axum::http::uri::Authority;
use serde::{Deserialize, Serialize};
use sillok_core::{Error, ErrorCode};
use sillok_mcp::http::Settings;
use sillok_mcp::limits::{CALLS_EACH_MAX, CALLS_MAX, MESSAGE_BYTES_MAX};

use super::within;

/// Hosts, and pages, that are named at most.
const NAMES_MAX: usize = 64;

/// `[mcp]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Names under which clients reach this server, such as `sillok.example` or `sillok.example:7411`, besides this machine's
    /// own and the address that it listens on. A request with another `Host` is refused: it may come from a page that rebinds its
    /// name.
    pub hosts: Vec<String>,
    /// Pages that may call it from a browser, such as `https://app.example:443`. None without any.
    pub origins: Vec<String>,
    /// Bytes of one request.
    pub message_bytes_max: usize,
    /// How long a whole request may take to arrive, in ms.
    pub message_ms_max: u64,
    /// Requests that are under way at one time, at each of its endpoints.
    pub calls_max: usize,
    /// Those of one principal.
    pub calls_each_max: usize,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            message_bytes_max: MESSAGE_BYTES_MAX,
            message_ms_max: 30_000,
            calls_max: CALLS_MAX,
            calls_each_max: CALLS_EACH_MAX,
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
        within("mcp.calls_each_max", self.calls_each_max, 1..=4_096)?;
        within("mcp.hosts", self.hosts.len(), 0..=NAMES_MAX)?;
        within("mcp.origins", self.origins.len(), 0..=NAMES_MAX)?;
        // One that cannot be read would be passed over, and the page be refused without a word.
        let is_host = |host: &&String| host.parse::<Authority>().is_ok();
        if let Some(wrong) = self.hosts.iter().find(|host| !is_host(host)) {
            return Err(refused("hosts", wrong, "is no name of a host"));
        }
        let is_page = |origin: &&String| {
            let schemes = ["http://", "https://"];
            schemes.iter().any(|scheme| origin.starts_with(scheme))
        };
        if let Some(wrong) = self.origins.iter().find(|origin| !is_page(origin)) {
            let why = "does not begin with http:// or https://";
            return Err(refused("origins", wrong, why));
        }
        Ok(())
    }

    /// What an endpoint of a server that listens at `address` takes.
    #[must_use]
    pub fn settings(&self, address: std::net::IpAddr) -> Settings {
        let usual = Settings::default();
        let own = (!address.is_unspecified()).then(|| address.to_string());
        let named = self.hosts.iter().cloned();
        Settings {
            hosts: usual.hosts.into_iter().chain(own).chain(named).collect(),
            origins: self.origins.clone(),
            message_bytes_max: self.message_bytes_max,
            message_ms_max: self.message_ms_max,
            calls_max: self.calls_max,
            calls_each_max: self.calls_each_max,
        }
    }
}

fn refused(key: &str, wrong: &str, why: &str) -> Error {
    let why = format!("configuration mcp.{key} names '{wrong}', which {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_reached_by_its_own_names_and_those_that_are_configured() {
        let config = McpConfig {
            hosts: ["sillok.example:7411", "other.example"]
                .map(str::to_owned)
                .into(),
            ..McpConfig::default()
        };
        assert!(config.check().is_ok());
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
        let check = |origins: &[&str]| {
            let config = McpConfig {
                origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
                ..McpConfig::default()
            };
            config.check()
        };
        assert!(check(&["https://app.example:443", "http://localhost:*"]).is_ok());
        assert!(check(&["app.example"]).is_err());
        assert!(check(&["https://app.example", "*"]).is_err());
        assert!(check(&["https://app.example"; NAMES_MAX + 1]).is_err());
    }

    #[test]
    fn a_host_is_named_without_a_scheme_or_a_path() {
        let check = |host: &str| {
            let config = McpConfig {
                hosts: vec![host.to_owned()],
                ..McpConfig::default()
            };
            config.check()
        };
        assert!(check("[fd00::7]:7411").is_ok());
        for wrong in ["", "http://sillok.example", "sillok.example/mcp", "a b"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
