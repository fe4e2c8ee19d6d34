//! What is offered is seen at once; what is newer wins, wherever it lies.

use sillok_core::ports::{IndexStats, VectorIndex};

use crate::model::{
    doc, embedding, entries, found_by_text, id, normalised, open, search, stamp, with_text,
};

#[tokio::test]
async fn an_offered_state_is_found_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let new = with_text("a quokka leaks", doc(1, 10));
    let vector = new.embedding.clone().unwrap().values;
    index.offer(vec![new]);
    let lists = index
        .search(&search("quokka", Some(vector), 5))
        .await
        .unwrap();
    assert_eq!(
        (entries(&lists.text), entries(&lists.vector)),
        (vec![id(1)], vec![id(1)])
    );
    assert!((lists.vector[0].score - 1.0).abs() < 1e-5);
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 0,
            pending: 1
        }
    );
    assert_eq!(index.watermark().await.unwrap(), None);
}

#[tokio::test]
async fn an_offered_state_hides_the_stored_one_in_memory_and_in_the_indices() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let docs: Vec<_> = (1..=150)
        .map(|n| with_text("an old quokka", doc(n, n)))
        .collect();
    index.apply(docs.clone(), stamp(150)).await.unwrap();
    for round in 0..2_u64 {
        let newer = with_text("a new wombat", doc(7 + round, 1_000 + round));
        let away = normalised(
            newer
                .embedding
                .as_ref()
                .unwrap()
                .values
                .iter()
                .map(|v| -v)
                .collect(),
        );
        let old_vector = docs[6 + round as usize].embedding.clone().unwrap().values;
        index.offer(vec![sillok_core::ports::IndexDoc {
            embedding: Some(embedding(away)),
            ..newer
        }]);
        assert!(
            !found_by_text(&index, "quokka")
                .await
                .contains(&id(7 + round))
        );
        assert!(
            found_by_text(&index, "wombat")
                .await
                .contains(&id(7 + round))
        );
        let lists = index
            .search(&search("", Some(old_vector), 150))
            .await
            .unwrap();
        let place = entries(&lists.vector)
            .iter()
            .position(|entry| *entry == id(7 + round))
            .unwrap();
        assert!(lists.vector[place].score < -0.99, "the new vector counts");
        // The second round hides a row that the indices cover.
        index.optimise().await.unwrap();
    }
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 150,
            pending: 2
        }
    );
}

#[tokio::test]
async fn an_older_state_never_replaces_a_newer_one() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.offer(vec![with_text("wombat", doc(1, 10))]);
    index.offer(vec![with_text("quokka", doc(1, 9))]);
    assert_eq!(found_by_text(&index, "wombat").await, vec![id(1)]);
    index
        .apply(vec![with_text("wombat", doc(1, 10))], stamp(10))
        .await
        .unwrap();
    index.offer(vec![with_text("quokka", doc(1, 9))]);
    index
        .apply(vec![with_text("quokka", doc(1, 9))], stamp(11))
        .await
        .unwrap();
    assert_eq!(found_by_text(&index, "wombat").await, vec![id(1)]);
    assert_eq!(found_by_text(&index, "quokka").await, vec![]);
}

#[tokio::test]
async fn storing_an_older_state_keeps_the_newer_one_pending() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.offer(vec![with_text("wombat", doc(1, 20))]);
    index
        .apply(vec![with_text("quokka", doc(1, 10))], stamp(10))
        .await
        .unwrap();
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 1,
            pending: 1
        }
    );
    assert_eq!(found_by_text(&index, "wombat").await, vec![id(1)]);
    assert_eq!(found_by_text(&index, "quokka").await, vec![]);
}

#[tokio::test]
async fn hostile_queries_are_words_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let docs: Vec<_> = (1..=120)
        .map(|n| with_text("plain zarko text, 한국어 글자", doc(n, n)))
        .collect();
    index.apply(docs, stamp(120)).await.unwrap();
    let long = "x".repeat(100_000);
    let many = "zarko ".repeat(50_000);
    let hostile = [
        "",
        " ",
        "\"",
        "'",
        "\"zarko",
        "zarko AND",
        "OR",
        "(zarko",
        "zarko)",
        "content:zarko^5",
        "zarko~2 +a -b",
        "*",
        "zark*",
        "\\",
        "'; DROP TABLE x; --",
        "\u{0}",
        "\u{202e}\u{feff}",
        "the of and",
        "한국어",
        "🦘🦘",
        "{\"match\":{}}",
        &long,
        &many,
    ];
    for round in 0..2 {
        for query in hostile {
            let found = found_by_text(&index, query).await;
            let holds = ["zarko", "한국어"].iter().any(|word| {
                query
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|w| w == *word)
            });
            assert_eq!(
                found.len(),
                if holds { 120 } else { 0 },
                "round {round}: {:?}",
                query.chars().take(40).collect::<String>()
            );
        }
        index.optimise().await.unwrap();
    }
}
