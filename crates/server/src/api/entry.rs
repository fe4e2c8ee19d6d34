//! Entries of the published store on the wire: what is written.
//!
//! What is read of them lies in [`view`] and [`shown`].

mod shown;
mod view;
mod write;

pub use shown::{EntryQuery, EntryView, History, HistoryQuery};
pub use view::{
    Actor, Binding, CausalEdge, Claim, EntryHead, Episode, Lifecycle, Link, Skill, Trust,
    VersionView,
};
pub use write::{
    AmendEntry, Disposition, EntryWritten, NewEntry, PutEntry, Supersede, Superseded,
    VerificationRef,
};
