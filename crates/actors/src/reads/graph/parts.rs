//! What a graph is made of: nodes and edges as plain data.
//!
//! Owns what is known of each. It must not know how they are found.

use sillok_core::decision::{Domain, Phase, Rank, RelationKind};
use sillok_core::id::{DecisionId, EntryId, EvidenceId};
use sillok_core::scope::Scope;

/// What a node or an edge takes beside its texts.
pub(super) const OWN_BYTES: usize = 64;

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphNode {
    /// A decision that holds.
    Decision {
        /// The scope that it was made in.
        scope: Scope,
        /// Its root.
        root: DecisionId,
        /// Its active version.
        version: u64,
        /// How strong it is.
        rank: Rank,
        /// Where it applies.
        domain: Domain,
        /// The phase of work that it belongs to.
        phase: Option<Phase>,
        /// What was decided, in a line.
        title: String,
    },
    /// Evidence that such a decision rests on.
    Evidence {
        /// The scope that it was saved in.
        scope: Scope,
        /// Its id.
        id: EvidenceId,
        /// What it is, in a line.
        title: String,
        /// Its media type.
        media_type: String,
        /// Bytes of its text.
        bytes: u64,
    },
    /// A file that such a decision applies to.
    File {
        /// Its path.
        path: String,
    },
    /// A symbol that such a decision applies to.
    Symbol {
        /// Its name.
        name: String,
        /// The file that defines it, where that is told.
        file: Option<String>,
    },
    /// An episode that says what brought about what.
    Episode {
        /// The scope that holds it.
        scope: Scope,
        /// The entry.
        entry: EntryId,
        /// The task that it tells of.
        task: Scope,
        /// Whether that succeeded.
        success: bool,
    },
    /// What brought something about, or came of something. What is said in the same words is one node.
    Finding {
        /// What is said.
        text: String,
    },
}

impl GraphNode {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let optional = |text: Option<&str>| text.map_or(0, str::len);
        let texts = match self {
            Self::Decision {
                scope,
                domain,
                phase,
                title,
                ..
            } => {
                let names = domain.as_str().len() + optional(phase.as_ref().map(Phase::as_str));
                scope.as_str().len() + names + title.len()
            }
            Self::Evidence {
                scope,
                title,
                media_type,
                ..
            } => scope.as_str().len() + title.len() + media_type.len(),
            Self::File { path } => path.len(),
            Self::Symbol { name, file } => name.len() + optional(file.as_deref()),
            Self::Episode { scope, task, .. } => scope.as_str().len() + task.as_str().len(),
            Self::Finding { text } => text.len(),
        };
        OWN_BYTES + texts
    }
}

/// How two nodes are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GraphEdgeKind {
    /// A decision declares it.
    Related(RelationKind),
    /// One finding brought about the other, as an episode says.
    Caused {
        /// How sure that is, 0 to 1.
        confidence: f64,
        /// The episode that says so.
        episode: EntryId,
    },
    /// An episode says something of a finding.
    Tells,
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphEdge {
    /// The place of the node that it begins at, among the nodes.
    pub from: usize,
    /// How they are joined.
    pub kind: GraphEdgeKind,
    /// The place of the node that it leads to.
    pub to: usize,
}

/// What somebody sees, as nodes and edges. The same state gives the same ones in the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphParts {
    /// The nodes: decisions first, those of the widest scope before the others.
    pub nodes: Vec<GraphNode>,
    /// The edges. Both ends of each are among the nodes.
    pub edges: Vec<GraphEdge>,
}
