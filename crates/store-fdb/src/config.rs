//! What a store over FoundationDB may be tuned to.
//!
//! Owns the names of installations. Must not know how the values are read from a file.

use std::path::PathBuf;
use std::str::FromStr;

use sillok_store::header::Layout;
use sillok_store::limits::INSTALLATION_BYTES_MAX;

/// How long a transaction may take after its begin, its reads and its commit together, in ms of wall time.
/// FoundationDB answers one that is older than five seconds with `TooOld`; less than that would have it end
/// as a time-out, which says nothing about what became of it.
pub const LIFETIME_MS: u32 = 7_000;
/// What begins the keys of every installation.
const PREFIX: &str = "sillok/";
/// What ends the prefix of one: no name holds it, so that no prefix begins another one.
const END: char = '/';

/// Configuration of a [`super::FdbStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FdbConfig {
    /// The file that names the cluster's coordinators.
    pub cluster_file: PathBuf,
    /// Whose keys these are.
    pub installation: Installation,
    /// What is written at creation and checked at each opening. The generation has 16 bits.
    pub layout: Layout,
    /// How long the cluster may take to begin a transaction, in ms. Once it has begun, it may take
    /// [`LIFETIME_MS`] more.
    pub begin_timeout_ms: u32,
}

/// The name of an installation: several may share a cluster, each under its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation(String);

impl Installation {
    /// Characters of a name.
    pub const CHARS_MAX: usize = INSTALLATION_BYTES_MAX - PREFIX.len() - END.len_utf8();

    /// What the installation's keys begin with.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        format!("{PREFIX}{}{END}", self.0).into_bytes()
    }
}

/// Why a text names no installation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an installation's name has 1 to {most} of a-z, 0-9 and '-', which '{name}' has not", most = Installation::CHARS_MAX)]
pub struct NotAName {
    name: String,
}

impl FromStr for Installation {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let is_clean =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = (1..=Self::CHARS_MAX).contains(&text.len());
        if fits && text.bytes().all(is_clean) {
            Ok(Self(text.to_owned()))
        } else {
            let name = text.to_owned();
            Err(NotAName { name })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        let longest = "x".repeat(Installation::CHARS_MAX);
        for name in ["a", "prod-7", &longest] {
            let installation: Installation = name.parse().unwrap();
            assert!(installation.prefix().len() <= INSTALLATION_BYTES_MAX);
        }
        for name in ["", "A", "a/b", "a b", "ä", &format!("{longest}x")] {
            let refused = name.parse::<Installation>().unwrap_err();
            assert!(
                refused.to_string().contains(&format!("'{name}'")),
                "{refused}"
            );
        }
    }

    #[test]
    fn no_prefix_begins_another_one() {
        let prefix = |name: &str| name.parse::<Installation>().unwrap().prefix();
        assert!(!prefix("prod-7").starts_with(&prefix("prod")));
    }
}
