//! `backup` and `restore`
//!
//! Owns the file: it has its name only once it is whole, checked and on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sillok_core::ports::Clock;
use sillok_core::time::Timestamp;
use sillok_server::backup::Backup as Reading;
use sillok_server::restore::{RestoreReport, Until};
use sillok_server::system::SystemClock;
use sillok_server::{open_to_read, restoring};

use super::audit::{WITHOUT_ENGINES, advance, configuration};
use crate::args::{Backup, Global, Restore};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::output::{Output, time};
use crate::progress;
use crate::session::Session;
use crate::settings::{self, path_text};

/// The mode of a backup: it holds everything that was ever logged.
const FILE_MODE: u32 = 0o600;

/// What was backed up.
#[derive(Debug, Serialize)]
struct BackedUp {
    file: PathBuf,
    /// Bytes of the file.
    bytes: u64,
    /// The hash that names the backup.
    hash: String,
    /// The last commit that it holds.
    cut: String,
    generation: u32,
    events: u64,
    rows: u64,
    created: Timestamp,
}

/// What was restored.
#[derive(Debug, Serialize)]
struct Restored<'a> {
    data: &'a Path,
    #[serde(flatten)]
    report: &'a RestoreReport,
}

/// Carries out `backup`, by the server.
///
/// # Errors
/// [`Failure::Usage`] when the file is there, and what the server or the disk answers. There is no file
/// then, or the one that there was.
pub async fn online(session: &Session, args: &Backup) -> Result<(), Failure> {
    let mut draft = Draft::begin(args)?;
    let shown = progress::waiting("the server sends what it holds");
    progress::during(shown, session.client.backup(|piece| draft.write(piece))).await?;
    show(session.output, &draft.finish()?)
}

/// Carries out `backup --offline`, on the data directory itself.
///
/// # Errors
/// As [`online`].
pub async fn offline(global: &Global, output: Output, args: &Backup) -> Result<(), Failure> {
    // The index is no part of a backup: it is made anew from what is.
    let config = configuration(
        global,
        &WITHOUT_ENGINES.map(|(key, value)| (key, value.to_owned())),
    )?;
    let data = Box::pin(open_to_read(&config)).await?;
    if data.store.is_shared() {
        let why = "the store is a FoundationDB cluster: back it up with its own tools";
        return Err(Failure::Usage(why.to_owned()));
    }
    let mut draft = Draft::begin(args)?;
    let version = env!("CARGO_PKG_VERSION");
    let mut reading = Reading::begin(&data.store, SystemClock.now(), version).await?;
    let shown = progress::waiting("the store is read");
    while let Some(piece) = reading.next().await? {
        draft.write(&piece)?;
    }
    shown.finish_and_clear();
    show(output, &draft.finish()?)
}

/// Carries out `restore`.
///
/// # Errors
/// [`Failure::Server`]; the data directory is then as it was.
pub async fn restore(global: &Global, output: Output, args: &Restore) -> Result<(), Failure> {
    let data = DataDirectory::resolve(global)?;
    let flags = [("server.data", path_text(data.path())?)];
    let config = settings::load(global, &flags)?.config;
    let until = match (&args.to_time, &args.to_event) {
        (Some(time), _) => Until::Time(*time),
        (None, Some(event)) => Until::Event(event.scope.clone(), event.seq),
        (None, None) => Until::End,
    };
    let spinner = progress::spinner("events restored and checked");
    let shown = spinner.clone();
    let on_progress = move |progress| advance(&shown, progress);
    let restoring = restoring::restore(&config, &args.file, &until, &on_progress);
    let report = Box::pin(restoring).await;
    spinner.finish_and_clear();
    let report = report?;
    let restored = Restored {
        data: data.path(),
        report: &report,
    };
    output.show(&restored, |style| {
        let last = report.last_event.map_or_else(
            || "which hold no event".to_owned(),
            |last| format!("the last of {}", time(last)),
        );
        format!(
            "{}: {} events in {} scopes, {last}, {} left out; generation {}\n\
             the audit holds; {} tokens were revoked, and cursors from before are void",
            style.good(&data.path().display().to_string()),
            report.events,
            report.audit.scopes,
            report.events_cut,
            report.generation,
            report.tokens_revoked,
        )
    })
}

fn show(output: Output, done: &BackedUp) -> Result<(), Failure> {
    output.show(done, |style| {
        format!(
            "{}: {} events up to commit {}, {} bytes\n{}",
            style.good(&done.file.display().to_string()),
            done.events,
            done.cut,
            done.bytes,
            style.dim(&done.hash)
        )
    })
}

/// A backup that is being written beside its later place. Unless it is finished, it is removed.
struct Draft {
    beside: PathBuf,
    target: PathBuf,
    replaces: bool,
    file: File,
    is_done: bool,
}

impl Draft {
    fn begin(args: &Backup) -> Result<Self, Failure> {
        let target = args.file.clone();
        check_free(&target, args.force)?;
        let mut name = target.clone().into_os_string();
        name.push(format!(".{}.partial", std::process::id()));
        let beside = PathBuf::from(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&beside)
            .map_err(failed(&beside))?;
        Ok(Self {
            beside,
            target,
            replaces: args.force,
            file,
            is_done: false,
        })
    }

    fn write(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.file.write_all(piece).map_err(failed(&self.beside))
    }

    /// Reads what was written, and gives it its name.
    fn finish(mut self) -> Result<BackedUp, Failure> {
        self.file.sync_all().map_err(failed(&self.beside))?;
        let held = restoring::inspect(&self.beside, &Until::End)?;
        let bytes = self.file.metadata().map_err(failed(&self.beside))?.len();
        check_free(&self.target, self.replaces)?;
        fs::rename(&self.beside, &self.target).map_err(failed(&self.target))?;
        self.is_done = true;
        let folder = self
            .target
            .parent()
            .filter(|path| path.iter().next().is_some());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(&self.target))?;
        Ok(BackedUp {
            file: self.target.clone(),
            bytes,
            hash: held.hash.to_hex().to_string(),
            cut: held.end.cut.to_string(),
            generation: held.head.generation,
            events: held.end.events,
            rows: held.end.rows,
            created: held.head.created,
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            // There is nothing to be done about one that stays: its name says what it is.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

fn check_free(target: &Path, replaces: bool) -> Result<(), Failure> {
    if replaces || !target.exists() {
        return Ok(());
    }
    let shown = target.display();
    Err(Failure::Usage(format!(
        "{shown} is there: name another file, or replace it with --force"
    )))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    Failure::io(format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{EXIT_USAGE, EXIT_VERDICT};

    fn args(file: PathBuf, force: bool) -> Backup {
        Backup {
            file,
            force,
            offline: false,
        }
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_if_that_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.backup");
        fs::write(&file, "old").unwrap();
        let refused = Draft::begin(&args(file.clone(), false)).map(drop);
        assert_eq!(refused.unwrap_err().exit_status(), EXIT_USAGE);
        drop(Draft::begin(&args(file.clone(), true)).unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_whole_backup_gets_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.backup");
        let mut draft = Draft::begin(&args(file.clone(), false)).unwrap();
        draft.write(b"sillok backup\r\n\x1a").unwrap();
        let refused = draft.finish().unwrap_err();
        assert_eq!(refused.exit_status(), EXIT_VERDICT);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
