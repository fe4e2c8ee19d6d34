//! Writers that go on while nodes come and go: each gives a command, under one id, to one node after the
//! other until it is answered, as a client that retries does. Most append to a log, some publish an entry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sillok_core::scope::Scope;
use tokio::task::JoinSet;

use super::bed::{Bed, entry_of};
use crate::error::Error;
use crate::http::append;
use crate::http::client::{Connection, Request};
use crate::workload::Texts;

/// The wait between two commands of a writer: a steady load that the nodes keep up with.
const PACE: Duration = Duration::from_millis(50);
/// Of so many commands of a writer one publishes an entry.
const ENTRY_EVERY: usize = 5;
/// Texts of entries are numbered from here, beyond those that were there before.
const FIRST_ENTRY: usize = 1_000_000;
/// More writers than there are: their texts are numbered apart.
const WRITERS_MAX: usize = 1_024;
/// The wait before a command is given again.
const AGAIN: Duration = Duration::from_millis(10);
/// The longest that one command may take until some node answers it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node that was asked for a command.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Where it listens.
    address: String,
    took: Duration,
    /// The status of its answer, if it answered.
    status: Option<u16>,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} took {} ms", self.address, self.took.as_millis())?;
        match self.status {
            Some(status) => write!(f, " for {status}"),
            None => f.write_str(" for nothing"),
        }
    }
}

/// A command that was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Acked {
    /// Whose it was.
    pub(super) writer: usize,
    /// When it was given first.
    pub(super) begun: Instant,
    /// When it was given to the node that acknowledged it.
    pub(super) given: Instant,
    /// When it was acknowledged.
    pub(super) at: Instant,
    /// The nodes that it was given to, each time that it was.
    pub(super) asked: Vec<Asked>,
}

/// What the writers share.
#[derive(Default)]
struct Shared {
    /// Where each node is asked.
    nodes: Mutex<BTreeMap<String, String>>,
    acked: Mutex<Vec<Acked>>,
    stop: AtomicBool,
}

/// Writers at work.
pub(super) struct Writers {
    shared: Arc<Shared>,
    tasks: JoinSet<Result<(), Error>>,
}

impl Writers {
    /// Sets a writer to work on each of these open tasks, through all of these nodes in turn.
    pub(super) fn start(bed: &Bed, names: &[&str], scopes: &[Scope]) -> Self {
        let shared = Arc::new(Shared::default());
        let texts = Arc::new(Texts::new());
        let mut writers = Self {
            shared,
            tasks: JoinSet::new(),
        };
        for name in names {
            writers.joins(name, bed.address(name));
        }
        for (number, scope) in scopes.iter().enumerate() {
            let writer = Writer {
                shared: Arc::clone(&writers.shared),
                number,
                turn: number,
                task: scope.clone(),
                texts: Arc::clone(&texts),
                token: bed.token(),
                written: 0,
                connections: BTreeMap::new(),
            };
            writers.tasks.spawn(writer.go_on());
        }
        writers
    }

    /// A node is asked from now on.
    pub(super) fn joins(&self, name: &str, address: &str) {
        let mut nodes = self.shared.nodes();
        nodes.insert(name.to_owned(), address.to_owned());
    }

    /// A node is asked no longer, as a load balancer learns before a drain.
    pub(super) fn leaves(&self, name: &str) {
        self.shared.nodes().remove(name);
    }

    /// All that was acknowledged so far and not taken before.
    ///
    /// # Errors
    /// If a writer got an answer that no retry mends.
    pub(super) fn take(&mut self) -> Result<Vec<Acked>, Error> {
        if let Some(ended) = self.tasks.try_join_next() {
            ended.map_err(|panic| Error::Wrong(panic.to_string()))??;
        }
        Ok(std::mem::take(&mut *self.shared.acked()))
    }

    /// Ends the load: each writer sees its last command through.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        self.shared.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.map_err(|panic| Error::Wrong(panic.to_string()))??;
        }
        Ok(())
    }
}

impl Shared {
    fn nodes(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acked(&self) -> MutexGuard<'_, Vec<Acked>> {
        self.acked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer {
    shared: Arc<Shared>,
    number: usize,
    turn: usize,
    task: Scope,
    texts: Arc<Texts>,
    token: &'static str,
    /// Commands that were acknowledged.
    written: usize,
    /// By address: a node that was started again has another one.
    connections: BTreeMap<String, Connection>,
}

impl Writer {
    async fn go_on(mut self) -> Result<(), Error> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let request = self.draw();
            let acked = tokio::time::timeout(PATIENCE, self.see_through(&request)).await;
            let late = |_| Error::Wrong("a command is answered by nobody".to_owned());
            let acked = acked.map_err(late)??;
            self.shared.acked().push(acked);
            self.written += 1;
            tokio::time::sleep(PACE).await;
        }
        Ok(())
    }

    /// The next command.
    fn draw(&self) -> Request {
        let is_entry = self.written.is_multiple_of(ENTRY_EVERY);
        let number = FIRST_ENTRY + self.number + self.written * WRITERS_MAX;
        let (path, body) = if is_entry {
            ("/v1/entries", entry_of(&self.task, &self.texts, number))
        } else {
            (
                "/v1/logs",
                append(self.task.as_str(), &self.texts, number, 1),
            )
        };
        // Every node takes it for a request to itself, whichever host it names.
        let mut request = Request::post(path, "node", self.token, &body);
        request.renew();
        request
    }

    async fn see_through(&mut self, request: &Request) -> Result<Acked, Error> {
        let begun = Instant::now();
        let mut asked = Vec::new();
        loop {
            let given = Instant::now();
            let address = self.next_node();
            let status = self.give(&address, request).await?;
            let at = Instant::now();
            let took = at - given;
            asked.push(Asked {
                address,
                took,
                status,
            });
            if status.is_some_and(is_acked) {
                return Ok(Acked {
                    writer: self.number,
                    begun,
                    given,
                    at,
                    asked,
                });
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn next_node(&mut self) -> String {
        self.turn += 1;
        let nodes = self.shared.nodes();
        let node = nodes.values().nth(self.turn % nodes.len());
        node.expect("some node is always there").clone()
    }

    /// What a node says of the command, if it says anything. What passes by itself is no error: a node that is gone
    /// or ends, is busy, or does not know.
    async fn give(&mut self, address: &str, request: &Request) -> Result<Option<u16>, Error> {
        let kept = self.connections.remove(address);
        let mut connection = match kept {
            Some(connection) => connection,
            None => match Connection::open(address).await {
                Ok(connection) => connection,
                Err(_gone) => return Ok(None),
            },
        };
        let Ok(answer) = connection.send(request).await else {
            return Ok(None);
        };
        if is_acked(answer.status) {
            answer.check()?;
        }
        let status = answer.status;
        self.connections.insert(address.to_owned(), connection);
        Ok(Some(status))
    }
}

/// Whether a status says that a command was carried out, unless it says that it never will be.
const fn is_acked(status: u16) -> bool {
    !matches!(status, 429 | 503 | 504)
}
