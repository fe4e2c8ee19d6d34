//! Flags of the commands on entries, and the short form of citations.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sillok_core::entry::{Kind, Table};
use sillok_core::id::{EntryId, VerificationId};
use sillok_core::scope::Scope;

use super::Within;

/// What an entry or a verification rests on.
#[derive(Clone, Debug, Default, Args)]
pub struct Cite {
    /// A source: log:RECORD, snapshot:RECORD, excerpt:RECORD:FROM-TO, commit:HASH@REPOSITORY,
    /// file:PATH[:FIRST-LAST], human:NAME, or a JSON object. May be repeated
    #[arg(long = "cite", value_name = "SOURCE")]
    pub citations: Vec<String>,
}

/// A passed verification, by name.
#[derive(Clone, Debug, Default, Args)]
pub struct Named {
    /// The passed verification that it rests on: its id...
    #[arg(long, value_name = "ID", requires = "verified_task")]
    pub verification: Option<VerificationId>,
    /// ...and the task that it was recorded for
    #[arg(long, value_name = "TASK", requires = "verification")]
    pub verified_task: Option<Scope>,
}

/// What a write rests on: sources, and where the level needs one, a passed verification.
#[derive(Clone, Debug, Default, Args)]
pub struct Grounds {
    /// Sources.
    #[command(flatten)]
    pub cite: Cite,
    /// The passed verification that it rests on.
    #[command(flatten)]
    pub named: Named,
    /// Free metadata: a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub metadata: Option<serde_json::Value>,
    /// What the text claims: KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", value_parser = claim)]
    pub claim: Option<(String, String)>,
}

/// `entry`
#[derive(Debug, Subcommand)]
pub enum EntryCommand {
    /// Write an entry
    Put(EntryPut),
    /// Give an entry a new version
    Amend(EntryAmend),
    /// Resolve a gotcha, session, task or story: it holds no longer
    Resolve(EntryResolve),
    /// Bring an entry back that maintenance took out of recall
    Restore(EntryRestore),
}

/// `entry put`
#[derive(Debug, Args)]
pub struct EntryPut {
    /// The text; - reads standard input
    pub content: String,
    /// Where
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// The table
    #[arg(long, default_value = "observations", value_name = "TABLE")]
    pub table: Table,
    /// What it rests on.
    #[command(flatten)]
    pub grounds: Grounds,
}

/// `entry amend`
#[derive(Debug, Args)]
pub struct EntryAmend {
    /// The entry's id
    pub entry: EntryId,
    /// The new text; - reads standard input
    pub content: String,
    /// The version that you have seen
    #[arg(long, value_name = "N")]
    pub expected_version: u64,
    /// What it rests on.
    #[command(flatten)]
    pub grounds: Grounds,
}

/// `entry resolve`
#[derive(Debug, Args)]
pub struct EntryResolve {
    /// The entry's id
    pub entry: EntryId,
    /// The version that you have seen
    #[arg(long, value_name = "N")]
    pub expected_version: u64,
    /// How it was resolved
    #[arg(long)]
    pub reason: String,
    /// What it rests on, where the level needs a verification.
    #[command(flatten)]
    pub named: Named,
}

/// `entry restore`
#[derive(Debug, Args)]
pub struct EntryRestore {
    /// The entry's id
    pub entry: EntryId,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// `supersede`
#[derive(Debug, Args)]
pub struct Supersede {
    /// The entry that is replaced
    pub old: EntryId,
    /// The version of it that you have seen
    #[arg(long, value_name = "N")]
    pub expected_version: u64,
    /// Why
    #[arg(long)]
    pub reason: String,
    /// The entry that replaces it
    #[arg(
        long = "by",
        value_name = "ENTRY",
        conflicts_with = "content",
        required_unless_present = "content"
    )]
    pub new: Option<EntryId>,
    /// The text of a new entry that replaces it; - reads standard input
    #[arg(long, value_name = "TEXT")]
    pub content: Option<String>,
    /// The table of the new entry: that of the entry that it replaces, unless it is said
    #[arg(long, value_name = "TABLE", requires = "content")]
    pub table: Option<Table>,
    /// The commit that ended the old one
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// What it rests on.
    #[command(flatten)]
    pub grounds: Grounds,
}

/// `recall`
#[derive(Debug, Args)]
pub struct Recall {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    pub query: Vec<String>,
    /// Where to look: this scope and those above it.
    #[command(flatten)]
    pub within: Within,
    /// At most this many results
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub limit: usize,
    /// Of these kinds only; may be repeated
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<Kind>,
    /// About this file, or this directory with a / at its end; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// About this function, type or other named piece of code; may be repeated
    #[arg(long = "symbol", value_name = "NAME")]
    pub symbols: Vec<String>,
    /// No more than fits in this many tokens, about four characters each
    #[arg(long, value_name = "TOKENS")]
    pub tokens_max: Option<u64>,
    /// In these tables only; may be repeated
    #[arg(long = "table", value_name = "TABLE")]
    pub tables: Vec<Table>,
    /// Only what failed
    #[arg(long)]
    pub failures_only: bool,
    /// At least this much confidence, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub confidence_min: Option<f64>,
    /// What holds at this commit: a hash, a branch, a tag, HEAD~3; or none, for what holds now whatever the commit.
    /// Unless it is said: HEAD, where there is a work tree that knows of the entries' commits
    #[arg(long, value_name = "REV")]
    pub as_of: Option<String>,
    /// Check what results rest on in this work tree, and leave out what is gone from it; or none, to check nothing.
    /// Unless it is said: the git work tree here, if there is one
    #[arg(long, value_name = "PATH")]
    pub work_tree: Option<PathBuf>,
}

/// Parses a range of bytes, FROM-TO, the last one not in it.
pub(crate) fn bytes(text: &str) -> Result<(u32, u32), String> {
    let range = text
        .split_once('-')
        .and_then(|(from, to)| Some((from.parse::<u32>().ok()?, to.parse::<u32>().ok()?)));
    let range = range.ok_or("FROM-TO is expected, in bytes")?;
    if range.0 < range.1 {
        Ok(range)
    } else {
        Err("FROM is not before TO".to_owned())
    }
}

/// Parses a JSON object.
pub(super) fn object(text: &str) -> Result<serde_json::Value, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() {
        Ok(value)
    } else {
        Err("a JSON object is expected".to_owned())
    }
}

/// Parses what a text claims, KEY=VALUE.
pub(super) fn claim(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is expected")?;
    if key.is_empty() {
        Err("the key is empty".to_owned())
    } else {
        Ok((key.to_owned(), value.to_owned()))
    }
}
