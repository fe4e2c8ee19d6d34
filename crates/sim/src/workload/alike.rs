//! What says the same in the same words is one entry.
//!
//! Owns which of two live entries must have been one. Whoever writes the later one has to compare it with the former:
//! by the rules themselves, which are core's. Left out is what nobody compares, and what people or undoing bring
//! about: amended texts, replacements, what was brought back, and questions that are open. Left out as well is a
//! commit that nobody heard of, or whose actor was killed: the index may learn of it too late (ADR 0006).
//! Which of the two whoever wrote the other had to find, `sight` says.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use sillok_builtin::HashEmbedder;
use sillok_core::config::DedupConfig;
use sillok_core::dedup::{Neighbour, Verdict, verdict};
use sillok_core::entry::{Detail, Embedding, Head, LinkKind, Metadata, Table};
use sillok_core::event::{Body, EntryCreated};
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::ports::{Embedder as _, SpaceThresholds};
use sillok_core::promotion::NewEntry;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::violation::Violation;
use crate::workload::sight::{Sight, Written};
use crate::workload::{Check, End};

/// The check.
#[derive(Clone, Copy, Debug)]
pub struct Alike;

/// What is compared with one another: of one scope and table, failures or not.
type Kind = (ScopeKey, Table, bool);

/// An entry as it was published, by the event that says so.
struct Published {
    made: EntryCreated,
    command: CommandId,
    seq: Seq,
    /// Its vector in the first space, once somebody asked for it.
    vector: OnceCell<Embedding>,
}

impl Published {
    fn vector(&self) -> &Embedding {
        let of_first_space = || Embedding {
            space: HashEmbedder.space(),
            values: HashEmbedder::vector(&self.made.text.content),
        };
        self.vector.get_or_init(of_first_space)
    }
}

impl Check for Alike {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let (published, brought_back) = read(end);
        let sight = Sight::read(end);
        let mut alike: BTreeMap<Kind, Vec<(&Published, Written)>> = BTreeMap::new();
        for (key, value) in end.rows(Family::Head) {
            let head = keys::head::decode(&key, &value).expect("the audit has read it");
            let Some(made) = published.get(&head.id) else {
                continue;
            };
            if is_compared(&head) && !brought_back.contains(&head.id) {
                let scope = ScopeKey::of(&head.scope);
                let written = sight.of(&head.scope, head.id, (made.command, made.seq));
                let of_table = alike.entry((scope, head.table, head.failure));
                of_table.or_default().push((made, written));
            }
        }
        for mut entries in alike.into_values() {
            entries.sort_unstable_by_key(|(entry, _)| entry.seq);
            for (number, (new, written)) in entries.iter().enumerate() {
                let mut earlier = entries[..number].iter();
                let known =
                    earlier.find(|(known, before)| written.sees(before) && is_one(new, known));
                if let Some((known, _)) = known {
                    let (new, known) = (new.made.id, known.made.id);
                    let what = format!("entries {known} and {new} say the same and both live");
                    return Err(Violation::new("one live entry for one wording", what));
                }
            }
        }
        Ok(())
    }
}

/// All entries as they were published, and those that were brought back later.
fn read(end: &End<'_>) -> (BTreeMap<EntryId, Published>, BTreeSet<EntryId>) {
    let (mut published, mut brought_back) = (BTreeMap::new(), BTreeSet::new());
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect("the audit has read it");
        match event.decode_body().expect("the audit has read it") {
            Some(Body::EntryCreated(made)) => {
                let header = event.decode_header().expect("the audit has read it");
                let (command, seq) = (header.command, header.seq);
                let made = *made;
                let published_as = Published {
                    made,
                    command,
                    seq,
                    vector: OnceCell::new(),
                };
                published.insert(published_as.made.id, published_as);
            }
            Some(Body::SupersessionUndone { old, .. }) => drop(brought_back.insert(old)),
            _ => {}
        }
    }
    (published, brought_back)
}

/// Whether an entry was compared with the others when it came to its text, and is there still.
fn is_compared(head: &Head) -> bool {
    let is_contested = head
        .links
        .iter()
        .any(|link| link.kind == LinkKind::Contradicts);
    head.table.merges()
        && head.status.is_live()
        && head.version == 1
        && head.lifecycle.supersedes.is_none()
        && !is_contested
}

/// Whether the rules make one of the two.
fn is_one(new: &Published, known: &Published) -> bool {
    // They may have been written in two spaces, of which each shows what the other does.
    let (ours, theirs) = (new, known);
    let (new, known) = (&new.made, &known.made);
    if new.text.embedding.is_none() || known.text.embedding.is_none() {
        return false;
    }
    let cosine = ours.vector().cosine(theirs.vector());
    let thresholds = thresholds();
    // Nothing else is ever merged, and most pairs are neither.
    let is_close = cosine.is_some_and(|cosine| cosine >= thresholds.merge);
    if !is_close && new.text.content_hash != known.text.content_hash {
        return false;
    }
    let neighbour = Neighbour {
        id: known.id,
        table: known.table,
        failure: known.failure,
        content: known.text.content.clone(),
        content_hash: known.text.content_hash,
        claim: known.text.claim.clone(),
        succeeded: None,
        cosine,
    };
    let new = NewEntry {
        table: new.table,
        content: new.text.content.clone(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: new.text.claim.clone(),
        citations: Vec::new(),
        failure: new.failure,
        binding: new.binding.clone(),
        embedding: Some(ours.vector().clone()),
    };
    let verdict = verdict(&new, &[neighbour], thresholds);
    matches!(verdict, Verdict::Merge { .. })
}

/// Those of all spaces of a world.
fn thresholds() -> SpaceThresholds {
    DedupConfig::default().over(HashEmbedder.thresholds())
}
