//! Any history of calls gives what the naive model, and the exact index, give.

use proptest::prelude::*;
use sillok_builtin::index::ExactIndex;
use sillok_core::entry::{Status, Table};
use sillok_core::ports::{IndexDoc, Lost, NeighbourRequest, VectorIndex, vector_table};
use sillok_core::stamp::Stamp;

use crate::model::{
    DIMENSIONS, Model, Numbers, WORDS, against, assert_alike, assert_vectors_alike, claim, doc,
    embedding, entries, open, scope, search, stamp,
};

#[derive(Clone, Debug)]
enum Call {
    /// States are offered.
    Offer(Vec<IndexDoc>),
    /// All that is offered, and these, are stored.
    Apply(Vec<IndexDoc>),
    /// What was stored last is stored again.
    Repeat,
    Optimise,
    /// A table is forgotten, and everything told again.
    Forget(Table),
    /// The process ends and starts anew; what is pending is offered again, as the indexer does.
    Restart,
}

fn state() -> impl Strategy<Value = IndexDoc> {
    (
        0_u64..200,
        1_u64..10_000,
        0_usize..5,
        any::<bool>(),
        0_u8..=10,
    )
        .prop_map(|(entry, counter, status, failure, confidence)| {
            let tables = [Table::Observations, Table::Skills, Table::Gotchas];
            let statuses = [
                Status::Hypothesis,
                Status::Verified,
                Status::Published,
                Status::Deprecated,
                Status::Archived,
            ];
            // An entry never changes its table; its text, vector and claim follow from its stamp.
            let content = doc(entry * 10_000 + counter, counter);
            IndexDoc {
                entry: crate::model::id(entry),
                table: tables[entry as usize % 3],
                status: statuses[status],
                failure: failure && entry % 4 == 0,
                confidence: f64::from(confidence) / 10.0,
                claim: (counter % 3 > 0).then(|| claim(entry % 5, counter % 4)),
                ..content
            }
        })
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => proptest::collection::vec(state(), 1..40).prop_map(Call::Offer),
        4 => proptest::collection::vec(state(), 0..150).prop_map(Call::Apply),
        1 => Just(Call::Repeat),
        2 => Just(Call::Optimise),
        2 => Just(Call::Restart),
        1 => prop_oneof![Just(Table::Observations), Just(Table::Skills)].prop_map(Call::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn any_history_gives_what_the_model_and_the_exact_index_give(calls in proptest::collection::vec(call(), 1..12), seed: u64) {
        tokio::runtime::Runtime::new().unwrap().block_on(run(calls, seed));
    }
}

async fn run(calls: Vec<Call>, seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut index = open(directory.path());
    let exact = ExactIndex::new();
    let mut model = Model::default();
    let (mut pending, mut last, mut through) = (Vec::<IndexDoc>::new(), Vec::new(), Stamp::ZERO);
    // Stamps of one entry rise, as commits do; those of a call may come in any order.
    for (step, call) in calls.into_iter().enumerate() {
        match call {
            Call::Offer(docs) => {
                let docs = later(docs, step);
                model.take(&docs);
                exact.offer(docs.clone());
                index.offer(docs.clone());
                pending.extend(docs);
            }
            Call::Apply(docs) => {
                let docs = later(docs, step);
                model.take(&docs);
                last = core::mem::take(&mut pending);
                last.extend(docs);
                through = stamp((step as u64 + 1) * 10_000);
                exact.apply(last.clone(), through).await.unwrap();
                index.apply(last.clone(), through).await.unwrap();
            }
            Call::Repeat if through > Stamp::ZERO => {
                index.apply(last.clone(), through).await.unwrap()
            }
            Call::Repeat => {}
            Call::Optimise => index.optimise().await.unwrap(),
            Call::Forget(table) => {
                let lost = Lost::table(vector_table(&scope("org/acme/project/api"), table));
                index.forget(&lost).await.unwrap();
                exact.forget(&lost).await.unwrap();
                assert_eq!(index.watermark().await.unwrap(), None, "step {step}");
                assert_eq!(exact.watermark().await.unwrap(), None, "step {step}");
                pending.clear();
                last = model.docs.values().cloned().collect();
                through = stamp((step as u64 + 1) * 10_000);
                exact.apply(last.clone(), through).await.unwrap();
                index.apply(last.clone(), through).await.unwrap();
            }
            Call::Restart => {
                drop(index);
                index = open(directory.path());
                index.offer(pending.clone());
            }
        }
        let cursor = (through > Stamp::ZERO).then_some(through);
        assert_eq!(index.watermark().await.unwrap(), cursor, "step {step}");
        let (found, reference) = (index.stats().await.unwrap(), exact.stats().await.unwrap());
        assert_eq!(found.pending, reference.pending, "step {step}");
        let is_settled = found.pending == 0;
        assert!(
            !is_settled || found.stored == reference.stored,
            "step {step}"
        );
    }
    compare(&index, &exact, &model, seed).await;
    compare_claims(&index, &exact, &model).await;
}

/// The states with stamps of this step's own range.
fn later(docs: Vec<IndexDoc>, step: usize) -> Vec<IndexDoc> {
    let base = step as u64 * 10_000;
    docs.into_iter()
        .map(|doc| IndexDoc {
            stamp: stamp(base + doc.stamp.counter),
            ..doc
        })
        .collect()
}

/// What contradicts a claim is found exactly, among all tables.
async fn compare_claims(index: &impl VectorIndex, exact: &ExactIndex, model: &Model) {
    for (key, value) in (0..6).flat_map(|key| (0..5).map(move |value| (key, value))) {
        for (failure, limit) in [(false, 1_000), (false, 3), (true, 1_000)] {
            let mut request = against(claim(key, value), limit);
            request.failure = failure;
            let found = index.claimants(&request).await.unwrap();
            let reference = exact.claimants(&request).await.unwrap();
            assert_eq!(found, model.claimants(&request), "{request:?}");
            assert_eq!(found, reference, "{request:?}");
        }
    }
}

async fn compare(index: &impl VectorIndex, exact: &ExactIndex, model: &Model, seed: u64) {
    let mut numbers = Numbers(seed);
    for _ in 0..6 {
        let text = format!(
            "{} {}",
            WORDS[numbers.below(12) as usize],
            WORDS[numbers.below(12) as usize]
        );
        let vector = numbers.vector(DIMENSIONS);
        let mut request = search(&text, Some(vector.clone()), 1_000);
        request.confidence_min = numbers.below(8) as f64 / 10.0;
        request.failures = numbers.below(4) == 0;
        let (found, expected) = (
            index.search(&request).await.unwrap(),
            model.search(&request),
        );
        // Text lists are whole at this length; vectors come from a graph once they are indexed.
        let reference = exact.search(&request).await.unwrap();
        let sorted = |list: &[_]| {
            let mut found = entries(list);
            found.sort_unstable();
            found
        };
        assert_eq!(sorted(&found.text), sorted(&reference.text), "{text}");
        assert_eq!(
            sorted(&expected.text),
            sorted(&reference.text),
            "the model agrees with the exact index"
        );
        request.limit = 5;
        request.text = String::new();
        let (found, expected) = (
            index.search(&request).await.unwrap(),
            model.search(&request),
        );
        assert_alike(&found, &expected, "against the model");
        assert_vectors_alike(
            &found.vector,
            &exact.search(&request).await.unwrap().vector,
            "against the exact index",
        );
        for table in [Table::Observations, Table::Gotchas] {
            let request = NeighbourRequest {
                scope: scope("org/acme/project/api"),
                table,
                failure: false,
                embedding: embedding(vector.clone()),
                cosine_min: 0.3,
                limit: 4,
            };
            let found = index.neighbours(&request).await.unwrap();
            assert_vectors_alike(
                &found,
                &exact.neighbours(&request).await.unwrap(),
                "neighbours",
            );
        }
    }
}
