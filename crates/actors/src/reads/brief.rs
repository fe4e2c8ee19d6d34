//! Reading a brief: what holds for whoever works somewhere, in one snapshot.
//!
//! Owns how the lists of the loading order are read. The order itself is `core::brief`'s, and so is where a budget cuts; which
//! failures a task is warned of is `core::bank`'s. It must not know the index or the clock: a brief follows from what is stored,
//! and the same state gives the same bytes.

use sillok_core::brief::{
    Brief, BriefBudget, BriefItem, Cutter, Layer, Lists, Step, loading_order,
};
use sillok_core::decision::{DecisionHead, Domain, Node, Rank};
use sillok_core::id::{AnchorId, DecisionId};
use sillok_core::impact::ImpactLimits;
use sillok_core::limits::{BRIEF_BYTES_MAX, BRIEF_ITEMS_MAX};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::decision_listed::{DomainKey, Key};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::Reader;
use super::anchors::{anchor_of, leads_of};
use super::decisions::{head_of, version_of};
use super::impact::{Look, Viewer, check_standing};
use super::patterns::{WarnedOf, warned_of};
use crate::errors::refusal;
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;

mod bugs;

/// What a brief is about, and how much it may hold. The scope that it is for is that of its viewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefQuery {
    /// The field of work. What applies everywhere is loaded in any case.
    pub domain: Domain,
    /// The nodes at hand: what a change of them affects makes the structural layer.
    pub at: Vec<Node>,
    /// What else the work is about, in words: a task is warned of what is like it. May be empty.
    pub about: String,
    /// How much it may hold.
    pub budget: BriefBudget,
}

impl<S: Store> Reader<S> {
    /// The decisions that hold for whoever works in the scope of `viewer`, in the order of loading, behind them the anchors, and
    /// apart from these what a task is warned of.
    ///
    /// # Errors
    /// `not_found` for a decision or evidence at hand that is not there, was withdrawn or is not seen, `invalid_argument` where
    /// the budget has no room for the first item, and what the store answers.
    pub(crate) async fn brief_under<P: Protocol>(
        &self,
        protocol: P,
        viewer: &Viewer,
        query: BriefQuery,
    ) -> Result<Brief, Error> {
        let mut txn = self.snapshot().await?;
        check_standing(&mut txn, viewer, &query.at, None).await?;
        let budget = query.budget;
        let asked = (&viewer.scope, query.about.as_str());
        let warned = warned_of(protocol, &mut txn, asked, &self.rules.bank).await?;
        if protocol.keeps(Safeguard::LoadsByRank) {
            return whole(protocol, &mut txn, viewer, query, warned).await;
        }
        let query = BriefQuery {
            budget: BriefBudget {
                items_max: BRIEF_ITEMS_MAX,
                bytes_max: BRIEF_BYTES_MAX,
            },
            ..query
        };
        let loaded = whole(protocol, &mut txn, viewer, query, warned).await?;
        bugs::by_time(loaded, budget)
    }
}

/// All layers, one after the other.
async fn whole<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    viewer: &Viewer,
    query: BriefQuery,
    mut warned: WarnedOf,
) -> Result<Brief, Error> {
    let mut order = loading_order(&viewer.scope, &query.domain);
    if !protocol.keeps(Safeguard::LoadsGlobalLocks) {
        bugs::forget_global_locks(&mut order);
    }
    if !protocol.keeps(Safeguard::ListsAnchorsLast) {
        bugs::raise_anchors(&mut order);
    }
    let (before, behind): (Vec<Step>, Vec<Step>) = order
        .into_iter()
        .partition(|step| step.layer < Layer::Structural);
    let mut cutter = Cutter::new(query.budget);
    if !protocol.keeps(Safeguard::WarnsLast) {
        let early = std::mem::take(&mut warned);
        cutter.take_warnings(early.warnings, early.cut);
    }
    for step in &before {
        load(protocol, txn, step, &mut cutter).await?;
    }
    let look = Look {
        txn: &mut *txn,
        viewer,
        beside: None,
        deadline: None,
    };
    let impact = look.impact(protocol, query.at, ImpactLimits::default());
    let impact = impact.await.map_err(|error| refusal(&error))?;
    cutter.take_impact(&impact)?;
    for step in &behind {
        load(protocol, txn, step, &mut cutter).await?;
    }
    cutter.take_warnings(warned.warnings, warned.cut);
    Ok(cutter.finish())
}

/// Takes what is listed for a step. What there is no room for is counted, and its texts are not read.
async fn load<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    step: &Step,
    cutter: &mut Cutter,
) -> Result<(), Error> {
    let mut list = match step.lists {
        Lists::Decisions(rank) if !protocol.keeps(Safeguard::LoadsActiveOnly) => {
            bugs::with_withdrawn(txn, step, rank).await?
        }
        _ => List::of(step),
    };
    while !cutter.is_full() {
        let Some(listed) = list.next(txn).await? else {
            return Ok(());
        };
        cutter.take(item(protocol, txn, step, listed).await?)?;
    }
    let wanted = cutter.rows_wanted();
    let mut left_out = 0;
    while left_out < wanted && list.next(txn).await?.is_some() {
        left_out += 1;
    }
    cutter.leave_out(step.layer, left_out);
    Ok(())
}

/// What is listed, whole: a decision with its text, an anchor with what it leads to.
async fn item<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    step: &Step,
    listed: Listed,
) -> Result<BriefItem, Error> {
    match listed {
        Listed::Decision(place) => {
            let number = newest(protocol, txn, step, &place).await?;
            decision(txn, step, place.rank, (place.root, number)).await
        }
        Listed::Found { rank, root, number } => decision(txn, step, rank, (root, number)).await,
        Listed::Anchor(id) => anchor(txn, step, id).await,
    }
}

/// The number of the version of a listed decision that holds, as its head says. A list that says otherwise than the head is
/// damaged: what is loaded by it would be as strong as nobody said, or stand where nobody put it, or twice.
async fn newest<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    step: &Step,
    place: &Key,
) -> Result<u64, Error> {
    let head = head_of(txn, &place.scope, place.root).await;
    match head.map_err(|error| refusal(&error))? {
        Some(head) if place.is_of(&head) => Ok(head.version),
        Some(head) if !protocol.keeps(Safeguard::EndsFormerListing) => {
            bugs::former(txn, place, &head).await
        }
        head => Err(says_otherwise(step, place, head.as_ref())),
    }
}

fn says_otherwise(step: &Step, place: &Key, head: Option<&DecisionHead>) -> Error {
    let head = head.map_or_else(
        || "there is no head".to_owned(),
        |head| {
            let state = if head.active { "active" } else { "withdrawn" };
            let (rank, domain, begun) = (head.rank, &head.domain, head.begun_seq);
            format!("its head says {state}, {rank} of {domain}, begun by event {begun}")
        },
    );
    let what = format!(
        "decision {} is listed in {} as {} of {}, begun by event {}, and {head}",
        place.root, step.scope, place.rank, step.domain, place.begun
    );
    Error::new(ErrorCode::Internal, what)
}

/// A decision that is listed, with the text of its version of that number.
async fn decision(
    txn: &mut impl Txn,
    step: &Step,
    rank: Rank,
    (root, number): (DecisionId, u64),
) -> Result<BriefItem, Error> {
    let found = version_of(txn, &ScopeKey::of(&step.scope), root, number).await;
    let version = found.map_err(|error| refusal(&error))?.ok_or_else(|| {
        let what = format!(
            "version {number} of decision {root} is listed in {} and not there",
            step.scope
        );
        Error::new(ErrorCode::Internal, what)
    })?;
    Ok(BriefItem::Decision {
        layer: step.layer,
        scope: step.scope.clone(),
        version,
        rank,
    })
}

/// An anchor that is listed, with what it leads to by now.
async fn anchor(txn: &mut impl Txn, step: &Step, id: AnchorId) -> Result<BriefItem, Error> {
    let found = anchor_of(txn, &ScopeKey::of(&step.scope), id).await;
    let anchor = found.map_err(|error| refusal(&error))?.ok_or_else(|| {
        let what = format!("anchor {id} is listed in {} and not there", step.scope);
        Error::new(ErrorCode::Internal, what)
    })?;
    let leads = leads_of(txn, &anchor).await;
    Ok(BriefItem::Anchor {
        scope: step.scope.clone(),
        leads: leads.map_err(|error| refusal(&error))?,
        anchor,
    })
}

/// One row of a list.
enum Listed {
    /// A decision, by its place.
    Decision(Key),
    /// Under a bug: a decision, with the number of the version that is loaded.
    Found {
        rank: Rank,
        root: DecisionId,
        number: u64,
    },
    /// An anchor.
    Anchor(AnchorId),
}

/// What is listed for a step.
enum List {
    /// Decisions in the order in which their chains began, as it is stored.
    Decisions(RowStream),
    /// The same under a bug: roots, and the numbers of versions.
    Found(Rank, std::vec::IntoIter<(DecisionId, u64)>),
    /// Anchors in the order in which they were added.
    Anchors(RowStream),
}

impl List {
    fn of(step: &Step) -> Self {
        let (here, domain) = (ScopeKey::of(&step.scope), DomainKey::of(&step.domain));
        match step.lists {
            Lists::Decisions(rank) => {
                let range = keys::decision_listed::range_after(&here, rank, domain, None);
                Self::Decisions(RowStream::new(range))
            }
            Lists::Anchors => {
                let range = keys::anchor_listed::range_after(&here, domain, None);
                Self::Anchors(RowStream::new(range))
            }
        }
    }

    async fn next(&mut self, txn: &mut impl Txn) -> Result<Option<Listed>, Error> {
        let next = self.next_row(txn).await;
        next.map_err(|error| refusal(&error))
    }

    async fn next_row(&mut self, txn: &mut impl Txn) -> Result<Option<Listed>, StoreError> {
        Ok(match self {
            Self::Decisions(rows) => {
                let Some((key, value)) = rows.next(txn).await? else {
                    return Ok(None);
                };
                keys::decision_listed::decode(&key, &value)?;
                Some(Listed::Decision(keys::decision_listed::parse(&key)?))
            }
            Self::Found(rank, found) => found.next().map(|(root, number)| Listed::Found {
                rank: *rank,
                root,
                number,
            }),
            Self::Anchors(rows) => {
                let Some((key, value)) = rows.next(txn).await? else {
                    return Ok(None);
                };
                keys::anchor_listed::decode(&key, &value)?;
                Some(Listed::Anchor(keys::anchor_listed::parse(&key)?.anchor))
            }
        })
    }
}
