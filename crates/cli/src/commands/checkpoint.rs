//! `audit checkpoint`, and what `audit verify --checkpoint` is held against

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sillok_core::checkpoint::{Checkpoint, parse_hash};
use sillok_core::limits::CHAIN_ENDS_MAX;
use sillok_core::time::Timestamp;
use sillok_server::api::{AuditDifference, CompareChains};

use crate::args::Against;
use crate::failure::Failure;
use crate::output::time;
use crate::progress;
use crate::session::Session;

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    file: PathBuf,
    /// The key that it is signed by.
    key: String,
    scopes: u64,
    made_at: Timestamp,
}

/// Carries out `audit checkpoint`.
///
/// # Errors
/// [`Failure::Usage`] when the file is there; what the server or the disk answers.
pub async fn make(session: &Session, file: &Path) -> Result<(), Failure> {
    let mut target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let why = "a checkpoint is not replaced: name another file";
                Failure::Usage(format!("{} is there: {why}", file.display()))
            }
            _ => failed(file)(error),
        })?;
    let made = match take(session).await {
        Ok(made) => made,
        Err(failure) => {
            // It holds nothing yet; that it is gone is no matter.
            let _ = std::fs::remove_file(file);
            return Err(failure);
        }
    };
    let (checkpoint, text) = made;
    target.write_all(text.as_bytes()).map_err(failed(file))?;
    target.sync_all().map_err(failed(file))?;
    let written = Written {
        file: file.to_owned(),
        key: hex::encode(checkpoint.key),
        scopes: checkpoint.ends.len() as u64,
        made_at: checkpoint.made_at,
    };
    session.output.show(&written, |_| {
        format!(
            "{}: the ends of {} chains as of {}\nsigned by {}",
            written.file.display(),
            written.scopes,
            time(written.made_at),
            written.key
        )
    })
}

/// A checkpoint of the server, as it is and as it reads.
async fn take(session: &Session) -> Result<(Checkpoint, String), Failure> {
    let shown = progress::waiting("the server reads the ends of all chains");
    let view = progress::during(shown, session.client.checkpoint()).await?;
    let checkpoint = Checkpoint::parse(&view.text).map_err(verdict)?;
    checkpoint.check(None).map_err(verdict)?;
    Ok((checkpoint, view.text))
}

/// The checkpoint that an audit is to be held against, signed as it has to be; none where none is asked for.
///
/// # Errors
/// [`Failure::Verdict`] when it is none, or not signed so.
pub(super) fn read(against: &Against) -> Result<Option<Checkpoint>, Failure> {
    let Some(file) = &against.checkpoint else {
        return Ok(None);
    };
    let key = against.key.as_deref().map(parse_hash).transpose();
    let key = key.map_err(|error| Failure::Usage(format!("--key: {}", error.message)))?;
    let unreadable = Failure::io(format!("{} cannot be read", file.display()));
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let checkpoint = Checkpoint::parse(&text).map_err(verdict)?;
    checkpoint.check(key.as_ref()).map_err(verdict)?;
    Ok(Some(checkpoint))
}

/// Asks the server whether the ends of a checkpoint are in their chains: the first that is not.
///
/// # Errors
/// [`Failure`]
pub(super) async fn compare(
    session: &Session,
    checkpoint: &Checkpoint,
) -> Result<Option<AuditDifference>, Failure> {
    for ends in checkpoint.ends.chunks(CHAIN_ENDS_MAX) {
        let ends = ends.iter().map(Into::into).collect();
        let answer = session
            .client
            .compare_chains(&CompareChains { ends })
            .await?;
        if answer.difference.is_some() {
            return Ok(answer.difference);
        }
    }
    Ok(None)
}

fn verdict(error: sillok_core::Error) -> Failure {
    Failure::Verdict(error.message)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    Failure::io(format!("{} cannot be written", path.display()))
}
