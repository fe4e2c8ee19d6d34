//! The repository around a directory, and what it is at.
//!
//! Owns how it is found and opened: the innermost one, if it belongs to whoever asks and is made of plain files. It must not know
//! which files are named.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use sillok_core::bound::{Owner, Place};
use sillok_core::commit::plain_name;
use sillok_core::limits::BOUND_NAME_BYTES_MAX;

use crate::Error;
use crate::limits::{ANCESTORS_MAX, SMALL_FILE_BYTES_MAX};
use crate::state::state_of;

/// What marks the root of a work tree.
pub(crate) const MARK: &str = ".git";
/// The small files of a repository. None of them is read before it is known to be one.
const SMALL_FILES: [&str; 5] = ["HEAD", "config", "config.worktree", "commondir", "shallow"];
/// What begins a file that says where the repository of a work tree lies.
const LEADS: &[u8] = b"gitdir:";

/// A repository that was opened.
#[derive(Debug)]
pub(crate) struct Repository {
    git: gix::Repository,
    /// The root of its work tree, without links; none of a bare one.
    work_tree: Option<PathBuf>,
}

impl Repository {
    /// The innermost repository around a directory that is without links; none where there is none.
    pub(crate) fn around(dir: &Path) -> Result<Option<Self>, Error> {
        let mut above = dir.ancestors().take(ANCESTORS_MAX);
        let found = above.find_map(|dir| {
            let mark = dir.join(MARK);
            if fs::symlink_metadata(&mark).is_ok() {
                return Some(mark);
            }
            is_bare(dir).then(|| dir.to_owned())
        });
        found.map(|found| Self::open(&found)).transpose()
    }

    /// Opens a repository by its mark, or the bare one, as it lies there: no variable of the environment leads elsewhere, and no
    /// configuration but its own is read.
    pub(crate) fn open(found: &Path) -> Result<Self, Error> {
        let unreadable = |why: String| Error::Unreadable {
            path: found.to_owned(),
            why,
        };
        check_owner(found)?;
        let lies_at = led_to(found)?;
        check_owner(&lies_at)?;
        check_plain(&lies_at)?;
        check_plain(&shared_by(&lies_at))?;
        let options = gix::open::Options::isolated().bail_if_untrusted(true);
        let git = gix::open_opts(found, options).map_err(|error| unreadable(error.to_string()))?;
        let work_tree = match git.workdir() {
            None => None,
            Some(root) => Some(
                root.canonicalize()
                    .map_err(|error| unreadable(error.to_string()))?,
            ),
        };
        Ok(Self { git, work_tree })
    }

    /// The root of its work tree, without links; none of a bare one.
    pub(crate) fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// What it is at, seen from a directory inside. Whether it differs from its commit is looked for till `until`.
    pub(crate) fn place(&self, dir: &Path, until: Instant) -> Result<Place, Error> {
        let head = self.git.head().map_err(|error| self.unreadable(&error))?;
        let branch = head.referent_name().map(|name| name.shorten().to_string());
        let is_shallow = self.git.is_shallow().unwrap_or(false);
        Ok(Place {
            repository: self.name()?,
            project: self.project(dir),
            commit: self.commit()?,
            branch: branch.filter(|branch| is_sayable(branch)),
            state: state_of(&self.git, self.work_tree(), until),
            is_shallow,
        })
    }

    /// The repository as the owner of a file.
    pub(crate) fn owner(&self) -> Result<Owner, Error> {
        Ok(Owner {
            repository: self.name()?,
            commit: self.commit()?,
        })
    }

    /// The commit of HEAD; none while there is none.
    fn commit(&self) -> Result<Option<String>, Error> {
        let head = self.git.head().map_err(|error| self.unreadable(&error))?;
        Ok(head.id().map(|id| id.to_string()))
    }

    /// Its name: the remote `origin`, or the only one, or its own path, which is the same from each of its work trees.
    fn name(&self) -> Result<String, Error> {
        let config = self.git.config_snapshot();
        let remotes = self.git.remote_names();
        let mut only = remotes.iter().filter(|_| remotes.len() == 1);
        let url = config
            .string("remote.origin.url")
            .or_else(|| config.string(format!("remote.{}.url", only.next()?).as_str()));
        let by_remote = url.map(|url| plain_name(&url.to_string()));
        // A path that leads from the repository elsewhere means nothing without it.
        let by_remote = by_remote.filter(|name| !name.starts_with('.') && is_sayable(name));
        if let Some(name) = by_remote {
            return Ok(name);
        }
        let path = self.git.common_dir();
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = plain_name(&path.to_string_lossy());
        if is_sayable(&name) {
            Ok(name)
        } else {
            Err(Error::Unreadable {
                path,
                why: "its path is too long, or holds control characters".into(),
            })
        }
    }

    /// Where a directory lies in the work tree, as far as that can be said.
    fn project(&self, dir: &Path) -> String {
        let root = self.work_tree();
        let below = root.and_then(|root| relative(root, dir));
        below.filter(|path| is_sayable(path)).unwrap_or_default()
    }

    fn unreadable(&self, error: &impl std::fmt::Display) -> Error {
        Error::Unreadable {
            path: self.git.git_dir().to_owned(),
            why: error.to_string(),
        }
    }
}

/// A path seen from a root that holds it, with `/` between names; none where it is the root, leads into a repository's own
/// files, or is no text.
pub(crate) fn relative(root: &Path, path: &Path) -> Option<String> {
    let mut names = Vec::new();
    for part in path.strip_prefix(root).ok()?.components() {
        let Component::Normal(name) = part else {
            return None;
        };
        let name = name.to_str()?;
        if name.eq_ignore_ascii_case(MARK) {
            return None;
        }
        names.push(name);
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// Whether something can be said of a binding.
fn is_sayable(name: &str) -> bool {
    (1..=BOUND_NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

fn is_bare(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// Refuses what belongs to somebody else: its configuration, and what it says, are theirs.
fn check_owner(path: &Path) -> Result<(), Error> {
    match gix::sec::Trust::from_path_ownership(path) {
        Ok(gix::sec::Trust::Full) => Ok(()),
        Ok(gix::sec::Trust::Reduced) => Err(Error::Untrusted {
            path: path.to_owned(),
        }),
        Err(error) => Err(Error::Unreadable {
            path: path.to_owned(),
            why: error.to_string(),
        }),
    }
}

/// Where a mark leads: to itself, or, where it is a file, to where that says. One step is all there is.
fn led_to(mark: &Path) -> Result<PathBuf, Error> {
    let unreadable = |why: &str| Error::Unreadable {
        path: mark.to_owned(),
        why: why.into(),
    };
    let found = fs::metadata(mark).map_err(|error| unreadable(&error.to_string()))?;
    if found.is_dir() {
        return Ok(mark.to_owned());
    }
    if !found.is_file() || found.len() > SMALL_FILE_BYTES_MAX {
        return Err(unreadable("it is neither a directory nor a small file"));
    }
    let said = fs::read(mark).map_err(|error| unreadable(&error.to_string()))?;
    let path = said.strip_prefix(LEADS).map(<[u8]>::trim_ascii);
    let path = path.and_then(|path| gix::path::from_byte_slice(path).ok());
    let path = path.ok_or_else(|| unreadable("it leads nowhere"))?;
    let around = mark.parent().unwrap_or(mark);
    let path = around.join(path);
    if path.is_dir() {
        Ok(path)
    } else {
        Err(unreadable("it leads to no directory"))
    }
}

/// Where the configuration of a repository lies: its own directory, or the one that it shares with other work trees.
fn shared_by(git_dir: &Path) -> PathBuf {
    let said = fs::read(git_dir.join("commondir")).unwrap_or_default();
    let path = gix::path::from_byte_slice(said.trim_ascii()).ok();
    path.map_or_else(|| git_dir.to_owned(), |path| git_dir.join(path))
}

/// Refuses a repository whose small files are none: whoever reads a pipe or a device waits for ever.
fn check_plain(git_dir: &Path) -> Result<(), Error> {
    for name in SMALL_FILES {
        let path = git_dir.join(name);
        let Ok(found) = fs::metadata(&path) else {
            continue;
        };
        if !found.is_file() || found.len() > SMALL_FILE_BYTES_MAX {
            return Err(Error::Unreadable {
                path: git_dir.to_owned(),
                why: format!("{name} is no small file"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_said_from_its_root_and_never_leads_into_a_repositorys_own_files() {
        let root = Path::new("/r");
        let of = |path: &str| relative(root, Path::new(path));
        assert_eq!(of("/r/a/b.rs").as_deref(), Some("a/b.rs"));
        for none in ["/r", "/", "/other/a", "/r/.git/config", "/r/a/.GIT/x"] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
