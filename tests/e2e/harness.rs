//! What all tests stand on: the binary, a running server, an HTTP client, and a small world of
//! scopes and principals.

pub(crate) mod binary;
pub(crate) mod chance;
pub(crate) mod cluster;
pub(crate) mod collector;
pub(crate) mod http;
pub(crate) mod listener;
pub(crate) mod recorded;
pub(crate) mod samples;
pub(crate) mod world;

pub(crate) use binary::{Invocation, Ran};
pub(crate) use chance::{Chance, phrase};
pub(crate) use cluster::Cluster;
pub(crate) use http::{Client, Reply, assert_same, command_id};
pub(crate) use listener::Listener;
pub(crate) use recorded::write_runs;
pub(crate) use sillok_test_cluster::{Launch, Server};
pub(crate) use world::{ORG, PROJECT, WORKTREE, World};
