//! Reading a brief: what holds for whoever works somewhere, in one snapshot.
//!
//! Owns how the lists of the loading order are read. The order itself is `core::brief`'s, and so is where a budget cuts. It
//! must not know the index or the clock: a brief follows from what is stored, and the same state gives the same bytes.

use sillok_core::brief::{Brief, BriefBudget, BriefItem, Cutter, Layer, Step, loading_order};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::DecisionId;
use sillok_core::impact::ImpactLimits;
use sillok_core::limits::{BRIEF_BYTES_MAX, BRIEF_ITEMS_MAX};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::Reader;
use super::decisions::version_of;
use super::impact::{Absent, Look, Viewer};
use crate::errors::refusal;
use crate::protocol::{Correct, Protocol, Safeguard};
use crate::row_stream::RowStream;

mod bugs;

/// What a brief is about, and how much it may hold. The scope that it is for is that of its viewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefQuery {
    /// The field of work. What applies everywhere is loaded in any case.
    pub domain: Domain,
    /// The nodes at hand: what a change of them affects makes the structural layer.
    pub at: Vec<Node>,
    /// How much it may hold.
    pub budget: BriefBudget,
}

impl<S: Store> Reader<S> {
    /// The decisions that hold for whoever works in the scope of `viewer`, in the order of loading. A decision at hand that is
    /// not there, was withdrawn or is not seen adds nothing, which is not to be taken for an answer about it.
    /// [`Node::brief_of_standing`](crate::Node::brief_of_standing) refuses it.
    ///
    /// # Errors
    /// `invalid_argument` where the budget has no room for the first item, and what the store answers.
    pub async fn brief(&self, viewer: &Viewer, query: BriefQuery) -> Result<Brief, Error> {
        self.brief_under(Correct, viewer, query, Absent::LeftOut)
            .await
    }

    /// As [`brief`](Self::brief), under a protocol.
    pub(crate) async fn brief_under<P: Protocol>(
        &self,
        protocol: P,
        viewer: &Viewer,
        query: BriefQuery,
        absent: Absent,
    ) -> Result<Brief, Error> {
        let mut txn = self.snapshot().await?;
        absent.check(&mut txn, viewer, &query.at).await?;
        let budget = query.budget;
        if protocol.keeps(Safeguard::LoadsByRank) {
            return whole(protocol, &mut txn, viewer, query).await;
        }
        let query = BriefQuery {
            budget: BriefBudget {
                items_max: BRIEF_ITEMS_MAX,
                bytes_max: BRIEF_BYTES_MAX,
            },
            ..query
        };
        let loaded = whole(protocol, &mut txn, viewer, query).await?;
        bugs::by_time(loaded, budget)
    }
}

/// All layers, one after the other.
async fn whole<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    viewer: &Viewer,
    query: BriefQuery,
) -> Result<Brief, Error> {
    let mut order = loading_order(&viewer.scope, &query.domain);
    if !protocol.keeps(Safeguard::LoadsGlobalLocks) {
        bugs::forget_global_locks(&mut order);
    }
    let (before, behind): (Vec<Step>, Vec<Step>) = order
        .into_iter()
        .partition(|step| step.layer < Layer::Structural);
    let mut cutter = Cutter::new(query.budget);
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
    Ok(cutter.finish())
}

/// Takes what is listed for a step. What there is no room for is counted, and its texts are not read.
async fn load<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    step: &Step,
    cutter: &mut Cutter,
) -> Result<(), Error> {
    let mut list = if protocol.keeps(Safeguard::LoadsActiveOnly) {
        List::of(step)
    } else {
        bugs::with_withdrawn(txn, step).await?
    };
    while !cutter.is_full() {
        let Some((root, number)) = list.next(txn).await? else {
            return Ok(());
        };
        cutter.take(item(txn, step, root, number).await?)?;
    }
    let wanted = cutter.rows_wanted();
    let mut left_out = 0;
    while left_out < wanted && list.next(txn).await?.is_some() {
        left_out += 1;
    }
    cutter.leave_out(step.layer, left_out);
    Ok(())
}

/// A decision that is listed, with the text of its version of that number.
async fn item(
    txn: &mut impl Txn,
    step: &Step,
    root: DecisionId,
    number: u64,
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
        rank: step.rank,
    })
}

/// What is listed for a step: roots, and the numbers of the versions that hold, in the order in which the chains began.
enum List {
    /// As it is stored.
    Rows(RowStream),
    /// Under a bug.
    Found(std::vec::IntoIter<(DecisionId, u64)>),
}

impl List {
    fn of(step: &Step) -> Self {
        let (here, domain) = (ScopeKey::of(&step.scope), DomainKey::of(&step.domain));
        let range = keys::decision_listed::range_after(&here, step.rank, domain, None);
        Self::Rows(RowStream::new(range))
    }

    async fn next(&mut self, txn: &mut impl Txn) -> Result<Option<(DecisionId, u64)>, Error> {
        let rows = match self {
            Self::Rows(rows) => rows,
            Self::Found(found) => return Ok(found.next()),
        };
        let row = rows.next(txn).await.map_err(|error| refusal(&error))?;
        let listed = row.map(|(key, value)| {
            let root = keys::decision_listed::parse(&key)?.root;
            let number = keys::decision_listed::decode(&key, &value)?;
            Ok::<_, StoreError>((root, number))
        });
        listed.transpose().map_err(|error| refusal(&error))
    }
}
