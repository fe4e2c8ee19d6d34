//! What of a question reaches whoever makes vectors.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_builtin::HashEmbedder;
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Embedder, PortError, SpaceThresholds};
use sillok_core::recall::Narrowing;

use super::harness::{TASK, ports, scope, store};
use crate::reads::RecallQuery;
use crate::{Node, NodeConfig, Ports};

/// An embedder that keeps what it was given.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Embedder for Heard {
    fn space(&self) -> SpaceId {
        HashEmbedder.space()
    }

    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        HashEmbedder.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        self.0
            .lock()
            .extend(texts.iter().map(|text| (*text).to_owned()));
        HashEmbedder.embed(texts)
    }
}

#[tokio::test]
async fn a_question_is_masked_before_it_is_embedded() {
    let heard = Arc::new(Heard::default());
    let embedder = Arc::clone(&heard) as Arc<dyn Embedder>;
    let ports = Ports {
        embedder,
        ..ports()
    };
    let node = Node::start(store(), ports, NodeConfig::default())
        .await
        .unwrap();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let query = RecallQuery {
        scope: scope(TASK),
        text: format!("why is {secret} refused"),
        limit: None,
        narrowing: Narrowing::default(),
        failures_only: false,
        confidence_min: None,
        tokens_max: None,
    };
    node.reader().recall(query).await.unwrap();
    let heard = heard.0.lock().join(" ");
    assert!(
        heard.contains("refused") && !heard.contains("abcdefghij"),
        "{heard}"
    );
    node.shutdown().await;
}
