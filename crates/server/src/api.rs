//! The wire forms of the HTTP interface: every request and response body, and every query.
//!
//! Owns the JSON shapes and their translation to and from the rules' own types. Server and command
//! line use the very same types. It must not know HTTP itself.
//!
//! Ids and scopes in requests are plain text, so that a wrong one is refused with the code of its
//! own kind. Times are milliseconds since the Unix epoch, UTC.

mod anchor;
mod bank;
mod brief;
mod citation;
mod cluster;
mod code;
mod cursor;
mod decision;
mod entry;
mod erase;
mod event;
mod evidence;
mod fix;
mod graph;
mod impact;
mod maintenance;
mod page;
mod problem;
mod promotion;
mod recall;
mod record;
mod review;
pub mod schema;
mod status;
mod tail;
mod task;
mod token;
mod verification;

pub(crate) use anchor::AnchorsAsked;
pub use anchor::{
    AddAnchors, Anchor, AnchorDropped, AnchorHit, AnchorQuery, AnchorView, AnchorsAdded,
    AnchorsCut, AnchorsFound, AnchorsLookedAt, AnchorsQuery, BriefAnchor, DropAnchor, Followed,
    FollowedDecision, FollowedEvidence, FollowedItem, Lead, NewAnchor, SearchAnchors,
};
pub use bank::{
    Pattern, PatternCited, PatternsFound, PatternsQuery, StoreTrajectory, TrajectoryStep,
    TrajectoryStored, Warning, WarningCited,
};
pub(crate) use brief::BriefAsked;
pub use brief::{Brief, BriefDecision, BriefItem, BriefRequest, LayerCut};
pub use citation::Citation;
pub use cluster::{
    ClusterNode, ClusterQuery, ClusterSlot, ClusterView, FenceNode, FenceView, OrdersView,
    QuarantineScope, QuarantineView, ReasonView,
};
pub(crate) use code::node_of;
pub use code::{
    CodeCut, CodeCutReason, CodeDependent, CodeDependents, CodeRelation, CodeSymbol,
    DependentsQuery, SymbolsFound, SymbolsQuery, WorkTreeQuery, WorkTreeView,
};
pub use cursor::Cursor;
pub use decision::{
    DeactivateDecision, DecisionHead, DecisionHistoryQuery, DecisionQuery, DecisionSaved,
    DecisionText, DecisionVersion, DecisionView, DecisionsQuery, DeclareRelation, DeclaredRelation,
    KindName, Reaches, Relation, RelationDeclared, RelationKindsQuery, RestoreDecision,
    SaveDecision,
};
pub use entry::{
    Actor, AmendEntry, Binding, CausalEdge, Claim, Disposition, EntryHead, EntryQuery, EntryView,
    EntryWritten, Episode, History, HistoryQuery, Lifecycle, Link, NewEntry, PutEntry, Skill,
    Supersede, Superseded, Trust, VerificationRef, VersionView,
};
pub(crate) use erase::backups_before;
pub use erase::{ContentErased, EraseContent};
pub use event::{EventView, EventsQuery, body_json};
pub use evidence::{
    EvidenceHead, EvidenceListQuery, EvidenceQuery, EvidenceSaved, EvidenceText, EvidenceTextQuery,
    SaveEvidence,
};
pub use fix::{Approach, CheckFix, ErrorJudged, FailedApproach, FixAsked, FixChecked, Tried};
pub use graph::{GraphAnswer, GraphCut, GraphRequest, SCHEMA as GRAPH_SCHEMA};
pub(crate) use graph::{GraphQuestion, QueryText};
pub use graph::{
    Kind as GraphKind, Label as GraphLabel, Property as GraphProperty, Schema as GraphSchema,
};
pub use impact::{
    Affected, Contradiction, Edge, Guard, Impact, ImpactCut, ImpactRequest, Meaning, Proposed,
    Reached,
};
pub use maintenance::{Maintain, Maintained, ScopeMaintained};
pub use page::{ListQuery, Page, ScopeQuery, TaskListQuery, UnderListQuery, UnderQuery};
pub use problem::{Current, Limit, Problem};
pub use promotion::{AttemptError, DropPromotion, JobQuery, PromotionSpent, WaitingPromotion};
pub use recall::{AsOf, AtCommit, GateCheck, RecallAnswer, RecallRequest, RecallResult, Score};
pub use record::{
    AppendLogs, AppendMemoryEvent, AppendSnapshot, Appended, ExcerptQuery, ExcerptView, LogRecord,
    RecordQuery, RecordSort, RecordView,
};
pub use review::{
    AnswerReview, GateFound, PromotionUndone, Question, ReportGate, ReportReuse, ResolveState,
    RestoreEntry, ReuseReported, ReviewAnswer, ReviewEvidence, ReviewQuery, ReviewView, Reviewed,
    ReviewsQuery, UndoPromotion, Usage,
};
pub use status::{
    AuditAnswer, AuditDifference, AuditRequest, ChainEnd, ChainsCompared, CheckpointView,
    CompareChains, EmbedderChange, JobView, MaintenanceProgress, MaintenanceRun, StatusView,
};
pub use tail::{TailEvent, TailItem, TailQuery};
pub use task::{ArchiveTask, ClearStuck, CloseTask, MarkStuck, OpenTask, TaskChanged, TaskView};
pub use token::{MintToken, RevokeToken, TokenMinted, TokenRevoked, TokenView};
pub use verification::{
    Commit, Product, Promotion, PromotionQuery, PromotionState, PublishReport, RecordVerification,
    RetryPromotion, VerificationRecorded, VerificationView,
};
