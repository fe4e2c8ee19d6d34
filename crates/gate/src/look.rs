//! Looking at the places that citations name.
//!
//! Owns what is seen of each, and where in the same file the same lies now. It must not know other files.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use sillok_core::citation::Citation;
use sillok_core::gate::{Place, Sight, Text, Unread, is_plain, is_sought, steps};
use sillok_core::limits::GATE_PLACES_MAX;

use crate::budget::Spending;
use crate::limits::LOOKED_BYTES_MAX;
use crate::memory::{Asked, Memory};
use crate::miss::Miss;
use crate::read::is_settled;
use crate::sought::Sought;
use crate::source::{Opened, Source};
use crate::symbols::Symbols;

/// What a look at one citation's place gave.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub(crate) sight: Sight,
    /// Where in the same file the same lies.
    pub(crate) places: Vec<Place>,
}

impl From<Sight> for Looked {
    fn from(sight: Sight) -> Self {
        Self {
            sight,
            places: Vec::new(),
        }
    }
}

/// Looks at places for one question.
pub(crate) struct Looking<'a> {
    source: Source<'a>,
    memory: &'a Mutex<Memory>,
    bytes: u64,
}

impl<'a> Looking<'a> {
    pub(crate) const fn new(source: Source<'a>, memory: &'a Mutex<Memory>) -> Self {
        Self {
            source,
            memory,
            bytes: 0,
        }
    }

    /// What is seen of each of the citations of one file, in their order.
    pub(crate) fn at(
        &mut self,
        path: &str,
        citations: &[&Citation],
        spending: &mut Spending,
    ) -> Vec<Looked> {
        match self.file(path, citations, spending) {
            Ok(looked) => looked,
            Err(miss) => vec![Looked::from(Sight::from(miss)); citations.len()],
        }
    }

    fn file(
        &mut self,
        path: &str,
        citations: &[&Citation],
        spending: &mut Spending,
    ) -> Result<Vec<Looked>, Miss> {
        let path: PathBuf = steps(path).map_err(Miss::Refused)?.iter().collect();
        let opened = self.source.open(&path)?;
        if let Some(kept) = self.kept(&path, &opened, citations) {
            return Ok(kept);
        }
        if self.bytes >= LOOKED_BYTES_MAX {
            return Err(Miss::Unread(Unread::TooMany));
        }
        let (bytes, stamp) = self.source.read(&path, opened)?;
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut seen = Seen::new(&path, &bytes);
        let looked: Vec<Looked> = citations
            .iter()
            .map(|citation| seen.looked(citation, spending))
            .collect();
        if let Some(stamp) = stamp.filter(|stamp| is_settled(*stamp)) {
            let sights = citations.iter().zip(&looked);
            // What there was no room for says nothing of the file.
            let sights = sights
                .filter(|(_, one)| !matches!(one.sight, Sight::Unread(Unread::TooMany)))
                .filter_map(|(citation, one)| {
                    let asked = Asked::of(citation)?;
                    Some((asked, one.sight.clone()))
                });
            self.memory.lock().keep(&path, stamp, sights);
        }
        Ok(looked)
    }

    /// What is known of all citations of a file that did not change, and that have not to be looked for in it: lines may lie
    /// elsewhere in it, a symbol is seen wherever it does.
    fn kept(&self, path: &Path, opened: &Opened, citations: &[&Citation]) -> Option<Vec<Looked>> {
        let stamp = opened.stamp()?;
        let memory = self.memory.lock();
        let kept = citations.iter().map(|citation| {
            let sight = memory.kept(path, stamp, &Asked::of(citation)?)?;
            let is_symbol = matches!(citation, Citation::Symbol { .. });
            (is_symbol || !is_sought(citation, sight)).then(|| Looked::from(sight.clone()))
        });
        kept.collect()
    }
}

/// A file that was read.
struct Seen<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    text: Text<'a>,
    symbols: Option<Result<Symbols, Unread>>,
}

impl<'a> Seen<'a> {
    fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self {
            path,
            bytes,
            text: Text::of(bytes),
            symbols: None,
        }
    }

    fn looked(&mut self, citation: &Citation, spending: &mut Spending) -> Looked {
        let sight = self.sight(citation, spending);
        let mut looked = Looked::from(sight);
        if is_sought(citation, &looked.sight) {
            looked.places = self.places(citation, spending);
        }
        looked
    }

    fn sight(&mut self, citation: &Citation, spending: &mut Spending) -> Sight {
        match citation {
            Citation::File { lines, .. } => {
                let print = self.text.fingerprint(*lines);
                print.map_or(Sight::Gone, Sight::Lines)
            }
            Citation::Symbol {
                name,
                id,
                signature,
                ..
            } => {
                let (path, bytes) = (self.path, self.bytes);
                let parse = || Symbols::within(path, bytes, spending);
                let symbols = self.symbols.get_or_insert_with(parse);
                match symbols {
                    Ok(symbols) => symbols.sight(name, id, signature.as_deref()),
                    Err(why) => Sight::Unread(*why),
                }
            }
            _ => Sight::Gone,
        }
    }

    /// Where in this file the same lies as was cited of lines. A symbol of the same signature is in its place.
    fn places(&self, citation: &Citation, spending: &mut Spending) -> Vec<Place> {
        let Some(Sought::Lines(span, print)) = Sought::of(citation) else {
            return Vec::new();
        };
        let Some(path) = self.path.to_str() else {
            return Vec::new();
        };
        let mut places = Vec::new();
        for (lines, bytes, seen) in self.text.ranges(span) {
            if !spending.takes_bytes(bytes.len()) || places.len() >= GATE_PLACES_MAX {
                break;
            }
            if seen == print {
                places.push(Place {
                    path: path.to_owned(),
                    lines: Some(lines),
                    symbol: None,
                    tells_nothing: is_plain(bytes),
                });
            }
        }
        places
    }
}
