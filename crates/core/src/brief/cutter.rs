//! The budget of a brief: where it is cut, and what is said of what lies behind.
//!
//! Owns the rule that a brief is cut once, at the first item that does not fit: nothing behind that place is taken, however
//! small. It must not know how items are read, but lets their reader stop reading texts where nothing fits any more.

use std::collections::BTreeMap;

use super::{Brief, BriefBudget, BriefItem, Cut, Layer, structural_max};
use crate::bank::Warning;
use crate::error::{Error, ErrorCode};
use crate::impact::{self, Impact};
use crate::limits::BRIEF_COUNTED_MAX;

/// Takes the items of a brief, in the order of loading, as long as they fit.
///
/// ```text
/// for step in loading_order(&scope, &domain) {
///     // Before the first step of a layer behind `Layer::Policy`, once: cutter.take_impact(&impact)?;
///     let mut rows = rows of the step;
///     while !cutter.is_full() && let Some(row) = rows.next() {
///         cutter.take(item with the text of the row)?;
///     }
///     if cutter.is_full() {
///         cutter.leave_out(step.layer, how many of the next `cutter.rows_wanted()` rows there are);
///     }
/// }
/// let brief = cutter.finish();
/// ```
#[derive(Debug)]
pub struct Cutter {
    budget: BriefBudget,
    items: Vec<BriefItem>,
    bytes: usize,
    full: bool,
    /// How many are left out of each layer, and whether there are more than that.
    left_out: BTreeMap<Layer, (usize, bool)>,
    counted: usize,
    impact_cut: Option<impact::Cut>,
    warnings: Vec<Warning>,
    warnings_cut: bool,
}

impl Cutter {
    /// A brief without items.
    #[must_use]
    pub const fn new(budget: BriefBudget) -> Self {
        Self {
            budget,
            items: Vec::new(),
            bytes: 0,
            full: false,
            left_out: BTreeMap::new(),
            counted: 0,
            impact_cut: None,
            warnings: Vec::new(),
            warnings_cut: false,
        }
    }

    /// Whether nothing is taken any more. What comes next need not be read whole: it is only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
            || self.items.len() + self.warnings.len() >= self.budget.items_max
            || self.bytes >= self.budget.bytes_max
    }

    /// Takes an item if it fits. From the first that does not, everything is left out; this one is counted then.
    ///
    /// # Errors
    /// `invalid_argument` when the very first item does not fit: a brief without any item would say nothing.
    pub fn take(&mut self, item: BriefItem) -> Result<(), Error> {
        if self.is_full() {
            self.leave_out(item.layer(), 1);
            return Ok(());
        }
        let bytes = item.bytes();
        if self.bytes + bytes <= self.budget.bytes_max {
            self.bytes += bytes;
            self.items.push(item);
            return Ok(());
        }
        if self.items.is_empty() {
            let given = self.budget.bytes_max;
            let why = format!(
                "the first item of the brief has {bytes} bytes, and there is room for {given}"
            );
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        self.full = true;
        self.leave_out(item.layer(), 1);
        Ok(())
    }

    /// Takes the structural layer: references to the first nodes that are affected, as many as the layer has room for in what
    /// was left of the budget before it ([`structural_max`]). Those behind are left out.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_impact(&mut self, impact: &Impact) -> Result<(), Error> {
        self.impact_cut = impact.cut;
        let all = impact.affected.len();
        let references = || (0..all).filter_map(|index| BriefItem::of_impact(impact, index));
        let bytes = references().map(|item| item.bytes());
        let taken = structural_max(self.left(), bytes).min(all);
        for item in references().take(taken) {
            self.take(item)?;
        }
        self.leave_references_out(all - taken);
        Ok(())
    }

    /// Counts references that the structural layer has no room for, whatever room the brief has. They were found already, so
    /// all of them are counted, and none takes the place of what is counted behind.
    pub fn leave_references_out(&mut self, count: usize) {
        if count > 0 {
            let (known, _) = self.left_out.entry(Layer::Structural).or_default();
            *known += count;
        }
    }

    /// Takes warnings as long as they fit, behind all items: nothing is taken behind a place where the brief was cut, and no
    /// warning leaves an item out. `cut` says whether there are more than these.
    pub fn take_warnings(&mut self, warnings: Vec<Warning>, cut: bool) {
        self.warnings_cut |= cut;
        for warning in warnings {
            let bytes = warning.bytes();
            let items = self.items.len() + self.warnings.len();
            let fits = items < self.budget.items_max && self.bytes + bytes <= self.budget.bytes_max;
            if self.full || !fits {
                self.full = true;
                self.warnings_cut = true;
                return;
            }
            self.bytes += bytes;
            self.warnings.push(warning);
        }
    }

    /// How many rows of a list are worth looking at when nothing is taken any more: those that are counted, and one, which
    /// tells whether there are more. So no more rows than [`BRIEF_COUNTED_MAX`] and one for each list are looked at.
    #[must_use]
    pub const fn rows_wanted(&self) -> usize {
        BRIEF_COUNTED_MAX - self.counted + 1
    }

    /// Counts items of a layer that are left out, as far as counting goes: up to [`BRIEF_COUNTED_MAX`] of all layers
    /// together.
    pub fn leave_out(&mut self, layer: Layer, items: usize) {
        if items == 0 {
            return;
        }
        let counted = items.min(BRIEF_COUNTED_MAX - self.counted);
        self.counted += counted;
        let (known, more) = self.left_out.entry(layer).or_default();
        *known += counted;
        *more |= counted < items;
    }

    /// The brief.
    #[must_use]
    pub fn finish(self) -> Brief {
        let cuts = self.left_out.into_iter();
        let cut = cuts.map(|(layer, (items, more))| Cut {
            layer,
            items: items as u64,
            more,
        });
        Brief {
            items: self.items,
            bytes: self.bytes as u64,
            cut: cut.collect(),
            impact_cut: self.impact_cut,
            warnings: self.warnings,
            warnings_cut: self.warnings_cut,
        }
    }

    /// What is left of the budget.
    fn left(&self) -> BriefBudget {
        BriefBudget {
            items_max: self.budget.items_max.saturating_sub(self.items.len()),
            bytes_max: self.budget.bytes_max.saturating_sub(self.bytes),
        }
    }
}
