//! Writing records of one line: what was said, what was called, and what came of it.
//!
//! Owns what each of these becomes, the same for every client. It must not know a format.

use sillok_core::staging::LogLevel;
use sillok_core::time::Timestamp;

use crate::json::{Raw, text};
use crate::limits::{BRANCH_BYTES_MAX, DIRECTORY_BYTES_MAX, ID_BYTES_MAX, TITLE_CHARS_MAX};
use crate::output::{exit_code, shows_error};
use crate::passed::PassedOver;
use crate::record::{Place, Record, clip_bytes, push};
use crate::state::State;

/// What somebody asked for.
pub(crate) const PROMPT: &str = "prompt";
/// What the agent said.
pub(crate) const SAID: &str = "text";
/// What it thought.
pub(crate) const THINKING: &str = "thinking";
/// What was called.
pub(crate) const CALL: &str = "call";
/// What came of it.
pub(crate) const RESULT: &str = "result";
/// What stands for a conversation that was compacted.
pub(crate) const COMPACTION: &str = "compaction";
/// What went wrong with the client itself.
pub(crate) const FAULT: &str = "fault";

/// What an output says of how its call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client says that it went wrong.
    Badly,
    /// The client says that it did not.
    Well,
    /// Only the output tells.
    Unsaid,
}

/// Writes the records of one line.
#[derive(Debug)]
pub(crate) struct Scribe<'a> {
    /// What is remembered from line to line.
    pub(crate) state: &'a mut State,
    /// What is passed over.
    pub(crate) passed: &'a mut PassedOver,
    /// What of the place is of the whole line.
    pub(crate) place: Place,
    /// When it was written.
    pub(crate) time: Option<Timestamp>,
    records: Vec<Record>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(state: &'a mut State, passed: &'a mut PassedOver, place: Place) -> Self {
        Self {
            state,
            passed,
            place,
            time: None,
            records: Vec::new(),
        }
    }

    /// The records, in order.
    pub(crate) fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Notes the session that the file is of, unless it named one before.
    pub(crate) fn session(&mut self, raw: Raw<'_>) {
        if self.state.session.is_none() {
            self.state.session = id(raw);
        }
    }

    /// Notes where it happens, as far as that is said.
    pub(crate) fn happens(&mut self, cwd: Raw<'_>, branch: Raw<'_>) {
        if let Some(cwd) = short(cwd, DIRECTORY_BYTES_MAX) {
            self.state.cwd = Some(cwd);
        }
        if let Some(branch) = short(branch, BRANCH_BYTES_MAX) {
            self.state.branch = Some(branch);
        }
        self.place.cwd.clone_from(&self.state.cwd);
        self.place.branch.clone_from(&self.state.branch);
    }

    /// Something that was said or thought; an empty text is passed over.
    pub(crate) fn say(&mut self, level: LogLevel, kind: &'static str, said: &str) {
        if said.trim().is_empty() {
            self.passed.count("empty text");
            return;
        }
        let place = Place {
            kind: Some(kind),
            ..self.place.clone()
        };
        self.push(level, said.trim(), place);
    }

    /// A call to a tool begins a step.
    pub(crate) fn call(&mut self, tool: &str, call: Option<String>, command: &str) {
        let step = self.state.open(call.as_deref(), tool);
        let place = Place {
            call,
            kind: Some(CALL),
            step: Some(step),
            tool: Some(tool.to_owned()),
            ..self.place.clone()
        };
        self.push(LogLevel::Tool, command.trim(), place);
    }

    /// What came of a call.
    pub(crate) fn result(
        &mut self,
        call: Option<String>,
        output: &str,
        ended: Ended,
        code: Option<i64>,
    ) {
        let opened = call.as_deref().and_then(|call| self.state.close(call));
        let code = code.or_else(|| exit_code(output));
        let output = match code {
            Some(code) if output.trim().is_empty() && code != 0 => format!("exit status {code}"),
            _ if output.trim().is_empty() => {
                self.passed.count("empty output");
                return;
            }
            _ => output.trim_end().to_owned(),
        };
        // A 1 is what searches and comparisons answer with: whoever reads the code beside the command can tell.
        let is_error = match code {
            _ if ended == Ended::Badly => true,
            Some(0) => false,
            Some(1) => shows_error(&output),
            Some(_) => true,
            None => ended == Ended::Unsaid && shows_error(&output),
        };
        let level = if is_error {
            LogLevel::Error
        } else {
            LogLevel::Info
        };
        let place = Place {
            call,
            exit_code: code,
            kind: Some(RESULT),
            step: opened.as_ref().map(|opened| opened.step),
            tool: opened.map(|opened| opened.tool),
            ..self.place.clone()
        };
        self.push(level, &output, place);
    }

    fn push(&mut self, level: LogLevel, content: &str, place: Place) {
        let record = Record {
            level,
            content: content.to_owned(),
            place,
            time: self.time,
            masked: 0,
        };
        push(&mut self.records, record);
    }
}

/// An id that the file gives.
pub(crate) fn id(raw: Raw<'_>) -> Option<String> {
    short(raw, ID_BYTES_MAX)
}

/// A short text that the file gives, as far as there is room for it; none where it is blank.
fn short(raw: Raw<'_>, bytes_max: usize) -> Option<String> {
    let said = text(raw)?;
    let said = clip_bytes(said.trim(), bytes_max);
    (!said.is_empty()).then(|| said.to_owned())
}

/// When something happened, as RFC 3339 says it.
pub(crate) fn time(raw: Raw<'_>) -> Option<Timestamp> {
    let said = text(raw)?;
    if said.len() > TITLE_CHARS_MAX {
        return None;
    }
    let moment: jiff::Timestamp = said.parse().ok()?;
    let ms = u64::try_from(moment.as_millisecond()).ok()?;
    Some(Timestamp::from_ms(ms))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn results(outputs: &[(&str, Ended, Option<i64>)]) -> Vec<(LogLevel, String, Option<i64>)> {
        let (mut state, mut passed) = (State::default(), PassedOver::default());
        let mut scribe = Scribe::new(&mut state, &mut passed, Place::default());
        for (output, ended, code) in outputs {
            scribe.result(None, output, *ended, *code);
        }
        let told = |record: Record| (record.level, record.content, record.place.exit_code);
        scribe.into_records().into_iter().map(told).collect()
    }

    #[test]
    fn an_output_is_an_error_where_the_client_or_its_code_says_so() {
        let found = results(&[
            ("fine\n", Ended::Well, None),
            ("ValueError: shown in a file", Ended::Well, None),
            ("ValueError: raised", Ended::Unsaid, None),
            ("anything", Ended::Badly, None),
            ("no match", Ended::Unsaid, Some(1)),
            ("Exit code: 2\nboom", Ended::Unsaid, None),
            ("", Ended::Unsaid, Some(3)),
            (" ", Ended::Unsaid, Some(0)),
            ("fatal: told on the side", Ended::Unsaid, Some(0)),
        ]);
        let expected = [
            (LogLevel::Info, "fine", None),
            (LogLevel::Info, "ValueError: shown in a file", None),
            (LogLevel::Error, "ValueError: raised", None),
            (LogLevel::Error, "anything", None),
            (LogLevel::Info, "no match", Some(1)),
            (LogLevel::Error, "Exit code: 2\nboom", Some(2)),
            (LogLevel::Error, "exit status 3", Some(3)),
            (LogLevel::Info, "fatal: told on the side", Some(0)),
        ];
        let expected = expected.map(|(level, text, code)| (level, text.to_owned(), code));
        assert_eq!(found, expected);
    }

    #[test]
    fn times_are_read_as_they_are_written_and_others_are_absent() {
        let read = |json: &str| time(Some(serde_json::from_str::<&RawValue>(json).unwrap()));
        let ms = |ms| Some(Timestamp::from_ms(ms));
        assert_eq!(read(r#""1970-01-01T00:00:01.500Z""#), ms(1_500));
        assert_eq!(read(r#""1970-01-01T01:00:00+01:00""#), ms(0));
        for none in [
            r#""1969-12-31T23:59:59Z""#,
            r#""yesterday""#,
            "1700000000",
            "null",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
