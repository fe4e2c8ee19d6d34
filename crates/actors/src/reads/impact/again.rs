//! A planted bug: a walk that goes into a node as often as it reaches it.
//!
//! A cycle has no end for it, so it is ended after a number of steps. Without the bug nothing is walked here.

use std::collections::VecDeque;

use sillok_core::decision::Node;
use sillok_core::impact::{Affected, Impact, ImpactLimits, Source, Walk};
use sillok_store::{Error as StoreError, Txn};

use super::Look;

/// Nodes that are gone into before it is ended.
const STEPS_MAX: usize = 256;

/// What a change of these nodes affects, under the bug.
pub(super) async fn walk<T: Txn>(
    mut look: Look<'_, T>,
    start: Vec<Node>,
    limits: ImpactLimits,
) -> Result<Impact, StoreError> {
    let starts = start.iter().cloned().enumerate();
    let mut ahead: VecDeque<(Source, Node, u32)> = starts
        .map(|(index, node)| (Source::Start(index), node, 0))
        .collect();
    let mut affected: Vec<Affected> = Vec::new();
    let one_step = ImpactLimits {
        depth_max: 1,
        ..limits
    };
    for _ in 0..STEPS_MAX {
        let Some((from, node, before)) = ahead.pop_front() else {
            break;
        };
        let mut walk = Walk::new(vec![node], one_step);
        look.go(&mut walk).await?;
        for found in walk.finish().affected {
            let depth = before + 1;
            if found.node.is_decision() {
                let source = Source::Affected(affected.len());
                ahead.push_back((source, found.node.clone(), depth));
            }
            affected.push(Affected {
                depth,
                from,
                ..found
            });
        }
    }
    Ok(Impact {
        start,
        affected,
        cut: None,
    })
}
