//! What orchestrators say of how agents went about tasks.
//!
//! Owns the texts, few of each, so that they come again, and which of them are one. It must not know by what core tells that.

use sillok_core::bank::TaskKind;
use sillok_core::circular::Approach;

/// Ideas, each in the words of two agents, with a file that they touch.
const IDEAS: [([&str; 2], &str); 3] = [
    (
        [
            "Cache the parsed headers between requests",
            "between requests, cache parsed headers.",
        ],
        "src/headers.rs",
    ),
    (
        [
            "Verify checksums of incoming frames",
            "of incoming frames verify the checksums.",
        ],
        "src/frames.rs",
    ),
    (
        [
            "Retry the broken upload behind a longer deadline",
            "behind a longer deadline retry the broken upload.",
        ],
        "src/upload.rs",
    ),
];

/// Texts of approaches.
pub(super) const APPROACH_TEXTS: usize = 2 * IDEAS.len();
/// What each task is opened with.
pub(super) const TITLE: &str = "Make the service pass again";

/// What each task is opened with, in full: it is like all ideas.
pub(super) fn description() -> String {
    let ideas = IDEAS.iter().map(|([text, _], _)| *text);
    ideas.collect::<Vec<_>>().join(", ")
}

/// What sort of task all of them are.
pub(super) fn kind() -> TaskKind {
    "bugfix".parse().expect("it is plain")
}

/// An approach.
pub(super) fn approach(number: u8) -> Approach {
    let (texts, file) = &IDEAS[usize::from(number) / 2 % IDEAS.len()];
    Approach {
        text: texts[usize::from(number) % 2].to_owned(),
        files: vec![(*file).to_owned()],
        symbols: Vec::new(),
    }
}

/// Which idea a text is.
pub(super) fn idea_of(text: &str) -> Option<usize> {
    IDEAS.iter().position(|(texts, _)| texts.contains(&text))
}

#[cfg(test)]
mod tests {
    use sillok_core::bank::Signature;
    use sillok_core::circular::Wording;

    use super::*;

    #[test]
    fn each_idea_is_one_pattern_in_both_of_its_texts_and_none_is_another() {
        let all = 0..u8::try_from(APPROACH_TEXTS).unwrap();
        for one in all.clone() {
            for other in all.clone() {
                let (one, other) = (approach(one), approach(other));
                let is_one = idea_of(&one.text) == idea_of(&other.text);
                let of = |approach: &Approach| Signature::of(None, &Wording::of(approach));
                assert_eq!(of(&one) == of(&other), is_one, "{one:?} {other:?}");
            }
        }
        assert_eq!(idea_of("something else"), None);
    }
}
