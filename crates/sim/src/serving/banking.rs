//! What a node says of how agents went about tasks, as the history keeps it.

use sillok_actors::Node;
use sillok_actors::protocol::Protocol;
use sillok_actors::reads::{BriefQuery, Viewer};
use sillok_core::Error;
use sillok_core::bank::{PatternFound, PatternQuery};
use sillok_core::brief::{BriefBudget, BriefItem};
use sillok_core::limits::{BRIEF_BYTES_MAX, PATTERNS_FOUND_MAX};

use crate::store::SimStore;
use crate::workload::banking::{Asked, Found, Told};

/// What a node answers.
pub(super) async fn tell<P: Protocol>(
    node: &Node<SimStore, P>,
    asked: Asked,
) -> Result<Told, Error> {
    match asked {
        Asked::Patterns {
            scope,
            text,
            failures_only,
        } => {
            let query = PatternQuery::of(&text, None, failures_only, Some(PATTERNS_FOUND_MAX))?;
            let found = node.search_patterns(&scope, &query).await?;
            Ok(Told::Patterns {
                found: found.patterns.into_iter().map(pattern).collect(),
                cut: found.cut,
            })
        }
        Asked::Brief { task, items_max } => {
            let viewer = Viewer {
                prefix: task.as_str().parse().expect("a scope is a prefix"),
                scope: task,
            };
            let budget = BriefBudget {
                items_max,
                bytes_max: BRIEF_BYTES_MAX,
            };
            let query = BriefQuery {
                budget,
                ..BriefQuery::default()
            };
            let brief = node.brief_of_standing(&viewer, query).await?;
            let decisions = brief.items.iter().filter_map(|item| match item {
                BriefItem::Decision { version, .. } => Some(version.root),
                BriefItem::Structural { .. } | BriefItem::Anchor { .. } => None,
            });
            Ok(Told::Brief {
                decisions: decisions.collect(),
                is_cut: !brief.cut.is_empty(),
                warnings: brief.warnings,
                warnings_cut: brief.warnings_cut,
            })
        }
    }
}

fn pattern(found: PatternFound) -> Found {
    let pattern = found.pattern;
    let cited = pattern.cited.into_iter().map(|cited| cited.record);
    Found {
        kind: pattern.kind,
        approach: pattern.approach,
        succeeded: pattern.tally.succeeded,
        failed: pattern.tally.failed,
        weight: pattern.tally.weight,
        success_rate: pattern.success_rate,
        cited: cited.collect(),
    }
}
