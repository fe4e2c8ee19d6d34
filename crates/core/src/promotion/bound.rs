//! Where the products of a promotion were true first: the commit that was judged, and the files that their records name.
//!
//! Owns which files a product is bound to, and what they were: each as the last record of the pin told that names it, since the
//! verification speaks for the end of the pin. It must not know how a work tree is read.

use std::collections::{BTreeMap, BTreeSet};

use super::CognifyInput;
use crate::bound::{Bound, BoundFile, Owner, Place, TreeState};
use crate::citation::Citation;
use crate::entry::Binding;
use crate::id::RecordId;
use crate::verification::{Outcome, Verification};

/// Which file: the repository that it belongs to, if any, and its path in there.
type Key<'a> = (Option<&'a str>, &'a str);

/// A file as it was told last, with the commit that its repository was at.
#[derive(Clone, Copy)]
struct Told<'a> {
    file: &'a BoundFile,
    commit: Option<&'a str>,
}

/// What the work tree was at, and what the files were that were named in it.
pub(super) struct Places<'a> {
    input: &'a CognifyInput,
    verification: &'a Verification,
    place: Option<Place>,
    files: BTreeMap<Key<'a>, Told<'a>>,
}

impl<'a> Places<'a> {
    pub(super) fn of(verification: &'a Verification, input: &'a CognifyInput) -> Self {
        let mut files = BTreeMap::new();
        let mut last = None;
        let records = input.records.iter().filter_map(|one| one.bound.as_ref());
        let judged = match &verification.said.binding {
            Binding::Bound(bound) => Some(&**bound),
            Binding::NoRepository | Binding::Commit { .. } => None,
        };
        for bound in records.chain(judged) {
            last = bound.place.as_ref().or(last);
            for file in &bound.files {
                let (key, told) = (key(bound, file), told(bound, file));
                files.insert(key, told);
            }
        }
        Self {
            input,
            verification,
            place: place(&verification.said.binding, last),
            files,
        }
    }

    /// What a product is bound to that rests on these citations.
    pub(super) fn bind(&self, citations: &[Citation]) -> Binding {
        let said = &self.verification.said;
        // Several excerpts may be of one record.
        let records: BTreeSet<&RecordId> = citations.iter().filter_map(Citation::record).collect();
        let records = records.into_iter();
        let records = records.filter_map(|id| self.input.record(id)?.bound.as_ref());
        // Why something failed, and what was tried, is said where it was judged.
        let judged = match &said.binding {
            Binding::Bound(bound) if said.outcome == Outcome::Failed => Some(&**bound),
            _ => None,
        };
        let mut bound = Bound {
            place: self.place.clone(),
            ..Bound::default()
        };
        for one in records.chain(judged) {
            bound.left_out = bound.left_out.saturating_add(one.left_out);
            for file in &one.files {
                match self.placed(key(one, file)) {
                    Some(file) if !bound.files.contains(&file) => bound.files.push(file),
                    Some(_) => {}
                    None => bound.left_out = bound.left_out.saturating_add(1),
                }
            }
        }
        let names_files = !bound.files.is_empty() || bound.left_out > 0;
        match &said.binding {
            Binding::Commit { .. } if !names_files => said.binding.clone(),
            Binding::NoRepository if !names_files && self.place.is_none() => said.binding.clone(),
            _ => Binding::Bound(Box::new(bound.of_entry())),
        }
    }

    /// A file as it was told last, seen from the place; none where it belongs to no repository, and the place to one.
    fn placed(&self, key: Key<'a>) -> Option<BoundFile> {
        let told = self.files.get(&key)?;
        let here = self.place.as_ref().map(|place| place.repository.as_str());
        let owner = match (key.0, here) {
            (repository, here) if repository == here => None,
            (Some(repository), _) => Some(Owner {
                repository: repository.to_owned(),
                commit: told.commit.map(str::to_owned),
            }),
            (None, _) => return None,
        };
        Some(BoundFile {
            owner,
            ..told.file.clone()
        })
    }
}

/// What the work tree was at: what the verification says, or, where it says nothing of one, what the last record did.
fn place(said: &Binding, last: Option<&Place>) -> Option<Place> {
    match said {
        Binding::Bound(bound) => bound.place.clone().or_else(|| last.cloned()),
        Binding::NoRepository => last.cloned(),
        Binding::Commit { hash, repository } => {
            let same = last.filter(|last| last.repository == *repository);
            Some(Place {
                repository: repository.clone(),
                project: same.map(|last| last.project.clone()).unwrap_or_default(),
                commit: Some(hash.clone()),
                branch: same.and_then(|last| last.branch.clone()),
                state: TreeState::Unknown,
                is_shallow: same.is_some_and(|last| last.is_shallow),
            })
        }
    }
}

fn key<'a>(bound: &'a Bound, file: &'a BoundFile) -> Key<'a> {
    let owner = file.owner.as_ref().map(|owner| owner.repository.as_str());
    let around = bound.place.as_ref().map(|place| place.repository.as_str());
    (owner.or(around), file.path.as_str())
}

fn told<'a>(bound: &'a Bound, file: &'a BoundFile) -> Told<'a> {
    let commit = match (&file.owner, &bound.place) {
        (Some(owner), _) => owner.commit.as_deref(),
        (None, place) => place.as_ref().and_then(|place| place.commit.as_deref()),
    };
    Told { file, commit }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{cognition, input, record, spent, verification};
    use super::super::{NewEntry, products};
    use super::*;
    use crate::citation::Excerpt;
    use crate::gate::Fingerprint;
    use crate::limits::{BOUND_FILES_MAX, ENTRY_BOUND_BYTES_MAX};

    fn place_at(repository: &str, commit: &str) -> Place {
        Place {
            repository: repository.into(),
            project: "api".into(),
            commit: Some(commit.into()),
            branch: Some("main".into()),
            state: TreeState::Clean,
            is_shallow: false,
        }
    }

    fn file(path: &str, content: &str) -> BoundFile {
        BoundFile {
            path: path.into(),
            fingerprint: Fingerprint::of_file(content.as_bytes()),
            owner: None,
        }
    }

    fn bound(place: Option<Place>, files: Vec<BoundFile>) -> Bound {
        Bound {
            place,
            files,
            left_out: 0,
        }
    }

    /// What is published of a task whose two records were said so, and whose fact rests on the first.
    fn published(outcome: Outcome, judged: Binding, said: [Option<Bound>; 2]) -> Vec<NewEntry> {
        let mut verification = verification(outcome);
        verification.said.binding = judged;
        let mut input = input(outcome);
        for (record, bound) in input.records.iter_mut().zip(said) {
            record.bound = bound;
        }
        products(&verification, &input, &cognition(1, true, true), &spent()).entries
    }

    fn of(entry: &NewEntry) -> &Bound {
        let Binding::Bound(bound) = &entry.binding else {
            panic!("{:?}", entry.binding)
        };
        bound
    }

    #[test]
    fn a_fact_is_bound_to_the_commit_judged_and_to_the_files_of_its_records_as_they_were_last() {
        let before = bound(
            Some(place_at("host/a", "0000001")),
            vec![file("src/a.rs", "old"), file("src/c.rs", "c")],
        );
        let after = bound(
            Some(place_at("host/a", "0000002")),
            vec![file("src/a.rs", "new"), file("src/b.rs", "b")],
        );
        let judged = Binding::Commit {
            hash: "0000003".into(),
            repository: "host/a".into(),
        };
        let all = published(Outcome::Passed, judged, [Some(before), Some(after)]);
        // The episode and the fact rest on the first record, the skill on the second.
        for entry in &all[..2] {
            let bound = of(entry);
            assert_eq!(entry.binding.commit(), Some("0000003"));
            assert_eq!(
                bound.files,
                [file("src/a.rs", "new"), file("src/c.rs", "c")]
            );
            assert_eq!(bound.place.as_ref().unwrap().project, "api");
        }
        assert_eq!(
            of(&all[2]).files,
            [file("src/a.rs", "new"), file("src/b.rs", "b")]
        );
    }

    #[test]
    fn without_a_word_of_the_verification_the_last_record_tells_the_commit() {
        let said = [
            Some(bound(Some(place_at("host/a", "0000001")), Vec::new())),
            Some(bound(Some(place_at("host/a", "0000002")), Vec::new())),
        ];
        for entry in published(Outcome::Passed, Binding::NoRepository, said) {
            assert_eq!(entry.binding.commit(), Some("0000002"));
        }
    }

    #[test]
    fn what_nobody_bound_stays_as_the_verification_says() {
        let commit = Binding::Commit {
            hash: "0000003".into(),
            repository: "host/a".into(),
        };
        for judged in [Binding::NoRepository, commit] {
            for entry in published(Outcome::Passed, judged.clone(), [None, None]) {
                assert_eq!(entry.binding, judged);
            }
        }
    }

    #[test]
    fn files_of_other_repositories_name_theirs_and_those_of_none_are_left_out() {
        let inner = Owner {
            repository: "host/lib".into(),
            commit: Some("00000aa".into()),
        };
        let nested = BoundFile {
            owner: Some(inner.clone()),
            ..file("x.c", "x")
        };
        let other = bound(
            Some(place_at("host/b", "00000bb")),
            vec![file("y.rs", "y"), nested],
        );
        let judged = Binding::Bound(Box::new(bound(
            Some(place_at("host/a", "0000003")),
            Vec::new(),
        )));
        let all = published(Outcome::Passed, judged.clone(), [Some(other), None]);
        let owners: Vec<_> = of(&all[1]).files.iter().map(|file| &file.owner).collect();
        let around = Owner {
            repository: "host/b".into(),
            commit: Some("00000bb".into()),
        };
        assert_eq!(owners, [&Some(around), &Some(inner)]);
        let nowhere = bound(None, vec![file("z.rs", "z")]);
        let all = published(Outcome::Passed, judged, [Some(nowhere.clone()), None]);
        assert_eq!((of(&all[1]).files.len(), of(&all[1]).left_out), (0, 1));
        let all = published(
            Outcome::Passed,
            Binding::NoRepository,
            [Some(nowhere), None],
        );
        assert_eq!(of(&all[1]).files, [file("z.rs", "z")]);
    }

    #[test]
    fn what_a_record_leaves_out_counts_once_however_often_the_record_is_cited() {
        let verification = verification(Outcome::Passed);
        let mut input = input(Outcome::Passed);
        input.records[0].bound = Some(Bound {
            left_out: 3,
            ..bound(Some(place_at("host/a", "0000001")), vec![file("a.rs", "a")])
        });
        let excerpt = |from| {
            Citation::Excerpt(Excerpt {
                record: input.records[0].id.clone(),
                from,
                to: from + 1,
            })
        };
        let places = Places::of(&verification, &input);
        let once = places.bind(&[excerpt(0)]);
        assert!(
            matches!(&once, Binding::Bound(bound) if bound.left_out == 3),
            "{once:?}"
        );
        assert_eq!(places.bind(&[excerpt(0), excerpt(1)]), once);
    }

    #[test]
    fn what_failed_is_bound_to_the_files_that_its_error_names() {
        let judged = bound(
            Some(place_at("host/a", "0000003")),
            vec![file("tests/t.rs", "t")],
        );
        let judged = Binding::Bound(Box::new(judged));
        for entry in published(Outcome::Failed, judged.clone(), [None, None]) {
            assert_eq!(of(&entry).files, [file("tests/t.rs", "t")]);
        }
        for entry in published(Outcome::Passed, judged, [None, None]) {
            assert!(of(&entry).files.is_empty());
        }
    }

    proptest! {
        /// However many files records name, each product passes the check of an entry, names each once, and nothing else.
        #[test]
        fn any_product_passes_the_check_of_an_entry(
            names in proptest::collection::vec("[a-d]{1,2}(/[a-z]{1,200}){0,3}", 0..BOUND_FILES_MAX),
            second in proptest::collection::vec("[a-d]{1,2}", 0..BOUND_FILES_MAX),
        ) {
            let said = |names: &[String]| {
                let files = names.iter().map(|name| file(name, name));
                let whole = bound(Some(place_at("host/a", "0000001")), files.collect());
                Some(whole.within(usize::MAX))
            };
            let all = published(Outcome::Passed, Binding::NoRepository, [said(&names), said(&second)]);
            for entry in all {
                let bound = of(&entry);
                prop_assert_eq!(bound.check_of_entry(), Ok(()));
                prop_assert!(bound.bytes() <= ENTRY_BOUND_BYTES_MAX);
                let rests_on = |seq: u64| entry.citations.iter().any(|one| one.record() == Some(&record(seq)));
                for file in &bound.files {
                    let first = rests_on(2) && names.contains(&file.path);
                    prop_assert!(first || rests_on(3) && second.contains(&file.path));
                }
            }
        }
    }
}
