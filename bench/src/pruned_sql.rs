//! The prune as row-by-row SQL: SQLite on the same disk, as durable as the store.
//!
//! A table of as many entries as a node has, with what a prune looks at and writes: their ages, tables and values, by which
//! it finds what is due, and the status and the history of each, which it changes row by row. It is measured twice, each
//! time on tables of its own: with transactions of as many rows as a command of maintenance and the cache that SQLite has
//! by itself, and with large ones and a large cache. Nothing chains, indexes or tells anybody of it, which counts against
//! Sillok.

use std::time::Instant;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::engines::folder;
use crate::error::Error;
use crate::report::{Key, Report, Row};
use crate::scale::Scale;

/// How the rows are changed.
struct Way {
    /// Rows of one transaction.
    group: usize,
    /// SQLite's cache, if it is not the one that it has by itself.
    cache_kib: Option<i64>,
    what: &'static str,
}

const WAYS: [Way; 2] = [
    Way {
        group: 256,
        cache_kib: None,
        what: "256 a transaction",
    },
    Way {
        group: 4_096,
        cache_kib: Some(64 << 10),
        what: "4096 a transaction, with 64 MiB of cache",
    },
];
/// Days after which an entry goes.
const OLD_DAYS: i64 = 90;
/// Rows that are written at once beforehand.
const PREPARED: usize = 10_000;

const TABLES: &str = "
    CREATE TABLE entries (id BLOB PRIMARY KEY, project INTEGER NOT NULL, kind INTEGER NOT NULL,
        status INTEGER NOT NULL, age_days INTEGER NOT NULL, value REAL NOT NULL,
        content TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX live ON entries (status, age_days);
    CREATE TABLE history (seq INTEGER PRIMARY KEY, entry BLOB NOT NULL, status INTEGER NOT NULL);";

/// Measures it in each way. A prune by a node is compared with the better one.
///
/// # Errors
/// What SQLite answered; that something else went.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    WAYS.iter()
        .try_for_each(|way| measure_way(way, scale, report))
}

fn measure_way(way: &Way, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let mut connection = Connection::open(folder.path().join("entries.sqlite"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    if let Some(kib) = way.cache_kib {
        // Where it is below zero it is a size; else it is a number of pages.
        connection.pragma_update(None, "cache_size", -kib)?;
    }
    connection.execute_batch(TABLES)?;
    prepare(&mut connection, scale)?;
    let began = Instant::now();
    let pruned = prune(&mut connection, way.group)?;
    let took = began.elapsed();
    let left: u32 = connection.query_row(
        "SELECT count(*) FROM entries WHERE status = 1 AND age_days > ?1",
        params![OLD_DAYS],
        |row| row.get(0),
    )?;
    let is_whole = u32::try_from(pruned).is_ok_and(|pruned| pruned == scale.pruned);
    if left != 0 || !is_whole {
        let why = format!("SQLite: {pruned} of {} went, {left} are left", scale.pruned);
        return Err(Error::Wrong(why));
    }
    let what = format!(
        "SQLite: a prune of {pruned} entries, row by row, {}",
        way.what
    );
    let rate = pruned as f64 / took.as_secs_f64();
    report.add_keyed(Key::SqlitePrune, Row::new(what, rate, "entries/s"));
    Ok(())
}

/// The entry with this number: ids come in no order.
fn id(number: u32) -> [u8; 16] {
    let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let id = (u128::from(mixed) << 64) | u128::from(number);
    id.to_be_bytes()
}

fn prepare(connection: &mut Connection, scale: &Scale) -> Result<(), Error> {
    let numbers: Vec<u32> = (0..scale.pruned + scale.maintained).collect();
    let content = "what an entry says, about as long as most of them are. ".repeat(4);
    for some in numbers.chunks(PREPARED) {
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO entries VALUES (?1, ?2, ?3, 1, ?4, 0.2, ?5)")?;
            for number in some {
                let age_days = if *number < scale.pruned { 120 } else { 1 };
                insert.execute(params![
                    id(*number),
                    number % 8,
                    number % 3,
                    age_days,
                    content
                ])?;
            }
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Takes out what is old, row by row, so many in each transaction: how many.
fn prune(connection: &mut Connection, group: usize) -> Result<usize, Error> {
    let due: Vec<[u8; 16]> = {
        let mut select =
            connection.prepare("SELECT id FROM entries WHERE status = 1 AND age_days > ?1")?;
        let ids = select.query_map(params![OLD_DAYS], |row| row.get(0))?;
        ids.collect::<Result<_, _>>()?
    };
    let mut pruned = 0;
    for some in due.chunks(group) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut look =
                transaction.prepare_cached("SELECT status, age_days FROM entries WHERE id = ?1")?;
            let mut update =
                transaction.prepare_cached("UPDATE entries SET status = 2 WHERE id = ?1")?;
            let mut note =
                transaction.prepare_cached("INSERT INTO history VALUES (NULL, ?1, 2)")?;
            for id in some {
                let (status, days): (i64, i64) =
                    look.query_row(params![id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                if status == 1 && days > OLD_DAYS {
                    update.execute(params![id])?;
                    note.execute(params![id])?;
                    pruned += 1;
                }
            }
        }
        transaction.commit()?;
    }
    Ok(pruned)
}
