//! Verbs: what sort of command one is.
//!
//! Owns which programs show, change, move or run something. It must not know how one ended.

use super::shell::{stages, words};

/// Commands of editors, behind which stands the text that they write.
const EDITORS: [&str; 7] = [
    "edit",
    "insert",
    "str_replace",
    "str_replace_editor",
    "apply_patch",
    "Edit",
    "Write",
];

/// Programs that filter or keep what they are handed, beside those that show.
const FILTERS: [&str; 6] = ["awk", "cut", "sort", "tee", "tr", "uniq"];

/// Programs of which how they ended says nothing of the work, beside those that say something themselves.
const SILENT: [&str; 17] = [
    "true", ":", "set", "unset", "export", "source", ".", "sleep", "exit", "break", "continue",
    "for", "case", "read", "test", "[", "[[",
];

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Reads or lists.
    View,
    /// Changes a file.
    Edit,
    /// Makes a new file.
    Create,
    /// Hands the work in.
    Submit,
    /// Moves and removes.
    Tidy,
    /// Runs something whose outcome matters.
    Run,
}

impl Verb {
    /// What one command does, where its tool's name says whether it `edits`.
    pub(super) fn of(command: &str, edits: bool) -> Self {
        let mut words = words(command);
        let (first, second) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        match first {
            "create" | "touch" => Self::Create,
            "str_replace_editor" if second == "create" => Self::Create,
            "str_replace_editor" if second == "view" => Self::View,
            "patch" => Self::Edit,
            "sed" if second == "-i" => Self::Edit,
            editor if EDITORS.contains(&editor) => Self::Edit,
            "submit" => Self::Submit,
            "rm" | "mv" | "cp" | "mkdir" | "chmod" => Self::Tidy,
            "open" | "cat" | "ls" | "find" | "find_file" | "search_dir" | "search_file"
            | "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "goto" | "scroll_down"
            | "scroll_up" | "head" | "tail" | "sed" | "view" | "pwd" | "cd" | "tree" | "wc"
            | "Read" | "Grep" | "Glob" => Self::View,
            "git"
                if matches!(
                    second,
                    "log" | "show" | "diff" | "status" | "blame" | "grep"
                ) =>
            {
                Self::View
            }
            _ if edits => Self::Edit,
            _ => Self::Run,
        }
    }
}

/// Whether a command is one of an editor, behind which stands the text that it writes.
pub(super) fn is_given_text(command: &str) -> bool {
    let program = words(command).next();
    program.is_some_and(|program| program == "create" || EDITORS.contains(&program))
}

/// Those of a script's commands that run something.
pub(super) fn ran(parts: &[String]) -> impl Iterator<Item = &String> {
    let said = parts.iter().filter(|part| !says_nothing(part));
    said.filter(|part| Verb::of(part, false) == Verb::Run)
}

/// Whether what a command prints may be of a file.
pub(super) fn shows(command: &str) -> bool {
    let program = words(command).next();
    program != Some("cd") && Verb::of(command, false) == Verb::View
}

/// Whether how a command ended says nothing of the work: it parts what is shown, sets the shell up, ends a branch, or says
/// what else runs, and how often.
pub(super) fn says_nothing(command: &str) -> bool {
    match words(command).next() {
        None => true,
        // What it prints may be what another command works on.
        Some("echo" | "printf") => !stages(command).into_iter().skip(1).any(works),
        Some(program) => SILENT.contains(&program),
    }
}

/// Whether a command does something with what it is handed, and does not only show, filter, keep or read it.
fn works(command: &str) -> bool {
    let filters = words(command)
        .next()
        .is_some_and(|program| FILTERS.contains(&program));
    !filters && !says_nothing(command) && Verb::of(command, false) != Verb::View
}
