//! Forms that several tools share: what they take, as the API takes it.
//!
//! Owns their shapes. Their values are the rules', which refuse what they do not know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a memory claims under a key: two that give one key other values contradict.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Claim {
    /// What it is about, such as `http.timeout_ms`.
    pub(crate) key: String,
    /// What is claimed.
    pub(crate) value: String,
}

/// A commit of a repository.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Commit {
    /// Its hash, in hexadecimal.
    pub(crate) hash: String,
    /// The repository, by its remote or path.
    pub(crate) repository: String,
}

/// What a memory rests on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub(crate) enum Source {
    /// A range of lines of a file.
    File {
        /// Path from the root of the work tree.
        path: String,
        /// First and last line, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<[u32; 2]>,
    },
    /// A named piece of code.
    Symbol {
        /// Its id in the code graph.
        id: String,
        /// Its name.
        name: String,
        /// The file that defines it.
        file: String,
    },
    /// A commit.
    Commit {
        /// Its hash, in hexadecimal.
        hash: String,
        /// The repository, by its remote or path.
        repository: String,
    },
    /// A record of a task's log: the `record` that `log_event` answered with.
    Log {
        /// SCOPE#SEQ
        id: String,
    },
    /// A terminal snapshot.
    TerminalSnapshot {
        /// SCOPE#SEQ
        id: String,
    },
    /// A test run. It counts where a recorded verification stands behind it.
    Test {
        /// What ran.
        name: String,
        /// How it ended.
        outcome: Passing,
        /// The run, as the verification names it.
        run: String,
    },
    /// A person's word. It counts where that person's own token stands behind it.
    Human {
        /// Who.
        user: String,
    },
}

/// How a test ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Passing {
    Pass,
    Fail,
}

/// A recorded verification.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Verification {
    /// The task that it verified.
    pub(crate) task: String,
    /// Its id.
    pub(crate) id: String,
}

/// What a memory is, and so how it ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Table {
    Observations,
    TerminalSnapshots,
    Iterations,
    QaReports,
    Episodes,
    Skills,
    Patterns,
    CodeGraph,
    Gotchas,
    Sessions,
    Tasks,
    Stories,
}

/// Whether a list says nothing, so that it is left out.
pub(crate) const fn no(flag: &bool) -> bool {
    !*flag
}

/// Whether there is none of what is counted, for fields that are left out then.
pub(crate) const fn none(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use sillok_core::citation::TestOutcome;
    use sillok_core::entry;

    use super::*;

    #[test]
    fn every_table_and_outcome_of_the_rules_is_taken() {
        for table in entry::Table::ALL {
            let taken: Table = serde_json::from_value(table.as_str().into()).unwrap();
            assert_eq!(serde_json::to_value(taken).unwrap(), table.as_str());
        }
        for (outcome, passing) in [
            (TestOutcome::Pass, Passing::Pass),
            (TestOutcome::Fail, Passing::Fail),
        ] {
            let [outcome, passing] = [serde_json::to_value(outcome), serde_json::to_value(passing)];
            assert_eq!(outcome.unwrap(), passing.unwrap());
        }
    }
}
