//! `sillok-sim`: runs simulated clusters by the thousand, replays the one that failed and makes it
//! smaller.

use std::process::ExitCode;

use sillok_sim::{Suite, cli};

/// A world is made of many small pieces that live for a short while.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(&Suite::built_in())
}
