//! Wording: whether two texts say the same in the same words, so that one may stand for both.
//!
//! A cosine tells what a text is about. It hardly sees another number, path or identifier, "before"
//! for "after", or two roles that changed places, and which words are names of things no list knows.
//! So a merge is left to texts that differ in case, quotes, articles and inflection alone. It must
//! not know entries, nor cosines.

use rust_stemmers::{Algorithm, Stemmer};

use super::negation::korean_stem;

/// Whether the two texts are the same, word by word and in order, but for how they are written.
pub(super) fn same_wording(a: &str, b: &str) -> bool {
    let (a, b) = (words(a), words(b));
    let stemmer = Stemmer::create(Algorithm::English);
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_word(a, b, &stemmer))
}

/// The words that say something, in order, in lower case.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in text.split_whitespace() {
        if piece.contains(char::is_alphanumeric) {
            let plain = piece
                .replace(['`', '"', '\u{201c}', '\u{201d}', '\u{2018}'], "")
                .replace('\u{2019}', "'");
            push(trimmed(&plain), &mut words);
        } else if !piece.chars().all(|c| ".,:;\u{2013}\u{2014}".contains(c)) {
            // An operator, or signs in quotes: `[]` is not `{}`.
            words.push(piece.to_owned());
        }
    }
    words
}

/// A word without the punctuation of the sentence. A sign before it stays, since `-1` is not `1` and
/// `.env` is not `env`; so do `!` and `?`, which are code as often as not.
fn trimmed(piece: &str) -> &str {
    piece
        .trim_start_matches(['\'', '(', '[', '{', ',', ';', ':'])
        .trim_end_matches(['\'', '(', ')', '[', ']', '{', '}', ',', ';', ':', '.'])
}

fn push(word: &str, words: &mut Vec<String>) {
    // The case of a short flag is all that tells `-v` from `-V`.
    if let Some(flag) = word.strip_prefix('-')
        && flag.chars().count() == 1
    {
        return words.push(word.to_owned());
    }
    let lower = word.to_lowercase();
    match lower.as_str() {
        "" | "a" | "an" | "the" | "do" | "does" | "please" => {}
        "are" => words.push("is".to_owned()),
        "were" => words.push("was".to_owned()),
        "each" => words.push("every".to_owned()),
        "cannot" | "can't" => words.extend(["can".to_owned(), "not".to_owned()]),
        "won't" => words.extend(["will".to_owned(), "not".to_owned()]),
        lower => match lower.strip_suffix("n't") {
            Some(auxiliary) => {
                push(auxiliary, words);
                words.push("not".to_owned());
            }
            None => quantity(lower, words),
        },
    }
}

/// "30s", "30 s" and "30 seconds" are one quantity.
fn quantity(word: &str, words: &mut Vec<String>) {
    let digits = word
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')))
        .unwrap_or(word.len());
    let (number, unit) = word.split_at(digits);
    let follows_number = words
        .last()
        .is_some_and(|last| last.ends_with(|c: char| c.is_ascii_digit()));
    if number.is_empty() {
        return words.push(
            if follows_number {
                unit_name(word)
            } else {
                word
            }
            .to_owned(),
        );
    }
    if unit.is_empty() || !unit.chars().all(char::is_alphabetic) {
        return words.push(word.to_owned());
    }
    words.extend([number.to_owned(), unit_name(unit).to_owned()]);
}

fn unit_name(unit: &str) -> &str {
    match unit {
        "ms" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        other => other,
    }
}

/// Whether the two are one word, in the singular and the plural or of another person. Tense is not
/// looked through: what was so need not be so, and a locked file is no lock file.
fn same_word(a: &str, b: &str, stemmer: &Stemmer) -> bool {
    if a == b {
        return true;
    }
    let is_word = |word: &str| word.chars().all(char::is_alphabetic);
    if !is_word(a) || !is_word(b) {
        return false;
    }
    if !a.is_ascii() || !b.is_ascii() {
        return is_past(a) == is_past(b) && korean_stem(a) == korean_stem(b);
    }
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let ending = |word: &str| matches!(&word[shared..], "" | "s" | "es" | "y" | "ies");
    ending(a) && ending(b) && stemmer.stem(a) == stemmer.stem(b)
}

/// Whether a Korean verb is in the past: a syllable ends in ㅆ, as in 했다, and is not 있, "to be".
fn is_past(word: &str) -> bool {
    const BASE: u32 = 0xAC00;
    const FINALS: u32 = 28;
    const FINAL_SS: u32 = 20;
    word.chars().any(|c| {
        ('가'..='힣').contains(&c) && c != '있' && (u32::from(c) - BASE) % FINALS == FINAL_SS
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn how_a_text_is_written_does_not_matter() {
        for (a, b) in [
            ("Run `make fmt` first.", "run make fmt first"),
            ("The hook calls parse()", "hooks call `parse`"),
            ("It doesn't load .env", "It does not load `.env`."),
            ("Locks can't nest", "A lock cannot nest"),
            ("It waits 3 s, then ends", "It waits 3s then ends."),
            ("A lease of 5 minutes", "the lease of 5min"),
            ("Every job is retried", "Each job is retried."),
            ("Retries are safe", "A retry is safe"),
            ("빌드가 성공한다.", "빌드가 성공합니다"),
            ("잠금이 있다", "잠금이 있습니다."),
            ("빌드가 실패했다", "빌드가 실패했습니다"),
            ("`a - b` became `a + b`", "a - b became a + b"),
        ] {
            assert!(same_wording(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn what_is_said_does() {
        for (a, b) in [
            ("port 80", "port 81"),
            ("version 2.4.1", "version 2.4.7"),
            ("see src/a.rs", "see src/b.rs"),
            ("load .env", "load env"),
            ("foo_bar fails", "foo_baz fails"),
            ("exits with -1", "exits with 1"),
            ("pass -v", "pass -V"),
            ("compare with ==", "compare with !="),
            ("`a - b` was wrong", "`a + b` was wrong"),
            ("run it before tests", "run it after tests"),
            ("all nodes vote", "some nodes vote"),
            ("all tests use one port", "each test uses one port"),
            ("the lock file", "the locked file"),
            ("the default was 5", "the default is 5"),
            ("the hook didn't run", "the hook doesn't run"),
            ("it did not load .env", "it does not load .env"),
            ("the node has locks", "the node locks"),
            ("it returns `[]`", "it returns `{}`"),
            ("split at `,`", "split at `;`"),
            ("call print", "call print!"),
            ("a calls b", "b calls a"),
            ("the reader calls", "the reader is called by"),
            ("the import flag", "the important flag"),
            ("the call is blocking", "the call is blocked"),
            ("5 minutes", "5 ms"),
            ("use redis", "use postgres"),
            ("it works", "it works on weekends"),
            ("워커가 노드를 부른다", "노드가 워커를 부른다"),
            ("기본값은 30초이다", "기본값은 30분이다"),
            ("빌드가 실패했다", "빌드가 실패한다"),
        ] {
            assert!(!same_wording(a, b), "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_holds_of_a_text_and_itself(a in "([a-c]|-v|1s|1 s|isn't|없다|`| |\\.){0,12}", b in "([a-c]|-v|1s|1 s|isn't|없다|`| |\\.){0,12}") {
            prop_assert_eq!(same_wording(&a, &b), same_wording(&b, &a));
            prop_assert!(same_wording(&a, &a));
        }

        #[test]
        fn another_number_is_another_text(before in "[a-z ]{0,20}", a: u32, b: u32, after in "[a-z ]{0,20}") {
            let text = |number: u32| format!("{before} {number} {after}");
            prop_assert_eq!(same_wording(&text(a), &text(b)), a == b);
        }

        #[test]
        fn an_article_before_any_text_says_nothing(a in ".{0,80}") {
            let longer = format!("the {a} ");
            prop_assert!(same_wording(&a, &longer));
        }
    }
}
