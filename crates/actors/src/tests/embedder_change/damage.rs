//! Tables that are damaged while the embedder is changed, on either side, and afterwards.

use sillok_core::ports::{Lost, vector_table};

use super::*;

fn lost() -> Lost {
    Lost::table(vector_table(&scope(PROJECT), Table::Observations))
}

async fn noted_whole(index: &impl VectorIndex) {
    until(|| async { index.is_whole().await.unwrap() }).await;
}

#[tokio::test]
async fn damage_to_the_index_that_is_being_filled_has_all_brought_again() {
    for lost in [lost(), Lost::All] {
        let mut stage = Stage::new();
        let ids = stage.with_entries(&TEXTS).await;
        let (other, index) = (Other::named("other", 0), HookedIndex::new(|_| ()));
        let node = stage.change(&other, &index).await;
        // It is emptied by then.
        until(|| async { other.is_asked.load(Ordering::Relaxed) }).await;
        index.damage(&lost);
        other.calls.add_permits(1_000);
        assert_found(&node, &ids, "while it is filled").await;
        over(&node, &other).await;
        assert_found(&node, &ids, "once it serves").await;
        noted_whole(&*index).await;
        assert_eq!(node.metrics().index_rebuilds, 1);
        assert_eq!(node.metrics().reembedded, 3, "vectors are kept");
        assert!(node.index_lacks().is_nothing());
        node.shutdown().await;
        stage.assert_sound().await;
    }
}

#[tokio::test]
async fn damage_to_the_index_that_serves_holds_no_change_up() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::named("other", 0), Arc::new(ExactIndex::new()));
    let former = HookedIndex::new(|_| ());
    let next = Some(NextSpace {
        embedder: other.clone(),
        index: index.clone(),
    });
    let index_of_former = former.clone();
    let ports = Ports {
        index: index_of_former,
        next,
        ..ports()
    };
    let node = stage.start(ports).await;
    former.damage(&lost());
    // It meets the damage, and finds nothing till it is told again.
    assert!(by_meaning(&node, TEXTS[0]).await.is_empty());
    until(|| async { node.index_lacks().is_nothing() }).await;
    assert_found(&node, &ids, "the former one serves").await;
    other.calls.add_permits(1_000);
    over(&node, &other).await;
    assert_found(&node, &ids, "the other one serves").await;
    noted_whole(&*index).await;
    assert_eq!(node.metrics().index_rebuilds, 1);
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn what_is_damaged_after_a_change_gets_the_vectors_that_are_kept_and_is_whole_again() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), HookedIndex::new(|_| ()));
    let node = stage.change(&other, &index).await;
    over(&node, &other).await;
    noted_whole(&*index).await;
    other.is_away.store(true, Ordering::Relaxed);
    index.damage(&lost());
    let asked = Some(other.vector(TEXTS[0]));
    let before = found(&*node.ports().index, asked.clone()).await;
    assert!(before.is_empty(), "its only table is lost");
    until(|| async { node.index_lacks().is_nothing() }).await;
    for (text, id) in TEXTS.iter().zip(&ids) {
        assert_eq!(found(&*index, Some(other.vector(text))).await, [*id]);
    }
    noted_whole(&*index).await;
    assert_eq!(node.metrics().reembedded, 3, "no text was embedded again");
    node.shutdown().await;
    // The next start finds it whole, and searches it at once.
    assert!(index.is_whole().await.unwrap());
    stage.assert_sound().await;
}
