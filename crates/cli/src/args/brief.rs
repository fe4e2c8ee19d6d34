//! Flags of `brief`.

use clap::Args;
use sillok_core::decision::Domain;

use super::Within;
use super::decision::Place;

/// `brief`
#[derive(Debug, Args)]
pub struct Brief {
    /// For whom: whoever works in this scope.
    #[command(flatten)]
    pub within: Within,
    /// What the work is about; what is global comes with every domain
    #[arg(long, default_value = "global", value_name = "DOMAIN")]
    pub domain: Domain,
    /// What the work begins with: file:PATH, symbol:NAME, symbol:NAME@PATH, DECISION,
    /// decision:SCOPE#DECISION or evidence:SCOPE#EVIDENCE. May be repeated: a file does not stand for
    /// its symbols, nor a symbol for its file
    #[arg(long = "at", value_name = "NODE")]
    pub at: Vec<Place>,
    /// At most so many items
    #[arg(long, value_name = "N")]
    pub items_max: Option<usize>,
    /// At most so many bytes of items
    #[arg(long, value_name = "BYTES")]
    pub bytes_max: Option<usize>,
    /// Search in what the anchors lead to as well, for these words: the brief does not wait for that, and is the same.
    /// With --json both are documents of their own, each on a line: first the brief, then what is found. Where the search
    /// fails, the brief is printed all the same
    #[arg(long, value_name = "QUERY")]
    pub deep: Option<String>,
}
