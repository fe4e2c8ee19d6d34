//! Lines of a file that may be written while it is read, and may be of any length.
//!
//! Owns the bound on a line, the position in the file, and the hash of what precedes it. It must not know what a line
//! holds.

use std::io::{self, BufRead};

use crate::limits::{LINE_BYTES_MAX, SESSION_BYTES_MAX};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A line with its end.
    Line,
    /// A line with its end that is longer than any that is read.
    TooLong,
    /// What stands behind the end of the last line: somebody may still be writing it.
    Tail,
    /// Nothing more.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// The byte that the line begins with.
    start: u64,
    /// The byte behind all lines that were taken.
    end: u64,
    hasher: blake3::Hasher,
    line_bytes_max: usize,
    bytes_max: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            line: Vec::new(),
            start: 0,
            end: 0,
            hasher: blake3::Hasher::new(),
            line_bytes_max: LINE_BYTES_MAX,
            bytes_max: SESSION_BYTES_MAX,
        }
    }

    /// With other bounds on a line and on the file.
    #[cfg(test)]
    pub(crate) fn bounded(source: R, line_bytes_max: usize, bytes_max: u64) -> Self {
        Self {
            line_bytes_max,
            bytes_max,
            ..Self::new(source)
        }
    }

    /// Passes over the first bytes: whether they are there, and have this hash.
    pub(crate) fn pass(&mut self, bytes: u64, digest: &blake3::Hash) -> io::Result<bool> {
        assert!(self.end == 0, "only the beginning is passed over");
        while self.end < bytes {
            let held = self.source.fill_buf()?;
            let wanted = usize::try_from(bytes - self.end).unwrap_or(usize::MAX);
            let taken = held.len().min(wanted);
            if taken == 0 {
                return Ok(false);
            }
            self.hasher.update(&held[..taken]);
            self.source.consume(taken);
            self.end += taken as u64;
        }
        Ok(self.hasher.finalize() == *digest)
    }

    /// Finds the next line. A [`Found::Tail`] is found once, and is not taken; what lies over the bound on a file, which
    /// grew while it was read, is one of which nothing is held.
    pub(crate) fn advance(&mut self) -> io::Result<Found> {
        self.line.clear();
        self.start = self.end;
        // Of a line that is too long, only its hash goes on.
        let mut ahead: Option<(blake3::Hasher, u64)> = None;
        loop {
            let held = self.source.fill_buf()?;
            if held.is_empty() {
                let is_blank = ahead.is_none() && self.line.is_empty();
                return Ok(if is_blank { Found::End } else { Found::Tail });
            }
            let of_line = ahead
                .as_ref()
                .map_or(self.line.len() as u64, |(_, bytes)| *bytes);
            if self.start + of_line >= self.bytes_max {
                self.line.clear();
                return Ok(Found::Tail);
            }
            let newline = held.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(held.len(), |at| at + 1);
            let piece = &held[..taken];
            if let Some((hasher, bytes)) = &mut ahead {
                hasher.update(piece);
                *bytes += taken as u64;
            } else if self.line.len() + taken > self.line_bytes_max {
                let mut hasher = self.hasher.clone();
                hasher.update(&self.line).update(piece);
                ahead = Some((hasher, (self.line.len() + taken) as u64));
                self.line.clear();
            } else {
                self.line.extend_from_slice(piece);
            }
            self.source.consume(taken);
            if newline.is_none() {
                continue;
            }
            if let Some((hasher, bytes)) = ahead {
                self.hasher = hasher;
                self.end += bytes;
                return Ok(Found::TooLong);
            }
            self.take();
            return Ok(Found::Line);
        }
    }

    /// Takes the tail that was found for a whole line.
    pub(crate) fn take(&mut self) {
        self.hasher.update(&self.line);
        self.end += self.line.len() as u64;
    }

    /// The line that was found.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The byte that it begins with.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// The byte behind all that was taken.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The hash of all that was taken.
    pub(crate) fn digest(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn all(text: &[u8], bytes_max: usize, buffer: usize) -> (Vec<(Found, u64)>, u64, blake3::Hash) {
        let mut lines = Lines::bounded(BufReader::with_capacity(buffer, text), bytes_max, u64::MAX);
        let mut found = Vec::new();
        loop {
            match lines.advance().unwrap() {
                Found::End => break,
                Found::Tail => {
                    found.push((Found::Tail, lines.start()));
                    break;
                }
                one => found.push((one, lines.start())),
            }
        }
        (found, lines.end(), lines.digest())
    }

    #[test]
    fn a_long_line_is_told_and_the_next_one_is_read() {
        let text = format!("ab\n{}\ncd\nxyz", "x".repeat(100));
        let (found, end, digest) = all(text.as_bytes(), 8, 3);
        let expected = [
            (Found::Line, 0),
            (Found::TooLong, 3),
            (Found::Line, 104),
            (Found::Tail, 107),
        ];
        assert_eq!(found, expected);
        assert_eq!(end, 107);
        assert_eq!(digest, blake3::hash(&text.as_bytes()[..107]));
    }

    #[test]
    fn a_file_without_an_end_is_read_to_its_bound() {
        for line_bytes_max in [8, 4_096] {
            let source = BufReader::with_capacity(16, io::repeat(b'x'));
            let mut lines = Lines::bounded(source, line_bytes_max, 1_000);
            assert_eq!(lines.advance().unwrap(), Found::Tail);
            assert_eq!((lines.line().len(), lines.end()), (0, 0));
        }
        let mut lines = Lines::bounded(&b"ab\ncd\nef\n"[..], 8, 6);
        let found = [(); 3].map(|()| lines.advance().unwrap());
        assert_eq!(found, [Found::Line, Found::Line, Found::Tail]);
        assert!(lines.line().is_empty());
    }

    proptest! {
        #[test]
        fn lines_lie_one_behind_the_other_and_their_hash_is_of_what_was_taken(
            text in "[a\n]{0,200}",
            bytes_max in 1_usize..12,
            buffer in 1_usize..16,
        ) {
            let (found, end, digest) = all(text.as_bytes(), bytes_max, buffer);
            let mut start = 0;
            let mut expected = Vec::new();
            for line in text.split_inclusive('\n') {
                let whole = line.ends_with('\n');
                let kind = match (whole, line.len() > bytes_max) {
                    (false, _) => Found::Tail,
                    (true, false) => Found::Line,
                    (true, true) => Found::TooLong,
                };
                expected.push((kind, start));
                start += line.len() as u64;
            }
            prop_assert_eq!(found, expected);
            let whole = text.rfind('\n').map_or(0, |at| at + 1);
            prop_assert_eq!(end, whole as u64);
            prop_assert_eq!(digest, blake3::hash(&text.as_bytes()[..whole]));
        }

        #[test]
        fn a_beginning_is_passed_over_only_where_it_is_the_same(
            text in "[ab\n]{1,80}",
            cut in 0_usize..80,
            flip in 0_usize..80,
        ) {
            let cut = cut.min(text.len());
            let digest = blake3::hash(&text.as_bytes()[..cut]);
            let mut lines = Lines::new(text.as_bytes());
            prop_assert!(lines.pass(cut as u64, &digest).unwrap());
            prop_assert_eq!(lines.end(), cut as u64);
            let mut other = text.clone().into_bytes();
            let at = flip % other.len();
            other[at] ^= 0x40;
            let same = Lines::new(other.as_slice()).pass(cut as u64, &digest).unwrap();
            prop_assert_eq!(same, at >= cut);
            let longer = text.len() as u64 + 1;
            prop_assert!(!Lines::new(text.as_bytes()).pass(longer, &digest).unwrap());
        }
    }
}
