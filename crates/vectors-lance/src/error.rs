//! Why the index could not be opened or used.
//!
//! Owns the reasons and what a caller behind the port makes of them. It must not know retries.

use std::path::PathBuf;

use sillok_core::ports::{Lost, PortError, VectorTable};

use crate::damage::Says;

/// A failure of the index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the index cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Lance refused.
    #[error("lance: {0}")]
    Lance(#[source] Box<lance::Error>),
    /// A table is not of the shape that this version writes. It can be cleared and built again.
    #[error("the table {table} is of another shape ({why}): rebuild the index")]
    Shape {
        /// The table's directory.
        table: String,
        /// What differs.
        why: String,
    },
    /// A table was made by an older version, which did not write all columns. It is built again.
    #[error("the table {table} is of an older version: it lacks the column {column}")]
    Older {
        /// The table's directory.
        table: String,
        /// What is missing.
        column: String,
    },
    /// The configuration contradicts itself.
    #[error("configuration of the vector index: {0}")]
    Config(&'static str),
    /// What lies in a table is not what was written there, or cannot be read. It is built again.
    #[error("the vector index is damaged: {0}")]
    Damaged(String),
    /// What was met in one table.
    #[error("{source}")]
    InTable {
        /// The table.
        table: VectorTable,
        /// What it was.
        source: Box<Self>,
    },
    /// Files of these tables are not what was written, or cannot be read.
    #[error("the vector index is damaged: {why}")]
    Lost {
        /// What was met.
        why: String,
        /// The tables.
        lost: Lost,
    },
    /// A task of the index met a defect, or something that it could not make sense of.
    #[error("a task of the vector index panicked: {0}")]
    Panicked(String),
    /// A task of the index ended before its work did.
    #[error("a task of the vector index ended early: {0}")]
    Task(String),
}

impl From<lance::Error> for Error {
    fn from(error: lance::Error) -> Self {
        Self::Lance(Box::new(error))
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Lance(Box::new(error.into()))
    }
}

impl From<Error> for PortError {
    fn from(error: Error) -> Self {
        match error {
            Error::Lost { why, lost } => Self::Damaged { why, lost },
            Error::InTable { table, source } => match Self::from(*source) {
                Self::Damaged { why, .. } => Self::Damaged {
                    why,
                    lost: Lost::table(table),
                },
                other => other,
            },
            _ if Says::of(&error) == Says::Damage => Self::Damaged {
                why: error.to_string(),
                lost: Lost::All,
            },
            Error::Shape { .. } | Error::Config(_) => Self::Unusable(error.to_string()),
            Error::Io { .. }
            | Error::Lance(_)
            | Error::Older { .. }
            | Error::Damaged(_)
            | Error::Panicked(_)
            | Error::Task(_) => Self::Unavailable(error.to_string()),
        }
    }
}

impl Error {
    /// Whether another commit of the same table came first, so that the work can be tried again.
    pub(crate) fn is_overtaken(&self) -> bool {
        let Self::Lance(error) = self else {
            return false;
        };
        matches!(
            **error,
            lance::Error::RetryableCommitConflict { .. }
                | lance::Error::CommitConflict { .. }
                | lance::Error::TooMuchWriteContention { .. }
        )
    }
}
