//! Refusals of the API as a model reads them: the code, what was wrong, and what to do next.
//!
//! Owns their text, and the part for programs. It must not know why anything is refused.

use core::ops::Deref;

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject, MetaObject};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::CommandId;

use crate::api::{Answer, Outage};
use crate::data::one_line;
use crate::limits::REFUSAL_BYTES_MAX;

/// Under which name a result carries a refusal for programs.
pub(crate) const PROBLEM: &str = "sillok.dev/problem";

/// Why a call was not carried out. Small to move, as results are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Refusal(Box<Problem>);

/// What the API says of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(crate) code: ErrorCode,
    detail: String,
    advice: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command_id: Option<String>,
    /// Which tool, or which other argument, gets further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Deref for Refusal {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.0
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let details = *error.details.unwrap_or_default();
        let limit = details.limit;
        Self(Box::new(Problem {
            code: error.code,
            detail: one_line(&error.message, REFUSAL_BYTES_MAX),
            advice: error.code.advice().to_owned(),
            rule: details.rule,
            current: None,
            retry_after_ms: details.retry_after_ms,
            limit: limit.map(|(name, value)| json!({ "name": name, "value": value })),
            command_id: None,
            next: None,
        }))
    }
}

impl Refusal {
    /// A refusal of arguments, before the API was asked.
    pub(crate) fn of_arguments(code: ErrorCode, why: impl Into<String>) -> Self {
        Self::from(Error::new(code, why))
    }

    /// What an answer that is no success says.
    pub(crate) fn of_answer(answer: &Answer, command: Option<CommandId>) -> Self {
        match Self::deserialize(&answer.body) {
            Ok(Self(mut problem)) => {
                // It may hold what was asked for, whatever that is.
                problem.detail = one_line(&problem.detail, REFUSAL_BYTES_MAX);
                Self(problem)
            }
            Err(_) => {
                let what = format!("status {} without a reason", answer.status);
                Self::of_outage(&Outage::Foreign(what), command)
            }
        }
    }

    /// What to make of an answer that did not come. A command may have been carried out: its id finds that out.
    pub(crate) fn of_outage(outage: &Outage, command: Option<CommandId>) -> Self {
        let code = match (command, outage) {
            (None, _) | (_, Outage::Unsent(_)) => ErrorCode::Unavailable,
            (Some(_), _) => ErrorCode::OutcomeUnknown,
        };
        let mut refusal = Self::from(Error::new(code, outage.to_string()));
        refusal.0.command_id = command.map(|id| id.to_string());
        refusal
    }

    /// The same, with a word on what gets further.
    pub(crate) fn then(mut self, next: &str) -> Self {
        self.0.next = Some(next.to_owned());
        self
    }

    /// The same, of a call that wrote before it was refused: its command is named, so that it is sent again and not anew.
    pub(crate) fn under(mut self, command: CommandId) -> Self {
        self.0.command_id.get_or_insert_with(|| command.to_string());
        self
    }

    /// What a model reads. Words of the API may hold what somebody wrote: they are one line, and short.
    pub(crate) fn text(&self) -> String {
        let said = |text: &str| one_line(text, REFUSAL_BYTES_MAX);
        let mut lines = vec![format!("{}: {}", self.code, said(&self.detail))];
        lines.extend(
            self.rule
                .as_deref()
                .map(|rule| format!("Rule: {}", said(rule))),
        );
        for (name, value) in [("Current", &self.current), ("Limit", &self.limit)] {
            let line = |value: &Value| format!("{name}: {}", said(&value.to_string()));
            lines.extend(value.as_ref().map(line));
        }
        let next = self.next.as_deref().map(|next| format!(" {next}"));
        let next = next.unwrap_or_default();
        lines.push(format!("What to do: {}{next}", said(&self.advice)));
        lines.extend(
            self.retry_after_ms
                .map(|ms| format!("Not before: {ms} ms from now")),
        );
        if let Some(id) = &self.command_id {
            let again = "name it as command_id when you send the very same call again";
            lines.push(format!("Command id: {} ({again})", said(id)));
        }
        lines.join("\n")
    }

    /// The result of a tool that was refused.
    pub(crate) fn into_result(self) -> CallToolResult {
        let problem = serde_json::to_value(&self).expect("plain data is JSON");
        let meta = JsonObject::from_iter([(PROBLEM.to_owned(), problem)]);
        let text = ContentBlock::text(self.text());
        CallToolResult::error(vec![text]).with_meta(Some(MetaObject(meta)))
    }

    /// The error of a request that is no call of a tool.
    pub(crate) fn into_error(self, uri: &str) -> ErrorData {
        let data = Some(json!({ "uri": uri, "problem": self }));
        let text = self.text();
        match self.code {
            // What a token does not cover is not there for it.
            ErrorCode::NotFound | ErrorCode::Forbidden => ErrorData::resource_not_found(text, data),
            code if code.is_passing() || code == ErrorCode::Internal => {
                ErrorData::internal_error(text, data)
            }
            _ => ErrorData::invalid_params(text, data),
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::time::Timestamp;

    use super::*;

    #[test]
    fn every_code_says_what_to_do_and_is_there_for_programs() {
        for code in ErrorCode::ALL {
            let refusal = Refusal::from(Error::new(*code, "why")).then("Call begin_task.");
            let text = refusal.text();
            assert!(text.starts_with(&format!("{code}: why\n")), "{text}");
            assert!(
                text.contains(code.advice()) && text.ends_with("Call begin_task."),
                "{text}"
            );
            let result = refusal.into_result();
            assert_eq!(result.is_error, Some(true));
            // Whoever checks results against a schema finds nothing that does not fit it.
            assert_eq!(result.structured_content, None);
            assert_eq!(result.meta.unwrap().0[PROBLEM]["code"], code.as_str());
        }
    }

    #[test]
    fn a_refusal_of_the_api_keeps_all_its_parts() {
        let body = json!({
            "type": "https://sillok.dev/errors/conflict", "title": "conflict", "status": 409,
            "detail": "stale\nsecond line \u{1b}[31m", "code": "conflict", "advice": "Read it.",
            "current": { "version": 3 }, "retry_after_ms": 250, "rule": "control/x",
            "limit": { "name": "n", "value": 1 }, "command_id": "c",
        });
        let refusal = Refusal::of_answer(&Answer { status: 409, body }, None);
        let text = refusal.text();
        assert_eq!(
            text,
            "conflict: stale second line\nRule: control/x\nCurrent: {\"version\":3}\nLimit: {\"name\":\"n\",\"value\":1}\n\
             What to do: Read it.\nNot before: 250 ms from now\n\
             Command id: c (name it as command_id when you send the very same call again)"
        );
    }

    #[test]
    fn a_command_without_an_answer_may_have_been_carried_out_and_a_question_was_not() {
        let id = CommandId::from_parts(Timestamp::from_ms(7), [1; 10]);
        let unknown = Refusal::of_outage(&Outage::Late, Some(id));
        assert_eq!(unknown.code, ErrorCode::OutcomeUnknown);
        assert!(unknown.text().contains(&id.to_string()));
        assert_eq!(
            Refusal::of_outage(&Outage::Late, None).code,
            ErrorCode::Unavailable
        );
        let unsent = Outage::Unsent("none runs".to_owned());
        assert_eq!(
            Refusal::of_outage(&unsent, Some(id)).code,
            ErrorCode::Unavailable
        );
        let body = json!("a proxy's page");
        let foreign = Refusal::of_answer(&Answer { status: 502, body }, Some(id));
        assert_eq!(foreign.code, ErrorCode::OutcomeUnknown);
    }

    #[test]
    fn what_is_hidden_is_told_as_what_is_not_there() {
        let hidden = Refusal::from(Error::forbidden("token/scope", "no"));
        let gone = Refusal::from(Error::new(ErrorCode::NotFound, "no"));
        let codes = [hidden, gone].map(|refusal| refusal.into_error("sillok://x").code);
        assert_eq!(codes, [rmcp::model::ErrorCode::RESOURCE_NOT_FOUND; 2]);
    }
}
