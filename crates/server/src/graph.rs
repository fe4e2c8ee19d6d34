//! From what was read to a graph that can be asked.
//!
//! Owns which name each part has there: those of [`GRAPH_SCHEMA`](crate::api::GRAPH_SCHEMA), and those of declared kinds of
//! relations. Whatever is read is put in: what
//! the asker may see was decided before.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_actors::reads::{GraphEdge, GraphEdgeKind, GraphNode, GraphParts};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::limits::{GRAPH_BYTES_MAX, GRAPH_EDGES_MAX, GRAPH_NODES_MAX};
use sillok_graph::{Graph, GraphBuilder, GraphLimits, NodeRef, Scalar};

mod code;

use code::Held;
pub(crate) use code::{CodeAsked, CodeParts, spoken_of};

/// How many times what it is made of a graph may take, with its names and values. What it is made of is bounded before, and
/// takes less than that.
const NAMED_TIMES: usize = 2;
/// After how many nodes and edges the time is asked for.
const ASK_EVERY: usize = 1024;

/// Builds the graph, with the code of a work tree where there is one. `is_over` is asked before the first and each further 1,024
/// nodes, and edges.
///
/// # Errors
/// `too_large` where it would take more than a graph may, and where the time is over before it is built.
pub(crate) fn build(
    parts: GraphParts,
    code: Option<CodeParts>,
    is_over: &dyn Fn() -> bool,
) -> Result<Graph, Error> {
    let limits = GraphLimits {
        nodes_max: GRAPH_NODES_MAX,
        edges_max: GRAPH_EDGES_MAX,
        bytes_max: GRAPH_BYTES_MAX * NAMED_TIMES,
    };
    let mut shared = Shared(BTreeMap::new());
    let mut builder = GraphBuilder::new(limits);
    let mut held = code.as_ref().map(Held::new);
    let mut nodes: Vec<NodeRef> = Vec::with_capacity(parts.nodes.len());
    for (number, node) in parts.nodes.into_iter().enumerate() {
        check_time(number, is_over)?;
        nodes.push(match &mut held {
            Some(held) => held.add(&mut builder, &mut shared, node)?,
            None => add(&mut builder, &mut shared, node)?,
        });
    }
    for (number, edge) in parts.edges.into_iter().enumerate() {
        check_time(number, is_over)?;
        let GraphEdge { from, kind, to } = edge;
        let (from, to) = (nodes[from], nodes[to]);
        match kind {
            GraphEdgeKind::Related(kind) => builder.add_edge(kind.as_str(), from, to, &[])?,
            GraphEdgeKind::Caused {
                confidence,
                episode,
            } => {
                let confidence = ("confidence", Scalar::Float(confidence));
                let episode = ("episode", shared.text(&episode.to_string()));
                builder.add_edge("CAUSED", from, to, &[confidence, episode])?;
            }
            GraphEdgeKind::Tells => builder.add_edge("TELLS", from, to, &[])?,
        }
    }
    if let Some(held) = held {
        held.join(&mut builder, &mut shared, is_over)?;
    }
    Ok(builder.build())
}

fn check_time(number: usize, is_over: &dyn Fn() -> bool) -> Result<(), Error> {
    if !number.is_multiple_of(ASK_EVERY) || !is_over() {
        return Ok(());
    }
    Err(out_of_time())
}

fn out_of_time() -> Error {
    let why = "the time of the query was over while its graph was built: ask for more time, or in a narrower scope";
    Error::new(ErrorCode::TooLarge, why)
}

/// Texts that many nodes have, each held once.
struct Shared(BTreeMap<String, Arc<str>>);

impl Shared {
    fn text(&mut self, text: &str) -> Scalar {
        if let Some(held) = self.0.get(text) {
            return Scalar::Text(Arc::clone(held));
        }
        let held: Arc<str> = Arc::from(text);
        self.0.insert(text.to_owned(), Arc::clone(&held));
        Scalar::Text(held)
    }
}

/// A property, by its name.
type Named = (&'static str, Scalar);

fn add(builder: &mut GraphBuilder, shared: &mut Shared, node: GraphNode) -> Result<NodeRef, Error> {
    let (label, properties) = match node {
        GraphNode::Decision {
            scope,
            root,
            version,
            rank,
            domain,
            phase,
            title,
        } => {
            let (here, id) = (shared.text(scope.as_str()), root.to_string());
            let mut properties = vec![
                written(&Node::Decision { scope, root }),
                ("scope", here),
                ("root", Scalar::from(id)),
                ("version", whole(version)),
                ("rank", shared.text(rank.as_str())),
                ("domain", shared.text(domain.as_str())),
            ];
            properties.extend(phase.map(|phase| ("phase", shared.text(phase.as_str()))));
            properties.push(("title", Scalar::from(title)));
            ("Decision", properties)
        }
        GraphNode::Evidence {
            scope,
            id,
            title,
            media_type,
            bytes,
        } => {
            let here = shared.text(scope.as_str());
            let properties = vec![
                written(&Node::Evidence { scope, id }),
                ("scope", here),
                ("evidence", Scalar::from(id.to_string())),
                ("title", Scalar::from(title)),
                ("media_type", shared.text(&media_type)),
                ("bytes", whole(bytes)),
            ];
            ("Evidence", properties)
        }
        GraphNode::File { path } => {
            let named = ("path", shared.text(&path));
            ("File", vec![written(&Node::File { path }), named])
        }
        GraphNode::Symbol { name, file } => ("Symbol", symbol(shared, name, file)),
        GraphNode::Episode {
            scope,
            entry,
            task,
            success,
        } => {
            let properties = vec![
                ("entry", shared.text(&entry.to_string())),
                ("scope", shared.text(scope.as_str())),
                ("task", shared.text(task.as_str())),
                ("success", Scalar::Bool(success)),
            ];
            ("Episode", properties)
        }
        GraphNode::Finding { text } => ("Finding", vec![("text", Scalar::from(text))]),
    };
    builder.add_node(&[label], &properties)
}

fn symbol(shared: &mut Shared, name: String, file: Option<String>) -> Vec<Named> {
    let named = ("name", Scalar::from(name.as_str()));
    let defined = file.as_deref().map(|file| ("file", shared.text(file)));
    let node = written(&Node::Symbol { name, file });
    [node, named].into_iter().chain(defined).collect()
}

/// A node as it is written elsewhere.
fn written(node: &Node) -> Named {
    ("node", Scalar::from(node.to_string()))
}

fn whole(number: u64) -> Scalar {
    Scalar::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use serde_json::{Map, Value, json};
    use sillok_code::CodeEdgeKind;
    use sillok_core::decision::{DeclaredKind, Rank, Reach, RelationKind};
    use sillok_core::id::{DecisionId, EntryId, EvidenceId};
    use sillok_core::scope::Scope;
    use sillok_graph::QueryLimits;

    use super::code::CodePartEdge;
    use super::*;
    use crate::api::GRAPH_SCHEMA;

    fn scope() -> Scope {
        Scope::parse("org/a/project/b").unwrap()
    }

    fn decision(byte: u8) -> GraphNode {
        GraphNode::Decision {
            scope: scope(),
            root: DecisionId::from_bytes([byte; 16]),
            version: 3,
            rank: Rank::Lock,
            domain: "ui".parse().unwrap(),
            phase: Some("design".parse().unwrap()),
            title: format!("decision {byte}"),
        }
    }

    /// A node of each label, and an edge of each kind.
    fn parts() -> GraphParts {
        let finding = |text: &str| GraphNode::Finding {
            text: text.to_owned(),
        };
        let nodes = vec![
            decision(1),
            decision(2),
            GraphNode::Evidence {
                scope: scope(),
                id: EvidenceId::from_bytes([3; 16]),
                title: "a run".to_owned(),
                media_type: "text/plain".to_owned(),
                bytes: 7,
            },
            GraphNode::File {
                path: "src/a.rs".to_owned(),
            },
            GraphNode::Symbol {
                name: "run".to_owned(),
                file: Some("src/a.rs".to_owned()),
            },
            GraphNode::Episode {
                scope: scope(),
                entry: EntryId::from_bytes([4; 16]),
                task: Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
                success: true,
            },
            finding("a lock was missing"),
            finding("two writers met"),
        ];
        let related = |kind, to| GraphEdge {
            from: 0,
            kind: GraphEdgeKind::Related(kind),
            to,
        };
        let tells = |to| GraphEdge {
            from: 5,
            kind: GraphEdgeKind::Tells,
            to,
        };
        let caused = GraphEdgeKind::Caused {
            confidence: 0.5,
            episode: EntryId::from_bytes([4; 16]),
        };
        let edges = vec![
            related(RelationKind::DependsOn, 1),
            related(RelationKind::Constrains, 1),
            related(RelationKind::Validates, 1),
            related(RelationKind::AppliesTo, 3),
            related(RelationKind::AppliesTo, 4),
            related(RelationKind::RestsOn, 2),
            GraphEdge {
                from: 6,
                kind: caused,
                to: 7,
            },
            tells(6),
            tells(7),
        ];
        GraphParts { nodes, edges }
    }

    /// What the file of `parts` holds: the symbol that a decision applies to, and one that calls it.
    fn code() -> CodeParts {
        let file = |path: &str| Node::File {
            path: path.to_owned(),
        };
        let symbol = |name: &str| Node::Symbol {
            name: name.to_owned(),
            file: Some("src/a.rs".to_owned()),
        };
        let edge = |from, kind, to| CodePartEdge {
            from,
            kind,
            to,
            is_certain: true,
        };
        CodeParts {
            nodes: vec![
                file("src/a.rs"),
                file("src/b.rs"),
                symbol("run"),
                symbol("main"),
            ],
            edges: vec![
                edge(0, CodeEdgeKind::Imports, 1),
                edge(0, CodeEdgeKind::Contains, 2),
                edge(0, CodeEdgeKind::Contains, 3),
                edge(3, CodeEdgeKind::Calls, 2),
                edge(1, CodeEdgeKind::Calls, 2),
            ],
            meant: [(file("src/a.rs"), 0), (symbol("run"), 2)].into(),
        }
    }

    #[test]
    fn from_a_decision_a_query_goes_on_to_what_the_code_says() {
        let graph = build(parts(), Some(code()), &|| false).unwrap();
        let asked = "MATCH (d:Decision)-[:APPLIES_TO]->(s:Symbol)<-[c:CALLS]-(m:Symbol)<-[:CONTAINS]-(f:File) \
                     RETURN d.title, s.name, m.name, f.path, c.certain";
        let said = json!(["decision 1", "run", "main", "src/a.rs", true]);
        assert_eq!(json!(rows(&graph, asked)), json!([said]));
        let asked = "MATCH (f:File) RETURN count(f)";
        assert_eq!(json!(rows(&graph, asked)), json!([[2]]));
        // What a file calls beside its symbols.
        let asked = "MATCH (f:File)-[:CALLS]->(s:Symbol) RETURN f.path, s.name";
        assert_eq!(json!(rows(&graph, asked)), json!([["src/b.rs", "run"]]));
    }

    #[test]
    fn a_symbol_is_one_node_under_the_name_that_the_code_gives_it() {
        let mut parts = parts();
        let bare = GraphNode::Symbol {
            name: "run".to_owned(),
            file: None,
        };
        let last = parts.nodes.len();
        parts.nodes.push(bare);
        parts.edges.push(GraphEdge {
            from: 1,
            kind: GraphEdgeKind::Related(RelationKind::AppliesTo),
            to: last,
        });
        let spoken = spoken_of(&parts);
        let mut code = code();
        code.nodes[2] = Node::Symbol {
            name: "Client::run".to_owned(),
            file: Some("src/a.rs".to_owned()),
        };
        // Both decisions mean it: one names its file, and one does not.
        code.meant = spoken.into_iter().zip([0, 2, 2]).collect();
        let graph = build(parts, Some(code), &|| false).unwrap();
        let asked = "MATCH (d:Decision)-[:APPLIES_TO]->(s:Symbol)<-[:CALLS]-(m:Symbol) \
                     RETURN d.title, s.node, m.name ORDER BY d.title";
        let node = "symbol:Client::run@src/a.rs";
        let said = json!([["decision 1", node, "main"], ["decision 2", node, "main"]]);
        assert_eq!(json!(rows(&graph, asked)), said);
        let asked = "MATCH (s:Symbol) RETURN count(s)";
        assert_eq!(json!(rows(&graph, asked)), json!([[2]]));
    }

    fn rows(graph: &Graph, text: &str) -> Vec<Vec<Value>> {
        let limits = QueryLimits {
            rows_max: 100,
            bytes_max: 1 << 20,
            steps_max: 1 << 20,
            memory_max: 1 << 20,
            is_over: &|| false,
        };
        graph.query(text, &Map::new(), &limits).unwrap().rows
    }

    fn keys(value: &Value) -> BTreeSet<String> {
        let properties = value["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    }

    #[test]
    fn a_graph_has_the_names_that_the_schema_says_and_no_others() {
        let graph = build(parts(), Some(code()), &|| false).unwrap();
        let mut labels = BTreeSet::new();
        for row in rows(&graph, "MATCH (n) RETURN n") {
            let name = row[0]["labels"][0].as_str().unwrap().to_owned();
            let label = GRAPH_SCHEMA.labels.iter().find(|one| one.name == name);
            let properties = label.unwrap().properties.iter();
            let said: BTreeSet<String> = properties.map(|one| one.name.to_owned()).collect();
            assert_eq!(keys(&row[0]), said, "{name}");
            labels.insert(name);
        }
        assert_eq!(labels.len(), GRAPH_SCHEMA.labels.len());
        let mut kinds = BTreeSet::new();
        let asked = "MATCH (a)-[r]->(b) RETURN r, labels(a)[0] AS a, labels(b)[0] AS b";
        for row in rows(&graph, asked) {
            let name = row[0]["type"].as_str().unwrap().to_owned();
            let kind = GRAPH_SCHEMA.kinds.iter().find(|one| one.name == name);
            let kind = kind.unwrap();
            let properties = kind.properties.iter();
            let said: BTreeSet<String> = properties.map(|one| one.name.to_owned()).collect();
            assert_eq!(keys(&row[0]), said, "{name}");
            assert!(
                kind.from.iter().any(|from| row[1] == **from),
                "{name} from {}",
                row[1]
            );
            assert!(
                kind.to.iter().any(|to| row[2] == **to),
                "{name} to {}",
                row[2]
            );
            kinds.insert(name);
        }
        assert_eq!(kinds.len(), GRAPH_SCHEMA.kinds.len());
    }

    #[test]
    fn a_declared_kind_is_asked_for_by_its_name() {
        let mut parts = parts();
        let declared = DeclaredKind {
            name: "EXPLAINS".parse().unwrap(),
            reach: Reach::Both,
        };
        parts.edges.push(GraphEdge {
            from: 1,
            kind: GraphEdgeKind::Related(RelationKind::Declared(declared)),
            to: 0,
        });
        let graph = build(parts, None, &|| false).unwrap();
        let asked =
            "MATCH (d:Decision)-[r:EXPLAINS]->(e:Decision) RETURN d.title, type(r), e.title";
        let said = json!(["decision 2", "EXPLAINS", "decision 1"]);
        assert_eq!(json!(rows(&graph, asked)), json!([said]));
    }

    #[test]
    fn no_more_of_a_graph_is_built_once_the_time_is_over() {
        let file = |number: usize| GraphNode::File {
            path: format!("src/{number}.rs"),
        };
        let tells = |from: usize| GraphEdge {
            from,
            kind: GraphEdgeKind::Tells,
            to: 0,
        };
        let many = || GraphParts {
            nodes: (0..=ASK_EVERY).map(file).collect(),
            edges: (0..ASK_EVERY).map(tells).collect(),
        };
        // Before the first node, the one behind 1,024 others, and the first edge.
        for most in 0..=3 {
            let asked = Cell::new(0);
            let is_over = || {
                asked.set(asked.get() + 1);
                asked.get() > most
            };
            let built = build(many(), None, &is_over);
            assert_eq!(built.is_ok(), most == 3, "{most}");
            assert_eq!(asked.get(), 3.min(most + 1), "{most}");
            if let Err(error) = built {
                assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
                assert!(error.message.contains("time"), "{error}");
            }
        }
    }

    #[test]
    fn values_are_what_was_read() {
        let graph = build(parts(), Some(code()), &|| false).unwrap();
        let asked = "MATCH (d:Decision)-[:RESTS_ON]->(e), (d)-[:APPLIES_TO]->(s:Symbol) \
                     RETURN d.title, d.rank, d.version, d.phase, e.bytes, s.node";
        let said = json!(["decision 1", "lock", 3, "design", 7, "symbol:run@src/a.rs"]);
        assert_eq!(json!(rows(&graph, asked)), json!([said]));
        let asked = "MATCH (c:Finding)-[r:CAUSED]->(f) RETURN c.text, r.confidence, f.text";
        let said = json!(["a lock was missing", 0.5, "two writers met"]);
        assert_eq!(json!(rows(&graph, asked)), json!([said]));
    }
}
