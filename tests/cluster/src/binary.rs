//! The binaries that tests run: where they lie, and in which environment they are started.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Where what was built beside this program lies: `target/debug`, for a test in `deps` too.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows its own executable");
    let folder = program.parent().expect("it lies in a folder");
    let is_test = folder.file_name().is_some_and(|name| name == "deps");
    let outer = folder.parent().filter(|_| is_test);
    outer.unwrap_or(folder).to_owned()
}

/// A binary that only tests use.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn of_tests(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(
        path.is_file(),
        "there is no binary at {}: run `cargo build --workspace --bin {name}`",
        path.display()
    );
    path
}

/// The product's binary: `SILLOK_BIN`, which make sets, else the one that was built beside this program.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn sillok() -> PathBuf {
    let beside = || folder().join("sillok");
    let path = std::env::var_os("SILLOK_BIN").map_or_else(beside, PathBuf::from);
    assert!(
        path.is_file(),
        "there is no binary at {}: run `cargo build -p sillok-cli --bin sillok`, or set SILLOK_BIN",
        path.display()
    );
    path
}

/// A binary that was built with FoundationDB, where the caller names one: then clusters run on it, each on a
/// server of its own.
#[must_use]
pub fn with_foundationdb() -> Option<PathBuf> {
    let named = std::env::var_os("SILLOK_FDB_BIN").filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

/// What a node of an older release is started by, where the caller names it: a `sillok-test-node`, or a
/// `sillok` that was built with FoundationDB where clusters run on that.
#[must_use]
pub fn of_older_release() -> Option<PathBuf> {
    let named = std::env::var_os("SILLOK_OLD_BIN").filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

/// Takes the caller's configuration out of a command's environment. `home` stands for the user's home.
///
/// # Panics
/// If that cannot be made.
#[must_use]
pub fn isolated(mut command: Command, home: &Path) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SILLOK_") || text.starts_with("XDG_") || text.starts_with("GIT_") {
            command.env_remove(&name);
        }
    }
    std::fs::create_dir_all(home).expect("a home can be made");
    command.env("HOME", home).env("NO_COLOR", "1");
    command
}

/// Waits for a process; none when it does not end in time.
///
/// # Panics
/// If the system does not say what became of it.
pub fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if started.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
