//! Tests of what the pairs answer while vectors are lacking, or nobody makes any.

use std::sync::atomic::{AtomicUsize, Ordering};

use sillok_builtin::HashEmbedder;
use sillok_core::config::RulesConfig;
use sillok_core::entry::{Status, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Txn as _};

use super::*;
use crate::protocol::Without;
use crate::reads::{Reader, RecallQuery};
use crate::tests::embedder_change::stage::{Other, Stage, found};
use crate::tests::harness::{AS_MEANT, PROJECT, TestStore, in_time, ports, scope, store};
use crate::tests::line::{Fate, Line};

const TEXT: &str = "the parser stops one line early";

fn neighbours_of(embedding: Embedding) -> NeighbourRequest {
    NeighbourRequest {
        scope: scope(PROJECT),
        table: Table::Observations,
        failure: false,
        embedding,
        cosine_min: 0.5,
        limit: 4,
    }
}

/// Ports that search the space of `other`.
fn searching(other: &Arc<Other>) -> Ports {
    Ports {
        embedder: Arc::clone(other) as Arc<dyn Embedder>,
        ..ports()
    }
}

#[tokio::test]
async fn nobody_is_told_of_no_neighbours_while_it_is_not_known_whose_vectors_are_lacking() {
    let ports = ports();
    let spaces = Spaces::new(store(), &ports, &Counters::default(), AS_MEANT);
    let embedding = ports.embedder.embed(&["a question"]).await.unwrap();
    let request = neighbours_of(embedding.into_iter().next().unwrap());
    assert_eq!(spaces.neighbours(&request).await.unwrap(), []);
    // More names than are held, all of another scope.
    let elsewhere = Scope::parse("org/elsewhere").unwrap();
    for number in 0..=side::NAMES_MAX as u128 {
        let name = (elsewhere.clone(), EntryId::from_bytes(number.to_be_bytes()));
        spaces.serving().note(name);
    }
    let refused = spaces.neighbours(&request).await.unwrap_err();
    assert!(matches!(refused, PortError::Unavailable(_)), "{refused:?}");
}

#[tokio::test]
async fn nobody_waits_for_neighbours_as_long_as_an_embedder_takes() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&[TEXT]).await;
    let other = Other::named("other", 0);
    let (store, ports) = (stage.store.clone(), searching(&other));
    let spaces = Spaces::new(store, &ports, &Counters::default(), AS_MEANT);
    spaces.serving().note((scope(PROJECT), ids[0]));
    let request = neighbours_of(other.vector(TEXT));
    let answer = in_time(spaces.neighbours(&request)).await;
    assert!(
        matches!(answer, Err(PortError::Unavailable(_))),
        "{answer:?}"
    );
    assert!(other.is_asked.load(Ordering::Relaxed));
    // Its vector is still to be made, and then it is found.
    other.calls.add_permits(9);
    let answer = in_time(spaces.neighbours(&request)).await.unwrap();
    assert_eq!(answer.len(), 1);
    assert_eq!(found(&spaces, Some(other.vector(TEXT))).await, ids);
}

/// The pairs of an embedder that may answer so many calls, with an entry whose vector is to be made.
async fn to_be_made(other: &Arc<Other>, clock: Arc<dyn Clock>) -> Spaces<TestStore, Without> {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&[TEXT]).await;
    let ports = Ports {
        clock,
        ..searching(other)
    };
    let spaces = Spaces::new(stage.store, &ports, &Counters::default(), AS_MEANT);
    spaces.serving().note((scope(PROJECT), ids[0]));
    spaces
}

#[tokio::test]
async fn questions_that_need_the_same_vectors_have_them_made_once() {
    let other = Other::named("other", 0);
    let spaces = to_be_made(&other, ports().clock).await;
    let request = neighbours_of(other.vector(TEXT));
    let answers = async {
        while !other.is_asked.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        other.calls.add_permits(9);
    };
    let (first, second) = (spaces.neighbours(&request), spaces.neighbours(&request));
    let (first, second, ()) = in_time(async { tokio::join!(first, second, answers) }).await;
    assert_eq!((first.unwrap().len(), second.unwrap().len()), (1, 1));
    assert_eq!(other.heard(TEXT), 1);
}

/// A clock on which no time goes by but what somebody waits for, and that does not show.
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_790_000_000_000)
    }

    fn monotonic_us(&self) -> u64 {
        0
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        ports().clock.sleep(ms)
    }
}

#[tokio::test]
async fn whoever_waited_behind_a_question_in_vain_does_not_try_the_same() {
    let other = Other::named("other", 0);
    let spaces = to_be_made(&other, Arc::new(Standing)).await;
    let request = neighbours_of(other.vector(TEXT));
    for _ in 0..3 {
        let answer = in_time(spaces.neighbours(&request)).await;
        assert!(
            matches!(answer, Err(PortError::Unavailable(_))),
            "{answer:?}"
        );
    }
    assert_eq!(other.asked.load(Ordering::Relaxed), 1);
}

/// The built-in embedder, which takes too long so many times, each time over one text.
struct Late {
    left: AtomicUsize,
    is_with_any: bool,
}

impl Embedder for Late {
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
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 && (self.is_with_any || texts.contains(&TEXT)) {
            self.left.store(left - 1, Ordering::Relaxed);
            return Box::pin(async { Err(PortError::Unusable("it took too long".into())) });
        }
        HashEmbedder.embed(texts)
    }
}

#[tokio::test]
async fn a_text_that_an_embedder_was_late_with_is_not_taken_for_one_that_it_refuses() {
    for (late, is_made) in [(0, true), (1, true), (2, false)] {
        let embedder = Late {
            left: AtomicUsize::new(late),
            is_with_any: false,
        };
        let vector = embed_one(&embedder, &embedder.space(), TEXT).await.unwrap();
        assert_eq!(vector.is_some(), is_made, "late {late} times");
    }
}

#[tokio::test]
async fn an_embedder_that_meets_a_defect_refuses_that_text_alone() {
    let other = Other::open("other");
    let texts = [TEXT, "an unthinkable thing"];
    let vectors = embed_each(&*other, &other.space(), &texts).await;
    assert_eq!(vectors, Ok(vec![Some(other.vector(TEXT)), None]));
    let spaces = Spaces::new(store(), &searching(&other), &Counters::default(), AS_MEANT);
    let refused = spaces.embed(&texts).await;
    assert!(
        matches!(refused, Err(PortError::Unusable(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn one_text_of_many_that_is_refused_costs_few_calls() {
    let others: Vec<String> = (0..32).map(|number| format!("lesson {number}")).collect();
    for place in [0, 13, 31] {
        let mut texts: Vec<&str> = others.iter().map(String::as_str).collect();
        texts[place] = "an unspeakable thing";
        let other = Other::open("other");
        let vectors = embed_each(&*other, &other.space(), &texts).await.unwrap();
        let expected = texts.iter().enumerate();
        let expected = expected.map(|(at, text)| (at != place).then(|| other.vector(text)));
        assert_eq!(vectors, expected.collect::<Vec<_>>());
        // All, a probe, two for each of five halvings, and for the one a probe and once more.
        assert_eq!(other.asked.load(Ordering::Relaxed), 1 + 1 + 2 * 5 + 2);
    }
}

#[tokio::test]
async fn an_embedder_that_is_late_with_any_text_is_asked_for_many_twice() {
    let embedder = Late {
        left: AtomicUsize::new(100),
        is_with_any: true,
    };
    let late = embed_each(&embedder, &embedder.space(), &[TEXT; 32]).await;
    assert!(matches!(late, Err(PortError::Unusable(_))), "{late:?}");
    assert_eq!(embedder.left.load(Ordering::Relaxed), 98);
}

#[tokio::test]
async fn an_embedder_that_is_away_is_asked_for_many_texts_once() {
    let other = Other::open("other");
    other.is_away.store(true, Ordering::Relaxed);
    let away = embed_each(&*other, &other.space(), &[TEXT, "another"]).await;
    assert!(matches!(away, Err(PortError::Unavailable(_))), "{away:?}");
    assert_eq!(other.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_erasure_that_comes_between_leaves_no_vector_of_what_was_erased() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&[TEXT]).await;
    let other = Other::open("other");
    // What sees that the entry is there is committed a while later.
    let line = Line::new(&stage.store, Fate::Lingers);
    let spaces = Spaces::new(line, &searching(&other), &Counters::default(), AS_MEANT);
    let (side, names) = (spaces.serving(), [(scope(PROJECT), ids[0])]);
    let erases = async {
        while other.heard(TEXT) == 0 {
            tokio::task::yield_now().await;
        }
        let key = keys::head::key(&ScopeKey::of(&scope(PROJECT)), ids[0]);
        let mut txn = stage.store.begin().await.unwrap();
        let value = txn.get(&key, Read::Snapshot).await.unwrap().unwrap();
        let mut head = keys::head::decode(&key, &value).unwrap();
        head.status = Status::Archived;
        head.content_hash = ContentHash::erased(head.id, head.version);
        txn.set(key, keys::head::encode(&head));
        txn.commit().await.unwrap();
    };
    let both = async { tokio::join!(spaces.bring(&side, &names), erases) };
    let (brought, ()) = in_time(both).await;
    assert!(brought.failed.is_none(), "{:?}", brought.failed);
    assert_eq!(other.heard(TEXT), 1);
    let left = stage.vectors().await;
    assert!(left.is_empty(), "of {} entries", left.len());
}

#[tokio::test]
async fn a_question_of_a_former_space_says_whether_its_words_alone_were_answered() {
    let mut stage = Stage::new();
    stage.with_entries(&[TEXT]).await;
    let other = Other::open("other");
    // It embeds the question as one did that was about to change.
    let ports = Ports {
        embedder: Arc::new(HashEmbedder),
        index: index_over(stage.store.clone(), &searching(&other)),
        ..ports()
    };
    let reader = Reader::new(stage.store.clone(), ports, RulesConfig::default());
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let query = RecallQuery::new(scope(PROJECT), format!("where does {secret} stop"));
    assert!(reader.recall(query.clone()).await.unwrap().by_meaning);
    let heard = other.texts.lock().join(" ");
    assert!(heard.contains("stop") && !heard.contains(secret), "{heard}");
    other.is_away.store(true, Ordering::Relaxed);
    assert!(!reader.recall(query).await.unwrap().by_meaning);
}
