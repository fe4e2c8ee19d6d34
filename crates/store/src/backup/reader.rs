//! Reading a backup: every frame is checked before anything of it is given out.

use std::io::{ErrorKind, Read};

use bytes::Bytes;

use super::{
    BLOCK_BYTES_MAX, End, Error, FORMAT_VERSION, FRAME_HEAD_BYTES, Hash, Head, MAGIC,
    ROW_HEAD_BYTES, Tag, hash_of_frame, hash_of_start,
};
use crate::keys::Family;

/// A backup that is being read. Only one that was read to its end is known to be whole.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    head: Head,
    end: Option<End>,
    hash: Hash,
    /// How many bytes were read, and where the frame begins that is being read.
    read: u64,
    frame_at: u64,
    last: Bytes,
    rows: u64,
    events: u64,
    bytes: u64,
}

/// A frame as it was read, its payload still as it is stored.
struct Frame {
    tag: Tag,
    bytes: usize,
    stored: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Begins to read: checks what stands before the rows.
    ///
    /// # Errors
    /// [`Error`]
    pub fn open(from: R) -> Result<Self, Error> {
        let mut reader = Self {
            from,
            head: Head {
                store_format: 0,
                slot_count: 0,
                slot_hash: String::new(),
                generation: 0,
                created: sillok_core::time::Timestamp::EPOCH,
                version: String::new(),
            },
            end: None,
            hash: hash_of_start(FORMAT_VERSION),
            read: 0,
            frame_at: 0,
            last: Bytes::new(),
            rows: 0,
            events: 0,
            bytes: 0,
        };
        reader.check_start()?;
        let frame = reader.frame()?;
        if frame.tag != Tag::Head {
            return Err(reader.damaged("no head stands before the rows"));
        }
        reader.head = reader.decode(&frame)?;
        Ok(reader)
    }

    /// What stands before the rows.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// What stands behind the rows, and the hash that names the backup; none before all was read.
    #[must_use]
    pub fn end(&self) -> Option<(&End, &Hash)> {
        self.end.as_ref().map(|end| (end, &self.hash))
    }

    /// The next rows, in the order of their keys; none once all were read, the end is there, and nothing
    /// stands behind it.
    ///
    /// # Errors
    /// [`Error`]
    pub fn next_rows(&mut self) -> Result<Option<Vec<(Bytes, Bytes)>>, Error> {
        if self.end.is_some() {
            return Ok(None);
        }
        let frame = self.frame()?;
        match frame.tag {
            Tag::Head => Err(self.damaged("a second head")),
            Tag::Block => self.rows_of(frame).map(Some),
            Tag::End => {
                let end: End = self.decode(&frame)?;
                if (end.rows, end.events, end.bytes) != (self.rows, self.events, self.bytes) {
                    return Err(self.damaged("the end counts other rows than there are"));
                }
                self.check_nothing_follows()?;
                self.end = Some(end);
                Ok(None)
            }
        }
    }

    fn check_start(&mut self) -> Result<(), Error> {
        let mut magic = [0; MAGIC.len()];
        self.fill(&mut magic)?;
        if magic != *MAGIC {
            return Err(Error::Foreign);
        }
        let mut version = [0; 4];
        self.fill(&mut version)?;
        match u32::from_be_bytes(version) {
            FORMAT_VERSION => Ok(()),
            0 => Err(self.damaged("there is no format 0")),
            found => Err(Error::NewerFormat {
                found,
                supported: FORMAT_VERSION,
            }),
        }
    }

    /// Reads the next frame and checks its hash.
    fn frame(&mut self) -> Result<Frame, Error> {
        self.frame_at = self.read;
        let mut head = [0; FRAME_HEAD_BYTES];
        self.fill(&mut head)?;
        let [tag, s0, s1, s2, s3, b0, b1, b2, b3] = head;
        let tag = match tag {
            1 => Tag::Head,
            2 => Tag::Block,
            3 => Tag::End,
            _ => return Err(self.damaged("it is no frame")),
        };
        let length = |bytes: [u8; 4]| u32::from_be_bytes(bytes) as usize;
        let (stored_bytes, bytes) = (length([s0, s1, s2, s3]), length([b0, b1, b2, b3]));
        if stored_bytes > bytes || bytes > BLOCK_BYTES_MAX {
            return Err(self.damaged("its length is none that a frame has"));
        }
        let mut stored = vec![0; stored_bytes];
        self.fill(&mut stored)?;
        let mut hash = [0; 32];
        self.fill(&mut hash)?;
        let expected = hash_of_frame(&self.hash, &head, &stored);
        if expected != Hash::from(hash) {
            return Err(self.damaged("its hash is another one"));
        }
        self.hash = expected;
        Ok(Frame { tag, bytes, stored })
    }

    fn rows_of(&mut self, frame: Frame) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let block = if frame.stored.len() == frame.bytes {
            frame.stored
        } else {
            let block = lz4_flex::block::decompress(&frame.stored, frame.bytes);
            block.map_err(|_| self.damaged("it cannot be decompressed"))?
        };
        if block.len() != frame.bytes {
            return Err(self.damaged("it has another length than it says"));
        }
        let mut left = Bytes::from(block);
        let mut rows = Vec::new();
        while !left.is_empty() {
            let row = split_row(&mut left).ok_or_else(|| self.damaged("a row is cut off"))?;
            if row.0 <= self.last {
                return Err(self.damaged("its rows are not in the order of their keys"));
            }
            self.last = row.0.clone();
            self.rows += 1;
            self.events += u64::from(Family::of(&row.0) == Some(Family::Event));
            self.bytes += (row.0.len() + row.1.len()) as u64;
            rows.push(row);
        }
        Ok(rows)
    }

    fn decode<T: serde::de::DeserializeOwned>(&self, frame: &Frame) -> Result<T, Error> {
        match postcard::take_from_bytes(&frame.stored) {
            Ok((value, [])) if frame.bytes == frame.stored.len() => Ok(value),
            _ => Err(self.damaged("it does not decode")),
        }
    }

    fn check_nothing_follows(&mut self) -> Result<(), Error> {
        self.frame_at = self.read;
        let mut byte = [0; 1];
        match self.fill(&mut byte) {
            Err(Error::CutOff { .. }) => Ok(()),
            Ok(()) => Err(self.damaged("something stands behind the end")),
            Err(error) => Err(error),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.from.read(&mut bytes[filled..]) {
                Ok(0) => return Err(Error::CutOff { read: self.read }),
                Ok(read) => {
                    filled += read;
                    self.read += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Io(error)),
            }
        }
        Ok(())
    }

    const fn damaged(&self, what: &'static str) -> Error {
        Error::Damaged {
            at: self.frame_at,
            what,
        }
    }
}

/// Takes the first row off a block; none when it is not whole.
fn split_row(left: &mut Bytes) -> Option<(Bytes, Bytes)> {
    if left.len() < ROW_HEAD_BYTES {
        return None;
    }
    let head = left.split_to(ROW_HEAD_BYTES);
    let key_bytes = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let value_bytes = u32::from_be_bytes([head[2], head[3], head[4], head[5]]) as usize;
    if left.len() < key_bytes.checked_add(value_bytes)? {
        return None;
    }
    Some((left.split_to(key_bytes), left.split_to(value_bytes)))
}
