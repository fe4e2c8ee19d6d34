//! `sillok-sim run`: many worlds, counted; those that fail are written to files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sillok_sim::batch::{self, Failure, Report, Worlds};
use sillok_sim::planted::CORRECT;
use sillok_sim::{Suite, bank, replay};

use super::{Ended, ended, make_folder, print, print_json, read_profile, write};

/// Seeds from which on a batch must have seen every effect.
const LARGE: u64 = 1_000;

/// What to run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The seeds, the last one not included; or one seed
    #[arg(long, env = "SILLOK_SIM_SEED", value_name = "A..B", value_parser = seeds, default_value = "0..1000")]
    seeds: (u64, u64),
    /// A folder of saved plans to run in place of seeds
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    bank: Option<PathBuf>,
    /// The faults of every world, in place of those that its seed draws
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
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
}

/// `A..B`, or one seed.
fn seeds(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| {
        let number = text.trim().parse::<u64>();
        number.map_err(|error| format!("{text:?} is no seed: {error}"))
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

impl Args {
    fn worlds(&self, suite: &Suite) -> Result<Worlds, String> {
        let (first, end) = self.seeds;
        if let Some(folder) = &self.bank {
            let plans = bank::read(folder, suite).map_err(|error| error.to_string())?;
            let plans = plans.into_iter().map(|(_, replay)| replay.plan);
            return Ok(Worlds::Plans(plans.collect()));
        }
        Ok(match &self.profile {
            None => Worlds::Seeds(first, end),
            Some(path) => Worlds::Under(first, end, read_profile(path)?),
        })
    }

    /// Where the plan of a failure is written. Saved plans may share a seed.
    fn file_of(&self, number: usize, failure: &Failure) -> PathBuf {
        let seed = failure.seed;
        self.out.join(match self.bank {
            None => format!("sillok-sim-{seed}.json"),
            Some(_) => format!("sillok-sim-{seed}-{number}.json"),
        })
    }

    /// The line that runs a failure again.
    fn line_of(&self, number: usize, failure: &Failure) -> String {
        if self.bank.is_some() {
            let file = self.file_of(number, failure);
            return format!("sillok-sim replay '{}'", file.display());
        }
        let profile = self.profile.as_ref();
        let profile = profile.map(|path| path.display().to_string());
        replay::line(failure.seed, CORRECT, &failure.profile, profile.as_deref())
    }
}

/// Runs the command.
#[expect(
    clippy::disallowed_methods,
    reason = "the speed of the machine is what is measured"
)]
pub(crate) fn run(args: &Args) -> Ended {
    let suite = Suite::built_in();
    let worlds = args.worlds(&suite)?;
    make_folder(&args.out)?;
    let started = Instant::now();
    let in_time = || args.time.is_none_or(|time| started.elapsed() < time);
    let report = batch::run(&worlds, &suite, args.jobs, in_time, |_, _| ());
    let seconds = started.elapsed().as_secs_f64();
    let per_hour = report.seeds as f64 / seconds.max(0.001) * 3_600.0;
    for (number, failure) in report.failures.iter().enumerate() {
        write(&args.file_of(number, failure), &failure.replay)?;
    }
    if args.json {
        print_json(&document(args, &report, per_hour))?;
    } else {
        print(&text(args, &report, per_hour))?;
    }
    // Given faults, or given plans, need not bring everything about.
    let must_see_all = matches!(worlds, Worlds::Seeds(..)) && report.seeds >= LARGE;
    let judged = report.seeds - report.failures.len() as u64;
    let is_blind = !report.unseen.is_empty() || !report.second_opinions.is_enough_for(judged);
    Ok(ended(
        !report.failures.is_empty() || (must_see_all && is_blind),
    ))
}

fn document(args: &Args, report: &Report, per_hour: f64) -> serde_json::Value {
    let failed = report.failures.iter().enumerate().map(|(number, failure)| {
        let mut failed = serde_json::to_value(failure).expect("reports are JSON");
        failed["replay"] = args.line_of(number, failure).into();
        failed["file"] = args.file_of(number, failure).display().to_string().into();
        failed
    });
    let mut document = serde_json::to_value(report).expect("reports are JSON");
    document["failed"] = failed.collect();
    document["failures"] = report.failures.len().into();
    document["seeds_per_hour"] = per_hour.round().into();
    document["commit"] = replay::COMMIT.into();
    document
}

fn text(args: &Args, report: &Report, per_hour: f64) -> String {
    let mut text = String::new();
    for (number, failure) in report.failures.iter().enumerate() {
        let profile = serde_json::to_string(&failure.profile).expect("plans are JSON");
        text += &format!(
            "seed {}: {profile}\n  {} ({})\n  {}\n  {}\n",
            failure.seed,
            failure.what,
            failure.invariant,
            args.file_of(number, failure).display(),
            args.line_of(number, failure),
        );
    }
    text += &format!(
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
    for (effect, count) in report.effects.iter() {
        text += &format!("{count:>10}  {effect}\n");
    }
    for effect in &report.unseen {
        text += &format!("     never  {effect}\n");
    }
    text
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
        assert!(span("5µ").is_err());
    }
}
