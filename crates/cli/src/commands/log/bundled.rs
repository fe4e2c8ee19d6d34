//! `log import`: lines of standard input as records, in bundles.
//!
//! Owns the way from a line to an acknowledged bundle: what comes within one window is one append, bound to one look at the work
//! tree. When a bundle ends is [`sillok_core::bundle`]'s.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::json;
use sillok_core::bundle::{BundleConfig, Bundler};
use sillok_server::api::{AppendLogs, LogRecord};
use tokio::sync::mpsc::{self, Receiver};

use super::look;
use crate::args::LogImport;
use crate::failure::Failure;
use crate::progress;
use crate::session::Session;

/// Lines that are read ahead of what is sent.
const LINES_WAITING_MAX: usize = 256;

/// Appends every line that standard input gives, till it ends. A bundle goes out while the next line may be long in coming.
///
/// # Errors
/// [`Failure`]; what was acknowledged before it stays.
pub(super) async fn import(session: &Session, import: &LogImport) -> Result<(), Failure> {
    let config = BundleConfig {
        window_ms: import.window_ms,
        ..BundleConfig::default()
    };
    let checked = config.check();
    checked.map_err(|error| Failure::Usage(error.message))?;
    let spinner = progress::spinner("lines acknowledged");
    let mut lines = lines();
    let mut bundler = Bundler::new(config);
    let begun = Instant::now();
    let now_ms = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (mut acked, mut masked) = (0_u64, 0_u64);
    let mut is_over = false;
    while !is_over {
        let mut bundles = Vec::new();
        match next(&mut lines, bundler.due_ms(now_ms())).await {
            Next::Line(line) => {
                let line = line.map_err(Failure::io("standard input is no text"))?;
                let bytes = line.len();
                bundles.extend(bundler.push(line, bytes, now_ms()).into_bundles());
            }
            Next::None => bundles.extend(bundler.elapsed(now_ms())),
            Next::End => {
                is_over = true;
                bundles.extend(bundler.flush());
            }
        }
        for bundle in bundles {
            let appended = session.client.append_logs(&said(import, bundle)).await?;
            acked += u64::from(appended.count);
            masked += u64::from(appended.masked);
            spinner.set_position(acked);
        }
    }
    spinner.finish_and_clear();
    let done = json!({ "scope": import.scope, "records": acked, "masked": masked });
    session.output.show(&done, |style| {
        format!(
            "{acked} records in {}, {masked} secrets masked",
            style.name(import.scope.as_str())
        )
    })
}

/// A bundle as one call, with what the work tree is at now that it ends.
fn said(import: &LogImport, bundle: Vec<String>) -> AppendLogs {
    let mut here = look();
    let records = bundle.into_iter().map(|content| LogRecord {
        level: import.level,
        bound: here.bound(&content),
        content,
        metadata: None,
        time: None,
    });
    AppendLogs {
        scope: import.scope.to_string(),
        records: records.collect(),
    }
}

/// What came of waiting for a line.
enum Next {
    Line(std::io::Result<String>),
    /// None came in time.
    None,
    /// None will come.
    End,
}

async fn next(lines: &mut Receiver<std::io::Result<String>>, due_ms: Option<u64>) -> Next {
    let line = match due_ms {
        None => lines.recv().await,
        Some(due_ms) => {
            let waited = tokio::time::timeout(Duration::from_millis(due_ms), lines.recv()).await;
            match waited {
                Ok(line) => line,
                Err(_) => return Next::None,
            }
        }
    };
    line.map_or(Next::End, Next::Line)
}

/// The lines of standard input, read by a thread of their own: whoever reads there waits, and nobody can call that off. It ends
/// with the process.
fn lines() -> Receiver<std::io::Result<String>> {
    let (lines, read) = mpsc::channel(LINES_WAITING_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let is_last = line.is_err();
            if lines.blocking_send(line).is_err() || is_last {
                break;
            }
        }
    });
    read
}
