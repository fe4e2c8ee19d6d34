//! Index documents: what the index is told of an entry, read from the store.
//!
//! Owns the loading of one document. The text and its vector stand in the event that wrote the
//! active version, so head changes need no second copy of them. Of an entry that leaves, nothing is read beside its head.

use std::collections::BTreeMap;

use sillok_core::entry::{ClaimHash, Detail, Head, Metadata, Status};
use sillok_core::event::{Body, Text};
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::retention::Age;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::Txn;
use sillok_store::keys::{self, ScopeKey};

use crate::errors::refusal;
use crate::rows;

/// The document of an entry whose head is `head`. Of one that is gone it has no text and no vector: the index forgets it.
///
/// # Errors
/// What the store answered, or `internal` when the event is not the one that the head names.
pub(crate) async fn load(txn: &mut impl Txn, head: &Head, stamp: Stamp) -> Result<IndexDoc, Error> {
    let told = if head.status == Status::Archived {
        no_text(head)
    } else {
        text(txn, head).await?
    };
    Ok(document(head, told, stamp))
}

/// The text of an entry's active version, which was not erased, with its vector.
///
/// # Errors
/// What the store answered, or `internal` when the event is not the one that the head names.
pub(crate) async fn text(txn: &mut impl Txn, head: &Head) -> Result<Text, Error> {
    let key = keys::event::key(&ScopeKey::of(&head.scope), head.version_seq);
    let event = rows::read(txn, &key, keys::event::decode).await;
    let event = event.map_err(|error| refusal(&error))?;
    let body = event.map(|event| event.decode_body()).transpose();
    let body = body
        .map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))?
        .flatten();
    match body {
        Some(Body::EntryCreated(created)) => Ok(created.text),
        Some(Body::EntryAmended(amended)) => Ok(amended.text),
        _ => {
            let why = format!(
                "entry {} names event {} as its text",
                head.id, head.version_seq
            );
            Err(Error::new(ErrorCode::Internal, why))
        }
    }
}

/// What is told of an entry whose text is not.
fn no_text(head: &Head) -> Text {
    Text {
        content: String::new(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        content_hash: head.content_hash,
        embedding: None,
    }
}

/// The document of an entry with this text.
#[must_use]
pub fn document(head: &Head, text: Text, stamp: Stamp) -> IndexDoc {
    let claim = text.claim.as_ref();
    IndexDoc {
        claim: claim.map(|claim| ClaimHash::of(claim, &head.scope)),
        scope: head.scope.clone(),
        entry: head.id,
        version: head.version,
        table: head.table,
        status: head.status,
        failure: head.failure,
        confidence: head.trust.confidence,
        content_hash: text.content_hash,
        content: text.content,
        embedding: text.embedding,
        created_at: head.created_at,
        // No run is planned over what is gone.
        age: if head.status == Status::Archived {
            Age::default()
        } else {
            Age::of(head, &text.detail)
        },
        stamp,
    }
}

/// The documents of entries, each at the last of its heads.
///
/// # Errors
/// As [`load`].
pub(crate) async fn load_all(
    txn: &mut impl Txn,
    heads: impl Iterator<Item = &Head>,
    stamp: Stamp,
) -> Result<Vec<IndexDoc>, Error> {
    let last: BTreeMap<EntryId, &Head> = heads.map(|head| (head.id, head)).collect();
    let mut docs = Vec::with_capacity(last.len());
    for head in last.into_values() {
        docs.push(load(txn, head, stamp).await?);
    }
    Ok(docs)
}
