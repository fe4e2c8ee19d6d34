//! Cursors: where a listing or a tail goes on, as opaque text.
//!
//! Owns the form. A cursor of one sort of listing is refused by another, and one from before a restore by
//! the restored store.

use sillok_actors::reads::{DecisionPlace, JobPlace};
use sillok_core::decision::RelationName;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{AnchorId, DecisionId, EntryId, EvidenceId, ReviewId, Seq};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_store::keys::decision_listed::DomainKey;

/// The generation of a store that was never restored, whose cursors do not name it.
const FIRST_GENERATION: u32 = 1;

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
            Self::Decision(DecisionPlace::Root(root)) => format!("d{root}"),
            Self::Decision(DecisionPlace::Listed {
                domain,
                begun,
                root,
            }) => {
                let domain = hex::encode(domain.as_bytes());
                format!("l{domain}-{:x}-{root}", begun.get())
            }
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
        let root_of = |text: &str| -> Result<DecisionId, Error> {
            text.parse().map_err(|_: Error| foreign())
        };
        if let Some(root) = place.strip_prefix('d') {
            return Ok(Some(DecisionPlace::Root(root_of(root)?)));
        }
        let listed = place.strip_prefix('l').ok_or_else(foreign)?;
        let mut parts = listed.splitn(3, '-');
        let (Some(domain), Some(begun), Some(root)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(foreign());
        };
        let mut bytes = [0; DomainKey::LEN];
        hex::decode_to_slice(domain, &mut bytes).map_err(|_| foreign())?;
        let begun = u64::from_str_radix(begun, 16).map_err(|_| foreign())?;
        Ok(Some(DecisionPlace::Listed {
            domain: DomainKey::from_bytes(bytes),
            begun: Seq::new(begun),
            root: root_of(root)?,
        }))
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
mod tests {
    use sillok_core::id::VerificationId;

    use super::*;

    #[test]
    fn a_cursor_is_read_back_by_its_own_listing_only() {
        for generation in [1, 7, u32::MAX] {
            let seq = Cursor::Seq(Seq::new(700)).encode(generation);
            let scope = Scope::parse("org/a.b/project/b").unwrap();
            let path = Cursor::Scope(scope.clone()).encode(generation);
            let entry = EntryId::from_bytes([9; 16]);
            let line = Cursor::Entry(entry).encode(generation);
            let place = JobPlace {
                slot: Slot::new(4_095).unwrap(),
                verification: VerificationId::from_bytes([7; 16]),
            };
            let job = Cursor::Promotion(place).encode(generation);
            let read_job = |text: &str| Cursor::promotion(Some(text), generation);
            assert_eq!(read_job(&job).unwrap(), Some(place));
            for foreign in [&path, &line, &seq, "j", "j1000-", "jfff-x", "jfff"] {
                assert!(read_job(foreign).is_err(), "{foreign}");
            }
            let root = DecisionId::from_bytes([5; 16]);
            let of_all = DecisionPlace::Root(root);
            let of_rank = DecisionPlace::Listed {
                domain: DomainKey::from_bytes([6; DomainKey::LEN]),
                begun: Seq::new(700),
                root,
            };
            let decision = Cursor::Decision(of_all).encode(generation);
            let listed = Cursor::Decision(of_rank).encode(generation);
            let read_root = |text: &str| Cursor::decision(Some(text), generation);
            assert_eq!(read_root(&decision).unwrap(), Some(of_all));
            assert_eq!(read_root(&listed).unwrap(), Some(of_rank));
            let short = format!("l06-1-{root}");
            for foreign in [
                &path, &line, &seq, &job, "d", "d5", "l", "l-", "l--", &short,
            ] {
                assert!(read_root(foreign).is_err(), "{foreign}");
            }
            assert!(Cursor::entry(Some(&decision), generation).is_err());
            let id = EvidenceId::from_bytes([4; 16]);
            let evidence = Cursor::Evidence(id).encode(generation);
            let read_evidence = |text: &str| Cursor::evidence(Some(text), generation);
            assert_eq!(read_evidence(&evidence).unwrap(), Some(id));
            let id = AnchorId::from_bytes([3; 16]);
            let anchor = Cursor::Anchor(id).encode(generation);
            let read_anchor = |text: &str| Cursor::anchor(Some(text), generation);
            assert_eq!(read_anchor(&anchor).unwrap(), Some(id));
            for foreign in [&path, &line, &seq, &decision, "v", "a", "a5"] {
                assert!(read_evidence(foreign).is_err(), "{foreign}");
                assert!(read_anchor(foreign).is_err(), "{foreign}");
            }
            assert!(read_evidence(&anchor).is_err() && read_anchor(&evidence).is_err());
            let name: RelationName = "CAUSES_7".parse().unwrap();
            let relation = Cursor::Relation(name).encode(generation);
            let read_relation = |text: &str| Cursor::relation(Some(text), generation);
            assert_eq!(read_relation(&relation).unwrap(), Some(name));
            for foreign in [&path, &line, &seq, &anchor, "k", "k7", "kVALIDATES"] {
                assert!(read_relation(foreign).is_err(), "{foreign}");
            }
            assert!(read_anchor(&relation).is_err());
            let read = |text: &str| Cursor::seq(Some(text), generation);
            assert_eq!(read(&seq).unwrap(), Seq::new(700));
            assert_eq!(Cursor::scope(Some(&path), generation).unwrap(), Some(scope));
            assert_eq!(Cursor::entry(Some(&line), generation).unwrap(), Some(entry));
            assert_eq!(read("700").unwrap(), Seq::new(700));
            for foreign in [
                path.as_str(),
                &line,
                &job,
                "",
                "\u{e9}",
                "-7",
                "q7.",
                "q7.1.1",
            ] {
                assert!(read(foreign).is_err(), "{foreign}");
            }
            for wrong in [&path, &line] {
                assert_eq!(read(wrong).unwrap_err().code, ErrorCode::InvalidArgument);
            }
            assert!(Cursor::scope(Some(&seq), generation).is_err());
            assert!(Cursor::entry(Some(&seq), generation).is_err());
        }
    }

    #[test]
    fn a_cursor_from_before_a_restore_is_refused_by_name() {
        let scope = Scope::parse("org/a").unwrap();
        for (given, current) in [(1, 5), (5, 1), (5, 6)] {
            let code = |refused: Error| refused.code;
            let seq = Cursor::Seq(Seq::new(7)).encode(given);
            let path = Cursor::Scope(scope.clone()).encode(given);
            let line = Cursor::Entry(EntryId::from_bytes([9; 16])).encode(given);
            let changed = Err(ErrorCode::HistoryChanged);
            assert_eq!(
                Cursor::seq(Some(&seq), current).map_err(code),
                changed.map(|()| Seq::ZERO)
            );
            assert_eq!(
                Cursor::scope(Some(&path), current).map_err(code),
                changed.map(|()| None)
            );
            assert_eq!(
                Cursor::entry(Some(&line), current).map_err(code),
                changed.map(|()| None)
            );
        }
    }

    #[test]
    fn no_cursor_is_the_start() {
        assert_eq!(Cursor::seq(None, 3).unwrap(), Seq::ZERO);
        assert_eq!(Cursor::scope(None, 3).unwrap(), None);
        assert_eq!(Cursor::entry(None, 3).unwrap(), None);
        assert_eq!(Cursor::promotion(None, 3).unwrap(), None);
        assert_eq!(Cursor::decision(None, 3).unwrap(), None);
        assert_eq!(Cursor::evidence(None, 3).unwrap(), None);
        assert_eq!(Cursor::anchor(None, 3).unwrap(), None);
        assert_eq!(Cursor::relation(None, 3).unwrap(), None);
    }
}
