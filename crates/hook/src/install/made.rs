//! Putting something into a text and taking it out again, with all else as it was.
//!
//! Owns the one way in which both are done, so that each undoes the other: what is put in stands first in its object or array,
//! directly behind the bracket. An object or array that had to be made for it is marked by a tab among the blanks before its
//! colon, which hardly anybody writes: so that which was made goes again, and one that was empty before stays.

use std::ops::Range;

use super::json::{self, Value};

/// What was made with something that had to be made for Sillok's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Nothing else: the object around it was there.
    Alone,
    /// The brackets around it: the file was blank.
    Brackets,
    /// The file.
    File,
}

impl Made {
    const ALL: [Self; 3] = [Self::Alone, Self::Brackets, Self::File];

    /// What stands between its key and its colon.
    const fn mark(self) -> &'static str {
        match self {
            Self::Alone => " \t",
            Self::Brackets => " \t ",
            Self::File => " \t  ",
        }
    }
}

/// A file after an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// Its text; nothing where there is to be no file.
    pub after: Option<String>,
    /// What a person is told.
    pub said: Vec<String>,
}

/// One way through objects and arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The value of a key.
    Key(&'a str),
    /// An item.
    Item(usize),
}

/// How a file is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    line: &'static str,
    indent: String,
}

impl Layout {
    /// That of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let blank = |line: &str| {
            let rest = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - rest.len()];
            (!indent.is_empty() && rest.starts_with('"')).then(|| indent.to_owned())
        };
        let indent = text
            .lines()
            .find_map(blank)
            .filter(|indent| indent.len() <= 8);
        Self {
            line,
            indent: indent.unwrap_or_else(|| "  ".to_owned()),
        }
    }

    fn begin(&self, depth: usize) -> String {
        format!("{}{}", self.line, self.indent.repeat(depth))
    }

    /// A value as it stands at a depth.
    fn shown(&self, value: &serde_json::Value, depth: usize) -> String {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        let mut shown = String::new();
        for (number, line) in text.lines().enumerate() {
            let rest = line.trim_start();
            if number > 0 {
                let inner = (line.len() - rest.len()) / 2;
                shown.push_str(&self.begin(depth + inner));
            }
            shown.push_str(rest);
        }
        shown
    }
}

/// The value that a way leads to.
#[must_use]
pub fn at<'a>(root: &'a Value, way: &[Step<'_>]) -> Option<&'a Value> {
    way.iter().try_fold(root, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Item(place) => value.items().get(*place),
    })
}

/// Puts a member into the object that a way leads to.
///
/// # Errors
/// That the way leads nowhere.
pub fn put_member(
    text: &str,
    way: &[Step<'_>],
    key: &str,
    value: &serde_json::Value,
) -> Result<String, String> {
    let layout = Layout::of(text);
    let shown = layout.shown(value, way.len() + 1);
    put(text, way, &layout, &format!("{}: {shown}", quoted(key)))
}

/// Puts an item into the array that a way leads to.
///
/// # Errors
/// That the way leads nowhere.
pub fn put_item(text: &str, way: &[Step<'_>], value: &serde_json::Value) -> Result<String, String> {
    let layout = Layout::of(text);
    let shown = layout.shown(value, way.len() + 1);
    put(text, way, &layout, &shown)
}

/// Makes an empty object or array as a member, marked as `made`, where there is none; `brackets` are its two.
///
/// # Errors
/// That the way leads nowhere, or to something else of that name.
pub fn make(
    text: &str,
    way: &[Step<'_>],
    key: &str,
    brackets: [char; 2],
    made: Made,
) -> Result<String, String> {
    let root = json::read(text)?;
    let object = at(&root, way).ok_or("an object is missing")?;
    if let Some(found) = object.get(key) {
        let is = text[found.span.clone()].starts_with(brackets[0]);
        let expected = if brackets[0] == '{' {
            "an object"
        } else {
            "an array"
        };
        return if is {
            Ok(text.to_owned())
        } else {
            Err(format!("'{key}' is not {expected}"))
        };
    }
    let layout = Layout::of(text);
    let [open, close] = brackets;
    let body = format!("{open}{}{close}", layout.begin(way.len() + 1));
    let content = format!("{}{}: {body}", quoted(key), made.mark());
    put(text, way, &layout, &content)
}

/// Puts a plain member in, marked as made.
///
/// # Errors
/// That the way leads nowhere.
pub fn make_plain(text: &str, way: &[Step<'_>], key: &str, value: &str) -> Result<String, String> {
    let layout = Layout::of(text);
    let content = format!("{}{}: {value}", quoted(key), Made::Alone.mark());
    put(text, way, &layout, &content)
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

fn put(text: &str, way: &[Step<'_>], layout: &Layout, content: &str) -> Result<String, String> {
    let root = json::read(text)?;
    let container = at(&root, way).ok_or("a place is missing")?;
    let is_empty = container.members().is_empty() && container.items().is_empty();
    let comma = if is_empty { "" } else { "," };
    let begin = layout.begin(way.len() + 1);
    let (head, rest) = text.split_at(container.span.start + 1);
    let edited = format!("{head}{begin}{content}{comma}{rest}");
    // A container on one line gets its end on a line of its own only where it was made: all else stays.
    json::read(&edited).map(|_| edited)
}

/// What was made with a member; nothing where [`make`] and [`make_plain`] have not made it.
#[must_use]
pub fn made(root: &Value, way: &[Step<'_>], key: &str) -> Option<Made> {
    let member = at(root, way)?.member(key)?;
    let mut all = Made::ALL.into_iter();
    all.find(|made| member.before_colon == made.mark())
}

/// Takes a member out of the object that a way leads to.
///
/// # Errors
/// That it is not there.
pub fn take_member(text: &str, way: &[Step<'_>], key: &str) -> Result<String, String> {
    let root = json::read(text)?;
    let object = at(&root, way).ok_or("an object is missing")?;
    let spans = object.members().iter();
    let spans = spans.map(|member| member.key_span.start..member.value.span.end);
    let place = object.members().iter().position(|member| member.key == key);
    take(
        text,
        object,
        &spans.collect::<Vec<_>>(),
        place.ok_or("a member is missing")?,
    )
}

/// Takes an item out of the array that a way leads to.
///
/// # Errors
/// That it is not there.
pub fn take_item(text: &str, way: &[Step<'_>], place: usize) -> Result<String, String> {
    let root = json::read(text)?;
    let array = at(&root, way).ok_or("an array is missing")?;
    let spans: Vec<_> = array.items().iter().map(|item| item.span.clone()).collect();
    take(text, array, &spans, place)
}

/// Takes one of several out: with the blanks before it, and with one comma, the one behind it where there is one.
fn take(
    text: &str,
    container: &Value,
    spans: &[Range<usize>],
    place: usize,
) -> Result<String, String> {
    let own = spans.get(place).ok_or("a place is missing")?.clone();
    let blank_from = text[..own.start]
        .trim_end_matches([' ', '\t', '\r', '\n'])
        .len();
    // Where a comment stands before it, the line break behind that comment stays.
    let plain = no_comment(text, container, spans, place, blank_from)?;
    let from = if plain { blank_from } else { own.start };
    let behind = json::blank_end(text, own.end)?;
    #[expect(
        clippy::single_range_in_vec_init,
        reason = "one place goes, and another one may"
    )]
    let mut gone = vec![from..own.end];
    if text[behind..].starts_with(',') {
        gone.push(behind..behind + 1);
    } else if let Some(before) = place.checked_sub(1).and_then(|place| spans.get(place)) {
        let comma = json::blank_end(text, before.end)?;
        gone.insert(0, comma..comma + 1);
    }
    let mut edited = String::new();
    let mut at = 0;
    for range in gone {
        let start = range.start.max(at);
        edited.push_str(&text[at..start]);
        at = range.end.max(at);
    }
    edited.push_str(&text[at..]);
    json::read(&edited).map(|_| edited)
}

/// Whether nothing but its bracket, or the comma behind the one before, ends there.
fn no_comment(
    text: &str,
    container: &Value,
    spans: &[Range<usize>],
    place: usize,
    from: usize,
) -> Result<bool, String> {
    let Some(before) = place.checked_sub(1).and_then(|place| spans.get(place)) else {
        return Ok(from == container.span.start + 1);
    };
    Ok(from == json::blank_end(text, before.end)? + 1)
}
