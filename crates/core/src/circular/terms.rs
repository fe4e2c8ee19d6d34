//! The words of a text: what is left of each, and which ones stand for one another.
//!
//! Owns how a text of an approach is taken apart, in English and in Korean, and what the lists know of a word. It must not know
//! when two approaches are alike: that is [`super::approach`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::lists::{
    ACTIONS, ALIKE, ENDINGS, OF_NUMBERS, OF_REMOVING, SAID_OF_ALL, SHORT, TOGETHER,
};
use crate::words::{self, Token};

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
static STOPPED: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(SAID_OF_ALL));
static NUMBERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(OF_NUMBERS));
static REMOVING: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(OF_REMOVING));
static ACTING: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(ACTIONS));

static FIRST_OF: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let groups = ALIKE.iter().flat_map(|group| {
        let mut words = group.split_whitespace();
        let first = words.next().map(stem).unwrap_or_default();
        words.map(move |word| (stem(word), first.clone()))
    });
    groups.collect()
});

/// What ends a part of a sentence.
const ENDS: [char; 4] = [',', ';', ':', '.'];

/// A text without what is not done any more: what stands behind "instead of", between "from" and "to", and in Korean before the
/// word for "instead"; and without the purpose before the Korean word for "in order to".
pub(super) fn done(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let word_at = |at: usize| words.get(at).copied().unwrap_or_default();
    let mut kept: Vec<&str> = Vec::new();
    let mut is_past = false;
    for (at, word) in words.iter().enumerate() {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        match plain.to_lowercase().as_str() {
            "of" => is_past |= at > 0 && word_at(at - 1).eq_ignore_ascii_case("instead"),
            "than" => is_past |= at > 0 && word_at(at - 1).eq_ignore_ascii_case("rather"),
            "from" => is_past |= (at + 2..at + 5).any(|ahead| word_at(ahead) == "to"),
            "to" => is_past = false,
            "위해" | "위해서" => kept.truncate(beginning(&kept)),
            "대신" | "말고" => drop(kept.pop()),
            _ => {}
        }
        if !is_past {
            kept.push(word);
        }
        is_past &= !word.ends_with(ENDS);
    }
    kept.join(" ")
}

/// Where the last sentence begins.
fn beginning(words: &[&str]) -> usize {
    let ended = words.iter().rposition(|word| word.ends_with(ENDS));
    ended.map_or(0, |at| at + 1)
}

/// The words of a text, identifiers split, each as the first of its group.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in by_script(text) {
        // A name is told by its parts, where it has any.
        let mut whole = None;
        words::cut(piece, |token| match token {
            Token::Word(word) => words.extend(whole.replace(word.to_owned())),
            Token::Part(part) => {
                whole = None;
                words.push(part.to_owned());
            }
            Token::Exact(exact) => {
                words.extend(whole.take());
                let number = exact.trim_end_matches(|c: char| !c.is_ascii_digit());
                words.extend((!number.is_empty()).then(|| number.to_owned()));
            }
        });
        words.extend(whole);
    }
    words.retain(|word| word.len() > 1 || is_number(word));
    let mut terms = Vec::new();
    let mut rest = &words[..];
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if let Some((whole, is_next)) = together(first, behind) {
            terms.push(first_of(stem(whole)));
            rest = &rest[usize::from(is_next)..];
        } else if !words::is_stopword(first) {
            terms.extend(syllables_of(stem(first)).into_iter().map(first_of));
        }
    }
    terms
}

/// The word that two are together, the second of which is next, or, where it is but a particle, soon.
fn together(first: &str, behind: &[String]) -> Option<(&'static str, bool)> {
    let is = |word: &str, told: &str| {
        word == told || word.starts_with(words::is_hangul) && stem(word) == told
    };
    TOGETHER.iter().find_map(|(one, then, whole)| {
        let soon = if matches!(*then, "off" | "away") {
            5
        } else {
            1
        };
        let at = behind.iter().take(soon).position(|word| is(word, then));
        at.filter(|_| is(first, one)).map(|at| (*whole, at == 0))
    })
}

/// A long Korean word is several: it is cut after every other syllable.
fn syllables_of(word: String) -> Vec<String> {
    let syllables: Vec<char> = word.chars().collect();
    if syllables.len() < 4 || !words::is_hangul(syllables[0]) || FIRST_OF.contains_key(&word) {
        return vec![word];
    }
    let pairs = syllables.chunks(2);
    pairs.map(|pair| pair.iter().collect()).collect()
}

/// Runs of Hangul and runs without, since Korean particles are written on to names in Latin letters.
fn by_script(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|word| {
        let mut cuts = vec![0];
        let pairs = word.char_indices().zip(word.char_indices().skip(1));
        for ((_, one), (at, next)) in pairs {
            if words::is_hangul(one) != words::is_hangul(next) {
                cuts.push(at);
            }
        }
        cuts.push(word.len());
        let runs = cuts.windows(2).map(|cut| &word[cut[0]..cut[1]]);
        runs.collect::<Vec<_>>()
    })
}

/// A word without its endings.
pub(super) fn stem(word: &str) -> String {
    if !word.starts_with(words::is_hangul) {
        return STEMMER.stem(word).into_owned();
    }
    let mut stem = word;
    // A particle may stand behind the ending of a verb.
    for _ in 0..2 {
        let shorter = ENDINGS
            .iter()
            .filter_map(|ending| stem.strip_suffix(ending));
        let shorter = shorter.filter(|rest| rest.chars().nth(1).is_some() || SHORT.contains(rest));
        stem = shorter.min_by_key(|rest| rest.len()).unwrap_or(stem);
    }
    stem.to_owned()
}

fn stems(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(stem).collect()
}

pub(super) fn first_of(term: String) -> String {
    FIRST_OF.get(&term).cloned().unwrap_or(term)
}

/// Whether a word is a file or a symbol.
pub(super) fn is_place(word: &str) -> bool {
    word.contains(':')
}

/// Whether a term is said of every approach.
pub(super) fn is_stopped(term: &str) -> bool {
    STOPPED.contains(term) || ENDINGS.contains(&term)
}

/// Whether a term is a number, or a unit of something.
pub(super) fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(term)
}

/// Whether a term says what is done.
pub(super) fn is_acting(term: &str) -> bool {
    ACTING.contains(term)
}

/// Whether a term says that something is taken away.
pub(super) fn is_removing(term: &str) -> bool {
    REMOVING.contains(term)
}
