//! How soon an event is heard of: by a tail at a node that does not own the scope, and by a follower of the
//! stream `EVT`, both from the acknowledgement to whoever wrote it.
//!
//! Writes come at a steady pace that leaves the nodes room, so that nothing waits behind anything else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sillok_bus::follower::{Judged, Look};
use sillok_bus::{EventStream as _, Follower};
use sillok_bus_nats::{NatsConfig, NatsStream, cluster_key, connect};
use sillok_core::channel::Channel;
use sillok_core::scope::Scope;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::bed::{self, Bed, NODES, another};
use super::sse::Tail;
use crate::error::Error;
use crate::gauge::histogram;
use crate::http::append;
use crate::http::client::{Connection, Request};
use crate::report::{Report, Row};
use crate::scale::Scale;
use crate::workload::Texts;

/// Projects that are written to.
const LANES: usize = 5;
/// The wait between two writes to a project.
const PACE: Duration = Duration::from_millis(25);
/// The wait of the follower after it found nothing new, and the messages that it asks for at once.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const MESSAGES: usize = 64;
/// The longest that an event may take to be heard of.
const LOST: Duration = Duration::from_secs(60);

/// When each event was acknowledged, or heard of, by scope and number.
type Moments = Arc<Mutex<BTreeMap<(String, u64), Instant>>>;

/// Measures both.
///
/// # Errors
/// What a node or NATS answered, or that an event is never heard of.
pub(super) fn measure(runtime: &Runtime, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let (by_tail, by_follower) = runtime.block_on(Box::pin(both(scale.cluster.events)))?;
    for (who, delays) in [
        ("a tail at another node", by_tail),
        ("a follower over NATS", by_follower),
    ] {
        let row = Row::new(
            format!("cluster: an event at {who}, p99 from its acknowledgement"),
            delays.value_at_quantile(0.99) as f64 / 1e3,
            "ms",
        );
        report.add(row.with_latency(&delays));
    }
    Ok(())
}

async fn both(events: usize) -> Result<(Histogram<u64>, Histogram<u64>), Error> {
    let bed = Bed::start(&NODES, &[]).await?;
    let scopes: Vec<Scope> = (0..LANES).map(|project| bed::task(project, "t")).collect();
    bed.open(NODES[0], &scopes).await?;
    let owners = bed.rest(&NODES).await?;
    let (acked, tailed, followed) = (Moments::default(), Moments::default(), Moments::default());
    let mut listening = JoinSet::new();
    for scope in &scopes {
        let node = another(bed::owner(&owners, scope));
        let tail = Tail::open(bed.address(node), bed.token(), scope.as_str()).await?;
        listening.spawn(hear(tail, scope.to_string(), Arc::clone(&tailed)));
    }
    for channel in Channel::ALL {
        let (stream, follower) = follower(&bed, channel).await?;
        listening.spawn(follow(stream, follower, Arc::clone(&followed)));
    }
    // Everybody has heard that the tasks are open before anything counts.
    heard(&[&tailed, &followed], LANES, &mut listening).await?;
    let texts = Arc::new(Texts::new());
    let mut writing = JoinSet::new();
    for scope in scopes {
        let address = bed.address(bed::owner(&owners, &scope)).to_owned();
        let connection = Connection::open(&address).await?;
        let body = append(scope.as_str(), &texts, 0, 1);
        let request = Request::post("/v1/logs", &address, bed.token(), &body);
        let acked = Arc::clone(&acked);
        writing.spawn(write(connection, request, scope.to_string(), events, acked));
    }
    while let Some(written) = writing.join_next().await {
        written.map_err(|panic| Error::Wrong(panic.to_string()))??;
    }
    heard(&[&tailed, &followed], LANES * (events + 1), &mut listening).await?;
    let acked = acked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((delays(&acked, &tailed)?, delays(&acked, &followed)?))
}

/// Appends records, one after the other.
async fn write(
    mut connection: Connection,
    mut request: Request,
    scope: String,
    events: usize,
    acked: Moments,
) -> Result<(), Error> {
    for _ in 0..events {
        request.renew();
        let answer = connection.send(&request).await?;
        let at = Instant::now();
        let seq = answer.json()?["first"].as_u64();
        let seq = seq.ok_or_else(|| Error::Wrong("an append without a number".to_owned()))?;
        note(&acked, scope.clone(), seq, at);
        tokio::time::sleep(PACE).await;
    }
    Ok(())
}

async fn hear(mut tail: Tail, scope: String, heard: Moments) -> Result<(), Error> {
    loop {
        let event = tail.next().await?;
        note(&heard, scope.clone(), event.seq()?, Instant::now());
    }
}

async fn follower(bed: &Bed, channel: Channel) -> Result<(NatsStream, Follower), Error> {
    let config = NatsConfig {
        servers: bed.nats_url(),
        key_file: bed.key_file(),
        ..NatsConfig::default()
    };
    let refused = |error: sillok_bus_nats::ConnectError| Error::Wrong(error.to_string());
    let client = connect(&config, "follower").await.map_err(refused)?;
    let key = cluster_key(&config).await.map_err(refused)?;
    let stream = NatsStream::new(client, &config, key, channel);
    Ok((stream, Follower::default()))
}

/// Reads the stream as a consumer outside of the nodes does. Nothing of it may be lost meanwhile.
async fn follow(stream: NatsStream, mut follower: Follower, heard: Moments) -> Result<(), Error> {
    loop {
        let Ok(page) = stream.page(follower.from(), MESSAGES).await else {
            // The connection may still be under way.
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        };
        if follower.look(&page) != Look::Follows {
            return Err(Error::Wrong("the stream lost what it held".to_owned()));
        }
        let at = Instant::now();
        let mut is_news = false;
        for numbered in &page.messages {
            let message = &numbered.message;
            match follower.judge(message) {
                Judged::Repeat => continue,
                Judged::Next => {}
                Judged::Gap(_) => return Err(Error::Wrong("the stream has a gap".to_owned())),
            }
            is_news = true;
            follower.hear(message.slot, message.stamp);
            for seq in message.first.get()..=message.last.get() {
                note(&heard, message.scope.to_string(), seq, at);
            }
        }
        follower.read(&page);
        if !is_news {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn note(moments: &Moments, scope: String, seq: u64, at: Instant) {
    let mut moments = moments.lock().unwrap_or_else(PoisonError::into_inner);
    moments.entry((scope, seq)).or_insert(at);
}

/// Waits until all of these have heard of so many events.
async fn heard(
    all: &[&Moments],
    events: usize,
    listening: &mut JoinSet<Result<(), Error>>,
) -> Result<(), Error> {
    let began = Instant::now();
    let have_heard =
        |moments: &&Moments| moments.lock().unwrap_or_else(PoisonError::into_inner).len() >= events;
    while !all.iter().all(have_heard) {
        if let Some(ended) = listening.try_join_next() {
            ended.map_err(|panic| Error::Wrong(panic.to_string()))??;
        }
        if began.elapsed() > LOST {
            return Err(Error::Wrong("an event was never heard of".to_owned()));
        }
        tokio::time::sleep(PACE).await;
    }
    Ok(())
}

/// From each acknowledgement to the hearing; 0 for what was heard before.
fn delays(
    acked: &BTreeMap<(String, u64), Instant>,
    heard: &Moments,
) -> Result<Histogram<u64>, Error> {
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let mut delays = histogram();
    for (event, acked) in acked {
        let heard = heard.get(event);
        let heard = heard.ok_or_else(|| Error::Wrong(format!("{event:?} was not heard of")))?;
        let delay = heard.saturating_duration_since(*acked).as_micros();
        delays.saturating_record(u64::try_from(delay).unwrap_or(u64::MAX));
    }
    Ok(delays)
}
