//! `[log]`: how the log of a process is written, and how much of it.

use serde::{Deserialize, Serialize};
use sillok_core::{Error, ErrorCode};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object for each line.
    Json,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// How a line is written.
    pub format: LogFormat,
    /// What is logged: a level, or levels of parts with commas between them, such as
    /// `warn,sillok_actors=debug`.
    pub filter: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            filter: "warn".to_owned(),
        }
    }
}

impl LogConfig {
    /// What is logged.
    ///
    /// # Errors
    /// `invalid_argument`, naming the key, where that is no filter.
    pub fn env_filter(&self) -> Result<EnvFilter, Error> {
        let text = self.filter.trim();
        if text.is_empty() {
            return Err(refused("is empty; to log nothing at all it is `off`"));
        }
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        // A lone word that is no level would name a part of the program, all of which is logged: most
        // likely it is a level with a letter wrong.
        let is_lone = |word: &&&str| !word.contains(['=', '[']);
        let mut lone = words.iter().filter(is_lone);
        if let Some(word) = lone.find(|word| word.parse::<LevelFilter>().is_err()) {
            let why = format!(
                "names no level with `{word}`: one of off, error, warn, info, debug, trace"
            );
            return Err(refused(&why));
        }
        EnvFilter::try_new(words.join(","))
            .map_err(|error| refused(&format!("is no filter: {error}")))
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.env_filter().map(|_| ())
    }
}

fn refused(why: &str) -> Error {
    let why = format!("configuration log.filter {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(filter: &str) -> LogConfig {
        LogConfig {
            filter: filter.to_owned(),
            ..LogConfig::default()
        }
    }

    #[test]
    fn levels_and_levels_of_parts_are_filters() {
        assert_eq!(LogConfig::default().check(), Ok(()));
        for filter in [
            "off",
            "INFO",
            " info ",
            "sillok_actors=debug",
            "warn, sillok_actors=debug,sillok_server::http=trace",
            "info,[request{method=GET}]=debug,[other]",
        ] {
            assert_eq!(of(filter).check(), Ok(()), "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_by_its_key() {
        for filter in [
            "",
            " ",
            "inof",
            "warn,sillok_actors",
            "sillok_actors=loud",
            "a=b=c",
            "[request",
        ] {
            let error = of(filter).check().unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{filter}");
            let key = "configuration log.filter ";
            assert!(error.message.starts_with(key), "{filter}: {error}");
        }
    }
}
