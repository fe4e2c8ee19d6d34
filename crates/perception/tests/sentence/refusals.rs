//! What is no model that can be run: refused when it is opened, in a line that names the file.

use std::fs::{self, File};
use std::path::Path;

use serde_json::json;
use sillok_core::limits::{EMBEDDING_DIMENSIONS_MAX, MODEL_BYTES_MAX};
use tempfile::TempDir;

use sillok_sentence_model::{Precision, Tiny, modules, safetensors};

use crate::opened::{embedder, of, open};

/// Why a directory is refused.
async fn refusal(directory: &Path) -> String {
    let Err(refused) = open(&of(directory)).await else {
        panic!("{} was opened", directory.display());
    };
    let text = refused.to_string();
    assert!(
        text.starts_with("configuration embedder.directory names what"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

async fn is_refused(tiny: &Tiny, file: &str, why: &str) {
    let directory = TempDir::new().unwrap();
    tiny.write(directory.path()).unwrap();
    let text = refusal(directory.path()).await;
    assert!(
        text.contains(file) && text.contains(why),
        "{file}, {why}: {text}"
    );
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let directory = TempDir::new().unwrap();
    let text = refusal(&directory.path().join("nowhere")).await;
    assert!(
        text.contains("nowhere/modules.json cannot be read"),
        "{text}"
    );
    for file in [
        "modules.json",
        "1_Pooling/config.json",
        "config.json",
        "tokenizer.json",
    ] {
        is_refused(&Tiny::new(1).without(file), file, "cannot be read").await;
    }
    Tiny::new(1).write(directory.path()).unwrap();
    let weights = directory.path().join("model.safetensors");
    fs::remove_file(&weights).unwrap();
    let text = refusal(directory.path()).await;
    assert!(text.contains("model.safetensors cannot be read"), "{text}");
    // A pickle is not opened, whatever is in it.
    fs::write(directory.path().join("pytorch_model.bin"), "cos\nsystem\n").unwrap();
    let text = refusal(directory.path()).await;
    assert!(
        text.contains("pytorch_model.bin") && text.contains("pickle"),
        "{text}"
    );
    fs::write(directory.path().join("model.safetensors.index.json"), "{}").unwrap();
    let text = refusal(directory.path()).await;
    assert!(text.contains("several files"), "{text}");
    fs::create_dir(&weights).unwrap();
    let text = refusal(directory.path()).await;
    assert!(text.contains("it is no file"), "{text}");
}

#[tokio::test]
async fn what_would_make_other_vectors_is_refused_by_its_name() {
    let of = || Tiny::new(2);
    for (field, value, why) in [
        ("model_type", json!("mpnet"), "\"mpnet\""),
        ("model_type", json!(null), "\"\""),
        ("hidden_act", json!("silu"), "Silu"),
        ("hidden_act", json!("abacus"), "unknown variant"),
        (
            "position_embedding_type",
            json!("relative_key"),
            "position_embedding_type",
        ),
        ("num_attention_heads", json!(5), "5 heads"),
        ("num_attention_heads", json!(0), "0 heads"),
        ("pad_token_id", json!(20), "pad_token_id"),
        ("vocab_size", json!("many"), "invalid type"),
    ] {
        is_refused(&of().set("config.json", field, value), "config.json", why).await;
    }
    for mode in ["max_tokens", "none"] {
        let pooling = of().pooling(mode);
        let tiny = of().with("1_Pooling/config.json", pooling);
        is_refused(&tiny, "1_Pooling/config.json", "it pools by").await;
    }
    let both = of().set(
        "1_Pooling/config.json",
        "pooling_mode_cls_token",
        json!(true),
    );
    is_refused(&both, "1_Pooling/config.json", "cls_token and mean_tokens").await;
    let wide = of().set(
        "1_Pooling/config.json",
        "word_embedding_dimension",
        json!(13),
    );
    is_refused(&wide, "1_Pooling/config.json", "13 coordinates").await;
    for classes in [
        &["Transformer", "Pooling", "Dense"][..],
        &["Transformer", "Pooling", "Normalize", "Normalize"],
        &["StaticEmbedding"],
        &[],
    ] {
        let tiny = of().with("modules.json", modules(classes));
        is_refused(&tiny, "modules.json", &classes.join(", ")).await;
    }
    let mut elsewhere = modules(&["Transformer", "Pooling"]);
    elsewhere[1]["path"] = json!("../other");
    is_refused(
        &of().with("modules.json", elsewhere),
        "modules.json",
        "leads elsewhere",
    )
    .await;
    let prompts = json!({"prompts": {"query": "query: "}, "default_prompt_name": "query"});
    let prompted = of().with("config_sentence_transformers.json", prompts);
    is_refused(
        &prompted,
        "config_sentence_transformers.json",
        "the prompt query",
    )
    .await;
    let long = of().set("sentence_bert_config.json", "max_seq_length", json!(17));
    is_refused(&long, "sentence_bert_config.json", "places for 16").await;
}

#[tokio::test]
async fn prompts_that_nothing_is_set_before_are_no_reason() {
    let directory = TempDir::new().unwrap();
    let prompts = json!({"prompts": {"query": "query: "}, "default_prompt_name": null});
    let tiny = Tiny::new(2).with("config_sentence_transformers.json", prompts);
    embedder(&tiny, directory.path()).await;
}

#[tokio::test]
async fn a_tokenizer_of_another_model_is_refused() {
    let few = Tiny::new(3).set("config.json", "vocab_size", json!(19));
    is_refused(
        &few,
        "tokenizer.json",
        "20 words, and config.json a vocabulary of 19",
    )
    .await;
    let none = Tiny::new(3).with("tokenizer.json", json!({"model": {"type": "Abacus"}}));
    is_refused(&none, "tokenizer.json", "cannot be used").await;
    let short = Tiny::new(3).set("sentence_bert_config.json", "max_seq_length", json!(2));
    is_refused(&short, "tokenizer.json", "adds 2 words").await;
}

#[tokio::test]
async fn vectors_are_no_longer_than_the_index_takes_and_as_long_as_configured() {
    let long = EMBEDDING_DIMENSIONS_MAX + 12;
    let tiny = Tiny::new(4).set("config.json", "hidden_size", json!(long));
    is_refused(&tiny, "config.json", "at most 4096 are stored").await;
    let directory = TempDir::new().unwrap();
    Tiny::new(4).write(directory.path()).unwrap();
    let mut config = of(directory.path());
    config.dimensions = 12;
    open(&config).await.unwrap();
    config.dimensions = 384;
    let text = open(&config).await.err().unwrap().to_string();
    assert!(
        text.contains("12 coordinates, and embedder.dimensions is 384"),
        "{text}"
    );
}

#[tokio::test]
async fn damaged_weights_are_refused_wherever_they_are_cut() {
    let directory = TempDir::new().unwrap();
    let tiny = Tiny::new(5);
    tiny.write(directory.path()).unwrap();
    let weights = directory.path().join("model.safetensors");
    let whole = safetensors(&tiny.weights, Precision::Single);
    let header = usize::try_from(u64::from_le_bytes(whole[..8].try_into().unwrap())).unwrap();
    for cut in [0, 7, 8, 100, 8 + header, whole.len() / 2, whole.len() - 1] {
        fs::write(&weights, &whole[..cut]).unwrap();
        let text = refusal(directory.path()).await;
        assert!(text.contains("model.safetensors"), "{cut}: {text}");
    }
    let mut endless = whole.clone();
    endless[..8].fill(0xff);
    let mut garbled = whole.clone();
    garbled[8..40].fill(b'?');
    let mut longer = whole.clone();
    longer.extend([0; 4]);
    for bytes in [endless, garbled, longer] {
        fs::write(&weights, bytes).unwrap();
        let text = refusal(directory.path()).await;
        assert!(text.contains("model.safetensors"), "{text}");
    }
    fs::write(&weights, whole).unwrap();
    open(&of(directory.path())).await.unwrap();
}

#[tokio::test]
async fn weights_of_another_model_are_refused() {
    let mut less = Tiny::new(6);
    less.weights
        .remove("encoder.layer.1.output.dense.bias")
        .unwrap();
    is_refused(
        &less,
        "model.safetensors",
        "encoder.layer.1.output.dense.bias",
    )
    .await;
    let mut other = Tiny::new(6);
    let table = other.weights.get_mut("embeddings.word_embeddings.weight");
    table.unwrap().0.reverse();
    is_refused(
        &other,
        "model.safetensors",
        "embeddings.word_embeddings.weight",
    )
    .await;
    let mut blank = Tiny::new(6);
    let norm = blank
        .weights
        .get_mut("encoder.layer.1.output.LayerNorm.bias");
    norm.unwrap().1.fill(f32::NAN);
    is_refused(&blank, "model.safetensors", "without a direction").await;
}

#[tokio::test]
async fn files_over_their_bounds_are_not_read() {
    for (file, bytes) in [
        ("model.safetensors", MODEL_BYTES_MAX),
        ("tokenizer.json", 64 << 20),
    ] {
        let directory = TempDir::new().unwrap();
        Tiny::new(7).write(directory.path()).unwrap();
        // A hole, which takes no room on the disk.
        let large = File::create(directory.path().join(file)).unwrap();
        large.set_len(bytes + 1).unwrap();
        let text = refusal(directory.path()).await;
        let why = format!(
            "{file} has {} bytes, and at most {bytes} are read",
            bytes + 1
        );
        assert!(text.contains(&why), "{text}");
    }
}
