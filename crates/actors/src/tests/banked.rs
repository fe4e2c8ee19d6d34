//! The reasoning bank, through a node: what is stored once, found in its project, warned of behind all decisions, erased, made
//! anew, and left alone while an older node lives.

use std::collections::BTreeSet;

use sillok_core::bank::{
    Ended, NewTrajectory, PatternQuery, PatternsFound, Reward, Step, Trajectory,
};
use sillok_core::brief::{Brief, BriefBudget, BriefItem};
use sillok_core::circular::Approach;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::Rank;
use sillok_core::erasure::Erase;
use sillok_core::id::Seq;
use sillok_core::limits::{BRIEF_BYTES_MAX, WARNED_TITLES_MAX};
use sillok_core::membership::WireVersion;
use sillok_core::principal::PrincipalKind;
use sillok_core::task::Closing;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{Family, trajectory};

use crate::protocol::{Safeguard, Without};
use crate::reads::{BriefQuery, Viewer};
use crate::tests::decisions::{save, says, sound};
use crate::tests::fixes::{Stage, approach, silent_ports};
use crate::tests::harness::{PROJECT, TASK, TestNode, append, first_seq, scope, store};
use crate::tests::world::{FAILED_TASK, OTHER_TASK, Pairs, pairs_of};
use crate::{NodeConfig, rebuild};

/// A task of another project.
const ELSEWHERE: &str = "org/acme/project/web/worktree/main/task/42";
const TRIED: &str = "Read the whole file before the parser begins";
/// What a task is called that is like it.
const LIKE: &str = "The parser reads the whole file before it begins";

/// A trajectory that goes by one record.
pub(super) fn went(text: &str, ended: Ended, reward: f64, step: u64) -> Command {
    Command::StoreTrajectory(Box::new(NewTrajectory {
        kind: "bugfix".parse().unwrap(),
        approach: approach(text, &["src/parser.rs"]),
        ended,
        reward: Reward::of(reward).unwrap(),
        lesson: format!("lesson of {text}"),
        steps: vec![Step {
            record: Seq::new(step),
            bytes: Some((0, 1)),
        }],
    }))
}

/// The trajectories that are stored, in the order of their keys.
fn rows(pairs: &Pairs) -> Vec<Trajectory> {
    let rows = pairs
        .iter()
        .filter(|(key, _)| Family::of(key) == Some(Family::Trajectory));
    rows.map(|(key, value)| trajectory::decode(key, value).unwrap())
        .collect()
}

impl Stage {
    /// Opens a task, stages a record and closes it: where that stands.
    async fn close(&mut self, path: &str, closing: Closing) -> u64 {
        self.open(path).await;
        let appended = self.give(PrincipalKind::Agent, path, append("tried")).await;
        let close = Command::CloseTask {
            closing,
            reason: String::new(),
        };
        let closed = self.give(PrincipalKind::Orchestrator, path, close).await;
        closed.unwrap();
        first_seq(&appended)
    }

    async fn go(&mut self, path: &str, command: Command) -> Result<Seq, Error> {
        let answer = self.give(PrincipalKind::Orchestrator, path, command).await;
        match answer?.result {
            AnswerBody::TrajectoryStored { seq } => Ok(seq),
            other => panic!("{other:?}"),
        }
    }

    async fn found(&self, path: &str, failures_only: bool) -> PatternsFound {
        let query = PatternQuery::of(TRIED, None, failures_only, None).unwrap();
        let found = self.node.search_patterns(&scope(path), &query).await;
        found.unwrap()
    }

    async fn brief(&self, path: &str, items_max: usize) -> Brief {
        let viewer = Viewer {
            scope: scope(path),
            prefix: path.parse().unwrap(),
        };
        let query = BriefQuery {
            budget: BriefBudget {
                items_max,
                bytes_max: BRIEF_BYTES_MAX,
            },
            ..BriefQuery::default()
        };
        self.node.brief_of_standing(&viewer, query).await.unwrap()
    }

    /// Opens a task that is like what is tried.
    async fn open_like(&mut self, path: &str) {
        let open = Command::OpenTask {
            title: LIKE.to_owned(),
            description: String::new(),
        };
        let opened = self.give(PrincipalKind::Agent, path, open).await;
        opened.unwrap();
    }

    /// A task that failed, one of the same project that is like it, and two decisions.
    async fn warned() -> Self {
        Self::warned_under(Without(None)).await
    }

    async fn warned_under(protocol: Without) -> Self {
        let store = store();
        let node = TestNode::start_as(
            store.clone(),
            silent_ports(),
            NodeConfig::default(),
            protocol,
        );
        let mut stage = Self {
            node: node.await.unwrap(),
            store,
            given: 0,
        };
        let step = stage.close(TASK, Closing::Failed).await;
        let tried = went(TRIED, Ended::Failed, -1.0, step);
        stage.go(TASK, tried).await.unwrap();
        stage.open_like(OTHER_TASK).await;
        for text in ["one", "two"] {
            let lock = save(None, says(Rank::Lock, text));
            let saved = stage.give(PrincipalKind::Human, PROJECT, lock).await;
            saved.unwrap();
        }
        stage
    }
}

#[tokio::test]
async fn what_is_given_again_is_stored_once_and_found_in_its_project_alone() {
    let mut stage = Stage::set().await;
    let done = stage.close(TASK, Closing::Done).await;
    let failed = stage.close(FAILED_TASK, Closing::Failed).await;
    let elsewhere = stage.close(ELSEWHERE, Closing::Failed).await;
    for (path, command) in [
        (TASK, went(TRIED, Ended::Succeeded, 1.0, done)),
        (FAILED_TASK, went(TRIED, Ended::Failed, -1.0, failed)),
        (ELSEWHERE, went(TRIED, Ended::Failed, -1.0, elsewhere)),
    ] {
        let first = stage.go(path, command.clone()).await.unwrap();
        // Under the same id.
        stage.given -= 1;
        assert_eq!(stage.go(path, command).await.unwrap(), first);
    }
    for path in [TASK, FAILED_TASK, PROJECT] {
        for failures_only in [false, true] {
            let found = stage.found(path, failures_only).await;
            let [one] = &found.patterns[..] else {
                panic!("{found:?}")
            };
            let tally = one.pattern.tally;
            assert_eq!((tally.succeeded, tally.failed), (1, 1), "{path}");
            let cited = one
                .pattern
                .cited
                .iter()
                .map(|cited| cited.record.scope.as_str());
            let cited: BTreeSet<&str> = cited.collect();
            assert_eq!(cited, BTreeSet::from([FAILED_TASK, TASK]));
        }
    }
    assert!(stage.found(ELSEWHERE, false).await.patterns.is_empty());
    let query = PatternQuery::of(TRIED, None, false, None).unwrap();
    let refused = stage.node.search_patterns(&scope("org/acme"), &query).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidScope);
    stage.node.shutdown().await;
    assert_eq!(rows(&pairs_of(&stage.store).await).len(), 3);
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn a_step_stands_in_the_log_of_the_task_itself() {
    let mut stage = Stage::set().await;
    let step = stage.close(TASK, Closing::Failed).await;
    let long = stage.give(PrincipalKind::Agent, TASK, append("a much longer text"));
    let long = first_seq(&long.await);
    stage.close(OTHER_TASK, Closing::Failed).await;
    for (step, fits) in [(step, true), (long, true), (1, true), (99, false)] {
        let stored = stage.go(TASK, went(TRIED, Ended::Failed, 0.0, step)).await;
        let code = stored.err().map(|error| error.code);
        let expected = (!fits).then_some(ErrorCode::UnresolvableCitation);
        assert_eq!(code, expected, "{step}");
    }
    let other = stage
        .go(OTHER_TASK, went(TRIED, Ended::Failed, 0.0, long))
        .await;
    assert_eq!(other.unwrap_err().code, ErrorCode::UnresolvableCitation);
}

#[tokio::test]
async fn a_brief_warns_behind_all_decisions_and_no_warning_takes_the_room_of_one() {
    let stage = Stage::warned().await;
    let whole = stage.brief(OTHER_TASK, 10).await;
    assert_eq!((whole.items.len(), whole.warnings.len()), (2, 1));
    let warning = &whole.warnings[0];
    assert_eq!((warning.failed, warning.succeeded), (1, 0));
    assert_eq!(warning.failures[0].record.scope, scope(TASK));
    let bytes = whole.items.iter().map(BriefItem::bytes).sum::<usize>() + warning.bytes();
    assert_eq!(whole.bytes, bytes as u64);
    assert_eq!(stage.brief(OTHER_TASK, 10).await, whole);
    let less = stage.brief(OTHER_TASK, 2).await;
    assert_eq!((&less.items, &less.cut), (&whole.items, &whole.cut));
    assert!(less.warnings.is_empty() && less.warnings_cut);
    // Who failed is not warned of that, and a project is no task.
    for path in [TASK, PROJECT] {
        let brief = stage.brief(path, 10).await;
        assert!(brief.warnings.is_empty() && !brief.warnings_cut, "{path}");
    }
}

#[tokio::test]
async fn a_verification_that_failed_elsewhere_in_the_project_warns_as_well() {
    let mut stage = Stage::set().await;
    for path in [TASK, ELSEWHERE] {
        stage.open(path).await;
        let tried = approach(TRIED, &["src/parser.rs"]);
        stage
            .fail(path, Some("it loses the end"), Some(&tried))
            .await;
    }
    stage.open_like(OTHER_TASK).await;
    let brief = stage.brief(OTHER_TASK, 10).await;
    let [warning] = &brief.warnings[..] else {
        panic!("{:?}", brief.warnings)
    };
    assert_eq!(warning.failed, 1, "what failed elsewhere says nothing");
    assert!(warning.failures[0].verification.is_some());
    assert_eq!(warning.reasons, ["it loses the end"]);
    // Whoever looks for failures finds the same, of no sort of task as long as no trajectory tells of one.
    assert!(stage.found(OTHER_TASK, false).await.patterns.is_empty());
    let found = stage.found(OTHER_TASK, true).await;
    let [one] = &found.patterns[..] else {
        panic!("{found:?}")
    };
    let cited = &one.pattern.cited[0];
    assert_eq!((one.pattern.tally.failed, &one.pattern.kind), (1, &None));
    assert_eq!(cited.verification, warning.failures[0].verification);
    let step = stage.close(FAILED_TASK, Closing::Done).await;
    let went = went(TRIED, Ended::Succeeded, 1.0, step);
    stage.go(FAILED_TASK, went).await.unwrap();
    for failures_only in [false, true] {
        let found = stage.found(OTHER_TASK, failures_only).await;
        let [one] = &found.patterns[..] else {
            panic!("{found:?}")
        };
        let tally = one.pattern.tally;
        assert_eq!((tally.succeeded, tally.failed), (1, 1));
        assert_eq!(one.pattern.kind, Some("bugfix".parse().unwrap()));
    }
}

#[tokio::test]
async fn a_verification_that_failed_in_a_task_that_was_called_so_warns_whatever_was_tried() {
    let mut stage = Stage::set().await;
    stage.open_like(TASK).await;
    let unlike = approach("Raise the limit of the pool", &["src/pool.rs"]);
    stage.fail(TASK, Some("it waits"), Some(&unlike)).await;
    // What failed in a task that was called otherwise says nothing.
    stage.open(FAILED_TASK).await;
    let other = approach("Drop the oldest connection", &["src/pool.rs"]);
    stage
        .fail(FAILED_TASK, Some("it waits"), Some(&other))
        .await;
    stage.open_like(OTHER_TASK).await;
    let brief = stage.brief(OTHER_TASK, 10).await;
    let [warning] = &brief.warnings[..] else {
        panic!("{:?}", brief.warnings)
    };
    assert_eq!(warning.approach, unlike);
    assert_eq!(warning.failures[0].record.scope, scope(TASK));
    assert!(!brief.warnings_cut);
}

#[tokio::test]
async fn of_very_many_tasks_the_titles_of_those_count_in_which_something_failed_last() {
    let mut stage = Stage::set().await;
    let path = |number: usize| format!("{PROJECT}/worktree/fix/task/t{number}");
    let first = approach("Drop the oldest connection", &[]);
    let others = approach("Raise the limit of the pool", &[]);
    stage.open_like(OTHER_TASK).await;
    for number in 0..=WARNED_TITLES_MAX {
        let tried = if number == 0 { &first } else { &others };
        stage.open_like(&path(number)).await;
        let error = Some("it waits");
        stage
            .fail_for_nothing(&path(number), error, Some(tried))
            .await;
        if number + 1 < WARNED_TITLES_MAX {
            continue;
        }
        let brief = stage.brief(OTHER_TASK, 10).await;
        let is_over = number == WARNED_TITLES_MAX;
        let mut told = brief.warnings.iter().map(|one| &one.approach);
        assert!(told.clone().any(|approach| *approach == others));
        assert_eq!(told.any(|approach| *approach == first), !is_over);
        assert_eq!(brief.warnings_cut, is_over);
    }
}

#[tokio::test]
async fn a_warning_before_decisions_takes_their_room() {
    let bug = Without(Some(Safeguard::WarnsLast));
    let stage = Stage::warned_under(bug).await;
    let brief = stage.brief(OTHER_TASK, 2).await;
    assert_eq!((brief.items.len(), brief.warnings.len()), (1, 1));
}

#[tokio::test]
async fn what_is_erased_leaves_no_row_and_the_rest_is_made_anew() {
    let mut stage = Stage::warned().await;
    let step = stage.close(FAILED_TASK, Closing::Failed).await;
    let tried = went(TRIED, Ended::Failed, -0.5, step);
    let gone = stage.go(FAILED_TASK, tried).await.unwrap();
    assert_eq!(
        stage.found(TASK, true).await.patterns[0]
            .pattern
            .tally
            .failed,
        2
    );
    let erase = Command::Erase(Box::new(Erase {
        records: vec![gone],
        reason: "nobody is to read it".to_owned(),
        ..Erase::default()
    }));
    let erased = stage.give(PrincipalKind::Human, FAILED_TASK, erase).await;
    erased.unwrap();
    assert_eq!(
        stage.found(TASK, true).await.patterns[0]
            .pattern
            .tally
            .failed,
        1
    );
    stage.node.shutdown().await;
    let pairs = pairs_of(&stage.store).await;
    let [left] = &rows(&pairs)[..] else {
        panic!("one is left")
    };
    assert_eq!(left.task, scope(TASK));
    assert_eq!(sound(&stage.store).await, None);
    let index = silent_ports().index;
    let report = rebuild::rebuild(&stage.store, &*index, &|_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.rows_written, report.rows_removed), (0, 0));
    assert_eq!(pairs_of(&stage.store).await, pairs);
}

#[tokio::test]
async fn while_an_older_node_lives_none_is_stored() {
    let store = store();
    let config = NodeConfig {
        wire_version: WireVersion::WITH_FAILURES,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store.clone(), silent_ports(), config);
    let mut stage = Stage {
        node: node.await.unwrap(),
        store,
        given: 0,
    };
    let step = stage.close(TASK, Closing::Failed).await;
    let refused = stage.go(TASK, went(TRIED, Ended::Failed, 0.0, step)).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn an_approach_without_names_is_found_by_its_words() {
    let mut stage = Stage::set().await;
    let step = stage.close(TASK, Closing::Failed).await;
    let Command::StoreTrajectory(mut new) = went(TRIED, Ended::Failed, 0.0, step) else {
        unreachable!("it is a trajectory")
    };
    new.approach = Approach {
        text: TRIED.to_owned(),
        ..Approach::default()
    };
    stage.go(TASK, Command::StoreTrajectory(new)).await.unwrap();
    assert_eq!(stage.found(TASK, true).await.patterns.len(), 1);
}
