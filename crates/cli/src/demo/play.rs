//! What a play hands over to the report.
//!
//! Owns nothing but the form: there are two plays, and one report.

use std::path::PathBuf;

use super::deciding::Deciding;
use super::governance::Outcomes;
use super::judgement::Judgement;
use super::report::{AgentReport, RecallReport};

/// What was played.
#[derive(Debug)]
pub struct Played {
    /// Who did what.
    pub agents: Vec<AgentReport>,
    /// What a later agent recalled.
    pub recall: Option<RecallReport>,
    /// What was refused and replaced.
    pub outcomes: Outcomes,
    /// What a person decided, and what was put down that is worth little.
    pub judgement: Judgement,
    /// Which decisions were saved, loaded, and left as they were.
    pub deciding: Deciding,
    /// The sample repository, when one was made.
    pub repository: Option<PathBuf>,
    /// What the reader must know about the verdicts.
    pub note: Option<String>,
}

impl Outcomes {
    /// Adds what came of something else.
    pub fn join(&mut self, more: Self) {
        self.refusals.extend(more.refusals);
        self.supersessions.extend(more.supersessions);
        self.written += more.written;
    }
}
