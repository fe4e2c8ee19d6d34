//! `[cognifier]` and `[embedder]`, as they fit with the other sections. Their own names, defaults and ranges are
//! [`sillok_perception`]'s.

use sillok_core::{Error, ErrorCode};
use sillok_perception::{CognifierProvider, EmbedderProvider};

use super::Config;

impl Config {
    /// Checks both sections, and that an attempt at a promotion has the time for a call.
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
        let asked = of_embedders.filter(|embedder| embedder.provider != EmbedderProvider::Builtin);
        let of_embedder = asked.map(|embedder| embedder.timeout_ms).max().unwrap_or(0);
        if of_cognifier + of_embedder >= self.jobs.attempt_ms_max {
            return Err(refused(
                "configuration cognifier.timeout_ms and embedder.timeout_ms, of those that ask a model, take \
                 less together than jobs.attempt_ms_max: an attempt that ends in the midst of a call has paid \
                 for nothing"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_before_the_attempt_that_makes_it() {
        let mut config = Config::default();
        config.jobs.attempt_ms_max = config.cognifier.timeout_ms;
        config.check().unwrap();
        config.cognifier.provider = CognifierProvider::Gemini;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("cognifier.timeout_ms"), "{error}");
        config.jobs.attempt_ms_max += config.embedder.timeout_ms;
        config.check().unwrap();
        config.embedder.provider = EmbedderProvider::Openai;
        config.embedder.model = "a-model".to_owned();
        config.embedder.dimensions = 8;
        let error = config.check().unwrap_err();
        assert!(error.message.contains("embedder.timeout_ms"), "{error}");
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
