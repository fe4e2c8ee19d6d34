//! Approaches: when what is proposed is what failed before, in other words.
//!
//! Owns the words of an approach and the measure by which two are alike. It must not know whose approaches they are, nor what
//! follows: that is [`super::history`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::lists::{OF_REASONS, OPPOSITE};
use super::lists_terms::{
    ACTING, DETAIL, FIRST, MECHANISM, REMOVING, first_of, is_number, is_stopped, stem, terms,
};

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
    /// What is said, in its order, without the reasons.
    said: Vec<String>,
    /// The words that only the reasons say.
    reasons: BTreeSet<String>,
    /// The words of which identifiers in the text are made.
    identifiers: BTreeSet<String>,
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
        let (done, reasons) = done(&approach.text);
        let (mut said, mut reasons) = (terms(&done), terms(&reasons));
        if said.iter().all(|word| is_stopped(word)) {
            said = terms(&approach.text);
        }
        reasons.retain(|word| !said.contains(word));
        let identifiers = approach
            .text
            .split_whitespace()
            .filter(|word| is_identifier(word));
        let identifiers = identifiers.flat_map(terms).collect();
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
        let ideas = said.iter().chain(&reasons);
        let ideas = ideas.filter(|word| !is_stopped(word)).cloned();
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
            reasons: reasons.into_iter().collect(),
            identifiers,
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
    /// besides must be of both as well, more than a fifth where they share no means but only what they are about, and
    /// more than a third where what they do has different names. Where neither says anything besides, the place decides. And
    /// neither may be the other's opposite, take away what the other keeps, or be the other's sentence about another thing.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let (ideas, places) = self.shared(other);
        let least = if self.acts_unlike(other) {
            3
        } else if self.shares_its_means(other) {
            6
        } else {
            5
        };
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
            let in_both = mine.contains(word) && theirs.contains(word);
            let others = if mine.contains(word) { theirs } else { mine };
            let common = match named_like(word, others) {
                Some(Naming::Longer) if !in_both => 1,
                Some(Naming::Shorter) if !in_both => continue,
                _ => usize::from(in_both),
            };
            let of = if is_place(word) {
                &mut places
            } else if self.is_idea(other, word)
                && (common == 1 || !(self.is_detail(word) || other.is_detail(word)))
            {
                // A number or a reason that only one has is another detail of the same idea.
                &mut ideas
            } else {
                continue;
            };
            of.common += common;
            of.all += 1;
        }
        (ideas, places)
    }

    /// Whether a word says how much, how or why rather than what.
    fn is_detail(&self, word: &str) -> bool {
        is_number(word) || DETAIL.contains(word) || self.reasons.contains(word)
    }

    /// Whether a word of either says something besides where.
    fn is_idea(&self, other: &Self, word: &str) -> bool {
        !is_place(word) && !self.names.contains(word) && !other.names.contains(word)
    }

    /// Whether both say how the idea is carried out, rather than the same noun alone.
    fn shares_its_means(&self, other: &Self) -> bool {
        let mut shared = self.all.intersection(&other.all);
        shared.any(|word| {
            let is_known = ACTING.contains(word) || MECHANISM.contains(word);
            let is_name = self.identifiers.contains(word) && other.identifiers.contains(word);
            (is_known || is_name) && self.is_idea(other, word)
        })
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
    /// there is another value of the same thing, and a word that is neither of an identifier nor known may mean the same.
    fn says_of_another_thing(&self, other: &Self) -> bool {
        fn plain(words: &Words) -> &[String] {
            let at = words.said.iter().position(|word| !is_stopped(word));
            &words.said[at.unwrap_or(0)..]
        }
        let (mine, theirs) = (plain(self), plain(other));
        let pairs = mine.iter().zip(theirs);
        let before = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let (mine, theirs) = (&mine[before..], &theirs[before..]);
        let pairs = mine.iter().rev().zip(theirs.iter().rev());
        let behind = pairs.take_while(|(mine, theirs)| mine == theirs).count();
        let (mine, theirs) = (
            &mine[..mine.len() - behind],
            &theirs[..theirs.len() - behind],
        );
        let is_thing = |words: &Self, other: &[String]| {
            let is_how =
                |word: &String| is_number(word) || DETAIL.contains(word) && !words.is_told(word);
            matches!(other.len(), 1 | 2)
                && !other.iter().any(is_how)
                && (before + behind < 5 || other.iter().any(|word| words.is_told(word)))
        };
        before > 0 && before + behind > 1 && is_thing(self, mine) && is_thing(other, theirs)
    }

    /// Whether it is known what a word means: it is of an identifier, or of a group of words.
    fn is_told(&self, word: &str) -> bool {
        self.identifiers.contains(word) || FIRST.contains(word)
    }
}

/// A text without what is not done any more: what stands behind "instead of", between "from" and "to", and in Korean before the
/// word for "instead"; and without the purpose before the Korean word for "in order to". Besides it, the reasons that it gives.
fn done(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let word_at = |at: usize| words.get(at).copied().unwrap_or_default();
    let (mut kept, mut reasons): (Vec<&str>, Vec<&str>) = Default::default();
    let (mut is_past, mut is_reason) = (false, false);
    for (at, word) in words.iter().enumerate() {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        let plain = plain.to_lowercase();
        match plain.as_str() {
            "of" => is_past |= at > 0 && word_at(at - 1).eq_ignore_ascii_case("instead"),
            "than" => is_past |= at > 0 && word_at(at - 1).eq_ignore_ascii_case("rather"),
            "not" => is_past |= at > 0 && word_at(at - 1).ends_with(','),
            "from" => is_past |= (at + 2..at + 5).any(|ahead| word_at(ahead) == "to"),
            "to" => {
                is_past = false;
                is_reason |= matches!(word_at(at + 1), "avoid" | "prevent");
            }
            "위해" | "위해서" | "때문에" => kept.clear(),
            "대신" | "말고" => drop(kept.pop()),
            opening if OF_REASONS.contains(&opening) => is_reason = at > 0,
            _ => {}
        }
        if is_reason {
            reasons.push(word);
        } else if !is_past {
            kept.push(word);
        }
        let is_end = word.ends_with([',', ';', ':', '.']);
        is_past &= !is_end;
        is_reason &= !is_end;
    }
    (kept.join(" "), reasons.join(" "))
}

/// Whether a word of a text is a name of a program's rather than of a language's.
fn is_identifier(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`' && c != '"');
    word.contains(['_', '`', '"', '.', '/', ':', '-'])
        || word.chars().skip(1).any(|c| c.is_uppercase())
}

/// How a place is named, where another approach names the same place at other length.
#[derive(Clone, Copy)]
enum Naming {
    Longer,
    Shorter,
}

/// Whether one of `places` is the file `place` by a longer or a shorter path.
fn named_like(place: &str, places: &BTreeSet<String>) -> Option<Naming> {
    let ends = |long: &str, short: &str| {
        let start = long.strip_suffix(short);
        start.is_some_and(|start| start.ends_with('/'))
    };
    let path = place.strip_prefix("file:")?;
    places.iter().find_map(|other| {
        let of_other = other.strip_prefix("file:")?;
        if ends(place, of_other) {
            Some(Naming::Longer)
        } else {
            ends(other, path).then_some(Naming::Shorter)
        }
    })
}

fn is_place(word: &str) -> bool {
    word.contains(':')
}
