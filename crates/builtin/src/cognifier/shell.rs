//! Shell: which commands a text runs, and whether it is one alone.
//!
//! Owns quotes, comments, redirections, branches and what joins commands and lines. It must not know
//! what a command does, nor how it ended.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Whether a text is one command in one line, beside which nothing else runs. What cannot be told counts as more than one.
pub(super) fn is_alone(text: &str) -> bool {
    const JOINTS: [char; 6] = [';', '&', '|', '`', '\'', '"'];
    const RUNS: [&str; 3] = ["$(", "<(", ">("];
    let text = joined(text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let bare = QUOTED.replace_all(line, "_");
    let bare = REDIRECTED.replace_all(&bare, " ");
    // A mark of a quote that is left has no end, or what stands behind it is run.
    !bare.contains(JOINTS) && !RUNS.iter().any(|runs| bare.contains(runs))
}

/// A text with blanks for the ends of those lines that go on in the next: each byte stands where it stood.
pub(super) fn joined(text: &str) -> Cow<'_, str> {
    if !text.contains("\\\n") && !text.contains("\\\r\n") {
        return Cow::Borrowed(text);
    }
    let joined = |(c, role): (char, Role)| if role == Role::Continued { ' ' } else { c };
    Cow::Owned(roles(text).map(joined).collect())
}

/// The commands that a text runs, in order, as ends of lines, `;`, `&&` and `||` part them. What is piped stays together.
/// Comments are left out, and so are documents that a command is given within the text, and what chooses a branch of a
/// `case`.
pub(super) fn parts(text: &str) -> Vec<String> {
    let text = without_documents(text);
    let (mut parts, mut part) = (Vec::new(), String::new());
    let mut before = None;
    let mut brackets = Brackets::default();
    for (c, role) in roles(&text) {
        let is_bare = role == Role::Bare;
        let is_double = is_bare && matches!(c, '&' | '|') && before == Some(c);
        before = (is_bare && !is_double).then_some(c);
        let ends_pattern = is_bare && brackets.ends_pattern(&part, c);
        if is_double {
            part.pop();
        }
        if is_double || (is_bare && matches!(c, ';' | '\n')) {
            parts.push(core::mem::take(&mut part));
        } else if ends_pattern {
            part.clear();
        } else if role == Role::Continued {
            part.push(' ');
        } else if role != Role::Comment {
            part.push(c);
        }
    }
    parts.push(part);
    let parts = parts.iter().map(|part| part.trim());
    let said = parts.filter(|part| !part.is_empty());
    said.map(str::to_owned).collect()
}

/// A command by the stages that it is piped through. One with another in place of an argument is a single stage: what is
/// piped there is not looked into.
pub(super) fn stages(command: &str) -> Vec<&str> {
    if command.contains("$(") || command.contains('`') {
        return vec![command];
    }
    let (mut stages, mut from, mut before) = (Vec::new(), 0, None);
    for ((at, _), (c, role)) in command.char_indices().zip(roles(command)) {
        if role == Role::Bare && c == '|' && before != Some('>') {
            stages.push(&command[from..at]);
            from = at + 1;
        }
        before = (role == Role::Bare).then_some(c);
    }
    stages.push(&command[from..]);
    // `|&` hands on errors as well.
    let stages = stages.iter().map(|stage| stage.trim_start_matches('&'));
    stages.collect()
}

/// How many brackets are open: here, and where each `case` began that has not ended.
#[derive(Debug, Default)]
struct Brackets {
    open: u32,
    cases: Vec<u32>,
}

impl Brackets {
    /// Whether the bare character that comes behind `part` ends a pattern of a `case`: a bracket that closes none.
    fn ends_pattern(&mut self, part: &str, c: char) -> bool {
        let ends_word = !c.is_alphanumeric();
        if c.is_whitespace() && part.ends_with("case") && words(part).next() == Some("case") {
            self.cases.push(self.open);
        } else if ends_word && part.ends_with("esac") && part.trim_start() == "esac" {
            self.cases.pop();
        }
        match c {
            '(' => self.open += 1,
            ')' if self.cases.last() == Some(&self.open) => return true,
            ')' => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        false
    }
}

/// The words of a command without those that begin a branch, the variables that it sets, and brackets around it. Of what
/// ends a branch there are none: behind it stands where the branch reads and writes, and what it is piped into.
pub(super) fn words(command: &str) -> impl Iterator<Item = &str> {
    let words = begun(command).split_whitespace();
    let mut words = words.map(|word| word.trim_start_matches('(')).peekable();
    let ends = words.peek().is_some_and(|word| ends_branch(word));
    let words = words.filter(move |_| !ends);
    words.map(|word| word.trim_end_matches(')'))
}

/// A command from its first word on that neither begins a branch nor sets a variable.
fn begun(command: &str) -> &str {
    const BEGIN: [&str; 9] = [
        "if", "elif", "while", "until", "!", "do", "then", "else", "{",
    ];
    let mut rest = command;
    loop {
        rest = rest.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        let word = rest.split_whitespace().next().unwrap_or_default();
        let set = || ASSIGNED.find(rest).map(|found| found.len());
        let begins = BEGIN.contains(&word).then_some(word.len());
        let Some(bytes) = begins.or_else(set) else {
            return rest;
        };
        rest = &rest[bytes..];
    }
}

/// Whether a word ends a branch, with or without a blank before what follows.
fn ends_branch(word: &str) -> bool {
    const END: [&str; 4] = ["done", "fi", "esac", "}"];
    let end = word.split([')', '<', '>', '|', '&']).next();
    word.starts_with(')') || end.is_some_and(|end| END.contains(&end))
}

/// A text without what stands between `<<END` and a line that is `END`; where there is none, without all that follows.
fn without_documents(text: &str) -> String {
    let mut kept = Vec::new();
    let mut until: Option<&str> = None;
    for line in text.lines() {
        match until {
            Some(end) if line.trim() == end => until = None,
            Some(_) => {}
            None => {
                kept.push(line);
                let end = DOCUMENT.captures(line).and_then(|found| found.get(1));
                until = end.map(|end| end.as_str());
            }
        }
    }
    kept.join("\n")
}

/// What a character is to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It may part commands.
    Bare,
    /// It stands for itself, or marks what does.
    Quoted,
    /// Nobody reads it.
    Comment,
    /// Of a line's end behind which the line goes on.
    Continued,
}

/// Where a character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    Single,
    Double,
    Comment,
}

/// The characters of a text, each with what it is.
fn roles(text: &str) -> impl Iterator<Item = (char, Role)> {
    let (mut within, mut begins_word) = (Within::Nothing, true);
    // The first byte behind what a backslash stands before, and what that is.
    let mut escaped = (0, Role::Quoted);
    text.char_indices().map(move |(at, c)| {
        if at < escaped.0 {
            return (c, escaped.1);
        }
        let (next, role) = match (within, c) {
            (Within::Single, '\'') | (Within::Double, '"') => (Within::Nothing, Role::Quoted),
            (Within::Comment, '\n') => (Within::Nothing, Role::Bare),
            (Within::Comment, _) => (within, Role::Comment),
            (Within::Nothing | Within::Double, '\\') => {
                escaped = escape(text, at);
                (within, escaped.1)
            }
            (Within::Nothing, '\'') => (Within::Single, Role::Quoted),
            (Within::Nothing, '"') => (Within::Double, Role::Quoted),
            (Within::Nothing, '#') if begins_word => (Within::Comment, Role::Comment),
            (Within::Nothing, _) => (within, Role::Bare),
            (Within::Single | Within::Double, _) => (within, Role::Quoted),
        };
        within = next;
        begins_word = match role {
            Role::Bare => c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('),
            // It is read as a blank.
            Role::Continued => true,
            Role::Quoted | Role::Comment => false,
        };
        (c, role)
    })
}

/// The first byte behind what the backslash at `at` stands before, and what both are.
fn escape(text: &str, at: usize) -> (usize, Role) {
    let from = at + 1;
    let rest = &text[from..];
    let mut ends = ["\n", "\r\n"].into_iter();
    match ends.find(|end| rest.starts_with(*end)) {
        Some(end) => (from + end.len(), Role::Continued),
        None => {
            let bytes = rest.chars().next().map_or(0, char::len_utf8);
            (from + bytes, Role::Quoted)
        }
    }
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed and tested")
}

/// `<<END`, and not `<<<`, behind which a word stands.
static DOCUMENT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"(?:^|[^<])<<-?[ \t]*\\?["']?([A-Za-z_]\w*)"#));

/// What is meant as it stands. Between double marks a command may still be run for its words.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| compiled(MEANT));
const MEANT: &str = r#"\\.|'[^']*'|"(?:[^"\\`$]|\$*\\.|\$+[^"(\\`$])*\$*""#;

/// A variable that is set to what no command has to be run for: `X=1`, `X="$Y z"`, `X=$((Y + 1))`, `X=(a b)`.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    let other =
        r#"\$'[^']*'|[^\s"'\\`$(|&<>]|\$[^\s"'\\`$(]|\$\(\((?:[^`$]|\$[^(`])*?\)\)|\([^()`]*\)"#;
    compiled(&format!(
        r"^[A-Za-z_]\w*(?:\[[^\]\s`(]*\])?\+?=(?:{MEANT}|{other})*(?:\s|$)"
    ))
});

/// The redirections that are written with a mark which joins commands elsewhere: `2>&1`, `&>log`, `>|log`.
static REDIRECTED: LazyLock<Regex> = LazyLock::new(|| compiled(r"[<>]&|&>|>\|"));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_joined_keeps_its_place_and_is_joined_once(
            text in "(?:[a;#'\" 실]|\\\\|\\\\?\r?\n){0,24}",
        ) {
            let line = joined(&text);
            prop_assert_eq!(line.len(), text.len());
            prop_assert_eq!(joined(&line), &*line);
            let is_blank = |part: &String| part.trim().is_empty();
            prop_assert!(!parts(&text).iter().any(is_blank));
        }
    }

    #[test]
    fn one_command_is_alone_whatever_it_quotes_and_wherever_it_writes() {
        for text in [
            "diff -r tests/a tests/b",
            "\n  grep x f  \n\n",
            "grep 'a; b && c' f",
            r#"grep "a|b 'c'" f"#,
            r"grep a\|b\;c f",
            r#"grep "^a\"b|\$(c)$" f"#,
            r#"test "$HOME" = "$x$""#,
            "grep x f 2>&1",
            "grep x f >/dev/null 2>/dev/null",
            "grep x f &>log",
            "grep x f >|log <&3",
            "grep -rn x \\\n  src",
            "grep -rn x \\\r\n  src \\\r\n  tests\r\n",
            "grep \"it's\" \\\n  src",
        ] {
            assert!(is_alone(text), "{text}");
        }
    }

    #[test]
    fn whatever_else_runs_a_command_is_not_alone() {
        for text in [
            "",
            "diff a b\npytest -q",
            "diff a b;pytest",
            "diff a b; pytest -q",
            "test -f x&&make",
            "test -f x || make",
            "diff a b & make",
            "diff a b&",
            "diff a b 2>&1|tee log",
            "diff a b 2>&1 &make",
            "diff a b &&>log make",
            "grep x f|&tail",
            "diff <(make a) b",
            "test `make a`",
            "test $(make a) = b",
            r#"test "$(make a)" = b"#,
            r#"test "a`make`" = b"#,
            r#"test "$$(make a)" = b"#,
            "grep 'x f; make",
            "grep \"x\ny\" f",
            "grep x \\\n  src; make",
            "grep x f \\\n\nmake",
            "grep x f \\ \nmake",
            "grep x f \\\\\nmake",
            "grep x f # of y \\\nmake",
            "grep 'x\\\ny' f",
        ] {
            assert!(!is_alone(text), "{text}");
        }
    }

    #[test]
    fn joined_lines_keep_the_place_of_each_byte() {
        for (text, line) in [
            ("make \\\n  check", "make     check"),
            ("make \\\r\n실 \\\n x", "make    실    x"),
            ("echo \"a\\\nb\"", "echo \"a  b\""),
            ("echo 'a\\\nb'", "echo 'a\\\nb'"),
            ("echo 'a\\' \\\nb", "echo 'a\\'   b"),
            ("make \\\\\ncheck", "make \\\\\ncheck"),
            ("make \\\\\\\ncheck", "make \\\\  check"),
            ("make # x \\\ncheck", "make # x \\\ncheck"),
            ("make a#x \\\ncheck", "make a#x   check"),
            ("make # it's\ncheck \\\n x", "make # it's\ncheck    x"),
            ("make \\", "make \\"),
        ] {
            assert_eq!(joined(text), line);
            assert_eq!(joined(&joined(text)), line);
            assert_eq!(text.len(), line.len());
        }
    }

    #[test]
    fn words_begin_behind_branches_and_variables_and_stages_are_piped() {
        let cases: [(&str, &[&str]); 12] = [
            ("if ! (X=1 make a)", &["make", "a"]),
            ("X=1", &[]),
            ("X='a b' Y=\"$Z \\\" c\" Z=a\\ b make", &["make"]),
            ("X= Y+=b Z[0]=c make", &["make"]),
            ("X=$HOME/a:${Y:-b} make", &["make"]),
            ("X=$((Y + $Z)) make", &["make"]),
            ("X=(a 'b') make", &["make"]),
            ("X=$'a b' make", &["make"]),
            ("X=$(a) make", &["X=$(a", "make"]),
            ("X=`a` make", &["X=`a`", "make"]),
            ("make X=1", &["make", "X=1"]),
            ("1X=1 make", &["1X=1", "make"]),
        ];
        for (command, said) in cases {
            assert_eq!(words(command).collect::<Vec<_>>(), said, "{command}");
        }
        for (command, piped) in [
            ("a", vec!["a"]),
            ("a|b |& c", vec!["a", "b ", " c"]),
            ("a 'b|c' >| d \\| e | f", vec!["a 'b|c' >| d \\| e ", " f"]),
            ("a $(b | c) | d", vec!["a $(b | c) | d"]),
        ] {
            assert_eq!(stages(command), piped);
        }
    }

    #[test]
    fn commands_are_parted_outside_of_quotes_comments_and_documents() {
        let cases: [(&str, &[&str]); 20] = [
            ("", &[]),
            (" ;; \n&&", &[]),
            ("cat f", &["cat f"]),
            ("a; b && c || d\ne\r\nf", &["a", "b", "c", "d", "e", "f"]),
            ("a;b&&c||d", &["a", "b", "c", "d"]),
            ("a | b |& c & d &>log 2>&1", &["a | b |& c & d &>log 2>&1"]),
            (
                "grep 'a; b' \"c && d\" e\\;f",
                &["grep 'a; b' \"c && d\" e\\;f"],
            ),
            (
                "find . -exec cat {} \\; ; make",
                &["find . -exec cat {} \\;", "make"],
            ),
            ("grep \"a\\\";b\" f; make", &["grep \"a\\\";b\" f", "make"]),
            ("cat f # it's; make\nls", &["cat f", "ls"]),
            ("# see; make\ncat a#b", &["cat a#b"]),
            ("cat \\\n  f; ls", &["cat     f", "ls"]),
            ("grep 'x; make\nls", &["grep 'x; make\nls"]),
            (
                "cat > f <<'EOF'\nmake; it's\n  EOF\nls",
                &["cat > f <<'EOF'", "ls"],
            ),
            ("cat <<-END > f\nmake\n", &["cat <<-END > f"]),
            ("cat <<< x\nmake", &["cat <<< x", "make"]),
            (
                "(case $(a) in\n  b | 'c)') d ;;\n  *)\n (e; f) ;;\nesac; g)",
                &["(case $(a) in", "d", "(e", "f)", "esac", "g)"],
            ),
            (
                "if a; then case b in c) d;; esac; fi",
                &["if a", "d", "esac", "fi"],
            ),
            ("(grep case f; ls)", &["(grep case f", "ls)"]),
            ("edit f: a) by b", &["edit f: a) by b"]),
        ];
        for (text, commands) in cases {
            assert_eq!(parts(text), commands, "{text}");
        }
    }
}
