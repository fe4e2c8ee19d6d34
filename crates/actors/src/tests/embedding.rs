//! What reaches whoever makes vectors, and what is not done twice where nobody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sillok_builtin::{ExactIndex, HashEmbedder, RuleCognifier};
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Cognifier, Embedder, PortError, SpaceThresholds};
use sillok_core::promotion::{CognifyInput, Cognition};

use super::embedder_change::stage::{Other, until};
use super::harness::{PROJECT, TASK, TestNode, in_time, ports, scope, store};
use super::jobs::verified;
use crate::commit_turns;
use crate::jobs::PromotionState;
use crate::reads::RecallQuery;
use crate::{NodeConfig, Ports};

/// An embedder that keeps what it was given, and is out of reach so many times first.
#[derive(Default)]
struct Heard {
    texts: Mutex<Vec<String>>,
    away: AtomicU64,
}

/// A cognifier that counts how often it is asked.
#[derive(Default)]
struct Asked(AtomicU64);

impl Cognifier for Asked {
    fn name(&self) -> &str {
        RuleCognifier.name()
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RuleCognifier.cognify(input)
    }
}

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
        let left = self.away.load(Ordering::Relaxed);
        if left > 0 {
            self.away.store(left - 1, Ordering::Relaxed);
            return Box::pin(async { Err(PortError::Unavailable("nobody listens".into())) });
        }
        let texts_here = texts.iter().map(|text| (*text).to_owned());
        self.texts.lock().extend(texts_here);
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
    let node = TestNode::start(store(), ports, NodeConfig::default())
        .await
        .unwrap();
    let query = RecallQuery::new(scope(TASK), format!("why is {SECRET} refused"));
    node.reader().recall(query).await.unwrap();
    let heard = heard.texts.lock().join(" ");
    assert!(
        heard.contains("refused") && !heard.contains("abcdefghij"),
        "{heard}"
    );
    node.shutdown().await;
}

/// A cognifier that says this, as a model may that makes things up of what it read.
struct Tells(String);

/// A secret that it says.
const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

impl Cognifier for Tells {
    fn name(&self) -> &str {
        "tells 1"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        let drawn = Cognition {
            critique: self.0.clone(),
            ..RuleCognifier::draw(input)
        };
        Box::pin(async move { Ok(drawn) })
    }
}

#[tokio::test]
async fn what_is_published_is_masked_before_it_is_embedded() {
    let heard = Arc::new(Heard::default());
    let ports = Ports {
        cognifier: Arc::new(Tells(format!("The token {SECRET} was refused."))),
        embedder: Arc::clone(&heard) as Arc<dyn Embedder>,
        ..ports()
    };
    let node = TestNode::start(store(), ports, NodeConfig::default())
        .await
        .unwrap();
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    let heard = heard.texts.lock().join(" ");
    assert!(
        heard.contains("was refused") && !heard.contains("abcdefghij"),
        "{heard}"
    );
    node.shutdown().await;
}

#[tokio::test]
async fn an_embedder_that_is_out_of_reach_has_no_cognifier_asked_again() {
    let asked = Arc::new(Asked::default());
    let away = Arc::new(Heard {
        away: AtomicU64::new(12),
        ..Heard::default()
    });
    let mut config = NodeConfig::default();
    config.jobs.attempts = 2;
    config.jobs.workers = 1;
    let ports = Ports {
        cognifier: Arc::clone(&asked) as Arc<dyn Cognifier>,
        embedder: Arc::clone(&away) as Arc<dyn Embedder>,
        ..ports()
    };
    let node = TestNode::start(store(), ports, config).await.unwrap();
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert_eq!(asked.0.load(Ordering::Relaxed), 1);
    assert!(!away.texts.lock().is_empty());
    node.shutdown().await;
}

#[tokio::test]
async fn a_product_that_the_embedder_refuses_or_fails_at_is_published_without_a_vector() {
    for refused in ["an unspeakable thing", "an unthinkable thing"] {
        let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
        let ports = Ports {
            cognifier: Arc::new(Tells(refused.to_owned())),
            embedder: other.clone(),
            index: index.clone(),
            ..ports()
        };
        let node = TestNode::start(store(), ports, NodeConfig::default())
            .await
            .unwrap();
        let id = verified(&node).await;
        let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
        let PromotionState::Done(finished) = state else {
            panic!("{refused} halts it: {state:?}")
        };
        let report = &finished.report;
        let episode = index.get(&scope(PROJECT), report.episode).unwrap();
        assert!(episode.content.contains(refused), "{}", episode.content);
        assert_eq!(episode.embedding, None);
        let published = report.products.iter().filter_map(|product| product.entry);
        for entry in published.filter(|entry| *entry != report.episode) {
            let doc = index.get(&scope(PROJECT), entry).unwrap();
            assert_eq!(doc.embedding, Some(other.vector(&doc.content)));
        }
        assert_eq!(node.metrics().panics, 0);
        node.shutdown().await;
    }
}

#[tokio::test]
async fn an_attempt_that_is_cut_off_at_the_embedder_has_no_cognifier_asked_again() {
    let (asked, other) = (Arc::new(Asked::default()), Other::named("other", 0));
    let mut config = NodeConfig::default();
    config.jobs.attempts = 1_000;
    config.jobs.workers = 1;
    let ports = Ports {
        cognifier: asked.clone(),
        embedder: other.clone(),
        ..ports()
    };
    let node = TestNode::start(store(), ports, config).await.unwrap();
    let id = verified(&node).await;
    until(|| async { node.metrics().promotion_failures > 0 }).await;
    other.calls.add_permits(1_000);
    until(|| async { node.metrics().promotions > 0 }).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert_eq!(asked.0.load(Ordering::Relaxed), 1);
    node.shutdown().await;
}

#[tokio::test]
async fn an_attempt_that_is_cut_off_while_it_publishes_has_nobody_asked_again() {
    let (asked, other) = (Arc::new(Asked::default()), Other::named("other", 0));
    let mut config = NodeConfig::default();
    config.jobs.attempts = 1_000;
    config.jobs.workers = 1;
    config.admission.commits_at_once = 1;
    let ports = Ports {
        cognifier: asked.clone(),
        embedder: other.clone(),
        ..ports()
    };
    let node = TestNode::start(store(), ports, config).await.unwrap();
    let id = verified(&node).await;
    until(|| async { other.is_asked.load(Ordering::Relaxed) }).await;
    // From now on nothing has a turn to be committed.
    let turn = in_time(async {
        loop {
            match node.shared().commit_turns.ask("acme") {
                commit_turns::Asked::Now(turn) => return turn,
                commit_turns::Asked::Later(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await;
    other.calls.add_permits(1_000);
    until(|| async { node.metrics().turns_waited_for > 0 }).await;
    let before = node.metrics().promotion_failures;
    until(|| async { node.metrics().promotion_failures > before + 2 }).await;
    drop(turn);
    until(|| async { node.metrics().promotions > 0 }).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert_eq!(asked.0.load(Ordering::Relaxed), 1);
    let texts = other.texts.lock().clone();
    assert!(texts.iter().all(|text| other.heard(text) == 1), "{texts:?}");
    node.shutdown().await;
}
