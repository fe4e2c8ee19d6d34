//! The pairs: what is written in `testdata`, and which half a pair belongs to.
//!
//! Must not know how pairs are judged.

const PAIRS: &str = include_str!("../testdata/pairs.tsv");
const FIRST: &str = include_str!("../testdata/first_pairs.tsv");

/// What a person says of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// One statement, written slightly otherwise.
    Same,
    /// One statement in other words.
    Paraphrase,
    /// The same topic, another statement.
    Related,
    /// One says that the other does not hold.
    Negation,
    /// Another value, order or role for the same thing.
    Contradiction,
    /// Nothing to do with one another.
    Other,
}

impl Label {
    /// Every label, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::Same,
        Self::Paraphrase,
        Self::Related,
        Self::Negation,
        Self::Contradiction,
        Self::Other,
    ];

    /// Its name in the files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Paraphrase => "paraphrase",
            Self::Related => "related",
            Self::Negation => "negation",
            Self::Contradiction => "contradiction",
            Self::Other => "other",
        }
    }

    /// Whether the two texts say the same: to merge them is right.
    #[must_use]
    pub const fn is_one(self) -> bool {
        matches!(self, Self::Same | Self::Paraphrase)
    }

    /// Whether the two texts cannot both hold: to merge them destroys knowledge.
    #[must_use]
    pub const fn is_opposite(self) -> bool {
        matches!(self, Self::Negation | Self::Contradiction)
    }
}

/// Which half of the pairs.
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
}

/// Two texts and what a person says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What a person says.
    pub label: Label,
    /// Which half it belongs to.
    pub half: Half,
    /// One text.
    pub a: &'static str,
    /// The other text.
    pub b: &'static str,
}

/// Every pair, in the order of the files.
///
/// # Panics
/// When a line is not a known label and two texts, with tabs between them.
#[must_use]
pub fn pairs() -> Vec<Pair> {
    let written = lines(PAIRS).map(|line| read(line, None));
    let first = lines(FIRST).map(|line| read(line, Some(Half::Tuned)));
    written.chain(first).collect()
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn read(line: &'static str, half: Option<Half>) -> Pair {
    let [label, a, b] = line.split('\t').collect::<Vec<_>>()[..] else {
        panic!("three columns: {line}")
    };
    let label = Label::ALL
        .into_iter()
        .find(|known| known.as_str() == label)
        .unwrap_or_else(|| panic!("a label: {line}"));
    Pair {
        label,
        half: half.unwrap_or_else(|| half_of(a, b)),
        a,
        b,
    }
}

/// One bit of a hash of the two texts, so that nobody chooses.
fn half_of(a: &str, b: &str) -> Half {
    let hash = blake3::hash(format!("{a}\t{b}").as_bytes());
    if hash.as_bytes()[0] & 1 == 0 {
        Half::Tuned
    } else {
        Half::HeldOut
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_enough_pairs_of_each_label_and_in_each_half() {
        let written: Vec<Pair> = lines(PAIRS).map(|line| read(line, None)).collect();
        assert!(written.len() >= 320, "{}", written.len());
        for label in Label::ALL {
            let of_label = written.iter().filter(|pair| pair.label == label);
            let at_least = if label == Label::Other { 30 } else { 50 };
            assert!(of_label.count() >= at_least, "{label:?}");
        }
        let held_out = written.iter().filter(|pair| pair.half == Half::HeldOut);
        let held_out = held_out.count();
        assert!(
            (written.len() * 2 / 5..=written.len() * 3 / 5).contains(&held_out),
            "{held_out}"
        );
    }

    #[test]
    fn no_pair_stands_there_twice_nor_holds_one_text_twice() {
        let mut seen = BTreeSet::new();
        for pair in pairs() {
            let mut texts = [pair.a, pair.b];
            texts.sort_unstable();
            assert!(seen.insert(texts), "{texts:?}");
            assert_ne!(pair.a, pair.b);
        }
    }
}
