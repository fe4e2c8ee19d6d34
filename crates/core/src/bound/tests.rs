//! What is refused of a binding, and what is left of one.

use proptest::prelude::*;

use super::*;

fn place() -> Place {
    Place {
        repository: "host/a/b".into(),
        project: String::new(),
        commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
        branch: Some("main".into()),
        state: TreeState::Clean,
        is_shallow: false,
    }
}

fn file(path: &str) -> BoundFile {
    BoundFile {
        path: path.into(),
        fingerprint: Fingerprint::of_file(path.as_bytes()),
        owner: None,
    }
}

fn bound(paths: &[&str]) -> Bound {
    Bound {
        place: Some(place()),
        files: paths.iter().map(|path| file(path)).collect(),
        left_out: 0,
    }
}

#[test]
fn a_path_leads_from_the_root_down() {
    for good in ["a", "src/a.rs", "src/실록.rs", "a b/c", "...", ".github/x"] {
        assert_eq!(bound(&[good]).check(), Ok(()), "{good}");
    }
    for bad in [
        "",
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "a\0b",
        "a\nb",
        "\u{1b}[2J",
    ] {
        let refused = bound(&[bad]).check().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{bad:?}");
        let mut other = bound(&[]);
        other.place.as_mut().unwrap().project = bad.into();
        assert_eq!(other.check().is_err(), !bad.is_empty(), "{bad:?}");
    }
}

#[test]
fn what_names_no_commit_is_refused() {
    for bad in ["", "HEAD", "0123", "ABCDEF0123", "0123456789g"] {
        let mut one = bound(&[]);
        one.place.as_mut().unwrap().commit = Some(bad.into());
        assert!(one.check().is_err(), "{bad}");
        let mut other = bound(&["a"]);
        other.files[0].owner = Some(Owner {
            repository: "r".into(),
            commit: Some(bad.into()),
        });
        assert!(other.check().is_err(), "{bad}");
    }
    let mut unborn = bound(&[]);
    unborn.place.as_mut().unwrap().commit = None;
    assert_eq!(unborn.check(), Ok(()));
    assert_eq!(Bound::default().check(), Ok(()), "no repository is stated");
}

#[test]
fn a_binding_over_a_limit_names_it() {
    let many: Vec<String> = (0..=BOUND_FILES_MAX).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let limit = |bound: &Bound| bound.check().unwrap_err().details.unwrap().limit.unwrap();
    assert_eq!(limit(&bound(&many)).0, "bound files");
    let long = "x".repeat(BOUND_NAME_BYTES_MAX + 1);
    assert_eq!(limit(&bound(&[&long])).0, "path of a file bytes");
    let long: Vec<String> = (0..9)
        .map(|n| format!("{n}{}", "x".repeat(BOUND_NAME_BYTES_MAX - 1)))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    assert_eq!(limit(&bound(&long)).0, "bytes of a binding");
    assert!(bound(&["a", "a"]).check().is_err());
}

#[test]
fn secrets_in_names_are_masked_and_counted() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let mut said = bound(&[&format!("keys/{secret}")]);
    said.place.as_mut().unwrap().branch = Some(secret.clone());
    let (masked, count) = said.masked();
    assert_eq!(count, 2);
    assert!(!format!("{masked:?}").contains(&secret));
    assert_eq!(masked.files[0].fingerprint, said.files[0].fingerprint);
    assert_eq!(bound(&["a"]).masked(), (bound(&["a"]), 0));
}

proptest! {
    /// Whatever is cut to its room passes the check, keeps its first files, and says how many it has not.
    #[test]
    fn what_is_cut_fits_and_counts_what_it_left_out(
        names in proptest::collection::vec("[a-c]{1,3}(/[a-z]{1,400}){0,2}", 0..80), room in 0_usize..9_000,
    ) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let whole = bound(&names);
        let cut = whole.clone().within(room.min(BOUND_BYTES_MAX));
        prop_assert!(cut.files.is_empty() || cut.bytes() <= room);
        prop_assert_eq!(cut.check(), Ok(()));
        prop_assert_eq!(cut.files.len() + usize::try_from(cut.left_out).unwrap(), names.len());
        let mut rest = whole.files.iter();
        prop_assert!(cut.files.iter().all(|kept| rest.any(|file| file == kept)), "in their order");
        prop_assert_eq!(cut.clone().within(room.min(BOUND_BYTES_MAX)), cut);
    }

    /// Nothing that a text named is left.
    #[test]
    fn what_is_left_of_an_erased_one_names_no_file(name in "[a-z]{12}") {
        let left = bound(&[&name]).without_files();
        let says = format!("{left:?}").contains(&name);
        prop_assert!(!says);
        prop_assert_eq!(left.place, Some(place()));
    }
}
