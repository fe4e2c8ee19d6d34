//! The `sillok` binary: running it to its end within a bounded time.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use sillok_test_cluster::binary::{isolated, wait};

pub(crate) use sillok_test_cluster::binary::sillok as path;

/// The longest that a command may take, unless a test says otherwise.
const PATIENCE: Duration = Duration::from_mins(1);

/// A command on the binary whose environment holds nothing of the caller's configuration. `home`
/// stands for the user's home.
pub(crate) fn command(home: &Path) -> Command {
    isolated(Command::new(path()), home)
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

    /// What it printed, as one JSON document a line. It must have succeeded.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.ended(0);
        let parsed = self.stdout.lines().map(serde_json::from_str);
        let parsed: Result<_, _> = parsed.collect();
        parsed.unwrap_or_else(|error| panic!("{} prints no JSON ({error}): {self:#?}", self.line))
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn ended(&self, status: i32) {
        assert_eq!(self.status, Some(status), "another exit status: {self:#?}");
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
