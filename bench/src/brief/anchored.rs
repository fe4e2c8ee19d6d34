//! A store in which briefs end with anchors, beside many decisions that no brief holds.
//!
//! All of it lies in one project. Each field of work has as many decisions and anchors as make one brief. What the anchors lead
//! to are the many decisions of one more field, which nobody asks for, so that a brief reads the heads of those. It must not know
//! what is measured.

use sillok_core::anchor::NewAnchor;
use sillok_core::command::Command;
use sillok_core::decision::{self, NewDecision, Rank};
use sillok_core::limits::{ANCHOR_NODES_MAX, BRIEF_ITEMS_USUAL};
use sillok_core::time::Timestamp;
use sillok_store::FjallStore;

use super::{FIELDS, PLACES, domain};
use crate::chains::{self, Writer};
use crate::error::Error;
use crate::workload::{Texts, scope};

/// Anchors of each field.
pub(super) const ANCHORS: usize = 50;
/// Decisions of each field.
const DECISIONS: usize = BRIEF_ITEMS_USUAL - ANCHORS;
/// How far apart two decisions lie, in the order in which they were saved, that an anchor leads to. A prime, so that an anchor
/// leads to different ones.
const STRIDE: usize = 7_919;
/// Characters of a hint.
const HINT_CHARS: usize = 80;

/// Writes so many decisions for anchors to lead to, and then the decisions and the anchors of all fields.
///
/// # Errors
/// What the rules or the store answered.
pub(super) async fn fill(store: &FjallStore, roots: usize, at: Timestamp) -> Result<(), Error> {
    let (place, texts) = (scope(PLACES[1]), Texts::new());
    let mut writer = Writer::new(&place, at);
    let all = roots + FIELDS * DECISIONS;
    let saves = (0..all).map(|number| {
        let text = said(number, roots, texts.get(number));
        (number as u64, chains::begin(text))
    });
    writer.write(store, saves).await?;
    let lead = |number: usize| decision::Node::Decision {
        scope: place.clone(),
        root: writer.root((number * STRIDE % roots) as u64),
    };
    let anchors = (0..FIELDS * ANCHORS).map(|number| {
        let first = number * ANCHOR_NODES_MAX;
        let anchor = NewAnchor {
            hint: texts.get(number).chars().take(HINT_CHARS).collect(),
            domain: domain(1 + number % FIELDS),
            to: (first..first + ANCHOR_NODES_MAX).map(lead).collect(),
        };
        let anchors = vec![anchor];
        ((all + number) as u64, Command::AddAnchors { anchors })
    });
    let anchors: Vec<(u64, Command)> = anchors.collect();
    writer.write(store, anchors).await
}

/// What a decision says: one that anchors lead to, or behind those one that the briefs of its field hold.
fn said(number: usize, roots: usize, text: &str) -> NewDecision {
    let held = number.checked_sub(roots);
    let field = held.map_or(FIELDS + 1, |held| 1 + held % FIELDS);
    let rank = match held.map(|held| held / FIELDS) {
        Some(0..=14) => Rank::Axis,
        Some(15..=44) => Rank::Lock,
        Some(_) | None => Rank::Normal,
    };
    NewDecision {
        rank,
        domain: domain(field),
        ..chains::normal(format!("Decision {number:07}"), text)
    }
}
