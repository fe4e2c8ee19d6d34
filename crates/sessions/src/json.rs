//! Lenient reading of JSON: a field of another form than expected is absent, and costs the rest of its line nothing.
//!
//! Owns that leniency. It must not know which fields there are.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A field as it stands in the file, if it is there.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// What stands for half a character: clients cut long outputs between the two of a pair.
const HALF: &str = "\\ufffd";

/// A string.
pub(crate) fn text(raw: Raw<'_>) -> Option<String> {
    let raw = raw?.get();
    if !raw.starts_with('"') {
        return None;
    }
    let whole = serde_json::from_str(raw).ok();
    whole.or_else(|| serde_json::from_str(&without_halves(raw)).ok())
}

/// Whether it is `true`.
pub(crate) fn flag(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// A whole number.
pub(crate) fn number(raw: Raw<'_>) -> Option<i64> {
    serde_json::from_str(raw?.get()).ok()
}

/// The items of an array.
pub(crate) fn items(raw: Raw<'_>) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw?.get()).ok()
}

/// An object.
pub(crate) fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    raw.starts_with('{')
        .then(|| serde_json::from_str(raw).ok())?
}

/// An object that is a whole line. Without the look at how it begins, an array would be read as one, field by field.
pub(crate) fn line<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    let line = line.trim_start();
    line.starts_with('{')
        .then(|| serde_json::from_str(line).ok())?
}

/// Whether there is nothing in it.
pub(crate) fn is_empty(raw: &RawValue) -> bool {
    let inside = raw
        .get()
        .trim_matches(|c| matches!(c, '{' | '}' | '[' | ']' | '"'));
    inside.trim().is_empty() || raw.get() == "null"
}

/// A string's JSON with each lone half of a surrogate pair replaced.
fn without_halves(raw: &str) -> String {
    let mut mended = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(HALF);
                rest = &escape[6..];
                continue;
            }
            (Some(_), _) => 6,
            // A backslash, and what it stands before.
            (None, _) => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        mended.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    mended.push_str(rest);
    mended
}

/// The code unit whose escape a text begins with: `\u` and four digits.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(json: &str) -> Option<String> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        text(Some(raw))
    }

    #[test]
    fn half_a_character_costs_no_more_than_itself() {
        for (json, expected) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00\ud83d\n""#, "😀\u{fffd}\n"),
            (r#""\ud83d\u0041\\ud83d""#, "\u{fffd}A\\ud83d"),
            (r#""한\ud83d\"글""#, "한\u{fffd}\"글"),
        ] {
            assert_eq!(parsed(json).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn another_form_is_absence() {
        for json in ["7", "null", "{}", "[\"a\"]"] {
            assert_eq!(parsed(json), None, "{json}");
        }
        let raw = |json| serde_json::from_str::<&RawValue>(json).unwrap();
        assert_eq!(number(Some(raw("1.5"))), None);
        assert!(items(Some(raw("\"x\""))).is_none());
        assert!(is_empty(raw("{ }")) && is_empty(raw("[]")) && !is_empty(raw("{\"a\":1}")));
    }

    proptest! {
        #[test]
        fn a_whole_text_stays_as_it_is(said in any::<String>()) {
            let json = serde_json::to_string(&said).unwrap();
            prop_assert_eq!(parsed(&json), Some(said));
            prop_assert_eq!(without_halves(&json), json);
        }
    }
}
