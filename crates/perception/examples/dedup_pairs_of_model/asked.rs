//! What the arguments ask for: which embedder, by which thresholds, and whether pairs are listed.
//!
//! Owns their names, and builds the engine that a server builds of the same section. It must not know how pairs are
//! judged.

use std::error::Error;
use std::path::Path;

use sillok_core::ports::Embedder;
use sillok_perception::{EmbedderConfig, EmbedderProvider, ModelEmbedder, SentenceEmbedder};

/// The time of a call, in ms, or of all texts of a model in this process. What is measured is how a model tells texts
/// apart, on whatever machine.
const TIMEOUT_MS: u64 = 3_600_000;

/// What is asked for.
pub(crate) struct Asked {
    /// `[embedder]`, as a server would be told. With no `dimensions`, they are asked for.
    pub(crate) config: EmbedderConfig,
    /// Whether each pair of the tuned half is printed.
    pub(crate) is_listed: bool,
}

/// Reads `DIRECTORY|NAME [--provider sentence|ollama|openai] [--model NAME] [--url URL] [--api-key-env VARIABLE]
/// [--dimensions N] [--batch-texts N] [--merge COSINE] [--similar COSINE] [--list]`. A name alone is that of a sentence
/// transformer at the hub.
///
/// # Errors
/// A flag that is none, one without its value, or no model.
pub(crate) fn asked(mut arguments: impl Iterator<Item = String>) -> Result<Asked, Box<dyn Error>> {
    let mut config = EmbedderConfig {
        provider: EmbedderProvider::Sentence,
        timeout_ms: TIMEOUT_MS,
        ..EmbedderConfig::default()
    };
    let (mut named, mut is_listed) = (None, false);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let next = arguments.next();
            next.ok_or_else(|| format!("{argument} wants a value"))
        };
        match argument.as_str() {
            "--list" => is_listed = true,
            "--provider" => config.provider = provider(&value()?)?,
            "--model" => named = Some(value()?),
            "--url" => config.endpoint = value()?,
            "--api-key-env" => config.api_key_env = value()?,
            "--dimensions" => config.dimensions = value()?.parse()?,
            "--batch-texts" => config.batch_texts = value()?.parse()?,
            "--merge" => config.merge_cosine = value()?.parse()?,
            "--similar" => config.similar_cosine = value()?.parse()?,
            flag if flag.starts_with("--") => return Err(format!("{flag} is no flag").into()),
            name => named = Some(name.to_owned()),
        }
    }
    let named: String = named.ok_or("no model is named")?;
    let is_here = config.provider == EmbedderProvider::Sentence && Path::new(&named).is_dir();
    if is_here {
        config.directory = named.into();
    } else {
        config.model = named;
    }
    Ok(Asked { config, is_listed })
}

fn provider(name: &str) -> Result<EmbedderProvider, Box<dyn Error>> {
    match name {
        "sentence" => Ok(EmbedderProvider::Sentence),
        "ollama" => Ok(EmbedderProvider::Ollama),
        "openai" => Ok(EmbedderProvider::Openai),
        other => Err(format!("{other} is none of sentence, ollama and openai").into()),
    }
}

/// The embedder, which is asked for its coordinates first where nobody said how many they are.
///
/// # Errors
/// What the section lacks, or what the model answered.
pub(crate) async fn embedder(
    mut config: EmbedderConfig,
) -> Result<Box<dyn Embedder>, Box<dyn Error>> {
    if config.provider == EmbedderProvider::Sentence {
        let opened = SentenceEmbedder::open(&config).await?;
        return Ok(Box::new(opened.ok_or("no sentence transformer is named")?));
    }
    if config.dimensions == 0 {
        // A section has some. Which ones makes no difference to what is asked here.
        config.dimensions = 1;
        config.dimensions = of_provider(&config)?.coordinates().await?;
    }
    Ok(Box::new(of_provider(&config)?))
}

fn of_provider(config: &EmbedderConfig) -> Result<ModelEmbedder, Box<dyn Error>> {
    Ok(ModelEmbedder::new(config)?.ok_or("no model of a provider is named")?)
}
