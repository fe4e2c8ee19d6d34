//! Cursors: where a listing or a tail goes on, as opaque text.
//!
//! Owns the form. A cursor of one sort of listing is refused by another, and one from before a restore by
//! the restored store.

use sillok_actors::reads::{DecisionAt, DecisionListing, DecisionPlace, JobPlace};
use sillok_core::decision::{Rank, RelationName};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{AnchorId, DecisionId, EntryId, EvidenceId, ReviewId, Seq};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_store::keys::decision_listed::DomainKey;

/// The generation of a store that was never restored, whose cursors do not name it.
const FIRST_GENERATION: u32 = 1;
/// What stands for no rank, where a listing of decisions has all.
const ALL_RANKS: &str = "x";
/// What stands for a listing of active decisions, and for one of those too that were withdrawn.
const ACTIVE: &str = "a";
const WITHDRAWN: &str = "w";

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// After this position of a scope.
    Seq(Seq),
    /// After this scope.
    Scope(Scope),
    /// After this entry of a line.
    Entry(EntryId),
    /// After this question of a scope.
    Review(ReviewId),
    /// After this promotion.
    Promotion(JobPlace),
    /// After this decision of a scope.
    Decision(DecisionPlace),
    /// After this evidence of a scope.
    Evidence(EvidenceId),
    /// After this anchor of a scope.
    Anchor(AnchorId),
    /// After the declared kind of relation with this name.
    Relation(RelationName),
}

impl Cursor {
    /// The text that a store of this generation hands out.
    #[must_use]
    pub fn encode(&self, generation: u32) -> String {
        let place = match self {
            Self::Seq(seq) => format!("q{:x}", seq.get()),
            Self::Scope(scope) => format!("p{}", hex::encode(scope.as_str())),
            Self::Entry(entry) => format!("e{entry}"),
            Self::Review(review) => format!("w{review}"),
            Self::Promotion(place) => {
                format!("j{:x}-{}", place.slot.number(), place.verification)
            }
            Self::Decision(place) => decision_text(place),
            Self::Evidence(id) => format!("v{id}"),
            Self::Anchor(id) => format!("a{id}"),
            Self::Relation(name) => format!("k{name}"),
        };
        match generation {
            FIRST_GENERATION => place,
            _ => format!("{place}.{generation:x}"),
        }
    }

    /// Reads a cursor over positions, or a position as it stands in an event; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn seq(text: Option<&str>, generation: u32) -> Result<Seq, Error> {
        let Some(text) = text else {
            return Ok(Seq::ZERO);
        };
        // A plain position names an event, whichever history that has.
        let is_position = text.bytes().all(|byte| byte.is_ascii_digit());
        let text = if is_position {
            text
        } else {
            place_of(text, generation)?
        };
        let number = match text.strip_prefix('q') {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.map(Seq::new).map_err(|_| foreign())
    }

    /// Reads a cursor over scopes; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn scope(text: Option<&str>, generation: u32) -> Result<Option<Scope>, Error> {
        let Some(text) = text else { return Ok(None) };
        let bytes = place_of(text, generation)?
            .strip_prefix('p')
            .and_then(|digits| hex::decode(digits).ok())
            .ok_or_else(foreign)?;
        let path = String::from_utf8(bytes).map_err(|_| foreign())?;
        Scope::parse(&path).map(Some).map_err(|_| foreign())
    }

    /// Reads a cursor over the entries of a line; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn entry(text: Option<&str>, generation: u32) -> Result<Option<EntryId>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let id = place.strip_prefix('e').ok_or_else(foreign)?;
        id.parse().map(Some).map_err(|_: Error| foreign())
    }

    /// Reads a cursor over promotions; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn promotion(text: Option<&str>, generation: u32) -> Result<Option<JobPlace>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?.strip_prefix('j');
        let (slot, id) = place
            .and_then(|place| place.split_once('-'))
            .ok_or_else(foreign)?;
        let slot = u16::from_str_radix(slot, 16).ok().and_then(Slot::new);
        Ok(Some(JobPlace {
            slot: slot.ok_or_else(foreign)?,
            verification: id.parse().map_err(|_: Error| foreign())?,
        }))
    }
}

impl Cursor {
    /// Reads a cursor over questions; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn review(text: Option<&str>, generation: u32) -> Result<Option<ReviewId>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let id = place.strip_prefix('w').ok_or_else(foreign)?;
        id.parse().map(Some).map_err(|_: Error| foreign())
    }

    /// Reads a cursor over decisions; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn decision(text: Option<&str>, generation: u32) -> Result<Option<DecisionPlace>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let (form, rest) = place.split_at_checked(1).ok_or_else(foreign)?;
        let (listing, at) = rest.split_once('-').ok_or_else(foreign)?;
        let at = match form {
            "d" => DecisionAt::Root(root_of(at)?),
            "l" => {
                let (domain, at) = at.split_once('-').ok_or_else(foreign)?;
                let (begun, root) = at.split_once('-').ok_or_else(foreign)?;
                let begun = u64::from_str_radix(begun, 16).map_err(|_| foreign())?;
                DecisionAt::Listed {
                    domain: domain_of(domain)?,
                    begun: Seq::new(begun),
                    root: root_of(root)?,
                }
            }
            _ => return Err(foreign()),
        };
        let listing = listing_of(listing)?;
        Ok(Some(DecisionPlace { listing, at }))
    }

    /// Reads a cursor over evidence; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn evidence(text: Option<&str>, generation: u32) -> Result<Option<EvidenceId>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let id = place.strip_prefix('v').ok_or_else(foreign)?;
        id.parse().map(Some).map_err(|_: Error| foreign())
    }

    /// Reads a cursor over anchors; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn anchor(text: Option<&str>, generation: u32) -> Result<Option<AnchorId>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let id = place.strip_prefix('a').ok_or_else(foreign)?;
        id.parse().map(Some).map_err(|_: Error| foreign())
    }

    /// Reads a cursor over declared kinds of relations; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`, `history_changed`.
    pub fn relation(text: Option<&str>, generation: u32) -> Result<Option<RelationName>, Error> {
        let Some(text) = text else { return Ok(None) };
        let place = place_of(text, generation)?;
        let name = place.strip_prefix('k').ok_or_else(foreign)?;
        let name = RelationName::stored(name).map_err(|_| foreign())?;
        Ok(Some(name))
    }
}

/// The text of a place among decisions: the listing first, since it is a place of that one alone.
fn decision_text(place: &DecisionPlace) -> String {
    let DecisionListing {
        rank,
        domain,
        withdrawn,
    } = place.listing;
    let withdrawn = if withdrawn { WITHDRAWN } else { ACTIVE };
    let rank = rank.map_or_else(|| ALL_RANKS.to_owned(), |rank| (rank as u8).to_string());
    let domain = domain.map_or_else(String::new, |domain| hex::encode(domain.as_bytes()));
    let listing = format!("{withdrawn}{rank}{domain}");
    match place.at {
        DecisionAt::Root(root) => format!("d{listing}-{root}"),
        DecisionAt::Listed {
            domain,
            begun,
            root,
        } => {
            let domain = hex::encode(domain.as_bytes());
            format!("l{listing}-{domain}-{:x}-{root}", begun.get())
        }
    }
}

/// The listing of decisions that a cursor names.
fn listing_of(text: &str) -> Result<DecisionListing, Error> {
    let (withdrawn, rest) = text.split_at_checked(1).ok_or_else(foreign)?;
    let (rank, domain) = rest.split_at_checked(1).ok_or_else(foreign)?;
    let withdrawn = match withdrawn {
        WITHDRAWN => true,
        ACTIVE => false,
        _ => return Err(foreign()),
    };
    let rank = match rank {
        ALL_RANKS => None,
        number => {
            let number: usize = number.parse().map_err(|_| foreign())?;
            Some(*Rank::ALL.get(number).ok_or_else(foreign)?)
        }
    };
    let domain = match domain {
        "" => None,
        domain => Some(domain_of(domain)?),
    };
    Ok(DecisionListing {
        rank,
        domain,
        withdrawn,
    })
}

/// The domain that a cursor names.
fn domain_of(text: &str) -> Result<DomainKey, Error> {
    let mut bytes = [0; DomainKey::LEN];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| foreign())?;
    Ok(DomainKey::from_bytes(bytes))
}

/// The decision that a cursor names.
fn root_of(text: &str) -> Result<DecisionId, Error> {
    text.parse().map_err(|_: Error| foreign())
}

/// The place that a cursor names, if it is of this generation.
fn place_of(text: &str, generation: u32) -> Result<&str, Error> {
    if !text.starts_with(['q', 'p', 'e', 'w', 'j', 'd', 'l', 'v', 'a', 'k']) {
        return Err(foreign());
    }
    let (place, given) = match text.split_once('.') {
        Some((place, given)) => (
            place,
            u32::from_str_radix(given, 16).map_err(|_| foreign())?,
        ),
        None => (text, FIRST_GENERATION),
    };
    if given == generation {
        Ok(place)
    } else {
        Err(Error::history_changed(given, generation))
    }
}

fn foreign() -> Error {
    Error::new(
        ErrorCode::InvalidArgument,
        "not a cursor that this listing gave out",
    )
}

#[cfg(test)]
mod tests;
