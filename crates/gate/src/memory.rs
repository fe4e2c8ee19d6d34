//! What the gate remembers of a work tree: what files say that did not change, and what moved where.
//!
//! Owns when that is believed. What a file says holds while its stamp does; where something moved is looked at each time;
//! that something is nowhere is believed for a while. It must not know how anything was found out.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sillok_code::Stamp;
use sillok_core::citation::Citation;
use sillok_core::gate::Sight;

use crate::limits::{
    KEPT_FILES_MAX, KEPT_OF_FILE_MAX, NOWHERE_FOR, REMEMBERED_BYTES_MAX, REMEMBERED_MAX,
};

/// The form of what is written down. What has another one is forgotten.
const FORMAT: u32 = 2;

/// Why something is not remembered for good.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written.
    #[error("what moved cannot be written down in {path}")]
    Write {
        /// Where.
        path: PathBuf,
        /// What stands in the way.
        #[source]
        source: std::io::Error,
    },
}

/// What is asked of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// What it says, or so many lines of it.
    Lines(Option<(u32, u32)>),
    /// The symbols of this name, or with this id, and whether one has this signature.
    Symbol {
        name: String,
        id: String,
        signature: Option<String>,
    },
}

impl Asked {
    pub(crate) fn of(citation: &Citation) -> Option<Self> {
        match citation {
            Citation::File { lines, .. } => Some(Self::Lines(*lines)),
            Citation::Symbol {
                name,
                id,
                signature,
                ..
            } => Some(Self::Symbol {
                name: name.clone(),
                id: id.clone(),
                signature: signature.clone(),
            }),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    sights: Vec<(Asked, Sight)>,
}

/// What became of something that is not in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// It moved: this citation names where.
    Moved(Citation),
    /// It was nowhere at that time, in ms.
    Nowhere(u64),
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    files: HashMap<PathBuf, Kept>,
    fates: BTreeMap<String, Fate>,
    /// The commit that the work tree stood at when it was last searched.
    head: Option<String>,
    has_news: bool,
}

/// What is written down.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    /// The work tree.
    root: String,
    head: Option<String>,
    fates: BTreeMap<String, Fate>,
}

impl Memory {
    /// What was seen of a file that is the same as then.
    pub(crate) fn kept(&self, path: &Path, stamp: Stamp, asked: &Asked) -> Option<&Sight> {
        let kept = self.files.get(path).filter(|kept| kept.stamp == stamp)?;
        let mut sights = kept.sights.iter();
        sights.find(|(one, _)| one == asked).map(|(_, sight)| sight)
    }

    pub(crate) fn keep(
        &mut self,
        path: &Path,
        stamp: Stamp,
        sights: impl Iterator<Item = (Asked, Sight)>,
    ) {
        if self.files.len() >= KEPT_FILES_MAX && !self.files.contains_key(path) {
            self.files.clear();
        }
        let fresh = || Kept {
            stamp,
            sights: Vec::new(),
        };
        let kept = self.files.entry(path.to_owned()).or_insert_with(fresh);
        if kept.stamp != stamp {
            *kept = fresh();
        }
        for (asked, sight) in sights {
            let is_new = kept.sights.iter().all(|(one, _)| *one != asked);
            if is_new && kept.sights.len() < KEPT_OF_FILE_MAX {
                kept.sights.push((asked, sight));
            }
        }
    }

    /// Says at which commit the work tree stands. What was nowhere may be somewhere after a checkout.
    pub(crate) fn stands_at(&mut self, head: Option<String>) {
        if self.head == head {
            return;
        }
        self.head = head;
        self.fates.retain(|_, fate| matches!(fate, Fate::Moved(_)));
        self.has_news = true;
    }

    /// What became of a citation the last time that it was looked for, if that is believed still.
    pub(crate) fn fate(&self, citation: &Citation) -> Option<&Fate> {
        let fate = self.fates.get(&key(citation)?)?;
        let is_believed = match fate {
            Fate::Moved(_) => true,
            // A time ahead is one of another clock.
            Fate::Nowhere(at) => now_ms()
                .checked_sub(*at)
                .is_some_and(|age| age < nowhere_ms()),
        };
        is_believed.then_some(fate)
    }

    pub(crate) fn remember(&mut self, citation: &Citation, to: Option<&Citation>) {
        let Some(key) = key(citation) else { return };
        if self.fates.len() >= REMEMBERED_MAX && !self.fates.contains_key(&key) {
            self.fates.clear();
        }
        let fate = to.map_or_else(|| Fate::Nowhere(now_ms()), |to| Fate::Moved(to.clone()));
        self.fates.insert(key, fate);
        self.has_news = true;
    }

    /// What was written down of a work tree; nothing where that cannot be read: it is found out again.
    pub(crate) fn read(path: &Path, root: &Path) -> Self {
        let written = read(path).filter(|written| {
            let is_of = written.root.as_str() == root.to_string_lossy();
            written.format == FORMAT && is_of && written.fates.len() <= REMEMBERED_MAX
        });
        written.map_or_else(Self::default, |written| Self {
            fates: written.fates,
            head: written.head,
            ..Self::default()
        })
    }

    /// What there is to write down since the last time; none where there is nothing new.
    pub(crate) fn news(&mut self, root: &Path) -> Option<Vec<u8>> {
        if !core::mem::take(&mut self.has_news) {
            return None;
        }
        let written = Written {
            format: FORMAT,
            root: root.to_string_lossy().into_owned(),
            head: self.head.clone(),
            fates: self.fates.clone(),
        };
        serde_json::to_vec(&written).ok()
    }
}

fn read(path: &Path) -> Option<Written> {
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(REMEMBERED_BYTES_MAX)
        .read_to_end(&mut bytes)
        .ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes it whole or not at all: several processes may do so at once.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || -> std::io::Result<()> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

fn key(citation: &Citation) -> Option<String> {
    serde_json::to_string(citation).ok()
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn nowhere_ms() -> u64 {
    u64::try_from(NOWHERE_FOR.as_millis()).unwrap_or(u64::MAX)
}
