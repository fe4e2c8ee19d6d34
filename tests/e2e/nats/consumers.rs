//! Durable consumers: workers that pull what was told, and acknowledge it.

use async_nats::jetstream;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use futures::TryStreamExt as _;
use sillok_bus::wire::open_message;

use super::*;

/// How long a worker waits for messages.
const WAIT: Duration = Duration::from_secs(3);

/// By how much the time may differ at which one consumer was made, from one look to another.
const NEARLY: Duration = Duration::from_millis(100);

/// A worker on the log's consumer.
struct Worker {
    context: jetstream::Context,
    config: NatsConfig,
}

impl Worker {
    async fn new(bed: &Bed) -> Self {
        let client = connect(&bed.config, "worker")
            .await
            .expect("it can be used");
        Self {
            context: jetstream::new(client),
            config: bed.config.clone(),
        }
    }

    /// The consumer, once it is there.
    async fn consumer(&self) -> PullConsumer {
        let looking = async {
            loop {
                match self
                    .context
                    .get_consumer_from_stream("curator", "LOG")
                    .await
                {
                    Ok(consumer) => return consumer,
                    Err(_) => tokio::time::sleep(LOOK_EVERY).await,
                }
            }
        };
        let found = tokio::time::timeout(PATIENCE, looking).await;
        found.expect("a node makes it")
    }

    /// Up to so many messages: as many as come in time.
    async fn pull(&self, most: usize) -> Vec<Message> {
        let consumer = self.consumer().await;
        let asked = consumer.batch().max_messages(most).expires(WAIT);
        let messages = asked.messages().await.expect("it answers");
        messages.try_collect().await.expect("they come")
    }

    /// The numbers of the events that messages tell of, by whoever has the cluster's key.
    async fn seqs(&self, messages: &[Message]) -> Vec<u64> {
        let key = cluster_key(&self.config).await.expect("it is a key");
        let seq = |message: &Message| {
            let opened = open_message(&key, Channel::Log, &message.payload);
            opened.expect("a node wrote it").last.get()
        };
        messages.iter().map(seq).collect()
    }

    async fn acknowledge(&self, messages: &[Message]) {
        for message in messages {
            message.double_ack().await.expect("it is heard");
        }
    }
}

async fn bed() -> Bed {
    Bed::with(|config| {
        config.consumers = "LOG:curator, EVT:notifier".to_owned();
        config.consumer_ack_wait_s = 1;
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_share_a_consumer_and_what_nobody_acknowledged_comes_again() {
    let mut bed = bed().await;
    let task = bed.world.task().await;
    let mut told = Vec::new();
    for number in 1..=3 {
        told.push(bed.append(&task, &format!("line {number}")).await);
    }
    bed.listener.hears(&task, told[2]).await;
    let worker = Worker::new(&bed).await;
    let found = worker.consumer().await.cached_info().config.clone();
    assert_eq!(
        (found.ack_policy, found.ack_wait, found.max_deliver),
        (AckPolicy::Explicit, Duration::from_secs(1), -1)
    );
    let pulled = worker.pull(3).await;
    assert_eq!(worker.seqs(&pulled).await, told, "each record once");
    worker.acknowledge(&pulled[..2]).await;
    // The third goes to whoever asks next.
    let other = Worker::new(&bed).await;
    let again = other.pull(1).await;
    assert_eq!(other.seqs(&again).await, told[2..]);
    assert!(again[0].info().expect("it says so").delivered >= 2);
    other.acknowledge(&again).await;
    assert_eq!(worker.pull(1).await.len(), 0);
    assert_eq!(worker.consumer().await.cached_info().num_ack_pending, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_outlives_nats_and_is_made_again_when_it_is_lost() {
    let mut bed = bed().await;
    let task = bed.world.task().await;
    let first = bed.append(&task, "first").await;
    bed.listener.hears(&task, first).await;
    let worker = Worker::new(&bed).await;
    let pulled = worker.pull(1).await;
    worker.acknowledge(&pulled).await;
    let made = worker.consumer().await.cached_info().created;
    bed.nats.kill();
    let second = bed.append(&task, "second").await;
    bed.nats.resume().await;
    bed.listener.hears(&task, second).await;
    // What was acknowledged right before may come again.
    let pulled = worker.pull(2).await;
    let seqs = worker.seqs(&pulled).await;
    assert!(seqs.contains(&second), "{seqs:?}");
    let since = worker.consumer().await.cached_info().created - made;
    // The server rounds it, when it reads it from the disk.
    assert!(since.abs() < NEARLY, "it is the same one: {since}");
    worker.acknowledge(&pulled).await;
    bed.nats.wipe();
    bed.nats.resume().await;
    let third = bed.append(&task, "third").await;
    bed.listener.hears(&task, third).await;
    // It hears what the new stream was filled with.
    let pulled = worker.pull(3).await;
    let seqs = worker.seqs(&pulled).await;
    assert_eq!(seqs, [first, second, third]);
    let since = worker.consumer().await.cached_info().created - made;
    assert!(since > NEARLY, "it is another one: {since}");
}
