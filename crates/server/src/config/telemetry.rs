//! `[telemetry]`: whether, and where, spans are sent.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use sillok_core::{Error, ErrorCode};

use super::within;

/// Characters of a service's name.
const SERVICE_NAME_LEN_MAX: usize = 128;

/// `[telemetry]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// The collector that takes spans by OTLP over HTTP, such as `http://collector:4318`; `/v1/traces` is
    /// put behind it. Empty: none are recorded.
    pub otlp_endpoint: String,
    /// What the collector is told that this is.
    pub service_name: String,
    /// The share of traces that begin here and are recorded, 0 to 1. Those that a caller began are recorded
    /// if the caller says so.
    pub sampled_share: f64,
    /// How long spans are gathered before they are sent, in ms.
    pub export_every_ms: u64,
    /// How long the collector may take to accept what is sent, and the last of it at shutdown, in ms.
    pub export_timeout_ms: u64,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            otlp_endpoint: String::new(),
            service_name: "sillok".to_owned(),
            sampled_share: 1.0,
            export_every_ms: 1_000,
            export_timeout_ms: 5_000,
        }
    }
}

impl TelemetryConfig {
    /// Where spans are sent; none where none are recorded.
    ///
    /// # Errors
    /// `invalid_argument`, naming the key, where that is no place for them.
    pub fn traces_url(&self) -> Result<Option<Url>, Error> {
        let text = self.otlp_endpoint.trim();
        if text.is_empty() {
            return Ok(None);
        }
        // The text may hold a password: it is not repeated.
        let mut url = Url::parse(text).map_err(|error| refused(&format!("is no URL: {error}")))?;
        if url.scheme() != "http" {
            let why = "takes a http:// URL; put a collector that speaks TLS beside the node where one is \
                       wanted";
            return Err(refused(why));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("takes a URL without a user or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("takes a URL without ? and #"));
        }
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Some(url))
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.traces_url()?;
        let name = &self.service_name;
        if name.trim().is_empty() || name.len() > SERVICE_NAME_LEN_MAX {
            let why = format!(
                "configuration telemetry.service_name takes 1 to {SERVICE_NAME_LEN_MAX} characters"
            );
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        within("telemetry.sampled_share", self.sampled_share, 0.0..=1.0)?;
        within(
            "telemetry.export_every_ms",
            self.export_every_ms,
            10..=60_000,
        )?;
        within(
            "telemetry.export_timeout_ms",
            self.export_timeout_ms,
            10..=60_000,
        )
    }
}

fn refused(why: &str) -> Error {
    let why = format!("configuration telemetry.otlp_endpoint {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(otlp_endpoint: &str) -> TelemetryConfig {
        TelemetryConfig {
            otlp_endpoint: otlp_endpoint.to_owned(),
            ..TelemetryConfig::default()
        }
    }

    #[test]
    fn spans_go_to_the_path_of_traces_and_nowhere_unless_that_is_configured() {
        assert_eq!(TelemetryConfig::default().traces_url(), Ok(None));
        for (endpoint, url) in [
            ("http://otel:4318", "http://otel:4318/v1/traces"),
            ("http://otel:4318/", "http://otel:4318/v1/traces"),
            ("http://[::1]:1/a/b", "http://[::1]:1/a/b/v1/traces"),
        ] {
            let found = at(endpoint).traces_url().unwrap().unwrap();
            assert_eq!(found.as_str(), url);
            assert_eq!(at(endpoint).check(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_place_for_spans_is_refused_by_its_key_and_not_repeated() {
        for endpoint in [
            "otel:4318",
            "otel",
            "http://",
            "https://otel:4318",
            "grpc://otel:4317",
            "unix:/run/otel",
            "http://user:hunter2@otel:4318",
            "http://otel:4318/?token=hunter2",
            "http://otel:4318/#hunter2",
            "http://otel:hunter2",
        ] {
            let error = at(endpoint).check().unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{endpoint}");
            assert!(error.message.contains("telemetry.otlp_endpoint"), "{error}");
            assert!(!error.message.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_other_keys_have_their_ranges() {
        let bad = [
            TelemetryConfig {
                service_name: " ".to_owned(),
                ..TelemetryConfig::default()
            },
            TelemetryConfig {
                sampled_share: 1.5,
                ..TelemetryConfig::default()
            },
            TelemetryConfig {
                sampled_share: f64::NAN,
                ..TelemetryConfig::default()
            },
            TelemetryConfig {
                export_every_ms: 0,
                ..TelemetryConfig::default()
            },
            TelemetryConfig {
                export_timeout_ms: 600_000,
                ..TelemetryConfig::default()
            },
        ];
        for config in bad {
            let error = config.check().unwrap_err();
            assert!(error.message.contains("telemetry."), "{error}");
        }
    }
}
