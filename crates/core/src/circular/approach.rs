//! Approaches: when what is proposed is what failed before, in other words.
//!
//! Owns the words of an approach and the measure by which two are alike. It must not know whose approaches they are, nor what
//! follows: that is [`super::history`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use super::lists::{
    ACTIONS, ALIKE, ENDINGS, OF_NUMBERS, OF_REMOVING, OPPOSITE, SAID_OF_ALL, SHORT, TOGETHER,
};
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

static REMOVED: LazyLock<String> = LazyLock::new(|| stem("remove"));

static OPPOSED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let of = |word: &str| first_of(stem(word));
    let pairs = OPPOSITE.iter();
    pairs.map(|(one, turned)| (of(one), of(turned))).collect()
});

/// The words of an approach: stems of what it says, identifiers split, without those that are said of every approach and
/// without those of its task's own description, and the files and symbols that it touches.
///
/// Words of which the names of those files and symbols are made say where once more, and nothing of the idea: they do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    all: BTreeSet<String>,
    /// Those, and the ones of the task's description as well.
    with_task: BTreeSet<String>,
    /// The words of which the names of the files and symbols are made.
    names: BTreeSet<String>,
    /// All that is said, in its order.
    said: Vec<String>,
    /// Of each pair of opposites of which something is said: whether the one is, and whether the other is.
    sides: BTreeMap<usize, (bool, bool)>,
}

/// How many words both have, and how many either has.
#[derive(Clone, Copy, Default)]
struct Shared {
    common: usize,
    all: usize,
}

impl Words {
    /// The words of `approach` to a task of this description.
    #[must_use]
    pub fn of(approach: &Approach, description: &str) -> Self {
        let own: BTreeSet<String> = terms(description).into_iter().collect();
        let mut said = terms(&done(&approach.text));
        if said.iter().all(|word| is_stopped(word)) {
            said = terms(&approach.text);
        }
        let mut places = BTreeSet::new();
        let mut names = BTreeSet::new();
        for file in &approach.files {
            let file = file.trim_start_matches("./").replace('\\', "/");
            names.extend(terms(&file));
            places.insert(format!("file:{file}"));
        }
        for symbol in &approach.symbols {
            names.extend(terms(symbol));
            // What a symbol is qualified by is often left out.
            let last = symbol.trim_end_matches("()").rsplit(['.', ':', '#']);
            let last = last.into_iter().next().unwrap_or_default();
            places.insert(format!("symbol:{}", last.to_lowercase()));
        }
        let ideas = said.iter().filter(|word| !is_stopped(word)).cloned();
        let with_task: BTreeSet<String> = ideas.chain(places).collect();
        let all = with_task.iter().filter(|word| !own.contains(*word));
        let sides = OPPOSED
            .iter()
            .enumerate()
            .filter_map(|(pair, (one, turned))| {
                let sides = (said.contains(one), said.contains(turned));
                (sides.0 || sides.1).then_some((pair, sides))
            });
        Self {
            all: all.cloned().collect(),
            names,
            sides: sides.collect(),
            with_task,
            said,
        }
    }

    /// The words, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(String::as_str)
    }

    /// How many words both have, of all that either has: 0 to 1, and 0 where neither has any.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let (ideas, places) = self.shared(other);
        let all = ideas.all + places.all;
        if all == 0 {
            return 0.0;
        }
        (ideas.common + places.common) as f64 / all as f64
    }

    /// Whether the two are one approach: more than three tenths of their words are of both, and so is some of the idea.
    ///
    /// Two ideas for one place share its files and symbols, which alone may be three tenths. So more than a sixth of the words
    /// besides must be of both as well, and more than a third where what they do has different names. Where neither says
    /// anything besides, the place decides. And neither may be the other's opposite, take away what the other keeps, or be the
    /// other's sentence about another thing.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let (ideas, places) = self.shared(other);
        let least = if self.acts_unlike(other) { 3 } else { 6 };
        (ideas.common + places.common) * 10 > (ideas.all + places.all) * 3
            && (ideas.all == 0 || ideas.common * least > ideas.all)
            && !self.is_opposed_to(other)
            && !self.removes_alone(other)
            && !other.removes_alone(self)
            && !self.says_of_another_thing(other)
    }

    /// What both have and what either has, of ideas and of places.
    fn shared(&self, other: &Self) -> (Shared, Shared) {
        // Where nothing is left of an approach but words of its task, they are what it says.
        let is_bare = |words: &Self| {
            !words
                .all
                .iter()
                .any(|word| !is_number(word) && self.is_idea(other, word))
        };
        let (mine, theirs) = if is_bare(self) || is_bare(other) {
            (&self.with_task, &other.with_task)
        } else {
            (&self.all, &other.all)
        };
        let (mut ideas, mut places) = (Shared::default(), Shared::default());
        for word in mine.union(theirs) {
            let common = usize::from(mine.contains(word) && theirs.contains(word));
            let of = if is_place(word) {
                &mut places
            } else if self.is_idea(other, word) && (common == 1 || !is_number(word)) {
                // A number that only one has is another value of the same idea.
                &mut ideas
            } else {
                continue;
            };
            of.common += common;
            of.all += 1;
        }
        (ideas, places)
    }

    /// Whether a word of either says something besides where.
    fn is_idea(&self, other: &Self, word: &str) -> bool {
        !is_place(word) && !self.names.contains(word) && !other.names.contains(word)
    }

    /// Whether each says what it does, and none of it is what the other does.
    fn acts_unlike(&self, other: &Self) -> bool {
        let acts = |words: &Self, others: &Self| {
            let acts = words
                .all
                .iter()
                .filter(|word| ACTING.contains(*word) && self.is_idea(other, word));
            acts.map(|word| others.all.contains(word))
                .collect::<Vec<_>>()
        };
        let (mine, theirs) = (acts(self, other), acts(other, self));
        !mine.is_empty() && !theirs.is_empty() && !mine.contains(&true)
    }

    /// Whether the one turns about what the other says: each has one of two opposite words that the other has not.
    fn is_opposed_to(&self, other: &Self) -> bool {
        self.sides.iter().any(|(pair, mine)| {
            let theirs = other.sides.get(pair);
            let turned = (mine.1, mine.0);
            mine.0 != mine.1 && theirs == Some(&turned)
        })
    }

    /// Whether this takes something away, and the other says nothing of the kind.
    fn removes_alone(&self, other: &Self) -> bool {
        self.all.contains(&*REMOVED) && !other.said.iter().any(|word| REMOVING.contains(word))
    }

    /// Whether the two are one sentence but for a word or two: it then speaks of another column, event or label. Another number
    /// there is another value of the same thing.
    fn says_of_another_thing(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.said[..], &other.said[..]);
        let pairs = mine.iter().zip(theirs);
        let before = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let (mine, theirs) = (&mine[before..], &theirs[before..]);
        let pairs = mine.iter().rev().zip(theirs.iter().rev());
        let behind = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let is_thing = |words: &[String]| {
            let words = &words[..words.len() - behind];
            matches!(words.len(), 1 | 2) && !words.iter().any(|word| is_number(word))
        };
        before > 0 && before + behind > 1 && is_thing(mine) && is_thing(theirs)
    }
}

/// A text without what is not done any more: what stands behind "instead of", between "from" and "to", and in Korean before the
/// word for "instead"; and without the purpose before the Korean word for "in order to".
fn done(text: &str) -> String {
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
fn terms(text: &str) -> Vec<String> {
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

fn is_place(word: &str) -> bool {
    word.contains(':')
}

fn is_stopped(term: &str) -> bool {
    STOPPED.contains(term) || ENDINGS.contains(&term)
}

fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(term)
}
