//! Tests of the loading order and of the budget, against a model that sorts everything there is.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::decision::{Act, Domain, NewDecision, Node, RelationKind};
use crate::id::{DecisionId, Seq};
use crate::impact::Source;
use crate::principal::Actor;
use crate::scope::Level;
use crate::time::Timestamp;

mod hints;
mod room;
mod warned;

use hints::{Hint, any_hints};

/// A task with what holds it, from the widest scope on, and two scopes beside these.
const SCOPES: [&str; 6] = [
    "org/a",
    "org/a/project/p",
    "org/a/project/p/worktree/w",
    "org/a/project/p/worktree/w/task/t",
    "org/a/project/q",
    "org/b",
];
const DOMAINS: [&str; 3] = ["global", "ui", "runtime"];

/// Room for all that a test makes up.
const AMPLE: BriefBudget = BriefBudget {
    items_max: BRIEF_ITEMS_MAX,
    bytes_max: BRIEF_BYTES_MAX,
};

fn scope(number: usize) -> Scope {
    Scope::parse(SCOPES[number]).unwrap()
}

fn domain(number: usize) -> Domain {
    DOMAINS[number].parse().unwrap()
}

/// What a test knows of a decision.
#[derive(Clone, Debug)]
struct Chain {
    root: DecisionId,
    begun: Seq,
    scope: Scope,
    rank: Rank,
    domain: Domain,
    version: u64,
    content_bytes: usize,
    active: bool,
}

impl Chain {
    fn item(&self, layer: Layer) -> BriefItem {
        // Some have a phase, called as domains are: the model knows nothing of it.
        let place = usize::try_from(self.version).unwrap();
        let phase = DOMAINS.get(place % 5).map(|name| name.parse().unwrap());
        let text = NewDecision {
            rank: self.rank,
            domain: self.domain.clone(),
            phase,
            title: "what was decided".to_owned(),
            content: "x".repeat(self.content_bytes),
            claim: None,
            relations: Vec::new(),
        };
        let version = DecisionVersion {
            root: self.root,
            number: self.version,
            act: Act::Changed,
            text: Some(text),
            reason: String::new(),
            by: Actor::system(),
            at: Timestamp::from_ms(self.version),
            seq: Seq::new(self.begun.get() + self.version),
        };
        BriefItem::Decision {
            layer,
            scope: self.scope.clone(),
            version,
            rank: self.rank,
        }
    }
}

/// Decisions of every rank, here and elsewhere. The order of their roots is not the one in which they began.
fn any_chains() -> impl Strategy<Value = Vec<Chain>> {
    let ranks = proptest::sample::select(Rank::ALL.to_vec());
    let places = (0..SCOPES.len(), 0..DOMAINS.len());
    let active = proptest::bool::weighted(0.8);
    let one = (ranks, places, 1u64..9, 0usize..400, active);
    proptest::collection::vec(one, 0..40).prop_map(|ones| {
        let numbered = ones.into_iter().zip(0u8..);
        let chains = numbered.map(|((rank, places, version, content_bytes, active), number)| {
            let is_policy = rank == Rank::Policy;
            Chain {
                root: DecisionId::from_bytes([number.wrapping_mul(97).wrapping_add(31); 16]),
                begun: Seq::new(u64::from(number) + 1),
                scope: scope(places.0),
                rank,
                domain: domain(if is_policy { 0 } else { places.1 }),
                version,
                content_bytes,
                active,
            }
        });
        chains.collect::<Vec<Chain>>()
    })
}

/// An impact of so many decisions, each straight from the file at hand.
fn impact_of(affected: u8) -> Impact {
    let file: Node = "file:src/a.rs".parse().unwrap();
    let affected = (0..affected).map(|number| {
        let node = Node::Decision {
            scope: scope(1),
            root: DecisionId::from_bytes([number; 16]),
        };
        Affected {
            node: node.clone(),
            depth: 1,
            from: Source::Start(0),
            by: Edge {
                from: node,
                kind: RelationKind::AppliesTo,
                to: file.clone(),
            },
            title: Some("what it says".to_owned()),
            rank: Some(Rank::Normal),
        }
    });
    Impact {
        affected: affected.collect(),
        start: vec![file.clone()],
        cut: None,
    }
}

/// What is asked for, where, and with which decisions and anchors there.
struct Asked<'a> {
    chains: &'a [Chain],
    hints: &'a [Hint],
    scope: Scope,
    domain: Domain,
    impact: Impact,
}

/// A brief, and what was read for it.
struct Loaded {
    brief: Brief,
    texts_read: usize,
    rows_counted: usize,
}

/// Where an item stands: its layer, whether it is of the named domain, its scope, and when it came about.
type Place = (u8, bool, Reverse<Level>, u64);

/// What is listed, each list by the order of its rows.
type Listed<'a> = BTreeMap<(Scope, Lists, Domain), BTreeMap<(Seq, [u8; 16]), Row<'a>>>;

#[derive(Clone, Copy)]
enum Row<'a> {
    Chain(&'a Chain),
    Hint(&'a Hint),
}

impl Row<'_> {
    fn item(self, layer: Layer) -> BriefItem {
        match self {
            Self::Chain(chain) => chain.item(layer),
            Self::Hint(hint) => hint.item(),
        }
    }
}

impl Asked<'_> {
    fn lists(&self) -> Listed<'_> {
        let mut lists = Listed::new();
        for chain in self.chains.iter().filter(|chain| chain.active) {
            let of_rank = Lists::Decisions(chain.rank);
            let key = (chain.scope.clone(), of_rank, chain.domain.clone());
            let list = lists.entry(key).or_default();
            list.insert((chain.begun, *chain.root.as_bytes()), Row::Chain(chain));
        }
        for hint in self.hints.iter().filter(|hint| !hint.dropped) {
            let key = (hint.scope.clone(), Lists::Anchors, hint.domain.clone());
            let list = lists.entry(key).or_default();
            list.insert((hint.seq, *hint.id.as_bytes()), Row::Hint(hint));
        }
        lists
    }

    /// Loads as a reader of a store does: one list after the other, and texts only where they may fit.
    fn load(&self, budget: BriefBudget) -> Result<Loaded, Error> {
        let lists = self.lists();
        let (mut texts_read, mut rows_counted) = (0, 0);
        let mut cutter = Cutter::new(budget);
        let mut is_walked = false;
        for step in loading_order(&self.scope, &self.domain) {
            if step.layer > Layer::Structural && !is_walked {
                cutter.take_impact(&self.impact)?;
                is_walked = true;
            }
            let list = lists.get(&(step.scope, step.lists, step.domain));
            let mut rows = list.into_iter().flat_map(BTreeMap::values);
            while !cutter.is_full()
                && let Some(row) = rows.next()
            {
                texts_read += 1;
                cutter.take(row.item(step.layer))?;
            }
            if cutter.is_full() {
                let behind = rows.take(cutter.rows_wanted()).count();
                rows_counted += behind;
                cutter.leave_out(step.layer, behind);
            }
        }
        Ok(Loaded {
            brief: cutter.finish(),
            texts_read,
            rows_counted,
        })
    }

    fn brief(&self, budget: BriefBudget) -> Brief {
        self.load(budget).unwrap().brief
    }

    /// The decisions that hold here, sorted by what the specification says, word for word, each with its place.
    fn decisions(&self) -> Vec<(Place, BriefItem)> {
        let here = self.chains.iter().filter(|chain| {
            let is_of_domain = chain.domain.is_global() || chain.domain == self.domain;
            chain.active && chain.scope.contains(&self.scope) && is_of_domain
        });
        let placed = here.map(|chain| {
            let is_global = chain.domain.is_global();
            let layer = match chain.rank {
                Rank::Policy => Layer::Policy,
                Rank::Axis if is_global => Layer::GlobalAxis,
                Rank::Axis => Layer::DomainAxis,
                Rank::Lock => Layer::Lock,
                Rank::Normal => Layer::Normal,
            };
            let level = Reverse(chain.scope.level());
            let place: Place = (layer as u8, !is_global, level, chain.begun.get());
            (place, chain.item(layer))
        });
        let mut all: Vec<_> = placed.collect();
        all.sort_by_key(|(place, _)| *place);
        all
    }

    /// What the policies leave of a budget: each takes its room, up to the first that does not fit.
    fn left(&self, budget: BriefBudget) -> BriefBudget {
        let mut left = budget;
        for (_, item) in self.decisions() {
            let bytes = item.bytes();
            let fits = left.items_max > 0 && bytes <= left.bytes_max;
            if item.layer() != Layer::Policy || !fits {
                break;
            }
            left.items_max -= 1;
            left.bytes_max -= bytes;
        }
        left
    }

    /// The references that a brief with such a budget has room for: four times all of them fit into what the policies leave
    /// of it, or it is one.
    fn references(&self, budget: BriefBudget) -> Vec<BriefItem> {
        let left = self.left(budget);
        let mut taken = Vec::new();
        let mut bytes = 0;
        for index in 0..self.impact.affected.len() {
            let item = BriefItem::of_impact(&self.impact, index).unwrap();
            bytes += item.bytes();
            let fits = 4 * (index + 1) <= left.items_max && 4 * bytes <= left.bytes_max;
            if index > 0 && !fits {
                break;
            }
            taken.push(item);
        }
        taken
    }

    /// How many references such a brief has no room for.
    fn beyond(&self, budget: BriefBudget) -> usize {
        self.impact.affected.len() - self.references(budget).len()
    }

    /// The model: everything that holds here, in its place, with the references that there is room for.
    fn model(&self, budget: BriefBudget) -> Vec<BriefItem> {
        let references = self.references(budget).into_iter().zip(0..);
        let structural =
            references.map(|(item, index)| ((2, false, Reverse(Level::Org), index), item));
        let anchors = self.hints.iter().filter(|hint| {
            let is_of_domain = hint.domain.is_global() || hint.domain == self.domain;
            !hint.dropped && hint.scope.contains(&self.scope) && is_of_domain
        });
        let anchors = anchors.map(|hint| {
            let level = Reverse(hint.scope.level());
            let key = (7, !hint.domain.is_global(), level, hint.seq.get());
            (key, hint.item())
        });
        let mut all = self.decisions();
        all.extend(structural.chain(anchors));
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, item)| item).collect()
    }
}

fn asked(chains: &[Chain], at: (usize, usize), affected: u8) -> Asked<'_> {
    Asked {
        chains,
        hints: &[],
        scope: scope(at.0),
        domain: domain(at.1),
        impact: impact_of(affected),
    }
}

/// A scope and a domain to ask for.
fn any_place() -> impl Strategy<Value = (usize, usize)> {
    (0..4usize, 0..DOMAINS.len())
}

fn rank_of(item: &BriefItem) -> Option<Rank> {
    match item {
        BriefItem::Decision { rank, .. } => Some(*rank),
        BriefItem::Structural { .. } | BriefItem::Anchor { .. } => None,
    }
}

/// How many of the items stand in each layer, with so many references for which theirs has no room.
fn by_layer(items: &[BriefItem], beyond: usize) -> Vec<Cut> {
    let count = |layer| {
        let items = items.iter().filter(|item| item.layer() == layer);
        let beyond = if layer == Layer::Structural {
            beyond
        } else {
            0
        };
        items.count() + beyond
    };
    let cuts = Layer::ALL.into_iter().map(|layer| Cut {
        layer,
        items: count(layer) as u64,
        more: false,
    });
    cuts.filter(|cut| cut.items > 0).collect()
}

fn bytes_of(brief: &Brief) -> Vec<u8> {
    postcard::to_allocvec(brief).unwrap()
}

proptest! {
    #[test]
    fn a_brief_is_all_that_holds_in_the_order_of_the_model(
        chains in any_chains(), hints in any_hints(), at in any_place(), affected in 0u8..5,
    ) {
        let asked = Asked { hints: &hints, ..asked(&chains, at, affected) };
        let brief = asked.brief(AMPLE);
        prop_assert_eq!(&brief.items, &asked.model(AMPLE));
        prop_assert_eq!(brief.impact_cut, None);
        prop_assert!(brief.cut.is_empty());
        prop_assert_eq!(brief.bytes, brief.items.iter().map(|item| item.bytes() as u64).sum::<u64>());
    }

    #[test]
    fn no_normal_decision_stands_before_an_axis_nor_anything_before_a_policy(
        chains in any_chains(), hints in any_hints(), at in any_place(), affected in 0u8..5,
    ) {
        let items = Asked { hints: &hints, ..asked(&chains, at, affected) }.brief(AMPLE).items;
        let last = |rank: Rank| items.iter().rposition(|item| rank_of(item) == Some(rank));
        let first = |rank: Rank| items.iter().position(|item| rank_of(item) == Some(rank));
        if let (Some(axis), Some(normal)) = (last(Rank::Axis), first(Rank::Normal)) {
            prop_assert!(axis < normal);
        }
        if let Some(policy) = last(Rank::Policy) {
            prop_assert!(items[..=policy].iter().all(|item| rank_of(item) == Some(Rank::Policy)));
        }
        prop_assert!(items.is_sorted_by_key(BriefItem::layer));
    }

    #[test]
    fn the_same_state_gives_the_same_bytes_however_it_came_about(
        (chains, shuffled) in any_chains().prop_flat_map(|chains| (Just(chains.clone()), Just(chains).prop_shuffle())),
        (hints, turned) in any_hints().prop_flat_map(|hints| (Just(hints.clone()), Just(hints).prop_shuffle())),
        at in any_place(),
        affected in 0u8..5,
        items_max in 1usize..40,
    ) {
        let budget = BriefBudget { items_max, ..AMPLE };
        let one = Asked { hints: &hints, ..asked(&chains, at, affected) }.brief(budget);
        let other = Asked { hints: &turned, ..asked(&shuffled, at, affected) }.brief(budget);
        prop_assert_eq!(bytes_of(&one), bytes_of(&other));
    }

    #[test]
    fn what_was_withdrawn_or_holds_elsewhere_changes_no_byte(
        chains in any_chains(), at in any_place(), affected in 0u8..5, items_max in 1usize..20,
    ) {
        let budget = BriefBudget { items_max, ..AMPLE };
        let (here, other) = (scope(at.0), domain(at.1));
        let counts = |chain: &&Chain| {
            let is_of_domain = chain.domain.is_global() || chain.domain == other;
            chain.active && chain.scope.contains(&here) && is_of_domain
        };
        let few: Vec<Chain> = chains.iter().filter(counts).cloned().collect();
        let among_all = asked(&chains, at, affected).brief(budget);
        let alone = asked(&few, at, affected).brief(budget);
        prop_assert_eq!(bytes_of(&among_all), bytes_of(&alone));
    }

    /// Nothing else that a brief says is read later, cut sooner or counted otherwise for them.
    #[test]
    fn no_anchor_changes_what_stands_before_it(
        chains in any_chains(), hints in any_hints(), at in any_place(), affected in 0u8..5,
        items_max in 1usize..60, bytes_max in 1usize..9_000,
    ) {
        let without = asked(&chains, at, affected);
        let budget = BriefBudget { items_max, bytes_max };
        let beyond = without.beyond(budget);
        let with = Asked { hints: &hints, ..asked(&chains, at, affected) };
        let (with, without) = match (with.load(budget), without.load(budget)) {
            (Ok(with), Ok(without)) => (with.brief, without.brief),
            // The very first item has no room. Where it is an anchor, nothing stands before it.
            (with, without) => {
                let is_bare = without.is_ok_and(|loaded| loaded.brief.items.is_empty());
                prop_assert!(with.is_err() && (is_bare || asked(&chains, at, affected).load(budget).is_err()));
                return Ok(());
            }
        };
        let place = with.items.iter().position(|item| item.layer() == Layer::Anchor);
        let (before, anchors) = with.items.split_at(place.unwrap_or(with.items.len()));
        prop_assert_eq!(before, &without.items[..]);
        prop_assert!(anchors.iter().all(|item| item.layer() == Layer::Anchor));
        let cut: Vec<Cut> = with.cut.iter().filter(|cut| cut.layer != Layer::Anchor).copied().collect();
        prop_assert_eq!(&cut, &without.cut);
        prop_assert!(anchors.is_empty() || cut == by_layer(&[], beyond));
        prop_assert_eq!(with.impact_cut, without.impact_cut);
    }

    #[test]
    fn a_budget_takes_a_prefix_and_counts_the_rest_without_reading_it(
        chains in any_chains(), hints in any_hints(), at in any_place(), affected in 0u8..12,
        items_max in 1usize..40, bytes_max in 1usize..6_000,
    ) {
        let asked = Asked { hints: &hints, ..asked(&chains, at, affected) };
        let budget = BriefBudget { items_max, bytes_max };
        let whole = asked.model(budget);
        let beyond = asked.beyond(budget);
        let needed = whole.first().map_or(0, BriefItem::bytes);
        match asked.load(budget) {
            Err(refused) => {
                prop_assert!(needed > bytes_max);
                prop_assert_eq!(refused.code, ErrorCode::InvalidArgument);
                let (wanted, given) = (format!("{needed} bytes"), format!("for {bytes_max}"));
                prop_assert!(refused.message.contains(&wanted), "{}", refused);
                prop_assert!(refused.message.contains(&given), "{}", refused);
            }
            Ok(Loaded { brief, texts_read, rows_counted }) => {
                prop_assert!(needed <= bytes_max);
                let (taken, behind) = whole.split_at(brief.items.len());
                prop_assert_eq!(&brief.items[..], taken);
                prop_assert_eq!(&brief.cut, &by_layer(behind, beyond));
                prop_assert_eq!(brief.impact_cut, None);
                let bytes: usize = taken.iter().map(BriefItem::bytes).sum();
                prop_assert!(taken.len() <= items_max && bytes <= bytes_max);
                if let Some(next) = behind.first() {
                    prop_assert!(taken.len() == items_max || bytes + next.bytes() > bytes_max);
                }
                prop_assert!(texts_read <= taken.len() + 1);
                prop_assert!(rows_counted <= behind.len());
            }
        }
    }
}

#[test]
fn the_order_of_loading_is_the_locked_one() {
    let steps = loading_order(&scope(1), &domain(1));
    let told = steps.iter().map(|step| {
        let level = step.scope.level();
        let (layer, domain) = (step.layer as u8, &step.domain);
        match step.lists {
            Lists::Decisions(rank) => format!("{layer} {rank} {domain} {level}"),
            Lists::Anchors => format!("{layer} anchors {domain} {level}"),
        }
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "1 policy global org",
            "1 policy global project",
            "3 axis global org",
            "3 axis global project",
            "4 axis ui org",
            "4 axis ui project",
            "5 lock global org",
            "5 lock global project",
            "5 lock ui org",
            "5 lock ui project",
            "6 normal global org",
            "6 normal global project",
            "6 normal ui org",
            "6 normal ui project",
            "7 anchors global org",
            "7 anchors global project",
            "7 anchors ui org",
            "7 anchors ui project",
        ]
    );
}

#[test]
fn within_a_layer_the_wider_scope_stands_first_and_no_list_is_read_twice() {
    for domain in [Domain::global(), domain(1)] {
        let steps = loading_order(&scope(3), &domain);
        let lists: BTreeSet<_> = steps
            .iter()
            .map(|step| (step.lists, step.domain.clone(), step.scope.clone()))
            .collect();
        assert_eq!(lists.len(), steps.len());
        for list in steps.chunks(4) {
            let scopes: Vec<&str> = list.iter().map(|step| step.scope.as_str()).collect();
            assert_eq!(scopes, SCOPES[..4]);
        }
    }
    assert_eq!(loading_order(&scope(3), &Domain::global()).len(), 5 * 4);
    assert_eq!(loading_order(&scope(3), &domain(1)).len(), 9 * 4);
}

fn chain(number: u8, content_bytes: usize) -> Chain {
    Chain {
        root: DecisionId::from_bytes([number; 16]),
        begun: Seq::new(u64::from(number)),
        scope: scope(0),
        rank: Rank::Normal,
        domain: Domain::global(),
        version: 1,
        content_bytes,
        active: true,
    }
}

#[test]
fn an_item_counts_all_that_it_says() {
    let bytes = |content| chain(1, content).item(Layer::Normal).bytes();
    assert!(bytes(0) > "what was decided".len());
    assert_eq!(bytes(2_000), bytes(1_000) + 1_000);
}

#[test]
fn layers_are_numbered_as_they_are_loaded_and_named_as_they_are_sent() {
    assert!(Layer::ALL.is_sorted());
    for (layer, number) in Layer::ALL.into_iter().zip(1u8..) {
        assert_eq!(layer as u8, number);
        assert_eq!(
            serde_json::to_string(&layer).unwrap(),
            format!("\"{layer}\"")
        );
    }
}
