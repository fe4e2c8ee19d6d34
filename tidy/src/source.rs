//! A Rust file as tokens, with the lines that are tests known.
//!
//! Works on tokens and not on a syntax tree, so that code inside macros (`proptest!`, `select!`) is
//! seen like any other, and text inside strings and comments is not taken for code. It knows no
//! rule.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::Finding;

/// A lexed Rust file.
#[derive(Debug)]
pub struct Source {
    /// Path relative to the root, with forward slashes.
    pub path: String,
    /// How many lines the file has.
    pub lines: usize,
    tokens: TokenStream,
    tests: Tests,
}

/// A function with a body.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of the `fn`, counted from 1.
    pub line: usize,
    /// How many lines lie between its braces.
    pub body_lines: usize,
}

#[derive(Debug, Default)]
struct Tests {
    whole_file: bool,
    /// First and last line of each item under `#[cfg(test)]` or `#[test]`.
    spans: Vec<(usize, usize)>,
    /// Names `m` of `#[cfg(test)] mod m;`.
    modules: Vec<String>,
}

impl Source {
    /// Lexes `text`.
    ///
    /// # Errors
    /// A finding at the first place that is no Rust token.
    pub fn lex(path: &str, text: &str) -> Result<Self, Finding> {
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            Finding::new(
                path,
                error.span().start().line,
                format!("does not lex: {error}"),
            )
        })?;
        let mut tests = Tests {
            whole_file: is_test_path(path),
            ..Tests::default()
        };
        walk(&tokens, &mut |sequence| tests.scan(sequence));
        Ok(Self {
            path: path.to_owned(),
            lines: text.lines().count(),
            tokens,
            tests,
        })
    }

    /// Calls `visit` with each sequence of sibling tokens: the file's, and each group's.
    pub fn sequences(&self, mut visit: impl FnMut(&[TokenTree])) {
        walk(&self.tokens, &mut visit);
    }

    /// Whether `line` belongs to a test.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.tests.whole_file
            || self
                .tests
                .spans
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// How many lines lie outside tests.
    pub fn code_lines(&self) -> usize {
        (1..=self.lines)
            .filter(|line| !self.is_test_line(*line))
            .count()
    }

    /// All functions with a body, those inside macros included.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        self.sequences(|sequence| {
            for (at, pair) in sequence.windows(2).enumerate() {
                let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair else {
                    continue;
                };
                if keyword != "fn" {
                    continue;
                }
                if let Some(body) = body_of(&sequence[at + 2..]) {
                    let first = body.span_open().start().line;
                    let last = body.span_close().end().line;
                    functions.push(Function {
                        name: name.to_string(),
                        line: keyword.span().start().line,
                        body_lines: (last - first).saturating_sub(1),
                    });
                }
            }
        });
        functions
    }

    /// Paths, without `.rs`, of the modules that this file declares under `#[cfg(test)]`.
    pub fn test_module_stems(&self) -> Vec<String> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let stem = file.trim_end_matches(".rs");
        let base = match stem {
            "lib" | "main" | "mod" => folder.to_owned(),
            _ => format!("{folder}/{stem}"),
        };
        self.tests
            .modules
            .iter()
            .map(|module| format!("{base}/{module}"))
            .collect()
    }

    /// Makes every line a test line.
    pub fn mark_as_test(&mut self) {
        self.tests.whole_file = true;
    }
}

/// The attribute that begins at `at` in `sequence`: its bracket group, and whether it is inner.
pub fn attribute(sequence: &[TokenTree], at: usize) -> Option<(&Group, bool)> {
    if !is_punct(sequence.get(at)?, '#') {
        return None;
    }
    let inner = is_punct(sequence.get(at + 1)?, '!');
    match sequence.get(at + 1 + usize::from(inner))? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some((group, inner)),
        _ => None,
    }
}

/// Whether `token` is the punctuation `mark`.
pub fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Whether `token` is the identifier `name`.
pub fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

/// The line on which `token` begins, counted from 1.
pub fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

impl Tests {
    fn scan(&mut self, sequence: &[TokenTree]) {
        for at in 0..sequence.len() {
            let Some((group, inner)) = attribute(sequence, at) else {
                continue;
            };
            if !is_test_attribute(group) {
                continue;
            }
            if inner {
                self.whole_file = true;
                continue;
            }
            let item = &sequence[at..];
            let end = item.iter().position(ends_item).unwrap_or(item.len() - 1);
            let last = item[end].span().end().line;
            self.spans.push((line_of(&item[0]), last));
            if let [.., keyword, TokenTree::Ident(name), semicolon] = &item[..=end]
                && is_ident(keyword, "mod")
                && is_punct(semicolon, ';')
            {
                self.modules.push(name.to_string());
            }
        }
    }
}

fn ends_item(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        || is_punct(token, ';')
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn is_test_attribute(attribute: &Group) -> bool {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [name, TokenTree::Group(condition)] if is_ident(name, "cfg") => implies_test(condition),
        [.., name, TokenTree::Group(_)] | [.., name] => is_ident(name, "test"),
        [] => false,
    }
}

fn implies_test(condition: &Group) -> bool {
    let tokens: Vec<TokenTree> = condition.stream().into_iter().collect();
    match tokens.as_slice() {
        [only] => is_ident(only, "test"),
        [name, TokenTree::Group(all)] if is_ident(name, "all") => all
            .stream()
            .into_iter()
            .any(|token| is_ident(&token, "test")),
        _ => false,
    }
}

fn is_test_path(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn body_of(after_name: &[TokenTree]) -> Option<&Group> {
    let end = after_name.iter().position(ends_item)?;
    match &after_name[end] {
        TokenTree::Group(body) => Some(body),
        _ => None,
    }
}

fn walk(tokens: &TokenStream, visit: &mut impl FnMut(&[TokenTree])) {
    let sequence: Vec<TokenTree> = tokens.clone().into_iter().collect();
    visit(&sequence);
    for token in &sequence {
        if let TokenTree::Group(group) = token {
            walk(&group.stream(), visit);
        }
    }
}
