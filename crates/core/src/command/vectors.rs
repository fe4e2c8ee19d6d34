//! The vectors that commands bring along, for whoever compares them or has to make them anew.

use super::{Command, Replacement};
use crate::entry::Embedding;
use crate::promotion::NewEntry;

impl Command {
    /// The entries that the command writes anew.
    pub(super) fn entries(&self) -> &[NewEntry] {
        match self {
            Self::PutEntry { entry, .. } => core::slice::from_ref(entry),
            Self::Publish(publish) => &publish.products,
            Self::Supersede(supersede) => match &supersede.new {
                Replacement::New(entry) => core::slice::from_ref(entry),
                Replacement::Existing(_) => &[],
            },
            _ => &[],
        }
    }

    /// The vectors that the command brings along.
    pub fn embeddings(&self) -> impl Iterator<Item = &Embedding> {
        let own = match self {
            Self::AmendEntry(amend) => amend.embedding.as_ref(),
            _ => None,
        };
        let of_entries = self.entries().iter();
        of_entries
            .filter_map(|entry| entry.embedding.as_ref())
            .chain(own)
    }

    /// The texts of the entries that the command writes, each with its vector, to be made anew.
    pub fn vectors_mut(&mut self) -> Vec<(&str, &mut Option<Embedding>)> {
        fn of_entry(entry: &mut NewEntry) -> (&str, &mut Option<Embedding>) {
            (&entry.content, &mut entry.embedding)
        }
        match self {
            Self::PutEntry { entry, .. } => vec![of_entry(entry)],
            Self::Publish(publish) => publish.products.iter_mut().map(of_entry).collect(),
            Self::Supersede(supersede) => match &mut supersede.new {
                Replacement::New(entry) => vec![of_entry(entry)],
                Replacement::Existing(_) => Vec::new(),
            },
            Self::AmendEntry(amend) => vec![(&amend.content, &mut amend.embedding)],
            _ => Vec::new(),
        }
    }
}
