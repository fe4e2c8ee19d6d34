//! What of a file became no record, counted by why.
//!
//! Owns the counting and its bound. It must not know formats: a reason is a few words.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::limits::{REASON_BYTES_MAX, REASONS_MAX};

/// Where reasons are counted for which there is no room.
const OTHERS: &str = "others";
/// How a kind is called whose name is none.
const NAMELESS: &str = "a kind without a readable name";

/// How much was passed over, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PassedOver(BTreeMap<String, u64>);

impl PassedOver {
    /// Counts one more.
    pub fn count(&mut self, reason: &str) {
        self.count_many(reason, 1);
    }

    /// Counts one more whose kind the file names: a name of another form is not told.
    pub(crate) fn count_kind(&mut self, what: &str, name: &str) {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_told = !name.is_empty() && name.len() <= REASON_BYTES_MAX && name.chars().all(plain);
        if is_told {
            self.count(&format!("{what} {name}"));
        } else {
            self.count(NAMELESS);
        }
    }

    fn count_many(&mut self, reason: &str, times: u64) {
        let is_new = !self.0.contains_key(reason);
        let told = if is_new && self.0.len() >= REASONS_MAX {
            OTHERS
        } else {
            reason
        };
        let counted = self.0.entry(told.to_owned()).or_default();
        *counted = counted.saturating_add(times);
    }

    /// Counts what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (reason, times) in &other.0 {
            self.count_many(reason, *times);
        }
    }

    /// How much was passed over in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0
            .values()
            .fold(0, |sum, times| sum.saturating_add(*times))
    }

    /// How much was passed over for one reason.
    #[must_use]
    pub fn of(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or_default()
    }

    /// Each reason with its count, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0
            .iter()
            .map(|(reason, times)| (reason.as_str(), *times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_a_bound_and_no_count_is_lost() {
        let mut passed = PassedOver::default();
        for number in 0..1_000 {
            passed.count_kind("record", &format!("kind-{number}"));
        }
        assert_eq!(passed.total(), 1_000);
        assert_eq!(passed.iter().count(), REASONS_MAX + 1);
        assert_eq!(passed.of("record kind-0"), 1);
        let mut sum = passed.clone();
        sum.add(&passed);
        assert_eq!(sum.total(), 2_000);
    }

    #[test]
    fn a_name_that_plays_with_its_reader_is_not_told() {
        let mut passed = PassedOver::default();
        for name in [
            "",
            "a b",
            "\u{1b}[2J",
            "한글",
            &"x".repeat(REASON_BYTES_MAX + 1),
        ] {
            passed.count_kind("record", name);
        }
        assert_eq!(passed.of(NAMELESS), 5);
    }
}
