//! Digests of commands: what tells a retry from another command.
//!
//! Owns what of a command counts in it.

use serde::{Deserialize, Serialize};

use super::{Command, Replacement};

impl Command {
    /// BLAKE3 of the command's encoded form: what tells a retry from another command.
    ///
    /// A promotion is named by its verification alone: a cognifier that is asked again may propose
    /// other words for the same promotion. Vectors do not count: they are made at the edge from the
    /// text, and an embedder need not give the same one twice. Nor does what a work tree was at, but for
    /// its commit: whoever gives a command again may have gone on working. A failure is named by its
    /// verification, as older nodes record it: whoever gives it again once all nodes are new is told
    /// the first answer.
    #[must_use]
    pub fn digest(&self) -> Digest {
        if let Some(plain) = self.unbound_body() {
            return plain.digest();
        }
        let named = match self {
            Self::Publish(publish) => {
                postcard::to_allocvec(&(&publish.source, publish.verification.id))
            }
            Self::NotePromoted {
                verification,
                target,
                ..
            } => postcard::to_allocvec(&(target, verification)),
            Self::PutEntry { .. } | Self::AmendEntry(_) | Self::Supersede(_) => {
                postcard::to_allocvec(&self.without_vectors())
            }
            Self::RecordFailure(failure) => postcard::to_allocvec(&failure.as_verification()),
            _ => postcard::to_allocvec(self),
        };
        let bytes = named.expect("plain data structures always encode");
        Digest(blake3::derive_key("sillok 2026 command digest", &bytes))
    }

    /// The body that is digested in place of this one, where this says what a work tree was at. A promotion is named by less.
    fn unbound_body(&self) -> Option<Self> {
        match self {
            Self::Publish(_) => None,
            _ => self.unbound(),
        }
    }

    fn without_vectors(&self) -> Self {
        let mut plain = self.clone();
        match &mut plain {
            Self::PutEntry { entry, .. } => entry.embedding = None,
            Self::AmendEntry(amend) => amend.embedding = None,
            Self::Supersede(supersede) => {
                if let Replacement::New(entry) = &mut supersede.new {
                    entry.embedding = None;
                }
            }
            _ => {}
        }
        plain
    }
}

/// BLAKE3 of a command's body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// What stands in place of a digest of content that was erased. It fits every body: who gives such a command again
    /// is told its answer.
    pub const ERASED: Self = Self([0; 32]);
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
