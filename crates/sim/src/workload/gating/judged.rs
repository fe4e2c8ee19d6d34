//! What must hold of what the gate reports: it counts for the version that was looked at, says where what an entry rests on lies,
//! and takes an entry out by the word of enough.
//!
//! Owns the fold of the events that this is read from. It must not know the rules by which reports are decided.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::command::{Command, Digest, GateFound, GateReport};
use sillok_core::event::Body;
use sillok_core::id::{CommandId, EntryId};
use sillok_core::principal::PrincipalKind;
use sillok_core::retention::Retirement;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, Family};

use super::{Gating, KEPT, REPORTED};
use crate::violation::Violation;
use crate::workload::{Check, End};

/// What is said to hold.
const INVARIANT: &str = "a report of the gate is of what was looked at";
/// Tasks that have to say that an entry's code is gone, where none of them may write there.
const TASKS_MIN: usize = 2;

impl Check for Gating {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        const READ: &str = "the audit has read it";
        if let Some(kept) = end.history.notes.iter().find(|note| note.kind == KEPT) {
            let what = format!("entry {} is kept, though its code is gone", kept.value);
            return Err(Violation::new(INVARIANT, what));
        }
        let reports = reports(end);
        let mut entries = Entries::default();
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).expect(READ);
            let Some(body) = event.decode_body().expect(READ) else {
                continue;
            };
            let header = event.decode_header().expect(READ);
            let by = By {
                kind: header.actor.kind,
                said: reports.get(&header.command),
            };
            let followed = entries.follow(&body, &by);
            followed.map_err(|what| Violation::new(INVARIANT, what))?;
        }
        Ok(())
    }
}

/// What agents reported, by their commands.
fn reports(end: &End<'_>) -> BTreeMap<CommandId, GateReport> {
    let notes = end.history.notes.iter();
    let said = notes.filter(|note| note.kind == REPORTED).map(|note| {
        let said: GateReport = serde_json::from_value(note.value.clone()).expect("it was noted");
        let command = Command::ReportGate(Box::new(said.clone()));
        (command.digest(), said)
    });
    let said: BTreeMap<Digest, GateReport> = said.collect();
    let calls = end.history.calls.iter();
    let told = calls.filter_map(|call| Some((call.command, said.get(&call.digest)?.clone())));
    told.collect()
}

/// Whose command an event is of, and what that reported, if it did.
struct By<'a> {
    kind: PrincipalKind,
    said: Option<&'a GateReport>,
}

/// An entry by the events so far.
#[derive(Debug, Default)]
struct Known {
    version: u64,
    /// Tasks whose last word is that its code is gone.
    gone: BTreeSet<Scope>,
}

/// Entries by the events so far.
#[derive(Debug, Default)]
struct Entries(BTreeMap<EntryId, Known>);

impl Entries {
    fn follow(&mut self, body: &Body, by: &By<'_>) -> Result<(), String> {
        match body {
            Body::EntryCreated(made) => self.0.entry(made.id).or_default().version = 1,
            Body::EntryAmended(amended) => {
                self.0.entry(amended.id).or_default().version = amended.version;
            }
            Body::ReuseReported(word) => {
                let known = self.0.entry(word.entry).or_default();
                if word.outcome == ReuseOutcome::Stale {
                    known.gone.insert(word.task.clone());
                } else {
                    known.gone.remove(&word.task);
                }
            }
            Body::CitationsRefreshed(refreshed) => {
                let said = self.looked_at(refreshed.entry, by)?;
                let told = match &said.found {
                    GateFound::Moved { citations } => citations.as_slice(),
                    GateFound::Stale => &[],
                };
                if told != refreshed.citations || by.kind == PrincipalKind::Agent {
                    let entry = refreshed.entry;
                    return Err(format!(
                        "entry {entry} is cited where nobody who may say so found it"
                    ));
                }
            }
            Body::EntriesRetired {
                entries,
                why: Retirement::Stale { .. },
            } => {
                for entry in entries {
                    self.goes(*entry, by)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an entry may leave recall by a report.
    fn goes(&self, entry: EntryId, by: &By<'_>) -> Result<(), String> {
        let said = self.looked_at(entry, by)?;
        let words = self.0.get(&entry).map_or(0, |known| known.gone.len());
        let is_enough = by.kind != PrincipalKind::Agent || words >= TASKS_MIN;
        if said.found != GateFound::Stale || !is_enough {
            return Err(format!("entry {entry} went by the word of {words} tasks"));
        }
        Ok(())
    }

    /// What was reported of the version that an entry has.
    fn looked_at<'a>(&self, entry: EntryId, by: &By<'a>) -> Result<&'a GateReport, String> {
        let version = self.0.get(&entry).map_or(0, |known| known.version);
        let said = by.said.filter(|said| said.entry == entry);
        let said = said.ok_or_else(|| format!("nobody reported anything of entry {entry}"))?;
        if said.expected_version == version {
            return Ok(said);
        }
        Err(format!(
            "entry {entry} is at version {version}, and changed by what was seen of version {}",
            said.expected_version
        ))
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::commit::CommitName;
    use sillok_core::entry::Status;
    use sillok_core::event::{CitationsRefreshed, ReuseReported};
    use sillok_core::reuse::Usage;

    use super::super::{moved, rests_on};
    use super::*;

    fn entry() -> EntryId {
        EntryId::from_bytes([1; 16])
    }

    fn at() -> CommitName {
        CommitName::new("abcdef1", "r")
    }

    fn task(number: u8) -> Scope {
        Scope::parse(&format!("org/a/project/p/worktree/w/task/t{number}")).unwrap()
    }

    fn said(found: GateFound) -> GateReport {
        GateReport {
            task: task(0),
            entry: entry(),
            expected_version: 2,
            at: at(),
            found,
        }
    }

    fn word(number: u8, outcome: ReuseOutcome) -> Body {
        Body::ReuseReported(Box::new(ReuseReported {
            entry: entry(),
            task: task(number),
            outcome,
            usage: Usage::default(),
            status: Status::Verified,
        }))
    }

    fn goes() -> Body {
        Body::EntriesRetired {
            entries: vec![entry()],
            why: Retirement::Stale { at: at() },
        }
    }

    /// Whether an event may follow, of an entry at a version, of which tasks said that its code is gone.
    fn follows(version: u64, words: &[Body], body: &Body, by: &By<'_>) -> bool {
        let mut entries = Entries::default();
        entries.0.entry(entry()).or_default().version = version;
        for word in words {
            entries.follow(word, by).unwrap();
        }
        entries.follow(body, by).is_ok()
    }

    #[test]
    fn what_is_gone_goes_by_the_word_of_enough_and_in_the_version_that_was_seen() {
        let said = said(GateFound::Stale);
        let by = |kind| By {
            kind,
            said: Some(&said),
        };
        let orchestrator = by(PrincipalKind::Orchestrator);
        assert!(follows(2, &[], &goes(), &orchestrator));
        assert!(!follows(3, &[], &goes(), &orchestrator));
        let agent = by(PrincipalKind::Agent);
        let gone = |number| word(number, ReuseOutcome::Stale);
        assert!(!follows(2, &[gone(1), gone(1)], &goes(), &agent));
        assert!(follows(2, &[gone(1), gone(2)], &goes(), &agent));
        let taken_back = [gone(1), gone(2), word(1, ReuseOutcome::Helped)];
        assert!(!follows(2, &taken_back, &goes(), &agent));
        let nobody = By {
            said: None,
            ..orchestrator
        };
        assert!(!follows(2, &[], &goes(), &nobody));
    }

    #[test]
    fn what_moved_is_cited_where_it_was_found_by_whoever_may_write() {
        let there = moved(&rests_on(1, 1), 1);
        let said = said(GateFound::Moved {
            citations: there.clone(),
        });
        let refreshed = |citations| {
            Body::CitationsRefreshed(Box::new(CitationsRefreshed {
                entry: entry(),
                citations,
                at: at(),
            }))
        };
        let by = |kind| By {
            kind,
            said: Some(&said),
        };
        let orchestrator = by(PrincipalKind::Orchestrator);
        assert!(follows(2, &[], &refreshed(there.clone()), &orchestrator));
        let elsewhere = refreshed(moved(&there, 0));
        assert!(!follows(2, &[], &elsewhere, &orchestrator));
        let agent = by(PrincipalKind::Agent);
        assert!(!follows(2, &[], &refreshed(there), &agent));
        assert!(!follows(2, &[], &goes(), &orchestrator));
    }
}
