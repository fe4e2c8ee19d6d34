//! ARCHITECTURE.md states invariants, and names for each the test or check that proves it.
//!
//! Checks that the names exist. That the tests prove what the sentence says is for a reader.

use std::collections::BTreeSet;

use crate::Finding;
use crate::tree::{File, Tree};

const PAGE: &str = "ARCHITECTURE.md";
const MARK: &str = "**Invariant:**";
const PROOF: &str = "Proven by";

/// Findings for a page without invariants, and for invariants that nothing in the tree proves.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::new(PAGE, 1, "is missing")];
    };
    let paragraphs = paragraphs(page);
    if paragraphs.is_empty() {
        return vec![Finding::new(PAGE, 1, format!("states no `{MARK}`"))];
    }
    let proofs = Proofs::of(tree);
    paragraphs
        .iter()
        .filter_map(|(line, text)| Some(Finding::new(PAGE, *line, proofs.missing_for(text)?)))
        .collect()
}

/// Line and text of each paragraph or list item that begins with the mark.
fn paragraphs(page: &File) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (at, line) in page.text.lines().enumerate() {
        let words = line.trim_start().trim_start_matches("- ");
        if words.starts_with(MARK) {
            found.push((at + 1, String::new()));
            inside = true;
        } else if words.is_empty() {
            inside = false;
        }
        if let (true, Some((_, text))) = (inside, found.last_mut()) {
            text.push_str(words);
            text.push(' ');
        }
    }
    found
}

/// All that an invariant may name.
struct Proofs {
    tests: BTreeSet<String>,
    targets: BTreeSet<String>,
}

impl Proofs {
    /// Test functions, functions of modules named `invariants`, and targets of the Makefile.
    fn of(tree: &Tree) -> Self {
        let mut tests = BTreeSet::new();
        for source in &tree.sources {
            let is_checker = source.path.contains("/invariants");
            for function in source.functions() {
                if is_checker || source.is_test_line(function.line) {
                    tests.insert(function.name);
                }
            }
        }
        let makefile = tree.file("Makefile").map_or("", |file| &file.text);
        let targets = makefile
            .lines()
            .filter(|line| !line.starts_with(['\t', '#', '.', ' ']) && !line.contains('='))
            .filter_map(|line| line.split_once(':'))
            .flat_map(|(names, _)| names.split_whitespace().map(str::to_owned))
            .collect();
        Self { tests, targets }
    }

    fn missing_for(&self, text: &str) -> Option<String> {
        // With "Proven by", all that follows is a claim; without, one proof among other words in
        // backticks is enough.
        if let Some((_, claims)) = text.split_once(PROOF) {
            let claims = in_backticks(claims);
            let missing = claims.iter().find(|claim| !self.has(claim));
            return match missing {
                Some(missing) => Some(format!(
                    "`{missing}` is no test or make target of this tree"
                )),
                None => claims
                    .is_empty()
                    .then(|| format!("nothing in backticks after `{PROOF}`")),
            };
        }
        (!in_backticks(text).iter().any(|claim| self.has(claim)))
            .then(|| "names no test or make target of this tree in backticks".to_owned())
    }

    fn has(&self, claim: &str) -> bool {
        match claim.strip_prefix("make ") {
            Some(target) => self.targets.contains(target.trim()),
            None => {
                let name = claim.rsplit("::").next().unwrap_or(claim);
                self.tests.contains(name.trim_end_matches("()"))
            }
        }
    }
}

fn in_backticks(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
