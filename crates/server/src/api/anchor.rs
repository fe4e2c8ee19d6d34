//! Anchors on the wire: adding and dropping them, and reading what they lead to.
//!
//! Owns how the hints of anchors, and what they lead to, are handed to a model: marked as data.

mod followed;
mod view;
mod write;

pub use followed::{Followed, FollowedDecision, FollowedEvidence, FollowedItem};
pub use view::{Anchor, AnchorQuery, AnchorView, AnchorsQuery, BriefAnchor, Lead};
pub use write::{AddAnchors, AnchorDropped, AnchorsAdded, DropAnchor, NewAnchor};
