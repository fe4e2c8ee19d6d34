//! Which kinds of events somebody wants to hear of.
//!
//! Owns how they are named. Who may read an event does not depend on its kind.

use core::str::FromStr;
use std::collections::BTreeSet;

use super::EventKind;
use crate::{Error, ErrorCode};

impl FromStr for EventKind {
    type Err = Error;

    /// Takes what [`EventKind::as_str`] gives.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut kinds = Self::ALL.iter();
        let found = kinds.find(|kind| kind.as_str() == text).copied();
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            let why = format!("{text:?} is no kind of event: {}", known.join(", "));
            Error::new(ErrorCode::InvalidArgument, why)
        })
    }
}

/// Kinds of events: all, unless some are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventKinds(BTreeSet<EventKind>);

impl EventKinds {
    /// All kinds.
    pub const ALL: Self = Self(BTreeSet::new());

    /// The kinds that a list names, with commas between them. Whoever wants to hear of records wants those
    /// too that say where they were said.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no kind has.
    pub fn parse(list: &str) -> Result<Self, Error> {
        let names = list.split(',').map(|name| name.trim().parse());
        let mut kinds: BTreeSet<EventKind> = names.collect::<Result<_, _>>()?;
        if kinds.contains(&EventKind::RecordAppended) {
            kinds.insert(EventKind::BoundRecordAppended);
        }
        Ok(Self(kinds))
    }

    /// Whether a kind is among them.
    #[must_use]
    pub fn have(&self, kind: EventKind) -> bool {
        self.0.is_empty() || self.0.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_kinds_and_without_one_it_is_all() {
        let records = EventKinds::parse("RECORD_APPENDED").unwrap();
        for kind in EventKind::ALL {
            assert_eq!(records.have(*kind), kind.is_record(), "{}", kind.as_str());
        }
        let some = EventKinds::parse("PUBLISHED, PROMOTED,PROMOTED").unwrap();
        for kind in EventKind::ALL {
            assert!(EventKinds::ALL.have(*kind));
            let is_named = matches!(kind, EventKind::Published | EventKind::Promoted);
            assert_eq!(some.have(*kind), is_named, "{}", kind.as_str());
            assert_eq!(kind.as_str().parse::<EventKind>().unwrap(), *kind);
        }
    }

    #[test]
    fn a_name_that_no_kind_has_is_refused_with_those_that_there_are() {
        for list in ["", "published", "PUBLISHED,", "PUBLISHED PROMOTED", "*"] {
            let refused = EventKinds::parse(list).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{list:?}");
            assert!(refused.message.contains("TASK_OPENED, "), "{refused:?}");
        }
    }
}
