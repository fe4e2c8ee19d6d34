//! Notes: what a spool is made of, and how one is framed.
//!
//! Owns the bytes, so that whatever a crash left of a note is passed over and told, and those behind it are read. It must not
//! know files, nor what follows from a note.
//!
//! A frame is four bytes that no UTF-8 text holds, the length of the note (4 bytes, little-endian), eight bytes of a hash of
//! length and note, and the note as JSON.

use serde::{Deserialize, Serialize};
use sillok_core::id::CommandId;

use super::lost::Lost;
use crate::limits::NOTE_BYTES_MAX;

/// What begins a frame. Its first byte is in no UTF-8 text, so no note holds it.
const MAGIC: [u8; 4] = [0xf5, b'S', b'L', b'1'];
/// Bytes before the note itself.
const HEAD_BYTES: usize = 16;

/// Which route a command goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Opening a task.
    OpenTask,
    /// Appending log records to it.
    AppendLogs,
    /// Adding anchors to it.
    AddAnchors,
}

impl Route {
    /// Its path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenTask => "/v1/tasks",
            Self::AppendLogs => "/v1/logs",
            Self::AddAnchors => "/v1/anchors",
        }
    }
}

/// Whose conversation a spool is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The client.
    pub client: String,
    /// Its name for the conversation.
    pub session: String,
    /// The server that its commands are for, where one is configured by its address.
    pub target: Option<String>,
    /// Whether the conversation's task was opened before.
    pub opened: bool,
    /// What was written before anybody said or did anything. It is handed over behind the opening, which waits for the first
    /// words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Spooled>,
}

/// A command, and the id that each attempt to hand it over carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// Its id.
    pub id: CommandId,
    /// Where it goes.
    pub route: Route,
    /// The request's body: JSON.
    pub body: String,
}

/// What became of a command that is handed over no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The server has it.
    Accepted,
    /// The server does not take it, whoever asks how often: the code it gave.
    Refused(String),
    /// It waited for so long that the server could no longer tell whether it has it.
    Expired,
    /// It was given by a principal that is gone, and nobody heard whether it was taken.
    Doubtful,
}

/// One note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Whose conversation this is: the first note.
    Begun(Begun),
    /// Something is to be written.
    Command(Spooled),
    /// A command is about to be given to a server by a principal that this stands for.
    Tried {
        /// The command.
        id: CommandId,
        /// What stands for it: see [`Speaker::by`](crate::speaker::Speaker::by).
        by: String,
    },
    /// The server said that it has not taken the command, and did not do so for good.
    Untaken {
        /// The command.
        id: CommandId,
        /// The code that it gave.
        code: String,
        /// An attempt before this one was not heard of, and may have been taken.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        doubted: bool,
    },
    /// What became of a command.
    Settled {
        /// The command.
        id: CommandId,
        /// What.
        outcome: Outcome,
    },
    /// There was no room for so many commands.
    Left(u64),
    /// What was lost before the spool was made short, or was taken away.
    Lost(Lost),
    /// The conversation is over.
    Ended,
}

/// A note with what frames it.
///
/// # Panics
/// Never: a note is plain data.
#[must_use]
pub fn frame(note: &Note) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(note).expect("a note is plain data");
    let length = u32::try_from(text.len()).ok()?;
    if text.len() > NOTE_BYTES_MAX {
        return None;
    }
    let mut framed = Vec::with_capacity(HEAD_BYTES + text.len());
    framed.extend(MAGIC);
    framed.extend(length.to_le_bytes());
    framed.extend(checksum(length, &text));
    framed.extend(text);
    Some(framed)
}

fn checksum(length: u32, text: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 hook spool");
    hasher.update(&length.to_le_bytes());
    hasher.update(text);
    let mut sum = [0; 8];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    sum
}

/// What a spool's bytes hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The notes, in the order in which they were written.
    pub notes: Vec<Note>,
    /// Stretches that hold no whole note, with others behind them.
    pub damaged: u64,
    /// Bytes at the end that hold no whole note: of a crash, or of somebody who is writing.
    pub unfinished_bytes: u64,
    /// Whole notes of a kind that this version does not know.
    pub foreign: u64,
}

/// Reads a spool's bytes.
#[must_use]
pub fn scan(bytes: &[u8]) -> Scanned {
    let mut scanned = Scanned::default();
    let (mut at, mut lost) = (0, 0);
    while at < bytes.len() {
        let Some(text) = whole(&bytes[at..]) else {
            lost += 1;
            at += 1;
            continue;
        };
        scanned.damaged += u64::from(lost > 0);
        lost = 0;
        at += HEAD_BYTES + text.len();
        match serde_json::from_slice(text) {
            Ok(note) => scanned.notes.push(note),
            Err(_) => scanned.foreign += 1,
        }
    }
    scanned.unfinished_bytes = lost;
    scanned
}

/// The text of the frame that these bytes begin with.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let length = u32::from_le_bytes(*length);
    let bytes = usize::try_from(length)
        .ok()
        .filter(|bytes| *bytes <= NOTE_BYTES_MAX)?;
    let text = rest.get(..bytes)?;
    (checksum(length, text) == *sum).then_some(text)
}
