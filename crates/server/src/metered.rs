//! Engines whose calls are counted and timed.
//!
//! Owns what is shown of the calls of the cognifier and the embedder: how they ended, and how long they took. A
//! call is one question to an engine, into however many requests a provider's limits divide it. What is asked and
//! answered is no matter of this file.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Clock, Cognifier, Embedder, PortError, SpaceThresholds};
use sillok_core::promotion::{CognifyInput, Cognition};

/// Upper bounds of the times of calls, in seconds: from hashing in this process to a model that is slow to answer.
const SECONDS: [f64; 12] = [
    0.000_1, 0.001, 0.01, 0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
];

const COGNIFIER: &str = "cognifier";
const EMBEDDER: &str = "embedder";

const ANSWERED: &str = "answered";
const UNAVAILABLE: &str = "unavailable";
const UNUSABLE: &str = "unusable";
/// Whoever asked stopped waiting: the attempt's time was over, or the node ended.
const ABANDONED: &str = "abandoned";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    engine: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEngine {
    engine: &'static str,
}

/// What the calls of a node's engines came to.
#[derive(Clone)]
pub(crate) struct EngineCalls {
    ended: Family<Ended, Counter>,
    seconds: Family<OfEngine, Histogram>,
    clock: Arc<dyn Clock>,
}

impl EngineCalls {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let calls = Self {
            ended: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            clock,
        };
        // What begins at one is no increase.
        for engine in [COGNIFIER, EMBEDDER] {
            for outcome in [ANSWERED, UNAVAILABLE, UNUSABLE, ABANDONED] {
                drop(calls.ended.get_or_create(&Ended { engine, outcome }));
            }
            drop(calls.seconds.get_or_create(&OfEngine { engine }));
        }
        calls
    }

    /// Has them shown by `registry`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "engine_calls",
            "Calls of the engines that draw knowledge and make vectors, by how they ended",
            self.ended.clone(),
        );
        registry.register(
            "engine_call_seconds",
            "How long these calls took",
            self.seconds.clone(),
        );
    }

    /// The same embedder, counted.
    pub(crate) fn of_embedder(&self, embedder: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
        Arc::new(Metered(embedder, self.clone()))
    }

    /// The same cognifier, counted.
    pub(crate) fn of_cognifier(&self, cognifier: Arc<dyn Cognifier>) -> Arc<dyn Cognifier> {
        Arc::new(Metered(cognifier, self.clone()))
    }

    async fn count<T>(
        &self,
        engine: &'static str,
        call: BoxFuture<'_, Result<T, PortError>>,
    ) -> Result<T, PortError> {
        let mut call_under_way = Call {
            calls: self,
            engine,
            outcome: ABANDONED,
            begun_us: self.clock.monotonic_us(),
        };
        let answer = call.await;
        call_under_way.outcome = match &answer {
            Ok(_) => ANSWERED,
            Err(PortError::Unavailable(_) | PortError::Damaged { .. }) => UNAVAILABLE,
            Err(PortError::Unusable(_) | PortError::Wasted { .. }) => UNUSABLE,
        };
        answer
    }
}

/// A call that is under way. It is counted when it is dropped, so that one that nobody waits for to its end is.
struct Call<'a> {
    calls: &'a EngineCalls,
    engine: &'static str,
    outcome: &'static str,
    begun_us: u64,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let Self {
            calls,
            engine,
            outcome,
            begun_us,
        } = *self;
        let took_us = calls.clock.monotonic_us().saturating_sub(begun_us);
        calls.ended.get_or_create(&Ended { engine, outcome }).inc();
        let seconds = calls.seconds.get_or_create(&OfEngine { engine });
        seconds.observe(Duration::from_micros(took_us).as_secs_f64());
    }
}

/// An engine whose calls are counted.
struct Metered<E: ?Sized>(Arc<E>, EngineCalls);

impl Embedder for Metered<dyn Embedder> {
    fn space(&self) -> SpaceId {
        self.0.space()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        self.0.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        Box::pin(self.1.count(EMBEDDER, self.0.embed(texts)))
    }
}

impl Cognifier for Metered<dyn Cognifier> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(self.1.count(COGNIFIER, self.0.cognify(input)))
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::promotion::Used;

    use super::*;
    use crate::system::SystemClock;

    /// Answers every question in the same way, or never.
    struct Fixed(Option<PortError>);

    impl Embedder for Fixed {
        fn space(&self) -> SpaceId {
            SpaceId("fixed".to_owned())
        }

        fn dimensions(&self) -> usize {
            3
        }

        fn thresholds(&self) -> SpaceThresholds {
            SpaceThresholds {
                merge: 0.9,
                similar: 0.8,
            }
        }

        fn embed<'a>(
            &'a self,
            _texts: &'a [&'a str],
        ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
            Box::pin(async move { self.0.clone().map_or_else(|| Ok(Vec::new()), Err) })
        }
    }

    struct Never;

    impl Cognifier for Never {
        fn name(&self) -> &str {
            "never"
        }

        fn cognify<'a>(
            &'a self,
            _input: &'a CognifyInput,
        ) -> BoxFuture<'a, Result<Cognition, PortError>> {
            Box::pin(std::future::pending())
        }
    }

    fn shown(calls: &EngineCalls) -> String {
        let mut registry = crate::http::metrics::registry();
        calls.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    fn assert_shown(calls: &EngineCalls, line: &str) {
        let text = shown(calls);
        assert!(text.lines().any(|shown| shown == line), "{line} in\n{text}");
    }

    #[tokio::test]
    async fn a_call_is_counted_by_how_it_ended_and_its_answer_is_the_engines() {
        let calls = EngineCalls::new(Arc::new(SystemClock));
        let wasted = PortError::Wasted {
            why: "no JSON".to_owned(),
            used: Used::default(),
        };
        for error in [
            None,
            Some(PortError::Unavailable("later".to_owned())),
            Some(PortError::Unusable("never".to_owned())),
            Some(wasted),
        ] {
            let engine = calls.of_embedder(Arc::new(Fixed(error.clone())));
            assert_eq!(engine.space(), SpaceId("fixed".to_owned()));
            assert_eq!(engine.dimensions(), 3);
            assert!(engine.thresholds().merge > engine.thresholds().similar);
            assert_eq!(engine.embed(&["a"]).await.err(), error);
        }
        for (outcome, count) in [
            (ANSWERED, 1),
            (UNAVAILABLE, 1),
            (UNUSABLE, 2),
            (ABANDONED, 0),
        ] {
            let of = |engine: &str, count: u32| {
                format!(
                    "sillok_engine_calls_total{{engine=\"{engine}\",outcome=\"{outcome}\"}} {count}"
                )
            };
            assert_shown(&calls, &of(EMBEDDER, count));
            assert_shown(&calls, &of(COGNIFIER, 0));
        }
        assert_shown(
            &calls,
            "sillok_engine_call_seconds_count{engine=\"embedder\"} 4",
        );
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_to_its_end_is_counted_too() {
        use futures::FutureExt as _;

        let calls = EngineCalls::new(Arc::new(SystemClock));
        let engine = calls.of_cognifier(Arc::new(Never));
        assert_eq!(engine.name(), "never");
        let input = crate::cognifying::tests::nothing();
        assert!(engine.cognify(&input).now_or_never().is_none());
        let line = "sillok_engine_calls_total{engine=\"cognifier\",outcome=\"abandoned\"} 1";
        assert_shown(&calls, line);
        assert_shown(
            &calls,
            "sillok_engine_call_seconds_count{engine=\"cognifier\"} 1",
        );
    }
}
