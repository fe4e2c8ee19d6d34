//! The suite of all streams, over JetStream.

use std::sync::Arc;

use async_nats::jetstream;
use sillok_bus::EventStream;
use sillok_bus::conformance::Bed;
use sillok_bus::stream::BoxFuture;
use sillok_bus::subject;
use sillok_bus::wire::ClusterKey;
use sillok_bus_nats::{Client, NatsStream};
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;

use sillok_nats_server::NatsServer;

use super::{client_of, config_of};

struct NatsBed {
    channel: Channel,
    server: NatsServer,
    client: Client,
}

impl NatsBed {
    async fn new(channel: Channel) -> Self {
        let server = NatsServer::start().await;
        let client = client_of(&server).await;
        Self {
            channel,
            server,
            client,
        }
    }

    fn name(&self) -> &'static str {
        subject::stream_of(self.channel)
    }

    fn of(&self, channel: Channel) -> Arc<dyn EventStream> {
        let config = config_of(&self.server);
        let key = ClusterKey::new(&[1; 32]);
        let client = self.client.clone();
        Arc::new(NatsStream::new(client, &config, key, channel))
    }
}

impl Bed for NatsBed {
    fn stream(&self) -> Arc<dyn EventStream> {
        self.of(self.channel)
    }

    fn beside(&self) -> Arc<dyn EventStream> {
        self.of(match self.channel {
            Channel::Events => Channel::Log,
            Channel::Log => Channel::Events,
        })
    }

    fn recreate(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let context = jetstream::new(self.client.clone());
            context
                .delete_stream(self.name())
                .await
                .expect("it answers");
        })
    }

    fn age(&self, keep: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let context = jetstream::new(self.client.clone());
            let stream = context.get_stream(self.name()).await.expect("it answers");
            if keep == 0 {
                stream.purge().await.expect("it answers");
            } else {
                stream.purge().keep(keep).await.expect("it answers");
            }
        })
    }

    fn scribble(&self, slot: Slot) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let subject = subject::of_slot(self.channel, slot);
            self.client
                .publish(subject, "scribbled".into())
                .await
                .expect("it answers");
            self.client.flush().await.expect("it answers");
            true
        })
    }
}

sillok_bus::stream_conformance_suite!(jetstream_events, NatsBed::new(Channel::Events));
sillok_bus::stream_conformance_suite!(jetstream_log, NatsBed::new(Channel::Log));
