//! `[cognifier]` and `[embedder]`, as they fit with the other sections. Their own names, defaults and ranges are
//! [`sillok_perception`]'s.

use sillok_core::{Error, ErrorCode};
use sillok_perception::CognifierProvider;

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
        let asks_a_model = self.cognifier.provider != CognifierProvider::Builtin;
        if asks_a_model && self.cognifier.timeout_ms >= self.jobs.attempt_ms_max {
            return Err(refused(
                "configuration cognifier.timeout_ms takes less than jobs.attempt_ms_max: an attempt that ends \
                 in the midst of a call has paid for nothing"
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
