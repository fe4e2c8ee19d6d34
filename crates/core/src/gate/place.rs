//! Which of the places where the same was found a citation moved to.
//!
//! Owns that choice, and the citation that follows from it. It must not know how they were found.

use core::cmp::Reverse;

use super::steps;
use crate::citation::Citation;

/// A place where the same lies that was cited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path from the root of the work tree.
    pub path: String,
    /// Its first and last line, counted from 1; none for a whole file.
    pub lines: Option<(u32, u32)>,
    /// Of a symbol: its id in the code graph, where it has one.
    pub symbol: Option<String>,
    /// Whether nothing can be said of it but that it is there: so little was cited that this may be something else that
    /// looks the same, or no citation can name the place, since its path is no text.
    pub tells_nothing: bool,
}

/// What comes of the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// It moved there: a place that a citation can name.
    One(&'a Place),
    /// It may have moved to one of several, or to one that tells nothing.
    Several,
    /// There is no place.
    Nothing,
}

/// Where a citation moved to. In its own file that is the nearest place; elsewhere, the only one, or the only one in
/// a file of the same name. Copies of one text in several files tell nothing, nor does a name alone.
#[must_use]
pub fn choose<'a>(places: &'a [Place], citation: &Citation) -> Choice<'a> {
    let (path, line) = cited(citation);
    if places.is_empty() {
        return Choice::Nothing;
    }
    let is_named_only = matches!(
        citation,
        Citation::Symbol {
            signature: None,
            ..
        }
    );
    let tells = |place: &&Place| !(place.tells_nothing || is_named_only);
    let telling = || places.iter().filter(tells);
    let distance = |place: &&Place| {
        let first = place.lines.map_or(0, |(first, _)| first);
        (first.abs_diff(line), first)
    };
    let here = telling().filter(|place| is_same(&place.path, path));
    if let Some(nearest) = here.min_by_key(distance) {
        return Choice::One(nearest);
    }
    let same_name = telling().filter(|place| name(&place.path) == name(path));
    match (only_file(telling()), only_file(same_name)) {
        (Some(only), _) if places.iter().all(|place| tells(&place)) => Choice::One(only),
        (_, Some(only)) => Choice::One(only),
        _ => Choice::Several,
    }
}

/// The same citation, of a place that [`choose`] gave.
pub(super) fn refreshed(citation: &Citation, place: &Place) -> Citation {
    let mut refreshed = citation.clone();
    match &mut refreshed {
        Citation::File { path, lines, .. } => {
            path.clone_from(&place.path);
            *lines = place.lines;
        }
        Citation::Symbol { id, file, .. } => {
            file.clone_from(&place.path);
            if let Some(symbol) = &place.symbol {
                id.clone_from(symbol);
            }
        }
        _ => {}
    }
    refreshed
}

/// Whether citations say what others said, in their order, and differ at most in where that lies. Only of what says something of
/// its content it can be told that it is the same.
#[must_use]
pub fn is_refreshed(before: &[Citation], after: &[Citation]) -> bool {
    let mut pairs = before.iter().zip(after);
    before.len() == after.len()
        && pairs.all(|(before, after)| before == after || is_elsewhere(before, after))
}

fn is_elsewhere(before: &Citation, after: &Citation) -> bool {
    let span = |lines: Option<(u32, u32)>| lines.map(|(first, last)| last.checked_sub(first));
    match (before, after) {
        (
            Citation::File {
                lines: from,
                fingerprint: Some(said),
                ..
            },
            Citation::File {
                path,
                lines: to,
                fingerprint: Some(says),
            },
        ) => said == says && span(*from) == span(*to) && steps(path).is_ok(),
        (
            Citation::Symbol {
                name: called,
                signature: Some(said),
                ..
            },
            Citation::Symbol {
                name,
                file,
                signature: Some(says),
                ..
            },
        ) => called == name && said == says && steps(file).is_ok(),
        _ => false,
    }
}

/// The path that a citation names, and its first line.
fn cited(citation: &Citation) -> (&str, u32) {
    match citation {
        Citation::File { path, lines, .. } => (path, lines.map_or(0, |(first, _)| first)),
        Citation::Symbol { file, .. } => (file, 0),
        _ => ("", 0),
    }
}

/// The first place of the only file that there are places in; none where there are several files, or none.
fn only_file<'a>(places: impl Iterator<Item = &'a Place>) -> Option<&'a Place> {
    let mut places: Vec<&Place> = places.collect();
    places.sort_by_key(|place| Reverse(place.lines));
    let first = places.pop()?;
    places
        .iter()
        .all(|place| place.path == first.path)
        .then_some(first)
}

fn is_same(one: &str, other: &str) -> bool {
    matches!((steps(one), steps(other)), (Ok(one), Ok(other)) if one == other)
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
