//! From text to a tree, by the parser of `grafeo-adapters`.
//!
//! Owns the bounds on the text, without which that parser can be made to use up the stack (calls
//! and maps nest without a bound in it) or to take time that doubles with each level: it tries a
//! pattern or an initial value first, and reads it again when it was none. The bounds are on its
//! own tokens, so no text is seen differently here.

use grafeo_adapters::query::cypher::{self, Lexer, Statement};
use sillok_core::error::Error;

use crate::meter::invalid;

/// Longest text of a query.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;
/// Most tokens: names, signs, numbers, texts.
pub const QUERY_TOKENS_MAX: usize = 4096;
/// How deep brackets may lie in one another, and how many `CASE` there may be.
pub const QUERY_DEPTH_MAX: usize = 24;
/// How often one thing may lie in another that the parser reads twice.
const TWICE_MAX: usize = 6;
/// Most labels in a row.
const LABELS_MAX: usize = 8;
/// Longest message of the parser that is handed on.
const MESSAGE_CHARS_MAX: usize = 400;

pub(crate) fn parse(text: &str) -> Result<Statement, Error> {
    check(text)?;
    cypher::parse(text).map_err(|error| {
        let message = error.to_string();
        invalid(message.chars().take(MESSAGE_CHARS_MAX).collect::<String>())
    })
}

/// An opening that is not closed yet.
struct Open {
    closing: &'static str,
    /// What it holds may be read twice.
    twice: bool,
    /// What stands before it, where it holds a relationship.
    edge: Option<Edge>,
}

/// A relationship between brackets.
struct Edge {
    /// It begins with `<-`.
    entering: bool,
    /// How many steps it has may still be said: behind its `WHERE`, a `*` multiplies.
    length: bool,
}

fn check(text: &str) -> Result<(), Error> {
    refuse_over("text of the query, in bytes,", QUERY_BYTES_MAX, text.len())?;
    let mut lexer = Lexer::new(text);
    let mut open: Vec<Open> = Vec::new();
    let (mut tokens, mut cases, mut labels) = (0_usize, 0_usize, 0_usize);
    let (mut before, mut last) = (String::new(), String::new());
    let mut entered = false;
    loop {
        let token = lexer.next_token().text;
        if token.is_empty() {
            return Ok(());
        }
        tokens += 1;
        refuse_over("tokens of the query", QUERY_TOKENS_MAX, tokens)?;
        cases += usize::from(token.eq_ignore_ascii_case("case"));
        refuse_over("number of CASE in the query", QUERY_DEPTH_MAX, cases)?;
        // The parser copies what stands before a label for each of them.
        if token == ":" {
            if follows_an_end(&before, &last) {
                return Err(invalid(
                    "a label is asked of a variable: name what stands before it",
                ));
            }
            labels = if before == ":" { labels + 1 } else { 1 };
            refuse_over("number of labels on one node", LABELS_MAX, labels)?;
        }
        refuse_misread(&mut open, &token, &last, entered)?;
        entered = note_brackets(&mut open, &token, &last, &before);
        let twice = open.iter().filter(|one| one.twice).count();
        if open.len() > QUERY_DEPTH_MAX || twice > TWICE_MAX {
            return Err(invalid(format!(
                "the query lies too deep in itself: at most {QUERY_DEPTH_MAX} brackets, and {TWICE_MAX} \
                 patterns in lists or reductions, may hold one another"
            )));
        }
        before = std::mem::replace(&mut last, token);
    }
}

fn refuse_over(what: &str, limit: usize, got: usize) -> Result<(), Error> {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    if got > limit {
        return Err(Error::too_large(what, number(limit), number(got)));
    }
    Ok(())
}

/// Refuses relationships of which the parser makes others without a word: one with both arrows becomes one that leaves, and a
/// number of steps that it cannot read becomes 1, or none.
fn refuse_misread(open: &mut [Open], token: &str, last: &str, entered: bool) -> Result<(), Error> {
    if (entered && token == "->") || (token == "[" && ["->", "--"].contains(&last)) {
        return Err(invalid(
            "a relationship has one arrow at most, behind or before its brackets: -[ ]-, -[ ]-> or <-[ ]-",
        ));
    }
    let Some(edge) = open.last_mut().and_then(|one| one.edge.as_mut()) else {
        return Ok(());
    };
    edge.length &= !token.eq_ignore_ascii_case("where");
    let counts = ["*", ".."].contains(&last) && token.starts_with(|one: char| one.is_ascii_digit());
    if edge.length && counts && token.parse::<u32>().is_err() {
        return Err(invalid(format!(
            "{token} is no number of steps: it is a whole number of at most {}",
            u32::MAX
        )));
    }
    Ok(())
}

/// Whether a colon here would ask a label of something put together. `end` is a name as well.
fn follows_an_end(before: &str, last: &str) -> bool {
    [")", "]", "}"].contains(&last)
        || (last.eq_ignore_ascii_case("end") && !["(", "[", "{", ",", "."].contains(&before))
}

/// Notes what is opened and closed: whether that was the end of a relationship that began with `<-`. A relationship stands
/// behind a node, and so behind its `)`: anything else takes a list away.
fn note_brackets(open: &mut Vec<Open>, token: &str, last: &str, before: &str) -> bool {
    let closing = match token {
        "(" => ")",
        "[" => "]",
        "{" => "}",
        _ => {
            let closed = open.pop_if(|one| one.closing == token);
            return closed
                .and_then(|one| one.edge)
                .is_some_and(|edge| edge.entering);
        }
    };
    if token == "("
        && last == "["
        && let Some(list) = open.last_mut()
    {
        list.twice = true;
    }
    open.push(Open {
        closing,
        twice: token == "(" && last.eq_ignore_ascii_case("reduce"),
        edge: (token == "[" && ["-", "<-"].contains(&last) && before == ")").then(|| Edge {
            entering: last == "<-",
            length: true,
        }),
    });
    false
}
