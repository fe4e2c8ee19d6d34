//! HTTP: a real server process on a real data directory, over loopback, with its clients on the
//! same cores.
//!
//! Each client has a connection that it keeps, a task of its own, and one call under way.

pub(crate) mod client;
pub(crate) mod server;

use std::sync::Arc;
use std::time::Instant;

use futures::future::join_all;
use sillok_core::scope::Scope;
use tokio::runtime::Builder;

use self::client::{Connection, Request};
use self::server::ServerProcess;
use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::memory::{RESIDENT_MB_MAX, status_bytes};
use crate::report::{Floor, Report, Row};
use crate::scale::{Scale, Window};
use crate::workload::{RECORD_BYTES, Texts, task};

/// Records of a large call.
const MANY: usize = 100;
/// The floor with many records a call, in records a second.
const MANY_RECORDS_PER_S: f64 = 60_000.0;
/// The floor with one record a call and the most clients, in records a second.
const SINGLE_RECORDS_PER_S: f64 = 8_000.0;
/// Different calls that a client has at hand; they repeat after that, under new command ids.
const CALLS_SINGLE: usize = 64;
const CALLS_MANY: usize = 4;

/// Measures few and many clients, with one record and with many records a call.
///
/// # Errors
/// What the server answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let texts = Arc::new(Texts::new());
    for records in [1, MANY] {
        for clients in [5, scale.wide] {
            let folder = folder()?;
            let server = ServerProcess::start(folder.path())?;
            let lane = |number| Lane {
                address: server.address().to_owned(),
                scope: task(number),
            };
            let lanes = (0..clients).map(lane).collect();
            let measured = load(lanes, server.token(), &texts, records, scale.window)?;
            let row = Row::rate(
                format!("HTTP: {clients} clients, {records} records a call"),
                &measured,
            );
            let floor = match records {
                MANY => Some(MANY_RECORDS_PER_S),
                _ if clients == scale.wide => Some(SINGLE_RECORDS_PER_S),
                _ => None,
            };
            report.add(match floor {
                Some(floor) => row.with_floor(Floor::AtLeast(floor)),
                None => row,
            });
            if records == MANY {
                let resident = status_bytes(&server.id().to_string(), "VmRSS:")?;
                let row = Row::new(
                    format!(
                        "memory: the server of {clients} clients, after {} records and more",
                        measured.records
                    ),
                    resident as f64 / 1e6,
                    "MB",
                );
                // Fifty clients that each send hundreds of records hold many megabytes of requests:
                // their figure is shown without a floor, as the README says.
                report.add(if clients == scale.wide {
                    row
                } else {
                    row.with_floor(Floor::AtMost(RESIDENT_MB_MAX))
                });
            }
        }
    }
    Ok(())
}

/// A client of a load: whom it asks, and the task that it opens and appends to.
pub(crate) struct Lane {
    /// Host and port.
    pub(crate) address: String,
    /// The task.
    pub(crate) scope: Scope,
}

/// What clients that each append so many records a call get done. They share one thread, so that they take
/// no more of the cores than they must.
///
/// # Errors
/// What a server answered.
pub(crate) fn load(
    lanes: Vec<Lane>,
    token: &str,
    texts: &Arc<Texts>,
    records: usize,
    window: Window,
) -> Result<Measured, Error> {
    let gauge = Arc::new(Gauge::new(lanes.len()));
    let driver = {
        let (gauge, texts) = (Arc::clone(&gauge), Arc::clone(texts));
        let token = token.to_owned();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            let clients = lanes.iter().enumerate().map(async |(number, lane)| {
                if let Err(error) = call_on(&gauge, number, lane, &token, &texts, records).await {
                    gauge.fail(error);
                }
            });
            runtime.block_on(join_all(clients));
        })
    };
    let measured = gauge.measure(window);
    // A panic of the driver shows in the measurement: nothing was acknowledged then.
    let _ = driver.join();
    measured
}

async fn call_on(
    gauge: &Gauge,
    number: usize,
    lane: &Lane,
    token: &str,
    texts: &Texts,
    records: usize,
) -> Result<(), Error> {
    let Lane { address, scope } = lane;
    let mut connection = Connection::open(address).await?;
    let body =
        format!(r#"{{"scope":"{scope}","title":"Measure","description":"Append records."}}"#);
    connection
        .call(&mut Request::post("/v1/tasks", address, token, &body))
        .await?;
    let calls = if records == 1 {
        CALLS_SINGLE
    } else {
        CALLS_MANY
    };
    let mut requests: Vec<Request> = (0..calls)
        .map(|call| {
            let first = (number * calls + call) * records;
            let body = append(scope.as_str(), texts, first, records);
            Request::post("/v1/logs", address, token, &body)
        })
        .collect();
    let mut next = 0;
    while gauge.is_on() {
        let sent = Instant::now();
        connection.call(&mut requests[next % calls]).await?;
        gauge.acknowledged(number, sent, records as u64);
        next += 1;
    }
    Ok(())
}

/// The body of an appending call; the load's texts need no escapes in JSON.
pub(crate) fn append(scope: &str, texts: &Texts, first: usize, records: usize) -> String {
    let mut body = String::with_capacity(records * (RECORD_BYTES + 40) + scope.len() + 40);
    body.push_str(r#"{"scope":""#);
    body.push_str(scope);
    body.push_str(r#"","records":["#);
    for number in first..first + records {
        if number > first {
            body.push(',');
        }
        body.push_str(r#"{"level":"info","content":""#);
        body.push_str(texts.get(number));
        body.push_str(r#""}"#);
    }
    body.push_str("]}");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_json_with_that_many_records_of_the_stated_size() {
        let body = append(task(3).as_str(), &Texts::new(), 7, 5);
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let records = body["records"].as_array().unwrap();
        assert_eq!(records.len(), 5);
        assert!(
            records
                .iter()
                .all(|record| record["content"].as_str().unwrap().len() == RECORD_BYTES)
        );
    }
}
