//! Fetching facts: what `core::facts::needs` asks for, read through the store and the index.
//!
//! Owns the loop between asking and fetching. The index is asked before the transaction begins, which
//! does not live long enough to wait for many searches. What is read in it is a snapshot read, save
//! for the mark and the job of a promotion and for heads, evidence and declared kinds of other scopes: what else must not change
//! until the commit is in the commit's own conflict set.

use sillok_core::chain::{Broken, StoredEvent};
use sillok_core::citation::Excerpt;
use sillok_core::command::{Command, Submission, VerificationRef};
use sillok_core::commit::CommitName;
use sillok_core::config::RulesConfig;
use sillok_core::entry::{Head, Version};
use sillok_core::erasure::KnownEvent;
use sillok_core::facts::{Facts, HashKey, Need, needs};
use sillok_core::id::{EntryId, Seq};
use sillok_core::limits::FACT_ROUNDS_MAX;
use sillok_core::membership::WireVersion;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::review::Question;
use sillok_core::scope::Scope;
use sillok_core::state::State;
use sillok_core::time::Timestamp;
use sillok_core::token::{Token, TokenHash};
use sillok_core::verification::Verification;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use crate::errors::{engine_refusal, refusal};
use crate::ports::Ports;
use crate::protocol::{Protocol, Safeguard};

mod anew;
mod cited;
mod decisions;
mod declared;
mod early;
mod evidence;
mod held;
mod promoted;
mod retired;
mod returning;
mod reviewed;
mod texts;

pub(crate) use anew::embed_anew;
use anew::{of_offer, of_space, thresholds};
use cited::{forget, record, stands};
pub(crate) use decisions::decision_elsewhere;
pub(crate) use declared::declared_elsewhere;
pub(crate) use early::{Early, early};
pub(crate) use evidence::evidence_elsewhere;
use held::held;
use promoted::{job, mark, promotions};
use retired::retirement;
pub(crate) use retired::stored_retirement;
use returning::returning;
use reviewed::{merges, offered};
use texts::{read_on, texts};

/// Why the facts of a command were not fetched.
#[derive(Debug)]
pub(crate) enum Unfetched {
    /// The store did not answer the transaction.
    Store(StoreError),
    /// The command cannot be decided.
    Refused(Error),
}

impl From<StoreError> for Unfetched {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Asks the index for the neighbours of what `submission` would write, and for what claims otherwise. Which commits are to
/// be asked for is given beside what was gathered: a whole batch asks at once.
///
/// # Errors
/// What the index answered.
pub(crate) async fn gather<S: Store>(
    store: &S,
    ports: &Ports,
    rules: &RulesConfig,
    spoken: WireVersion,
    submission: &Submission,
) -> Result<(Facts, Vec<CommitName>), Error> {
    let offered = offered(store, submission).await?;
    let mut returning = returning(store, submission).await?;
    if let Some(entry) = &mut returning
        // One that never had a vector comes back as it left.
        && entry.embedding.is_some()
        && let Some(refitted) = of_space(&*ports.embedder, &*ports.clock, entry).await?
    {
        entry.embedding = refitted.embedding;
    }
    let product = offered.as_ref().and_then(|review| match &review.question {
        Question::Offer(offer) => Some(&offer.product),
        _ => None,
    });
    let of_offer = of_offer(ports, submission, product).await?;
    let beside = [
        match &of_offer {
            Some(refitted) => refitted.embedding.as_ref(),
            None => product.and_then(|product| product.embedding.as_ref()),
        },
        returning
            .as_ref()
            .and_then(|entry| entry.embedding.as_ref()),
    ];
    let thresholds = thresholds(&*ports.embedder, submission, beside.into_iter().flatten())?;
    let mut facts = Facts {
        returning: returning.map(Box::new),
        thresholds: thresholds.map(|space| rules.dedup.over(space)),
        spoken,
        offered: of_offer,
        ..Facts::default()
    };
    held(store, submission, &mut facts).await?;
    // Which neighbours a command wants to know depends on nothing else of the state.
    let mut known = State::new(&submission.scope, None, None);
    if let Some(review) = offered {
        known.learn_review(review.id, Some(review));
    }
    let mut cited = Vec::new();
    for need in needs(&known, submission, &facts) {
        match need {
            Need::Commits(commits) => cited.extend(commits),
            Need::Neighbours(number, request) => {
                let found = ports.index.neighbours(&request).await;
                let found = found.map_err(|error| engine_refusal(&error))?;
                facts.neighbours.insert(number, found);
            }
            Need::Claimants(number, request) => {
                let found = ports.index.claimants(&request).await;
                let found = found.map_err(|error| engine_refusal(&error))?;
                facts.claimants.insert(number, found);
            }
            Need::Texts(entries) => {
                let found = texts(store, &submission.scope, &entries).await;
                facts.texts = Some(found.map_err(|error| refusal(&error))?);
            }
            _ => {}
        }
    }
    Ok((facts, cited))
}

/// Fetches all that is needed to decide `submission` beyond what was gathered, round by round. `unstored` are the events
/// that the commands before it, of the same batch, lead to.
///
/// # Errors
/// What the store answered.
pub(crate) async fn fetch(
    txn: &mut impl Txn,
    state: &mut State,
    unstored: &[(Seq, StoredEvent)],
    submission: &Submission,
    gathered: Facts,
    protocol: impl Protocol,
) -> Result<Facts, Unfetched> {
    let mut facts = gathered;
    if !protocol.keeps(Safeguard::ResolvesCommits) {
        facts.commits.values_mut().for_each(forget);
    }
    if !protocol.keeps(Safeguard::AsksClaimants) {
        facts.claimants.values_mut().for_each(Vec::clear);
    }
    if let (Some(texts), Command::Erase(order)) = (&mut facts.texts, &submission.command) {
        let here = ScopeKey::of(&submission.scope);
        read_on(txn, &here, &order.entries, texts).await?;
        for (seq, event) in unstored {
            if *seq > texts.through {
                texts.read(event, &order.entries).map_err(broken)?;
            }
        }
    }
    for _ in 0..FACT_ROUNDS_MAX {
        let missing = needs(state, submission, &facts);
        if missing.is_empty() {
            return Ok(facts);
        }
        // Once for all that is missing: the name of a scope is a hash.
        let here = ScopeKey::of(state.scope());
        for need in missing {
            Fetch {
                here,
                txn: &mut *txn,
                state: &mut *state,
                unstored,
                facts: &mut facts,
                protocol,
            }
            .one(need)
            .await?;
        }
    }
    if needs(state, submission, &facts).is_empty() {
        return Ok(facts);
    }
    Err(Unfetched::Refused(Error::new(
        ErrorCode::Internal,
        "a command's facts do not come to an end",
    )))
}

struct Fetch<'a, T: Txn, P: Protocol> {
    /// The scope of the state.
    here: ScopeKey,
    txn: &'a mut T,
    state: &'a mut State,
    unstored: &'a [(Seq, StoredEvent)],
    facts: &'a mut Facts,
    protocol: P,
}

impl<T: Txn, P: Protocol> Fetch<'_, T, P> {
    async fn one(&mut self, need: Need) -> Result<(), Unfetched> {
        let here = self.here;
        match need {
            Need::Head(id) => self.state.learn_head(id, head(self.txn, &here, id).await?),
            Need::HeadElsewhere(scope, id) => {
                let head = head_elsewhere(self.txn, &scope, id).await?;
                self.facts.elsewhere.insert((scope, id), head);
            }
            Need::ByHash(key) => {
                let entry = by_hash(self.txn, &here, &key).await?;
                self.state.learn_hash(key, entry);
            }
            Need::Token(hash) => {
                let token = token(self.txn, &hash).await?;
                self.state.learn_token(hash, token);
            }
            Need::Version(id, number) => {
                let version = version(self.txn, &here, id, number).await?;
                self.facts.versions.insert(id, version);
            }
            Need::Record(id) => {
                let found = record(self.txn, &id).await?;
                self.facts.records.insert(id, found);
            }
            Need::Excerpt(excerpt) => self.excerpt(excerpt).await?,
            Need::Verification(named) => {
                let found = verification(self.txn, &named).await?;
                self.facts.verifications.insert(named, found);
            }
            Need::Mark(source, id) => {
                let found = mark(self.txn, &source, id).await?;
                let found = found.filter(|_| self.protocol.keeps(Safeguard::PublishesOnce));
                self.facts.marks.insert((source, id), found);
            }
            Need::Report(entry, task) => {
                let said = self.said(&here, entry, &task).await?;
                self.state.learn_report(entry, task, said);
            }
            Need::Review(id) => {
                let key = keys::review::key(&here, id);
                let review = row(self.txn, key, keys::review::decode).await?;
                self.state.learn_review(id, review);
            }
            Need::Merges(entries) => {
                let found = merges(self.txn, &here, &entries).await?;
                self.facts.merges = Some(found);
            }
            Need::Task(task) => self.opened(task).await?,
            Need::Job(named) => self.job(named).await?,
            Need::Promotions => {
                let found = promotions(self.txn, self.state.scope()).await?;
                self.facts.promotions = Some(found);
            }
            Need::Events(positions) => self.events(&here, positions).await?,
            Need::Retirement(entry, at) => self.retired(entry, at).await?,
            Need::Decision(_)
            | Need::DecisionElsewhere(..)
            | Need::DecisionVersion(..)
            | Need::DecisionSeqs(..) => self.of_decision(need).await?,
            Need::Evidence(_) | Need::EvidenceElsewhere(..) | Need::Anchor(_) => {
                self.of_evidence(need).await?;
            }
            Need::DeclaredRelation(scope, name) => self.declared(scope, name).await?,
            Need::Commits(_) | Need::Neighbours(..) | Need::Claimants(..) | Need::Texts(_) => {
                return Err(not_gathered());
            }
        }
        Ok(())
    }
}

fn not_gathered() -> Unfetched {
    let why =
        "what is like an entry or against it, holds its text or is cited by it was not gathered";
    Unfetched::Refused(Error::new(ErrorCode::Internal, why))
}

impl<T: Txn, P: Protocol> Fetch<'_, T, P> {
    /// Whether a task was opened.
    async fn opened(&mut self, task: Scope) -> Result<(), Unfetched> {
        let key = keys::task::key(&ScopeKey::of(&task));
        let was_opened = row(self.txn, key, keys::task::decode).await?.is_some();
        self.facts.tasks.insert(task, was_opened);
        Ok(())
    }

    /// The events at these positions, which may be of a command before, of the same batch.
    async fn events(&mut self, here: &ScopeKey, positions: Vec<Seq>) -> Result<(), Unfetched> {
        for seq in positions {
            let unstored = self.unstored.binary_search_by_key(&seq, |(own, _)| *own);
            let event = match unstored {
                Ok(place) => Some(self.unstored[place].1.clone()),
                Err(_) => row(self.txn, keys::event::key(here, seq), keys::event::decode).await?,
            };
            let known = event.map(KnownEvent::of).transpose();
            self.facts.events.insert(seq, known.map_err(broken)?);
        }
        Ok(())
    }

    /// Whether a promotion is under way still.
    async fn job(&mut self, named: VerificationRef) -> Result<(), Unfetched> {
        let is_under_way =
            job(self.txn, &named).await? || !self.protocol.keeps(Safeguard::PublishesPending);
        self.facts.jobs.insert(named, is_under_way);
        Ok(())
    }

    /// Whether a stretch of a text stands where it is said to.
    async fn excerpt(&mut self, excerpt: Excerpt) -> Result<(), Unfetched> {
        let stands = stands(self.txn, &excerpt).await?
            || !self.protocol.keeps(Safeguard::KeepsCharactersWhole);
        self.facts.excerpts.insert(excerpt, stands);
        Ok(())
    }

    /// Why an entry left recall, at that time.
    async fn retired(&mut self, entry: EntryId, at: Timestamp) -> Result<(), Unfetched> {
        let found = retirement(self.txn, self.state, self.unstored, entry, at).await?;
        self.facts.retirements.insert(entry, found);
        Ok(())
    }

    /// What a task said of an entry.
    async fn said(
        &mut self,
        here: &ScopeKey,
        entry: EntryId,
        task: &Scope,
    ) -> Result<Option<ReuseOutcome>, StoreError> {
        let key = keys::report::key(here, entry, &ScopeKey::of(task));
        let report = row(self.txn, key, keys::report::decode).await?;
        let is_known = self.protocol.keeps(Safeguard::RemembersReports);
        Ok(report.filter(|_| is_known).map(|report| report.outcome))
    }
}

fn broken(broken: Broken) -> Unfetched {
    Unfetched::Refused(Error::new(ErrorCode::Internal, broken.to_string()))
}

/// Reads one row and decodes it.
async fn row<V>(
    txn: &mut impl Txn,
    key: Vec<u8>,
    decode: impl FnOnce(&[u8], &[u8]) -> Result<V, StoreError>,
) -> Result<Option<V>, StoreError> {
    let value = txn.get(&key, Read::Snapshot).await?;
    value.map(|value| decode(&key, &value)).transpose()
}

async fn head(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: EntryId,
) -> Result<Option<Head>, StoreError> {
    row(txn, keys::head::key(scope, id), keys::head::decode).await
}

async fn head_elsewhere(
    txn: &mut impl Txn,
    scope: &Scope,
    id: EntryId,
) -> Result<Option<Head>, StoreError> {
    // In conflict: nothing is published that its scope takes back meanwhile.
    let key = keys::head::key(&ScopeKey::of(scope), id);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::head::decode(&key, &value))
        .transpose()
}

async fn by_hash(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    key: &HashKey,
) -> Result<Option<EntryId>, StoreError> {
    row(txn, keys::by_hash::key(scope, key), keys::by_hash::decode).await
}

async fn token(txn: &mut impl Txn, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
    row(txn, keys::token::key(hash), keys::token::decode).await
}

async fn version(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: EntryId,
    number: u64,
) -> Result<Option<Version>, StoreError> {
    row(
        txn,
        keys::version::key(scope, id, number),
        keys::version::decode,
    )
    .await
}

async fn verification(
    txn: &mut impl Txn,
    named: &VerificationRef,
) -> Result<Option<Verification>, StoreError> {
    let key = keys::verification::key(&ScopeKey::of(&named.task), named.id);
    row(txn, key, keys::verification::decode).await
}
