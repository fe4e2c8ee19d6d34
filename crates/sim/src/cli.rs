//! The command line of `sillok-sim`, for this crate's binary and for one with a suite of one's own.
//!
//! Owns the arguments, exit codes, and files that are read and written. What each command does stands
//! in its file. An error of a command is a sentence for whoever gave it, and ends it with exit code 2.

mod planted;
mod replay;
mod run;
mod shrink;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::fault::Profile;
use crate::planted::{CORRECT, is_protocol};
use crate::replay::{COMMIT, Replay, is_same_code};
use crate::{Plan, Suite, bank, quiet_planted_panics};

/// Deterministic simulation of a Sillok cluster
#[derive(Debug, Parser)]
#[command(name = "sillok-sim", version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the worlds of many seeds, or those of a seed bank
    Run(run::Args),
    /// Plant bugs into the protocol and count the seeds until each is caught
    Planted(planted::Args),
    /// Run one world again, from its seed or from a saved plan
    Replay(replay::Args),
    /// Make a plan that fails smaller
    Shrink(shrink::Args),
}

/// Carries out the command that this process was given, with what agents do and what must hold in
/// `suite`. The lines to copy that it prints name `sillok-sim`: with a suite of one's own they are for
/// one's own binary, which takes the same arguments.
#[must_use]
pub fn main(suite: &Suite) -> ExitCode {
    quiet_planted_panics();
    let ended = match Args::parse().command {
        Command::Run(args) => run::run(&args, suite),
        Command::Planted(args) => planted::run(&args, suite),
        Command::Replay(args) => replay::run(&args, suite),
        Command::Shrink(args) => shrink::run(&args, suite),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            // Nobody is left to tell should this fail too.
            let _ = writeln!(std::io::stderr(), "sillok-sim: {error}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// An invariant did not hold.
const EXIT_FAILED: u8 = 1;
/// What was asked for cannot be done.
const EXIT_USAGE: u8 = 2;

/// Worlds that can be run at a time.
const JOBS: std::ops::RangeInclusive<i64> = 1..=256;

/// Reads how many worlds to run at a time.
fn jobs() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(JOBS)
}

/// How a command ended.
type Ended = Result<ExitCode, String>;

/// The exit code of what was judged.
fn ended(failed: bool) -> ExitCode {
    if failed {
        ExitCode::from(EXIT_FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints what the command is for.
fn print(text: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    printed.map_err(|error| format!("standard output: {error}"))
}

/// Prints a JSON document.
fn print_json(document: &serde_json::Value) -> Result<(), String> {
    print(&format!("{document:#}\n"))
}

/// Prints what is beside the point.
fn remark(text: &str) {
    // The command goes on without.
    let _ = writeln!(std::io::stderr(), "sillok-sim: {text}");
}

/// Which world is meant: that of a file or that of a seed.
#[derive(Debug, clap::Args)]
struct Which {
    /// The saved plan
    #[arg(value_name = "FILE", required_unless_present = "seed")]
    file: Option<PathBuf>,
    /// The seed, in place of a file
    #[arg(long, value_name = "SEED", conflicts_with = "file")]
    seed: Option<u64>,
    /// The planted bug under which the seed is run
    #[arg(long, value_name = "NAME", requires = "seed")]
    bug: Option<String>,
    /// The faults under which the seed is run, in place of those that it draws
    #[arg(long, value_name = "FILE", requires = "seed")]
    profile: Option<PathBuf>,
}

impl Which {
    /// The plan, and what is known of it. That another commit made it is said.
    fn read(&self, suite: &Suite) -> Result<Replay, String> {
        if let Some(path) = &self.file {
            let replay = bank::read_file(path, suite).map_err(|error| error.to_string())?;
            let (made, this) = (&replay.commit, COMMIT);
            if !is_same_code(made, this) {
                remark(&format!(
                    "{} was made by commit {made}; this is {this}",
                    path.display()
                ));
            }
            return Ok(replay);
        }
        let seed = self.seed.unwrap_or_default();
        let protocol = self.bug.as_deref().unwrap_or(CORRECT);
        if !is_protocol(protocol) {
            return Err(format!("--bug: no planted bug is called {protocol:?}"));
        }
        let plan = match &self.profile {
            None => Plan::draw_from(suite, seed),
            Some(path) => Plan::draw_under(suite, seed, read_profile(path)?),
        };
        Ok(Replay {
            commit: COMMIT.to_owned(),
            protocol: protocol.to_owned(),
            why: None,
            plan,
            violation: None,
            digest: None,
        })
    }

    /// The file, if one is meant.
    fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// Reads a profile.
fn read_profile(path: &Path) -> Result<Profile, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    crate::replay::profile(&text).map_err(|error| format!("{shown}: {error}"))
}

/// Sees that files can be written to a folder, before hours are spent on what shall stand in them.
fn make_folder(folder: &Path) -> Result<(), String> {
    let probe = folder.join(format!(".sillok-sim-{}", std::process::id()));
    let made = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&probe, b""))
        .and_then(|()| std::fs::remove_file(&probe));
    made.map_err(|error| format!("--out {}: {error}", folder.display()))
}

/// Writes a file.
fn write(path: &Path, replay: &Replay) -> Result<(), String> {
    std::fs::write(path, replay.write()).map_err(|error| format!("{}: {error}", path.display()))
}
