//! What a change of a file affects that decisions of thousands of scopes apply to.
//!
//! There are more of them than an impact tells of, and relations lie by the hashes of scopes, so they are told of in no order of
//! nodes: putting them in order is as much work as it can be, also for what a limit of time cuts. How long the whole takes is
//! printed, without a floor, as it is several times as much as a hub has.

use std::time::Instant;

use hdrhistogram::Histogram;
use sillok_actors::Node;
use sillok_actors::reads::Viewer;
use sillok_core::decision::{NewDecision, Relation, RelationKind};
use sillok_core::impact::ImpactLimits;
use sillok_core::limits::IMPACT_NODES_MAX;
use sillok_core::scope::ScopePrefix;
use sillok_store::FjallStore;

use super::{Overrun, SHORT_MS, WARM, file, start, title};
use crate::chains::{self, Writer};
use crate::engines::{folder, open_store, write_back};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::workload::{Texts, now, scope};

const PROJECT: &str = "org/bench/project/spread";
const FILE: &str = "src/shared.rs";
/// Decisions of each scope.
const OF_EACH: usize = 10;

/// Measures it, with so many decisions.
pub(super) async fn measure(
    decisions: usize,
    impacts: usize,
    overrun: &mut Overrun,
    report: &mut Report,
) -> Result<(), Error> {
    let folder = folder()?;
    let store = open_store(folder.path())?;
    fill(&store, decisions).await?;
    let node = start(store).await?;
    write_back()?;
    let mut whole = Vec::new();
    for _ in 0..RUNS {
        whole.push(run(&node, decisions, impacts, None, overrun).await?);
        for ms_max in SHORT_MS {
            run(&node, decisions, impacts, Some(ms_max), overrun).await?;
        }
    }
    node.shutdown().await;
    let scopes = decisions / OF_EACH;
    let what = format!(
        "impact: a file that {decisions} decisions of {scopes} scopes apply to, limits of nodes and depth, p99, worst of {RUNS} runs"
    );
    report.add(Row::new(what, worst_ms(&whole, 0.99), "ms").with_latency(&together(&whole)));
    Ok(())
}

/// Asks for the file, over and over: what it took.
async fn run(
    node: &Node<FjallStore>,
    decisions: usize,
    impacts: usize,
    ms_max: Option<u64>,
    overrun: &mut Overrun,
) -> Result<Histogram<u64>, Error> {
    let viewer = Viewer {
        scope: scope(PROJECT),
        prefix: ScopePrefix::All,
    };
    let mut latency = histogram();
    for number in 0..WARM + impacts {
        let sent = Instant::now();
        let start = vec![file(FILE)];
        let impact = node.impact_of_standing(&viewer, start, ImpactLimits::default(), ms_max);
        let impact = impact.await?;
        let us = elapsed_us(sent);
        let is_cut = impact.cut.is_some_and(|cut| cut.time);
        let found = impact.affected.len();
        if !is_cut && found != decisions.min(IMPACT_NODES_MAX) {
            let why = format!("{decisions} decisions apply to {FILE}, and {found} were found");
            return Err(Error::Wrong(why));
        }
        if number >= WARM {
            latency.saturating_record(us);
            if let Some(ms_max) = ms_max {
                overrun.see(us, ms_max, is_cut);
            }
        }
    }
    Ok(latency)
}

/// Writes so many decisions that apply to the file, a few in each scope.
async fn fill(store: &FjallStore, decisions: usize) -> Result<(), Error> {
    let texts = Texts::new();
    for place in 0..decisions / OF_EACH {
        let mut writer = Writer::new(&scope(&format!("{PROJECT}/worktree/w{place}")), now());
        let saves = (0..OF_EACH).map(|number| {
            let text = texts.get(place + number);
            let relations = vec![Relation {
                kind: RelationKind::AppliesTo,
                to: file(FILE),
            }];
            let text = NewDecision {
                relations,
                ..chains::normal(title(number, text), text)
            };
            (number as u64, chains::begin(text))
        });
        writer.write(store, saves).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::runtime;

    #[test]
    fn all_that_apply_to_the_file_are_found_in_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            fill(&store, 100).await.unwrap();
            let node = start(store).await.unwrap();
            let mut overrun = Overrun::new();
            run(&node, 100, 1, None, &mut overrun).await.unwrap();
            assert!(run(&node, 110, 1, None, &mut overrun).await.is_err());
            assert_eq!(overrun.over.len(), 0);
            node.shutdown().await;
        });
    }
}
