//! What says the same in the same words is one entry.
//!
//! Owns which of two live entries must have been one. Whoever writes the later one has to compare it with the former:
//! by the rules themselves, which are core's. Left out is what nobody compares, and what people or undoing bring
//! about: amended texts, replacements, what was brought back, and questions that are open. Left out as well is a
//! commit that nobody heard of, or whose actor was killed: the index may learn of it too late (ADR 0006).

use std::collections::{BTreeMap, BTreeSet};

use sillok_builtin::HashEmbedder;
use sillok_core::config::DedupConfig;
use sillok_core::dedup::{Neighbour, Verdict, verdict};
use sillok_core::entry::{Detail, Embedding, Head, LinkKind, Metadata, Table};
use sillok_core::event::{Body, EntryCreated};
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::ports::{Embedder as _, SpaceThresholds};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::violation::Violation;
use crate::workload::{Check, End};

/// The check.
#[derive(Clone, Copy, Debug)]
pub struct Alike;

/// An entry as it was published, by the event that says so.
struct Published {
    made: EntryCreated,
    command: CommandId,
    seq: Seq,
}

impl Check for Alike {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let (published, brought_back) = read(end);
        let mut alike: BTreeMap<(ScopeKey, Table, bool), Vec<&Published>> = BTreeMap::new();
        let mut scopes: BTreeMap<ScopeKey, Scope> = BTreeMap::new();
        for (key, value) in end.rows(Family::Head) {
            let head = keys::head::decode(&key, &value).expect("the audit has read it");
            let Some(made) = published.get(&head.id) else {
                continue;
            };
            if is_compared(&head) && !brought_back.contains(&head.id) {
                let scope = ScopeKey::of(&head.scope);
                scopes.insert(scope, head.scope);
                let of_table = alike.entry((scope, head.table, head.failure));
                of_table.or_default().push(made);
            }
        }
        let commits = Commits::read(end);
        let sent: BTreeMap<CommandId, u64> = end
            .history
            .calls
            .iter()
            .map(|call| (call.command, call.invoked_us))
            .collect();
        for ((scope, ..), mut entries) in alike {
            entries.sort_unstable_by_key(|entry| entry.seq);
            for (number, new) in entries.iter().enumerate() {
                let could_see = |known: &&Published| {
                    let told_us = end.history.told_us.get(&known.made.id);
                    let sent_us = sent.get(&new.command);
                    let was_told = told_us.zip(sent_us).is_some_and(|(told, sent)| told < sent);
                    was_told || commits.is_one(&scopes[&scope], known.seq, new.seq)
                };
                let mut earlier = entries[..number].iter().copied().filter(could_see);
                if let Some(known) = earlier.find(|known| is_one(new, known)) {
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
                published.insert(made.id, Published { made, command, seq });
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
    let (new, known) = (&new.made, &known.made);
    if new.text.embedding.is_none() || known.text.embedding.is_none() {
        return false;
    }
    // They may have been written in two spaces, of which each shows what the other does.
    let [ours, theirs] = [new, known].map(|entry| of_first_space(&entry.text.content));
    let neighbour = Neighbour {
        id: known.id,
        table: known.table,
        failure: known.failure,
        content: known.text.content.clone(),
        content_hash: known.text.content_hash,
        claim: known.text.claim.clone(),
        succeeded: None,
        cosine: ours.cosine(&theirs),
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
        embedding: Some(ours),
    };
    let verdict = verdict(&new, &[neighbour], thresholds());
    matches!(verdict, Verdict::Merge { .. })
}

fn of_first_space(text: &str) -> Embedding {
    Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(text),
    }
}

/// Those of all spaces of a world.
fn thresholds() -> SpaceThresholds {
    DedupConfig::default().over(HashEmbedder.thresholds())
}

/// Which events were committed together.
struct Commits(BTreeMap<Scope, Vec<(Seq, Seq, Stamp)>>);

impl Commits {
    fn read(end: &End<'_>) -> Self {
        let mut commits: BTreeMap<Scope, Vec<(Seq, Seq, Stamp)>> = BTreeMap::new();
        for (key, value) in end.rows(Family::Outbox) {
            let stamp = keys::outbox::parse(&key)
                .expect("the audit has read it")
                .stamp;
            let row = keys::outbox::decode(&key, &value).expect("the audit has read it");
            let of_scope = commits.entry(row.scope).or_default();
            of_scope.push((row.first, row.last, stamp));
        }
        Self(commits)
    }

    /// Whether two events of a scope were committed together.
    fn is_one(&self, scope: &Scope, a: Seq, b: Seq) -> bool {
        let of = |seq: Seq| {
            let rows = self.0.get(scope)?.iter();
            let mut holding = rows.filter(|(first, last, _)| *first <= seq && seq <= *last);
            holding.next().map(|(.., stamp)| *stamp)
        };
        let (a, b) = (of(a), of(b));
        a.is_some() && a == b
    }
}
