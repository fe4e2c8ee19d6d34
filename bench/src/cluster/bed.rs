//! Nodes under measurement: their processes, and who of them owns what.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sillok_core::membership::home;
use sillok_core::scope::{Level, Scope};
use sillok_core::slot::Slot;
use sillok_server::api::ClusterView;
use sillok_test_cluster::{Cluster, Server};

use crate::engines::folder;
use crate::error::Error;
use crate::http::client::{Connection, Request};
use crate::workload::{self, Texts};

/// The nodes.
pub(super) const NODES: [&str; 3] = ["ada", "bob", "eve"];
/// The longest that slots may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(60);
/// The wait between two looks at who owns what.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Running nodes.
pub(super) struct Bed {
    nodes: Cluster,
}

/// Who owns each slot.
pub(super) type Owners = BTreeMap<u16, String>;

impl Bed {
    /// Starts nodes with these names, on an empty store.
    ///
    /// # Errors
    /// What the file system answered.
    pub(super) async fn start(
        names: &[&str],
        settings: &[(&'static str, &'static str)],
    ) -> Result<Self, Error> {
        let nodes = Box::pin(Cluster::start_in(folder()?, names, settings)).await;
        Ok(Self { nodes })
    }

    /// Where a node listens: host and port.
    pub(super) fn address(&self, name: &str) -> &str {
        self.nodes.node(name).address()
    }

    /// The id of a node's process.
    pub(super) fn pid(&self, name: &str) -> u32 {
        self.nodes.node(name).pid()
    }

    /// The administrator's token.
    pub(super) const fn token(&self) -> &'static str {
        self.nodes.token()
    }

    /// Where NATS listens.
    pub(super) fn nats_url(&self) -> String {
        self.nodes.nats_url()
    }

    /// The file with the cluster's key.
    pub(super) fn key_file(&self) -> PathBuf {
        self.nodes.key_file()
    }

    /// Kills a node.
    pub(super) fn kill(&mut self, name: &str) {
        self.nodes.kill(name);
    }

    /// A node, for whoever ends it.
    pub(super) fn take(&mut self, name: &str) -> Server {
        self.nodes.take(name)
    }

    /// Starts a node again.
    pub(super) async fn start_again(&mut self, name: &str) {
        Box::pin(self.nodes.start_node(name)).await;
    }

    /// Opens tasks through a node.
    ///
    /// # Errors
    /// What it answered.
    pub(super) async fn open(&self, through: &str, tasks: &[Scope]) -> Result<(), Error> {
        let address = self.address(through);
        let mut connection = Connection::open(address).await?;
        for task in tasks {
            let body = format!(r#"{{"scope":"{task}","title":"Measure","description":"Listen."}}"#);
            let mut request = Request::post("/v1/tasks", address, self.token(), &body);
            connection.call(&mut request).await?;
        }
        Ok(())
    }

    /// Publishes so many entries in the project of each task, through a node.
    ///
    /// # Errors
    /// What it answered.
    pub(super) async fn publish(
        &self,
        through: &str,
        tasks: &[Scope],
        entries: usize,
    ) -> Result<(), Error> {
        let address = self.address(through);
        let mut connection = Connection::open(address).await?;
        let texts = Texts::new();
        for (number, task) in tasks.iter().enumerate() {
            for entry in 0..entries {
                let body = entry_of(task, &texts, number * entries + entry);
                let mut request = Request::post("/v1/entries", address, self.token(), &body);
                connection.call(&mut request).await?;
            }
        }
        Ok(())
    }

    /// What a node sees of the cluster.
    ///
    /// # Errors
    /// What it answered.
    pub(super) async fn view(&self, through: &str) -> Result<ClusterView, Error> {
        let address = self.address(through);
        let request = Request::get("/v1/cluster?slots=true", address, self.token());
        let mut connection = Connection::open(address).await?;
        let answer = connection.send(&request).await?;
        Ok(serde_json::from_value(answer.json()?)?)
    }

    /// Waits until each slot that was ever owned is owned by the one of these nodes where it belongs.
    ///
    /// # Errors
    /// If that takes too long.
    pub(super) async fn rest(&self, names: &[&str]) -> Result<Owners, Error> {
        let began = Instant::now();
        loop {
            let view = self.view(names[0]).await?;
            let slots = view.slots.unwrap_or_default();
            let is_home = |number: u16, node: &str| {
                Slot::new(number).and_then(|slot| home(slot, names.iter().copied())) == Some(node)
            };
            if slots
                .iter()
                .all(|slot| slot.owned && is_home(slot.slot, &slot.node))
            {
                let owner = slots.into_iter().map(|slot| (slot.slot, slot.node));
                return Ok(owner.collect());
            }
            if began.elapsed() > REST_MAX {
                return Err(Error::Wrong("the slots do not come to rest".to_owned()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether every slot is served by one of these nodes: it has an owner that lives, as the first of them sees it, and
    /// none of them has one that its index is behind with.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub(super) async fn is_served(&self, names: &[&str]) -> Result<bool, Error> {
        let view = self.view(names[0]).await?;
        Ok(view.slots_owned == view.slots_used
            && self.counted("sillok_slots_behind", names).await? == 0)
    }

    /// How many commands these nodes have handed to one another.
    ///
    /// # Errors
    /// If one of them does not say it.
    pub(super) async fn forwarded(&self, names: &[&str]) -> Result<u64, Error> {
        self.counted("sillok_forwarded_total", names).await
    }

    /// A metric of these nodes, summed.
    ///
    /// # Errors
    /// If one of them does not say it.
    pub(super) async fn counted(&self, metric: &str, names: &[&str]) -> Result<u64, Error> {
        let mut counted = 0;
        for name in names {
            let address = self.address(name);
            let request = Request::get("/metrics", address, self.token());
            let mut connection = Connection::open(address).await?;
            let answer = connection.send(&request).await?;
            answer.check()?;
            let text = answer.text();
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
            let value = value.and_then(|value| value.trim().parse::<u64>().ok());
            counted +=
                value.ok_or_else(|| Error::Wrong(format!("{name} does not say its {metric}")))?;
        }
        Ok(counted)
    }
}

/// A task in a project of its own, so that all nodes own some of them.
pub(super) fn task(project: usize, name: &str) -> Scope {
    workload::scope(&format!(
        "org/bench/project/c{project}/worktree/main/task/{name}"
    ))
}

/// What publishes an entry in the project of a task; another one for each number.
pub(super) fn entry_of(task: &Scope, texts: &Texts, number: usize) -> String {
    let project = task.at_level(Level::Project);
    let project = project.expect("a task lies in a project");
    let text = texts.get(number);
    format!(r#"{{"scope":"{project}","table":"gotchas","content":"{number} {text}"}}"#)
}

/// The owner of a scope.
pub(super) fn owner<'a>(owners: &'a Owners, scope: &Scope) -> &'a str {
    let owner = owners.get(&Slot::of(scope).number());
    owner.expect("something was opened in it")
}

/// The nodes that are not this one.
pub(super) fn others(name: &str) -> [&'static str; NODES.len() - 1] {
    let at = NODES.iter().position(|node| *node == name);
    let at = at.expect("it is one of them");
    core::array::from_fn(|place| NODES[(at + 1 + place) % NODES.len()])
}

/// A node that is not this one.
pub(super) fn another(name: &str) -> &'static str {
    others(name)[0]
}
