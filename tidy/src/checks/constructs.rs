//! Constructs that compile and have no place in a finished tree: unfinished code, skipped tests,
//! silent panics and silenced lints, and modules that a crate must not reach for.

use proc_macro2::{Delimiter, Group, TokenTree};

use crate::Finding;
use crate::config::{Config, PathRule};
use crate::source::{self, Source};
use crate::tree::Tree;

const MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];

/// Findings for banned macros, attributes, method calls and module paths in Rust code.
pub fn check(tree: &Tree, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        let rules: Vec<&PathRule> = config
            .paths
            .iter()
            .filter(|rule| {
                rule.below
                    .iter()
                    .any(|folder| source.path.starts_with(folder))
            })
            .collect();
        source.sequences(|sequence| {
            for at in 0..sequence.len() {
                let rest = &sequence[at..];
                let line = source::line_of(&rest[0]);
                let messages = [banned_macro(rest), unwrap(source, rest), attribute(rest)];
                for message in messages.into_iter().flatten() {
                    findings.push(Finding::new(&source.path, line, message));
                }
                for rule in &rules {
                    if !source.is_test_line(line) && names(rest, &rule.path) {
                        let message = format!("`{}` is banned here: {}", rule.path, rule.instead);
                        findings.push(Finding::new(&source.path, line, message));
                    }
                }
            }
        });
    }
    findings
}

fn banned_macro(rest: &[TokenTree]) -> Option<String> {
    let [TokenTree::Ident(name), bang, TokenTree::Group(_), ..] = rest else {
        return None;
    };
    let banned = source::is_punct(bang, '!') && MACROS.iter().any(|banned| name == banned);
    banned.then(|| format!("`{name}!` is banned: finish it"))
}

fn unwrap(source: &Source, rest: &[TokenTree]) -> Option<String> {
    let [dot, name, TokenTree::Group(arguments), ..] = rest else {
        return None;
    };
    let calls_unwrap = source::is_punct(dot, '.')
        && source::is_ident(name, "unwrap")
        && arguments.delimiter() == Delimiter::Parenthesis
        && arguments.stream().is_empty();
    (calls_unwrap && !source.is_test_line(source::line_of(name))).then(|| {
        "`.unwrap()` outside tests: use `expect(\"the invariant\")` or an error".to_owned()
    })
}

fn attribute(rest: &[TokenTree]) -> Option<String> {
    let (group, _) = source::attribute(rest, 0)?;
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    if tokens
        .first()
        .is_some_and(|token| source::is_ident(token, "ignore"))
    {
        return Some("`#[ignore]` is banned: a test that does not run proves nothing".to_owned());
    }
    let level = silenced_without_reason(&tokens)?;
    Some(format!("`{level}` without `reason = \"…\"`"))
}

/// The lint level that `allow(…)` or `expect(…)` sets without a reason, also inside `cfg_attr`.
fn silenced_without_reason(tokens: &[TokenTree]) -> Option<String> {
    let conditional = tokens
        .first()
        .is_some_and(|token| source::is_ident(token, "cfg_attr"));
    if let (true, Some(TokenTree::Group(group))) = (conditional, tokens.get(1)) {
        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
        return (0..inner.len()).find_map(|at| silenced_without_reason(&inner[at..]));
    }
    match tokens {
        [TokenTree::Ident(level), TokenTree::Group(lints), ..]
            if (level == "allow" || level == "expect") && !has_reason(lints) =>
        {
            Some(level.to_string())
        }
        _ => None,
    }
}

fn has_reason(lints: &Group) -> bool {
    let tokens: Vec<TokenTree> = lints.stream().into_iter().collect();
    tokens
        .windows(2)
        .any(|pair| source::is_ident(&pair[0], "reason") && source::is_punct(&pair[1], '='))
}

/// Whether `rest` begins with `a::b`, or with `a::{…, b, …}`, for a `path` written `a::b`.
fn names(rest: &[TokenTree], path: &str) -> bool {
    let Some((first, second)) = path.split_once("::") else {
        return false;
    };
    let [head, colon, _, tail, ..] = rest else {
        return false;
    };
    if !source::is_ident(head, first) || !source::is_punct(colon, ':') {
        return false;
    }
    match tail {
        TokenTree::Group(group) => group
            .stream()
            .into_iter()
            .any(|token| source::is_ident(&token, second)),
        token => source::is_ident(token, second),
    }
}
