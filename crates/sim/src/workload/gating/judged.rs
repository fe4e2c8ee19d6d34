//! What must hold of what the gate reports: it counts for what was looked at, says where what an entry rests on lies, leaves what
//! tasks said themselves, and takes an entry out by the word of no agent.
//!
//! Owns the fold of the events that this is read from. It must not know the rules by which reports are decided.

use std::collections::BTreeMap;

use sillok_core::citation::{Citation, CitationsHash};
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
    /// The citations that were told last, of those that name places anew; none before.
    cited: Option<Vec<Citation>>,
    /// What tasks said last.
    words: BTreeMap<Scope, ReuseOutcome>,
}

/// Entries by the events so far.
#[derive(Debug, Default)]
struct Entries(BTreeMap<EntryId, Known>);

impl Entries {
    fn follow(&mut self, body: &Body, by: &By<'_>) -> Result<(), String> {
        match body {
            Body::EntryCreated(made) => self.0.entry(made.id).or_default().version = 1,
            Body::EntryAmended(amended) => {
                let known = self.0.entry(amended.id).or_default();
                known.version = amended.version;
                known.cited = None;
            }
            Body::ReuseReported(word) => {
                let known = self.0.entry(word.entry).or_default();
                let before = known.words.insert(word.task.clone(), word.outcome);
                let own = before.filter(|before| *before != ReuseOutcome::Stale);
                if let (Some(own), Some(_)) = (own, by.said) {
                    return Err(format!(
                        "{} said {own} of entry {}, and the gate took that back",
                        word.task, word.entry
                    ));
                }
            }
            Body::CitationsRefreshed(refreshed) => {
                let said = self.looked_at(refreshed.entry, by)?;
                let entry = refreshed.entry;
                let GateFound::Moved { seen, citations } = &said.found else {
                    return Err(format!("entry {entry} is cited where nothing was found"));
                };
                if *citations != refreshed.citations || by.kind == PrincipalKind::Agent {
                    return Err(format!(
                        "entry {entry} is cited where nobody who may say so found it"
                    ));
                }
                let known = self.0.entry(entry).or_default();
                let before = known.cited.replace(citations.clone());
                if before.is_some_and(|before| CitationsHash::of(&before) != *seen) {
                    return Err(format!(
                        "entry {entry} is cited by what was seen before it was cited elsewhere"
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

    /// Whether an entry of a project may leave recall by a report.
    fn goes(&self, entry: EntryId, by: &By<'_>) -> Result<(), String> {
        let said = self.looked_at(entry, by)?;
        let is_enough = matches!(by.kind, PrincipalKind::Orchestrator | PrincipalKind::Human);
        if said.found != GateFound::Stale || !is_enough {
            return Err(format!("entry {entry} went by the word of an {}", by.kind));
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
            let itself = By { said: None, ..*by };
            entries.follow(word, &itself).unwrap();
        }
        entries.follow(body, by).is_ok()
    }

    #[test]
    fn what_is_gone_goes_by_the_word_of_no_agent_and_in_the_version_that_was_seen() {
        let said = said(GateFound::Stale);
        let by = |kind| By {
            kind,
            said: Some(&said),
        };
        let orchestrator = by(PrincipalKind::Orchestrator);
        assert!(follows(2, &[], &goes(), &orchestrator));
        assert!(follows(2, &[], &goes(), &by(PrincipalKind::Human)));
        assert!(!follows(3, &[], &goes(), &orchestrator));
        let all: Vec<Body> = (0..9).map(|one| word(one, ReuseOutcome::Stale)).collect();
        for kind in [PrincipalKind::Agent, PrincipalKind::System] {
            assert!(!follows(2, &all, &goes(), &by(kind)), "{kind}");
        }
        let nobody = By {
            said: None,
            ..orchestrator
        };
        assert!(!follows(2, &[], &goes(), &nobody));
    }

    #[test]
    fn what_a_task_said_itself_is_not_taken_back_by_the_gate() {
        let said = said(GateFound::Stale);
        let gate = By {
            kind: PrincipalKind::Agent,
            said: Some(&said),
        };
        let itself = By {
            kind: PrincipalKind::Agent,
            said: None,
        };
        let stale = word(1, ReuseOutcome::Stale);
        for own in [ReuseOutcome::Helped, ReuseOutcome::Wrong] {
            let before = [word(1, own)];
            let mut entries = Entries::default();
            entries.follow(&before[0], &itself).unwrap();
            assert!(entries.follow(&stale, &gate).is_err(), "{own}");
            assert!(follows(2, &before, &stale, &itself), "{own}");
        }
        assert!(follows(2, &[word(2, ReuseOutcome::Helped)], &stale, &gate));
    }

    #[test]
    fn what_moved_is_cited_where_it_was_found_by_whoever_may_write() {
        let (here, there) = (rests_on(1, 1), moved(&rests_on(1, 1), 1));
        let found = |seen: &[Citation]| {
            said(GateFound::Moved {
                seen: CitationsHash::of(seen),
                citations: there.clone(),
            })
        };
        let said = found(&here);
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
        let moves = refreshed(there.clone());
        assert!(!follows(2, &[], &moves, &agent));
        // Once it was cited elsewhere, by what was seen there alone.
        let (newer, late) = (found(&there), found(&here));
        for (said, is_right) in [(&newer, true), (&late, false)] {
            let mut entries = Entries::default();
            entries.0.entry(entry()).or_default().version = 2;
            entries.follow(&moves, &orchestrator).unwrap();
            let by = By {
                kind: PrincipalKind::Orchestrator,
                said: Some(said),
            };
            assert_eq!(entries.follow(&moves, &by).is_ok(), is_right);
        }
        assert!(!follows(2, &[], &goes(), &orchestrator));
    }
}
