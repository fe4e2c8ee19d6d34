//! `[code]`: which work trees the server reads the source files of.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};

/// Work trees that are named at most: all of them share the bounds of one index.
const WORK_TREES_MAX: usize = 64;

/// `[code]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeConfig {
    /// The work tree of a project or of a worktree, by its scope: an absolute path. Its source files are read, watched
    /// and never written. Whoever stands in such a scope or inside it is told of the nearest one.
    pub work_trees: BTreeMap<String, PathBuf>,
}

impl CodeConfig {
    /// Where the work tree of each scope lies.
    ///
    /// # Errors
    /// `invalid_argument` naming the key.
    pub fn of_scopes(&self) -> Result<BTreeMap<Scope, PathBuf>, Error> {
        let refused = |scope: &str, why: &str| {
            let why = format!("configuration code.work_trees: {scope}: {why}");
            Err(Error::new(ErrorCode::InvalidArgument, why))
        };
        if self.work_trees.len() > WORK_TREES_MAX {
            return refused("all", "too many work trees");
        }
        let mut of_scopes = BTreeMap::new();
        for (name, path) in &self.work_trees {
            let scope = Scope::parse(name).ok();
            let has_one = |scope: &Scope| matches!(scope.level(), Level::Project | Level::Worktree);
            let Some(scope) = scope.filter(has_one) else {
                let why =
                    "a project or a worktree is named as org/NAME/project/NAME[/worktree/NAME]";
                return refused(name, why);
            };
            if !path.is_absolute() {
                return refused(name, "the path is absolute");
            }
            of_scopes.insert(scope, path.clone());
        }
        Ok(of_scopes)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.of_scopes().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_or_a_worktree_and_an_absolute_path_are_wanted() {
        let of = |scope: &str, path: &str| CodeConfig {
            work_trees: BTreeMap::from([(scope.to_owned(), path.into())]),
        };
        for scope in ["org/a/project/p", "org/a/project/p/worktree/w"] {
            assert_eq!(of(scope, "/srv/p").of_scopes().unwrap().len(), 1);
        }
        for (scope, path) in [
            ("org/a", "/srv/p"),
            ("org/a/project/p/worktree/w/task/t", "/srv/p"),
            ("p", "/srv/p"),
            ("org/a/project/p", "srv/p"),
            ("org/a/project/p", ""),
        ] {
            let refused = of(scope, path).check().unwrap_err();
            assert!(refused.message.contains("code.work_trees"), "{refused}");
        }
    }
}
