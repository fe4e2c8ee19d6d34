//! The tasks of a year: how one begins.
//!
//! Owns what its log states. It must not know how it is judged.

use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_sim::agent::Agent;
use sillok_sim::workload::material::text_of;
use sillok_sim::workload::staging::record;

/// Opens a task and has its log state so many facts, each of this place. None where something was refused.
pub(super) async fn staged(
    agent: &mut Agent,
    task: &Scope,
    title: String,
    facts: u8,
    place: &str,
) -> Option<()> {
    let open = Command::OpenTask {
        title,
        description: String::new(),
    };
    let fact = |number: u8| format!("{} in {place}", text_of(number));
    let append = Command::Append {
        records: (0..facts).map(|number| record(fact(number))).collect(),
    };
    let opened = agent.give(PrincipalKind::Agent, task, open).await;
    let appended = agent.give(PrincipalKind::Agent, task, append).await;
    opened.and(appended).map(drop)
}
