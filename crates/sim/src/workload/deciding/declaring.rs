//! Declaring kinds of relations, the same few names in several scopes, so that some are declared already.
//!
//! Owns what is written down of each that was acknowledged, and what a refusal shows. What decisions do with them, `board`
//! says.

use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::{DeclaredKind, Rank, Reach, RelationName};
use sillok_core::scope::Scope;

use super::board::Board;
use super::keeping::{Told, note};
use super::saving::least;
use crate::agent::Agent;

/// The names that are declared.
pub(super) const NAMES: [&str; 3] = ["CAUSES", "EXPLAINS", "REPLACES"];

/// A name, by its place.
pub(super) fn name(number: u8) -> RelationName {
    let name = NAMES[usize::from(number) % NAMES.len()];
    name.parse()
        .expect("the workload names kinds that can be declared")
}

/// What a kind means, as it is declared.
pub(super) fn meaning(kind: DeclaredKind) -> String {
    let DeclaredKind { name, reach } = kind;
    format!("the one {name} the other, and a change goes {reach}")
}

/// Has a kind declared. Somebody may have declared its name before, there or around.
pub(super) async fn declare(agent: &mut Agent, scope: &Scope, which: u8, reach: u8) {
    let kind = DeclaredKind {
        name: name(which),
        reach: Reach::ALL[usize::from(reach) % Reach::ALL.len()],
    };
    let command = Command::DeclareRelation {
        name: kind.name,
        reach: kind.reach,
        meaning: meaning(kind),
    };
    let by = least(Rank::Lock, scope.level());
    let answer = match agent.attempt(by, scope, command).await {
        Ok(answer) => answer,
        Err(error) => {
            if error.code == ErrorCode::Conflict {
                agent.client().saw("kind of relation declared before");
            }
            return;
        }
    };
    let AnswerBody::Done = answer.result else {
        return;
    };
    agent.client().saw("kind of relation declared");
    agent.shared(|board: &mut Board| board.declared(scope, kind));
    let told = Told::Declared {
        scope: scope.clone(),
        kind,
        seq: answer.seq,
    };
    note(agent, &told);
}
