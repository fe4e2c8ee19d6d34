//! The deterministic crates carry the clippy list, and avoid what no clippy list can express: an
//! unbiased `select!`, ractor's call timeouts, and named actors.

use proc_macro2::{Delimiter, Group, TokenTree};

use crate::Finding;
use crate::config::Determinism;
use crate::source;
use crate::tree::Tree;

/// Findings for a missing list, and for calls that draw on chance or on a clock.
pub fn check(tree: &Tree, config: &Determinism) -> Vec<Finding> {
    let mut findings = Vec::new();
    let list = tree.file(&config.list);
    if list.is_none() {
        findings.push(Finding::new(
            &config.list,
            1,
            "the deterministic clippy list is missing",
        ));
    }
    for folder in &config.crates {
        let path = format!("{folder}/clippy.toml");
        let carried = tree.file(&path).map(|file| &file.text);
        if carried.is_none() || carried != list.map(|file| &file.text) {
            let message = format!("must be a symbolic link to {}", config.list);
            findings.push(Finding::new(path, 1, message));
        }
        let prefix = format!("{folder}/");
        for source in tree
            .sources
            .iter()
            .filter(|source| source.path.starts_with(&prefix))
        {
            source.sequences(|sequence| {
                for at in 0..sequence.len() {
                    if let Some(message) = offence(&sequence[at..]) {
                        let line = source::line_of(&sequence[at]);
                        findings.push(Finding::new(&source.path, line, message));
                    }
                }
            });
        }
    }
    findings
}

fn offence(rest: &[TokenTree]) -> Option<&'static str> {
    match rest {
        [name, bang, TokenTree::Group(arms), ..]
            if source::is_ident(name, "select") && source::is_punct(bang, '!') =>
        {
            (!is_biased(arms)).then_some("`select!` without `biased;` picks a branch by chance")
        }
        [dot, name, TokenTree::Group(arguments), ..] if source::is_punct(dot, '.') => {
            let timed = source::is_ident(name, "call") && arguments_of(arguments).last()?.is_some;
            timed
                .then_some("a call with a timeout reads a clock: pass None, and a deadline as data")
        }
        [actor, colon, _, spawn, TokenTree::Group(arguments), ..]
            if source::is_ident(actor, "Actor") && source::is_punct(colon, ':') =>
        {
            let spawns = ["spawn", "spawn_linked"]
                .iter()
                .any(|name| source::is_ident(spawn, name));
            let named = spawns && arguments_of(arguments).first()?.is_some;
            named.then_some("a named actor lives in a process-wide registry: pass None")
        }
        _ => None,
    }
}

fn is_biased(arms: &Group) -> bool {
    arms.stream()
        .into_iter()
        .next()
        .is_some_and(|token| source::is_ident(&token, "biased"))
}

struct Argument {
    /// Whether it is written `Some(…)`.
    is_some: bool,
}

/// The arguments of a call, split at the commas between them.
fn arguments_of(group: &Group) -> Vec<Argument> {
    if group.delimiter() != Delimiter::Parenthesis {
        return Vec::new();
    }
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    tokens
        .split(|token| source::is_punct(token, ','))
        .filter_map(|argument| argument.first())
        .map(|first| Argument {
            is_some: source::is_ident(first, "Some"),
        })
        .collect()
}
