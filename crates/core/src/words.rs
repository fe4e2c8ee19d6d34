//! Words: how text is cut for whoever compares texts by their words, and how well a text answers some of them.
//!
//! Owns what a word is: a run of letters and digits, with identifiers also cut at `_` and at
//! changes of case, and operators between spaces, since `a - b` is not `a + b`. Scores are [`bm25`]'s. It must not know
//! whose texts they are.

use rust_stemmers::{Algorithm, Stemmer};

pub mod bm25;

/// What sort of token was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A word in lower case.
    Word(&'a str),
    /// A part of an identifier, in lower case, after the whole.
    Part(&'a str),
    /// A number or an operator: small, and yet it changes what is said.
    Exact(&'a str),
}

/// Calls `take` with each token of `text`, in order.
pub fn cut(text: &str, mut take: impl FnMut(Token<'_>)) {
    let mut lower = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            let length = word_length(rest);
            cut_word(&rest[..length], &mut lower, &mut take);
            length
        } else if is_operator(first) {
            let length = rest.find(|c| !is_operator(c)).unwrap_or(rest.len());
            let after = rest[length..].chars().next().unwrap_or(' ');
            if !before.is_alphanumeric() && !after.is_alphanumeric() {
                take(Token::Exact(&rest[..length]));
            }
            length
        } else {
            first.len_utf8()
        };
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
}

/// The tokens by which BM25 finds a text: stems, parts of identifiers, numbers, and pairs of
/// Hangul syllables, since Korean words carry their particles with them.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = Vec::new();
    cut(text, |token| match token {
        Token::Word(word) | Token::Part(word) if is_stopword(word) => {}
        Token::Word(word) | Token::Part(word) => {
            terms.push(stemmer.stem(word).into_owned());
            if word.chars().all(is_hangul) {
                let syllables: Vec<char> = word.chars().collect();
                terms.extend(
                    syllables
                        .windows(2)
                        .filter(|_| syllables.len() > 2)
                        .map(|pair| pair.iter().collect()),
                );
            }
        }
        Token::Exact(number) if number.starts_with(|c: char| c.is_numeric()) => {
            terms.push(number.to_owned())
        }
        Token::Exact(_) => {}
    });
    terms
}

/// Whether a word says little about what a text is about.
#[must_use]
pub fn is_stopword(word: &str) -> bool {
    const STOPWORDS: &[&str] = &[
        "a", "an", "and", "are", "as", "at", "be", "been", "by", "for", "from", "has", "have",
        "in", "into", "is", "it", "its", "of", "on", "or", "that", "the", "then", "there", "this",
        "to", "was", "were", "which", "with",
    ];
    STOPWORDS.binary_search(&word).is_ok()
}

/// Whether a word turns what is said into its opposite.
#[must_use]
pub fn is_negation(word: &str) -> bool {
    matches!(
        word,
        "not" | "no" | "never" | "cannot" | "without" | "안" | "못"
    ) || word.ends_with("n't")
        || word.starts_with(['않', '없'])
}

/// Whether a character is a syllable of Hangul.
#[must_use]
pub fn is_hangul(c: char) -> bool {
    ('가'..='힣').contains(&c)
}

/// Bytes of the word at the start of `rest`: letters, digits and `_`, a point between digits, an
/// apostrophe between letters.
fn word_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().peekable();
    let mut last = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let joins = c == '.' && last.is_ascii_digit() && next.is_ascii_digit()
            || c == '\'' && last.is_alphabetic() && next == 't';
        if !(c.is_alphanumeric() || c == '_' || joins) {
            return at;
        }
        last = c;
    }
    rest.len()
}

fn cut_word(word: &str, lower: &mut String, take: &mut impl FnMut(Token<'_>)) {
    lower.clear();
    lower.extend(word.chars().flat_map(char::to_lowercase));
    if word.starts_with(|c: char| c.is_numeric()) {
        return take(Token::Exact(lower));
    }
    take(Token::Word(lower.as_str()));
    if word.chars().all(|c| c.is_lowercase() || is_hangul(c)) {
        return;
    }
    for part in parts(word).filter(|part| part.len() < word.len() && part.chars().nth(1).is_some())
    {
        lower.clear();
        lower.extend(part.chars().flat_map(char::to_lowercase));
        take(Token::Part(lower.as_str()));
    }
}

/// The parts of an identifier: `parseHTTPBody_2` gives parse, HTTP, Body, 2.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').flat_map(|piece| {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut cuts = vec![0];
        for (index, pair) in chars.windows(2).enumerate() {
            let (a, (at, b)) = (pair[0].1, pair[1]);
            let next_is_lower = chars.get(index + 2).is_some_and(|(_, c)| c.is_lowercase());
            let rises = a.is_lowercase() && b.is_uppercase();
            let acronym_ends = a.is_uppercase() && b.is_uppercase() && next_is_lower;
            if rises || acronym_ends || a.is_numeric() != b.is_numeric() {
                cuts.push(at);
            }
        }
        cuts.push(piece.len());
        cuts.windows(2)
            .map(|pair| &piece[pair[0]..pair[1]])
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
    })
}

fn is_operator(c: char) -> bool {
    matches!(
        c,
        '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '&' | '|' | '^' | '~'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        cut(text, |token| {
            tokens.push(match token {
                Token::Word(word) => word.to_owned(),
                Token::Part(part) => format!("+{part}"),
                Token::Exact(exact) => format!("={exact}"),
            });
        });
        tokens
    }

    #[test]
    fn identifiers_are_cut_and_kept_whole() {
        assert_eq!(
            tokens("TimeDelta td_field parseHTTPBody"),
            [
                "timedelta",
                "+time",
                "+delta",
                "td_field",
                "+td",
                "+field",
                "parsehttpbody",
                "+parse",
                "+http",
                "+body"
            ]
        );
    }

    #[test]
    fn numbers_and_lone_operators_are_exact() {
        assert_eq!(
            tokens("a - b at 0.95, not-so src/x.py"),
            ["a", "=-", "b", "at", "=0.95", "not", "so", "src", "x", "py"]
        );
        assert_eq!(tokens("doesn't 345ms"), ["doesn't", "=345ms"]);
    }

    #[test]
    fn korean_words_give_pairs_of_syllables() {
        assert_eq!(
            terms("직렬화가 실패"),
            ["직렬화가", "직렬", "렬화", "화가", "실패"]
        );
    }

    #[test]
    fn terms_meet_in_their_stems() {
        assert_eq!(terms("serializes"), terms("the serialized"));
    }

    proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in ".{0,200}") {
            drop(terms(&text));
        }
    }
}
