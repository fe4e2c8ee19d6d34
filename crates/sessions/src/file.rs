//! Opening a file that may hold recorded work.
//!
//! Owns that nothing but a plain file is read, and none over its bound: a pipe would be waited for, and a device has no
//! end. It must not know formats.

use std::fs::{self, File, Metadata};
use std::path::Path;

use crate::error::Error;

/// Opens a plain file of at most so many bytes, and says how many it has.
pub(crate) fn open(path: &Path, bytes_max: u64) -> Result<(File, u64), Error> {
    let io = Error::read(path);
    // Looked at before it is opened, since opening a pipe waits for who writes to it.
    plain(path, &fs::metadata(path).map_err(&io)?)?;
    let file = File::open(path).map_err(&io)?;
    let found = file.metadata().map_err(&io)?;
    plain(path, &found)?;
    if found.len() > bytes_max {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            bytes_max,
        });
    }
    Ok((file, found.len()))
}

fn plain(path: &Path, found: &Metadata) -> Result<(), Error> {
    if found.is_file() {
        return Ok(());
    }
    Err(Error::NoFile {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn nothing_but_a_plain_file_within_its_bound_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
        fs::write(&path, "12345").unwrap();
        symlink(&path, &link).unwrap();
        for named in [&path, &link] {
            assert_eq!(open(named, 5).unwrap().1, 5);
        }
        let refused = open(&path, 4).unwrap_err();
        assert!(
            matches!(&refused, Error::TooLarge { bytes_max: 4, .. }),
            "{refused}"
        );
        let socket = folder.path().join("s.jsonl");
        let _listener = UnixListener::bind(&socket).unwrap();
        for named in [folder.path(), socket.as_path(), Path::new("/dev/zero")] {
            let refused = open(named, u64::MAX).unwrap_err();
            assert!(matches!(&refused, Error::NoFile { .. }), "{refused}");
        }
        let none = folder.path().join("none");
        assert!(matches!(open(&none, 5), Err(Error::Read { .. })));
    }
}
