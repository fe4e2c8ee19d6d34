//! Secrets that are known by their own shape, whatever stands around them.
//!
//! Owns prefixes, lengths and alphabets as their issuers publish them. It must not know names of
//! variables: that is [`super::assignment`].

use super::{MASKED, Secret, run};

/// Reads a secret whose marker stands at the given byte.
pub(super) type Reader = fn(&[u8], usize) -> Option<Secret>;

/// Markers of shapes that need a reader of their own.
pub(super) const READERS: &[(&str, Reader)] = &[
    ("-----BEGIN", private_key_block),
    ("://", url_password),
    ("eyJ", json_web_token),
    ("authorization", authorization),
    ("bearer ", bearer),
];

/// A key that begins with a fixed prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefixed {
    pub(super) prefix: &'static str,
    kind: &'static str,
    /// Bytes after the prefix.
    length: (usize, usize),
    alphabet: fn(u8) -> bool,
    /// Whether words of prose could look like it, so that a digit is asked for.
    needs_digit: bool,
}

const LENGTH_MAX: usize = 4_096;

const fn key(
    prefix: &'static str,
    kind: &'static str,
    length_min: usize,
    alphabet: fn(u8) -> bool,
) -> Prefixed {
    Prefixed {
        prefix,
        kind,
        length: (length_min, LENGTH_MAX),
        alphabet,
        needs_digit: false,
    }
}

const fn exact(
    prefix: &'static str,
    kind: &'static str,
    length: usize,
    alphabet: fn(u8) -> bool,
) -> Prefixed {
    Prefixed {
        prefix,
        kind,
        length: (length, length),
        alphabet,
        needs_digit: false,
    }
}

/// Keys that are known by their prefix. The case of the prefix matters.
pub(super) const PREFIXED: &[Prefixed] = &[
    exact("AKIA", "aws_access_key", 16, upper_or_digit),
    exact("ASIA", "aws_access_key", 16, upper_or_digit),
    key("ghp_", "github_token", 20, alphanumeric),
    key("gho_", "github_token", 20, alphanumeric),
    key("ghu_", "github_token", 20, alphanumeric),
    key("ghs_", "github_token", 20, alphanumeric),
    key("ghr_", "github_token", 20, alphanumeric),
    key("github_pat_", "github_token", 20, word),
    key("glpat-", "gitlab_token", 16, word_or_dash),
    key("xoxa-", "slack_token", 10, word_or_dash),
    key("xoxb-", "slack_token", 10, word_or_dash),
    key("xoxe-", "slack_token", 10, word_or_dash),
    key("xoxp-", "slack_token", 10, word_or_dash),
    key("xoxr-", "slack_token", 10, word_or_dash),
    key("xoxs-", "slack_token", 10, word_or_dash),
    Prefixed {
        needs_digit: true,
        ..key("sk-", "api_key", 20, word_or_dash)
    },
    key("AIza", "google_api_key", 35, word_or_dash),
    key("GOCSPX-", "google_secret", 20, word_or_dash),
    key("sk_live_", "stripe_key", 10, alphanumeric),
    key("sk_test_", "stripe_key", 10, alphanumeric),
    key("rk_live_", "stripe_key", 10, alphanumeric),
    key("rk_test_", "stripe_key", 10, alphanumeric),
    key("whsec_", "stripe_key", 16, base64),
    key("npm_", "npm_token", 30, alphanumeric),
    key("pypi-", "pypi_token", 40, word_or_dash),
    key("hf_", "hugging_face_token", 30, alphanumeric),
    exact("slk_", "sillok_token", 64, hexadecimal),
];

impl Prefixed {
    pub(super) fn read(&self, bytes: &[u8], start: usize) -> Option<Secret> {
        if !bytes[start..].starts_with(self.prefix.as_bytes()) || !stands_alone(bytes, start) {
            return None;
        }
        let from = start + self.prefix.len();
        let end = run(bytes, from, self.length.1.saturating_add(1), self.alphabet);
        let length = end - from;
        let digit = !self.needs_digit || bytes[from..end].iter().any(u8::is_ascii_digit);
        // A run longer than an exact length is something else; longer than the bound, it is cut.
        let fits =
            length >= self.length.0 && (length <= self.length.1 || self.length.1 == LENGTH_MAX);
        (fits && digit)
            .then(|| Secret::new(start, run(bytes, end, usize::MAX, self.alphabet), self.kind))
    }
}

/// `-----BEGIN … PRIVATE KEY-----` up to its end, also with line ends escaped as in JSON.
fn private_key_block(bytes: &[u8], start: usize) -> Option<Secret> {
    const HEADER_MAX: usize = 80;
    const BLOCK_MAX: usize = 64 << 10;
    const DASHES: usize = 5;
    let is_label = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ';
    let label_end = run(bytes, start + DASHES, HEADER_MAX, is_label);
    let label = &bytes[start + DASHES..label_end];
    if !contains(label, b"PRIVATE KEY") || !bytes[label_end..].starts_with(b"-----") {
        return None;
    }
    let body = label_end + DASHES;
    let window = &bytes[body..bytes.len().min(body + BLOCK_MAX)];
    // The next dashes decide: so a row of openings is read once each.
    if let Some(dashes) = window.windows(DASHES).position(|w| w == b"-----") {
        let closing = body + dashes + DASHES;
        if bytes[closing..].starts_with(b"END ") {
            let close = run(bytes, closing, HEADER_MAX, is_label);
            return Some(Secret::new(
                start,
                run(bytes, close, DASHES, |b| b == b'-'),
                "private_key",
            ));
        }
    }
    // Cut off before its end: what looks like key material goes.
    let end = run(bytes, body, BLOCK_MAX, |b| {
        base64(b) || matches!(b, b'\n' | b'\r' | b'\\')
    });
    (end - body >= 16).then(|| Secret::new(start, end, "private_key"))
}

/// `scheme://user:PASSWORD@host`: the password alone.
fn url_password(bytes: &[u8], start: usize) -> Option<Secret> {
    const AUTHORITY_MAX: usize = 512;
    if start == 0 || !bytes[start - 1].is_ascii_alphanumeric() {
        return None;
    }
    let from = start + "://".len();
    let end = run(bytes, from, AUTHORITY_MAX, |b| {
        b.is_ascii_graphic()
            && !matches!(
                b,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'#' | b'\\'
            )
            || !b.is_ascii()
    });
    let authority = &bytes[from..end];
    let at = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority[..at].iter().position(|b| *b == b':')?;
    let password = &authority[colon + 1..at];
    if password.is_empty() || password.starts_with(MASKED.as_bytes()) || is_reference(password) {
        return None;
    }
    Some(Secret::new(from + colon + 1, from + at, "url_password"))
}

/// `eyJ….….…`: three parts in base64url.
fn json_web_token(bytes: &[u8], start: usize) -> Option<Secret> {
    if !bytes[start..].starts_with(b"eyJ") || !stands_alone(bytes, start) {
        return None;
    }
    let mut end = start;
    for length_min in [10, 10, 0] {
        if end > start {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let part = end;
        end = run(bytes, part, usize::MAX, word_or_dash);
        if end - part < length_min {
            return None;
        }
    }
    Some(Secret::new(start, end, "jwt"))
}

/// `Authorization: SCHEME CREDENTIALS`, in a header, a JSON object or a command line.
fn authorization(bytes: &[u8], start: usize) -> Option<Secret> {
    let name = start + "authorization".len();
    let mut at = run(bytes, name, 4, |b| {
        matches!(b, b'"' | b'\'' | b'\\' | b'`' | b']')
    });
    at = run(bytes, at, 4, |b| b == b' ');
    let separator = run(bytes, at, 2, |b| matches!(b, b':' | b'='));
    if separator == at {
        return None;
    }
    at = run(bytes, separator, 12, |b| {
        matches!(b, b'"' | b'\'' | b'\\' | b'`' | b' ')
    });
    let scheme = run(bytes, at, 16, |b| b.is_ascii_alphabetic() || b == b'-');
    let spaces = run(bytes, scheme, 4, |b| b == b' ');
    if scheme > at && spaces > scheme {
        let end = run(bytes, spaces, usize::MAX, credentials);
        if end - spaces >= 6 {
            return Some(Secret::new(spaces, end, "authorization"));
        }
    }
    let end = run(bytes, at, usize::MAX, credentials);
    let secret = end - at >= 16 && bytes[at..end].iter().any(u8::is_ascii_digit);
    secret.then(|| Secret::new(at, end, "authorization"))
}

/// `Bearer CREDENTIALS` outside a header.
fn bearer(bytes: &[u8], start: usize) -> Option<Secret> {
    if !stands_alone(bytes, start) {
        return None;
    }
    let from = start + "bearer ".len();
    let end = run(bytes, from, usize::MAX, credentials);
    let secret = end - from >= 16 && bytes[from..end].iter().any(u8::is_ascii_digit);
    secret.then(|| Secret::new(from, end, "authorization"))
}

/// Whether a value only refers to a secret: a variable, a template or a placeholder.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let opens = |prefix: &[u8]| value.starts_with(prefix);
    opens(b"${")
        || opens(b"$(")
        || opens(b"{")
        || opens(b"<")
        || opens(b"%(")
        || opens(b"%s")
        || value.len() > 1
            && value[0] == b'$'
            && (value[1].is_ascii_uppercase() || value[1] == b'_')
}

fn stands_alone(bytes: &[u8], start: usize) -> bool {
    start == 0 || !word_or_dash(bytes[start - 1]) || escaped_line_end(&bytes[..start])
}

/// Whether what stands before is the `\n` of a JSON string, whose `n` is no letter of a word.
fn escaped_line_end(before: &[u8]) -> bool {
    matches!(before, [.., b'\\', b'n' | b'r' | b't'])
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn upper_or_digit(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn hexadecimal(b: u8) -> bool {
    b.is_ascii_digit() || matches!(b, b'a'..=b'f')
}

fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn word_or_dash(b: u8) -> bool {
    word(b) || b == b'-'
}

fn base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

fn credentials(b: u8) -> bool {
    base64(b) || matches!(b, b'-' | b'.' | b'_' | b'~')
}
