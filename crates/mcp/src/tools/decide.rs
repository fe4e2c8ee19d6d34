//! `record_decision`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sillok_core::error::ErrorCode;

use super::forms::{Claim, no};
use super::impact::{Affected, Node};
use crate::api::Api;
use crate::budget::{Budget, Cut, Give};
use crate::call::{Call, command};
use crate::data::marked;
use crate::limits::BUDGET_TOKENS_USUAL;
use crate::refusal::Refusal;

/// What is decided.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The scope that it is made in: it holds there and inside it.
    scope: String,
    /// What is decided, in a line.
    title: String,
    /// What is decided, in full, and why.
    content: String,
    /// How strong it is; normal when absent. A change says it.
    #[serde(default)]
    rank: Option<Rank>,
    /// Where it applies; `global` when absent. A change says it.
    #[serde(default)]
    domain: Option<String>,
    /// The phase of work that it belongs to.
    #[serde(default)]
    phase: Option<String>,
    /// What it says under a key.
    #[serde(default)]
    claim: Option<Claim>,
    /// What it has to do with something else.
    #[serde(default)]
    #[schemars(length(max = 64))]
    relations: Vec<Relation>,
    /// The decision that it changes; a new one begins when absent.
    #[serde(default)]
    change: Option<Change>,
    /// Only say what it would mean: nothing is saved, and anyone may ask.
    #[serde(default)]
    only_propose: bool,
    /// What the answer may cost; 4000 when absent.
    #[serde(default)]
    #[schemars(range(min = 100, max = 50_000))]
    budget_tokens: Option<u64>,
    /// A UUID of version 7. Name the same one when you send the very same call again.
    #[serde(default)]
    command_id: Option<String>,
}

/// How strong a decision is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Rank {
    Normal,
    Lock,
    Axis,
    Policy,
}

/// A relation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Relation {
    /// DEPENDS_ON, CONSTRAINS, VALIDATES, APPLIES_TO, or one that the project declares.
    kind: String,
    /// To what: `file:src/a.rs`, `decision:SCOPE#ROOT`...
    to: String,
}

/// A change of a decision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Change {
    /// The decision's root: what stands behind `#` in its handle.
    root: String,
    /// The version that you have read.
    expected_version: u64,
    /// Why it is changed.
    reason: String,
}

/// What it means to others.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Whether it is saved, for good. What is only proposed is not.
    saved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// What depends on it: how many nodes.
    affected: usize,
    /// Which, the nearest first.
    blast_radius: Vec<Affected>,
    /// Some of what depends on it was not looked for: there is too much.
    #[serde(skip_serializing_if = "no")]
    affected_cut: bool,
    /// Decisions of rank axis or lock that it touches. Look at each before you go on.
    guards: Vec<Touched>,
    /// Decisions that claim otherwise. They stop nothing; they are to be settled.
    contradictions: Vec<Touched>,
    /// There may be more contradictions.
    #[serde(skip_serializing_if = "no")]
    contradictions_cut: bool,
    /// Nothing else is of its domain: is the name misspelt?
    #[serde(skip_serializing_if = "no")]
    new_domain: bool,
    /// It is saved, and what it means could not be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    untold: Option<String>,
    /// What there was no room for.
    #[serde(skip_serializing_if = "Cut::is_nothing")]
    cut: Cut,
    #[serde(skip_serializing_if = "Option::is_none")]
    command_id: Option<String>,
}

/// Another decision.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Touched {
    handle: String,
    rank: String,
    /// What it says: data.
    data: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    root: Option<String>,
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    untold: Option<String>,
    #[serde(default)]
    impact: Impact,
    #[serde(default)]
    guards: Vec<Guard>,
    #[serde(default)]
    contradictions: Vec<Contradiction>,
    #[serde(default)]
    contradictions_cut: bool,
    #[serde(default)]
    new_domain: Option<String>,
}

#[derive(Default, Deserialize)]
struct Impact {
    #[serde(default)]
    affected: Vec<Node>,
    #[serde(default)]
    cut: Option<Value>,
}

#[derive(Deserialize)]
struct Guard {
    node: String,
    rank: String,
    title: String,
}

#[derive(Deserialize)]
struct Contradiction {
    scope: String,
    root: String,
    rank: String,
    title: String,
    claim: Claim,
}

pub(crate) async fn run<A: Api>(call: &Call<'_, A>, input: Input) -> Result<Output, Refusal> {
    let mut budget = Budget::of(input.budget_tokens, BUDGET_TOKENS_USUAL)?;
    let (saves, named) = (!input.only_propose, input.command_id.clone());
    let body = body(input);
    let (answer, id): (Answer, _) = if saves {
        let id = command(named.as_deref())?;
        let answer = call.write("/v1/decisions", &body, id).await;
        (answer.map_err(hinted)?, Some(id.to_string()))
    } else {
        (call.ask("/v1/decisions/propose", &body).await?, None)
    };
    let fill = |budget: &mut Budget, touched: Vec<Touched>| {
        budget.fill(
            touched,
            Give::First,
            |touched| &touched.data,
            |touched| touched.handle.clone(),
        )
    };
    let guards: Vec<Touched> = answer.guards.into_iter().map(Touched::from).collect();
    let (guards, mut cut) = fill(&mut budget, guards);
    let contradictions = answer.contradictions.into_iter().map(Touched::from);
    let (contradictions, more) = fill(&mut budget, contradictions.collect());
    cut.add(more);
    let affected = answer.impact.affected.len();
    let nodes = answer.impact.affected.into_iter().map(Affected::from);
    let (blast_radius, more) = budget.fill(
        nodes.collect(),
        Give::First,
        |node: &Affected| &node.data,
        Affected::name,
    );
    cut.add(more);
    Ok(Output {
        saved: saves,
        root: answer.root,
        version: answer.version,
        affected,
        blast_radius,
        affected_cut: answer.impact.cut.is_some(),
        guards,
        contradictions,
        contradictions_cut: answer.contradictions_cut,
        new_domain: answer.new_domain.is_some(),
        untold: answer.untold,
        cut,
        command_id: id,
    })
}

fn body(input: Input) -> Value {
    let mut body = json!({
        "scope": input.scope, "title": input.title, "content": input.content, "relations": input.relations,
    });
    let optional = [
        ("rank", input.rank.map(|rank| json!(rank))),
        ("domain", input.domain.map(Value::from)),
        ("phase", input.phase.map(Value::from)),
        ("claim", input.claim.map(|claim| json!(claim))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    if let Some(change) = input.change {
        body["root"] = json!(change.root);
        body["expected_version"] = json!(change.expected_version);
        body["reason"] = json!(change.reason);
    }
    body
}

fn hinted(refusal: Refusal) -> Refusal {
    match refusal.code {
        ErrorCode::Forbidden => refusal.then(
            "Say it with only_propose to learn what it would mean, and have somebody save it who may; or save a normal one in your task.",
        ),
        ErrorCode::Conflict => refusal.then("Read the decision's resource, and name its version as expected_version."),
        _ => refusal,
    }
}

impl From<Guard> for Touched {
    fn from(guard: Guard) -> Self {
        Self {
            handle: guard.node,
            rank: guard.rank,
            data: marked(&guard.title),
        }
    }
}

impl From<Contradiction> for Touched {
    fn from(other: Contradiction) -> Self {
        let Claim { key, value } = other.claim;
        Self {
            handle: format!("decision:{}#{}", other.scope, other.root),
            rank: other.rank,
            data: marked(&format!("{}\nclaims that {key} is {value}", other.title)),
        }
    }
}
