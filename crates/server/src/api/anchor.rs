//! Anchors on the wire: adding and dropping them, reading what they lead to, and searching in that.
//!
//! Owns how the hints of anchors, and what they lead to, are handed to a model: marked as data.

mod followed;
mod search;
mod view;
mod write;

pub use followed::{Followed, FollowedDecision, FollowedEvidence, FollowedItem};
pub(crate) use search::AnchorsAsked;
pub use search::{AnchorHit, AnchorsCut, AnchorsFound, AnchorsLookedAt, SearchAnchors};
pub use view::{Anchor, AnchorQuery, AnchorView, AnchorsQuery, BriefAnchor, Lead};
pub use write::{AddAnchors, AnchorDropped, AnchorsAdded, DropAnchor, NewAnchor};
