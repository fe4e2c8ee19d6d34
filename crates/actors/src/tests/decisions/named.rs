//! What relations say of the names of their decisions: kept up with every version, and enough for an impact that is cut.

use sillok_core::ErrorCode;
use sillok_core::decision::{Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_store::keys::{Family, decision, related};
use sillok_store::{Store, Txn};

use super::stage::{Stage, at, relates, says, viewer, withdraw};
use crate::row_stream::RowStream;
use crate::tests::harness::{PROJECT, TASK, TestStore, store};

/// Has each relation say no more than rows did before they said what their decisions are called, behind the back of the node.
async fn silence(store: &TestStore) {
    let mut txn = store.begin().await.unwrap();
    let rows = RowStream::new(Family::Related.range());
    for (key, value) in rows.collect(&mut txn).await.unwrap() {
        let mut named = related::decode(&key, &value).unwrap();
        assert!(named.name.take().is_some());
        txn.set(key.to_vec(), related::encode(&named));
    }
    txn.commit().await.unwrap();
}

/// Spoils what is known of all decisions but one, so that whoever reads it is refused.
async fn spoil_all_but(store: &TestStore, kept: DecisionId) {
    let mut txn = store.begin().await.unwrap();
    let rows = RowStream::new(Family::Decision.range());
    for (key, _) in rows.collect(&mut txn).await.unwrap() {
        if decision::parse(&key).unwrap().root != kept {
            txn.set(key.to_vec(), vec![255]);
        }
    }
    txn.commit().await.unwrap();
}

/// A hub with ten dependents, half of them in the task, and an impact that has room for six.
struct Hub {
    store: TestStore,
    stage: Stage,
    root: DecisionId,
    around: Vec<(&'static str, DecisionId)>,
}

impl Hub {
    async fn set() -> Self {
        let store = store();
        let mut stage = Stage::over(&store).await;
        let root = stage.begin(PROJECT, says(Rank::Axis, "hub")).await;
        let mut around = Vec::new();
        for number in 0..10 {
            let path = [PROJECT, TASK][number % 2];
            let (title, kind) = (format!("number {number}"), RelationKind::DependsOn);
            let one = stage.related(path, &title, kind, at(PROJECT, root)).await;
            around.push((path, one));
        }
        Self {
            store,
            stage,
            root,
            around,
        }
    }

    /// Has a dependent say something else, and be related to what it was related to.
    async fn change(&mut self, number: usize, version: u64, rank: Rank, title: &str) {
        let (path, root) = self.around[number];
        let text = relates(
            RelationKind::DependsOn,
            at(PROJECT, self.root),
            says(rank, title),
        );
        self.stage.change(path, (root, version), text).await;
    }

    async fn impact(&self, nodes_max: usize) -> Result<Impact, ErrorCode> {
        let limits = ImpactLimits::of(Some(nodes_max), None).unwrap();
        let (viewer, start) = (viewer(PROJECT), vec![at(PROJECT, self.root)]);
        let found = self
            .stage
            .node
            .impact_of_standing(&viewer, start, limits, None)
            .await;
        found.map_err(|error| error.code)
    }

    /// What is told of each: its title and its rank.
    async fn told(&self, nodes_max: usize) -> Vec<(String, Rank)> {
        let impact = self.impact(nodes_max).await.unwrap();
        assert_eq!(impact.cut.is_some(), nodes_max < self.around.len());
        let affected = impact.affected.into_iter();
        affected
            .map(|one| (one.title.unwrap(), one.rank.unwrap()))
            .collect()
    }
}

#[tokio::test]
async fn an_impact_that_is_cut_tells_each_title_and_rank_as_it_is_now() {
    let mut hub = Hub::set().await;
    // The first of a scope is the first that is told of.
    let mut of_project = hub.around.iter().map(|(_, root)| *root).step_by(2);
    let first = of_project.clone().min().unwrap();
    let first = 2 * of_project.position(|root| root == first).unwrap();
    let was = (format!("number {first}"), Rank::Normal);
    assert_eq!(hub.told(6).await[0], was);
    // The title alone, then the rank alone, then neither.
    for (version, rank, title) in [
        (1, Rank::Normal, "renamed"),
        (2, Rank::Lock, "renamed"),
        (3, Rank::Lock, "renamed"),
    ] {
        hub.change(first, version, rank, title).await;
        let cut = hub.told(6).await;
        assert_eq!(cut[0], (title.to_owned(), rank));
        let whole = hub.told(10).await;
        assert_eq!(cut, whole[..6], "as it is told where all are read");
    }
    // What does not hold has no relation.
    let (path, root) = hub.around[first];
    let withdrawn = hub.stage.person(path, withdraw(root, 4)).await;
    withdrawn.unwrap();
    assert!(
        hub.told(6)
            .await
            .iter()
            .all(|(title, _)| title != "renamed")
    );
}

#[tokio::test]
async fn an_impact_over_rows_of_the_former_format_is_the_same_and_changes_make_them_new() {
    let mut hub = Hub::set().await;
    let (few, whole) = (hub.impact(6).await.unwrap(), hub.impact(10).await.unwrap());
    silence(&hub.store).await;
    assert_eq!(hub.impact(6).await.unwrap(), few);
    assert_eq!(hub.impact(10).await.unwrap(), whole);
    let named = async |hub: &Hub| {
        let mut txn = hub.store.begin().await.unwrap();
        let rows = RowStream::new(Family::Related.range());
        let rows = rows.collect(&mut txn).await.unwrap();
        let names = rows.iter().filter_map(|(key, value)| {
            let named = related::decode(key, value).unwrap();
            named.name.map(|name| name.title)
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(named(&hub).await, Vec::<String>::new());
    hub.change(0, 1, Rank::Normal, "number 0").await;
    assert_eq!(
        named(&hub).await,
        Vec::<String>::new(),
        "it is called the same"
    );
    assert_eq!(hub.impact(6).await.unwrap(), few);
    hub.change(0, 2, Rank::Normal, "renamed").await;
    assert_eq!(named(&hub).await, ["renamed"]);
    let of_all = async |nodes_max| {
        let told = hub.told(nodes_max).await.into_iter();
        told.map(|(title, _)| title).collect::<Vec<_>>()
    };
    assert!(of_all(10).await.contains(&"renamed".to_owned()));
    assert_eq!(of_all(6).await, of_all(10).await[..6]);
    let audited = crate::audit::verify(&hub.store, &|_| {}).await.unwrap();
    assert!(audited.is_ok(), "{:?}", audited.first);
}

#[tokio::test]
async fn an_impact_that_is_cut_reads_no_head_of_what_its_relations_name() {
    let hub = Hub::set().await;
    let few = hub.impact(6).await;
    assert_eq!(few.as_ref().map(|few| few.affected.len()), Ok(6));
    spoil_all_but(&hub.store, hub.root).await;
    assert_eq!(hub.impact(6).await, few);
    // Where it is not cut, what each says itself may lead on.
    hub.impact(10).await.unwrap_err();
    silence(&hub.store).await;
    hub.impact(6).await.unwrap_err();
}

#[tokio::test]
async fn a_save_writes_the_relations_of_its_own_decision_and_of_no_other() {
    let mut hub = Hub::set().await;
    let rows = async |hub: &Hub| {
        let mut txn = hub.store.begin().await.unwrap();
        let rows = RowStream::new(Family::Related.range());
        rows.collect(&mut txn).await.unwrap()
    };
    let before = rows(&hub).await;
    // The hub is called otherwise: what points to it is of other decisions.
    let text = says(Rank::Lock, "the hub");
    hub.stage.change(PROJECT, (hub.root, 1), text).await;
    assert_eq!(rows(&hub).await, before);
    hub.change(3, 1, Rank::Lock, "renamed").await;
    let (_, renamed) = hub.around[3];
    let after = rows(&hub).await;
    assert_eq!(after.len(), before.len());
    let mut changed = before.iter().zip(&after).filter(|(was, is)| was != is);
    let (_, (key, _)) = changed.next().unwrap();
    assert_eq!(related::parse(key).unwrap().root, renamed);
    assert_eq!(changed.next(), None);
}
