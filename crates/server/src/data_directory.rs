//! The data directory: where everything of one server lies.
//!
//! Owns the names and modes of its files, and writing them so that a crash leaves the old or the
//! new one. It must not know what the store or the index hold.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::ServerConfig;
use crate::secrets::{TokenKey, new_secret};

/// The mode of the directory, and of the files in it that hold a secret.
const DIRECTORY_MODE: u32 = 0o700;
const SECRET_MODE: u32 = 0o600;
/// The bits of a mode that let others in than the owner, and the one that marks a shared directory.
const OTHERS: u32 = 0o077;
const READ_BY_ALL: u32 = 0o004;
const STICKY: u32 = 0o1000;

/// The layout of a data directory.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    path: PathBuf,
}

/// What stands in `server.json` while a server serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The base of the server's URLs, such as `http://127.0.0.1:7411`.
    pub url: String,
    /// Where it listens.
    pub address: std::net::SocketAddr,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

impl DataDirectory {
    /// The directory at `path`, made as [`make_private`] does.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        make_private(&path).map_err(failed("making the data directory", &path))?;
        Ok(Self { path })
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store's directory.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Where a store is made ready before it is the directory's own.
    #[must_use]
    pub fn store_being_restored(&self) -> PathBuf {
        self.path.join("store.restoring")
    }

    /// The file that [`lock`](Self::lock) holds.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.path.join("node.lock")
    }

    /// The index's directory.
    #[must_use]
    pub fn vectors(&self) -> PathBuf {
        self.path.join("vectors")
    }

    /// The folder with what is known of source files: it can be removed, and is then made again.
    #[must_use]
    pub fn code(&self) -> PathBuf {
        self.path.join("code")
    }

    /// The file with the administrator's token: the one that the configuration names, or one of its own.
    #[must_use]
    pub fn admin_token_file(&self, config: &ServerConfig) -> PathBuf {
        named(&config.admin_token_file)
            .map_or_else(|| self.path.join("admin.token"), Path::to_owned)
    }

    fn token_key_file(&self) -> PathBuf {
        self.path.join("token.key")
    }

    fn server_file(&self) -> PathBuf {
        self.path.join("server.json")
    }

    /// Keeps other processes out, for as long as the answer lives.
    ///
    /// # Errors
    /// [`Error::Locked`] or [`Error::File`].
    pub fn lock(&self) -> Result<Lock, Error> {
        let path = self.lock_file();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(SECRET_MODE)
            .open(&path)
            .map_err(failed("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked {
                path: self.path.clone(),
            }),
            Err(TryLockError::Error(source)) => Err(failed("locking", &path)(source)),
        }
    }

    /// The administrator's secret. Where the configuration names no file it is made when there is none.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Foreign`] when the file holds no token.
    pub fn admin_secret(&self, config: &ServerConfig) -> Result<String, Error> {
        let path = self.admin_token_file(config);
        let given = named(&config.admin_token_file).is_some();
        let text = if given {
            Some(read_given(&path)?)
        } else {
            read_secret(&path)?
        };
        let Some(text) = text else {
            let secret = new_secret();
            write_whole(&path, format!("{secret}\n").as_bytes(), SECRET_MODE)?;
            return Ok(secret);
        };
        let secret = String::from_utf8(text).unwrap_or_default();
        let secret = secret.trim();
        if !crate::secrets::has_form(secret) {
            return Err(Error::Foreign {
                path,
                expected: "a token",
            });
        }
        Ok(secret.to_owned())
    }

    /// The key that the secrets of tokens are derived from: 64 hexadecimal digits in the file that the
    /// configuration names, or 32 bytes in one of its own, which is made when there is none.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Foreign`] when the file holds no key.
    pub fn token_key(&self, config: &ServerConfig) -> Result<TokenKey, Error> {
        if let Some(path) = named(&config.token_key_file) {
            let text = read_given(path)?;
            let bytes = hex::decode(text.trim_ascii()).unwrap_or_default();
            return TokenKey::from_bytes(&bytes).ok_or_else(|| Error::Foreign {
                path: path.to_owned(),
                expected: "a key of 64 hexadecimal digits",
            });
        }
        let path = self.token_key_file();
        if let Some(bytes) = read_secret(&path)? {
            return TokenKey::from_bytes(&bytes).ok_or(Error::Foreign {
                path,
                expected: "a key of 32 bytes",
            });
        }
        let key = TokenKey::random();
        write_whole(&path, key.as_bytes(), SECRET_MODE)?;
        Ok(key)
    }

    /// Tells other processes where the server is. The file is removed when the answer is dropped.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn announce(&self, server: &ServerFile) -> Result<Announcement, Error> {
        let path = self.server_file();
        let text = serde_json::to_vec(server).expect("plain data always encodes");
        write_whole(&path, &text, 0o644)?;
        Ok(Announcement { path })
    }
}

/// Keeps other processes out of a data directory; the system lets go of it with the process.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Word of a running server, taken back when dropped.
#[derive(Debug)]
pub struct Announcement {
    path: PathBuf,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A file that stays behind names a process that is gone: who reads it looks for that.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes a directory that is its owner's alone, with what is missing above it. One that others
/// may enter is closed to them where that can be done; a directory that is for everybody by its
/// nature, such as `/tmp`, is left as it is.
///
/// # Errors
/// What the file system answered.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let shown = path.display();
    if mode & STICKY != 0 {
        tracing::warn!("{shown} is everybody's directory: it is left open to others");
        return Ok(());
    }
    // The secrets inside have modes of their own, so a directory of another owner still serves.
    match fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)) {
        Ok(()) => tracing::warn!("{shown} was open to others: it has mode 0700 now"),
        Err(error) => tracing::warn!(%error, "{shown} is open to others and cannot be closed"),
    }
    Ok(())
}

/// A file that is named, if one is.
fn named(file: &Path) -> Option<&Path> {
    (!file.as_os_str().is_empty()).then_some(file)
}

/// The bytes of a secret's file that somebody else keeps. It is left as it is.
fn read_given(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = fs::read(path).map_err(failed("reading", path))?;
    let mode = fs::metadata(path).map_err(failed("reading", path))?;
    if mode.permissions().mode() & READ_BY_ALL != 0 {
        tracing::warn!("{} is open to everybody", path.display());
    }
    Ok(bytes)
}

/// The bytes of a secret's file, which is closed to others first; none when there is no such file.
fn read_secret(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("reading", path)(error)),
    };
    let metadata = file.metadata().map_err(failed("reading", path))?;
    if metadata.permissions().mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(SECRET_MODE))
            .map_err(failed("closing to others", path))?;
        let shown = path.display();
        tracing::warn!(
            "{shown} was open to others: it has mode 0600 now; if somebody else may have read it, \
             remove it and start again"
        );
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(failed("reading", path))?;
    Ok(Some(bytes))
}

/// Writes a file under another name and moves it in place once it is durable.
fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let beside = path.with_extension("new");
    write_by_way_of(&beside, path, bytes, mode).map_err(failed("writing", path))
}

/// Writes a file under a name that nobody else uses, in the same directory, and moves it in place once it is durable.
///
/// # Errors
/// What the file system answered. What was written by then may lie under that name.
pub(crate) fn write_by_way_of(
    beside: &Path,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    // A file that a crash left behind may have another mode.
    remove_if_there(beside)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(beside, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Removes a file, which need not be there.
///
/// # Errors
/// What the file system answered.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::File {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, DataDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::create(folder.path().join("data")).unwrap();
        (folder, directory)
    }

    fn own() -> ServerConfig {
        ServerConfig::default()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn secrets_are_made_once_and_only_their_owner_reads_them() {
        let (_folder, directory) = directory();
        let secret = directory.admin_secret(&own()).unwrap();
        let key = directory.token_key(&own()).unwrap();
        assert_eq!(directory.admin_secret(&own()).unwrap(), secret);
        assert_eq!(
            directory.token_key(&own()).unwrap().as_bytes(),
            key.as_bytes()
        );
        assert_eq!(mode(&directory.admin_token_file(&own())), 0o600);
        assert_eq!(mode(&directory.token_key_file()), 0o600);
        assert_eq!(mode(directory.path()), 0o700);
    }

    #[test]
    fn what_is_open_to_others_is_closed() {
        let (_folder, directory) = directory();
        let secret = directory.admin_secret(&own()).unwrap();
        let key = directory.token_key(&own()).unwrap();
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        open(directory.path(), 0o755);
        open(&directory.admin_token_file(&own()), 0o644);
        open(&directory.token_key_file(), 0o640);
        let again = DataDirectory::create(directory.path()).unwrap();
        assert_eq!(mode(again.path()), 0o700);
        assert_eq!(again.admin_secret(&own()).unwrap(), secret);
        assert_eq!(again.token_key(&own()).unwrap().as_bytes(), key.as_bytes());
        assert_eq!(mode(&again.admin_token_file(&own())), 0o600);
        assert_eq!(mode(&again.token_key_file()), 0o600);
    }

    #[test]
    fn what_is_missing_above_is_private_and_a_shared_directory_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let above = folder.path().join("above");
        DataDirectory::create(above.join("data")).unwrap();
        assert_eq!(mode(&above), 0o700);
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        DataDirectory::create(&shared).unwrap();
        assert_eq!(mode(&shared), 0o777);
    }

    #[test]
    fn a_file_that_holds_something_else_is_refused() {
        let (_folder, directory) = directory();
        fs::write(directory.admin_token_file(&own()), "hello").unwrap();
        fs::write(directory.token_key_file(), "short").unwrap();
        assert!(matches!(
            directory.admin_secret(&own()),
            Err(Error::Foreign { .. })
        ));
        assert!(matches!(
            directory.token_key(&own()),
            Err(Error::Foreign { .. })
        ));
    }

    #[test]
    fn secrets_that_somebody_else_keeps_are_read_and_never_made() {
        let (folder, directory) = directory();
        let config = ServerConfig {
            admin_token_file: folder.path().join("admin"),
            token_key_file: folder.path().join("key"),
            ..own()
        };
        assert!(matches!(
            directory.admin_secret(&config),
            Err(Error::File { .. })
        ));
        assert!(matches!(
            directory.token_key(&config),
            Err(Error::File { .. })
        ));
        let secret = new_secret();
        fs::write(&config.admin_token_file, format!("{secret}\n")).unwrap();
        fs::write(&config.token_key_file, format!("{}\n", "0f".repeat(32))).unwrap();
        let modes = || [mode(&config.admin_token_file), mode(&config.token_key_file)];
        let before = modes();
        assert_eq!(directory.admin_secret(&config).unwrap(), secret);
        assert_eq!(
            directory.token_key(&config).unwrap().as_bytes(),
            &[0x0f; 32]
        );
        assert_eq!(modes(), before);
        fs::write(&config.token_key_file, "0f").unwrap();
        assert!(matches!(
            directory.token_key(&config),
            Err(Error::Foreign { .. })
        ));
    }

    #[test]
    fn one_process_at_a_time_has_a_directory() {
        let (_folder, directory) = directory();
        let lock = directory.lock().unwrap();
        assert!(matches!(directory.lock(), Err(Error::Locked { .. })));
        drop(lock);
        directory.lock().unwrap();
    }

    #[test]
    fn an_announcement_is_taken_back() {
        let (_folder, directory) = directory();
        let address = "127.0.0.1:9".parse().unwrap();
        let server = ServerFile {
            url: "http://127.0.0.1:9".to_owned(),
            address,
            pid: 7,
            version: "0".to_owned(),
        };
        let announcement = directory.announce(&server).unwrap();
        let text = fs::read(directory.server_file()).unwrap();
        assert_eq!(serde_json::from_slice::<ServerFile>(&text).unwrap(), server);
        drop(announcement);
        assert!(!directory.server_file().exists());
    }
}
