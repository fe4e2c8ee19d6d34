//! What agents say of a fix that failed: what went wrong, and what was tried.
//!
//! Owns the texts, few of each, so that they come again, and which of them are one. It must not know by what core tells that.

use sillok_core::circular::Approach;

use super::Fix;

/// Errors, each as two runs print it.
const ERRORS: [[&str; 2]; 3] = [
    [
        "Traceback (most recent call last):\n  File \"app/main.py\", line 3, in <module>\n    run()\nKeyError: 'user_id'",
        "Traceback (most recent call last):\n  File \"app/main.py\", line 31, in <module>\n    run()\nKeyError: 'user_id'",
    ],
    [
        "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts(40,11): error TS2322: Type 'string' is not assignable to type 'number'.",
    ],
    [
        "connect ECONNREFUSED 127.0.0.1:41234",
        "connect ECONNREFUSED 127.0.0.1:53871",
    ],
];

/// Something that may be tried, in the words of two agents.
struct Idea {
    texts: [&'static str; 2],
    file: &'static str,
    symbol: &'static str,
}

/// Ideas, of which the last two are for one place.
const IDEAS: [Idea; 3] = [
    Idea {
        texts: [
            "Cache the parsed headers between requests",
            "cache parsed header between the requests.",
        ],
        file: "src/headers.rs",
        symbol: "Headers::parse",
    },
    Idea {
        texts: [
            "Verify checksums of incoming frames",
            "verify the checksum of an incoming frame.",
        ],
        file: "src/frames.rs",
        symbol: "Frames::read",
    },
    Idea {
        texts: [
            "Retry the broken upload behind a longer deadline",
            "retry broken uploads behind longer deadlines.",
        ],
        file: "src/frames.rs",
        symbol: "Frames::read",
    },
];

/// Texts of errors.
pub(super) const ERROR_TEXTS: usize = 2 * ERRORS.len();
/// Texts of approaches.
pub(super) const APPROACH_TEXTS: usize = 2 * IDEAS.len();

/// The text of an error.
pub(super) fn error(number: u8) -> &'static str {
    ERRORS[error_of(number)][usize::from(number) % 2]
}

/// Which error a text says.
pub(super) fn error_of(number: u8) -> usize {
    usize::from(number) / 2 % ERRORS.len()
}

/// An approach.
pub(super) fn approach(number: u8) -> Approach {
    let idea = &IDEAS[usize::from(number) / 2 % IDEAS.len()];
    Approach {
        text: idea.texts[usize::from(number) % 2].to_owned(),
        files: vec![idea.file.to_owned()],
        symbols: vec![idea.symbol.to_owned()],
    }
}

/// What is said of a fix that failed: its error, and its approach. A word that is to be erased stands in the error, which stays
/// the one that it is, and is all of an approach that is no idea.
pub(super) fn told(fix: Fix, word: Option<&str>) -> (Option<String>, Option<Approach>) {
    let printed = fix.error.map(|number| match word {
        Some(word) => format!("$ make check # {word}\n{}", error(number)),
        None => error(number).to_owned(),
    });
    let worded = word.map(|word| Approach {
        text: word.to_owned(),
        files: vec![word.to_owned()],
        symbols: vec![word.to_owned()],
    });
    (printed, fix.approach.map(approach).or(worded))
}

/// Which idea an approach is; none for what nobody says here.
pub(super) fn idea_of(approach: &Approach) -> Option<usize> {
    let said = |idea: &Idea| idea.texts.contains(&&*approach.text);
    IDEAS.iter().position(said)
}

#[cfg(test)]
mod tests {
    use sillok_core::circular::{ErrorHash, Words, reason_of};
    use sillok_core::task::opening_text;

    use super::super::{DESCRIPTION, TITLE};
    use super::*;

    fn numbers(texts: usize) -> impl Iterator<Item = u8> + Clone {
        0..u8::try_from(texts).unwrap()
    }

    #[test]
    fn each_error_is_one_in_both_of_its_texts_and_none_is_another() {
        for one in numbers(ERROR_TEXTS) {
            for other in numbers(ERROR_TEXTS) {
                let is_one = ErrorHash::of(error(one)) == ErrorHash::of(error(other));
                assert_eq!(is_one, error_of(one) == error_of(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn each_idea_is_one_approach_in_both_of_its_texts_and_none_is_another() {
        let opening = opening_text(TITLE, DESCRIPTION);
        for one in numbers(APPROACH_TEXTS) {
            for other in numbers(APPROACH_TEXTS) {
                let (one, other) = (approach(one), approach(other));
                let is_one = idea_of(&one) == idea_of(&other);
                let (a, b) = (Words::of(&one, &opening), Words::of(&other, &opening));
                assert_eq!(a.is_like(&b), is_one, "{one:?} {other:?}");
                assert_eq!(a.likeness(&b).is_some(), is_one, "{one:?} {other:?}");
                // None is more like it than the other: what is told first follows from that.
                assert_eq!(a.jaccard(&b) >= 1.0, is_one, "{one:?} {other:?}");
            }
        }
        assert_eq!(idea_of(&Approach::default()), None);
    }

    #[test]
    fn a_word_makes_no_other_error_and_an_approach_that_is_no_idea() {
        let word = "to be erased: 00010017. ";
        for number in numbers(ERROR_TEXTS) {
            let fix = Fix {
                error: Some(number),
                approach: Some(0),
            };
            let (worded, idea) = told(fix, Some(word));
            let worded = worded.unwrap();
            assert!(worded.contains(word));
            assert_eq!(ErrorHash::of(&worded), ErrorHash::of(error(number)));
            assert_eq!(reason_of(&worded), reason_of(error(number)));
            assert_eq!(idea, Some(approach(0)));
        }
        let silent = Fix {
            error: None,
            approach: None,
        };
        assert_eq!(told(silent, None), (None, None));
        let (printed, worded) = told(silent, Some(word));
        let worded = worded.unwrap();
        assert_eq!((printed, idea_of(&worded)), (None, None));
        let opening = opening_text(TITLE, DESCRIPTION);
        for number in numbers(APPROACH_TEXTS) {
            let idea = Words::of(&approach(number), &opening);
            let likeness = idea.likeness(&Words::of(&worded, &opening));
            assert_eq!(likeness, None, "{number}");
        }
    }
}
