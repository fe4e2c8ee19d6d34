//! Reading entries: heads, versions and lines of supersession.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sillok_core::entry::{self, Detail, Kind, LinkKind, Status, Table};
use sillok_core::id::{EntryId, VerificationId};
use sillok_core::principal::{self, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::trust::{self, DecayPolicy};
use sillok_core::verification::VerificationSource;
use utoipa::ToSchema;

use crate::api::record::raw_metadata;
use crate::api::{Citation, Usage, citation, schema};

/// Who acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Actor {
    /// The kind of principal.
    #[schema(value_type = schema::PrincipalKind)]
    pub kind: PrincipalKind,
    /// Its name within that kind.
    pub id: String,
}

impl From<principal::Actor> for Actor {
    fn from(actor: principal::Actor) -> Self {
        Self {
            kind: actor.kind,
            id: actor.id.to_string(),
        }
    }
}

/// What an entry says under a key: two that declare the same key with other values contradict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the claim is about.
    #[schema(value_type = schema::Short)]
    pub key: String,
    /// What is claimed.
    #[schema(value_type = schema::Short)]
    pub value: String,
}

impl From<entry::Claim> for Claim {
    fn from(claim: entry::Claim) -> Self {
        Self {
            key: claim.key,
            value: claim.value,
        }
    }
}

/// A way of doing something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    /// A short name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it is done.
    pub code: String,
    /// How often it was used: an entry that is shown counts what tasks reported on it in, its history says what was
    /// known when it was written, which is at most 10,000. An amendment leaves it as it was written first, whatever it says.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 10_000)]
    pub usage_count: u64,
    /// Share of these uses that helped, 0 to 1. An amendment leaves it, too.
    #[serde(default)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub success_rate: f64,
}

impl From<entry::Skill> for Skill {
    fn from(skill: entry::Skill) -> Self {
        Self {
            name: skill.name,
            description: skill.description,
            code: skill.code,
            usage_count: skill.usage_count,
            success_rate: skill.success_rate,
        }
    }
}

/// What became of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Episode {
    /// The task's scope.
    #[schema(value_type = schema::Scope)]
    pub task_id: Scope,
    /// What was to be done.
    pub task: String,
    /// What was learnt.
    pub critique: String,
    /// 0 to 1.
    pub reward: f64,
    /// Whether it succeeded.
    pub success: bool,
    /// What the agent started from.
    pub input: String,
    /// What came out.
    pub output: String,
    /// Choices that were made on the way.
    pub key_decisions: Vec<String>,
    /// What brought about what.
    pub causal_edges: Vec<CausalEdge>,
}

/// One thing that brought about another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CausalEdge {
    /// What came first.
    pub cause: String,
    /// What came of it.
    pub effect: String,
    /// 0 to 1.
    pub confidence: f64,
}

impl From<entry::Episode> for Episode {
    fn from(episode: entry::Episode) -> Self {
        let edges = episode.causal_edges.into_iter().map(|edge| CausalEdge {
            cause: edge.cause,
            effect: edge.effect,
            confidence: edge.confidence,
        });
        Self {
            task_id: episode.task_id,
            task: episode.task,
            critique: episode.critique,
            reward: episode.reward,
            success: episode.success,
            input: episode.input,
            output: episode.output,
            key_decisions: episode.key_decisions,
            causal_edges: edges.collect(),
        }
    }
}

/// Where an entry's text was true first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Binding {
    /// No repository was at hand.
    NoRepository,
    /// A commit of a repository.
    Commit {
        /// The commit's hash.
        hash: String,
        /// The repository.
        repository: String,
    },
}

impl From<entry::Binding> for Binding {
    fn from(binding: entry::Binding) -> Self {
        match binding {
            entry::Binding::NoRepository => Self::NoRepository,
            entry::Binding::Commit { hash, repository } => Self::Commit { hash, repository },
        }
    }
}

/// Confidence, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Trust {
    /// 0.1 to 1.0, as of the last validation.
    pub confidence: f64,
    /// What validated it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::VerificationSource>)]
    pub validation_source: Option<VerificationSource>,
    /// When it was validated last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_validated: Option<Timestamp>,
    /// How many validations counted.
    pub validation_count: u64,
    /// How its confidence fades.
    #[schema(value_type = schema::DecayPolicy)]
    pub decay_policy: DecayPolicy,
}

impl From<trust::Trust> for Trust {
    fn from(trust: trust::Trust) -> Self {
        Self {
            confidence: trust.confidence,
            validation_source: trust.validation_source,
            last_validated: trust.last_validated,
            validation_count: trust.validation_count,
            decay_policy: trust.decay_policy,
        }
    }
}

/// How an entry came, and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lifecycle {
    /// The entry that this one replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub supersedes: Option<EntryId>,
    /// The entry that replaced this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub superseded_by: Option<EntryId>,
    /// When it was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub deprecated_at: Option<Timestamp>,
    /// The commit from which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from_commit: Option<String>,
    /// The commit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to_commit: Option<String>,
    /// Why it was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction_note: Option<String>,
}

impl From<entry::Lifecycle> for Lifecycle {
    fn from(lifecycle: entry::Lifecycle) -> Self {
        Self {
            supersedes: lifecycle.supersedes,
            superseded_by: lifecycle.superseded_by,
            deprecated_at: lifecycle.deprecated_at,
            valid_from_commit: lifecycle.valid_from_commit,
            valid_to_commit: lifecycle.valid_to_commit,
            contradiction_note: lifecycle.contradiction_note,
        }
    }
}

/// A relation to another entry of the scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// How the two are related.
    #[schema(value_type = schema::LinkKind)]
    pub kind: LinkKind,
    /// The other entry.
    #[schema(value_type = schema::EntryId)]
    pub to: EntryId,
    /// How sure that is, 0 to 1.
    pub weight: f64,
}

/// The head of an entry: what changes while its versions stay.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryHead {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub id: EntryId,
    /// Where it lives.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Its table.
    #[schema(value_type = schema::Table)]
    pub table: Table,
    /// How it ages.
    #[schema(value_type = schema::Kind)]
    pub kind: Kind,
    /// The number of the one active version.
    pub version: u64,
    /// How far it is trusted to be what it says.
    #[schema(value_type = schema::Status)]
    pub status: Status,
    /// Whether it tells of something that failed.
    pub failure: bool,
    /// Whether its content was erased: its texts are empty, and its hash says nothing of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// Hash of the active version's content, in hexadecimal.
    pub content_hash: String,
    /// Confidence, and what it rests on.
    pub trust: Trust,
    /// The first entry of its line of supersessions.
    #[schema(value_type = schema::EntryId)]
    pub line: EntryId,
    /// How it came, and where it went.
    pub lifecycle: Lifecycle,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Where it was true first.
    pub binding: Binding,
    /// Relations to other entries of the scope.
    pub links: Vec<Link>,
    /// How many tasks reported that it helped.
    pub reuse_count: u64,
    /// What tasks reported, counted.
    pub usage: Usage,
    /// When it was last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_used: Option<Timestamp>,
    /// The promotion that published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::VerificationId>)]
    pub promotion: Option<VerificationId>,
    /// Who wrote it first.
    pub author: Actor,
    /// When it was made.
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// When its head last changed.
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
}

impl From<entry::Head> for EntryHead {
    fn from(head: entry::Head) -> Self {
        let links = head.links.iter().map(|link| Link {
            kind: link.kind,
            to: link.to,
            weight: link.weight,
        });
        Self {
            erased: head.is_erased(),
            id: head.id,
            kind: head.table.kind(),
            table: head.table,
            version: head.version,
            status: head.status,
            failure: head.failure,
            content_hash: head.content_hash.to_string(),
            line: head.line,
            links: links.collect(),
            scope: head.scope,
            trust: head.trust.into(),
            lifecycle: head.lifecycle.into(),
            citations: citation::all(head.citations),
            binding: head.binding.into(),
            reuse_count: head.reuse_count,
            usage: head.usage.into(),
            last_used: head.last_used,
            promotion: head.promotion,
            author: head.author.into(),
            created_at: head.created_at,
            updated_at: head.updated_at,
        }
    }
}

/// One version of an entry's own text.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: EntryId,
    /// 1 for the first.
    pub number: u64,
    /// The text that is searched.
    pub content: String,
    /// The episode, on an episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<Episode>,
    /// The skill, on a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// Free metadata.
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Who wrote it.
    pub author: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
}

impl From<entry::Version> for VersionView {
    fn from(version: entry::Version) -> Self {
        let (episode, skill) = match version.detail {
            Detail::Plain => (None, None),
            Detail::Episode(episode) => (Some(Episode::from(*episode)), None),
            Detail::Skill(skill) => (None, Some(Skill::from(*skill))),
        };
        Self {
            entry: version.entry,
            number: version.number,
            content: version.content,
            episode,
            skill,
            metadata: raw_metadata(&version.metadata),
            claim: version.claim.map(Into::into),
            author: version.author.into(),
            created_at: version.created_at,
        }
    }
}
