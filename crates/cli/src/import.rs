//! Bringing recorded work into the memory: a task, and what a file says as its records.
//!
//! Owns where an import goes on. What a task holds already is not brought in again:
//! its log says what that is, a cursor saves reading it, and of two imports at once the command ids let one of each batch
//! through. It must not know formats.

use serde::Serialize;
use sillok_core::ErrorCode;
use sillok_core::id::{CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_sessions::{Entry, Format, PassedOver, Source};

use crate::client::Client;
use crate::failure::Failure;
use crate::output::note;

mod batch;
pub mod cursors;
pub mod names;
mod opening;
mod there;

use batch::{Placed, batches, call, is_full};
use cursors::{Cursors, Kept};
use opening::{Opened, open_or_resume};
use there::There;

/// How often an import begins anew where another one of the same file comes between.
const ATTEMPTS_MAX: u32 = 5;
/// Entries after which it is said how far reading is.
pub const ENTRIES_BETWEEN_WORD: u64 = 256;

/// What came of importing one file.
#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// Its task. It was not opened where the file says nothing.
    pub task: Scope,
    /// The task's title.
    pub title: String,
    /// The file's format.
    pub format: Format,
    /// How many steps it had.
    pub steps: u64,
    /// How many of its records the task holds.
    pub records: u64,
    /// How many of them were brought in now.
    pub imported: u64,
    /// How many were there before.
    pub already_there: u64,
    /// How many secrets were masked in those that were brought in now.
    pub masked: u64,
    /// What of the lines that were read now became no record, by reason.
    pub passed_over: PassedOver,
    /// Lines that were no UTF-8, and were read with a sign in place of what was none.
    pub mended: u64,
    /// Whether the file ends with a line that somebody is still writing.
    pub unfinished: bool,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Records that were acknowledged since the last word.
    pub records: u64,
    /// Bytes of the file that were read in all.
    pub bytes: u64,
}

/// Opens the task and appends every record that it does not hold yet. `open` opens the file, `progress` is told how far it
/// is.
///
/// # Errors
/// [`Failure`] of the server or the file; what was acknowledged before it stays. [`Failure::Rewritten`] where the file does
/// not say what was imported of it before.
pub async fn import(
    client: &Client,
    task: Scope,
    open: impl Fn() -> Result<Source, Failure>,
    cursors: Option<&Cursors>,
    mut progress: impl FnMut(Progress),
) -> Result<Imported, Failure> {
    let mut attempt = 1;
    let mut imported = {
        let source = open()?;
        Imported {
            task,
            title: source.head().title.clone(),
            format: source.head().format,
            steps: source.steps(),
            records: 0,
            imported: 0,
            already_there: 0,
            masked: 0,
            passed_over: PassedOver::default(),
            mended: 0,
            unfinished: false,
        }
    };
    loop {
        match once(client, &open, cursors, &mut progress, &mut imported).await {
            // Another import was faster with this batch: what it brought in has to be found out.
            Err(failure)
                if failure.code() == Some(ErrorCode::CommandReused) && attempt < ATTEMPTS_MAX =>
            {
                attempt += 1;
            }
            done => return done.map(|()| imported),
        }
    }
}

async fn once(
    client: &Client,
    open: &impl Fn() -> Result<Source, Failure>,
    cursors: Option<&Cursors>,
    progress: &mut impl FnMut(Progress),
    imported: &mut Imported,
) -> Result<(), Failure> {
    let mut source = open()?;
    let says_nothing = source.entry()?.is_none();
    if says_nothing {
        report(&source, imported);
        return Ok(());
    }
    let opened = open_or_resume(client, &imported.task, source.head()).await?;
    let begun = begin(client, open, cursors, &opened, &imported.task).await?;
    let mut source = begun.source;
    let mut going = Going {
        client,
        opening: opened.command,
        cursors,
        there: begun.there,
        before: begun.kept.map_or(0, |kept| kept.records),
        of_now: imported.imported,
        batch: Vec::new(),
        end: None,
    };
    let done = going.all(&mut source, progress, imported).await;
    report(&source, imported);
    done
}

/// What reading a file came to.
fn report(source: &Source, imported: &mut Imported) {
    imported.steps = source.steps();
    imported.passed_over = source.passed().clone();
    imported.mended = source.mended();
    imported.unfinished = source.unfinished();
}

/// Where an import begins to read.
struct Begun {
    source: Source,
    there: There,
    kept: Option<Kept>,
}

/// Opens the file where the import goes on: behind the cursor, where there is one that the task bears out.
async fn begin(
    client: &Client,
    open: &impl Fn() -> Result<Source, Failure>,
    cursors: Option<&Cursors>,
    opened: &Opened,
    task: &Scope,
) -> Result<Begun, Failure> {
    let mut source = open()?;
    let nothing = There::nothing(source.head(), opened.by.clone());
    if !opened.is_resumed {
        return Ok(Begun {
            source,
            there: nothing,
            kept: None,
        });
    }
    let kept = cursors.and_then(|cursors| cursors.load(task));
    if let Some(kept) = kept.filter(|kept| kept.opening == opened.command)
        && let Some(there) = nothing.clone().find(client, task, Some(&kept)).await?
    {
        if !source.go_on(&kept.cursor)? {
            return Err(Failure::Rewritten { task: task.clone() });
        }
        return Ok(Begun {
            source,
            there,
            kept: Some(kept),
        });
    }
    let there = nothing.find(client, task, None).await?;
    Ok(Begun {
        source,
        there: there.expect("without a cursor there is nothing to bear out"),
        kept: None,
    })
}

/// An import under way.
struct Going<'a> {
    client: &'a Client,
    opening: CommandId,
    cursors: Option<&'a Cursors>,
    there: There,
    /// Records that the cursor knew of.
    before: u64,
    /// Records that an attempt before brought in.
    of_now: u64,
    batch: Vec<Placed>,
    /// The event and the command of the last record that is there.
    end: Option<(Seq, CommandId)>,
}

impl Going<'_> {
    /// Reads to the end, and sends what is not there.
    async fn all(
        &mut self,
        source: &mut Source,
        progress: &mut impl FnMut(Progress),
        imported: &mut Imported,
    ) -> Result<(), Failure> {
        let mut entries = 0_u64;
        // Of a file in which nothing is new as well.
        self.count(imported);
        while let Some(entry) = source.entry()? {
            entries += 1;
            self.take(entry).map_err(|_| rewritten(imported))?;
            self.count(imported);
            if is_full(&self.batch) {
                self.send(source, progress, imported).await?;
            } else if entries.is_multiple_of(ENTRIES_BETWEEN_WORD) {
                progress(Progress {
                    records: 0,
                    bytes: source.offset(),
                });
            }
        }
        self.there.ended().map_err(|_| rewritten(imported))?;
        self.send(source, progress, imported).await
    }

    /// Takes up of an entry what is not there.
    fn take(&mut self, entry: Entry) -> Result<(), there::Differs> {
        let there = self.there.pass(&entry)?;
        let at = entry.at;
        let records = entry.records.into_iter().enumerate().skip(there);
        self.batch.extend(records.map(|(ordinal, record)| Placed {
            at,
            ordinal,
            record,
        }));
        Ok(())
    }

    /// Counts what is there.
    fn count(&self, imported: &mut Imported) {
        let there = self.before + self.there.passed();
        imported.already_there = there.saturating_sub(self.of_now);
        imported.records = imported.already_there + imported.imported;
    }

    /// Sends all that was taken up, and keeps how far that is.
    async fn send(
        &mut self,
        source: &Source,
        progress: &mut impl FnMut(Progress),
        imported: &mut Imported,
    ) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        for placed in batches(&batch) {
            let (command, body) = call(self.opening, source.head(), placed, &imported.task)?;
            let appended = self.client.append_logs_as(command, &body).await?;
            let last = appended.first.get() + u64::from(appended.count) - 1;
            self.end = Some((Seq::new(last), command));
            imported.imported += u64::from(appended.count);
            let cut: u64 = placed.iter().map(|one| u64::from(one.record.masked)).sum();
            imported.masked += u64::from(appended.masked) + cut;
            self.count(imported);
            progress(Progress {
                records: u64::from(appended.count),
                bytes: source.offset(),
            });
        }
        self.keep(source, imported);
        Ok(())
    }

    /// Keeps how far the import came: everything that was read is there. That it cannot be kept is said once, and ends nothing.
    fn keep(&mut self, source: &Source, imported: &Imported) {
        let found = self.end.max(self.there.end());
        let (Some(cursors), Some(cursor), Some((seq, command))) =
            (self.cursors, source.cursor(), found)
        else {
            return;
        };
        let kept = Kept {
            opening: self.opening,
            cursor,
            records: imported.records,
            seq,
            command,
        };
        if let Err(failure) = cursors.save(&imported.task, &kept) {
            note(&format!("{failure}: how far the import came is not kept"));
            self.cursors = None;
        }
    }
}

fn rewritten(imported: &Imported) -> Failure {
    Failure::Rewritten {
        task: imported.task.clone(),
    }
}
