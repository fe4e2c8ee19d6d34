//! Bringing a recorded run into the memory: a task, and its steps as records.
//!
//! Owns the task's name and the batches. It must not know the format of recorded runs.

use serde::Serialize;
use serde_json::value::to_raw_value;
use sillok_core::limits::SEGMENT_CHARS_MAX;
use sillok_core::scope::Scope;
use sillok_server::api::{AppendLogs, LogRecord, OpenTask};

use crate::client::Client;
use crate::failure::Failure;
use crate::trajectory::{Line, Run};

/// Records of one call.
const BATCH_RECORDS_MAX: usize = 100;
/// Bytes of content of one call of more than one record.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A run that was brought in.
#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// Its task.
    pub task: Scope,
    /// The task's title.
    pub title: String,
    /// How many steps it had.
    pub steps: usize,
    /// How many records were acknowledged.
    pub records: u64,
    /// How many secrets were masked in them.
    pub masked: u64,
}

/// Opens the task and appends every record. `progress` is told of each call's records.
///
/// # Errors
/// [`Failure`] of the server; what was acknowledged before it stays.
pub async fn import(
    client: &Client,
    task: Scope,
    run: &Run,
    mut progress: impl FnMut(u64),
) -> Result<Imported, Failure> {
    let open = OpenTask {
        scope: task.to_string(),
        title: run.title.clone(),
        description: run.description.clone(),
    };
    client.open_task(&open).await?;
    let mut imported = Imported {
        task,
        title: run.title.clone(),
        steps: run.steps,
        records: 0,
        masked: 0,
    };
    for batch in batches(&run.records) {
        let records = batch.iter().map(log_record).collect();
        let appended = client
            .append_logs(&AppendLogs {
                scope: imported.task.to_string(),
                records,
            })
            .await?;
        imported.records += u64::from(appended.count);
        imported.masked += u64::from(appended.masked);
        progress(u64::from(appended.count));
    }
    Ok(imported)
}

fn log_record(line: &Line) -> LogRecord {
    LogRecord {
        level: line.level,
        content: line.content.clone(),
        metadata: Some(to_raw_value(&line.metadata).expect("plain data is JSON")),
        time: None,
    }
}

/// Cuts records into calls, by number and by bytes.
fn batches(records: &[Line]) -> Vec<&[Line]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, record) in records.iter().enumerate() {
        let full =
            at - start == BATCH_RECORDS_MAX || bytes + record.content.len() > BATCH_BYTES_MAX;
        if full && at > start {
            batches.push(&records[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += record.content.len();
    }
    if start < records.len() {
        batches.push(&records[start..]);
    }
    batches
}

/// A name as it may stand in a scope path.
#[must_use]
pub fn segment(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    };
    let segment: String = name.chars().map(plain).take(SEGMENT_CHARS_MAX).collect();
    match segment.as_str() {
        "" | "." | ".." => "run".to_owned(),
        _ => segment,
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::staging::LogLevel;

    use super::*;

    fn line(bytes: usize) -> Line {
        Line {
            level: LogLevel::Info,
            content: "x".repeat(bytes),
            metadata: serde_json::json!({}),
        }
    }

    #[test]
    fn batches_keep_order_and_limits() {
        let records: Vec<Line> = (0..250).map(|_| line(1)).collect();
        let sizes: Vec<usize> = batches(&records).iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes, [100, 100, 50]);
        let large = [
            line(10),
            line(BATCH_BYTES_MAX + 1),
            line(BATCH_BYTES_MAX),
            line(1),
        ];
        let sizes: Vec<usize> = batches(&large).iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes, [1, 1, 1, 1]);
        assert!(batches(&[]).is_empty());
    }

    #[test]
    fn any_name_becomes_a_segment() {
        for name in ["a run.traj", "", "..", "한글", &"x".repeat(400), "ok-1_2.3"] {
            let scope = Scope::parse("org/a").unwrap().child(&segment(name));
            assert!(scope.is_ok(), "{name}");
        }
        assert_eq!(segment("a run"), "a-run");
    }
}
