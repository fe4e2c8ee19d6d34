//! `sillok-sim`: runs simulated clusters by the thousand, and replays the one that failed.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use sillok_actors::protocol::Without;
use sillok_sim::batch::{self, Report};
use sillok_sim::planted;
use sillok_sim::{Outcome, Plan, World, quiet_planted_panics};

/// An invariant did not hold.
const EXIT_FAILED: u8 = 1;
/// What was asked for cannot be done.
const EXIT_USAGE: u8 = 2;

/// Deterministic simulation of a Sillok cluster
#[derive(Debug, Parser)]
#[command(version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the worlds of many seeds
    Run {
        /// The seeds, the last one not included
        #[arg(long, env = "SILLOK_SIM_SEED", value_name = "A..B", value_parser = seeds, default_value = "0..1000")]
        seeds: (u64, u64),
        /// Worlds at a time
        #[arg(long, value_name = "N", default_value_t = 1)]
        jobs: usize,
        /// Stop after so long, such as 10m
        #[arg(long, value_name = "TIME", value_parser = span)]
        time: Option<Duration>,
        /// Where to write the plans of worlds that fail
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Plant bugs into the protocol and count the seeds until each is caught
    Planted {
        /// Only bugs whose name holds this text
        #[arg(long, value_name = "TEXT", default_value = "")]
        only: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run one world again, from its seed or from a saved plan, and print its trace
    Replay {
        /// The saved plan
        #[arg(value_name = "FILE", required_unless_present = "seed")]
        file: Option<PathBuf>,
        /// The seed
        #[arg(long, value_name = "SEED", conflicts_with = "file")]
        seed: Option<u64>,
        /// Print the trace up to this line only
        #[arg(long, value_name = "N")]
        until: Option<usize>,
    },
}

/// `A..B`, or one seed.
fn seeds(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|error| error.to_string())
    };
    let (first, end) = match text.split_once("..") {
        Some((first, end)) => (number(first)?, number(end)?),
        None => (number(text)?, number(text)?.saturating_add(1)),
    };
    if first < end {
        Ok((first, end))
    } else {
        Err("the first seed lies before the last one".to_owned())
    }
}

/// `90s`, `10m`, `2h`.
fn span(text: &str) -> Result<Duration, String> {
    let bad = || "a number followed by s, m or h is expected".to_owned();
    let unit = text.chars().last().ok_or_else(bad)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return Err(bad()),
    };
    let number = text[..text.len() - 1].parse::<u64>().map_err(|_| bad())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

fn main() -> ExitCode {
    quiet_planted_panics();
    let ended = match Args::parse().command {
        Command::Run {
            seeds,
            jobs,
            time,
            out,
            json,
        } => run(seeds, jobs, time, &out, json),
        Command::Planted { only, json } => plant(&only, json),
        Command::Replay { file, seed, until } => replay(file, seed, until),
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

#[expect(
    clippy::disallowed_methods,
    reason = "the speed of the machine is what is measured"
)]
fn run(
    (first, end): (u64, u64),
    jobs: usize,
    time: Option<Duration>,
    out: &std::path::Path,
    json: bool,
) -> Result<ExitCode, String> {
    let started = Instant::now();
    let in_time = || time.is_none_or(|time| started.elapsed() < time);
    let report = batch::run(Without::default(), first, end, jobs, in_time);
    let seconds = started.elapsed().as_secs_f64();
    let per_hour = report.seeds as f64 / seconds.max(0.001) * 3_600.0;
    for failure in &report.failures {
        let path = out.join(format!("sillok-sim-{}.json", failure.seed));
        let plan = serde_json::to_vec_pretty(&Plan::draw(failure.seed)).expect("plans are JSON");
        std::fs::write(&path, plan).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let is_large = report.seeds >= 1_000;
    print(&report, per_hour, json)?;
    let judged = report.seeds - report.failures.len() as u64;
    let is_blind = !report.unseen.is_empty() || !report.second_opinions.is_enough_for(judged);
    let failed = !report.failures.is_empty() || (is_large && is_blind);
    Ok(if failed {
        ExitCode::from(EXIT_FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

fn print(report: &Report, per_hour: f64, json: bool) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    let written = if json {
        let mut document = serde_json::to_value(report).expect("reports are JSON");
        document["seeds_per_hour"] = serde_json::json!(per_hour.round());
        document["failed"] = serde_json::json!(report.failures);
        document["failures"] = serde_json::json!(report.failures.len());
        writeln!(stdout, "{document:#}")
    } else {
        let mut text = format!(
            "{} seeds, {} failures, {} commits, {} takeovers, {:.1} simulated hours, {per_hour:.0} seeds an hour\n",
            report.seeds,
            report.failures.len(),
            report.commits,
            report.takeovers,
            report.sim_ms as f64 / 3_600_000.0,
        );
        let second = &report.second_opinions;
        text += &format!(
            "second opinion: {} worlds, {} scopes, {} operations, {} scopes undecided\n",
            second.worlds, second.scopes, second.operations, second.undecided
        );
        for failure in &report.failures {
            text += &format!(
                "seed {}: {} ({})\n  sillok-sim replay sillok-sim-{}.json\n",
                failure.seed, failure.what, failure.invariant, failure.seed
            );
        }
        for (effect, count) in report.effects.iter() {
            text += &format!("{count:>10}  {effect}\n");
        }
        for effect in &report.unseen {
            text += &format!("     never  {effect}\n");
        }
        write!(stdout, "{text}")
    };
    written.map_err(|error| error.to_string())
}

fn plant(only: &str, json: bool) -> Result<ExitCode, String> {
    let bugs = planted::BUGS.iter().filter(|bug| bug.name.contains(only));
    let mut stdout = std::io::stdout().lock();
    let mut caught = Vec::new();
    for bug in bugs {
        let found = planted::seek(bug);
        if !json {
            let line = format!(
                "{:<48} {:>6} {:>6}  {} (seed {})",
                found.name, found.median_seeds, found.max_seeds, found.invariant, found.seed
            );
            writeln!(stdout, "{line}").map_err(|error| error.to_string())?;
        }
        caught.push(found);
    }
    if caught.is_empty() {
        return Err(format!("no planted bug is called {only:?}"));
    }
    if json {
        let document = serde_json::json!({ "bugs": caught });
        writeln!(stdout, "{document:#}").map_err(|error| error.to_string())?;
    }
    Ok(if caught.iter().all(|found| found.caught) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILED)
    })
}

fn replay(
    file: Option<PathBuf>,
    seed: Option<u64>,
    until: Option<usize>,
) -> Result<ExitCode, String> {
    let plan = match (file, seed) {
        (Some(path), _) => {
            let shown = path.display().to_string();
            let bytes = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
            serde_json::from_slice(&bytes).map_err(|error| format!("{shown}: {error}"))?
        }
        (None, seed) => Plan::draw(seed.unwrap_or(0)),
    };
    let Outcome {
        violation,
        text,
        digest,
        ..
    } = World::new(&plan, Without::default(), true).run();
    let text = text.unwrap_or_default();
    let mut stdout = std::io::stdout().lock();
    for line in text.lines().take(until.unwrap_or(usize::MAX)) {
        writeln!(stdout, "{line}").map_err(|error| error.to_string())?;
    }
    let verdict = match &violation {
        None => format!("every invariant held; the trace is {digest}"),
        Some(violation) => violation.to_string(),
    };
    writeln!(stdout, "{verdict}").map_err(|error| error.to_string())?;
    Ok(match violation {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(EXIT_FAILED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_spans_are_read_and_nonsense_is_refused() {
        assert_eq!(seeds("3..7"), Ok((3, 7)));
        assert_eq!(seeds("3"), Ok((3, 4)));
        assert!(seeds("7..3").is_err() && seeds("x").is_err() && seeds("").is_err());
        assert_eq!(span("10m"), Ok(Duration::from_secs(600)));
        assert!(span("10").is_err() && span("").is_err() && span("m").is_err());
    }
}
