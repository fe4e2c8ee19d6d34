//! Vectors: that they are those of the model, in a batch as alone, whatever their texts.

use std::fs;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::json;
use sillok_core::entry::Embedding;
use sillok_core::ports::{Embedder as _, PortError};
use sillok_pairs::{Outcome, judge, pairs};
use sillok_perception::SentenceEmbedder;
use tempfile::TempDir;

use crate::forward::{mean, normal, words};
use sillok_sentence_model::{Precision, Tiny, safetensors, tokenizer};

use crate::opened::{embedder, of, open};

/// Texts with their words, by place in the vocabulary and between those that a tokenizer adds.
const TEXTS: [(&str, &[usize]); 4] = [
    ("The build failed in CI", &[2, 4, 5, 6, 7, 11, 12, 3]),
    ("tests", &[2, 8, 9, 3]),
    ("A stale cache is no port", &[2, 13, 16, 14, 15, 17, 19, 3]),
    ("unheard-of", &[2, 1, 1, 1, 3]),
];

fn texts() -> [&'static str; 4] {
    TEXTS.map(|(text, _)| text)
}

fn distance(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let apart = found.iter().zip(expected);
    apart
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, f64::max)
}

async fn values(embedder: &SentenceEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let embeddings = embedder.embed(texts).await.unwrap();
    assert!(embeddings.iter().all(|one| one.space == embedder.space()));
    embeddings.into_iter().map(|one| one.values).collect()
}

#[tokio::test]
async fn vectors_are_those_of_a_forward_pass_by_hand() {
    for (seed, act) in [(1, "gelu"), (2, "gelu_new"), (3, "relu")] {
        for mode in ["mean_tokens", "cls_token"] {
            let directory = TempDir::new().unwrap();
            let mut tiny = Tiny::new(seed);
            tiny.act = act;
            let pooling = tiny.pooling(mode);
            let tiny = tiny.with("1_Pooling/config.json", pooling).set(
                "config.json",
                "hidden_act",
                json!(act),
            );
            let embedder = embedder(&tiny, directory.path()).await;
            assert_eq!(embedder.dimensions(), 12);
            let found = values(&embedder, &texts()).await;
            for ((text, ids), found) in TEXTS.iter().zip(&found) {
                let rows = words(&tiny, ids);
                let (first, mean) = (normal(&rows[0]), normal(&mean(&rows)));
                let (right, wrong) = match mode {
                    "cls_token" => (first, mean),
                    _ => (mean, first),
                };
                let apart = distance(found, &right);
                assert!(apart < 1e-5, "{act} {mode} {text}: {apart}");
                assert!(distance(found, &wrong) > 1e-2, "both are one: {text}");
            }
        }
    }
}

/// That the test above would see it: what fills a text up moves its vector, where it is not left out.
#[tokio::test]
async fn what_fills_a_text_up_would_be_seen() {
    let tiny = Tiny::new(1);
    let (_, ids) = TEXTS[1];
    let alone = normal(&mean(&words(&tiny, ids)));
    let filled: Vec<usize> = ids.iter().copied().chain([0; 4]).collect();
    let rows = words(&tiny, &filled);
    let apart = |other: &[f64]| {
        let apart = alone.iter().zip(other).map(|(a, b)| (a - b).abs());
        apart.fold(0.0, f64::max)
    };
    // Pooled with what fills it up, and without that but attended to.
    assert!(apart(&normal(&mean(&rows))) > 1e-2);
    assert!(apart(&normal(&mean(&rows[..ids.len()].to_vec()))) > 1e-2);
}

#[tokio::test]
async fn a_batch_gives_what_each_text_gives_alone_in_the_order_of_texts() {
    let directory = TempDir::new().unwrap();
    Tiny::new(4).write(directory.path()).unwrap();
    let mut config = of(directory.path());
    config.batch_texts = 3;
    let embedder = open(&config).await.unwrap();
    // Many more than a batch, of all lengths, and blank ones in between.
    let texts: Vec<String> = (0..50)
        .map(|n| {
            let words = ["the cache", "tests", "no", "", " \n", "build failed in ci"];
            words[n % 6].repeat(1 + n % 3)
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = values(&embedder, &texts).await;
    for (text, found) in texts.iter().zip(&together) {
        let alone = values(&embedder, &[text]).await.remove(0);
        let length: f32 = found.iter().map(|x| x * x).sum();
        if text.trim().is_empty() {
            assert_eq!(*found, vec![0.0; 12]);
            continue;
        }
        assert!((length - 1.0).abs() < 1e-5, "{text}: {length}");
        let alone: Vec<f64> = alone.into_iter().map(f64::from).collect();
        assert!(distance(found, &alone) < 1e-5, "{text}");
    }
    assert!(embedder.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn of_a_long_text_its_beginning_counts_up_to_what_the_model_says() {
    let directory = TempDir::new().unwrap();
    let long = "the build failed in ci ".repeat(500);
    for (most, ids) in [
        (4, &[2, 4, 5, 3][..]),
        (6, &[2, 4, 5, 6, 7, 3]),
        (16, &[2, 4, 5, 6, 7, 11, 12, 4, 5, 6, 7, 11, 12, 4, 5, 3]),
    ] {
        let tiny = Tiny::new(5).set("sentence_bert_config.json", "max_seq_length", json!(most));
        let embedder = embedder(&tiny, directory.path()).await;
        let found = values(&embedder, &[&long]).await.remove(0);
        let right = normal(&mean(&words(&tiny, ids)));
        assert!(distance(&found, &right) < 1e-5, "{most}");
    }
    // Without that file, as many as the model has places.
    let other = TempDir::new().unwrap();
    let tiny = Tiny::new(5).without("sentence_bert_config.json");
    let unsaid = embedder(&tiny, other.path()).await;
    let said = embedder(&Tiny::new(5), directory.path()).await;
    let texts = [long.as_str()];
    assert_eq!(values(&unsaid, &texts).await, values(&said, &texts).await);
}

#[tokio::test]
async fn case_counts_as_the_model_says() {
    let directory = TempDir::new().unwrap();
    let cased = Tiny::new(6).with("tokenizer.json", tokenizer(false));
    let lowered = cased
        .clone()
        .set("sentence_bert_config.json", "do_lower_case", json!(true));
    for (tiny, ids) in [(cased, [2, 18, 3]), (lowered, [2, 5, 3])] {
        let embedder = embedder(&tiny, directory.path()).await;
        let found = values(&embedder, &["Build"]).await.remove(0);
        let right = normal(&mean(&words(&tiny, &ids)));
        assert!(distance(&found, &right) < 1e-5);
    }
}

#[tokio::test]
async fn a_space_is_named_by_what_the_files_hold_and_not_by_where_they_lie() {
    let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let space = embedder(&Tiny::new(7), here.path()).await.space();
    let named: Vec<&str> = space.0.split('/').collect();
    assert_eq!((named[0], named[1].len(), named[2]), ("sentence", 32, "12"));
    let elsewhere = embedder(&Tiny::new(7), there.path()).await;
    assert_eq!(elsewhere.space(), space);
    let length = json!(8);
    let pooling = Tiny::new(7).pooling("cls_token");
    for other in [
        Tiny::new(8),
        Tiny::new(7).with("1_Pooling/config.json", pooling),
        Tiny::new(7).set("sentence_bert_config.json", "max_seq_length", length),
        Tiny::new(7).without("sentence_bert_config.json"),
        Tiny::new(7).with("tokenizer.json", tokenizer(false)),
    ] {
        let directory = TempDir::new().unwrap();
        assert_ne!(embedder(&other, directory.path()).await.space(), space);
    }
}

#[tokio::test]
async fn files_of_newer_and_older_versions_say_the_same() {
    let directory = TempDir::new().unwrap();
    let older = embedder(&Tiny::new(9), directory.path()).await;
    let newer = Tiny::new(9)
        .with("1_Pooling/config.json", json!({"embedding_dimension": 12, "pooling_mode": "mean"}))
        .with(
            "modules.json",
            json!([
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
            ]),
        );
    let other = TempDir::new().unwrap();
    let newer = embedder(&newer, other.path()).await;
    assert_eq!(
        values(&newer, &texts()).await,
        values(&older, &texts()).await
    );
}

#[tokio::test]
async fn weights_of_half_precision_are_computed_with_single() {
    let directory = TempDir::new().unwrap();
    let mut tiny = Tiny::new(12);
    for (_, values) in tiny.weights.values_mut() {
        for value in values {
            *value = f32::from_bits(value.to_bits() & 0xffff_0000);
        }
    }
    tiny.write(directory.path()).unwrap();
    let half = safetensors(&tiny.weights, Precision::Half);
    fs::write(directory.path().join("model.safetensors"), half).unwrap();
    let embedder = open(&of(directory.path())).await.unwrap();
    let found = values(&embedder, &texts()).await;
    for ((text, ids), found) in TEXTS.iter().zip(&found) {
        let right = normal(&mean(&words(&tiny, ids)));
        assert!(distance(found, &right) < 1e-5, "{text}");
    }
}

/// A model that takes a while.
async fn slow(directory: &TempDir, timeout_ms: u64) -> SentenceEmbedder {
    Tiny::sized(10, 192, 6, 12).write(directory.path()).unwrap();
    let mut config = of(directory.path());
    config.timeout_ms = timeout_ms;
    open(&config).await.unwrap()
}

#[tokio::test]
async fn work_that_takes_too_long_is_given_up_and_the_next_one_has_its_turn() {
    let directory = TempDir::new().unwrap();
    let embedder = slow(&directory, 100).await;
    let texts = vec!["the build failed in ci and the cache is stale"; 20_000];
    let refused = embedder.embed(&texts).await.unwrap_err();
    assert!(matches!(refused, PortError::Unusable(_)), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("20000 texts within 100 ms"), "{text}");
    // What had begun ends, and nothing that had not begins.
    let mut one: Result<Vec<Embedding>, PortError> = Err(refused);
    for _ in 0..100 {
        one = embedder.embed(&["tests"]).await;
        if one.is_ok() {
            break;
        }
    }
    assert_eq!(one.unwrap().len(), 1);
}

#[tokio::test]
async fn who_has_one_question_waits_for_a_batch_and_not_for_all_of_them() {
    let directory = TempDir::new().unwrap();
    let embedder = slow(&directory, 600_000).await;
    let texts = vec!["the build failed in ci"; 4_000];
    let mut many = pin!(embedder.embed(&texts));
    // By then all texts are cut, and the first batch runs.
    let begun = tokio::time::timeout(Duration::from_millis(300), &mut many).await;
    assert!(begun.is_err(), "they take seconds");
    tokio::select! {
        biased;
        _ = &mut many => panic!("the question came after all the others"),
        answered = embedder.embed(&["tests"]) => assert_eq!(answered.unwrap().len(), 1),
    }
}

#[tokio::test]
async fn who_asks_is_not_held_while_the_model_is_run() {
    let directory = TempDir::new().unwrap();
    let embedder = slow(&directory, 100).await;
    let texts = vec!["the build failed in ci"; 64];
    let mut asked = pin!(embedder.embed(&texts));
    let polled = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
}

/// To a model that knows next to no word, most texts of one length are one: the worst that a model can say.
#[tokio::test]
async fn whatever_a_model_says_no_opposites_are_merged() {
    let directory = TempDir::new().unwrap();
    let embedder = embedder(&Tiny::new(11), directory.path()).await;
    let judged = judge(&embedder, &pairs()).await.unwrap();
    assert!(judged.iter().any(|judged| judged.cosine > 0.999));
    assert!(
        judged
            .iter()
            .any(|judged| judged.outcome == Outcome::Merged)
    );
    for judged in judged {
        let is_merged = judged.outcome == Outcome::Merged;
        assert!(!is_merged || judged.pair.label.is_one(), "{judged:?}");
    }
}
