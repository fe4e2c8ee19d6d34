//! Cursors: where a listing or a tail goes on, as opaque text.
//!
//! Owns the form. A cursor of one sort of listing is refused by another.

use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// After this position of a scope.
    Seq(Seq),
    /// After this scope.
    Scope(Scope),
    /// After this commit.
    Stamp(Stamp),
}

impl Cursor {
    /// The text that is handed out.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Seq(seq) => format!("q{:x}", seq.get()),
            Self::Scope(scope) => format!("p{}", hex::encode(scope.as_str())),
            Self::Stamp(stamp) => format!("t{stamp}"),
        }
    }

    /// Reads a cursor over positions; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn seq(text: Option<&str>) -> Result<Seq, Error> {
        let Some(text) = text else { return Ok(Seq::ZERO) };
        let digits = text.strip_prefix('q').ok_or_else(foreign)?;
        u64::from_str_radix(digits, 16).map(Seq::new).map_err(|_| foreign())
    }

    /// Reads a cursor over scopes; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn scope(text: Option<&str>) -> Result<Option<Scope>, Error> {
        let Some(text) = text else { return Ok(None) };
        let bytes = text.strip_prefix('p').and_then(|digits| hex::decode(digits).ok()).ok_or_else(foreign)?;
        let path = String::from_utf8(bytes).map_err(|_| foreign())?;
        Scope::parse(&path).map(Some).map_err(|_| foreign())
    }

    /// Reads a cursor over commits; none stands for the start.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn stamp(text: Option<&str>) -> Result<Stamp, Error> {
        let Some(text) = text else { return Ok(Stamp::ZERO) };
        text.strip_prefix('t').ok_or_else(foreign)?.parse()
    }
}

fn foreign() -> Error {
    Error::new(ErrorCode::InvalidArgument, "not a cursor that this listing gave out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_by_its_own_listing_only() {
        let seq = Cursor::Seq(Seq::new(700)).encode();
        let scope = Scope::parse("org/a/project/b").unwrap();
        let path = Cursor::Scope(scope.clone()).encode();
        let stamp = Stamp { generation: 1, counter: 9, index: 3 };
        let tail = Cursor::Stamp(stamp).encode();
        assert_eq!(Cursor::seq(Some(&seq)).unwrap(), Seq::new(700));
        assert_eq!(Cursor::scope(Some(&path)).unwrap(), Some(scope));
        assert_eq!(Cursor::stamp(Some(&tail)).unwrap(), stamp);
        for foreign in [&path, &tail, &String::new(), &"é".to_owned()] {
            assert_eq!(Cursor::seq(Some(foreign)).unwrap_err().code, ErrorCode::InvalidArgument);
        }
        assert!(Cursor::scope(Some(&seq)).is_err() && Cursor::stamp(Some(&seq)).is_err());
    }

    #[test]
    fn no_cursor_is_the_start() {
        assert_eq!(Cursor::seq(None).unwrap(), Seq::ZERO);
        assert_eq!(Cursor::scope(None).unwrap(), None);
        assert_eq!(Cursor::stamp(None).unwrap(), Stamp::ZERO);
    }
}
