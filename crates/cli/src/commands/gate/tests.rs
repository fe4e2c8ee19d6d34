//! What a person is told of what was recalled, and which work tree is meant.

use std::fs;

use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_server::api::{Binding, Citation, Score};

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
        unchecked: false,
        by_meaning: true,
        whole: true,
        at: None,
    }
}

#[tokio::test]
async fn what_is_told_of_a_result_is_what_is_not_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("a.rs"), TEXT).unwrap();
    fs::write(root.join("b.rs"), TEXT.replace('1', "2")).unwrap();
    fs::write(root.join("c.rs"), TEXT.replace('1', "3")).unwrap();
    let human = Citation::Human { user: "kim".into() };
    let found = answer(vec![
        result(1, vec![cite(root, "a.rs")]),
        result(2, vec![human.clone(), cite(root, "b.rs")]),
        result(3, vec![human]),
        result(4, vec![cite(root, "c.rs")]),
    ]);
    fs::rename(root.join("b.rs"), root.join("moved.rs")).unwrap();
    fs::remove_file(root.join("c.rs")).unwrap();
    let named = tree(Some(root.to_owned())).unwrap();
    let memory = tempfile::tempdir().unwrap();
    let kept = Some(memory.path());
    let (told, elsewhere) = checked(found.clone(), named, kept).await;
    assert_eq!(elsewhere.displaced.gone.len(), 1);
    let files = fs::read_dir(memory.path()).unwrap();
    assert_eq!(files.count(), 1, "what moved is found again at once");
    assert!(left_out(&told).unwrap().starts_with("1 more"));
    let shown = |place: usize| lines(&told.results[place]).collect::<Vec<String>>();
    assert_eq!(shown(0), ["valid: the code that it rests on is as it was"]);
    assert_eq!(shown(1), ["moved: file b.rs:1-3 lies elsewhere by now"]);
    assert!(shown(2).is_empty(), "it rests on nothing here");
    let none = tree(Some(NO_TREE.into())).unwrap();
    let (as_it_was, _) = checked(found, none, kept).await;
    assert_eq!((as_it_was.stale, as_it_was.results.len()), (0, 4));
    assert_eq!(left_out(&as_it_was), None);
}

#[test]
fn a_work_tree_that_there_is_not_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = tree(Some(folder.path().join("nowhere"))).unwrap_err();
    assert!(matches!(refused, Failure::Usage(_)), "{refused}");
}
