//! Regular expressions: how they are made, and what one match may take.
//!
//! Owns their bounds. Nothing stops the making of one nor a match on its way, so both are bounded before they begin.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::{Error as RegexError, Regex, RegexBuilder};
use sillok_core::error::Error;

use crate::meter::{Meter, Stop, invalid, time_over};

/// The sizes that a regular expression is made within, in bytes of memory: in the smallest one that it fits.
const SIZES: [usize; 3] = [16 * 1024, 64 * 1024, 128 * 1024];
/// Most memory that the states of one may take which are worked out while it matches.
const STATES_BYTES_MAX: usize = 128 * 1024;
/// Most bytes of a text, times those of the regular expression that it is held against. At worst all of it is gone through for
/// each byte, at a quarter of a nanosecond for a product of 1: some 18 ms, in which nobody looks at the clock.
const MATCH_MAX: usize = 64 * 1024 * 1024;
/// How many times its size is held to match it again, its groups and states aside. A short text is matched by going back, and
/// each place to go back to takes 16 bytes: one for each of at most 129 positions and each 36 bytes of its size, in a list
/// that may have twice the room.
const HELD_TIMES: usize = 128;
/// Longest text of a regular expression: nothing stops the making of one, which takes time for each class in it, whatever becomes
/// of that class.
const TEXT_BYTES_MAX: usize = 256;
/// Most regular expressions of a query. One that is written again is the same one, so this is also how often there is what one
/// holds to match again. Of larger ones the memory of a query holds fewer.
const REGEXES_MAX: usize = 8;

/// A regular expression that a whole text is held against.
pub(crate) struct Matcher {
    regex: Regex,
    /// Most bytes that it takes.
    bytes: usize,
}

impl Matcher {
    fn new(text: &str, is_over: &dyn Fn() -> bool) -> Result<Self, Error> {
        let wrong =
            |error: RegexError| invalid(format!("the regular expression is not one: {error}"));
        let text = format!("^(?:{text})$");
        let mut too_big = RegexError::CompiledTooBig(0);
        for bytes in SIZES {
            if is_over() {
                return Err(time_over());
            }
            let made = RegexBuilder::new(&text)
                .size_limit(bytes)
                .dfa_size_limit(STATES_BYTES_MAX)
                .nest_limit(24)
                .build();
            match made {
                Ok(regex) => return Ok(Self { regex, bytes }),
                Err(error @ RegexError::CompiledTooBig(_)) => too_big = error,
                Err(error) => return Err(wrong(error)),
            }
        }
        Err(wrong(too_big))
    }

    /// Most bytes that are held to match it again.
    pub(crate) fn held(&self) -> usize {
        2 * STATES_BYTES_MAX + self.bytes * (HELD_TIMES + self.regex.captures_len())
    }

    /// Whether it is the whole of `text`. A text that would take too long is refused.
    pub(crate) fn is_whole(&self, text: &str, meter: &mut Meter<'_>) -> Result<bool, Stop> {
        let bytes_max = MATCH_MAX / self.bytes;
        if text.len() > bytes_max {
            return Err(invalid(format!(
                "a regular expression of this size takes texts of at most {bytes_max} bytes: hold less of the text \
                 against it, using left(text, {})",
                bytes_max / 4
            ))
            .into());
        }
        let times = u64::try_from(self.bytes / SIZES[0]).unwrap_or(u64::MAX);
        meter.work(text.len(), times.saturating_mul(64))?;
        Ok(self.regex.is_match(text))
    }
}

/// The regular expressions of a query, by their text.
#[derive(Default)]
pub(crate) struct Matchers(BTreeMap<Arc<str>, Arc<Matcher>>);

impl Matchers {
    /// The one of this text, made where it is the first time. `is_over` is asked before each making.
    pub(crate) fn of(
        &mut self,
        text: Arc<str>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Arc<Matcher>, Error> {
        if let Some(made) = self.0.get(&text) {
            return Ok(Arc::clone(made));
        }
        let over = |what: &str, limit: usize, got: usize| {
            let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            Error::too_large(what, number(limit), number(got))
        };
        if text.len() > TEXT_BYTES_MAX {
            let what = "text of a regular expression, in bytes,";
            return Err(over(what, TEXT_BYTES_MAX, text.len()));
        }
        let count = self.0.len() + 1;
        if count > REGEXES_MAX {
            let what = "number of regular expressions in the query";
            return Err(over(what, REGEXES_MAX, count));
        }
        let made = Arc::new(Matcher::new(&text, is_over)?);
        self.0.insert(text, Arc::clone(&made));
        Ok(made)
    }

    /// Most bytes that all of them hold.
    pub(crate) fn held(&self) -> usize {
        self.0.values().map(|one| one.held()).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use sillok_core::limits::GRAPH_MEMORY_BYTES_MAX;

    use super::*;
    use crate::compile::compile;
    use crate::graph::Graph;
    use crate::parse::parse;
    use crate::plan::{Expr, Stage};

    #[test]
    fn one_that_is_written_again_is_the_same_one() {
        let text = "RETURN 'a' =~ 'a+' AND 'b' =~ 'a+' AS it";
        let statement = parse(text).unwrap();
        let plan = compile(&Graph::default(), &Map::new(), &|| false, &statement).unwrap();
        let [Stage::Project(project)] = plan.frames[0].stages.as_slice() else {
            panic!("{text} is one projection");
        };
        let Expr::Chain(first, rest) = &project.items[0].expr else {
            panic!("{text} is a chain");
        };
        let (Expr::Matches(_, one), [(_, Expr::Matches(_, other))]) =
            (first.as_ref(), rest.as_slice())
        else {
            panic!("{text} matches twice");
        };
        assert!(Arc::ptr_eq(one, other));
        // What was only compiled with is gone.
        assert_eq!(Arc::strong_count(one), 2);
        assert_eq!(plan.regex_bytes, one.held());
    }

    #[test]
    fn one_is_made_within_the_smallest_size_that_it_fits() {
        let made = |text: &str| Matcher::new(text, &|| false).unwrap();
        for (text, bytes) in [
            (".*(lock|policy).*", SIZES[0]),
            (r"\w+", SIZES[1]),
            (r"\w+ \w+", SIZES[2]),
        ] {
            assert_eq!(made(text).bytes, bytes, "{text}");
        }
        assert!(Matcher::new(r"\w{10}", &|| false).is_err());
        // Each group is held for each state.
        assert!(made("((a))").held() > made("a").held());
    }

    #[test]
    fn the_memory_of_a_query_holds_as_many_of_each_size_as_the_documents_say() {
        let fitting = |text: &str| {
            let held = Matcher::new(text, &|| false).unwrap().held();
            REGEXES_MAX.min(GRAPH_MEMORY_BYTES_MAX / held)
        };
        let [small, medium, large] = ["a+", r"\w+", r"\w+ \w+"].map(fitting);
        assert_eq!((small, medium, large), (8, 7, 3));
        let [above_small, above_medium, _] = SIZES.map(|bytes| bytes >> 10);
        let row = format!(
            "| regular expressions of a query | {small}, each of {TEXT_BYTES_MAX} bytes; \
             {medium} where each takes more than {above_small} KiB of memory, \
             {large} where each takes more than {above_medium} KiB, and fewer of many groups"
        );
        let document = include_str!("../../../docs/operations.md");
        assert!(document.contains(&row), "{row}");
        // Where the larger ones have enough groups, one fewer has room.
        let grouped = format!(r"\w+{}", "()".repeat(14));
        assert_eq!(fitting(&grouped), medium - 1);
        let grouped = format!(r"\w+ \w+{}", "()".repeat(40));
        assert_eq!(fitting(&grouped), large - 1);
    }
}
