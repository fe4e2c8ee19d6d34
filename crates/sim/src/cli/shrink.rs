//! `sillok-sim shrink`: a plan that fails, made smaller.

use std::path::PathBuf;

use crate::planted::run_under;
use crate::replay::Replay;
use crate::shrink::{Shrunk, shrink};
use crate::{Plan, Suite};

use super::{Ended, Which, print, print_json, remark, write};

/// What to make smaller
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Where to write the smaller plan; beside the other one if not said
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Worlds that may be run for it
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, suite: &Suite) -> Ended {
    let saved = args.which.read(suite)?;
    let run = |plan: &Plan| {
        let outcome = run_under(&saved.protocol, plan, suite, false);
        outcome.expect("the protocol was checked when the plan was read")
    };
    let shrunk = shrink(&saved.plan, suite, args.runs, run)
        .ok_or("there is nothing to make smaller: every invariant held")?;
    let violation = shrunk.outcome.violation.as_ref();
    if let (Some(said), Some(found)) = (&saved.violation, violation)
        && said.invariant != found.invariant
    {
        let (said, found) = (&said.invariant, &found.invariant);
        remark(&format!(
            "the file says that {said:?} did not hold; here it is {found:?}, which is kept"
        ));
    }
    let out = args.out.clone().unwrap_or_else(|| match args.which.file() {
        Some(file) => file.with_extension("small.json"),
        None => PathBuf::from(format!("sillok-sim-{}.small.json", saved.plan.seed)),
    });
    let mut smaller = Replay::of(shrunk.plan.clone(), &saved.protocol, &shrunk.outcome);
    smaller.why.clone_from(&saved.why);
    write(&out, &smaller)?;
    let shown = out.display().to_string();
    if args.json {
        print_json(&serde_json::json!({
            "file": shown,
            "before": shrunk.before,
            "after": shrunk.after,
            "runs": shrunk.runs,
            "violation": shrunk.outcome.violation,
            "replay": format!("sillok-sim replay '{shown}'"),
        }))?;
    } else {
        print(&text(&shrunk, &shown))?;
    }
    Ok(super::ended(false))
}

fn text(shrunk: &Shrunk, shown: &str) -> String {
    let (before, after) = (shrunk.before, shrunk.after);
    let violation = shrunk.outcome.violation.as_ref();
    let violation = violation.map_or_else(String::new, ToString::to_string);
    format!(
        "{violation}\n\
         operations {} -> {}, faults {} -> {}, agents {} -> {}, nodes {} -> {}, {} ms -> {} ms of faults, in {} runs\n\
         sillok-sim replay '{shown}'\n",
        before.operations,
        after.operations,
        before.faults,
        after.faults,
        before.agents,
        after.agents,
        before.nodes,
        after.nodes,
        before.faults_ms,
        after.faults_ms,
        shrunk.runs,
    )
}
