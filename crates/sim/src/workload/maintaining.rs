//! Maintaining: runs of maintenance beside everything else, and promotions that are taken back.
//!
//! Owns how old entries become in a world, when its nodes see to them by themselves, and what must hold of those that a run took out. That an entry's time
//! was over, its owner asks; that the index shows what is left, the end of every world checks.

mod best;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use sillok_core::citation::Citation;
use sillok_core::command::{AnswerBody, Command, Replacement, Supersede, VerificationRef};
use sillok_core::config::RetentionConfig;
use sillok_core::entry::Head;
use sillok_core::event::Body;
use sillok_core::id::{EntryId, VerificationId};
use sillok_core::ports::Calendar;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{Disposition, PublishReport};
use sillok_core::retention::Retirement;
use sillok_core::scope::{Level, Scope};
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::agent::Agent;
use crate::violation::Violation;
use crate::workload::material::{self, draw_text, judged, observation, text_of};
use crate::workload::staging::record;
use crate::workload::{Check, Draw, End, Workload};

/// The note of an agent that asks for a run which is no rehearsal, before it asks.
pub const ASKED: &str = "maintenance asked for";
/// In how many of 1,000 runs only one project is seen to.
const IN_ONE_PROJECT_PERMILLE: u32 = 400;
/// In how many of 1,000 promotions that are taken back what they made has replaced something.
const REPLACED_PERMILLE: u32 = 400;
/// How often an agent asks whether the promotion is finished that it wants to take back.
const PROMOTION_TRIES: u32 = 6;

/// How long entries last in a world, where a minute has to do for a year.
#[must_use]
pub fn retention() -> RetentionConfig {
    let days = |seconds: f64| seconds / 86_400.0;
    RetentionConfig {
        archive_episodic_days: days(20.0),
        archive_knowledge_days: days(30.0),
        archive_state_days: days(10.0),
        prune_days: days(8.0),
        keep_best: 2,
        stop_share: 1.0,
        ..RetentionConfig::default()
    }
}

/// Times that the calendar of a world names, in ms between two of them.
const NIGHT_MS: u64 = 25_000;

/// Whether the nodes of a world keep a calendar, so that maintenance is run without anybody asking.
#[must_use]
pub const fn has_nights(seed: u64) -> bool {
    seed % 4 == 3
}

/// A calendar that names every twenty-fifth second.
#[derive(Clone, Copy, Debug)]
pub struct Nights;

impl Nights {
    /// Whether it names a time.
    #[must_use]
    pub const fn names(time: Timestamp) -> bool {
        time.ms().is_multiple_of(NIGHT_MS)
    }
}

impl Calendar for Nights {
    fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        Some(Timestamp::from_ms(now.ms() / NIGHT_MS * NIGHT_MS))
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        Some(Timestamp::from_ms((now.ms() / NIGHT_MS + 1) * NIGHT_MS))
    }
}

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Maintaining;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Has any node run maintenance.
    Maintain {
        /// Whether it is to say only what it would do.
        dry_run: bool,
        /// In the project of this number, or everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<u8>,
    },
    /// Has the newest task judged, and takes back what that published.
    Undo,
    /// The same, once a fact of the task was put in the place of an entry that a person had written.
    UndoReplaced {
        /// Which text the fact has.
        text: u8,
    },
    /// Brings back what it wrote before, if a run has taken that out, and writes down something new.
    Restore,
}

impl Workload for Maintaining {
    type Action = Action;

    fn name(&self) -> &'static str {
        "maintaining"
    }

    fn share(&self) -> u32 {
        12
    }

    /// Half of the worlds only rehearse, so that whatever a rehearsal writes is seen to be its own.
    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        match draw.stream.permille(500) {
            true => Action::Maintain {
                dry_run: draw.projects.is_multiple_of(2),
                project: draw
                    .stream
                    .permille(IN_ONE_PROJECT_PERMILLE)
                    .then(|| draw.byte(usize::from(draw.projects))),
            },
            false if draw.stream.permille(REPLACED_PERMILLE) => Action::UndoReplaced {
                text: draw_text(draw),
            },
            false => match draw.byte(3) {
                0 => Action::Restore,
                _ => Action::Undo,
            },
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Maintain { dry_run, project } => {
                if !dry_run {
                    agent.note(ASKED, serde_json::Value::Null);
                }
                agent
                    .client()
                    .maintain(dry_run, project.map(material::project))
                    .await;
            }
            Action::Undo => {
                undo(agent, false).await;
            }
            Action::UndoReplaced { text } => {
                let fact = format!("{} ({})", text_of(text), agent.sent_count());
                let records = vec![record(fact)];
                let task = agent.task();
                let append = Command::Append { records };
                agent.give(PrincipalKind::Agent, &task, append).await;
                undo(agent, true).await;
            }
            Action::Restore => restore(agent).await,
        }
    }
}

/// What agents wrote that is over some day, and where, the oldest first: they tell one another.
#[derive(Debug, Default)]
struct Written(VecDeque<(Scope, EntryId)>);

async fn restore(agent: &mut Agent) {
    if let Some((scope, entry)) = agent.shared(|written: &mut Written| written.0.pop_front()) {
        let command = Command::RestoreEntry {
            entry,
            reason: "the clock was wrong".into(),
        };
        let kind = PrincipalKind::Orchestrator;
        if agent.give(kind, &scope, command).await.is_some() {
            agent.client().saw("entry brought back");
        } else {
            agent.shared(|written: &mut Written| written.0.push_front((scope, entry)));
        }
    }
    let worktree = agent.task().at_level(Level::Worktree);
    let worktree = worktree.expect("the task of an agent lies in a worktree");
    // Its text is like no other's, so that it is not merged.
    let text = format!("passing note {} of {}", agent.sent_count(), agent.number());
    let put = Command::PutEntry {
        entry: Box::new(observation(&text)),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Agent, &worktree, put).await;
    if let Some(AnswerBody::Entry { id, .. }) = answer.map(|answer| answer.result) {
        agent.shared(|written: &mut Written| written.0.push_back((worktree, id)));
    }
}

/// Has the newest task judged, and takes back what that published, where it is heard of in time. None where it is not.
async fn undo(agent: &mut Agent, replaces: bool) -> Option<()> {
    let task = agent.task();
    let project = task
        .at_level(Level::Project)
        .expect("the task of an agent lies in a project");
    let run = format!("doubted run {} of {}", agent.sent_count(), agent.number());
    let verify = judged(true, run);
    let answer = agent.give(PrincipalKind::Orchestrator, &task, verify).await;
    let AnswerBody::Verification { id, .. } = answer?.result else {
        return None;
    };
    let client = agent.client();
    let report = client.published(&task, id, PROMOTION_TRIES).await?;
    if replaces {
        replace(agent, &project, &report).await;
    }
    let undo = Command::UndoPromotion {
        promotion: VerificationRef {
            task: task.clone(),
            id,
        },
        reason: "the run was on the wrong branch".into(),
    };
    let undone = agent.give(PrincipalKind::Human, &project, undo).await;
    let AnswerBody::Undone { restored, .. } = undone?.result else {
        return None;
    };
    agent.client().saw("promotion taken back");
    if !restored.is_empty() {
        agent
            .client()
            .saw("what an undone promotion replaced holds again");
    }
    Some(())
}

/// Writes an entry, and puts in its place one that a promotion made. None where it made none of that table.
async fn replace(agent: &mut Agent, project: &Scope, report: &PublishReport) -> Option<()> {
    let before = observation(&format!("known before {}", report.episode));
    let made = report.products.iter().find(|product| {
        product.table == before.table && matches!(product.disposition, Disposition::Created)
    });
    let made = made?.entry?;
    let put = Command::PutEntry {
        entry: Box::new(before),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Human, project, put).await;
    let AnswerBody::Entry { id, version, .. } = answer?.result else {
        return None;
    };
    let supersede = Command::Supersede(Box::new(Supersede {
        old: id,
        expected_version: version,
        new: Replacement::Existing(made),
        reason: "a run found out more".into(),
        commit: None,
        verification: None,
    }));
    agent.give(PrincipalKind::Human, project, supersede).await?;
    Some(())
}

impl Check for Maintaining {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let told = Told::read(end);
        let was_asked =
            has_nights(end.plan.seed) || end.history.notes.iter().any(|note| note.kind == ASKED);
        if let (false, Some(entry)) = (was_asked, told.over.keys().next()) {
            let what = format!("entry {entry} was taken out, and nobody asked for that");
            return Err(Violation::new("a rehearsal writes nothing", what));
        }
        undone_stay_out(end, &told)?;
        replaced_hold_again(end, &told)?;
        best::are_left(end, &told)
    }
}

/// What the events tell of entries that were taken out.
#[derive(Default)]
struct Told {
    /// Those whose time was over, and when they went.
    over: BTreeMap<EntryId, Timestamp>,
    /// Those of which something was said that changes what they are worth.
    changed: BTreeSet<EntryId>,
    /// Those that were merged into and came from no task before: it may have been after the plan that they came to one.
    adopted: BTreeSet<EntryId>,
    /// Those that a promotion had made which was taken back.
    undone: BTreeSet<EntryId>,
    /// Promotions that were taken back.
    taken_back: BTreeSet<VerificationId>,
    /// Scopes in which a promotion was taken back: citations went, and with them where entries come from.
    unsettled: BTreeSet<ScopeKey>,
}

impl Told {
    fn read(end: &End<'_>) -> Self {
        let mut told = Self::default();
        let mut of_no_task = BTreeSet::new();
        let cites = |citations: &[Citation]| citations.iter().any(|one| one.record().is_some());
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).expect("the audit has read it");
            match event.decode_body().expect("the audit has read it") {
                Some(Body::EntriesRetired {
                    entries,
                    why: Retirement::Aged | Retirement::Pruned,
                }) => {
                    let header = event.decode_header().expect("the audit has read it");
                    let gone = entries.into_iter().map(|entry| (entry, header.time));
                    told.over.extend(gone);
                }
                Some(Body::EntriesRetired {
                    entries,
                    why: Retirement::Undone { .. },
                }) => told.undone.extend(entries),
                Some(Body::EntryAmended(amended)) => drop(told.changed.insert(amended.id)),
                Some(Body::TrustRevised(revised)) => drop(told.changed.insert(revised.entry)),
                Some(Body::CitationsRefreshed(refreshed)) => {
                    told.changed.insert(refreshed.entry);
                }
                Some(Body::ReuseReported(report)) => drop(told.changed.insert(report.entry)),
                Some(Body::EntryRestored(restored)) => drop(told.changed.insert(restored.entry)),
                Some(Body::EntryCreated(made)) if !cites(&made.citations) => {
                    of_no_task.insert(made.id);
                }
                Some(Body::Merged(merged)) if of_no_task.contains(&merged.into) => {
                    told.adopted.insert(merged.into);
                }
                Some(Body::PromotionUndone { verification, .. }) => {
                    told.taken_back.insert(verification);
                    let name = keys::event::parse(&key).expect("the audit has read it");
                    told.unsettled.insert(name.scope);
                }
                _ => {}
            }
        }
        told
    }
}

/// What an undone promotion had made does not come back, whatever else took it out.
fn undone_stay_out(end: &End<'_>, told: &Told) -> Result<(), Violation> {
    for (key, value) in end.rows(Family::Head) {
        let head = keys::head::decode(&key, &value).expect("the audit has read it");
        let is_undone = head
            .promotion
            .is_some_and(|made| told.taken_back.contains(&made));
        if is_undone && head.status.is_live() {
            let what = format!(
                "entry {} is {}, and its promotion was taken back",
                head.id, head.status
            );
            return Err(Violation::new(
                "what an undone promotion made stays out",
                what,
            ));
        }
    }
    Ok(())
}

/// What an entry had replaced is replaced no more, where that entry was the last of its line when the promotion that had made it was taken back.
fn replaced_hold_again(end: &End<'_>, told: &Told) -> Result<(), Violation> {
    let mut heads = BTreeMap::new();
    for (key, value) in end.rows(Family::Head) {
        let head = keys::head::decode(&key, &value).expect("the audit has read it");
        heads.insert(head.id, head);
    }
    for entry in &told.undone {
        let lifecycle = &heads[entry].lifecycle;
        // One that another has replaced keeps its place in the line.
        let is_last = lifecycle.superseded_by.is_none();
        let old = lifecycle.supersedes.filter(|_| is_last);
        let is_replaced = |old: &Head| old.lifecycle.superseded_by == Some(*entry);
        if let Some(old) = old
            .and_then(|old| heads.get(&old))
            .filter(|old| is_replaced(old))
        {
            let what = format!(
                "entry {} is replaced by {entry}, which an undoing took out",
                old.id
            );
            return Err(Violation::new("what was replaced holds again", what));
        }
    }
    Ok(())
}
