//! Reading a session file, line by line.
//!
//! Owns what is done with lines that are none, too long, or not finished. What a line says, its format knows.

use std::borrow::Cow;
use std::io::{self, BufRead};

use serde_json::value::RawValue;

use crate::cursor::Cursor;
use crate::format::Client;
use crate::lines::{Found, Lines};
use crate::passed::PassedOver;
use crate::record::{Entry, Place};
use crate::scribe::Scribe;
use crate::state::State;
use crate::{claude_code, codex};

/// Reads a session.
#[derive(Debug)]
pub struct Reader<R> {
    client: Client,
    /// What its records say that they are of.
    of: Place,
    lines: Lines<R>,
    state: State,
    passed: PassedOver,
    mended: u64,
    unfinished: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the beginning. `session` and `agent` are what every record says that it is of.
    #[must_use]
    pub fn new(client: Client, session: Option<&str>, agent: Option<&str>, source: R) -> Self {
        let of = Place {
            agent: agent.map(str::to_owned),
            session: session.map(str::to_owned),
            ..Place::default()
        };
        Self {
            client,
            of,
            lines: Lines::new(source),
            state: State::default(),
            passed: PassedOver::default(),
            mended: 0,
            unfinished: false,
        }
    }

    /// Goes on behind a cursor: whether that could be, since what precedes it is the same. Otherwise the reader is of no
    /// further use.
    ///
    /// # Errors
    /// What reading failed with.
    pub fn go_on(&mut self, cursor: &Cursor) -> io::Result<bool> {
        let Ok(digest) = blake3::Hash::from_hex(&cursor.digest) else {
            return Ok(false);
        };
        let is_same = self.lines.pass(cursor.offset, &digest)?;
        if is_same {
            self.state = cursor.state.clone();
        }
        Ok(is_same)
    }

    /// The next line that says something; none at the end, or before a line that is not finished.
    ///
    /// # Errors
    /// What reading failed with.
    pub fn entry(&mut self) -> io::Result<Option<Entry>> {
        loop {
            match self.lines.advance()? {
                Found::End => return Ok(None),
                Found::TooLong => {
                    self.passed.count("line that is too long");
                    continue;
                }
                Found::Tail if !is_whole(self.lines.line()) => {
                    let line = self.lines.line();
                    // Of one that is too long nothing is held.
                    self.unfinished = line.is_empty() || !line.trim_ascii().is_empty();
                    return Ok(None);
                }
                Found::Tail => self.lines.take(),
                Found::Line => {}
            }
            let at = self.lines.start();
            let place = Place {
                at: Some(at),
                ..self.of.clone()
            };
            let line = String::from_utf8_lossy(self.lines.line());
            if line.trim().is_empty() {
                continue;
            }
            if matches!(line, Cow::Owned(_)) {
                self.mended += 1;
            }
            let mut scribe = Scribe::new(&mut self.state, &mut self.passed, place);
            let is_read = match self.client {
                Client::ClaudeCode => claude_code::read(&line, &mut scribe),
                Client::Codex => codex::read(&line, &mut scribe),
            };
            if !is_read {
                scribe.passed.count("line that is no JSON object");
            }
            let records = scribe.into_records();
            if !records.is_empty() {
                return Ok(Some(Entry { at, records }));
            }
        }
    }

    /// Where reading goes on, another time, behind all that was read.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor {
            offset: self.lines.end(),
            digest: self.lines.digest().to_hex().to_string(),
            state: self.state.clone(),
        }
    }

    /// How many bytes were read.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.lines.end()
    }

    /// What is remembered of what was read.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// What was passed over.
    #[must_use]
    pub const fn passed(&self) -> &PassedOver {
        &self.passed
    }

    /// How many lines were no UTF-8, and were read with a sign in place of what was none.
    #[must_use]
    pub const fn mended(&self) -> u64 {
        self.mended
    }

    /// Whether it ended before a line that somebody is still writing.
    #[must_use]
    pub const fn unfinished(&self) -> bool {
        self.unfinished
    }
}

/// Whether a line without its end is a whole object all the same.
fn is_whole(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    line.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(&line).is_ok()
}

#[cfg(test)]
mod tests;
