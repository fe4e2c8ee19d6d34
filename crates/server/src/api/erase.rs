//! Forms of erasures.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::decision::{Node, RelationName};
use sillok_core::erasure::{Erase, EraseMemory, EraseVerifications};
use sillok_core::id::{CommandId, EntryId, ReviewId, Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};
use utoipa::ToSchema;

use super::schema;

/// Destroys content of a scope for good: its staged records, its entries with all their versions, or offers that were
/// made to an organisation; or, by an order of their own, its decisions, evidence and anchors, and what its kinds of relations
/// mean; or, by another one, what verifications of a task say of errors and approaches. All of what is named, or nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseContent {
    /// The scope that holds it.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// Positions of staged records, and of trajectories that were stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Seq>)]
    pub records: Vec<u64>,
    /// Entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::EntryId>)]
    pub entries: Vec<String>,
    /// Reviews that offered entries to this organisation, and were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::ReviewId>)]
    pub offers: Vec<String>,
    /// Decisions that were withdrawn, with all their versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::DecisionId>)]
    pub decisions: Vec<String>,
    /// Evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::EvidenceId>)]
    pub evidence: Vec<String>,
    /// Anchors that were dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::AnchorId>)]
    pub anchors: Vec<String>,
    /// Kinds of relations that the scope itself declared, whether they are used or not: what they mean. Their names and their
    /// reaches stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::RelationName>)]
    pub kinds: Vec<String>,
    /// Verifications of the task whose promotions are finished or dropped: their errors and approaches, with what these
    /// touched. Those that failed with the same error and are not named go on telling it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::VerificationId>)]
    pub verifications: Vec<String>,
    /// Why. It stays.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

/// The receipt of an erasure.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ContentErased {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Events that lost their content.
    pub events: u32,
    /// Entries that lost theirs.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub entries: Vec<EntryId>,
    /// How many of what was named had been erased before.
    pub known: u32,
    /// Entries that rest on the records that were named, or that the promotions of the verifications made, and may say what those
    /// said.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub resting: Vec<EntryId>,
    /// Decisions that hold and rest on the evidence that was named, and may say what it said.
    #[schema(value_type = Vec<schema::Node>)]
    pub resting_decisions: Vec<Node>,
    /// Verifications of the task that failed with the errors of those that were named, and tell them still: the first ones, as
    /// many as an order names.
    #[schema(value_type = Vec<schema::VerificationId>)]
    pub same_error: Vec<VerificationId>,
    /// Offers of the entries that were named, which the organisation still has.
    #[schema(value_type = Vec<schema::ReviewId>)]
    pub offers: Vec<ReviewId>,
    /// Backups that were begun before this, by the clock of the node that answers, hold what was erased.
    #[schema(value_type = schema::Timestamp)]
    pub backups_before: Timestamp,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was erased.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// The time before which backups hold what an event of `time` erased, once that is known at `now` to be on disk. A backup
/// that was begun after the event had its time, and before it was committed, holds all of it, and so may one of the very
/// millisecond.
pub(crate) fn backups_before(time: Timestamp, now: Timestamp) -> Timestamp {
    time.max(now).plus_ms(1)
}

impl EraseContent {
    /// The order, and the scope that it is given to.
    ///
    /// # Errors
    /// What does not parse, and `invalid_argument` where it names what one order does not erase together.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let order = Erase {
            records: self.records.into_iter().map(Seq::new).collect(),
            entries: parsed(&self.entries)?,
            offers: parsed(&self.offers)?,
            reason: self.reason.clone(),
        };
        let of_memory = EraseMemory {
            decisions: parsed(&self.decisions)?,
            evidence: parsed(&self.evidence)?,
            anchors: parsed(&self.anchors)?,
            kinds: names(&self.kinds)?,
            reason: self.reason.clone(),
        };
        let of_verifications = EraseVerifications {
            verifications: parsed(&self.verifications)?,
            reason: self.reason,
        };
        let named = order.records.len() + order.entries.len() + order.offers.len();
        let counts = [
            named,
            of_memory.count(),
            of_verifications.verifications.len(),
        ];
        match counts {
            [_, 0, 0] => Ok((scope, Command::Erase(Box::new(order)))),
            [0, _, 0] => Ok((scope, Command::EraseMemory(Box::new(of_memory)))),
            [0, 0, _] => {
                let command = Command::EraseVerifications(Box::new(of_verifications));
                Ok((scope, command))
            }
            _ => {
                let why = "one order erases records, entries and offers, another one decisions, evidence, anchors and kinds of \
                           relations, and a third one what verifications say: give each";
                Err(Error::new(ErrorCode::InvalidArgument, why))
            }
        }
    }
}

fn parsed<T: core::str::FromStr<Err = Error>>(ids: &[String]) -> Result<Vec<T>, Error> {
    ids.iter().map(|id| id.parse()).collect()
}

/// Names that were free when they were declared: one that is taken by now may be among them.
fn names(kinds: &[String]) -> Result<Vec<RelationName>, Error> {
    kinds
        .iter()
        .map(|name| RelationName::stored(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01900000-0000-7000-8000-000000000000";

    #[test]
    fn what_is_named_says_which_order_it_is_and_one_order_names_one_kind() {
        let ordered = |named: &str| {
            let text = format!(r#"{{"scope":"org/a","reason":"r"{named}}}"#);
            let body: EraseContent = serde_json::from_str(&text).unwrap();
            body.into_command().map(|(_, command)| command)
        };
        for (list, one) in [
            ("decisions", ID),
            ("evidence", ID),
            ("anchors", ID),
            ("kinds", "causes"),
        ] {
            let named = format!(r#","{list}":["{one}"]"#);
            let command = ordered(&named).unwrap();
            assert!(matches!(command, Command::EraseMemory(_)), "{list}");
            for other in [
                r#","records":[7]"#.to_owned(),
                format!(r#","entries":["{ID}"]"#),
            ] {
                let refused = ordered(&format!("{named}{other}")).unwrap_err();
                assert_eq!(refused.code, ErrorCode::InvalidArgument, "{list}{other}");
            }
        }
        let command = ordered(r#","records":[7]"#).unwrap();
        assert!(matches!(command, Command::Erase(_)));
        let named = format!(r#","verifications":["{ID}"]"#);
        let command = ordered(&named).unwrap();
        assert!(matches!(command, Command::EraseVerifications(_)));
        for other in [r#","records":[7]"#, r#","kinds":["causes"]"#] {
            let refused = ordered(&format!("{named}{other}")).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{other}");
        }
        assert!(ordered(r#","anchors":["x"]"#).is_err());
        assert!(ordered(r#","kinds":["TWO WORDS"]"#).is_err());
    }

    #[test]
    fn a_kind_is_named_in_letters_of_either_case_and_also_by_a_name_that_is_taken_by_now() {
        let text = r#"{"scope":"org/a","kinds":["causes","CALLS"],"reason":"r"}"#;
        let body: EraseContent = serde_json::from_str(text).unwrap();
        let (_, command) = body.into_command().unwrap();
        let Command::EraseMemory(order) = command else {
            panic!("{command:?}")
        };
        let names: Vec<&str> = order.kinds.iter().map(RelationName::as_str).collect();
        assert_eq!(names, ["CAUSES", "CALLS"]);
    }

    #[test]
    fn a_backup_that_was_begun_while_the_erasure_was_committed_is_one_from_before() {
        let at = Timestamp::from_ms;
        // Decided at 5, and on disk at 9: one begun in between read the store as it was.
        for begun in 5..=9 {
            assert!(at(begun) < backups_before(at(5), at(9)), "{begun}");
        }
        // The clock of the owner of the scope is ahead.
        assert!(at(12) < backups_before(at(12), at(9)));
    }
}
