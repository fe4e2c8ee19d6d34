//! A cluster, with clients of its nodes.

use std::ops::{Deref, DerefMut};

use sillok_test_cluster::Cluster as Nodes;

use super::binary::{self, Invocation, Ran};
use super::http::Client;

/// A running cluster. Its processes end with it.
pub(crate) struct Cluster(Nodes);

impl Cluster {
    /// A cluster of nodes with these names.
    pub(crate) async fn start(names: &[&str]) -> Self {
        Self::start_with(names, &[]).await
    }

    /// As [`start`](Self::start), with variables of the environment.
    pub(crate) async fn start_with(
        names: &[&str],
        settings: &[(&'static str, &'static str)],
    ) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        Self(Nodes::start_over_ways(folder, names, settings).await)
    }

    /// A client of a node with the administrator's token.
    pub(crate) fn admin(&self, name: &str) -> Client {
        Client::admin_of(self.node(name))
    }

    /// Runs the binary, with the administrator's token, against a node. Nothing in the line is quoted.
    pub(crate) fn sillok(&self, name: &str, line: &str) -> Ran {
        Invocation::new(&self.path("home"), binary::words(line))
            .env("SILLOK_URL", self.node(name).base())
            .env("SILLOK_TOKEN", self.token())
            .run()
    }
}

impl Deref for Cluster {
    type Target = Nodes;

    fn deref(&self) -> &Nodes {
        &self.0
    }
}

impl DerefMut for Cluster {
    fn deref_mut(&mut self) -> &mut Nodes {
        &mut self.0
    }
}
