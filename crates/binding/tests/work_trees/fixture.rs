//! Work trees in temporary directories.

use std::path::{Path, PathBuf};
use std::process::Command;

use sillok_binding::WorkTree;
use sillok_core::bound::{Bound, Place};
use tempfile::TempDir;

/// A directory of its own, which goes with it.
pub(crate) struct Fixture(TempDir);

impl Fixture {
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A repository whose commit has `src/a.rs` and `api/b.py`.
    pub(crate) fn repository() -> Self {
        let fixture = Self::empty();
        fixture.init("");
        fixture.write("src/a.rs", "fn a() {}\n");
        fixture.write("api/b.py", "b = 1\n");
        fixture.commit("");
        fixture
    }

    /// Where something lies in it, without links.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn init(&self, path: &str) {
        std::fs::create_dir_all(self.at(path)).unwrap();
        git(&self.at(path), &["init", "--quiet"]);
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.at(""), args)
    }

    /// Commits all that a repository holds, and gives the commit's hash.
    pub(crate) fn commit(&self, path: &str) -> String {
        let dir = self.at(path);
        git(&dir, &["add", "--all"]);
        git(&dir, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
        git(&dir, &["rev-parse", "HEAD"])
    }

    pub(crate) fn look(&self, path: &str) -> WorkTree {
        WorkTree::around(&self.at(path)).unwrap()
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        self.look(path).place().cloned().unwrap()
    }

    pub(crate) fn bound(&self, path: &str, said: &str) -> Bound {
        let bound = self.look(path).bound(said);
        assert_eq!(bound.check(), Ok(()), "what is looked up passes the rules");
        bound
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for variable in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_PREFIX",
    ] {
        command.env_remove(variable);
    }
    let settings = [
        "user.name=t",
        "user.email=t@localhost",
        "commit.gpgsign=false",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
        "core.hooksPath=/dev/null",
    ];
    for setting in settings {
        command.args(["-c", setting]);
    }
    let output = command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The paths of the files that something is bound to.
pub(crate) fn paths(bound: &Bound) -> Vec<&str> {
    bound.files.iter().map(|file| file.path.as_str()).collect()
}
