//! Approaches: when what is proposed is what failed before, in other words.
//!
//! Owns the words of an approach and the measure by which two are alike. It must not know whose approaches they are, nor what
//! follows: that is [`super::history`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use crate::words;

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

/// Words that say nothing of an approach, since every approach is told with them: English, then pairs of Hangul syllables.
const SAID_OF_ALL: &str = "fix fixes fixing fixed solve resolve repair correct correctly properly update change modify edit adjust \
     alter code file function method class module line test tests failing fails fail failed pass passes passing issue bug \
     problem error errors try attempt make makes made use uses using ensure so should need needs will would can could now we i \
     let also when where while if instead by all any each new existing current currently order approach solution way simply \
     just first work works working implement implementation logic behaviour behavior case cases value values set get does do \
     did done doing more only same other such their they these those than but out up over again still really actually \
     src lib py rs ts js go java cpp hpp test_ spec mod index main \
     수정 정한 한다 하고 하여 해서 하도 도록 합니 니다 하는 하기 으로 에서 에게 코드 파일 함수 테스 스트 오류 에러 문제 해결 변경 \
     바꾼 꾼다 바꾸 사용 용한 용해 용하 추가한 그리 그리고 대신 있는 있게 되도 되게 시킨 킨다 시켜";

/// Words that say the same of an approach, each group by its first.
const ALIKE: &[&str] = &[
    "increase raise bump extend enlarge grow widen lengthen longer higher larger bigger",
    "decrease lower reduce shrink shorten shorter smaller cut",
    "remove delete drop eliminate strip discard omit erase",
    "add insert introduce append include attach",
    "replace substitute swap exchange switch",
    "retry reattempt repeat",
    "cache memoize memoise",
    "lock mutex",
    "check verify validate assert guard",
    "catch handle except rescue",
    "ignore skip bypass suppress silence swallow",
    "convert cast coerce transform",
    "call invoke",
    "wait sleep delay pause",
    "null none nil undefined optional",
    "initialise initialize init",
    "copy clone duplicate",
    "move relocate",
    "mock stub fake",
    "async asynchronous await asynchronously",
    "dependency package library",
    "늘린 늘려 늘리 증가 올린 올려",
    "줄인 줄여 줄이 감소 낮춘 낮춰",
    "제거 삭제 지운 지워 없앤",
    "추가 넣는 넣어 삽입",
];

/// Words of which one turns an approach into the opposite of what the other says.
const OPPOSITE: &[(&str, &str)] = &[
    ("add", "remove"),
    ("increase", "decrease"),
    ("enable", "disable"),
    ("true", "false"),
    ("show", "hide"),
    ("allow", "deny"),
    ("allow", "remove"),
    ("allow", "block"),
    ("extract", "inline"),
    ("split", "merge"),
    ("upgrade", "downgrade"),
    ("lock", "unlock"),
    ("sync", "async"),
    ("synchronous", "async"),
    ("eager", "lazy"),
    ("before", "after"),
    ("strict", "loose"),
    ("start", "stop"),
    ("open", "close"),
    ("parallel", "serial"),
    ("parallel", "sequential"),
    ("encode", "decode"),
    ("mock", "real"),
    ("own", "borrow"),
    ("push", "pull"),
    ("추가", "제거"),
    ("늘린", "줄인"),
    ("켠다", "끈다"),
    ("enable", "끈다"),
    ("disable", "켠다"),
    ("add", "제거"),
    ("remove", "추가"),
];

static STOPPED: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    SAID_OF_ALL
        .split_whitespace()
        .map(|word| stemmer.stem(word).into_owned())
        .collect()
});

static FIRST_OF: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let stem = |word: &str| stemmer.stem(word).into_owned();
    let groups = ALIKE.iter().flat_map(|group| {
        let mut words = group.split_whitespace();
        let first = words.next().map(stem).unwrap_or_default();
        words.map(move |word| (stem(word), first.clone()))
    });
    groups.collect()
});

static OPPOSED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let stem = |word: &str| stemmer.stem(word).into_owned();
    let pairs = OPPOSITE.iter();
    pairs.map(|(one, other)| (stem(one), stem(other))).collect()
});

/// The words of an approach: stems of what it says, identifiers split, without those that are said of every approach and
/// without those of its task's own description, and the files and symbols that it touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(BTreeSet<String>);

impl Words {
    /// The words of `approach` to a task of this description.
    #[must_use]
    pub fn of(approach: &Approach, description: &str) -> Self {
        let own: BTreeSet<String> = terms(description).collect();
        let said = |text: &str| -> Vec<String> {
            terms(text).filter(|word| !own.contains(word)).collect()
        };
        let mut all: BTreeSet<String> = said(&approach.text).into_iter().collect();
        for file in &approach.files {
            let file = file.trim_start_matches("./").replace('\\', "/");
            all.extend(said(&file));
            all.insert(format!("file:{file}"));
        }
        for symbol in &approach.symbols {
            all.extend(said(symbol));
            all.insert(format!("symbol:{}", symbol.trim_end_matches("()")));
        }
        Self(all)
    }

    /// The words, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// How many words both have, of all that either has: 0 to 1, and 0 where neither has any.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let (common, all) = self.shared(other);
        if all == 0 {
            return 0.0;
        }
        common as f64 / all as f64
    }

    /// Whether the two are one approach: more than three tenths of their words are of both, and neither says the opposite of
    /// what the other does.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let (common, all) = self.shared(other);
        common * 10 > all * 3 && !self.is_opposed_to(other)
    }

    /// Whether the one turns about what the other says: each has one of two opposite words that the other has not.
    fn is_opposed_to(&self, other: &Self) -> bool {
        let only = |here: &Self, there: &Self, word: &str| {
            here.0.contains(word) && !there.0.contains(word)
        };
        OPPOSED.iter().any(|(one, turned)| {
            only(self, other, one) && only(other, self, turned)
                || only(other, self, one) && only(self, other, turned)
        })
    }

    fn shared(&self, other: &Self) -> (usize, usize) {
        let common = self.0.intersection(&other.0).count();
        (common, self.0.len() + other.0.len() - common)
    }
}

/// The words of a text that say something of an approach, each as the first of its group.
fn terms(text: &str) -> impl Iterator<Item = String> {
    let terms = words::terms(text).into_iter();
    let terms = terms.filter(|word| !STOPPED.contains(word));
    terms.map(|word| FIRST_OF.get(&word).cloned().unwrap_or(word))
}
