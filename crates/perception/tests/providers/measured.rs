//! Measuring how a provider's model tells lessons apart: what arguments ask for, and the pairs judged by what it answers.

use serde_json::{Value, json};
use sillok_pairs::{judge, pairs};
use sillok_perception::EmbedderProvider;

use super::asked::{Asked, asked, embedder};
use super::server::{Answer, Server};

fn read(line: &str) -> Result<Asked, String> {
    let words = line.split_whitespace().map(str::to_owned);
    asked(words).map_err(|error| error.to_string())
}

/// A model to which all texts say the same, in the form of either provider.
fn alike(body: &Value) -> Value {
    let texts = body["input"].as_array().map_or(1, Vec::len);
    let vector = json!([3, 0, 4]);
    let data = (0..texts).map(|index| json!({ "index": index, "embedding": vector }));
    json!({
        "object": "list", "model": "test-model", "data": data.collect::<Value>(),
        "usage": { "prompt_tokens": 3, "total_tokens": 3 },
        "embeddings": vec![vector.clone(); texts], "prompt_eval_count": 3,
    })
}

#[tokio::test]
async fn the_pairs_are_judged_by_the_vectors_of_a_providers_model() {
    for (provider, path) in [
        ("ollama", "/base/api/embed"),
        ("openai", "/base/embeddings"),
    ] {
        let server = Server::answering(Answer::Made(alike)).await;
        let line = format!(
            "--provider {provider} --model test-model --url {} --merge 0.9 --similar 0.8 --list",
            server.url
        );
        let Asked { config, is_listed } = read(&line).unwrap();
        assert!(is_listed);
        let batch_texts = config.batch_texts;
        let embedder = embedder(config).await.unwrap();
        // Nobody said how many coordinates there are.
        assert_eq!(embedder.space().0, format!("{provider}/test-model/3"));
        let thresholds = embedder.thresholds();
        assert!((thresholds.merge - 0.9).abs() < 1e-6 && (thresholds.similar - 0.8).abs() < 1e-6);
        let pairs = pairs();
        let judged = judge(embedder.as_ref(), &pairs).await.unwrap();
        assert_eq!(judged.len(), pairs.len());
        assert!(judged.iter().all(|one| (one.cosine - 1.0).abs() < 1e-3));
        let requests = server.requests();
        let batches = (pairs.len() * 2).div_ceil(batch_texts);
        assert_eq!(
            requests.len(),
            1 + batches,
            "the coordinates, and every batch"
        );
        assert!(requests.iter().all(|request| request.path == path));
    }
}

#[tokio::test]
async fn a_model_that_says_nothing_has_no_coordinates() {
    let none = json!({
        "object": "list", "model": "test-model", "data": [], "embeddings": [],
        "usage": { "prompt_tokens": 3, "total_tokens": 3 }, "prompt_eval_count": 3,
    });
    for provider in ["ollama", "openai"] {
        let server = Server::answering(Answer::Json(200, none.clone())).await;
        let line = format!("test-model --provider {provider} --url {}", server.url);
        let refused = embedder(read(&line).unwrap().config).await.err().unwrap();
        assert!(refused.to_string().contains("test-model"), "{refused}");
    }
}

#[tokio::test]
async fn a_key_is_looked_for_where_the_configuration_would() {
    let line = "test-model --provider openai --dimensions 8 --api-key-env SILLOK_TESTS_NO_SUCH_KEY";
    let asked = read(line).unwrap();
    assert_eq!(asked.config.api_key_env, "SILLOK_TESTS_NO_SUCH_KEY");
    let refused = embedder(asked.config).await.err().unwrap().to_string();
    assert!(refused.contains("SILLOK_TESTS_NO_SUCH_KEY"), "{refused}");
}

#[test]
fn a_name_alone_is_that_of_a_sentence_transformer() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let asked = read(&format!("{here} --merge 0.9")).unwrap();
    assert_eq!(asked.config.provider, EmbedderProvider::Sentence);
    assert_eq!(asked.config.directory, folder.path());
    let asked = read("intfloat/multilingual-e5-small").unwrap();
    assert_eq!(asked.config.provider, EmbedderProvider::Sentence);
    assert_eq!(asked.config.model, "intfloat/multilingual-e5-small");
    // To a provider a name is a name, whatever lies here.
    let asked = read(&format!("{here} --provider ollama")).unwrap();
    assert_eq!(asked.config.model, here);
}

#[test]
fn what_nobody_can_measure_is_refused() {
    for (line, words) in [
        ("", "no model"),
        ("--provider ollama", "no model"),
        ("test-model --provider gemini", "gemini"),
        ("test-model --provider", "--provider wants a value"),
        ("test-model --speed 3", "--speed"),
        ("test-model --merge much", "invalid float"),
    ] {
        let refused = read(line).err().unwrap();
        assert!(refused.contains(words), "{line}: {refused}");
    }
}
