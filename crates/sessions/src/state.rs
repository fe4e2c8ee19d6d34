//! What reading a session remembers from line to line, so that it goes on where it ended.
//!
//! Owns steps, calls whose results have not come, and what the file last said of where it happened. It must not know a
//! format.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::limits::OPEN_CALLS_MAX;

/// What is remembered of the lines before. It is part of a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The session that the file first named.
    pub session: Option<String>,
    /// The working directory that it last named.
    pub cwd: Option<String>,
    /// The branch that it last named.
    pub branch: Option<String>,
    /// How many steps there were.
    pub steps: u64,
    /// The calls whose results have not come, the oldest first.
    calls: VecDeque<Call>,
}

/// A call whose result has not come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) step: u64,
    pub(crate) tool: String,
}

impl State {
    /// Begins a step with a call.
    pub(crate) fn open(&mut self, id: Option<&str>, tool: &str) -> u64 {
        self.steps = self.steps.saturating_add(1);
        if let Some(id) = id {
            if self.calls.len() >= OPEN_CALLS_MAX {
                self.calls.pop_front();
            }
            self.calls.push_back(Call {
                id: id.to_owned(),
                step: self.steps,
                tool: tool.to_owned(),
            });
        }
        self.steps
    }

    /// The call whose result came: the latest of that id.
    pub(crate) fn close(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().rposition(|call| call.id == id)?;
        self.calls.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_finds_its_call_and_calls_that_are_never_answered_are_forgotten() {
        let mut state = State::default();
        for number in 0..=OPEN_CALLS_MAX {
            state.open(Some(&number.to_string()), "sh");
        }
        assert_eq!(state.close("0"), None);
        assert_eq!(state.close("1").map(|call| call.step), Some(2));
        assert_eq!(state.close("1"), None);
        state.open(Some("7"), "again");
        assert_eq!(state.close("7").map(|call| call.tool), Some("again".into()));
        assert_eq!(state.open(None, "sh"), OPEN_CALLS_MAX as u64 + 3);
    }
}
