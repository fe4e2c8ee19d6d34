//! The routes that read evidence, anchors, kinds of relations, graphs and source files, as typed calls.
//!
//! Owns their paths. Bodies are the server's own types; what writes is [`routes`](super::routes)'s.

use sillok_server::api::{
    Anchor, AnchorQuery, AnchorView, AnchorsFound, AnchorsQuery, CodeDependents, DeclaredRelation,
    DependentsQuery, EvidenceHead, EvidenceListQuery, EvidenceQuery, EvidenceText,
    EvidenceTextQuery, Followed, GraphAnswer, GraphRequest, Page, RelationKindsQuery,
    SearchAnchors, SymbolsFound, SymbolsQuery, WorkTreeQuery, WorkTreeView,
};

use super::Client;
use crate::failure::Failure;

impl Client {
    /// One page of the evidence of a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn evidence_list(
        &self,
        query: &EvidenceListQuery,
    ) -> Result<Page<EvidenceHead>, Failure> {
        self.get("/v1/evidence", query).await
    }

    /// What there is to know of evidence without its text.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn evidence(&self, query: &EvidenceQuery) -> Result<EvidenceHead, Failure> {
        self.get("/v1/evidence/item", query).await
    }

    /// The text of evidence, or a range of it.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn evidence_text(&self, query: &EvidenceTextQuery) -> Result<EvidenceText, Failure> {
        self.get("/v1/evidence/text", query).await
    }

    /// One page of the anchors of a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn anchors(&self, query: &AnchorsQuery) -> Result<Page<Anchor>, Failure> {
        self.get("/v1/anchors", query).await
    }

    /// One anchor, with what it leads to by title.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn anchor(&self, query: &AnchorQuery) -> Result<AnchorView, Failure> {
        self.get("/v1/anchor", query).await
    }

    /// What an anchor leads to, from the originals.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn follow_anchor(&self, query: &AnchorQuery) -> Result<Followed, Failure> {
        self.get("/v1/anchor/follow", query).await
    }

    /// One page of the declared kinds of relations that count in a scope.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn relation_kinds(
        &self,
        query: &RelationKindsQuery,
    ) -> Result<Page<DeclaredRelation>, Failure> {
        self.get("/v1/decisions/kinds", query).await
    }

    /// What is found behind anchors.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn search_anchors(&self, request: &SearchAnchors) -> Result<AnchorsFound, Failure> {
        self.ask("/v1/anchors/search", request).await
    }

    /// The rows that a query finds in the graph of what is seen.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn query_graph(&self, request: &GraphRequest) -> Result<GraphAnswer, Failure> {
        self.ask("/v1/graph/query", request).await
    }

    /// What is known of a work tree.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn work_tree(&self, query: &WorkTreeQuery) -> Result<WorkTreeView, Failure> {
        self.get("/v1/code", query).await
    }

    /// The symbols of a file, or of a name.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn symbols(&self, query: &SymbolsQuery) -> Result<SymbolsFound, Failure> {
        self.get("/v1/code/symbols", query).await
    }

    /// What depends on a file or a symbol.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn dependents(&self, query: &DependentsQuery) -> Result<CodeDependents, Failure> {
        self.get("/v1/code/dependents", query).await
    }
}
