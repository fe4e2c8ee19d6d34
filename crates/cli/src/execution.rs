//! Running a command and keeping the end of what it printed.
//!
//! Owns the process and its true exit status. It must not know what the outcome is recorded as.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::failure::Failure;
use crate::output::harmless;

/// Bytes of output that are kept: the last ones.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 8 << 10;

/// What becomes of the output while the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// It is also written to standard error, as it comes.
    ToStderr,
    /// It is only kept.
    Silent,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The command, as one line.
    pub command: String,
    /// Its exit status; none when a signal ended it.
    pub exit_status: Option<i32>,
    /// How it ended, for a person.
    pub ending: String,
    /// Whether it succeeded.
    pub passed: bool,
    /// The end of what it printed, standard output and standard error as they came.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Runs a command in `dir` to its end.
///
/// # Errors
/// [`Failure::Start`] when it cannot be started, [`Failure::Io`] when its output cannot be read.
pub async fn run(words: &[String], dir: &Path, echo: Echo) -> Result<Execution, Failure> {
    let (program, args) = words
        .split_first()
        .ok_or_else(|| Failure::Usage("no command is given".to_owned()))?;
    let started = Instant::now();
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if echo == Echo::Silent {
        command.stdin(Stdio::null());
    }
    let start = |source| Failure::Start {
        command: program.clone(),
        source,
    };
    let mut child = command.spawn().map_err(start)?;
    let out = child.stdout.take().expect("standard output was piped");
    let err = child.stderr.take().expect("standard error was piped");
    let output = collect(out, err, echo)
        .await
        .map_err(Failure::io("the command's output cannot be read"))?;
    let status = child
        .wait()
        .await
        .map_err(Failure::io("the command's end cannot be told"))?;
    Ok(Execution {
        command: words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
        exit_status: status.code(),
        ending: ending(status),
        passed: status.success(),
        output: tail_text(&output),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// A word as a shell would have to read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads both streams to their ends, in the order in which they arrive, and keeps the last bytes.
async fn collect(
    mut out: impl AsyncRead + Unpin,
    mut err: impl AsyncRead + Unpin,
    echo: Echo,
) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let (mut out_buffer, mut err_buffer) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        let (bytes, open, buffer) = tokio::select! {
            bytes = out.read(&mut out_buffer), if out_open => (bytes?, &mut out_open, &out_buffer),
            bytes = err.read(&mut err_buffer), if err_open => (bytes?, &mut err_open, &err_buffer),
        };
        *open = bytes > 0;
        let piece = &buffer[..bytes];
        if echo == Echo::ToStderr {
            // That nobody watches does not stop the command.
            let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), piece);
        }
        kept.extend_from_slice(piece);
        if kept.len() > 4 * OUTPUT_BYTES_MAX {
            kept.drain(..kept.len() - OUTPUT_BYTES_MAX);
        }
    }
    Ok(kept)
}

/// The last bytes as text: whole characters, without control sequences.
fn tail_text(bytes: &[u8]) -> String {
    let mut tail = &bytes[bytes.len().saturating_sub(OUTPUT_BYTES_MAX)..];
    while tail
        .first()
        .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    {
        tail = &tail[1..];
    }
    harmless(&String::from_utf8_lossy(tail))
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> String {
    status.code().map_or_else(
        || "an unknown end".to_owned(),
        |code| format!("exit status {code}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str) -> Execution {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, Path::new("."), Echo::Silent).await.unwrap()
    }

    #[tokio::test]
    async fn the_true_exit_status_is_kept() {
        let failed = shell("echo out; echo err >&2; exit 3").await;
        assert_eq!((failed.passed, failed.exit_status), (false, Some(3)));
        assert!(failed.output.contains("out") && failed.output.contains("err"));
        assert_eq!(failed.ending, "exit status 3");
        assert_eq!(failed.command, "sh -c 'echo out; echo err >&2; exit 3'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert!(shell("true").await.passed);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_ended_by_a_signal_has_failed() {
        let killed = shell("kill -9 $$").await;
        assert_eq!((killed.passed, killed.exit_status), (false, None));
        assert_eq!(killed.ending, "signal 9");
    }

    #[tokio::test]
    async fn only_the_end_of_a_long_output_is_kept() {
        let script = "i=0; while [ $i -lt 9000 ]; do echo 'line 한글 한글 한글 한글 한글'; i=$((i+1)); done; echo last";
        let long = shell(script).await;
        assert!(long.output.len() <= OUTPUT_BYTES_MAX);
        assert!(long.output.len() > OUTPUT_BYTES_MAX / 2);
        assert!(long.output.ends_with("last\n"));
        assert!(!long.output.contains('\u{fffd}'));
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_named() {
        let words = ["no-such-program-here".to_owned()];
        let failure = run(&words, Path::new("."), Echo::Silent).await.unwrap_err();
        assert!(failure.to_string().contains("no-such-program-here"));
    }
}
