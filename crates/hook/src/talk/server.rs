//! The server's routes, as far as hooks need them, and what its answers mean for a command.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sillok_core::error::ErrorCode;

use super::answer::Answer;
use super::connection::Request;
use super::{Connection, Error};
use crate::spool::note::Spooled;
use crate::spool::replay::Heard;

/// A server that is spoken to.
#[derive(Debug)]
pub struct Server {
    connection: Connection,
    /// Whether it said that it does not know the token.
    refused: bool,
    /// Whether it answered otherwise.
    heard: bool,
}

/// A refusal, as far as a program acts on it.
#[derive(Debug, Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    detail: String,
}

impl Server {
    /// The server at the other end of a connection.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self {
            connection,
            refused: false,
            heard: false,
        }
    }

    /// Whether it said that it does not know the token.
    #[must_use]
    pub const fn knows_nobody(&self) -> bool {
        self.refused
    }

    /// Whether it said so, and nothing else.
    #[must_use]
    pub const fn has_heard_nothing(&self) -> bool {
        self.refused && !self.heard
    }

    /// Whether a further request may be sent.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }

    /// Asks by a request that has a body.
    ///
    /// # Errors
    /// [`Error`]
    pub fn ask<T: DeserializeOwned>(&mut self, route: &str, body: &Value) -> Result<T, Error> {
        let body = body.to_string();
        let request = Request {
            method: "POST",
            route,
            command: None,
            body: body.as_bytes(),
        };
        self.answered(&request)
    }

    /// Reads.
    ///
    /// # Errors
    /// [`Error`]
    pub fn get<T: DeserializeOwned>(
        &mut self,
        route: &str,
        query: &[(&str, &str)],
    ) -> Result<T, Error> {
        let route = format!("{route}{}", query_of(query));
        let request = Request {
            method: "GET",
            route: &route,
            command: None,
            body: &[],
        };
        self.answered(&request)
    }

    fn answered<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Result<T, Error> {
        let answer = self.connection.request(request)?;
        let parsed = parsed(&answer);
        match &parsed {
            Err(Error::Refused { code, .. }) => self.note(Some(code)),
            _ => self.note(None),
        }
        parsed
    }

    /// Takes in what an answer says of the token: the code that it refuses with, if it does.
    fn note(&mut self, code: Option<&str>) {
        if code == Some(ErrorCode::Unauthenticated.as_str()) {
            self.refused = true;
        } else {
            self.heard = true;
        }
    }

    /// Gives a command: what was heard of it.
    pub fn give(&mut self, command: &Spooled) -> Heard {
        let id = command.id.to_string();
        let request = Request {
            method: "POST",
            route: command.route.path(),
            command: Some(&id),
            body: command.body.as_bytes(),
        };
        let Ok(answer) = self.connection.request(&request) else {
            return Heard::Nothing;
        };
        if is_success(answer.status) {
            self.note(None);
            return Heard::Taken;
        }
        // What does not come from Sillok, but from a proxy before it, says nothing of the command.
        match serde_json::from_slice::<Problem>(&answer.body) {
            Ok(problem) => {
                self.note(Some(&problem.code));
                heard_of(problem.code)
            }
            Err(_) => Heard::Nothing,
        }
    }
}

/// What a refusal says of a command.
#[must_use]
pub fn heard_of(code: String) -> Heard {
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
    match known {
        None | Some(ErrorCode::OutcomeUnknown) => Heard::Nothing,
        // A token can be mended, and a defect may pass; each says that nothing was written.
        Some(ErrorCode::Unauthenticated | ErrorCode::Forbidden | ErrorCode::Internal) => {
            Heard::Untaken(code)
        }
        Some(passing) if passing.is_passing() => Heard::Untaken(code),
        Some(_) => Heard::Refused(code),
    }
}

const fn is_success(status: u16) -> bool {
    status >= 200 && status < 300
}

fn parsed<T: DeserializeOwned>(answer: &Answer) -> Result<T, Error> {
    if is_success(answer.status) {
        let parsed = serde_json::from_slice(&answer.body);
        return parsed.map_err(|_| Error::Foreign("it is not what this route answers"));
    }
    let problem = serde_json::from_slice::<Problem>(&answer.body);
    let problem = problem.unwrap_or_else(|_| Problem {
        code: "of another server".to_owned(),
        detail: String::new(),
    });
    Err(Error::Refused {
        status: answer.status,
        code: problem.code,
        detail: problem.detail,
    })
}

fn query_of(query: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (place, (name, value)) in query.iter().enumerate() {
        text.push(if place == 0 { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_taken_for_good_for_now_or_for_no_answer() {
        for code in ErrorCode::ALL {
            let heard = heard_of(code.as_str().to_owned());
            match code {
                ErrorCode::OutcomeUnknown => assert_eq!(heard, Heard::Nothing),
                ErrorCode::Unauthenticated | ErrorCode::Forbidden | ErrorCode::Internal => {
                    assert!(matches!(heard, Heard::Untaken(_)), "{code}");
                }
                _ if code.is_passing() => assert!(matches!(heard, Heard::Untaken(_)), "{code}"),
                _ => assert!(matches!(heard, Heard::Refused(_)), "{code}"),
            }
        }
        assert_eq!(heard_of("teapot".to_owned()), Heard::Nothing);
    }

    #[test]
    fn a_query_keeps_to_its_place() {
        let query = [("scope", "org/a b&c"), ("limit", "1")];
        assert_eq!(query_of(&query), "?scope=org/a%20b%26c&limit=1");
    }
}
