//! Flags of `trajectory` and `pattern`.

use std::str::FromStr;

use clap::{Args, Subcommand};
use sillok_core::bank::{Ended, Reward, TaskKind};
use sillok_core::scope::Scope;
use sillok_server::api::TrajectoryStep;

use super::{Touched, Within};

/// `trajectory`
#[derive(Debug, Subcommand)]
pub enum TrajectoryCommand {
    /// Store how an agent went about a task, once the task was verified or closed. Its orchestrator does
    Store(TrajectoryStore),
}

/// `trajectory store`
#[derive(Debug, Args)]
pub struct TrajectoryStore {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// What sort of task it was, such as bugfix
    #[arg(long, value_name = "KIND")]
    pub kind: TaskKind,
    /// succeeded or failed
    #[arg(long, value_name = "OUTCOME")]
    pub ended: Ended,
    /// What it was worth, from -1 to 1
    #[arg(long, value_name = "REWARD", allow_hyphen_values = true)]
    pub reward: Reward,
    /// What is to be known of it: why it failed, or what made it work
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub lesson: String,
    /// A record of the task's log by its number, or a stretch of one, such as 12 or 12:0-80; may be repeated, in order
    #[arg(long = "step", value_name = "SEQ[:FROM-TO]", required = true)]
    pub steps: Vec<NamedStep>,
    /// What was done, in words
    #[arg(value_name = "APPROACH")]
    pub approach: String,
    /// What it touched.
    #[command(flatten)]
    pub touched: Touched,
}

/// A step, as it is named on the command line.
#[derive(Clone, Copy, Debug)]
pub struct NamedStep(pub TrajectoryStep);

impl FromStr for NamedStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no step: SEQ or SEQ:FROM-TO is expected");
        let (record, stretch) = match text.split_once(':') {
            None => (text, None),
            Some((record, stretch)) => (record, Some(stretch.split_once('-').ok_or_else(bad)?)),
        };
        let byte = |text: &str| text.parse::<u32>().map_err(|_| bad());
        let (from, to) = match stretch {
            None => (None, None),
            Some((from, to)) => (Some(byte(from)?), Some(byte(to)?)),
        };
        Ok(Self(TrajectoryStep {
            record: record.parse().map_err(|_| bad())?,
            from,
            to,
        }))
    }
}

/// `pattern`
#[derive(Debug, Subcommand)]
pub enum PatternCommand {
    /// Search what became of approaches in a project, the best first
    Search(PatternSearch),
}

/// `pattern search`
#[derive(Debug, Args)]
pub struct PatternSearch {
    /// Where to look.
    #[command(flatten)]
    pub within: Within,
    /// What is to be done, in words
    #[arg(value_name = "QUERY")]
    pub query: String,
    /// Approaches to this sort of task alone
    #[arg(long, value_name = "KIND")]
    pub kind: Option<TaskKind>,
    /// Those that failed, and not those that did what was asked
    #[arg(long)]
    pub failures_only: bool,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_number_or_a_stretch_of_what_stands_there() {
        let parsed = |text: &str| {
            let step = text.parse::<NamedStep>().ok();
            step.map(|NamedStep(step)| (step.record, step.from, step.to))
        };
        assert_eq!(parsed("12"), Some((12, None, None)));
        assert_eq!(parsed("12:0-80"), Some((12, Some(0), Some(80))));
        for bad in [
            "", "x", "12:", "12:4", "12:-4", "12:4-", "12:4-x", "12:4-5-6",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }
}
