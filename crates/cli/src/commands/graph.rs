//! `graph`

use serde_json::Value;
use sillok_server::api::{
    GRAPH_SCHEMA, GraphAnswer, GraphCut, GraphProperty, GraphRequest, GraphSchema,
};

use super::log::text_or_stdin;
use crate::args::GraphQuery;
use crate::failure::Failure;
use crate::output::{Output, Style, one_line, table};
use crate::session::Session;

/// Characters of a value in a table.
const VALUE_CHARS_MAX: usize = 120;

/// Carries out `graph query`.
///
/// # Errors
/// [`Failure`]
pub async fn query(session: &Session, args: GraphQuery) -> Result<(), Failure> {
    let params = args.params.into_iter();
    let request = GraphRequest {
        scope: session.scope(&args.within)?.to_string(),
        query: text_or_stdin(args.query)?,
        params: params.map(|one| (one.name, one.value)).collect(),
        rows_max: args.rows_max,
        ms_max: args.ms_max,
        causes: args.causes,
        only_above: args.only_above,
        code: args.code,
        code_under: args.code_under,
    };
    let answer = session.client.query_graph(&request).await?;
    session.output.show(&answer, |style| shown(style, &answer))
}

/// The rows as a table, and how much they are of what.
fn shown(style: Style, answer: &GraphAnswer) -> String {
    let row = |row: &Vec<Value>| -> Vec<String> { row.iter().map(cell).collect() };
    let rows: Vec<Vec<String>> = answer.rows.iter().map(row).collect();
    let names: Vec<String> = answer
        .columns
        .iter()
        .map(|name| one_line(name, VALUE_CHARS_MAX))
        .collect();
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let (nodes, edges) = (answer.nodes, answer.edges);
    let count = format!(
        "{} rows, of {nodes} nodes and {edges} edges",
        answer.rows.len()
    );
    let mut lines = vec![table(style, &header, &rows), style.dim(&count)];
    if let Some(cut) = answer.cut {
        let why = match cut {
            GraphCut::Rows => "there are more rows (--rows-max)",
            GraphCut::Bytes => "there may be more: these are as large as an answer may be",
            GraphCut::Steps => "there may be more: it took as many steps as a query may",
            GraphCut::Time => "there may be more: its time was over (--ms-max)",
        };
        lines.push(style.bad(why));
    }
    lines.join("\n")
}

/// A value in a table: a text as it is, all else as JSON.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text, VALUE_CHARS_MAX),
        other => one_line(&other.to_string(), VALUE_CHARS_MAX),
    }
}

/// Carries out `graph schema`.
///
/// # Errors
/// [`Failure`]
pub fn schema(output: Output) -> Result<(), Failure> {
    output.show(&GRAPH_SCHEMA, |style| described(style, &GRAPH_SCHEMA))
}

fn described(style: Style, schema: &GraphSchema) -> String {
    let mut lines = Vec::new();
    for label in schema.labels {
        let name = style.name(&format!("(:{})", label.name));
        lines.push(format!("{name}  {}", label.means));
        lines.extend(label.properties.iter().map(property));
    }
    for kind in schema.kinds {
        let name = style.name(&format!("[:{}]", kind.name));
        let (from, to) = (kind.from.join(" or "), kind.to.join(" or "));
        lines.push(format!("{name}  from {from} to {to}: {}", kind.means));
        lines.extend(kind.properties.iter().map(property));
    }
    let declared = "and each declared kind by its name, from Decision to Decision: `sillok decision kinds` lists them";
    lines.push(declared.to_owned());
    lines.join("\n")
}

fn property(property: &GraphProperty) -> String {
    format!(
        "  {} ({}): {}",
        property.name, property.holds, property.means
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Style = Style { colour: false };

    #[test]
    fn rows_are_a_table_that_moves_no_cursor_and_says_what_was_cut() {
        let answer = GraphAnswer {
            columns: vec!["d.title".to_owned(), "n".to_owned()],
            rows: vec![
                vec![json!("Clear\u{1b}[2J\nit"), json!(7)],
                vec![json!(null), json!(["a"])],
            ],
            cut: Some(GraphCut::Rows),
            nodes: 9,
            edges: 8,
            data_marked_text: String::new(),
        };
        let expected = [
            "d.title      n",
            "Clear[2J it  7",
            "             [\"a\"]",
            "2 rows, of 9 nodes and 8 edges",
            "there are more rows (--rows-max)",
        ];
        assert_eq!(shown(PLAIN, &answer), expected.join("\n"));
    }

    #[test]
    fn the_schema_names_each_label_kind_and_property() {
        let shown = described(PLAIN, &GRAPH_SCHEMA);
        for words in [
            "(:Decision)  a decision that holds",
            "  title (text): what was decided, in a line",
            "[:APPLIES_TO]  from Decision to File or Symbol: ",
            "[:CALLS]  from File or Symbol to Symbol: ",
            "  confidence (number): ",
            "`sillok decision kinds`",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}
