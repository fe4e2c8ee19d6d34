//! Running a command that others have written, beside a server.
//!
//! Owns what such a command gets of this process: a short environment, a group of processes of its own that ends with it, and,
//! where one is named, another user. It must not know who asked for it.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use sillok_server::config::{ProjectVerification, VerificationUser};
use tokio::process::Child;

use super::{Echo, End, Execution, Kept, collect, ending, prepared, spawned};
use crate::failure::Failure;

/// What a command sees of this process's environment, where it has it. Everything else may be a secret.
const HANDED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];
/// Handed on where no other user is named: another one has no business there.
const HOME: &str = "HOME";

/// Under which conditions a command is run.
#[derive(Clone, Debug)]
pub struct Apart {
    environment: Vec<(OsString, OsString)>,
    user: Option<VerificationUser>,
    timeout: Duration,
}

impl Apart {
    /// What the configuration says for a project, as which user.
    #[must_use]
    pub fn of(project: &ProjectVerification, user: Option<VerificationUser>) -> Self {
        let handed_on = HANDED_ON.into_iter().chain(user.is_none().then_some(HOME));
        let inherited =
            handed_on.filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let named = project.environment.iter();
        let named = named.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Self {
            // Of two with one name the later counts.
            environment: inherited.chain(named).collect(),
            user,
            timeout: Duration::from_secs(project.timeout_s),
        }
    }

    /// Runs a command in `dir` until it ends or has no more time: then it has failed, and what it printed by then is kept. All
    /// processes of its group end with it, and also where nobody waits for it any more.
    ///
    /// # Errors
    /// [`Failure::Start`] when it cannot be started, [`Failure::Io`] when its output cannot be read.
    pub async fn run(&self, words: &[String], dir: &Path) -> Result<Execution, Failure> {
        let mut command = prepared(words, dir)?;
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .process_group(0);
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
        }
        let started = Instant::now();
        let (mut child, streams) = spawned(&mut command, words)?;
        let group = Group::of(&child);
        let end = async {
            let in_time = tokio::time::timeout(self.timeout, child.wait()).await;
            if in_time.is_err() {
                group.end();
            }
            in_time.ok()
        };
        let mut kept = Kept::new(Echo::Silent);
        let (status, ended) = collect(streams, end, &mut kept).await?;
        let took = ended.duration_since(started);
        let Some(status) = status else {
            let end = End {
                exit_status: None,
                ending: format!("no end within {} s", self.timeout.as_secs()),
                passed: false,
            };
            return Ok(end.of(words, &kept, took));
        };
        let status = status.map_err(Failure::io("the command's end cannot be told"))?;
        let end = End {
            exit_status: status.code(),
            ending: ending(status),
            passed: status.success(),
        };
        Ok(end.of(words, &kept, took))
    }
}

/// The processes that a command started, but for those that left its group.
struct Group(Option<Pid>);

impl Group {
    fn of(leader: &Child) -> Self {
        let id = leader.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn end(&self) {
        if let Some(leader) = self.0 {
            // It is gone already, mostly.
            let _ = kill_process_group(leader, Signal::Kill);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Checks that `user` can read none of these files and enter none of these folders.
///
/// # Errors
/// [`Failure::Config`] naming the one that it can, [`Failure::Io`] where that cannot be told.
pub fn check_closed(user: VerificationUser, paths: &[&Path]) -> Result<(), Failure> {
    for path in paths {
        let what = format!("who may read {} cannot be told", path.display());
        let metadata = std::fs::metadata(path).map_err(Failure::io(what))?;
        if is_open_to(user, &metadata) {
            let (uid, shown) = (user.uid, path.display());
            let why = format!(
                "verification.user: the user {uid} can read {shown}, and so can all that is verified"
            );
            return Err(Failure::Config(why));
        }
    }
    Ok(())
}

/// A command has no groups but the one that is configured, and an owner opens what is closed to it.
fn is_open_to(user: VerificationUser, metadata: &Metadata) -> bool {
    let shift = if metadata.gid() == user.gid { 3 } else { 0 };
    metadata.uid() == user.uid || (metadata.mode() >> shift) & 0o5 != 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    use sillok_core::scope::Scope;

    use super::*;

    fn apart(timeout_s: u64, environment: &[(&str, &str)]) -> Apart {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let project = ProjectVerification {
            scope: Scope::parse("org/a/project/b").unwrap(),
            command: vec!["true".to_owned()],
            directory: "/".into(),
            timeout_s,
            environment: environment.iter().map(owned).collect::<BTreeMap<_, _>>(),
        };
        Apart::of(&project, None)
    }

    async fn shell(apart: &Apart, script: &str) -> Execution {
        let words = ["sh", "-c", script].map(str::to_owned);
        apart.run(&words, Path::new(".")).await.unwrap()
    }

    /// Whether a process is there and no zombie: nobody may be there to wait for an orphan.
    fn is_running(id: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{id}/stat"));
        status.is_ok_and(|status| !status.contains(") Z "))
    }

    async fn ends(id: &str) -> bool {
        for _ in 0..100 {
            if !is_running(id) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    #[tokio::test]
    async fn a_command_sees_of_the_environment_what_it_needs_and_what_is_named() {
        // Cargo's own stand for secrets of this process.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let seen = shell(&apart(10, &[("BUILD", "ci"), ("LANG", "C")]), "env").await;
        let names: Vec<&str> = seen
            .output
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name)
            .collect();
        assert!(
            names.contains(&"PATH") && names.contains(&"BUILD"),
            "{seen:?}"
        );
        assert!(seen.output.contains("LANG=C\n"), "{seen:?}");
        assert!(!names.contains(&"CARGO_PKG_NAME"), "{seen:?}");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_hangs_has_failed_with_what_it_printed_and_its_children_end() {
        let hung = shell(&apart(1, &[]), "sleep 60 & echo $!; echo x; wait").await;
        assert!(
            !hung.passed && hung.ending == "no end within 1 s",
            "{hung:?}"
        );
        assert!(hung.output.ends_with("x\n"), "{hung:?}");
        assert!(ends(hung.output.lines().next().unwrap()).await, "{hung:?}");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_a_command_leaves_running_ends_with_it_and_where_nobody_waits_any_more() {
        let left = shell(&apart(10, &[]), "sleep 60 >/dev/null 2>&1 & echo $!").await;
        assert!(left.passed && ends(left.output.trim()).await, "{left:?}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        let script = format!("sleep 60 & echo $! > '{}'; wait", file.display());
        let apart = apart(60, &[]);
        let given_up = tokio::time::timeout(Duration::from_secs(2), shell(&apart, &script)).await;
        assert!(given_up.is_err());
        assert!(ends(std::fs::read_to_string(file).unwrap().trim()).await);
    }

    #[test]
    fn a_secret_that_another_user_can_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("admin.token");
        std::fs::write(&secret, "s").unwrap();
        let owner = std::fs::metadata(&secret).unwrap();
        let other = VerificationUser {
            uid: owner.uid() + 1,
            gid: owner.gid() + 1,
        };
        let of_the_group = VerificationUser {
            gid: owner.gid(),
            ..other
        };
        let itself = VerificationUser {
            uid: owner.uid(),
            ..other
        };
        let check = |mode: u32, user| {
            std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(mode)).unwrap();
            check_closed(user, &[&secret]).is_ok()
        };
        assert!(check(0o600, other) && check(0o640, other));
        assert!(!check(0o644, other));
        assert!(check(0o600, of_the_group) && !check(0o640, of_the_group));
        assert!(!check(0o000, itself));
    }
}
