//! How an approach is worded, as it is kept with one that failed: numbers that stand for its words.
//!
//! Owns what stands for a word, and which rule made it. Words of a task's description are among them, since each task that asks
//! has another one. It must not know when two approaches are alike: that is [`super::approach`]'s.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::approach::Approach;
use super::lists::{
    ACTIONS, ALIKE, ENDINGS, OF_NUMBERS, OF_REMOVING, SAID_OF_ALL, SHORT, TOGETHER,
};
use super::terms::{done, is_acting, is_number, is_place, is_removing, is_stopped, terms};
use crate::limits::WORDED_BYTES_MAX;
use crate::words::is_negation;

/// Bits of a term that say what the rules know of the word by itself.
const PLACE: u64 = 1;
const NUMBER: u64 = 2;
const ACTING: u64 = 4;
const REMOVING: u64 = 8;
const DENYING: u64 = 16;
const BITS: u64 = PLACE | NUMBER | ACTING | REMOVING | DENYING;

/// Raised where the rule changes in a way that neither the lists nor [`SHOWN`] show: an audit makes each wording anew that the
/// same rule made.
const EDITION: u32 = 1;

/// Approaches of which each step of the rule makes something: what was made of them tells one rule from another.
const SHOWN: &[&str] = &[
    "Increase the read timeout from 30 to 60 seconds in parseHTTPBody_2, rather than retrying; it isn't slow",
    "Turn the page cache off, fall back to `user_id` = 0.95 and no longer look anything up instead of failing",
    "Fix the failing test",
    "메모리누수방지를 위해 Client를 재사용하도록 바꾸고 캐시 대신 잠금을 늘린다",
    "지연 로딩을 끄고 타임아웃을 10초로 줄였습니다",
];

/// Which rule makes wordings here.
static RULE: LazyLock<u32> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&EDITION.to_le_bytes());
    for list in lists() {
        hasher.update(list.as_bytes());
        hasher.update(b"\n");
    }
    for text in SHOWN {
        let shown = Wording::made(&Approach {
            text: (*text).to_owned(),
            files: vec!["./src/read_body/HttpClient.rs".to_owned()],
            symbols: vec!["Client::readAll()".to_owned()],
        });
        for terms in [&shown.words, &shown.names, &shown.said] {
            for term in terms {
                hasher.update(&term.0.to_le_bytes());
            }
            hasher.update(b"\n");
        }
    }
    let hash = hasher.finalize();
    let [a, b, c, d, ..] = *hash.as_bytes();
    // 0 is that of no rule.
    u32::from_le_bytes([a, b, c, d]).max(1)
});

/// A word, by its hash. What the rules know of the word by itself stands in the last bits, so that no list is asked when
/// approaches are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term(u64);

impl Term {
    /// What stands for a word, which is the first of its group.
    pub(super) fn of(word: &str) -> Self {
        let hash = blake3::hash(word.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
        let hash = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let known = [
            (PLACE, is_place(word)),
            (NUMBER, is_number(word)),
            (ACTING, is_acting(word)),
            (REMOVING, is_removing(word)),
            (DENYING, is_negation(word)),
        ];
        let known = known.into_iter().filter(|(_, is)| *is);
        Self(known.fold(hash & !BITS, |bits, (bit, _)| bits | bit))
    }

    /// The term with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether it is a file or a symbol.
    pub(crate) const fn is_place(self) -> bool {
        self.0 & PLACE != 0
    }

    /// Whether it is a number, or a unit of something.
    pub(crate) const fn is_number(self) -> bool {
        self.0 & NUMBER != 0
    }

    /// Whether it says what is done.
    pub(super) const fn is_acting(self) -> bool {
        self.0 & ACTING != 0
    }

    /// Whether it says that something is taken away.
    pub(super) const fn is_removing(self) -> bool {
        self.0 & REMOVING != 0
    }

    /// Whether it says that something is not so.
    pub(super) const fn is_denying(self) -> bool {
        self.0 & DENYING != 0
    }
}

/// The words of an approach, whatever task it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// The rule that made it. What another one made is not compared: see [`Self::is_current`].
    pub rule: u32,
    /// What it says, without what is said of every approach, and the files and symbols that it touches; in order, each once.
    pub words: Vec<Term>,
    /// The words of which the names of these files and symbols are made; in order, each once.
    pub names: Vec<Term>,
    /// All that it says, in its order.
    pub said: Vec<Term>,
}

impl Wording {
    /// How an approach is worded, by the rule of this build.
    #[must_use]
    pub fn of(approach: &Approach) -> Self {
        Self {
            rule: *RULE,
            ..Self::made(approach)
        }
    }

    /// What is kept of it with an approach that failed: all, or nothing where the approach is long.
    #[must_use]
    pub fn kept(approach: &Approach) -> Self {
        if approach.bytes() > WORDED_BYTES_MAX {
            return Self::default();
        }
        Self::of(approach)
    }

    /// Whether the rule of this build made it. How approaches are worded gets better from release to release, and what was
    /// recorded says no more than the release knew that did it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.rule == *RULE
    }

    /// The same, by no rule that is named.
    fn made(approach: &Approach) -> Self {
        let mut said = terms(&done(&approach.text));
        if said.iter().all(|word| is_stopped(word)) {
            said = terms(&approach.text);
        }
        let mut words: Vec<Term> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for file in &approach.files {
            let file = file_of(file);
            names.extend(terms(&file));
            words.push(Term::of(&format!("file:{file}")));
        }
        for symbol in &approach.symbols {
            names.extend(terms(symbol));
            words.push(Term::of(&format!("symbol:{}", symbol_of(symbol))));
        }
        let ideas = said.iter().filter(|word| !is_stopped(word));
        words.extend(ideas.map(|word| Term::of(word)));
        Self {
            rule: 0,
            words: in_order(words),
            names: in_order(names.iter().map(|word| Term::of(word)).collect()),
            said: said.iter().map(|word| Term::of(word)).collect(),
        }
    }

    /// How many terms it has.
    pub(super) const fn terms(&self) -> usize {
        self.words.len() + self.names.len() + self.said.len()
    }
}

/// A file by the name under which it is compared.
pub(super) fn file_of(name: &str) -> String {
    let name = name.replace('\\', "/");
    name.trim_start_matches("./").to_owned()
}

/// A symbol by the name under which it is compared: what it is qualified by is often left out.
pub(super) fn symbol_of(name: &str) -> String {
    let last = name.trim_end_matches("()").rsplit(['.', ':', '#']);
    last.into_iter().next().unwrap_or_default().to_lowercase()
}

/// What stands in all lists by which words are known. Opposites are not among them: no wording tells them.
fn lists() -> impl Iterator<Item = &'static str> {
    let together = TOGETHER.iter();
    let together = together.flat_map(|(one, then, whole)| [*one, *then, *whole]);
    let lists = [SAID_OF_ALL, OF_NUMBERS, OF_REMOVING, ACTIONS].into_iter();
    let words = ALIKE.iter().chain(ENDINGS).chain(SHORT).copied();
    lists.chain(together).chain(words)
}

/// The words of a text, in order and each once.
pub(super) fn words_of(text: &str) -> Vec<Term> {
    in_order(terms(text).iter().map(|word| Term::of(word)).collect())
}

/// Whether a term is among some that are in order.
pub(crate) fn holds(terms: &[Term], term: Term) -> bool {
    terms.binary_search(&term).is_ok()
}

pub(crate) fn in_order(mut terms: Vec<Term>) -> Vec<Term> {
    terms.sort_unstable();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::WORDING_BYTES_FACTOR;

    fn worded(text: &str, files: &[&str]) -> Wording {
        Wording::of(&Approach {
            text: text.to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            symbols: Vec::new(),
        })
    }

    #[test]
    fn what_the_lists_know_of_a_word_stands_in_its_last_bits() {
        let of = |word: &str| {
            let term = words_of(word)[0];
            (term.is_number(), term.is_acting(), term.is_removing())
        };
        assert_eq!(of("60"), (true, false, false));
        assert_eq!(of("seconds"), (true, false, false));
        assert_eq!(of("retry"), (false, true, false));
        assert_eq!(of("delete"), (false, true, true));
        assert_eq!(of("timeout"), (false, false, false));
        assert!(!words_of("timeout")[0].is_place());
        let touches = worded("timeout", &["src/http.rs"]);
        let places = touches.words.iter().filter(|word| word.is_place());
        assert_eq!((places.count(), touches.words.len()), (1, 2));
    }

    #[test]
    fn words_of_one_group_and_of_one_stem_are_one_and_words_that_differ_are_two() {
        assert_eq!(words_of("raise"), words_of("increasing"));
        assert_eq!(words_of("raise"), words_of("늘려"));
        assert_ne!(words_of("raise"), words_of("lower"));
    }

    #[test]
    fn terms_are_in_order_and_each_once_and_what_is_said_keeps_its_order() {
        let worded = worded(
            "cache the body, then cache the cache",
            &["src/body_cache.rs"],
        );
        for terms in [&worded.words, &worded.names] {
            assert!(terms.windows(2).all(|pair| pair[0] < pair[1]));
        }
        let [cache] = words_of("cache")[..] else {
            panic!("one word")
        };
        let times = worded.said.iter().filter(|word| **word == cache).count();
        assert_eq!((times, worded.said[0]), (3, cache));
        assert!(holds(&worded.words, cache) && holds(&worded.names, cache));
        assert!(!holds(&worded.words, words_of("lock")[0]));
    }

    #[test]
    fn of_a_long_approach_no_wording_is_kept_and_of_a_short_one_all_of_it() {
        let mut approach = Approach {
            text: "cache ".repeat(600),
            files: vec!["f".repeat(WORDED_BYTES_MAX - 600 * "cache ".len())],
            symbols: Vec::new(),
        };
        assert_eq!(Wording::kept(&approach), Wording::of(&approach));
        approach.symbols.push("s".to_owned());
        assert_eq!(Wording::kept(&approach), Wording::default());
    }

    /// What a row or an event may hold of an approach at most has room for its wording.
    #[test]
    fn what_is_kept_of_a_wording_has_a_bound() {
        let words = |next: &dyn Fn(usize) -> String| {
            let mut text = String::new();
            for number in 0.. {
                let next = next(number);
                if text.len() + next.len() > WORDED_BYTES_MAX {
                    return text;
                }
                text.push_str(&next);
            }
            text
        };
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
        let two = |number: usize| [letter(number), letter(number / 26)];
        let texts = [
            words(&|number| two(number).iter().collect::<String>() + " "),
            words(&|number| format!("{}{}", letter(number).to_ascii_uppercase(), letter(number))),
            words(&|number| format!("{} ", number % 10)),
            words(&|number| {
                char::from_u32(0xac00 + u32::try_from(number).unwrap())
                    .map_or_else(String::new, String::from)
            }),
        ];
        for text in texts {
            let approach = Approach {
                text,
                ..Approach::default()
            };
            let kept = Wording::kept(&approach);
            assert!(kept.is_current());
            let bytes = postcard::to_allocvec(&kept).unwrap().len();
            let most = WORDING_BYTES_FACTOR * WORDED_BYTES_MAX;
            assert!(bytes <= most, "{bytes}: {}", approach.text);
        }
    }

    #[test]
    fn a_wording_is_current_where_the_rule_of_this_build_made_it() {
        let current = worded("cache the body", &[]);
        assert!(current.is_current());
        assert!(!Wording::default().is_current());
        let other = Wording {
            rule: current.rule ^ 1,
            ..current
        };
        assert!(!other.is_current());
    }
}
