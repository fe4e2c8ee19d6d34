//! Secrets that are known by the name they are assigned to: `password = "…"`, in JSON, YAML,
//! source code, environment variables, URLs and command lines.
//!
//! Owns the names, the forms of assignment, and what is no secret although it is assigned to such
//! a name: a type, a call, a variable, a count.

use super::shape::is_reference;
use super::{MASKED, Secret, run};

/// Bytes of a value that are looked at before it is taken for something else.
const VALUE_MAX: usize = 512;

/// A word that a secret's name ends with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) word: &'static str,
    kind: &'static str,
}

const fn name(word: &'static str, kind: &'static str) -> Name {
    Name { word, kind }
}

/// The words. Any letter case, with anything before (`DB_PASSWORD`, `clientSecret`).
pub(super) const NAMES: &[Name] = &[
    name("password", "password"),
    name("passwd", "password"),
    name("passphrase", "password"),
    name("pwd", "password"),
    name("secret", "secret"),
    name("token", "token"),
    name("api_key", "api_key"),
    name("apikey", "api_key"),
    name("api-key", "api_key"),
    name("access_key", "secret"),
    name("access-key", "secret"),
    name("private_key", "secret"),
    name("private-key", "secret"),
];

/// What may stand between such a word and the assignment: `secret_access_key`, `secretKey`.
const SUFFIXES: [&[u8]; 5] = [b"access", b"key", b"token", b"value", b"secret"];

/// How a value is joined to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `NAME=value` in upper case, without spaces.
    Environment,
    /// `--name value` or `--name=value`.
    Flag,
    /// `name: value`, alone on its line.
    Line,
    /// Any other.
    Other {
        /// Spaces stand around the sign, as in source code.
        spaced: bool,
    },
}

impl Name {
    pub(super) fn read(&self, bytes: &[u8], start: usize) -> Option<Secret> {
        let end = name_end(bytes, start + self.word.len())?;
        let quoted_name = run(bytes, end, 8, |b| matches!(b, b'"' | b'\'' | b'\\' | b'`'));
        let closed = run(bytes, quoted_name, 1, |b| b == b']');
        let before_sign = blank(bytes, closed);
        let after_sign = run(bytes, before_sign, 3, |b| matches!(b, b':' | b'=' | b'>'));
        let signed = after_sign > before_sign && bytes[before_sign] != b'>';
        let value = blank(bytes, after_sign);
        if !signed {
            let flagged = closed == end && value > end && is_flag(bytes, start);
            return if flagged {
                self.value(bytes, value, Form::Flag)
            } else {
                None
            };
        }
        let value = past_type(bytes, before_sign, value);
        if quoted_name > end && bytes.get(value).is_some_and(u8::is_ascii_digit) {
            return self.number(bytes, value, quoted_name - end);
        }
        let form = self.form(bytes, start, end, (before_sign, after_sign, value));
        self.value(bytes, value, form)
    }

    fn form(
        &self,
        bytes: &[u8],
        start: usize,
        end: usize,
        (sign, after, value): (usize, usize, usize),
    ) -> Form {
        let tight = sign == end && value == after;
        let upper = bytes[start..start + self.word.len()]
            .iter()
            .all(|b| !b.is_ascii_lowercase());
        if is_flag(bytes, start) {
            Form::Flag
        } else if tight && upper && bytes[sign] == b'=' {
            Form::Environment
        } else if bytes[sign] == b':'
            && after == sign + 1
            && opens_line(bytes, start)
            && closes_line(bytes, value)
        {
            Form::Line
        } else {
            Form::Other { spaced: sign > end }
        }
    }

    /// The value from `at` on, quoted or bare.
    fn value(&self, bytes: &[u8], at: usize, form: Form) -> Option<Secret> {
        // A prefix of a string literal: b"…", r"…".
        let prefix = usize::from(matches!(
            bytes.get(at..at + 2),
            Some([b'b' | b'r' | b'u', b'"' | b'\''])
        ));
        let escapes = run(bytes, at + prefix, 4, |b| b == b'\\') - (at + prefix);
        let open = at + prefix + escapes;
        match bytes.get(open) {
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                let end = closing_quote(bytes, open + 1, *quote, escapes)?;
                self.is_quoted_secret(&bytes[open + 1..end])
                    .then(|| Secret::new(open + 1, end, self.kind))
            }
            Some(_) if escapes + prefix == 0 => {
                let end = run(bytes, at, VALUE_MAX, bare);
                let secret = self.is_bare_secret(&bytes[at..end], form);
                secret.then(|| Secret::new(at, run(bytes, end, usize::MAX, bare), self.kind))
            }
            _ => None,
        }
    }

    /// A number as a JSON value: its replacement is a string, so that JSON stays JSON.
    fn number(&self, bytes: &[u8], at: usize, quote_bytes: usize) -> Option<Secret> {
        let end = run(bytes, at, VALUE_MAX, |b| b.is_ascii_digit());
        let ends = matches!(
            bytes.get(end),
            None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r')
        );
        let secret = self.kind == "password" && quote_bytes == 1 && end - at >= 4 && ends;
        secret.then(|| Secret {
            quote: true,
            ..Secret::new(at, end, self.kind)
        })
    }

    fn is_quoted_secret(&self, value: &[u8]) -> bool {
        if value.starts_with(MASKED.as_bytes()) || is_reference(value) {
            return false;
        }
        let spaced = value.iter().any(u8::is_ascii_whitespace);
        match self.kind {
            "password" => value.len() >= 3,
            "token" => !spaced && value.len() >= 8 && (has_digit(value) || value.len() >= 16),
            _ => !spaced && value.len() >= 6,
        }
    }

    fn is_bare_secret(&self, value: &[u8], form: Form) -> bool {
        let code = value.iter().any(|b| matches!(b, b'(' | b'[' | b'{'))
            || value.windows(2).any(|w| w == b"::");
        let opens_path = matches!(
            value.first(),
            Some(b'.' | b'~' | b'*' | b'@' | b'-' | b'%' | b'+')
        ) || self.word == "pwd" && value.first() == Some(&b'/');
        if code
            || opens_path
            || is_reference(value)
            || value.starts_with(b"$")
            || is_member_path(value)
        {
            return false;
        }
        let counts = self.kind == "token"
            && value
                .iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'%'));
        if counts || is_plain_word(value) {
            return false;
        }
        let length = value.len();
        match form {
            Form::Flag => length >= 3,
            Form::Environment => length >= 4,
            Form::Line => length >= 4 && (has_digit(value) || !value[0].is_ascii_uppercase()),
            Form::Other { spaced } => {
                // In source code a short name with one digit is rather a variable.
                let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
                let enough = digits >= 2 || digits == 1 && (!spaced || length >= 20);
                length >= 6 && enough && (self.kind != "token" || length >= 8)
            }
        }
    }
}

/// The end of the name whose word ends at `at`; none when the word goes on as another one.
fn name_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    const SUFFIXES_MAX: usize = 3;
    for _ in 0..SUFFIXES_MAX {
        let joint = run(bytes, at, 1, |b| matches!(b, b'_' | b'-'));
        let starts = |suffix: &&&[u8]| {
            bytes[joint..]
                .get(..suffix.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(suffix))
        };
        match SUFFIXES.iter().find(starts) {
            Some(suffix) => at = joint + suffix.len(),
            None => break,
        }
    }
    at = run(bytes, at, 2, |b| b.is_ascii_digit());
    let goes_on = bytes
        .get(at)
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (!goes_on).then_some(at)
}

/// Whether the name that holds `at` begins with a dash, as a flag does.
fn is_flag(bytes: &[u8], at: usize) -> bool {
    const NAME_MAX: usize = 32;
    let from = at.saturating_sub(NAME_MAX);
    let name = bytes[from..at]
        .iter()
        .rposition(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')));
    let first = from + name.map_or(0, |position| position + 1);
    bytes[first] == b'-' && first != at
}

fn opens_line(bytes: &[u8], at: usize) -> bool {
    const INDENT_MAX: usize = 64;
    let from = at.saturating_sub(INDENT_MAX);
    let before = &bytes[from..at];
    let line = before
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(before, |position| &before[position + 1..]);
    let name = line
        .iter()
        .rposition(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')));
    line[..name.map_or(0, |position| position + 1)]
        .iter()
        .all(|b| matches!(b, b' ' | b'\t' | b'-'))
}

fn closes_line(bytes: &[u8], value: usize) -> bool {
    let end = blank(bytes, run(bytes, value, VALUE_MAX, bare));
    matches!(bytes.get(end), None | Some(b'\n' | b'\r'))
}

fn blank(bytes: &[u8], at: usize) -> usize {
    run(bytes, at, 16, |b| matches!(b, b' ' | b'\t'))
}

/// Skips the type in `password: str = "…"`.
fn past_type(bytes: &[u8], sign: usize, value: usize) -> usize {
    if bytes[sign] != b':' {
        return value;
    }
    let named = run(bytes, value, 48, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'&' | b'.')
    });
    let equals = blank(bytes, named);
    let literal = blank(bytes, equals + 1);
    let assigns = named > value && bytes.get(equals) == Some(&b'=');
    if assigns && matches!(bytes.get(literal), Some(b'"' | b'\'')) {
        literal
    } else {
        value
    }
}

/// The end of a quoted value; none when the line or the bound ends first. `escapes` is the number
/// of backslashes before the opening quote, as in JSON inside JSON.
fn closing_quote(bytes: &[u8], from: usize, quote: u8, escapes: usize) -> Option<usize> {
    let mut backslashes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(from).take(VALUE_MAX) {
        match *byte {
            b'\\' => backslashes += 1,
            b'\n' => return None,
            byte if byte == quote => {
                let closes = if escapes == 0 {
                    backslashes % 2 == 0
                } else {
                    backslashes == escapes
                };
                if closes {
                    return Some(at - escapes);
                }
                if backslashes < escapes {
                    return None;
                }
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
    }
    None
}

fn bare(b: u8) -> bool {
    (b.is_ascii_graphic() || !b.is_ascii())
        && !matches!(
            b,
            b'"' | b'\''
                | b'`'
                | b','
                | b';'
                | b')'
                | b'}'
                | b']'
                | b'<'
                | b'>'
                | b'|'
                | b'&'
                | b'\\'
        )
}

fn has_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
}

/// `self.token2`, `config.secret`: names joined by dots.
fn is_member_path(value: &[u8]) -> bool {
    let mut parts = value.split(|b| *b == b'.').peekable();
    let mut count = 0;
    let names = parts.all(|part| {
        count += 1;
        part.first()
            .is_some_and(|b| b.is_ascii_lowercase() || *b == b'_')
            && part
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
    });
    names && count > 1
}

/// Words that stand where a secret could, and are none: types, literals, verdicts.
fn is_plain_word(value: &[u8]) -> bool {
    const WORDS: [&str; 27] = [
        "any",
        "bool",
        "boolean",
        "bytes",
        "denied",
        "expired",
        "false",
        "incorrect",
        "int",
        "invalid",
        "missing",
        "nil",
        "none",
        "null",
        "number",
        "object",
        "optional",
        "required",
        "str",
        "string",
        "text",
        "true",
        "undefined",
        "unset",
        "wrong",
        "yes",
        "empty",
    ];
    let word = value.strip_suffix(b".").unwrap_or(value);
    WORDS
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}
