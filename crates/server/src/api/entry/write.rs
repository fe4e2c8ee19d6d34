//! Writing entries: requests and answers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sillok_core::command;
use sillok_core::entry::{self, Detail, Status, Table};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::promotion;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::{Claim, Skill};
use crate::api::record::metadata;
use crate::api::{Citation, Commit, citation, schema};

/// A verification of a task, by name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerificationRef {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub task: String,
    /// The verification.
    #[schema(value_type = schema::VerificationId)]
    pub id: String,
}

impl TryFrom<VerificationRef> for command::VerificationRef {
    type Error = Error;

    fn try_from(wire: VerificationRef) -> Result<Self, Error> {
        Ok(Self {
            task: Scope::parse(&wire.task)?,
            id: wire.id.parse()?,
        })
    }
}

/// Writes an entry, or merges it into the one that says the same.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutEntry {
    /// Where it is written.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// Its table.
    #[serde(default = "observations")]
    #[schema(value_type = schema::Table)]
    pub table: Table,
    /// Its text.
    #[schema(value_type = schema::Said)]
    pub content: String,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub citations: Vec<Citation>,
    /// The commit at which it is true, if there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The skill, in the table `skills`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// Whether it tells of something that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failure: bool,
    /// The verification that it rests on, where the level needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRef>,
}

/// The entry that replaces another, in the same scope.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEntry {
    /// Its table: the same as that of the entry that it replaces, which is also the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Table>)]
    pub table: Option<Table>,
    /// Its text.
    #[schema(value_type = schema::Said)]
    pub content: String,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub citations: Vec<Citation>,
    /// The commit at which it is true, if there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The skill, in the table `skills`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// Whether it tells of something that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failure: bool,
}

/// Gives an entry a new version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AmendEntry {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: String,
    /// The version that the caller has seen.
    #[schema(value_type = schema::Version)]
    pub expected_version: u64,
    /// The new text.
    #[schema(value_type = schema::Said)]
    pub content: String,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// What it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Further sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub citations: Vec<Citation>,
    /// The skill, in the table `skills`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// The verification that it rests on, where the level needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRef>,
}

/// Replaces one entry by another of the same scope and table. Exactly one of `new` and
/// `replacement` is given.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Supersede {
    /// The entry that is replaced.
    #[schema(value_type = schema::EntryId)]
    pub old: String,
    /// The version of it that the caller has seen.
    #[schema(value_type = schema::Version)]
    pub expected_version: u64,
    /// An entry that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub new: Option<String>,
    /// A new entry, written in the same transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<NewEntry>,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
    /// The commit that ended the old one, if there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CommitHash>)]
    pub commit: Option<String>,
    /// The verification that it rests on, where the level needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRef>,
}

const fn observations() -> Table {
    Table::Observations
}

impl PutEntry {
    /// The scope, the entry without its embedding, and the verification that it rests on.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_id`, or what is wrong with the metadata.
    pub fn into_parts(
        self,
    ) -> Result<(Scope, promotion::NewEntry, Option<command::VerificationRef>), Error> {
        let scope = Scope::parse(&self.scope)?;
        let verification = self.verification.map(TryInto::try_into).transpose()?;
        let entry = promotion::NewEntry {
            table: self.table,
            content: self.content,
            detail: detail(self.table, self.skill)?,
            metadata: metadata(self.metadata.as_deref())?,
            claim: self.claim.map(Into::into),
            citations: citation::parse_all(self.citations)?,
            failure: self.failure,
            binding: Commit::binding(self.commit),
            embedding: None,
        };
        Ok((scope, entry, verification))
    }
}

impl NewEntry {
    /// The entry without its embedding, in `table` when it names none itself.
    ///
    /// # Errors
    /// `invalid_id`, or what is wrong with the metadata.
    pub fn into_entry(self, table: Table) -> Result<promotion::NewEntry, Error> {
        let table = self.table.unwrap_or(table);
        Ok(promotion::NewEntry {
            table,
            content: self.content,
            detail: detail(table, self.skill)?,
            metadata: metadata(self.metadata.as_deref())?,
            claim: self.claim.map(Into::into),
            citations: citation::parse_all(self.citations)?,
            failure: self.failure,
            binding: Commit::binding(self.commit),
            embedding: None,
        })
    }
}

impl AmendEntry {
    /// The amendment of an entry of `table`, without its embedding.
    ///
    /// # Errors
    /// `invalid_id`, or what is wrong with the metadata.
    pub fn into_amendment(self, table: Table) -> Result<command::AmendEntry, Error> {
        Ok(command::AmendEntry {
            entry: self.entry.parse()?,
            expected_version: self.expected_version,
            content: self.content,
            detail: detail(table, self.skill)?,
            metadata: metadata(self.metadata.as_deref())?,
            claim: self.claim.map(Into::into),
            citations: citation::parse_all(self.citations)?,
            embedding: None,
            verification: self.verification.map(TryInto::try_into).transpose()?,
        })
    }
}

impl Supersede {
    /// The supersession of an entry of `table`, without the embedding of a new entry.
    ///
    /// # Errors
    /// `invalid_id`, `invalid_request` unless exactly one replacement is named, or what is wrong
    /// with the metadata.
    pub fn into_supersession(self, table: Table) -> Result<command::Supersede, Error> {
        let new = match (self.new, self.replacement) {
            (Some(id), None) => command::Replacement::Existing(id.parse()?),
            (None, Some(entry)) => command::Replacement::New(Box::new(entry.into_entry(table)?)),
            _ => {
                let why = "exactly one of 'new' and 'replacement' is given";
                return Err(Error::new(ErrorCode::InvalidRequest, why));
            }
        };
        Ok(command::Supersede {
            old: self.old.parse()?,
            expected_version: self.expected_version,
            new,
            reason: self.reason,
            commit: self.commit,
            verification: self.verification.map(TryInto::try_into).transpose()?,
        })
    }
}

fn detail(table: Table, skill: Option<Skill>) -> Result<Detail, Error> {
    match skill {
        None => Ok(Detail::Plain),
        Some(skill) if table == Table::Skills => Ok(Detail::Skill(Box::new(skill.into()))),
        Some(_) => Err(Error::new(
            ErrorCode::InvalidArgument,
            "only an entry of skills holds a skill",
        )),
    }
}

impl From<Claim> for entry::Claim {
    fn from(claim: Claim) -> Self {
        Self {
            key: claim.key,
            value: claim.value,
        }
    }
}

impl From<Skill> for entry::Skill {
    fn from(skill: Skill) -> Self {
        Self {
            name: skill.name,
            description: skill.description,
            code: skill.code,
            usage_count: skill.usage_count,
            success_rate: skill.success_rate,
        }
    }
}

/// What became of an entry that was handed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Disposition {
    /// It became an entry.
    Created,
    /// It was the same as an entry that stays.
    Merged {
        /// Cosine of the two texts; 1 for the same text.
        cosine: f64,
    },
    /// It became an entry that contradicts another.
    Contradicts {
        /// The other entry.
        #[schema(value_type = schema::EntryId)]
        other: EntryId,
    },
    /// It was left out: a skill is published only where success repeats.
    LeftOut,
}

impl From<promotion::Disposition> for Disposition {
    fn from(disposition: promotion::Disposition) -> Self {
        match disposition {
            promotion::Disposition::Created => Self::Created,
            promotion::Disposition::Merged { cosine } => Self::Merged { cosine },
            promotion::Disposition::Contradicts { other } => Self::Contradicts { other },
            promotion::Disposition::LeftOut => Self::LeftOut,
        }
    }
}

/// An entry was written, or the same one was there.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryWritten {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: EntryId,
    /// Its active version.
    pub version: u64,
    /// Its status.
    #[schema(value_type = schema::Status)]
    pub status: Status,
    /// What became of what was handed over.
    pub disposition: Disposition,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was written.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// An entry was replaced.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Superseded {
    /// The entry that replaces.
    #[schema(value_type = schema::EntryId)]
    pub new: EntryId,
    /// Its active version.
    pub version: u64,
    /// The entry that was replaced.
    #[schema(value_type = schema::EntryId)]
    pub old: EntryId,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was done.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}
