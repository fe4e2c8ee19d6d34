//! The journal of a conversation: what its notes say.
//!
//! Owns which commands wait, in which order, and what is known of each. It must not know files or servers.

use std::collections::BTreeMap;

use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

use super::lost::Lost;
use super::note::{Begun, Note, Outcome, Route, Scanned, Spooled};
use crate::limits::{BUNDLE_COMMANDS, BUNDLE_MS};

/// The code of a defect of the server, which says that nothing was written.
pub const DEFECT: &str = "internal";

/// A command, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The command.
    pub spooled: Spooled,
    /// Who gave it, where it may have been taken without anybody hearing of it.
    pub tried: Option<String>,
    /// How often the server met a defect by it.
    pub defects: u32,
}

/// What a spool says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Whose conversation it is.
    pub begun: Option<Begun>,
    /// Commands that the server does not take, or that waited too long: how many, by what became of them.
    pub lost: BTreeMap<String, u64>,
    /// Commands that there was no room for.
    pub left: u64,
    /// Whether the conversation is over.
    pub ended: bool,
    /// Stretches that hold no whole note.
    pub damaged: u64,
    /// Notes that this version does not know. They stay.
    pub foreign: u64,
    /// What was lost and told before the spool was made short.
    pub before: Lost,
    commands: Vec<(Waiting, Option<Outcome>)>,
    places: BTreeMap<CommandId, usize>,
}

impl Journal {
    /// What a spool's notes say, in their order.
    #[must_use]
    pub fn of(scanned: Scanned) -> Self {
        let mut journal = Self {
            damaged: scanned.damaged,
            foreign: scanned.foreign,
            ..Self::default()
        };
        for note in scanned.notes {
            journal.hear(note);
        }
        journal
    }

    /// Takes one further note in.
    pub fn hear(&mut self, note: Note) {
        match note {
            // Two that begin at once both say so, and the first counts; what each holds is of both.
            Note::Begun(begun) => self.begin(begun),
            Note::Command(spooled) => {
                if self.places.contains_key(&spooled.id) {
                    return;
                }
                self.places.insert(spooled.id, self.commands.len());
                let waiting = Waiting {
                    spooled,
                    tried: None,
                    defects: 0,
                };
                self.commands.push((waiting, None));
            }
            Note::Tried { id, by } => self.note_of(id, |command| command.tried = Some(by)),
            Note::Untaken { id, code, doubted } => self.note_of(id, |command| {
                if !doubted {
                    command.tried = None;
                }
                command.defects += u32::from(code == DEFECT);
            }),
            Note::Settled { id, outcome } => self.settle(id, outcome),
            Note::Left(commands) => self.left += commands,
            Note::Lost(lost) => self.before.add(&lost),
            Note::Ended => self.ended = true,
        }
    }

    fn begin(&mut self, begun: Begun) {
        let Some(known) = &mut self.begun else {
            self.begun = Some(begun);
            return;
        };
        for spooled in begun.held {
            let is_known = known.held.iter().any(|other| other.id == spooled.id);
            if !known.opened && !is_known {
                known.held.push(spooled);
            }
        }
    }

    fn note_of(&mut self, id: CommandId, change: impl FnOnce(&mut Waiting)) {
        if let Some(place) = self.places.get(&id) {
            change(&mut self.commands[*place].0);
        }
    }

    fn settle(&mut self, id: CommandId, outcome: Outcome) {
        let Some(place) = self.places.get(&id) else {
            return;
        };
        let (waiting, settled) = &mut self.commands[*place];
        if settled.is_some() {
            return;
        }
        let opens = waiting.spooled.route == Route::OpenTask;
        if opens
            && outcome == Outcome::Accepted
            && let Some(begun) = &mut self.begun
        {
            begun.opened = true;
            begun.held.clear();
        }
        let why = match &outcome {
            Outcome::Accepted => None,
            Outcome::Refused(code) => Some(code.clone()),
            Outcome::Expired => Some("waited too long".to_owned()),
            Outcome::Doubtful => Some("given by another principal, and not heard of".to_owned()),
        };
        if let Some(why) = why {
            *self.lost.entry(why).or_default() += 1;
        }
        *settled = Some(outcome);
    }

    /// What is lost since the spool was made short the last time.
    #[must_use]
    pub fn lost(&self) -> Lost {
        Lost {
            commands: self.lost.clone(),
            left: self.left,
            damaged: self.damaged,
            foreign: self.foreign,
        }
    }

    /// All that is lost.
    #[must_use]
    pub fn lost_in_all(&self) -> Lost {
        let mut lost = self.lost();
        lost.add(&self.before);
        lost
    }

    /// What waits, in the order in which it is handed over: that in which it was written down.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let open = self
            .commands
            .iter()
            .filter(|(_, settled)| settled.is_none());
        open.map(|(waiting, _)| waiting)
    }

    /// What became of a command; nothing while it waits.
    #[must_use]
    pub fn outcome(&self, id: CommandId) -> Option<&Outcome> {
        let place = self.places.get(&id)?;
        self.commands[*place].1.as_ref()
    }

    /// How many commands the server has.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        let settled = self
            .commands
            .iter()
            .filter_map(|(_, settled)| settled.as_ref());
        let accepted = settled.filter(|outcome| **outcome == Outcome::Accepted);
        u64::try_from(accepted.count()).unwrap_or(u64::MAX)
    }

    /// Whether the conversation's task was opened, or is about to be.
    #[must_use]
    pub fn opens(&self) -> bool {
        let opens = |waiting: &Waiting| waiting.spooled.route == Route::OpenTask;
        self.is_opened() || self.waiting().any(opens)
    }

    /// Whether the server is known to have opened the conversation's task.
    #[must_use]
    pub fn is_opened(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.opened)
    }

    /// Whether nothing of it is needed any more but who it is of.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.foreign == 0 && self.waiting().next().is_none()
    }

    /// Whether enough waits, or for long enough, to be handed over beside other work.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        let mut waiting = self.waiting();
        let Some(first) = waiting.next() else {
            return false;
        };
        let made = first.spooled.id.time().unwrap_or_default();
        now.since_ms(made) >= BUNDLE_MS || waiting.count() + 1 >= BUNDLE_COMMANDS
    }
}
