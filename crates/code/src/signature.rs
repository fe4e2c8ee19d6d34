//! What a signature says, and when two are the same.
//!
//! Owns their normal form. It must not know languages, but for one: white space means something in Python.

use sillok_core::fingerprint::ContentHash;
use sillok_core::secret::{mask, whole_before};

use crate::extract::cut;
use crate::file_index::{Fingerprint, Symbol};
use crate::language::Language;
use crate::limits::SIGNATURE_BYTES_MAX;

/// The fingerprint of a symbol whose end was not reached yet.
pub(crate) fn unknown() -> Fingerprint {
    Fingerprint {
        signature: ContentHash::from_bytes([0; 32]),
        body: None,
    }
}

/// The text of a stretch without the comments in it, with single spaces.
pub(crate) fn text(source: &[u8], (from, to): (u32, u32), comments: &[(u32, u32)]) -> String {
    let mut bytes = Vec::new();
    let mut at = from;
    let first = comments.partition_point(|comment| comment.1 <= from);
    for comment in comments[first..].iter().take_while(|it| it.0 < to) {
        bytes.extend_from_slice(part(source, (at, comment.0.max(at))));
        at = comment.1.clamp(at, to);
    }
    bytes.extend_from_slice(part(source, (at, to)));
    let text = String::from_utf8_lossy(&bytes);
    let mut words = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

fn part(source: &[u8], (from, to): (u32, u32)) -> &[u8] {
    source
        .get(from as usize..to as usize)
        .expect("the parser names bytes that it was given")
}

/// Bytes of a signature that are looked through for secrets: one that begins in what is shown is masked although it is cut.
const LOOKED_THROUGH_BYTES: usize = 32 * SIGNATURE_BYTES_MAX;

/// What is kept of a signature to be shown: values of constants and defaults of parameters are part of it, secrets are not.
pub(crate) fn shown(text: &str) -> String {
    let masked = mask(cut(text, LOOKED_THROUGH_BYTES)).text;
    let end = whole_before(&masked, masked.len().min(SIGNATURE_BYTES_MAX));
    masked[..end].trim_end().to_owned()
}

/// The fingerprint of a signature: white space counts only between two words, and a comma before a closing bracket does
/// not, so that what a formatter does to it changes nothing.
#[must_use]
pub fn fingerprint(text: &str) -> ContentHash {
    ContentHash::from_bytes(*blake3::hash(squeezed(text).as_bytes()).as_bytes())
}

/// Whether a symbol has the signature that was noted of it, whole or as it is shown.
#[must_use]
pub fn is_of(symbol: &Symbol, noted: &str) -> bool {
    let may_be_shown = noted.len() <= SIGNATURE_BYTES_MAX;
    symbol.fingerprint.signature == fingerprint(noted)
        || (may_be_shown && is_same(&symbol.signature, noted))
}

/// Whether two signatures are the same but for how they are formatted. One that was cut is compared as far as it goes.
#[must_use]
pub fn is_same(kept: &str, other: &str) -> bool {
    squeezed(&shown(kept)) == squeezed(&shown(other))
}

fn squeezed(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    let mut spaced = false;
    for character in text.chars() {
        if character.is_whitespace() {
            spaced = true;
            continue;
        }
        if matches!(character, ')' | ']' | '}' | '>') && squeezed.ends_with(',') {
            squeezed.pop();
        }
        let between_words =
            spaced && is_word(character) && squeezed.chars().next_back().is_some_and(is_word);
        if between_words {
            squeezed.push(' ');
        }
        squeezed.push(character);
        spaced = false;
    }
    squeezed
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The fingerprint of a body. In Python how far a line is indented counts, as white space at its end does not.
pub(crate) fn of_body(language: Language, source: &[u8], body: (u32, u32)) -> ContentHash {
    let body = part(source, body);
    if language != Language::Python {
        return ContentHash::of(&String::from_utf8_lossy(body));
    }
    let mut hasher = blake3::Hasher::new();
    for line in body.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            hasher.update(line);
            hasher.update(b"\n");
        }
    }
    ContentHash::from_bytes(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_formatter_changes_nothing_and_a_word_does() {
        let one = "fn read(path: &Path, bytes: usize) -> Result<(), Error>";
        let broken = "fn read(\n    path: &Path,\n    bytes: usize,\n) -> Result<(), Error>";
        assert_eq!(fingerprint(one), fingerprint(broken));
        assert!(is_same(one, broken));
        for other in [
            "fn read(path: &Path, bytes: u32) -> Result<(), Error>",
            "fn reads(path: &Path, bytes: usize) -> Result<(), Error>",
            "fnread(path: &Path, bytes: usize) -> Result<(), Error>",
        ] {
            assert_ne!(fingerprint(one), fingerprint(other), "{other}");
            assert!(!is_same(one, other), "{other}");
        }
    }

    #[test]
    fn a_symbol_has_the_signature_that_was_noted_of_it_whole_or_as_it_is_shown() {
        let long = format!("fn f({}last: u8)", "a: u32, ".repeat(100));
        let other = long.replace("last: u8", "last: u64");
        let source = format!("{long} {{}}\nfn g(path: &Path) {{}}\n");
        let file = crate::index(Language::Rust, source.as_bytes()).unwrap();
        let [f, g] = &file.symbols[..] else {
            panic!("{:?}", file.symbols);
        };
        assert!(f.signature.len() <= SIGNATURE_BYTES_MAX && long.len() > SIGNATURE_BYTES_MAX);
        assert!(is_of(f, &long) && is_of(f, &f.signature));
        assert!(!is_of(f, &other), "they differ behind what is shown");
        assert!(is_of(g, "fn  g(\n    path: &Path,\n)"));
        assert!(!is_of(g, "fn g(path: &str)") && !is_of(g, &long));
    }

    #[test]
    fn indentation_counts_in_python_alone() {
        let bodies = ["if a:\n    b()\nc()", "if a:\n    b()\n    c()"];
        let of = |language, body: &str| {
            let end = u32::try_from(body.len()).unwrap();
            of_body(language, body.as_bytes(), (0, end))
        };
        assert_ne!(
            of(Language::Python, bodies[0]),
            of(Language::Python, bodies[1])
        );
        assert_eq!(of(Language::Rust, bodies[0]), of(Language::Rust, bodies[1]));
    }

    #[test]
    fn comments_are_left_out_wherever_they_stand() {
        let source = b"/* a */ fn read(/* b */ x: u8) // c\n{";
        let comments = [(0, 7), (16, 23), (31, 35)];
        assert_eq!(text(source, (8, 36), &comments), "fn read( x: u8)");
        assert_eq!(text(source, (0, 36), &comments), "fn read( x: u8)");
    }

    #[test]
    fn a_secret_is_masked_and_counts_all_the_same() {
        let key = |last: char| format!("AKIAIOSFODNN7EXAMPL{last}");
        let one = format!("const KEY: &str = \"{}\"", key('E'));
        let other = format!("const KEY: &str = \"{}\"", key('F'));
        assert!(!shown(&one).contains("AKIA"), "{}", shown(&one));
        assert!(shown(&one).starts_with("const KEY: &str = \"[masked:"));
        assert_ne!(fingerprint(&one), fingerprint(&other));
        assert!(is_same(&shown(&one), &one));
        // One that what is shown ends in.
        let long = format!("fn f({}key = \"{}\")", "a, ".repeat(164), key('E'));
        assert!(long.find("AKIA").is_some_and(|at| at < SIGNATURE_BYTES_MAX));
        assert!(!shown(&long).contains("AKIA"), "{}", shown(&long));
    }

    proptest! {
        #[test]
        fn a_long_signature_is_the_same_as_itself_when_cut(text in "[a-zé ,()]{0,2000}") {
            prop_assert!(is_same(&shown(&text), &text));
            prop_assert!(shown(&text).len() <= SIGNATURE_BYTES_MAX);
        }
    }
}
