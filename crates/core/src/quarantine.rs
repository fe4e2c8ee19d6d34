//! Quarantine: an operator's order that nothing is written to a scope until the order is lifted.
//!
//! Owns which orders may be given and what they cover. Pure: the orders of a slot are an argument. It must
//! not know how a node hears of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Bytes of a reason.
pub const REASON_BYTES_MAX: usize = 1_000;

/// An operator's order. Each is kept for good; the last one for a scope counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineOrder {
    /// The scope.
    pub scope: Scope,
    /// Why; none where the order lifts the one before it.
    pub reason: Option<String>,
    /// Who gave it.
    pub by: Actor,
    /// When, on the wall clock of the node that was asked.
    pub at: Timestamp,
}

impl QuarantineOrder {
    /// Whether a scope is the order's own, or lies inside it. An organisation's order covers its own scope
    /// only: its projects lie in other slots.
    #[must_use]
    pub fn covers(&self, scope: &Scope) -> bool {
        self.scope == *scope || (self.scope.project().is_some() && self.scope.contains(scope))
    }
}

/// The orders in force, by scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantines(BTreeMap<Scope, QuarantineOrder>);

impl Quarantines {
    /// Those in force after these orders, which come in the order in which they were given.
    pub fn after(orders: impl IntoIterator<Item = QuarantineOrder>) -> Self {
        let mut in_force = BTreeMap::new();
        for order in orders {
            match order.reason {
                Some(_) => drop(in_force.insert(order.scope.clone(), order)),
                None => drop(in_force.remove(&order.scope)),
            }
        }
        Self(in_force)
    }

    /// Whether nothing is quarantined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The orders, by scope.
    pub fn iter(&self) -> impl Iterator<Item = &QuarantineOrder> {
        self.0.values()
    }

    /// Checks that a scope may be written to.
    ///
    /// # Errors
    /// `invalid_state` naming the order that covers it.
    pub fn check(&self, scope: &Scope) -> Result<(), Error> {
        let covering = self.0.values().find(|order| order.covers(scope));
        let Some(order) = covering else {
            return Ok(());
        };
        let reason = order.reason.as_deref().unwrap_or_default();
        let why = format!("{} is quarantined: {reason}", order.scope);
        Err(Error::new(ErrorCode::InvalidState, why))
    }

    /// Checks that an order may be given. Gives the order in force where one quarantines the scope already:
    /// whoever orders it again is told of the first.
    ///
    /// # Errors
    /// `invalid_argument` for a reason that is empty, too long or no line of text, `invalid_state` where
    /// there is nothing to lift.
    pub fn check_order(&self, order: &QuarantineOrder) -> Result<Option<&QuarantineOrder>, Error> {
        let in_force = self.0.get(&order.scope);
        let Some(reason) = &order.reason else {
            let why = || format!("{} is not quarantined itself", order.scope);
            in_force.ok_or_else(|| Error::new(ErrorCode::InvalidState, why()))?;
            return Ok(None);
        };
        let is_line = !reason.trim().is_empty() && !reason.chars().any(char::is_control);
        if !is_line || reason.len() > REASON_BYTES_MAX {
            let why = format!("a reason is one line of 1 to {REASON_BYTES_MAX} bytes");
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        Ok(in_force)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{PrincipalId, PrincipalKind};

    const PROJECT: &str = "org/a/project/p";
    const TASK: &str = "org/a/project/p/worktree/w/task/t";

    fn order(scope: &str, reason: Option<&str>) -> QuarantineOrder {
        QuarantineOrder {
            scope: Scope::parse(scope).unwrap(),
            reason: reason.map(str::to_owned),
            by: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("ada").unwrap(),
            },
            at: Timestamp::from_ms(1),
        }
    }

    fn may_be_written(in_force: &Quarantines, scope: &str) -> bool {
        in_force.check(&Scope::parse(scope).unwrap()).is_ok()
    }

    #[test]
    fn an_order_covers_its_scope_and_what_lies_inside_until_it_is_lifted() {
        let begun = order(PROJECT, Some("bad disk"));
        let in_force = Quarantines::after([begun.clone()]);
        assert!(!may_be_written(&in_force, PROJECT) && !may_be_written(&in_force, TASK));
        assert!(may_be_written(&in_force, "org/a/project/q"));
        assert!(may_be_written(&in_force, "org/a"));
        let refused = in_force.check(&begun.scope).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidState);
        assert!(refused.message.contains("bad disk"), "{refused}");
        let of_org = Quarantines::after([order("org/a", Some("bad disk"))]);
        assert!(!may_be_written(&of_org, "org/a") && may_be_written(&of_org, PROJECT));
        let lifted = Quarantines::after([begun.clone(), order(PROJECT, None)]);
        assert!(lifted.is_empty() && may_be_written(&lifted, TASK));
        let again = Quarantines::after([begun, order(PROJECT, None), order(PROJECT, Some("x"))]);
        assert!(!may_be_written(&again, TASK));
    }

    #[test]
    fn lifting_one_order_leaves_those_of_other_scopes() {
        let of_both = [order(PROJECT, Some("x")), order(TASK, Some("y"))];
        let left = Quarantines::after(of_both.into_iter().chain([order(PROJECT, None)]));
        assert!(may_be_written(&left, PROJECT) && !may_be_written(&left, TASK));
        assert_eq!(left.iter().count(), 1);
    }

    #[test]
    fn what_may_not_be_ordered_is_refused_and_a_second_order_is_told_of_the_first() {
        let first = order(PROJECT, Some("first"));
        let in_force = Quarantines::after([first.clone()]);
        let second = order(PROJECT, Some("second"));
        assert_eq!(in_force.check_order(&second), Ok(Some(&first)));
        assert_eq!(in_force.check_order(&order(TASK, Some("in it"))), Ok(None));
        assert_eq!(in_force.check_order(&order(PROJECT, None)), Ok(None));
        let lifts = in_force.check_order(&order(TASK, None)).unwrap_err();
        assert_eq!(lifts.code, ErrorCode::InvalidState);
        let long = "x".repeat(REASON_BYTES_MAX + 1);
        for wrong in ["", "  ", "two\nlines", &long] {
            let refused = in_force.check_order(&order(PROJECT, Some(wrong)));
            assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
        }
    }
}
