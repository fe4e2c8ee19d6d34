//! The log of a process: what goes to standard error, and how much of it.

use tracing_subscriber::EnvFilter;

/// The environment variable that says how much is logged, such as `info` or `sillok_actors=debug`.
pub const FILTER_VARIABLE: &str = "SILLOK_LOG";

/// Sends warnings and errors to standard error, or what [`FILTER_VARIABLE`] says. Only the first
/// call of a process does anything.
pub fn start() {
    let filter =
        EnvFilter::try_from_env(FILTER_VARIABLE).unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(true);
    // An error says that the process has a log already.
    let _ = log.try_init();
}
