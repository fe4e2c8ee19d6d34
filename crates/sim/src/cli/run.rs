//! `sillok-sim run`: many worlds, counted; those that fail are written to files.

use std::env::VarError;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::batch::{self, Failure, Report, Worlds};
use crate::fault::Profile;
use crate::planted::CORRECT;
use crate::{Outcome, Plan, Suite, bank, replay};

use super::{Ended, ended, jobs, make_folder, print, print_json, read_profile, remark, write};

/// Seeds from which on a batch must have seen every effect.
const LARGE: u64 = 1_000;
/// The seeds, unless some are named.
const SEEDS: (u64, u64) = (0, 1_000);
/// The environment variable that names seeds.
const SEED: &str = "SILLOK_SIM_SEED";

/// What to run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The seeds, the last one not included; or one seed
    ///
    /// 0..1000 if neither this nor the environment variable SILLOK_SIM_SEED says otherwise
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    seeds: Option<(u64, u64)>,
    /// A folder of saved plans to run in place of seeds
    #[arg(long, value_name = "DIR", conflicts_with_all = ["profile", "seeds"])]
    bank: Option<PathBuf>,
    /// The faults of every world, in place of those that its seed draws
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Worlds at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = jobs())]
    jobs: u16,
    /// Stop after so long, such as 10m
    #[arg(long, value_name = "TIME", value_parser = span)]
    time: Option<Duration>,
    /// Where to write the plans of worlds that fail
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Fail unless so many default worlds are run in an hour
    #[arg(long, value_name = "N", default_value_t = 0)]
    default_worlds_min: u32,
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
        None => {
            let first = number(text)?;
            let end = first.checked_add(1);
            (
                first,
                end.ok_or("no batch goes on behind the last of all seeds")?,
            )
        }
    };
    if first < end {
        Ok((first, end))
    } else {
        Err(format!(
            "{first} is not below {end}, and nothing lies between them"
        ))
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
    match number.saturating_mul(seconds) {
        0 => Err("nothing can be run in no time".to_owned()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

impl Args {
    /// The seeds that are named, or those of the environment.
    fn seeds(&self) -> Result<(u64, u64), String> {
        if let Some(named) = self.seeds {
            return Ok(named);
        }
        match std::env::var(SEED) {
            Ok(text) => seeds(&text).map_err(|error| format!("{SEED}: {error}")),
            Err(VarError::NotPresent) => Ok(SEEDS),
            Err(error) => Err(format!("{SEED}: {error}")),
        }
    }

    fn worlds(&self, suite: &Suite) -> Result<Worlds, String> {
        if let Some(folder) = &self.bank {
            let plans = bank::read(folder, suite).map_err(|error| error.to_string())?;
            let plans = plans.into_iter().map(|(_, replay)| replay.plan);
            return Ok(Worlds::Plans(plans.collect()));
        }
        let (first, end) = self.seeds()?;
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

    /// Writes the plan of a failure and says so at once: what is still to come may take hours, or
    /// may not come.
    fn tell(&self, number: usize, failure: &Failure) -> Result<(), String> {
        let file = self.file_of(number, failure);
        let line = self.line_of(number, failure);
        write(&file, &failure.replay)?;
        let (seed, what, invariant) = (failure.seed, &failure.what, &failure.invariant);
        let file = file.display();
        if self.json {
            remark(&format!(
                "seed {seed}: {what} ({invariant})\n  {file}\n  {line}"
            ));
            return Ok(());
        }
        let profile = profile(&failure.profile);
        print(&format!(
            "seed {seed}: {profile}\n  {what} ({invariant})\n  {file}\n  {line}\n"
        ))
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
pub(super) fn run(args: &Args, suite: &Suite) -> Ended {
    let worlds = args.worlds(suite)?;
    make_folder(&args.out)?;
    if let (Worlds::Seeds(first, _) | Worlds::Under(first, ..), Some(plan)) =
        (&worlds, worlds.only(suite))
        && !args.json
    {
        print(&format!("seed {first}: {}\n", profile(&plan.profile)))?;
    }
    let (mut failures, mut told) = (0, Ok(()));
    let tell = |plan: &Plan, outcome: &Outcome| {
        if let Some(failure) = Failure::of(plan, outcome) {
            let now = args.tell(failures, &failure);
            failures += 1;
            told = std::mem::replace(&mut told, Ok(())).and(now);
        }
    };
    let started = Instant::now();
    let in_time = || args.time.is_none_or(|time| started.elapsed() < time);
    let report = batch::run(&worlds, suite, args.jobs.into(), in_time, tell);
    let hours = started.elapsed().as_secs_f64().max(0.001) / 3_600.0;
    told?;
    if args.json {
        print_json(&document(args, &report, hours))?;
    } else {
        print(&text(&report, hours))?;
    }
    // Given faults, or given plans, need not bring everything about.
    let must_see_all = matches!(worlds, Worlds::Seeds(..)) && report.seeds >= LARGE;
    let judged = report.seeds - report.failures.len() as u64;
    let is_blind = !report.unseen.is_empty() || !report.second_opinions.is_enough_for(judged);
    let is_slow = default_worlds_per_hour(&report, hours) < args.default_worlds_min.into();
    if is_slow {
        let wanted = args.default_worlds_min;
        remark(&format!("fewer than {wanted} default worlds in an hour"));
    }
    Ok(ended(
        !report.failures.is_empty() || (must_see_all && is_blind) || is_slow,
    ))
}

fn default_worlds_per_hour(report: &Report, hours: f64) -> f64 {
    (report.default_worlds as f64 / hours).round()
}

fn document(args: &Args, report: &Report, hours: f64) -> serde_json::Value {
    let failed = report.failures.iter().enumerate().map(|(number, failure)| {
        let mut failed = serde_json::to_value(failure).expect("reports are JSON");
        failed["replay"] = args.line_of(number, failure).into();
        failed["file"] = args.file_of(number, failure).display().to_string().into();
        failed
    });
    let mut document = serde_json::to_value(report).expect("reports are JSON");
    document["failed"] = failed.collect();
    document["failures"] = report.failures.len().into();
    document["seeds_per_hour"] = (report.seeds as f64 / hours).round().into();
    document["default_worlds_per_hour"] = default_worlds_per_hour(report, hours).into();
    document["commit"] = replay::COMMIT.into();
    document
}

fn profile(profile: &Profile) -> String {
    serde_json::to_string(profile).expect("plans are JSON")
}

fn text(report: &Report, hours: f64) -> String {
    let mut text = format!(
        "{} seeds, {} failures, {} commits, {} takeovers, {:.1} simulated hours, {:.0} seeds an hour\n",
        report.seeds,
        report.failures.len(),
        report.commits,
        report.takeovers,
        report.sim_ms as f64 / 3_600_000.0,
        report.seeds as f64 / hours,
    );
    text += &format!(
        "default worlds: {}, {:.0} an hour\n",
        report.default_worlds,
        default_worlds_per_hour(report, hours),
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
    use clap::Parser as _;

    use super::super::{Args as All, Command};
    use super::*;

    #[test]
    fn a_failure_is_written_when_it_is_told() {
        let out = std::env::temp_dir().join(format!("sillok-sim-told-{}", std::process::id()));
        make_folder(&out).unwrap();
        let command = All::try_parse_from([
            "sillok-sim".as_ref(),
            "run".as_ref(),
            "--json".as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ]);
        let Command::Run(args) = command.unwrap().command else {
            panic!("it is told to run");
        };
        let suite = Suite::built_in();
        let mut plan = Plan::draw_from(&suite, 5);
        plan.operations.truncate(1);
        let mut outcome = crate::run(&plan, &suite);
        assert_eq!(Failure::of(&plan, &outcome), None);
        outcome.violation = Some(crate::Violation::new("it holds", "it does not"));
        let failure = Failure::of(&plan, &outcome).unwrap();
        args.tell(0, &failure).unwrap();
        let read = bank::read_file(&args.file_of(0, &failure), &suite).unwrap();
        assert_eq!(read, failure.replay);
        std::fs::remove_dir_all(&out).unwrap();
    }

    #[test]
    fn seeds_and_spans_are_read_and_nonsense_is_refused() {
        assert_eq!(seeds("3..7"), Ok((3, 7)));
        assert_eq!(seeds("3"), Ok((3, 4)));
        assert!(seeds("7..3").is_err() && seeds("x").is_err() && seeds("").is_err());
        assert_eq!(span("10m"), Ok(Duration::from_secs(600)));
        assert!(span("10").is_err() && span("").is_err() && span("m").is_err());
        assert!(span("5µ").is_err() && span("0s").is_err() && span("0h").is_err());
        let last = u64::MAX;
        assert_eq!(seeds(&format!("{}", last - 1)), Ok((last - 1, last)));
        let why = seeds(&format!("{last}")).unwrap_err();
        assert_eq!(why, "no batch goes on behind the last of all seeds");
        let why = seeds("7..7").unwrap_err();
        assert_eq!(why, "7 is not below 7, and nothing lies between them");
    }
}
