//! Embedders of tiny models.

use std::path::Path;

use sillok_perception::{EmbedderConfig, EmbedderProvider, Error, SentenceEmbedder};
use sillok_sentence_model::Tiny;

/// The section that names a directory.
pub(crate) fn of(directory: &Path) -> EmbedderConfig {
    EmbedderConfig {
        provider: EmbedderProvider::Sentence,
        directory: directory.to_owned(),
        ..EmbedderConfig::default()
    }
}

/// The embedder that a section names.
pub(crate) async fn open(config: &EmbedderConfig) -> Result<SentenceEmbedder, Error> {
    let opened = SentenceEmbedder::open(config).await?;
    Ok(opened.expect("a sentence transformer is configured"))
}

/// The embedder of a tiny model, whose files are written to a directory.
pub(crate) async fn embedder(tiny: &Tiny, directory: &Path) -> SentenceEmbedder {
    tiny.write(directory).unwrap();
    open(&of(directory)).await.unwrap()
}
