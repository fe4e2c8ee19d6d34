//! Running a command and keeping the end of what it printed.
//!
//! Owns the process and its true exit status. It must not know what the outcome is recorded as.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::failure::Failure;
use crate::output::harmless;

pub mod apart;

/// Bytes of output that are kept: the last ones.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 8 << 10;

/// How long output is waited for once the command has ended, after the last piece and in all. What
/// the command left running may hold its output open for ever.
const GRACE: Duration = Duration::from_millis(500);
const GRACE_IN_ALL: Duration = Duration::from_secs(2);

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

/// Runs a command in `dir` to its end. What it left running in the background is not waited for.
///
/// # Errors
/// [`Failure::Start`] when it cannot be started, [`Failure::Io`] when its output cannot be read.
pub async fn run(words: &[String], dir: &Path, echo: Echo) -> Result<Execution, Failure> {
    let mut command = prepared(words, dir)?;
    if echo == Echo::Silent {
        command.stdin(Stdio::null());
    }
    let started = Instant::now();
    let (mut child, streams) = spawned(&mut command, words)?;
    let mut kept = Kept::new(echo);
    let (status, ended) = collect(streams, child.wait(), &mut kept).await?;
    let status = status.map_err(Failure::io("the command's end cannot be told"))?;
    let end = End {
        exit_status: status.code(),
        ending: ending(status),
        passed: status.success(),
    };
    Ok(end.of(words, &kept, ended.duration_since(started)))
}

fn prepared(words: &[String], dir: &Path) -> Result<Command, Failure> {
    let (program, args) = words
        .split_first()
        .ok_or_else(|| Failure::Usage("no command is given".to_owned()))?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}

fn spawned(
    command: &mut Command,
    words: &[String],
) -> Result<(Child, Streams<ChildStdout, ChildStderr>), Failure> {
    let mut child = command.spawn().map_err(|source| Failure::Start {
        command: words.first().cloned().unwrap_or_default(),
        source,
    })?;
    let streams = Streams {
        out: child.stdout.take().expect("standard output was piped"),
        err: child.stderr.take().expect("standard error was piped"),
        out_open: true,
        err_open: true,
    };
    Ok((child, streams))
}

/// How a command ended.
struct End {
    exit_status: Option<i32>,
    ending: String,
    passed: bool,
}

impl End {
    fn of(self, words: &[String], kept: &Kept, took: Duration) -> Execution {
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        Execution {
            command: quoted.join(" "),
            exit_status: self.exit_status,
            ending: self.ending,
            passed: self.passed,
            output: tail_text(&kept.bytes),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// A word as a shell would have to read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The end of the output.
struct Kept {
    bytes: Vec<u8>,
    echo: Echo,
}

impl Kept {
    const fn new(echo: Echo) -> Self {
        Self {
            bytes: Vec::new(),
            echo,
        }
    }

    fn push(&mut self, piece: &[u8]) {
        if self.echo == Echo::ToStderr {
            // That nobody watches does not stop the command.
            let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), piece);
        }
        self.bytes.extend_from_slice(piece);
        if self.bytes.len() > 4 * OUTPUT_BYTES_MAX {
            self.bytes.drain(..self.bytes.len() - OUTPUT_BYTES_MAX);
        }
    }
}

/// Both streams of a command.
struct Streams<O, E> {
    out: O,
    err: E,
    out_open: bool,
    err_open: bool,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> Streams<O, E> {
    const fn is_open(&self) -> bool {
        self.out_open || self.err_open
    }

    /// The next piece of either stream; empty where one has ended. Nothing is lost when it is
    /// waited for no longer.
    async fn piece(&mut self) -> std::io::Result<Vec<u8>> {
        let room = || Vec::with_capacity(READ_BYTES);
        let (mut out, mut err) = (room(), room());
        let (bytes, open, piece) = tokio::select! {
            bytes = self.out.read_buf(&mut out), if self.out_open => (bytes?, &mut self.out_open, out),
            bytes = self.err.read_buf(&mut err), if self.err_open => (bytes?, &mut self.err_open, err),
        };
        *open = bytes > 0;
        Ok(piece)
    }
}

/// Keeps what both streams bring, in the order in which it arrives, until `end` has come and they are
/// at their ends, or nothing more of them comes in time. What `end` says, and when it came.
async fn collect<T>(
    mut streams: Streams<impl AsyncRead + Unpin, impl AsyncRead + Unpin>,
    end: impl Future<Output = T>,
    kept: &mut Kept,
) -> Result<(T, Instant), Failure> {
    let mut end = std::pin::pin!(end);
    let mut ended: Option<(T, Instant)> = None;
    let mut last_piece = Instant::now();
    while streams.is_open() || ended.is_none() {
        let patience = ended
            .as_ref()
            .map_or(last_piece, |(_, at)| deadline(*at, last_piece));
        let piece = tokio::select! {
            // The end comes once, however much is printed; what has arrived, before time is up.
            biased;
            status = &mut end, if ended.is_none() => {
                ended = Some((status, Instant::now()));
                continue;
            }
            piece = streams.piece(), if streams.is_open() => piece,
            () = tokio::time::sleep_until(patience.into()), if ended.is_some() => break,
        };
        kept.push(&piece.map_err(Failure::io("the command's output cannot be read"))?);
        last_piece = Instant::now();
        if ended
            .as_ref()
            .is_some_and(|(_, at)| at.elapsed() >= GRACE_IN_ALL)
        {
            break;
        }
    }
    Ok(ended.expect("the loop is left only once the command has ended"))
}

/// Until when output is waited for, of a command that ended at `ended`.
fn deadline(ended: Instant, last_piece: Instant) -> Instant {
    (last_piece.max(ended) + GRACE).min(ended + GRACE_IN_ALL)
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

    #[cfg(unix)]
    #[tokio::test]
    async fn what_was_left_running_is_not_waited_for() {
        let started = Instant::now();
        let script = "sleep 30 & echo $!; echo last; exit 3";
        let ended = shell(script).await;
        assert!(started.elapsed() < Duration::from_secs(10), "{ended:?}");
        assert_eq!((ended.passed, ended.exit_status), (false, Some(3)));
        assert!(ended.output.ends_with("last\n"), "{}", ended.output);
        end_process(&ended);
        // Nor when it goes on talking.
        let started = Instant::now();
        let talking = shell("(while sleep 0.1; do echo on; done) & echo $!").await;
        assert!(started.elapsed() < Duration::from_secs(10), "{talking:?}");
        assert!(talking.passed && talking.output.ends_with("on\n"));
        assert!(
            talking.duration_ms < 2_000,
            "its own time counts: {talking:?}"
        );
        end_process(&talking);
    }

    /// Ends the process whose id was printed first.
    #[cfg(unix)]
    fn end_process(printed: &Execution) {
        let id = printed.output.lines().next().unwrap();
        let ended = std::process::Command::new("kill").arg(id).status();
        assert!(id.parse::<u32>().is_ok() && ended.is_ok());
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
