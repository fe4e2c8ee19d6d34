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
        Asked::Check { task, approach } => match node.check_fix(&task, &approach).await {
            Ok(checked) => Ok(Told::Checked {
                judged: checked.judged,
                stuck: checked.stuck,
            }),
            // Nobody has opened the task yet; all else that is wrong is so for now.
            Err(error) if error.code == ErrorCode::NotFound => Ok(Told::Refused(error.code)),
            Err(error) => Err(error),
        },
        Asked::List { task, limit } => {
            let page = node.reader().failed_approaches(&task, None, limit).await?;
            Ok(Told::Listed(page.items))
        }
    }
}
