//! The engines that draw knowledge, make vectors and read repositories, as the configuration names them.
//!
//! Owns the choice. It must not know what any of them does.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_builtin::{CommitGraph, HashEmbedder, RuleCognifier};
use sillok_core::ports::{Clock, Cognifier, Embedder, GitFacts};
use sillok_perception::git::{Repositories, Repository};
use sillok_perception::{EmbedderConfig, ModelCognifier, ModelEmbedder, SentenceEmbedder};

use crate::Error;
use crate::cognifying::Aside;
use crate::config::{self, Config};

/// The embedder that a section of the configuration names. Nothing is sent anywhere, unless it is a model of the hub that
/// this machine does not have yet.
///
/// # Errors
/// [`Error::Config`] where what it names cannot be used.
pub(crate) async fn embedder(config: &EmbedderConfig) -> Result<Arc<dyn Embedder>, Error> {
    let sentence = SentenceEmbedder::open(config).await;
    if let Some(sentence) = sentence.map_err(|error| unusable(&error))? {
        return Ok(Arc::new(sentence));
    }
    let model = ModelEmbedder::new(config).map_err(|error| unusable(&error))?;
    let engine: Arc<dyn Embedder> = match model {
        Some(model) => Arc::new(model),
        None => Arc::new(HashEmbedder),
    };
    Ok(engine)
}

/// The cognifier that a configuration names. Nothing is sent anywhere.
///
/// # Errors
/// [`Error::Config`] where what it names cannot be used.
pub(crate) fn cognifier(
    config: &Config,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Cognifier>, Error> {
    let model = ModelCognifier::new(&config.cognifier, clock).map_err(|error| unusable(&error))?;
    let engine: Arc<dyn Cognifier> = match model {
        // It waits, and computes next to nothing.
        Some(model) => Arc::new(model),
        None => Arc::new(Aside(RuleCognifier)),
    };
    Ok(engine)
}

/// The repositories that a configuration names.
///
/// # Errors
/// [`Error::Config`] where one of them cannot be read.
pub(crate) fn repositories(config: &Config) -> Result<Arc<dyn GitFacts>, Error> {
    let invalid = |reason: String| Error::Config(config::Error::Invalid { reason });
    let named = config.git.of_projects();
    let named = named.map_err(|error| invalid(error.message))?;
    if named.is_empty() {
        return Ok(Arc::new(CommitGraph::default()));
    }
    let mut opened = BTreeMap::new();
    for (project, path) in named {
        let repository = Repository::open(path).map_err(|error| {
            invalid(format!(
                "configuration git.repositories: {project}: {error}"
            ))
        })?;
        opened.insert(project, repository);
    }
    Ok(Arc::new(Repositories::new(opened)))
}

fn unusable(error: &sillok_perception::Error) -> Error {
    Error::Config(config::Error::Invalid {
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use sillok_core::entry::SpaceId;
    use sillok_perception::{CognifierProvider, EmbedderProvider};

    use super::*;
    use crate::system::SystemClock;

    fn name_of(config: &Config) -> Result<String, Error> {
        let cognifier = cognifier(config, Arc::new(SystemClock))?;
        Ok(cognifier.name().to_owned())
    }

    async fn space_of(config: &Config) -> Result<SpaceId, Error> {
        embedder(&config.embedder)
            .await
            .map(|embedder| embedder.space())
    }

    #[tokio::test]
    async fn engines_are_those_that_are_configured_and_of_this_program_unless_they_are() {
        let mut config = Config::default();
        assert_eq!(name_of(&config).unwrap(), sillok_builtin::cognifier::NAME);
        assert_eq!(space_of(&config).await.unwrap(), HashEmbedder.space());
        config.cognifier.provider = CognifierProvider::Ollama;
        config.cognifier.model = "llama3.2".to_owned();
        assert_eq!(name_of(&config).unwrap(), "ollama/llama3.2@prompt-1");
        config.embedder.provider = EmbedderProvider::Ollama;
        config.embedder.model = "bge-m3".to_owned();
        config.embedder.dimensions = 1_024;
        let space = space_of(&config).await.unwrap();
        assert_eq!(space.0, "ollama/bge-m3/1024");
    }

    #[tokio::test]
    async fn a_directory_without_a_model_is_no_engine() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.embedder.provider = EmbedderProvider::Sentence;
        config.embedder.directory = directory.path().to_owned();
        let refused = space_of(&config).await.unwrap_err();
        assert!(matches!(refused, Error::Config(_)));
        let text = refused.to_string();
        assert!(text.contains("embedder.directory"), "{text}");
        assert!(text.contains("modules.json"), "{text}");
    }

    #[test]
    fn a_model_without_its_key_is_no_engine() {
        let mut config = Config::default();
        config.cognifier.provider = CognifierProvider::Gemini;
        let refused = name_of(&config).unwrap_err();
        assert!(matches!(refused, Error::Config(_)));
        assert!(
            refused.to_string().contains("cognifier.api_key_env"),
            "{refused}"
        );
    }
}
