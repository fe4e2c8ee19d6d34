//! Negation: whether two texts say the same, one of them with a "not".
//!
//! Works word by word, in English and Korean, with stems and without articles, so that "does not
//! pass" meets "passes", "unsafe" meets "safe", and "작동하지 않는다" meets "작동한다". It must not
//! know entries.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};

/// Texts with more words than this are compared as different: a rule about one sentence says
/// nothing about an essay.
const WORDS_MAX: usize = 200;

/// Words that stand for "not" and another word. What passed and failed is not among them, nor what
/// was true and false: a command does the one today and the other tomorrow.
const OPPOSITES: [(&str, &str); 32] = [
    ("async", "sync"),
    ("asynchronous", "synchronous"),
    ("disable", "enable"),
    ("disabled", "enabled"),
    ("disables", "enables"),
    ("exclude", "include"),
    ("excluded", "included"),
    ("excludes", "includes"),
    ("immutable", "mutable"),
    ("impossible", "possible"),
    ("inactive", "active"),
    ("incompatible", "compatible"),
    ("incorrect", "correct"),
    ("insecure", "secure"),
    ("insensitive", "sensitive"),
    ("invalid", "valid"),
    ("irreversible", "reversible"),
    ("nondeterministic", "deterministic"),
    ("off", "on"),
    ("optional", "required"),
    ("private", "public"),
    ("unavailable", "available"),
    ("unchanged", "changed"),
    ("unknown", "known"),
    ("unnecessary", "necessary"),
    ("unordered", "ordered"),
    ("unreachable", "reachable"),
    ("unsafe", "safe"),
    ("unsigned", "signed"),
    ("unstable", "stable"),
    ("unsupported", "supported"),
    ("unused", "used"),
];

/// Whether the two texts are the same but for negations.
pub(super) fn differ_by_negation(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace('\u{2019}', "'");
    let (a, b) = (plain(a), plain(b));
    // Cheap and common: nothing to negate.
    if a == b || !(may_negate(&a) || may_negate(&b)) {
        return false;
    }
    match (Reading::of(&a), Reading::of(&b)) {
        (Some(a), Some(b)) => a.stems == b.stems && a.negated != b.negated,
        _ => false,
    }
}

/// A text without its negations, and where they stood.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    stems: Vec<String>,
    /// Index of a negated stem; present when it is negated an odd number of times.
    negated: BTreeSet<usize>,
}

impl Reading {
    /// Of a text in lower case; none for one that is too long to compare.
    fn of(lower: &str) -> Option<Self> {
        let stemmer = Stemmer::create(Algorithm::English);
        let lower = lower.replace("no longer ", "not ");
        let mut reading = Self {
            stems: Vec::new(),
            negated: BTreeSet::new(),
        };
        let words = lower
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '_')))
            .filter(|word| !word.is_empty());
        for (index, word) in words.enumerate() {
            if index == WORDS_MAX {
                return None;
            }
            reading.push(word, &stemmer);
        }
        Some(reading)
    }

    fn push(&mut self, word: &str, stemmer: &Stemmer) {
        let next = self.stems.len();
        match word {
            "not" | "never" | "no" | "non" | "안" | "못" | "doesn't" | "don't" | "didn't" => {
                return self.flip(next);
            }
            "without" => {
                self.flip(next);
                return self.stems.push("with".to_owned());
            }
            "cannot" | "can't" => return self.auxiliary("can"),
            "won't" => return self.auxiliary("will"),
            "a" | "an" | "the" | "any" | "do" | "does" | "did" => return,
            _ => {}
        }
        if let Some(auxiliary) = word.strip_suffix("n't") {
            return self.auxiliary(auxiliary);
        }
        if word.starts_with('않') {
            // "하지 않는다": the verb stands before, with the ending 지.
            if let Some(last) = self.stems.last_mut() {
                if let Some(verb) = last.strip_suffix('지') {
                    *last = verb.to_owned();
                }
                self.flip(next - 1);
            }
            return;
        }
        if let Ok(found) = OPPOSITES.binary_search_by_key(&word, |(opposite, _)| opposite) {
            self.flip(next);
            return self
                .stems
                .push(stemmer.stem(OPPOSITES[found].1).into_owned());
        }
        if let Some(rest) = word.strip_prefix('없') {
            self.flip(next);
            return self.stems.push(korean_stem(&format!("있{rest}")));
        }
        self.stems.push(if word.is_ascii() {
            stemmer.stem(word).into_owned()
        } else {
            korean_stem(word)
        });
    }

    /// "isn't" is "is", and what follows is negated.
    fn auxiliary(&mut self, word: &str) {
        self.stems.push(word.to_owned());
        self.flip(self.stems.len());
    }

    fn flip(&mut self, index: usize) {
        if !self.negated.remove(&index) {
            self.negated.insert(index);
        }
    }
}

/// Whether a text in lower case may hold a negation.
fn may_negate(lower: &str) -> bool {
    const MARKS: [&str; 4] = ["no", "n't", "never", "without"];
    let holds = |mark: &&str| lower.contains(mark);
    MARKS.iter().any(holds)
        || OPPOSITES.iter().any(|(opposite, _)| holds(opposite))
        || lower.contains(['안', '못', '없', '않'])
}

/// The stem of a Korean verb: without the endings of plain, polite and past statements. Other
/// words come back as they are.
pub(super) fn korean_stem(word: &str) -> String {
    const STATEMENT: [&str; 4] = ["습니다", "니다", "는다", "다"];
    let Some(rest) = STATEMENT
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
    else {
        return word.to_owned();
    };
    let mut chars: Vec<char> = rest.chars().collect();
    match chars.last() {
        // 았, 었: the past of a verb that ends in a consonant.
        Some('았' | '었') if chars.len() > 1 => {
            chars.pop();
        }
        Some('했') => replace_last(&mut chars, '하'),
        Some('됐') => replace_last(&mut chars, '되'),
        Some(last) => {
            let open = without_final(*last);
            replace_last(&mut chars, open);
        }
        None => return word.to_owned(),
    }
    chars.into_iter().collect()
}

fn replace_last(chars: &mut [char], with: char) {
    if let Some(last) = chars.last_mut() {
        *last = with;
    }
}

/// A Hangul syllable without a final ㄴ or ㅂ, which an ending put there: 한 → 하, 됩 → 되.
fn without_final(syllable: char) -> char {
    const BASE: u32 = 0xAC00;
    const FINALS: u32 = 28;
    const FINAL_N: u32 = 4;
    const FINAL_B: u32 = 17;
    let code = u32::from(syllable);
    if !('가'..='힣').contains(&syllable) {
        return syllable;
    }
    match (code - BASE) % FINALS {
        last @ (FINAL_N | FINAL_B) => char::from_u32(code - last).unwrap_or(syllable),
        _ => syllable,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_negation_alone_makes_a_contradiction() {
        for (a, b) in [
            ("The cache is thread-safe", "The cache is not thread-safe"),
            (
                "The test passes on Linux",
                "The test does not pass on Linux",
            ),
            ("add() subtracts", "add() doesn't subtract"),
            (
                "The server can resume a tail",
                "The server cannot resume a tail",
            ),
            ("The parser accepts tabs", "The parser never accepts tabs"),
            ("There is a lock", "There is no lock"),
            ("It runs with a lock", "It runs without a lock"),
            ("The index is safe", "The index is unsafe"),
            ("Keys are signed", "Keys are no longer signed"),
            ("The flag is enabled", "The flag is disabled"),
            ("The column is nullable", "The column is non-nullable"),
            ("The path is invalid", "The path is not invalid"),
            ("캐시는 스레드에 안전하다", "캐시는 스레드에 안전하지 않다"),
            ("이 테스트는 작동한다", "이 테스트는 작동하지 않는다"),
            ("이 테스트는 작동합니다", "이 테스트는 작동하지 않습니다"),
            ("빌드가 된다", "빌드가 안 된다"),
            ("잠금이 있다", "잠금이 없다"),
            ("서버가 재개한다", "서버가 못 재개한다"),
            ("it isn't A and is B", "it is A and isn't B"),
        ] {
            assert!(differ_by_negation(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn opposites_are_in_the_order_in_which_they_are_searched() {
        assert!(OPPOSITES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn other_differences_are_none() {
        for (a, b) in [
            ("The cache is thread-safe", "The cache is fast"),
            (
                "The cache is not thread-safe",
                "The index is not thread-safe",
            ),
            (
                "The cache isn't thread-safe",
                "The cache is not thread-safe",
            ),
            ("The test does not pass", "The test doesn't pass"),
            ("Nothing is noted", "Something is noted"),
            ("The path is not valid", "The path is invalid"),
            ("The check passed", "The check failed"),
            ("잠금이 있다", "색인이 있다"),
            ("작동하지 않는다", "작동하지 않습니다"),
        ] {
            assert!(!differ_by_negation(a, b), "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_never_holds_of_a_text_and_itself(a in "(not |no |a |is |x |안 |않|없다|isn't ){0,8}", b in "(not |no |a |is |x |안 |않|없다|isn't ){0,8}") {
            prop_assert_eq!(differ_by_negation(&a, &b), differ_by_negation(&b, &a));
            prop_assert!(!differ_by_negation(&a, &a));
        }

        #[test]
        fn any_text_is_read_without_panic(a in ".{0,80}", b in ".{0,80}") {
            differ_by_negation(&format!("no {a}"), &b);
        }
    }
}
