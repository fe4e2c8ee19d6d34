//! Flags of `anchor`.

use clap::{Args, Subcommand};
use sillok_core::decision::Domain;
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;

use super::decision::Place;
use super::{Paging, Within};

/// `anchor`
#[derive(Debug, Subcommand)]
pub enum AnchorCommand {
    /// Add an anchor, or several at once: a hint where to go on reading, which stands last in briefs
    Add(AnchorAdd),
    /// List the anchors of a scope
    List(AnchorList),
    /// Print an anchor, and what it leads to by title
    Show(AnchorNamed),
    /// Print what an anchor leads to, as the originals say it now
    Follow(AnchorNamed),
    /// Search in what anchors lead to, by words: those that a brief tells of
    Search(AnchorSearch),
    /// Drop an anchor: it is listed no longer, and stays readable
    Drop(AnchorDrop),
}

/// `anchor add`
#[derive(Debug, Args)]
pub struct AnchorAdd {
    /// What is found there, in a line; - reads anchors from standard input, each a line such as
    /// {"hint": "…", "domain": "…", "to": ["NODE", …]}, and adds all of them or none
    pub hint: String,
    /// Where
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// What it is about: global (everything), or a name such as runtime or ui. Of standard input: those whose lines name none
    #[arg(long, default_value = "global", value_name = "DOMAIN")]
    pub domain: Domain,
    /// What it leads to, unless it is read from standard input: DECISION, decision:SCOPE#DECISION or
    /// evidence:SCOPE#EVIDENCE. May be repeated
    #[arg(long = "to", value_name = "NODE")]
    pub to: Vec<Place>,
}

/// `anchor list`
#[derive(Debug, Args)]
pub struct AnchorList {
    /// Where to look: in this scope alone.
    #[command(flatten)]
    pub within: Within,
    /// About this only
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Option<Domain>,
    /// List those that were dropped too
    #[arg(long)]
    pub dropped: bool,
    /// How many.
    #[command(flatten)]
    pub paging: Paging,
}

/// `anchor show` and `anchor follow`
#[derive(Debug, Args)]
pub struct AnchorNamed {
    /// The anchor
    #[arg(value_name = "ANCHOR")]
    pub id: AnchorId,
    /// Where it was added.
    #[command(flatten)]
    pub within: Within,
}

/// `anchor search`
#[derive(Debug, Args)]
pub struct AnchorSearch {
    /// The words that are looked for
    pub query: String,
    /// For whom: whoever works in this scope.
    #[command(flatten)]
    pub within: Within,
    /// What the work is about; what is global is looked at in any case
    #[arg(long, default_value = "global", value_name = "DOMAIN")]
    pub domain: Domain,
    /// At most so many hits
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// `anchor drop`
#[derive(Debug, Args)]
pub struct AnchorDrop {
    /// The anchor
    #[arg(value_name = "ANCHOR")]
    pub id: AnchorId,
    /// Where it was added
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// Why
    #[arg(long)]
    pub reason: String,
}
