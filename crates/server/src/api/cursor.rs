//! Cursors: where a listing or a tail goes on, as opaque text.
//!
//! Owns the form. A cursor of one sort of listing is refused by another.

use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{EntryId, Seq};
use sillok_core::scope::Scope;

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// After this position of a scope.
    Seq(Seq),
    /// After this scope.
    Scope(Scope),
    /// After this entry of a line.
    Entry(EntryId),
}

impl Cursor {
    /// The text that is handed out.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Seq(seq) => format!("q{:x}", seq.get()),
            Self::Scope(scope) => format!("p{}", hex::encode(scope.as_str())),
            Self::Entry(entry) => format!("e{entry}"),
        }
    }

    /// Reads a cursor over positions, or a position as it stands in an event; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn seq(text: Option<&str>) -> Result<Seq, Error> {
        let Some(text) = text else {
            return Ok(Seq::ZERO);
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
    /// `invalid_argument`.
    pub fn scope(text: Option<&str>) -> Result<Option<Scope>, Error> {
        let Some(text) = text else { return Ok(None) };
        let bytes = text
            .strip_prefix('p')
            .and_then(|digits| hex::decode(digits).ok())
            .ok_or_else(foreign)?;
        let path = String::from_utf8(bytes).map_err(|_| foreign())?;
        Scope::parse(&path).map(Some).map_err(|_| foreign())
    }

    /// Reads a cursor over the entries of a line; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn entry(text: Option<&str>) -> Result<Option<EntryId>, Error> {
        let Some(text) = text else { return Ok(None) };
        let id = text.strip_prefix('e').ok_or_else(foreign)?;
        id.parse().map(Some).map_err(|_: Error| foreign())
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
    use super::*;

    #[test]
    fn a_cursor_is_read_back_by_its_own_listing_only() {
        let seq = Cursor::Seq(Seq::new(700)).encode();
        let scope = Scope::parse("org/a/project/b").unwrap();
        let path = Cursor::Scope(scope.clone()).encode();
        let entry = EntryId::from_bytes([9; 16]);
        let line = Cursor::Entry(entry).encode();
        assert_eq!(Cursor::seq(Some(&seq)).unwrap(), Seq::new(700));
        assert_eq!(Cursor::scope(Some(&path)).unwrap(), Some(scope));
        assert_eq!(Cursor::entry(Some(&line)).unwrap(), Some(entry));
        assert_eq!(Cursor::seq(Some("700")).unwrap(), Seq::new(700));
        for foreign in [
            &path,
            &line,
            &String::new(),
            &"é".to_owned(),
            &"-7".to_owned(),
        ] {
            assert_eq!(
                Cursor::seq(Some(foreign)).unwrap_err().code,
                ErrorCode::InvalidArgument
            );
        }
        assert!(Cursor::scope(Some(&seq)).is_err() && Cursor::entry(Some(&seq)).is_err());
    }

    #[test]
    fn no_cursor_is_the_start() {
        assert_eq!(Cursor::seq(None).unwrap(), Seq::ZERO);
        assert_eq!(Cursor::scope(None).unwrap(), None);
        assert_eq!(Cursor::entry(None).unwrap(), None);
    }
}
