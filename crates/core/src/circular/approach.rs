//! Approaches: when what is proposed is what failed before, in other words.
//!
//! Owns the words of an approach and the measure by which two are alike. It must not know whose approaches they are, nor what
//! follows: that is [`super::history`]'s; nor how words are kept: that is [`super::wording`]'s.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::lists::OPPOSITE;
use super::terms::{first_of, stem};
use super::wording::{Term, Wording, holds, in_order, words_of};
use crate::limits::APPROACH_ALIKE_TENTHS;

/// Of the words of two ideas besides their places, more than one in so many is of both where they are one.
const IDEA_PART: usize = 6;
/// The same where what they do has different names.
const IDEA_PART_ACTING_UNLIKE: usize = 3;

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

impl Approach {
    /// Bytes of all that it says.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names = self.files.iter().chain(&self.symbols).map(String::len);
        self.text.len() + names.sum::<usize>()
    }
}

/// How far an approach is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// It is that one, in whatever words.
    One,
    /// It is that one but for a word or two in their places, which may name another thing, or the same one otherwise; or but for
    /// a word that says of something that it is not so.
    Near,
}

impl Likeness {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::One, Self::Near];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Near => "near",
        }
    }
}

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
    /// All that it says, in order and each once: made where it is asked for.
    said: OnceCell<Vec<Term>>,
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
        Self {
            wording,
            all,
            said: OnceCell::new(),
        }
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
    /// other's sentence with another word or two in it.
    #[must_use]
    pub fn is_like(&self, other: &Words<'_>) -> bool {
        let (ideas, places) = self.shared(other);
        self.judged(other, ideas, places) == Some(Likeness::One)
    }

    /// How far the two are one approach, and how much alike, as [`Self::jaccard`] says; none where they are two. Where nothing
    /// speaks against one but that a word or two of the sentence are others, they are near: nobody can tell by words alone
    /// whether that is another thing, or another name of the same.
    #[must_use]
    pub fn likeness(&self, other: &Words<'_>) -> Option<(Likeness, f64)> {
        // Of most approaches that failed no word is among those that are proposed.
        let (mine, theirs) = (&self.wording.words, &other.wording.words);
        if !union(mine, theirs).any(|(_, is_common)| is_common) {
            return None;
        }
        let (ideas, places) = self.shared(other);
        let likeness = self.judged(other, ideas, places)?;
        Some((likeness, jaccard(ideas, places)))
    }

    fn judged(&self, other: &Words<'_>, ideas: Shared, places: Shared) -> Option<Likeness> {
        let part = if self.acts_unlike(other) {
            IDEA_PART_ACTING_UNLIKE
        } else {
            IDEA_PART
        };
        let (common, all) = (ideas.common + places.common, ideas.all + places.all);
        let is_one = common * 10 > all * APPROACH_ALIKE_TENTHS
            && (ideas.all == 0 || ideas.common * part > ideas.all)
            && !self.is_opposed_to(other)
            && !self.removes_alone(other)
            && !other.removes_alone(self);
        is_one.then(|| {
            if self.exchanges_words_of(other) || self.denies() != other.denies() {
                Likeness::Near
            } else {
                Likeness::One
            }
        })
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
        let (mine, theirs) = (self.said_once(), other.said_once());
        OPPOSED.iter().any(|(one, turned)| {
            let sides = |said: &[Term]| (holds(said, *one), holds(said, *turned));
            let mine = sides(mine);
            mine.0 != mine.1 && sides(theirs) == (mine.1, mine.0)
        })
    }

    fn said_once(&self) -> &[Term] {
        self.said
            .get_or_init(|| in_order(self.wording.said.clone()))
    }

    /// Whether something is said not to be so. That may be all that is new of an approach, or its opposite in other words.
    fn denies(&self) -> bool {
        self.wording.said.iter().any(|word| word.is_denying())
    }

    /// Whether this takes something away, and the other says nothing of the kind.
    fn removes_alone(&self, other: &Words<'_>) -> bool {
        holds(&self.all, *REMOVED) && !other.wording.said.iter().any(|word| word.is_removing())
    }

    /// Whether the two are one sentence but for a word or two: it may then speak of another column, event or label. Another
    /// number there is another value of the same thing.
    fn exchanges_words_of(&self, other: &Words<'_>) -> bool {
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

#[cfg(test)]
mod tests;
