//! `impact`

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forms::no;
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::Call;
use crate::data::marked;
use crate::limits::{BUDGET_TOKENS_USUAL, CODE_NODES_USUAL, CODE_STARTS_MAX};
use crate::refusal::Refusal;

/// What changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Where you stand.
    scope: String,
    /// What changes: `file:src/a.rs`, `symbol:...`, `decision:SCOPE#ROOT`.
    #[schemars(length(min = 1, max = 256))]
    at: Vec<String>,
    /// At most so many nodes; 100 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    nodes_max: Option<usize>,
    /// At most so many relations away; 8 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 8))]
    depth_max: Option<u32>,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
}

/// What it affects, the nearest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    affected: Vec<Affected>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    /// What limits kept from being found: nodes, depth, relations, time.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_looked_at: Option<Value>,
    /// What imports or calls the files and symbols that change, as the server's work tree says, the nearest first.
    code: Vec<Dependent>,
    /// More code depends on them than is told.
    #[serde(skip_serializing_if = "no")]
    more_code: bool,
    /// Source files could not be asked about all of them; this says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_code: Option<String>,
}

/// A node that is affected.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Affected {
    /// Its handle, of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    /// axis, lock or normal, of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<String>,
    /// How many relations lie between.
    depth: u32,
    /// What it is, and the path that leads to it: data.
    pub(super) data: String,
}

impl Affected {
    /// How it is named where there is no room for it.
    pub(super) fn name(&self) -> String {
        match &self.handle {
            Some(handle) => handle.clone(),
            None => format!("depth {}", self.depth),
        }
    }
}

/// A file or a symbol that depends on what changes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Dependent {
    /// How many steps lie between.
    depth: u32,
    /// How it depends on that: imports or calls.
    relation: String,
    /// Whether that is certain: a name may mean another thing.
    certain: bool,
    /// What it is, and what it was reached from: data.
    data: String,
}

/// Nodes that are asked for when nothing is said.
const NODES_USUAL: usize = 100;

#[derive(Deserialize)]
struct Impact {
    affected: Vec<Node>,
    #[serde(default)]
    cut: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Node {
    node: String,
    depth: u32,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    rank: Option<String>,
    by: Edge,
    #[serde(default)]
    path: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    from: String,
    kind: String,
    to: String,
}

#[derive(Deserialize)]
struct Dependents {
    dependents: Vec<Found>,
    #[serde(default)]
    cut: Vec<Value>,
}

#[derive(Deserialize)]
struct Found {
    node: String,
    depth: u32,
    from: String,
    relation: String,
    certain: bool,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let nodes_max = input.nodes_max.unwrap_or(NODES_USUAL);
    let mut body = json!({ "scope": input.scope, "at": input.at, "nodes_max": nodes_max });
    if let Some(depth) = input.depth_max {
        body["depth_max"] = json!(depth);
    }
    let impact: Impact = call.ask("/v1/impact", &body).await?;
    let affected: Vec<Affected> = impact.affected.into_iter().map(Affected::from).collect();
    let (affected, mut cut) = budget.fill(
        affected,
        Give::First,
        |affected: &Affected| &affected.data,
        Affected::name,
    );
    let in_code = in_code(call, &input).await;
    let (code, more) = budget.fill(
        in_code.found,
        Give::First,
        |dependent: &Dependent| &dependent.data,
        |dependent| format!("code at depth {}", dependent.depth),
    );
    cut.add(more);
    Ok(Output {
        affected,
        cut,
        not_looked_at: impact.cut,
        code,
        more_code: in_code.is_cut,
        no_code: in_code.untold,
    })
}

/// What source files say of what changes.
#[derive(Default)]
struct InCode {
    found: Vec<Dependent>,
    is_cut: bool,
    untold: Option<String>,
}

/// What depends on the files and symbols among what changes. Where nobody knows, that is said, and not hidden.
async fn in_code<A: Api>(call: &Call<'_, A>, input: &Input) -> InCode {
    let is_code = |node: &&String| node.starts_with("file:") || node.starts_with("symbol:");
    let mut told = InCode::default();
    for (place, node) in input.at.iter().filter(is_code).enumerate() {
        if place == CODE_STARTS_MAX {
            told.is_cut = true;
            break;
        }
        let nodes_max = input.nodes_max.unwrap_or(CODE_NODES_USUAL);
        let query = vec![
            ("scope", Some(input.scope.clone())),
            ("of", Some(node.clone())),
            ("nodes_max", Some(nodes_max.to_string())),
            ("depth_max", input.depth_max.map(|depth| depth.to_string())),
        ];
        match call.read::<Dependents>("/v1/code/dependents", query).await {
            Ok(found) => {
                told.is_cut |= !found.cut.is_empty();
                let dependents = found.dependents.into_iter().map(Dependent::from);
                told.found.extend(dependents);
            }
            Err(refusal) => told.untold = Some(refusal.text()),
        }
    }
    // Where one is as near as another, in the order of what they depend on, and each once.
    told.found.sort_by_key(|dependent| dependent.depth);
    let mut seen = BTreeSet::new();
    told.found
        .retain(|dependent| seen.insert(dependent.data.clone()));
    told
}

impl From<Node> for Affected {
    fn from(node: Node) -> Self {
        let mut lines: Vec<String> = node.title.into_iter().collect();
        lines.push(node.node.clone());
        let step = |edge: Edge| format!("{} {} {}", edge.from, edge.kind, edge.to);
        // Where very much is affected, paths of what lies furthest are left out: the last step is told of each.
        let path = if node.path.is_empty() {
            vec![node.by]
        } else {
            node.path
        };
        lines.extend(path.into_iter().map(step));
        Self {
            handle: Some(node.node).filter(|node| node.starts_with("decision:")),
            rank: node.rank,
            depth: node.depth,
            data: marked(&lines.join("\n")),
        }
    }
}

impl From<Found> for Dependent {
    fn from(found: Found) -> Self {
        let Found {
            node,
            depth,
            from,
            relation,
            certain,
        } = found;
        Self {
            data: marked(&format!("{node}\n{relation} {from}")),
            depth,
            relation,
            certain,
        }
    }
}
