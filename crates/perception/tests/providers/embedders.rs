//! Embedders: both forms, the order and length of vectors, and answers that are none.

use std::io::Write as _;

use serde_json::{Value, json};
use sillok_core::ports::{Embedder as _, PortError};
use sillok_perception::{EmbedderConfig, EmbedderProvider, ModelEmbedder};

use super::cognifiers::KEY;
use super::server::{Answer, Server};

const BOTH: [EmbedderProvider; 2] = [EmbedderProvider::Openai, EmbedderProvider::Ollama];

fn embedder(provider: EmbedderProvider, server: &Server) -> ModelEmbedder {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{KEY}").unwrap();
    let config = EmbedderConfig {
        provider,
        model: "test-model".to_owned(),
        endpoint: server.url.clone(),
        api_key_file: file.path().to_owned(),
        dimensions: 2,
        batch_texts: 2,
        text_chars_max: 100,
        answer_bytes_max: 64 << 10,
        ..EmbedderConfig::default()
    };
    ModelEmbedder::new(&config).unwrap().unwrap()
}

/// An answer with these vectors. The first form names the place of each, so it may give the last one first.
fn vectors(provider: EmbedderProvider, vectors: &[Value]) -> Answer {
    let places = vectors.iter().enumerate().rev();
    let data = places.map(|(index, vector)| json!({ "index": index, "embedding": vector }));
    Answer::Json(
        200,
        match provider {
            EmbedderProvider::Openai => json!({
                "object": "list", "model": "test-model", "data": data.collect::<Value>(),
                "usage": { "prompt_tokens": 3, "total_tokens": 3 },
            }),
            _ => json!({ "model": "test-model", "embeddings": vectors, "prompt_eval_count": 3 }),
        },
    )
}

#[tokio::test]
async fn both_forms_are_spoken_in_batches_and_vectors_come_in_order_and_of_length_one() {
    for provider in BOTH {
        let answer = vectors(provider, &[json!([3, 4]), json!([0, -2])]);
        let server = Server::answering(answer).await;
        let embedder = embedder(provider, &server);
        let long = "긴 글 ".repeat(100);
        let texts = ["one", "two", " ", "three", &long];
        let embeddings = embedder.embed(&texts).await.unwrap();
        let values: Vec<&[f32]> = embeddings.iter().map(|one| one.values.as_slice()).collect();
        let expected: [&[f32]; 5] = [
            &[0.6, 0.8],
            &[0.0, -1.0],
            &[0.0, 0.0],
            &[0.6, 0.8],
            &[0.0, -1.0],
        ];
        assert_eq!(values, expected, "{provider:?}");
        let name = format!("{provider:?}").to_lowercase();
        assert_eq!(embedder.space().0, format!("{name}/test-model/2"));
        assert!(embeddings.iter().all(|one| one.space == embedder.space()));
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "a blank text is not asked for");
        assert_eq!(requests[0].body["input"], json!(["one", "two"]));
        let cut: String = long.chars().take(100).collect();
        assert_eq!(requests[1].body["input"], json!(["three", cut]));
        let is_keyed = requests[0].header("authorization") == Some(&format!("Bearer {KEY}"));
        assert_eq!(is_keyed, provider == EmbedderProvider::Openai);
        let path = match provider {
            EmbedderProvider::Openai => "/base/embeddings",
            _ => "/base/api/embed",
        };
        assert_eq!(requests[0].path, path);
    }
}

#[tokio::test]
async fn what_is_no_vector_of_the_space_is_refused() {
    let huge = Value::Array(vec![json!(1); 40_000]);
    for provider in BOTH {
        let fine = json!([3, 4]);
        for wrong in [
            vec![],
            vec![fine.clone()],
            vec![fine.clone(), fine.clone(), fine.clone()],
            vec![fine.clone(), json!([1, 2, 3])],
            vec![fine.clone(), json!([0, 0])],
            vec![fine.clone(), json!([1e39, 1])],
            vec![fine.clone(), json!(["1", 1])],
            vec![fine.clone(), json!([null, 1])],
            vec![fine.clone(), json!(null)],
            vec![fine.clone(), huge.clone()],
        ] {
            let server = Server::answering(vectors(provider, &wrong)).await;
            let refused = embedder(provider, &server).embed(&["one", "two"]).await;
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, PortError::Unusable(_)),
                "{provider:?} {refused}"
            );
        }
        for status in [408, 429, 500, 502, 504] {
            let server = Server::answering(Answer::Json(status, json!({ "key": KEY }))).await;
            let refused = embedder(provider, &server)
                .embed(&["one"])
                .await
                .unwrap_err();
            assert!(matches!(&refused, PortError::Unavailable(why) if !why.contains(KEY)));
        }
    }
}

#[tokio::test]
async fn two_vectors_of_one_text_are_not_two() {
    let twice = json!({
        "object": "list", "model": "test-model", "usage": { "prompt_tokens": 3, "total_tokens": 3 },
        "data": [{ "index": 0, "embedding": [3, 4] }, { "index": 0, "embedding": [4, 3] }],
    });
    let server = Server::answering(Answer::Json(200, twice)).await;
    let refused = embedder(EmbedderProvider::Openai, &server)
        .embed(&["one", "two"])
        .await;
    assert!(matches!(refused.unwrap_err(), PortError::Unusable(_)));
}

#[tokio::test]
async fn feature_hashing_is_no_model() {
    assert!(
        ModelEmbedder::new(&EmbedderConfig::default())
            .unwrap()
            .is_none()
    );
}
