//! `log` and `snapshot`

use std::io::{BufRead, Read};

use serde_json::json;
use serde_json::value::to_raw_value;
use sillok_core::id::RecordId;
use sillok_core::scope::Scope;
use sillok_core::staging::Trigger;
use sillok_server::api::{
    AppendLogs, AppendSnapshot, Appended, ExcerptQuery, ListQuery, LogRecord, RecordSort,
    RecordView,
};

use crate::args::{LogAdd, LogCommand, LogImport, LogList, SnapshotCommand};
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line, table, time};
use crate::progress;
use crate::session::Session;

/// Lines of standard input in one call.
const IMPORT_RECORDS_MAX: usize = 100;
/// Bytes of standard input in one call.
const IMPORT_BYTES_MAX: usize = 1 << 20;
/// Characters of a text in a listing.
const TEXT_CHARS_MAX: usize = 90;

/// Carries out `log`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: LogCommand) -> Result<(), Failure> {
    match command {
        LogCommand::Add(add) => append(session, add).await,
        LogCommand::Show {
            record,
            bytes: Some((from, to)),
        } => {
            let query = ExcerptQuery {
                id: record.to_string(),
                from,
                to,
            };
            let excerpt = session.client.excerpt(&query).await?;
            session.output.show(&excerpt, |_| harmless(&excerpt.text))
        }
        LogCommand::Show {
            record,
            bytes: None,
        } => {
            let record = session.client.record(&record).await?;
            session
                .output
                .show(&record, |style| describe(style, &record))
        }
        LogCommand::List(list_of) => list(session, &list_of).await,
        LogCommand::Import(import_of) => import(session, &import_of).await,
    }
}

/// Carries out `snapshot`.
///
/// # Errors
/// [`Failure`]
pub async fn snapshot(session: &Session, command: SnapshotCommand) -> Result<(), Failure> {
    let SnapshotCommand::Add(add) = command;
    let body = AppendSnapshot {
        scope: add.scope.to_string(),
        content: text_or_stdin(add.content)?,
        trigger: if add.error {
            Trigger::Error
        } else {
            Trigger::Manual
        },
        metadata: None,
        time: None,
    };
    let appended = session.client.append_snapshot(&body).await?;
    show_appended(session, &add.scope, &appended)
}

async fn append(session: &Session, add: LogAdd) -> Result<(), Failure> {
    let record = LogRecord {
        level: add.level,
        content: text_or_stdin(add.content)?,
        metadata: add
            .metadata
            .map(|value| to_raw_value(&value).expect("it was parsed from JSON")),
        time: None,
    };
    let body = AppendLogs {
        scope: add.scope.to_string(),
        records: vec![record],
    };
    let appended = session.client.append_logs(&body).await?;
    show_appended(session, &add.scope, &appended)
}

fn show_appended(session: &Session, scope: &Scope, appended: &Appended) -> Result<(), Failure> {
    session.output.show(appended, |style| {
        let id = RecordId {
            scope: scope.clone(),
            seq: appended.first,
        };
        let masked = match appended.masked {
            0 => String::new(),
            count => format!(" ({count} secrets masked)"),
        };
        format!("{}{masked}", style.name(&id.to_string()))
    })
}

/// A text from the command line, or all of standard input when it is `-`.
///
/// # Errors
/// [`Failure::Io`] when standard input is no UTF-8 text.
pub fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut read = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut read)
        .map_err(Failure::io("standard input is no text"))?;
    Ok(read)
}

async fn import(session: &Session, import: &LogImport) -> Result<(), Failure> {
    let spinner = progress::spinner("lines acknowledged");
    let (mut records, mut bytes) = (Vec::new(), 0);
    let (mut acked, mut masked) = (0u64, 0u64);
    let mut lines = std::io::stdin().lock().lines();
    loop {
        let line = lines
            .next()
            .transpose()
            .map_err(Failure::io("standard input is no text"))?;
        let full = records.len() == IMPORT_RECORDS_MAX || bytes > IMPORT_BYTES_MAX;
        if (full || line.is_none()) && !records.is_empty() {
            let body = AppendLogs {
                scope: import.scope.to_string(),
                records: std::mem::take(&mut records),
            };
            let appended = session.client.append_logs(&body).await?;
            acked += u64::from(appended.count);
            masked += u64::from(appended.masked);
            bytes = 0;
            spinner.set_position(acked);
        }
        let Some(line) = line else { break };
        bytes += line.len();
        records.push(LogRecord {
            level: import.level,
            content: line,
            metadata: None,
            time: None,
        });
    }
    spinner.finish_and_clear();
    let done = json!({ "scope": import.scope, "records": acked, "masked": masked });
    session.output.show(&done, |style| {
        format!(
            "{acked} records in {}, {masked} secrets masked",
            style.name(import.scope.as_str())
        )
    })
}

async fn list(session: &Session, list: &LogList) -> Result<(), Failure> {
    let scope = session.scope(&list.within)?;
    let query = ListQuery {
        scope: scope.to_string(),
        after: (list.after > 0).then(|| list.after.to_string()),
        limit: Some(list.paging.limit),
    };
    let page = session.client.records(&query).await?;
    session.output.show(&page, |style| {
        let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
        let mut text = table(style, &["SEQ", "TIME", "LEVEL", "BY", "TEXT"], &rows);
        if let (Some(_), Some(last)) = (&page.next, page.items.last()) {
            text += &style.dim(&format!("\n… and more: --after {}", last.seq));
        }
        text
    })
}

fn row(record: &RecordView) -> Vec<String> {
    vec![
        record.seq.to_string(),
        time(record.time),
        sort(record),
        format!("{}:{}", record.author.kind, record.author.id),
        one_line(&record.content, TEXT_CHARS_MAX),
    ]
}

fn sort(record: &RecordView) -> String {
    match (record.sort, record.level, &record.event_type) {
        (RecordSort::Log, Some(level), _) => level.to_string(),
        (RecordSort::MemoryEvent, _, Some(event_type)) => one_line(event_type, 40),
        (RecordSort::Log, None, _) => "log".to_owned(),
        (RecordSort::Snapshot, ..) => "snapshot".to_owned(),
        (RecordSort::MemoryEvent, _, None) => "event".to_owned(),
    }
}

fn describe(style: Style, record: &RecordView) -> String {
    let mut text = format!(
        "{}\n{} by {}:{} at {}",
        style.name(&record.id.to_string()),
        sort(record),
        record.author.kind,
        record.author.id,
        time(record.time),
    );
    if record.metadata.get() != "{}" {
        text += &format!("\n{}", style.dim(record.metadata.get()));
    }
    text + "\n\n" + &harmless(&record.content)
}
