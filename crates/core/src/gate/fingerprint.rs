//! What a cited range says, or a whole file, as a hash, and where the same lies in a text.
//!
//! Owns which bytes a fingerprint is of: those of the range, where a line that ends with CR LF counts as one that ends
//! with LF, since which of the two a checkout has is no property of the code. It must not know files.

use core::fmt;
use core::num::NonZeroU32;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Letters, digits and bytes of other scripts that a range holds at least, to be told from others by what it says. A
/// closing brace is found anywhere.
const DISTINCT_BYTES_MIN: usize = 12;

/// BLAKE3 of a range of lines, or of a whole file, in 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of a file that holds these bytes: what a citation of all of it has.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Self {
        Self::of(&with_plain_ends(bytes))
    }

    /// The one with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// That of these bytes as they are, which were brought into one form.
    fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The one that a citation holds: 64 hexadecimal digits; none for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a range says so little that finding the same elsewhere does not show that it moved there.
#[must_use]
pub fn is_plain(range: &[u8]) -> bool {
    let telling = |byte: &&u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    range
        .iter()
        .filter(telling)
        .take(DISTINCT_BYTES_MIN)
        .count()
        < DISTINCT_BYTES_MIN
}

/// The text of a file, by lines.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where each line begins, and where the last one ends.
    ends: Vec<usize>,
}

impl<'a> Text<'a> {
    /// The text that these bytes of a file are.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        let bytes = with_plain_ends(bytes);
        let mut ends = vec![0];
        let after_line_ends = bytes.iter().enumerate();
        let after_line_ends = after_line_ends.filter(|(_, byte)| **byte == b'\n');
        ends.extend(after_line_ends.map(|(at, _)| at + 1));
        if ends.last() != Some(&bytes.len()) {
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    /// How many lines it has. What follows the last line end is one, unless nothing does.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.ends.len() - 1
    }

    /// The bytes of the lines `first` to `last`, counted from 1; none where it has not all of them.
    #[must_use]
    pub fn range(&self, first: u32, last: u32) -> Option<&[u8]> {
        let first = usize::try_from(first.checked_sub(1)?).ok()?;
        let last = usize::try_from(last).ok()?;
        if first >= last {
            return None;
        }
        let (from, to) = (self.ends.get(first)?, self.ends.get(last)?);
        self.bytes.get(*from..*to)
    }

    /// All of it.
    #[must_use]
    pub fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// What the lines `first` to `last` say, or all of it; none where it has not all of them.
    #[must_use]
    pub fn fingerprint(&self, lines: Option<(u32, u32)>) -> Option<Fingerprint> {
        match lines {
            None => Some(Fingerprint::of(&self.bytes)),
            Some((first, last)) => self.range(first, last).map(Fingerprint::of),
        }
    }

    /// Each range of so many lines, by its first line, with its bytes and what it says.
    pub fn ranges(
        &self,
        lines: NonZeroU32,
    ) -> impl Iterator<Item = ((u32, u32), &[u8], Fingerprint)> {
        let last = u32::try_from(self.lines()).unwrap_or(u32::MAX);
        let span = lines.get() - 1;
        (1..=last.saturating_sub(span)).filter_map(move |first| {
            let range = (first, first + span);
            let bytes = self.range(range.0, range.1)?;
            Some((range, bytes, Fingerprint::of(bytes)))
        })
    }
}

/// The bytes with each CR LF as one LF.
fn with_plain_ends(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.windows(2).any(|pair| pair == b"\r\n") {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        let is_half = *byte == b'\r' && rest.peek() == Some(&&b'\n');
        if !is_half {
            plain.push(*byte);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(bytes: &[u8]) -> Option<Fingerprint> {
        Fingerprint::parse(&blake3::hash(bytes).to_hex())
    }

    #[test]
    fn a_fingerprint_is_the_hash_of_the_bytes_of_its_lines() {
        let text = Text::of(b"one\ntwo\nthree");
        assert_eq!(text.lines(), 3);
        assert_eq!(text.fingerprint(Some((1, 2))), hash(b"one\ntwo\n"));
        assert_eq!(text.fingerprint(Some((3, 3))), hash(b"three"));
        assert_eq!(text.fingerprint(None), hash(b"one\ntwo\nthree"));
        for nothing in [(0, 1), (3, 4), (4, 4), (2, 1), (u32::MAX, u32::MAX)] {
            assert_eq!(text.fingerprint(Some(nothing)), None, "{nothing:?}");
        }
        assert_eq!(Text::of(b"").lines(), 0);
        assert_eq!(Text::of(b"").fingerprint(Some((1, 1))), None);
        assert_eq!(Text::of(b"\n").lines(), 1);
    }

    #[test]
    fn what_is_no_hash_is_no_fingerprint() {
        for wrong in ["", "abc", &"0".repeat(63), &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(Fingerprint::parse(wrong), None, "{wrong}");
        }
        let text = "AB".repeat(32);
        assert_eq!(
            Fingerprint::parse(&text).unwrap().to_string(),
            text.to_lowercase()
        );
    }

    #[test]
    fn what_says_little_is_plain() {
        for plain in ["", "}\n", "    });\n\n", "return x;\n"] {
            assert!(is_plain(plain.as_bytes()), "{plain}");
        }
        assert!(!is_plain(b"let total = sum(&rows);\n"));
        assert!(!is_plain("실록에는 원본이".as_bytes()));
    }

    proptest! {
        #[test]
        fn the_ends_of_lines_do_not_matter(lines in proptest::collection::vec("[a-c\r]{0,3}", 0..8)) {
            let unix: String = lines.iter().map(|line| format!("{}x\n", line.trim_end_matches('\r'))).collect();
            let other = unix.replace('\n', "\r\n");
            let (unix, other) = (Text::of(unix.as_bytes()), Text::of(other.as_bytes()));
            prop_assert_eq!(unix.lines(), other.lines());
            prop_assert_eq!(unix.fingerprint(None), other.fingerprint(None));
            prop_assert_eq!(Some(Fingerprint::of_file(unix.whole())), unix.fingerprint(None));
            for (first, last) in (1..=4).flat_map(|first| (first..=5).map(move |last| (first, last))) {
                prop_assert_eq!(unix.fingerprint(Some((first, last))), other.fingerprint(Some((first, last))));
            }
        }

        #[test]
        fn ranges_are_all_there_are(text in "[ab\n]{0,20}", lines in 1u32..4) {
            let text = Text::of(text.as_bytes());
            let found: Vec<_> = text.ranges(NonZeroU32::new(lines).unwrap()).map(|(range, _, print)| (range, print)).collect();
            let naive: Vec<_> = (1..=20)
                .filter_map(|first| Some(((first, first + lines - 1), text.fingerprint(Some((first, first + lines - 1)))?)))
                .collect();
            prop_assert_eq!(found, naive);
        }
    }
}
