//! What an error says of the files of a table, and how that is found out where it says too little.
//!
//! Owns the line between files that cannot be read any more, which are made anew from the events, and everything that
//! passes: a full disk, a read that was interrupted, a search whose files were put away. It must not know who asks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use lance::dataset::builder::DatasetBuilder;
use lance::index::DatasetIndexExt;
use sillok_core::ports::Lost;
use tokio::sync::Mutex;

use crate::columns;
use crate::error::Error;
use crate::indices::{TEXT_INDEX, VECTOR_INDEX};
use crate::table::Table;
use crate::tables::{Tables, session_of};

/// Rows that are examined at once.
const ROWS: usize = 4_096;
/// How often a table is examined whose files are put away meanwhile.
const ATTEMPTS_MAX: usize = 3;
/// For how long a table that was found sound is not examined again.
const SOUND_FOR: Duration = Duration::from_secs(10);

/// What an error says of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// They are not what was written.
    Damage,
    /// They may be damaged: a defect of a request looks the same.
    Perhaps,
    /// Nothing.
    Nothing,
}

impl Says {
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Damaged(_) | Error::Older { .. } | Error::Lost { .. } => Self::Damage,
            Error::InTable { source, .. } => Self::of(source),
            Error::Io { source, .. } => Self::of_io(source),
            Error::Lance(error) => Self::of_lance(error),
            Error::Shape { .. } | Error::Panicked(_) => Self::Perhaps,
            Error::Config(_) | Error::Task(_) => Self::Nothing,
        }
    }

    fn of_lance(error: &lance::Error) -> Self {
        use lance::Error as Lance;
        match error {
            Lance::CorruptFile { .. } | Lance::Schema { .. } | Lance::SchemaMismatch { .. } => {
                Self::Damage
            }
            Lance::IO { source, .. }
            | Lance::Wrapped { error: source, .. }
            | Lance::External { source } => Self::of_source(&**source),
            Lance::Arrow { .. }
            | Lance::NotFound { .. }
            | Lance::DatasetNotFound { .. }
            | Lance::Index { .. }
            | Lance::IndexNotFound { .. }
            | Lance::VersionNotFound { .. }
            | Lance::VersionConflict { .. }
            | Lance::InvalidInput { .. }
            | Lance::NotSupported { .. }
            | Lance::Internal { .. }
            | Lance::Execution { .. }
            | Lance::PrerequisiteFailed { .. }
            | Lance::Unprocessable { .. }
            | Lance::Cloned { .. }
            | Lance::FieldNotFound { .. } => Self::Perhaps,
            _ => Self::Nothing,
        }
    }

    /// What lies beneath decides: an error of the system, or none, when something could not be decoded.
    fn of_source(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Self::of_io(error);
            }
            if let Some(error) = error.downcast_ref::<lance::Error>() {
                return Self::of_lance(error);
            }
            next = error.source();
        }
        Self::Perhaps
    }

    fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::UnexpectedEof | Kind::InvalidData => Self::Damage,
            Kind::NotFound | Kind::InvalidInput | Kind::IsADirectory | Kind::NotADirectory => {
                Self::Perhaps
            }
            Kind::Other => error
                .get_ref()
                .map_or(Self::Perhaps, |inner| Self::of_source(inner)),
            _ => Self::Nothing,
        }
    }
}

/// What was found of a table's files.
#[derive(Debug, Default)]
pub(crate) struct Health {
    is_damaged: AtomicBool,
    /// When everything in them was last found readable.
    found_sound: Mutex<Option<Instant>>,
}

impl Tables {
    /// The tables that are known to be damaged.
    pub(crate) fn damaged(&self) -> Lost {
        let mut tables = self.all();
        tables.retain(|table| table.is_damaged());
        Lost::Tables(tables.iter().map(|table| table.name.clone()).collect())
    }

    /// What an error comes to: that tables are lost, where they are. Those are known to be damaged from then on. Where
    /// the error only hints at it, they are read, past all that is in memory.
    pub(crate) async fn judge(&self, error: Error) -> Error {
        let says = Says::of(&error);
        if says == Says::Nothing {
            return error;
        }
        let (mut suspects, mut found) = (self.all(), Vec::new());
        let is_named = match &error {
            Error::InTable { table, .. } => {
                suspects.retain(|suspect| suspect.name == *table);
                true
            }
            _ => false,
        };
        let is_certain = says == Says::Damage;
        for table in &suspects {
            if table.is_damaged() {
                found.push(table);
            } else if !(is_named && is_certain)
                && let Some(why) = table.examined().await
            {
                tracing::warn!(%why, table = %table.directory.display(), "a table of the vector index is damaged");
                found.push(table);
            }
        }
        if found.is_empty() {
            match (is_named, is_certain) {
                // It was met in what is in memory, perhaps: nobody knows of which.
                (false, true) => found.extend(&suspects),
                (true, true) => return Error::Task(format!("forgotten meanwhile: {error}")),
                (_, false) => return error,
            }
        }
        found.iter().for_each(|table| table.note_damage());
        Error::Lost {
            why: error.to_string(),
            lost: Lost::Tables(found.iter().map(|table| table.name.clone()).collect()),
        }
    }
}

impl Table {
    /// The error, as one that was met here.
    pub(crate) fn named(&self, source: Error) -> Error {
        if Says::of(&source) == Says::Damage {
            self.note_damage();
        }
        match source {
            Error::InTable { .. } | Error::Lost { .. } => source,
            source => Error::InTable {
                table: self.name.clone(),
                source: Box::new(source),
            },
        }
    }

    /// Whether its files are known to be damaged: then nothing is asked of them until they are forgotten.
    pub(crate) fn is_damaged(&self) -> bool {
        self.health.is_damaged.load(Ordering::Acquire)
    }

    /// # Errors
    /// That the files are known to be damaged, where they are.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.is_damaged() {
            true => Err(self.named(Error::Damaged("it was found so before".into()))),
            false => Ok(()),
        }
    }

    fn note_damage(&self) {
        self.health.is_damaged.store(true, Ordering::Release);
    }

    /// What keeps the files from being read, if anything does: those that were just found sound are not read again.
    async fn examined(self: &Arc<Self>) -> Option<Error> {
        let mut found_sound = self.health.found_sound.lock().await;
        if found_sound.is_some_and(|at| at.elapsed() < SOUND_FOR) {
            return None;
        }
        let mut attempt = 1;
        loop {
            let (before, table) = (self.shown(), Arc::clone(self));
            // By itself, since what decodes torn pages may panic.
            let read = tokio::spawn(async move { table.examine().await });
            let read = read.await;
            match read.unwrap_or_else(|error| Err(Error::Panicked(error.to_string()))) {
                Ok(()) => {
                    *found_sound = Some(Instant::now());
                    return None;
                }
                Err(_) if attempt < ATTEMPTS_MAX && !self.shown().ptr_eq(&before) => attempt += 1,
                Err(error) => return Some(error).filter(|error| Says::of(error) != Says::Nothing),
            }
        }
    }

    /// Reads everything that the files hold.
    async fn examine(&self) -> Result<(), Error> {
        if self.view.read().dataset.is_none() {
            return Ok(());
        }
        let config = &self.shared.config;
        let dataset = DatasetBuilder::from_uri(self.uri()?)
            .with_session(session_of(config))
            .load()
            .await?;
        let mut scan = dataset.scan();
        let schema = columns::schema(config.dimensions);
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        scan.project(&names)?.with_row_id().batch_size(ROWS);
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            columns::directory_rows(&batch, config)?;
            columns::texts_and_vectors(&batch)?;
        }
        let indices = dataset.load_indices().await?;
        for name in [TEXT_INDEX, VECTOR_INDEX] {
            if indices.iter().any(|index| index.name == name) {
                dataset.prewarm_index(name).await?;
            }
        }
        Ok(())
    }
}
