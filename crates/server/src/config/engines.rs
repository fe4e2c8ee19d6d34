//! `[cognifier]` and `[embedder]`, as they fit with the other sections. Their own names, defaults and ranges are
//! [`sillok_perception`]'s.

use sillok_core::limits::PRODUCTS_MAX;
use sillok_core::{Error, ErrorCode};
use sillok_perception::CognifierProvider;

use super::Config;

impl Config {
    /// Checks both sections, and that an attempt at a promotion has the time for its calls: one of a cognifier, and as
    /// many of an embedder as its products may want.
    ///
    /// # Errors
    /// `invalid_argument` naming the key.
    pub(super) fn check_engines(&self) -> Result<(), Error> {
        let refused = |why: String| Error::new(ErrorCode::InvalidArgument, why);
        let of_section = |error: sillok_perception::Error| refused(error.to_string());
        self.cognifier.check().map_err(of_section)?;
        self.embedder.check().map_err(of_section)?;
        let of_cognifier = match self.cognifier.provider {
            CognifierProvider::Builtin => 0,
            _ => self.cognifier.timeout_ms,
        };
        let previous = self.embedder.previous.as_deref();
        let of_embedders = previous.into_iter().chain([&self.embedder]);
        let of_embedder = of_embedders.map(|embedder| embedder.embed_ms_max(PRODUCTS_MAX));
        let of_embedder = of_embedder.max().unwrap_or(0);
        let most = of_cognifier.saturating_add(of_embedder);
        if most >= self.jobs.attempt_ms_max {
            return Err(refused(format!(
                "configuration cognifier.timeout_ms, and embedder.timeout_ms for each embedder.batch_texts of \
                 {PRODUCTS_MAX} texts, of those that ask a model, take less together than jobs.attempt_ms_max, and \
                 not {most} ms: an attempt that ends in the midst of a call has paid for nothing"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sillok_perception::{EmbedderConfig, EmbedderProvider};

    use super::*;

    #[test]
    fn a_call_ends_before_the_attempt_that_makes_it() {
        let mut config = Config::default();
        config.jobs.attempt_ms_max = config.cognifier.timeout_ms;
        config.check().unwrap();
        config.cognifier.provider = CognifierProvider::Gemini;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("cognifier.timeout_ms"), "{error}");
        config.jobs.attempt_ms_max += 1;
        config.check().unwrap();
        config.embedder.provider = EmbedderProvider::Openai;
        config.embedder.model = "a-model".to_owned();
        config.embedder.dimensions = 8;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("embedder.timeout_ms"), "{error}");
    }

    #[test]
    fn an_attempt_has_the_time_for_every_call_that_its_products_want() {
        let mut config = Config::default();
        config.cognifier.provider = CognifierProvider::Gemini;
        let asked = EmbedderConfig {
            provider: EmbedderProvider::Ollama,
            model: "a-model".to_owned(),
            dimensions: 8,
            ..EmbedderConfig::default()
        };
        config.embedder = asked.clone();
        // Unless it is configured otherwise, both fit.
        config.check().unwrap();
        let calls = PRODUCTS_MAX.div_ceil(asked.batch_texts) as u64;
        assert!(calls > 1, "several batches");
        let most = config.cognifier.timeout_ms + calls * asked.timeout_ms;
        config.jobs.attempt_ms_max = most + 1;
        config.check().unwrap();
        config.jobs.attempt_ms_max = most;
        let error = config.check().unwrap_err();
        assert!(error.message.contains(&format!("{most} ms")), "{error}");
        // So many calls more, of the embedder before as well.
        config.jobs.attempt_ms_max = most + 1;
        let slow = EmbedderConfig {
            batch_texts: 1,
            ..asked
        };
        config.embedder.previous = Some(Box::new(slow.clone()));
        let error = config.check().unwrap_err();
        assert!(error.message.contains("embedder.batch_texts"), "{error}");
        config.embedder = slow;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("embedder.batch_texts"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_of_either_section_is_refused_by_its_key() {
        let mut config = Config::default();
        config.cognifier.requests_per_minute = 0;
        let error = config.check().unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(
            error.message.contains("cognifier.requests_per_minute"),
            "{error}"
        );
        let mut config = Config::default();
        config.embedder.similar_cosine = 2.0;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("embedder.similar_cosine"), "{error}");
    }
}
