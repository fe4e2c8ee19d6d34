//! Trust: how confidence grows by validation.
//!
//! Owns the boosts and what counts as the same validation. How confidence fades is
//! [`crate::decay`]'s: it is computed at read, never written.

use serde::{Deserialize, Serialize};

use crate::config::TrustConfig;
use crate::entry::Kind;
use crate::fingerprint::ContentHash;
use crate::limits::LINKS_MAX;
use crate::time::Timestamp;
use crate::verification::VerificationSource;

/// How confidence fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayPolicy {
    /// Fast.
    RecencyBias,
    /// Slowly.
    Stable,
    /// Not by itself.
    ManualOnly,
}

impl DecayPolicy {
    /// The policy of entries of a kind.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Episodic => Self::RecencyBias,
            Kind::Knowledge => Self::Stable,
            Kind::State => Self::ManualOnly,
        }
    }
}

/// Confidence, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// 0.1 to 1.0, as of the last validation.
    pub confidence: f64,
    /// What validated it last.
    pub validation_source: Option<VerificationSource>,
    /// When it was validated last.
    pub last_validated: Option<Timestamp>,
    /// How many validations counted.
    pub validation_count: u64,
    /// How its confidence fades.
    pub decay_policy: DecayPolicy,
    /// What was counted: a hash of each (source, run), the latest last.
    pub counted: Vec<[u8; 16]>,
}

impl Trust {
    /// The trust of a draft.
    #[must_use]
    pub fn draft(kind: Kind, config: &TrustConfig) -> Self {
        Self {
            confidence: config.draft,
            validation_source: None,
            last_validated: None,
            validation_count: 0,
            decay_policy: DecayPolicy::of(kind),
            counted: Vec::new(),
        }
    }

    /// Whether the same validation was counted before.
    #[must_use]
    pub fn has_counted(&self, source: VerificationSource, run: &str) -> bool {
        self.counted.contains(&validation_key(source, run))
    }

    /// Counts one validation: boosts confidence, raises the count, moves the time. The same
    /// validation (same source and run) counts once; `tests_failed` validates nothing.
    #[must_use]
    pub fn validated(
        &self,
        source: VerificationSource,
        run: &str,
        now: Timestamp,
        config: &TrustConfig,
    ) -> Self {
        let Some(boost) = config.boost(source) else {
            return self.clone();
        };
        if self.has_counted(source, run) {
            return self.clone();
        }
        let mut counted = self.counted.clone();
        if counted.len() == LINKS_MAX {
            counted.remove(0);
        }
        counted.push(validation_key(source, run));
        Self {
            confidence: (self.confidence + boost).clamp(config.min, config.max),
            validation_source: Some(source),
            last_validated: Some(self.last_validated.map_or(now, |last| last.max(now))),
            validation_count: self.validation_count + 1,
            decay_policy: self.decay_policy,
            counted,
        }
    }

    /// Takes one validation back; none when that was not counted. What is left is at most what the others gave,
    /// and no less than a verified entry has: a draft's confidence when there are none.
    #[must_use]
    pub fn without(
        &self,
        source: VerificationSource,
        run: &str,
        config: &TrustConfig,
    ) -> Option<Self> {
        let key = validation_key(source, run);
        let mut counted = self.counted.clone();
        counted.remove(counted.iter().position(|known| *known == key)?);
        let validation_count = self.validation_count.saturating_sub(1);
        let floor = if validation_count == 0 {
            config.draft
        } else {
            config.verified.min(self.confidence)
        };
        let confidence = if validation_count == 0 {
            config.draft
        } else {
            self.confidence - config.boost(source).unwrap_or_default()
        };
        Some(Self {
            confidence: confidence.max(floor).clamp(config.min, config.max),
            validation_count,
            counted,
            ..self.clone()
        })
    }

    /// What two entries are worth together that say the same: each validation counts once, the higher
    /// confidence stands.
    #[must_use]
    pub fn joined(&self, other: &Self, config: &TrustConfig) -> Self {
        let new = other
            .counted
            .iter()
            .filter(|key| !self.counted.contains(key));
        let mut counted: Vec<[u8; 16]> = self.counted.iter().chain(new).copied().collect();
        let validation_count = (self.validation_count + counted.len() as u64)
            .saturating_sub(self.counted.len() as u64);
        counted.drain(..counted.len().saturating_sub(LINKS_MAX));
        let latest = if other.last_validated > self.last_validated {
            other
        } else {
            self
        };
        Self {
            confidence: self
                .confidence
                .max(other.confidence)
                .clamp(config.min, config.max),
            validation_source: latest.validation_source,
            last_validated: latest.last_validated,
            validation_count,
            decay_policy: self.decay_policy,
            counted,
        }
    }

    /// Raises confidence to what a verified entry has at least.
    #[must_use]
    pub fn at_least_verified(self, config: &TrustConfig) -> Self {
        Self {
            confidence: self.confidence.max(config.verified),
            ..self
        }
    }
}

fn validation_key(source: VerificationSource, run: &str) -> [u8; 16] {
    let hash = ContentHash::of(&format!("{source} {run}"));
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source() -> impl Strategy<Value = VerificationSource> {
        proptest::sample::select(VerificationSource::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn confidence_stays_in_bounds_and_never_falls(
            runs in proptest::collection::vec((source(), "[a-c]{1}", 0u64..1_000), 0..40)
        ) {
            let config = TrustConfig::default();
            let mut trust = Trust::draft(Kind::Knowledge, &config);
            for (source, run, at) in runs {
                let next = trust.validated(source, &run, Timestamp::from_ms(at), &config);
                prop_assert!(next.confidence >= trust.confidence && next.confidence <= config.max);
                prop_assert!(next.last_validated >= trust.last_validated);
                trust = next;
            }
            // Three runs and four sources that count: no more validations than that.
            prop_assert!(trust.validation_count <= 12);
        }

        #[test]
        fn the_same_validation_counts_once(source in source(), run in "[a-z]{1,8}") {
            let config = TrustConfig::default();
            let once = Trust::draft(Kind::State, &config).validated(source, &run, Timestamp::from_ms(1), &config);
            let twice = once.validated(source, &run, Timestamp::from_ms(2), &config);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn a_repetition_that_is_taken_back_counts_no_more() {
        let config = TrustConfig::default();
        let at = Timestamp::from_ms(1);
        let again = VerificationSource::RepeatedSuccess;
        let draft = Trust::draft(Kind::Knowledge, &config);
        let first = draft
            .validated(VerificationSource::TestsPassed, "a", at, &config)
            .at_least_verified(&config);
        let twice = first.validated(VerificationSource::RepeatedSuccess, "b", at, &config);
        let back = twice.without(again, "b", &config).unwrap();
        assert!((back.confidence - first.confidence).abs() < 1e-12);
        assert_eq!((back.validation_count, &back.counted), (1, &first.counted));
        assert_eq!(back.without(again, "b", &config), None, "once");
        assert_eq!(
            first.without(again, "a", &config),
            None,
            "only a repetition"
        );
        let alone = draft.validated(VerificationSource::RepeatedSuccess, "b", at, &config);
        let back = alone.without(again, "b", &config).unwrap();
        assert_eq!((back.confidence, back.validation_count), (config.draft, 0));
    }

    #[test]
    fn boosts_are_those_of_the_specification() {
        let config = TrustConfig::default();
        let boosted = |source| {
            let trust = Trust::draft(Kind::Knowledge, &config).validated(
                source,
                "r",
                Timestamp::EPOCH,
                &config,
            );
            (trust.confidence * 100.0).round()
        };
        assert_eq!(boosted(VerificationSource::TestsPassed), 50.0);
        assert_eq!(boosted(VerificationSource::PrMerged), 60.0);
        assert_eq!(boosted(VerificationSource::HumanApproved), 70.0);
        assert_eq!(boosted(VerificationSource::RepeatedSuccess), 45.0);
        assert_eq!(boosted(VerificationSource::TestsFailed), 30.0);
    }
}
