//! Handing over what waits in a spool, and what of it is lost.

use std::collections::BTreeMap;
use std::io;

use crate::clock::now;
use crate::spool::file::SpoolFile;
use crate::spool::journal::Journal;
use crate::spool::replay::{Replay, Step};
use crate::talk::Server;

/// What one spool's run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// Commands that the server has now.
    pub accepted: u64,
    /// Commands that wait on.
    pub waiting: u64,
    /// What is lost.
    pub lost: Lost,
}

/// What of a conversation the memory does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Commands, by why they are lost.
    pub commands: BTreeMap<String, u64>,
    /// Commands that there was no room for.
    pub left: u64,
    /// Stretches of the spool that hold no whole note.
    pub damaged: u64,
    /// Notes that this version does not know.
    pub foreign: u64,
}

impl Lost {
    /// It in words, a line for each sort.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let told = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let refused = self
            .commands
            .iter()
            .map(|(why, count)| format!("{count} commands are given up: {why}"));
        let rest = [
            told(self.left, "commands had no room to be written down"),
            told(
                self.damaged,
                "stretches of the spool are damaged and were passed over",
            ),
            told(
                self.foreign,
                "notes of the spool are of another version and stay",
            ),
        ];
        refused.chain(rest.into_iter().flatten()).collect()
    }
}

/// What is lost of a conversation.
#[must_use]
pub fn lost_in(journal: &Journal) -> Lost {
    Lost {
        commands: journal.lost.clone(),
        left: journal.left,
        damaged: journal.damaged,
        foreign: journal.foreign,
    }
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
    handed.lost = lost_in(&journal);
    spool.tidy(&turn, now())?;
    Ok(handed)
}
