//! The commands about entries that have a form of their own.

use serde::{Deserialize, Serialize};

use super::VerificationRef;
use crate::citation::Citation;
use crate::entry::{Claim, Detail, Embedding, Metadata};
use crate::id::EntryId;
use crate::promotion::NewEntry;

/// A new version of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AmendEntry {
    /// The entry.
    pub entry: EntryId,
    /// The version that the caller has seen.
    pub expected_version: u64,
    /// The new text.
    pub content: String,
    /// Its typed part.
    pub detail: Detail,
    /// Free metadata.
    pub metadata: Metadata,
    /// What it claims, if it declares that.
    pub claim: Option<Claim>,
    /// Further sources.
    pub citations: Vec<Citation>,
    /// The vector of the text.
    pub embedding: Option<Embedding>,
    /// The verification that it rests on, where the level needs one.
    pub verification: Option<VerificationRef>,
}

/// A replacement of one entry by another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Supersede {
    /// The entry that is replaced.
    pub old: EntryId,
    /// The version of it that the caller has seen.
    pub expected_version: u64,
    /// What replaces it.
    pub new: Replacement,
    /// Why.
    pub reason: String,
    /// The commit that ended the old one, if there is a repository.
    pub commit: Option<String>,
    /// The verification that it rests on, where the level needs one.
    pub verification: Option<VerificationRef>,
}

/// What replaces an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Replacement {
    /// An entry that exists.
    Existing(EntryId),
    /// A new entry, written in the same transaction. It is never merged.
    New(Box<NewEntry>),
}
