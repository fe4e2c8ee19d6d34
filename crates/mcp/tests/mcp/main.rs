//! The tools and resources as clients meet them: real clients of the protocol, of every revision, over streams in memory and
//! over HTTP.
//!
//! The API behind them is a small router with the true one's forms: this crate lies below the server. `tests/e2e/mcp` has the
//! true one.

#[cfg(test)]
mod client;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod small_api;
#[cfg(test)]
mod work;
