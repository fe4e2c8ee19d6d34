//! Briefs among very many decisions, of which each has one version or several.
//!
//! Two stores hold the same roots, in the same places and order: in the one each has its first version alone, in the other
//! several more, of the same size and all of one rank and domain, which were added after all chains were begun. Both are asked
//! in turns, in one process, so that whatever else the machine does meets both. How long a read takes also depends on how many
//! tables the engine has not merged yet, and on what is still in memory, which goes up and down with all that is written. So
//! before each run both take the same saves, of which no brief sees any, the one first and then the other, by turns, and each run
//! finds them in another state: one alone would measure how far apart two stores happen to be. Each store is closed and opened
//! again before it is asked, as that of a server that was started again. A third store holds ten times the roots. All
//! roots lie in the worktree that a brief is for, its project and its organisation, so each is one that the brief could hold;
//! a few of each are strong enough to load before the others, which fill it up. In a fourth store ([`anchored`]) few decisions
//! are those of a brief, so that it ends with anchors, each with what it leads to. Stores are written by [`crate::chains`],
//! once, and each run asks them anew.

mod anchored;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt as _, stream};
use hdrhistogram::Histogram;
use sillok_actors::reads::{BriefQuery, Viewer};
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::ExactIndex;
use sillok_core::anchor::Standing;
use sillok_core::brief::{Brief, BriefItem};
use sillok_core::command::Command;
use sillok_core::decision::{Domain, NewDecision, Rank};
use sillok_core::limits::{ANCHOR_NODES_MAX, BRIEF_ITEMS_USUAL};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::ScopePrefix;
use sillok_core::time::Timestamp;
use sillok_store::FjallStore;

use self::anchored::ANCHORS;
use crate::chains::{self, Writer};
use crate::engines::{folder, open_store, ports, runtime, write_back};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms, worst_ratio};
use crate::scale::{DecisionScale, Scale};
use crate::workload::{Texts, now, principal, scope, submission};

/// Where roots lie, the widest first. A brief is for the last one.
const PLACES: [&str; 3] = [
    "org/bench",
    "org/bench/project/brief",
    "org/bench/project/brief/worktree/main",
];
/// Fields of work; field 0 stands for all of them.
const FIELDS: usize = 10;
/// Sorts of which there are few: place, rank, field.
const FEW: [(usize, Rank, usize); 14] = [
    (0, Rank::Policy, 0),
    (1, Rank::Policy, 0),
    (0, Rank::Axis, 0),
    (1, Rank::Axis, 0),
    (2, Rank::Axis, 0),
    (0, Rank::Axis, 1),
    (1, Rank::Axis, 1),
    (2, Rank::Axis, 1),
    (0, Rank::Lock, 0),
    (1, Rank::Lock, 0),
    (2, Rank::Lock, 0),
    (0, Rank::Lock, 1),
    (1, Rank::Lock, 1),
    (2, Rank::Lock, 1),
];
/// How many there are of each of these, however many roots there are.
const OF_EACH: usize = 10;
/// Where what is saved before each run lies, beside all briefs, and how many of these saves are under way at once.
const BESIDE: &str = "org/bench/project/beside/worktree/main";
const BESIDE_AT_ONCE: usize = 256;
/// Saves that are held at once.
const SAVES_AT_ONCE: usize = 8_192;
/// Briefs of a round: one of each field in both orders.
const ROUND: usize = 2 * FIELDS;
/// Briefs of each run before any counts.
const WARM: usize = 2 * ROUND;
/// Floors.
const P50_RATIO_MAX: f64 = 1.2;
const P99_MS_MAX: f64 = 10.0;

/// Measures all of them.
///
/// # Errors
/// What the node answered; a brief of other decisions than those that hold.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    runtime()?.block_on(async {
        versions(&scale.decisions, report).await?;
        many(&scale.decisions, report).await?;
        anchors(&scale.decisions, report).await
    })
}

/// Some versions of each root against one.
async fn versions(scale: &DecisionScale, report: &mut Report) -> Result<(), Error> {
    let (folder, at) = (folder()?, now());
    let (roots, versions) = (scale.roots, scale.versions);
    let began = Instant::now();
    let several = start(&folder.path().join("several"), roots, versions, at).await?;
    let one = start(&folder.path().join("one"), roots, 1, at).await?;
    let prepared = began.elapsed();
    let asked = [
        Asked {
            node: &several,
            versions,
            anchors: 0,
        },
        Asked {
            node: &one,
            versions: 1,
            anchors: 0,
        },
    ];
    let runs = runs(&asked, scale).await;
    several.shutdown().await;
    one.shutdown().await;
    let runs = runs?;
    let (of_several, of_one) = (&runs[0], &runs[1]);
    let what =
        format!("brief: preparing {roots} roots twice, with {versions} versions and with one");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    report_runs(
        report,
        &format!("{roots} roots, {versions} versions each"),
        of_several,
    );
    report_runs(report, &format!("{roots} roots, one version each"), of_one);
    let over = format!("brief: p50 with {versions} versions over that with one");
    let (several, one) = (together(of_several), together(of_one));
    let p50_us = |all: &Histogram<u64>| all.value_at_quantile(0.5).max(1) as f64;
    let of_all = p50_us(&several) / p50_us(&one);
    report.add(Row::new(
        format!("{over}, of all {RUNS} runs"),
        of_all,
        "times",
    ));
    let worst = worst_ratio(of_several, of_one, 0.5);
    let row = Row::new(format!("{over}, worst of {RUNS} runs"), worst, "times");
    report.add(row.with_floor(Floor::AtMost(P50_RATIO_MAX)));
    Ok(())
}

/// Many more roots.
async fn many(scale: &DecisionScale, report: &mut Report) -> Result<(), Error> {
    let (folder, roots) = (folder()?, scale.many_roots);
    let began = Instant::now();
    let node = start(folder.path(), roots, 1, now()).await?;
    let prepared = began.elapsed();
    let asked = [Asked {
        node: &node,
        versions: 1,
        anchors: 0,
    }];
    let runs = runs(&asked, scale).await;
    node.shutdown().await;
    let what = format!("brief: preparing {roots} roots");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    report_runs(
        report,
        &format!("{roots} roots, one version each"),
        &runs?[0],
    );
    Ok(())
}

/// Anchors behind the decisions, with all that they lead to.
async fn anchors(scale: &DecisionScale, report: &mut Report) -> Result<(), Error> {
    let (folder, roots) = (folder()?, scale.roots);
    let began = Instant::now();
    let store = open_store(folder.path())?;
    anchored::fill(&store, roots, now()).await?;
    drop(store);
    let node = node_on(open_store(folder.path())?).await?;
    let prepared = began.elapsed();
    let asked = [Asked {
        node: &node,
        versions: 1,
        anchors: ANCHORS,
    }];
    let runs = runs(&asked, scale).await;
    node.shutdown().await;
    let what = format!("brief: preparing {roots} roots and what leads to them");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    let among = format!("{roots} roots, with {ANCHORS} anchors of {ANCHOR_NODES_MAX} leads each");
    report_runs(report, &among, &runs?[0]);
    Ok(())
}

fn report_runs(report: &mut Report, among: &str, runs: &[Histogram<u64>]) {
    let what = format!("brief: {BRIEF_ITEMS_USUAL} items among {among}, p99, worst of {RUNS} runs");
    let row = Row::new(what, worst_ms(runs, 0.99), "ms").with_latency(&together(runs));
    report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
}

/// A node that is asked.
struct Asked<'a> {
    node: &'a Node<FjallStore>,
    /// Versions of each of its decisions.
    versions: u64,
    /// Anchors that each of its briefs ends with. Where there are any, the brief holds all that there is.
    anchors: usize,
}

/// The runs of each node.
async fn runs(
    asked: &[Asked<'_>],
    scale: &DecisionScale,
) -> Result<Vec<Vec<Histogram<u64>>>, Error> {
    let texts = Texts::new();
    let mut runs: Vec<Vec<Histogram<u64>>> = asked.iter().map(|_| Vec::new()).collect();
    let mut turns: Vec<&Asked<'_>> = asked.iter().collect();
    for _ in 0..RUNS {
        for one in &turns {
            beside(one.node, scale.beside, &texts).await?;
        }
        turns.reverse();
        write_back()?;
        let latencies = run(asked, scale.briefs).await?;
        for (runs, latency) in runs.iter_mut().zip(latencies) {
            runs.push(latency);
        }
    }
    Ok(runs)
}

/// Asks each of them for a brief, over and over, of one field of work after the other: what it took. Neither of two is asked
/// first more often than the other, of any field.
async fn run(asked: &[Asked<'_>], briefs: usize) -> Result<Vec<Histogram<u64>>, Error> {
    if !briefs.is_multiple_of(ROUND) {
        let why = format!("{briefs} briefs are not whole rounds of {ROUND}");
        return Err(Error::Wrong(why));
    }
    let viewer = viewer();
    let mut latencies: Vec<Histogram<u64>> = asked.iter().map(|_| histogram()).collect();
    let mut turns: Vec<_> = asked.iter().zip(&mut latencies).collect();
    for number in 0..WARM + briefs {
        if number.is_multiple_of(FIELDS) {
            turns.reverse();
        }
        let field = domain(1 + number % FIELDS);
        for (one, latency) in &mut turns {
            let query = BriefQuery {
                domain: field.clone(),
                ..BriefQuery::default()
            };
            let sent = Instant::now();
            let brief = one.node.brief_of_standing(&viewer, query).await?;
            if number >= WARM {
                latency.saturating_record(elapsed_us(sent));
            }
            check(&brief, one.versions, one.anchors)?;
        }
    }
    Ok(latencies)
}

fn viewer() -> Viewer {
    Viewer {
        scope: scope(PLACES[PLACES.len() - 1]),
        prefix: ScopePrefix::All,
    }
}

/// A brief that is not full, or holds anything but newest versions and so many anchors in their order, measures nothing.
fn check(brief: &Brief, versions: u64, anchors: usize) -> Result<(), Error> {
    let is_newest = |item: &&BriefItem| matches!(item, BriefItem::Decision { version, .. } if version.number == versions);
    let newest = brief.items.iter().filter(is_newest).count();
    let leading = brief.items.iter().filter(|item| leads_on(item)).count();
    let good = brief.items.len() == BRIEF_ITEMS_USUAL
        && (newest, leading) == (BRIEF_ITEMS_USUAL - anchors, anchors)
        && brief.items.is_sorted_by_key(BriefItem::layer)
        && brief.cut.iter().any(|cut| cut.items > 0) == (anchors == 0);
    if good {
        return Ok(());
    }
    Err(Error::Wrong(format!(
        "a brief of {} items, of which {newest} are of version {versions} and {leading} are anchors, cut by {:?}",
        brief.items.len(),
        brief.cut
    )))
}

/// Whether an item is an anchor that leads to as much as one may, all of which holds.
fn leads_on(item: &BriefItem) -> bool {
    let BriefItem::Anchor { leads, .. } = item else {
        return false;
    };
    let holds = leads.iter().all(|lead| lead.standing == Standing::Holds);
    holds && leads.len() == ANCHOR_NODES_MAX
}

/// A node on a store with so many roots, of so many versions each, which was closed since they were written.
async fn start(
    folder: &Path,
    roots: usize,
    versions: u64,
    at: Timestamp,
) -> Result<Node<FjallStore>, Error> {
    let store = open_store(folder)?;
    let texts = Texts::new();
    for (place, path) in PLACES.iter().enumerate() {
        let all = (0..roots).map(|number| (number, sort(number, roots)));
        let here: Vec<(usize, Sort)> = all.filter(|(_, sort)| sort.place == place).collect();
        let mut writer = Writer::new(&scope(path), at);
        for version in 1..=versions {
            for some in here.chunks(SAVES_AT_ONCE) {
                let saves = some.iter();
                let saves =
                    saves.map(|(number, sort)| save(&writer, *number, version, sort, &texts));
                let saves: Vec<(u64, Command)> = saves.collect();
                writer.write(&store, saves).await?;
                if versions == 1 {
                    writer.forget();
                }
            }
        }
    }
    drop(store);
    node_on(open_store(folder)?).await
}

/// Saves decisions that no brief looks at.
async fn beside(node: &Node<FjallStore>, saves: usize, texts: &Texts) -> Result<(), Error> {
    let (place, agent) = (scope(BESIDE), principal(PrincipalKind::Agent));
    let saved = (0..saves).map(async |number| {
        let text = chains::normal(format!("Decision {number:07}, beside"), texts.get(number));
        let command = submission(&place, &agent, chains::begin(text));
        node.submit(command).await.map(drop)
    });
    let mut saved = stream::iter(saved).buffer_unordered(BESIDE_AT_ONCE);
    while let Some(answered) = saved.next().await {
        answered?;
    }
    Ok(())
}

async fn node_on(store: FjallStore) -> Result<Node<FjallStore>, Error> {
    let ports = ports(Arc::new(ExactIndex::new()));
    Ok(Node::start(store, ports, NodeConfig::default()).await?)
}

/// What a root is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    /// Which of [`PLACES`] holds it.
    place: usize,
    rank: Rank,
    domain: Domain,
}

/// What a root is of so many: those of which there are few stand apart from one another, and the others are spread over
/// all places, ranks and fields. Of the first field and of all fields together there are no strong ones but the few.
fn sort(number: usize, roots: usize) -> Sort {
    let few = FEW.len() * OF_EACH;
    let apart = roots / few;
    let turn = number / apart;
    if number.is_multiple_of(apart) && turn < few {
        let (place, rank, field) = FEW[turn % FEW.len()];
        return Sort {
            place,
            rank,
            domain: domain(field),
        };
    }
    let place = match number % 10 {
        0 => 0,
        1..=6 => 1,
        _ => 2,
    };
    let field = number % (FIELDS + 1);
    let rank = match number % 7 {
        0 if field > 1 => Rank::Axis,
        1 if field > 1 => Rank::Lock,
        _ => Rank::Normal,
    };
    Sort {
        place,
        rank,
        domain: domain(field),
    }
}

fn domain(field: usize) -> Domain {
    if field == 0 {
        return Domain::global();
    }
    let name = format!("field-{field}");
    name.parse().expect("letters and digits are a plain name")
}

/// The save of one version of a root, with the number of its command.
fn save(
    writer: &Writer,
    number: usize,
    version: u64,
    sort: &Sort,
    texts: &Texts,
) -> (u64, Command) {
    let text = NewDecision {
        rank: sort.rank,
        domain: sort.domain.clone(),
        ..chains::normal(
            format!("Decision {number:07}, version {version:02}"),
            texts.get(number),
        )
    };
    let numbered = |version: u64| (version << 32) | number as u64;
    let command = if version == 1 {
        chains::begin(text)
    } else {
        chains::change(writer.root(numbered(1)), version - 1, text)
    };
    (numbered(version), command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sillok_actors::audit;
    use sillok_core::brief::Layer;

    use super::*;

    #[test]
    fn every_root_lies_where_the_brief_looks_and_all_sorts_are_there() {
        for roots in [1_900, 100_000] {
            let mut sorts = BTreeMap::<Sort, usize>::new();
            for number in 0..roots {
                *sorts.entry(sort(number, roots)).or_default() += 1;
            }
            for (place, rank, field) in FEW {
                let domain = domain(field);
                let few = Sort {
                    place,
                    rank,
                    domain,
                };
                assert_eq!(sorts.get(&few), Some(&OF_EACH), "{few:?} of {roots}");
            }
            // Normal ones of each field and of all of them, and axes and locks of all fields but the first.
            let others = PLACES.len() * (FIELDS + 1 + 2 * (FIELDS - 1));
            assert_eq!(sorts.len(), FEW.len() + others, "{roots}");
        }
        let around = viewer().scope.with_ancestors();
        assert!(PLACES.iter().all(|path| around.contains(&scope(path))));
        assert_eq!(around.len(), PLACES.len());
        assert!(
            !around.contains(&scope(BESIDE)),
            "no brief sees what is saved there"
        );
    }

    #[test]
    fn a_brief_of_what_was_written_is_full_and_of_all_layers_that_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let node = start(folder.path(), 1_900, 2, now()).await.unwrap();
            let query = BriefQuery {
                domain: domain(1),
                ..BriefQuery::default()
            };
            let brief = node.brief_of_standing(&viewer(), query).await.unwrap();
            check(&brief, 2, 0).unwrap();
            assert!(
                check(&brief, 1, 0).is_err(),
                "all are of the second version"
            );
            let mut layers = BTreeMap::<Layer, usize>::new();
            for item in &brief.items {
                *layers.entry(item.layer()).or_default() += 1;
            }
            let wanted = [
                (Layer::Policy, 20),
                (Layer::GlobalAxis, 30),
                (Layer::DomainAxis, 30),
                (Layer::Lock, 60),
                (Layer::Normal, 60),
            ];
            assert_eq!(layers, BTreeMap::from(wanted));
            node.shutdown().await;
        });
    }

    #[test]
    fn a_brief_of_each_field_ends_with_its_anchors_and_all_that_they_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        runtime().unwrap().block_on(async {
            let store = open_store(folder.path()).unwrap();
            anchored::fill(&store, 1_900, now()).await.unwrap();
            // What was written belongs to a node once one has started.
            let node = node_on(store.clone()).await.unwrap();
            let audited = audit::verify(&store, &|_| {}).await.unwrap();
            assert!(audited.is_ok(), "{:?}", audited.first);
            for field in 1..=FIELDS {
                let query = BriefQuery {
                    domain: domain(field),
                    ..BriefQuery::default()
                };
                let brief = node.brief_of_standing(&viewer(), query).await.unwrap();
                check(&brief, 1, ANCHORS).unwrap();
                assert!(check(&brief, 1, 0).is_err(), "a part of it are anchors");
                assert_eq!(brief.items[BRIEF_ITEMS_USUAL - 1].layer(), Layer::Anchor);
            }
            node.shutdown().await;
        });
    }

    #[test]
    fn versions_of_a_root_are_of_one_size_and_differ() {
        let (writer, texts) = (Writer::new(&scope(PLACES[1]), now()), Texts::new());
        let sort = sort(77, 1_900);
        let said = |version| match save(&writer, 77, version, &sort, &texts) {
            (number, Command::SaveDecision(save)) => (number, save.text),
            other => panic!("{other:?}"),
        };
        let ((one, first), (ten, last)) = (said(1), said(10));
        assert!(one != ten && first != last);
        assert_eq!(first.text_bytes(), last.text_bytes());
    }
}
