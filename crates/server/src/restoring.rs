//! Restoring a backup into a data directory.
//!
//! Owns the files: where a restored store is made ready, and that a failure leaves nothing behind. The
//! directory is one that a server can use only once all is written, checked and on the disk. It must not
//! know what a restore changes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::audit::OnProgress;
use sillok_actors::restore::{self, Means, RestoreReport, Survey, Until, next_generation, survey};
use sillok_core::error::{Error as CoreError, ErrorCode};
use sillok_core::ports::Clock as _;
use sillok_store::{FjallConfig, FjallStore, Layout};

use crate::Error;
use crate::composition::{embedded, layout, operator};
use crate::config::{Config, StoreEngine};
use crate::data_directory::{DataDirectory, Lock};
use crate::system::{SystemClock, SystemRng};

/// What may lie in a directory that counts as empty: the root of a file system has it.
const LOST_AND_FOUND: &str = "lost+found";

/// Reads a backup to its end and says what it holds, and where it would be cut.
///
/// # Errors
/// [`Error::Restore`] when it is no whole backup, [`Error::File`] when there is none.
pub fn inspect(path: &Path, until: &Until) -> Result<Survey, Error> {
    let mut file = open(path)?;
    survey(&mut file, until).map_err(refused(path))
}

/// Restores a backup into the data directory of a configuration, which is empty or not there.
///
/// # Errors
/// [`Error::Restore`], [`Error::NotEmpty`], [`Error::Locked`], [`Error::File`], [`Error::Store`]. The
/// directory is then as it was.
pub async fn restore(
    config: &Config,
    path: &Path,
    until: &Until,
    progress: OnProgress<'_>,
) -> Result<RestoreReport, Error> {
    if config.store.engine != StoreEngine::Embedded {
        let why = "a backup is restored into an embedded store; FoundationDB is restored with its own tools";
        return Err(CoreError::new(ErrorCode::InvalidArgument, why).into());
    }
    let mut file = open(path)?;
    let survey = survey(&mut file, until).map_err(refused(path))?;
    let place = Place::take(&config.server.data)?;
    let report = fill(&place, config, (path, &mut file), &survey, progress).await?;
    place.keep()?;
    Ok(report)
}

fn open(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(failed("reading", path))
}

fn refused(path: &Path) -> impl FnOnce(restore::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Restore { path, source }
}

/// Fills a new store from a backup, and closes it.
async fn fill(
    place: &Place,
    config: &Config,
    (path, file): (&Path, &mut File),
    survey: &Survey,
    progress: OnProgress<'_>,
) -> Result<RestoreReport, Error> {
    let mut rng = SystemRng::default();
    let generation = next_generation(survey.head.generation, &mut rng).map_err(refused(path))?;
    // The process goes on after an error of the disk, to leave nothing behind.
    let fatal: Arc<Mutex<Option<String>>> = Arc::default();
    let noted = Arc::clone(&fatal);
    let on_fatal = move |reason: &str| *noted.lock() = Some(reason.to_owned());
    let layout = Layout {
        generation_at_creation: generation,
        ..layout()
    };
    let fjall = FjallConfig {
        counter_at_creation: survey.end.cut.counter,
        ..embedded(place.store(), layout, &config.store, Arc::new(on_fatal))
    };
    let store = FjallStore::open(&fjall).map_err(|source| Error::Store {
        path: place.store(),
        source,
    })?;
    let operator = operator();
    let means = Means {
        operator: &operator,
        now: SystemClock.now(),
        rng: &mut rng,
    };
    let restored = restore::restore(&store, file, survey, means, progress).await;
    // The store is closed before its files are moved or removed.
    drop(store);
    let reason = fatal.lock().take();
    if let Some(reason) = reason {
        return Err(failed("writing", &place.store())(io::Error::other(reason)));
    }
    restored.map_err(refused(path))
}

/// A directory in which a store is made ready. Unless it is kept, all is taken back when this is dropped.
struct Place {
    directory: DataDirectory,
    /// The directories that were made for it, the innermost first.
    made: Vec<PathBuf>,
    is_kept: bool,
    lock: Option<Lock>,
}

impl Place {
    fn take(path: &Path) -> Result<Self, Error> {
        check_empty(path)?;
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made = path.ancestors().take_while(is_missing);
        let made = made.map(Path::to_owned).collect();
        let directory = DataDirectory::create(path)?;
        let lock = directory.lock()?;
        // Nobody else begins to restore here from now on.
        let place = Self {
            directory,
            made,
            is_kept: false,
            lock: Some(lock),
        };
        check_empty(path)?;
        // What an earlier attempt left that was killed.
        remove(&place.store()).map_err(failed("removing", &place.store()))?;
        Ok(place)
    }

    fn store(&self) -> PathBuf {
        self.directory.store_being_restored()
    }

    /// Makes the store the directory's own.
    fn keep(mut self) -> Result<(), Error> {
        let (ready, own) = (self.store(), self.directory.store());
        sync_all(&ready).map_err(failed("syncing", &ready))?;
        fs::rename(&ready, &own).map_err(failed("moving", &ready))?;
        self.is_kept = true;
        let path = self.directory.path();
        sync(path).map_err(failed("syncing", path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let note = |path: &Path, error: &io::Error| {
            tracing::warn!(%error, "{} is left behind", path.display());
        };
        if !self.is_kept {
            let store = self.store();
            if let Err(error) = remove(&store) {
                note(&store, &error);
            }
        }
        let lock = self.directory.lock_file();
        if let Err(error) = fs::remove_file(&lock) {
            note(&lock, &error);
        }
        self.lock = None;
        if self.is_kept {
            return;
        }
        for path in &self.made {
            if let Err(error) = fs::remove_dir(path) {
                note(path, &error);
                return;
            }
        }
    }
}

/// Refuses a directory with anything in it but what a restore that was killed left.
fn check_empty(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(Error::NotEmpty {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(failed("reading", path)(error)),
    };
    let left = ["node.lock", "store.restoring", LOST_AND_FOUND];
    for entry in entries {
        let entry = entry.map_err(failed("reading", path))?;
        if !left.iter().any(|name| entry.file_name() == *name) {
            return Err(Error::NotEmpty {
                path: path.to_owned(),
            });
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Brings a directory with all that lies in it to the disk.
fn sync_all(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            sync(&entry.path())?;
        }
    }
    sync(path)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::File {
        doing,
        path: path.to_owned(),
        source,
    }
}
