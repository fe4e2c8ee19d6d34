//! One call of a tool: its requests to the API, in the name of whoever calls.
//!
//! Owns command ids, and how arguments and answers are read. It must not know what a route is for.

use core::time::Duration;
use std::time::SystemTime;

use rmcp::model::JsonObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sillok_core::error::ErrorCode;
use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

use crate::api::{Answer, Api, Caller, Outage, Request, Sent};
use crate::limits::{DEADLINE, HANDLE_BYTES_MAX};
use crate::refusal::Refusal;

/// The API, and who calls it.
pub(crate) struct Call<'a, A> {
    api: &'a A,
    caller: &'a Caller,
}

impl<'a, A: Api> Call<'a, A> {
    pub(crate) const fn new(api: &'a A, caller: &'a Caller) -> Self {
        Self { api, caller }
    }

    /// Reads by query: all values are handles and cursors. What is not asked for is left out.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &'static str,
        query: Vec<(&'static str, Option<String>)>,
    ) -> Result<T, Refusal> {
        let said = |(name, value): (&'static str, Option<String>)| Some((name, value?));
        let query: Vec<(&'static str, String)> = query.into_iter().filter_map(said).collect();
        if let Some((name, _)) = query
            .iter()
            .find(|(_, value)| value.len() > HANDLE_BYTES_MAX)
        {
            return Err(too_long(name));
        }
        self.send(path, Sent::Query(query), DEADLINE, None).await
    }

    /// Reads by a body.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        path: &'static str,
        body: &impl Serialize,
    ) -> Result<T, Refusal> {
        let sent = Sent::Question(json_of(body));
        self.send(path, sent, DEADLINE, None).await
    }

    /// Writes, under a command id.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        path: &'static str,
        body: &impl Serialize,
        command: CommandId,
    ) -> Result<T, Refusal> {
        let sent = Sent::Command(json_of(body), command);
        self.send(path, sent, DEADLINE, Some(command)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        path: &'static str,
        sent: Sent,
        deadline: Duration,
        command: Option<CommandId>,
    ) -> Result<T, Refusal> {
        let request = Request {
            path,
            sent,
            deadline,
        };
        let answered = self.api.send(self.caller, request).await;
        let answer = answered.map_err(|outage| Refusal::of_outage(&outage, command))?;
        if !(200..300).contains(&answer.status) {
            return Err(Refusal::of_answer(&answer, command));
        }
        let Answer { body, .. } = answer;
        serde_json::from_value(body).map_err(|error| {
            let outage = Outage::Foreign(format!("{path}: {error}"));
            Refusal::of_outage(&outage, command)
        })
    }
}

/// A handle that is longer than any names nothing, and would make an address that nobody takes.
fn too_long(name: &str) -> Refusal {
    let code = match name {
        "scope" => ErrorCode::InvalidScope,
        "id" | "root" => ErrorCode::InvalidId,
        _ => ErrorCode::InvalidArgument,
    };
    let why = format!("the {name} is longer than any: at most {HANDLE_BYTES_MAX} bytes");
    Refusal::of_arguments(code, why)
}

fn json_of(body: &impl Serialize) -> Value {
    serde_json::to_value(body).expect("plain data is JSON")
}

/// The arguments of a tool, as its form says them.
///
/// # Errors
/// `invalid_request` for a field that is missing, unknown or of another type.
pub(crate) fn parsed<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let why = format!("the arguments: {error}");
        Refusal::of_arguments(ErrorCode::InvalidRequest, why)
            .then("The tool's input schema says which there are.")
    })
}

/// The command id that a caller names, or a new one.
///
/// # Errors
/// `invalid_id` where it is none.
pub(crate) fn command(named: Option<&str>) -> Result<CommandId, Refusal> {
    let Some(named) = named else {
        return Ok(new_command());
    };
    let id: CommandId = named.trim().parse().map_err(wrong_id)?;
    id.time().map_err(wrong_id)?;
    Ok(id)
}

fn wrong_id(error: sillok_core::Error) -> Refusal {
    let next = "command_id is a UUID of version 7; leave it out, and the answer names the one that was used.";
    Refusal::from(error).then(next)
}

fn new_command() -> CommandId {
    let mut random = [0; 10];
    getrandom::fill(&mut random).expect("the operating system gives random bytes");
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    CommandId::from_parts(Timestamp::from_ms(ms), random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_id_is_taken_as_it_is_named_or_made_anew() {
        let made = command(None).unwrap();
        assert_ne!(made, command(None).unwrap());
        assert_eq!(command(Some(&format!(" {made} "))).unwrap(), made);
        for wrong in ["", "1", "f47ac10b-58cc-4372-a567-0e02b2c3d479"] {
            let refusal = command(Some(wrong)).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidId, "{wrong}");
        }
    }
}
