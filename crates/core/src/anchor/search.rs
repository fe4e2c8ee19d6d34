//! Searching behind anchors: which of what they lead to answers a query, by its words.
//!
//! Owns how originals are ranked and where a search ends: by counts and bytes, never by time, so that the same state gives the
//! same answer. It only selects: no hit changes a rank, a layer or a place, and no brief waits for one. It must not know how
//! anchors are listed or originals read.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Anchor, Lead};
use crate::decision::{Domain, Node};
use crate::error::{Error, ErrorCode};
use crate::id::AnchorId;
use crate::limits::{
    ANCHOR_SEARCH_ANCHORS_MAX, ANCHOR_SEARCH_BYTES_MAX, ANCHOR_SEARCH_HITS_MAX,
    ANCHOR_SEARCH_HITS_USUAL, ANCHOR_SEARCH_ORIGINAL_BYTES_MAX, ANCHOR_SEARCH_ORIGINALS_MAX,
    ANCHOR_SEARCH_QUERY_BYTES_MAX,
};
use crate::scope::Scope;
use crate::words::bm25::{Counted, Query, scores};

mod passages;

pub use passages::{Counting, Text};

/// What is looked for behind anchors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorQuery {
    words: Query,
    hits_max: usize,
}

impl AnchorQuery {
    /// What an asker looks for, and how many hits there may be; the usual where nothing is said.
    ///
    /// # Errors
    /// `invalid_argument` for a text without a word that says anything, and for no hits; `too_large` for more than the
    /// limits allow.
    pub fn of(text: &str, hits_max: Option<usize>) -> Result<Self, Error> {
        let hits_max = hits_max.unwrap_or(ANCHOR_SEARCH_HITS_USUAL);
        if hits_max == 0 {
            return Err(invalid("a search has room for at least one hit"));
        }
        for (what, limit, given) in [
            ("hits of a search", ANCHOR_SEARCH_HITS_MAX, hits_max),
            ("query bytes", ANCHOR_SEARCH_QUERY_BYTES_MAX, text.len()),
        ] {
            if given > limit {
                return Err(Error::too_large(what, limit as u64, given as u64));
            }
        }
        let words = Query::of(text);
        if words.is_empty() {
            return Err(invalid("the query has no word to look for"));
        }
        Ok(Self { words, hits_max })
    }

    /// Its words.
    #[must_use]
    pub const fn words(&self) -> &Query {
        &self.words
    }
}

/// An original that an anchor leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// What it is, and how it stands.
    pub lead: Lead,
    /// The version whose text was read, of a decision.
    pub version: Option<u64>,
    /// Bytes of its whole text, as far as that is known of what cannot be read.
    pub bytes: u64,
    /// What was counted of it, or why nothing was.
    pub text: Result<Text, Unread>,
}

/// Why the text of an original was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There was no room for it.
    NoRoom,
    /// What is stored is not what was written, or is lost.
    Damaged,
}

/// What is found.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorHit {
    /// The scope of the anchor that leads there: the one whose hint has most words of the query, and of these the first.
    pub scope: Scope,
    /// That anchor.
    pub anchor: AnchorId,
    /// Where it is listed.
    pub domain: Domain,
    /// What it says.
    pub hint: String,
    /// How many others were looked at that lead there as well.
    pub others: u64,
    /// What is found, with its own rank, and how it stands.
    pub lead: Lead,
    /// The version whose text was read, of a decision.
    pub version: Option<u64>,
    /// Bytes of its whole text.
    pub bytes: u64,
    /// Where the passage begins that answers best, in bytes of that text.
    pub from: u64,
    /// That passage, as it stands there.
    pub excerpt: String,
    /// How well it answers, compared with the others of this search alone.
    pub score: f32,
}

/// How much a search looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedAt {
    /// Anchors.
    pub anchors: u64,
    /// Originals that were read.
    pub originals: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What a search did not look at: what bounds cut off, and what cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCut {
    /// Anchors that were not looked at, as far as they were counted.
    pub anchors: u64,
    /// Whether there are more than were counted.
    pub more: bool,
    /// Originals of which only the title was looked at.
    pub originals: u64,
    /// Originals that were read from their beginning alone.
    pub in_part: u64,
    /// Originals that cannot be read: only the title was looked at, or nothing where the row is damaged that says it; and
    /// anchors that cannot be. They take nothing from what is found elsewhere.
    pub unreadable: u64,
}

impl SearchCut {
    /// Whether everything was looked at.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a search over anchors found.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorsFound {
    /// The hits, the best first, and those as good in the order in which they were come upon.
    pub hits: Vec<AnchorHit>,
    /// How much was looked at.
    pub looked_at: LookedAt,
    /// What was not looked at.
    pub cut: SearchCut,
    /// Whether it took longer than the store keeps a moment: what changed meanwhile is told as it was when it was read.
    pub spans_moments: bool,
}

/// A search that is under way. Anchors are handed in one by one, the nearest first, and with each what it leads to.
#[derive(Debug)]
pub struct AnchorSearch {
    query: AnchorQuery,
    anchors: Vec<Seen>,
    goals: Vec<Goal>,
    /// What was counted of each of them: of its title, of its text, and of the hints that lead there.
    texts: Vec<Counted>,
    /// The places of what was come upon; none of what nothing can be told of.
    places: BTreeMap<Node, Option<usize>>,
    looked_at: LookedAt,
    /// Bytes of what cannot be read, at most so many of each as there was room for.
    wasted: u64,
    cut: SearchCut,
}

/// An anchor that was looked at.
#[derive(Debug)]
struct Seen {
    scope: Scope,
    id: AnchorId,
    domain: Domain,
    hint: String,
    counted: Counted,
}

/// An original, and the anchors that lead there, by their places.
#[derive(Debug)]
struct Goal {
    original: Original,
    anchors: Vec<usize>,
}

impl AnchorSearch {
    /// A search that has looked at nothing.
    #[must_use]
    pub const fn new(query: AnchorQuery) -> Self {
        Self {
            query,
            anchors: Vec::new(),
            goals: Vec::new(),
            texts: Vec::new(),
            places: BTreeMap::new(),
            looked_at: LookedAt {
                anchors: 0,
                originals: 0,
                bytes: 0,
            },
            wasted: 0,
            cut: SearchCut {
                anchors: 0,
                more: false,
                originals: 0,
                in_part: 0,
                unreadable: 0,
            },
        }
    }

    /// The words that are looked for.
    #[must_use]
    pub const fn words(&self) -> &Query {
        self.query.words()
    }

    /// Whether no further anchor is looked at.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.anchors.len() >= ANCHOR_SEARCH_ANCHORS_MAX || self.room() == 0
    }

    /// How many bytes of the next original are read, from its beginning.
    #[must_use]
    pub const fn room(&self) -> u64 {
        // What cannot be read costs as much as what can.
        let left = ANCHOR_SEARCH_BYTES_MAX.saturating_sub(self.looked_at.bytes + self.wasted);
        let tried = self.looked_at.originals + self.cut.unreadable;
        if tried >= ANCHOR_SEARCH_ORIGINALS_MAX as u64 {
            0
        } else if left < ANCHOR_SEARCH_ORIGINAL_BYTES_MAX {
            left
        } else {
            ANCHOR_SEARCH_ORIGINAL_BYTES_MAX
        }
    }

    /// Looks at an anchor of a scope. What is handed in from now on is what it leads to.
    pub fn look_at(&mut self, scope: &Scope, anchor: &Anchor) {
        self.looked_at.anchors += 1;
        self.anchors.push(Seen {
            scope: scope.clone(),
            id: anchor.id,
            domain: anchor.domain.clone(),
            hint: anchor.hint.clone(),
            counted: self.words().count(&anchor.hint),
        });
    }

    /// Whether what the anchor leads to was come upon before: then it is noted that this one leads there as well.
    pub fn knows(&mut self, node: &Node) -> bool {
        let Some(place) = self.places.get(node).copied() else {
            return false;
        };
        if let (Some(place), Some(anchor)) = (place, self.anchors.len().checked_sub(1)) {
            self.goals[place].anchors.push(anchor);
            self.texts[place].add(&self.anchors[anchor].counted);
        }
        true
    }

    /// Takes what the anchor leads to, unless it was come upon before, and counts the words of its title.
    pub fn take(&mut self, original: Original) {
        let Some(anchor) = self.anchors.len().checked_sub(1) else {
            return;
        };
        let Entry::Vacant(place) = self.places.entry(original.lead.to.clone()) else {
            return;
        };
        place.insert(Some(self.goals.len()));
        let mut counted = self.words().count(&original.lead.title);
        counted.add(&self.anchors[anchor].counted);
        match &original.text {
            Ok(text) => {
                counted.add(&text.counted);
                self.looked_at.originals += 1;
                self.looked_at.bytes += text.bytes;
                self.cut.in_part += u64::from(text.bytes < original.bytes);
            }
            Err(Unread::NoRoom) => self.cut.originals += 1,
            Err(Unread::Damaged) => {
                self.wasted += original.bytes.min(self.room());
                self.cut.unreadable += 1;
            }
        }
        self.texts.push(counted);
        self.goals.push(Goal {
            original,
            anchors: vec![anchor],
        });
    }

    /// Counts something that the anchor leads to and whose own row cannot be read, unless it was come upon before. Nothing can
    /// be told of it, not even what it is called, so it is no hit.
    pub fn note_unreadable(&mut self, node: Node) {
        if let Entry::Vacant(place) = self.places.entry(node) {
            place.insert(None);
            self.cut.unreadable += 1;
        }
    }

    /// Counts an anchor that cannot be read: what it leads to is not known.
    pub const fn note_unreadable_anchor(&mut self) {
        self.cut.unreadable += 1;
    }

    /// Leaves anchors out that there is no room for: so many were counted, and there may be more.
    pub const fn leave_out(&mut self, anchors: u64, more: bool) {
        self.cut.anchors += anchors;
        self.cut.more |= more;
    }

    /// The hits. What an anchor leads to was looked for in its title, in its text and in the hints that lead there: nothing is
    /// left to be counted.
    #[must_use]
    pub fn finish(self) -> AnchorsFound {
        let mut scored = scores(&self.texts);
        // Stable: what is as good stays in its order.
        scored.sort_by(|one, other| other.1.total_cmp(&one.1));
        scored.truncate(self.query.hits_max);
        let hits = scored.into_iter();
        AnchorsFound {
            hits: hits
                .map(|(place, score)| self.hit(&self.goals[place], score))
                .collect(),
            looked_at: self.looked_at,
            cut: self.cut,
            spans_moments: false,
        }
    }

    fn hit(&self, goal: &Goal, score: f32) -> AnchorHit {
        let leading = goal.anchors.iter().map(|place| &self.anchors[*place]);
        // Of those with as many words, `max_by_key` takes the last one.
        let best = leading.rev().max_by_key(|seen| seen.counted.distinct());
        let seen = best.expect("what is taken is led to");
        let Original {
            lead,
            version,
            bytes,
            text,
        } = &goal.original;
        let passage = text.as_ref().ok();
        AnchorHit {
            scope: seen.scope.clone(),
            anchor: seen.id,
            domain: seen.domain.clone(),
            hint: seen.hint.clone(),
            others: goal.anchors.len() as u64 - 1,
            lead: lead.clone(),
            version: *version,
            bytes: *bytes,
            from: passage.map_or(0, |text| text.from),
            excerpt: passage.map_or_else(String::new, |text| text.passage.clone()),
            score,
        }
    }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
