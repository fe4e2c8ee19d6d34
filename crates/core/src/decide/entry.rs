//! Deciding how entries are written and amended: form, sources, deduplication, trust.

use super::compare::{EXACT_ONLY, neighbours};
use super::repeated::relate_repeated;
use super::text::{check_numbers, check_text, text};
use super::{Context, Decision, Draft, review};
use crate::citation::{self, Citation};
use crate::command::{AmendEntry, AnswerBody, VerificationRef};
use crate::dedup::{self, Sameness, Verdict};
use crate::entry::{Binding, Claim, Detail, Head, Kind, Link, LinkKind, Status, Table};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, EntryAmended, EntryCreated, EntryMerged};
use crate::id::{EntryId, VerificationId};
use crate::membership::WireVersion;
use crate::promotion::{Disposition, NewEntry};
use crate::provenance::{Backing, check_citations, check_required, status_of};
use crate::review::Question;
use crate::secret::mask;

pub(super) fn put(
    context: &Context<'_>,
    entry: &NewEntry,
    verification: Option<&VerificationRef>,
) -> Result<Decision, Error> {
    let backing = admit(context, entry, verification)?;
    let mut draft = Draft::new(context);
    let id = derived_id(context, 0);
    let written = write(&mut draft, 0, id, entry, &backing, None);
    let head = draft
        .state
        .head(written.entry)
        .expect("the entry was written or was there");
    let result = AnswerBody::Entry {
        id: written.entry,
        version: head.version,
        status: head.status,
        disposition: written.disposition,
    };
    Ok(Decision::of(draft.bodies, result))
}

pub(super) fn amend(context: &Context<'_>, amend: &AmendEntry) -> Result<Decision, Error> {
    let principal = &context.submission.principal;
    let head = live_head(context, amend.entry, amend.expected_version)?;
    check_citations(principal, &amend.citations, context.facts)?;
    check_text(
        &amend.content,
        &amend.detail,
        amend.claim.as_ref(),
        amend.embedding.as_ref(),
    )?;
    let backing = backing(context, amend.verification.as_ref())?;
    let citations = backing.cite(&citation::join(&amend.citations, &head.citations));
    // What failed stays a hypothesis, whoever rewrites it. A draft that is rewritten stays a draft;
    // what was verified was another text.
    let backed = backing != Backing::None && !head.failure;
    let backing = if backed { backing } else { Backing::None };
    let trust = backing.first_trust(head.table.kind(), context.now, &context.config.trust);
    let status = status_of(
        Status::Hypothesis,
        &citations,
        backed,
        head.reuse_count,
        &context.config.trust,
    );
    let version = head.version + 1;
    let detail = rewritten(context, head.id, &amend.detail)?;
    let body = Body::EntryAmended(Box::new(EntryAmended {
        id: head.id,
        version,
        text: text(
            &amend.content,
            &detail,
            &amend.metadata,
            amend.claim.as_ref(),
            amend.embedding.as_ref(),
        )?,
        citations,
        status,
        trust,
    }));
    let result = AnswerBody::Entry {
        id: head.id,
        version,
        status,
        disposition: Disposition::Created,
    };
    Ok(Decision::of(vec![body], result))
}

/// The typed part of an entry's next version. What a skill says of its uses stays as it was written first: what tasks
/// reported since stands on the head, and a caller that has read the two together would have it counted twice. So what
/// such a caller says of uses is not checked either.
fn rewritten(context: &Context<'_>, id: EntryId, given: &Detail) -> Result<Detail, Error> {
    let fresh = context.state.fresh().iter().find(|fresh| fresh.id == id);
    let stored = context.facts.versions.get(&id).and_then(Option::as_ref);
    let before = fresh
        .map(|fresh| &fresh.detail)
        .or_else(|| stored.map(|version| &version.detail));
    if let (Detail::Skill(given), Some(Detail::Skill(before))) = (given, before) {
        let skill = (**given).clone().used_as(before);
        return Ok(Detail::Skill(Box::new(skill)));
    }
    check_numbers(given)?;
    Ok(given.clone())
}

/// Checks everything about an entry that a principal writes itself, and finds what stands behind it.
pub(super) fn admit(
    context: &Context<'_>,
    entry: &NewEntry,
    verification: Option<&VerificationRef>,
) -> Result<Backing, Error> {
    let principal = &context.submission.principal;
    check_text(
        &entry.content,
        &entry.detail,
        entry.claim.as_ref(),
        entry.embedding.as_ref(),
    )?;
    check_numbers(&entry.detail)?;
    entry.binding.check_bound()?;
    check_citations(principal, &entry.citations, context.facts)?;
    check_required(
        principal,
        entry.table.kind(),
        context.scope().level(),
        &entry.citations,
    )?;
    backing(context, verification)
}

pub(super) fn backing(
    context: &Context<'_>,
    verification: Option<&VerificationRef>,
) -> Result<Backing, Error> {
    let run = context.submission.id.to_string();
    Backing::of_write(
        &context.submission.principal,
        context.scope(),
        verification,
        context.facts,
        &run,
    )
}

/// An entry that may be changed, in the version that the caller has seen.
pub(super) fn live_head<'a>(
    context: &Context<'a>,
    id: EntryId,
    expected_version: u64,
) -> Result<&'a Head, Error> {
    let head = context.state.head(id).ok_or_else(|| {
        Error::new(
            ErrorCode::NotFound,
            format!("{} has no entry {id}", context.scope()),
        )
    })?;
    if !head.status.is_live() {
        let heads_line = context
            .state
            .head(head.line)
            .map_or(head.id, |first| first.line_head);
        let current = context.state.head(heads_line).map(|head| head.version);
        let why = format!("entry {id} is {}; {heads_line} heads its line", head.status);
        return Err(Error::conflict(
            why,
            Current {
                version: current,
                entry: Some(heads_line),
                seq: None,
            },
        ));
    }
    if head.version != expected_version {
        let why = format!(
            "entry {id} is at version {}, not {expected_version}",
            head.version
        );
        return Err(Error::conflict(
            why,
            Current {
                version: Some(head.version),
                entry: Some(id),
                seq: None,
            },
        ));
    }
    Ok(head)
}

pub(super) fn derived_id(context: &Context<'_>, ordinal: u32) -> EntryId {
    EntryId::derived(
        context.scope(),
        &context.submission.principal.actor.to_string(),
        context.submission.id,
        ordinal,
    )
}

/// What became of an entry that was handed over.
pub(super) struct Written {
    pub(super) entry: EntryId,
    pub(super) disposition: Disposition,
    /// Earlier episodes that it was linked to.
    pub(super) linked: Vec<EntryId>,
    /// Whether it tells of a success that one of them had in another task.
    pub(super) repeats: bool,
}

fn masked(entry: &NewEntry) -> NewEntry {
    NewEntry {
        content: mask(&entry.content).text.into_owned(),
        claim: entry.claim.as_ref().map(Claim::masked),
        ..entry.clone()
    }
}

/// Writes an entry, or merges it into the one that says the same.
pub(super) fn write(
    draft: &mut Draft<'_>,
    number: usize,
    id: EntryId,
    entry: &NewEntry,
    backing: &Backing,
    promotion: Option<VerificationId>,
) -> Written {
    // Compared as it will be stored: the stored texts have their secrets masked.
    let entry = &masked(entry);
    let neighbours = neighbours(draft, number, entry);
    let thresholds = draft.context.facts.thresholds.unwrap_or(EXACT_ONLY);
    if entry.table == Table::Episodes {
        let linked = dedup::causal_links(entry, &neighbours, thresholds);
        let repeats = dedup::repeats(entry, &linked, &neighbours);
        let verdict = dedup::claim_verdict(entry, &neighbours);
        create(draft, id, entry, backing, promotion);
        let written = follow(draft, id, &linked, repeats);
        return Written {
            disposition: relate(draft, number, id, verdict),
            ..written
        };
    }
    let verdict = if entry.table.merges() {
        dedup::verdict(entry, &neighbours, thresholds)
    } else {
        // States are many of a kind, as episodes are: what they declare is all that they are held against.
        dedup::claim_verdict(entry, &neighbours)
    };
    let (entry, disposition) = match verdict {
        Verdict::Merge { into, sameness } => {
            let cosine = match sameness {
                Sameness::Exact => 1.0,
                Sameness::Cosine(cosine) => f64::from(cosine),
            };
            let said = Said {
                content: entry.content.clone(),
                citations: entry.citations.clone(),
                failure: entry.failure,
            };
            merge(draft, into, &said, backing, promotion, cosine);
            relate_repeated(draft, number, (into, entry), neighbours);
            (into, Disposition::Merged { cosine })
        }
        verdict => {
            create(draft, id, entry, backing, promotion);
            (id, relate(draft, number, id, verdict))
        }
    };
    Written {
        entry,
        disposition,
        linked: Vec::new(),
        repeats: false,
    }
}

/// Links an entry that is there to the one that it is like or contradicts, and asks a person.
pub(super) fn relate(
    draft: &mut Draft<'_>,
    number: usize,
    id: EntryId,
    verdict: Verdict,
) -> Disposition {
    match verdict {
        Verdict::Contradicts { with, why } => {
            link(draft, id, LinkKind::Contradicts, with, 1.0);
            let question = Question::Contradiction {
                new: id,
                known: with,
                why: why.as_str().to_owned(),
            };
            review::raise(draft, number, question);
            Disposition::Contradicts { other: with }
        }
        Verdict::Similar { to, cosine } => {
            let cosine = f64::from(cosine);
            link(draft, id, LinkKind::Similar, to, cosine);
            let question = Question::Merge {
                new: id,
                known: to,
                cosine,
            };
            review::raise(draft, number, question);
            Disposition::Created
        }
        Verdict::New | Verdict::Merge { .. } => Disposition::Created,
    }
}

/// Holds an entry that takes the place of another one, and that is compared with nothing else, against what declares its
/// key with another value by then.
pub(super) fn relate_claim(draft: &mut Draft<'_>, id: EntryId, entry: &NewEntry) {
    let entry = &masked(entry);
    let neighbours = neighbours(draft, 0, entry);
    let verdict = dedup::claim_verdict(entry, &neighbours);
    relate(draft, 0, id, verdict);
}

/// Links an episode to those that it follows.
fn follow(
    draft: &mut Draft<'_>,
    id: EntryId,
    earlier: &[(EntryId, f32)],
    repeats: bool,
) -> Written {
    for (to, cosine) in earlier {
        link(draft, id, LinkKind::Causal, *to, f64::from(*cosine));
    }
    Written {
        entry: id,
        disposition: Disposition::Created,
        linked: earlier.iter().map(|(to, _)| *to).collect(),
        repeats,
    }
}

pub(super) fn create(
    draft: &mut Draft<'_>,
    id: EntryId,
    entry: &NewEntry,
    backing: &Backing,
    promotion: Option<VerificationId>,
) {
    let config = &draft.context.config.trust;
    let citations = backing.cite(&entry.citations);
    // What failed stays a hypothesis, whoever says so.
    let backed = *backing != Backing::None && !entry.failure;
    let backing = if backed { backing } else { &Backing::None };
    let text = text(
        &entry.content,
        &entry.detail,
        &entry.metadata,
        entry.claim.as_ref(),
        entry.embedding.as_ref(),
    )
    .expect("the caller checked the text, and masking does not break it");
    let created = EntryCreated {
        id,
        table: entry.table,
        text,
        status: status_of(Status::Hypothesis, &citations, backed, 0, config),
        trust: backing.first_trust(entry.table.kind(), draft.context.now, config),
        citations,
        binding: told(draft.context, &entry.binding),
        failure: entry.failure,
        promotion,
    };
    draft.push(Body::EntryCreated(Box::new(created)));
}

/// A binding as it is to be stored: as all nodes read it, with its secrets masked.
pub(super) fn told(context: &Context<'_>, binding: &Binding) -> Binding {
    if context.facts.spoken >= WireVersion::WITH_BINDINGS {
        binding.masked()
    } else {
        binding.plain()
    }
}

/// What is merged into an entry, with its secrets masked.
pub(super) struct Said {
    pub(super) content: String,
    pub(super) citations: Vec<Citation>,
    pub(super) failure: bool,
}

pub(super) fn merge(
    draft: &mut Draft<'_>,
    into: EntryId,
    said: &Said,
    backing: &Backing,
    promotion: Option<VerificationId>,
    cosine: f64,
) {
    let config = &draft.context.config.trust;
    let now = draft.context.now;
    let head = draft
        .state
        .head(into)
        .expect("a verdict names a live entry that the state knows");
    // Saying the same thing twice in one promotion is no second success.
    let repeats = promotion.is_none() || head.promotion != promotion;
    let backed = *backing != Backing::None && repeats && !said.failure;
    let backing = if backed { backing } else { &Backing::None };
    let citations = citation::join(&head.citations, &backing.cite(&said.citations));
    let merged = EntryMerged {
        into,
        content: said.content.clone(),
        cosine,
        status: status_of(head.status, &citations, backed, head.reuse_count, config),
        trust: backing.repeated_trust(&head.trust, now, config),
        citations,
        promotion,
        used_at: now,
    };
    draft.push(Body::Merged(Box::new(merged)));
}

fn link(draft: &mut Draft<'_>, entry: EntryId, kind: LinkKind, to: EntryId, weight: f64) {
    draft.push(Body::Linked {
        entry,
        link: Link { kind, to, weight },
    });
}

/// The citations that a kind of entry needs above worktree are checked where a principal writes
/// itself; what a promotion publishes always carries its verification.
pub(super) fn assert_cited(kind: Kind, citations: &[Citation]) {
    assert!(
        !kind.needs_citation() || !citations.is_empty(),
        "a promotion's products cite their verification"
    );
}
