//! Reading what a change reaches: the walk over relations, in one snapshot.
//!
//! Owns who sees which decision, and the time that a walk may take. In which direction a change is carried, in which order
//! nodes are looked at and what is told of them is `core::impact`'s. It must not know the index: no text is compared with
//! another.

use sillok_core::decision::{DecisionHead, Edge, NamedEdge, Node};
use sillok_core::id::{DecisionId, EvidenceId};
use sillok_core::impact::{Impact, ImpactLimits, Seen, Walk};
use sillok_core::ports::Clock;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{ScopeKey, related};
use sillok_store::{Error as StoreError, KeyRange, Store, Txn};

use super::Reader;
use super::decisions::{head_of, summary_of};
use super::evidence::evidence_of;
use crate::errors::refusal;
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;

mod again;

/// Rows that lie side by side and are gone through between two looks at the clock. They are read by the page, without a look.
const LOOKS_APART: usize = 64;

/// Who looks at decisions and their relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// Where: decisions of this scope and of those around it are seen.
    pub scope: Scope,
    /// What the token covers: decisions inside the scope are seen as far as that.
    pub prefix: ScopePrefix,
}

impl Viewer {
    /// Whether decisions of `scope` are seen.
    #[must_use]
    pub fn sees(&self, scope: &Scope) -> bool {
        let is_inside = self.scope.contains(scope);
        scope.contains(&self.scope) || (is_inside && self.prefix.covers(scope))
    }

    /// The ranges in which the relations to a node lie that are seen: those of each scope around, the widest first, and those
    /// of what is seen with all that lies inside it. What others say of the node is not even read, so it takes no time. A
    /// decision or evidence is seen from its scope and those inside, so nothing in a scope around that is related to it.
    pub(super) fn relations_to(&self, node: &Node) -> Vec<KeyRange> {
        let of = match node {
            Node::Decision { scope, .. } | Node::Evidence { scope, .. } => Some(scope),
            Node::File { .. } | Node::Symbol { .. } => None,
        };
        let covered = match &self.prefix {
            ScopePrefix::Scope(prefix) if !prefix.contains(&self.scope) => prefix,
            ScopePrefix::Scope(_) | ScopePrefix::All => &self.scope,
        };
        let around = self.scope.with_ancestors().into_iter().rev();
        let around = around.filter(|scope| scope != covered);
        let around = around.filter(|scope| of.is_none_or(|of| of.contains(scope)));
        let mut ranges: Vec<KeyRange> = around
            .map(|scope| related::range_from(node, &scope))
            .collect();
        if self.scope.contains(covered) {
            ranges.push(related::range_inside(node, covered));
        }
        ranges
    }

    /// Whether a node is seen. Files and symbols are names, which everybody sees who sees what is related to them.
    pub(super) fn sees_node(&self, node: &Node) -> bool {
        match node {
            Node::Decision { scope, .. } | Node::Evidence { scope, .. } => self.sees(scope),
            Node::File { .. } | Node::Symbol { .. } => true,
        }
    }
}

/// A look at one node after the other: many that lie side by side are of one scope.
struct Sight<'a> {
    viewer: &'a Viewer,
    /// The scope of the last one, and whether its decisions are seen.
    last: Option<(Scope, bool)>,
}

impl<'a> Sight<'a> {
    const fn of(viewer: &'a Viewer) -> Self {
        let last = None;
        Self { viewer, last }
    }

    /// As [`Viewer::sees_node`].
    fn sees_node(&mut self, node: &Node) -> bool {
        let Some(scope) = node.scope() else {
            return self.viewer.sees_node(node);
        };
        match &self.last {
            Some((last, sees)) if last == scope => *sees,
            _ => {
                let sees = self.viewer.sees(scope);
                self.last = Some((scope.clone(), sees));
                sees
            }
        }
    }
}

impl<S: Store> Reader<S> {
    /// What a change of these nodes affects, as `viewer` sees it. Decisions that are not seen, that were withdrawn or that
    /// are not there are left out, and so is what is reached through them alone. It ends after `ms_max`, if that is given.
    ///
    /// # Errors
    /// `not_found` for a decision or evidence of the start that is not there, was withdrawn or is not seen, and what the store
    /// answers.
    pub(crate) async fn impact_under<P: Protocol>(
        &self,
        protocol: P,
        viewer: &Viewer,
        start: Vec<Node>,
        limits: ImpactLimits,
        ms_max: Option<u64>,
    ) -> Result<Impact, Error> {
        let mut deadline = ms_max.map(|ms_max| Deadline::of(&*self.clock, ms_max));
        let mut txn = self.snapshot().await?;
        check_standing(&mut txn, viewer, &start, deadline.as_mut()).await?;
        let look = Look {
            txn: &mut txn,
            viewer,
            beside: None,
            deadline,
        };
        let found = look.impact(protocol, start, limits).await;
        found.map_err(|error| refusal(&error))
    }
}

/// Refuses a decision or evidence that an impact begins with, or that is at hand, and that is not there, was withdrawn or is
/// not seen: a name that is wrong would read as a change that harms nobody. Those for which the time runs out are not looked
/// at: then nothing else is either, which is told.
pub(super) async fn check_standing(
    txn: &mut impl Txn,
    viewer: &Viewer,
    nodes: &[Node],
    mut deadline: Option<&mut Deadline<'_>>,
) -> Result<(), Error> {
    for node in nodes {
        if deadline.as_mut().is_some_and(|end| end.is_over()) {
            return Ok(());
        }
        let (stands, what) = match node {
            Node::Decision { scope, root } => {
                let head = standing(txn, viewer, scope, *root).await;
                let stands = head.map(|head| head.is_some());
                (stands, "decision that holds and is seen")
            }
            Node::Evidence { scope, id } => {
                let is_there = has_evidence(txn, viewer, scope, *id).await;
                (is_there, "evidence that is seen")
            }
            Node::File { .. } | Node::Symbol { .. } => continue,
        };
        if !stands.map_err(|error| refusal(&error))? {
            // What is not seen is not told apart from what is not there.
            let why = format!("{node} is no {what} from {}", viewer.scope);
            return Err(Error::new(ErrorCode::NotFound, why));
        }
    }
    Ok(())
}

/// A decision that holds and is seen.
async fn standing(
    txn: &mut impl Txn,
    viewer: &Viewer,
    scope: &Scope,
    root: DecisionId,
) -> Result<Option<DecisionHead>, StoreError> {
    if !viewer.sees(scope) {
        return Ok(None);
    }
    let head = head_of(txn, &ScopeKey::of(scope), root).await?;
    Ok(head.filter(|head| head.active))
}

/// Whether evidence is there and seen. What was erased is not.
async fn has_evidence(
    txn: &mut impl Txn,
    viewer: &Viewer,
    scope: &Scope,
    id: EvidenceId,
) -> Result<bool, StoreError> {
    if !viewer.sees(scope) {
        return Ok(false);
    }
    let found = evidence_of(txn, &ScopeKey::of(scope), id).await?;
    Ok(found.is_some_and(|evidence| !evidence.is_erased()))
}

/// A decision that is looked at as it would be.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    /// The decision.
    pub(super) node: Node,
    /// Its relations.
    pub(super) edges: Vec<Edge>,
}

/// A look at decisions and their relations, at one moment.
pub(super) struct Look<'a, T> {
    pub(super) txn: &'a mut T,
    pub(super) viewer: &'a Viewer,
    /// A decision that nobody has made yet, or that is to be changed.
    pub(super) beside: Option<&'a Beside>,
    /// When the look ends, if time ends it.
    pub(super) deadline: Option<Deadline<'a>>,
}

/// What became of a look at a node.
enum Looked {
    /// It is there.
    Seen(Seen),
    /// It is a decision that does not hold, evidence that is not there, or not seen.
    Gone,
    /// It is there, and the time ran out before all relations to it were read.
    Partly(Seen),
    /// The time ran out before it was looked at.
    Late,
}

impl<T: Txn> Look<'_, T> {
    /// What a change of these nodes affects.
    pub(super) async fn impact<P: Protocol>(
        mut self,
        protocol: P,
        start: Vec<Node>,
        limits: ImpactLimits,
    ) -> Result<Impact, StoreError> {
        if !protocol.keeps(Safeguard::VisitsOnce) {
            return again::walk(self, start, limits).await;
        }
        let mut walk = Walk::new(start, limits);
        self.go(&mut walk).await?;
        Ok(walk.finish())
    }

    async fn go(&mut self, walk: &mut Walk) -> Result<(), StoreError> {
        while let Some(node) = walk.next() {
            match self.at(walk, &node).await? {
                Looked::Seen(seen) => walk.seen(&node, seen),
                Looked::Gone => walk.gone(&node),
                Looked::Partly(seen) => {
                    // Before the node is told of, as it may be the last one, and is not read to its end.
                    walk.stop_for_time();
                    walk.seen(&node, seen);
                    break;
                }
                Looked::Late => {
                    walk.stop_for_time();
                    break;
                }
            }
        }
        Ok(())
    }

    /// Looks at a node. The walk is told in parts of what many relations lead to.
    async fn at(&mut self, walk: &mut Walk, node: &Node) -> Result<Looked, StoreError> {
        if self.is_over() {
            return Ok(Looked::Late);
        }
        if walk.is_cut() {
            let named = self.named(node).await?;
            return Ok(named.map_or(Looked::Gone, Looked::Seen));
        }
        let Some(mut seen) = self.own(node).await? else {
            return Ok(Looked::Gone);
        };
        let viewer = self.viewer;
        seen.out.retain(|edge| viewer.sees_node(&edge.to));
        walk.part(node, seen.out.drain(..));
        let mut decoder = related::Decoder::default();
        let mut sight = Sight::of(viewer);
        for range in viewer.relations_to(node) {
            if self.is_over() {
                return Ok(Looked::Partly(seen));
            }
            let mut stream = RowStream::new(range).growing();
            while walk.wants_relations(node)
                && let Some((key, value)) = stream.next(self.txn).await?
                && walk.may_read()
            {
                if self.is_late() {
                    return Ok(Looked::Partly(seen));
                }
                let told =
                    decoder.decode_wanted(&key, &value, |kind| walk.follows_back(node, kind))?;
                // The place of a node is a hash, which another node may share, and so is that of a scope.
                let told = told.filter(|NamedEdge { edge, .. }| {
                    edge.to == *node && sight.sees_node(&edge.from)
                });
                walk.part(node, told);
            }
        }
        Ok(Looked::Seen(seen))
    }

    /// What a node is called whose relation did not say it, where nothing that it is related to makes a difference; none as with
    /// [`Self::own`].
    async fn named(&mut self, node: &Node) -> Result<Option<Seen>, StoreError> {
        let is_beside = self.beside.is_some_and(|beside| beside.node == *node);
        let Node::Decision { scope, root } = node else {
            return self.own(node).await;
        };
        if is_beside || !self.viewer.sees(scope) {
            return self.own(node).await;
        }
        let found = summary_of(self.txn, &ScopeKey::of(scope), *root).await?;
        Ok(found.filter(|found| found.active).map(|found| Seen {
            title: Some(found.title),
            rank: Some(found.rank),
            ..Seen::default()
        }))
    }

    /// What a node says itself; none of a decision that does not hold, of evidence that is not there, and of what is not
    /// seen.
    async fn own(&mut self, node: &Node) -> Result<Option<Seen>, StoreError> {
        let (scope, root) = match node {
            Node::Decision { scope, root } => (scope, root),
            Node::Evidence { scope, id } => {
                let is_there = has_evidence(self.txn, self.viewer, scope, *id).await?;
                return Ok(is_there.then(Seen::default));
            }
            Node::File { .. } | Node::Symbol { .. } => return Ok(Some(Seen::default())),
        };
        let head = standing(self.txn, self.viewer, scope, *root).await?;
        let mut seen = head.map(|head| Seen {
            out: head.edges(scope),
            into: Vec::new(),
            title: Some(head.title),
            rank: Some(head.rank),
        });
        if let Some(beside) = self.beside.filter(|beside| beside.node == *node) {
            let out = &mut seen.get_or_insert_default().out;
            // What it is related to already is not told twice.
            let further = beside.edges.iter().filter(|edge| !out.contains(edge));
            let further: Vec<Edge> = further.cloned().collect();
            out.extend(further);
        }
        Ok(seen)
    }

    /// Whether the time has run out.
    fn is_over(&mut self) -> bool {
        self.deadline.as_mut().is_some_and(Deadline::is_over)
    }

    /// The same, looked at once in so many calls.
    fn is_late(&mut self) -> bool {
        self.deadline.as_mut().is_some_and(Deadline::has_passed)
    }
}

/// When a look ends.
pub(super) struct Deadline<'a> {
    clock: &'a dyn Clock,
    at_us: u64,
    /// Calls until the clock is looked at.
    left: usize,
}

impl<'a> Deadline<'a> {
    pub(super) fn of(clock: &'a dyn Clock, ms_max: u64) -> Self {
        Self {
            clock,
            at_us: clock
                .monotonic_us()
                .saturating_add(ms_max.saturating_mul(1_000)),
            left: LOOKS_APART,
        }
    }

    /// Whether it is reached.
    pub(super) fn is_over(&mut self) -> bool {
        self.left = LOOKS_APART;
        self.clock.monotonic_us() >= self.at_us
    }

    /// The same, looked at once in so many calls.
    pub(super) fn has_passed(&mut self) -> bool {
        self.left -= 1;
        self.left == 0 && self.is_over()
    }
}
