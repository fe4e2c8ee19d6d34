//! Recall: from a question to the entries that answer it, each with why it stands where it stands.
//!
//! Owns the way from the index's lists to the answer. The index only proposes: what an entry says
//! and how far it is trusted comes from the store, and the order from `core::recall`.

use std::collections::BTreeMap;

use sillok_core::entry::{Embedding, Head, Status, Table, Version};
use sillok_core::gate::Verdict;
use sillok_core::id::EntryId;
use sillok_core::limits::{QUERY_BYTES_MAX, RECALL_CANDIDATES_MAX, RECALL_RESULTS_MAX};
use sillok_core::ports::{SearchLists, SearchRequest};
use sillok_core::recall::{
    Asked, Budget, Fused, Hit, Narrowing, Score, confidence_min, fuse, mark_as_data, rank,
    tokens_of,
};
use sillok_core::scope::Scope;
use sillok_core::secret::mask;
use sillok_core::validity::{AsOf, Validity};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::ScopeKey;
use sillok_store::{Store, Txn};

use super::entries::{head_of, view};
use super::recall_at::AtCommit;
use super::{EntryView, Reader};
use crate::protocol::{Correct, Protocol};

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallQuery {
    /// Where it is asked: this scope and its ancestors are seen.
    pub scope: Scope,
    /// The question.
    pub text: String,
    /// How many results at most; as configured when none is given.
    pub limit: Option<usize>,
    /// What the answer is to be about.
    pub narrowing: Narrowing,
    /// Failures, and nothing else.
    pub failures_only: bool,
    /// Stored confidence at least this, where that is more than what is configured.
    pub confidence_min: Option<f64>,
    /// Room for so many tokens, as [`tokens_of`] estimates them.
    pub tokens_max: Option<u64>,
    /// What holds at this commit, and not what holds now.
    pub as_of: Option<AsOf>,
}

impl RecallQuery {
    /// A question about everything that is seen there now, answered as is configured.
    #[must_use]
    pub fn new(scope: Scope, text: impl Into<String>) -> Self {
        Self {
            scope,
            text: text.into(),
            limit: None,
            narrowing: Narrowing::default(),
            failures_only: false,
            confidence_min: None,
            tokens_max: None,
            as_of: None,
        }
    }

    const fn asked(&self) -> Asked {
        Asked {
            failures_only: self.failures_only,
            at_commit: self.as_of.is_some(),
        }
    }
}

/// What was recalled, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallAnswer {
    /// The results.
    pub results: Vec<Recalled>,
    /// Tokens of their marked texts together, estimated, and results that there was no room for.
    pub budget: Budget,
    /// Whether the question was compared by meaning too; only by its words when no embedder
    /// answered.
    pub by_meaning: bool,
    /// Whether the index had all that was published and that the question is about. Once a table of it was damaged it does
    /// not until that is built again: something may be missing then.
    pub whole: bool,
    /// What is said of the commit that was asked about, if one was.
    pub at: Option<AtCommit>,
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// The entry's head, with its citations, status and trust.
    pub head: Head,
    /// Its active version.
    pub version: Version,
    /// Its text, marked as data.
    pub data: String,
    /// Tokens of that, estimated.
    pub tokens: u64,
    /// Where it stood in each list.
    pub found: Fused,
    /// Its score by its factors.
    pub score: Score,
    /// What the cognitive gate says of it.
    pub gate: Verdict,
    /// Whether it holds at the commit that was asked about, if one was.
    pub validity: Option<Validity>,
}

impl<S: Store> Reader<S> {
    /// Answers a question from the published entries of a scope and its ancestors.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the question, `unavailable` when the index does not
    /// answer, and what the store answers.
    pub async fn recall(&self, query: RecallQuery) -> Result<RecallAnswer, Error> {
        self.recall_under(Correct, query).await
    }

    /// As [`recall`](Self::recall), under a protocol.
    pub(crate) async fn recall_under<P: Protocol>(
        &self,
        protocol: P,
        mut query: RecallQuery,
    ) -> Result<RecallAnswer, Error> {
        let results_max = self.check(&query)?;
        let room = (results_max, Budget::of(query.tokens_max)?);
        query.narrowing = query.narrowing.checked()?;
        // As with what is stored: no secret leaves for whoever makes the vectors.
        let embedding = self.embed(&mask(&query.text).text).await;
        let mut request = self.request(&query, embedding, results_max);
        loop {
            let lists = self.index.search(&request).await.map_err(|error| {
                Error::new(ErrorCode::Unavailable, format!("the index: {error}"))
            })?;
            let is_full = lists.vector.len().max(lists.text.len()) >= request.limit;
            let answer = self.answer(protocol, &query, &request, lists, room).await?;
            let places = answer.results.len() as u64 + answer.budget.left_out;
            let is_short = places < results_max as u64;
            // What does not hold at the commit, or is trusted less than its own table asks for, takes no place from what
            // lies further down: the index knows no commits, and one least confidence for all tables.
            let is_crowded = is_short && is_full;
            if !is_crowded || request.limit >= RECALL_CANDIDATES_MAX {
                return Ok(answer);
            }
            request.limit = RECALL_CANDIDATES_MAX;
        }
    }

    /// What the index's lists come to, with room for so many results and tokens.
    async fn answer<P: Protocol>(
        &self,
        protocol: P,
        query: &RecallQuery,
        request: &SearchRequest,
        lists: SearchLists,
        (mut places, mut budget): (usize, Budget),
    ) -> Result<RecallAnswer, Error> {
        let whole = !lists.partial;
        let by_meaning = request.embedding.is_some() && !lists.by_words_alone;
        let seen = |found: &Fused| request.scopes.contains(&found.scope);
        let fused: Vec<Fused> = fuse(&lists, self.rules.recall.rrf_k)
            .into_iter()
            .filter(seen)
            .collect();
        // The snapshot is taken after the search: what the index knows, the store knows by then.
        let mut txn = self.snapshot().await?;
        let heads = heads(&mut txn, &fused).await?;
        let head_of = |found: &Fused| heads.get(&found.entry).filter(|head| fits(head, query));
        let now = self.clock.now();
        let hits = rank(fused, head_of, query.asked(), now, &self.rules);
        let (hits, at) = match &query.as_of {
            None => (hits.into_iter().map(|hit| (hit, None)).collect(), None),
            Some(as_of) => {
                let asked = (&query.scope, as_of);
                let (held, at) = self.held(protocol, asked, hits, &heads).await;
                (held, Some(at))
            }
        };
        let mut results = Vec::with_capacity(places.min(hits.len()));
        // Those that there was no room for count: what stands further down does not take their place.
        for (hit, validity) in hits {
            if places == 0 {
                break;
            }
            let Some(found) = recalled(&mut txn, hit, validity).await? else {
                continue;
            };
            if !query
                .narrowing
                .concerns(&found.head.citations, &found.version.content)
            {
                continue;
            }
            places -= 1;
            if budget.takes(found.tokens) {
                results.push(found);
            }
        }
        Ok(RecallAnswer {
            results,
            budget,
            by_meaning,
            whole,
            at,
        })
    }

    /// Checks the question's form. The number of results.
    fn check(&self, query: &RecallQuery) -> Result<usize, Error> {
        let invalid = |what: &str| Err(Error::new(ErrorCode::InvalidArgument, what));
        if query.text.trim().is_empty() {
            return invalid("a question is not empty");
        }
        if query.text.len() > QUERY_BYTES_MAX {
            return Err(Error::too_large(
                "query bytes",
                QUERY_BYTES_MAX as u64,
                query.text.len() as u64,
            ));
        }
        if query
            .confidence_min
            .is_some_and(|least| !(0.0..=1.0).contains(&least))
        {
            return invalid("confidence lies between 0 and 1");
        }
        let results_max = query.limit.unwrap_or(self.rules.recall.results);
        if results_max == 0 {
            return invalid("a recall has at least one result");
        }
        if results_max > RECALL_RESULTS_MAX {
            return Err(Error::too_large(
                "results",
                RECALL_RESULTS_MAX as u64,
                results_max as u64,
            ));
        }
        Ok(results_max)
    }

    /// The vector of the question. A question without one is still answered by its words.
    async fn embed(&self, text: &str) -> Option<Embedding> {
        match self.embedder.embed(&[text]).await {
            Ok(mut embeddings) => embeddings.pop(),
            Err(error) => {
                tracing::warn!(%error, "a question is answered by its words alone");
                None
            }
        }
    }

    fn request(
        &self,
        query: &RecallQuery,
        embedding: Option<Embedding>,
        results_max: usize,
    ) -> SearchRequest {
        let narrowed = query.narrowing.searched();
        let tables = if narrowed.is_empty() {
            Table::ALL
        } else {
            &narrowed
        };
        let configured = tables
            .iter()
            .map(|table| confidence_min(*table, query.failures_only, &self.rules.recall));
        let lowest = configured.fold(1.0, f64::min);
        let mut statuses = vec![Status::Hypothesis, Status::Verified, Status::Published];
        assert!(
            statuses.iter().all(|status| status.is_live()),
            "recall searches what is live"
        );
        // What was replaced holds still at commits before that.
        statuses.extend(query.as_of.as_ref().map(|_| Status::Deprecated));
        SearchRequest {
            scopes: query.scope.with_ancestors(),
            tables: narrowed,
            statuses,
            failures: query.failures_only,
            confidence_min: query
                .confidence_min
                .map_or(lowest, |least| least.max(lowest)),
            text: query.text.clone(),
            embedding,
            limit: self.candidates(query, results_max),
        }
    }

    /// Length of each list. The index knows no files and symbols: as much as it gives is looked through for them.
    fn candidates(&self, query: &RecallQuery, results_max: usize) -> usize {
        if query.narrowing.has_places() {
            return RECALL_CANDIDATES_MAX;
        }
        let configured = self.rules.recall.candidates;
        configured.max(results_max).min(RECALL_CANDIDATES_MAX)
    }
}

/// The heads of what was found, as the store has them.
async fn heads(txn: &mut impl Txn, fused: &[Fused]) -> Result<BTreeMap<EntryId, Head>, Error> {
    let mut heads = BTreeMap::new();
    for found in fused {
        if let Some(head) = head_of(txn, &ScopeKey::of(&found.scope), found.entry).await? {
            heads.insert(found.entry, head);
        }
    }
    Ok(heads)
}

/// Whether an entry is what the question asked for, by its head: the index may be behind.
fn fits(head: &Head, query: &RecallQuery) -> bool {
    query.narrowing.admits(head.table)
        && query
            .confidence_min
            .is_none_or(|least| head.trust.confidence >= least)
}

/// A result with its text.
async fn recalled(
    txn: &mut impl Txn,
    hit: Hit,
    validity: Option<Validity>,
) -> Result<Option<Recalled>, Error> {
    let Some(EntryView { head, version }) = view(txn, &hit.fused.scope, hit.fused.entry).await?
    else {
        return Ok(None);
    };
    let data = mark_as_data(&version.content);
    Ok(Some(Recalled {
        head,
        version,
        tokens: tokens_of(&data),
        data,
        found: hit.fused,
        score: hit.score,
        // No work tree is at hand here: whoever has one asks the gate there.
        gate: Verdict::Unverifiable,
        validity,
    }))
}
