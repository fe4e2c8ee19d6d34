//! The `sillok-tidy` command: prints `path:line: message` for each offence.
//!
//! Owns arguments, output and exit codes (0 tidy, 1 findings, 2 could not check); no check lives
//! here.

use std::error::Error as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut out = std::io::stdout().lock();
    let mut err = std::io::stderr().lock();
    // A reader that closed the pipe wants no more lines; the exit code still tells it.
    match sillok_tidy::run(&root) {
        Ok(report) => {
            for finding in &report.findings {
                let _ = writeln!(out, "{finding}");
            }
            let _ = writeln!(
                err,
                "tidy: {} files, {} findings",
                report.files,
                report.findings.len()
            );
            ExitCode::from(u8::from(!report.findings.is_empty()))
        }
        Err(error) => {
            let _ = write!(err, "tidy: {error}");
            let mut cause = error.source();
            while let Some(inner) = cause {
                let _ = write!(err, ": {inner}");
                cause = inner.source();
            }
            let _ = writeln!(err);
            ExitCode::from(2)
        }
    }
}
