//! The work trees whose source files the server follows.
//!
//! Owns which of them a scope is told of, and that what is not known yet is not taken for what is not there. It must not
//! know how files are read, nor what is asked of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sillok_code::WorkTree;
use sillok_code::follow::{FollowOptions, Follower};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::scope::Scope;

/// What a caller is told to wait while a work tree is looked at for the first time.
const RETRY_AFTER_MS: u64 = 1_000;

/// The work trees that are followed, until this is dropped.
#[derive(Debug, Default)]
pub struct Code {
    trees: BTreeMap<Scope, PathBuf>,
    /// None where nothing is followed.
    follower: Option<Follower>,
}

impl Code {
    /// Follows the work trees of these scopes. What is known of them is kept in `cache`. They are watched before this returns,
    /// and read afterwards, on threads of their own.
    ///
    /// # Errors
    /// `invalid_argument` naming the key, where one is not there or cannot be watched.
    pub fn follow(trees: BTreeMap<Scope, PathBuf>, cache: PathBuf) -> Result<Self, Error> {
        if trees.is_empty() {
            return Ok(Self::default());
        }
        for (scope, root) in &trees {
            if !root.is_dir() {
                let why = format!("{scope}: {} is no folder", root.display());
                return Err(unusable(&why));
            }
        }
        let named = trees.iter();
        let options = FollowOptions {
            trees: named
                .map(|(scope, root)| (scope.to_string(), root.clone()))
                .collect(),
            cache: Some(cache),
            ..FollowOptions::default()
        };
        let follower = Follower::start(options).map_err(|error| unusable(&error.to_string()))?;
        Ok(Self {
            trees,
            follower: Some(follower),
        })
    }

    /// Reads what is known of the work tree that whoever stands in `scope` is told of: its own, or the nearest one around it.
    /// Nothing is put in meanwhile: it is for a thread that may wait.
    ///
    /// # Errors
    /// `not_found` where there is none, `busy` where it was not looked at yet, and what `read` answers.
    pub(crate) fn read<T>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Seen<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.look(scope, |seen| {
            if seen.tree.generation() == 0 {
                let why = format!("the work tree of {} is read for the first time", seen.scope);
                return Err(Error::busy(why, RETRY_AFTER_MS));
            }
            read(seen)
        })
    }

    /// As [`read`](Self::read), also where it was not looked at yet.
    ///
    /// # Errors
    /// `not_found`, and what `read` answers.
    pub(crate) fn look<T>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Seen<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let around = scope.with_ancestors();
        let nearest = around.iter().find(|around| self.trees.contains_key(around));
        let (Some(nearest), Some(follower)) = (nearest, &self.follower) else {
            let why = format!(
                "no work tree of {scope} or of what is around it is followed: [code] names them"
            );
            return Err(Error::new(ErrorCode::NotFound, why));
        };
        let is_partial = follower.is_partial();
        follower.read(|index| {
            let tree = index.tree(nearest.as_str()).ok_or_else(|| {
                let why = format!("the work tree of {nearest} is not in the index");
                Error::new(ErrorCode::Internal, why)
            })?;
            read(&Seen {
                scope: nearest,
                tree,
                is_partial,
            })
        })
    }
}

impl Drop for Code {
    /// Leaves the look that is being taken to a thread of its own: a server that ends does not wait for it.
    fn drop(&mut self) {
        if let Some(follower) = self.follower.take() {
            // Where there is no thread, it is waited for.
            let left = std::thread::Builder::new().spawn(move || drop(follower));
            drop(left);
        }
    }
}

/// A work tree that somebody looks at.
pub(crate) struct Seen<'t> {
    /// The scope that it is the work tree of.
    pub(crate) scope: &'t Scope,
    pub(crate) tree: &'t WorkTree,
    /// Whether some folders of what is followed are not watched.
    pub(crate) is_partial: bool,
}

fn unusable(why: &str) -> Error {
    let why = format!("configuration code.work_trees: {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);

    fn scope(text: &str) -> Scope {
        Scope::parse(text).unwrap()
    }

    fn names(code: &Code, of: &str) -> Result<(String, Vec<String>), Error> {
        code.read(&scope(of), |seen| {
            let paths = seen.tree.paths().map(ToString::to_string).collect();
            Ok((seen.scope.to_string(), paths))
        })
    }

    #[test]
    fn whoever_stands_in_a_scope_is_told_of_the_nearest_work_tree_around_it_and_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut trees = BTreeMap::new();
        for (of, name) in [
            ("org/a/project/p", "p"),
            ("org/a/project/p/worktree/w", "w"),
        ] {
            let root = folder.path().join(name);
            fs::create_dir(&root).unwrap();
            fs::write(root.join(format!("{name}.py")), "def f():\n    pass\n").unwrap();
            trees.insert(scope(of), root);
        }
        let code = Code::follow(trees, folder.path().join("cache")).unwrap();
        let began = Instant::now();
        while names(&code, "org/a/project/p/worktree/w")
            .is_err_and(|error| error.code == ErrorCode::Busy)
        {
            assert!(began.elapsed() < WAIT, "it is never looked at");
            sleep(Duration::from_millis(10));
        }
        let tree = |of: &str, file: &str| Ok((of.to_owned(), vec![file.to_owned()]));
        for (of, found) in [
            ("org/a/project/p", tree("org/a/project/p", "p.py")),
            (
                "org/a/project/p/worktree/v",
                tree("org/a/project/p", "p.py"),
            ),
            (
                "org/a/project/p/worktree/w",
                tree("org/a/project/p/worktree/w", "w.py"),
            ),
            (
                "org/a/project/p/worktree/w/task/t",
                tree("org/a/project/p/worktree/w", "w.py"),
            ),
        ] {
            assert_eq!(names(&code, of), found, "{of}");
        }
        for of in ["org/a", "org/a/project/q", "org/b/project/p"] {
            assert_eq!(
                names(&code, of).unwrap_err().code,
                ErrorCode::NotFound,
                "{of}"
            );
        }
    }

    #[test]
    fn a_work_tree_that_is_not_there_is_refused_and_without_any_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let at = scope("org/a/project/p");
        let trees = BTreeMap::from([(at.clone(), folder.path().join("none"))]);
        let refused = Code::follow(trees, folder.path().join("cache")).unwrap_err();
        assert!(refused.message.contains("code.work_trees"), "{refused}");
        let none = Code::follow(BTreeMap::new(), folder.path().join("cache")).unwrap();
        let nothing = none.look(&at, |_| Ok(()));
        assert_eq!(nothing.unwrap_err().code, ErrorCode::NotFound);
        assert!(!folder.path().join("cache").exists());
    }
}
