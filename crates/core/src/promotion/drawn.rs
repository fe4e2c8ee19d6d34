//! What drew the products of a promotion, what that used, and what it did not read: said in the metadata of each product.
//!
//! Owns the form, which any node and any release reads as it reads all metadata. Whoever writes an entry may say the
//! same of it, so it counts where the entry names a promotion, in its first version.

use serde::{Deserialize, Serialize};

use super::{Spent, Unread};
use crate::entry::Metadata;

/// The keys in the order of the alphabet, in which they are stored.
#[derive(Serialize, Deserialize)]
struct Drawn<'a> {
    #[serde(borrow)]
    cognifier: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completion_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    micro_dollars: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread_events: Option<u64>,
}

impl Spent {
    /// What a cognifier used that says nothing of it.
    #[must_use]
    pub fn nothing(cognifier: &str) -> Self {
        Self {
            cognifier: cognifier.to_owned(),
            prompt_tokens: None,
            completion_tokens: None,
            micro_dollars: None,
        }
    }

    /// The metadata of an episode: the cognifier, what all attempts used, and how much it was not given to read, where
    /// that is anything.
    #[must_use]
    pub fn said(&self, unread: Unread) -> Metadata {
        let some = |count: u64| Some(count).filter(|count| *count > 0);
        let said = Drawn {
            cognifier: self.cognifier.as_str().into(),
            completion_tokens: self.completion_tokens,
            micro_dollars: self.micro_dollars,
            prompt_tokens: self.prompt_tokens,
            unread_bytes: some(unread.bytes),
            unread_events: some(unread.events),
        };
        let text = serde_json::to_string(&said).expect("plain data is JSON");
        // A name longer than metadata may be is not told.
        Metadata::parse(&text).unwrap_or_default()
    }

    /// The metadata of the other products: the cognifier alone, so that sums count a promotion once.
    #[must_use]
    pub fn said_of_others(&self) -> Metadata {
        Self::nothing(&self.cognifier).said(Unread::default())
    }

    /// What the metadata of an episode says.
    #[must_use]
    pub fn read(metadata: &Metadata) -> Option<Self> {
        let said: Drawn<'_> = serde_json::from_str(metadata.as_str()).ok()?;
        Some(Self {
            cognifier: said.cognifier.into_owned(),
            prompt_tokens: said.prompt_tokens,
            completion_tokens: said.completion_tokens,
            micro_dollars: said.micro_dollars,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_said_is_read(
            cognifier in ".{0,40}",
            used in proptest::option::of(any::<u64>()),
            gave in proptest::option::of(any::<u64>()),
            cost in proptest::option::of(any::<u64>()),
            events: u64,
            bytes: u64,
        ) {
            let spent = Spent {
                cognifier,
                prompt_tokens: used,
                completion_tokens: gave,
                micro_dollars: cost,
            };
            let said = spent.said(Unread { events, bytes });
            prop_assert_eq!(Spent::read(&said), Some(spent.clone()));
            let others = Spent::nothing(&spent.cognifier);
            prop_assert_eq!(Spent::read(&spent.said_of_others()), Some(others));
        }
    }

    #[test]
    fn the_form_never_changes_and_what_is_none_says_nothing() {
        let spent = Spent {
            prompt_tokens: Some(3),
            micro_dollars: Some(7),
            ..Spent::nothing("m 1")
        };
        let said = r#"{"cognifier":"m 1","micro_dollars":7,"prompt_tokens":3}"#;
        assert_eq!(spent.said(Unread::default()).as_str(), said);
        let unread = Unread {
            events: 2,
            bytes: 900,
        };
        let said = r#"{"cognifier":"m 1","micro_dollars":7,"prompt_tokens":3,"unread_bytes":900,"unread_events":2}"#;
        assert_eq!(spent.said(unread).as_str(), said);
        assert_eq!(spent.said_of_others().as_str(), r#"{"cognifier":"m 1"}"#);
        for other in [
            "{}",
            r#"{"cognifier":3}"#,
            r#"{"cognifier":"m","prompt_tokens":-1}"#,
        ] {
            let metadata = Metadata::parse(other).unwrap();
            assert_eq!(Spent::read(&metadata), None, "{other}");
        }
    }
}
