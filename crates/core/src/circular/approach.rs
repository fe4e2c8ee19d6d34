//! Approaches: when what is proposed is what failed before, in other words.
//!
//! Owns the words of an approach and the measure by which two are alike. It must not know whose approaches they are, nor what
//! follows: that is [`super::history`]'s; nor how words are kept: that is [`super::wording`]'s.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use super::lists::{
    ACTIONS, ALIKE, ENDINGS, OF_NUMBERS, OF_REMOVING, OPPOSITE, SAID_OF_ALL, SHORT, TOGETHER,
};
use super::wording::{Term, Wording, holds, words_of};
use crate::words::{self, Token};

/// What somebody wants to do, or did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approach {
    /// In words.
    pub text: String,
    /// The files that it touches, by their paths from the root of the work tree.
    pub files: Vec<String>,
    /// The symbols that it touches.
    pub symbols: Vec<String>,
}

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

static REMOVED: LazyLock<Term> = LazyLock::new(|| Term::of(&stem("remove")));

static OPPOSED: LazyLock<Vec<(Term, Term)>> = LazyLock::new(|| {
    let of = |word: &str| Term::of(&first_of(stem(word)));
    let pairs = OPPOSITE.iter();
    pairs.map(|(one, turned)| (of(one), of(turned))).collect()
});

/// The words of an approach: stems of what it says, identifiers split, without those that are said of every approach and
/// without those of its task's own description, and the files and symbols that it touches.
///
/// Words of which the names of those files and symbols are made say where once more, and nothing of the idea: they do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words<'a> {
    wording: Cow<'a, Wording>,
    /// Its words without those of the task's description, in order.
    all: Vec<Term>,
}

/// How many words both have, and how many either has.
#[derive(Clone, Copy, Default)]
struct Shared {
    common: usize,
    all: usize,
}

impl Words<'static> {
    /// The words of `approach` to a task of this description.
    #[must_use]
    pub fn of(approach: &Approach, description: &str) -> Self {
        Words::left_of(Cow::Owned(Wording::of(approach)), &words_of(description))
    }
}

impl<'a> Words<'a> {
    /// What is left of a wording without the words of the task's description, which are in order.
    pub(super) fn left_of(wording: Cow<'a, Wording>, own: &[Term]) -> Self {
        let words = wording.words.iter().copied();
        let all = words.filter(|word| !holds(own, *word)).collect();
        Self { wording, all }
    }

    /// How many words both have, of all that either has: 0 to 1, and 0 where neither has any.
    #[must_use]
    pub fn jaccard(&self, other: &Words<'_>) -> f64 {
        let (ideas, places) = self.shared(other);
        jaccard(ideas, places)
    }

    /// Whether the two are one approach: more than three tenths of their words are of both, and so is some of the idea.
    ///
    /// Two ideas for one place share its files and symbols, which alone may be three tenths. So more than a sixth of the words
    /// besides must be of both as well, and more than a third where what they do has different names. Where neither says
    /// anything besides, the place decides. And neither may be the other's opposite, take away what the other keeps, or be the
    /// other's sentence about another thing.
    #[must_use]
    pub fn is_like(&self, other: &Words<'_>) -> bool {
        let (ideas, places) = self.shared(other);
        self.is_one(other, ideas, places)
    }

    /// How much the two are alike, as [`Self::jaccard`] says; none where they are not one approach.
    #[must_use]
    pub fn likeness(&self, other: &Words<'_>) -> Option<f64> {
        // Of most approaches that failed no word is among those that are proposed.
        let (mine, theirs) = (&self.wording.words, &other.wording.words);
        if !union(mine, theirs).any(|(_, is_common)| is_common) {
            return None;
        }
        let (ideas, places) = self.shared(other);
        let is_one = self.is_one(other, ideas, places);
        is_one.then(|| jaccard(ideas, places))
    }

    fn is_one(&self, other: &Words<'_>, ideas: Shared, places: Shared) -> bool {
        let least = if self.acts_unlike(other) { 3 } else { 6 };
        (ideas.common + places.common) * 10 > (ideas.all + places.all) * 3
            && (ideas.all == 0 || ideas.common * least > ideas.all)
            && !self.is_opposed_to(other)
            && !self.removes_alone(other)
            && !other.removes_alone(self)
            && !self.says_of_another_thing(other)
    }

    /// What both have and what either has, of ideas and of places.
    fn shared(&self, other: &Words<'_>) -> (Shared, Shared) {
        // Where nothing is left of an approach but words of its task, they are what it says.
        let is_bare = |words: &Words<'_>| {
            !words
                .all
                .iter()
                .any(|word| !word.is_number() && self.is_idea(other, *word))
        };
        let (mine, theirs) = if is_bare(self) || is_bare(other) {
            (&self.wording.words, &other.wording.words)
        } else {
            (&self.all, &other.all)
        };
        let (mut ideas, mut places) = (Shared::default(), Shared::default());
        for (word, is_common) in union(mine, theirs) {
            let of = if word.is_place() {
                &mut places
            } else if self.is_idea(other, word) && (is_common || !word.is_number()) {
                // A number that only one has is another value of the same idea.
                &mut ideas
            } else {
                continue;
            };
            of.common += usize::from(is_common);
            of.all += 1;
        }
        (ideas, places)
    }

    /// Whether a word of either says something besides where.
    fn is_idea(&self, other: &Words<'_>, word: Term) -> bool {
        !word.is_place() && !holds(&self.wording.names, word) && !holds(&other.wording.names, word)
    }

    /// Whether each says what it does, and none of it is what the other does.
    fn acts_unlike(&self, other: &Words<'_>) -> bool {
        let acts = |words: &Words<'_>| -> Vec<Term> {
            let acts = words.all.iter().copied();
            acts.filter(|word| word.is_acting() && self.is_idea(other, *word))
                .collect()
        };
        let (mine, theirs) = (acts(self), acts(other));
        !mine.is_empty() && !theirs.is_empty() && !mine.iter().any(|word| holds(&other.all, *word))
    }

    /// Whether the one turns about what the other says: each has one of two opposite words that the other has not.
    fn is_opposed_to(&self, other: &Words<'_>) -> bool {
        OPPOSED.iter().any(|(one, turned)| {
            let sides = |words: &Words<'_>| {
                let said = &words.wording.said;
                (said.contains(one), said.contains(turned))
            };
            let mine = sides(self);
            mine.0 != mine.1 && sides(other) == (mine.1, mine.0)
        })
    }

    /// Whether this takes something away, and the other says nothing of the kind.
    fn removes_alone(&self, other: &Words<'_>) -> bool {
        holds(&self.all, *REMOVED) && !other.wording.said.iter().any(|word| word.is_removing())
    }

    /// Whether the two are one sentence but for a word or two: it then speaks of another column, event or label. Another number
    /// there is another value of the same thing.
    fn says_of_another_thing(&self, other: &Words<'_>) -> bool {
        let (mine, theirs) = (&self.wording.said[..], &other.wording.said[..]);
        let pairs = mine.iter().zip(theirs);
        let before = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let (mine, theirs) = (&mine[before..], &theirs[before..]);
        let pairs = mine.iter().rev().zip(theirs.iter().rev());
        let behind = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let is_thing = |words: &[Term]| {
            let words = &words[..words.len() - behind];
            matches!(words.len(), 1 | 2) && !words.iter().any(|word| word.is_number())
        };
        before > 0 && before + behind > 1 && is_thing(mine) && is_thing(theirs)
    }
}

fn jaccard(ideas: Shared, places: Shared) -> f64 {
    let all = ideas.all + places.all;
    if all == 0 {
        return 0.0;
    }
    (ideas.common + places.common) as f64 / all as f64
}

/// All terms of either, each once and with whether it is of both. Both are in order.
fn union<'a>(mine: &'a [Term], theirs: &'a [Term]) -> impl Iterator<Item = (Term, bool)> + 'a {
    let mut mine = mine.iter().copied().peekable();
    let mut theirs = theirs.iter().copied().peekable();
    std::iter::from_fn(move || {
        let order = match (mine.peek(), theirs.peek()) {
            (Some(one), Some(other)) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => mine.next().map(|word| (word, false)),
            Ordering::Greater => theirs.next().map(|word| (word, false)),
            Ordering::Equal => {
                mine.next();
                theirs.next().map(|word| (word, true))
            }
        }
    })
}

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
            "위해" | "위해서" => kept.clear(),
            "대신" | "말고" => drop(kept.pop()),
            _ => {}
        }
        if !is_past {
            kept.push(word);
        }
        is_past &= !word.ends_with([',', ';', ':', '.']);
    }
    kept.join(" ")
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
fn stem(word: &str) -> String {
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

fn first_of(term: String) -> String {
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

#[cfg(test)]
mod tests;
