//! A process that ends at any of its calls, of store, index, bus, model or clock, leaves exactly one result: through
//! promotions, and through maintenance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sillok_actors::protocol::Correct;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::config::RetentionConfig;
use sillok_core::entry::{Detail, Head, Skill, Status, Table};
use sillok_core::event::Body;
use sillok_core::id::{CommandId, EntryId};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::retention::Retirement;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::review::Question;
use sillok_core::time::Timestamp;
use sillok_sim::agent::Agent;
use sillok_sim::fault::{Profile, StoreShape};
use sillok_sim::workload::maintaining::retention;
use sillok_sim::workload::material::{observation, project, text_of};
use sillok_sim::workload::{Check, Draw, End, Operation, Workload};
use sillok_sim::world::{Found, Kill};
use sillok_sim::{Outcome, Plan, Suite, Violation, World};
use sillok_store::keys::{self, Family};

use super::promoting;

/// Facts that a person publishes before they are old.
const FACTS: u8 = 6;
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
/// Characters of a line of a trace for the place, and the space behind it.
const PLACE_WIDTH: usize = 9;

/// What one agent does from the beginning of a world to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Story {
    /// Has a task judged that passed and one that failed, and waits for what each publishes.
    Promotion,
    /// Publishes facts and skills, and has them taken out when they are old or poor, offered when they are good, and
    /// forgotten who asked for what once nobody may ask again.
    Maintenance,
}

impl Story {
    /// What it has to meet among the calls that are counted, in a world of so many nodes.
    fn meets(self, nodes: u16) -> Vec<&'static str> {
        let of_story: &[&str] = match self {
            Self::Promotion => &["embeds", "cognified", "index compares", "index stores"],
            Self::Maintenance => &[
                "index hands ages over",
                "index optimises",
                "index stores",
                "checkpoint is kept",
            ],
        };
        let of_store: &[&str] = match nodes {
            // A node alone has a disk, and nobody to tell.
            1 => &["commits", "synced"],
            _ => &["commits", "committed", "appended"],
        };
        [of_story, of_store].concat()
    }
}

struct Teller;

impl Workload for Teller {
    type Action = Story;

    fn name(&self) -> &'static str {
        "story"
    }

    fn share(&self) -> u32 {
        1
    }

    fn draw(&self, _: &mut Draw<'_>) -> Story {
        Story::Promotion
    }

    async fn act(&self, agent: &mut Agent, story: Story) {
        match story {
            Story::Promotion => promoting::promote(agent).await,
            Story::Maintenance => maintain(agent).await,
        }
    }
}

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

/// Has a person publish something: what it became, unless it was refused.
pub(super) async fn put(agent: &mut Agent, entry: NewEntry) -> Option<EntryId> {
    let put = Command::PutEntry {
        entry: Box::new(entry),
        verification: None,
    };
    let put = agent.give(PrincipalKind::Human, &project(0), put).await;
    match put?.result {
        AnswerBody::Entry { id, .. } => Some(id),
        _ => None,
    }
}

/// Publishes all that maintenance sees to, 32 days after a first fact. Whether all of it was taken.
async fn prepare(agent: &mut Agent) -> Option<()> {
    put(agent, observation("The first fact is long known")).await?;
    agent.client().sleep_for_days(DAYS);
    for number in 0..FACTS {
        let fact = observation(&format!("{} ({number})", text_of(number)));
        put(agent, fact).await?;
    }
    put(agent, skill("bisect by hand", 0.1)).await?;
    let good = put(agent, skill("bisect", 1.0)).await?;
    for number in 0..HELPED {
        let task = agent.next_task();
        let open = Command::OpenTask {
            title: format!("Task {number}"),
            description: String::new(),
        };
        let report = Command::ReportReuse {
            task: task.clone(),
            entry: good,
            outcome: ReuseOutcome::Helped,
        };
        agent.give(PrincipalKind::Agent, &task, open).await?;
        agent
            .give(PrincipalKind::Agent, &project(0), report)
            .await?;
    }
    Some(())
}

async fn maintain(agent: &mut Agent) {
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

/// What is told of [`promoting::promoted`], or of [`maintained`].
struct OneResult {
    /// What is left of the promotions.
    left: Arc<Mutex<Vec<String>>>,
    /// Nodes of the world.
    nodes: u16,
}

impl Check for OneResult {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation::new("one result", what));
        if let Some(note) = end.history.notes.iter().find(|note| note.kind == "story") {
            return wrong(note.value.to_string());
        }
        let heads = end.rows(Family::Head);
        let heads = heads
            .iter()
            .map(|(key, value)| keys::head::decode(key, value).unwrap());
        let story: Story = Deserialize::deserialize(&end.plan.operations[0].action).unwrap();
        let judged = match story {
            Story::Promotion => {
                let heads: Vec<Head> = heads.collect();
                *self.left.lock() = promoting::left(&heads, self.nodes);
                promoting::promoted(end, &heads)
            }
            Story::Maintenance => {
                let entries: Vec<Head> =
                    heads.filter(|head| head.table != Table::Episodes).collect();
                maintained(end, &entries)
            }
        };
        judged.map_err(|what| Violation::new("one result", what))
    }
}

/// Of a project that was maintained: the facts are out, each once, and so is the poor skill; the good one was offered
/// once; the first answer is forgotten, and no other; how the last run went is written down; no lease is left.
fn maintained(end: &End<'_>, entries: &[Head]) -> Result<(), String> {
    let (mut aged, mut pruned) = (BTreeMap::new(), BTreeMap::new());
    let mut offers = 0;
    let mut commands = BTreeSet::new();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).unwrap();
        let header = event.decode_header().unwrap();
        if header.actor.kind != PrincipalKind::System {
            commands.insert((header.time, header.command));
        }
        let (times, gone): (&mut BTreeMap<EntryId, u32>, _) = match event.decode_body().unwrap() {
            Some(Body::EntriesRetired {
                entries,
                why: Retirement::Aged,
            }) => (&mut aged, entries),
            Some(Body::EntriesRetired {
                entries,
                why: Retirement::Pruned,
            }) => (&mut pruned, entries),
            Some(Body::ReviewRaised { question, .. }) => {
                offers += u32::from(matches!(*question, Question::Offer(_)));
                continue;
            }
            _ => continue,
        };
        gone.into_iter()
            .for_each(|entry| *times.entry(entry).or_default() += 1);
    }
    // The first fact, which is older, is one of those that are aged.
    for (what, times, count) in [
        ("aged", &aged, usize::from(FACTS) + 1),
        ("pruned", &pruned, 1),
    ] {
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

fn plan(story: Story, nodes: u16) -> Plan {
    Plan {
        seed: 1,
        profile: Profile {
            nodes,
            store: if nodes == 1 {
                StoreShape::Disk
            } else {
                StoreShape::Shared
            },
            faults_ms: 1,
            faults: Vec::new(),
        },
        operations: vec![Operation {
            agent: 0,
            rest_ms: 0,
            workload: "story".into(),
            action: serde_json::to_value(story).unwrap(),
        }],
    }
}

/// A world and what is left of its promotions. The one in which no process ends keeps its trace.
fn world(plan: &Plan, kill: Option<Kill>) -> (Outcome, Vec<String>) {
    let left = Arc::<Mutex<Vec<String>>>::default();
    let check = OneResult {
        left: Arc::clone(&left),
        nodes: plan.profile.nodes,
    };
    let suite = Suite::empty().workload(Teller).check(check);
    // However long a node takes to come back, a skill is not old by then.
    let retention = RetentionConfig {
        archive_knowledge_days: 365.0,
        ..retention()
    };
    let world = World::with(plan, Correct, &suite, kill.is_none()).retaining(retention);
    let outcome = match kill {
        Some(kill) => world.killing(kill).run(),
        None => world.run(),
    };
    let left = std::mem::take(&mut *left.lock());
    (outcome, left)
}

/// Whether all that a story has to meet is among the calls that were counted.
fn assert_meets(story: Story, nodes: u16, whole: &Outcome) {
    let text = whole.text.as_deref().expect("it was kept");
    let (_, text) = text.split_once("counts calls").expect("they are counted");
    let (text, _) = text.split_once("counts calls").expect("for a while");
    for call in story.meets(nodes) {
        let is_met = text.lines().any(|line| tells_of(line, call));
        assert!(
            is_met,
            "{story:?} on {nodes} nodes has met no call {call:?}"
        );
    }
}

/// Whether a line of a trace, which begins with a time and a place, tells of a call: "appended" is not "not appended".
fn tells_of(line: &str, call: &str) -> bool {
    let at = line.trim_start().split_once(' ');
    let told = at.and_then(|(_, at)| at.get(PLACE_WIDTH..));
    let padded = format!("{call:<16} ");
    told.is_some_and(|told| told.starts_with(&padded))
}

/// Whether an index was further where a call was carried out than where it was not.
fn is_indexed_further(before: &Found, after: &Found) -> bool {
    let mut indices = before.indexed.iter().zip(&after.indexed);
    indices.any(|((_, before), (_, after))| before < after)
}

/// Ends each node at each of its calls that are counted, before the call is carried out and after: what is left is what
/// is left where no process ends.
fn every_call(story: Story, nodes: u16) {
    let plan = plan(story, nodes);
    let (whole, left) = world(&plan, None);
    assert_eq!(whole.violation, None);
    assert_meets(story, nodes, &whole);
    println!("{story:?} on {nodes} nodes: {:?} calls", whole.calls);
    let (mut worlds, mut indexed, mut committed) = (0, 0, 0);
    for (node, calls) in (0..nodes).zip(&whole.calls) {
        for call in 1..=*calls {
            let found = [false, true].map(|carried_out| {
                let kill = Kill {
                    node,
                    call,
                    carried_out,
                };
                let (outcome, left_of_it) = world(&plan, Some(kill));
                let ended = outcome.calls[usize::from(node)] >= call;
                assert!(ended, "{kill:?} did not come to pass");
                let about = || format!("{story:?} on {nodes} nodes, {kill:?}");
                assert_eq!(outcome.violation, None, "{}", about());
                assert_eq!(left_of_it, left, "{}", about());
                worlds += 1;
                outcome.found
            });
            if let [Some(before), Some(after)] = found {
                indexed += u32::from(is_indexed_further(&before, &after));
                committed += u32::from(before.commits < after.commits);
            }
        }
    }
    println!("{worlds} worlds");
    assert!(worlds >= 40, "only {worlds} worlds");
    // Else a call that is carried out would be one that is not.
    assert!(indexed > 0, "no call has changed an index");
    // What is on its way to a disk as the process ends may be lost, and to another store it is not.
    assert!(nodes == 1 || committed > 0, "no call has committed");
}

#[test]
fn a_promotion_ends_once_whichever_call_is_the_last_of_a_node_alone() {
    every_call(Story::Promotion, 1);
}

#[test]
fn a_promotion_ends_once_whichever_call_is_the_last_of_a_node_of_two() {
    every_call(Story::Promotion, 2);
}

#[test]
fn maintenance_takes_each_out_once_whichever_call_is_the_last_of_a_node_alone() {
    every_call(Story::Maintenance, 1);
}

#[test]
fn maintenance_takes_each_out_once_whichever_call_is_the_last_of_a_node_of_two() {
    every_call(Story::Maintenance, 2);
}
