//! What a change of a hub affects, in a large graph of relations.
//!
//! Every decision depends on five hubs, one of each of five groups, so that each hub has a tenth of all decisions that point
//! to it. It is related to three earlier decisions besides, by one kind each, and applies to a file and a symbol that many
//! others apply to. A hub has as many decisions that depend on it as an impact names at most: beyond these it is counted that there is
//! more. What is no hub ([`walks`]) leads from decision to decision. Hubs are asked for in turn, by
//! somebody in the project that holds all of it and by somebody in a task there, for whom more scopes are looked into: with
//! limits of nodes and depth alone, with the limit of time that the server adds, and with shorter ones that surely run out. A
//! brief with a hub at hand has that impact in it, without a limit of time, and is asked for as well. The store is written by
//! [`crate::chains`], once, and each run asks it anew. In a second store ([`spread`]) decisions of thousands of scopes apply to
//! one file.

mod spread;
mod walks;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use sillok_actors::reads::{BriefQuery, Viewer};
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::ExactIndex;
use sillok_core::brief::{Brief, BriefItem};
use sillok_core::decision::{self, NewDecision, Rank, Relation, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_core::limits::{
    BRIEF_ITEMS_USUAL, BRIEF_STRUCTURAL_PART, IMPACT_MS_MAX, IMPACT_NODES_MAX,
};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_store::FjallStore;

use crate::chains::{self, Writer};
use crate::engines::{folder, open_store, ports, runtime, write_back};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::scale::Scale;
use crate::workload::{Texts, now, scope};

/// Where all decisions lie, and who asks. Names are as long as people give them: rows say them.
const PROJECT: &str = "org/bench-organisation/project/impact-of-a-change-of-a-hub";
const ASKERS: [(&str, &str); 2] = [
    ("the project", PROJECT),
    (
        "a task",
        "org/bench-organisation/project/impact-of-a-change-of-a-hub/worktree/main/task/1",
    ),
];
/// Groups of hubs, and the hubs of each.
const GROUPS: usize = 5;
const OF_GROUP: usize = 10;
const HUBS: usize = GROUPS * OF_GROUP;
/// How a decision is related to earlier ones, one of each kind.
const TO_EARLIER: [RelationKind; 3] = [
    RelationKind::DependsOn,
    RelationKind::Constrains,
    RelationKind::Validates,
];
/// How far back these lie at most.
const REACH: usize = 1_000;
/// Files and symbols that decisions apply to.
const FILES: usize = 1_000;
const SYMBOLS: usize = 5_000;
/// Relations of each decision that is no hub.
const RELATIONS: usize = GROUPS + TO_EARLIER.len() + 2;
/// Characters of its text that the title of a decision has.
const TITLE_CHARS: usize = 80;
/// Limits of time that run out, in ms.
const SHORT_MS: [u64; 3] = [1, 5, 20];
/// Impacts or briefs of each run before any counts.
const WARM: usize = 10;
/// Floors, in ms.
const P99_MS_MAX: f64 = 20.0;
const BRIEF_P99_MS_MAX: f64 = 25.0;
const OVERRUN_MS_MAX: f64 = 5.0;

/// Measures it.
///
/// # Errors
/// What the node answered; an impact without what points to the hub.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let (folder, runtime) = (folder()?, runtime()?);
    runtime.block_on(async {
        let began = Instant::now();
        let related = scale.decisions.related;
        let store = open_store(folder.path())?;
        let graph = fill(&store, related).await?;
        let node = start(store).await?;
        let prepared = began.elapsed();
        let what = format!("impact: preparing {} relations", related * RELATIONS);
        report.add(Row::new(what, prepared.as_secs_f64(), "s"));
        write_back()?;
        let (impacts, mut overrun) = (scale.decisions.impacts, Overrun::new());
        let asked = ask(&node, &graph, impacts, &mut overrun, report).await;
        node.shutdown().await;
        asked?;
        let decisions = related * 3 / 10;
        spread::measure(decisions, impacts / 4, &mut overrun, report).await?;
        overrun.report(report)
    })
}

/// Asks from everywhere.
async fn ask(
    node: &Node<FjallStore>,
    graph: &Graph,
    impacts: usize,
    overrun: &mut Overrun,
    report: &mut Report,
) -> Result<(), Error> {
    for (who, path) in ASKERS {
        let viewer = Viewer {
            scope: scope(path),
            prefix: ScopePrefix::All,
        };
        let asker = Asker {
            node,
            graph,
            viewer,
        };
        let (mut counted, mut timed, mut briefs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..RUNS {
            counted.push(asker.run(impacts, None, overrun).await?);
            let usual = Some(IMPACT_MS_MAX);
            timed.push(asker.run(impacts, usual, overrun).await?);
            for ms_max in SHORT_MS {
                asker.run(impacts, Some(ms_max), overrun).await?;
            }
            briefs.push(asker.run_briefs(impacts).await?);
        }
        let hub = format!("impact: a hub of {}, asked from {who}", graph.pointing());
        for (limits, runs) in [
            ("nodes and depth", counted),
            ("nodes, depth and time", timed),
        ] {
            let what = format!("{hub}, limits of {limits}, p99, worst of {RUNS} runs");
            let row = Row::new(what, worst_ms(&runs, 0.99), "ms").with_latency(&together(&runs));
            report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
        }
        let pointing = graph.pointing();
        let what = format!(
            "impact: a brief with a hub of {pointing} at hand, asked from {who}, p99, worst of {RUNS} runs"
        );
        let row = Row::new(what, worst_ms(&briefs, 0.99), "ms").with_latency(&together(&briefs));
        report.add(row.with_floor(Floor::AtMost(BRIEF_P99_MS_MAX)));
        walks::measure(&asker, who, impacts, overrun, report).await?;
    }
    Ok(())
}

/// Somebody who asks.
struct Asker<'a> {
    node: &'a Node<FjallStore>,
    graph: &'a Graph,
    viewer: Viewer,
}

impl Asker<'_> {
    /// Asks for one hub after the other: what it took.
    async fn run(
        &self,
        impacts: usize,
        ms_max: Option<u64>,
        overrun: &mut Overrun,
    ) -> Result<Histogram<u64>, Error> {
        let mut latency = histogram();
        for number in 0..WARM + impacts {
            let hub = self.graph.node(self.graph.hubs[number % HUBS]);
            let (start, limits) = (vec![hub.clone()], ImpactLimits::default());
            let sent = Instant::now();
            let impact = self
                .node
                .impact_of_standing(&self.viewer, start, limits, ms_max);
            let impact = impact.await?;
            let us = elapsed_us(sent);
            let is_cut = impact.cut.is_some_and(|cut| cut.time);
            if !is_cut {
                self.graph.check(&hub, &impact)?;
            }
            if number < WARM {
                continue;
            }
            latency.saturating_record(us);
            if let Some(ms_max) = ms_max {
                overrun.see(us, ms_max, is_cut);
            }
        }
        Ok(latency)
    }

    /// Asks for briefs, with one hub after the other at hand: what it took.
    async fn run_briefs(&self, briefs: usize) -> Result<Histogram<u64>, Error> {
        let mut latency = histogram();
        for number in 0..WARM + briefs {
            let hub = self.graph.node(self.graph.hubs[number % HUBS]);
            let query = BriefQuery {
                at: vec![hub.clone()],
                ..BriefQuery::default()
            };
            let sent = Instant::now();
            let brief = self.node.brief_of_standing(&self.viewer, query).await?;
            if number >= WARM {
                latency.saturating_record(elapsed_us(sent));
            }
            self.graph.check_brief(&hub, &brief)?;
        }
        Ok(latency)
    }
}

/// How far answers went beyond the time that they were given. What the machine takes away from a process for some milliseconds
/// now and then is in it, so that of thousands of answers the worst says more of the machine than of the limit.
struct Overrun {
    /// Of answers that the time cut, or that came too late, in us.
    over: Histogram<u64>,
    /// Answers that the time cut.
    cut: u64,
}

impl Overrun {
    fn new() -> Self {
        Self {
            over: histogram(),
            cut: 0,
        }
    }

    fn see(&mut self, us: u64, ms_max: u64, is_cut: bool) {
        let over = us.saturating_sub(ms_max * 1_000);
        if is_cut || over > 0 {
            self.over.saturating_record(over);
        }
        self.cut += u64::from(is_cut);
    }

    fn report(&self, report: &mut Report) -> Result<(), Error> {
        if self.cut == 0 {
            return Err(Error::Wrong("the time ran out for no impact".to_owned()));
        }
        let what = "impact: answers that a limit of time cut";
        report.add(Row::new(what, self.cut as f64, "answers"));
        let ms = |us: u64| us as f64 / 1_000.0;
        let what =
            "impact: a limit of time overrun, p99.9 of all answers that it cut or that came late";
        let row = Row::new(what, ms(self.over.value_at_quantile(0.999)), "ms");
        report.add(row.with_floor(Floor::AtMost(OVERRUN_MS_MAX)));
        let what = "impact: a limit of time overrun, worst of all answers";
        report.add(Row::new(what, ms(self.over.max()), "ms"));
        Ok(())
    }
}

/// Writes a graph of so many decisions beside the hubs.
async fn fill(store: &FjallStore, related: usize) -> Result<Graph, Error> {
    let texts = Texts::new();
    let mut writer = Writer::new(&scope(PROJECT), now());
    let graph = Graph::of(&writer, related);
    let hubs = (0..HUBS).map(|number| {
        let text = NewDecision {
            rank: Rank::Axis,
            ..chains::normal(title(number, texts.get(number)), texts.get(number))
        };
        (number as u64, chains::begin(text))
    });
    writer.write(store, hubs).await?;
    let others = (0..related).map(|number| {
        let place = HUBS + number;
        let text = NewDecision {
            relations: graph.relations(number),
            ..chains::normal(title(place, texts.get(number)), texts.get(number))
        };
        (place as u64, chains::begin(text))
    });
    writer.write(store, others).await?;
    Ok(graph)
}

/// What a decision is called: its number among all, and how its text begins.
fn title(number: usize, text: &str) -> String {
    let begins: String = text.chars().take(TITLE_CHARS).collect();
    format!("{number}: {begins}")
}

async fn start(store: FjallStore) -> Result<Node<FjallStore>, Error> {
    let ports = ports(Arc::new(ExactIndex::new()));
    Ok(Node::start(store, ports, NodeConfig::default()).await?)
}

/// Decisions and what they are related to.
struct Graph {
    scope: Scope,
    hubs: Vec<DecisionId>,
    /// Those that are no hubs, the earliest first.
    others: Vec<DecisionId>,
}

impl Graph {
    /// The graph of so many decisions beside the hubs, which are saved first.
    fn of(writer: &Writer, related: usize) -> Self {
        let roots = |numbers: Range<usize>| -> Vec<DecisionId> {
            numbers.map(|number| writer.root(number as u64)).collect()
        };
        Self {
            scope: scope(PROJECT),
            hubs: roots(0..HUBS),
            others: roots(HUBS..HUBS + related),
        }
    }

    /// Decisions that point to each hub.
    fn pointing(&self) -> usize {
        self.others.len() / OF_GROUP
    }

    /// A decision that is no hub: one of the later half, which all have as many others behind and before them.
    fn ordinary(&self, number: usize) -> decision::Node {
        let half = self.others.len() / 2;
        self.node(self.others[half + number % (half - REACH.min(half / 2))])
    }

    fn node(&self, root: DecisionId) -> decision::Node {
        decision::Node::Decision {
            scope: self.scope.clone(),
            root,
        }
    }

    /// What a decision is related to.
    fn relations(&self, number: usize) -> Vec<Relation> {
        let mut relations = Vec::with_capacity(RELATIONS);
        let mut relate = |kind, to| relations.push(Relation { kind, to });
        for group in 0..GROUPS {
            let hub = self.hubs[hub_of(number, group)];
            relate(RelationKind::DependsOn, self.node(hub));
        }
        for (step, kind) in TO_EARLIER.into_iter().enumerate() {
            match earlier(number, step) {
                Some(before) => relate(kind, self.node(self.others[before])),
                // The very first has as many relations as any other.
                None => relate(
                    RelationKind::AppliesTo,
                    file(&format!("src/first_{step}.rs")),
                ),
            }
        }
        let path = format!("src/module_{}.rs", number % FILES);
        relate(RelationKind::AppliesTo, file(&path));
        let name = format!("step_{}", number % SYMBOLS);
        let symbol = decision::Node::symbol(&name, None);
        let symbol = symbol.expect("letters and digits are a name");
        relate(RelationKind::AppliesTo, symbol);
        relations
    }

    /// An impact that lacks what points to the hub measures nothing.
    fn check(&self, hub: &decision::Node, impact: &Impact) -> Result<(), Error> {
        let affected = impact.affected.iter();
        let direct = affected.filter(|one| one.depth == 1 && one.by.to == *hub);
        let (direct, pointing) = (direct.count(), self.pointing());
        if direct == pointing.min(IMPACT_NODES_MAX) {
            return Ok(());
        }
        let why = format!("{pointing} decisions depend on {hub}, and {direct} of them were found");
        Err(Error::Wrong(why))
    }

    /// A brief that is not full, or whose references are not to what points to the hub, measures nothing.
    fn check_brief(&self, hub: &decision::Node, brief: &Brief) -> Result<(), Error> {
        let is_direct = |item: &&BriefItem| matches!(item, BriefItem::Structural { affected, .. } if affected.by.to == *hub);
        let direct = brief.items.iter().filter(is_direct).count();
        let items = brief.items.len();
        let room = BRIEF_ITEMS_USUAL / BRIEF_STRUCTURAL_PART;
        if items == BRIEF_ITEMS_USUAL && direct == self.pointing().min(room) {
            return Ok(());
        }
        let why = format!(
            "a brief with {hub} at hand has {items} items, of which {direct} refer to what depends on it"
        );
        Err(Error::Wrong(why))
    }
}

/// The hub of a group that a decision depends on. Each ten decisions, counted from the first, depend on ten different ones of a
/// group, and from ten to ten the groups shift against one another, so that those of one hub have not all the same others.
const fn hub_of(number: usize, group: usize) -> usize {
    group * OF_GROUP + (number + number / OF_GROUP * group) % OF_GROUP
}

/// An earlier decision; none before the very first.
fn earlier(number: usize, step: usize) -> Option<usize> {
    let reach = number.min(REACH);
    (reach > 0).then(|| number - 1 - (number * 31 + step * 17) % reach)
}

fn file(path: &str) -> decision::Node {
    decision::Node::file(path).expect("the path of a file of the graph")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use sillok_actors::audit;

    use super::*;

    fn graph(related: usize) -> Graph {
        Graph::of(&Writer::new(&scope(PROJECT), now()), related)
    }

    #[test]
    fn each_hub_has_a_tenth_of_all_decisions_that_point_to_it() {
        let graph = graph(2_000);
        let hubs: BTreeSet<decision::Node> =
            graph.hubs.iter().map(|hub| graph.node(*hub)).collect();
        let mut pointing = BTreeMap::<decision::Node, usize>::new();
        let mut relations = 0;
        for number in 0..2_000 {
            let all = graph.relations(number);
            let different: BTreeSet<&Relation> = all.iter().collect();
            assert_eq!(different.len(), RELATIONS, "{number}");
            relations += all.len();
            for relation in all.into_iter().filter(|one| hubs.contains(&one.to)) {
                assert_eq!(relation.kind, RelationKind::DependsOn);
                *pointing.entry(relation.to).or_default() += 1;
            }
        }
        assert_eq!(relations, 20_000);
        assert_eq!(pointing.len(), HUBS);
        assert!(pointing.values().all(|count| *count == graph.pointing()));
    }

    #[test]
    fn earlier_decisions_are_earlier() {
        assert_eq!(earlier(0, 0), None);
        for number in 1..5_000 {
            for step in 0..TO_EARLIER.len() {
                let before = earlier(number, step).unwrap();
                assert!(before < number && number - before <= REACH, "{number}");
            }
        }
    }

    #[test]
    fn a_title_is_a_number_and_a_line_of_the_text() {
        let texts = Texts::new();
        let long = title(100_049, texts.get(7));
        assert_eq!(long.len(), "100049: ".len() + TITLE_CHARS);
        let begins = long.strip_prefix("100049: ").unwrap();
        assert!(texts.get(7).starts_with(begins));
    }

    #[test]
    fn only_what_lies_beyond_the_limit_is_an_overrun() {
        let mut overrun = Overrun::new();
        overrun.see(900, 1, false);
        assert_eq!((overrun.over.len(), overrun.cut), (0, 0));
        // What is done before its time and cut all the same counts too, and so does what is whole and late.
        overrun.see(900, 1, true);
        overrun.see(5_700, 5, true);
        overrun.see(20_300, 20, false);
        assert_eq!((overrun.over.len(), overrun.cut), (3, 2));
        assert!(overrun.over.equivalent(overrun.over.max(), 700));
        assert!(overrun.over.equivalent(overrun.over.min(), 0));
    }

    #[test]
    fn what_points_to_a_hub_is_found_in_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            let graph = fill(&store, 200).await.unwrap();
            // What was written belongs to a node once one has started.
            let node = start(store.clone()).await.unwrap();
            let audited = audit::verify(&store, &|_| {}).await.unwrap();
            assert!(audited.is_ok(), "{:?}", audited.first);
            for (_, path) in ASKERS {
                let viewer = Viewer {
                    scope: scope(path),
                    prefix: ScopePrefix::All,
                };
                let asker = Asker {
                    node: &node,
                    graph: &graph,
                    viewer,
                };
                let mut overrun = Overrun::new();
                asker.run(HUBS, None, &mut overrun).await.unwrap();
                assert_eq!(overrun.over.len(), 0);
                asker.run_briefs(HUBS).await.unwrap();
                walks::walk(&asker, 0..WARM, &mut overrun).await.unwrap();
                // Of another hub the references are others.
                let at = vec![graph.node(graph.hubs[1])];
                let query = BriefQuery {
                    at,
                    ..BriefQuery::default()
                };
                let brief = node.brief_of_standing(&asker.viewer, query).await.unwrap();
                let hub = graph.node(graph.hubs[0]);
                assert!(graph.check_brief(&hub, &brief).is_err());
            }
            let hub = graph.node(graph.hubs[0]);
            assert!(graph.check(&hub, &Impact::default()).is_err());
            node.shutdown().await;
        });
    }
}
