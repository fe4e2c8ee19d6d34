//! The `sillok` binary: parses, runs, and says on standard error what went wrong.
//!
//! Owns how failures look. The exit status is [`Failure`]'s.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use miette::Diagnostic;
use serde_json::json;
use sillok_cli::args::Args;
use sillok_cli::commands;
use sillok_cli::failure::Failure;

/// The system's allocator returns memory between batches only to ask for it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long threads that wait for something, such as input, are waited for at the end.
const SHUTDOWN_MAX: Duration = Duration::from_millis(100);

/// Whichever way the process ends, a store's network ends after everything else.
struct StopNetwork;

impl Drop for StopNetwork {
    fn drop(&mut self) {
        sillok_server::stop_network();
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let json = args.global.json;
    let _network = StopNetwork;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("the operating system gives threads");
    let done = runtime.block_on(commands::run(args));
    // What still runs belongs to a command that has ended: nobody waits long for it.
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough, as with `sillok log list | head`.
        Err(Failure::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let status = failure.exit_status();
            let text = if json {
                document(&failure)
            } else {
                page(failure)
            };
            // Without standard error there is only the exit status left to tell it.
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::from(status)
        }
    }
}

/// A failure as JSON.
fn document(failure: &Failure) -> String {
    let problem = match failure {
        Failure::Refused(problem) => Some(problem.as_ref()),
        _ => None,
    };
    let document = json!({
        "error": {
            "message": causes(failure).join(": "),
            "code": failure.code(),
            "exit_status": failure.exit_status(),
            "advice": failure.advice(),
            "problem": problem,
        }
    });
    document.to_string()
}

/// A failure for a person. Lines are not wrapped: what stands in them is copied.
fn page(failure: Failure) -> String {
    let options = || miette::MietteHandlerOpts::new().wrap_lines(false).build();
    // An error says that a hook is there already: then it is this one.
    let _ = miette::set_hook(Box::new(move |_| Box::new(options())));
    format!("{:?}", miette::Report::new(Shown(failure)))
        .trim_end()
        .to_owned()
}

fn causes(failure: &Failure) -> Vec<String> {
    let mut causes = vec![failure.to_string()];
    let mut source = std::error::Error::source(failure);
    while let Some(error) = source {
        causes.push(error.to_string());
        source = error.source();
    }
    causes
}

/// A failure as miette shows it.
#[derive(Debug)]
struct Shown(Failure);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Shown {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0
            .advice()
            .map(|advice| Box::new(advice) as Box<dyn fmt::Display>)
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::Error;
    use sillok_server::api::Problem;

    use super::*;

    fn refused() -> Failure {
        let error = Error::forbidden("entries/project", "an agent writes no entry of a project");
        Failure::Refused(Box::new(Problem::new(&error, 403, None)))
    }

    #[test]
    fn a_person_reads_what_was_refused_by_which_rule() {
        let page = page(refused());
        for part in ["forbidden", "an agent writes no entry", "entries/project"] {
            assert!(page.contains(part), "{page}");
        }
    }

    #[test]
    fn a_script_reads_code_and_exit_status() {
        let document: serde_json::Value = serde_json::from_str(&document(&refused())).unwrap();
        assert_eq!(document["error"]["code"], "forbidden");
        assert_eq!(document["error"]["exit_status"], 1);
        assert_eq!(document["error"]["problem"]["rule"], "entries/project");
    }
}
