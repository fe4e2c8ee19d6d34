//! Which space a server begins to search, and where the index of each space lies.
//!
//! Owns the directories of the indices, one for each space under `vectors/`, and which of them a start opens and removes.
//! It must not know how a change of the embedder is carried out.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use sillok_actors::NextSpace;
use sillok_actors::embedding_space::{self, Begins, Known};
use sillok_builtin::{ExactIndex, HashEmbedder};
use sillok_core::entry::SpaceId;
use sillok_core::ports::{Embedder, VectorIndex};
use sillok_core::{Error as CoreError, ErrorCode};
use sillok_vectors_lance::{LanceConfig, LanceIndex};
use tokio::runtime::Handle;

use crate::Error;
use crate::config::{self, Config, IndexEngine};
use crate::engine::Engine;
use crate::engines;
use crate::metered::EngineCalls;

/// What begins the name of a space's directory. No organisation's name has this character.
const PREFIX: &str = "space=";
/// Hexadecimal digits of the hash that names a space's directory.
const DIGITS: usize = 32;

/// What a server searches by.
pub(crate) struct Spaces {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) index: Arc<dyn VectorIndex>,
    pub(crate) next: Option<NextSpace>,
}

/// A space that could be searched.
struct Candidate {
    embedder: Arc<dyn Embedder>,
    space: SpaceId,
    /// None where it lies in no directory yet.
    index: Option<Arc<dyn VectorIndex>>,
    is_whole: bool,
}

impl Candidate {
    fn known(&self) -> Known<'_> {
        Known {
            space: &self.space,
            is_whole: self.is_whole,
        }
    }
}

/// Opens what a server searches by, and removes the indices of all other spaces. Takes time where an index is large; it
/// runs on a thread that may wait.
///
/// # Errors
/// [`Error::Config`] where an embedder cannot be used, or what is stored is of a space that none of them makes, naming
/// the spaces; [`Error::Index`] and [`Error::File`]; what the store answered.
pub(crate) fn open(
    vectors: &Path,
    config: &Config,
    store: &Engine,
    calls: &EngineCalls,
) -> Result<Spaces, Error> {
    let runtime = Handle::current();
    let stored = runtime.block_on(embedding_space::stored(store))?;
    let root = Root { vectors, config };
    let embedder = runtime.block_on(engines::embedder(&config.embedder))?;
    let wanted = root.candidate(embedder)?;
    let opened = OnceCell::new();
    let previous = || {
        let Some(section) = &config.embedder.previous else {
            return Ok(None);
        };
        let embedder = runtime
            .block_on(engines::embedder(section))
            .map_err(into_core)?;
        let candidate = root.candidate(embedder).map_err(into_core)?;
        Ok(Some(opened.get_or_init(|| candidate).known()))
    };
    let begins = embedding_space::begins(wanted.known(), stored.as_ref(), previous);
    let begins = begins.map_err(|error| match error.code {
        ErrorCode::InvalidArgument => Error::Config(config::Error::Invalid {
            reason: error.message,
        }),
        _ => error.into(),
    })?;
    if begins == Begins::Wanted && config.embedder.previous.is_some() {
        tracing::warn!(space = %wanted.space, "no change of the embedder is left to be done: [embedder.previous] can be removed");
    }
    let (serving, next) = match (begins, opened.into_inner()) {
        (Begins::Previous, Some(previous)) => (previous, Some(wanted)),
        _ => (wanted, None),
    };
    let spaces = next.iter().map(|next| &next.space);
    root.remove_others(spaces.chain([&serving.space]))?;
    let next = next.map(|next| {
        Ok::<_, Error>(NextSpace {
            index: root.index(&next)?,
            embedder: calls.of_embedder(next.embedder),
        })
    });
    Ok(Spaces {
        index: root.index(&serving)?,
        embedder: calls.of_embedder(serving.embedder),
        next: next.transpose()?,
    })
}

/// What a store is opened with only to be read as it is: nobody searches.
pub(crate) fn none(calls: &EngineCalls) -> Spaces {
    Spaces {
        embedder: calls.of_embedder(Arc::new(HashEmbedder)),
        index: Arc::new(ExactIndex::new()),
        next: None,
    }
}

fn into_core(error: Error) -> CoreError {
    match error {
        Error::Node(error) => error,
        other => CoreError::new(ErrorCode::InvalidArgument, other.to_string()),
    }
}

/// The directory of all indices.
struct Root<'a> {
    vectors: &'a Path,
    config: &'a Config,
}

impl Root<'_> {
    /// An embedder, with the index of its space where there is one already.
    fn candidate(&self, embedder: Arc<dyn Embedder>) -> Result<Candidate, Error> {
        let space = embedder.space();
        let mut candidate = Candidate {
            embedder,
            space,
            index: None,
            is_whole: false,
        };
        let is_there = self.directory(&candidate.space).exists();
        if is_there && self.config.index.engine == IndexEngine::Lance {
            let index = self.index(&candidate)?;
            let is_whole = Handle::current().block_on(index.is_whole());
            candidate.is_whole = is_whole.unwrap_or(false);
            candidate.index = Some(index);
        }
        Ok(candidate)
    }

    fn directory(&self, space: &SpaceId) -> PathBuf {
        self.vectors.join(name_of(space))
    }

    /// The index of a candidate, which is made where there is none.
    fn index(&self, candidate: &Candidate) -> Result<Arc<dyn VectorIndex>, Error> {
        if let Some(index) = &candidate.index {
            return Ok(Arc::clone(index));
        }
        match self.config.index.engine {
            IndexEngine::Exact => Ok(Arc::new(ExactIndex::new())),
            IndexEngine::Lance => {
                let section = &self.config.index;
                let dimensions = candidate.embedder.dimensions();
                let lance = LanceConfig {
                    index_cache_bytes: section.cache_bytes,
                    metadata_cache_bytes: section.metadata_cache_bytes,
                    threads: section.threads,
                    ..LanceConfig::new(candidate.space.clone(), dimensions)
                };
                let path = self.directory(&candidate.space);
                let index =
                    LanceIndex::open(path.clone(), lance).map_err(|source| Error::Index {
                        path,
                        source: Box::new(source),
                    })?;
                Ok(Arc::new(index))
            }
        }
    }

    /// Removes whatever lies beside the indices of these spaces: those of others, and tables of builds that had one
    /// index only. They are projections; and what was erased may still be in them.
    fn remove_others<'a>(&self, kept: impl Iterator<Item = &'a SpaceId>) -> Result<(), Error> {
        let kept: BTreeSet<OsString> = kept.map(|space| name_of(space).into()).collect();
        let remove = || -> io::Result<()> {
            for entry in fs::read_dir(self.vectors)? {
                let entry = entry?;
                if kept.contains(&entry.file_name()) {
                    continue;
                }
                tracing::info!(path = %entry.path().display(), "an index of another space is removed");
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        match remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::File {
                doing: "removing from",
                path: self.vectors.to_owned(),
                source: error,
            }),
            _ => Ok(()),
        }
    }
}

/// The name of a space's directory.
fn name_of(space: &SpaceId) -> String {
    let hash = blake3::hash(space.0.as_bytes()).to_hex();
    format!("{PREFIX}{}", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(name: &str) -> SpaceId {
        SpaceId(name.to_owned())
    }

    #[test]
    fn what_lies_beside_the_indices_in_use_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::default();
        let root = Root {
            vectors: &folder.path().join("vectors"),
            config: &config,
        };
        let kept = space("a/b/3");
        root.remove_others([&kept].into_iter()).unwrap();
        for name in [name_of(&kept), name_of(&space("other")), "acme".to_owned()] {
            fs::create_dir_all(root.vectors.join(name).join("x.lance")).unwrap();
        }
        fs::write(root.vectors.join("@watermark"), "{}").unwrap();
        root.remove_others([&kept].into_iter()).unwrap();
        let left: Vec<_> = fs::read_dir(root.vectors).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(root.directory(&kept).join("x.lance").exists());
    }
}
