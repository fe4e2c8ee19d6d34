//! A process that ends at any of its calls, of store, index, bus, model or clock, leaves exactly one result: through
//! promotions, through maintenance, and while evidence is kept.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sillok_actors::protocol::Correct;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::config::RetentionConfig;
use sillok_core::entry::{Head, Table};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_sim::agent::Agent;
use sillok_sim::fault::{Profile, StoreShape};
use sillok_sim::workload::maintaining::retention;
use sillok_sim::workload::material::project;
use sillok_sim::workload::{Check, Draw, End, Operation, Workload};
use sillok_sim::world::{Found, Kill};
use sillok_sim::{Outcome, Plan, Suite, Violation, World};
use sillok_store::keys::{self, Family};

use super::{keeping, maintaining, promoting};

/// Characters of a line of a trace for the place, and the space behind it.
const PLACE_WIDTH: usize = 9;

/// What one agent does from the beginning of a world to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Story {
    /// Has a task judged that passed and one that failed, and waits for what each publishes.
    Promotion,
    /// Publishes facts and skills, and has them taken out when they are old or poor, but for the best of a task, offered
    /// when they are good, and forgotten who asked for what once nobody may ask again.
    Maintenance,
    /// Keeps evidence in chunks, a decision that rests on it, another one that is related by a declared kind, and anchors, of
    /// which one is dropped.
    Evidence,
}

impl Story {
    /// What it has to meet among the calls that are counted, in a world of so many nodes.
    fn meets(self, nodes: u16) -> Vec<&'static str> {
        let of_story: &[&str] = match self {
            Self::Promotion => &["embeds", "cognified", "index compares", "index stores"],
            Self::Maintenance => &[
                "index hands ages over",
                "index hands worths over",
                "index optimises",
                "index stores",
                "checkpoint is kept",
            ],
            // Nothing of it concerns an index or a model.
            Self::Evidence => &[],
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
            Story::Maintenance => maintaining::maintain(agent).await,
            Story::Evidence => keeping::keep(agent).await,
        }
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

/// What is told of [`promoting::promoted`], of [`maintaining::maintained`], or of [`keeping::kept`].
struct OneResult {
    /// What is left of the promotions, or of what was kept.
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
                maintaining::maintained(end, &entries)
            }
            Story::Evidence => {
                *self.left.lock() = keeping::left(end);
                keeping::kept(end)
            }
        };
        judged.map_err(|what| Violation::new("one result", what))
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

/// A world and what is left of its promotions, or of what was kept. The one in which no process ends keeps its trace.
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
    let is_indexed = story != Story::Evidence;
    assert!(!is_indexed || indexed > 0, "no call has changed an index");
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

#[test]
fn evidence_is_kept_once_whichever_call_is_the_last_of_a_node_alone() {
    every_call(Story::Evidence, 1);
}

#[test]
fn evidence_is_kept_once_whichever_call_is_the_last_of_a_node_of_two() {
    every_call(Story::Evidence, 2);
}
