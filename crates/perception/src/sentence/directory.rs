//! The files of a sentence transformer: which there are, how they fit together, and what they hash to.
//!
//! Owns what is read from a directory and its bounds. A model is taken whole or refused: what its files ask for
//! that would not be done here makes other vectors, and nobody would notice. It must not know how a model is run.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use candle_nn::Activation;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sillok_core::limits::{EMBEDDING_DIMENSIONS_MAX, MODEL_BYTES_MAX, MODEL_TEXT_BYTES_MAX};

/// What the files are hashed with. Another number where the same files come to mean other vectors.
const HASHED_AS: &str = "sillok sentence transformer 1";

/// Why a directory holds no model that can be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// A file is not there, or cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unread {
        /// Where it was looked for.
        path: PathBuf,
        /// What stands in the way.
        source: io::Error,
    },
    /// A file is larger than any that is read.
    #[error("{path} has {bytes} bytes, and at most {most} are read")]
    TooLarge {
        /// Where it lies.
        path: PathBuf,
        /// Its bytes.
        bytes: u64,
        /// How many are read.
        most: u64,
    },
    /// A file is damaged, does not fit the others, or asks for what is not done here.
    #[error("{path} cannot be used: {why}")]
    Unusable {
        /// Where it lies.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    pub(super) fn unusable(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.into(),
            why: why.into(),
        }
    }
}

/// How the vectors of a text's words become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// That of the first word, which stands for the text.
    First,
    /// Their mean.
    Mean,
}

/// A model's files, read and found to fit one another.
pub(super) struct Files {
    pub(super) bert: Bert,
    pub(super) pooling: Pooling,
    /// Words of a text that count, with those that the tokenizer adds.
    pub(super) tokens_max: usize,
    /// Whether texts are put in lower case before anything else.
    pub(super) is_lower_case: bool,
    pub(super) tokenizer: Vec<u8>,
    pub(super) tokenizer_path: PathBuf,
    pub(super) weights: Vec<u8>,
    pub(super) weights_path: PathBuf,
    /// The hash of all that was read, in hexadecimal.
    pub(super) hash: String,
}

/// A line of `modules.json`.
#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    class: String,
}

/// `config_sentence_transformers.json`, as far as it changes vectors.
#[derive(Default, Deserialize)]
struct Prompts {
    default_prompt_name: Option<String>,
}

/// `sentence_bert_config.json`
#[derive(Default, Deserialize)]
struct Lengths {
    max_seq_length: Option<usize>,
    do_lower_case: Option<bool>,
}

/// `config.json` of any model.
#[derive(Deserialize)]
struct Named {
    model_type: Option<String>,
}

/// `config.json` of a BERT.
#[derive(Deserialize)]
pub(super) struct Bert {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) hidden_act: Activation,
    pub(super) max_position_embeddings: usize,
    pub(super) type_vocab_size: usize,
    pub(super) layer_norm_eps: f64,
    #[serde(default)]
    pub(super) pad_token_id: u32,
    position_embedding_type: Option<String>,
}

/// Reads the files of a directory, each within its bound. It blocks.
///
/// # Errors
/// [`Error`], naming the file.
pub(super) fn read(directory: &Path) -> Result<Files, Error> {
    let mut reader = Reader::new();
    let modules_path = directory.join("modules.json");
    let modules: Vec<Module> = reader.json(&modules_path)?;
    let (transformer, pooling) = places(directory, &modules, &modules_path)?;
    let prompts_path = directory.join("config_sentence_transformers.json");
    let prompts: Option<Prompts> = reader.json_if_there(&prompts_path)?;
    if let Some(prompt) = prompts.unwrap_or_default().default_prompt_name {
        let why = format!("it sets the prompt {prompt} before each text, which is not done here");
        return Err(Error::unusable(prompts_path, why));
    }
    let config_path = transformer.join("config.json");
    let bert = architecture(&mut reader, &config_path)?;
    let pooling_path = pooling.join("config.json");
    let pooling = pooling_of(&reader.json(&pooling_path)?, &pooling_path, &bert)?;
    let lengths_path = transformer.join("sentence_bert_config.json");
    let lengths: Lengths = reader.json_if_there(&lengths_path)?.unwrap_or_default();
    let tokens_max = lengths
        .max_seq_length
        .unwrap_or(bert.max_position_embeddings);
    if tokens_max == 0 || tokens_max > bert.max_position_embeddings {
        let why = format!(
            "its max_seq_length is {tokens_max}, and config.json has places for {}",
            bert.max_position_embeddings
        );
        return Err(Error::unusable(lengths_path, why));
    }
    let tokenizer_path = transformer.join("tokenizer.json");
    let tokenizer = reader.bytes(&tokenizer_path, MODEL_TEXT_BYTES_MAX)?;
    let weights_path = transformer.join("model.safetensors");
    refuse_other_weights(&transformer, &weights_path)?;
    let weights = reader.bytes(&weights_path, MODEL_BYTES_MAX)?;
    Ok(Files {
        bert,
        pooling,
        tokens_max,
        is_lower_case: lengths.do_lower_case.unwrap_or(false),
        tokenizer,
        tokenizer_path,
        weights,
        weights_path,
        hash: reader.hasher.finalize().to_hex().to_string(),
    })
}

/// The directories of the transformer and of what pools its vectors.
fn places(directory: &Path, modules: &[Module], path: &Path) -> Result<(PathBuf, PathBuf), Error> {
    // Where a class lies within its package has changed from version to version; its name has not.
    let class = |module: &Module| module.class.rsplit('.').next().map(str::to_owned);
    let classes: Vec<String> = modules.iter().filter_map(class).collect();
    let known = ["Transformer", "Pooling", "Normalize"];
    let is_known = (2..=3).contains(&classes.len())
        && classes
            .iter()
            .zip(known)
            .all(|(class, known)| class == known);
    if !is_known {
        let why = format!(
            "it lists {}, and what can be run here is Transformer, Pooling and at most Normalize",
            classes.join(", ")
        );
        return Err(Error::unusable(path, why));
    }
    let below = |module: &Module| {
        let named = Path::new(&module.path);
        let is_below = named
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        is_below.then(|| directory.join(named)).ok_or_else(|| {
            let why = format!("its path {} leads elsewhere", module.path);
            Error::unusable(path, why)
        })
    };
    Ok((below(&modules[0])?, below(&modules[1])?))
}

/// The architecture that `config.json` describes, where it is one that can be run.
fn architecture(reader: &mut Reader, path: &Path) -> Result<Bert, Error> {
    let bytes = reader.bytes(path, MODEL_TEXT_BYTES_MAX)?;
    let named: Named = parsed(&bytes, path)?;
    let name = named.model_type.unwrap_or_default();
    if name != "bert" {
        let why = format!("its model_type is \"{name}\", and what can be run here is \"bert\"");
        return Err(Error::unusable(path, why));
    }
    let bert: Bert = parsed(&bytes, path)?;
    match misfit(&bert) {
        Some(why) => Err(Error::unusable(path, why)),
        None => Ok(bert),
    }
}

/// What of an architecture cannot be run.
fn misfit(bert: &Bert) -> Option<String> {
    let (size, heads) = (bert.hidden_size, bert.num_attention_heads);
    let places = bert.position_embedding_type.as_deref();
    if !matches!(places, None | Some("absolute")) {
        return Some("its position_embedding_type is not \"absolute\"".to_owned());
    }
    let act = bert.hidden_act;
    let known = [
        Activation::Gelu,
        Activation::NewGelu,
        Activation::GeluPytorchTanh,
        Activation::Relu,
    ];
    if !known.contains(&act) {
        return Some(format!("its hidden_act, {act:?}, is none of BERT's"));
    }
    if size > EMBEDDING_DIMENSIONS_MAX {
        return Some(format!(
            "its vectors have {size} coordinates, and at most {EMBEDDING_DIMENSIONS_MAX} are stored"
        ));
    }
    if size == 0 || heads == 0 || !size.is_multiple_of(heads) {
        return Some(format!("{heads} heads do not share {size} coordinates"));
    }
    let is_outside = u64::from(bert.pad_token_id) >= bert.vocab_size as u64;
    is_outside.then(|| "its pad_token_id is over its vocab_size".to_owned())
}

/// How vectors are pooled, by the flags of older versions or the word of newer ones.
fn pooling_of(said: &serde_json::Value, path: &Path, bert: &Bert) -> Result<Pooling, Error> {
    const FLAG: &str = "pooling_mode_";
    let fields = said.as_object().into_iter().flatten();
    let set = fields.filter_map(|(key, value)| match key.strip_prefix(FLAG) {
        Some(mode) => (value.as_bool() == Some(true)).then(|| mode.to_owned()),
        None if key == "pooling_mode" => Some(value.as_str().unwrap_or_default().to_owned()),
        None => None,
    });
    let mut modes: Vec<String> = set.collect();
    modes.sort();
    let pooling = match modes.join(" and ").as_str() {
        "cls" | "cls_token" | "cls and cls_token" => Pooling::First,
        "mean" | "mean_tokens" | "mean and mean_tokens" => Pooling::Mean,
        other => {
            let why = format!("it pools by \"{other}\", and what can be run here is mean or cls");
            return Err(Error::unusable(path, why));
        }
    };
    let width = ["word_embedding_dimension", "embedding_dimension"]
        .iter()
        .find_map(|key| said.get(key)?.as_u64());
    match width {
        Some(width) if width != bert.hidden_size as u64 => {
            let size = bert.hidden_size;
            let why = format!("it is of {width} coordinates, and config.json of {size}");
            Err(Error::unusable(path, why))
        }
        _ => Ok(pooling),
    }
}

/// Says what there is in place of the weights, where they are missing.
fn refuse_other_weights(directory: &Path, weights: &Path) -> Result<(), Error> {
    if weights.exists() {
        return Ok(());
    }
    let others = [
        (
            "model.safetensors.index.json",
            "its weights are in several files, and one model.safetensors can be read",
        ),
        (
            "pytorch_model.bin",
            "its weights are a pickle, which can run any code and is never opened; what can be read is \
             model.safetensors",
        ),
    ];
    for (name, why) in others {
        let path = directory.join(name);
        if path.exists() {
            return Err(Error::unusable(path, why));
        }
    }
    Ok(())
}

/// Reads files, and hashes what it read.
struct Reader {
    hasher: blake3::Hasher,
}

impl Reader {
    fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(HASHED_AS.as_bytes());
        Self { hasher }
    }

    fn json<T: DeserializeOwned>(&mut self, path: &Path) -> Result<T, Error> {
        let bytes = self.bytes(path, MODEL_TEXT_BYTES_MAX)?;
        parsed(&bytes, path)
    }

    fn json_if_there<T: DeserializeOwned>(&mut self, path: &Path) -> Result<Option<T>, Error> {
        if path.exists() {
            return self.json(path).map(Some);
        }
        // That it is missing says something, too.
        self.hasher.update(&u64::MAX.to_le_bytes());
        Ok(None)
    }

    /// A file, whose length is hashed before its bytes, so that no two files pass for one. The order in which
    /// they are read is always the same.
    fn bytes(&mut self, path: &Path, most: u64) -> Result<Vec<u8>, Error> {
        let unread = |source: io::Error| Error::Unread {
            path: path.to_owned(),
            source,
        };
        // Before it is opened: to open a pipe is to wait for whoever writes.
        let found = fs::metadata(path).map_err(unread)?;
        if !found.is_file() {
            return Err(Error::unusable(path, "it is no file"));
        }
        let too_large = |bytes: u64| Error::TooLarge {
            path: path.to_owned(),
            bytes,
            most,
        };
        if found.len() > most {
            return Err(too_large(found.len()));
        }
        let file = File::open(path).map_err(unread)?;
        let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default());
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(unread)?;
        let length = bytes.len() as u64;
        if length > most {
            return Err(too_large(length));
        }
        self.hasher.update(&length.to_le_bytes());
        self.hasher.update(&bytes);
        Ok(bytes)
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::unusable(path, error.to_string()))
}
