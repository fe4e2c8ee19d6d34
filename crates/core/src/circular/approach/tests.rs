//! The measure of approaches against its plain form: on words as they are written, with the lists asked for each.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sillok_circular_pairs::approach_pairs;

use super::*;
use crate::circular::lists::{ACTIONS, ALIKE, OF_NUMBERS, OF_REMOVING, SAID_OF_ALL, TOGETHER};
use crate::circular::terms::{
    done, is_acting, is_number, is_place, is_removing, is_stopped, terms,
};
use crate::words::is_negation;

/// The words of an approach to a task, as they are written.
struct Plain {
    all: BTreeSet<String>,
    /// Those, and the ones of the task's description as well.
    with_task: BTreeSet<String>,
    names: BTreeSet<String>,
    said: Vec<String>,
}

impl Plain {
    fn of(approach: &Approach, description: &str) -> Self {
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
            let last = symbol.trim_end_matches("()").rsplit(['.', ':', '#']);
            let last = last.into_iter().next().unwrap_or_default();
            places.insert(format!("symbol:{}", last.to_lowercase()));
        }
        let ideas = said.iter().filter(|word| !is_stopped(word)).cloned();
        let with_task: BTreeSet<String> = ideas.chain(places).collect();
        let all = with_task.iter().filter(|word| !own.contains(*word));
        Self {
            all: all.cloned().collect(),
            names,
            with_task,
            said,
        }
    }

    fn jaccard(&self, other: &Self) -> f64 {
        let (ideas, places) = self.shared(other);
        let all = ideas.all + places.all;
        if all == 0 {
            return 0.0;
        }
        (ideas.common + places.common) as f64 / all as f64
    }

    fn likeness(&self, other: &Self) -> Option<Likeness> {
        let (ideas, places) = self.shared(other);
        let least = if self.acts_unlike(other) { 3 } else { 6 };
        let is_one = (ideas.common + places.common) * 10 > (ideas.all + places.all) * 3
            && (ideas.all == 0 || ideas.common * least > ideas.all)
            && !self.is_opposed_to(other)
            && !self.removes_alone(other)
            && !other.removes_alone(self);
        let denies = |words: &Self| words.said.iter().any(|word| is_negation(word));
        let is_near = self.exchanges_words_of(other) || denies(self) != denies(other);
        match (is_one, is_near) {
            (false, _) => None,
            (true, false) => Some(Likeness::One),
            (true, true) => Some(Likeness::Near),
        }
    }

    fn shared(&self, other: &Self) -> (Shared, Shared) {
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
            let is_common = mine.contains(word) && theirs.contains(word);
            let of = if is_place(word) {
                &mut places
            } else if self.is_idea(other, word) && (is_common || !is_number(word)) {
                &mut ideas
            } else {
                continue;
            };
            of.common += usize::from(is_common);
            of.all += 1;
        }
        (ideas, places)
    }

    fn is_idea(&self, other: &Self, word: &str) -> bool {
        !is_place(word) && !self.names.contains(word) && !other.names.contains(word)
    }

    fn acts_unlike(&self, other: &Self) -> bool {
        let acts = |words: &Self| -> BTreeSet<String> {
            let acts = words.all.iter();
            acts.filter(|word| is_acting(word) && self.is_idea(other, word))
                .cloned()
                .collect()
        };
        let (mine, theirs) = (acts(self), acts(other));
        !mine.is_empty() && !theirs.is_empty() && mine.is_disjoint(&other.all)
    }

    fn is_opposed_to(&self, other: &Self) -> bool {
        let is_said = |words: &Self, one: &str| words.said.contains(&first_of(stem(one)));
        OPPOSITE.iter().any(|(one, turned)| {
            let mine = (is_said(self, one), is_said(self, turned));
            let theirs = (is_said(other, one), is_said(other, turned));
            mine.0 != mine.1 && theirs == (mine.1, mine.0)
        })
    }

    fn removes_alone(&self, other: &Self) -> bool {
        self.all.contains(&stem("remove")) && !other.said.iter().any(|word| is_removing(word))
    }

    fn exchanges_words_of(&self, other: &Self) -> bool {
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

/// How far the two are one, by either form of the measure, which have to agree in all that they say.
fn judged(a: &Approach, b: &Approach, description: &str) -> Option<Likeness> {
    let (plain_a, plain_b) = (Plain::of(a, description), Plain::of(b, description));
    let (words_a, words_b) = (Words::of(a, description), Words::of(b, description));
    let expected = plain_a.likeness(&plain_b);
    let jaccard = plain_a.jaccard(&plain_b);
    let is_like = expected == Some(Likeness::One);
    assert_eq!(words_a.is_like(&words_b), is_like, "{a:?} {b:?}");
    assert_eq!(
        words_a.jaccard(&words_b).to_bits(),
        jaccard.to_bits(),
        "{a:?} {b:?}"
    );
    let likeness = words_a.likeness(&words_b);
    let found = likeness.map(|(likeness, jaccard)| (likeness, jaccard.to_bits()));
    let told = expected.map(|likeness| (likeness, jaccard.to_bits()));
    assert_eq!(found, told, "{a:?} {b:?}");
    expected
}

/// How many pairs next to one another, in the order of the files, are held against each other as well.
const NEAR: usize = 6;

#[test]
fn labelled_approaches_are_told_apart_by_numbers_as_by_words() {
    let tried = |tried: &sillok_circular_pairs::Tried| Approach {
        text: tried.approach.clone(),
        files: tried.files.clone(),
        symbols: tried.symbols.clone(),
    };
    let pairs = approach_pairs();
    let (mut alike, mut near_by, mut apart) = (0, 0, 0);
    for near in pairs.windows(NEAR) {
        let (one, description) = (&near[0], &near[0].task.description);
        let failed = tried(&one.failed);
        for other in near {
            match judged(&failed, &tried(&other.proposed), description) {
                Some(Likeness::One) => alike += 1,
                Some(Likeness::Near) => near_by += 1,
                None => apart += 1,
            }
        }
    }
    assert!(
        alike > 100 && near_by > 0 && apart > 1_000,
        "{alike} alike, {near_by} near, {apart} apart"
    );
}

#[test]
fn a_sentence_with_a_word_or_two_exchanged_is_near_and_with_more_or_another_number_it_is_not() {
    let of = |text: &str| {
        let approach = Approach {
            text: text.to_owned(),
            files: vec!["src/http.rs".to_owned()],
            symbols: vec!["Client::read".to_owned()],
        };
        Words::of(&approach, "")
    };
    let tried = of("Increase the read timeout of the HTTP client to 30 seconds");
    for (text, expected) in [
        (
            "Increase the read timeout of the HTTP connector to 30 seconds",
            Some(Likeness::Near),
        ),
        (
            "Increase the read timeout of the HTTP client to 60 seconds",
            Some(Likeness::One),
        ),
        (
            "Raise the read timeout of the HTTP client, which is too short",
            Some(Likeness::One),
        ),
        (
            "Decrease the read timeout of the HTTP client to 30 seconds",
            None,
        ),
        ("Open another connection for each request", None),
    ] {
        for (one, other) in [(&tried, &of(text)), (&of(text), &tried)] {
            let likeness = one.likeness(other).map(|(likeness, _)| likeness);
            assert_eq!(likeness, expected, "{text}");
            let is_like = expected == Some(Likeness::One);
            assert_eq!(one.is_like(other), is_like, "{text}");
        }
    }
}

/// Words of every list, and some of none.
fn word() -> impl Strategy<Value = &'static str> {
    let mut words: Vec<&'static str> = vec![
        "the",
        "in",
        "of",
        "to",
        "from",
        "instead",
        "rather",
        "than",
        "order",
        "retry",
        "30",
        "60",
        "readBody",
        "read_body",
        "Client",
        "10초",
        "seconds",
        "zebra",
        "quince",
    ];
    words.extend(ALIKE.iter().step_by(9).flat_map(|group| group.split(' ')));
    words.extend(OPPOSITE.iter().flat_map(|(one, turned)| [*one, *turned]));
    words.extend(TOGETHER.iter().flat_map(|(one, then, _)| [*one, *then]));
    for list in [SAID_OF_ALL, OF_NUMBERS, OF_REMOVING, ACTIONS] {
        words.extend(list.split_whitespace().step_by(4));
    }
    proptest::sample::select(words)
}

fn text(words: core::ops::Range<usize>) -> impl Strategy<Value = String> {
    proptest::collection::vec(word(), words).prop_map(|words| words.join(" "))
}

/// Of few places, so that two have some in common.
fn any_approach() -> impl Strategy<Value = Approach> {
    let files = proptest::sample::subsequence(
        vec![
            "src/http.rs",
            "./src/http.rs",
            "src\\retry.rs",
            "src/cache/readBody.rs",
        ],
        0..3,
    );
    let symbols = proptest::sample::subsequence(
        vec!["Client::read", "client.read()", "Cache#get", "retry_all"],
        0..3,
    );
    let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    (text(0..9), files, symbols).prop_map(move |(text, files, symbols)| Approach {
        text,
        files: own(files),
        symbols: own(symbols),
    })
}

/// A sentence with some words of it exchanged, left out or added: often like it.
fn reworded() -> impl Strategy<Value = (Approach, Approach)> {
    let changes = proptest::collection::vec((0_usize..12, 0_u8..3, word()), 0..4);
    (any_approach(), changes).prop_map(|(one, changes)| {
        let mut words: Vec<String> = one.text.split(' ').map(str::to_owned).collect();
        for (at, how, word) in changes {
            let at = at % words.len();
            match how {
                0 => words[at] = word.to_owned(),
                1 => words.insert(at, word.to_owned()),
                _ if words.len() > 1 => drop(words.remove(at)),
                _ => {}
            }
        }
        let other = Approach {
            text: words.join(" "),
            ..one.clone()
        };
        (one, other)
    })
}

proptest! {
    #[test]
    fn any_two_approaches_are_told_apart_by_numbers_as_by_words(a in any_approach(), b in any_approach(), description in text(0..5)) {
        judged(&a, &b, &description);
        judged(&b, &a, &description);
    }

    #[test]
    fn an_approach_and_another_wording_of_it_are_judged_by_numbers_as_by_words((a, b) in reworded(), description in text(0..5)) {
        judged(&a, &b, &description);
        judged(&b, &a, &description);
    }
}
