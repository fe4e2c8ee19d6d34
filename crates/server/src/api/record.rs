//! Staged records on the wire.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sillok_actors::reads::StagedRecord;
use sillok_core::command::Command;
use sillok_core::entry::Metadata;
use sillok_core::error::Error;
use sillok_core::id::{CommandId, RecordId, Seq};
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, NewRecord, RecordKind, Trigger};
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::{Actor, schema};

/// Appends log records to a task, in order, all or none.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendLogs {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// The records, 1 to 1000.
    #[schema(min_items = 1, max_items = 1000)]
    pub records: Vec<LogRecord>,
}

/// A log record as its writer hands it over.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogRecord {
    /// How loud it is.
    #[schema(value_type = schema::LogLevel)]
    pub level: LogLevel,
    /// Its text.
    pub content: String,
    /// Tool name, arguments, duration and the like: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// When it happened, by the writer's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub time: Option<Timestamp>,
}

/// Appends a terminal snapshot to a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendSnapshot {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// What the terminal showed.
    pub content: String,
    /// Why it was taken.
    #[schema(value_type = schema::Trigger)]
    pub trigger: Trigger,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// When it was taken, by the writer's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub time: Option<Timestamp>,
}

/// Appends a memory event to a scope of any level.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendMemoryEvent {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The caller's name for the type of event.
    #[schema(value_type = schema::Line)]
    pub event_type: String,
    /// What happened: any JSON.
    #[schema(value_type = Value)]
    pub payload: Box<RawValue>,
    /// When it happened, by the writer's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub time: Option<Timestamp>,
}

impl AppendLogs {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`, or what is wrong with the metadata.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let records = self
            .records
            .into_iter()
            .map(LogRecord::into_record)
            .collect::<Result<_, _>>()?;
        Ok((scope, Command::Append { records }))
    }
}

impl LogRecord {
    fn into_record(self) -> Result<NewRecord, Error> {
        Ok(NewRecord {
            kind: RecordKind::Log { level: self.level },
            content: self.content,
            metadata: metadata(self.metadata.as_deref())?,
            time: self.time,
        })
    }
}

impl AppendSnapshot {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`, or what is wrong with the metadata.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let record = NewRecord {
            kind: RecordKind::Snapshot {
                trigger: self.trigger,
            },
            content: self.content,
            metadata: metadata(self.metadata.as_deref())?,
            time: self.time,
        };
        Ok((
            Scope::parse(&self.scope)?,
            Command::Append {
                records: vec![record],
            },
        ))
    }
}

impl AppendMemoryEvent {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let record = NewRecord {
            kind: RecordKind::MemoryEvent {
                event_type: self.event_type,
            },
            content: self.payload.get().to_owned(),
            metadata: Metadata::default(),
            time: self.time,
        };
        Ok((
            Scope::parse(&self.scope)?,
            Command::Append {
                records: vec![record],
            },
        ))
    }
}

/// Metadata of the rules from JSON that the parser has already checked.
pub(super) fn metadata(raw: Option<&RawValue>) -> Result<Metadata, Error> {
    raw.map_or_else(|| Ok(Metadata::default()), |raw| Metadata::parse(raw.get()))
}

/// Stored metadata as JSON again. Masking a secret replaces text inside a string, but the result is
/// never trusted to be JSON: what is not comes out as a string.
pub(super) fn raw_metadata(metadata: &Metadata) -> Box<RawValue> {
    raw_json(metadata.as_str())
}

pub(super) fn raw_json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned())
        .or_else(|_| serde_json::value::to_raw_value(text))
        .expect("any text is a JSON string")
}

/// Records were staged.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Appended {
    /// The first record's position; the others follow it one by one.
    #[schema(value_type = schema::Seq)]
    pub first: Seq,
    /// How many.
    pub count: u32,
    /// How many secrets were masked.
    pub masked: u32,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When they were staged.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Names one record.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecordQuery {
    /// Where it stands: SCOPE#SEQ.
    #[param(value_type = schema::RecordId)]
    pub id: String,
}

/// One stretch of a text.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExcerptQuery {
    /// Where the text stands: SCOPE#SEQ.
    #[param(value_type = schema::RecordId)]
    pub id: String,
    /// The first byte of the stretch, from 0.
    pub from: u32,
    /// The byte behind its last one.
    pub to: u32,
}

/// What a stretch of a text says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcerptView {
    /// Where the text stands.
    #[schema(value_type = schema::RecordId)]
    pub id: RecordId,
    /// The first byte of the stretch, from 0.
    pub from: u32,
    /// The byte behind its last one.
    pub to: u32,
    /// It, with secrets masked.
    pub text: String,
}

/// What sort of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordSort {
    /// A line of a task's log.
    Log,
    /// What a terminal showed.
    Snapshot,
    /// Something that a caller noted.
    MemoryEvent,
}

/// A staged record.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordView {
    /// Where it stands.
    #[schema(value_type = schema::RecordId)]
    pub id: RecordId,
    /// Its position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// What sort of record.
    pub sort: RecordSort,
    /// How loud it is, on a log record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::LogLevel>)]
    pub level: Option<LogLevel>,
    /// Why it was taken, on a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Trigger>)]
    pub trigger: Option<Trigger>,
    /// The type, on a memory event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// Its text, with secrets masked. On a memory event: the payload's JSON.
    pub content: String,
    /// Its metadata, with secrets masked.
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    /// When it happened, by the writer's clock.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// When it was staged.
    #[schema(value_type = schema::Timestamp)]
    pub recorded_at: Timestamp,
    /// Who wrote it.
    pub author: Actor,
    /// The command that it came with.
    #[schema(value_type = schema::CommandId)]
    pub command: CommandId,
    /// How many secrets were masked in it.
    pub masked: u32,
}

impl From<StagedRecord> for RecordView {
    fn from(record: StagedRecord) -> Self {
        let (sort, level, trigger, event_type) = match record.kind {
            RecordKind::Log { level } => (RecordSort::Log, Some(level), None, None),
            RecordKind::Snapshot { trigger } => (RecordSort::Snapshot, None, Some(trigger), None),
            RecordKind::MemoryEvent { event_type } => {
                (RecordSort::MemoryEvent, None, None, Some(event_type))
            }
        };
        Self {
            seq: record.id.seq,
            id: record.id,
            sort,
            level,
            trigger,
            event_type,
            content: record.content,
            metadata: raw_metadata(&record.metadata),
            time: record.time,
            recorded_at: record.staged_at,
            author: record.actor.into(),
            command: record.command,
            masked: record.masked,
        }
    }
}
