//! What is tried, and how it fails.
//!
//! Ideas share no more than a word or two, so that none is like another one; at another place an idea is the same. Owns texts
//! alone; it must not know in which tasks anything fails.

use sillok_core::circular::Approach;
use sillok_core::command::Command;
use sillok_core::entry::Binding;
use sillok_core::verification::{NewFailure, NewVerification, Outcome, VerificationSource};

/// Different errors, whatever is tried.
const ERRORS: usize = 16;

/// What is tried: how it begins, how it begins in other words, and how it goes on.
pub(crate) const IDEAS: [(&str, &str, &str); 20] = [
    (
        "Increase",
        "Raise",
        "the read timeout of the upstream socket so that slow peers can answer",
    ),
    (
        "Remove",
        "Drop",
        "the stale snapshot that the nightly importer leaves in the staging bucket",
    ),
    (
        "Add",
        "Insert",
        "a composite index over customer and invoice columns for the monthly statement",
    ),
    (
        "Replace",
        "Swap",
        "the handwritten calendar parser with a library that knows leap seconds",
    ),
    (
        "Retry",
        "Repeat",
        "the payment webhook with exponential backoff when the gateway throttles",
    ),
    (
        "Cache",
        "Memoize",
        "the rendered dashboard tiles per tenant and colour theme",
    ),
    (
        "Check",
        "Verify",
        "the digest of every downloaded firmware block ahead of flashing",
    ),
    (
        "Catch",
        "Rescue",
        "the overflow of the odometer counter and saturate what it shows",
    ),
    (
        "Ignore",
        "Skip",
        "trailing whitespace while comparing translated subtitles",
    ),
    (
        "Convert",
        "Cast",
        "the legacy spreadsheet macros into typed formulas",
    ),
    (
        "Call",
        "Invoke",
        "the garbage collector once the renderer hides its window",
    ),
    (
        "Wait",
        "Sleep",
        "until the elevator motor reports that both doors are latched",
    ),
    (
        "Keep",
        "Preserve",
        "the original ordering of playlist songs through shuffling",
    ),
    (
        "Initialise",
        "Initialize",
        "the random seed from the puzzle and the country of its player",
    ),
    (
        "Copy",
        "Clone",
        "the permission matrix whenever a department is divided",
    ),
    (
        "Move",
        "Relocate",
        "the thumbnail scaler onto a dedicated graphics processor",
    ),
    (
        "Mock",
        "Stub",
        "the satellite feed with recorded orbits in the acceptance suite",
    ),
    (
        "Enable",
        "Activate",
        "strict mode of the shader translator and treat hints as faults",
    ),
    (
        "Pin",
        "Freeze",
        "the compiler toolchain that the embedded bootloader needs",
    ),
    (
        "Disable",
        "Deactivate",
        "speculative prefetching of neighbouring terrain over metered links",
    ),
];

/// An idea that never failed.
const NEW: &str =
    "Rewrite the tokenizer as a table driven automaton with perfect hashing of keywords";

/// An idea at a place, as it was tried.
pub(crate) fn tried(idea: usize, place: usize) -> Approach {
    let (begins, _, goes_on) = IDEAS[idea];
    at(place, format!("{begins} {goes_on}"))
}

/// The same, in other words.
pub(super) fn again(idea: usize, place: usize) -> Approach {
    let (_, begins, goes_on) = IDEAS[idea];
    at(place, format!("{begins} {goes_on}"))
}

/// A new idea at a place.
pub(super) fn anew(place: usize) -> Approach {
    at(place, NEW.to_owned())
}

/// What is tried at a place, which has a file and a symbol of its own; what that is called last, symbols of all places are.
fn at(place: usize, text: String) -> Approach {
    Approach {
        text,
        files: vec![format!("src/part_{place}/unit.rs")],
        symbols: vec![format!("Unit{place}::apply")],
    }
}

/// Records that an approach failed.
pub(super) fn failure(number: usize, approach: Approach) -> Command {
    let error = number % ERRORS;
    let error = format!(
        "thread 'unit::tests::case_{error}' panicked at src/unit.rs:{number}:9:\n\
         assertion `left == right` failed\n  left: {error}\n right: {}",
        error + 1
    );
    Command::RecordFailure(Box::new(NewFailure {
        said: NewVerification {
            outcome: Outcome::Failed,
            source: VerificationSource::TestsFailed,
            run: format!("run {number}"),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: Some(error),
            approach: Some(approach.text),
            target: None,
        },
        files: approach.files,
        symbols: approach.symbols,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sillok_core::circular::Words;

    use super::*;

    #[test]
    fn no_idea_is_like_another_one_and_each_is_the_same_at_another_place() {
        let words = |approach: &Approach| Words::of(approach, "Measure\nAppend records.");
        for idea in 0..IDEAS.len() {
            let one = words(&tried(idea, 0));
            assert!(!words(&anew(0)).is_like(&one), "{idea}");
            for other in 0..IDEAS.len() {
                for place in [0, 1] {
                    for approach in [tried(other, place), again(other, place)] {
                        let is_like = words(&approach).is_like(&one);
                        assert_eq!(is_like, idea == other, "{approach:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_that_is_tried_looks_like_a_secret() {
        let texts: BTreeSet<String> = (0..IDEAS.len())
            .flat_map(|idea| [tried(idea, 3), again(idea, 3), anew(3)])
            .map(|approach| approach.text)
            .collect();
        assert_eq!(texts.len(), 2 * IDEAS.len() + 1);
        let masked = |text: &String| sillok_core::secret::mask(text).count > 0;
        assert!(!texts.iter().any(masked));
    }
}
