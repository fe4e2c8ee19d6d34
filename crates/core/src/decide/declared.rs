//! Deciding which kinds of relations are declared, and which of them a decision may use.
//!
//! Owns what is refused. A kind is declared for good: decisions that use it say which way it carries a change, and nothing
//! would change them. A name whose meaning was erased stays declared.

use super::{Context, Decision, check_stated};
use crate::command::AnswerBody;
use crate::decision::{Reach, RelationKind, RelationName};
use crate::error::{Current, Error, ErrorCode};
use crate::event::Body;
use crate::facts::nearest_declared;
use crate::scope::Level;
use crate::secret::mask;

/// Declares a kind, which neither the scope nor one around it has declared. A scope inside may have: there, what is nearer
/// counts.
pub(super) fn declare(
    context: &Context<'_>,
    (name, reach): (RelationName, Reach),
    meaning: &str,
) -> Result<Decision, Error> {
    let scope = context.scope();
    if scope.level() < Level::Project {
        let level = scope.level();
        let why =
            format!("a relation is declared in a project or organisation; {scope} is a {level}");
        return Err(Error::new(ErrorCode::InvalidScope, why));
    }
    name.check_free()?;
    if name.holds_secret() {
        let why = "the name of a relation is no secret";
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    // Checked as it will be stored: masking may make a text longer.
    let meaning = mask(meaning).text.into_owned();
    check_stated("meaning", &meaning)?;
    if let Some((declarer, known)) = nearest_declared(context.state, context.facts, name) {
        let why = format!("{declarer} has declared {name} before, {}", known.reach);
        return Err(Error::conflict(why, Current::default()));
    }
    let body = Body::RelationDeclared {
        name,
        reach,
        meaning,
    };
    Ok(Decision::of(vec![body], AnswerBody::Done))
}

/// Checks that a kind, unless it is built in, is what the nearest scope declares that has declared its name.
pub(super) fn check_declared(context: &Context<'_>, kind: RelationKind) -> Result<(), Error> {
    let Some(told) = kind.declared() else {
        return Ok(());
    };
    let name = told.name;
    let why = match nearest_declared(context.state, context.facts, name) {
        Some((_, known)) if known.kind() == told => return Ok(()),
        Some((declarer, known)) => {
            let (is, not) = (known.reach, told.reach);
            format!("{declarer} has declared the relation {name} {is}, not {not}")
        }
        None => {
            let scope = context.scope();
            format!("no relation {name} is declared in {scope} or a scope around it")
        }
    };
    Err(Error::new(ErrorCode::InvalidArgument, why))
}
