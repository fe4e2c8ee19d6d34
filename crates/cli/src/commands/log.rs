//! `log` and `snapshot`

mod bundled;

use std::io::Read;

use serde::Serialize;
use serde_json::value::to_raw_value;
use sillok_core::id::RecordId;
use sillok_core::scope::Scope;
use sillok_core::staging::Trigger;
use sillok_server::api::{
    AppendLogs, AppendSnapshot, Appended, Bound, ExcerptQuery, ListQuery, LogRecord, RecordSort,
    RecordView,
};

use crate::args::{LogAdd, LogCommand, LogList, SnapshotCommand};
use crate::failure::Failure;
use crate::here::{self, Here};
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

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
        LogCommand::Import(import) => bundled::import(session, &import).await,
    }
}

/// Carries out `snapshot`.
///
/// # Errors
/// [`Failure`]
pub async fn snapshot(session: &Session, command: SnapshotCommand) -> Result<(), Failure> {
    let SnapshotCommand::Add(add) = command;
    let content = text_or_stdin(add.content)?;
    let bound = look().bound(&content);
    let body = AppendSnapshot {
        scope: add.scope.to_string(),
        content,
        trigger: if add.error {
            Trigger::Error
        } else {
            Trigger::Manual
        },
        metadata: None,
        time: None,
        bound: bound.clone(),
    };
    let appended = session.client.append_snapshot(&body).await?;
    show_appended(session, &add.scope, &Written { appended, bound })
}

/// The work tree that the command is given in.
fn look() -> Here {
    Here::look(".".as_ref())
}

/// What was written, and where it was said.
#[derive(Debug, Serialize)]
struct Written {
    #[serde(flatten)]
    appended: Appended,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
}

async fn append(session: &Session, add: LogAdd) -> Result<(), Failure> {
    let content = text_or_stdin(add.content)?;
    let metadata = add.metadata.as_ref().map(ToString::to_string);
    // A tool's arguments name files as its output does.
    let said = format!("{content}\n{}", metadata.unwrap_or_default());
    let bound = look().bound(&said);
    let record = LogRecord {
        level: add.level,
        content,
        metadata: add
            .metadata
            .map(|value| to_raw_value(&value).expect("it was parsed from JSON")),
        time: None,
        bound: bound.clone(),
    };
    let body = AppendLogs {
        scope: add.scope.to_string(),
        records: vec![record],
    };
    let appended = session.client.append_logs(&body).await?;
    show_appended(session, &add.scope, &Written { appended, bound })
}

fn show_appended(session: &Session, scope: &Scope, written: &Written) -> Result<(), Failure> {
    session.output.show(written, |style| {
        let id = RecordId {
            scope: scope.clone(),
            seq: written.appended.first,
        };
        let masked = match written.appended.masked {
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
    if let Some(bound) = &record.bound {
        text += &format!("\n{}", style.dim(&here::describe(bound).join("\n")));
    }
    if record.metadata.get() != "{}" {
        text += &format!("\n{}", style.dim(record.metadata.get()));
    }
    text + "\n\n" + &harmless(&record.content)
}
