//! Files and functions stay short enough to be read at one sitting.

use crate::Finding;
use crate::config::Limits;
use crate::source::Source;
use crate::tree::Tree;

/// Findings for Rust files and functions over their bounds.
pub fn check(tree: &Tree, limits: &Limits) -> Vec<Finding> {
    tree.sources
        .iter()
        .flat_map(|source| check_source(source, limits))
        .collect()
}

fn check_source(source: &Source, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.lines > limits.file_lines_max {
        let message = format!(
            "{} lines, at most {}: split it, or move its tests to <module>/tests.rs",
            source.lines, limits.file_lines_max
        );
        findings.push(Finding::new(
            &source.path,
            limits.file_lines_max + 1,
            message,
        ));
    }
    let code_lines = source.code_lines();
    if code_lines > limits.code_lines_max {
        let message = format!(
            "{code_lines} lines outside tests, at most {}: split it",
            limits.code_lines_max
        );
        findings.push(Finding::new(&source.path, 1, message));
    }
    for function in source.functions() {
        if function.body_lines > limits.body_lines_max {
            let message = format!(
                "fn {} has {} lines, at most {}: split it",
                function.name, function.body_lines, limits.body_lines_max
            );
            findings.push(Finding::new(&source.path, function.line, message));
        }
    }
    findings
}
