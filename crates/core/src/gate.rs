//! The cognitive gate: whether what an entry rests on is still in the work tree of whoever recalls it.
//!
//! Owns the rule (section 12 of the specification): what a citation of a file or a symbol is by what was seen of it, what
//! an entry is by its citations, and which citation follows where the code moved. It must not know how files are read:
//! what was seen are facts, gathered where the work tree is.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::citation::Citation;

mod fingerprint;
mod path;
mod place;

pub use fingerprint::{Fingerprint, Text, is_plain};
pub use path::{Refusal, steps};
pub use place::{Choice, Place, choose, is_refreshed};

/// What the gate says of a citation or an entry. Of several citations of an entry the last one in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What it rests on is where it was.
    Valid,
    /// The same lies elsewhere by now.
    Moved,
    /// Nobody can tell here. It is given to the asker, and marked.
    Unverifiable,
    /// What it rests on is gone. It is left out of the answer.
    Stale,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Valid, Self::Moved, Self::Unverifiable, Self::Stale];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Moved => "moved",
            Self::Unverifiable => "unverifiable",
            Self::Stale => "stale",
        }
    }

    /// Whether an entry of this verdict is given to whoever asked.
    #[must_use]
    pub const fn is_recalled(self) -> bool {
        !matches!(self, Self::Stale)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a file that may be read says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// It is larger than what the gate reads.
    TooLarge,
    /// It changed each time while it was read.
    Changing,
    /// The system does not let it be read.
    Denied,
    /// It is in no language whose symbols are known.
    NoLanguage,
    /// Its symbols could not all be made out, and the one that is cited is not among those that were.
    Unparsed,
    /// More citations were asked about than are looked at at once.
    TooMany,
}

/// What a look at the place that a citation names found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// There is no work tree at hand.
    NoTree,
    /// The place may not be read, and was not.
    Refused(Refusal),
    /// It may be read, and could not be.
    Unread(Unread),
    /// There is no such file, or it has no such lines.
    Gone,
    /// The file, or the cited range of it.
    Lines(Fingerprint),
    /// What bears the symbol's name in the file that is cited.
    Symbol(Named),
}

/// What bears the name of a cited symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nothing does.
    Nothing,
    /// Something with the signature that is cited, if one is.
    Same,
    /// Only what has another signature.
    Other,
}

/// What a search of the work tree for the same content found: at most [`GATE_PLACES_MAX`](crate::limits::GATE_PLACES_MAX)
/// places, in the order in which it found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Where the same lies.
    pub places: Vec<Place>,
    /// Whether all of the work tree was looked through.
    pub is_whole: bool,
}

/// Why a citation is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// What lies there is what was cited.
    Matches,
    /// It is there, and no more was cited of it.
    Exists,
    /// The same lies in one other place.
    FoundElsewhere,
    /// Nothing lies there, nor the same anywhere else.
    Gone,
    /// Something else lies there, and what was cited nowhere.
    Changed,
    /// There is no work tree at hand.
    NoWorkTree,
    /// The place may not be read.
    Refused(Refusal),
    /// It could not be read.
    Unread(Unread),
    /// The citation says nothing that what lies there could be compared with.
    NothingToCompare,
    /// The same, or what may be it, lies in several places, or in one that no citation can name.
    Ambiguous,
    /// It is not in its place, and not all of the work tree was looked through.
    NotSearched,
    /// Nothing lies there, and the citation says nothing that could be looked for elsewhere.
    NothingToFind,
}

impl Reason {
    /// What it means, for a person: the end of a sentence that begins with the citation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matches => "is as it was cited",
            Self::Exists => "is there",
            Self::FoundElsewhere => "lies elsewhere by now",
            Self::Gone => "is gone",
            Self::Changed => "says something else by now",
            Self::NoWorkTree => "cannot be checked: there is no work tree",
            Self::Refused(refusal) => refusal.as_str(),
            Self::Unread(Unread::TooLarge) => "was not read: the file is too large",
            Self::Unread(Unread::Changing) => "was not read: the file changes all the time",
            Self::Unread(Unread::Denied) => "was not read: the system does not allow it",
            Self::Unread(Unread::NoLanguage) => "was not read: the language is not known",
            Self::Unread(Unread::Unparsed) => "was not found: the file cannot be parsed whole",
            Self::Unread(Unread::TooMany) => "was not looked at: there are too many citations",
            Self::NothingToCompare => "is there, and nothing tells whether it is the same",
            Self::Ambiguous => "may lie in several places by now",
            Self::NotSearched => "is not there; elsewhere not all was looked through",
            Self::NothingToFind => "is not there, and nothing tells what to look for elsewhere",
        }
    }
}

/// What the gate says of one citation, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What it is.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// Where it moved: the citation that names that place.
    pub refreshed: Option<Citation>,
}

/// Whether the gate looks at a citation: at those of files and symbols.
#[must_use]
pub const fn is_checked(citation: &Citation) -> bool {
    matches!(citation, Citation::File { .. } | Citation::Symbol { .. })
}

/// Whether what was seen of a citation leaves open where it is, so that the same is to be looked for elsewhere.
#[must_use]
pub fn is_sought(citation: &Citation, sight: &Sight) -> bool {
    matches!(look(citation, sight), Look::Missing(_))
}

/// What a citation is by what was seen of it in its place, and by what a search found elsewhere, which counts where
/// [`is_sought`] says so; none for one that the gate does not look at.
///
/// Only what is not in its place and nowhere else is stale, and that only where all was looked through: what nobody saw
/// is not gone, nor is what nobody could know again elsewhere.
#[must_use]
pub fn judge(citation: &Citation, sight: &Sight, search: &Search) -> Option<Judgement> {
    let reason = match look(citation, sight) {
        Look::Unchecked => return None,
        Look::Certain(verdict, reason) => return Some(Judgement::plain(verdict, reason)),
        Look::Missing(reason) => reason,
    };
    Some(match choose(&search.places, citation) {
        Choice::One(place) => Judgement {
            verdict: Verdict::Moved,
            reason: Reason::FoundElsewhere,
            refreshed: Some(place::refreshed(citation, place)),
        },
        Choice::Several => Judgement::plain(Verdict::Unverifiable, Reason::Ambiguous),
        Choice::Nothing if search.is_whole => Judgement::plain(Verdict::Stale, reason),
        Choice::Nothing => Judgement::plain(Verdict::Unverifiable, Reason::NotSearched),
    })
}

/// What an entry is by what its citations are, in a work tree or without one. Each of them is something that it rests
/// on, so the worst counts; one that cites neither files nor symbols rests on nothing that a work tree could lack.
#[must_use]
pub fn verdict<'a>(has_tree: bool, judgements: impl IntoIterator<Item = &'a Judgement>) -> Verdict {
    let least = if has_tree {
        Verdict::Valid
    } else {
        Verdict::Unverifiable
    };
    let verdicts = judgements.into_iter().map(|one| one.verdict);
    verdicts.fold(least, Verdict::max)
}

impl Judgement {
    const fn plain(verdict: Verdict, reason: Reason) -> Self {
        Self {
            verdict,
            reason,
            refreshed: None,
        }
    }
}

/// What the place alone says of a citation.
enum Look {
    /// It is neither of a file nor of a symbol.
    Unchecked,
    /// What it is, wherever else the same may lie.
    Certain(Verdict, Reason),
    /// It is not there, and says what could be found again.
    Missing(Reason),
}

fn look(citation: &Citation, sight: &Sight) -> Look {
    let unverifiable = |reason| Look::Certain(Verdict::Unverifiable, reason);
    let valid = |reason| Look::Certain(Verdict::Valid, reason);
    if !is_checked(citation) {
        return Look::Unchecked;
    }
    match (sight, citation) {
        (Sight::NoTree, _) => unverifiable(Reason::NoWorkTree),
        (Sight::Refused(refusal), _) => unverifiable(Reason::Refused(*refusal)),
        (Sight::Unread(why), _) => unverifiable(Reason::Unread(*why)),
        (Sight::Gone, _) if is_findable(citation) => Look::Missing(Reason::Gone),
        // It may have been renamed as well as deleted.
        (Sight::Gone, _) => unverifiable(Reason::NothingToFind),
        (
            Sight::Lines(_),
            Citation::File {
                lines: None,
                fingerprint: None,
                ..
            },
        ) => valid(Reason::Exists),
        (
            Sight::Lines(seen),
            Citation::File {
                fingerprint: Some(cited),
                ..
            },
        ) => match Fingerprint::parse(cited) {
            Some(cited) if cited == *seen => valid(Reason::Matches),
            Some(_) => Look::Missing(Reason::Changed),
            None => unverifiable(Reason::NothingToCompare),
        },
        (Sight::Symbol(named), Citation::Symbol { signature, .. }) => match (named, signature) {
            (Named::Nothing, _) => Look::Missing(Reason::Gone),
            (Named::Same | Named::Other, None) => valid(Reason::Exists),
            (Named::Same, Some(_)) => valid(Reason::Matches),
            (Named::Other, Some(_)) => Look::Missing(Reason::Changed),
        },
        // Lines without a fingerprint. That whoever looked takes one kind for the other says nothing of the code.
        (Sight::Lines(_) | Sight::Symbol(_), _) => unverifiable(Reason::NothingToCompare),
    }
}

fn is_findable(citation: &Citation) -> bool {
    match citation {
        Citation::File { fingerprint, .. } => {
            let cited = fingerprint.as_deref();
            cited.and_then(Fingerprint::parse).is_some()
        }
        Citation::Symbol { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
