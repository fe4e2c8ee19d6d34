//! `sillok-sim replay`: one world again, with its trace as far as is wanted.

use crate::planted::run_under;
use crate::replay::{self, Replay, Verdict};
use crate::{Outcome, Suite};

use super::{Ended, Which, ended, print, print_json};

/// What to replay
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Print the trace up to this line
    #[arg(long, value_name = "N")]
    until: Option<usize>,
    /// Print the trace from this line on
    #[arg(long, value_name = "N")]
    from: Option<usize>,
    /// Print one JSON document, without the trace
    #[arg(long, conflicts_with_all = ["until", "from"])]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, suite: &Suite) -> Ended {
    if let (Some(from), Some(until)) = (args.from, args.until)
        && from > until
    {
        return Err(format!("--from {from} lies behind --until {until}"));
    }
    let saved = args.which.read(suite)?;
    if !args.json {
        print(&planned(&saved))?;
    }
    let keeps_text = args.from.is_some() || args.until.is_some_and(|until| until > 0);
    let outcome = run_under(&saved.protocol, &saved.plan, suite, keeps_text)
        .expect("the protocol was checked when the plan was read");
    let verdict = args.which.file().map(|_| saved.compare(&outcome));
    if args.json {
        print_json(&document(&saved, &outcome, verdict))?;
    } else {
        print(&trace(args, &outcome))?;
        print(&found(&saved, &outcome, verdict))?;
    }
    Ok(ended(outcome.violation.is_some()))
}

fn document(saved: &Replay, outcome: &Outcome, verdict: Option<Verdict>) -> serde_json::Value {
    serde_json::json!({
        "profile": saved.plan.profile,
        "seed": saved.plan.seed,
        "protocol": saved.protocol,
        "commit": replay::COMMIT,
        "made_by": saved.commit,
        "operations": saved.plan.operations.len(),
        "violation": outcome.violation,
        "lines": outcome.lines,
        "digest": outcome.digest,
        "effects": outcome.effects,
        "verdict": verdict.map(Verdict::as_str),
    })
}

/// What is about to happen. It is said first: a world that does not end says nothing more.
fn planned(saved: &Replay) -> String {
    let plan = &saved.plan;
    let profile = serde_json::to_string(&plan.profile).expect("plans are JSON");
    format!(
        "seed {}: {profile}\nseed {}, {}; {} operations of {} agents, under the protocol {:?}\n",
        plan.seed,
        plan.seed,
        replay::summary(&plan.profile),
        plan.operations.len(),
        plan.agents(),
        saved.protocol
    )
}

/// The lines of the trace that are asked for.
fn trace(args: &Args, outcome: &Outcome) -> String {
    let mut text = String::new();
    let (from, until) = (args.from.unwrap_or(1), args.until.unwrap_or(usize::MAX));
    let lines = outcome.text.as_deref().unwrap_or_default().lines();
    for (number, line) in lines.enumerate().take(until).skip(from.saturating_sub(1)) {
        text += &format!("{:>7} {line}\n", number + 1);
    }
    text
}

/// How it ended, and how that compares with what the file says.
fn found(saved: &Replay, outcome: &Outcome, verdict: Option<Verdict>) -> String {
    let mut text = String::new();
    if let Some(verdict) = verdict {
        text += &format!("{verdict}\n");
    }
    if verdict == Some(Verdict::Otherwise) {
        let said = saved.violation.as_ref();
        let said = said.map_or_else(|| "every invariant held".to_owned(), ToString::to_string);
        text += &format!("  there: {said}\n");
    }
    if let Some(violation) = &outcome.violation {
        text += &format!("{violation}\n");
    } else {
        text += "every invariant held\n";
    }
    text + &format!("{} lines; the trace is {}\n", outcome.lines, outcome.digest)
}
