//! The gate: entries in, what they are here out.
//!
//! Owns the course of a question: look at all places that are cited, search for what is not there, judge. It must not know
//! the rule by which it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use parking_lot::Mutex;
use sillok_core::citation::Citation;
use sillok_core::gate::{
    Judgement, Place, Reason, Search, Sight, Unread, Verdict, is_checked, is_sought, judge, steps,
    verdict,
};

use crate::budget::{Budget, Spending};
use crate::entry::{Entry, Origin, Origins};
use crate::limits::CITATIONS_MAX;
use crate::look::{Looked, Looking};
use crate::memory::{Error, Fate, Memory, write};
use crate::search::search;
use crate::sought::{Sought, path_of};
use crate::source::Source;
use crate::tree::WorkTree;

/// What an entry is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What it is.
    pub verdict: Verdict,
    /// What each of its citations is, in their order; none of one that the gate does not look at.
    pub judgements: Vec<Option<Judgement>>,
    /// Whether it is not known to be of the work tree's repository, so that nothing was looked at.
    pub is_of_elsewhere: bool,
}

impl Checked {
    /// Whether something was not looked at, or not looked for everywhere: a larger budget may tell more.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut all = self.judgements.iter().flatten();
        all.any(|one| {
            let reason = one.reason;
            matches!(
                reason,
                Reason::NotSearched | Reason::Unread(Unread::TooMany)
            )
        })
    }

    /// The entry's citations as they are by now: those of what moved name where it is.
    #[must_use]
    pub fn refreshed(&self, citations: &[Citation]) -> Vec<Citation> {
        let judgements = self.judgements.iter().map(Option::as_ref);
        let moved = judgements.map(|one| one.and_then(|one| one.refreshed.clone()));
        let pairs = citations.iter().zip(moved);
        pairs
            .map(|(citation, moved)| moved.unwrap_or_else(|| citation.clone()))
            .collect()
    }
}

/// What the gate says of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Each of them, in the order of the question.
    pub entries: Vec<Checked>,
    /// Whether something was not looked for everywhere: a larger budget may tell more.
    pub is_cut: bool,
}

/// The gate of one work tree, or of none. Several threads may ask it at once.
#[derive(Debug)]
pub struct Gate {
    /// Where the work tree lies.
    root: Option<PathBuf>,
    memory: Mutex<Memory>,
    /// Where what moved is written down.
    file: Option<PathBuf>,
}

/// A citation of a question: the entry's place in it, the citation's place in the entry, and the citation.
pub(crate) type Asked<'a> = (usize, usize, &'a Citation);
pub(crate) type Judged<'a> = (Asked<'a>, Option<Judgement>);

impl Gate {
    /// The gate where there is no work tree: all is unverifiable.
    #[must_use]
    pub fn without_tree() -> Self {
        Self {
            root: None,
            memory: Mutex::default(),
            file: None,
        }
    }

    /// The gate of a work tree.
    #[must_use]
    pub fn of(tree: &WorkTree) -> Self {
        Self::at(tree.path().to_owned())
    }

    /// The gate of the work tree that lies at a path, or will: as long as none does, all is unverifiable.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self {
            root: Some(root),
            ..Self::without_tree()
        }
    }

    /// The same, which reads what moved from a file and writes it there with [`Gate::write`]. A process that lives
    /// for one question finds there what another has searched for. The file must lie where only the user writes.
    #[must_use]
    pub fn remembering(self, file: PathBuf) -> Self {
        let root = self.root.as_deref();
        let memory = root.map(|root| Memory::read(&file, root));
        Self {
            memory: Mutex::new(memory.unwrap_or_default()),
            file: Some(file),
            ..self
        }
    }

    /// Writes down what moved since the last time, where [`Gate::remembering`] says.
    ///
    /// # Errors
    /// [`Error::Write`]
    pub fn write(&self) -> Result<(), Error> {
        let (Some(root), Some(file)) = (&self.root, &self.file) else {
            return Ok(());
        };
        let news = self.memory.lock().news(root);
        news.map_or(Ok(()), |bytes| write(file, &bytes))
    }

    /// What entries of this work tree's project are here, each given by its citations. Takes time; it blocks.
    #[must_use]
    pub fn check(&self, entries: &[&[Citation]], budget: Budget) -> Answer {
        let entries = entries.iter().map(|citations| Entry {
            citations,
            origin: Origin::Here,
        });
        let entries: Vec<Entry<'_>> = entries.collect();
        self.check_entries(&entries, budget)
    }

    /// What entries are here, wherever they come from: those of other repositories are unverifiable. Takes time; it blocks.
    #[must_use]
    pub fn check_entries(&self, entries: &[Entry<'_>], budget: Budget) -> Answer {
        let citations: Vec<&[Citation]> = entries.iter().map(|entry| entry.citations).collect();
        let asked = asked(&citations);
        // What lies at its path now is asked: a folder that was deleted meanwhile holds nothing, and says nothing.
        let root = self.root.as_ref();
        let Some(tree) = root.and_then(|root| WorkTree::at(root).ok()) else {
            let unseen = asked.iter().map(|one| unseen(one, &Sight::NoTree));
            return answer(&citations, unseen.collect(), false);
        };
        let mut origins = Origins::of(tree.path());
        let (here, elsewhere): (Vec<Asked<'_>>, Vec<Asked<'_>>) = asked
            .into_iter()
            .partition(|(entry, ..)| origins.is_here(entries[*entry].origin));
        let question = Question {
            source: Source::WorkTree(&tree),
            memory: &self.memory,
            spending: &mut budget.begin(),
        };
        let mut judged = question.judged(&here);
        judged.extend(elsewhere.iter().map(|one| unseen(one, &Sight::NoTree)));
        let mut answer = answer(&citations, judged, true);
        for (entry, ..) in elsewhere {
            answer.entries[entry].is_of_elsewhere = true;
        }
        answer
    }
}

/// What is said of a citation that nobody looked at.
fn unseen<'a>(one: &Asked<'a>, sight: &Sight) -> Judged<'a> {
    (*one, judge(one.2, sight, &Search::default()))
}

pub(crate) fn answer(entries: &[&[Citation]], judged: Vec<Judged<'_>>, has_tree: bool) -> Answer {
    let mut judgements: Vec<Vec<Option<Judgement>>> = entries
        .iter()
        .map(|citations| vec![None; citations.len()])
        .collect();
    for ((entry, place, _), judgement) in judged {
        judgements[entry][place] = judgement;
    }
    let entries: Vec<Checked> = judgements
        .into_iter()
        .map(|judgements| Checked {
            verdict: verdict(has_tree, judgements.iter().flatten()),
            judgements,
            is_of_elsewhere: false,
        })
        .collect();
    let is_cut = entries.iter().any(Checked::is_cut);
    Answer { entries, is_cut }
}

/// The citations of files and symbols among those of entries.
pub(crate) fn asked<'a>(entries: &[&'a [Citation]]) -> Vec<Asked<'a>> {
    let entries = entries.iter().enumerate();
    let all = entries.flat_map(|(entry, citations)| {
        let citations = citations.iter().enumerate();
        citations.map(move |(place, citation)| (entry, place, citation))
    });
    all.filter(|(_, _, citation)| is_checked(citation))
        .collect()
}

/// One question to the files of a root.
pub(crate) struct Question<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) memory: &'a Mutex<Memory>,
    pub(crate) spending: &'a mut Spending,
}

/// What is known of where something is.
enum Known {
    /// As much as is to be known.
    All(Search),
    /// It was nowhere a while ago: so it is, unless it is found.
    Nowhere,
    /// Nothing.
    Nothing,
}

impl Question<'_> {
    /// What citations are, as many as are looked at at once.
    pub(crate) fn judged<'c>(mut self, asked: &[Asked<'c>]) -> Vec<Judged<'c>> {
        let (within, over) = asked.split_at(asked.len().min(CITATIONS_MAX));
        let looked = self.look(within);
        let mut judged = self.judge(looked);
        let too_many = Sight::Unread(Unread::TooMany);
        judged.extend(over.iter().map(|one| unseen(one, &too_many)));
        judged
    }

    /// What is seen in the places that are cited: each file is read once.
    fn look<'c>(&mut self, asked: &[Asked<'c>]) -> Vec<(Asked<'c>, Looked)> {
        let mut files: BTreeMap<&str, Vec<Asked<'c>>> = BTreeMap::new();
        for one in asked {
            files
                .entry(path_of(one.2).unwrap_or(""))
                .or_default()
                .push(*one);
        }
        let mut looking = Looking::new(self.source, self.memory);
        let mut looked = Vec::with_capacity(asked.len());
        for (path, asked) in files {
            let citations: Vec<&Citation> = asked.iter().map(|one| one.2).collect();
            let seen = looking.at(path, &citations, self.spending);
            looked.extend(asked.into_iter().zip(seen));
        }
        looked
    }

    /// Searches for what is neither in its place nor elsewhere in its file, and judges all.
    fn judge<'c>(&mut self, looked: Vec<(Asked<'c>, Looked)>) -> Vec<Judged<'c>> {
        let is_displaced = |(one, looked): &(Asked<'c>, Looked)| is_sought(one.2, &looked.sight);
        if looked.iter().any(is_displaced) {
            let head = self.source.head();
            self.memory.lock().stands_at(head);
        }
        let mut wanted: BTreeMap<Sought, BTreeSet<String>> = BTreeMap::new();
        let mut known = Vec::with_capacity(looked.len());
        for (one, looked) in looked {
            let search = self.known(one.2, &looked);
            let path = path_of(one.2).and_then(|path| steps(path).ok());
            let is_open = !matches!(search, Known::All(_));
            // Of lines that end before they begin nothing can be found, and so it is said.
            if let (true, Some((sought, path))) = (is_open, Sought::of(one.2).zip(path)) {
                wanted.entry(sought).or_default().insert(path.join("/"));
            }
            known.push((one, looked, search));
        }
        let found = if wanted.is_empty() {
            BTreeMap::new()
        } else {
            search(self.source, &wanted, self.spending)
        };
        let judged = known.into_iter().map(|(one, looked, known)| {
            let is_believed = matches!(known, Known::Nowhere);
            let (mut search, is_new) = match known {
                Known::All(search) => (search, false),
                Known::Nowhere | Known::Nothing => {
                    let found = Sought::of(one.2).and_then(|sought| found.get(&sought));
                    (found.cloned().unwrap_or_default(), true)
                }
            };
            // What a search that ended early has not found is where it was found a while ago: nowhere.
            let is_whole = search.is_whole;
            search.is_whole |= is_believed && search.places.is_empty();
            let judgement = judge(one.2, &looked.sight, &search);
            if is_new {
                self.remember(one.2, judgement.as_ref(), is_whole);
            }
            (one, judgement)
        });
        judged.collect()
    }

    /// What is known of where something is without a search.
    fn known(&mut self, citation: &Citation, looked: &Looked) -> Known {
        let here = Search {
            places: looked.places.clone(),
            is_whole: false,
        };
        let by_place = judge(citation, &looked.sight, &here);
        let is_settled = by_place.is_none_or(|one| one.verdict == Verdict::Moved);
        if is_settled || !is_sought(citation, &looked.sight) {
            return Known::All(here);
        }
        let fate = self.memory.lock().fate(citation).cloned();
        match fate {
            Some(Fate::Nowhere(_)) if looked.places.is_empty() => Known::Nowhere,
            Some(Fate::Nowhere(_)) | None => Known::Nothing,
            Some(Fate::Moved(to)) => match self.still_there(&to) {
                Some(place) => Known::All(Search {
                    places: vec![place],
                    is_whole: false,
                }),
                None => Known::Nothing,
            },
        }
    }

    /// The place that a citation names, where it still holds what it says.
    fn still_there(&mut self, citation: &Citation) -> Option<Place> {
        let mut looking = Looking::new(self.source, self.memory);
        let path = path_of(citation)?;
        let looked = looking.at(path, &[citation], self.spending).pop()?;
        let judged = judge(citation, &looked.sight, &Search::default())?;
        if judged.reason != Reason::Matches {
            return None;
        }
        let (lines, symbol) = match citation {
            Citation::File { lines, .. } => (*lines, None),
            Citation::Symbol { id, .. } => (None, Some(id.clone())),
            _ => return None,
        };
        Some(Place {
            path: path.to_owned(),
            lines,
            symbol,
            tells_nothing: false,
        })
    }

    fn remember(&self, citation: &Citation, judgement: Option<&Judgement>, is_whole: bool) {
        let Some(judgement) = judgement else { return };
        match judgement.verdict {
            Verdict::Moved => {
                let to = judgement.refreshed.as_ref();
                self.memory.lock().remember(citation, to);
            }
            Verdict::Stale if is_whole => self.memory.lock().remember(citation, None),
            _ => {}
        }
    }
}
