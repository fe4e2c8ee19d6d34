//! Cognifiers and embedders that ask a model, over HTTP or in this process, and what git repositories say.
//!
//! [`ModelCognifier`], [`ModelEmbedder`] and [`SentenceEmbedder`] stand behind ports of [`sillok_core::ports`]. What
//! a model answers is bounded in bytes and time, checked, and only ever a proposal: the rules decide. This crate must
//! not know actors, stores or who may do what.

mod answer;
mod budget;
pub mod cognifier;
pub mod config;
pub mod embedder;
pub mod git;
mod line;
mod model;
mod prompt;
mod quote;
mod rate;
mod schema;
mod secret;
pub mod sentence;

pub use cognifier::ModelCognifier;
pub use config::{CognifierConfig, CognifierProvider, EmbedderConfig, EmbedderProvider};
pub use embedder::ModelEmbedder;
pub use sentence::SentenceEmbedder;

/// Why an engine cannot be built from its configuration. Never holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A key of the configuration says something that cannot be used.
    #[error("configuration {key} {why}")]
    Setting {
        /// The key, as `section.key`.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// The secret that a model wants is not there.
    #[error("configuration {key}: {why}")]
    Secret {
        /// The key that names where the secret is, as `section.key`.
        key: String,
        /// Why it could not be had from there.
        why: String,
    },
}

impl Error {
    /// The same of the embedder before.
    fn of_previous(self) -> Self {
        match self {
            Self::Setting { key, why } => Self::Setting {
                key: key.replacen("embedder.", "embedder.previous.", 1),
                why,
            },
            other => other,
        }
    }
}
