//! The names of a graph: labels, kinds and properties, as queries use them.
//!
//! Owns what each of them means. Who builds a graph takes them from here.

use serde::Serialize;

/// All names of a graph.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Schema {
    /// The labels of nodes.
    pub labels: &'static [Label],
    /// The kinds of edges.
    pub kinds: &'static [Kind],
}

/// A label. Each node has one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// What has it.
    pub means: &'static str,
    /// What there is to know of such a node.
    pub properties: &'static [Property],
}

/// A property of a node or of an edge.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What values it has: `text`, `integer`, `number` or `boolean`.
    pub holds: &'static str,
    /// What it means.
    pub means: &'static str,
}

/// A kind of edges.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The labels where such an edge begins.
    pub from: &'static [&'static str],
    /// The labels that it leads to.
    pub to: &'static [&'static str],
    /// What it means.
    pub means: &'static str,
    /// What there is to know of such an edge.
    pub properties: &'static [Property],
}

const fn text(name: &'static str, means: &'static str) -> Property {
    Property {
        name,
        holds: "text",
        means,
    }
}

/// The node as it is written everywhere else.
const NODE: Property = text("node", "the node as it is written elsewhere");

/// Types of values are not known: a name may mean another thing.
const CERTAIN: Property = Property {
    name: "certain",
    holds: "boolean",
    means: "whether it means just that one, or is one of several that it may mean",
};

const fn related(name: &'static str, to: &'static [&'static str], means: &'static str) -> Kind {
    Kind {
        name,
        from: &["Decision"],
        to,
        means,
        properties: &[],
    }
}

/// The names of every graph. Where kinds of relations are declared, their names come on top: such edges lead from a
/// `Decision` to a `Decision`, and have no properties.
pub const SCHEMA: Schema = Schema {
    labels: &[
        Label {
            name: "Decision",
            means: "a decision that holds, a policy among them",
            properties: &[
                NODE,
                text("scope", "where it was made"),
                text("root", "its id through all its versions"),
                Property {
                    name: "version",
                    holds: "integer",
                    means: "its active version",
                },
                text("rank", "policy, axis, lock or normal"),
                text("domain", "where it applies: global, or a field of work"),
                text("phase", "the phase of work, where it has one"),
                text("title", "what was decided, in a line"),
            ],
        },
        Label {
            name: "Evidence",
            means: "evidence that such a decision rests on",
            properties: &[
                NODE,
                text("scope", "where it was saved"),
                text("evidence", "its id"),
                text("title", "what it is, in a line"),
                text("media_type", "its media type"),
                Property {
                    name: "bytes",
                    holds: "integer",
                    means: "bytes of its text",
                },
            ],
        },
        Label {
            name: "File",
            means: "a file that such a decision applies to, or of the code",
            properties: &[NODE, text("path", "its path")],
        },
        Label {
            name: "Symbol",
            means: "a symbol that such a decision applies to, or of the code: under the name that the code gives it",
            properties: &[
                NODE,
                text("name", "its name"),
                text("file", "the file that defines it, where that is told"),
            ],
        },
        Label {
            name: "Episode",
            means: "an episode that says what brought about what (where causes are asked for)",
            properties: &[
                text("entry", "its id"),
                text("scope", "where it was published"),
                text("task", "the task that it tells of"),
                Property {
                    name: "success",
                    holds: "boolean",
                    means: "whether that succeeded",
                },
            ],
        },
        Label {
            name: "Finding",
            means: "what brought something about, or came of something (where causes are asked for)",
            properties: &[text("text", "what is said; the same words are one node")],
        },
    ],
    kinds: &[
        related(
            "DEPENDS_ON",
            &["Decision"],
            "it holds because the other does",
        ),
        related(
            "CONSTRAINS",
            &["Decision"],
            "it limits what the other may become",
        ),
        related(
            "VALIDATES",
            &["Decision"],
            "it shows that the other is right",
        ),
        related("APPLIES_TO", &["File", "Symbol"], "it is about the place"),
        related("RESTS_ON", &["Evidence"], "the evidence speaks for it"),
        Kind {
            name: "CAUSED",
            from: &["Finding"],
            to: &["Finding"],
            means: "one brought about the other, as an episode says",
            properties: &[
                Property {
                    name: "confidence",
                    holds: "number",
                    means: "how sure that is, 0 to 1",
                },
                text("episode", "the id of the episode"),
            ],
        },
        Kind {
            name: "TELLS",
            from: &["Episode"],
            to: &["Finding"],
            means: "the episode says something of the finding",
            properties: &[],
        },
        Kind {
            name: "IMPORTS",
            from: &["File"],
            to: &["File"],
            means: "the file imports the other (where the server shares the work tree)",
            properties: &[CERTAIN],
        },
        Kind {
            name: "CALLS",
            from: &["File", "Symbol"],
            to: &["Symbol"],
            means: "the code of a symbol, or of a file beside its symbols, calls the other (where the server shares the work tree)",
            properties: &[CERTAIN],
        },
        Kind {
            name: "CONTAINS",
            from: &["File"],
            to: &["Symbol"],
            means: "the symbol stands in the file (where the server shares the work tree)",
            properties: &[],
        },
    ],
};

#[cfg(test)]
mod tests {
    use sillok_core::decision::{RelationKind, RelationName};

    use super::*;

    #[test]
    fn each_kind_is_built_in_or_cannot_be_declared() {
        let built_in = RelationKind::BUILT_IN.map(|kind| kind.to_string());
        let names = SCHEMA.kinds.iter().map(|kind| kind.name);
        let (of_decisions, others): (Vec<&str>, Vec<&str>) =
            names.partition(|name| name.parse::<RelationKind>().is_ok());
        assert_eq!(of_decisions, built_in);
        for name in others {
            assert!(name.parse::<RelationName>().is_err(), "{name}");
        }
    }
}
