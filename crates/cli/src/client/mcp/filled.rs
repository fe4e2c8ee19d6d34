//! What an agent's process adds to what the agent writes: what the files that it cites hold in the work tree here, and the commit
//! that this one stands at.
//!
//! Owns which writes that is done for, how long it may take, and that a write which is sent again says the same. How files are
//! read, and which are not, is [`sillok_gate`]'s.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::id::CommandId;
use sillok_core::limits::{CITATION_BYTES_MAX, CITATIONS_MAX};
use sillok_gate::{WorkTree, fingerprint};
use sillok_server::api::Citation;
use tokio::sync::{Mutex, Semaphore};

use crate::git;

/// The routes whose bodies are filled, and whether they name a commit.
const ROUTES: [(&str, bool); 3] = [
    ("/v1/entries", true),
    ("/v1/entries/amend", false),
    ("/v1/verifications", true),
];
/// How long a write waits for what is seen here. Without an answer it says what the agent said, and no more.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Looks at once: a disk that never answers holds so many threads.
const LOOKS_MAX: usize = 2;
/// Writes of which it is known what was added to them.
const KEPT_MAX: usize = 256;
/// Bytes of a fingerprint in a citation: 64 hexadecimal digits.
const PRINT_BYTES: usize = 64;

/// What a citation names: a file, and lines of it.
type Place = (String, Option<[u32; 2]>);

/// Fills what is written from one work tree.
#[derive(Debug)]
pub(super) struct Filled {
    root: PathBuf,
    looks: Arc<Semaphore>,
    /// What was added to the newest writes. The server tells a write that is sent again by all that it says, and files change.
    kept: Mutex<VecDeque<(CommandId, Seen)>>,
}

/// What a body does not say.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    places: BTreeSet<Place>,
    commit: bool,
}

/// What is so here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    prints: BTreeMap<Place, String>,
    commit: Option<git::Commit>,
}

impl Filled {
    pub(super) fn of(tree: &WorkTree) -> Self {
        Self {
            root: tree.path().to_owned(),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            kept: Mutex::default(),
        }
    }

    /// The body of a write with what it does not say. What it says itself stays.
    pub(super) async fn body(&self, path: &str, mut body: Value, command: CommandId) -> Value {
        let Some(asked) = Asked::of(path, &body) else {
            return body;
        };
        let seen = match self.kept(command).await {
            Some(seen) => seen,
            None => self.keep(command, self.look(asked).await).await,
        };
        seen.put_into(path, &mut body);
        body
    }

    async fn kept(&self, command: CommandId) -> Option<Seen> {
        let kept = self.kept.lock().await;
        let found = kept.iter().find(|(known, _)| *known == command);
        found.map(|(_, seen)| seen.clone())
    }

    /// Keeps what was seen for a write. What stands there already counts: the same call may have come twice at once.
    async fn keep(&self, command: CommandId, seen: Seen) -> Seen {
        let mut kept = self.kept.lock().await;
        if let Some((_, first)) = kept.iter().find(|(known, _)| *known == command) {
            return first.clone();
        }
        if kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((command, seen.clone()));
        seen
    }

    /// What is so here of what is asked; nothing where that takes too long.
    async fn look(&self, asked: Asked) -> Seen {
        let (looks, root) = (Arc::clone(&self.looks), self.root.clone());
        let looking = async move {
            let turn = looks.acquire_owned().await.ok()?;
            let looked = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                seen(&root, asked)
            });
            looked.await.ok()
        };
        let in_time = tokio::time::timeout(WAIT_MAX, looking).await;
        in_time.ok().flatten().unwrap_or_default()
    }
}

impl Asked {
    /// What a body of a route does not say; none where it says all that it could, or is not to be filled.
    fn of(path: &str, body: &Value) -> Option<Self> {
        let names_commit = names_commit(path)?;
        let commit = names_commit && body.is_object() && body["commit"].is_null();
        let places = body["citations"]
            .as_array()
            .map_or_else(BTreeSet::new, |citations| {
                let has_room = citations.len() <= CITATIONS_MAX
                    && said_bytes(citations) + citations.len() * PRINT_BYTES <= CITATION_BYTES_MAX;
                let unsaid = citations.iter().filter(|_| has_room).filter_map(unsaid);
                unsaid.collect()
            });
        (commit || !places.is_empty()).then_some(Self { places, commit })
    }
}

impl Seen {
    fn put_into(&self, path: &str, body: &mut Value) {
        let Some(body) = body.as_object_mut() else {
            return;
        };
        let citations = body.get_mut("citations").and_then(Value::as_array_mut);
        for citation in citations.into_iter().flatten() {
            let print = unsaid(citation).and_then(|place| self.prints.get(&place));
            if let Some(print) = print {
                citation["fingerprint"] = json!(print);
            }
        }
        let is_unsaid = body.get("commit").is_none_or(Value::is_null);
        if let Some(commit) = &self.commit
            && is_unsaid
            && names_commit(path) == Some(true)
        {
            let commit = json!({ "hash": commit.hash, "repository": commit.repository });
            body.insert("commit".to_owned(), commit);
        }
    }
}

/// Whether bodies of a route name a commit; none where they are not filled.
fn names_commit(path: &str) -> Option<bool> {
    let mut routes = ROUTES.iter();
    let found = routes.find(|(route, _)| *route == path);
    found.map(|(_, names_commit)| *names_commit)
}

/// At least the bytes of the texts in citations. What is too long is the server's to refuse, and not made so here.
fn said_bytes(citations: &[Value]) -> usize {
    let texts = citations.iter().map(|citation| citation.to_string().len());
    texts.sum()
}

/// The place of a citation of a file that does not say what lies there.
fn unsaid(citation: &Value) -> Option<Place> {
    match serde_json::from_value(citation.clone()) {
        Ok(Citation::File {
            path,
            lines,
            fingerprint: None,
        }) => Some((path, lines)),
        _ => None,
    }
}

/// Looks at the work tree at a path. Takes time; it blocks.
fn seen(root: &Path, asked: Asked) -> Seen {
    let began = Instant::now();
    let mut seen = Seen::default();
    // It may be gone by now, or be no work tree any more.
    let Ok(tree) = WorkTree::at(root) else {
        return seen;
    };
    if asked.commit {
        seen.commit = git::head(root);
    }
    for place in asked.places {
        if began.elapsed() > WAIT_MAX {
            break;
        }
        let lines = place.1.map(|[first, last]| (first, last));
        if let Ok(print) = fingerprint(&tree, &place.0, lines) {
            seen.prints.insert(place, print.to_string());
        }
    }
    seen
}

#[cfg(test)]
mod tests;
