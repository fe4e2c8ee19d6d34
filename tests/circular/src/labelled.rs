//! What the pairs of both sets have in common, and how a line of their files is read.
//!
//! Must not know what a pair holds, nor how it is judged.

use std::fmt;

use serde::de::DeserializeOwned;

/// Which half of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Rules and thresholds are made with these in sight.
    Tuned,
    /// Counted, never listed.
    HeldOut,
}

impl Half {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::HeldOut => "held out",
        }
    }

    /// One bit of a hash of the texts, so that nobody chooses. Pairs that were written to be tuned on
    /// do not ask.
    pub(crate) fn of(texts: &[&str]) -> Self {
        let hash = blake3::hash(texts.join("\t").as_bytes());
        if hash.as_bytes()[0] & 1 == 0 {
            Self::Tuned
        } else {
            Self::HeldOut
        }
    }
}

/// Which labelled set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Pairs of error outputs.
    Errors,
    /// Pairs of approaches to a task.
    Approaches,
}

impl Set {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Approaches => "approaches",
        }
    }

    /// What a pair is labelled that is one and the same thing: the label which a rule is to find.
    #[must_use]
    pub const fn positive(self) -> &'static str {
        match self {
            Self::Errors => "same",
            Self::Approaches => "circular",
        }
    }

    /// What any other pair is labelled.
    #[must_use]
    pub const fn negative(self) -> &'static str {
        match self {
            Self::Errors => "different",
            Self::Approaches => "new",
        }
    }
}

/// A pair that a person labelled. Its display is what a list shows of it.
pub trait Labelled: fmt::Display {
    /// The set that it belongs to.
    const SET: Set;

    /// The half that it belongs to.
    fn half(&self) -> Half;

    /// Whether it has the positive label of its set.
    fn is_positive(&self) -> bool;
}

/// Each line of a file, as JSON.
///
/// # Panics
/// When a line does not parse.
pub(crate) fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("line {}: {error}", at + 1))
    };
    file.lines().enumerate().map(read).collect()
}

/// What the tests of both sets ask of a set.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Enough pairs, enough of each label, and enough in each half.
    pub(crate) fn is_balanced<P: Labelled>(pairs: &[P]) {
        assert!(pairs.len() >= 240, "{}", pairs.len());
        let positive = pairs.iter().filter(|pair| pair.is_positive()).count();
        let two_fifths = pairs.len() * 2 / 5;
        assert!(positive >= two_fifths, "{positive} positive");
        assert!(pairs.len() - positive >= two_fifths, "{positive} positive");
        for half in [Half::Tuned, Half::HeldOut] {
            let of_half = pairs.iter().filter(|pair| pair.half() == half);
            let positive = of_half.clone().filter(|pair| pair.is_positive()).count();
            let of_half = of_half.count();
            assert!(of_half >= 100, "{half:?}: {of_half}");
            assert!(positive * 5 >= of_half * 2, "{half:?}: {positive} positive");
            assert!(positive * 5 <= of_half * 3, "{half:?}: {positive} positive");
        }
    }

    /// All tuned on, enough of them, and enough of each label.
    pub(crate) fn are_for_tuning<P: Labelled>(pairs: &[P]) {
        assert!(pairs.len() >= 200, "{}", pairs.len());
        assert!(pairs.iter().all(|pair| pair.half() == Half::Tuned));
        let positive = pairs.iter().filter(|pair| pair.is_positive()).count();
        assert!(positive * 5 >= pairs.len() * 2, "{positive} positive");
        assert!(positive * 5 <= pairs.len() * 3, "{positive} positive");
    }

    #[test]
    fn the_texts_alone_choose_the_half() {
        let half = Half::of(&["one", "two"]);
        assert_eq!(half, Half::of(&["one", "two"]));
        let mut others = (0..64).map(|at: u8| Half::of(&["one", &at.to_string()]));
        assert!(others.any(|other| other != half));
    }

    #[test]
    #[should_panic(expected = "line 2")]
    fn a_line_that_does_not_parse_is_named() {
        lines::<Vec<String>>("[]\n{}\n");
    }
}
