//! What an error says of the files of a table, and how that is found out where it says too little.
//!
//! Owns the line between files that cannot be read any more, which are made anew from the events, and everything that
//! passes: a full disk, a read that was interrupted, a search whose files were put away. It must not know who asks.

use std::io;

use futures::TryStreamExt as _;
use lance::dataset::builder::DatasetBuilder;
use lance::index::DatasetIndexExt;

use crate::columns;
use crate::error::Error;
use crate::indices::{TEXT_INDEX, VECTOR_INDEX};
use crate::table::Table;
use crate::tables::{Tables, session_of};

/// Rows that are examined at once.
const ROWS: usize = 4_096;
/// How often a table is examined whose files are put away meanwhile.
const ATTEMPTS_MAX: usize = 3;

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
            Error::Damaged(_) | Error::Older { .. } => Self::Damage,
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

impl Tables {
    /// Reads everything that the tables hold, past all that is in memory.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) async fn examine(&self) -> Result<(), Error> {
        for table in self.all() {
            let mut attempt = 1;
            loop {
                let before = table.shown();
                match table.examine().await {
                    Err(_) if attempt < ATTEMPTS_MAX && !table.shown().ptr_eq(&before) => {
                        attempt += 1;
                    }
                    result => break result?,
                }
            }
        }
        Ok(())
    }
}

impl Table {
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
