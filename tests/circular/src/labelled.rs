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
    /// Both halves.
    pub const ALL: [Self; 2] = [Self::Tuned, Self::HeldOut];

    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::HeldOut => "held out",
        }
    }

    /// One bit of a hash of the texts, so that nobody chooses.
    fn of(texts: &[&str]) -> Self {
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

    /// The name of the file that holds it.
    fn file(&self) -> &'static str;

    /// The half that it belongs to.
    fn half(&self) -> Half;

    /// Whether it has the positive label of its set.
    fn is_positive(&self) -> bool;
}

/// A file of labelled pairs, one a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// Its name.
    pub(crate) name: &'static str,
    text: &'static str,
    is_for_tuning: bool,
}

impl File {
    /// A file of which the texts of each pair choose the half.
    pub(crate) const fn halved(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            is_for_tuning: false,
        }
    }

    /// A file whose pairs are all tuned on.
    pub(crate) const fn tuned(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            is_for_tuning: true,
        }
    }

    /// The half that a pair with these texts belongs to.
    pub(crate) fn half(&self, texts: &[&str]) -> Half {
        if self.is_for_tuning {
            Half::Tuned
        } else {
            Half::of(texts)
        }
    }

    /// Each line, as JSON.
    ///
    /// # Panics
    /// When a line does not parse.
    pub(crate) fn lines<T: DeserializeOwned>(&self) -> impl Iterator<Item = T> {
        let name = self.name;
        let lines = self.text.lines().enumerate();
        lines.map(move |(at, line)| {
            let read = serde_json::from_str(line);
            read.unwrap_or_else(|error| panic!("{name}, line {}: {error}", at + 1))
        })
    }
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

    /// The first file has both halves, and all others are for tuning alone, with enough pairs of each label.
    pub(crate) fn only_the_first_is_halved<P: Labelled>(files: &[File], pairs: &[P]) {
        for (at, file) in files.iter().enumerate() {
            let of_file = pairs.iter().filter(|pair| pair.file() == file.name);
            let of_half = |half| of_file.clone().filter(|pair| pair.half() == half).count();
            let (tuned, held_out) = (of_half(Half::Tuned), of_half(Half::HeldOut));
            assert!(tuned > 0, "{}", file.name);
            assert_eq!(held_out > 0, at == 0, "{}", file.name);
            let positive = of_file.filter(|pair| pair.is_positive()).count();
            let quarter = (tuned + held_out) / 4;
            assert!(positive >= quarter, "{}: {positive} positive", file.name);
            let negative = tuned + held_out - positive;
            assert!(negative >= quarter, "{}: {negative} negative", file.name);
        }
    }

    #[test]
    fn the_texts_alone_choose_the_half() {
        let half = Half::of(&["one", "two"]);
        assert_eq!(half, Half::of(&["one", "two"]));
        let mut others = (0..64).map(|at: u8| Half::of(&["one", &at.to_string()]));
        assert!(others.any(|other| other != half));
    }

    #[test]
    fn of_a_file_for_tuning_no_text_chooses() {
        let texts: Vec<String> = (0..64).map(|at: u8| at.to_string()).collect();
        let halves = |file: File| {
            let halves = texts.iter().map(move |text| file.half(&[text.as_str()]));
            halves.collect::<Vec<_>>()
        };
        assert_eq!(halves(File::tuned("a", "")), [Half::Tuned; 64]);
        let halved = halves(File::halved("a", ""));
        assert!(Half::ALL.iter().all(|half| halved.contains(half)));
    }

    #[test]
    #[should_panic(expected = "some, line 2")]
    fn a_line_that_does_not_parse_is_named() {
        let file = File::halved("some", "[]\n{}\n");
        let _ = file.lines::<Vec<String>>().count();
    }
}
