//! Masking of secrets: keys, tokens and passwords in their known shapes.
//!
//! Owns the shapes. One automaton looks for literal markers; only where one stands is its shape
//! read, forward and within bounds, so clean text costs one pass and hostile text stays linear.
//! It must not know records or entries: text goes in, text comes out.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

mod assignment;
mod hidden;
mod shape;

pub use hidden::{mask_hidden, mask_shown};

/// What every replacement begins with. Text that begins so is masked already.
const MASKED: &str = "[masked:";

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text, with `[masked:KIND]` where a secret stood; borrowed when there was none.
    pub text: Cow<'a, str>,
    /// How many secrets were masked.
    pub count: u32,
}

/// Whether something in a text was masked.
pub(crate) fn is_masked(text: &str) -> bool {
    text.contains(MASKED)
}

/// Masks the secrets in a text. Masking again changes nothing. JSON stays JSON.
#[must_use]
pub fn mask(text: &str) -> Masked<'_> {
    let first = mask_once(text);
    if first.count == 0 {
        return first;
    }
    // Taking one secret out can lay bare another. Each pass takes something out of what the passes
    // before left, and a replacement is no secret, so this ends; the bound is against a defect.
    const PASSES_MAX: u32 = 16;
    let mut masked = Masked {
        text: Cow::Owned(first.text.into_owned()),
        count: first.count,
    };
    for _ in 1..PASSES_MAX {
        let again = mask_once(&masked.text);
        if again.count == 0 {
            break;
        }
        let count = masked.count.saturating_add(again.count);
        masked = Masked {
            text: Cow::Owned(again.text.into_owned()),
            count,
        };
    }
    masked
}

/// The last place up to `end` where a masked text can be cut: between two characters, and not within what stands for a
/// secret.
#[must_use]
pub fn whole_before(masked: &str, mut end: usize) -> usize {
    while !masked.is_char_boundary(end) {
        end -= 1;
    }
    let open = masked[..end].rfind('[');
    let is_cut =
        |open: &usize| masked[*open..].starts_with(MASKED) && !masked[*open..end].contains(']');
    open.filter(is_cut).unwrap_or(end)
}

/// Where a secret stands, in bytes of the text, and what kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Secret {
    start: usize,
    end: usize,
    kind: &'static str,
    /// Whether the replacement needs quotes, since the secret was a bare JSON number.
    quote: bool,
}

impl Secret {
    const fn new(start: usize, end: usize, kind: &'static str) -> Self {
        Self {
            start,
            end,
            kind,
            quote: false,
        }
    }
}

/// What to read where a marker stands.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Shape(shape::Reader),
    Prefixed(shape::Prefixed),
    Assignment(assignment::Name),
}

static RULES: LazyLock<Vec<(&'static str, Rule)>> = LazyLock::new(|| {
    let shapes = shape::READERS
        .iter()
        .map(|(marker, reader)| (*marker, Rule::Shape(*reader)));
    let prefixed = shape::PREFIXED
        .iter()
        .map(|prefixed| (prefixed.prefix, Rule::Prefixed(*prefixed)));
    let names = assignment::NAMES
        .iter()
        .map(|name| (name.word, Rule::Assignment(*name)));
    shapes.chain(prefixed).chain(names).collect()
});

static MARKERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA))
        .build(RULES.iter().map(|(marker, _)| marker))
        .expect("the markers are few and short")
});

fn mask_once(text: &str) -> Masked<'_> {
    let bytes = text.as_bytes();
    let markers = &*MARKERS;
    let (mut out, mut copied, mut at, mut count) = (String::new(), 0, 0, 0_u32);
    while let Some(hit) = markers.find(Input::new(bytes).range(at..)) {
        let (_, rule) = RULES[hit.pattern().as_usize()];
        let found = match rule {
            Rule::Shape(read) => read(bytes, hit.start()),
            Rule::Prefixed(prefixed) => prefixed.read(bytes, hit.start()),
            Rule::Assignment(name) => name.read(bytes, hit.start()),
        };
        let Some(secret) = found else {
            at = hit.start() + 1;
            continue;
        };
        assert!(
            copied <= secret.start && hit.start() < secret.end,
            "secrets are found in order"
        );
        out.push_str(&text[copied..secret.start]);
        let quote = if secret.quote { "\"" } else { "" };
        out.extend([quote, MASKED, secret.kind, "]", quote]);
        (copied, at) = (secret.end, secret.end);
        count = count.saturating_add(1);
    }
    if count == 0 {
        return Masked {
            text: Cow::Borrowed(text),
            count,
        };
    }
    out.push_str(&text[copied..]);
    Masked {
        text: Cow::Owned(out),
        count,
    }
}

/// The end of the run of bytes from `start` on that `belongs` takes, at most `most` of them.
fn run(bytes: &[u8], start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let end = bytes.len().min(start.saturating_add(most));
    bytes[start.min(end)..end]
        .iter()
        .position(|b| !belongs(*b))
        .map_or(end, |length| start + length)
}

#[cfg(test)]
mod tests;
