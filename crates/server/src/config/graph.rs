//! `[graph]`: which work trees the server reads the source files of, and what of them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sillok_code::WalkOptions;
use sillok_code::debounce::DebounceOptions;
use sillok_code::limits::FOLDERS_MAX;
use sillok_core::decision::Node;
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};

use super::within;

/// Work trees that are named at most: all of them share the bounds of one index.
const WORK_TREES_MAX: usize = 64;
/// How long nothing must change: with less each save would be a look, and after more nobody waits.
const DEBOUNCE_MS: RangeInclusive<u64> = 10..=60_000;

/// `[graph]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphConfig {
    /// Whether work trees are followed at all.
    pub enabled: bool,
    /// The work tree of a project or of a worktree, by its scope: an absolute path. Its source files are read, watched
    /// and never written. Whoever stands in such a scope or inside it is told of the nearest one.
    pub work_trees: BTreeMap<String, PathBuf>,
    /// Folders of each work tree that are read and watched, by their paths from its root; `.` is all of it.
    pub watch: Vec<String>,
    /// How long nothing must change before a change is looked at, in ms.
    pub debounce_ms: u64,
    /// What is passed over beside what git ignores, each as a line of a `.gitignore`.
    pub ignore: Vec<String>,
}

impl Default for GraphConfig {
    fn default() -> Self {
        let debounce = DebounceOptions::default();
        Self {
            enabled: true,
            work_trees: BTreeMap::new(),
            // See ADR 0045: what lies beside `src` depends on what lies in it.
            watch: vec![".".to_owned()],
            debounce_ms: u64::try_from(debounce.quiet.as_millis()).unwrap_or(u64::MAX),
            ignore: WalkOptions::default().ignored,
        }
    }
}

impl GraphConfig {
    /// Where the work tree of each scope lies.
    ///
    /// # Errors
    /// `invalid_argument` naming the key.
    pub fn of_scopes(&self) -> Result<BTreeMap<Scope, PathBuf>, Error> {
        let refused = |scope: &str, why: &str| Err(refused("work_trees", scope, why));
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

    /// What of each work tree is read.
    ///
    /// # Errors
    /// `invalid_argument` naming the key.
    pub fn walk(&self) -> Result<WalkOptions, Error> {
        let walk = WalkOptions {
            ignored: self.ignore.clone(),
            folders: self.folders()?,
            ..WalkOptions::default()
        };
        let checked = walk.check();
        checked.map_err(|error| refused("ignore", "all", &error.to_string()))?;
        Ok(walk)
    }

    /// How long changes are gathered.
    #[must_use]
    pub fn debounce(&self) -> DebounceOptions {
        let usual = DebounceOptions::default();
        let quiet = Duration::from_millis(self.debounce_ms);
        DebounceOptions {
            quiet,
            longest: usual.longest.max(quiet),
            ..usual
        }
    }

    /// The folders by their paths from the root; none for all of it.
    fn folders(&self) -> Result<Vec<String>, Error> {
        if self.watch.len() > FOLDERS_MAX {
            return Err(refused("watch", "all", "too many folders"));
        }
        if self.watch.is_empty() {
            return Err(refused("watch", "none", "at least one folder is read"));
        }
        let (mut folders, mut is_all) = (Vec::new(), false);
        for named in &self.watch {
            let path = named.strip_suffix('/').unwrap_or(named);
            if path == "." {
                is_all = true;
                continue;
            }
            match Node::file(path) {
                Ok(Node::File { path }) => folders.push(path),
                Ok(_) => unreachable!("a path is a file"),
                Err(error) => return Err(refused("watch", named, &error.message)),
            }
        }
        if is_all {
            return Ok(Vec::new());
        }
        folders.sort_unstable();
        folders.dedup();
        Ok(folders)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.of_scopes()?;
        self.walk()?;
        within("graph.debounce_ms", self.debounce_ms, DEBOUNCE_MS)
    }
}

fn refused(key: &str, value: &str, why: &str) -> Error {
    let why = format!("configuration graph.{key}: {value}: {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use sillok_code::limits::GLOBS_MAX;

    use super::*;

    #[test]
    fn a_project_or_a_worktree_and_an_absolute_path_are_wanted() {
        let of = |scope: &str, path: &str| GraphConfig {
            work_trees: BTreeMap::from([(scope.to_owned(), path.into())]),
            ..GraphConfig::default()
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
            assert!(refused.message.contains("graph.work_trees"), "{refused}");
        }
    }

    #[test]
    fn folders_lead_downward_and_all_of_the_tree_is_one_of_them() {
        let of = |folders: &[&str]| GraphConfig {
            watch: folders.iter().map(ToString::to_string).collect(),
            ..GraphConfig::default()
        };
        let walked = |folders: &[&str]| of(folders).walk().unwrap().folders;
        assert_eq!(walked(&["./src", "lib/a/", "src"]), ["lib/a", "src"]);
        for all in [vec!["."], vec!["./"], vec!["src", "."]] {
            assert!(walked(&all).is_empty(), "{all:?}");
        }
        assert!(GraphConfig::default().walk().unwrap().folders.is_empty());
        let many = vec!["a"; FOLDERS_MAX + 1];
        for wrong in [
            vec![],
            vec![""],
            vec!["/src"],
            vec!["../src"],
            vec![".", "a//b"],
            many,
        ] {
            let refused = of(&wrong).check().unwrap_err();
            assert!(refused.message.contains("graph.watch"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_glob_too_many_of_them_and_a_time_out_of_its_range_are_refused() {
        GraphConfig::default().check().unwrap();
        let of = |globs: Vec<String>| GraphConfig {
            ignore: globs,
            ..GraphConfig::default()
        };
        of(Vec::new()).check().unwrap();
        let many = vec!["a".to_owned(); GLOBS_MAX + 1];
        for wrong in [vec!["a[".to_owned()], vec!["{a".to_owned()], many] {
            let refused = of(wrong).check().unwrap_err();
            assert!(refused.message.contains("graph.ignore"), "{refused}");
        }
        for debounce_ms in [0, 9, 60_001] {
            let wrong = GraphConfig {
                debounce_ms,
                ..GraphConfig::default()
            };
            let refused = wrong.check().unwrap_err();
            assert!(refused.message.contains("graph.debounce_ms"), "{refused}");
        }
        let slow = GraphConfig {
            debounce_ms: 60_000,
            ..GraphConfig::default()
        };
        let gathered = slow.debounce();
        assert!(gathered.quiet <= gathered.longest, "{gathered:?}");
    }
}
