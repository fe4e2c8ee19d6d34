//! One run of a hook: an event is read, written down, asked about, answered; what waits is handed over.
//!
//! Owns the order of these. What is written goes into the spool before the server is spoken to, so that nothing depends on it.
//! Whatever goes wrong, the agent gets the answer that means "go on".

mod asking;
mod connecting;
mod handing;

use std::io::{self, Read};
use std::path::PathBuf;

use crate::arguments::Flags;
use crate::client::Client;
use crate::clock::{Deadline, Ids, now};
use crate::event::{self, Event, Kind};
use crate::limits::{EVENT_BYTES_MAX, HELD_MAX};
use crate::place::Place;
use crate::plan::{Handing, Plan, Question};
use crate::settings::{Environment, Settings};
use crate::spool::directory::Spools;
use crate::spool::file::{Appended, SpoolFile};
use crate::spool::note::{Begun, Note, Route, Spooled};
use crate::talk::{self, Server};
use crate::{agent, later, reply, settings, wording};

pub use connecting::{Connected, connect};
pub use handing::{Handed, hand_over};

/// What a run leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What the agent is answered.
    pub answer: String,
    /// What a person may want to know, a line each.
    pub said: Vec<String>,
}

/// Why an event led to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The event is longer than any that is read.
    #[error("the event has more than {EVENT_BYTES_MAX} bytes and is left out")]
    Long,
    /// It cannot be read.
    #[error("the event cannot be read")]
    Input(#[source] io::Error),
    /// It is none.
    #[error(transparent)]
    Event(#[from] event::Error),
    /// There are no settings.
    #[error(transparent)]
    Settings(#[from] settings::Error),
    /// The server cannot be spoken to.
    #[error(transparent)]
    Server(#[from] talk::Error),
    /// There is no token to speak to it with.
    #[error(transparent)]
    Token(#[from] agent::Error),
    /// No scope is named, or one that has no tasks.
    #[error("{0}")]
    Scope(&'static str),
    /// What was to be written down could not be.
    #[error("nothing can be written below {}", path.display())]
    Spool {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What happened, as the command line and standard input tell it.
#[derive(Debug)]
pub struct Happened<'a> {
    /// Which client.
    pub client: Client,
    /// The client's name for the event.
    pub name: &'a str,
    /// The event.
    pub document: Vec<u8>,
}

/// Reads an event.
///
/// # Errors
/// [`Error::Long`], [`Error::Input`]
pub fn read(input: impl Read) -> Result<Vec<u8>, Error> {
    let mut document = Vec::new();
    let mut bounded = input.take(EVENT_BYTES_MAX + 1);
    bounded.read_to_end(&mut document).map_err(Error::Input)?;
    let long = u64::try_from(document.len()).unwrap_or(u64::MAX) > EVENT_BYTES_MAX;
    if long { Err(Error::Long) } else { Ok(document) }
}

/// Does all that follows from an event. It takes a bounded time, and the answer is always one that lets the agent go on.
#[must_use]
pub fn event(happened: &Happened<'_>, flags: &Flags, environment: Environment<'_>) -> Done {
    let neutral = reply::of(happened.client, happened.name, None);
    match carry_out(happened, flags, environment) {
        Ok(done) => done,
        Err(error) => Done {
            answer: neutral,
            said: vec![chain(&error)],
        },
    }
}

fn carry_out(
    happened: &Happened<'_>,
    flags: &Flags,
    environment: Environment<'_>,
) -> Result<Done, Error> {
    let settings = Settings::resolve(flags, environment)?;
    let Happened { client, name, .. } = *happened;
    let silent = Done {
        answer: reply::of(client, name, None),
        said: Vec::new(),
    };
    if !settings.enabled {
        return Ok(silent);
    }
    let event = event::read(client, name, &happened.document)?;
    if event.kind == Kind::Other {
        return Ok(silent);
    }
    let scope = settings.scope.as_ref().ok_or(Error::Scope(
        "no scope is named: set SILLOK_SCOPE, or install with --in",
    ))?;
    let place = Place::of(scope, client, &event.session, event.directory.as_deref());
    let place = place.ok_or(Error::Scope(
        "the scope is an organisation's: name a project, a worktree or a task",
    ))?;
    let plan = Plan::of(client, name, &event, &place);
    let run = Run {
        client,
        name,
        spools: Spools::of(&settings.data),
        settings,
        event,
        place,
    };
    run.carry_out(&plan)
}

/// What came of speaking to the server.
#[derive(Default)]
struct Spoken {
    /// What the agent is told.
    told: Vec<String>,
    /// What a person may want to know.
    said: Vec<String>,
}

struct Run<'a> {
    client: Client,
    name: &'a str,
    settings: Settings,
    spools: Spools,
    event: Event,
    place: Place,
}

impl Run<'_> {
    fn carry_out(&self, plan: &Plan) -> Result<Done, Error> {
        let spool = self.spools.of_session(self.client, &self.event.session);
        let mut said = self.settings.said.clone();
        let mut ids = Ids::default();
        said.extend(self.write_down(plan, &spool, &mut ids)?);
        let mut told = Vec::new();
        if reply::takes_text(self.client, self.name) {
            told.extend(later::take(
                &self.spools.later(self.client, &self.event.session),
            ));
        }
        match self.spoken(plan, &spool, &mut ids) {
            Ok(spoken) => {
                told.extend(spoken.told);
                said.extend(spoken.said);
            }
            Err(error) => said.push(chain(&error)),
        }
        let told = crate::context::joined(told);
        let takes = reply::takes_text(self.client, self.name);
        if let (Some(text), false) = (&told, takes) {
            let path = self.spools.later(self.client, &self.event.session);
            later::keep(&path, text).map_err(|source| self.spool_failed(source))?;
        }
        let shown = told.as_deref().filter(|_| takes);
        Ok(Done {
            answer: reply::of(self.client, self.name, shown),
            said,
        })
    }

    /// Speaks to the server, where it is to be spoken to. Where it does not know the project's own token any more, it is spoken
    /// to once again, with another one.
    fn spoken(&self, plan: &Plan, spool: &SpoolFile, ids: &mut Ids) -> Result<Spoken, Error> {
        let patience = self.settings.patience;
        let deadline = Deadline::after_ms(if plan.often {
            patience.tool_answer_ms
        } else {
            patience.answer_ms
        });
        let Some(mut connected) = self.connected(plan, spool, deadline)? else {
            return Ok(Spoken::default());
        };
        let spoken = self.speak(plan, spool, &mut connected, ids)?;
        let is_forgotten = connected.forget_unknown(&self.settings)?;
        // Where some of it was answered the next event has the other token.
        if !is_forgotten || !connected.server.has_heard_nothing() {
            return Ok(spoken);
        }
        match self.connected(plan, spool, deadline)? {
            Some(mut connected) => self.speak(plan, spool, &mut connected, ids),
            None => Ok(spoken),
        }
    }

    /// Asks what is to be asked, and hands over what waits.
    fn speak(
        &self,
        plan: &Plan,
        spool: &SpoolFile,
        connected: &mut Connected,
        ids: &mut Ids,
    ) -> Result<Spoken, Error> {
        let mut spoken = Spoken::default();
        let by = connected.speaker.by();
        let unkept = connected.speaker.unkept();
        spoken.said.extend(unkept.map(|error| chain(error)));
        let server = &mut connected.server;
        let mut is_opened = self.is_opened(plan, spool)?;
        if !is_opened {
            let opened = self.hand(Handing::Own, spool, server, &by);
            let opened = opened.map_err(|source| self.spool_failed(source))?;
            spoken.said.extend(opened);
            is_opened = self.is_opened(plan, spool)?;
        }
        let question = plan.question.as_ref();
        let question = question.filter(|question| is_opened || !question.needs_task());
        match question.map(|question| asking::ask(question, &self.place, is_opened, server)) {
            Some(Ok(answered)) => self.take_answer(answered, ids, spool, &mut spoken)?,
            Some(Err(error)) => spoken.said.push(chain(&error)),
            None => {}
        }
        let handed = self.hand(plan.handing, spool, server, &by);
        let handed = handed.map_err(|source| self.spool_failed(source))?;
        spoken.said.extend(handed);
        Ok(spoken)
    }

    /// Whether the conversation's task was opened, where what is to be asked goes by it.
    fn is_opened(&self, plan: &Plan, spool: &SpoolFile) -> Result<bool, Error> {
        if !plan.question.as_ref().is_some_and(Question::goes_by_task) {
            return Ok(true);
        }
        let journal = spool.read().map_err(|source| self.spool_failed(source))?;
        Ok(journal.is_opened())
    }

    /// Writes down what is to be written, and before the first of it that the task is to be opened: with what a person said, if
    /// that is what came first. What has no room is said.
    fn write_down(
        &self,
        plan: &Plan,
        spool: &SpoolFile,
        ids: &mut Ids,
    ) -> Result<Option<String>, Error> {
        if plan.written.is_none() && !needs_task(plan) {
            return Ok(None);
        }
        let failed = |source| self.spool_failed(source);
        self.spools.make().map_err(failed)?;
        let head = spool.head().map_err(failed)?;
        let mut notes = Vec::new();
        if !head.opens() {
            if !spool.path().exists() && !self.spools.has_room().map_err(failed)? {
                return Ok(Some(
                    "too many conversations wait for the server".to_owned(),
                ));
            }
            let held: &[Spooled] = match &head.begun {
                Some(begun) => &begun.held,
                None => &[],
            };
            if plan.holds && held.len() < HELD_MAX {
                notes.push(self.beginning(self.record(plan, ids).into_iter().collect()));
                return self.append(spool, &notes);
            }
            if head.begun.is_none() {
                notes.push(self.beginning(Vec::new()));
            }
            notes.push(Note::Command(self.opening(plan, ids)));
            notes.extend(held.iter().cloned().map(Note::Command));
        }
        notes.extend(self.record(plan, ids).map(Note::Command));
        if plan.ends {
            notes.push(Note::Ended);
        }
        if notes.is_empty() {
            return Ok(None);
        }
        self.append(spool, &notes)
    }

    fn append(&self, spool: &SpoolFile, notes: &[Note]) -> Result<Option<String>, Error> {
        let appended = spool
            .append(notes)
            .map_err(|source| self.spool_failed(source))?;
        let full = "there is no room to write down what happened until the server is back";
        Ok((appended == Appended::Full).then(|| full.to_owned()))
    }

    /// The first note of a spool: whose it is, and what is held until the task is opened.
    fn beginning(&self, held: Vec<Spooled>) -> Note {
        Note::Begun(Begun {
            client: self.client.as_str().to_owned(),
            session: self.event.session.clone(),
            target: self.settings.configured_url.clone(),
            opened: false,
            held,
        })
    }

    fn opening(&self, plan: &Plan, ids: &mut Ids) -> Spooled {
        let unsaid = format!("{}-{}", self.client, self.event.session);
        let body = wording::open_task(&self.place.task, plan.words.as_deref(), &unsaid);
        command(ids, Route::OpenTask, body)
    }

    /// The record that is to be written, if one is.
    fn record(&self, plan: &Plan, ids: &mut Ids) -> Option<Spooled> {
        let written = plan.written.as_ref()?;
        let (level, content) = (written.level, &written.content);
        let body = wording::append_log(&self.place.task, level, content, &written.metadata, now());
        Some(command(ids, Route::AppendLogs, body))
    }

    /// A connection to the server; nothing where it is not to be spoken to now.
    fn connected(
        &self,
        plan: &Plan,
        spool: &SpoolFile,
        deadline: Deadline,
    ) -> Result<Option<Connected>, Error> {
        let due = match plan.handing {
            Handing::All | Handing::Own => true,
            Handing::OwnIfDue => {
                let away = self.spools.is_away(now());
                let read = || spool.read().map_err(|source| self.spool_failed(source));
                !away && read()?.is_due(now())
            }
            Handing::None => false,
        };
        let asks = plan.question.is_some() && !(plan.often && self.spools.is_away(now()));
        if !due && !asks {
            return Ok(None);
        }
        match connect(&self.settings, deadline) {
            Ok(connected) => {
                self.spools.note_back();
                Ok(Some(connected))
            }
            // That it is away is no news to anybody: what happened is written down.
            Err(Error::Server(talk::Error::Away { .. })) => {
                self.spools.note_away(now());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn take_answer(
        &self,
        answered: asking::Answered,
        ids: &mut Ids,
        spool: &SpoolFile,
        spoken: &mut Spoken,
    ) -> Result<(), Error> {
        match answered {
            asking::Answered::Told { text, failed } => {
                spoken.told.extend(text);
                spoken.said.extend(failed.map(|error| chain(&error)));
            }
            asking::Answered::Anchor { hint, to } if !to.is_empty() => {
                let body = wording::add_anchor(&self.place.task, &hint, &to);
                let note = Note::Command(command(ids, Route::AddAnchors, body));
                spool
                    .append(&[note])
                    .map_err(|source| self.spool_failed(source))?;
            }
            asking::Answered::Anchor { .. } => {}
        }
        Ok(())
    }

    fn hand(
        &self,
        handing: Handing,
        spool: &SpoolFile,
        server: &mut Server,
        by: &str,
    ) -> io::Result<Vec<String>> {
        let target = self.settings.configured_url.as_deref();
        let spools = match handing {
            Handing::None => return Ok(Vec::new()),
            Handing::Own | Handing::OwnIfDue => vec![spool.clone()],
            Handing::All => handing::own_first(spool, self.spools.all()?),
        };
        let mut said = Vec::new();
        for spool in spools {
            if !server.is_usable() {
                break;
            }
            let handed = hand_over(&spool, target, server, by)?;
            said.extend(handed.lost.lines());
        }
        Ok(said)
    }

    fn spool_failed(&self, source: io::Error) -> Error {
        Error::Spool {
            path: self.spools.path().to_owned(),
            source,
        }
    }
}

fn needs_task(plan: &Plan) -> bool {
    plan.question.as_ref().is_some_and(Question::needs_task)
}

fn command(ids: &mut Ids, route: Route, body: String) -> Spooled {
    Spooled {
        id: ids.make(),
        route,
        body,
    }
}

/// An error with all that led to it, in a line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
