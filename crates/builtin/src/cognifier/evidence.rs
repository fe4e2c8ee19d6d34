//! Evidence: where in the audit log a text stands that was read from it.
//!
//! Owns the way back from a text as the rules read it, with relative paths and without control codes, to the
//! bytes of its record. It must not know what a text says.

use core::ops::Range;

use sillok_core::citation::Excerpt;
use sillok_core::id::RecordId;

/// The stretch of the record `id`, whose text is `original`, that `text[at]` was made of; none of blank text.
///
/// `text` is `original` with pieces of its lines left out or cut, and line for line the same. What stands on
/// its lines word for word is named to the byte; what was cut, by its whole lines.
pub(super) fn excerpt(
    id: &RecordId,
    original: &str,
    text: &str,
    at: Range<usize>,
) -> Option<Excerpt> {
    let piece = text[at.clone()].trim();
    let start = offset(piece, text);
    let first = text[..start].matches('\n').count();
    let lines = lines(original, first, piece.matches('\n').count() + 1);
    let said = match lines.find(piece) {
        Some(place) => &lines[place..place + piece.len()],
        None => lines.trim(),
    };
    let from = offset(said, original);
    let byte = |at| u32::try_from(at).expect("a record's text is far shorter than 4 GiB");
    (!said.is_empty()).then(|| Excerpt {
        record: id.clone(),
        from: byte(from),
        to: byte(from + said.len()),
    })
}

/// Where `part` begins within `whole`, which it must be a slice of, in bytes.
pub(super) fn offset(part: &str, whole: &str) -> usize {
    let place = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    assert!(
        place <= whole.len() && part.len() <= whole.len() - place,
        "a part of the text"
    );
    place
}

/// The range of `part` within `whole`, which it must be a slice of.
pub(super) fn range(part: &str, whole: &str) -> Range<usize> {
    let from = offset(part, whole);
    from..from + part.len()
}

/// `count` lines of a text from the line `first` on, which is counted from 0.
fn lines(text: &str, first: usize, count: usize) -> &str {
    let breaks = || text.match_indices('\n').map(|(place, _)| place);
    let from = match first.checked_sub(1) {
        None => 0,
        Some(before) => breaks().nth(before).map_or(text.len(), |place| place + 1),
    };
    let to = breaks().nth(first + count - 1).unwrap_or(text.len());
    &text[from..to]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> RecordId {
        "org/a/project/p/worktree/w/task/t#4".parse().unwrap()
    }

    fn said(original: &str, text: &str, piece: &str) -> Option<String> {
        let at = text.find(piece).unwrap();
        let found = excerpt(&id(), original, text, at..at + piece.len())?;
        found.of(original).map(str::to_owned)
    }

    #[test]
    fn what_stands_there_word_for_word_is_named_to_the_byte() {
        let text = "one two\nthree four\nfive";
        for piece in ["two", "two\nthree", "five", text] {
            assert_eq!(said(text, text, piece).as_deref(), Some(piece));
        }
        // The same words stand on two lines: each is found on its own.
        let text = "again\nagain";
        assert_eq!(excerpt(&id(), text, text, 6..11).unwrap().from, 6);
        assert_eq!(
            excerpt(&id(), text, text, 5..6),
            None,
            "a blank says nothing"
        );
    }

    #[test]
    fn what_was_cut_is_named_by_its_lines() {
        let original = "see\n  open /tmp/x/src/a.py now\nend";
        let text = "see\n  open src/a.py now\nend";
        assert_eq!(
            said(original, text, "src/a.py").as_deref(),
            Some("src/a.py")
        );
        assert_eq!(
            said(original, text, "open src/a.py").as_deref(),
            Some("open /tmp/x/src/a.py now")
        );
    }

    proptest! {
        #[test]
        fn every_piece_has_a_stretch_that_holds_its_words(
            text in "[a-c \n실]{1,40}", from in 0usize..40, length in 0usize..40,
        ) {
            let from = text.floor_char_boundary(from.min(text.len()));
            let to = text.floor_char_boundary((from + length).min(text.len()));
            let found = excerpt(&id(), &text, &text, from..to);
            let piece = text[from..to].trim();
            if piece.is_empty() {
                prop_assert!(found.is_none() || !found.unwrap().of(&text).unwrap().is_empty());
            } else {
                prop_assert_eq!(found.unwrap().of(&text), Some(piece));
            }
        }
    }
}
