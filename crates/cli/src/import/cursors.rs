//! How far imports of sessions came, kept beside the data directory's own files.
//!
//! Owns their files, one a task. A cursor that is lost or broken costs time and nothing else: what was imported, the task's
//! log says. It must not know how an import goes on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sillok_core::id::{CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_server::data_directory::make_private;
use sillok_sessions::Cursor;

use crate::failure::Failure;

/// Bytes of a task's hash in the name of its file.
const NAME_BYTES: usize = 16;
/// Bytes of one file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How far an import came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The command that opened the task.
    pub opening: CommandId,
    /// Where reading the session goes on.
    pub cursor: Cursor,
    /// How many of its records there are.
    pub records: u64,
    /// Where the last of them stands.
    pub seq: Seq,
    /// The command that it came with.
    pub command: CommandId,
}

/// The cursors of a data directory.
#[derive(Clone, Debug)]
pub struct Cursors {
    folder: PathBuf,
}

impl Cursors {
    /// Those that are kept in this folder.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    fn path(&self, task: &Scope) -> PathBuf {
        let hash = blake3::hash(task.as_str().as_bytes());
        let name = hex::encode(&hash.as_bytes()[..NAME_BYTES]);
        self.folder.join(format!("{name}.json"))
    }

    /// How far the import into a task came; none where nobody knows.
    #[must_use]
    pub fn load(&self, task: &Scope) -> Option<Kept> {
        let path = self.path(task);
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= FILE_BYTES_MAX);
        let bytes = is_small.then(|| std::fs::read(&path).ok())??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps how far it came, whole or not at all.
    ///
    /// # Errors
    /// [`Failure::Io`]
    pub fn save(&self, task: &Scope, kept: &Kept) -> Result<(), Failure> {
        let path = self.path(task);
        let failed = |path: &Path| Failure::io(format!("{} cannot be written", path.display()));
        make_private(&self.folder).map_err(failed(&self.folder))?;
        let text = serde_json::to_string(kept).expect("plain data is JSON");
        let draft = path.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&draft, text + "\n").map_err(failed(&draft))?;
        std::fs::rename(&draft, &path).map_err(failed(&path))
    }
}

#[cfg(test)]
mod tests {
    use sillok_sessions::Reader;
    use sillok_sessions::format::Client;

    use super::*;
    use crate::client::new_command_id;

    #[test]
    fn a_cursor_is_kept_for_its_task_alone_and_a_broken_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let cursors = Cursors::at(folder.path().join("new/imports"));
        let scope =
            |name| Scope::parse(&format!("org/a/project/b/worktree/c/task/{name}")).unwrap();
        let (one, other) = (scope("one"), scope("other"));
        assert_eq!(cursors.load(&one), None);
        let reader = Reader::new(Client::Codex, None, None, &b""[..]);
        let kept = Kept {
            opening: new_command_id(),
            cursor: reader.cursor(),
            records: 3,
            seq: Seq::new(4),
            command: new_command_id(),
        };
        cursors.save(&one, &kept).unwrap();
        assert_eq!(cursors.load(&one), Some(kept));
        assert_eq!(cursors.load(&other), None);
        assert_eq!(
            std::fs::read_dir(&cursors.folder).unwrap().count(),
            1,
            "no draft is left"
        );
        std::fs::write(cursors.path(&one), "{\"opening\":7}").unwrap();
        assert_eq!(cursors.load(&one), None);
    }
}
