//! The command line: every command of `sillok`, as a library that its binary runs.
//!
//! Owns what a person or a script types, and how answers are printed. It must not know a rule or a
//! store: it speaks HTTP to a server, and lets the server's crate open data directories.

pub mod args;
pub mod client;
pub mod commands;
pub mod data_directory;
pub mod demo;
pub mod diagram;
pub mod ending;
pub mod execution;
pub mod failure;
pub mod git;
pub mod here;
pub mod import;
pub mod local_server;
pub mod output;
pub mod progress;
pub mod session;
pub mod settings;
pub mod trajectory;
pub mod verification;
