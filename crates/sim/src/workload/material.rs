//! What facts and records are made of: few texts and few projects, so that writers meet.

use sillok_builtin::HashEmbedder;
use sillok_core::citation::Citation;
use sillok_core::command::Command;
use sillok_core::entry::{Binding, Detail, Embedding, Metadata, Table};
use sillok_core::ports::Embedder as _;
use sillok_core::principal::PrincipalId;
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};

use crate::workload::Draw;

/// What every task's opening begins with: each of its characters is more than one byte.
pub const OPENING_WORD: &str = "작업";

/// Projects of a world, at least and at most.
pub const PROJECTS: (u8, u8) = (12, 64);
/// Projects that get most of what is shared.
const CROWDED: u8 = 2;
/// Texts that facts are made of: few, so that several agents publish the same one. Those of the second half are the
/// first ones again in other bytes: what says the same is told by its wording, and not by a hash.
pub const TEXTS: [&str; 16] = [
    "The parser loses the last line when the file has no final newline",
    "Requests are served by axum and retried three times",
    "The cart total is rounded once per line and not once per order",
    "Serialization of durations cuts milliseconds off",
    "The linker needs four gigabytes on two cores",
    "AssertionError: expected 345 and got 344 in test_precision",
    "Root cause: the loop in lib/cart.py stops one item early",
    "The build fails unless protoc is on the path",
    "the parser loses the last line when a file has no final newline",
    "Requests are served by `axum` and retried three times.",
    "the cart total is rounded once per line and not once per order",
    "The serialization of durations cuts milliseconds off",
    "A linker needs four gigabytes on two cores",
    "AssertionError: expected 345 and got 344 in the test_precision",
    "Root cause: a loop in lib/cart.py stops one item early",
    "the build fails unless the protoc is on the path.",
];

/// Draws a text by its number.
pub fn draw_text(draw: &mut Draw<'_>) -> u8 {
    draw.byte(TEXTS.len())
}

/// Draws a project by its number; two of them are drawn most of the time.
pub fn draw_project(draw: &mut Draw<'_>) -> u8 {
    let projects = if draw.stream.permille(700) {
        CROWDED
    } else {
        draw.projects
    };
    draw.byte(usize::from(projects))
}

/// Refuses a project that no world has.
///
/// # Errors
/// Why it is refused.
pub fn check_project(number: u8) -> Result<(), String> {
    let projects = PROJECTS.1;
    if number < projects {
        Ok(())
    } else {
        Err(format!("project: {number} is not below {projects}"))
    }
}

/// The path of a project.
#[must_use]
pub fn project_path(number: u8) -> String {
    format!("org/sim/project/p{number}")
}

/// The scope of a project.
#[must_use]
pub fn project(number: u8) -> Scope {
    scope(&project_path(number))
}

/// A scope of the workload.
///
/// # Panics
/// If the path is not that of a scope.
#[must_use]
pub fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("the workload names scopes that exist")
}

/// The text of a number.
#[must_use]
pub fn text_of(number: u8) -> &'static str {
    TEXTS[usize::from(number) % TEXTS.len()]
}

/// What a person stands behind an entry with.
#[must_use]
pub fn reviewed() -> Vec<Citation> {
    vec![Citation::Human {
        user: PrincipalId::parse("reviewer").expect("a plain word is an id"),
    }]
}

/// A new observation that a person stands behind.
#[must_use]
pub fn observation(text: &str) -> NewEntry {
    NewEntry {
        table: Table::Observations,
        content: text.to_owned(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: reviewed(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: Some(embedding(text)),
    }
}

/// The vector of a text.
#[must_use]
pub fn embedding(text: &str) -> Embedding {
    Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(text),
    }
}

/// The command that says how a run judged a task.
#[must_use]
pub fn judged(passed: bool, run: String) -> Command {
    let (outcome, source) = if passed {
        (Outcome::Passed, VerificationSource::TestsPassed)
    } else {
        (Outcome::Failed, VerificationSource::TestsFailed)
    };
    Command::RecordVerification(Box::new(NewVerification {
        outcome,
        source,
        run,
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: (!passed).then(|| "the parser loops for ever".into()),
        approach: (!passed).then(|| "read line by line".into()),
        target: None,
    }))
}

/// What a burst says by its number `text`: the same as another of the burst, in other bytes, and as nobody else.
pub fn text_of_burst(burst: usize, text: u8) -> String {
    format!(
        "{} in the build {burst}",
        text_of(text).trim_end_matches('.')
    )
}

#[cfg(test)]
mod tests {
    use sillok_core::dedup::{Neighbour, Verdict, verdict};
    use sillok_core::fingerprint::ContentHash;
    use sillok_core::id::EntryId;

    use super::*;

    fn told(new: &str, known: &str) -> Verdict {
        let neighbour = Neighbour {
            id: EntryId::from_bytes([1; 16]),
            table: Table::Observations,
            failure: false,
            content: known.to_owned(),
            content_hash: ContentHash::of(known),
            claim: None,
            succeeded: None,
            cosine: embedding(new).cosine(&embedding(known)),
        };
        verdict(&observation(new), &[neighbour], HashEmbedder.thresholds())
    }

    #[test]
    fn each_text_comes_twice_in_the_same_words_and_in_other_bytes() {
        let (first, second) = TEXTS.split_at(TEXTS.len() / 2);
        for (number, text) in first.iter().enumerate() {
            for (other, known) in second.iter().enumerate() {
                let is_one = matches!(told(text, known), Verdict::Merge { .. });
                assert_eq!(is_one, number == other, "{text} / {known}");
                assert_ne!(text, known);
            }
        }
    }

    #[test]
    fn what_one_burst_says_in_the_same_words_no_other_does() {
        let half = TEXTS.len() / 2;
        for number in 0..half {
            let [text, again] = [number, number + half].map(|number| {
                let number = u8::try_from(number).unwrap();
                [1, 2].map(|burst| text_of_burst(burst, number))
            });
            assert!(
                matches!(told(&again[0], &text[0]), Verdict::Merge { .. }),
                "{text:?}"
            );
            assert!(
                !matches!(told(&again[1], &text[0]), Verdict::Merge { .. }),
                "{text:?}"
            );
        }
    }
}
