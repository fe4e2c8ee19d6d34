//! A process that ends at any of its calls, of store, index, model or clock, leaves exactly one result: through
//! a promotion, and through maintenance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_actors::protocol::Correct;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Status, Table};
use sillok_core::event::Body;
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::retention::Retirement;
use sillok_sim::agent::Agent;
use sillok_sim::fault::{Profile, StoreShape};
use sillok_sim::workload::material::{judged, observation, project, text_of};
use sillok_sim::workload::staging::record;
use sillok_sim::workload::{Check, Draw, End, Operation, Workload};
use sillok_sim::world::Kill;
use sillok_sim::{Outcome, Plan, Suite, Violation, World};
use sillok_store::keys::{self, Family};

/// Facts that a person publishes before they are old.
const FACTS: u8 = 6;
/// Looks until a promotion has to be finished.
const PROMOTION_LOOKS: u32 = 60;
/// How old the facts become before maintenance runs, in ms: older than they may.
const AGED_MS: u64 = 21_000;
/// Runs of maintenance: one of them may be cut off, and another one be turned away by its lease.
const RUNS: u32 = 4;

/// What one agent does from the beginning of a world to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Story {
    /// Has a task judged, and waits for what that publishes.
    Promotion,
    /// Publishes facts, and has them taken out when they are old.
    Maintenance,
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
            Story::Promotion => promote(agent).await,
            Story::Maintenance => maintain(agent).await,
        }
    }
}

async fn promote(agent: &mut Agent) {
    let task = agent.next_task();
    let open = Command::OpenTask {
        title: "Mend the parser".into(),
        description: "The last line of a file is lost.".into(),
    };
    let append = Command::Append {
        records: (0..4)
            .map(|number| record(text_of(number).to_owned()))
            .collect(),
    };
    agent.give(PrincipalKind::Agent, &task, open).await;
    agent.give(PrincipalKind::Agent, &task, append).await;
    agent.client().count_calls(true);
    let verify = judged(true, "the only run".into());
    let answer = agent.give(PrincipalKind::Orchestrator, &task, verify).await;
    let Some(AnswerBody::Verification { id, .. }) = answer.map(|answer| answer.result) else {
        return agent.note("story", "the verification was refused".into());
    };
    if agent
        .client()
        .published(&task, id, PROMOTION_LOOKS)
        .await
        .is_none()
    {
        agent.note("story", "the promotion did not end".into());
    }
    agent.client().count_calls(false);
}

async fn maintain(agent: &mut Agent) {
    for number in 0..FACTS {
        let put = Command::PutEntry {
            entry: Box::new(observation(&format!("{} ({number})", text_of(number)))),
            verification: None,
        };
        let put = agent.give(PrincipalKind::Human, &project(0), put).await;
        if put.is_none() {
            return agent.note("story", "a fact was refused".into());
        }
    }
    agent.client().sleep(AGED_MS).await;
    agent.client().count_calls(true);
    agent.client().maintain(false, Some(project(0))).await;
    agent.client().count_calls(false);
    for _ in 1..RUNS {
        agent.client().maintain(false, Some(project(0))).await;
    }
    if agent.client().maintain(false, Some(project(0))).await != Some(0) {
        agent.note("story", "something was left over".into());
    }
}

/// One episode for the verification; each fact taken out once; no lease left.
struct OneResult;

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
        let (episodes, others): (Vec<_>, Vec<_>) =
            heads.partition(|head| head.table == Table::Episodes);
        let story: Story = Deserialize::deserialize(&end.plan.operations[0].action).unwrap();
        if story == Story::Promotion {
            let marks = end.rows(Family::Mark).len();
            if (episodes.len(), marks) != (1, 1) || others.is_empty() {
                return wrong(format!("{} episodes and {marks} marks", episodes.len()));
            }
            return Ok(());
        }
        let mut times: BTreeMap<EntryId, u32> = BTreeMap::new();
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).unwrap();
            if let Some(Body::EntriesRetired {
                entries,
                why: Retirement::Aged,
            }) = event.decode_body().unwrap()
            {
                entries
                    .into_iter()
                    .for_each(|entry| *times.entry(entry).or_default() += 1);
            }
        }
        let is_out = |id: &EntryId| times.get(id) == Some(&1);
        let all_out = others
            .iter()
            .all(|head| head.status == Status::Archived && is_out(&head.id));
        if others.len() != usize::from(FACTS) || !all_out {
            return wrong(format!(
                "{times:?} of {} entries were taken out",
                others.len()
            ));
        }
        match end.rows(Family::Lease).is_empty() {
            true => Ok(()),
            false => wrong("a lease is left".into()),
        }
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

fn world(plan: &Plan, kill: Option<Kill>) -> Outcome {
    let suite = Suite::empty().workload(Teller).check(OneResult);
    let world = World::with(plan, Correct, &suite, false);
    match kill {
        Some(kill) => world.killing(kill).run(),
        None => world.run(),
    }
}

/// Ends each node at each of its calls that are counted, before the call is carried out and after.
fn every_call(story: Story, nodes: u16) {
    let plan = plan(story, nodes);
    let whole = world(&plan, None);
    assert_eq!(whole.violation, None);
    let mut worlds = 0;
    for (node, calls) in (0..nodes).zip(&whole.calls) {
        for call in 1..=*calls {
            for carried_out in [false, true] {
                let kill = Kill {
                    node,
                    call,
                    carried_out,
                };
                let outcome = world(&plan, Some(kill));
                let ended = outcome.calls[usize::from(node)] >= call;
                assert!(ended, "{kill:?} did not come to pass");
                assert_eq!(
                    outcome.violation, None,
                    "{story:?} on {nodes} nodes, {kill:?}"
                );
                worlds += 1;
            }
        }
    }
    println!(
        "{story:?} on {nodes} nodes: {:?} calls, {worlds} worlds",
        whole.calls
    );
    assert!(worlds >= 40, "only {worlds} worlds");
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
