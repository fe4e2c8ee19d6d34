//! SQLite in the same run, on the same disk, as durable: WAL, synchronous FULL.
//!
//! Two tables make the same promise to a caller as Sillok does: records have a position in their
//! scope, and a command that comes again is found. A bare table of records, which promises neither,
//! is measured beside. SQLite chains nothing and tells nobody; what Sillok writes for that counts
//! against Sillok.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{SUBMITTERS, Texts, command_id};

/// How long a writer waits for the others.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
/// Most records of one transaction of the queued writer: as many as one batch of a scope actor has.
const GROUP: usize = sillok_core::limits::BATCH_COMMANDS_MAX;

/// What is stored of a record.
#[derive(Clone, Copy)]
enum Schema {
    /// Its position in its scope, its command, its content.
    Keyed,
    /// Its content, in the order of arrival.
    Bare,
}

impl Schema {
    const fn tables(self) -> &'static str {
        match self {
            Self::Keyed => {
                "CREATE TABLE IF NOT EXISTS records (scope INTEGER NOT NULL, seq INTEGER NOT NULL, \
                 content TEXT NOT NULL, PRIMARY KEY (scope, seq)) WITHOUT ROWID; \
                 CREATE TABLE IF NOT EXISTS commands (scope INTEGER NOT NULL, command BLOB NOT NULL, \
                 seq INTEGER NOT NULL, PRIMARY KEY (scope, command)) WITHOUT ROWID;"
            }
            Self::Bare => {
                "CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, \
                 content TEXT NOT NULL);"
            }
        }
    }
}

/// Measures writers that contend, and one writer behind a queue.
///
/// # Errors
/// What SQLite answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let measured = contending(scale)?;
    let what = format!(
        "SQLite: {} contending writers, 1 record a transaction",
        scale.wide
    );
    report.add_keyed(Key::SqliteContending, Row::rate(what, &measured));
    let all = GROUP * scale.wide;
    for group in [GROUP, all] {
        let measured = queued(scale, Schema::Keyed, group)?;
        let what = format!("SQLite: one queued writer, up to {group} records a transaction");
        report.add_keyed(Key::SqliteQueued, Row::rate(what, &measured));
    }
    let measured = queued(scale, Schema::Bare, all)?;
    let what = format!("SQLite: one queued writer, up to {all} records a transaction, bare");
    report.add(Row::rate(what, &measured));
    Ok(())
}

fn open(path: &Path, schema: Schema) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    assert_eq!(
        (mode.as_str(), synchronous),
        ("wal", 2),
        "SQLite is as durable as what it is compared with"
    );
    connection.execute_batch(schema.tables())?;
    Ok(connection)
}

/// Each writer has a thread, a connection and a transaction of one record.
fn contending(scale: &Scale) -> Result<Measured, Error> {
    let folder = folder()?;
    let path = folder.path().join("records.sqlite");
    open(&path, Schema::Keyed)?;
    let gauge = Gauge::new(scale.wide);
    let texts = Texts::new();
    std::thread::scope(|threads| {
        for lane in 0..scale.wide {
            let (path, gauge, texts) = (&path, &gauge, &texts);
            threads.spawn(move || {
                if let Err(error) = write_on(path, gauge, texts, lane, Schema::Keyed) {
                    gauge.fail(error);
                }
            });
        }
        gauge.measure(scale.window)
    })
}

/// A record on its way to the queued writer.
struct Queued {
    scope: usize,
    content: String,
    written: oneshot::Sender<()>,
}

/// One writer with one connection, behind a queue. As many submitters as the scope actors have wait
/// for their acknowledgements; a transaction takes what is queued, at most `group` records.
fn queued(scale: &Scale, schema: Schema, group: usize) -> Result<Measured, Error> {
    let folder = folder()?;
    let path = folder.path().join("records.sqlite");
    let runtime = runtime()?;
    let gauge = Arc::new(Gauge::new(scale.wide));
    let texts = Arc::new(Texts::new());
    let (queue, arrived) = mpsc::channel();
    let submitters: Vec<_> = (0..scale.wide * SUBMITTERS)
        .map(|number| {
            let (gauge, texts, queue) = (Arc::clone(&gauge), Arc::clone(&texts), queue.clone());
            let lane = number % scale.wide;
            runtime.spawn(submit_on(gauge, texts, queue, lane, number * 31))
        })
        .collect();
    drop(queue);
    let writer = {
        let gauge = Arc::clone(&gauge);
        std::thread::spawn(move || {
            if let Err(error) = write_queued(&path, &arrived, schema, group) {
                gauge.fail(error);
            }
        })
    };
    let measured = gauge.measure(scale.window);
    runtime.block_on(futures::future::join_all(submitters));
    // A panic of the writer shows in the measurement: nothing was acknowledged then.
    let _ = writer.join();
    measured
}

async fn submit_on(
    gauge: Arc<Gauge>,
    texts: Arc<Texts>,
    queue: mpsc::Sender<Queued>,
    lane: usize,
    first: usize,
) {
    let mut next = first;
    while gauge.is_on() {
        let (written, acknowledgement) = oneshot::channel();
        let sent = Instant::now();
        let record = Queued {
            scope: lane,
            content: texts.get(next).to_owned(),
            written,
        };
        // The writer's own failure says why it is gone.
        if queue.send(record).is_err() || acknowledgement.await.is_err() {
            return;
        }
        gauge.acknowledged(lane, sent, 1);
        next += 1;
    }
}

/// Writes what comes, until nobody sends any more.
fn write_queued(
    path: &Path,
    arrived: &mpsc::Receiver<Queued>,
    schema: Schema,
    group: usize,
) -> Result<(), Error> {
    let mut connection = open(path, schema)?;
    let mut next = 0;
    let mut taken = Vec::with_capacity(group);
    while let Ok(first) = arrived.recv() {
        taken.push(first);
        taken.extend(arrived.try_iter().take(group - 1));
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for record in &taken {
            insert(&transaction, schema, record.scope, next, &record.content)?;
            next += 1;
        }
        transaction.commit()?;
        for record in taken.drain(..) {
            // Whoever measures may have stopped waiting.
            let _ = record.written.send(());
        }
    }
    Ok(())
}

/// Writes one record a transaction.
fn write_on(
    path: &Path,
    gauge: &Gauge,
    texts: &Texts,
    lane: usize,
    schema: Schema,
) -> Result<(), Error> {
    let mut connection = open(path, schema)?;
    let mut next = 0;
    while gauge.is_on() {
        let sent = Instant::now();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        insert(
            &transaction,
            schema,
            lane,
            next,
            texts.get(lane * 31 + next),
        )?;
        next += 1;
        transaction.commit()?;
        gauge.acknowledged(lane, sent, 1);
    }
    Ok(())
}

fn insert(
    transaction: &Transaction<'_>,
    schema: Schema,
    scope: usize,
    number: usize,
    content: &str,
) -> Result<(), Error> {
    let wide = |number: usize| i64::try_from(number).expect("what is counted here is small");
    match schema {
        Schema::Keyed => {
            let mut record =
                transaction.prepare_cached("INSERT INTO records VALUES (?1, ?2, ?3)")?;
            record.execute(params![wide(scope), wide(number), content])?;
            let mut command =
                transaction.prepare_cached("INSERT INTO commands VALUES (?1, ?2, ?3)")?;
            command.execute(params![wide(scope), command_id().as_bytes(), wide(number)])?;
        }
        Schema::Bare => {
            let mut record =
                transaction.prepare_cached("INSERT INTO records VALUES (NULL, ?1, ?2)")?;
            record.execute(params![wide(scope), content])?;
        }
    }
    Ok(())
}
