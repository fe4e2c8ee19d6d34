//! Entries of the published store on the wire: what is written.
//!
//! What is read of them lies in [`view`].

mod view;
mod write;

pub use view::{
    Actor, Binding, CausalEdge, Claim, EntryHead, EntryQuery, EntryView, Episode, History,
    HistoryQuery, Lifecycle, Link, Skill, Trust, VersionView,
};
pub use write::{
    AmendEntry, Disposition, EntryWritten, NewEntry, PutEntry, Supersede, Superseded,
    VerificationRef,
};
