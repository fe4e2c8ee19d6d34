//! `impact`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::Call;
use crate::data::marked;
use crate::limits::BUDGET_TOKENS_USUAL;
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
}

/// A node that is affected.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Affected {
    /// Its handle, of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    /// axis, lock or normal, of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<String>,
    /// How many relations lie between.
    depth: u32,
    /// What it is, and the path that leads to it: data.
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
struct Node {
    node: String,
    depth: u32,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    rank: Option<String>,
    #[serde(default)]
    path: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    from: String,
    kind: String,
    to: String,
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
    let (affected, cut) = budget.fill(
        affected,
        Give::First,
        |affected: &Affected| &affected.data,
        |affected| match &affected.handle {
            Some(handle) => handle.clone(),
            None => format!("depth {}", affected.depth),
        },
    );
    Ok(Output {
        affected,
        cut,
        not_looked_at: impact.cut,
    })
}

impl From<Node> for Affected {
    fn from(node: Node) -> Self {
        let mut lines: Vec<String> = node.title.into_iter().collect();
        lines.push(node.node.clone());
        let step = |edge: Edge| format!("{} {} {}", edge.from, edge.kind, edge.to);
        lines.extend(node.path.into_iter().map(step));
        Self {
            handle: Some(node.node).filter(|node| node.starts_with("decision:")),
            rank: node.rank,
            depth: node.depth,
            data: marked(&lines.join("\n")),
        }
    }
}
