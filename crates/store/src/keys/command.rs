//! Commands: what each one led to, so that a retry writes nothing.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `c`, [`ScopeKey`] (16), kind of principal (1), its id, 0, [`CommandId`] (16) | [`CommandRecord`] | written once; an aborted one is overwritten by a higher attempt |
//!
//! Command ids are unique for one principal, so its kind and id stand before the command's.

use sillok_core::command::CommandRecord;
use sillok_core::id::CommandId;
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Command;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// Whose command it is.
    pub actor: Actor,
    /// The command.
    pub command: CommandId,
}

/// The key of a command's record.
#[must_use]
pub fn key(scope: &ScopeKey, actor: &Actor, command: CommandId) -> Vec<u8> {
    let id = actor.id.as_str().as_bytes();
    assert!(!id.contains(&0), "no character of a principal's id is a 0");
    codec::build(
        FAMILY,
        &[
            scope.as_bytes(),
            &[ordinal(actor.kind)],
            id,
            &[0],
            command.as_bytes(),
        ],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let number = reader.u8()?;
    let kind = PrincipalKind::ALL
        .into_iter()
        .find(|kind| ordinal(*kind) == number);
    let kind = kind.ok_or_else(|| reader.corrupt("there is no such kind of principal"))?;
    let id = PrincipalId::parse(reader.text_to_zero()?);
    let id = id.map_err(|_| reader.corrupt("not the id of a principal"))?;
    let command = CommandId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        actor: Actor { kind, id },
        command,
    })
}

/// The stored number of a kind; it never changes.
const fn ordinal(kind: PrincipalKind) -> u8 {
    match kind {
        PrincipalKind::Agent => 0,
        PrincipalKind::Orchestrator => 1,
        PrincipalKind::Human => 2,
        PrincipalKind::System => 3,
    }
}

/// The records of all commands of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The records of a scope behind all that a principal has there.
#[must_use]
pub fn range_behind(scope: &ScopeKey, actor: &Actor) -> KeyRange {
    let id = actor.id.as_str().as_bytes();
    let of_actor = codec::build(
        FAMILY,
        &[scope.as_bytes(), &[ordinal(actor.kind)], id, &[0]],
    );
    KeyRange {
        begin: KeyRange::prefix(&of_actor).end,
        ..range_of_scope(scope)
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &CommandRecord) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<CommandRecord, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
