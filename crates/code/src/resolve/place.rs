//! Paths within a work tree, as texts with `/` between their parts.
//!
//! Owns going up and down. It must not know which paths there are.

use crate::limits::PATH_BYTES_MAX;

/// The folder that something lies in; empty for the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The name without the folder.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The name without the folder and what stands behind its last point.
pub(crate) fn stem(path: &str) -> &str {
    let name = name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Something in a folder.
pub(crate) fn within(folder: &str, name: &str) -> String {
    match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

/// A way from a folder, with `.` and `..` gone; none where it leads out of the work tree.
pub(crate) fn follow(folder: &str, way: &str) -> Option<String> {
    if folder.len() + way.len() > PATH_BYTES_MAX || way.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in way.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A folder and those around it, up to the root.
pub(crate) fn around(folder: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(folder);
    std::iter::from_fn(move || {
        let folder = next?;
        next = (!folder.is_empty()).then(|| parent(folder));
        Some(folder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_followed_within_the_work_tree_alone() {
        assert_eq!(follow("a/b", "../c/./d.ts").as_deref(), Some("a/c/d.ts"));
        assert_eq!(follow("a", "..").as_deref(), Some(""));
        for out in ["../..", "/etc/passwd", "../../a"] {
            assert_eq!(follow("a", out), None, "{out}");
        }
    }

    #[test]
    fn folders_are_around_one_another_up_to_the_root() {
        assert_eq!(around("a/b").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(around("").collect::<Vec<_>>(), [""]);
        assert_eq!(
            (parent("a/b.rs"), name("a/b.rs"), stem("a/b.d.ts")),
            ("a", "b.rs", "b.d")
        );
        assert_eq!(
            (within("", "a"), within("a", "b")),
            ("a".into(), "a/b".into())
        );
    }
}
