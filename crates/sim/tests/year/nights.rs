//! A year of work in simulated time: a thousand tasks, what people dispute, and maintenance every night.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use sillok_actors::protocol::{Correct, Safeguard, Without};
use sillok_core::command::{AnswerBody, Command, ScopeRow};
use sillok_core::config::RetentionConfig;
use sillok_core::entry::Status;
use sillok_core::event::Body;
use sillok_core::id::{EntryId, VerificationId};
use sillok_core::invariants::Invariant;
use sillok_core::limits::COMMAND_RETRY_MS_MAX;
use sillok_core::principal::PrincipalKind;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;
use sillok_core::{Error, ErrorCode};
use sillok_sim::agent::Agent;
use sillok_sim::fault::{Profile, StoreShape};
use sillok_sim::workload::alike::Alike;
use sillok_sim::workload::disputing::Disputing;
use sillok_sim::workload::late::LateRetries;
use sillok_sim::workload::maintaining::{ASKED, Maintaining};
use sillok_sim::workload::material::{judged, observation, project};
use sillok_sim::workload::refusals::Refusals;
use sillok_sim::workload::{Check, Draw, End, Operation, Workload};
use sillok_sim::{Plan, Suite, Violation, World};
use sillok_store::keys::{self, Family, ScopeKey};

use super::disputes::{dispute, take_back};
use super::tasks::staged;

const NIGHTS: u32 = 365;
const TASKS: u32 = 1_000;
const AGENTS: u16 = 4;
/// Facts that each task's log states: with the episode more than are kept of a task.
const FACTS: u8 = 7;
/// Days between two facts that a person puts down.
const PERSON_DAYS: u32 = 30;
/// Months of which each has its disputes.
const MONTHS: u64 = 12;
/// Looks until a promotion has to be finished.
const PROMOTION_LOOKS: u32 = 60;
/// Days after which an agent gives commands again whose answers it may still ask for: the first of that day's.
const AGAIN_DAYS: [u32; 4] = [1, 7, 19, 30];
/// How many of them.
const AGAIN_COMMANDS: usize = 3;
/// Days between two days on which it does.
const AGAIN_EVERY_DAYS: u32 = 5;
/// Nights that are enough for a floor that is raised too early.
const FEW_NIGHTS: u32 = 12;
/// How often an agent looks whether the night is over, in ms.
const LOOK_MS: u64 = 20;

/// How far the year is, for all agents.
#[derive(Default)]
struct Calendar {
    night: u32,
    done: u16,
}

/// A year of an agent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Work,
}

struct Year {
    nights: u32,
    /// How many commands were refused as too old that were given again in time.
    expired: Arc<AtomicU32>,
}

impl Year {
    fn of(nights: u32) -> Self {
        Self {
            nights,
            expired: Arc::default(),
        }
    }
}

impl Workload for Year {
    type Action = Action;

    fn name(&self) -> &'static str {
        "year"
    }

    fn share(&self) -> u32 {
        1
    }

    fn draw(&self, _: &mut Draw<'_>) -> Action {
        Action::Work
    }

    async fn act(&self, agent: &mut Agent, Action::Work: Action) {
        let number = u32::try_from(agent.number()).expect("a few agents");
        let mut known = None;
        // How many commands were given before each day.
        let mut begun = Vec::new();
        for night in 0..self.nights {
            begun.push(agent.sent_count());
            let mine = |task: &u32| task % u32::from(AGENTS) == number;
            let today = (TASKS * night / NIGHTS..TASKS * (night + 1) / NIGHTS).filter(mine);
            let mut judged = Vec::new();
            for task in today {
                judged.extend(work(agent, task, known).await);
            }
            for (task, id) in judged {
                if agent
                    .client()
                    .published(&task, id, PROMOTION_LOOKS)
                    .await
                    .is_none()
                {
                    agent.note("year", format!("{task} was not promoted").into());
                }
            }
            if night % PERSON_DAYS == number {
                known = put_down(agent, night).await.or(known);
                quarrel(agent, number, night / PERSON_DAYS).await;
            }
            if night % AGAIN_EVERY_DAYS == number {
                give_again(agent, &begun, &self.expired).await;
            }
            sleep_over(agent, number, night).await;
        }
    }
}

/// Gives commands of earlier days again, by how many were given before each of them: each must get its first answer.
async fn give_again(agent: &mut Agent, begun: &[usize], expired: &AtomicU32) {
    let today = begun.len() - 1;
    for days in AGAIN_DAYS {
        let Some(day) = today.checked_sub(days as usize) else {
            return;
        };
        for number in (begun[day]..begun[day + 1]).take(AGAIN_COMMANDS) {
            let Some((sent, before)) = agent.answered(number) else {
                continue;
            };
            let now = agent.client().give_again(&sent).await;
            let is_expired = |error: &Error| error.code == ErrorCode::Expired;
            if now.as_ref().is_err_and(is_expired) {
                expired.fetch_add(1, Ordering::Relaxed);
            }
            if now.as_ref() != Ok(&before) {
                agent.client().complain(&sent, format!("{now:?}"));
            }
        }
    }
}

/// Carries a task out and has it judged.
async fn work(
    agent: &mut Agent,
    number: u32,
    known: Option<EntryId>,
) -> Option<(Scope, VerificationId)> {
    let task = agent.next_task();
    let (title, place) = (format!("Task {number}"), format!("module m{number}"));
    staged(agent, &task, title, FACTS, &place).await;
    if let Some(entry) = known {
        let report = Command::ReportReuse {
            task: task.clone(),
            entry,
            outcome: ReuseOutcome::Helped,
        };
        let home = project(u8::try_from(agent.number()).expect("a few agents"));
        agent.give(PrincipalKind::Agent, &home, report).await;
    }
    let verify = judged(!number.is_multiple_of(9), format!("run of task {number}"));
    let answer = agent.give(PrincipalKind::Orchestrator, &task, verify).await;
    match answer?.result {
        AnswerBody::Verification { id, .. } => Some((task, id)),
        _ => None,
    }
}

/// A person puts a fact down that tasks report on.
async fn put_down(agent: &mut Agent, night: u32) -> Option<EntryId> {
    let put = Command::PutEntry {
        entry: Box::new(observation(&format!(
            "The gateway listens on port {}",
            8_000 + night
        ))),
        verification: None,
    };
    let home = project(u8::try_from(agent.number()).expect("a few agents"));
    match agent.give(PrincipalKind::Human, &home, put).await?.result {
        AnswerBody::Entry { id, .. } => Some(id),
        _ => None,
    }
}

/// What people dispute in a month, and take back: half of the agents, and one of them, each in a project of its own.
async fn quarrel(agent: &mut Agent, number: u32, month: u32) {
    let apart = u8::try_from(u32::from(AGENTS) + number).expect("a few agents");
    if (month + number).is_multiple_of(2) {
        dispute(agent, apart, month / 2).await;
    }
    let takes_back = month % u32::from(AGENTS) == number;
    if takes_back && take_back(agent, apart, month).await.is_none() {
        agent.note(
            "year",
            format!("nothing was taken back in month {month}").into(),
        );
    }
}

/// Waits until all agents have ended their day, and the first of them maintenance.
async fn sleep_over(agent: &mut Agent, number: u32, night: u32) {
    agent.shared(|calendar: &mut Calendar| calendar.done += 1);
    if number == 0 {
        while agent.shared(|calendar: &mut Calendar| calendar.done) < AGENTS {
            agent.client().sleep(LOOK_MS).await;
        }
        agent.note(ASKED, serde_json::Value::Null);
        if agent.client().maintain(false, None).await.is_none() {
            agent.note("year", format!("night {night} had no maintenance").into());
        }
        agent.client().sleep_for_days(1);
        agent.shared(|calendar: &mut Calendar| {
            calendar.done = 0;
            calendar.night += 1;
        });
    }
    while agent.shared(|calendar: &mut Calendar| calendar.night) == night {
        agent.client().sleep(LOOK_MS).await;
    }
}

/// What is left after the year, and what it wrote.
struct Bounded;

impl Check for Bounded {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation::new("a year is bounded", what));
        if let Some(note) = end.history.notes.iter().find(|note| note.kind == "year") {
            return wrong(note.value.to_string());
        }
        let (mut runs_that_took_out, mut taken_out) = (0, 0);
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).unwrap();
            let kind = event.decode_header().unwrap().kind;
            *kinds.entry(kind.as_str().to_owned()).or_default() += 1;
            if let Some(Body::EntriesRetired { entries, .. }) = event.decode_body().unwrap() {
                runs_that_took_out += 1;
                taken_out += entries.len();
            }
        }
        let heads = end.rows(Family::Head);
        let decode =
            |(key, value): &(bytes::Bytes, bytes::Bytes)| keys::head::decode(key, value).unwrap();
        let archived = heads
            .iter()
            .map(decode)
            .filter(|head| head.status == Status::Archived)
            .count();
        let live = heads.len() - archived;
        println!("{} events: {kinds:?}", kinds.values().sum::<u64>());
        println!(
            "{live} entries are live, {archived} archived; {runs_that_took_out} commands took {taken_out} out"
        );
        // Each entry goes once, and a night in which nothing goes writes nothing.
        if archived != taken_out || runs_that_took_out > (NIGHTS * u32::from(AGENTS)) as usize {
            return wrong(format!(
                "{taken_out} went in {runs_that_took_out} commands, {archived} are out"
            ));
        }
        // What is older than 90 days keeps its best, and nothing else.
        let old = TASKS * (NIGHTS - 92) / NIGHTS;
        let young = TASKS - old;
        let most =
            old as usize * end.retention.keep_best + young as usize * (usize::from(FACTS) + 3);
        if live > most + 64 || taken_out < old as usize {
            return wrong(format!(
                "{live} entries are live after a year, {taken_out} went"
            ));
        }
        answers_are_few(end)
    }
}

/// Of answers to commands only those are left that somebody may still ask for.
fn answers_are_few(end: &End<'_>) -> Result<(), Violation> {
    let scopes: Vec<ScopeRow> = end
        .rows(Family::Scope)
        .iter()
        .map(|(key, value)| keys::scope::decode(key, value).unwrap())
        .collect();
    let newest = scopes.iter().map(|row| row.tip.time).max().unwrap();
    let by_key: BTreeMap<ScopeKey, &ScopeRow> = scopes
        .iter()
        .map(|row| (ScopeKey::of(&row.scope), row))
        .collect();
    let (mut kept, mut of_system, mut overdue) = (0_u32, 0_u32, 0_u32);
    for (key, _) in end.rows(Family::Command) {
        let of = keys::command::parse(&key).unwrap();
        if of.actor.kind == PrincipalKind::System {
            of_system += 1;
            continue;
        }
        kept += 1;
        let made = of.command.time().unwrap();
        // The last night may have come before the newest event.
        let longest = 2 * COMMAND_RETRY_MS_MAX;
        let is_idle = newest.since_ms(by_key[&of.scope].tip.time) > longest;
        overdue += u32::from(is_idle || newest.since_ms(made) > longest);
    }
    println!("{kept} answers to commands are kept, and {of_system} of the system's");
    // Four commands of each task, and an open window of a month.
    if overdue > 0 || kept > TASKS {
        return Err(Violation::new(
            "a year is bounded",
            format!("{kept} answers are kept, {overdue} of them for too long"),
        ));
    }
    Ok(())
}

/// The plan of a year.
fn plan() -> Plan {
    let work = |agent| Operation {
        agent,
        rest_ms: 0,
        workload: "year".into(),
        action: serde_json::to_value(Action::Work).unwrap(),
    };
    Plan {
        seed: 1,
        profile: Profile {
            nodes: 1,
            store: StoreShape::Disk,
            faults_ms: 600_000,
            faults: Vec::new(),
        },
        operations: (0..AGENTS).map(work).collect(),
    }
}

#[test]
fn a_year_of_a_thousand_tasks_and_nightly_runs_keeps_all_invariants() {
    let suite = Suite::empty()
        .workload(Year::of(NIGHTS))
        .check(Maintaining)
        .check(LateRetries)
        .check(Alike)
        .check(Refusals)
        .check(Disputing)
        .check(Bounded);
    let world = World::with(&plan(), Correct, &suite, false).retaining(RetentionConfig::default());
    let outcome = world.run();
    println!(
        "{} commits, {} acknowledged, {} s of the world",
        outcome.commits,
        outcome.acknowledged,
        outcome.sim_ms / 1_000
    );
    assert_eq!(outcome.violation, None);
    for effect in ["contradiction raised", "contradiction answered"] {
        let seen = outcome.effects.count(effect);
        assert!(seen >= MONTHS, "{effect}: {seen} times");
    }
}

#[test]
fn a_floor_that_is_raised_before_the_retry_window_is_over_refuses_late_retries() {
    let run = |without| {
        let year = Year::of(FEW_NIGHTS);
        let expired = Arc::clone(&year.expired);
        let suite = Suite::empty().workload(year).check(LateRetries);
        let world = World::with(&plan(), Without(without), &suite, false);
        let outcome = world.retaining(RetentionConfig::default()).run();
        let broken = outcome.violation.map(|violation| violation.invariant);
        (broken, expired.load(Ordering::Relaxed))
    };
    assert_eq!(run(None), (None, 0));
    let (broken, expired) = run(Some(Safeguard::RaisesFloorsLate));
    assert_eq!(broken.as_deref(), Some(Invariant::AppliedOnce.as_str()));
    assert!(expired > 0, "no late retry was refused");
}
