//! A tiny BERT, with weights drawn from a seed, as the files of a sentence transformer.
//!
//! Owns what is written to a directory, byte by byte: none of the crates that read such files made these. It must not
//! know how they are read.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use serde_json::{Value, json};

/// The vocabulary, each word at its place.
pub const WORDS: [&str; 20] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "build", "fail", "##ed", "test", "##s", "pass",
    "in", "ci", "a", "cache", "is", "stale", "no", "Build", "port",
];

/// Shapes and values of weights, by name.
pub type Weights = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// A model and what its files say.
#[derive(Clone)]
pub struct Tiny {
    /// Coordinates of every vector.
    pub hidden: usize,
    /// Heads that share them.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Coordinates between the two halves of a layer.
    pub intermediate: usize,
    /// Places that a word can stand at.
    pub places: usize,
    /// The function between those halves, as `config.json` names it.
    pub act: &'static str,
    /// The weights.
    pub weights: Weights,
    /// Each file but the weights.
    pub files: BTreeMap<&'static str, Value>,
}

impl Tiny {
    /// One of 12 coordinates.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::sized(seed, 12, 3, 2)
    }

    /// One of another size.
    #[must_use]
    pub fn sized(seed: u64, hidden: usize, heads: usize, layers: usize) -> Self {
        let mut tiny = Self {
            hidden,
            heads,
            layers,
            intermediate: hidden * 2,
            places: 16,
            act: "gelu",
            weights: Weights::new(),
            files: BTreeMap::new(),
        };
        tiny.weights = tiny.drawn(seed);
        tiny.files = BTreeMap::from([
            (
                "modules.json",
                modules(&["Transformer", "Pooling", "Normalize"]),
            ),
            ("1_Pooling/config.json", tiny.pooling("mean_tokens")),
            ("config.json", tiny.config()),
            (
                "sentence_bert_config.json",
                json!({"max_seq_length": 16, "do_lower_case": false}),
            ),
            ("tokenizer.json", tokenizer(true)),
        ]);
        tiny
    }

    /// Sets a field of a file.
    ///
    /// # Panics
    /// When there is no such file, or it has no fields.
    #[must_use]
    pub fn set(mut self, file: &'static str, field: &str, value: Value) -> Self {
        let fields = self.files.get_mut(file).and_then(Value::as_object_mut);
        let fields = fields.expect("the file is there, and has fields");
        fields.insert(field.to_owned(), value);
        self
    }

    /// Puts another file in the place of one.
    #[must_use]
    pub fn with(mut self, file: &'static str, value: Value) -> Self {
        self.files.insert(file, value);
        self
    }

    /// Takes a file out.
    #[must_use]
    pub fn without(mut self, file: &str) -> Self {
        self.files.remove(file);
        self
    }

    /// `1_Pooling/config.json` with this mode set, as older versions write it.
    #[must_use]
    pub fn pooling(&self, mode: &str) -> Value {
        let mut flags = json!({"word_embedding_dimension": self.hidden});
        for known in ["cls_token", "mean_tokens", "max_tokens"] {
            flags[format!("pooling_mode_{known}")] = json!(known == mode);
        }
        flags
    }

    fn config(&self) -> Value {
        json!({
            "architectures": ["BertModel"],
            "model_type": "bert",
            "vocab_size": WORDS.len(),
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "intermediate_size": self.intermediate,
            "hidden_act": self.act,
            "max_position_embeddings": self.places,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
            "position_embedding_type": "absolute",
            "transformers_version": "4.8.2",
        })
    }

    fn drawn(&self, seed: u64) -> Weights {
        let mut state = seed;
        let mut weights = Weights::new();
        let (h, i) = (self.hidden, self.intermediate);
        // Small ones where there are many of them, so that sums stay of one size.
        let wide = u16::try_from(h).expect("a tiny model is tiny");
        let narrow = 1.5 / f32::from(wide).sqrt();
        let mut put = |name: &str, shape: &[usize], middle: f32, width: f32| {
            let count = shape.iter().product();
            let values = (0..count).map(|_| middle + width * next(&mut state));
            weights.insert(name.to_owned(), (shape.to_vec(), values.collect()));
        };
        put(
            "embeddings.word_embeddings.weight",
            &[WORDS.len(), h],
            0.0,
            1.0,
        );
        put(
            "embeddings.position_embeddings.weight",
            &[self.places, h],
            0.0,
            0.5,
        );
        put("embeddings.token_type_embeddings.weight", &[2, h], 0.0, 0.5);
        put("embeddings.LayerNorm.weight", &[h], 1.0, 0.3);
        put("embeddings.LayerNorm.bias", &[h], 0.0, 0.3);
        for layer in 0..self.layers {
            for (name, shape) in [
                ("attention.self.query", [h, h]),
                ("attention.self.key", [h, h]),
                ("attention.self.value", [h, h]),
                ("attention.output.dense", [h, h]),
                ("intermediate.dense", [i, h]),
                ("output.dense", [h, i]),
            ] {
                let name = format!("encoder.layer.{layer}.{name}");
                put(&format!("{name}.weight"), &shape, 0.0, narrow);
                put(&format!("{name}.bias"), &shape[..1], 0.0, 0.3);
            }
            for name in ["attention.output", "output"] {
                let name = format!("encoder.layer.{layer}.{name}.LayerNorm");
                put(&format!("{name}.weight"), &[h], 1.0, 0.3);
                put(&format!("{name}.bias"), &[h], 0.0, 0.3);
            }
        }
        weights
    }

    /// Writes all files.
    ///
    /// # Errors
    /// The disk takes no more.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        for (name, value) in &self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, value.to_string())?;
        }
        fs::write(
            directory.join("model.safetensors"),
            safetensors(&self.weights, Precision::Single),
        )
    }
}

/// Between -1 and 1: SplitMix64.
fn next(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let bits = u16::try_from((mixed ^ (mixed >> 31)) >> 48).expect("16 bits are left");
    f32::from(bits) / 32_768.0 - 1.0
}

/// How wide a number is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// The upper 16 of them (`BF16`).
    Half,
}

/// The form of safetensors: the length of a header, the header, and all values.
#[must_use]
pub fn safetensors(weights: &Weights, precision: Precision) -> Vec<u8> {
    let (name_of_type, skipped) = match precision {
        Precision::Single => ("F32", 0),
        Precision::Half => ("BF16", 2),
    };
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, (shape, values)) in weights {
        let begin = data.len();
        for value in values {
            data.extend_from_slice(&value.to_le_bytes()[skipped..]);
        }
        let place =
            json!({"dtype": name_of_type, "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert(name.clone(), place);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.into_bytes());
    bytes.extend(data);
    bytes
}

/// `modules.json` with modules of these classes.
#[must_use]
pub fn modules(classes: &[&str]) -> Value {
    let module = |(place, class): (usize, &&str)| {
        let path = if place == 0 {
            String::new()
        } else {
            format!("{place}_{class}")
        };
        let class = format!("sentence_transformers.models.{class}");
        json!({"idx": place, "name": place.to_string(), "path": path, "type": class})
    };
    classes.iter().enumerate().map(module).collect()
}

/// A WordPiece tokenizer. Its own ideas of where texts end and how they are filled up are wrong.
#[must_use]
pub fn tokenizer(is_lower_case: bool) -> Value {
    let special = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let text = |name: &str, sentence: u32| json!({"Sequence": {"id": name, "type_id": sentence}});
    let added = WORDS[..4].iter().enumerate().map(|(id, word)| {
        json!({"id": id, "content": word, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    });
    let vocabulary = WORDS.iter().enumerate();
    let vocabulary: serde_json::Map<String, Value> = vocabulary
        .map(|(id, word)| ((*word).to_owned(), json!(id)))
        .collect();
    json!({
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
                    "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": is_lower_case},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), text("A", 0), special("[SEP]")],
            "pair": [special("[CLS]"), text("A", 0), special("[SEP]"), text("B", 1)],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            },
        },
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}
