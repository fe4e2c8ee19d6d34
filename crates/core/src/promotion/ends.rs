//! Ends: what is read of a text that is longer than a cognifier reads. How something went is often said last.
//!
//! Owns how much is read of either end, and where these begin and stop: at whole characters, and at whole lines where
//! one ends near. An end that no line begins near begins with a sentence, or with a word. It must not know where texts lie.

/// How many bytes are read of a text's beginning, and how many of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The first so many.
    pub first: usize,
    /// The last so many.
    pub last: usize,
}

impl Ends {
    /// Of a text of `bytes` bytes, where at most `bytes_max` are read; none where that is all of it.
    #[must_use]
    pub const fn of(bytes: u64, bytes_max: usize) -> Option<Self> {
        if bytes <= bytes_max as u64 {
            return None;
        }
        let first = bytes_max / 2;
        let last = bytes_max - first;
        Some(Self { first, last })
    }
}

/// The beginning of a text of which these are the first bytes; none where they are of no text.
#[must_use]
pub fn beginning(first: &[u8]) -> Option<&str> {
    let text = match core::str::from_utf8(first) {
        Ok(text) => text,
        // A character goes on behind them.
        Err(error) if error.error_len().is_none() => {
            core::str::from_utf8(&first[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let line_end = text.rfind('\n').filter(|place| *place >= text.len() / 2);
    Some(&text[..line_end.unwrap_or(text.len())])
}

/// The end of a text of which these are the last bytes, and how many of them stand before it; none where they are of no
/// text.
#[must_use]
pub fn ending(last: &[u8]) -> Option<(usize, &str)> {
    // UTF-8: a byte that goes on with a character begins with the bits 10, and there are three of one at most.
    let goes_on = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = last.iter().take(3).take_while(goes_on).count();
    let text = core::str::from_utf8(&last[cut..]).ok()?;
    let begins = first_whole(text);
    Some((cut + begins, &text[begins..]))
}

/// Where the first line begins, in the first half of a text that begins anywhere; where none does, the first sentence;
/// where none does either, the first word.
fn first_whole(text: &str) -> usize {
    let near = |place: &usize| *place <= text.len() / 2;
    let line = text.find('\n').map(|place| place + 1);
    let sentence = || {
        let mut ends = text.match_indices(['.', '!', '?', '。']);
        ends.find_map(|(place, end)| {
            let behind = place + end.len();
            let gap = text[behind..]
                .chars()
                .next()
                .filter(|sign| sign.is_whitespace());
            match gap {
                Some(gap) => Some(behind + gap.len_utf8()),
                // Chinese and Japanese write no gap, and this sign stands in no number and no name.
                None => (end == "。").then_some(behind),
            }
        })
    };
    let word = || {
        let gap = text.char_indices().find(|(_, sign)| sign.is_whitespace());
        gap.map(|(place, sign)| place + sign.len_utf8())
    };
    let found = line.filter(near);
    let found = found.or_else(|| sentence().filter(near));
    found.or_else(|| word().filter(near)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is read of a text, each part with its first byte.
    fn read(text: &str, bytes_max: usize) -> Option<[(usize, String); 2]> {
        let bytes = text.as_bytes();
        let Ends { first, last } = Ends::of(bytes.len() as u64, bytes_max)?;
        let begins = bytes.len() - last;
        let (before, end) = ending(&bytes[begins..]).unwrap();
        let beginning = beginning(&bytes[..first]).unwrap();
        Some([(0, beginning.to_owned()), (begins + before, end.to_owned())])
    }

    #[test]
    fn of_a_long_text_both_ends_are_read_in_whole_lines() {
        let text = "first line\nsecond line\nthird line\nfourth line\nlast line";
        let parts = read(text, 36).unwrap();
        assert_eq!(parts[0], (0, "first line".to_owned()));
        assert_eq!(parts[1], (46, "last line".to_owned()));
        assert_eq!(read(text, text.len()), None, "it is read whole");
        let line = "a".repeat(90);
        let parts = read(&line, 50).unwrap();
        assert_eq!(parts, [(0, "a".repeat(25)), (65, "a".repeat(25))]);
    }

    #[test]
    fn an_end_that_no_line_begins_near_begins_with_a_sentence_or_a_word() {
        let of = |text: &str| ending(text.as_bytes()).map(|(at, end)| (at, end.to_owned()));
        let found = |at: usize, end: &str| Some((at, end.to_owned()));
        let long = "v1.2 was tried. Then the cap was raised and it went well";
        assert_eq!(of(long), found(16, &long[16..]), "'v1.2' ends no sentence");
        let late = "raised the cap by a factor of two. It went well";
        assert_eq!(of(late), found(7, &late[7..]), "the sentence ends too late");
        let line = "was tried. So\nThe cap was raised and it went well";
        assert_eq!(of(line), found(14, &line[14..]), "a line goes first");
        let korean = "했다. 그래서 상한을 올렸고 잘 되었다";
        assert_eq!(of(korean), found(8, &korean[8..]));
        let japanese = "失敗した。そこで上限を上げたらうまくいった";
        assert_eq!(of(japanese), found(15, &japanese[15..]), "without a gap");
        let apart = "失敗した。 そこで上限を上げたらうまくいった";
        assert_eq!(of(apart), found(16, &apart[16..]));
        let one = "a".repeat(40);
        assert_eq!(of(&one), found(0, &one));
    }

    #[test]
    fn what_is_no_text_is_none() {
        assert_eq!(beginning(b"a\xffb"), None);
        assert_eq!(ending(b"a\xffb"), None);
        assert_eq!(ending(b"a\xed"), None, "a text ends with a whole character");
    }

    proptest! {
        /// Whatever is read stands in the whole text where it is said to, and the parts do not meet.
        #[test]
        fn what_is_read_stands_where_it_is_said_to(
            text in "[a-c실록é😀\n]{0,80}", bytes_max in 1_usize..120,
        ) {
            let Some(parts) = read(&text, bytes_max) else {
                prop_assert!(text.len() <= bytes_max);
                return Ok(());
            };
            for (from, part) in &parts {
                prop_assert_eq!(text.get(*from..from + part.len()), Some(part.as_str()));
            }
            let [(_, beginning), (from, end)] = &parts;
            prop_assert!(beginning.len() <= *from && from + end.len() == text.len());
            prop_assert!(beginning.len() + end.len() <= bytes_max);
        }
    }
}
