//! An agent's journal: every step of its work, over HTTP, as it happens.
//!
//! Owns the form of a step: what was thought, what was done, what came of it. It must not know
//! what the work is.

use indicatif::ProgressBar;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sillok_core::scope::Scope;
use sillok_core::staging::LogLevel;
use sillok_server::api::{AppendLogs, LogRecord, OpenTask};

use crate::client::Client;
use crate::execution::Execution;
use crate::failure::Failure;

/// One task's log, and how much of it was acknowledged.
#[derive(Debug)]
pub struct Journal {
    client: Client,
    task: Scope,
    progress: ProgressBar,
    step: u64,
    acked: u64,
}

impl Journal {
    /// Opens the task.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn open(
        client: Client,
        task: Scope,
        (title, description): (&str, &str),
        progress: ProgressBar,
    ) -> Result<Self, Failure> {
        let open = OpenTask {
            scope: task.to_string(),
            title: title.to_owned(),
            description: description.to_owned(),
        };
        client.open_task(&open).await?;
        Ok(Self {
            client,
            task,
            progress,
            step: 0,
            acked: 0,
        })
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &Scope {
        &self.task
    }

    /// How many records were acknowledged.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Counts a record that somebody else appended to the task.
    pub fn count(&mut self, records: u64) {
        self.acked += records;
        self.progress.inc(records);
    }

    /// Logs a step: a thought, the command that came of it, and what the command gave.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn step(
        &mut self,
        thought: &str,
        command: &str,
        (level, output): (LogLevel, &str),
    ) -> Result<(), Failure> {
        self.step += 1;
        let tool = command.split_whitespace().next().unwrap_or("sh");
        let mut records = vec![
            record(LogLevel::Thought, thought, &json!({ "step": self.step })),
            record(
                LogLevel::Tool,
                command,
                &json!({ "step": self.step, "tool": tool }),
            ),
        ];
        if !output.trim().is_empty() {
            records.push(record(level, output, &json!({ "step": self.step })));
        }
        self.append(records).await
    }

    /// Logs a step whose command was run.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn ran(&mut self, thought: &str, ran: &Execution) -> Result<(), Failure> {
        let level = if ran.passed {
            LogLevel::Info
        } else {
            LogLevel::Error
        };
        self.step(thought, &ran.command, (level, &ran.output)).await
    }

    async fn append(&mut self, records: Vec<LogRecord>) -> Result<(), Failure> {
        let body = AppendLogs {
            scope: self.task.to_string(),
            records,
        };
        let appended = self.client.append_logs(&body).await?;
        self.count(u64::from(appended.count));
        Ok(())
    }
}

fn record(level: LogLevel, content: &str, metadata: &Value) -> LogRecord {
    LogRecord {
        level,
        content: content.trim_end().to_owned(),
        metadata: Some(to_raw_value(metadata).expect("plain data is JSON")),
        time: None,
        bound: None,
    }
}
