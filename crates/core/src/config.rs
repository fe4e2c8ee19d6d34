//! The typed configuration of the rules: every number that an operator may tune.
//!
//! Owns names, defaults and ranges. It must not know files, environment variables or flags: the
//! server reads those and hands the result in.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::limits::{KEEP_BEST_MAX, RECALL_CANDIDATES_MAX, RECALL_RESULTS_MAX};
use crate::ports::SpaceThresholds;
use crate::verification::VerificationSource;

/// The rules' configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RulesConfig {
    /// How confidence grows and fades.
    pub trust: TrustConfig,
    /// How searches rank and what they leave out.
    pub recall: RecallConfig,
    /// When entries lose relevance.
    pub retention: RetentionConfig,
    /// When entries count as one.
    pub dedup: DedupConfig,
    /// How patterns are weighed.
    pub bank: BankConfig,
}

/// `[trust]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustConfig {
    /// Confidence of a draft.
    pub draft: f64,
    /// Least confidence of a verified entry.
    pub verified: f64,
    /// Floor of confidence.
    pub min: f64,
    /// Ceiling of confidence.
    pub max: f64,
    /// Added when tests passed.
    pub boost_tests_passed: f64,
    /// Added when a change was merged.
    pub boost_pr_merged: f64,
    /// Added when a person approved.
    pub boost_human_approved: f64,
    /// Added when the same thing succeeded again.
    pub boost_repeated_success: f64,
    /// Share lost in 30 days under `recency_bias`.
    pub decay_recency_bias_per_month: f64,
    /// Share lost in 30 days under `stable`.
    pub decay_stable_per_month: f64,
    /// Tasks that must report an entry as helpful before it becomes `published`.
    pub reuse_to_publish: u64,
    /// Tasks that must report an entry as wrong before a person is asked.
    pub wrong_to_review: u64,
}

impl Default for TrustConfig {
    fn default() -> Self {
        Self {
            draft: 0.3,
            verified: 0.6,
            min: 0.1,
            max: 1.0,
            boost_tests_passed: 0.2,
            boost_pr_merged: 0.3,
            boost_human_approved: 0.4,
            boost_repeated_success: 0.15,
            decay_recency_bias_per_month: 0.1,
            decay_stable_per_month: 0.02,
            reuse_to_publish: 3,
            wrong_to_review: 2,
        }
    }
}

impl TrustConfig {
    /// What a validation from `source` adds; none when it validates nothing.
    #[must_use]
    pub const fn boost(&self, source: VerificationSource) -> Option<f64> {
        match source {
            VerificationSource::TestsPassed => Some(self.boost_tests_passed),
            VerificationSource::PrMerged => Some(self.boost_pr_merged),
            VerificationSource::HumanApproved => Some(self.boost_human_approved),
            VerificationSource::RepeatedSuccess => Some(self.boost_repeated_success),
            VerificationSource::TestsFailed => None,
        }
    }
}

/// `[recall]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallConfig {
    /// Results when the caller does not say.
    pub results: usize,
    /// Length of each ranked list that is fused.
    pub candidates: usize,
    /// The constant of reciprocal rank fusion.
    pub rrf_k: f64,
    /// Patterns with less stored confidence are left out.
    pub confidence_min_patterns: f64,
    /// Other entries with less stored confidence are left out.
    pub confidence_min: f64,
    /// Share of a pattern's recency lost in a day since its last use.
    pub recency_loss_per_day: f64,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            results: 10,
            candidates: 50,
            rrf_k: 60.0,
            confidence_min_patterns: 0.6,
            confidence_min: 0.3,
            recency_loss_per_day: 0.05,
        }
    }
}

/// `[dedup]`: cosines. 0 stands for what the embedding space was measured to mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DedupConfig {
    /// At or over this, two entries of one table are one.
    pub merge: f32,
    /// At or over this and under `merge`, they are linked as similar.
    pub similar: f32,
}

impl DedupConfig {
    /// The thresholds of a space, as far as the operator did not say otherwise.
    #[must_use]
    pub fn over(&self, space: SpaceThresholds) -> SpaceThresholds {
        let chosen = |ours: f32, theirs: f32| if ours > 0.0 { ours } else { theirs };
        let merge = chosen(self.merge, space.merge);
        SpaceThresholds {
            merge,
            // The wider threshold stays the wider one, whichever of the two was chosen.
            similar: chosen(self.similar, space.similar).min(merge),
        }
    }
}

/// `[retention]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Days in which an episodic entry loses half its relevance.
    pub episodic_half_life_days: f64,
    /// Days in which a knowledge entry loses half its relevance; it has none after twice as many.
    pub knowledge_half_life_days: f64,
    /// Days after which an episodic entry is archived.
    pub archive_episodic_days: f64,
    /// Days after which a knowledge entry is archived.
    pub archive_knowledge_days: f64,
    /// Days after its resolution after which a state is archived.
    pub archive_state_days: f64,
    /// Days after which an entry of low value is pruned.
    pub prune_days: f64,
    /// Episodes of less reward are of low value.
    pub prune_reward: f64,
    /// Skills of a lower success rate are of low value.
    pub prune_success_rate: f64,
    /// The best entries of each task that are neither archived nor pruned.
    pub keep_best: usize,
    /// When more than this share of a scope's live entries would go, nothing of it goes without a question; when more than
    /// this share of all that a run looks at, nothing at all.
    pub stop_share: f64,
    /// So few need no question, whatever share they are.
    pub stop_entries: usize,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            episodic_half_life_days: 30.0,
            knowledge_half_life_days: 180.0,
            archive_episodic_days: 90.0,
            archive_knowledge_days: 365.0,
            archive_state_days: 30.0,
            prune_days: 90.0,
            prune_reward: 0.3,
            prune_success_rate: 0.5,
            keep_best: 5,
            stop_share: 0.5,
            stop_entries: 16,
        }
    }
}

/// `[bank]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BankConfig {
    /// Successes that every pattern is taken to have had before it was tried: the first parameter of a Beta prior.
    pub prior_successes: f64,
    /// Failures that it is taken to have had: the second one.
    pub prior_failures: f64,
    /// What a pattern weighs before any reward.
    pub weight_start: f64,
    /// The share of the way to what a reward says by which that moves the weight.
    pub weight_rate: f64,
}

impl Default for BankConfig {
    fn default() -> Self {
        Self {
            prior_successes: 1.0,
            prior_failures: 1.0,
            weight_start: 0.5,
            weight_rate: 0.2,
        }
    }
}

impl BankConfig {
    fn check(&self) -> Result<(), Error> {
        positive(&[
            ("bank.prior_successes", self.prior_successes),
            ("bank.prior_failures", self.prior_failures),
        ])?;
        shares(&[
            ("bank.weight_start", self.weight_start),
            ("bank.weight_rate", self.weight_rate),
        ])
    }
}

impl RulesConfig {
    /// Checks that every number lies in its range.
    ///
    /// # Errors
    /// `invalid_argument` naming the first field that does not.
    pub fn check(&self) -> Result<(), Error> {
        self.trust.check()?;
        self.recall.check()?;
        self.retention.check()?;
        self.bank.check()?;
        shares(&[
            ("dedup.merge", f64::from(self.dedup.merge)),
            ("dedup.similar", f64::from(self.dedup.similar)),
        ])
    }
}

impl TrustConfig {
    fn check(&self) -> Result<(), Error> {
        shares(&[
            ("trust.draft", self.draft),
            ("trust.verified", self.verified),
            ("trust.min", self.min),
            ("trust.max", self.max),
            ("trust.boost_tests_passed", self.boost_tests_passed),
            ("trust.boost_pr_merged", self.boost_pr_merged),
            ("trust.boost_human_approved", self.boost_human_approved),
            ("trust.boost_repeated_success", self.boost_repeated_success),
            (
                "trust.decay_recency_bias_per_month",
                self.decay_recency_bias_per_month,
            ),
            ("trust.decay_stable_per_month", self.decay_stable_per_month),
        ])?;
        if self.min > self.draft || self.draft > self.verified || self.verified > self.max {
            return Err(out_of_range("trust", "min <= draft <= verified <= max"));
        }
        let counts = [
            ("trust.reuse_to_publish", self.reuse_to_publish),
            ("trust.wrong_to_review", self.wrong_to_review),
        ];
        match counts.iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => Err(out_of_range(name, "1 or more")),
            None => Ok(()),
        }
    }
}

impl RecallConfig {
    fn check(&self) -> Result<(), Error> {
        shares(&[
            (
                "recall.confidence_min_patterns",
                self.confidence_min_patterns,
            ),
            ("recall.confidence_min", self.confidence_min),
            ("recall.recency_loss_per_day", self.recency_loss_per_day),
        ])?;
        positive(&[("recall.rrf_k", self.rrf_k)])?;
        counts(&[
            ("recall.results", self.results, 1, RECALL_RESULTS_MAX),
            (
                "recall.candidates",
                self.candidates,
                1,
                RECALL_CANDIDATES_MAX,
            ),
        ])
    }
}

impl RetentionConfig {
    fn check(&self) -> Result<(), Error> {
        shares(&[
            ("retention.prune_reward", self.prune_reward),
            ("retention.prune_success_rate", self.prune_success_rate),
            ("retention.stop_share", self.stop_share),
        ])?;
        positive(&[
            (
                "retention.episodic_half_life_days",
                self.episodic_half_life_days,
            ),
            (
                "retention.knowledge_half_life_days",
                self.knowledge_half_life_days,
            ),
            (
                "retention.archive_episodic_days",
                self.archive_episodic_days,
            ),
            (
                "retention.archive_knowledge_days",
                self.archive_knowledge_days,
            ),
            ("retention.archive_state_days", self.archive_state_days),
            ("retention.prune_days", self.prune_days),
        ])?;
        counts(&[("retention.keep_best", self.keep_best, 0, KEEP_BEST_MAX)])
    }
}

fn shares(values: &[(&str, f64)]) -> Result<(), Error> {
    let is_none = |value: f64| !(0.0..=1.0).contains(&value);
    match values.iter().find(|(_, value)| is_none(*value)) {
        Some((name, _)) => Err(out_of_range(name, "0 to 1")),
        None => Ok(()),
    }
}

fn positive(values: &[(&str, f64)]) -> Result<(), Error> {
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    match values.iter().find(|(_, value)| !is_positive(*value)) {
        Some((name, _)) => Err(out_of_range(name, "over 0")),
        None => Ok(()),
    }
}

fn counts(values: &[(&str, usize, usize, usize)]) -> Result<(), Error> {
    for (name, value, min, max) in values {
        if value < min || value > max {
            return Err(out_of_range(name, &format!("{min} to {max}")));
        }
    }
    Ok(())
}

fn out_of_range(name: &str, range: &str) -> Error {
    Error::new(
        ErrorCode::InvalidArgument,
        format!("configuration {name} is out of range: {range}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_thresholds_count_before_those_of_the_space() {
        let space = SpaceThresholds {
            merge: 0.96,
            similar: 0.85,
        };
        assert_eq!(DedupConfig::default().over(space), space);
        let chosen = |merge, similar| DedupConfig { merge, similar }.over(space);
        assert_eq!(chosen(0.9, 0.0).merge, 0.9);
        assert_eq!(chosen(0.8, 0.0).similar, 0.8, "never over the narrower one");
        assert_eq!(chosen(0.0, 0.7).similar, 0.7);
    }

    #[test]
    fn defaults_are_in_range_and_bad_values_are_named() {
        assert!(RulesConfig::default().check().is_ok());
        let mut config = RulesConfig::default();
        config.recall.rrf_k = 0.0;
        assert!(config.check().unwrap_err().message.contains("recall.rrf_k"));
        config = RulesConfig::default();
        config.bank.prior_failures = 0.0;
        let refused = config.check().unwrap_err();
        assert!(refused.message.contains("bank.prior_failures"));
        config = RulesConfig::default();
        config.trust.verified = f64::NAN;
        assert!(
            config
                .check()
                .unwrap_err()
                .message
                .contains("trust.verified")
        );
    }
}
