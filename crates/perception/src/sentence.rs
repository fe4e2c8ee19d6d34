//! An embedder that runs a sentence transformer in this process: no network, no key, no costs.
//!
//! Owns that a model is run aside from the runtime, one batch at a time, and not for longer than was configured.
//! A space is named by what the model's files hash to, so the same place with other files in it is another space,
//! and the same files are one wherever they lie. It must not know indexes.

mod directory;
mod encoder;
pub(crate) mod hub;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Embedder, PortError, SpaceThresholds};
use tokenizers::{PostProcessor as _, Tokenizer, TruncationParams};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use directory::{Error as DirectoryError, Files};
use encoder::{Encoder, Tokens};

use crate::Error;
use crate::config::{EmbedderConfig, Section, Source};
use crate::embedder::{normalised, single};
use crate::secret::Secret;

/// Batches that are run at one time. One has all processors to itself.
const AT_ONCE_MAX: usize = 1;
/// Words of one batch, with what fills its shorter texts up, unless a single text has more. It bounds the memory
/// of a batch, and how long whoever has one question waits for whoever has hundreds of texts.
const BATCH_TOKENS_MAX: usize = 2_048;
/// A text that every model has a vector for. A model whose weights are no numbers has none.
const PROBE: &str = "the build failed";

/// The embedder.
pub struct SentenceEmbedder {
    engine: Arc<Engine>,
    space: SpaceId,
    dimensions: usize,
    thresholds: SpaceThresholds,
    timeout: Duration,
    batch_texts: usize,
    text_chars_max: usize,
    at_once: Arc<Semaphore>,
}

/// For how long a call has waited for its turns, while others had the model.
#[derive(Default)]
struct Wait {
    over: Duration,
    /// Since when it has waited for the turn that it waits for now.
    since: Option<Instant>,
}

impl Wait {
    fn ends(&mut self, now: Instant) {
        *self = Self {
            over: self.by(now),
            since: None,
        };
    }

    /// For how long it has waited at a moment.
    fn by(&self, now: Instant) -> Duration {
        let goes_on = self.since.map(|since| now.saturating_duration_since(since));
        self.over + goes_on.unwrap_or_default()
    }
}

/// What computes, on whatever thread it is called.
struct Engine {
    tokenizer: Tokenizer,
    encoder: Encoder,
    is_lower_case: bool,
}

impl SentenceEmbedder {
    /// The embedder that a section names; none where it names another engine. A model of the hub that is not on
    /// this machine yet is fetched, which takes a while.
    ///
    /// # Errors
    /// [`Error`], naming the key that cannot be used, and of a model the file.
    pub async fn open(config: &EmbedderConfig) -> Result<Option<Self>, Error> {
        config.check()?;
        if config.provider != crate::EmbedderProvider::Sentence {
            return Ok(None);
        }
        let section = Section("embedder");
        let (key, directory) = match config.source()? {
            Source::Directory(directory) => ("directory", directory.to_owned()),
            Source::Hub(model, revision, hub) => {
                let environment = |name: &str| std::env::var(name).ok();
                let (variable, file) = (&config.api_key_env, &config.api_key_file);
                let secret = Secret::read("embedder", variable, file, environment)?;
                let cache = hub::cache(&config.hub_cache, environment)
                    .map_err(|why| section.refused("hub_cache", why))?;
                let stall = Duration::from_millis(config.timeout_ms);
                let from = hub::Hub::new(hub, secret, stall);
                let found = from.directory(&cache, model, revision).await;
                ("model", found.map_err(|why| section.refused("model", why))?)
            }
        };
        let config = config.clone();
        aside(move || {
            Self::load(&directory, &config)
                .map_err(|error| section.refused(key, format!("names what cannot be run: {error}")))
        })
        .await
        .unwrap_or_else(|why| Err(Section("embedder").refused(key, why)))
        .map(Some)
    }

    fn load(directory: &Path, config: &EmbedderConfig) -> Result<Self, DirectoryError> {
        let files = directory::read(directory)?;
        let dimensions = files.bert.hidden_size;
        if config.dimensions != 0 && config.dimensions != dimensions {
            let wanted = config.dimensions;
            let why = format!(
                "its vectors have {dimensions} coordinates, and embedder.dimensions is {wanted}"
            );
            return Err(DirectoryError::unusable(directory, why));
        }
        let space = SpaceId(format!("sentence/{}/{dimensions}", &files.hash[..32]));
        let embedder = Self {
            engine: Arc::new(Engine::new(&files)?),
            space,
            dimensions,
            thresholds: SpaceThresholds {
                merge: single(config.merge_cosine),
                similar: single(config.similar_cosine),
            },
            timeout: Duration::from_millis(config.timeout_ms),
            batch_texts: config.batch_texts,
            text_chars_max: config.text_chars_max,
            at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        };
        let unusable = |why: String| DirectoryError::unusable(&files.weights_path, why);
        let probe = embedder
            .engine
            .tokens(&[PROBE.to_owned()])
            .map_err(unusable)?;
        embedder
            .engine
            .vectors(&probe.iter().collect::<Vec<_>>(), dimensions)
            .map_err(unusable)?;
        Ok(embedder)
    }

    async fn embed_all(&self, texts: &[&str]) -> Result<Vec<Embedding>, PortError> {
        let mut wait = Wait::default();
        let until = Instant::now() + self.timeout;
        let in_time = tokio::time::timeout_at(until, self.in_batches(texts, &mut wait));
        if let Ok(embedded) = in_time.await {
            return embedded;
        }
        let ms = self.timeout.as_millis();
        if wait.by(Instant::now()) * 2 >= self.timeout {
            // That others had the model says nothing of these texts.
            let why = format!("the model was busy with other texts for most of {ms} ms");
            return Err(PortError::Unavailable(why));
        }
        let count = texts.len();
        let why = format!("the model did not get through {count} texts within {ms} ms");
        Err(PortError::Unusable(why))
    }

    async fn in_batches(
        &self,
        texts: &[&str],
        wait: &mut Wait,
    ) -> Result<Vec<Embedding>, PortError> {
        let zero = Embedding {
            space: self.space.clone(),
            values: vec![0.0; self.dimensions],
        };
        let mut embeddings = vec![zero; texts.len()];
        let cut = |text: &&str| text.chars().take(self.text_chars_max).collect();
        let owned: Vec<String> = texts.iter().map(cut).collect();
        let tokens = self.run(wait, move |engine| engine.tokens(&owned)).await?;
        let tokens = Arc::new(tokens);
        let lengths: Vec<usize> = tokens.iter().map(|text| text.ids.len()).collect();
        for places in batches(&lengths, self.batch_texts, BATCH_TOKENS_MAX) {
            let (batch, dimensions) = (places.clone(), self.dimensions);
            let tokens = Arc::clone(&tokens);
            let vectors = self.run(wait, move |engine| {
                let texts: Vec<&Tokens> = batch.iter().map(|place| &tokens[*place]).collect();
                engine.vectors(&texts, dimensions)
            });
            for (place, vector) in places.into_iter().zip(vectors.await?) {
                embeddings[place].values = vector;
            }
        }
        Ok(embeddings)
    }

    /// Runs some work aside, when it is its turn. Work that has begun ends, even when nobody waits any more, and
    /// keeps its place until then; work that has not, does not begin.
    async fn run<T: Send + 'static>(
        &self,
        wait: &mut Wait,
        work: impl FnOnce(&Engine) -> Result<T, String> + Send + 'static,
    ) -> Result<T, PortError> {
        wait.since = Some(Instant::now());
        let permit = Arc::clone(&self.at_once).acquire_owned().await;
        wait.ends(Instant::now());
        let permit = permit.expect("nobody closes it");
        let engine = Arc::clone(&self.engine);
        let done = aside(move || {
            let _permit = permit;
            work(&engine)
        });
        let done = done.await.and_then(|worked| worked);
        done.map_err(|why| PortError::Unusable(format!("{}: {why}", self.space)))
    }
}

impl Embedder for SentenceEmbedder {
    fn space(&self) -> SpaceId {
        self.space.clone()
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn thresholds(&self) -> SpaceThresholds {
        self.thresholds
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        Box::pin(self.embed_all(texts))
    }
}

impl Engine {
    fn new(files: &Files) -> Result<Self, DirectoryError> {
        let tokenizer =
            tokenizer(files).map_err(|why| DirectoryError::unusable(&files.tokenizer_path, why))?;
        let encoder = Encoder::load(&files.bert, files.pooling, &files.weights)
            .map_err(|error| DirectoryError::unusable(&files.weights_path, in_a_line(&error)))?;
        Ok(Self {
            tokenizer,
            encoder,
            is_lower_case: files.is_lower_case,
        })
    }

    /// The words of each text; none of a blank one, which has no direction.
    fn tokens(&self, texts: &[String]) -> Result<Vec<Tokens>, String> {
        let cut = |text: &String| {
            if text.trim().is_empty() {
                return Ok(Tokens::default());
            }
            let encoding = if self.is_lower_case {
                self.tokenizer.encode(text.to_lowercase(), true)
            } else {
                self.tokenizer.encode(text.as_str(), true)
            };
            let encoding = encoding.map_err(|error| format!("a text cannot be cut: {error}"))?;
            Ok(Tokens {
                ids: encoding.get_ids().to_vec(),
                types: encoding.get_type_ids().to_vec(),
            })
        };
        texts.iter().map(cut).collect()
    }

    /// One vector of length 1 for each text. No text is empty.
    fn vectors(&self, texts: &[&Tokens], dimensions: usize) -> Result<Vec<Vec<f32>>, String> {
        let vectors = self.encoder.encode(texts);
        let vectors = vectors.map_err(|error| in_a_line(&error))?;
        vectors
            .into_iter()
            .map(|vector| normalised(vector, dimensions))
            .collect()
    }
}

/// The tokenizer of a model's files. Where texts end, and that none is filled up, is said by the model's other
/// files and by who runs it.
fn tokenizer(files: &Files) -> Result<Tokenizer, String> {
    let mut tokenizer =
        Tokenizer::from_bytes(&files.tokenizer).map_err(|error| error.to_string())?;
    let words = tokenizer.get_vocab(true).into_values().max();
    let words = words.map_or(0, |last| u64::from(last) + 1);
    let vocabulary = files.bert.vocab_size as u64;
    if words == 0 || words > vocabulary {
        return Err(format!(
            "it has {words} words, and config.json a vocabulary of {vocabulary}"
        ));
    }
    let added = tokenizer
        .get_post_processor()
        .map_or(0, |after| after.added_tokens(false));
    if files.tokens_max <= added {
        return Err(format!(
            "it adds {added} words to each text, of which {} count",
            files.tokens_max
        ));
    }
    let cut = TruncationParams {
        max_length: files.tokens_max,
        ..TruncationParams::default()
    };
    tokenizer
        .with_truncation(Some(cut))
        .map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// Texts by their places, those of like lengths together, so that little is filled up. Each place whose text has
/// words is in one batch; none has more than `texts_max` texts, nor, unless it is of one text, more than
/// `tokens_max` words when all are as long as its longest.
fn batches(lengths: &[usize], texts_max: usize, tokens_max: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..lengths.len())
        .filter(|place| lengths[*place] > 0)
        .collect();
    places.sort_by_key(|place| lengths[*place]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for place in places {
        // The last one is the longest so far.
        let fits = |batch: &Vec<usize>| {
            let count = batch.len() + 1;
            count <= texts_max && count * lengths[place] <= tokens_max
        };
        match batches.last_mut() {
            Some(batch) if fits(batch) => batch.push(place),
            _ => batches.push(vec![place]),
        }
    }
    batches
}

/// Runs work on a thread that may take its time.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| format!("the model ended in its midst: {error}"))
}

/// What went wrong, without the stack that candle prints where the environment asks for one.
fn in_a_line(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use sillok_sentence_model::Tiny;

    use super::*;

    #[tokio::test]
    async fn a_turn_that_never_comes_says_nothing_of_the_texts_that_waited_for_it() {
        let directory = tempfile::tempdir().unwrap();
        Tiny::new(1).write(directory.path()).unwrap();
        let config = EmbedderConfig {
            provider: crate::EmbedderProvider::Sentence,
            directory: directory.path().to_owned(),
            timeout_ms: 200,
            ..EmbedderConfig::default()
        };
        let embedder = SentenceEmbedder::open(&config).await.unwrap().unwrap();
        let others = Arc::clone(&embedder.at_once).acquire_owned().await.unwrap();
        let refused = embedder.embed(&["the build failed"]).await.unwrap_err();
        assert!(
            matches!(&refused, PortError::Unavailable(why) if why.contains("busy")),
            "{refused}"
        );
        drop(others);
        let mut embedder = embedder;
        embedder.timeout = Duration::from_secs(60);
        let vectors = embedder.embed(&["the build failed"]).await.unwrap();
        assert_eq!(vectors.len(), 1);
    }

    #[test]
    fn all_waits_of_a_call_count_together_and_its_work_does_not() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut wait = Wait::default();
        assert_eq!(wait.by(at(9)), Duration::ZERO);
        wait.since = Some(at(10));
        assert_eq!(wait.by(at(15)), Duration::from_millis(5));
        wait.ends(at(17));
        assert_eq!(wait.by(at(90)), Duration::from_millis(7));
        wait.since = Some(at(100));
        assert_eq!(wait.by(at(103)), Duration::from_millis(10));
    }

    proptest! {
        #[test]
        fn every_text_with_words_is_in_one_batch_and_none_is_over_its_bounds(
            lengths in vec(0_usize..40, 0..60),
            texts_max in 1_usize..9,
            tokens_max in 1_usize..90,
        ) {
            let batches = batches(&lengths, texts_max, tokens_max);
            let mut places: Vec<usize> = batches.iter().flatten().copied().collect();
            places.sort_unstable();
            let spoken = (0..lengths.len()).filter(|place| lengths[*place] > 0);
            prop_assert_eq!(places, spoken.collect::<Vec<_>>());
            for batch in &batches {
                let longest = batch.iter().map(|place| lengths[*place]).max().unwrap();
                prop_assert!(batch.len() <= texts_max);
                prop_assert!(batch.len() == 1 || batch.len() * longest <= tokens_max);
            }
        }
    }
}
