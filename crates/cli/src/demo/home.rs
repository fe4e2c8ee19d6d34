//! Where a demo lives on disk, and what it leaves for the commands that follow.
//!
//! Owns the demo's own data directory, which is made anew each time, and its place inside a data
//! directory that the user named, where nothing is removed.

use std::path::{Path, PathBuf};

use sillok_core::scope::Scope;
use sillok_server::data_directory::make_private;

use crate::args::Global;
use crate::data_directory::{Context, DataDirectory};
use crate::failure::Failure;

/// Marks a directory as one that the demo made for itself and may remove.
const MARK: &str = "made-by-sillok-demo";

/// Where a demo lives.
#[derive(Debug)]
pub struct Home {
    /// The data directory.
    pub data: DataDirectory,
    /// A new folder inside it, for what the demo makes.
    pub folder: PathBuf,
    /// The project, new in this data directory.
    pub project: Scope,
    /// Whether commands without flags are to find the data directory: it is the demo's own, and no
    /// server of the user's runs that they would rather mean.
    found_by_default: bool,
}

impl Home {
    /// Prepares the directory that the flags name, or the demo's own, emptied.
    ///
    /// # Errors
    /// [`Failure::InUse`] when a server has it, [`Failure::Config`] when it is not the demo's to empty.
    pub async fn prepare(global: &Global, name: &str) -> Result<Self, Failure> {
        let (data, own) = match &global.data {
            Some(path) => (DataDirectory::at(path), false),
            None => (
                DataDirectory::at(DataDirectory::default_one().path().join("demo")),
                true,
            ),
        };
        if let Some(url) = data.server().await {
            return Err(Failure::InUse {
                data: data.path().to_owned(),
                url,
            });
        }
        if own {
            empty(data.path())?;
        }
        let (number, folder) = new_folder(data.path())?;
        let name = if number == 1 {
            name.to_owned()
        } else {
            format!("{name}-{number}")
        };
        let project = Scope::parse("org/demo")?.child(&name)?;
        let is_meant = own && DataDirectory::is_default(global)?;
        let found_by_default = is_meant && DataDirectory::default_one().server().await.is_none();
        Ok(Self {
            data,
            folder,
            project,
            found_by_default,
        })
    }

    /// The flags by which later commands find the data directory; none where they find it.
    #[must_use]
    pub fn flags(&self) -> String {
        if self.found_by_default {
            String::new()
        } else {
            format!(" --data {}", self.data.path().display())
        }
    }

    /// Leaves a note, so that later commands find the demo's project, and its data directory where
    /// they are to.
    ///
    /// # Errors
    /// [`Failure`]
    pub fn leave_context(&self) -> Result<(), Failure> {
        self.data.set_context(&Context {
            scope: Some(self.project.clone()),
            data: None,
        })?;
        if self.found_by_default {
            let default = DataDirectory::default_one();
            let before = default.context()?;
            default.set_context(&Context {
                data: Some(self.data.path().to_owned()),
                ..before
            })?;
        }
        Ok(())
    }
}

/// Removes what an earlier demo left, and nothing else.
fn empty(path: &Path) -> Result<(), Failure> {
    let failed = || format!("{} cannot be emptied", path.display());
    let is_there = path.try_exists().map_err(Failure::io(failed()))?;
    if is_there {
        let is_empty = std::fs::read_dir(path)
            .map_err(Failure::io(failed()))?
            .next()
            .is_none();
        if !is_empty && !path.join(MARK).is_file() {
            let why = format!(
                "{} was not made by a demo: it is left alone; pass --data",
                path.display()
            );
            return Err(Failure::Config(why));
        }
        std::fs::remove_dir_all(path).map_err(Failure::io(failed()))?;
    }
    make_private(path).map_err(Failure::io(failed()))?;
    std::fs::write(
        path.join(MARK),
        "sillok demo empties this directory when it starts\n",
    )
    .map_err(Failure::io(failed()))
}

/// A folder that no earlier demo made, and its number.
fn new_folder(data: &Path) -> Result<(u32, PathBuf), Failure> {
    make_private(data).map_err(Failure::io(format!("{} cannot be made", data.display())))?;
    let data = data
        .canonicalize()
        .map_err(Failure::io(format!("{} cannot be made", data.display())))?;
    for number in 1.. {
        let folder = data.join(format!("demo-{number}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok((number, folder)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::io(format!("{} cannot be made", folder.display()))(
                    error,
                ));
            }
        }
    }
    unreachable!("a directory holds fewer folders than there are numbers")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_a_demo_made_is_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo");
        empty(&path).unwrap();
        std::fs::write(path.join("old"), "x").unwrap();
        empty(&path).unwrap();
        assert!(!path.join("old").exists());
        let foreign = folder.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("precious"), "x").unwrap();
        assert!(matches!(empty(&foreign), Err(Failure::Config(_))));
        assert!(foreign.join("precious").exists());
    }

    #[tokio::test]
    async fn what_a_demo_makes_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("share/sillok/demo");
        empty(&own).unwrap();
        let named = folder.path().join("named/data");
        let global = Global {
            data: Some(named.clone()),
            ..Global::default()
        };
        Home::prepare(&global, "tally").await.unwrap();
        for path in [&own, &named] {
            for path in path.ancestors().take_while(|path| *path != folder.path()) {
                let mode = std::fs::metadata(path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "{}", path.display());
            }
        }
    }

    #[tokio::test]
    async fn a_second_demo_in_a_named_directory_has_a_project_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let global = Global {
            data: Some(folder.path().into()),
            ..Global::default()
        };
        let first = Home::prepare(&global, "tally").await.unwrap();
        let second = Home::prepare(&global, "tally").await.unwrap();
        assert_eq!(first.project.as_str(), "org/demo/project/tally");
        assert_eq!(second.project.as_str(), "org/demo/project/tally-2");
        assert_ne!(first.folder, second.folder);
        second.leave_context().unwrap();
        assert_eq!(
            second.data.context().unwrap().scope,
            Some(second.project.clone())
        );
    }
}
