//! Fitting: entries as they are now, each with a vector of one space.
//!
//! Owns where such a vector comes from: the entry's event, else a row that some node of the cluster has written, else the
//! embedder, whose answer becomes such a row. A row is written only while its entry says what was embedded, so that an
//! erasure or a new version that comes in between wins. It must not know which entries are brought when.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use sillok_core::entry::{Embedding, Head, SpaceId};
use sillok_core::id::EntryId;
use sillok_core::ports::{Clock, Embedder, IndexDoc, PortError, VectorIndex as _};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::vector::{self, Row};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::Spaces;
use super::side::{Name, Side};
use crate::documents;
use crate::errors::{engine_refusal, refusal};
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};

/// Entries that are read in one transaction, and texts that an embedder is given with one call.
pub(super) const TEXTS_AT_ONCE: usize = 32;
/// What is gathered of documents before the index is handed them: each batch is a version of its own there.
const BYTES_AT_ONCE: usize = 8 << 20;
/// How long they are gathered, in ms.
const GATHER_MS: u64 = 1_000;
/// The longest that a batch, or what it needs to know, waits for vectors, in ms: other batches wait for their turn behind it.
pub(super) const WAIT_MS_MAX: u64 = 5_000;
/// Tries to write rows that meet other writers.
const TRIES_MAX: usize = 4;
/// A text that any embedder takes, for telling apart whether it refuses a text or answers nobody.
const PROBE: &str = "a probe";

/// Entries as they are at one moment.
#[derive(Default)]
struct Loaded {
    /// Those with a vector of the space, and those that have left.
    ready: Vec<IndexDoc>,
    /// Those without.
    missing: Vec<IndexDoc>,
}

/// What came of bringing entries.
#[derive(Default)]
pub(super) struct Brought {
    /// So many of them, from the first, were brought.
    pub(super) count: usize,
    /// What the next ones met, if they met something.
    pub(super) failed: Option<Error>,
}

impl<S: Store, P: Protocol> Spaces<S, P> {
    /// Brings entries to a side's index as they are now, with their vectors: as many as are at hand soon, in one batch.
    /// What fails is store, embedder or index; those whose vectors were at hand were brought all the same.
    pub(super) async fn bring(&self, side: &Side, names: &[Name]) -> Brought {
        let began_ms = self.clock.monotonic_ms();
        let erasures = side.erasures();
        let mut docs: Vec<IndexDoc> = Vec::new();
        let mut bytes = 0;
        let mut brought = Brought::default();
        for part in names.chunks(TEXTS_AT_ONCE) {
            let known = docs.len();
            let fitted = self.fit(side, part, &mut docs).await;
            bytes += docs[known..].iter().map(bytes_of).sum::<usize>();
            if let Err(error) = fitted {
                brought.failed = Some(error);
                break;
            }
            brought.count += part.len();
            let is_late = self.clock.monotonic_ms() >= began_ms + GATHER_MS;
            // What was erased meanwhile waits for what is asked of the embedder just then: for no more than these texts.
            if bytes >= BYTES_AT_ONCE || is_late || side.erasures() != erasures {
                break;
            }
        }
        if docs.is_empty() {
            return brought;
        }
        match side.index.apply(docs, Stamp::ZERO).await {
            Ok(()) => brought,
            Err(error) => Brought {
                count: 0,
                failed: Some(engine_refusal(&error)),
            },
        }
    }

    /// Adds entries as they are now, with their vectors, each with the stamp of the snapshot that it was read in. Those
    /// whose vectors are at hand are added though those of others cannot be made.
    async fn fit(
        &self,
        side: &Side,
        names: &[Name],
        docs: &mut Vec<IndexDoc>,
    ) -> Result<(), Error> {
        let mut loaded = self.load(side, names).await?;
        let mut fitted = Ok(());
        if !loaded.missing.is_empty() {
            match self.make(side, &loaded.missing).await {
                Ok(refused) => {
                    // Anew, so that the stamp lies behind all that was said of them while the embedder was asked.
                    loaded = self.load(side, names).await?;
                    let is_refused = |doc: &IndexDoc| refused.contains(&(doc.entry, doc.version));
                    let (mut without, changed): (Vec<_>, Vec<_>) =
                        loaded.missing.into_iter().partition(is_refused);
                    without.iter_mut().for_each(|doc| doc.embedding = None);
                    loaded.ready.extend(without);
                    if !changed.is_empty() {
                        let why = "entries were written while their vectors were made";
                        fitted = Err(Error::busy(why, 0));
                    }
                }
                Err(error) => fitted = Err(error),
            }
        }
        docs.extend(loaded.ready);
        fitted
    }

    /// Loads entries. What is damaged is left out: the audit names it.
    async fn load(&self, side: &Side, names: &[Name]) -> Result<Loaded, Error> {
        let mut txn = self.begin().await?;
        let mut docs = Vec::with_capacity(names.len());
        for (scope, entry) in names {
            let found = async {
                let key = keys::head::key(&ScopeKey::of(scope), *entry);
                let head = read(&mut txn, &key, Read::Snapshot, keys::head::decode).await?;
                match head {
                    Some(head) => documents::load(&mut txn, &head, Stamp::ZERO)
                        .await
                        .map(Some),
                    None => Ok(None),
                }
            };
            match found.await {
                Ok(found) => docs.extend(found),
                Err(error) if error.code == ErrorCode::Internal => {
                    tracing::warn!(%error, %entry, "an entry cannot be read, and gets no vector");
                }
                Err(error) => return Err(error),
            }
        }
        let mut loaded = Loaded::default();
        for mut doc in docs {
            if !side.suits(&doc) {
                match row(&mut txn, side, &doc).await? {
                    Some(vector) => doc.embedding = Some(vector),
                    None => {
                        loaded.missing.push(doc);
                        continue;
                    }
                }
            }
            loaded.ready.push(doc);
        }
        // Whatever is committed later is newer than what was read, and nothing before is.
        let seen = txn.commit().await.map_err(|error| refusal(&error))?.stamp;
        let all = loaded.ready.iter_mut().chain(&mut loaded.missing);
        all.for_each(|doc| doc.stamp = seen);
        Ok(loaded)
    }

    /// Has the vectors of entries made, and keeps them. The versions whose texts the embedder refuses.
    async fn make(
        &self,
        side: &Side,
        docs: &[IndexDoc],
    ) -> Result<BTreeSet<(EntryId, u64)>, Error> {
        let texts: Vec<&str> = docs.iter().map(|doc| doc.content.as_str()).collect();
        let vectors = embed_each(&*side.embedder, &side.space, &texts).await;
        let vectors = vectors.map_err(|error| {
            // Of one that answers nonsense, an answer may come later too.
            Error::new(
                ErrorCode::Unavailable,
                format!("the embedder of {}: {error}", side.space),
            )
        })?;
        let pairs = || docs.iter().zip(&vectors);
        let refused = pairs().filter(|(_, vector)| vector.is_none());
        let refused: BTreeSet<_> = refused.map(|(doc, _)| (doc.entry, doc.version)).collect();
        for (entry, _) in &refused {
            tracing::warn!(%entry, space = %side.space, "an entry's text is refused by the embedder: it gets no vector");
        }
        let made: Vec<(&IndexDoc, &Embedding)> = pairs()
            .filter_map(|(doc, vector)| Some((doc, vector.as_ref()?)))
            .collect();
        count(&self.embedded, made.len() as u64);
        self.keep(side, &made).await?;
        Ok(refused)
    }

    /// Writes rows for those entries that still say what was embedded.
    async fn keep(&self, side: &Side, made: &[(&IndexDoc, &Embedding)]) -> Result<(), Error> {
        let any_head = !self.protocol.keeps(Safeguard::KeepsVectorsUnderHeads);
        let mut met = Error::busy("other writers came between too often", 0);
        for _ in 0..TRIES_MAX {
            let mut txn = self.begin().await?;
            let mut rows = Vec::with_capacity(made.len());
            for (doc, vector) in made {
                let scope = ScopeKey::of(&doc.scope);
                let key = keys::head::key(&scope, doc.entry);
                let head = read(&mut txn, &key, Read::Conflict, keys::head::decode).await?;
                if any_head || head.is_some_and(|head| says(&head, doc)) {
                    let row = Row {
                        version: doc.version,
                        content_hash: doc.content_hash,
                        embedding: (*vector).clone(),
                    };
                    rows.push((
                        vector::key(&scope, doc.entry, &side.key),
                        vector::encode(&row),
                    ));
                }
            }
            if rows.is_empty() {
                return Ok(());
            }
            for (key, value) in rows {
                txn.set(key, value);
            }
            match txn.commit().await {
                Ok(_) => return Ok(()),
                Err(error)
                    if error.is_retryable() || matches!(error, StoreError::OutcomeUnknown) =>
                {
                    met = refusal(&error);
                }
                Err(error) => return Err(refusal(&error)),
            }
        }
        Err(met)
    }

    /// Gives documents the vectors that are kept for them, where they have none of the side's space. Those that have a
    /// vector of another space and none here lose it, and are named.
    ///
    /// # Errors
    /// What the store answered; the documents are as they were.
    pub(super) async fn look_up(
        &self,
        side: &Side,
        docs: &mut [IndexDoc],
    ) -> Result<Vec<Name>, Error> {
        if docs.iter().all(|doc| side.suits(doc)) {
            return Ok(Vec::new());
        }
        let mut txn = self.begin().await?;
        let mut found = Vec::new();
        for doc in docs.iter().filter(|doc| !side.suits(doc)) {
            found.push(row(&mut txn, side, doc).await?);
        }
        let mut lacking = Vec::new();
        for (doc, vector) in docs.iter_mut().filter(|doc| !side.suits(doc)).zip(found) {
            if vector.is_none() && doc.embedding.is_some() {
                lacking.push((doc.scope.clone(), doc.entry));
            }
            doc.embedding = vector;
        }
        Ok(lacking)
    }

    pub(super) async fn begin(&self) -> Result<S::Txn, Error> {
        self.store.begin().await.map_err(|error| refusal(&error))
    }
}

/// Bytes of what is held of a document, about.
fn bytes_of(doc: &IndexDoc) -> usize {
    let vector = doc.embedding.as_ref();
    doc.content.len() + vector.map_or(0, |vector| size_of_val(vector.values.as_slice()))
}

/// Whether an entry still says what a document of it says.
fn says(head: &Head, doc: &IndexDoc) -> bool {
    !head.is_erased() && (head.version, head.content_hash) == (doc.version, doc.content_hash)
}

/// The vector that is kept of a document's text.
async fn row(txn: &mut impl Txn, side: &Side, doc: &IndexDoc) -> Result<Option<Embedding>, Error> {
    let key = vector::key(&ScopeKey::of(&doc.scope), doc.entry, &side.key);
    let row = match read(txn, &key, Read::Snapshot, vector::decode).await {
        Err(error) if error.code == ErrorCode::Internal => {
            tracing::warn!(%error, entry = %doc.entry, "a vector cannot be read, and is made anew");
            None
        }
        row => row?,
    };
    let fits = |row: &Row| {
        let of = (row.version, row.content_hash) == (doc.version, doc.content_hash);
        of && row.embedding.space == side.space
    };
    Ok(row.filter(fits).map(|row| row.embedding))
}

/// Reads one row in this way and decodes it; none when it is absent.
///
/// # Errors
/// What the store answered.
pub(super) async fn read<V>(
    txn: &mut impl Txn,
    key: &[u8],
    read: Read,
    decode: impl FnOnce(&[u8], &[u8]) -> Result<V, StoreError>,
) -> Result<Option<V>, Error> {
    let value = txn.get(key, read).await;
    let value = value.map_err(|error| refusal(&error))?;
    let value = value.map(|value| decode(key, &value)).transpose();
    value.map_err(|error| refusal(&error))
}

/// The vectors of texts; none for one that the embedder refuses though it takes others. Texts among which one is refused
/// are halved until that one stands alone, in some two calls for each halving: an embedder that is slow, or has a rate, is
/// not asked for each of the others by itself. Before the first halving it has to answer for another text: one that answers
/// for none in time would let each part wait that long.
///
/// # Errors
/// `Unavailable`, and `Unusable` where it takes none.
pub(crate) async fn embed_each(
    embedder: &dyn Embedder,
    space: &SpaceId,
    texts: &[&str],
) -> Result<Vec<Option<Embedding>>, PortError> {
    // What is left to be asked for, the first last.
    let mut left = vec![texts];
    let mut takes_any = false;
    let mut vectors = Vec::with_capacity(texts.len());
    while let Some(part) = left.pop() {
        if let [] | [_] = part {
            if let Some(text) = part.first() {
                vectors.push(embed_one(embedder, space, text).await?);
            }
            continue;
        }
        match ask(embedder, space, part).await {
            Ok(answer) => vectors.extend(answer.into_iter().map(Some)),
            Err(error @ PortError::Unavailable(_)) => return Err(error),
            Err(_one_of_them) => {
                if !takes_any {
                    takes_others(embedder, space).await?;
                    takes_any = true;
                }
                let (first, second) = part.split_at(part.len() / 2);
                left.extend([second, first]);
            }
        }
    }
    Ok(vectors)
}

/// The vector of one text; none where the embedder refuses it, before and after it takes another one. Once would not do:
/// whoever answers too late says the same, and the text had no vector for good.
///
/// # Errors
/// As [`embed_each`].
pub(crate) async fn embed_one(
    embedder: &dyn Embedder,
    space: &SpaceId,
    text: &str,
) -> Result<Option<Embedding>, PortError> {
    match ask(embedder, space, &[text]).await {
        Ok(mut vectors) => return Ok(vectors.pop()),
        Err(error @ PortError::Unavailable(_)) => return Err(error),
        Err(_refused_or_late) => {}
    }
    takes_others(embedder, space).await?;
    match ask(embedder, space, &[text]).await {
        Ok(mut vectors) => Ok(vectors.pop()),
        Err(error @ PortError::Unavailable(_)) => Err(error),
        Err(_refused) => Ok(None),
    }
}

/// Whether an embedder answers for a text that any embedder takes.
///
/// # Errors
/// `Unavailable`, and `Unusable` where it takes none.
pub(crate) async fn takes_others(
    embedder: &dyn Embedder,
    space: &SpaceId,
) -> Result<(), PortError> {
    ask(embedder, space, &[PROBE]).await.map(drop)
}

/// What an embedder answers, held against what it was asked.
///
/// # Errors
/// As [`answered`], and `Unusable` for another number of vectors, or such of another space.
pub(super) async fn ask(
    embedder: &dyn Embedder,
    space: &SpaceId,
    texts: &[&str],
) -> Result<Vec<Embedding>, PortError> {
    let vectors = answered(embedder, texts).await?;
    let are_of_space = vectors.iter().all(|vector| vector.space == *space);
    if vectors.len() != texts.len() || !are_of_space {
        let why = "it gave another number of vectors than of texts, or such of another space";
        return Err(PortError::Unusable(why.to_owned()));
    }
    Ok(vectors)
}

/// What an embedder answers. One that meets a defect ends nothing but that call.
///
/// # Errors
/// What it answered, and `Unusable` for a defect.
pub(super) async fn answered(
    embedder: &dyn Embedder,
    texts: &[&str],
) -> Result<Vec<Embedding>, PortError> {
    // It may be met before there is anything to wait for.
    let answer = async { embedder.embed(texts).await };
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(answer) => answer,
        Err(_defect) => {
            tracing::error!("the embedder met a defect");
            Err(PortError::Unusable("it met a defect".to_owned()))
        }
    }
}

/// What comes of vectors that somebody waits for, if it comes soon.
///
/// # Errors
/// `Unavailable` where it does not, and what came of them.
pub(crate) async fn soon<T>(
    clock: &dyn Clock,
    vectors: impl Future<Output = Result<T, PortError>>,
) -> Result<T, PortError> {
    tokio::select! {
        biased;
        vectors = vectors => vectors,
        () = clock.sleep(WAIT_MS_MAX) => {
            Err(PortError::Unavailable("the embedder is too slow".into()))
        }
    }
}
