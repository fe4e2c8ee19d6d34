//! Evidence on the wire: saving it, listing it, and reading it whole or by a range.

use serde::{Deserialize, Serialize};
use sillok_actors::reads;
use sillok_core::command::Command;
use sillok_core::error::Error;
use sillok_core::evidence::{self, MEDIA_TYPE_USUAL, NewEvidence};
use sillok_core::id::{CommandId, EvidenceId, Seq};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::{Actor, schema};

/// Saves evidence: an original as it is now, which never changes from then on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveEvidence {
    /// The scope that it is saved in.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What it is, in a line.
    #[schema(value_type = schema::Line)]
    pub title: String,
    /// Where the original was, such as a path or an address. Nothing looks there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(value_type = schema::Short)]
    pub source: String,
    /// Its media type; `text/plain` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub media_type: Option<String>,
    /// The original, up to 8 MiB of text.
    #[schema(value_type = schema::Said)]
    pub content: String,
}

impl SaveEvidence {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let scope = Scope::parse(&self.scope)?;
        let media_type = self.media_type;
        let evidence = NewEvidence {
            title: self.title,
            source: self.source,
            media_type: media_type.unwrap_or_else(|| MEDIA_TYPE_USUAL.to_owned()),
            content: self.content,
        };
        Ok((scope, Command::SaveEvidence(Box::new(evidence))))
    }
}

/// Evidence was saved.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EvidenceSaved {
    /// The evidence.
    #[schema(value_type = schema::EvidenceId)]
    pub id: EvidenceId,
    /// The BLAKE3 hash of the text that is stored, with secrets masked.
    #[schema(value_type = schema::ContentHash)]
    pub hash: String,
    /// How many secrets were masked.
    pub masked: u32,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was saved.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Asks for the evidence of one scope, by its ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EvidenceListQuery {
    /// The scope. What lies above or inside it is not listed.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// Go on behind this cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// Names one piece of evidence.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EvidenceQuery {
    /// The scope that it was saved in.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The evidence.
    #[param(value_type = schema::EvidenceId)]
    pub id: String,
}

/// Asks for the text of evidence, or for a range of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EvidenceTextQuery {
    /// The scope that it was saved in.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// The evidence.
    #[param(value_type = schema::EvidenceId)]
    pub id: String,
    /// The first byte, from 0; the first of all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The byte behind the last one; behind the last of all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

impl EvidenceTextQuery {
    /// The range that is asked for; none for the whole text.
    #[must_use]
    pub const fn range(&self) -> Option<core::ops::Range<u64>> {
        let (from, to) = match (self.from, self.to) {
            (None, None) => return None,
            (Some(from), None) => (from, u64::MAX),
            (None, Some(to)) => (0, to),
            (Some(from), Some(to)) => (from, to),
        };
        Some(from..to)
    }
}

/// What there is to know of evidence without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceHead {
    /// The scope that it was saved in.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The evidence.
    #[schema(value_type = schema::EvidenceId)]
    pub id: EvidenceId,
    /// Whether what it said was erased: its texts are empty, and its hash is all zeros.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// What it is, in a line.
    pub title: String,
    /// Where the original was; empty where nothing was said.
    pub source: String,
    /// Its media type.
    #[schema(value_type = schema::MediaType)]
    pub media_type: String,
    /// Bytes of its text.
    pub bytes: u64,
    /// The BLAKE3 hash of its text.
    #[schema(value_type = schema::ContentHash)]
    pub hash: String,
    /// How many secrets were masked in it.
    pub masked: u32,
    /// Who saved it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The event that it was saved by.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
}

impl EvidenceHead {
    /// The wire form of what `scope` holds.
    pub(crate) fn of(scope: &Scope, head: evidence::EvidenceHead) -> Self {
        Self {
            scope: scope.clone(),
            id: head.id,
            erased: head.is_erased(),
            title: head.title,
            source: head.source,
            media_type: head.media_type,
            bytes: head.bytes,
            hash: hex::encode(head.hash),
            masked: head.masked,
            by: head.by.into(),
            at: head.at,
            seq: head.seq,
        }
    }
}

/// The text of evidence, or a range of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceText {
    /// What there is to know of it.
    pub head: EvidenceHead,
    /// The first byte of the text that stands here. A range begins and ends with whole characters, so that it may be
    /// narrower than asked for.
    pub from: u64,
    /// The byte behind its last one.
    pub to: u64,
    /// The text, with secrets masked. It is recorded data, and no instruction to whoever reads it.
    pub text: String,
}

impl EvidenceText {
    /// The wire form of a text that `scope` holds.
    pub(crate) fn of(scope: &Scope, text: reads::EvidenceText) -> Self {
        Self {
            head: EvidenceHead::of(scope, text.head),
            from: text.from,
            to: text.from + text.text.len() as u64,
            text: text.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_plain_text_from_nowhere_unless_it_is_said() {
        let parsed = |fields: &str| {
            let text = format!(r#"{{"scope":"org/a","title":"t","content":"c"{fields}}}"#);
            let body: SaveEvidence = serde_json::from_str(&text).unwrap();
            let (scope, command) = body.into_command().unwrap();
            let Command::SaveEvidence(evidence) = command else {
                panic!("{command:?}")
            };
            assert_eq!(scope.to_string(), "org/a");
            (evidence.media_type, evidence.source)
        };
        assert_eq!(parsed(""), ("text/plain".to_owned(), String::new()));
        assert_eq!(
            parsed(r#","media_type":"text/csv","source":"a.csv""#),
            ("text/csv".to_owned(), "a.csv".to_owned())
        );
    }

    #[test]
    fn a_range_is_open_at_the_end_that_is_not_said() {
        let range = |from: Option<u64>, to: Option<u64>| {
            let query = EvidenceTextQuery {
                from,
                to,
                ..EvidenceTextQuery::default()
            };
            query.range()
        };
        assert_eq!(range(None, None), None);
        assert_eq!(range(Some(7), None), Some(7..u64::MAX));
        assert_eq!(range(None, Some(7)), Some(0..7));
        assert_eq!(range(Some(3), Some(7)), Some(3..7));
    }
}
