//! Pairs of error outputs: what is written in the files of `testdata/` that are named for errors.
//!
//! Must not know how pairs are judged.

use std::fmt;

use serde::Deserialize;

use crate::labelled::{File, Half, Labelled, Set};

/// All but the first were written so that there is more to tune on.
static FILES: [File; 4] = [
    File::halved("errors", include_str!("../testdata/errors.jsonl")),
    File::tuned("more_errors", include_str!("../testdata/more_errors.jsonl")),
    File::tuned(
        "third_errors",
        include_str!("../testdata/third_errors.jsonl"),
    ),
    File::tuned(
        "fourth_errors",
        include_str!("../testdata/fourth_errors.jsonl"),
    ),
];

/// What a person says of two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorLabel {
    /// One failure, met twice.
    Same,
    /// Two failures, be they of one kind or not.
    Different,
}

/// Which tool printed an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// pytest, with or without its plugins.
    Pytest,
    /// The tests that cargo runs.
    CargoTest,
    /// The Rust compiler, mostly through cargo.
    Rustc,
    /// Jest, and what prints as it does.
    Jest,
    /// The tests that go runs, and what it builds for them.
    GoTest,
    /// The TypeScript compiler.
    Tsc,
    /// C and C++ compilers, their linker and their sanitizers.
    Gcc,
    /// Whatever runs on or builds for the Java virtual machine.
    Jvm,
    /// kubectl, and the events of a cluster.
    Kubectl,
    /// Tracebacks of Python.
    Python,
    /// Any other tool.
    Other,
}

impl Shape {
    /// Every shape, in the order of the file.
    pub const ALL: [Self; 11] = [
        Self::Pytest,
        Self::CargoTest,
        Self::Rustc,
        Self::Jest,
        Self::GoTest,
        Self::Tsc,
        Self::Gcc,
        Self::Jvm,
        Self::Kubectl,
        Self::Python,
        Self::Other,
    ];

    /// Its name in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::CargoTest => "cargo-test",
            Self::Rustc => "rustc",
            Self::Jest => "jest",
            Self::GoTest => "go-test",
            Self::Tsc => "tsc",
            Self::Gcc => "gcc",
            Self::Jvm => "jvm",
            Self::Kubectl => "kubectl",
            Self::Python => "python",
            Self::Other => "other",
        }
    }
}

/// Two error outputs and what a person says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPair {
    /// What a person says.
    pub label: ErrorLabel,
    /// Which tool printed them.
    pub shape: Shape,
    /// Which file holds it.
    pub file: &'static str,
    /// Which half it belongs to.
    pub half: Half,
    /// Why the label is what it is.
    pub why: String,
    /// One output.
    pub a: String,
    /// The other output.
    pub b: String,
}

/// A line of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    label: ErrorLabel,
    shape: Shape,
    why: String,
    a: String,
    b: String,
}

/// Every pair, in the order of the files.
///
/// # Panics
/// When a line is no labelled pair.
#[must_use]
pub fn error_pairs() -> Vec<ErrorPair> {
    let pairs = FILES
        .iter()
        .flat_map(|file| file.lines().map(move |line| read(file, line)));
    pairs.collect()
}

fn read(file: &File, line: Line) -> ErrorPair {
    ErrorPair {
        label: line.label,
        shape: line.shape,
        file: file.name,
        half: file.half(&[&line.a, &line.b]),
        why: line.why,
        a: line.a,
        b: line.b,
    }
}

impl Labelled for ErrorPair {
    const SET: Set = Set::Errors;

    fn file(&self) -> &'static str {
        self.file
    }

    fn half(&self) -> Half {
        self.half
    }

    fn is_positive(&self) -> bool {
        self.label == ErrorLabel::Same
    }
}

impl fmt::Display for ErrorPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.shape.as_str(), self.why)?;
        for (name, text) in [("a", &self.a), ("b", &self.b)] {
            for line in text.split('\n') {
                // What moves the cursor or paints would do so where this is read.
                let line = line.replace('\x1b', "␛").replace('\r', "␍");
                writeln!(f, "  {name} | {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::labelled::tests::{is_balanced, only_the_first_is_halved};

    #[test]
    fn there_are_enough_pairs_of_each_label_and_in_each_half() {
        is_balanced(&error_pairs());
    }

    #[test]
    fn what_was_written_to_be_tuned_on_is_for_tuning_alone() {
        only_the_first_is_halved(&FILES, &error_pairs());
    }

    #[test]
    fn every_shape_has_pairs_of_both_labels() {
        let pairs = error_pairs();
        for shape in Shape::ALL {
            let of_shape = pairs.iter().filter(|pair| pair.shape == shape);
            let same = of_shape.clone().filter(|pair| pair.is_positive()).count();
            let of_shape = of_shape.count();
            assert!(of_shape >= 16, "{shape:?}: {of_shape}");
            assert!(same >= 6, "{shape:?}: {same} the same");
            assert!(of_shape - same >= 6, "{shape:?}: {same} the same");
        }
    }

    #[test]
    fn no_pair_stands_there_twice_nor_holds_one_text_twice() {
        let mut seen = BTreeSet::new();
        for pair in error_pairs() {
            assert_ne!(pair.a, pair.b);
            let mut texts = [pair.a, pair.b];
            texts.sort_unstable();
            assert!(seen.insert(texts.clone()), "{texts:?}");
        }
    }

    #[test]
    fn outputs_are_of_a_size_that_is_read_and_each_label_has_its_reason() {
        for pair in error_pairs() {
            assert!(!pair.why.trim().is_empty(), "{pair}");
            for text in [&pair.a, &pair.b] {
                assert!(!text.trim().is_empty(), "{pair}");
                assert!(text.lines().count() <= 40, "{pair}");
            }
        }
    }

    #[test]
    fn what_would_paint_is_shown_as_a_sign() {
        let painted = |pair: &ErrorPair| pair.a.contains('\x1b') || pair.a.contains('\r');
        let mut painted = error_pairs().into_iter().filter(painted).peekable();
        assert!(painted.peek().is_some());
        for pair in painted {
            let shown = pair.to_string();
            assert!(!shown.contains(['\x1b', '\r']), "{shown:?}");
            assert!(shown.contains(['␛', '␍']), "{shown}");
        }
    }
}
