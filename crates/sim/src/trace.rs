//! The trace: everything that happened in a world, in order, as one digest, and as text on demand.
//!
//! Two runs of one seed give the same trace, byte for byte. Nothing of the process enters it: no
//! address, no id that a library counts up, no time of the machine.

use std::fmt::Write as _;

/// What happened.
#[derive(Debug)]
pub struct Trace {
    hasher: blake3::Hasher,
    lines: u64,
    text: Option<String>,
}

impl Trace {
    /// An empty trace, which keeps its lines as text if it is to.
    #[must_use]
    pub fn new(keeps_text: bool) -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            lines: 0,
            text: keeps_text.then(String::new),
        }
    }

    /// Adds a line: when, where, what, and the bytes that tell one such event from another.
    pub fn line(&mut self, at_us: u64, place: u16, what: &str, detail: &[u8]) {
        self.lines += 1;
        self.hasher.update(&at_us.to_le_bytes());
        self.hasher.update(&place.to_le_bytes());
        self.hasher.update(what.as_bytes());
        self.hasher.update(&(detail.len() as u64).to_le_bytes());
        self.hasher.update(detail);
        if let Some(text) = &mut self.text {
            let digest = blake3::hash(detail);
            writeln!(text, "{at_us} {place} {what} {}", &digest.to_hex()[..16])
                .expect("a string takes all that is written");
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
        self.hasher.finalize()
    }

    /// The lines, if they were kept.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}
