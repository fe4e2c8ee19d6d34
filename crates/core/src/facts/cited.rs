//! What is to be known of what is cited.

use super::{Ask, Need};
use crate::citation::Citation;
use crate::commit::CommitName;

impl Ask<'_> {
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
