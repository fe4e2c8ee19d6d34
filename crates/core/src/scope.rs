//! Scopes: the path that names one, its level, and how scopes contain one another.
//!
//! Owns the syntax (`org/acme/project/api/worktree/main/task/42`) and the order
//! `task < worktree < project < org`. It must not know what is stored in a scope.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, ErrorCode};
use crate::limits::SEGMENT_CHARS_MAX;

/// How wide a scope is. Ordered from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// One piece of work.
    Task,
    /// One branch checked out by one or more agents.
    Worktree,
    /// One repository or product.
    Project,
    /// Everything that belongs to one organisation.
    Org,
}

impl Level {
    /// All levels, narrowest first.
    pub const ALL: [Self; 4] = [Self::Task, Self::Worktree, Self::Project, Self::Org];

    /// The keyword that introduces a name of this level in a scope path.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Worktree => "worktree",
            Self::Project => "project",
            Self::Org => "org",
        }
    }

    /// How many names a path of this level has: 1 for an organisation, 4 for a task.
    const fn depth(self) -> usize {
        match self {
            Self::Org => 1,
            Self::Project => 2,
            Self::Worktree => 3,
            Self::Task => 4,
        }
    }

    const fn of_depth(depth: usize) -> Option<Self> {
        match depth {
            1 => Some(Self::Org),
            2 => Some(Self::Project),
            3 => Some(Self::Worktree),
            4 => Some(Self::Task),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.keyword())
    }
}

/// A scope, named by its canonical path. Always valid: it can only be made by parsing.
#[derive(Clone, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Scope {
    path: Arc<str>,
}

/// By the path. Of thousands of nodes most are of one scope, so a scope and a copy of it are not compared byte by byte.
impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.path, &other.path) || self.path == other.path
    }
}

impl Hash for Scope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

/// As [`PartialEq`].
impl Ord for Scope {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.path, &other.path) {
            return Ordering::Equal;
        }
        self.path.cmp(&other.path)
    }
}

impl PartialOrd for Scope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Scope {
    /// Parses a canonical path.
    ///
    /// # Errors
    /// `invalid_scope`, saying which part is wrong.
    pub fn parse(path: &str) -> Result<Self, Error> {
        let mut parts = path.split('/');
        let mut depth = 0;
        while let Some(keyword) = parts.next() {
            depth += 1;
            let level = Level::of_depth(depth)
                .ok_or_else(|| invalid(path, "it has more parts than org/project/worktree/task"))?;
            if keyword != level.keyword() {
                return Err(invalid(
                    path,
                    &format!(
                        "'{}' stands where '{}' is expected",
                        clip(keyword),
                        level.keyword()
                    ),
                ));
            }
            let name = parts
                .next()
                .ok_or_else(|| invalid(path, &format!("'{keyword}' has no name after it")))?;
            check_segment(path, name)?;
        }
        Ok(Self { path: path.into() })
    }

    /// The canonical path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// The scope `level/name` directly inside this one.
    ///
    /// # Errors
    /// `invalid_scope` when this is a task or the name is not a valid segment.
    pub fn child(&self, name: &str) -> Result<Self, Error> {
        let level = Level::of_depth(self.level().depth() + 1)
            .ok_or_else(|| invalid(self.as_str(), "a task holds no scopes"))?;
        Self::parse(&format!("{}/{}/{name}", self.path, level.keyword()))
    }

    /// How wide this scope is.
    #[must_use]
    pub fn level(&self) -> Level {
        let names = self.path.split('/').count() / 2;
        Level::of_depth(names).expect("a parsed scope has one to four names")
    }

    /// The last name of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path
            .rsplit('/')
            .next()
            .expect("splitting yields at least one part")
    }

    /// The next wider scope; none for an organisation.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (head, _name) = self
            .path
            .rsplit_once('/')
            .expect("a parsed scope has a keyword and a name");
        head.rsplit_once('/').map(|(parent, _keyword)| Self {
            path: parent.into(),
        })
    }

    /// This scope and every wider one that holds it, narrowest first.
    #[must_use]
    pub fn with_ancestors(&self) -> Vec<Self> {
        let mut scopes = vec![self.clone()];
        while let Some(parent) = scopes.last().and_then(Self::parent) {
            scopes.push(parent);
        }
        scopes
    }

    /// This scope or the ancestor of it that has `level`; none when this scope is wider.
    #[must_use]
    pub fn at_level(&self, level: Level) -> Option<Self> {
        self.with_ancestors()
            .into_iter()
            .find(|scope| scope.level() == level)
    }

    /// Whether `other` is this scope or lies inside it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other
            .path
            .strip_prefix(&*self.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The organisation's own name.
    #[must_use]
    pub fn org(&self) -> &str {
        self.path
            .split('/')
            .nth(1)
            .expect("a parsed scope names its organisation")
    }

    /// The project's own name; none for an organisation's scope.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        self.path.split('/').nth(3)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        Self::parse(path)
    }
}

impl TryFrom<String> for Scope {
    type Error = Error;

    fn try_from(path: String) -> Result<Self, Error> {
        Self::parse(&path)
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.path)
    }
}

/// What a token covers: everything (`*`, the operator of the installation) or one scope with all
/// that lies inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum ScopePrefix {
    /// Every organisation.
    All,
    /// One scope and everything inside it.
    Scope(Scope),
}

impl ScopePrefix {
    /// Whether `scope` is covered.
    #[must_use]
    pub fn covers(&self, scope: &Scope) -> bool {
        match self {
            Self::All => true,
            Self::Scope(prefix) => prefix.contains(scope),
        }
    }

    /// Whether everything that `other` covers is covered.
    #[must_use]
    pub fn covers_prefix(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Scope(_), Self::All) => false,
            (Self::Scope(outer), Self::Scope(inner)) => outer.contains(inner),
        }
    }

    /// Whether published entries of `scope` may be read: what is covered, and what lies above it,
    /// since recall in a scope sees its ancestors.
    #[must_use]
    pub fn sees_entries_of(&self, scope: &Scope) -> bool {
        match self {
            Self::All => true,
            Self::Scope(prefix) => prefix.contains(scope) || scope.contains(prefix),
        }
    }
}

impl fmt::Display for ScopePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Scope(scope) => scope.fmt(f),
        }
    }
}

impl FromStr for ScopePrefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "*" {
            Ok(Self::All)
        } else {
            Scope::parse(text).map(Self::Scope)
        }
    }
}

impl TryFrom<String> for ScopePrefix {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl Serialize for ScopePrefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn check_segment(path: &str, name: &str) -> Result<(), Error> {
    if name.is_empty() || name.len() > SEGMENT_CHARS_MAX {
        return Err(invalid(
            path,
            &format!("a name has 1 to {SEGMENT_CHARS_MAX} characters"),
        ));
    }
    if name == "." || name == ".." {
        return Err(invalid(path, "a name is not '.' or '..'"));
    }
    if let Some(bad) = name
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
    {
        return Err(invalid(
            path,
            &format!("{bad:?} is not one of A-Z a-z 0-9 . _ -"),
        ));
    }
    Ok(())
}

fn invalid(path: &str, why: &str) -> Error {
    Error::new(
        ErrorCode::InvalidScope,
        format!("'{}' is not a scope: {why}", clip(path)),
    )
}

fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment() -> impl Strategy<Value = String> {
        "[A-Za-z0-9._-]{1,128}".prop_filter("dots are no names", |s| s != "." && s != "..")
    }

    pub(crate) fn scope() -> impl Strategy<Value = Scope> {
        proptest::collection::vec(segment(), 1..=4).prop_map(|names| {
            let words = ["org", "project", "worktree", "task"];
            let path: Vec<String> = names
                .iter()
                .zip(words)
                .map(|(n, w)| format!("{w}/{n}"))
                .collect();
            Scope::parse(&path.join("/")).unwrap()
        })
    }

    proptest! {
        #[test]
        fn a_parsed_scope_prints_as_it_was_written(s in scope()) {
            prop_assert_eq!(Scope::parse(s.as_str()).unwrap(), s);
        }

        #[test]
        fn any_text_parses_or_is_refused_without_panic(text in ".{0,300}") {
            if let Ok(s) = Scope::parse(&text) {
                prop_assert_eq!(s.as_str(), &text);
            }
        }

        #[test]
        fn ancestors_contain_and_siblings_do_not(s in scope(), other in scope()) {
            for ancestor in s.with_ancestors() {
                prop_assert!(ancestor.contains(&s));
                prop_assert!(ancestor.level() >= s.level());
            }
            if s.contains(&other) {
                prop_assert!(other.with_ancestors().contains(&s));
            }
        }
    }

    #[test]
    fn a_longer_name_is_not_inside() {
        let api = Scope::parse("org/a/project/api").unwrap();
        let api2 = Scope::parse("org/a/project/api2").unwrap();
        assert!(!api.contains(&api2));
        assert!(api.contains(&api.child("main").unwrap()));
    }

    #[test]
    fn wrong_syntax_is_refused() {
        for bad in [
            "",
            "org",
            "org/",
            "org/a/",
            "project/a",
            "org/a/task/b",
            "org/a/project/..",
            "org/a b",
            "/org/a",
            "org/a/project/b/worktree/c/task/d/org/e",
        ] {
            assert_eq!(
                Scope::parse(bad).unwrap_err().code,
                ErrorCode::InvalidScope,
                "{bad}"
            );
        }
        assert!(Scope::parse(&format!("org/{}", "x".repeat(129))).is_err());
    }

    #[test]
    fn a_prefix_sees_its_ancestors_entries_only() {
        let prefix: ScopePrefix = "org/a/project/api/worktree/w".parse().unwrap();
        assert!(prefix.sees_entries_of(&Scope::parse("org/a/project/api").unwrap()));
        assert!(!prefix.covers(&Scope::parse("org/a/project/api").unwrap()));
        assert!(!prefix.sees_entries_of(&Scope::parse("org/a/project/other").unwrap()));
    }
}
