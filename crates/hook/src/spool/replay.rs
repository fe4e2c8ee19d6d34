//! Handing commands over: which is next, and what counts as handed over.
//!
//! Owns the rules as a state machine: it is asked for the next step, and told what was heard. It must not know files, sockets
//! or clocks.
//!
//! Commands of a conversation go in the order in which they were written down, one after the other. Before one is given to a
//! server it is noted by whom; that note stands until the server says that it did not take the command, unless an attempt
//! before was not heard of: of that one, "no room" says nothing. Ids of commands are unique to a principal, so whoever is
//! another one must not give again what may have been taken; an agent whose token was renewed is the same.

use std::collections::VecDeque;

use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

use super::journal::{DEFECT, Journal, Waiting};
use super::note::{Note, Outcome, Route, Spooled};
use crate::limits::{COMMANDS_PER_RUN_MAX, DEFECTS_MAX, WAIT_MS_MAX};

/// What was heard of a command that was given to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It took it.
    Taken,
    /// It refused it, with a code that says that it will always do so.
    Refused(String),
    /// It did not take it now, with a code: not this principal, no room, a defect.
    Untaken(String),
    /// Nobody knows: no answer came, or one that says so.
    Nothing,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write this note down.
    Note(Note),
    /// Give this command to the server, and tell what was heard.
    Give(Spooled),
    /// Nothing more can be handed over now.
    Stop,
    /// Nothing waits any more.
    Done,
}

/// One run of handing over.
#[derive(Clone, Debug)]
pub struct Replay {
    queue: VecDeque<Waiting>,
    now: Timestamp,
    /// What stands for whoever hands over in this run.
    by: String,
    given: Option<CommandId>,
    /// The command whose first attempt this run makes.
    first: Option<CommandId>,
    stopped: bool,
    more: bool,
}

impl Replay {
    /// A run over what waits.
    #[must_use]
    pub fn of(journal: &Journal, by: &str, now: Timestamp) -> Self {
        let mut waiting = journal.waiting();
        let queue = waiting
            .by_ref()
            .take(COMMANDS_PER_RUN_MAX)
            .cloned()
            .collect();
        Self {
            queue,
            now,
            by: by.to_owned(),
            given: None,
            first: None,
            stopped: false,
            more: waiting.next().is_some(),
        }
    }

    /// What is to be done next.
    ///
    /// # Panics
    /// If a command was given and nothing told of it.
    pub fn step(&mut self) -> Step {
        assert_eq!(self.given, None, "what was given has been told of");
        if self.stopped {
            return Step::Stop;
        }
        let Some(front) = self.queue.front_mut() else {
            return if self.more { Step::Stop } else { Step::Done };
        };
        let id = front.spooled.id;
        if let Some(outcome) = hopeless(front, &self.by, self.now) {
            self.queue.pop_front();
            return Step::Note(Note::Settled { id, outcome });
        }
        if front.tried.is_none() {
            front.tried = Some(self.by.clone());
            self.first = Some(id);
            let by = self.by.clone();
            return Step::Note(Note::Tried { id, by });
        }
        self.given = Some(id);
        Step::Give(front.spooled.clone())
    }

    /// Tells what was heard of the command that was given: the note to be written down, if any.
    ///
    /// # Panics
    /// If no command was given.
    pub fn heard(&mut self, heard: Heard) -> Option<Note> {
        let id = self.given.take().expect("a command was given");
        let front = self.queue.front().expect("what was given stands first");
        let outcome = match heard {
            Heard::Taken => Outcome::Accepted,
            // A task that was opened before is open.
            Heard::Refused(code)
                if front.spooled.route == Route::OpenTask && code == "conflict" =>
            {
                Outcome::Accepted
            }
            Heard::Refused(code) => Outcome::Refused(code),
            Heard::Untaken(code) => {
                let doubted = self.first != Some(id);
                self.stopped = true;
                return Some(Note::Untaken { id, code, doubted });
            }
            Heard::Nothing => {
                self.stopped = true;
                return None;
            }
        };
        self.queue.pop_front();
        Some(Note::Settled { id, outcome })
    }
}

/// What becomes of a command that must not be given any more.
fn hopeless(waiting: &Waiting, by: &str, now: Timestamp) -> Option<Outcome> {
    let made = waiting.spooled.id.time().unwrap_or_default();
    if now.since_ms(made) > WAIT_MS_MAX {
        return Some(Outcome::Expired);
    }
    if waiting.defects >= DEFECTS_MAX {
        return Some(Outcome::Refused(DEFECT.to_owned()));
    }
    let other = waiting.tried.as_deref().is_some_and(|tried| tried != by);
    other.then_some(Outcome::Doubtful)
}
