//! Words that no text file contains, and names that no source file bears.

use crate::Finding;
use crate::config::Config;
use crate::tree::{File, Tree};

/// Findings for banned words in any text file and for banned names in the path of any Rust file.
pub fn check(tree: &Tree, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        findings.extend(banned_name(file, &config.names));
        for (at, line) in file.text.lines().enumerate() {
            for word in config
                .words
                .iter()
                .filter(|word| contains_word(line, &word.word))
            {
                let message = format!("`{}` is banned: {}", word.word, word.instead);
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    findings
}

fn banned_name(file: &File, names: &[String]) -> Option<Finding> {
    let path = file.path.strip_suffix(".rs")?;
    let name = path
        .split('/')
        .find(|part| names.iter().any(|name| name == part))?;
    let message = format!("no file or folder is named `{name}`: name what it owns");
    Some(Finding::new(&file.path, 1, message))
}

/// Whether `line` holds `word` with nothing before or after it that would make it part of another
/// word. A word that opens with `/` is the beginning of an absolute path: what follows is free, and
/// what precedes must not make the path a relative one, an address or a variable.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins = |c: char| c.is_alphanumeric() || c == '_';
        if word.starts_with('/') {
            !before.is_some_and(|c| joins(c) || "./~-})]>*$".contains(c))
        } else {
            !before.is_some_and(joins) && !after.is_some_and(joins)
        }
    })
}
