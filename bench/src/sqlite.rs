//! SQLite in the same run, on the same disk, as durable: WAL, synchronous FULL.
//!
//! The table is the least that stores the same records: no index, no chain, no answer of a command
//! that a retry could find. Whatever else Sillok writes counts against Sillok.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior, params};

use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, command_id};

/// How long a writer waits for the others.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
/// Records of one transaction of the queued writer: as many as one batch of a scope actor has.
const GROUP: usize = sillok_core::limits::BATCH_COMMANDS_MAX;
const INSERT: &str = "INSERT INTO records (scope, command, content) VALUES (?1, ?2, ?3)";

/// Measures writers that contend, and one writer behind a queue.
///
/// # Errors
/// What SQLite answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let measured = contending(scale)?;
    let what = format!("SQLite: {} contending writers, 1 record a transaction", scale.wide);
    report.add_keyed(Key::SqliteContending, Row::rate(what, &measured));
    let measured = queued(scale, GROUP)?;
    let what = format!("SQLite: one queued writer, {GROUP} records a transaction");
    report.add_keyed(Key::SqliteQueued, Row::rate(what, &measured));
    let all = GROUP * scale.wide;
    let measured = queued(scale, all)?;
    let what = format!("SQLite: one queued writer, {all} records a transaction");
    report.add(Row::rate(what, &measured));
    Ok(())
}

fn open(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    assert_eq!((mode.as_str(), synchronous), ("wal", 2), "SQLite is as durable as what it is compared with");
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS records \
         (seq INTEGER PRIMARY KEY, scope INTEGER NOT NULL, command BLOB NOT NULL, content TEXT NOT NULL)",
    )?;
    Ok(connection)
}

/// Each writer has a thread, a connection and a transaction of one record.
fn contending(scale: &Scale) -> Result<Measured, Error> {
    let folder = folder()?;
    let path = folder.path().join("records.sqlite");
    open(&path)?;
    let gauge = Gauge::new(scale.wide);
    let texts = Texts::new();
    std::thread::scope(|threads| {
        for lane in 0..scale.wide {
            let (path, gauge, texts) = (&path, &gauge, &texts);
            threads.spawn(move || {
                if let Err(error) = write_on(path, gauge, texts, lane, 1) {
                    gauge.fail(error);
                }
            });
        }
        gauge.measure(scale.window)
    })
}

/// One writer with one connection. The queue before it costs nothing here: the next group is there
/// when the last one is committed.
fn queued(scale: &Scale, group: usize) -> Result<Measured, Error> {
    let folder = folder()?;
    let path = folder.path().join("records.sqlite");
    let gauge = Arc::new(Gauge::new(1));
    let writer = {
        let gauge = Arc::clone(&gauge);
        std::thread::spawn(move || {
            if let Err(error) = write_on(&path, &gauge, &Texts::new(), 0, group) {
                gauge.fail(error);
            }
        })
    };
    let measured = gauge.measure(scale.window);
    // A panic of the writer shows in the measurement: nothing was acknowledged then.
    let _ = writer.join();
    measured
}

fn write_on(path: &Path, gauge: &Gauge, texts: &Texts, lane: usize, group: usize) -> Result<(), Error> {
    let mut connection = open(path)?;
    let scope = i64::try_from(lane).expect("lanes are few");
    let mut next = lane * 31;
    while gauge.is_on() {
        let sent = Instant::now();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for _ in 0..group {
                let command = command_id();
                insert.execute(params![scope, command.as_bytes(), texts.get(next)])?;
                next += 1;
            }
        }
        transaction.commit()?;
        gauge.acknowledged(lane, sent, group as u64);
    }
    Ok(())
}
