//! `[git]`: which repositories the server shares a disk with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};

/// Repositories that are named at most.
const REPOSITORIES_MAX: usize = 1_000;

/// `[git]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GitConfig {
    /// The repository of a project, by the project's scope: the absolute path of a work tree, or of a bare one. The
    /// server judges by it which commits lie before which; for other projects whoever asks does.
    pub repositories: BTreeMap<String, PathBuf>,
}

impl GitConfig {
    /// Where the repository of each project lies.
    ///
    /// # Errors
    /// `invalid_argument` naming the key.
    pub fn of_projects(&self) -> Result<BTreeMap<Scope, PathBuf>, Error> {
        let refused = |project: &str, why: &str| {
            let why = format!("configuration git.repositories: {project}: {why}");
            Err(Error::new(ErrorCode::InvalidArgument, why))
        };
        if self.repositories.len() > REPOSITORIES_MAX {
            return refused("all", "too many repositories");
        }
        let mut of_projects = BTreeMap::new();
        for (project, path) in &self.repositories {
            let scope = Scope::parse(project).ok();
            let Some(scope) = scope.filter(|scope| scope.level() == Level::Project) else {
                return refused(project, "a project is named as org/NAME/project/NAME");
            };
            if !path.is_absolute() {
                return refused(project, "the path is absolute");
            }
            of_projects.insert(scope, path.clone());
        }
        Ok(of_projects)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.of_projects().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_and_an_absolute_path_are_wanted() {
        let of = |project: &str, path: &str| GitConfig {
            repositories: BTreeMap::from([(project.to_owned(), path.into())]),
        };
        let good = of("org/a/project/p", "/srv/p");
        assert_eq!(good.of_projects().unwrap().len(), 1);
        for (project, path) in [
            ("org/a", "/srv/p"),
            ("org/a/project/p/worktree/w", "/srv/p"),
            ("p", "/srv/p"),
            ("org/a/project/p", "srv/p"),
            ("org/a/project/p", ""),
        ] {
            let refused = of(project, path).check().unwrap_err();
            assert!(refused.message.contains("git.repositories"), "{refused}");
        }
    }
}
