//! Reading the graph of what somebody sees: decisions with what they are related to, and what episodes say of causes.
//!
//! Owns of which scopes a graph is, and the bounds on what it holds and on what is read for it: all of it is read in one
//! snapshot, and nothing that the viewer does not see is in it. It must not know the language that it is asked in, nor the
//! names that its nodes have there.

use std::collections::BTreeMap;

use sillok_core::decision::{DecisionHead, Node, Relation};
use sillok_core::entry::{Detail, Episode, Table};
use sillok_core::id::EntryId;
use sillok_core::limits::{GRAPH_BYTES_MAX, GRAPH_EDGES_MAX, GRAPH_NODES_MAX, GRAPH_SCOPES_MAX};
use sillok_core::scope::{Level, Scope};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::Reader;
use super::evidence::evidence_of;
use super::impact::{Deadline, Viewer};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

mod parts;

use parts::OWN_BYTES;
pub use parts::{GraphEdge, GraphEdgeKind, GraphNode, GraphParts};

/// Which parts of what a viewer sees are in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphAsked {
    /// Whether what lies inside the viewer's scope is in it, as far as the token covers it: all scopes of the store are
    /// looked through for that.
    pub inside: bool,
    /// Whether what episodes say of causes is in it: all entries of those scopes are looked through for that.
    pub causes: bool,
}

/// What a graph may hold, and what may be read for it. More is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphBounds {
    /// Most nodes.
    pub nodes_max: usize,
    /// Most edges.
    pub edges_max: usize,
    /// Most bytes of its texts, of what holds them, and of the paths of the scopes inside that are read for it.
    pub bytes_max: usize,
    /// Most scopes of the store that are looked through.
    pub scopes_max: usize,
    /// How long reading may take, in ms, if that is bounded.
    pub ms_max: Option<u64>,
}

impl Default for GraphBounds {
    fn default() -> Self {
        Self {
            nodes_max: GRAPH_NODES_MAX,
            edges_max: GRAPH_EDGES_MAX,
            bytes_max: GRAPH_BYTES_MAX,
            scopes_max: GRAPH_SCOPES_MAX,
            ms_max: None,
        }
    }
}

impl<S: Store> Reader<S> {
    /// All active decisions that `viewer` sees, what they are related to, and, where that is asked for, what the episodes
    /// among the entries that it sees say of causes. What is not seen, was withdrawn or is not there is left out, with all
    /// relations that lead to it.
    ///
    /// # Errors
    /// `too_large`, naming what is over its bound, and what the store answers.
    pub async fn graph(
        &self,
        viewer: &Viewer,
        asked: GraphAsked,
        bounds: GraphBounds,
    ) -> Result<GraphParts, Error> {
        let mut txn = self.snapshot().await?;
        let mut gathering = Gathering {
            txn: &mut txn,
            viewer,
            bounds,
            deadline: bounds.ms_max.map(|ms| Deadline::of(&*self.clock, ms)),
            bytes: 0,
            parts: GraphParts::default(),
            places: BTreeMap::new(),
            findings: BTreeMap::new(),
        };
        let scopes = gathering.scopes(asked.inside).await?;
        let mut declared = Vec::new();
        for scope in &scopes {
            gathering.decisions(scope, &mut declared).await?;
        }
        // Where a relation leads is known once all decisions are.
        for (from, relations) in declared {
            for relation in relations {
                gathering.relation(from, relation).await?;
            }
        }
        if asked.causes {
            for scope in &scopes {
                gathering.causes(scope).await?;
            }
        }
        Ok(gathering.parts)
    }
}

/// A graph that is being read.
struct Gathering<'a, T> {
    txn: &'a mut T,
    viewer: &'a Viewer,
    bounds: GraphBounds,
    deadline: Option<Deadline<'a>>,
    bytes: usize,
    parts: GraphParts,
    /// Where what relations join stands among the nodes.
    places: BTreeMap<Node, usize>,
    /// The same of findings, by what they say.
    findings: BTreeMap<String, usize>,
}

impl<T: Txn> Gathering<'_, T> {
    /// The scopes that are read: those around the viewer, the widest first, and those inside, by their paths.
    async fn scopes(&mut self, inside: bool) -> Result<Vec<Scope>, Error> {
        let here = &self.viewer.scope;
        let mut scopes = here.with_ancestors();
        scopes.reverse();
        if !inside || here.level() == Level::Task {
            return Ok(scopes);
        }
        let mut stream = RowStream::new(keys::scope::range_after(None));
        let (mut found, mut looked_at) = (Vec::new(), 0);
        while let Some((key, value)) = self.next(&mut stream).await? {
            looked_at += 1;
            if looked_at > self.bounds.scopes_max {
                let limit = self.bounds.scopes_max;
                let mut error =
                    Error::too_large("number of scopes", limit as u64, looked_at as u64);
                error
                    .message
                    .push_str(": ask without what lies inside the scope");
                return Err(error);
            }
            let row = keys::scope::decode(&key, &value).map_err(|error| refusal(&error))?;
            let is_around = row.scope.contains(&self.viewer.scope);
            if !is_around && self.viewer.sees(&row.scope) {
                self.grow(OWN_BYTES + row.scope.as_str().len())?;
                found.push(row.scope);
            }
        }
        found.sort_unstable();
        scopes.extend(found);
        Ok(scopes)
    }

    /// Takes the active decisions of a scope, and notes what each declares.
    async fn decisions(
        &mut self,
        scope: &Scope,
        declared: &mut Vec<(usize, Vec<Relation>)>,
    ) -> Result<(), Error> {
        let range = keys::decision::range_of_scope(&ScopeKey::of(scope));
        let mut stream = RowStream::new(range);
        while let Some((key, value)) = self.next(&mut stream).await? {
            let head = keys::decision::decode(&key, &value).map_err(|error| refusal(&error))?;
            if !head.active {
                continue;
            }
            let node = head.node(scope);
            let DecisionHead {
                root,
                version,
                rank,
                domain,
                phase,
                title,
                relations,
                ..
            } = head;
            let from = self.node(GraphNode::Decision {
                scope: scope.clone(),
                root,
                version,
                rank,
                domain,
                phase,
                title,
            })?;
            self.places.insert(node, from);
            let texts = relations.iter().map(|one| OWN_BYTES + one.text_bytes());
            self.grow(texts.sum())?;
            if !relations.is_empty() {
                declared.push((from, relations));
            }
        }
        Ok(())
    }

    /// Takes a relation, and what it leads to, where that is there and seen.
    async fn relation(&mut self, from: usize, relation: Relation) -> Result<(), Error> {
        self.check_time()?;
        let Relation { kind, to } = relation;
        let place = match self.places.get(&to) {
            Some(place) => Some(*place),
            None => self.led_to(to).await?,
        };
        match place {
            Some(to) => self.edge(from, GraphEdgeKind::Related(kind), to),
            None => Ok(()),
        }
    }

    /// The place of a node that a relation is the first to lead to; none of what is not there, does not hold or is not seen.
    async fn led_to(&mut self, node: Node) -> Result<Option<usize>, Error> {
        let made = match &node {
            // All that are seen were taken before.
            Node::Decision { .. } => return Ok(None),
            Node::File { path } => GraphNode::File { path: path.clone() },
            Node::Symbol { name, file } => GraphNode::Symbol {
                name: name.clone(),
                file: file.clone(),
            },
            Node::Evidence { scope, id } => {
                if !self.viewer.sees(scope) {
                    return Ok(None);
                }
                let found = evidence_of(self.txn, &ScopeKey::of(scope), *id).await;
                let found = found.map_err(|error| refusal(&error))?;
                // Of what was erased, a row is left.
                let Some(evidence) = found.filter(|one| !one.is_erased()) else {
                    return Ok(None);
                };
                GraphNode::Evidence {
                    scope: scope.clone(),
                    id: *id,
                    bytes: evidence.content.bytes(),
                    title: evidence.title,
                    media_type: evidence.media_type,
                }
            }
        };
        let place = self.node(made)?;
        self.places.insert(node, place);
        Ok(Some(place))
    }

    /// Takes what the episodes of a scope say of causes, of those that recall may still return.
    async fn causes(&mut self, scope: &Scope) -> Result<(), Error> {
        let here = ScopeKey::of(scope);
        let mut stream = RowStream::new(keys::head::range_of_scope(&here));
        while let Some((key, value)) = self.next(&mut stream).await? {
            let head = keys::head::decode(&key, &value).map_err(|error| refusal(&error))?;
            if head.table != Table::Episodes || !head.status.is_live() || head.is_erased() {
                continue;
            }
            let key = keys::version::key(&here, head.id, head.version);
            let version = rows::read(self.txn, &key, keys::version::decode).await;
            let version = version.map_err(|error| refusal(&error))?;
            if let Some(Detail::Episode(episode)) = version.map(|version| version.detail) {
                self.episode(scope, head.id, *episode)?;
            }
        }
        Ok(())
    }

    fn episode(&mut self, scope: &Scope, entry: EntryId, episode: Episode) -> Result<(), Error> {
        if episode.causal_edges.is_empty() {
            return Ok(());
        }
        let teller = self.node(GraphNode::Episode {
            scope: scope.clone(),
            entry,
            task: episode.task_id,
            success: episode.success,
        })?;
        let mut told = Vec::new();
        for edge in episode.causal_edges {
            let cause = self.finding(edge.cause)?;
            let effect = self.finding(edge.effect)?;
            let kind = GraphEdgeKind::Caused {
                confidence: edge.confidence,
                episode: entry,
            };
            self.edge(cause, kind, effect)?;
            for place in [cause, effect] {
                if !told.contains(&place) {
                    told.push(place);
                    self.edge(teller, GraphEdgeKind::Tells, place)?;
                }
            }
        }
        Ok(())
    }

    fn finding(&mut self, text: String) -> Result<usize, Error> {
        if let Some(place) = self.findings.get(&text) {
            return Ok(*place);
        }
        let place = self.node(GraphNode::Finding { text: text.clone() })?;
        // It is held twice.
        self.grow(text.len())?;
        self.findings.insert(text, place);
        Ok(place)
    }

    fn node(&mut self, node: GraphNode) -> Result<usize, Error> {
        let place = self.parts.nodes.len();
        check("number of nodes", self.bounds.nodes_max, place + 1)?;
        self.grow(node.bytes())?;
        self.parts.nodes.push(node);
        Ok(place)
    }

    fn edge(&mut self, from: usize, kind: GraphEdgeKind, to: usize) -> Result<(), Error> {
        let count = self.parts.edges.len() + 1;
        check("number of edges", self.bounds.edges_max, count)?;
        self.grow(OWN_BYTES)?;
        self.parts.edges.push(GraphEdge { from, kind, to });
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes;
        check("size in bytes", self.bounds.bytes_max, self.bytes)
    }

    async fn next(
        &mut self,
        stream: &mut RowStream,
    ) -> Result<Option<(bytes::Bytes, bytes::Bytes)>, Error> {
        self.check_time()?;
        let row = stream.next(self.txn).await;
        row.map_err(|error| refusal(&error))
    }

    fn check_time(&mut self) -> Result<(), Error> {
        if !self.deadline.as_mut().is_some_and(Deadline::has_passed) {
            return Ok(());
        }
        let why = "the time of the query was over while its graph was read: ask for more time, or in a narrower scope";
        Err(Error::new(ErrorCode::TooLarge, why))
    }
}

fn check(what: &str, limit: usize, got: usize) -> Result<(), Error> {
    if got <= limit {
        return Ok(());
    }
    let what = format!("the graph's {what}");
    let mut error = Error::too_large(&what, limit as u64, got as u64);
    error.message.push_str(": ask in a narrower scope");
    Err(error)
}
