//! Many tails on one node: what they take of its memory, and when the last of them hears an event that all of
//! them hear.
//!
//! The node is `sillok serve` on its own store, or a node on FoundationDB: the store at a socket would count
//! connections of its own for tails that read at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sillok_test_cluster::{Launch, Server, binary};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::bed::{self, Bed, NODES};
use super::sse::Tail;
use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::http::append;
use crate::http::client::{Connection, Request};
use crate::memory::status_bytes;
use crate::report::{Report, Row};
use crate::scale::Scale;
use crate::workload::Texts;

/// Files that a process has open beside its tails.
const OTHER_FILES: u64 = 500;
/// Tails that are opened at once.
const OPENED_AT_ONCE: usize = 64;
/// The longest that an event may take to reach all of them.
const LOST: Duration = Duration::from_secs(60);
/// The wait between two events.
const PACE: Duration = Duration::from_millis(200);
/// As many tails as anybody asks for.
const SETTINGS: [(&str, &str); 3] = [
    ("SILLOK__SERVER__TAILS_MAX", "1000000"),
    ("SILLOK__SERVER__TAILS_PER_PRINCIPAL_MAX", "1000000"),
    ("SILLOK__INDEX__ENGINE", "exact"),
];

/// The node that has all the tails.
enum Node {
    Alone(
        Server,
        #[expect(dead_code, reason = "removed when it is dropped")] TempDir,
    ),
    OnFoundationDb(Bed),
}

impl Node {
    async fn start() -> Result<Self, Error> {
        if binary::with_foundationdb().is_some() {
            return Ok(Self::OnFoundationDb(
                Bed::start(&NODES[..1], &SETTINGS).await?,
            ));
        }
        let folder = folder()?;
        let launch = Launch::new(&folder.path().join("data"));
        let launch = SETTINGS
            .iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value));
        Ok(Self::Alone(launch.start().await, folder))
    }

    fn address(&self) -> &str {
        match self {
            Self::Alone(server, _) => server.address(),
            Self::OnFoundationDb(bed) => bed.address(NODES[0]),
        }
    }

    fn token(&self) -> String {
        match self {
            Self::Alone(server, _) => server.token(),
            Self::OnFoundationDb(bed) => bed.token().to_owned(),
        }
    }

    fn resident_bytes(&self) -> Result<u64, Error> {
        let pid = match self {
            Self::Alone(server, _) => server.pid(),
            Self::OnFoundationDb(bed) => bed.pid(NODES[0]),
        };
        status_bytes(&pid.to_string(), "VmRSS:")
    }
}

/// Measures as many tails as are wanted, or as the limit of open files allows.
///
/// # Errors
/// What the node answered, or that a tail ends.
pub(super) fn measure(runtime: &Runtime, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let wanted = scale.cluster.tails;
    let tails = wanted.min(open_files(wanted + OTHER_FILES).saturating_sub(OTHER_FILES));
    let note = if tails < wanted {
        " (as many as the limit of open files allows)"
    } else {
        ""
    };
    let what = format!("tails: {tails} on one node{note}");
    runtime.block_on(Box::pin(all(
        tails,
        scale.cluster.tail_events,
        &what,
        report,
    )))
}

/// Raises the limit of open files of this process, and so of those that it starts, towards what is wanted:
/// what it is then.
fn open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None stands for no limit.
    let allowed = maximum.unwrap_or(u64::MAX).min(wanted);
    if current.is_none_or(|current| current >= allowed) {
        return current.unwrap_or(u64::MAX);
    }
    let raised = Rlimit {
        current: Some(allowed),
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => allowed,
        Err(_refused) => current.unwrap_or_default(),
    }
}

/// What all tails have heard.
struct Heard {
    events: AtomicU64,
    changed: watch::Sender<u64>,
}

async fn all(tails: u64, events: usize, what: &str, report: &mut Report) -> Result<(), Error> {
    let node = Node::start().await?;
    let (address, token) = (node.address(), node.token());
    let scope = bed::task(0, "t");
    let mut connection = Connection::open(address).await?;
    let body = format!(r#"{{"scope":"{scope}","title":"Measure","description":"Listen."}}"#);
    let mut opening = Request::post("/v1/tasks", address, &token, &body);
    connection.call(&mut opening).await?;
    let before = node.resident_bytes()?;
    let heard = Arc::new(Heard {
        events: AtomicU64::new(0),
        changed: watch::Sender::new(0),
    });
    let mut listening: JoinSet<Result<(), Error>> = JoinSet::new();
    let open = (0..tails).map(|_| Tail::open(address, &token, scope.as_str()));
    let mut open = stream::iter(open).buffer_unordered(OPENED_AT_ONCE);
    while let Some(tail) = open.try_next().await? {
        listening.spawn(hear(tail, Arc::clone(&heard)));
    }
    drop(open);
    // Each has heard that the task is open.
    heard_by_all(&heard, tails, &mut listening).await?;
    let after = node.resident_bytes()?;
    let texts = Texts::new();
    let mut lags = histogram();
    for number in 0..events {
        let body = append(scope.as_str(), &texts, number, 1);
        connection
            .call(&mut Request::post("/v1/logs", address, &token, &body))
            .await?;
        let acked = Instant::now();
        heard_by_all(&heard, (number as u64 + 2) * tails, &mut listening).await?;
        lags.saturating_record(elapsed_us(acked));
        tokio::time::sleep(PACE).await;
    }
    let resident = |bytes: u64| bytes as f64 / 1e6;
    report.add(Row::new(
        format!("{what}, its memory"),
        resident(after),
        "MB",
    ));
    let each = after.saturating_sub(before) as f64 / 1e3 / tails as f64;
    report.add(Row::new(format!("{what}, memory of each"), each, "kB"));
    let lag = lags.value_at_quantile(0.99) as f64 / 1e3;
    let row = Row::new(
        format!("{what}, p99 until the last has an event"),
        lag,
        "ms",
    );
    report.add(row.with_latency(&lags));
    Ok(())
}

async fn hear(mut tail: Tail, heard: Arc<Heard>) -> Result<(), Error> {
    loop {
        tail.next().await?;
        let events = heard.events.fetch_add(1, Ordering::Relaxed) + 1;
        heard.changed.send_if_modified(|known| {
            let is_more = *known < events;
            *known = events.max(*known);
            is_more
        });
    }
}

/// Waits until so many events were heard in all.
async fn heard_by_all(
    heard: &Heard,
    events: u64,
    listening: &mut JoinSet<Result<(), Error>>,
) -> Result<(), Error> {
    let mut changed = heard.changed.subscribe();
    tokio::select! {
        biased;
        Some(ended) = listening.join_next() => {
            ended.map_err(|panic| Error::Wrong(panic.to_string()))??;
            Err(Error::Wrong("a tail has ended".to_owned()))
        }
        waited = tokio::time::timeout(LOST, changed.wait_for(|known| *known >= events)) => {
            let late = |_| Error::Wrong("a tail did not hear of an event".to_owned());
            waited.map_err(late)?.map_err(|gone| Error::Wrong(gone.to_string()))?;
            Ok(())
        }
    }
}
