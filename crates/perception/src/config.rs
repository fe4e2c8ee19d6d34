//! `[cognifier]` and `[embedder]`: which engine draws knowledge, which makes vectors, and where they are.
//!
//! Owns names, defaults and ranges. It must not know how a model is asked.

use std::path::{Path, PathBuf};

use reqwest::Url;
use serde::{Deserialize, Serialize};
use sillok_core::limits::EMBEDDING_DIMENSIONS_MAX;

use crate::Error;
use crate::model::Provider;
use crate::sentence::hub::{Model, revision_of};

/// Which engine draws knowledge from records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CognifierProvider {
    /// The rules of this program: no model, no network.
    #[default]
    Builtin,
    /// An endpoint that speaks as OpenAI's chat completions do.
    Openai,
    /// Gemini.
    Gemini,
    /// Anthropic.
    Anthropic,
    /// Ollama.
    Ollama,
}

impl CognifierProvider {
    /// Whose model it asks; none for the rules of this program.
    pub(crate) const fn model(self) -> Option<Provider> {
        match self {
            Self::Builtin => None,
            Self::Openai => Some(Provider::OpenAi),
            Self::Gemini => Some(Provider::Gemini),
            Self::Anthropic => Some(Provider::Anthropic),
            Self::Ollama => Some(Provider::Ollama),
        }
    }
}

/// Which engine turns texts into vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderProvider {
    /// Feature hashing: no model, no network.
    #[default]
    Builtin,
    /// An endpoint that speaks as OpenAI's embeddings do.
    Openai,
    /// Ollama.
    Ollama,
    /// A sentence transformer that runs in this process.
    Sentence,
}

impl EmbedderProvider {
    /// Whose model it asks; none for feature hashing, and for what runs in this process.
    pub(crate) const fn model(self) -> Option<Provider> {
        match self {
            Self::Builtin | Self::Sentence => None,
            Self::Openai => Some(Provider::OpenAi),
            Self::Ollama => Some(Provider::Ollama),
        }
    }
}

/// `[cognifier]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CognifierConfig {
    /// Which engine draws knowledge. All that follows here is of those that ask a model.
    pub provider: CognifierProvider,
    /// The model. Empty: `gemini-1.5-flash` where Gemini is asked; the others have none to begin with.
    pub model: String,
    /// Where the model is, up to what the provider's own paths follow. Empty: the provider's own place.
    pub endpoint: String,
    /// The environment variable that holds the provider's key. Empty: see `api_key_file`.
    pub api_key_env: String,
    /// The file that holds the provider's key. Empty: see `api_key_env`.
    pub api_key_file: PathBuf,
    /// How long one call may take, with the wait for its turn, in ms.
    pub timeout_ms: u64,
    /// Bytes of one answer, with its headers.
    pub answer_bytes_max: usize,
    /// Tokens of one answer that the model is asked for at most.
    pub answer_tokens_max: u32,
    /// Characters of a task that the model is given at most, beside its instructions. Of longer tasks it is given
    /// whole records from the beginning and the end.
    pub input_chars_max: usize,
    /// Calls in a minute.
    pub requests_per_minute: u32,
    /// Tokens that the tasks of one project may use in a day (UTC), counted by this node since it started.
    pub project_tokens_per_day: u64,
    /// The price of a million tokens that the model is given, in millionths of a dollar. With both prices 0
    /// no costs are told.
    pub input_micro_dollars_per_million: u64,
    /// The price of a million tokens that the model gives, in millionths of a dollar.
    pub output_micro_dollars_per_million: u64,
}

impl Default for CognifierConfig {
    fn default() -> Self {
        Self {
            provider: CognifierProvider::Builtin,
            model: String::new(),
            endpoint: String::new(),
            api_key_env: String::new(),
            api_key_file: PathBuf::new(),
            timeout_ms: 120_000,
            answer_bytes_max: 4 << 20,
            answer_tokens_max: 8_192,
            input_chars_max: 200_000,
            requests_per_minute: 30,
            project_tokens_per_day: 2_000_000,
            input_micro_dollars_per_million: 0,
            output_micro_dollars_per_million: 0,
        }
    }
}

impl CognifierConfig {
    /// Checks that every number lies in its range, and that a model is named where one is asked.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the first key that does not.
    pub fn check(&self) -> Result<(), Error> {
        let section = Section("cognifier");
        section.within("timeout_ms", self.timeout_ms, 100, 3_600_000)?;
        let bytes = self.answer_bytes_max as u64;
        section.within("answer_bytes_max", bytes, 1 << 10, 64 << 20)?;
        let tokens = u64::from(self.answer_tokens_max);
        section.within("answer_tokens_max", tokens, 16, 1 << 20)?;
        // A task's title and description are always given, and have 36 KiB at most; all else is cut to what is left.
        let chars = self.input_chars_max as u64;
        section.within("input_chars_max", chars, 50_000, 16 << 20)?;
        let requests = u64::from(self.requests_per_minute);
        section.within("requests_per_minute", requests, 1, 1_000_000)?;
        let tokens = self.project_tokens_per_day;
        section.within("project_tokens_per_day", tokens, 1, 1 << 50)?;
        // A million dollars.
        let (least, most) = (0, 1_000_000_000_000);
        let price = self.input_micro_dollars_per_million;
        section.within("input_micro_dollars_per_million", price, least, most)?;
        let price = self.output_micro_dollars_per_million;
        section.within("output_micro_dollars_per_million", price, least, most)?;
        match self.provider.model() {
            None => Ok(()),
            Some(provider) => {
                section.model(provider, &self.model)?;
                section.endpoint(provider, &self.endpoint).map(drop)
            }
        }
    }
}

/// `[embedder]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedderConfig {
    /// Which engine makes vectors. All that follows here is of those that have a model.
    pub provider: EmbedderProvider,
    /// The model. Of `sentence`: its name at the hub, where no `directory` holds it.
    pub model: String,
    /// The directory that holds the files of a model of `sentence`. Empty: see `model`.
    pub directory: PathBuf,
    /// The commit, branch or tag of a model of the hub.
    pub revision: String,
    /// Where models of the hub are kept, in the hub's own form. Empty: where its own clients keep them.
    pub hub_cache: PathBuf,
    /// Where the model is, up to what the provider's own paths follow; of `sentence`, the hub. Empty: the
    /// provider's own place.
    pub endpoint: String,
    /// The environment variable that holds the provider's key. Empty: see `api_key_file`.
    pub api_key_env: String,
    /// The file that holds the provider's key. Empty: see `api_key_env`.
    pub api_key_file: PathBuf,
    /// Coordinates of the model's vectors. The index is made for so many. Of `sentence`, 0: as many as it has.
    pub dimensions: usize,
    /// Cosine from which two entries of one table are one.
    pub merge_cosine: f64,
    /// Cosine from which they are linked as similar.
    pub similar_cosine: f64,
    /// Texts that one call has.
    pub batch_texts: usize,
    /// Characters of one text that the model is given; what follows them does not count.
    pub text_chars_max: usize,
    /// How long one call may take, with the wait for its turn, in ms. Of `sentence`: all texts that are asked for
    /// together. An attempt at a promotion has the time for as many calls as its texts may want.
    pub timeout_ms: u64,
    /// Bytes of one answer, with its headers.
    pub answer_bytes_max: usize,
    /// Calls in a minute.
    pub requests_per_minute: u32,
    /// The embedder that made the stored vectors, while they are made anew. It has no previous one itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Box<Self>>,
}

impl Default for EmbedderConfig {
    fn default() -> Self {
        Self {
            provider: EmbedderProvider::Builtin,
            model: String::new(),
            directory: PathBuf::new(),
            revision: "main".to_owned(),
            hub_cache: PathBuf::new(),
            endpoint: String::new(),
            api_key_env: String::new(),
            api_key_file: PathBuf::new(),
            dimensions: 0,
            merge_cosine: 0.95,
            similar_cosine: 0.85,
            batch_texts: 64,
            text_chars_max: 8_000,
            timeout_ms: 30_000,
            answer_bytes_max: 32 << 20,
            requests_per_minute: 600,
            previous: None,
        }
    }
}

impl EmbedderConfig {
    /// Checks that every number lies in its range, and that a model is named where one is asked; the same of the previous
    /// one.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the first key that does not.
    pub fn check(&self) -> Result<(), Error> {
        let section = Section("embedder");
        if let Some(previous) = &self.previous {
            if previous.previous.is_some() {
                return Err(section.refused("previous.previous", "is one too many"));
            }
            previous.check().map_err(Error::of_previous)?;
        }
        section.within("batch_texts", self.batch_texts as u64, 1, 2_048)?;
        section.within("text_chars_max", self.text_chars_max as u64, 100, 1 << 20)?;
        section.within("timeout_ms", self.timeout_ms, 100, 3_600_000)?;
        let bytes = self.answer_bytes_max as u64;
        section.within("answer_bytes_max", bytes, 1 << 10, 256 << 20)?;
        let requests = u64::from(self.requests_per_minute);
        section.within("requests_per_minute", requests, 1, 1_000_000)?;
        section.cosine("merge_cosine", self.merge_cosine)?;
        section.cosine("similar_cosine", self.similar_cosine)?;
        if self.similar_cosine > self.merge_cosine {
            return Err(section.refused("similar_cosine", "is over embedder.merge_cosine"));
        }
        let dimensions = self.dimensions as u64;
        let most = EMBEDDING_DIMENSIONS_MAX as u64;
        match (self.provider, self.provider.model()) {
            (_, Some(provider)) => {
                section.within("dimensions", dimensions, 1, most)?;
                section.model(provider, &self.model)?;
                section.endpoint(provider, &self.endpoint).map(drop)
            }
            (EmbedderProvider::Sentence, None) => {
                section.within("dimensions", dimensions, 0, most)?;
                self.source().map(drop)
            }
            (_, None) => Ok(()),
        }
    }

    /// The longest that so many texts may take which are asked for together, in ms, when every answer comes as late as
    /// it may: calls are made one after the other, and each has its own time. 0 where no model is asked.
    #[must_use]
    pub const fn embed_ms_max(&self, texts: usize) -> u64 {
        let calls = match self.provider {
            EmbedderProvider::Builtin => 0,
            EmbedderProvider::Sentence => 1,
            EmbedderProvider::Openai | EmbedderProvider::Ollama => texts.div_ceil(self.batch_texts),
        };
        self.timeout_ms.saturating_mul(calls as u64)
    }

    /// Where the files of a sentence transformer are.
    ///
    /// # Errors
    /// [`Error::Setting`], naming the key.
    pub(crate) fn source(&self) -> Result<Source<'_>, Error> {
        let section = Section("embedder");
        let (model, directory) = (self.model.trim(), self.directory.as_path());
        match (model.is_empty(), directory.as_os_str().is_empty()) {
            (true, true) => {
                let why = "names no directory, and embedder.model no model of the hub";
                Err(section.refused("directory", why))
            }
            (true, false) => Ok(Source::Directory(directory)),
            (false, false) => {
                let why = "and model are both set: one of them says where the files are";
                Err(section.refused("directory", why))
            }
            (false, true) => {
                let model = Model::parse(model).map_err(|why| section.refused("model", why))?;
                let revision = self.revision.trim();
                let revision =
                    revision_of(revision).map_err(|why| section.refused("revision", why))?;
                let hub = section.url("https://huggingface.co/", &self.endpoint)?;
                Ok(Source::Hub(model, revision, hub))
            }
        }
    }
}

/// Where the files of a sentence transformer are.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// Here.
    Directory(&'a Path),
    /// At a hub, under this name and revision.
    Hub(Model<'a>, &'a str, Url),
}

/// A section, for what is said of its keys.
pub(crate) struct Section(pub(crate) &'static str);

impl Section {
    pub(crate) fn refused(&self, key: &str, why: impl Into<String>) -> Error {
        Error::Setting {
            key: format!("{}.{key}", self.0),
            why: why.into(),
        }
    }

    /// The model that a provider is asked for.
    pub(crate) fn model(&self, provider: Provider, model: &str) -> Result<String, Error> {
        const CHARS_MAX: usize = 200;
        let model = match (model.trim(), provider.default_model()) {
            ("", Some(default)) => default,
            ("", None) => return Err(self.refused("model", "names no model")),
            (named, _) => named,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
        // Two colons would name another provider, and dots a path above the provider's.
        let is_name = model.len() <= CHARS_MAX
            && model.chars().all(is_plain)
            && !model.contains("::")
            && !model.contains("..");
        if !is_name {
            let why = format!("takes up to {CHARS_MAX} letters, digits and -_.:/@");
            return Err(self.refused("model", why));
        }
        Ok(model.to_owned())
    }

    /// Where a provider's model is.
    pub(crate) fn endpoint(&self, provider: Provider, endpoint: &str) -> Result<Url, Error> {
        self.url(provider.default_endpoint(), endpoint)
    }

    /// What `endpoint` names, or the place that is there unless it does.
    fn url(&self, default: &str, endpoint: &str) -> Result<Url, Error> {
        let text = match endpoint.trim() {
            "" => default,
            named => named,
        };
        // The text may hold a password: it is not repeated.
        let refused = |why: &str| self.refused("endpoint", why);
        let mut url = Url::parse(text).map_err(|error| refused(&format!("is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refused("takes a URL of http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("takes a URL without a user or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("takes a URL without ? and #"));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url)
    }

    fn within(&self, key: &str, value: u64, least: u64, most: u64) -> Result<(), Error> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(self.refused(key, format!("is out of range: {least} to {most}")))
    }

    fn cosine(&self, key: &str, value: f64) -> Result<(), Error> {
        if value > 0.0 && value <= 1.0 {
            return Ok(());
        }
        Err(self.refused(key, "is out of range: over 0, up to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_unless_it_is_configured_asks_no_model_and_can_be_used() {
        let (cognifier, embedder) = (CognifierConfig::default(), EmbedderConfig::default());
        assert_eq!(cognifier.provider, CognifierProvider::Builtin);
        assert_eq!(embedder.provider, EmbedderProvider::Builtin);
        cognifier.check().unwrap();
        embedder.check().unwrap();
    }

    #[test]
    fn only_gemini_has_a_model_to_begin_with() {
        let of = |provider| CognifierConfig {
            provider,
            ..CognifierConfig::default()
        };
        of(CognifierProvider::Gemini).check().unwrap();
        for provider in [
            CognifierProvider::Openai,
            CognifierProvider::Anthropic,
            CognifierProvider::Ollama,
        ] {
            let error = of(provider).check().unwrap_err().to_string();
            assert_eq!(error, "configuration cognifier.model names no model");
        }
    }

    #[test]
    fn what_is_no_place_of_a_model_is_refused_by_its_key_and_not_repeated() {
        for endpoint in [
            "localhost:11434",
            "ftp://models/",
            "http://user:hunter2@models/",
            "https://models/v1?key=hunter2",
            "https://models/#hunter2",
            "https://models:hunter2/",
        ] {
            let config = CognifierConfig {
                provider: CognifierProvider::Ollama,
                model: "llama3".to_owned(),
                endpoint: endpoint.to_owned(),
                ..CognifierConfig::default()
            };
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains("cognifier.endpoint"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let section = Section("cognifier");
        let url = section.endpoint(Provider::OpenAi, "http://models:1/v1");
        assert_eq!(url.unwrap().as_str(), "http://models:1/v1/");
    }

    #[test]
    fn a_model_is_a_name_and_nothing_that_leads_elsewhere() {
        let named = |model| Section("cognifier").model(Provider::OpenAi, model);
        for model in ["gpt-4.1-mini", "org/model:7b", "claude-opus@2"] {
            assert_eq!(named(model).unwrap(), model);
        }
        for model in ["", "gemini::x", "../admin", "a b", "a?b", &"a".repeat(300)] {
            assert!(named(model).is_err(), "{model}");
        }
    }

    #[test]
    fn every_number_has_its_range() {
        let bad = [
            CognifierConfig {
                timeout_ms: 0,
                ..CognifierConfig::default()
            },
            CognifierConfig {
                answer_bytes_max: 0,
                ..CognifierConfig::default()
            },
            CognifierConfig {
                input_chars_max: 10,
                ..CognifierConfig::default()
            },
            CognifierConfig {
                requests_per_minute: 0,
                ..CognifierConfig::default()
            },
            CognifierConfig {
                project_tokens_per_day: 0,
                ..CognifierConfig::default()
            },
            CognifierConfig {
                input_micro_dollars_per_million: u64::MAX,
                ..CognifierConfig::default()
            },
        ];
        for config in bad {
            assert!(config.check().is_err(), "{config:?}");
        }
        let asked = EmbedderConfig {
            provider: EmbedderProvider::Openai,
            model: "text-embedding-3-small".to_owned(),
            dimensions: 1_536,
            ..EmbedderConfig::default()
        };
        asked.check().unwrap();
        let bad = [
            EmbedderConfig {
                dimensions: 0,
                ..asked.clone()
            },
            EmbedderConfig {
                dimensions: EMBEDDING_DIMENSIONS_MAX + 1,
                ..asked.clone()
            },
            EmbedderConfig {
                batch_texts: 0,
                ..asked.clone()
            },
            EmbedderConfig {
                merge_cosine: 1.1,
                ..asked.clone()
            },
            EmbedderConfig {
                similar_cosine: f64::NAN,
                ..asked.clone()
            },
            EmbedderConfig {
                merge_cosine: 0.8,
                ..asked.clone()
            },
        ];
        for config in bad {
            assert!(config.check().is_err(), "{config:?}");
        }
    }

    #[test]
    fn every_batch_of_texts_has_the_time_of_a_call() {
        let of = |provider, batch_texts| EmbedderConfig {
            provider,
            batch_texts,
            timeout_ms: 1_000,
            ..EmbedderConfig::default()
        };
        for provider in [EmbedderProvider::Openai, EmbedderProvider::Ollama] {
            for (batch_texts, ms) in [(1, 256_000), (64, 4_000), (100, 3_000), (2_048, 1_000)] {
                assert_eq!(of(provider, batch_texts).embed_ms_max(256), ms);
            }
        }
        assert_eq!(of(EmbedderProvider::Sentence, 1).embed_ms_max(256), 1_000);
        assert_eq!(of(EmbedderProvider::Builtin, 1).embed_ms_max(256), 0);
    }

    #[test]
    fn the_files_of_a_sentence_transformer_are_in_one_place() {
        let of = |model: &str, directory: &str, revision: &str| EmbedderConfig {
            provider: EmbedderProvider::Sentence,
            model: model.to_owned(),
            directory: PathBuf::from(directory),
            revision: revision.to_owned(),
            ..EmbedderConfig::default()
        };
        of("", "models/mini", "main").check().unwrap();
        of("intfloat/multilingual-e5-small", "", "main")
            .check()
            .unwrap();
        for (config, key) in [
            (of("", "", "main"), "embedder.directory"),
            (of("a/b", "models/mini", "main"), "embedder.directory"),
            (of("../b", "", "main"), "embedder.model"),
            (of("a/b/c", "", "main"), "embedder.model"),
            (of("a/b", "", ""), "embedder.revision"),
            (of("a/b", "", "../main"), "embedder.revision"),
        ] {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
        let elsewhere = EmbedderConfig {
            endpoint: "ftp://hub".to_owned(),
            ..of("a/b", "", "main")
        };
        let error = elsewhere.check().unwrap_err().to_string();
        assert!(error.contains("embedder.endpoint"), "{error}");
    }
}
