//! The `sillok` binary: where it lies, and running it to its end within a bounded time.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest that a command may take, unless a test says otherwise.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where what was built beside this test lies.
fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own executable");
    let folder = test.parent().and_then(Path::parent);
    folder.expect("target/debug/deps/TEST").to_owned()
}

/// A binary that only tests use.
pub(crate) fn of_tests(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(
        path.is_file(),
        "there is no binary at {}: run `cargo build --workspace --bin {name}`",
        path.display()
    );
    path
}

/// The binary: `SILLOK_BIN`, which make sets, else the one that was built beside this test.
pub(crate) fn path() -> PathBuf {
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
pub(crate) fn with_foundationdb() -> Option<PathBuf> {
    std::env::var_os("SILLOK_FDB_BIN").map(PathBuf::from)
}

/// A command on the binary whose environment holds nothing of the caller's configuration. `home`
/// stands for the user's home.
pub(crate) fn command(home: &Path) -> Command {
    isolated(Command::new(path()), home)
}

/// Takes the caller's configuration out of a command's environment.
pub(crate) fn isolated(mut command: Command, home: &Path) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SILLOK_") || text.starts_with("XDG_") || text.starts_with("GIT_") {
            command.env_remove(&name);
        }
    }
    std::fs::create_dir_all(home).expect("the test's home can be made");
    command.env("HOME", home).env("NO_COLOR", "1");
    command
}

/// A command line of the binary.
pub(crate) struct Invocation {
    command: Command,
    stdin: Option<Vec<u8>>,
    patience: Duration,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The command line.
    pub(crate) line: String,
    /// Its exit status; none when a signal ended it.
    pub(crate) status: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it said besides.
    pub(crate) stderr: String,
}

impl Invocation {
    pub(crate) fn new(home: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = command(home);
        command.args(args);
        Self {
            command,
            stdin: None,
            patience: PATIENCE,
        }
    }

    /// Of another program, in the same environment.
    pub(crate) fn of(command: Command, home: &Path) -> Self {
        Self {
            command: isolated(command, home),
            stdin: None,
            patience: PATIENCE,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    pub(crate) fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Ran {
        let line = line(&self.command);
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let command = self
            .command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let writer = child.stdin.take().map(|mut pipe| {
            let text = self.stdin.take().unwrap_or_default();
            // A command that ends early does not read all of it.
            std::thread::spawn(move || drop(pipe.write_all(&text)))
        });
        let stdout = reader(child.stdout.take().expect("it is piped"));
        let stderr = reader(child.stderr.take().expect("it is piped"));
        let status = wait(&mut child, self.patience);
        if status.is_none() {
            child
                .kill()
                .expect("a process that has not ended can be killed");
            child.wait().expect("a killed process ends");
        }
        if let Some(writer) = writer {
            writer.join().expect("writing does not panic");
        }
        let text = |reader: JoinHandle<Vec<u8>>| {
            let bytes = reader.join().expect("reading does not panic");
            String::from_utf8(bytes).expect("all that is printed is UTF-8")
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        let patience = self.patience;
        let status = status.unwrap_or_else(|| {
            panic!("{line} did not end within {patience:?}\nstdout: {stdout}\nstderr: {stderr}")
        });
        Ran {
            line,
            status: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Ran {
    /// What it printed, as the one JSON document that `--json` promises. It must have succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.json_with(0)
    }

    /// The same, with the exit status that is expected.
    #[track_caller]
    pub(crate) fn json_with(&self, status: i32) -> Value {
        self.ended(status);
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{} prints no JSON ({error}): {self:#?}", self.line))
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn ended(&self, status: i32) {
        assert_eq!(self.status, Some(status), "another exit status: {self:#?}");
    }
}

/// Waits for a process; none when it does not end in time.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> Option<std::process::ExitStatus> {
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

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words of a command line in which nothing is quoted.
pub(crate) fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}
