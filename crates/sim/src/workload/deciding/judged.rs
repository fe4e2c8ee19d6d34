//! What must hold of decisions, evidence and anchors, of what is stored and of all that anybody was told.
//!
//! Owns the comparison of an answer with one point of what was committed. What is right there, `naive` says; which points
//! come into question, `view` does; what the rows must say, `stored`.

mod found;
mod kept;
mod left;
mod means;
mod reached;

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use sillok_core::ErrorCode;
use sillok_core::brief::{Cut, Layer};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::DecisionId;
use sillok_core::scope::Scope;

use self::found::wrong_found;
use self::kept::{wrong_anchor, wrong_followed, wrong_text};
use self::means::{wrong_meaning, wrong_proposal, wrong_refusal};
use self::reached::{shows_choice, wrong_impact, wrong_reach};
use super::Deciding;
use super::asked::{Asked, Asker, HEARD, Heard, Holding, Line, Told};
use super::keeping::{self, KEPT};
use super::naive::{self, Loaded, Look};
use super::saving::SAVED;
use super::sent::{self, unsent};
use super::stored::kept::StoredKept;
use super::stored::{Acknowledged, Stored};
use super::view::{self, Timeline, View, WrittenKept};
use crate::violation::Violation;
use crate::workload::{Check, End};

impl Check for Deciding {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let stored = Stored::read(end);
        stored.are_chains()?;
        if let Some(what) = stored.misfit() {
            return Err(Violation::new(
                "relations and lists fit their decisions",
                what,
            ));
        }
        let saved: Vec<Acknowledged> = noted(end, SAVED).collect();
        if let Some(what) = stored.unsaved(&saved) {
            return Err(Violation::new("every save is in the history once", what));
        }
        let (written, kept) = view::written(end);
        if let Some(what) = unsent(stored.versions(), &written, &end.history.calls) {
            return Err(Violation::new("every version is of a save", what));
        }
        are_kept(end, &kept)?;
        if let Some(what) = left::behind(left::rows(end)) {
            return Err(Violation::new("a proposal is stored nowhere", what));
        }
        let timeline = Timeline::of(end, written, kept);
        if let Some(what) = timeline.declared_again() {
            return Err(Violation::new(
                "a name of a relation is declared once",
                what,
            ));
        }
        for heard in noted::<Heard>(end, HEARD) {
            let asked = (heard.from_us, heard.to_us);
            let shows_choice = Cell::new(false);
            let wrong = timeline.wrong(asked, |view| {
                let wrong = wrong(view, &heard.asked, &heard.told);
                shows_choice.set(wrong.is_none() && chooses(view, &heard));
                wrong
            });
            if shows_choice.get() {
                end.saw("impact with room for some alone");
            }
            if let Some(what) = wrong {
                let what = format!("{}: {what}", heard.asked);
                return Err(Violation::new(invariant(&heard.asked), what));
            }
        }
        Ok(())
    }
}

/// That evidence and anchors are what was handed over, each once, and nothing else.
fn are_kept(end: &End<'_>, written: &WrittenKept) -> Result<(), Violation> {
    let stored = StoredKept::read(end);
    if let Some(what) = stored.misfit(written) {
        return Err(Violation::new(
            "evidence and anchors are their events",
            what,
        ));
    }
    let told: Vec<keeping::Told> = noted(end, KEPT).collect();
    if let Some(what) = stored.unkept(&told) {
        return Err(Violation::new("what was kept is there once", what));
    }
    match sent::kept::unsent(written, &end.history.calls) {
        None => Ok(()),
        Some(what) => Err(Violation::new("what is kept was sent", what)),
    }
}

/// The notes of a kind.
fn noted<T: DeserializeOwned>(end: &End<'_>, kind: &'static str) -> impl Iterator<Item = T> {
    let notes = end.history.notes.iter();
    let notes = notes.filter(move |note| note.kind == kind);
    notes.map(|note| serde_json::from_value(note.value.clone()).expect("it was noted here"))
}

/// What is said to hold of such an answer.
const fn invariant(asked: &Asked) -> &'static str {
    match asked {
        Asked::Brief { .. } => "a brief is what stands, in its order",
        Asked::Impact { .. } => "an impact is all that relations lead to",
        Asked::Meaning { .. } | Asked::Proposal { .. } => "what a decision means is told whole",
        Asked::History { .. } => "a history tells every version",
        Asked::Text { .. } => "evidence is read as it was handed over",
        Asked::Followed { .. } => "an anchor leads to the originals",
        Asked::Search { .. } => "a search finds what anchors lead to",
    }
}

/// What is wrong about an answer where this stands, if anything.
fn wrong(view: &View<'_>, asked: &Asked, told: &Told) -> Option<String> {
    if let Some(absent) = absent(view, asked) {
        let wrong = wrong_refusal(ErrorCode::NotFound, told);
        return wrong.map(|what| format!("{what}, since {absent} does not stand"));
    }
    wrong_answer(view, asked, told)
}

/// The same, where all at hand stands.
fn wrong_answer(view: &View<'_>, asked: &Asked, told: &Told) -> Option<String> {
    match (asked, told) {
        (
            Asked::Brief {
                by,
                domain,
                at,
                items_max,
            },
            Told::Brief {
                lines,
                cut,
                unfound,
            },
        ) => wrong_brief(view, (by, domain, at), *items_max, (lines, cut, *unfound)),
        (Asked::Impact { by, start, limits }, Told::Impact { reached, is_cut }) => {
            let told = (reached.as_slice(), *is_cut);
            wrong_impact(view, (Look::by(by), start), limits.numbers(), told)
        }
        (Asked::Brief { .. } | Asked::Impact { .. }, Told::Refused(code)) => {
            Some(format!("{code} refuses it, though all at hand stands"))
        }
        (Asked::Meaning { by, root, number }, told) => {
            wrong_meaning(view, by, (*root, *number), told)
        }
        (Asked::Proposal { by, change, text }, told) => {
            wrong_proposal(view, by, (*change, text), told)
        }
        (
            Asked::History {
                scope,
                root,
                after,
                limit,
            },
            Told::History(versions),
        ) => wrong_history(view, (scope, *root), (*after, *limit), versions),
        (
            Asked::Text {
                scope,
                id,
                original,
                part,
            },
            told,
        ) => wrong_text(view, (scope, *id), original, *part, told),
        (Asked::Followed { by, id }, told) => wrong_followed(view, (&by.scope, *id), told),
        (
            Asked::Search {
                by,
                domain,
                words,
                hits_max,
            },
            Told::Found {
                hits,
                is_cut,
                unreadable,
            },
        ) => {
            let asked = (words.as_slice(), *hits_max);
            let told = (hits.as_slice(), *is_cut, *unreadable);
            wrong_found(view, (&by.scope, domain), asked, told)
        }
        _ => Some("it is the answer to something else".to_owned()),
    }
}

/// Whether it is an impact that had room for some of what one node leads to alone, where some of that comes before others.
fn chooses(view: &View<'_>, heard: &Heard) -> bool {
    match (&heard.asked, &heard.told) {
        (Asked::Impact { by, start, limits }, Told::Impact { reached, .. }) => {
            let (_, depth_max) = limits.numbers();
            shows_choice(view, (Look::by(by), start), depth_max, reached)
        }
        _ => false,
    }
}

/// A node at hand that is not there, does not hold or is not seen, if there is one: whoever asks about it is refused.
fn absent<'a>(view: &View<'_>, asked: &'a Asked) -> Option<&'a Node> {
    let (by, nodes) = asked.at_hand()?;
    nodes.iter().find(|node| !view.stands(by, node))
}

fn is_of(one: &Holding, loaded: &Loaded<'_>) -> bool {
    one.layer == loaded.layer
        && one.scope == *loaded.scope
        && (one.root, one.number) == (loaded.root, loaded.number)
        && one.rank == loaded.text.rank
        && one.content.as_ref() == Some(&loaded.text.content)
}

fn wrong_brief(
    view: &View<'_>,
    (by, domain, at): (&Asker, &Domain, &[Node]),
    items_max: usize,
    (lines, cut, unfound): (&[Line], &[Cut], u64),
) -> Option<String> {
    let loaded = view.loaded(&by.scope, domain);
    let reached = view.reached(Look::by(by), at);
    let policies = loaded.iter().take_while(|one| one.layer == Layer::Policy);
    let policies = policies.count();
    let referred = naive::referred(reached.len(), policies, items_max);
    if unfound != 0 {
        let all = reached.len();
        return Some(format!(
            "{unfound} nodes are said not to be found, of {all}"
        ));
    }
    let structural = policies..policies + referred;
    let anchored = view.anchored(&by.scope, domain);
    let decisions = loaded.len() + referred;
    let all = decisions + anchored.len();
    if lines.len() != all.min(items_max) {
        let (told, room) = (lines.len(), items_max);
        return Some(format!(
            "{told} items are told of {all}, with room for {room}"
        ));
    }
    let mut references = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let place = if number < policies {
            Some(number)
        } else {
            number.checked_sub(referred)
        };
        match line {
            Line::Structural(one) if structural.contains(&number) => references.push(one),
            Line::Decision(one) if !structural.contains(&number) => {
                let expected = place.and_then(|place| loaded.get(place));
                if !expected.is_some_and(|expected| is_of(one, expected)) {
                    return Some(format!("item {number} is {one:?} and not {expected:?}"));
                }
            }
            Line::Anchor(anchor, leads) if number >= decisions => {
                let expected = anchored.get(number - decisions);
                let wrong = wrong_anchor((anchor, leads), expected);
                if let Some(what) = wrong {
                    return Some(format!("item {number}: {what}"));
                }
            }
            _ => return Some(format!("item {number} is {line:?}, out of its layer")),
        }
    }
    let wrong = wrong_reach(view, (Look::by(by), at), &reached, &references);
    wrong.or_else(|| {
        let layers = loaded.iter().map(|one| one.layer);
        let layers = layers.chain(anchored.iter().map(|_| Layer::Anchor));
        let mut layers: Vec<Layer> = layers.collect();
        let references = core::iter::repeat_n(Layer::Structural, referred);
        drop(layers.splice(policies..policies, references));
        let mut left_out = layers.split_off(lines.len());
        let beyond = reached.len() - referred;
        left_out.extend(core::iter::repeat_n(Layer::Structural, beyond));
        wrong_cut(&left_out, cut)
    })
}

/// What is wrong about what a brief says that it left out, where it left out items of these layers.
fn wrong_cut(left_out: &[Layer], cut: &[Cut]) -> Option<String> {
    let mut counted: BTreeMap<Layer, u64> = BTreeMap::new();
    for layer in left_out {
        *counted.entry(*layer).or_default() += 1;
    }
    let told: Vec<(Layer, u64)> = cut.iter().map(|one| (one.layer, one.items)).collect();
    let is_told = counted.into_iter().eq(told.iter().copied());
    let more = cut.iter().any(|one| one.more);
    (!is_told || more).then(|| format!("{cut:?} is told of what was cut off: {left_out:?}"))
}

fn wrong_history(
    view: &View<'_>,
    (scope, root): (&Scope, DecisionId),
    (after, limit): (Option<u64>, usize),
    told: &[(u64, Option<String>)],
) -> Option<String> {
    let versions = (1..).zip(view.versions(scope, root));
    let behind = versions.filter(|(number, _)| after.is_none_or(|after| *number > after));
    let expected: Vec<(u64, Option<&str>)> = behind
        .take(limit)
        .map(|(number, text)| (number, text.map(|text| &*text.content)))
        .collect();
    let told: Vec<(u64, Option<&str>)> = told
        .iter()
        .map(|(number, text)| (*number, text.as_deref()))
        .collect();
    (told != expected).then(|| format!("{told:?} is told of {expected:?}"))
}

#[cfg(test)]
mod tests;
