//! The directory of checkpoints: one file for each run of maintenance, the newest of which are kept.
//!
//! Owns the names of the files and what becomes of old ones. What a checkpoint says is core's, and when one is made,
//! the node's. Files of other names are left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ed25519_dalek::SigningKey;
use sillok_core::checkpoint::{ChainEnd, Checkpoint};
use sillok_core::ports::{BoxFuture, Checkpoints, PortError};
use sillok_core::time::Timestamp;

use crate::data_directory::{remove_if_there, write_by_way_of};

/// How the name of a checkpoint ends. Before it stands when it was made, so that names are in the order of time.
const ENDING: &str = ".checkpoint";
/// When a checkpoint was made, as its name says it.
const MADE_AT: &str = "%Y%m%dT%H%M%S%.3fZ";
/// What a checkpoint is called until all of it is on the disk. Runs of maintenance exclude one another.
const UNFINISHED: &str = "unfinished.new";
/// Nobody but its owner writes it, and whoever may enter the directory may read it: it holds no secret.
const MODE: u32 = 0o644;

/// A directory that is there, on a disk that the store does not lie on.
#[derive(Clone)]
pub(crate) struct CheckpointDirectory {
    path: PathBuf,
    kept: usize,
    key: SigningKey,
}

impl CheckpointDirectory {
    /// The directory at a path, in which so many checkpoints are kept.
    pub(crate) fn new(path: PathBuf, kept: usize, key: SigningKey) -> Self {
        assert!(kept > 0, "the configuration was checked");
        Self { path, kept, key }
    }

    fn write(
        &self,
        made_at: Timestamp,
        generation: u32,
        ends: Vec<ChainEnd>,
    ) -> io::Result<PathBuf> {
        let text = Checkpoint::sign(made_at, generation, ends, &self.key).to_text();
        let path = self.path.join(name(made_at));
        let beside = self.path.join(UNFINISHED);
        if let Err(error) = write_by_way_of(&beside, &path, text.as_bytes(), MODE) {
            // On a disk that is full it would take room from the next one.
            let _ = remove_if_there(&beside);
            return Err(error);
        }
        if let Err(error) = self.let_go_of_old(&path) {
            let path = self.path.display();
            tracing::warn!(%error, "old checkpoints in {path} were not removed");
        }
        Ok(path)
    }

    /// Removes checkpoints beyond those that are kept: the oldest ones, but first those that bear a later time than the one
    /// that was just made. A clock that was ahead made them, or this one's is behind; in either case they are older than
    /// it, and would otherwise keep their places until that time has come. The one that was just made stays.
    fn let_go_of_old(&self, made: &Path) -> io::Result<()> {
        let mut others = Vec::new();
        for file in fs::read_dir(&self.path)? {
            let path = file?.path();
            if path != made && is_checkpoint(&path) {
                others.push(path);
            }
        }
        let is_ahead = |path: &Path| path > made;
        others.sort_unstable_by(|one, other| {
            let ahead = is_ahead(other).cmp(&is_ahead(one));
            ahead.then_with(|| one.cmp(other))
        });
        let beyond = (others.len() + 1).saturating_sub(self.kept);
        others
            .iter()
            .take(beyond)
            .try_for_each(|old| remove_if_there(old))
    }

    fn failed(&self, error: &io::Error) -> PortError {
        let path = self.path.display();
        PortError::Unavailable(format!("writing a checkpoint into {path}: {error}"))
    }
}

impl Checkpoints for CheckpointDirectory {
    fn file(&self, made_at: Timestamp) -> String {
        self.path.join(name(made_at)).display().to_string()
    }

    fn keep(
        &self,
        made_at: Timestamp,
        generation: u32,
        ends: Vec<ChainEnd>,
    ) -> BoxFuture<'_, Result<String, PortError>> {
        let directory = self.clone();
        let writing =
            tokio::task::spawn_blocking(move || directory.write(made_at, generation, ends));
        Box::pin(async move {
            let written = writing
                .await
                .unwrap_or_else(|lost| Err(io::Error::other(lost)));
            match written {
                Ok(path) => Ok(path.display().to_string()),
                Err(error) => Err(self.failed(&error)),
            }
        })
    }
}

fn name(made_at: Timestamp) -> String {
    let ms = i64::try_from(made_at.ms()).ok();
    let time = ms.and_then(DateTime::<Utc>::from_timestamp_millis);
    let time = time.expect("a clock says a time of this era");
    format!("{}{ENDING}", time.format(MADE_AT))
}

fn is_checkpoint(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let made_at = name.and_then(|name| name.strip_suffix(ENDING));
    made_at.is_some_and(|made_at| chrono::NaiveDateTime::parse_from_str(made_at, MADE_AT).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &Path, kept: usize) -> CheckpointDirectory {
        CheckpointDirectory::new(path.to_owned(), kept, SigningKey::from_bytes(&[7; 32]))
    }

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(1_790_000_000_000 + ms)
    }

    fn names(path: &Path) -> Vec<String> {
        let files = fs::read_dir(path).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn the_newest_are_kept_and_other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for other in ["mine.checkpoint", "20260101T000000.000Z", "readme"] {
            fs::write(folder.path().join(other), "mine").unwrap();
        }
        let directory = directory(folder.path(), 2);
        let mut made = Vec::new();
        for ms in [5_000, 9_000, 7_000, 10_000] {
            let file = directory.keep(at(ms), 1, Vec::new()).await.unwrap();
            assert_eq!(file, directory.file(at(ms)));
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(Checkpoint::parse(&text).unwrap().check(None), Ok(()));
            made.push(name(at(ms)));
        }
        let mut expected = vec![
            "20260101T000000.000Z".to_owned(),
            made[2].clone(),
            made[3].clone(),
            "mine.checkpoint".to_owned(),
            "readme".to_owned(),
        ];
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        // The clock was set back: what is new stays all the same.
        let file = directory.keep(at(1_000), 1, Vec::new()).await.unwrap();
        assert!(Path::new(&file).exists());
        assert!(names(folder.path()).contains(&made[3]));
    }

    #[tokio::test]
    async fn nights_of_a_clock_that_was_ahead_give_up_their_places_first() {
        let folder = tempfile::tempdir().unwrap();
        let directory = directory(folder.path(), 3);
        for ms in [100_000, 101_000, 1_000, 2_000, 3_000] {
            directory.keep(at(ms), 1, Vec::new()).await.unwrap();
        }
        let expected = [1_000, 2_000, 3_000].map(|ms| name(at(ms)));
        assert_eq!(names(folder.path()), expected);
        // And from then on the oldest go.
        directory.keep(at(4_000), 1, Vec::new()).await.unwrap();
        let expected = [2_000, 3_000, 4_000].map(|ms| name(at(ms)));
        assert_eq!(names(folder.path()), expected);
    }

    #[tokio::test]
    async fn nothing_is_left_of_what_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let missing = directory(&folder.path().join("missing"), 2);
        let error = missing.keep(at(0), 1, Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        assert!(
            !missing.path.exists(),
            "a disk that is not there is not made up for"
        );
        // The name is taken by what cannot be replaced.
        let taken = directory(folder.path(), 2);
        fs::create_dir(folder.path().join(name(at(0)))).unwrap();
        taken.keep(at(0), 1, Vec::new()).await.unwrap_err();
        assert_eq!(names(folder.path()), [name(at(0))]);
    }
}
