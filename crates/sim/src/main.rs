//! `sillok-sim`: runs simulated clusters by the thousand, replays the one that failed and makes it
//! smaller.
//!
//! Owns the arguments. What each command does stands in its file under `commands`.

mod commands;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sillok_sim::quiet_planted_panics;

use commands::{EXIT_USAGE, planted, replay, run, shrink};

/// A world is made of many small pieces that live for a short while.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Deterministic simulation of a Sillok cluster
#[derive(Debug, Parser)]
#[command(version, about)]
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

fn main() -> ExitCode {
    quiet_planted_panics();
    let ended = match Args::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Planted(args) => planted::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Shrink(args) => shrink::run(&args),
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
