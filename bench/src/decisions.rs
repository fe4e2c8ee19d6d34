//! Saves of decisions: a node under commands that each save one.
//!
//! Clients are those of [`crate::lanes`]: each gives its next command when the last one is acknowledged, which is after the
//! fsync. Each begins a chain, then changes it, and then begins the next. What a save means to others is asked for in a
//! measurement of its own, as the server does behind each commit. Each run has a store of its own, and the slowest counts.

use std::time::Instant;

use sillok_actors::Node;
use sillok_actors::reads::Viewer;
use sillok_core::command::AnswerBody;
use sillok_core::decision::{self, NewDecision, Relation, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_store::FjallStore;
use tokio::runtime::Runtime;

use crate::chains;
use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::gauge::Measured;
use crate::lanes::{Client, load};
use crate::report::{Floor, Report, Row};
use crate::runs::RUNS;
use crate::scale::Scale;
use crate::workload::{Texts, principal, scope, submission};

/// Projects that the scopes lie in.
const PROJECTS: usize = 10;
/// Files that decisions apply to.
const FILES: usize = 1_000;
/// The floor, of both.
const SAVES_A_SECOND_MIN: f64 = 4_000.0;

/// Measures as many scopes as the widest load has: saves alone, and saves that are told what they mean.
///
/// # Errors
/// What the node answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let runtime = runtime()?;
    for asks in [false, true] {
        let (measured, batch) = slowest(&runtime, scale, asks)?;
        let told = if asks {
            "saves that are told what they mean"
        } else {
            "saves"
        };
        let scopes = scale.wide;
        let what = format!(
            "decisions: {told}, {scopes} scopes, {batch:.0} commands a batch, slowest of {RUNS} runs"
        );
        let row = Row::new(what, measured.rate(), "saves/s").with_latency(&measured.latency);
        report.add(row.with_floor(Floor::AtLeast(SAVES_A_SECOND_MIN)));
    }
    Ok(())
}

/// The slowest run, and how many commands a batch had in it.
fn slowest(runtime: &Runtime, scale: &Scale, asks: bool) -> Result<(Measured, f64), Error> {
    let mut slowest: Option<(Measured, f64)> = None;
    for _ in 0..RUNS {
        let folder = folder()?;
        let ready = |_: Node<FjallStore>, _| async { Ok(()) };
        let works = move |client| save_on(client, asks);
        let (measured, batch) = load(runtime, folder.path(), scale.wide, scale, ready, works)?;
        let is_slower = |(slowest, _): &(Measured, f64)| measured.rate() < slowest.rate();
        if slowest.as_ref().is_none_or(is_slower) {
            slowest = Some((measured, batch));
        }
    }
    Ok(slowest.expect("there is at least one run"))
}

/// A worktree, in which an agent may save decisions without a task.
fn worktree(number: usize) -> Scope {
    let project = number % PROJECTS;
    scope(&format!("org/bench/project/p{project}/worktree/w{number}"))
}

async fn save_on(client: Client, asks: bool) -> Result<(), Error> {
    let agent = principal(PrincipalKind::Agent);
    let viewer = Viewer {
        scope: worktree(client.lane),
        prefix: ScopePrefix::All,
    };
    let mut begun: Option<DecisionId> = None;
    let mut next = client.first;
    while client.gauge.is_on() {
        let text = text(&client.texts, next);
        let command = match begun {
            None => chains::begin(text),
            Some(root) => chains::change(root, 1, text),
        };
        let command = submission(&viewer.scope, &agent, command);
        let sent = Instant::now();
        let answer = client.node.submit(command).await?;
        let AnswerBody::Decision { root, version, .. } = answer.result else {
            let why = format!("a save was answered with {:?}", answer.result);
            return Err(Error::Wrong(why));
        };
        if asks {
            client.node.meaning(&viewer, root, version).await?;
        }
        client.gauge.acknowledged(client.lane, sent, 1);
        begun = begun.is_none().then_some(root);
        next += 1;
    }
    Ok(())
}

/// What a decision says: as much as a record does, about one file.
fn text(texts: &Texts, number: usize) -> NewDecision {
    let path = format!("src/module_{}.rs", number % FILES);
    let to = decision::Node::file(&path).expect("the path of a file of the load");
    NewDecision {
        relations: vec![Relation {
            kind: RelationKind::AppliesTo,
            to,
        }],
        ..chains::normal(format!("Decision {number}"), texts.get(number))
    }
}
