//! JSON with its places: where in a text each value stands.
//!
//! Owns reading JSON as clients' configurations have it: with comments, and with a comma behind the last value. It must not
//! know what a configuration means, and changes nothing.

use std::ops::Range;

use crate::limits::CONFIGURATION_DEPTH_MAX;

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it stands.
    pub span: Range<usize>,
    /// What it is.
    pub is: Is,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// An object.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Value>),
    /// A text.
    Text(String),
    /// A number, a truth value or null.
    Plain,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Range<usize>,
    /// What stands between the key and its colon.
    pub before_colon: String,
    /// Its value.
    pub value: Value,
}

impl Value {
    /// The value of a key, where this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.member(key).map(|member| &member.value)
    }

    /// The member of a key, where this is an object that has it.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The members; none where it is no object.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        match &self.is {
            Is::Object(members) => members,
            _ => &[],
        }
    }

    /// The items; none where it is no array.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        match &self.is {
            Is::Array(items) => items,
            _ => &[],
        }
    }

    /// The text, where it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.is {
            Is::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a text that holds one value.
///
/// # Errors
/// What is wrong, and on which line.
pub fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let value = reader.value(0)?;
    reader.blank()?;
    if reader.at < text.len() {
        return Err(reader.wrong("something stands behind the end"));
    }
    Ok(value)
}

/// Where what is no value ends, from a place on: blanks and comments.
///
/// # Errors
/// That a comment has no end.
pub fn blank_end(text: &str, at: usize) -> Result<usize, String> {
    let mut reader = Reader { text, at };
    reader.blank()?;
    Ok(reader.at)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn wrong(&self, what: &str) -> String {
        let line = self.text[..self.at].matches('\n').count() + 1;
        format!("it is not JSON: {what} (line {line})")
    }

    fn next_is(&mut self, character: char) -> bool {
        let is = self.rest().starts_with(character);
        if is {
            self.at += character.len_utf8();
        }
        is
    }

    fn blank(&mut self) -> Result<(), String> {
        // Each turn takes at least a byte.
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(inside) = trimmed.strip_prefix("/*") {
                let end = inside.find("*/");
                self.at += end.ok_or_else(|| self.wrong("a comment has no end"))? + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > CONFIGURATION_DEPTH_MAX {
            return Err(self.wrong("it is nested too deeply"));
        }
        self.blank()?;
        let start = self.at;
        let is = match self.rest().chars().next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Is::Text(self.string()?),
            Some(_) => self.plain()?,
            None => return Err(self.wrong("a value is missing")),
        };
        let span = start..self.at;
        Ok(Value { span, is })
    }

    fn object(&mut self, depth: usize) -> Result<Is, String> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.next_is('}') {
                return Ok(Is::Object(members));
            }
            let start = self.at;
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(self.wrong(&format!("'{key}' stands twice")));
            }
            let key_span = start..self.at;
            self.blank()?;
            let before_colon = self.text[key_span.end..self.at].to_owned();
            if !self.next_is(':') {
                return Err(self.wrong("a colon is missing"));
            }
            let value = self.value(depth + 1)?;
            members.push(Member {
                key,
                key_span,
                before_colon,
                value,
            });
            if self.ends('}')? {
                return Ok(Is::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Is, String> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.next_is(']') {
                return Ok(Is::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if self.ends(']')? {
                return Ok(Is::Array(items));
            }
        }
    }

    /// Whether the end follows; else it must be a comma.
    fn ends(&mut self, end: char) -> Result<bool, String> {
        self.blank()?;
        if self.next_is(end) {
            return Ok(true);
        }
        if self.next_is(',') {
            return Ok(false);
        }
        Err(self.wrong(&format!("a comma or {end} is missing")))
    }

    fn string(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, character)| {
            let ends = *character == '"' && !escaped;
            escaped = *character == '\\' && !escaped;
            ends
        });
        let end = end.filter(|_| rest.starts_with('"'));
        let (end, _) = end.ok_or_else(|| self.wrong("a text is missing, or has no end"))?;
        let text = serde_json::from_str(&rest[..=end]);
        let text = text.map_err(|_| self.wrong("a text is none"))?;
        self.at += end + 1;
        Ok(text)
    }

    fn plain(&mut self) -> Result<Is, String> {
        let rest = self.rest();
        let ends = |character: char| character.is_whitespace() || ",]}/:\"[{".contains(character);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let is_value = serde_json::from_str::<serde_json::Value>(word).is_ok();
        if !is_value {
            return Err(self.wrong("a value is none"));
        }
        self.at += word.len();
        Ok(Is::Plain)
    }
}
