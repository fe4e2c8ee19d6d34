//! The trace: everything that happened in a world, in order, as one digest, and as text on demand.
//!
//! Two runs of one seed give the same trace, byte for byte. Nothing of the process enters it: no
//! address, no id that a library counts up, no time of the machine. The text names nodes and keys
//! for people; the digest is of the bytes alone, so that keeping text changes nothing.

use std::fmt::Write as _;

use sillok_store::keys::Family;

use crate::heap::Place;

/// Bytes that are hashed at once: long runs are hashed many times as fast as short ones.
const HASHED_AT_ONCE: usize = 64 << 10;
/// Bytes of a key that are shown.
const KEY_BYTES_SHOWN: usize = 48;

/// What happened.
#[derive(Debug)]
pub struct Trace {
    hasher: blake3::Hasher,
    /// What the hasher has not been given yet.
    waiting: Vec<u8>,
    lines: u64,
    text: Option<String>,
}

impl Trace {
    /// An empty trace, which keeps its lines as text if it is to.
    #[must_use]
    pub fn new(keeps_text: bool) -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            waiting: Vec::with_capacity(HASHED_AT_ONCE),
            lines: 0,
            text: keeps_text.then(String::new),
        }
    }

    /// Adds a line: when, where, what, and the bytes that tell one such event from another.
    pub fn line(&mut self, at_us: u64, place: u16, what: &str, detail: &[u8]) {
        self.parts(at_us, place, what, &[detail]);
    }

    /// As [`line`](Self::line), told of several byte strings.
    pub fn parts(&mut self, at_us: u64, place: u16, what: &str, parts: &[&[u8]]) {
        self.lines += 1;
        let waiting = &mut self.waiting;
        waiting.extend_from_slice(&at_us.to_le_bytes());
        waiting.extend_from_slice(&place.to_le_bytes());
        waiting.extend_from_slice(what.as_bytes());
        for part in parts {
            waiting.extend_from_slice(&(part.len() as u64).to_le_bytes());
            waiting.extend_from_slice(part);
        }
        if waiting.len() >= HASHED_AT_ONCE {
            self.hasher.update(waiting);
            waiting.clear();
        }
        if let Some(text) = &mut self.text {
            if !text.is_empty() {
                text.push('\n');
            }
            let mut hasher = blake3::Hasher::new();
            for part in parts {
                hasher.update(part);
            }
            let digest = hasher.finalize();
            write!(
                text,
                "{:>4}.{:06} {:<8} {what:<16} {}",
                at_us / 1_000_000,
                at_us % 1_000_000,
                place_name(place),
                &digest.to_hex()[..12]
            )
            .expect("a string takes all that is written");
        }
    }

    /// Says more of the newest line, for people: it is in the text only.
    pub fn about(&mut self, what: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            text.push(' ');
            text.push_str(&what());
        }
    }

    /// Lines so far.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// The digest of all lines so far.
    #[must_use]
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.waiting);
        hasher.finalize()
    }

    /// The lines, if they were kept.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// A place for people.
fn place_name(place: u16) -> String {
    match Place(place) {
        Place::CLIENTS => "clients".to_owned(),
        Place::STREAM => "stream".to_owned(),
        Place(number) => format!("node-{number}"),
    }
}

/// A key of the store for people: its family, and what follows the family's letter.
pub(crate) fn key_name(key: &[u8]) -> String {
    let family = Family::of(key).map_or("?", Family::as_str);
    let rest = key.get(1..).unwrap_or_default();
    let shown = &rest[..rest.len().min(KEY_BYTES_SHOWN)];
    let is_text = shown.iter().all(|byte| byte.is_ascii_graphic());
    let mut name = format!("{family} ");
    if is_text {
        name += &String::from_utf8_lossy(shown);
    } else {
        for byte in shown {
            write!(name, "{byte:02x}").expect("a string takes all that is written");
        }
    }
    if rest.len() > shown.len() {
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_lines(keeps_text: bool) -> Trace {
        let mut trace = Trace::new(keeps_text);
        trace.line(1_500_000, 2, "got", b"value");
        trace.about(|| "head of nothing".to_owned());
        trace.line(1_500_001, u16::MAX, "fault", &[1]);
        trace
    }

    #[test]
    fn text_says_when_where_and_what_and_does_not_change_the_digest() {
        let (told, silent) = (two_lines(true), two_lines(false));
        assert_eq!(told.digest(), silent.digest());
        assert_eq!(silent.text(), None);
        let lines: Vec<&str> = told.text().unwrap().lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("   1.500000 node-2   got "),
            "{}",
            lines[0]
        );
        assert!(lines[0].ends_with(" head of nothing"));
        assert!(
            lines[1].starts_with("   1.500001 clients  fault "),
            "{}",
            lines[1]
        );
    }

    #[test]
    fn a_key_is_named_by_its_family() {
        let letter = Family::ALL[0].range().begin[0];
        let named = key_name(&[letter, b'n', b'o', b'd', b'e']);
        assert_eq!(named, format!("{} node", Family::ALL[0]));
        assert_eq!(key_name(&[0, 1, 255]), "? 01ff");
        assert!(key_name(&[0; 100]).ends_with('…'));
    }
}
