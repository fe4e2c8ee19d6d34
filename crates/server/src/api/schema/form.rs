//! Forms of what is written as text: patterns of ECMA 262, as JSON schemas have them.
//!
//! Owns the patterns. What they say is what the rules check, which know nothing of them: `make schemathesis` holds one against
//! the other.

use std::sync::LazyLock;

use sillok_core::event::EventKind;
use sillok_core::limits::{
    DOMAIN_BYTES_MAX, PRINCIPAL_ID_CHARS_MAX, RELATION_NAME_BYTES_MAX, SEGMENT_CHARS_MAX,
    TASK_KIND_BYTES_MAX,
};

/// A name in a scope, which is neither `.` nor `..`.
fn segment() -> String {
    format!(r"(?!\.{{1,2}}(?:/|#|$))[A-Za-z0-9._-]{{1,{SEGMENT_CHARS_MAX}}}")
}

fn org() -> String {
    format!("org/{}", segment())
}

fn inside(level: &str) -> String {
    format!("/{level}/{}", segment())
}

fn any_scope() -> String {
    let (project, worktree, task) = (inside("project"), inside("worktree"), inside("task"));
    format!("{}(?:{project}(?:{worktree}(?:{task})?)?)?", org())
}

const UUID: &str = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

pub(super) const UUID_V7: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$";

/// A path downward from the root of the work tree.
fn downward() -> String {
    let part = r"(?!\.{1,2}(?:/|$))[^/\\\x00-\x1f\x7f-\x9f]+";
    format!("{part}(?:/{part})*")
}

/// A symbol's name, which says something.
const SYMBOL_NAME: &str = r"(?=[^@]*[^\s@])[^@\x00-\x1f\x7f-\x9f]+";

/// A name of small letters, digits and some marks.
fn plain(bytes_max: usize) -> String {
    format!("^[a-z0-9._-]{{1,{bytes_max}}}$")
}

pub(super) static SCOPE: LazyLock<String> = LazyLock::new(|| format!("^{}$", any_scope()));

pub(super) static PREFIX: LazyLock<String> = LazyLock::new(|| format!(r"^(?:\*|{})$", any_scope()));

pub(super) static TASK: LazyLock<String> = LazyLock::new(|| {
    let (project, worktree, task) = (inside("project"), inside("worktree"), inside("task"));
    format!("^{}{project}{worktree}{task}$", org())
});

pub(super) static SHARED: LazyLock<String> =
    LazyLock::new(|| format!("^{}(?:{})?$", org(), inside("project")));

pub(super) static IN_PROJECT: LazyLock<String> = LazyLock::new(|| {
    let (project, worktree, task) = (inside("project"), inside("worktree"), inside("task"));
    format!("^{}{project}(?:{worktree}(?:{task})?)?$", org())
});

pub(super) static RECORD: LazyLock<String> =
    LazyLock::new(|| format!("^{}#[1-9][0-9]{{0,18}}$", any_scope()));

pub(super) static LED: LazyLock<String> =
    LazyLock::new(|| format!("^(?:decision|evidence):{}#{UUID}$", any_scope()));

pub(super) static NODE: LazyLock<String> = LazyLock::new(|| {
    let (scope, path) = (any_scope(), downward());
    format!(
        "^(?:(?:decision|evidence):{scope}#{UUID}|file:{path}|symbol:{SYMBOL_NAME}(?:@{path})?)$"
    )
});

pub(super) static PLACE: LazyLock<String> = LazyLock::new(|| {
    let path = downward();
    format!("^(?:file:{path}|symbol:{SYMBOL_NAME}(?:@{path})?)$")
});

pub(super) static SYMBOL: LazyLock<String> = LazyLock::new(|| format!("^{SYMBOL_NAME}$"));

pub(super) static PATH: LazyLock<String> = LazyLock::new(|| format!("^{}$", downward()));

/// A folder of the work tree, or all of it.
pub(super) static FOLDER: LazyLock<String> =
    LazyLock::new(|| format!(r"^(?:\.?/?|{}/?)$", downward()));

pub(super) static PATH_PREFIX: LazyLock<String> = LazyLock::new(|| format!("^{}/?$", downward()));

pub(super) static NAME: LazyLock<String> = LazyLock::new(|| plain(DOMAIN_BYTES_MAX));

pub(super) static TASK_KIND: LazyLock<String> = LazyLock::new(|| plain(TASK_KIND_BYTES_MAX));

pub(super) static RELATION: LazyLock<String> = LazyLock::new(|| {
    let further = RELATION_NAME_BYTES_MAX - 1;
    format!("^[A-Za-z][A-Za-z0-9_]{{0,{further}}}$")
});

pub(super) static PRINCIPAL: LazyLock<String> =
    LazyLock::new(|| format!("^[A-Za-z0-9._@-]{{1,{PRINCIPAL_ID_CHARS_MAX}}}$"));

pub(super) const MEDIA_TYPE: &str = "^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+$";

pub(super) const COMMIT: &str = "^[0-9a-fA-F]{7,64}$";

pub(super) const HASH: &str = "^[0-9a-f]{64}$";

pub(super) const SHORT_HASH: &str = "^[0-9a-f]{32}$";

/// A line that says something.
pub(super) const LINE: &str =
    r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

pub(super) static EVENT_KINDS: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let one = names.join("|");
    format!("^(?:{one})(?:,(?:{one}))*$")
});
