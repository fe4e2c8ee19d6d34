//! What must hold of the bank, of what is stored and of all that anybody was told.
//!
//! Owns the comparison with the events. An answer lies between what was acknowledged before it was asked for and what was sent
//! before it came; where both are one, it is worked out anew, in another way than core does.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::bank::{Ended, Trajectory, Warning};
use sillok_core::id::{DecisionId, Seq};
use sillok_core::scope::{Level, Scope};
use sillok_store::keys::{Family, trajectory};

use super::asked::{Asked, Found, HEARD, Heard, Told};
use super::written::{self, Written, noted};
use super::{Banking, DECIDED, Decided, STORED, Stored, project_of, said};
use crate::violation::Violation;
use crate::workload::{Check, End};

/// Trajectories by where they stand.
type All = BTreeMap<(Scope, Seq), Written>;

/// Why something is as it may not be.
type Wrong = Option<String>;

impl Check for Banking {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let all = written::all(end);
        let held = |invariant, wrong: Wrong| match wrong {
            Some(what) => Err(Violation::new(invariant, what)),
            None => Ok(()),
        };
        held("a trajectory counts once", written::twice(&all))?;
        held(
            "each trajectory is one row",
            misfit(&rows(end), &expected(&all)),
        )?;
        let unlike = noted(end, STORED).find_map(|told: Stored| unlike(&all, &told));
        held("a trajectory says what was told of it", unlike)?;
        let decided: Vec<Decided> = noted(end, DECIDED).collect();
        for heard in noted::<Heard>(end, HEARD) {
            match (&heard.asked, &heard.told) {
                (
                    Asked::Patterns {
                        scope,
                        text,
                        failures_only,
                    },
                    Told::Patterns { found, cut },
                ) => {
                    let asked = (scope, text.as_str(), *failures_only);
                    let wrong = wrong_patterns(&all, &heard, asked, (found, *cut));
                    held("a pattern is what its trajectories say", wrong)?;
                }
                (Asked::Brief { task, .. }, Told::Brief { .. }) => {
                    let moved = moved(&decided, &heard, task);
                    held("a warning moves no decision", moved)?;
                    let wrong = wrong_warnings(&all, &heard, task);
                    held("a warning is of what failed elsewhere", wrong)?;
                }
                (asked, told) => {
                    let what = format!("{asked} is answered by {told:?}");
                    held("an answer is of what was asked", Some(what))?;
                }
            }
        }
        Ok(())
    }
}

/// Rows that are stored.
fn rows(end: &End<'_>) -> BTreeMap<Vec<u8>, Trajectory> {
    let rows = end.rows(Family::Trajectory).into_iter();
    let rows = rows.map(|(key, value)| {
        let told = trajectory::decode(&key, &value).expect("the audit has read it");
        (key.to_vec(), told)
    });
    rows.collect()
}

/// Rows that follow from the events.
fn expected(all: &All) -> BTreeMap<Vec<u8>, Trajectory> {
    let said = all.values().filter_map(|one| one.said.clone());
    said.map(|told| (trajectory::key(&trajectory::Key::of(&told)), told))
        .collect()
}

fn misfit(
    stored: &BTreeMap<Vec<u8>, Trajectory>,
    expected: &BTreeMap<Vec<u8>, Trajectory>,
) -> Wrong {
    let mut rows = stored.iter();
    let stray = rows.find(|(key, told)| expected.get(*key) != Some(*told));
    let stray = stray.map(|(_, told)| format!("{told:?} is stored, and no event says it"));
    stray.or_else(|| {
        let mut rows = expected.iter();
        let (_, told) = rows.find(|(key, _)| !stored.contains_key(*key))?;
        Some(format!("{told:?} is not stored"))
    })
}

/// Whether an event says otherwise than whoever had it stored, unless it was erased.
fn unlike(all: &All, told: &Stored) -> Wrong {
    let Some(written) = all.get(&(told.task.clone(), told.seq)) else {
        return Some(format!("no event tells of {told:?}"));
    };
    let said = written.said.as_ref()?;
    let is_it = said.approach == told.approach
        && said.ended == told.ended
        && said.reward == told.reward
        && said.lesson == told.lesson;
    (!is_it).then(|| format!("{said:?} is stored of {told:?}"))
}

/// Trajectories of a project that are of one idea: those that an answer has to count, and those that it may.
struct Between<'a> {
    least: Vec<&'a Trajectory>,
    most: usize,
    most_failed: usize,
    /// Whether one of them was erased: nobody can tell then whether it counted.
    is_blurred: bool,
}

impl<'a> Between<'a> {
    fn of(
        all: &'a All,
        heard: &Heard,
        project: &Scope,
        idea: usize,
        except: Option<&Scope>,
    ) -> Self {
        let mut between = Between {
            least: Vec::new(),
            most: 0,
            most_failed: 0,
            is_blurred: false,
        };
        let others = all.values().filter(|one| Some(&one.task) != except);
        for one in others.filter(|one| project.contains(&one.task)) {
            let is_sent = one.sent_us.is_none_or(|us| us <= heard.to_us);
            let Some(said) = &one.said else {
                between.is_blurred |= is_sent;
                continue;
            };
            if said::idea_of(&said.approach.text) != Some(idea) || !is_sent {
                continue;
            }
            between.most += 1;
            between.most_failed += usize::from(said.ended == Ended::Failed);
            if one.acknowledged_us.is_some_and(|us| us < heard.from_us) {
                between.least.push(said);
            }
        }
        between
            .least
            .sort_by(|a, b| (a.at, &a.task, a.seq).cmp(&(b.at, &b.task, b.seq)));
        between
    }

    fn least(&self, ended: Ended) -> usize {
        let least = self.least.iter();
        least.filter(|one| one.ended == ended).count()
    }

    /// Whether the counts lie between. What was erased meanwhile may have counted.
    fn holds(&self, succeeded: u32, failed: u32) -> bool {
        let (succeeded, failed) = (succeeded as usize, failed as usize);
        let most_succeeded = self.most - self.most_failed;
        let is_least =
            succeeded >= self.least(Ended::Succeeded) && failed >= self.least(Ended::Failed);
        let is_most = succeeded <= most_succeeded && failed <= self.most_failed;
        is_least && (is_most || self.is_blurred)
    }

    /// Whether nothing but one answer is right.
    fn is_exact(&self) -> bool {
        self.least.len() == self.most && !self.is_blurred
    }

    /// What rewards make of the weight: each moves it a fifth of the way.
    fn weight(&self) -> f64 {
        self.least.iter().fold(0.5, |weight, one| {
            0.8 * weight + 0.2 * (one.reward.get() + 1.0) / 2.0
        })
    }
}

fn wrong_patterns(
    all: &All,
    heard: &Heard,
    (scope, text, failures_only): (&Scope, &str, bool),
    (found, cut): (&[Found], bool),
) -> Wrong {
    let project = scope.at_level(Level::Project)?;
    for one in found {
        let stray = one.cited.iter().find(|cited| {
            let place = (cited.scope.clone(), cited.seq);
            !project.contains(&cited.scope) || !all.contains_key(&place)
        });
        if let Some(stray) = stray {
            return Some(format!("{one:?} cites {stray}, which is none of {project}"));
        }
        let Some(idea) = said::idea_of(&one.approach.text) else {
            return Some(format!("{one:?} is of nothing that anybody said"));
        };
        // No verification fails in these projects: each pattern comes from trajectories, which say of what sort of task it is.
        if one.kind != Some(said::kind()) {
            return Some(format!("{one:?} is of another sort of task"));
        }
        let between = Between::of(all, heard, &project, idea, None);
        if !between.holds(one.succeeded, one.failed) {
            return Some(format!("{one:?} is miscounted"));
        }
        let (succeeded, failed) = (f64::from(one.succeeded), f64::from(one.failed));
        let rate = (1.0 + succeeded) / (2.0 + succeeded + failed);
        let is_off = |one: f64, other: f64| (one - other).abs() > 1e-9;
        if is_off(one.success_rate, rate) {
            return Some(format!("{one:?} succeeds in {rate}"));
        }
        if between.is_exact() && is_off(one.weight, between.weight()) {
            return Some(format!("{one:?} weighs {}", between.weight()));
        }
        let times = if failures_only {
            one.failed
        } else {
            one.succeeded
        };
        if times == 0 {
            return Some(format!("{one:?} is not what was sought"));
        }
    }
    let idea = said::idea_of(text)?;
    let between = Between::of(all, heard, &project, idea, None);
    let ended = if failures_only {
        Ended::Failed
    } else {
        Ended::Succeeded
    };
    let is_there = found
        .iter()
        .any(|one| said::idea_of(&one.approach.text) == Some(idea));
    let is_missing = between.least(ended) > 0 && !is_there && !cut;
    is_missing.then(|| format!("{:?} is not found: {found:?}", between.least))
}

/// Whether warnings stand in the room of decisions that hold.
fn moved(decided: &[Decided], heard: &Heard, task: &Scope) -> Wrong {
    let Told::Brief {
        decisions,
        is_cut,
        warnings,
        ..
    } = &heard.told
    else {
        return None;
    };
    if warnings.is_empty() {
        return None;
    }
    let told: BTreeSet<&DecisionId> = decisions.iter().collect();
    let mut holding = decided
        .iter()
        .filter(|one| project_of(one.project).contains(task) && one.at_us < heard.from_us);
    let missing = holding.find(|one| !told.contains(&one.root));
    if let Some(missing) = missing {
        return Some(format!("{missing:?} is left out of {:?}", heard.told));
    }
    is_cut.then(|| format!("decisions are cut off before warnings: {:?}", heard.told))
}

fn wrong_warnings(all: &All, heard: &Heard, task: &Scope) -> Wrong {
    let Told::Brief {
        warnings,
        warnings_cut,
        ..
    } = &heard.told
    else {
        return None;
    };
    let project = task.at_level(Level::Project)?;
    let stray = warnings
        .iter()
        .find_map(|one| wrong_warning(all, heard, task, &project, one));
    if stray.is_some() || *warnings_cut {
        return stray;
    }
    (0..said::APPROACH_TEXTS / 2).find_map(|idea| {
        let between = Between::of(all, heard, &project, idea, Some(task));
        let is_told = warnings
            .iter()
            .any(|one| said::idea_of(&one.approach.text) == Some(idea));
        let is_missing = between.least(Ended::Failed) > 0 && !is_told;
        is_missing.then(|| format!("{task} is not warned of {:?}", between.least))
    })
}

fn wrong_warning(all: &All, heard: &Heard, task: &Scope, project: &Scope, one: &Warning) -> Wrong {
    let stray = one.failures.iter().find(|cited| {
        let place = (cited.record.scope.clone(), cited.record.seq);
        let written = all.get(&place);
        let failed = written.is_some_and(|written| {
            let said = written.said.as_ref();
            said.is_none_or(|said| said.ended == Ended::Failed)
        });
        !failed || cited.record.scope == *task || !project.contains(&cited.record.scope)
    });
    if let Some(stray) = stray {
        return Some(format!("{task} is warned of {}", stray.record));
    }
    let Some(idea) = said::idea_of(&one.approach.text) else {
        return Some(format!("{one:?} is of nothing that anybody said"));
    };
    let between = Between::of(all, heard, project, idea, Some(task));
    let holds = between.holds(one.succeeded, one.failed);
    (!holds || one.failures.is_empty()).then(|| format!("{one:?} is miscounted"))
}
