//! Bringing a recorded run into the memory: a task, and its steps as records.
//!
//! Owns the task's name, the batches and their command ids: an import that was cut off and is run
//! again is a retry of the same commands. It must not know the format of recorded runs.

use serde::Serialize;
use serde_json::value::to_raw_value;
use sillok_core::ErrorCode;
use sillok_core::event::EventKind;
use sillok_core::id::CommandId;
use sillok_core::limits::SEGMENT_CHARS_MAX;
use sillok_core::scope::Scope;
use sillok_server::api::{AppendLogs, EventsQuery, LogRecord, OpenTask};

use crate::client::Client;
use crate::failure::{EXIT_RETRY, Failure};
use crate::trajectory::{Line, Run};

/// Records of one call.
const BATCH_RECORDS_MAX: usize = 100;
/// Bytes of content of one call of more than one record.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Bytes of a run's digest in the name of its task.
const DIGEST_BYTES: usize = 6;

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

/// Opens the task and appends every record; what an earlier import of the same run by the same
/// principal has brought in already is not brought in again. `progress` is told of each call's
/// records.
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
    let opening = open_or_resume(client, &task, &open).await?;
    let mut imported = Imported {
        task,
        title: run.title.clone(),
        steps: run.steps,
        records: 0,
        masked: 0,
    };
    for (number, batch) in (0..).zip(batches(&run.records)) {
        let body = AppendLogs {
            scope: imported.task.to_string(),
            records: batch.iter().map(log_record).collect(),
        };
        let command = command_of(opening, run, number)?;
        let appended = client.append_logs_as(command, &body).await?;
        imported.records += u64::from(appended.count);
        imported.masked += u64::from(appended.masked);
        progress(u64::from(appended.count));
    }
    Ok(imported)
}

/// Opens the task: the command that did it, now or in an earlier import.
async fn open_or_resume(
    client: &Client,
    task: &Scope,
    open: &OpenTask,
) -> Result<CommandId, Failure> {
    let refused = match client.open_task(open).await {
        Ok(opened) => return Ok(opened.command_id),
        Err(failure) if failure.code() == Some(ErrorCode::Conflict) => failure,
        Err(failure) => return Err(failure),
    };
    let first = EventsQuery {
        scope: task.to_string(),
        limit: Some(1),
        ..EventsQuery::default()
    };
    let first = client.events(&first).await?.items.into_iter().next();
    let Some(opening) = first.filter(|event| event.kind == EventKind::TaskOpened) else {
        return Err(refused);
    };
    // Only to who opened it, and with these words, is the very command answered again.
    match client.open_task_as(opening.command, open).await {
        Ok(_) => Ok(opening.command),
        Err(failure) if failure.exit_status() == EXIT_RETRY => Err(failure),
        Err(_) => Err(refused),
    }
}

/// The command of a batch: every import of the run into the task that `opening` opened names it alike.
fn command_of(opening: CommandId, run: &Run, number: u64) -> Result<CommandId, Failure> {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 import of a recorded run");
    hasher.update(opening.as_bytes());
    hasher.update(&run.digest);
    hasher.update(&number.to_le_bytes());
    let mut random = [0; 10];
    hasher.finalize_xof().fill(&mut random);
    Ok(CommandId::from_parts(opening.time()?, random))
}

fn log_record(line: &Line) -> LogRecord {
    LogRecord {
        level: line.level,
        content: line.content.clone(),
        metadata: Some(to_raw_value(&line.metadata).expect("plain data is JSON")),
        time: None,
        // It was said where the run took place.
        bound: None,
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

/// The name of a run's task: its own, and what tells it from another run of that name.
#[must_use]
pub fn task_name(run: &Run) -> String {
    let digest: String = run.digest[..DIGEST_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name: String = segment(&run.name)
        .chars()
        .take(SEGMENT_CHARS_MAX - digest.len() - 1)
        .collect();
    format!("{name}-{digest}")
}

/// A name as it may stand in a scope path.
fn segment(name: &str) -> String {
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
            metadata: crate::trajectory::Place::default(),
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

    fn run(name: &str, digest: [u8; 32]) -> Run {
        Run {
            name: name.to_owned(),
            title: String::new(),
            description: String::new(),
            steps: 0,
            records: Vec::new(),
            digest,
        }
    }

    #[test]
    fn a_run_names_its_task_and_its_commands_alike_each_time() {
        let (one, other) = (run("a run", [1; 32]), run("a run", [2; 32]));
        assert_eq!(task_name(&one), "a-run-010101010101");
        assert_ne!(task_name(&one), task_name(&other));
        let long = task_name(&run(&"x".repeat(400), [1; 32]));
        assert!(Scope::parse("org/a").unwrap().child(&long).is_ok());
        let opening = crate::client::new_command_id();
        let command = |run, number| command_of(opening, run, number).unwrap();
        assert_eq!(command(&one, 0), command(&one, 0));
        assert_ne!(command(&one, 0), command(&one, 1));
        assert_ne!(command(&one, 0), command(&other, 0));
        assert_eq!(command(&one, 0).time().unwrap(), opening.time().unwrap());
    }
}
