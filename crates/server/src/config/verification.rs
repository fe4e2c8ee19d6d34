//! `[verification]`: the command by which each project says whether a task reached its aim.
//!
//! Owns the section's form, its defaults and its ranges. It must not know how a command is run, nor what its outcome leads to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};

use super::within;

/// Projects that may name a command: each is followed by a tail, of which one principal has 64 at most.
const PROJECTS_MAX: usize = 32;
/// Words of a command.
const WORDS_MAX: usize = 256;
/// Variables that a project may name.
const VARIABLES_MAX: usize = 64;
/// What stands in a directory for the name of the task's worktree.
const WORKTREE: &str = "{worktree}";

/// `[verification]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerificationConfig {
    /// As whom commands are run: the numbers of a user and of the only group that it is in, such as `990:990`; as whoever
    /// started the server, when empty. To become another user it has to be root.
    pub user: String,
    /// Each project that names a command, once.
    pub projects: Vec<ProjectVerification>,
}

/// A user, and the only group that it is in. Neither is root's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationUser {
    /// The user's number.
    pub uid: u32,
    /// The group's.
    pub gid: u32,
}

impl FromStr for VerificationUser {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let numbers = text.split_once(':');
        let parsed = numbers.and_then(|(uid, gid)| {
            Some(Self {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            })
        });
        parsed
            .filter(|user| user.uid != 0 && user.gid != 0)
            .ok_or_else(|| {
                let why = format!(
                    "configuration verification.user: '{text}' is no USER:GROUP in numbers, neither of which is root's"
                );
                Error::new(ErrorCode::InvalidArgument, why)
            })
    }
}

/// `[[verification.projects]]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectVerification {
    /// The project.
    pub scope: Scope,
    /// The command, word by word: no shell reads it.
    pub command: Vec<String>,
    /// Where it is run: the work tree. `{worktree}` stands for the name of the task's worktree.
    pub directory: PathBuf,
    /// How long it may take, in s. One that takes longer has failed.
    #[serde(default = "usual_timeout_s")]
    pub timeout_s: u64,
    /// What the command finds in its environment, besides `PATH` and a few others of the server's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

const fn usual_timeout_s() -> u64 {
    1_800
}

impl VerificationConfig {
    /// As whom commands are run; none is named where nobody is configured.
    ///
    /// # Errors
    /// `invalid_argument` where what is configured is no user, or root.
    pub fn run_as(&self) -> Result<Option<VerificationUser>, Error> {
        if self.user.is_empty() {
            return Ok(None);
        }
        self.user.parse().map(Some)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        within(
            "verification.projects",
            self.projects.len(),
            0..=PROJECTS_MAX,
        )?;
        self.run_as()?;
        for (place, project) in self.projects.iter().enumerate() {
            project.check()?;
            let before = &self.projects[..place];
            if before.iter().any(|other| other.scope == project.scope) {
                return Err(refused(&project.scope, "is named twice"));
            }
        }
        Ok(())
    }
}

impl ProjectVerification {
    fn check(&self) -> Result<(), Error> {
        let refused = |why| Err(refused(&self.scope, why));
        if self.scope.level() != Level::Project {
            return refused("is no project");
        }
        let is_command = self
            .command
            .first()
            .is_some_and(|program| !program.is_empty());
        if !is_command || self.command.len() > WORDS_MAX {
            return refused("needs a command of at most 256 words");
        }
        if !self.directory.is_absolute() {
            return refused("needs a directory from the root on");
        }
        let is_name = |name: &String| {
            !name.is_empty() && !name.contains(['=', '\0']) && !name.starts_with("SILLOK_")
        };
        if self.environment.len() > VARIABLES_MAX || !self.environment.keys().all(is_name) {
            return refused("names a variable that is none, or that is the server's own");
        }
        if self.environment.values().any(|value| value.contains('\0')) {
            return refused("gives a variable a value that is none");
        }
        within(
            "verification.projects.timeout_s",
            self.timeout_s,
            1..=86_400,
        )
    }

    /// Where a task of a worktree is verified. A worktree's name is one part of a path, and never `.` or `..`.
    #[must_use]
    pub fn directory_of(&self, worktree: &str) -> PathBuf {
        let text = self.directory.to_string_lossy();
        Path::new(&text.replace(WORKTREE, worktree)).to_owned()
    }
}

fn refused(scope: &Scope, why: &str) -> Error {
    let why = format!("configuration verification.projects: {scope} {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(scope: &str, command: &[&str], directory: &str) -> ProjectVerification {
        ProjectVerification {
            scope: Scope::parse(scope).unwrap(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            directory: directory.into(),
            timeout_s: usual_timeout_s(),
            environment: BTreeMap::new(),
        }
    }

    fn check(projects: Vec<ProjectVerification>) -> Result<(), Error> {
        let config = VerificationConfig {
            projects,
            ..VerificationConfig::default()
        };
        config.check()
    }

    #[test]
    fn a_project_names_its_command_once() {
        let api = project("org/a/project/b", &["make", "test"], "/srv/{worktree}");
        assert_eq!(api.directory_of("main"), Path::new("/srv/main"));
        assert!(check(vec![api.clone()]).is_ok());
        assert!(check(vec![api.clone(), api]).is_err());
        for wrong in [
            project("org/a", &["make"], "/srv"),
            project("org/a/project/b", &[], "/srv"),
            project("org/a/project/b", &[""], "/srv"),
            project("org/a/project/b", &["make"], "srv"),
        ] {
            let shown = format!("{wrong:?}");
            assert!(check(vec![wrong]).is_err(), "{shown}");
        }
    }

    #[test]
    fn what_is_verified_is_never_run_as_root_nor_told_the_servers_own_settings() {
        let config = |user: &str| VerificationConfig {
            user: user.to_owned(),
            projects: Vec::new(),
        };
        let named = VerificationUser { uid: 990, gid: 991 };
        assert_eq!(config("990:991").run_as().unwrap(), Some(named));
        assert_eq!(config("").run_as().unwrap(), None);
        assert!(config("990:991").check().is_ok() && config("").check().is_ok());
        for wrong in ["0:990", "990:0", "990", "nobody:nogroup", "-1:5", ":"] {
            assert!(config(wrong).check().is_err(), "{wrong}");
        }
        let named = |name: &str| {
            let mut api = project("org/a/project/b", &["make"], "/srv");
            api.environment = BTreeMap::from([(name.to_owned(), "v".to_owned())]);
            check(vec![api])
        };
        assert!(named("RUSTUP_HOME").is_ok());
        for wrong in ["", "A=B", "A\0", "SILLOK_TOKEN"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }
}
