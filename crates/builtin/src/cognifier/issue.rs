//! The issue: what the task's description states, apart from what was done about it.
//!
//! Owns which part of a description is the issue, and its topic. It must not know steps.

use std::collections::BTreeSet;

use sillok_core::id::RecordId;
use sillok_core::promotion::CognifyRecord;

use super::sentence::{clip, sentences, statement};
use crate::words::{is_hangul, terms};

/// Statements that are taken from a description.
const STATEMENTS_MAX: usize = 4;

/// What a task is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Issue {
    /// A few words: the description's heading, or the task's title.
    pub(super) topic: String,
    /// What the description states, each with its topic.
    pub(super) statements: Vec<String>,
}

impl Issue {
    /// Reads a task's title and description.
    pub(super) fn of(title: &str, description: &str) -> Self {
        const TOPIC_WORDS_MAX: usize = 14;
        let body = between(description, "ISSUE:", "INSTRUCTIONS:");
        let first = body
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        let is_heading = !first.ends_with(['.', ':', ',', '?'])
            && (2..=TOPIC_WORDS_MAX).contains(&first.split_whitespace().count());
        let topic = clip(if is_heading { first } else { title }, 120);
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
        for sentence in sentences(&rest.replace(" here: http", " at http")) {
            if issue.statements.len() == STATEMENTS_MAX {
                break;
            }
            if let Some((_, said)) = statement(&sentence).filter(|(_, said)| says_something(said)) {
                let statement = issue.with_topic(&said);
                if !issue.statements.contains(&statement) {
                    issue.statements.push(statement);
                }
            }
        }
        issue
    }

    fn with_topic(&self, said: &str) -> String {
        if self.topic.is_empty() || said.to_lowercase().contains(&self.topic.to_lowercase()) {
            return said.to_owned();
        }
        format!("{}: {said}", self.topic)
    }
}

/// The words of a task's records, by which a statement of the description finds its records.
pub(super) struct Witnesses<'a> {
    records: Vec<(&'a RecordId, BTreeSet<String>)>,
}

impl<'a> Witnesses<'a> {
    /// Reads the beginning of the first records; an issue is taken up early.
    pub(super) fn of(records: &'a [CognifyRecord]) -> Self {
        const RECORDS_MAX: usize = 1_000;
        const BYTES_MAX: usize = 4_096;
        let words = |record: &'a CognifyRecord| {
            let end = record.content.floor_char_boundary(BYTES_MAX);
            (
                &record.id,
                terms(&record.content[..end]).into_iter().collect(),
            )
        };
        Self {
            records: records.iter().take(RECORDS_MAX).map(words).collect(),
        }
    }

    /// The records that bear a statement out: those that share the most of its words, at least
    /// two; else the first record.
    pub(super) fn to(&self, statement: &str) -> Vec<RecordId> {
        const WITNESSES_MAX: usize = 3;
        let wanted: BTreeSet<String> = terms(statement).into_iter().collect();
        let shared = self
            .records
            .iter()
            .map(|(id, words)| (wanted.intersection(words).count(), *id));
        let mut found: Vec<(usize, &RecordId)> =
            shared.filter(|(shared, _)| *shared >= 2).collect();
        // Stable: of equals, the earliest.
        found.sort_by_key(|(shared, _)| core::cmp::Reverse(*shared));
        let mut ids: Vec<RecordId> = found
            .into_iter()
            .take(WITNESSES_MAX)
            .map(|(_, id)| id.clone())
            .collect();
        if ids.is_empty() {
            ids.extend(self.records.first().map(|(id, _)| (*id).clone()));
        }
        ids.sort();
        ids
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

    #[test]
    fn the_issue_is_read_without_greeting_code_and_instructions() {
        let description = "We are solving this.\nISSUE:\nTimeDelta serialization precision\nHi there!\n\nI just found quite strange \
            behaviour of `TimeDelta` field serialization\n\n```python\nprint(1)\n```\n\nOutput of this snippet is `344`, but it \
            seems that `345` is correct.\n\nLooks like a rounding issue here: https://h/fields.py#L1474\n\nINSTRUCTIONS:\nDo it now, please, at once.";
        let issue = Issue::of("run 7", description);
        assert_eq!(issue.topic, "TimeDelta serialization precision");
        assert_eq!(
            issue.statements,
            [
                "TimeDelta serialization precision: Output of the snippet is `344`, but `345` is correct.",
                "TimeDelta serialization precision: A rounding issue at https://h/fields.py#L1474.",
            ]
        );
    }

    #[test]
    fn a_title_stands_in_for_a_missing_heading() {
        let issue = Issue::of(
            "add() is wrong",
            "The function add() in calc.py subtracts its arguments.",
        );
        assert_eq!(issue.topic, "add() is wrong");
        assert_eq!(
            issue.statements,
            ["add() is wrong: The function add() in calc.py subtracts its arguments."]
        );
    }
}
