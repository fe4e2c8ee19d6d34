//! What the entries of a scope came to, with a link or a version that is not as it must be.

use sillok_core::entry::Head;
use sillok_core::state::State;
use sillok_store::keys::{self, Family};
use sillok_store::{Read, Store, Txn};

use super::harness::{PROJECT, scope};
use super::world::World;
use crate::audit::fold::{Expected, Fold, short_hash};
use crate::audit::lines::check_lines;
use crate::audit::scope::fold_events;
use crate::audit::{Difference, Progress, Stop};
use crate::rows::Place;

/// The project's fold, with the heads of a line of three entries.
async fn folded(world: &World, place: &Place) -> (Fold, Vec<Head>) {
    let mut txn = world.store.begin().await.unwrap();
    let row = txn.get(&keys::scope::key(&place.key), Read::Snapshot).await;
    let row = row.unwrap().expect("the project has a row");
    let mut done = Progress::default();
    let fold = fold_events(&mut txn, place, &row, &mut done, &|_| {}).await;
    let mut heads = Vec::new();
    for id in &world.line {
        heads.push(world.head(*id).await);
    }
    (fold.expect("the events hold"), heads)
}

/// A state that holds these heads alone.
fn state_of(place: &Place, heads: &[Head]) -> State {
    let mut state = State::new(&place.scope, None, None);
    for head in heads {
        state.learn_head(head.id, Some(head.clone()));
    }
    state
}

fn found(checked: Result<(), Stop>) -> Option<Difference> {
    match checked {
        Ok(()) => None,
        Err(Stop::Found(difference)) => Some(*difference),
        Err(Stop::Failed(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_line_without_a_link_or_a_version_is_found() {
    let world = World::new().await;
    let place = Place::of(&scope(PROJECT));
    let (mut fold, heads) = folded(&world, &place).await;
    let whole = check_lines(&place, &state_of(&place, &heads), &fold.rows);
    assert_eq!(found(whole), None);

    let mut parted = heads.clone();
    parted[1].lifecycle.superseded_by = None;
    let difference = found(check_lines(&place, &state_of(&place, &parted), &fold.rows));
    let difference = difference.expect("the line is cut");
    assert_eq!(difference.family, Family::Head.as_str());
    assert!(
        difference.what.contains("does not head the line"),
        "{difference}"
    );

    let mut round = heads.clone();
    round[2].lifecycle.superseded_by = Some(heads[1].id);
    assert!(found(check_lines(&place, &state_of(&place, &round), &fold.rows)).is_some());

    let key = keys::version::key(&place.key, heads[2].id, 2);
    let expected = Expected {
        hash: short_hash(b"a version that no head names"),
        seq: fold.row().tip.seq,
    };
    fold.rows.insert(key, expected);
    let difference = found(check_lines(&place, &state_of(&place, &heads), &fold.rows));
    let difference = difference.expect("a version is one too many");
    assert!(
        difference.what.contains("is active, but 2 is the last"),
        "{difference}"
    );
}
