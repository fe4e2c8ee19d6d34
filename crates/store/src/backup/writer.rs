//! Writing a backup: rows go in, pieces of bytes come out.

use crate::Stamp;
use crate::keys::Family;

use super::{
    BLOCK_BYTES, End, FORMAT_VERSION, FRAME_HEAD_BYTES, Hash, Head, MAGIC, ROW_HEAD_BYTES, Tag,
    hash_of_frame, hash_of_start,
};

/// A backup that is being written. Its pieces, one behind the other, are the backup.
#[derive(Debug)]
pub struct Writer {
    hash: Hash,
    block: Vec<u8>,
    last: Vec<u8>,
    rows: u64,
    events: u64,
    bytes: u64,
}

impl Writer {
    /// Begins a backup: the writer and the first piece.
    #[must_use]
    pub fn begin(head: &Head) -> (Self, Vec<u8>) {
        let mut writer = Self {
            hash: hash_of_start(FORMAT_VERSION),
            block: Vec::new(),
            last: Vec::new(),
            rows: 0,
            events: 0,
            bytes: 0,
        };
        let mut piece = MAGIC.to_vec();
        piece.extend_from_slice(&FORMAT_VERSION.to_be_bytes());
        let head = postcard::to_allocvec(head).expect("plain data always encodes");
        piece.extend(writer.frame(Tag::Head, head.len(), &head));
        (writer, piece)
    }

    /// Takes a row, which stands behind the one before it in the order of keys. A piece, when a block is
    /// full.
    pub fn row(&mut self, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        assert!(
            self.last.as_slice() < key,
            "rows come in the order of their keys"
        );
        let key_length = u16::try_from(key.len()).expect("a key is within its bounds");
        let value_length = u32::try_from(value.len()).expect("a value is within its bounds");
        self.block.reserve(ROW_HEAD_BYTES + key.len() + value.len());
        self.block.extend_from_slice(&key_length.to_be_bytes());
        self.block.extend_from_slice(&value_length.to_be_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.rows += 1;
        self.events += u64::from(Family::of(key) == Some(Family::Event));
        self.bytes += (key.len() + value.len()) as u64;
        (self.block.len() >= BLOCK_BYTES).then(|| self.block())
    }

    /// Ends the backup, which holds all commits up to `cut`: the last piece, what it says, and the hash
    /// that names the backup.
    #[must_use]
    pub fn end(mut self, cut: Stamp) -> (Vec<u8>, End, Hash) {
        let mut piece = if self.block.is_empty() {
            Vec::new()
        } else {
            self.block()
        };
        let end = End {
            cut,
            rows: self.rows,
            events: self.events,
            bytes: self.bytes,
        };
        let encoded = postcard::to_allocvec(&end).expect("plain data always encodes");
        piece.extend(self.frame(Tag::End, encoded.len(), &encoded));
        (piece, end, self.hash)
    }

    fn block(&mut self) -> Vec<u8> {
        let block = std::mem::take(&mut self.block);
        let compressed = lz4_flex::block::compress(&block);
        let stored = if compressed.len() < block.len() {
            &compressed
        } else {
            &block
        };
        self.frame(Tag::Block, block.len(), stored)
    }

    fn frame(&mut self, tag: Tag, bytes: usize, stored: &[u8]) -> Vec<u8> {
        let length = |bytes: usize| u32::try_from(bytes).expect("a frame is within its bounds");
        let mut head = [0; FRAME_HEAD_BYTES];
        head[0] = tag as u8;
        head[1..5].copy_from_slice(&length(stored.len()).to_be_bytes());
        head[5..].copy_from_slice(&length(bytes).to_be_bytes());
        self.hash = hash_of_frame(&self.hash, &head, stored);
        [&head, stored, self.hash.as_bytes()].concat()
    }
}
