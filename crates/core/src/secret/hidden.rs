//! Secrets that sequences for a terminal hide: one that they split has no known shape any more, and a terminal shows it whole.
//!
//! Owns what is masked of such a text. What a sequence is, [`crate::terminal`] says.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::mask;
use crate::terminal::{SEQUENCE, shown};

/// What stands in place of a secret of which a sequence had cut something off, and that.
static CUT_OFF: LazyLock<Regex> = LazyLock::new(|| {
    let shape = format!(r"(\[masked:\w+\])(?:{SEQUENCE}+[0-9A-Za-z_+/=-][0-9A-Za-z_+/=.-]*)+");
    Regex::new(&shape).expect("a shape behind a secret")
});

/// A text as a terminal shows it, with its secrets masked: those too that sequences split, or that stand alone only between them.
#[must_use]
pub fn mask_shown(text: &str) -> Cow<'_, str> {
    if matches!(shown(text), Cow::Borrowed(_)) {
        return mask(text).text;
    }
    let masked = mask(text).text;
    let whole = CUT_OFF.replace_all(&masked, "$1");
    Cow::Owned(mask(&shown(&whole)).text.into_owned())
}

/// A text with its secrets masked. It keeps its sequences, unless they hide a secret: then they are left out.
#[must_use]
pub fn mask_hidden(text: &str) -> Cow<'_, str> {
    let masked = mask(text).text;
    if matches!(shown(text), Cow::Borrowed(_)) {
        return masked;
    }
    let as_shown = mask_shown(text);
    if shown(&masked) == as_shown {
        masked
    } else {
        as_shown
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A secret of which no file of the project holds the whole.
    fn secret() -> String {
        ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat()
    }

    #[test]
    fn a_secret_that_is_coloured_or_split_by_colours_is_masked() {
        let secret = secret();
        let (early, late) = (secret.split_at(8), secret.split_at(30));
        for text in [
            format!("use \u{1b}[1m{secret}\u{1b}[0m here"),
            format!("use {}\u{1b}[0m{} here", early.0, early.1),
            // Enough of it stands before the colour for a secret of its own.
            format!("use {}\u{1b}[0m{} here", late.0, late.1),
            format!(
                "use \u{1b}[31m{}\u{1b}(B\u{1b}[m{}\u{7} here",
                late.0, late.1
            ),
            format!("use {}\u{9b}0m{} here", early.0, early.1),
            format!("use\u{7} {}\u{0}{} here", early.0, early.1),
        ] {
            for masked in [mask_shown(&text), mask_hidden(&text)] {
                assert_eq!(shown(&masked), "use [masked:github_token] here", "{text:?}");
            }
        }
    }

    #[test]
    fn a_secret_that_only_a_sequence_sets_apart_is_masked() {
        let text = format!("shown\u{7}{}", secret());
        for masked in [mask_shown(&text), mask_hidden(&text)] {
            assert!(!masked.contains("ghp_"), "{masked:?}");
            assert!(masked.contains("[masked:github_token]"), "{masked:?}");
        }
    }

    #[test]
    fn colours_that_hide_nothing_stay_where_they_are_kept_and_go_where_they_are_not() {
        let plain = "\u{1b}[31merror\u{1b}[0m: no such file";
        assert_eq!(mask_hidden(plain), plain);
        assert_eq!(mask_shown(plain), "error: no such file");
        let beside = format!("\u{1b}[31merror\u{1b}[0m: {} is no token", secret());
        let masked = "\u{1b}[31merror\u{1b}[0m: [masked:github_token] is no token";
        assert_eq!(mask_hidden(&beside), masked);
        for text in ["nothing of all that", "한글\n\tand lines"] {
            assert!(matches!(mask_hidden(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(mask_shown(text), Cow::Borrowed(same) if same == text));
        }
    }

    proptest! {
        #[test]
        fn wherever_sequences_stand_a_secret_is_masked(
            at in proptest::collection::vec((0_usize..40, proptest::sample::select(vec!["\u{1b}[0m", "\u{1b}[1;31m", "\u{1b}(B", "\u{7}", "\u{1b}]0;t\u{7}", "\u{9b}m"])), 1..6),
            before in "[a-z ]{0,12}[ (]",
            after in "[ ),][a-z ]{0,12}",
        ) {
            let mut text = secret();
            for (at, sequence) in at {
                text.insert_str(text.floor_char_boundary(at), sequence);
            }
            let text = format!("{before}{text}{after}");
            // A sequence may have been written into another one, and ends that with a letter of its own.
            prop_assume!(shown(&text).contains(&secret()));
            let expected = format!("{before}[masked:github_token]{after}");
            prop_assert_eq!(mask_shown(&text), expected.as_str());
            let hidden = mask_hidden(&text);
            prop_assert_eq!(shown(&hidden), expected.as_str());
        }

        #[test]
        fn what_was_masked_has_nothing_more_to_mask(text in "(\\[|\u{1b}|\u{7}|m|0|ghp_|token=|[a-zA-Z0-9]{1,24}| |=){0,24}") {
            for masked in [mask_shown(&text), mask_hidden(&text)] {
                prop_assert_eq!(mask(&shown(&masked)).count, 0);
            }
            let once = mask_shown(&text);
            prop_assert_eq!(shown(&once), once.as_ref());
        }
    }
}
