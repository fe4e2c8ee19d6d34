//! Names of resources.
//!
//! Owns their form. A scope's characters need no escape in a URI; what else stands there is the API's to judge.

use core::fmt;

use sillok_core::error::ErrorCode;

use crate::limits::HANDLE_BYTES_MAX;
use crate::refusal::Refusal;

const SCHEME: &str = "sillok://";

/// What a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// The log of a task.
    Log { task: String, after: Option<String> },
    /// A memory.
    Entry { entry: String },
    /// The versions of a decision.
    Decision {
        root: String,
        scope: String,
        after: Option<String>,
    },
}

impl Name {
    /// What a URI names.
    ///
    /// # Errors
    /// `invalid_argument` where it names nothing that there could be.
    pub(crate) fn parse(uri: &str) -> Result<Self, Refusal> {
        Self::parsed(uri).ok_or_else(|| {
            let why = "the URI is none of sillok://log/TASK, sillok://entry/ENTRY and sillok://decision/ROOT/SCOPE";
            Refusal::of_arguments(ErrorCode::InvalidArgument, why)
        })
    }

    fn parsed(uri: &str) -> Option<Self> {
        if uri.len() > HANDLE_BYTES_MAX || uri.contains(['#', '%', ' ']) {
            return None;
        }
        let rest = uri.strip_prefix(SCHEME)?;
        let (path, after) = match rest.split_once('?') {
            None => (rest, None),
            Some((path, query)) => (path, Some(query.strip_prefix("after=")?.to_owned())),
        };
        if after
            .as_ref()
            .is_some_and(|after| after.is_empty() || after.contains(['&', '?']))
        {
            return None;
        }
        let (kind, named) = path.split_once('/')?;
        if named.is_empty() {
            return None;
        }
        match kind {
            "log" => Some(Self::Log {
                task: named.to_owned(),
                after,
            }),
            "entry" if after.is_none() => Some(Self::Entry {
                entry: named.to_owned(),
            }),
            "decision" => {
                let (root, scope) = named.split_once('/')?;
                Some(Self::Decision {
                    root: root.to_owned(),
                    scope: scope.to_owned(),
                    after,
                })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = match self {
            Self::Log { task, after } => {
                write!(f, "{SCHEME}log/{task}")?;
                after
            }
            Self::Entry { entry } => return write!(f, "{SCHEME}entry/{entry}"),
            Self::Decision { root, scope, after } => {
                write!(f, "{SCHEME}decision/{root}/{scope}")?;
                after
            }
        };
        match after {
            Some(after) => write!(f, "?after={after}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_goes_there_and_back(scope in "org/[a-z]{1,8}(/project/[A-Za-z0-9._-]{1,8})?", id in "[0-9a-f-]{1,36}",
                after in proptest::option::of("[A-Za-z0-9_.-]{1,20}")) {
            for name in [
                Name::Log { task: scope.clone(), after: after.clone() },
                Name::Entry { entry: id.clone() },
                Name::Decision { root: id.clone(), scope: scope.clone(), after: after.clone() },
            ] {
                prop_assert_eq!(Name::parse(&name.to_string()).unwrap(), name);
            }
        }

        #[test]
        fn no_uri_is_too_strange_to_be_refused(uri in any::<String>(), rest in "(sillok://)?(log|entry|decision|x)?/?.{0,40}") {
            for uri in [uri, rest] {
                if let Ok(name) = Name::parse(&uri) {
                    prop_assert_eq!(name.to_string(), uri);
                }
            }
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let long = format!("sillok://log/{}", "a".repeat(HANDLE_BYTES_MAX));
        for wrong in [
            "",
            "sillok://",
            "sillok://log",
            "sillok://log/",
            "sillok://log/org/a?before=1",
            "sillok://log/org/a?after=",
            "sillok://log/org/a?after=1&scope=*",
            "sillok://log/org%2Fa",
            "sillok://entry/a?after=1",
            "sillok://decision/only-a-root",
            "file:///etc/passwd",
            "http://127.0.0.1/",
            &long,
        ] {
            assert!(Name::parse(wrong).is_err(), "{wrong}");
        }
    }
}
