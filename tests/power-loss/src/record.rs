//! The record: what the process did to its files, in order.
//!
//! Owns the entries and their bytes. An entry is named by its place in the order. The shim writes
//! them in a process that may be killed at any instruction, so the last one may be cut off.

/// A file, by its inode.
pub type Inode = u64;

/// One thing that the process did, or was about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A write, or another length. Written before it happens.
    Change(Change),
    /// A name is made, moved or removed. Written before it happens, and followed by `Done`.
    Naming(Naming),
    /// What became of the naming before it.
    Done {
        /// Whether the kernel carried it out.
        worked: bool,
        /// The file that has the name now, if one has.
        file: Option<Inode>,
    },
    /// A sync of a file has returned; it covers the entries before `upto`.
    Synced {
        /// The file.
        file: Inode,
        /// The first entry that it does not cover.
        upto: u64,
    },
    /// A sync of a folder has returned; it covers the entries before `upto`.
    FolderSynced {
        /// The folder, relative to the data folder.
        folder: String,
        /// The first entry that it does not cover.
        upto: u64,
    },
}

/// A change of a file's bytes, or of its length, with what it takes to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub file: Inode,
    /// Bytes of the file before.
    pub len_before: u64,
    /// Bytes of the file after.
    pub len_after: u64,
    /// The bytes that were overwritten or cut off.
    pub before: Vec<Piece>,
    /// Where new bytes begin.
    pub at: u64,
    /// How many new bytes there are.
    pub count: u64,
}

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they stand.
    pub at: u64,
    /// How many there are.
    pub len: u64,
    /// The bytes; empty when all of them are zero.
    pub bytes: Vec<u8>,
}

/// A change of the names in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// The folder, relative to the data folder.
    pub folder: String,
    /// The name.
    pub name: String,
    /// What happens to it.
    pub what: What,
}

/// What happens to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A file is made under it.
    File,
    /// A folder is made under it.
    Folder,
    /// An existing file gets it as a further name.
    Link(Inode),
    /// It is removed from a file.
    Removed(Inode),
    /// It is removed from a folder, which is empty.
    FolderRemoved,
    /// It is given to a file that had another name in the same folder.
    Renamed {
        /// The file.
        file: Inode,
        /// The name that the file had.
        from: String,
        /// The file that had the name before.
        replaced: Option<Inode>,
    },
}

const CHANGE: u8 = 1;
const NAMING: u8 = 2;
const DONE: u8 = 3;
const SYNCED: u8 = 4;
const FOLDER_SYNCED: u8 = 5;

const FILE: u8 = 1;
const FOLDER: u8 = 2;
const LINK: u8 = 3;
const REMOVED: u8 = 4;
const FOLDER_REMOVED: u8 = 5;
const RENAMED: u8 = 6;

impl Entry {
    /// Appends the entry's bytes to `out`, with their number before them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        match self {
            Self::Change(change) => {
                out.push(CHANGE);
                change.encode(out);
            }
            Self::Naming(naming) => {
                out.push(NAMING);
                text(out, &naming.folder);
                text(out, &naming.name);
                naming.what.encode(out);
            }
            Self::Done { worked, file } => {
                out.push(DONE);
                out.push(u8::from(*worked));
                number(out, file.unwrap_or(0));
            }
            Self::Synced { file, upto } => {
                out.push(SYNCED);
                number(out, *file);
                number(out, *upto);
            }
            Self::FolderSynced { folder, upto } => {
                out.push(FOLDER_SYNCED);
                text(out, folder);
                number(out, *upto);
            }
        }
        let len = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&len.to_le_bytes());
    }
}

impl Change {
    fn encode(&self, out: &mut Vec<u8>) {
        for value in [
            self.file,
            self.len_before,
            self.len_after,
            self.at,
            self.count,
        ] {
            number(out, value);
        }
        number(out, self.before.len() as u64);
        for piece in &self.before {
            number(out, piece.at);
            number(out, piece.len);
            bytes(out, &piece.bytes);
        }
    }
}

impl What {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::File => out.push(FILE),
            Self::Folder => out.push(FOLDER),
            Self::FolderRemoved => out.push(FOLDER_REMOVED),
            Self::Link(inode) => {
                out.push(LINK);
                number(out, *inode);
            }
            Self::Removed(inode) => {
                out.push(REMOVED);
                number(out, *inode);
            }
            Self::Renamed {
                file,
                from,
                replaced,
            } => {
                out.push(RENAMED);
                number(out, *file);
                text(out, from);
                number(out, replaced.unwrap_or(0));
            }
        }
    }
}

fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn text(out: &mut Vec<u8>, value: &str) {
    bytes(out, value.as_bytes());
}

/// The entries of a record. A last one that was cut off is left out: what it was about to tell has
/// not happened.
///
/// # Errors
/// The place of an entry that is whole and has no meaning.
pub fn decode(record: &[u8]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut rest = Bytes(record);
    while let Some(entry) = rest.bytes() {
        let mut body = Bytes(entry);
        let entry = body.entry().filter(|_| body.0.is_empty());
        entries.push(entry.ok_or_else(|| format!("entry {} has no meaning", entries.len()))?);
    }
    Ok(entries)
}

/// Bytes that are read from their front. Every reader answers none at their end.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= self.0.len())?;
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    fn inode(&mut self) -> Option<Option<Inode>> {
        Some(Some(self.number()?).filter(|inode| *inode != 0))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn entry(&mut self) -> Option<Entry> {
        Some(match self.byte()? {
            CHANGE => Entry::Change(self.change()?),
            NAMING => Entry::Naming(Naming {
                folder: self.text()?,
                name: self.text()?,
                what: self.what()?,
            }),
            DONE => Entry::Done {
                worked: self.byte()? == 1,
                file: self.inode()?,
            },
            SYNCED => Entry::Synced {
                file: self.number()?,
                upto: self.number()?,
            },
            FOLDER_SYNCED => Entry::FolderSynced {
                folder: self.text()?,
                upto: self.number()?,
            },
            _ => return None,
        })
    }

    fn change(&mut self) -> Option<Change> {
        let (file, len_before, len_after) = (self.number()?, self.number()?, self.number()?);
        let (at, count) = (self.number()?, self.number()?);
        let mut before = Vec::new();
        for _ in 0..self.number()? {
            before.push(Piece {
                at: self.number()?,
                len: self.number()?,
                bytes: self.bytes()?.to_vec(),
            });
        }
        Some(Change {
            file,
            len_before,
            len_after,
            before,
            at,
            count,
        })
    }

    fn what(&mut self) -> Option<What> {
        Some(match self.byte()? {
            FILE => What::File,
            FOLDER => What::Folder,
            LINK => What::Link(self.number()?),
            REMOVED => What::Removed(self.number()?),
            FOLDER_REMOVED => What::FolderRemoved,
            RENAMED => What::Renamed {
                file: self.number()?,
                from: self.text()?,
                replaced: self.inode()?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let naming = |what| {
            Entry::Naming(Naming {
                folder: "store/fjall".to_owned(),
                name: "0.jnl".to_owned(),
                what,
            })
        };
        let piece = |bytes: &[u8]| Piece {
            at: 3,
            len: 2,
            bytes: bytes.to_vec(),
        };
        vec![
            Entry::Change(Change {
                file: 7,
                len_before: 5,
                len_after: 9,
                before: vec![piece(b"ab"), piece(b"")],
                at: 3,
                count: 6,
            }),
            naming(What::File),
            Entry::Done {
                worked: true,
                file: Some(7),
            },
            naming(What::Folder),
            Entry::Done {
                worked: false,
                file: None,
            },
            naming(What::Link(8)),
            naming(What::Removed(8)),
            naming(What::FolderRemoved),
            naming(What::Renamed {
                file: 7,
                from: ".tmp".to_owned(),
                replaced: Some(9),
            }),
            Entry::Synced { file: 7, upto: 3 },
            Entry::FolderSynced {
                folder: String::new(),
                upto: 4,
            },
        ]
    }

    #[test]
    fn a_record_reads_as_it_was_written_and_a_cut_loses_the_last_entry_alone() {
        let mut record = Vec::new();
        let mut ends = Vec::new();
        for entry in entries() {
            entry.encode(&mut record);
            ends.push(record.len());
        }
        for len in 0..=record.len() {
            let whole = ends.iter().filter(|end| **end <= len).count();
            assert_eq!(decode(&record[..len]).unwrap(), entries()[..whole]);
        }
    }

    #[test]
    fn an_entry_without_meaning_is_refused() {
        assert!(decode(&[1, 0, 0, 0, 0, 0, 0, 0, 99]).is_err());
    }
}
