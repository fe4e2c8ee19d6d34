//! Pairs of approaches to a task: what is written in the files of `testdata/` that are named for approaches.
//!
//! Must not know how pairs are judged.

use std::fmt;

use serde::Deserialize;

use crate::labelled::{File, Half, Labelled, Set};

/// All but the first were written so that there is more to tune on.
static FILES: [File; 4] = [
    File::halved("approaches", include_str!("../testdata/approaches.jsonl")),
    File::tuned(
        "more_approaches",
        include_str!("../testdata/more_approaches.jsonl"),
    ),
    File::tuned(
        "third_approaches",
        include_str!("../testdata/third_approaches.jsonl"),
    ),
    File::tuned(
        "fourth_approaches",
        include_str!("../testdata/fourth_approaches.jsonl"),
    ),
];

/// What a person says of an approach after another has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApproachLabel {
    /// The same thing, tried once more.
    Circular,
    /// Something else.
    New,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Its description, in one to three sentences.
    pub description: String,
}

/// What was tried, or is to be tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// What somebody says that they do.
    pub approach: String,
    /// Paths of the files that it touches, if they are known.
    pub files: Vec<String>,
    /// Names of the symbols that it touches, if they are known.
    pub symbols: Vec<String>,
}

/// Two approaches to a task and what a person says of the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproachPair {
    /// What a person says.
    pub label: ApproachLabel,
    /// Which file holds it.
    pub file: &'static str,
    /// Which half it belongs to.
    pub half: Half,
    /// Why the label is what it is.
    pub why: String,
    /// What both are to do.
    pub task: Task,
    /// What has failed.
    pub failed: Tried,
    /// What is proposed thereafter.
    pub proposed: Tried,
}

/// A line of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    label: ApproachLabel,
    why: String,
    task: String,
    failed: Tried,
    proposed: Tried,
}

/// Every pair, in the order of the files.
///
/// # Panics
/// When a line is no labelled pair.
#[must_use]
pub fn approach_pairs() -> Vec<ApproachPair> {
    let pairs = FILES
        .iter()
        .flat_map(|file| file.lines().map(move |line| read(file, line)));
    pairs.collect()
}

fn read(file: &File, line: Line) -> ApproachPair {
    let texts = [&line.task, &line.failed.approach, &line.proposed.approach];
    ApproachPair {
        label: line.label,
        file: file.name,
        half: file.half(&texts.map(String::as_str)),
        why: line.why,
        task: Task {
            description: line.task,
        },
        failed: line.failed,
        proposed: line.proposed,
    }
}

impl Labelled for ApproachPair {
    const SET: Set = Set::Approaches;

    fn file(&self) -> &'static str {
        self.file
    }

    fn half(&self) -> Half {
        self.half
    }

    fn is_positive(&self) -> bool {
        self.label == ApproachLabel::Circular
    }
}

impl fmt::Display for ApproachPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.why)?;
        writeln!(f, "  task     | {}", self.task.description)?;
        writeln!(f, "  failed   | {}", self.failed)?;
        writeln!(f, "  proposed | {}", self.proposed)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.approach)?;
        for (name, touched) in [("files", &self.files), ("symbols", &self.symbols)] {
            if !touched.is_empty() {
                write!(f, " [{name}: {}]", touched.join(", "))?;
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
        is_balanced(&approach_pairs());
    }

    #[test]
    fn what_was_written_to_be_tuned_on_is_for_tuning_alone() {
        only_the_first_is_halved(&FILES, &approach_pairs());
    }

    #[test]
    fn no_pair_stands_there_twice_nor_holds_one_approach_twice() {
        let mut seen = BTreeSet::new();
        for pair in approach_pairs() {
            assert_ne!(pair.failed.approach, pair.proposed.approach);
            let mut tried = [pair.failed, pair.proposed];
            tried.sort_unstable();
            let of_task = (pair.task, tried);
            assert!(seen.insert(of_task.clone()), "{of_task:?}");
        }
    }

    #[test]
    fn no_text_is_empty_and_each_label_has_its_reason() {
        for pair in approach_pairs() {
            let tried = [&pair.failed, &pair.proposed];
            let touched = tried
                .iter()
                .flat_map(|tried| [&tried.files, &tried.symbols]);
            let approaches = tried.iter().map(|tried| &tried.approach);
            let texts = [&pair.why, &pair.task.description].into_iter();
            for text in texts.chain(approaches).chain(touched.flatten()) {
                assert!(!text.trim().is_empty(), "{pair}");
            }
        }
    }

    #[test]
    fn both_labels_occur_in_korean_and_without_files() {
        let pairs = approach_pairs();
        let is_korean = |pair: &&ApproachPair| {
            let texts = [&pair.failed.approach, &pair.proposed.approach];
            let is_hangul = |letter: char| ('가'..='힣').contains(&letter);
            texts.iter().any(|text| text.contains(is_hangul))
        };
        let is_without = |pair: &&ApproachPair| {
            [&pair.failed, &pair.proposed]
                .iter()
                .any(|tried| tried.files.is_empty())
        };
        for label in [ApproachLabel::Circular, ApproachLabel::New] {
            let of_label = pairs.iter().filter(|pair| pair.label == label);
            let korean = of_label.clone().filter(is_korean).count();
            let without = of_label.filter(is_without).count();
            assert!(korean >= 10, "{label:?}: {korean} in Korean");
            assert!(without >= 3, "{label:?}: {without} without files");
        }
    }
}
