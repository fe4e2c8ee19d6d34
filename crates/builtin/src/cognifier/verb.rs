//! Verbs: what sort of command one is.
//!
//! Owns which programs show, change, move or run something. It must not know how one ended.

use super::shell::{piped_into, words};

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

/// Whether how a command ended says nothing of the work: it parts what is shown, sets the shell up, ends a branch, or says
/// what else runs, and how often.
pub(super) fn says_nothing(command: &str) -> bool {
    match words(command).next() {
        None => true,
        // What it prints may be what another command works on.
        Some("echo" | "printf") => !piped_into(command).is_some_and(|into| works(&into)),
        Some(program) => matches!(
            program,
            "true"
                | ":"
                | "set"
                | "export"
                | "sleep"
                | "exit"
                | "for"
                | "case"
                | "read"
                | "test"
                | "["
                | "[["
        ),
    }
}

/// Whether a command does something with what it is handed, and does not only show, filter or keep it.
fn works(command: &str) -> bool {
    let program = words(command).next();
    let keeps = program.is_none_or(|program| matches!(program, "cut" | "sort" | "tee" | "uniq"));
    !keeps && Verb::of(command, false) == Verb::Run
}
