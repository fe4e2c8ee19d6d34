//! The store alone: the rows that scopes write for appends, without the scopes.
//!
//! Each lane is one scope with one transaction in flight, as a scope actor has: it reads `o`, `q`
//! and each `c` in conflict, and writes the same rows through the same functions. Events were sealed
//! beforehand; encoding them into rows is the store's own work and counts.

use std::sync::Arc;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sillok_actors::rows::{self, Place};
use sillok_core::chain::{Origin, StoredEvent, Tip, seal};
use sillok_core::command::{Answer, AnswerBody, CommandRecord, Digest, ScopeRow};
use sillok_core::entry::Metadata;
use sillok_core::event::Body;
use sillok_core::id::{CommandId, Epoch, Incarnation};
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::membership::OwnerRow;
use sillok_core::principal::{Actor, PrincipalKind};
use sillok_core::staging::{Content, LogLevel, Record, RecordKind};
use sillok_core::time::Timestamp;
use sillok_store::keys;
use sillok_store::{FjallStore, Read, Store, Txn};

use crate::engines::{folder, open_store, runtime};
use crate::error::Error;
use crate::gauge::Gauge;
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, append, command_id, now, principal, task};

/// Events that are sealed beforehand; they are written again and again, under new keys.
const EVENTS: usize = 4_096;

/// What one command leaves behind, but for its place.
struct Prepared {
    events: Vec<StoredEvent>,
    /// Of each event's command.
    digests: Vec<Digest>,
}

/// Measures the store under as many scopes as the actors have at their widest.
///
/// # Errors
/// What the store answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let store = open_store(folder.path())?;
    let runtime = runtime()?;
    let prepared = Arc::new(prepare());
    let gauge = Arc::new(Gauge::new(scale.wide));
    let places: Vec<Place> = (0..scale.wide)
        .map(|number| Place::of(&task(number)))
        .collect();
    runtime.block_on(claim(&store, &places))?;
    let lanes: Vec<_> = places
        .into_iter()
        .enumerate()
        .map(|(lane, place)| {
            let (store, gauge, prepared) =
                (store.clone(), Arc::clone(&gauge), Arc::clone(&prepared));
            runtime.spawn(async move {
                if let Err(error) = write_on(&store, &gauge, lane, &place, &prepared).await {
                    gauge.fail(error);
                }
            })
        })
        .collect();
    let measured = gauge.measure(scale.window)?;
    runtime.block_on(futures::future::join_all(lanes));
    let what = format!(
        "store alone: {} scopes, {BATCH_COMMANDS_MAX} commands a batch",
        scale.wide
    );
    report.add_keyed(Key::Store, Row::rate(what, &measured));
    Ok(())
}

fn prepare() -> Prepared {
    let texts = Texts::new();
    let actor = principal(PrincipalKind::Agent).actor;
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut tip = Tip::genesis(&task(0));
    let mut prepared = Prepared {
        events: Vec::with_capacity(EVENTS),
        digests: Vec::with_capacity(EVENTS),
    };
    for number in 0..EVENTS {
        let command = append(texts.get(number));
        let body = Body::RecordAppended(Box::new(Record {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: Content::Inline(texts.get(number).to_owned()),
            metadata: Metadata::default(),
            time: now(),
            masked: 0,
        }));
        let origin = Origin {
            actor: actor.clone(),
            command: command_id(),
            epoch: Epoch(1),
        };
        let mut salt = [0; 16];
        rng.fill_bytes(&mut salt);
        prepared.digests.push(command.digest());
        prepared
            .events
            .push(seal(&mut tip, &body, &origin, now(), salt));
    }
    prepared
}

async fn claim(store: &FjallStore, places: &[Place]) -> Result<(), Error> {
    let mut txn = store.begin().await?;
    for place in places {
        let row = OwnerRow {
            node: "local".to_owned(),
            incarnation: Incarnation(1),
            epoch: Epoch(1),
        };
        txn.set(keys::owner::key(place.slot), keys::owner::encode(&row));
    }
    txn.commit().await?;
    Ok(())
}

/// Writes batch after batch to one scope.
async fn write_on(
    store: &FjallStore,
    gauge: &Gauge,
    lane: usize,
    place: &Place,
    prepared: &Prepared,
) -> Result<(), Error> {
    let actor = principal(PrincipalKind::Agent).actor;
    let mut row = ScopeRow {
        scope: place.scope.clone(),
        tip: Tip::genesis(&place.scope),
        floor: Timestamp::EPOCH,
    };
    // Lanes begin at different events, so that one group does not hold the same text many times.
    let mut next = lane * BATCH_COMMANDS_MAX;
    while gauge.is_on() {
        let sent = Instant::now();
        write_batch(store, place, &actor, &mut row, prepared, next).await?;
        gauge.acknowledged(lane, sent, BATCH_COMMANDS_MAX as u64);
        next += BATCH_COMMANDS_MAX;
    }
    Ok(())
}

async fn write_batch(
    store: &FjallStore,
    place: &Place,
    actor: &Actor,
    row: &mut ScopeRow,
    prepared: &Prepared,
    next: usize,
) -> Result<(), Error> {
    let commands: Vec<CommandId> = (0..BATCH_COMMANDS_MAX).map(|_| command_id()).collect();
    let mut txn = store.begin().await?;
    let owner = keys::owner::key(place.slot);
    let owned = txn.get(&owner, Read::Conflict).await?;
    assert!(owned.is_some(), "the slot was claimed");
    let key = keys::scope::key(&place.key);
    let found = txn.get(&key, Read::Conflict).await?;
    let found = found
        .map(|value| keys::scope::decode(&key, &value))
        .transpose()?;
    assert!(
        found.is_none_or(|found| found.tip == row.tip),
        "nobody else writes to the scope"
    );
    for command in &commands {
        let known = txn
            .get(
                &keys::command::key(&place.key, actor, *command),
                Read::Conflict,
            )
            .await?;
        assert!(known.is_none(), "the command is new");
    }
    let first = row.tip.seq.next();
    for (offset, command) in commands.iter().enumerate() {
        let event = &prepared.events[(next + offset) % EVENTS];
        let digest = prepared.digests[(next + offset) % EVENTS];
        row.tip = Tip {
            seq: row.tip.seq.next(),
            hash: row.tip.hash,
            time: now(),
        };
        let seq = row.tip.seq;
        let result = AnswerBody::Appended {
            first: seq,
            count: 1,
            masked: 0,
        };
        let record = CommandRecord::Applied {
            digest,
            answer: Answer {
                seq,
                time: row.tip.time,
                result,
            },
        };
        rows::write_event(&mut txn, place, seq, event);
        let key = keys::command::key(&place.key, actor, *command);
        rows::write_command(&mut txn, key, &record);
    }
    rows::write_scope(&mut txn, place, row);
    rows::write_outbox(&mut txn, place, first, row.tip.seq, Vec::new());
    txn.commit().await?;
    Ok(())
}
