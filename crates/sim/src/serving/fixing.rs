//! What a node says of fixes that failed, as the history keeps it.

use sillok_actors::Node;
use sillok_actors::protocol::Protocol;
use sillok_core::{Error, ErrorCode};

use crate::store::SimStore;
use crate::workload::fixing::{Asked, Told};

/// What a node answers.
pub(super) async fn tell<P: Protocol>(
    node: &Node<SimStore, P>,
    asked: Asked,
) -> Result<Told, Error> {
    match asked {
        Asked::Check { task, approach } => {
            let checked = node.check_fix(&task, &approach).await;
            or_refused(checked.map(|checked| Told::Checked {
                judged: checked.judged,
                stuck: checked.stuck,
            }))
        }
        Asked::List { task, limit } => {
            let reader = node.reader();
            let page = reader.failed_approaches(&task, None, limit).await;
            or_refused(page.map(|page| Told::Listed(page.items)))
        }
    }
}

/// Nobody may have opened the task yet. All else that is wrong is so for now.
fn or_refused(told: Result<Told, Error>) -> Result<Told, Error> {
    match told {
        Err(error) if error.code == ErrorCode::NotFound => Ok(Told::Refused(error.code)),
        told => told,
    }
}
