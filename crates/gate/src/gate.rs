//! The gate: entries in, what they are here out.
//!
//! Owns the course of a question: look at all places that are cited, search for what is not there, judge. It must not know
//! the rule by which it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sillok_core::citation::Citation;
use sillok_core::gate::{
    Judgement, Place, Reason, Search, Sight, Unread, Verdict, is_checked, is_sought, judge, steps,
    verdict,
};

use crate::budget::{Budget, Spending};
use crate::commit_tree::{self, CommitTree};
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
}

impl Checked {
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
type Asked<'a> = (usize, usize, &'a Citation);
type Judged<'a> = (Asked<'a>, Option<Judgement>);

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

    /// What entries are here, each given by its citations. Takes time; it blocks.
    #[must_use]
    pub fn check(&self, entries: &[&[Citation]], budget: Budget) -> Answer {
        let asked = asked(entries);
        // What lies at its path now is asked: a folder that was deleted meanwhile holds nothing, and says nothing.
        let root = self.root.as_ref();
        let Some(tree) = root.and_then(|root| WorkTree::at(root).ok()) else {
            let unseen = asked.iter().map(|one| unseen(one, &Sight::NoTree));
            return answer(entries, unseen.collect(), false);
        };
        let question = Question {
            source: Source::WorkTree(&tree),
            memory: &self.memory,
            spending: budget.begin(),
        };
        answer(entries, question.judged(&asked), true)
    }
}

/// What entries are at the main branch of the repository of a work tree, or of the bare one, at a path: the commit that was
/// looked at, and each of them there. What is in no object of the repository is unverifiable. Takes time; it blocks.
///
/// # Errors
/// [`CommitError`](crate::CommitError)
pub fn check_at_main(
    repository: &Path,
    entries: &[&[Citation]],
    budget: Budget,
) -> Result<(String, Answer), commit_tree::Error> {
    let tree = CommitTree::of_main(repository)?;
    let memory = Mutex::default();
    let question = Question {
        source: Source::Commit(&tree),
        memory: &memory,
        spending: budget.begin(),
    };
    let judged = question.judged(&asked(entries));
    Ok((tree.commit(), answer(entries, judged, true)))
}

/// What is said of a citation that nobody looked at.
fn unseen<'a>(one: &Asked<'a>, sight: &Sight) -> Judged<'a> {
    (*one, judge(one.2, sight, &Search::default()))
}

fn answer(entries: &[&[Citation]], judged: Vec<Judged<'_>>, has_tree: bool) -> Answer {
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
        })
        .collect();
    let mut all = entries
        .iter()
        .flat_map(|one| one.judgements.iter().flatten());
    let is_cut = all.any(|one| one.reason == Reason::NotSearched);
    Answer { entries, is_cut }
}

/// The citations of files and symbols among those of entries.
fn asked<'a>(entries: &[&'a [Citation]]) -> Vec<Asked<'a>> {
    let entries = entries.iter().enumerate();
    let all = entries.flat_map(|(entry, citations)| {
        let citations = citations.iter().enumerate();
        citations.map(move |(place, citation)| (entry, place, citation))
    });
    all.filter(|(_, _, citation)| is_checked(citation))
        .collect()
}

/// One question to the files of a root.
struct Question<'a> {
    source: Source<'a>,
    memory: &'a Mutex<Memory>,
    spending: Spending,
}

impl Question<'_> {
    /// What citations are, as many as are looked at at once.
    fn judged<'c>(mut self, asked: &[Asked<'c>]) -> Vec<Judged<'c>> {
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
            let seen = looking.at(path, &citations, &mut self.spending);
            looked.extend(asked.into_iter().zip(seen));
        }
        looked
    }

    /// Searches for what is neither in its place nor elsewhere in its file, and judges all.
    fn judge<'c>(&mut self, looked: Vec<(Asked<'c>, Looked)>) -> Vec<Judged<'c>> {
        let mut wanted: BTreeMap<Sought, BTreeSet<String>> = BTreeMap::new();
        let mut known = Vec::with_capacity(looked.len());
        for (one, looked) in looked {
            let search = self.known(one.2, &looked);
            let path = path_of(one.2).and_then(|path| steps(path).ok());
            // Of lines that end before they begin nothing can be found, and so it is said.
            if let (None, Some((sought, path))) = (&search, Sought::of(one.2).zip(path)) {
                wanted.entry(sought).or_default().insert(path.join("/"));
            }
            known.push((one, looked, search));
        }
        let found = if wanted.is_empty() {
            BTreeMap::new()
        } else {
            search(self.source, &wanted, &mut self.spending)
        };
        let judged = known.into_iter().map(|(one, looked, known)| {
            let is_new = known.is_none();
            let search = known.unwrap_or_else(|| {
                let found = Sought::of(one.2).and_then(|sought| found.get(&sought));
                found.cloned().unwrap_or_default()
            });
            let judgement = judge(one.2, &looked.sight, &search);
            if is_new {
                self.remember(one.2, judgement.as_ref(), &search);
            }
            (one, judgement)
        });
        judged.collect()
    }

    /// What is known of where something is without a search; none where it is to be searched for.
    fn known(&mut self, citation: &Citation, looked: &Looked) -> Option<Search> {
        let here = Search {
            places: looked.places.clone(),
            is_whole: false,
        };
        let by_place = judge(citation, &looked.sight, &here);
        let is_settled = by_place.is_none_or(|one| one.verdict == Verdict::Moved);
        if is_settled || !is_sought(citation, &looked.sight) {
            return Some(here);
        }
        let fate = self.memory.lock().fate(citation).cloned();
        match fate? {
            Fate::Nowhere(_) if looked.places.is_empty() => Some(Search {
                places: Vec::new(),
                is_whole: true,
            }),
            Fate::Nowhere(_) => None,
            Fate::Moved(to) => {
                let place = self.still_there(&to)?;
                Some(Search {
                    places: vec![place],
                    is_whole: false,
                })
            }
        }
    }

    /// The place that a citation names, where it still holds what it says.
    fn still_there(&mut self, citation: &Citation) -> Option<Place> {
        let mut looking = Looking::new(self.source, self.memory);
        let path = path_of(citation)?;
        let looked = looking.at(path, &[citation], &mut self.spending).pop()?;
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

    fn remember(&self, citation: &Citation, judgement: Option<&Judgement>, search: &Search) {
        let Some(judgement) = judgement else { return };
        match judgement.verdict {
            Verdict::Moved => {
                let to = judgement.refreshed.as_ref();
                self.memory.lock().remember(citation, to);
            }
            Verdict::Stale if search.is_whole => self.memory.lock().remember(citation, None),
            _ => {}
        }
    }
}
