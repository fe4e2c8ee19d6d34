//! Domains and phases: where a decision applies, and which part of the work it belongs to.
//!
//! Owns the form of their names. The two are different types, so that a phase never filters decisions.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, ErrorCode};
use crate::limits::DOMAIN_BYTES_MAX;
use crate::secret::mask;

/// The domain of what applies everywhere.
const GLOBAL: &str = "global";

macro_rules! plain_name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether there is a secret in it. It is looked up as it stands, so that it cannot be masked.
            #[must_use]
            pub fn holds_secret(&self) -> bool {
                mask(&self.0).count > 0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                check_name($what, text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self, Error> {
                text.parse()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

plain_name! {
    /// Where a decision applies: everywhere (`global`), or in one field of work, such as `runtime` or `ui`.
    Domain, "a domain"
}
plain_name! {
    /// A phase of work, such as `design`. It routes workflows.
    Phase, "a phase"
}

impl Domain {
    /// The domain of what applies everywhere.
    #[must_use]
    pub fn global() -> Self {
        Self(GLOBAL.into())
    }

    /// Whether it is that of what applies everywhere.
    #[must_use]
    pub fn is_global(&self) -> bool {
        &*self.0 == GLOBAL
    }
}

impl Default for Domain {
    fn default() -> Self {
        Self::global()
    }
}

fn check_name(what: &str, text: &str) -> Result<(), Error> {
    let fits = !text.is_empty() && text.len() <= DOMAIN_BYTES_MAX;
    let is_plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
    if fits && text.bytes().all(is_plain) {
        return Ok(());
    }
    let why = format!("{what} has 1 to {DOMAIN_BYTES_MAX} of a-z 0-9 . _ -");
    Err(Error::new(ErrorCode::InvalidArgument, why))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_is_read_as_it_is_written_or_refused(text in "[a-zA-Z0-9._ /-]{0,70}") {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            let fits = (1..=64).contains(&text.len()) && text.chars().all(is_plain);
            let read = text.parse::<Domain>();
            prop_assert_eq!(read.is_ok(), fits);
            prop_assert_eq!(text.parse::<Phase>().is_ok(), fits);
            let stored = postcard::to_allocvec(&text).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Domain>(&stored).ok(), read.clone().ok());
            if let Ok(domain) = read {
                prop_assert_eq!(domain.to_string(), text);
                prop_assert_eq!(postcard::to_allocvec(&domain).unwrap(), stored);
            }
        }
    }

    #[test]
    fn what_applies_everywhere_has_a_name_like_any_domain() {
        assert_eq!("global".parse::<Domain>().unwrap(), Domain::global());
        assert!(Domain::global().is_global() && Domain::default().is_global());
        assert!(!"ui".parse::<Domain>().unwrap().is_global());
        let refused = "ÜI".parse::<Domain>().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
}
