//! `sillok-sim planted`: the table of planted bugs, with what it took to catch each.

use std::path::{Path, PathBuf};

use sillok_sim::planted::{self, Bug, Catch};
use sillok_sim::replay;

use super::{Ended, ended, jobs, make_folder, print, print_json, write};

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
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Ended {
    let bugs = planted::BUGS
        .iter()
        .filter(|bug| bug.name.contains(&args.only));
    let bugs: Vec<&'static Bug> = bugs.collect();
    if bugs.is_empty() {
        return Err(format!("--only: no planted bug is called {:?}", args.only));
    }
    make_folder(&args.out)?;
    let mut failed = Ok(());
    let catches = planted::seek(&bugs, args.jobs.into(), |catch| {
        let told = write_first(&args.out, catch).and_then(|()| match args.json {
            true => Ok(()),
            false => print(&line_of(catch)),
        });
        if failed.is_ok() {
            failed = told;
        }
    });
    failed?;
    if args.json {
        let bugs = catches.iter().map(|catch| {
            let mut bug = serde_json::to_value(catch).expect("reports are JSON");
            bug["replay"] = replay_of(catch).into();
            bug
        });
        print_json(&serde_json::json!({
            "bugs": bugs.collect::<serde_json::Value>(),
            "commit": replay::COMMIT,
        }))?;
    }
    Ok(ended(catches.iter().any(|catch| !catch.caught)))
}

fn line_of(catch: &Catch) -> String {
    if !catch.caught {
        let seeds = planted::SEEDS_MAX;
        return format!("{:<48} not caught within {seeds} seeds\n", catch.name);
    }
    format!(
        "{:<48} {:>6} {:>6}  {}\n  {}\n",
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
