//! The issue: what the task's description states, apart from what was done about it.
//!
//! Owns which part of a description is the issue, and its topic. It must not know steps.

use core::ops::Range;

use sillok_core::words::is_hangul;

use super::evidence::range;
use super::sentence::{clip, reported, sentences};

/// Statements that are taken from a description.
const STATEMENTS_MAX: usize = 4;

/// What a task is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Issue {
    /// A few words: the description's heading, or the task's title.
    pub(super) topic: String,
    /// What the description states, each with its topic.
    pub(super) statements: Vec<Statement>,
}

/// One thing that a description states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// It, as a sentence.
    pub(super) said: String,
    /// Where it stands, and its topic where that is told, in bytes of what the task was opened with.
    pub(super) at: Vec<Range<usize>>,
}

impl Issue {
    /// Reads what a task was opened with, whose first line is the title.
    pub(super) fn of(opening: &str) -> Self {
        const TOPIC_WORDS_MAX: usize = 14;
        let (title, description) = opening
            .split_once('\n')
            .unwrap_or_else(|| opening.split_at(opening.len()));
        let body = between(description, "ISSUE:", "INSTRUCTIONS:");
        let first = body
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        let is_heading = !first.ends_with(['.', ':', ',', '?'])
            && (2..=TOPIC_WORDS_MAX).contains(&first.split_whitespace().count());
        let heading = if is_heading { first } else { title };
        let topic = clip(heading, 120);
        let topic = topic.trim_start_matches(['#', ' ']).to_owned();
        let rest = if is_heading {
            body.trim_start().strip_prefix(first).unwrap_or(body)
        } else {
            body
        };

        let mut issue = Self {
            topic,
            statements: Vec::new(),
        };
        let base = range(rest, opening).start;
        for sentence in sentences(rest) {
            if issue.statements.len() == STATEMENTS_MAX {
                break;
            }
            let text = sentence.text.replace(" here: http", " at http");
            let Some(said) = reported(&text).filter(|said| says_something(said)) else {
                continue;
            };
            let stands = base + sentence.at.start..base + sentence.at.end;
            let (said, topic) = match issue.with_topic(&said) {
                Some(told) => (told, Some(range(heading, opening))),
                None => (said, None),
            };
            let at = topic.into_iter().chain([stands]).collect();
            if issue.statements.iter().all(|known| known.said != said) {
                issue.statements.push(Statement { said, at });
            }
        }
        issue
    }

    /// A statement behind its topic; none when it tells the topic itself, or there is none.
    fn with_topic(&self, said: &str) -> Option<String> {
        let is_told = said.to_lowercase().contains(&self.topic.to_lowercase());
        (!is_told).then(|| format!("{}: {said}", self.topic))
    }
}

/// Whether a statement has a verb, a number or a link in it, and is more than a sigh.
fn says_something(said: &str) -> bool {
    let verb = |word: &str| {
        matches!(
            word,
            "be" | "have"
                | "had"
                | "do"
                | "did"
                | "can"
                | "cannot"
                | "must"
                | "should"
                | "will"
                | "would"
                | "is"
                | "are"
                | "were"
        ) || (word.ends_with('s') || word.ends_with("ed")) && word.chars().count() > 2
            || word.ends_with("n't")
    };
    let mut words = said.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    said.contains("://")
        || words
            .any(|word| verb(word) || word.contains(|c: char| c.is_ascii_digit() || is_hangul(c)))
}

/// The text between two marks; from the beginning or to the end where a mark is missing.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let text = text.split_once(from).map_or(text, |(_, rest)| rest);
    text.split_once(to).map_or(text, |(body, _)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(title: &str, description: &str) -> (String, Vec<String>) {
        let opening = format!("{title}\n{description}");
        let issue = Issue::of(&opening);
        for statement in &issue.statements {
            for at in &statement.at {
                assert!(!opening[at.clone()].trim().is_empty());
            }
        }
        let said = issue.statements.into_iter().map(|statement| statement.said);
        (issue.topic, said.collect())
    }

    #[test]
    fn the_issue_is_read_without_greeting_code_and_instructions() {
        let description = "We are solving this.\nISSUE:\nTimeDelta serialization precision\nHi there!\n\nI just found quite strange \
            behaviour of `TimeDelta` field serialization\n\n```python\nprint(1)\n```\n\nOutput of this snippet is `344`, but it \
            seems that `345` is correct.\n\nLooks like a rounding issue here: https://h/fields.py#L1474\n\nINSTRUCTIONS:\nDo it now, please, at once.";
        let (topic, statements) = of("run 7", description);
        assert_eq!(topic, "TimeDelta serialization precision");
        assert_eq!(
            statements,
            [
                "TimeDelta serialization precision: Output of the snippet is `344`, but it seems that `345` is correct.",
                "TimeDelta serialization precision: Looks like a rounding issue at https://h/fields.py#L1474.",
            ]
        );
    }

    #[test]
    fn a_title_stands_in_for_a_missing_heading() {
        let (topic, statements) = of(
            "add() is wrong",
            "The function add() in calc.py subtracts its arguments.",
        );
        assert_eq!(topic, "add() is wrong");
        assert_eq!(
            statements,
            ["add() is wrong: The function add() in calc.py subtracts its arguments."]
        );
    }
}
