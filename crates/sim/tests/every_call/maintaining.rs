//! The story of maintenance: facts that are old, of which the best of a task stay, a skill that is poor and one that is good.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::citation::Citation;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Detail, Head, Skill, Status, Table};
use sillok_core::event::Body;
use sillok_core::id::{CommandId, EntryId, RecordId};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::retention::Retirement;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::review::Question;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_sim::agent::Agent;
use sillok_sim::workload::End;
use sillok_sim::workload::maintaining::retention;
use sillok_sim::workload::material::{observation, project, text_of};
use sillok_sim::workload::staging::record;
use sillok_store::keys::{self, Family};

use super::calls::put;

/// Facts that a person publishes before they are old.
const FACTS: u8 = 6;
/// The first ones of them come from a task: more than the best of it that are kept.
const DRAWN: u8 = 4;
/// How old the facts become before maintenance runs, in ms: older than they may.
const AGED_MS: u64 = 21_000;
/// Days that pass before: longer than an answer is kept.
const DAYS: u64 = 32;
/// Tasks that found the skill helpful which is offered.
const HELPED: u8 = 3;
/// Runs of maintenance until one has to find nothing left: one may be cut off, others be turned away by its lease, or ask
/// a node that is away.
const RUNS: u32 = 12;
/// Runs that find nothing, after which nothing is left: one of them may have met a scope that was not served.
const IDLE: u32 = 2;
/// The rest between two of them, in ms.
const REST_MS: u64 = 2_000;

/// A skill that a person publishes, of this success rate.
fn skill(name: &str, success_rate: f64) -> NewEntry {
    let skill = Skill {
        name: name.into(),
        description: "Finds the commit that broke it.".into(),
        code: "git bisect run".into(),
        usage_count: 0,
        success_rate,
    };
    NewEntry {
        table: Table::Skills,
        detail: Detail::Skill(Box::new(skill)),
        ..observation(name)
    }
}

/// Has an agent open a task: which, unless it was refused.
async fn opened(agent: &mut Agent, number: u8) -> Option<Scope> {
    let task = agent.next_task();
    let open = Command::OpenTask {
        title: format!("Task {number}"),
        description: String::new(),
    };
    agent.give(PrincipalKind::Agent, &task, open).await?;
    Some(task)
}

/// Has an agent log a line in a task: what cites that comes from the task.
async fn logged(agent: &mut Agent, task: &Scope) -> Option<Citation> {
    let append = Command::Append {
        records: vec![record("All of it was seen in one run.".into())],
    };
    let answer = agent.give(PrincipalKind::Agent, task, append).await?;
    let AnswerBody::Appended { first, .. } = answer.result else {
        return None;
    };
    let id = RecordId {
        scope: task.clone(),
        seq: first,
    };
    let time = answer.time;
    Some(Citation::Log { id, time })
}

/// Publishes all that maintenance sees to, 32 days after a first fact. Whether all of it was taken.
async fn prepare(agent: &mut Agent) -> Option<()> {
    put(agent, observation("The first fact is long known")).await?;
    agent.client().sleep_for_days(DAYS);
    let mut tasks = Vec::new();
    for number in 0..HELPED {
        tasks.push(opened(agent, number).await?);
    }
    let source = logged(agent, &tasks[0]).await?;
    for number in 0..FACTS {
        let mut fact = observation(&format!("{} ({number})", text_of(number)));
        if number < DRAWN {
            fact.citations.push(source.clone());
        }
        put(agent, fact).await?;
    }
    put(agent, skill("bisect by hand", 0.1)).await?;
    let good = put(agent, skill("bisect", 1.0)).await?;
    for task in tasks {
        let report = Command::ReportReuse {
            task,
            entry: good,
            outcome: ReuseOutcome::Helped,
        };
        agent
            .give(PrincipalKind::Agent, &project(0), report)
            .await?;
    }
    Some(())
}

pub(super) async fn maintain(agent: &mut Agent) {
    if prepare(agent).await.is_none() {
        return agent.note("story", "something was refused".into());
    }
    agent.client().sleep(AGED_MS).await;
    agent.client().count_calls(true);
    agent.client().maintain(false, None).await;
    agent.client().count_calls(false);
    let mut idle = 0;
    for _ in 0..RUNS {
        idle += u32::from(agent.client().maintain(false, None).await == Some(0));
        if idle == IDLE {
            return;
        }
        agent.client().sleep(REST_MS).await;
    }
    agent.note("story", "something was left over".into());
}

/// What the events tell of maintenance.
#[derive(Default)]
struct Told {
    /// How often each went that was old.
    aged: BTreeMap<EntryId, u32>,
    /// How often each went that was poor.
    pruned: BTreeMap<EntryId, u32>,
    /// How often a skill was offered.
    offers: u32,
    /// All commands but the system's own, and when they were carried out.
    commands: BTreeSet<(Timestamp, CommandId)>,
}

impl Told {
    fn read(end: &End<'_>) -> Self {
        let mut told = Self::default();
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).unwrap();
            let header = event.decode_header().unwrap();
            if header.actor.kind != PrincipalKind::System {
                told.commands.insert((header.time, header.command));
            }
            let (times, gone) = match event.decode_body().unwrap() {
                Some(Body::EntriesRetired {
                    entries,
                    why: Retirement::Aged,
                }) => (&mut told.aged, entries),
                Some(Body::EntriesRetired {
                    entries,
                    why: Retirement::Pruned,
                }) => (&mut told.pruned, entries),
                Some(Body::ReviewRaised { question, .. }) => {
                    told.offers += u32::from(matches!(*question, Question::Offer(_)));
                    continue;
                }
                _ => continue,
            };
            gone.into_iter()
                .for_each(|entry| *times.entry(entry).or_default() += 1);
        }
        told
    }
}

/// Of a project that was maintained: the facts are out, each once, but for the best of the task, and so is the poor skill;
/// the good one was offered once; the first answer is forgotten, and no other; how the last run went is written down; no
/// lease is left.
pub(super) fn maintained(end: &End<'_>, entries: &[Head]) -> Result<(), String> {
    let Told {
        aged,
        pruned,
        offers,
        commands,
    } = Told::read(end);
    // The first fact, which is older, is one of those that are aged.
    let going = usize::from(FACTS) + 1 - retention().keep_best;
    for (what, times, count) in [("aged", &aged, going), ("pruned", &pruned, 1)] {
        if times.len() != count || times.values().any(|times| *times != 1) {
            return Err(format!(
                "{times:?} were taken out as {what}, and not {count}"
            ));
        }
    }
    let is_out = |head: &Head| aged.contains_key(&head.id) || pruned.contains_key(&head.id);
    let agrees = |head: &Head| (head.status == Status::Archived) == is_out(head);
    if entries.len() != usize::from(FACTS) + 3 || !entries.iter().all(agrees) {
        return Err(format!(
            "{} entries, and not all as they were told",
            entries.len()
        ));
    }
    best_are_left(entries)?;
    if offers != 1 {
        return Err(format!("the skill was offered {offers} times"));
    }
    answers(end, commands)?;
    let runs = end.rows(Family::Run);
    let runs = runs
        .iter()
        .map(|(key, value)| keys::run::decode(key, value).unwrap());
    if runs.filter(|runs| runs.last.is_some()).count() != 1 {
        return Err("how the last run went is not written down".into());
    }
    match end.rows(Family::Lease).is_empty() {
        true => Ok(()),
        false => Err("a lease is left".into()),
    }
}

/// Of the facts that come from the task only the best are left: the last ones, since all of them are worth as much.
fn best_are_left(entries: &[Head]) -> Result<(), String> {
    let is_drawn = |head: &&Head| head.citations.iter().any(|one| one.record().is_some());
    let mut drawn: Vec<&Head> = entries.iter().filter(is_drawn).collect();
    drawn.sort_unstable_by_key(|head| (head.created_at, head.id));
    let left: Vec<bool> = drawn
        .iter()
        .map(|head| head.status != Status::Archived)
        .collect();
    let going = usize::from(DRAWN) - retention().keep_best;
    let expected: Vec<bool> = (0..usize::from(DRAWN)).map(|rank| rank >= going).collect();
    match left == expected {
        true => Ok(()),
        false => Err(format!(
            "of the facts of the task, the worst first, {left:?} are left, and not {expected:?}"
        )),
    }
}

/// The answers to all these commands are kept, but for the first one's.
fn answers(end: &End<'_>, mut commands: BTreeSet<(Timestamp, CommandId)>) -> Result<(), String> {
    commands.pop_first();
    let expected: BTreeSet<CommandId> = commands.into_iter().map(|(_, command)| command).collect();
    let rows = end.rows(Family::Command);
    let names = rows
        .iter()
        .map(|(key, _)| keys::command::parse(key).unwrap());
    let kept: BTreeSet<CommandId> = names
        .filter(|name| name.actor.kind != PrincipalKind::System)
        .map(|name| name.command)
        .collect();
    match kept == expected {
        true => Ok(()),
        false => Err(format!(
            "{} answers are kept, and not {}",
            kept.len(),
            expected.len()
        )),
    }
}
