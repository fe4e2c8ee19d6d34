//! Text that is told at a conversation's next event: Cursor takes none at a prompt.
//!
//! Owns one small file a conversation. What is taken is told once, whoever else looks for it at that moment.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::limits::CONTEXT_BYTES_MAX;

/// Others than the owner do not read it.
const MODE: u32 = 0o600;

/// Keeps a text, in place of one that nobody took.
///
/// # Errors
/// What the file system answered.
pub fn keep(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("later.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    fs::rename(beside, path)
}

/// Takes the text that was kept, if one was.
#[must_use]
pub fn take(path: &Path) -> Option<String> {
    // Whoever moves it has it: nobody else can move it again.
    let own = path.with_extension(format!("taken.{}", std::process::id()));
    fs::rename(path, &own).ok()?;
    let mut text = String::new();
    let bound = u64::try_from(CONTEXT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = fs::File::open(&own).and_then(|file| file.take(bound).read_to_string(&mut text));
    let _ = fs::remove_file(&own);
    read.ok().filter(|bytes| *bytes > 0).map(|_| text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_text_is_taken_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursor-1.later");
        assert_eq!(take(&path), None);
        keep(&path, "first").unwrap();
        keep(&path, "second").unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(take(&path).as_deref(), Some("second"));
        assert_eq!(take(&path), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
