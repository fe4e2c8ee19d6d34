//! An embedder that asks a model.
//!
//! Owns that a vector is one: as many finite coordinates as configured, of length 1. A space is named by
//! provider, model and dimensions, so vectors of two models are never compared. It must not know indexes.

use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Embedder, PortError, SpaceThresholds};

use crate::Error;
use crate::config::{EmbedderConfig, Section};
use crate::model::{Model, Setting};
use crate::secret::Secret;

/// The embedder.
pub struct ModelEmbedder {
    model: Model,
    space: SpaceId,
    dimensions: usize,
    thresholds: SpaceThresholds,
    batch_texts: usize,
    text_chars_max: usize,
}

impl ModelEmbedder {
    /// The embedder that a section names; none where it names feature hashing. Nothing is sent.
    ///
    /// # Errors
    /// [`Error`], naming the key that cannot be used.
    pub fn new(config: &EmbedderConfig) -> Result<Option<Self>, Error> {
        config.check()?;
        let Some(provider) = config.provider.model() else {
            return Ok(None);
        };
        let environment = |name: &str| std::env::var(name).ok();
        let (variable, file) = (&config.api_key_env, &config.api_key_file);
        let model = Model::new(Setting {
            section: Section("embedder"),
            provider,
            model: &config.model,
            endpoint: &config.endpoint,
            secret: Secret::read("embedder", variable, file, environment)?,
            timeout_ms: config.timeout_ms,
            answer_bytes_max: config.answer_bytes_max,
            requests_per_minute: config.requests_per_minute,
        })?;
        Ok(Some(Self {
            space: SpaceId(format!("{}/{}", model.label(), config.dimensions)),
            model,
            dimensions: config.dimensions,
            thresholds: SpaceThresholds {
                merge: single(config.merge_cosine),
                similar: single(config.similar_cosine),
            },
            batch_texts: config.batch_texts,
            text_chars_max: config.text_chars_max,
        }))
    }

    /// How many coordinates the vectors of the model have, whatever is configured: it is asked for one. For whoever wants
    /// to know what to configure.
    ///
    /// # Errors
    /// What the model answered, or that it gave no vector.
    pub async fn coordinates(&self) -> Result<usize, PortError> {
        let texts = vec!["How many coordinates does this have?".to_owned()];
        let answer = self.model.embed(texts).await;
        let answer = answer.map_err(|failed| failed.error)?;
        let first = answer.embeddings.first();
        let found = first.map_or(0, |embedding| embedding.vector.len());
        if found == 0 {
            let why = format!("{} gave no vector", self.model.label());
            return Err(PortError::Unusable(why));
        }
        Ok(found)
    }

    async fn embed_all(&self, texts: &[&str]) -> Result<Vec<Embedding>, PortError> {
        let zero = Embedding {
            space: self.space.clone(),
            values: vec![0.0; self.dimensions],
        };
        let mut embeddings = vec![zero; texts.len()];
        // Blank text has no direction, and providers refuse it.
        let spoken: Vec<usize> = (0..texts.len())
            .filter(|place| !texts[*place].trim().is_empty())
            .collect();
        for places in spoken.chunks(self.batch_texts) {
            let batch = places.iter().map(|place| self.cut(texts[*place]));
            let vectors = self.ask(batch.collect()).await?;
            for (place, vector) in places.iter().zip(vectors) {
                embeddings[*place].values = vector;
            }
        }
        Ok(embeddings)
    }

    fn cut(&self, text: &str) -> String {
        text.chars().take(self.text_chars_max).collect()
    }

    /// The vectors of a batch, in order.
    async fn ask(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, PortError> {
        let count = texts.len();
        let answer = self
            .model
            .embed(texts)
            .await
            .map_err(|failed| failed.error)?;
        let unusable = |why: &str| PortError::Unusable(format!("{}: {why}", self.model.label()));
        if answer.embeddings.len() != count {
            return Err(unusable("another number of vectors than of texts"));
        }
        let mut vectors = vec![None; count];
        for embedding in answer.embeddings {
            match vectors.get_mut(embedding.index) {
                Some(place @ None) => *place = Some(embedding.vector),
                _ => return Err(unusable("vectors that are not of the texts it was given")),
            }
        }
        vectors
            .into_iter()
            .flatten()
            .map(|vector| normalised(vector, self.dimensions).map_err(|why| unusable(&why)))
            .collect()
    }
}

impl Embedder for ModelEmbedder {
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

/// A vector of length 1 in the same direction.
///
/// # Errors
/// It has another number of coordinates, or no direction.
pub(crate) fn normalised(vector: Vec<f32>, dimensions: usize) -> Result<Vec<f32>, String> {
    let found = vector.len();
    if found != dimensions {
        return Err(format!(
            "a vector of {found} coordinates, and embedder.dimensions is {dimensions}"
        ));
    }
    let square = |value: &f32| f64::from(*value) * f64::from(*value);
    let length = vector.iter().map(square).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err("a vector without a direction".to_owned());
    }
    let share = |value: &f32| single(f64::from(*value) / length);
    Ok(vector.iter().map(share).collect())
}

/// The nearest number of half the width. What is given is at most 1.
#[expect(
    clippy::cast_possible_truncation,
    reason = "coordinates and cosines of half the digits are what an index stores"
)]
pub(crate) const fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_its_coordinates_and_length_one() {
        assert_eq!(normalised(vec![3.0, 4.0], 2).unwrap(), [0.6, 0.8]);
        let large = normalised(vec![f32::MAX, f32::MAX], 2).unwrap();
        assert!((large[0] - 0.5_f32.sqrt()).abs() < 1e-6);
        for bad in [
            vec![1.0],
            vec![0.0, 0.0],
            vec![f32::NAN, 1.0],
            vec![f32::INFINITY, 1.0],
        ] {
            assert!(normalised(bad, 2).is_err());
        }
    }
}
