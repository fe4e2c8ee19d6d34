//! One file, as entries in order, whatever its format.
//!
//! Owns the choice of reader. It must not know where entries go.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::cursor::Cursor;
use crate::error::Error;
use crate::file;
use crate::format::Format;
use crate::head::Head;
use crate::limits::SESSION_BYTES_MAX;
use crate::passed::PassedOver;
use crate::reader::Reader;
use crate::record::{Entry, Record};
use crate::trajectory::{self, Run};

/// Bytes that are read of a file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// A file that is read.
#[derive(Debug)]
pub struct Source {
    head: Head,
    bytes: u64,
    from: Opened,
}

#[derive(Debug)]
enum Opened {
    Run {
        steps: usize,
        entries: std::vec::IntoIter<Entry>,
        passed: PassedOver,
    },
    Session {
        path: PathBuf,
        reader: Box<Reader<BufReader<File>>>,
    },
}

impl Source {
    /// Opens a file that has this format. A run is read whole, and refused where it is none; of a session the beginning is
    /// read.
    ///
    /// # Errors
    /// [`Error`], naming the file.
    pub fn open(path: &Path, format: Format) -> Result<Self, Error> {
        let Some(client) = format.client() else {
            return Ok(Self::of_run(trajectory::read(path)?));
        };
        let head = Head::of_session(path, client)?;
        let (file, bytes) = file::open(path, SESSION_BYTES_MAX)?;
        let source = BufReader::with_capacity(BUFFER_BYTES, file);
        let reader = Reader::new(client, Some(&head.name), head.agent.as_deref(), source);
        Ok(Self {
            bytes,
            from: Opened::Session {
                path: path.to_owned(),
                reader: Box::new(reader),
            },
            head,
        })
    }

    /// The entries of a run that was read: its steps.
    #[must_use]
    pub fn of_run(run: Run) -> Self {
        let head = Head::of_run(&run);
        let bytes = run
            .records
            .iter()
            .map(|record| record.content.len() as u64)
            .sum();
        let steps = run.steps;
        let entries = steps_of(run.records).into_iter();
        Self {
            head,
            bytes,
            from: Opened::Run {
                steps,
                entries,
                passed: PassedOver::default(),
            },
        }
    }

    /// What it is of.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// How many bytes it had when it was opened: of a run, those of its records.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Goes on behind a cursor: whether that could be. A source that could not is of no further use.
    ///
    /// # Errors
    /// [`Error::Read`]
    pub fn go_on(&mut self, cursor: &Cursor) -> Result<bool, Error> {
        match &mut self.from {
            Opened::Run { .. } => Ok(false),
            Opened::Session { path, reader } => reader.go_on(cursor).map_err(Error::read(path)),
        }
    }

    /// The next entry; none at the end.
    ///
    /// # Errors
    /// [`Error::Read`]
    pub fn entry(&mut self) -> Result<Option<Entry>, Error> {
        match &mut self.from {
            Opened::Run { entries, .. } => Ok(entries.next()),
            Opened::Session { path, reader } => reader.entry().map_err(Error::read(path)),
        }
    }

    /// Where reading a session goes on, another time, behind all that was read.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        match &self.from {
            Opened::Run { .. } => None,
            Opened::Session { reader, .. } => Some(reader.cursor()),
        }
    }

    /// How many bytes of a session were read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match &self.from {
            Opened::Run { entries, .. } => {
                let left = entries.as_slice().iter().flat_map(|entry| &entry.records);
                let left: u64 = left.map(|record| record.content.len() as u64).sum();
                self.bytes - left
            }
            Opened::Session { reader, .. } => reader.offset(),
        }
    }

    /// How many steps there were: of a run all, of a session those that were read.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match &self.from {
            Opened::Run { steps, .. } => *steps as u64,
            Opened::Session { reader, .. } => reader.state().steps,
        }
    }

    /// What was passed over.
    #[must_use]
    pub fn passed(&self) -> &PassedOver {
        match &self.from {
            Opened::Run { passed, .. } => passed,
            Opened::Session { reader, .. } => reader.passed(),
        }
    }

    /// How many lines were no UTF-8, and were read with a sign in place of what was none.
    #[must_use]
    pub fn mended(&self) -> u64 {
        match &self.from {
            Opened::Run { .. } => 0,
            Opened::Session { reader, .. } => reader.mended(),
        }
    }

    /// Whether it ended before a line that somebody is still writing.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        match &self.from {
            Opened::Run { .. } => false,
            Opened::Session { reader, .. } => reader.unfinished(),
        }
    }
}

/// A run's records by step.
fn steps_of(records: Vec<Record>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for record in records {
        let at = record
            .place
            .step
            .expect("each record of a run has its step");
        match entries.last_mut().filter(|entry| entry.at == at) {
            Some(entry) => entry.records.push(record),
            None => entries.push(Entry {
                at,
                records: vec![record],
            }),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_step_by_step_to_its_last_byte() {
        let steps = r#"{"trajectory":[{"thought":"t","action":"a"},{},{"observation":"oo"}]}"#;
        let mut source = Source::of_run(trajectory::parse("r", steps).unwrap());
        assert_eq!((source.steps(), source.bytes(), source.offset()), (3, 4, 0));
        let first = source.entry().unwrap().unwrap();
        assert_eq!((first.at, first.records.len(), source.offset()), (1, 2, 2));
        assert_eq!(source.entry().unwrap().map(|entry| entry.at), Some(3));
        assert_eq!(source.entry().unwrap(), None);
        assert_eq!((source.offset(), source.cursor()), (4, None));
    }

    #[test]
    fn a_session_goes_on_behind_its_cursor_and_not_behind_that_of_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let said = |text: &str| {
            let line = r#"{"type":"user","sessionId":"s","message":{"content":"TEXT"}}"#;
            line.replace("TEXT", text) + "\n"
        };
        std::fs::write(&path, said("one")).unwrap();
        let open = || Source::open(&path, Format::ClaudeCode).unwrap();
        let mut source = open();
        assert!(source.entry().unwrap().is_some() && source.entry().unwrap().is_none());
        let cursor = source.cursor().unwrap();
        std::fs::write(&path, said("one") + &said("two")).unwrap();
        let mut source = open();
        assert!(source.go_on(&cursor).unwrap());
        let next = source.entry().unwrap().unwrap();
        assert_eq!(next.records[0].content, "two");
        assert_eq!(next.at, cursor.offset);
        assert_eq!(source.offset(), source.bytes());
        std::fs::write(&path, said("eno") + &said("two")).unwrap();
        assert!(!open().go_on(&cursor).unwrap());
    }
}
