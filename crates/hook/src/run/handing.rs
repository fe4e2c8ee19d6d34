//! Handing over what waits in a spool, and what of it is lost.

use std::io;

use crate::clock::now;
use crate::spool::file::SpoolFile;
use crate::spool::lost::Lost;
use crate::spool::replay::{Replay, Step};
use crate::talk::Server;

/// What one spool's run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// Commands that the server has now.
    pub accepted: u64,
    /// Commands that wait on.
    pub waiting: u64,
    /// What is lost, but for what was told when the spool was made short.
    pub lost: Lost,
}

/// All spools with this one first.
pub(super) fn own_first(own: &SpoolFile, all: Vec<SpoolFile>) -> Vec<SpoolFile> {
    let others = all.into_iter().filter(|spool| spool != own);
    std::iter::once(own.clone()).chain(others).collect()
}

/// Hands over what waits in a spool, as long as the server can be spoken to. A spool of another server, or one that somebody
/// else is at, is left alone.
///
/// # Errors
/// What the file system answered.
pub fn hand_over(
    spool: &SpoolFile,
    target: Option<&str>,
    server: &mut Server,
    by: &str,
) -> io::Result<Handed> {
    let mut handed = Handed::default();
    if !spool.path().exists() {
        return Ok(handed);
    }
    let Some(turn) = spool.take_turn()? else {
        return Ok(handed);
    };
    let mut journal = spool.read()?;
    let begun = journal.begun.as_ref();
    if begun.is_some_and(|begun| begun.target.as_deref() != target) {
        return Ok(handed);
    }
    let before = journal.accepted();
    let mut replay = Replay::of(&journal, by, now());
    while server.is_usable() {
        let note = match replay.step() {
            Step::Note(note) => Some(note),
            Step::Give(command) => replay.heard(server.give(&command)),
            Step::Stop | Step::Done => break,
        };
        if let Some(note) = note {
            spool.note(&note)?;
            journal.hear(note);
        }
    }
    handed.accepted = journal.accepted() - before;
    handed.waiting = u64::try_from(journal.waiting().count()).unwrap_or(u64::MAX);
    handed.lost = journal.lost();
    spool.tidy(&turn, now())?;
    Ok(handed)
}
