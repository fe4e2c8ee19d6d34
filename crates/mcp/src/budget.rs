//! What an answer may cost, in tokens, and what was cut for that.
//!
//! Owns the count and the names of what was left out. Tokens are estimated as the rules estimate them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sillok_core::error::Error;
use sillok_core::recall::tokens_of;

use crate::data::shortened;
use crate::limits::{BUDGET_TOKENS_MAX, BUDGET_TOKENS_MIN, CUT_NAMED_MAX, ITEM_TOKENS};
use crate::refusal::Refusal;

/// What was left out of an answer, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Cut {
    /// How many items were left out of this answer.
    pub(crate) items: u64,
    /// Handles of the first of them. Read one by its handle, or ask again with a larger `budget_tokens`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) handles: Vec<String>,
}

impl Cut {
    pub(crate) const fn is_nothing(&self) -> bool {
        self.items == 0
    }

    /// Counts what another part of the answer left out.
    pub(crate) fn add(&mut self, other: Self) {
        let room = CUT_NAMED_MAX.saturating_sub(self.handles.len());
        self.items += other.items;
        self.handles.extend(other.handles.into_iter().take(room));
    }

    fn name(&mut self, handle: String) {
        self.items += 1;
        if self.handles.len() < CUT_NAMED_MAX {
            self.handles.push(handle);
        }
    }
}

/// Which items are given where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Give {
    /// Those before the first that does not fit: their order is a law.
    First,
    /// All that fit.
    WhatFits,
}

/// Room for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    /// The room that was asked for, or the usual.
    ///
    /// # Errors
    /// `invalid_argument` where it is none that an answer may have.
    pub(crate) fn of(asked: Option<u64>, usual: u64) -> Result<Self, Refusal> {
        let tokens = asked.unwrap_or(usual);
        if (BUDGET_TOKENS_MIN..=BUDGET_TOKENS_MAX).contains(&tokens) {
            return Ok(Self { left: tokens });
        }
        let why = format!(
            "budget_tokens is {tokens}; it lies between {BUDGET_TOKENS_MIN} and {BUDGET_TOKENS_MAX}"
        );
        let error = Error::new(sillok_core::ErrorCode::InvalidArgument, why);
        Err(Refusal::from(error))
    }

    /// Tokens that are left.
    pub(crate) const fn left(self) -> u64 {
        self.left
    }

    /// A part of it, which it is no longer.
    pub(crate) fn part(&mut self, of: u64) -> Self {
        let left = self.left / of;
        self.left -= left;
        Self { left }
    }

    /// What another one did not use.
    pub(crate) fn give_back(&mut self, other: Self) {
        self.left += other.left;
    }

    /// Whether there is room for a text with its handle and fields; it is taken.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let cost = tokens_of(text) + ITEM_TOKENS;
        if cost > self.left {
            return false;
        }
        self.left -= cost;
        true
    }

    /// Whether there is room for a few words without a handle; it is taken.
    pub(crate) fn spend(&mut self, words: &str) -> bool {
        let cost = tokens_of(words);
        let fits = cost <= self.left;
        if fits {
            self.left -= cost;
        }
        fits
    }

    /// The beginning of a text that there is room for, which is taken, and whether that is not all of it.
    pub(crate) fn beginning<'t>(&mut self, text: &'t str) -> (&'t str, bool) {
        let (given, more) = stretch(text, 0, self.left);
        self.left -= tokens_of(given);
        (given, more.is_some())
    }

    /// Those of `items` that there is room for, and the names of the others.
    pub(crate) fn fill<T>(
        &mut self,
        items: Vec<T>,
        give: Give,
        text: impl Fn(&T) -> &str,
        handle: impl Fn(&T) -> String,
    ) -> (Vec<T>, Cut) {
        let mut cut = Cut::default();
        let mut given = Vec::with_capacity(items.len());
        for item in items {
            let is_over = give == Give::First && !cut.is_nothing();
            if is_over || !self.take(text(&item)) {
                cut.name(handle(&item));
            } else {
                given.push(item);
            }
        }
        (given, cut)
    }
}

/// What there is room for of a text behind a byte, and where it goes on. A byte within a character stands for its beginning.
pub(crate) fn stretch(said: &str, from: usize, tokens: u64) -> (&str, Option<usize>) {
    let mut from = from.min(said.len());
    while !said.is_char_boundary(from) {
        from -= 1;
    }
    let rest = &said[from..];
    let room = |bytes: usize| tokens_of(shortened(rest, bytes)) <= tokens;
    if room(rest.len()) {
        return (rest, None);
    }
    // The longest beginning that fits: what it costs grows with its bytes.
    let (mut fits, mut over) = (0, rest.len());
    while fits + 1 < over {
        let middle = fits.midpoint(over);
        if room(middle) {
            fits = middle;
        } else {
            over = middle;
        }
    }
    let given = shortened(rest, fits);
    (given, Some(from + given.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(tokens: u64, sizes: &[usize], give: Give) -> (Vec<usize>, Cut) {
        let texts: Vec<String> = sizes.iter().map(|size| "a".repeat(*size)).collect();
        let items: Vec<(usize, String)> = texts.into_iter().enumerate().collect();
        let mut budget = Budget { left: tokens };
        let (given, cut) = budget.fill(items, give, |item| &item.1, |item| item.0.to_string());
        let cost: u64 = given
            .iter()
            .map(|(_, text)| tokens_of(text) + ITEM_TOKENS)
            .sum();
        assert_eq!(cost + budget.left(), tokens);
        (given.into_iter().map(|(place, _)| place).collect(), cut)
    }

    #[test]
    fn an_order_that_is_a_law_is_cut_from_its_end_and_others_where_it_does_not_fit() {
        let sizes = [40, 4_000, 40];
        let (given, cut) = filled(200, &sizes, Give::First);
        assert_eq!((given, cut.items), (vec![0], 2));
        assert_eq!(cut.handles, ["1", "2"]);
        let (given, cut) = filled(200, &sizes, Give::WhatFits);
        assert_eq!((given, cut.handles), (vec![0, 2], vec!["1".to_owned()]));
    }

    #[test]
    fn a_budget_lies_in_its_range() {
        for (asked, is_taken) in [
            (None, true),
            (Some(BUDGET_TOKENS_MIN), true),
            (Some(BUDGET_TOKENS_MAX), true),
            (Some(BUDGET_TOKENS_MIN - 1), false),
            (Some(BUDGET_TOKENS_MAX + 1), false),
            (Some(u64::MAX), false),
        ] {
            assert_eq!(Budget::of(asked, 4_000).is_ok(), is_taken, "{asked:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_given_or_named_twice_and_nothing_is_forgotten(
            tokens in 0u64..2_000, sizes in prop::collection::vec(0usize..2_000, 0..60)
        ) {
            for give in [Give::First, Give::WhatFits] {
                let (given, cut) = filled(tokens, &sizes, give);
                prop_assert_eq!(given.len() as u64 + cut.items, sizes.len() as u64);
                prop_assert!(given.windows(2).all(|two| two[0] < two[1]));
                prop_assert!(cut.handles.len() <= CUT_NAMED_MAX);
                prop_assert!(cut.handles.iter().all(|name| !given.contains(&name.parse().unwrap())));
                if give == Give::First {
                    prop_assert!(given.iter().enumerate().all(|(place, item)| place == *item));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_read_on_is_read_whole(text in any::<String>(), tokens in 1u64..50) {
            let (mut from, mut read) = (0, String::new());
            for _ in 0..=text.len() {
                let (given, more) = stretch(&text, from, tokens);
                prop_assert!(tokens_of(given) <= tokens);
                read.push_str(given);
                match more {
                    Some(next) if next > from => from = next,
                    Some(_) => prop_assert!(false, "it does not go on"),
                    None => break,
                }
            }
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn a_place_inside_a_character_or_behind_the_end_is_none_to_fall_over() {
        assert_eq!(stretch("한글", 1, 100), ("한글", None));
        assert_eq!(stretch("한글", usize::MAX, 100), ("", None));
    }
}
