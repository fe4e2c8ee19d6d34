//! Changes of code: from unified diffs and edit commands to "in F, `A` was replaced by `B`".
//!
//! Owns the forms in which agents record an edit. Comments and indentation are left out, so that
//! two agents who make the same change say the same. It must not know records.

use core::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::evidence::range;
use super::sentence::clip;

/// Changes that are read from one text.
const CHANGES_MAX: usize = 12;
/// Characters of code that a fact quotes.
const CODE_CHARS_MAX: usize = 200;
/// Characters of what encloses a change, as git cuts it in the header of a hunk.
const SECTION_CHARS_MAX: usize = 80;

/// One run of changed lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The file, relative to the repository.
    pub(super) path: String,
    /// What encloses the change, such as `class TimeDelta(Field)`; empty when not known.
    pub(super) section: String,
    /// The first changed line before the change, from 1; 0 when not known.
    pub(super) line: u32,
    /// The code before; empty when lines were only added.
    pub(super) before: String,
    /// The code after; empty when lines were only removed.
    pub(super) after: String,
    /// What of the text says so, in bytes of it: the file's name, and the hunk up to the changed lines.
    pub(super) at: Vec<Range<usize>>,
}

impl Change {
    /// The change as a sentence; none when nothing but comments changed.
    pub(super) fn sentence(&self) -> Option<String> {
        let place = if self.section.is_empty() {
            self.path.clone()
        } else {
            format!("{} ({})", self.path, self.section)
        };
        let (before, after) = (
            clip(&self.before, CODE_CHARS_MAX),
            clip(&self.after, CODE_CHARS_MAX),
        );
        match (before.is_empty(), after.is_empty()) {
            _ if before == after => None,
            (false, false) => Some(format!("In {place}, `{before}` was replaced by `{after}`.")),
            (true, false) => Some(format!("In {place}, `{after}` was added.")),
            (false, true) => Some(format!("In {place}, `{before}` was removed.")),
            (true, true) => None,
        }
    }

    /// Where the change is, as a sentence.
    pub(super) fn place(&self) -> Option<String> {
        if self.line == 0 || self.before.is_empty() {
            return None;
        }
        let section = if self.section.is_empty() {
            String::new()
        } else {
            format!(", in {},", self.section)
        };
        Some(format!(
            "Line {} of {}{section} was changed.",
            self.line, self.path
        ))
    }
}

/// The changes of every unified diff in a text.
pub(super) fn unified(text: &str) -> Vec<Change> {
    let mut reading = Reading::default();
    for row in text.lines() {
        if reading.changes.len() == CHANGES_MAX {
            break;
        }
        reading.row(row, text);
    }
    reading.close();
    let mut changes = reading.changes;
    changes.truncate(CHANGES_MAX);
    changes.retain(|change| !change.path.is_empty() && change.path != "/dev/null");
    changes
}

/// A unified diff, as far as it was read.
#[derive(Default)]
struct Reading<'a> {
    path: (String, Range<usize>),
    /// What encloses the hunk, and where it begins.
    section: (String, usize),
    /// The next line of the file before the change; 0 outside of a hunk.
    line: u32,
    open: Option<Run<'a>>,
    changes: Vec<Change>,
}

/// Changed lines that follow one another.
struct Run<'a> {
    first: u32,
    removed: Vec<&'a str>,
    added: Vec<&'a str>,
    /// The byte behind them.
    end: usize,
}

impl<'a> Reading<'a> {
    fn row(&mut self, row: &'a str, text: &str) {
        let is_changed = row.starts_with(['-', '+'])
            && !row.starts_with("--- ")
            && !row.starts_with("+++ ")
            && self.line > 0;
        if is_changed {
            return self.changed(row, range(row, text).end);
        }
        self.close();
        if let Some(to) = row.strip_prefix("+++ ") {
            let path = to.split('\t').next().unwrap_or_default();
            let path = path.trim_start_matches("b/").trim().to_owned();
            self.path = (path, range(row, text));
            self.line = 0;
        } else if let Some(hunk) = HUNK.captures(row) {
            self.line = hunk[1].parse().unwrap_or(0);
            self.section = (section(&hunk[2]).to_owned(), range(row, text).start);
        } else if self.line > 0 {
            self.line = self.line.saturating_add(1);
            self.pass(row.strip_prefix(' ').unwrap_or_default());
        }
    }

    /// What encloses the next change, behind a line of code that stays: another definition may begin
    /// within a hunk, or the one that its header names may end.
    fn pass(&mut self, line: &str) {
        if DEFINITION.is_match(line) {
            self.section.0 = clip(section(line), SECTION_CHARS_MAX);
        } else if is_at_margin(line) {
            self.section.0.clear();
        }
    }

    fn changed(&mut self, row: &'a str, end: usize) {
        let run = self.open.get_or_insert(Run {
            first: self.line,
            removed: Vec::new(),
            added: Vec::new(),
            end,
        });
        run.end = end;
        if let Some(old) = row.strip_prefix('-') {
            run.removed.push(old);
            self.line = self.line.saturating_add(1);
        } else {
            run.added.extend(row.strip_prefix('+'));
        }
    }

    fn close(&mut self) {
        if let Some(run) = self.open.take() {
            // What begins at the margin is enclosed by nothing.
            let mut lines = run.removed.iter().chain(&run.added);
            if lines.any(|line| is_at_margin(line)) {
                self.section.0.clear();
            }
            self.changes.push(Change {
                path: self.path.0.clone(),
                section: self.section.0.clone(),
                line: run.first,
                before: code(&run.removed),
                after: code(&run.added),
                at: vec![self.path.1.clone(), self.section.1..run.end],
            });
            for line in run.added {
                self.pass(line);
            }
        }
    }
}

/// What a line that begins a definition calls it.
fn section(line: &str) -> &str {
    line.trim().trim_end_matches([':', '{']).trim()
}

/// Whether a line of code begins or ends something at the margin. Comments and brackets that only
/// go on with it do not.
fn is_at_margin(line: &str) -> bool {
    line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '}'))
}

/// The change that an edit command states in words or in its arguments; none when it states none.
pub(super) fn stated(command: &str, path: &str) -> Option<Change> {
    let change = |before: &str, after: &str| {
        let lines = |text: &str| code(&text.lines().collect::<Vec<_>>());
        Change {
            path: path.to_owned(),
            before: lines(before),
            after: lines(after),
            at: core::iter::once(0..command.len()).collect(),
            ..Change::default()
        }
    };
    if let Some(words) = IN_WORDS.captures(command) {
        return Some(change(&words[1], &words[2]));
    }
    if let Some(quoted) = QUOTED.captures(command) {
        return Some(change(&quoted[1], &quoted[2]));
    }
    let arguments: serde_json::Value = serde_json::from_str(command).ok()?;
    let text = |names: [&str; 2]| names.iter().find_map(|name| arguments.get(name)?.as_str());
    let (before, after) = (
        text(["old_str", "old_string"])?,
        text(["new_str", "new_string"])?,
    );
    let path = text(["path", "file_path"]).unwrap_or(path);
    Some(Change {
        path: path.to_owned(),
        ..change(before, after)
    })
}

/// Lines of code as one line, without indentation, comments and blank lines.
fn code(lines: &[&str]) -> String {
    let bare = lines
        .iter()
        .map(|line| without_comment(line).trim())
        .filter(|line| !line.is_empty());
    bare.collect::<Vec<_>>().join(" ").replace('`', "'")
}

/// A line up to its comment. A mark inside of a string is none.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let rest = &line[at..];
        match quote {
            Some(open) if c == open && previous != '\\' => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if previous.is_whitespace()
                && (rest.starts_with("# ") || rest.starts_with("// ")) =>
            {
                return &line[..at];
            }
            _ => {}
        }
        previous = c;
    }
    line
}

static HUNK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$")
        .expect("the pattern is fixed and tested")
});

/// A definition at the margin, as languages with a word for it begin one.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(?:(?:pub(?:\([^)]*\))?|export|default|async|static|public|private|protected|abstract|final|unsafe|const)\s+)*(?:class|def|fn|func|function|struct|enum|impl|trait|interface|mod|module|namespace)\b";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static IN_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?is)\b(?:replac|chang|swap)\w*\s+`([^`]+)`\s+(?:by|with|to|into|->|→)\s+`([^`]+)`";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)^edit\s+'([^']*)'\s+'([^']*)'").expect("the pattern is fixed and tested")
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIFF: &str = "diff --git a/src/x.py b/src/x.py\nindex 1..2 100644\n--- a/src/x.py\n+++ b/src/x.py\n\
        @@ -10,4 +10,5 @@ class T(F):\n     def f(self):\n-        return a - b\n+        # add them\n+        return a + b  # not minus\n     def g(self):\n";

    #[test]
    fn a_diff_says_what_was_replaced_where() {
        let changes = unified(DIFF);
        assert_eq!(changes.len(), 1);
        let said = changes[0].at.iter().map(|at| &DIFF[at.clone()]);
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "+++ b/src/x.py",
                "@@ -10,4 +10,5 @@ class T(F):\n     def f(self):\n-        return a - b\n+        # add them\n\
                 +        return a + b  # not minus",
            ]
        );
        assert_eq!(
            changes[0].sentence().unwrap(),
            "In src/x.py (class T(F)), `return a - b` was replaced by `return a + b`."
        );
        assert_eq!(
            changes[0].place().unwrap(),
            "Line 11 of src/x.py, in class T(F), was changed."
        );
    }

    #[test]
    fn comments_alone_are_no_change() {
        let change = |diff: &str| unified(diff)[0].sentence();
        assert_eq!(change("+++ b/x\n@@ -1,1 +1,2 @@\n+# why\n"), None);
        assert_eq!(
            change("+++ b/x\n@@ -1,1 +1,1 @@\n-a = '# b'  # old\n+a = '# b'  # new\n"),
            None
        );
        assert!(change("+++ b/x\n@@ -1,1 +1,1 @@\n-a = '# b'\n+a = '# c'\n").is_some());
    }

    #[test]
    fn what_begins_within_a_hunk_encloses_what_follows() {
        let sections = |rows: &str| {
            let diff = format!("+++ b/x\n@@ -1,9 +1,9 @@ class A(F):\n{rows}");
            let changes = unified(&diff).into_iter();
            changes.map(|change| change.section).collect::<Vec<_>>()
        };
        assert_eq!(
            sections("-    a\n+    b\n \n class B(F):\n     x = 1\n-    c\n+    d\n"),
            ["class A(F)", "class B(F)"]
        );
        assert_eq!(
            sections("     x\n \n LIMIT = 3\n # so\n-    c\n+    d\n"),
            [""]
        );
        assert_eq!(sections(" # so\n     x\n-    c\n"), ["class A(F)"]);
        // A definition that is added is in no other one, and encloses what comes next.
        assert_eq!(
            sections("+def f():\n+    a\n     b\n-    c\n"),
            ["", "def f()"]
        );
    }

    #[test]
    fn edits_are_read_in_words_quotes_and_arguments() {
        let words = stated("edit calc.py: replace `a - b` by `a + b`", "calc.py").unwrap();
        assert_eq!(
            words.sentence().unwrap(),
            "In calc.py, `a - b` was replaced by `a + b`."
        );
        let quoted = stated("edit 'a - b' '# sum\n a + b'", "calc.py").unwrap();
        assert_eq!(quoted.sentence(), words.sentence());
        let json = stated(
            r#"{"file_path":"calc.py","old_string":"a - b","new_string":"a + b"}"#,
            "",
        )
        .unwrap();
        assert_eq!(json.sentence(), words.sentence());
        assert_eq!(stated("edit 1:2\nx\nend_of_edit", "calc.py"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(?s)([-+@ ]{0,3}.{0,20}\n){0,12}") {
            let diff = format!("+++ b/x\n@@ -1,1 +1,1 @@ y\n{text}");
            for change in unified(&diff) {
                change.sentence();
                change.place();
                for at in change.at {
                    prop_assert!(diff.get(at).is_some());
                }
            }
            stated(&text, "x");
        }
    }
}
