//! Whom a hook speaks as, and what stands for that in a spool.
//!
//! Owns the name under which an attempt is noted. It must not know where tokens lie.

use crate::agent::{self, Own};

/// Whom a hook speaks as.
#[derive(Debug, Default)]
pub enum Speaker {
    /// Nobody: there is no token.
    #[default]
    Nobody,
    /// Whoever a token is of that was named.
    Named(String),
    /// An agent of the project, by the project's own token.
    Own(Own),
}

impl Speaker {
    /// The token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::Nobody => None,
            Self::Named(token) => Some(token),
            Self::Own(own) => Some(&own.token),
        }
    }

    /// What stands for it in a spool. Of a token that was named nobody knows whose it is, so it stands for itself; a project's
    /// own one is renewed, and whoever has it stays the same.
    #[must_use]
    pub fn by(&self) -> String {
        match self {
            Self::Nobody => fingerprint(""),
            Self::Named(token) => fingerprint(token),
            Self::Own(own) => own.by.clone(),
        }
    }

    /// Why the token could not be kept, where it could not.
    #[must_use]
    pub const fn unkept(&self) -> Option<&agent::Error> {
        match self {
            Self::Own(own) => own.unkept.as_ref(),
            Self::Nobody | Self::Named(_) => None,
        }
    }
}

/// What stands for a token: it tells tokens apart, and tells nobody the token.
fn fingerprint(token: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 hook token");
    hasher.update(token.as_bytes());
    hex::encode(&hasher.finalize().as_bytes()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_are_named_are_told_apart_and_those_of_one_agent_are_not() {
        let named = |token: &str| Speaker::Named(token.to_owned()).by();
        assert_eq!(named("slk_one"), named("slk_one"));
        assert_ne!(named("slk_one"), named("slk_two"));
        assert!(!named("slk_one").contains("slk"));
        let own = |token: &str, by: &str| {
            let own = Own {
                token: token.to_owned(),
                by: by.to_owned(),
                unkept: None,
            };
            Speaker::Own(own).by()
        };
        assert_eq!(own("slk_one", "agent"), own("slk_two", "agent"));
        assert_ne!(own("slk_one", "agent"), own("slk_one", "other"));
    }
}
