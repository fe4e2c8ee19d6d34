//! Which lines of an error's text say what went wrong.
//!
//! Owns how the core of an error is told from frames, echoes of code, progress, hints and sums, by the shapes of
//! [`super::shapes`]. A text of no known shape is taken whole. It must not know what of a line stays the same: that is
//! [`super::normal`]'s.

use std::collections::BTreeSet;

use regex::RegexSet;

use super::shapes::{BESIDE, CHANGED, CORE, DIFF, ENDS, HEAD, NOISE, ROW, WORDS};
use super::{normal, origin, wrapping};
use crate::terminal::shown;

/// The core of an error: its normalised lines that say what went wrong, each once and sorted, since tests that run beside one
/// another end in any order. Where no line is of a known shape, those are taken that speak of an error, or else all. Empty only
/// where nothing is shown of the text.
pub(super) fn core(text: &str) -> BTreeSet<String> {
    let plain = wrapping::unwrapped(text);
    let lines = without_full_diffs(without_warnings(&plain));
    let mut core = telling(&lines);
    core.extend(told_by_the_sum(&lines));
    if !core.iter().any(|line| line.contains("panicked at")) {
        let ends = |line: &&&str| ENDS.is_match(line);
        core.extend(lines.iter().filter(ends));
    }
    let names_a_test = core
        .iter()
        .any(|line| line.starts_with("FAILED ") || line.starts_with("ERROR "));
    let is_generic = !names_a_test && core.iter().any(|line| origin::is_generic(line));
    let mut core: BTreeSet<String> = core
        .into_iter()
        .map(normalised)
        .filter(|line| !line.is_empty())
        .collect();
    core.extend(named_above(&lines).iter().map(|line| normal::line(line)));
    if is_generic {
        core.extend(origin::of(&lines));
    }
    let core = without_repeated(core);
    if core.is_empty() {
        return all_of(text);
    }
    core
}

/// All lines of a text, normalised: what says nothing of an error is told apart by whatever it says.
fn all_of(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| normal::line(&shown(line)));
    lines.filter(|line| !line.is_empty()).collect()
}

/// The lines that tell the error: those of a known shape, or that speak of an error, before those that only stand beside one.
fn telling<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let only = |keep: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        lines.iter().copied().filter(|line| keep(line)).collect()
    };
    let strong = only(&|line| !BESIDE.is_match(line));
    let choices: [&dyn Fn() -> Vec<&'a str>; 6] = [
        &|| chosen(&strong, &CORE),
        &|| chosen(&strong, &WORDS),
        &|| chosen(lines, &CORE),
        &|| chosen(lines, &WORDS),
        &|| only(&|line| !NOISE.is_match(line)),
        &|| only(&|line| WORDS.is_match(line)),
    ];
    let mut told = choices.iter().map(|choice| choice());
    told.find(|core| !core.is_empty())
        .unwrap_or_else(|| lines.to_vec())
}

/// The core without the lines in which a runner ticks off a test that another line names whole.
fn without_repeated(core: BTreeSet<String>) -> BTreeSet<String> {
    let is_repeated = |line: &String| {
        let said = line.trim_start_matches(['✕', '×', '✗', '✘', '✖']);
        let named = said.trim();
        said.len() < line.len()
            && !named.is_empty()
            && core
                .iter()
                .any(|other| other != line && other.ends_with(named))
    };
    let kept = core.iter().filter(|line| !is_repeated(line));
    kept.cloned().collect()
}

/// Whether a line says more of a compiler's warning that stands above it: where that is, what stands there, or what would help.
fn is_of_a_warning(line: &str) -> bool {
    let begins = |c: char| c.is_whitespace() || c.is_ascii_digit() || "|=-.".contains(c);
    line.starts_with(begins) || line.starts_with("note:") || line.starts_with("help:")
}

/// The lines that say something, but for the warnings of a compiler: these come and go beside an error.
fn without_warnings(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut warns = false;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        let goes_on = warns && !is_empty && is_of_a_warning(line);
        warns = goes_on || line.starts_with("warning: ") || line.starts_with("warning[");
        if !warns && !is_empty {
            lines.push(line);
        }
    }
    lines
}

/// The lines without the whole diffs that pytest prints where it is asked for more, unless the values before are cut.
fn without_full_diffs(mut lines: Vec<&str>) -> Vec<&str> {
    let (mut is_cut, mut skips) = (false, false);
    lines.retain(|line| {
        let Some(said) = line.strip_prefix("E ") else {
            skips = false;
            return true;
        };
        if said.contains("assert ") {
            is_cut = said.contains("...");
            skips = false;
        }
        skips |= said.trim_start().starts_with("Full diff:") && !is_cut;
        !skips
    });
    lines
}

/// Lines of some shapes. What a panic or a thrown error says may go on in the lines behind it, which belong to it, and so do the
/// lines that differ where values are compared line by line.
fn chosen<'a>(lines: &[&'a str], shapes: &RegexSet) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    let (mut left, mut head, mut deeper_than) = (0, None, None);
    let (mut in_diff, mut in_causes) = (false, false);
    for line in lines {
        if DIFF.is_match(line) {
            in_diff = true;
            left = 0;
            if !line.starts_with("Diff in ") {
                continue;
            }
        } else if in_diff && CHANGED.is_match(line) {
            chosen.push(*line);
            continue;
        }
        // The causes of an error may be numbered, as frames are.
        let cause = line
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        if left > 0 && line.starts_with("    ") && cause.starts_with(": ") && in_causes {
            chosen.push(cause.trim_start_matches(": "));
            left -= 1;
            continue;
        }
        if NOISE.is_match(line) {
            // A paragraph goes on behind the code that it shows.
            if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
                left = 0;
            }
            deeper_than = None;
            in_diff &= !line.trim_start().starts_with("at ");
            continue;
        }
        if HEAD.is_match(line) {
            head = Some(*line);
        }
        if shapes.is_match(line) {
            chosen.extend(head.filter(|_| ROW.is_match(line)));
            chosen.push(*line);
            left = behind(line);
            deeper_than = goes_on(line).then(|| indent(line));
            in_causes = *line == "Caused by:";
        } else if left > 0 {
            chosen.push(*line);
            left -= 1;
        } else if deeper_than.is_some_and(|above| indent(line) > above) {
            chosen.push(*line);
        } else {
            deeper_than = None;
        }
    }
    chosen
}

/// Whether what a line says goes on in the lines below it that stand further in.
fn goes_on(line: &str) -> bool {
    let ends = line.trim_end().ends_with(':');
    ends && (line.contains("panicked at") || line.contains("_test.go:"))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// How many lines behind one that says what went wrong belong to it, of whatever shape.
fn behind(line: &str) -> usize {
    let line = line.trim_start_matches(['│', '|', ' ', '\t']).trim_end();
    let is_numbered = || {
        let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
        name.len() < line.len() && name.starts_with(") ")
    };
    match line {
        _ if line.contains("panicked at") && line.ends_with(':') => 1,
        // A paragraph that explains it, and where it is.
        _ if line.starts_with("Error: ") => 4,
        "Caused by:" => 3,
        _ if line.starts_with("● ") || line.starts_with("ERROR in ") => 1,
        "running tests:" | "Description:" => 1,
        // The example of a documentation, and what it gave.
        "Failed example:" => 8,
        _ if line.ends_with(": Failure") || line.ends_with(": FAILED:") => 4,
        _ if line.starts_with("* What went wrong:") => 2,
        _ if line.starts_with("CMake Error") || line.contains("*** FAILED ***") => 1,
        _ if line.starts_with("Expected values to be") => 1,
        _ if is_numbered() && !line.contains('›') => 1,
        _ => 0,
    }
}

/// What the sum of pytest says of the only test that failed, where no lines before say it whole. The width of the terminal may
/// have cut it: then it says nothing.
fn told_by_the_sum<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut sums = lines
        .iter()
        .filter(|line| line.starts_with("FAILED ") && line.contains("::"));
    let (sum, other) = (sums.next()?, sums.next());
    let (_, said) = sum.split_once(" - ")?;
    let is_told = other.is_some() || lines.iter().any(|line| line.starts_with("E "));
    (!is_told && !said.ends_with("...")).then_some(said)
}

/// The tests that failed as the sum of pytest names them, from the titles above what each printed: the sum may be cut off.
fn named_above(lines: &[&str]) -> Vec<String> {
    let mut named = Vec::new();
    if lines.iter().any(|line| line.starts_with("FAILED ")) {
        return named;
    }
    let mut title = None;
    for line in lines {
        let said = line.trim_matches(['_', ' ']);
        if line.starts_with("___") && line.ends_with("___") && !said.is_empty() {
            title = (!said.contains(' ')).then_some(said);
            named.extend(
                said.strip_prefix("ERROR collecting ")
                    .map(|file| format!("ERROR {file}")),
            );
        } else if let Some((file, _)) = line.split_once(".py:")
            && !file.contains(char::is_whitespace)
            && let Some(title) = title.take()
        {
            let (test, case) = title.split_at(title.find('[').unwrap_or(title.len()));
            let test = test.replace('.', "::");
            named.push(format!("FAILED {file}.py::{test}{case}"));
        }
    }
    named
}

/// A line of the core, in the same words whichever tool printed it.
fn normalised(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    // A test of pytest as it ends, verbose.
    if let Some((name, _)) = line.split_once(" FAILED")
        && name.contains(".py::")
        && !name.contains(' ')
    {
        return normal::line(&format!("FAILED {name}"));
    }
    // The sum of pytest cuts what it says by the width of the terminal; the lines before say it whole.
    let line = match (line.starts_with("FAILED "), line.split_once(" - ")) {
        (true, Some((name, _))) => name,
        _ => line,
    };
    // Newer versions of unittest name the test twice.
    if let Some((name, class)) = line.split_once(" (")
        && let Some((kind @ ("FAIL" | "ERROR"), test)) = name.split_once(": ")
    {
        let class = class.trim_end_matches(')');
        let class = class.strip_suffix(test).unwrap_or(class);
        return normal::line(&format!("{kind}: {test} ({})", class.trim_end_matches('.')));
    }
    // The same test, as it ends and where its output begins.
    if let Some(name) = line
        .strip_prefix("---- ")
        .and_then(|line| line.strip_suffix(" stdout ----"))
    {
        return normal::line(&format!("test {name} ... FAILED"));
    }
    let line = match line.strip_prefix("AssertionError: ") {
        Some(said) if said.starts_with("assert ") => said,
        _ => line,
    };
    // Where on the page a changed line stands.
    let line = match line.split_once('│') {
        Some((place, said)) if said.starts_with(['-', '+']) => {
            let is_place = place.chars().all(|c| c.is_ascii_digit() || c == ' ');
            return normal::line(if is_place { said } else { line });
        }
        _ => line,
    };
    // A source line is not told, only what is said of it.
    let line = if line.starts_with(['|', '│', '^', '~']) || line.starts_with("--") {
        line.trim_start_matches(['|', '│', ' ', '^', '-', '~'])
    } else {
        line
    };
    normal::line(
        line.trim_start_matches("> ")
            .trim_end_matches(['─', '━', ' ']),
    )
}
