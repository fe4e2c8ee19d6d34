//! The words of a text as the lists know them: stems, each as the first of its group.
//!
//! Owns how a text is cut into such words, and which list a word is on. It must not know how approaches are compared: that is
//! [`super::approach`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::lists::{
    ACTIONS, BEFORE_SO, DETAILS, ENDINGS, MECHANISMS, OF_NUMBERS, OF_REMOVING, SAID_OF_ALL, SHORT,
    TOGETHER,
};
use super::lists_alike::ALIKE;
use crate::words::{self, Token};

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));
static STOPPED: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(SAID_OF_ALL));
static NUMBERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(OF_NUMBERS));
pub(super) static DETAIL: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| stems(DETAILS).into_iter().map(first_of).collect());
pub(super) static MECHANISM: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| stems(MECHANISMS).into_iter().map(first_of).collect());
pub(super) static REMOVING: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(OF_REMOVING));
pub(super) static ACTING: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(ACTIONS));

static FIRST_OF: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let groups = ALIKE.iter().flat_map(|group| {
        let mut words = group.split_whitespace();
        let first = words.next().map(stem).unwrap_or_default();
        words.map(move |word| (stem(word), first.clone()))
    });
    groups.collect()
});

pub(super) static FIRST: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| FIRST_OF.values().cloned().collect());

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
    let and_so = word.strip_suffix('서');
    let mut stem = and_so
        .filter(|rest| rest.ends_with(BEFORE_SO))
        .unwrap_or(word);
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

/// The first of a word's group, or the word; a doer is told as what it does.
pub(super) fn first_of(term: String) -> String {
    let first = |term: &str| FIRST_OF.get(term).cloned();
    let doing = term.strip_suffix("er").filter(|rest| rest.len() > 3);
    let of_doing = || doing.map(|doing| first(doing).unwrap_or_else(|| doing.to_owned()));
    if FIRST.contains(&term) || is_stopped(&term) {
        return term;
    }
    first(&term).or_else(of_doing).unwrap_or(term)
}

pub(super) fn is_stopped(term: &str) -> bool {
    STOPPED.contains(term) || ENDINGS.contains(&term)
}

pub(super) fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(term)
}
