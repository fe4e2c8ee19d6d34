//! `sillok-sim planted`: the table of planted bugs, with what it took to catch each.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Ended, ended, jobs, make_folder, print, print_json, write};
use crate::planted::{self, Bug, Catch};
use crate::replay::{self, Replay, Verdict};
use crate::shrink::shrink;
use crate::{Plan, Suite};

/// Worlds that are run at most to make a catch smaller: so many, and if more than half of it is left then,
/// as many as `shrink` runs.
const SHRINK_RUNS: [u32; 2] = [60, 1_000];

/// What to plant
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only bugs whose name holds this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Worlds at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = jobs())]
    jobs: u16,
    /// Where to write the plan of each bug's first catch
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Run each first catch again from its line, and make it smaller
    #[arg(long)]
    check: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, suite: &Suite) -> Ended {
    let bugs = planted::BUGS
        .iter()
        .filter(|bug| bug.name.contains(&args.only));
    let bugs: Vec<&'static Bug> = bugs.collect();
    if bugs.is_empty() {
        return Err(format!("--only: no planted bug is called {:?}", args.only));
    }
    make_folder(&args.out)?;
    let mut failed = Ok(());
    let catches = planted::seek(&bugs, suite, args.jobs.into(), |catch| {
        let told = write_first(&args.out, catch).and_then(|()| match args.json {
            true => Ok(()),
            false => print(&line_of(catch)),
        });
        if failed.is_ok() {
            failed = told;
        }
    });
    failed?;
    let checked: Vec<Option<Checked>> = catches
        .iter()
        .map(|catch| catch.first.as_ref().filter(|_| args.check))
        .map(|first| first.map(|first| check(first, suite)))
        .collect();
    if args.json {
        let bugs = catches.iter().zip(&checked).map(|(catch, checked)| {
            let mut bug = serde_json::to_value(catch).expect("reports are JSON");
            bug["replay"] = replay_of(catch).into();
            if let Some(checked) = checked {
                bug["checked"] = serde_json::to_value(checked).expect("reports are JSON");
            }
            bug
        });
        print_json(&serde_json::json!({
            "bugs": bugs.collect::<serde_json::Value>(),
            "commit": replay::COMMIT,
        }))?;
    }
    for (catch, checked) in catches.iter().zip(&checked) {
        if let (Some(checked), false) = (checked, args.json) {
            print(&format!("{:<48} {checked}\n", catch.name))?;
        }
    }
    let is_bad = |checked: &Option<Checked>| checked.is_some_and(|checked| !checked.is_good());
    Ok(ended(
        catches.iter().any(|catch| !catch.is_soon()) || checked.iter().any(is_bad),
    ))
}

/// What became of a first catch that was run again, and then made smaller.
#[derive(Clone, Copy, Debug, Serialize)]
struct Checked {
    /// Whether its seed alone brought the same trace about.
    reproduced: bool,
    /// Operations of the plan.
    operations: usize,
    /// Operations of the smaller one.
    operations_left: usize,
}

impl Checked {
    const fn is_small(self) -> bool {
        self.operations_left * 2 < self.operations
    }

    const fn is_good(self) -> bool {
        self.reproduced && self.is_small()
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = if self.reproduced {
            "reproduced"
        } else {
            "NOT reproduced"
        };
        let (before, after) = (self.operations, self.operations_left);
        write!(f, "{again}; operations {before} -> {after}")
    }
}

/// Does what the printed line says, and then makes the plan smaller.
fn check(first: &Replay, suite: &Suite) -> Checked {
    let run = |plan: &Plan| {
        let outcome = planted::run_under(&first.protocol, plan, suite, false);
        outcome.expect("the bug is planted")
    };
    let again = run(&Plan::draw_from(suite, first.plan.seed));
    let mut checked = Checked {
        reproduced: first.compare(&again) == Verdict::Reproduced,
        operations: first.plan.operations.len(),
        operations_left: first.plan.operations.len(),
    };
    for runs in SHRINK_RUNS {
        if checked.is_small() {
            break;
        }
        if let Some(shrunk) = shrink(&first.plan, suite, runs, run) {
            checked.operations_left = shrunk.after.operations;
        }
    }
    checked
}

fn line_of(catch: &Catch) -> String {
    if !catch.caught {
        let seeds = planted::SEEDS_MAX;
        return format!("{:<48} not caught within {seeds} seeds\n", catch.name);
    }
    let late = if catch.is_soon() { "" } else { " (too late)" };
    format!(
        "{:<48} {:>6} {:>6}  {}{late}\n  {}\n",
        catch.name,
        catch.median_seeds,
        catch.max_seeds,
        catch.invariant,
        replay_of(catch)
    )
}

/// The line that catches the bug again.
fn replay_of(catch: &Catch) -> String {
    let first = catch.first.as_ref();
    first.map_or_else(String::new, |first| {
        replay::line(catch.seed, catch.name, &first.plan.profile, None)
    })
}

fn write_first(folder: &Path, catch: &Catch) -> Result<(), String> {
    let Some(first) = &catch.first else {
        return Ok(());
    };
    let name = catch.name.replace(' ', "-");
    write(&folder.join(format!("sillok-sim-{name}.json")), first)
}
