use std::fs;

use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_server::api::{Binding, Score};

use super::*;

const TEXT: &str = "pub fn first() -> u32 {\n    let one_of_many = 1;\n}\n";

fn cite(root: &Path, path: &str) -> Citation {
    let tree = WorkTree::at(root).unwrap();
    let print = sillok_gate::fingerprint(&tree, path, Some((1, 3))).unwrap();
    Citation::File {
        path: path.into(),
        lines: Some([1, 3]),
        fingerprint: Some(print.to_string()),
    }
}

fn result(number: u8, citations: Vec<Citation>) -> RecallResult {
    RecallResult {
        entry: EntryId::from_bytes([number; 16]),
        scope: "org/a/project/p".parse().unwrap(),
        table: Table::Observations,
        kind: Table::Observations.kind(),
        status: Status::Verified,
        content: "It is so.".into(),
        data_marked_text: String::new(),
        tokens: 5,
        version: 1,
        citations,
        score: Score {
            total: 0.5,
            similarity: 1.0,
            confidence: 0.5,
            relevance: 1.0,
            recency: 1.0,
            vector_rank: Some(1),
            text_rank: Some(1),
        },
        binding: Binding::NoRepository,
        gate: Verdict::Unverifiable,
        checks: Vec::new(),
        validity: None,
        valid_from_commit: None,
        valid_to_commit: None,
    }
}

fn answer(results: Vec<RecallResult>) -> RecallAnswer {
    RecallAnswer {
        tokens: results.iter().map(|result| result.tokens).sum(),
        results,
        left_out: 0,
        stale: 0,
        by_meaning: true,
        whole: true,
        at: None,
    }
}

#[tokio::test]
async fn what_is_gone_is_left_out_and_counted_and_what_moved_names_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, text) in [
        ("a.rs", TEXT.to_owned()),
        ("b.rs", TEXT.replace('1', "2")),
        ("c.rs", TEXT.replace('1', "3")),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    let human = Citation::Human { user: "kim".into() };
    let (a, b, c) = (cite(root, "a.rs"), cite(root, "b.rs"), cite(root, "c.rs"));
    let found = answer(vec![
        result(1, vec![human.clone(), a]),
        result(2, vec![human.clone(), b.clone()]),
        result(3, vec![c]),
        result(4, vec![human]),
    ]);
    fs::rename(root.join("b.rs"), root.join("moved.rs")).unwrap();
    fs::remove_file(root.join("c.rs")).unwrap();
    let (told, gone) = checked(found.clone(), Some(root.to_owned())).await.unwrap();
    assert_eq!(gone.results.len(), 1);
    assert_eq!(gone.results[0].entry, EntryId::from_bytes([3; 16]));
    let verdicts: Vec<Verdict> = told.results.iter().map(|result| result.gate).collect();
    assert_eq!(verdicts, [Verdict::Valid, Verdict::Moved, Verdict::Valid]);
    assert_eq!((told.stale, told.tokens), (1, 15));
    assert!(left_out(&told).unwrap().starts_with("1 more"));
    assert_eq!(told.results[1].citations[1], cite(root, "moved.rs"));
    let check = &told.results[1].checks[0];
    assert_eq!((check.citation, check.moved_from.as_ref()), (1, Some(&b)));
    let shown: Vec<String> = lines(&told.results[1]).collect();
    assert_eq!(shown, ["moved: file b.rs:1-3 lies elsewhere by now"]);
    assert_eq!(
        lines(&told.results[2]).count(),
        0,
        "it rests on nothing here"
    );
    let (as_it_was, _) = checked(found, Some(NO_TREE.into())).await.unwrap();
    assert_eq!((as_it_was.stale, as_it_was.results.len()), (0, 4));
}

#[tokio::test]
async fn a_work_tree_that_there_is_not_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let refused = checked(answer(vec![]), Some(nowhere)).await.unwrap_err();
    assert!(matches!(refused, Failure::Usage(_)), "{refused}");
}
