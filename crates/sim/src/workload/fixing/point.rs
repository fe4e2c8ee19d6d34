//! What somebody who asked about fixes had to be told at a point of what was committed, and which points come into question.
//!
//! Owns the comparison of an answer with one point. Which approaches are one, `said` knows. An answer is right if it is what the
//! commits up to one point lead to, and that point lies within the time of the question.

use std::collections::BTreeMap;

use sillok_core::ErrorCode;
use sillok_core::circular::{Approach, ApproachJudged, FailedApproach, Likeness, Tried, Verdict};
use sillok_core::id::Seq;
use sillok_core::scope::{Level, Scope};
use sillok_core::time::Timestamp;

use super::asked::{Asked, Heard, Told};
use super::said::idea_of;
use super::written::{Commit, Said};

/// How much alike two approaches are at least that are one.
const ALIKE: f64 = 0.3;

/// A task that was opened, as it stands at a point.
#[derive(Clone, Debug, Default)]
struct Standing<'a> {
    /// Approaches that failed, in their order.
    failed: Vec<FailedApproach>,
    /// The last verification that passed: what failed before counts no more.
    passed: Seq,
    /// Why it is stuck, if it is.
    stuck: Option<&'a str>,
}

/// All tasks at a point.
#[derive(Clone, Debug, Default)]
struct View<'a>(BTreeMap<&'a Scope, Standing<'a>>);

/// Approaches that are one and failed in one task, as they are to be told.
#[derive(Debug, PartialEq)]
struct Known<'a> {
    task: &'a Scope,
    likeness: Likeness,
    /// The last of them: none is more like what is asked about.
    approach: &'a Approach,
    attempts: u32,
    last: Timestamp,
    /// How they failed, the last time first, each reason once.
    reasons: Vec<&'a str>,
    /// What all of them touched.
    files: &'a [String],
    symbols: &'a [String],
    /// Whether there is more to tell of them.
    cut: bool,
}

/// Why what somebody was told fits no point that whoever asked within this time may have been shown; none if it fits one. What
/// was acknowledged before is there at each of these points, and what was sent only later at none.
pub(super) fn wrong(commits: &[Commit], heard: &Heard) -> Option<String> {
    let is_before = |commit: &Commit| commit.acknowledged_us.is_some_and(|us| us < heard.from_us);
    let is_behind = |commit: &Commit| commit.sent_us.is_some_and(|us| us > heard.to_us);
    let last_before = commits.iter().rposition(is_before);
    let first = last_before.map_or(0, |last| last + 1);
    let behind = commits.iter().position(is_behind);
    let end = behind.unwrap_or(commits.len()).max(first);
    let mut view = View::default();
    commits[..first].iter().for_each(|commit| view.add(commit));
    let mut what = view.wrong(heard)?;
    for commit in &commits[first..end] {
        view.add(commit);
        what = view.wrong(heard)?;
    }
    let points = end - first;
    Some(format!(
        "{}: {what}, or else at {points} commits",
        heard.asked
    ))
}

impl<'a> View<'a> {
    /// The view once a commit has happened as well.
    fn add(&mut self, commit: &'a Commit) {
        for event in &commit.events {
            let task = self.0.entry(&event.task).or_default();
            match &event.said {
                Said::Opened | Said::NotPassed(_) => {}
                Said::Stuck(reason) => task.stuck = Some(reason.as_str()),
                Said::Free => task.stuck = None,
                Said::Passed => {
                    task.passed = event.header.seq;
                    task.stuck = None;
                }
                Said::Failed(_) => task.failed.extend(event.failed_approach()),
                Said::Erased(events) => {
                    let stays = |failed: &FailedApproach| !events.contains(&failed.seq);
                    task.failed.retain(stays);
                }
            }
        }
    }

    /// What is wrong about an answer where this stands, if anything.
    fn wrong(&self, heard: &Heard) -> Option<String> {
        match (&heard.asked, &heard.told) {
            (Asked::Check { task, approach }, Told::Checked { judged, stuck }) if !judged.cut => {
                match self.0.get(task) {
                    Some(own) if own.stuck == stuck.as_deref() => {
                        self.wrong_check((task, own), approach, judged)
                    }
                    Some(own) => {
                        let is = own.stuck;
                        Some(format!(
                            "{stuck:?} is said to keep it stuck, and not {is:?}"
                        ))
                    }
                    None => Some("nobody has opened it".to_owned()),
                }
            }
            (Asked::Check { task, .. }, Told::Refused(ErrorCode::NotFound)) => {
                let is_open = self.0.contains_key(task);
                is_open.then(|| "it is said never to have been opened".to_owned())
            }
            (Asked::List { task, limit }, Told::Listed(listed)) => {
                let failed = self.0.get(task);
                let failed = failed.map_or(&[][..], |task| task.failed.as_slice());
                let expected = &failed[..failed.len().min(*limit)];
                (listed != expected).then(|| format!("{listed:?} is listed of {expected:?}"))
            }
            (_, told) => Some(format!("{told:?} is no answer to it")),
        }
    }

    /// The same of what follows from an approach.
    fn wrong_check(
        &self,
        (task, own): (&Scope, &Standing<'_>),
        approach: &Approach,
        told: &ApproachJudged,
    ) -> Option<String> {
        let (counting, warning) = self.alike((task, own), approach);
        let verdict = if own.stuck.is_some() {
            Verdict::Block
        } else if !counting.is_empty() {
            Verdict::Reject
        } else if !warning.is_empty() {
            Verdict::Warn
        } else {
            Verdict::Allow
        };
        if told.verdict != verdict {
            let told = told.verdict.as_str();
            return Some(format!("it is {told} and not {}", verdict.as_str()));
        }
        let groups = [counting].into_iter().chain(warning);
        let expected: Vec<Known<'_>> = groups.filter_map(|group| Known::of(&group)).collect();
        let tried: Vec<Known<'_>> = told.tried.iter().map(Known::told).collect();
        if tried != expected {
            return Some(format!("{tried:?} is told of {expected:?}"));
        }
        let mut tried = told.tried.iter();
        let unlike = tried.find(|tried| tried.similarity <= ALIKE)?;
        Some(format!("{unlike:?} is told of, and is not alike"))
    }

    /// What failed of the idea of an approach: what counts in the task itself, and all else, first what was cleared there and
    /// then task by task of the project.
    fn alike(
        &self,
        (task, own): (&Scope, &Standing<'_>),
        approach: &Approach,
    ) -> (Vec<&FailedApproach>, Vec<Vec<&FailedApproach>>) {
        let (idea, project) = (idea_of(approach), task.at_level(Level::Project));
        let of_idea = |failed: &&FailedApproach| {
            let other = idea_of(&failed.approach);
            other.is_some() && other == idea
        };
        let counts = |failed: &&FailedApproach| failed.task == *task && failed.seq > own.passed;
        let is_inside = |of: &Scope| {
            let project = project.as_ref();
            project.is_some_and(|project| project.contains(of))
        };
        let around = self.0.iter().filter(|(of, _)| is_inside(of));
        let (own, others): (Vec<_>, Vec<_>) = around.partition(|(of, _)| **of == task);
        let (mut counting, mut warning) = (Vec::new(), Vec::new());
        for (_, standing) in own.into_iter().chain(others) {
            let alike = standing.failed.iter().filter(of_idea);
            let (own, other): (Vec<_>, Vec<_>) = alike.partition(counts);
            counting.extend(own);
            warning.extend(Some(other).filter(|other| !other.is_empty()));
        }
        (counting, warning)
    }
}

impl<'a> Known<'a> {
    /// Several that are one; none where there is none.
    fn of(group: &[&'a FailedApproach]) -> Option<Self> {
        let newest = *group.last()?;
        let mut reasons: Vec<&str> = Vec::new();
        for failed in group.iter().rev() {
            if !reasons.contains(&&*failed.reason) {
                reasons.push(&failed.reason);
            }
        }
        Some(Self {
            task: &newest.task,
            likeness: Likeness::One,
            approach: &newest.approach,
            attempts: u32::try_from(group.len()).expect("a world has fewer fixes"),
            last: group.iter().map(|failed| failed.at).max()?,
            reasons,
            // Both texts of an idea are for one place.
            files: &newest.approach.files,
            symbols: &newest.approach.symbols,
            cut: false,
        })
    }

    /// Those that somebody was told of.
    fn told(tried: &'a Tried) -> Self {
        Self {
            task: &tried.task,
            likeness: tried.likeness,
            approach: &tried.approach,
            attempts: tried.attempts,
            last: tried.last,
            reasons: tried.reasons.iter().map(String::as_str).collect(),
            files: &tried.places.files,
            symbols: &tried.places.symbols,
            cut: tried.cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::circular::{Proposed, judge_approach};
    use sillok_core::task::opening_text;

    use super::super::said::approach;
    use super::super::written::tests::{commit, event, failed, task};
    use super::super::{DESCRIPTION, TITLE};
    use super::*;

    /// Two tasks of a project and one of another. In the first an idea failed twice, before and behind a pass, and another one
    /// before it; in the others the first idea failed once.
    fn written() -> Vec<Commit> {
        let (own, beside, away) = (task(0, 0), task(0, 1), task(1, 0));
        let events = [
            event(&own, 1, Said::Opened),
            event(&own, 3, failed(1, Some(0), Some(0))),
            event(&own, 5, failed(2, Some(2), Some(2))),
            event(&own, 6, Said::Passed),
            event(&own, 8, failed(3, None, Some(1))),
            event(&beside, 1, Said::Opened),
            event(&beside, 3, failed(4, Some(4), Some(0))),
            event(&away, 1, Said::Opened),
            event(&away, 3, failed(5, Some(4), Some(0))),
        ];
        let events = (1_u64..).zip(events);
        let commits = events.map(|(number, event)| commit(event, 10 * number, 10 * number + 5));
        commits.collect()
    }

    /// What core says of an approach to a task where all of that stands.
    fn judged(of: &Scope, number: u8) -> ApproachJudged {
        let commits = written();
        let events = commits.iter().flat_map(|commit| &commit.events);
        let inside = events.filter(|event| {
            let project = of.at_level(Level::Project).unwrap();
            project.contains(&event.task)
        });
        let mut failed: Vec<FailedApproach> =
            inside.filter_map(|one| one.failed_approach()).collect();
        failed.reverse();
        let passed = if *of == task(0, 0) { 6 } else { 0 };
        let to = Proposed {
            task: of,
            description: &opening_text(TITLE, DESCRIPTION),
            cleared_through: Seq::new(passed),
        };
        judge_approach(&approach(number), to, &failed)
    }

    fn heard(of: &Scope, number: u8, judged: ApproachJudged) -> Heard {
        Heard {
            asked: Asked::Check {
                task: of.clone(),
                approach: approach(number),
            },
            told: Told::Checked {
                judged,
                stuck: None,
            },
            from_us: 1_000,
            to_us: 1_001,
        }
    }

    #[test]
    fn what_core_says_of_an_approach_is_right() {
        let expected = [
            (task(0, 0), 1, Verdict::Reject, 3),
            (task(0, 0), 3, Verdict::Warn, 1),
            (task(0, 0), 5, Verdict::Allow, 0),
            (task(0, 1), 1, Verdict::Reject, 2),
            (task(0, 1), 2, Verdict::Warn, 1),
            (task(1, 0), 3, Verdict::Allow, 0),
        ];
        for (of, number, verdict, tried) in expected {
            let judged = judged(&of, number);
            assert_eq!((judged.verdict, judged.tried.len()), (verdict, tried));
            assert_eq!(wrong(&written(), &heard(&of, number, judged)), None);
        }
    }

    #[test]
    fn another_verdict_and_another_history_are_found() {
        let own = task(0, 0);
        let is_wrong = |number: u8, spoil: fn(&mut ApproachJudged)| {
            let mut judged = judged(&own, number);
            spoil(&mut judged);
            wrong(&written(), &heard(&own, number, judged)).is_some()
        };
        assert!(!is_wrong(1, |_| ()));
        // What failed and counts, what a pass cleared, and what failed nowhere.
        assert!(is_wrong(1, |judged| judged.verdict = Verdict::Warn));
        assert!(is_wrong(3, |judged| judged.verdict = Verdict::Reject));
        assert!(is_wrong(3, |judged| judged.verdict = Verdict::Allow));
        assert!(is_wrong(5, |judged| judged.verdict = Verdict::Warn));
        assert!(is_wrong(1, |judged| judged.verdict = Verdict::Block));
        assert!(is_wrong(1, |judged| drop(judged.tried.pop())));
        assert!(is_wrong(1, |judged| judged.tried.swap(0, 1)));
        assert!(is_wrong(1, |judged| judged.tried[0].attempts = 2));
        assert!(is_wrong(1, |judged| judged.tried[1].reasons.clear()));
        assert!(is_wrong(1, |judged| judged.tried[1].last = Timestamp::EPOCH));
        assert!(is_wrong(1, |judged| judged.tried[1].task = task(1, 0)));
        assert!(is_wrong(1, |judged| judged.tried[0].approach = approach(2)));
        assert!(is_wrong(1, |judged| judged.tried[0].similarity = ALIKE));
        assert!(is_wrong(1, |judged| judged.tried[0].likeness = Likeness::Near));
        assert!(is_wrong(1, |judged| judged.tried[1].places.files.clear()));
        assert!(is_wrong(1, |judged| judged.tried[1].cut = true));
        assert!(is_wrong(1, |judged| judged.cut = true));
    }

    #[test]
    fn what_failed_in_another_task_that_is_rejected_is_found() {
        let beside = task(0, 1);
        let mut judged = judged(&beside, 2);
        assert_eq!(judged.verdict, Verdict::Warn);
        judged.verdict = Verdict::Reject;
        assert!(wrong(&written(), &heard(&beside, 2, judged)).is_some());
    }

    #[test]
    fn a_stuck_task_blocks_whatever_is_asked_until_it_is_free() {
        let own = task(0, 0);
        let mut commits = written();
        let stuck = event(&own, 9, Said::Stuck("round and round".into()));
        commits.push(commit(stuck, 200, 205));
        let is_wrong = |commits: &[Commit], stuck: Option<&str>, verdict: Verdict| {
            let judged = judged(&own, 5);
            let mut heard = heard(&own, 5, ApproachJudged { verdict, ..judged });
            if let Told::Checked { stuck: told, .. } = &mut heard.told {
                *told = stuck.map(str::to_owned);
            }
            wrong(commits, &heard).is_some()
        };
        let reason = Some("round and round");
        assert!(!is_wrong(&commits, reason, Verdict::Block));
        assert!(is_wrong(&commits, reason, Verdict::Allow));
        assert!(is_wrong(&commits, None, Verdict::Allow));
        assert!(is_wrong(&commits, Some("another"), Verdict::Block));
        for said in [Said::Free, Said::Passed] {
            let mut commits = commits.clone();
            commits.push(commit(event(&own, 10, said), 210, 215));
            assert!(!is_wrong(&commits, None, Verdict::Allow));
            assert!(is_wrong(&commits, reason, Verdict::Block));
        }
    }

    #[test]
    fn what_is_cut_refused_or_no_answer_is_found() {
        let (own, nowhere) = (task(0, 0), task(0, 7));
        let is_wrong = |of: &Scope, told: Told| {
            let mut heard = heard(of, 5, judged(of, 5));
            heard.told = told;
            wrong(&written(), &heard).is_some()
        };
        let checked = |of: &Scope, cut| Told::Checked {
            judged: ApproachJudged {
                cut,
                ..judged(of, 5)
            },
            stuck: None,
        };
        assert!(!is_wrong(&own, checked(&own, false)));
        assert!(is_wrong(&own, checked(&own, true)));
        assert!(is_wrong(&own, Told::Refused(ErrorCode::NotFound)));
        assert!(is_wrong(&own, Told::Listed(Vec::new())));
        assert!(!is_wrong(&nowhere, Told::Refused(ErrorCode::NotFound)));
        assert!(is_wrong(&nowhere, checked(&nowhere, false)));
    }

    #[test]
    fn a_list_is_all_that_failed_in_its_order() {
        let own = task(0, 0);
        let commits = written();
        let events = commits.iter().flat_map(|commit| &commit.events);
        let failed = events.filter_map(|event| event.failed_approach());
        let failed: Vec<FailedApproach> = failed.filter(|failed| failed.task == own).collect();
        let is_wrong = |limit: usize, listed: &[FailedApproach]| {
            let heard = Heard {
                asked: Asked::List {
                    task: own.clone(),
                    limit,
                },
                told: Told::Listed(listed.to_vec()),
                from_us: 1_000,
                to_us: 1_001,
            };
            wrong(&commits, &heard).is_some()
        };
        assert_eq!(failed.len(), 3);
        assert!(!is_wrong(64, &failed));
        assert!(!is_wrong(2, &failed[..2]));
        assert!(is_wrong(2, &failed));
        assert!(is_wrong(64, &failed[1..]));
        assert!(is_wrong(64, &[]));
    }

    #[test]
    fn what_was_erased_warns_nobody_any_more_and_is_not_listed() {
        let own = task(0, 0);
        let mut commits = written();
        // What was tried of the idea in the task itself, before and behind the pass.
        let erased = Said::Erased(vec![Seq::new(3), Seq::new(8)]);
        commits.push(commit(event(&own, 9, erased), 200, 205));
        let before = heard(&own, 1, judged(&own, 1));
        assert!(wrong(&commits, &before).is_some());
        assert_eq!(wrong(&commits[..9], &before), None);
        let beside = commits[6].events[0].failed_approach().unwrap();
        let to = Proposed {
            task: &own,
            description: &opening_text(TITLE, DESCRIPTION),
            cleared_through: Seq::new(6),
        };
        let now = judge_approach(&approach(1), to, &[beside]);
        assert_eq!(now.verdict, Verdict::Warn);
        assert_eq!(wrong(&commits, &heard(&own, 1, now)), None);
        let listed = commits[2].events[0].failed_approach().unwrap();
        let heard = Heard {
            asked: Asked::List {
                task: own,
                limit: 64,
            },
            told: Told::Listed(vec![listed]),
            from_us: 1_000,
            to_us: 1_001,
        };
        assert_eq!(wrong(&commits, &heard), None);
    }

    #[test]
    fn what_was_acknowledged_before_is_there_and_what_was_sent_later_is_not() {
        let own = task(0, 0);
        // The second event is sent at 20 and acknowledged at 25, and fails with the idea that is asked about.
        let is_wrong = |verdict: Verdict, (from_us, to_us): (u64, u64)| {
            let all = written();
            let commits = &all[..2];
            let judged = if verdict == Verdict::Reject {
                let failed = commits[1].events[0].failed_approach().unwrap();
                let to = Proposed {
                    task: &own,
                    description: "",
                    cleared_through: Seq::ZERO,
                };
                judge_approach(&approach(0), to, &[failed])
            } else {
                ApproachJudged {
                    verdict,
                    tried: Vec::new(),
                    cut: false,
                }
            };
            let heard = Heard {
                from_us,
                to_us,
                ..heard(&own, 0, judged)
            };
            wrong(commits, &heard).is_some()
        };
        assert!(!is_wrong(Verdict::Allow, (16, 19)));
        assert!(is_wrong(Verdict::Reject, (16, 19)));
        assert!(!is_wrong(Verdict::Allow, (16, 24)));
        assert!(!is_wrong(Verdict::Reject, (16, 24)));
        assert!(is_wrong(Verdict::Allow, (26, 30)));
        assert!(!is_wrong(Verdict::Reject, (26, 30)));
    }
}
