//! Decay: how confidence, relevance and recency fade with time.
//!
//! Owns the curves. Each is a pure function of what is stored and of `now`: nothing here is ever
//! written back, and it must not know searches or stores.

use crate::config::{RecallConfig, RetentionConfig, TrustConfig};
use crate::entry::{Kind, Table};
use crate::time::{DAY_MS, MONTH_MS, Timestamp};
use crate::trust::{DecayPolicy, Trust};

/// Confidence at `now`: the stored one, compounded down per 30 days since the last validation, or
/// since `created` where nothing validated it. Never under the configured floor, and never over
/// the stored confidence.
#[must_use]
pub fn confidence_at(
    trust: &Trust,
    created: Timestamp,
    now: Timestamp,
    config: &TrustConfig,
) -> f64 {
    let loss_per_month = match trust.decay_policy {
        DecayPolicy::RecencyBias => config.decay_recency_bias_per_month,
        DecayPolicy::Stable => config.decay_stable_per_month,
        DecayPolicy::ManualOnly => return trust.confidence,
    };
    let months = ratio(
        now.since_ms(trust.last_validated.unwrap_or(created)),
        MONTH_MS,
    );
    let floor = config.min.min(trust.confidence);
    (trust.confidence * (1.0 - loss_per_month).powf(months)).clamp(floor, trust.confidence)
}

/// Relevance at `now`, 0 to 1, by the curve of the entry's kind. `age_from` is the later of
/// creation and last validation; `resolved_at` ends the relevance of a state.
#[must_use]
pub fn relevance_at(
    kind: Kind,
    age_from: Timestamp,
    resolved_at: Option<Timestamp>,
    now: Timestamp,
    config: &RetentionConfig,
) -> f64 {
    let days = ratio(now.since_ms(age_from), DAY_MS);
    match kind {
        Kind::Episodic => 0.5_f64.powf(days / config.episodic_half_life_days),
        Kind::Knowledge => (1.0 - days / (2.0 * config.knowledge_half_life_days)).max(0.0),
        Kind::State if resolved_at.is_some_and(|resolved| resolved <= now) => 0.0,
        Kind::State => 1.0,
    }
}

/// Recency at `now`, 0 to 1. Only patterns have one: it falls by a share for each day since the
/// last use (or since creation, when unused) and a use restores it. Other tables: 1.
#[must_use]
pub fn recency_at(
    table: Table,
    last_used: Option<Timestamp>,
    created: Timestamp,
    now: Timestamp,
    config: &RecallConfig,
) -> f64 {
    if table != Table::Patterns {
        return 1.0;
    }
    let since = last_used.map_or(created, |used| used.max(created));
    (1.0 - config.recency_loss_per_day).powf(ratio(now.since_ms(since), DAY_MS))
}

/// A span in units of `unit_ms`.
#[expect(
    clippy::cast_precision_loss,
    reason = "spans are far under 2^53 ms, where f64 is exact"
)]
fn ratio(span_ms: u64, unit_ms: u64) -> f64 {
    span_ms as f64 / unit_ms as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trust(confidence: f64, kind: Kind, validated: Option<u64>) -> Trust {
        Trust {
            confidence,
            last_validated: validated.map(Timestamp::from_ms),
            ..Trust::draft(kind, &TrustConfig::default())
        }
    }

    fn days(count: u64) -> Timestamp {
        Timestamp::from_ms(count * DAY_MS)
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        proptest::sample::select(Kind::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn confidence_stays_in_bounds_and_never_rises_by_waiting(
            confidence in 0.1f64..=1.0, kind in kinds(), created: u32, validated: Option<u32>, a: u64, b: u64,
        ) {
            let config = TrustConfig::default();
            let trust = trust(confidence, kind, validated.map(u64::from));
            let at = |now| confidence_at(&trust, Timestamp::from_ms(u64::from(created)), Timestamp::from_ms(now), &config);
            let (early, late) = (at(a.min(b)), at(a.max(b)));
            prop_assert!(late <= early && early <= confidence);
            prop_assert!(late >= config.min);
            if kind == Kind::State {
                prop_assert_eq!(late, confidence);
            }
        }

        #[test]
        fn confidence_compounds(confidence in 0.5f64..=1.0, months in 0i32..6) {
            let config = TrustConfig::default();
            let now = Timestamp::from_ms(u64::try_from(months).unwrap() * MONTH_MS);
            let at = confidence_at(&trust(confidence, Kind::Episodic, None), Timestamp::EPOCH, now, &config);
            prop_assert!((at - (confidence * 0.9f64.powi(months)).max(config.min)).abs() < 1e-12);
        }

        #[test]
        fn relevance_and_recency_are_shares_that_never_rise(
            kind in kinds(), from: u32, a: u64, b: u64, resolved: Option<u32>,
        ) {
            let resolved = resolved.map(|ms| Timestamp::from_ms(u64::from(ms)));
            let from = Timestamp::from_ms(u64::from(from));
            let relevance = |now| relevance_at(kind, from, resolved, Timestamp::from_ms(now), &RetentionConfig::default());
            let recency = |now| recency_at(Table::Patterns, resolved, from, Timestamp::from_ms(now), &RecallConfig::default());
            for curve in [&relevance as &dyn Fn(u64) -> f64, &recency] {
                let (early, late) = (curve(a.min(b)), curve(a.max(b)));
                prop_assert!((0.0..=1.0).contains(&late) && late <= early);
            }
        }

        #[test]
        fn using_a_pattern_restores_its_recency(created: u32, used: u32, after in 0u64..(400 * DAY_MS)) {
            let config = RecallConfig::default();
            let (created, used) = (Timestamp::from_ms(u64::from(created)), Timestamp::from_ms(u64::from(used)));
            let now = used.max(created).plus_ms(after);
            let with = recency_at(Table::Patterns, Some(used), created, now, &config);
            prop_assert!(with >= recency_at(Table::Patterns, None, created, now, &config));
            prop_assert_eq!(recency_at(Table::Patterns, Some(now), created, now, &config), 1.0);
        }
    }

    #[test]
    fn rates_are_those_of_the_specification() {
        let config = TrustConfig::default();
        let after_month =
            |kind| confidence_at(&trust(0.8, kind, Some(0)), days(0), days(30), &config);
        assert!((after_month(Kind::Episodic) - 0.72).abs() < 1e-12);
        assert!((after_month(Kind::Knowledge) - 0.784).abs() < 1e-12);
        assert_eq!(after_month(Kind::State), 0.8);
        assert_eq!(
            confidence_at(
                &trust(0.8, Kind::Episodic, None),
                days(0),
                days(3_650),
                &config
            ),
            0.1
        );
    }

    #[test]
    fn relevance_curves_are_those_of_the_specification() {
        let config = RetentionConfig::default();
        let at = |kind, now| relevance_at(kind, days(0), None, days(now), &config);
        assert!((at(Kind::Episodic, 30) - 0.5).abs() < 1e-12);
        assert!((at(Kind::Episodic, 60) - 0.25).abs() < 1e-12);
        assert!((at(Kind::Knowledge, 180) - 0.5).abs() < 1e-12);
        assert_eq!(at(Kind::Knowledge, 360), 0.0);
        assert_eq!(at(Kind::Knowledge, 9_999), 0.0);
        assert_eq!(at(Kind::State, 9_999), 1.0);
        assert_eq!(
            relevance_at(Kind::State, days(0), Some(days(5)), days(4), &config),
            1.0
        );
        assert_eq!(
            relevance_at(Kind::State, days(0), Some(days(5)), days(5), &config),
            0.0
        );
    }

    #[test]
    fn only_patterns_lose_recency_five_percent_a_day() {
        let config = RecallConfig::default();
        assert!(
            (recency_at(Table::Patterns, None, days(0), days(2), &config) - 0.9025).abs() < 1e-12
        );
        for table in Table::ALL.iter().filter(|table| **table != Table::Patterns) {
            assert_eq!(recency_at(*table, None, days(0), days(400), &config), 1.0);
        }
    }
}
