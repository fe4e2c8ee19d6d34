//! Deciding what is erased, and what is left in its place: content of records, entries and offers here; of decisions, evidence,
//! anchors and kinds of relations in a part of its own, and of verifications in another one.

use std::collections::BTreeMap;

use super::{Context, Decision, check_stated};
use crate::command::AnswerBody;
use crate::entry::Head;
use crate::erasure::{ContentErased, Erase, Erased, KnownEvent, Names, holds_text_of, rest_of};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, EventKind};
use crate::id::{EntryId, Seq};
use crate::limits::{ERASED_EVENTS_MAX, ERASED_REST_BYTES_MAX, ERASURE_BYTES_MAX};
use crate::promotion::Stands;
use crate::review::Question;
use crate::secret::mask;
use crate::state::Stamped;

pub(super) mod memory;
pub(super) mod verification;

/// Entries that a refusal names.
const NAMED_MAX: usize = 8;

/// What an order comes to.
#[derive(Default)]
struct Erasing {
    events: BTreeMap<Seq, Erased>,
    names: Names,
    entries: Vec<EntryId>,
    /// How many of what was named had been erased before.
    known: u32,
}

impl Erasing {
    /// Adds an event; one whose content is gone already counts as known.
    fn add(&mut self, event: &KnownEvent) {
        let names = &mut self.names;
        let name = |hash, entry, version| names.of(hash, entry, version);
        let Some(rest) = event.body.as_ref().and_then(|body| rest_of(body, name)) else {
            self.known += 1;
            return;
        };
        let at = Stamped {
            seq: event.header.seq,
            time: event.header.time,
            actor: event.header.actor.clone(),
        };
        self.events.insert(at.seq, Erased { at, rest });
    }
}

/// Erases what is named, all of it or nothing. What was erased before stays so.
pub(super) fn erase(context: &Context<'_>, order: &Erase) -> Result<Decision, Error> {
    check_stated("reason", &order.reason)?;
    order.check()?;
    let mut erasing = Erasing::default();
    for seq in &order.records {
        erasing.add(record(context, *seq)?);
    }
    entries(context, &order.entries, &mut erasing)?;
    offers(context, order, &mut erasing)?;
    decided(erasing, &order.reason)
}

/// What an order leads to.
fn decided(erasing: Erasing, reason: &str) -> Result<Decision, Error> {
    let count = erasing.events.len();
    check_count(count as u64)?;
    let answer = AnswerBody::Erased {
        events: u32::try_from(count).expect("an order is bounded"),
        entries: erasing.entries.clone(),
        known: erasing.known,
    };
    let bodies = bodies(erasing, &mask(reason).text)?;
    Ok(Decision::of(bodies, answer))
}

fn check_count(events: u64) -> Result<(), Error> {
    let max = ERASED_EVENTS_MAX as u64;
    if events > max {
        return Err(Error::too_large("events to erase", max, events));
    }
    Ok(())
}

/// The events of an erasure. A row of the store holds one event, so that many go into several; the entries are named by
/// the last.
fn bodies(erasing: Erasing, reason: &str) -> Result<Vec<Body>, Error> {
    let mut orders: Vec<ContentErased> = Vec::new();
    let (mut bytes, mut bytes_total) = (0, 0);
    for event in erasing.events.into_values() {
        let size = event.size_bytes();
        bytes_total += size;
        if orders.is_empty() || bytes + size > ERASURE_BYTES_MAX {
            bytes = 0;
            orders.push(ContentErased {
                events: Vec::new(),
                entries: Vec::new(),
                reason: reason.to_owned(),
            });
        }
        bytes += size;
        let last = orders.last_mut().expect("there is one by now");
        last.events.push(event);
    }
    if bytes_total > ERASED_REST_BYTES_MAX {
        let (max, total) = (ERASED_REST_BYTES_MAX as u64, bytes_total as u64);
        return Err(Error::too_large("bytes that an erasure leaves", max, total));
    }
    if let Some(last) = orders.last_mut() {
        last.entries = erasing.entries;
    }
    let sealed = orders
        .into_iter()
        .map(|order| Body::ContentErased(Box::new(order)));
    Ok(sealed.collect())
}

/// The record or the trajectory at a position. A record that a promotion may be reading is not erased: it would publish what it
/// read.
fn record<'a>(context: &Context<'a>, seq: Seq) -> Result<&'a KnownEvent, Error> {
    let known = context.facts.events.get(&seq).and_then(Option::as_ref);
    let event = known.ok_or_else(|| {
        let why = format!("{} has no event {seq}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    if event.header.kind == EventKind::TrajectoryStored {
        return Ok(event);
    }
    if !event.header.kind.is_record() {
        let why = format!(
            "event {seq} is {}: staged records and trajectories are erased by their positions, entries and offers by their ids",
            event.header.kind.as_str()
        );
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let stored = context.facts.promotions.as_deref().unwrap_or_default();
    let standings = context.state.promotions(stored);
    let mut reading = standings.iter().filter(|one| one.stands == Stands::Pending);
    if let Some(one) = reading.find(|one| seq <= one.through) {
        let why = format!(
            "promotion {} is under way and may have read record {seq}: wait until it is finished, or drop it",
            one.verification
        );
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    Ok(event)
}

/// Adds all events that hold a text of these entries.
fn entries(context: &Context<'_>, named: &[EntryId], erasing: &mut Erasing) -> Result<(), Error> {
    let mut heads: Vec<&Head> = Vec::with_capacity(named.len());
    for id in named {
        let head = context.state.head(*id).ok_or_else(|| {
            let why = format!("{} has no entry {id}", context.scope());
            Error::new(ErrorCode::NotFound, why)
        })?;
        if head.is_erased() {
            erasing.known += 1;
        } else if !heads.iter().any(|known| known.id == head.id) {
            heads.push(head);
        }
    }
    if heads.is_empty() {
        return Ok(());
    }
    let unread = || {
        Error::new(
            ErrorCode::Internal,
            "the texts of the entries were not read",
        )
    };
    let texts = context.facts.texts.as_ref().ok_or_else(unread)?;
    let going: Vec<EntryId> = heads.iter().map(|head| head.id).collect();
    let others = texts.others(&going).into_iter().take(NAMED_MAX);
    let others: Vec<String> = others.map(|id| id.to_string()).collect();
    if !others.is_empty() {
        let why = format!(
            "other entries have or had the same text, and would keep it: name them too ({})",
            others.join(", ")
        );
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    let mut versions: BTreeMap<EntryId, u64> = BTreeMap::new();
    for event in &texts.events {
        let Some(body) = &event.body else { continue };
        if !holds_text_of(body, &going) {
            continue;
        }
        match body {
            Body::EntryCreated(created) => *versions.entry(created.id).or_default() += 1,
            Body::EntryAmended(amended) => *versions.entry(amended.id).or_default() += 1,
            _ => {}
        }
        erasing.add(event);
    }
    if heads
        .iter()
        .any(|head| versions.get(&head.id) != Some(&head.version))
    {
        return Err(unread());
    }
    erasing.entries = going;
    Ok(())
}

/// Adds what was offered to an organisation, once it was answered: nobody approves what is not there any more.
fn offers(context: &Context<'_>, order: &Erase, erasing: &mut Erasing) -> Result<(), Error> {
    for id in &order.offers {
        let review = context.state.review(*id).ok_or_else(|| {
            let why = format!("{} has no review {id}", context.scope());
            Error::new(ErrorCode::NotFound, why)
        })?;
        if !matches!(review.question, Question::Offer(_)) {
            let why = format!("review {id} is no offer: it goes with the entries that it is about");
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        if review.answer.is_none() {
            let why = format!("review {id} waits for an answer: reject it first");
            return Err(Error::new(ErrorCode::InvalidState, why));
        }
        let raised = context.facts.events.get(&review.raised_by);
        let unread = || Error::new(ErrorCode::Internal, "an offer was not read");
        erasing.add(raised.and_then(Option::as_ref).ok_or_else(unread)?);
    }
    Ok(())
}
