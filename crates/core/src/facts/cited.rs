//! What is to be known of what is cited.

use super::{Ask, Need};
use crate::bank::Step;
use crate::citation::Citation;
use crate::commit::CommitName;
use crate::limits::TRAJECTORY_STEPS_MAX;

impl Ask<'_> {
    /// The records of the scope that a trajectory goes by. One of more steps than there may be is refused without.
    pub(super) fn steps(&mut self, steps: &[Step]) {
        if steps.len() > TRAJECTORY_STEPS_MAX {
            return;
        }
        for step in steps {
            match step.excerpt_of(self.scope) {
                Some(excerpt) if !self.facts.excerpts.contains_key(&excerpt) => {
                    self.needs.push(Need::Excerpt(excerpt));
                }
                None if !self.facts.records.contains_key(&step.record_of(self.scope)) => {
                    self.needs.push(Need::Record(step.record_of(self.scope)));
                }
                _ => {}
            }
        }
    }

    /// The records and commits that citations name.
    pub(super) fn cited(&mut self, citations: &[Citation]) {
        for citation in citations {
            let need = match citation {
                Citation::Excerpt(excerpt) if !self.facts.excerpts.contains_key(excerpt) => {
                    Need::Excerpt(excerpt.clone())
                }
                Citation::TerminalSnapshot { id } | Citation::Log { id, .. }
                    if !self.facts.records.contains_key(id) =>
                {
                    Need::Record(id.clone())
                }
                _ => continue,
            };
            if !self.needs.contains(&need) {
                self.needs.push(need);
            }
        }
        self.commits(citations.iter().filter_map(Citation::commit).collect());
    }

    /// Whether commits are there.
    pub(super) fn commits(&mut self, mut commits: Vec<CommitName>) {
        commits.retain(|commit| !self.facts.commits.contains_key(commit));
        if !commits.is_empty() {
            self.needs.push(Need::Commits(commits));
        }
    }
}
