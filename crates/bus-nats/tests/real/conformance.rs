//! The suite of all streams, over JetStream.

use std::sync::Arc;

use async_nats::jetstream;
use sillok_bus::EventStream;
use sillok_bus::conformance::Bed;
use sillok_bus::stream::BoxFuture;
use sillok_bus::subject;
use sillok_bus::wire::ClusterKey;
use sillok_bus_nats::{Client, NatsStream};
use sillok_core::slot::Slot;

use sillok_nats_server::NatsServer;

use super::{client_of, config_of};

struct NatsBed {
    server: NatsServer,
    client: Client,
}

impl NatsBed {
    async fn new() -> Self {
        let server = NatsServer::start().await;
        let client = client_of(&server).await;
        Self { server, client }
    }

    fn name(&self) -> String {
        sillok_bus_nats::config::STREAM.to_owned()
    }
}

impl Bed for NatsBed {
    fn stream(&self) -> Arc<dyn EventStream> {
        let config = config_of(&self.server);
        let key = ClusterKey::new(&[1; 32]);
        Arc::new(NatsStream::new(self.client.clone(), &config, key))
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
            let subject = subject::events_of(slot);
            self.client
                .publish(subject, "scribbled".into())
                .await
                .expect("it answers");
            self.client.flush().await.expect("it answers");
            true
        })
    }
}

sillok_bus::stream_conformance_suite!(jetstream_suite, NatsBed::new());
