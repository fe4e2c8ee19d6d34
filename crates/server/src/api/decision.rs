//! Decisions on the wire: saving, withdrawing and reading them, and the kinds of relations between them.
//!
//! What a save means to others is told in the forms of `api::impact`.

mod kind;
mod marked;
mod view;
mod write;

pub use kind::{
    DeclareRelation, DeclaredRelation, KindName, Reaches, RelationDeclared, RelationKindsQuery,
};
pub(super) use marked::content_in;
pub(super) use view::told;
pub use view::{
    DecisionHead, DecisionHistoryQuery, DecisionQuery, DecisionText, DecisionVersion, DecisionView,
    DecisionsQuery,
};
pub use write::{DeactivateDecision, DecisionSaved, Relation, RestoreDecision, SaveDecision};
