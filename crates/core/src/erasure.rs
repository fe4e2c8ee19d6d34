//! Erasure: what of an event's content a person can have destroyed, and what is left in its place.
//!
//! Owns which content can be erased, and the rest of it: the same event without a text, a vector, a hash of a text, or
//! anything else that somebody wrote. The rest stands in the event that orders the erasure, so that the view still
//! follows from the events, and whoever reads it learns that something was erased, not what. It must not know where
//! content lies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::chain::{Broken, Header, StoredEvent};
use crate::circular::{Approach, Wording};
use crate::entry::{Claim, Detail, Metadata};
use crate::error::{Error, ErrorCode};
use crate::event::{
    Body, EntryAmended, EntryCreated, EntryMerged, EventKind, Text, TrajectoryStored,
};
use crate::fingerprint::ContentHash;
use crate::id::{EntryId, ReviewId, Seq};
use crate::limits::ERASED_MAX;
use crate::promotion::NewEntry;
use crate::review::{Offer, Question};
use crate::staging::{BoundRecord, Content, Record, RecordKind};
use crate::state::Stamped;

mod memory;
mod verification;

pub use memory::EraseMemory;
pub use verification::EraseVerifications;
pub(crate) use verification::events_of;

/// What a person orders erased in a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erase {
    /// Positions of staged records, and of what was stored of how agents went about the task.
    pub records: Vec<Seq>,
    /// Entries, with all their versions, and all that was merged into them or asked about them.
    pub entries: Vec<EntryId>,
    /// Offers of entries to this organisation that were answered.
    pub offers: Vec<ReviewId>,
    /// Why. It stays.
    pub reason: String,
}

impl Erase {
    /// # Errors
    /// `invalid_argument` when nothing is named, `too_large` when too much is.
    pub fn check(&self) -> Result<(), Error> {
        let named = self.records.len() + self.entries.len() + self.offers.len();
        if named == 0 {
            let why = "an order to erase names records, entries or offers";
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        if named > ERASED_MAX {
            let max = ERASED_MAX as u64;
            return Err(Error::too_large("things to erase", max, named as u64));
        }
        Ok(())
    }
}

/// An event whose content is gone, and what is left of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Erased {
    /// Where it stands, when it was decided, and who acted: as its header says.
    pub at: Stamped,
    /// What is left of its body.
    pub rest: Body,
}

impl Erased {
    /// Bytes of its encoded form.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let encoded = postcard::to_allocvec(self);
        encoded.expect("plain data structures always encode").len()
    }
}

/// An erasure as it was carried out, or a part of one that is too large for one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContentErased {
    /// The events, in order.
    pub events: Vec<Erased>,
    /// The entries that have no content any more. The last part names them.
    pub entries: Vec<EntryId>,
    /// Why.
    pub reason: String,
}

/// An event as an erasure reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownEvent {
    /// As it is stored.
    pub stored: StoredEvent,
    /// Its header.
    pub header: Header,
    /// Its body; none once erased.
    pub body: Option<Body>,
}

/// What the events of a scope say of the texts of some entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The events that hold them, in order.
    pub events: Vec<KnownEvent>,
    /// The last position that was looked at.
    pub through: Seq,
    /// The hash of each text that any entry of the scope has or had, unless it was erased.
    hashes: Vec<(ContentHash, EntryId)>,
}

impl KnownEvent {
    /// Reads a stored event.
    ///
    /// # Errors
    /// [`Broken`] when it does not decode.
    pub fn of(stored: StoredEvent) -> Result<Self, Broken> {
        let (header, body) = (stored.decode_header()?, stored.decode_body()?);
        Ok(Self {
            stored,
            header,
            body,
        })
    }
}

impl Texts {
    /// Takes the next event of the scope in, if it holds a text of one of `entries`.
    ///
    /// # Errors
    /// [`Broken`] when it does not decode.
    pub fn read(&mut self, stored: &StoredEvent, entries: &[EntryId]) -> Result<(), Broken> {
        let header = stored.decode_header()?;
        self.through = self.through.max(header.seq);
        if !holds_texts(header.kind) {
            return Ok(());
        }
        let known = KnownEvent::of(stored.clone())?;
        let Some(body) = &known.body else {
            return Ok(());
        };
        self.hashes.extend(text_of(body));
        if holds_text_of(body, entries) {
            self.events.push(known);
        }
        Ok(())
    }

    /// Other entries of the scope that have, or once had, a text of one of `entries`.
    #[must_use]
    pub fn others(&self, entries: &[EntryId]) -> BTreeSet<EntryId> {
        let of_these = self.hashes.iter().filter(|(_, id)| entries.contains(id));
        let texts: BTreeSet<ContentHash> = of_these.map(|(hash, _)| *hash).collect();
        let same = self.hashes.iter().filter(|(hash, _)| texts.contains(hash));
        let others = same.map(|(_, id)| *id);
        others.filter(|id| !entries.contains(id)).collect()
    }
}

/// The hash of the text that a body gives an entry.
fn text_of(body: &Body) -> Option<(ContentHash, EntryId)> {
    match body {
        Body::EntryCreated(created) => Some((created.text.content_hash, created.id)),
        Body::EntryAmended(amended) => Some((amended.text.content_hash, amended.id)),
        _ => None,
    }
}

/// Names that stand in place of the hashes of texts: the same one for the same text, so that whatever followed from
/// two texts being one still follows.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<ContentHash, ContentHash>);

impl Names {
    /// The name for the hash of the text of an entry's version.
    pub fn of(&mut self, hash: ContentHash, entry: EntryId, version: u64) -> ContentHash {
        let new = || ContentHash::erased(entry, version);
        *self.0.entry(hash).or_insert_with(new)
    }
}

impl ContentHash {
    /// What stands in place of the hash of a text that was erased: it names the version, and says nothing of the text.
    #[must_use]
    pub fn erased(entry: EntryId, version: u64) -> Self {
        let mut named = entry.as_bytes().to_vec();
        named.extend(version.to_be_bytes());
        Self::from_bytes(blake3::derive_key("sillok 2026 erased text", &named))
    }
}

/// Whether an event of this kind can hold the text of an entry.
#[must_use]
const fn holds_texts(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::EntryCreated
            | EventKind::EntryAmended
            | EventKind::Merged
            | EventKind::ReviewRaised
    )
}

/// Whether a body holds a text of one of these entries that can be erased.
#[must_use]
pub fn holds_text_of(body: &Body, entries: &[EntryId]) -> bool {
    match body {
        Body::EntryCreated(created) => entries.contains(&created.id),
        Body::EntryAmended(amended) => entries.contains(&amended.id),
        Body::Merged(merged) => entries.contains(&merged.into),
        Body::ReviewRaised { question, .. } => {
            let names_one = question.entries().iter().any(|id| entries.contains(id));
            names_one && matches!(**question, Question::Contradiction { .. })
        }
        _ => false,
    }
}

/// What is left of a body, where `name` gives what stands in place of the hash of a version's text; none when it is of a
/// kind that is not erased.
#[must_use]
pub fn rest_of(
    body: &Body,
    name: impl FnOnce(ContentHash, EntryId, u64) -> ContentHash,
) -> Option<Body> {
    Some(match body {
        Body::RecordAppended(record) => Body::RecordAppended(Box::new(rest_of_record(record))),
        Body::BoundRecordAppended(bound) => Body::BoundRecordAppended(Box::new(BoundRecord {
            record: rest_of_record(&bound.record),
            bound: bound.bound.without_files(),
        })),
        Body::EntryCreated(created) => Body::EntryCreated(Box::new(EntryCreated {
            binding: created.binding.rest(),
            text: rest_of_text(
                &created.text,
                name(created.text.content_hash, created.id, 1),
            ),
            ..(**created).clone()
        })),
        Body::EntryAmended(amended) => Body::EntryAmended(Box::new(EntryAmended {
            text: rest_of_text(
                &amended.text,
                name(amended.text.content_hash, amended.id, amended.version),
            ),
            ..(**amended).clone()
        })),
        Body::Merged(merged) => Body::Merged(Box::new(EntryMerged {
            content: String::new(),
            ..(**merged).clone()
        })),
        Body::ReviewRaised { id, question } => Body::ReviewRaised {
            id: *id,
            question: Box::new(rest_of_question(question)?),
        },
        Body::TrajectoryStored(stored) => Body::TrajectoryStored(Box::new(stored.rest())),
        other => return memory::rest_of(other).or_else(|| verification::rest_of(other)),
    })
}

impl TrajectoryStored {
    /// What is left of it: what it came to and was worth, and where its steps stand.
    fn rest(&self) -> Self {
        Self {
            title: String::new(),
            approach: Approach::default(),
            lesson: String::new(),
            wording: Wording::default(),
            titled: Wording::default(),
            ..self.clone()
        }
    }
}

fn rest_of_record(record: &Record) -> Record {
    Record {
        kind: match &record.kind {
            RecordKind::MemoryEvent { .. } => RecordKind::MemoryEvent {
                event_type: String::new(),
            },
            kind => kind.clone(),
        },
        content: Content::Inline(String::new()),
        metadata: Metadata::default(),
        ..record.clone()
    }
}

/// That a text claims something stays, since such texts are no repetitions of others.
fn rest_of_text(text: &Text, content_hash: ContentHash) -> Text {
    Text {
        content: String::new(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: text.claim.as_ref().map(|_| Claim {
            key: String::new(),
            value: String::new(),
        }),
        content_hash,
        embedding: None,
    }
}

fn rest_of_question(question: &Question) -> Option<Question> {
    match question {
        Question::Contradiction { new, known, .. } => Some(Question::Contradiction {
            new: *new,
            known: *known,
            why: String::new(),
        }),
        Question::Offer(offer) => Some(Question::Offer(Box::new(Offer {
            product: NewEntry {
                content: String::new(),
                detail: Detail::Plain,
                metadata: Metadata::default(),
                claim: None,
                binding: offer.product.binding.rest(),
                embedding: None,
                ..offer.product.clone()
            },
            ..(**offer).clone()
        }))),
        Question::Merge { .. } | Question::Wrong { .. } => None,
    }
}

#[cfg(test)]
mod tests;
